// SPDX-License-Identifier: MIT
#include "engine/healing/variables.hpp"

#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

namespace healer::engine {

Filled fill(std::string_view text, const Variables& variables) {
  Filled filled;
  while (!text.empty()) {
    const std::size_t at = text.find("${");
    if (at == std::string_view::npos) break;
    if (at > 0 && text[at - 1] == '$') {  // $${ is a literal
      filled.text.append(text.substr(0, at - 1)).append("${");
      text.remove_prefix(at + 2);
      continue;
    }
    const std::size_t end = text.find('}', at);
    if (end == std::string_view::npos) break;
    const std::string_view name = text.substr(at + 2, end - at - 2);
    filled.text.append(text.substr(0, at));
    if (const auto value = variables.find(name); value != variables.end()) {
      filled.text.append(value->second);
    } else {
      if (!name.starts_with("secret:") && filled.missing.empty()) filled.missing = name;
      filled.text.append(text.substr(at, end - at + 1));
    }
    text.remove_prefix(end + 1);
  }
  filled.text.append(text);
  return filled;
}

step::Program fill(step::Program program, const Variables& variables, std::string& missing) {
  const auto replace = [&](std::string& text) {
    Filled filled = fill(text, variables);
    if (missing.empty()) missing = std::move(filled.missing);
    text = std::move(filled.text);
  };
  for (std::string& argument : program.command.arguments) replace(argument);
  for (auto& [name, value] : program.environment) replace(value);
  replace(program.directory);
  return program;
}

std::shared_ptr<const effect::Place> place_of(const step::Program& program, const Variables& variables) {
  auto place = std::make_shared<effect::Place>();
  for (const auto& [name, value] : variables) {
    std::string variable = "HEALER_" + name;
    std::ranges::replace(variable, '.', '_');
    place->environment.emplace_back(std::move(variable), value);
  }
  place->environment.insert(place->environment.end(), program.environment.begin(), program.environment.end());
  place->directory = program.directory;
  return place;
}

std::string uuid_of(Hash128 hash) {
  const std::uint64_t high = (hash.high & ~std::uint64_t{0xF000}) | 0x8000;
  const std::uint64_t low = (hash.low & ~(std::uint64_t{3} << 62)) | std::uint64_t{1} << 63;
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, high >> 16 & 0xFFFF, high & 0xFFFF, low >> 48,
                     low & 0xFFFF'FFFF'FFFF);
}

}  // namespace healer::engine
