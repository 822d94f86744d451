// SPDX-License-Identifier: MIT
#include "engine/healing/variables.hpp"

#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

namespace healer::engine {
namespace {

constexpr std::string_view kSecret = "secret:";

/// A text whose variables were replaced, beside its secrets.
struct Parts {
  std::vector<effect::Place::Part> parts;
  std::string missing;

  void add(std::string_view text) {
    if (parts.empty() || parts.back().secret) parts.emplace_back();
    parts.back().text.append(text);
  }
};

Parts parts_of(std::string_view text, const Variables& variables) {
  Parts filled;
  while (!text.empty()) {
    const std::size_t at = text.find("${");
    if (at == std::string_view::npos) break;
    if (at > 0 && text[at - 1] == '$') {  // $${ is a literal
      filled.add(text.substr(0, at - 1));
      filled.add("${");
      text.remove_prefix(at + 2);
      continue;
    }
    const std::size_t end = text.find('}', at);
    if (end == std::string_view::npos) break;
    const std::string_view name = text.substr(at + 2, end - at - 2);
    filled.add(text.substr(0, at));
    if (name.starts_with(kSecret)) {
      filled.parts.push_back({.text = std::string(name.substr(kSecret.size())), .secret = true});
    } else if (const auto value = variables.find(name); value != variables.end()) {
      filled.add(value->second);
    } else {
      if (filled.missing.empty()) filled.missing = name;
      filled.add(text.substr(at, end - at + 1));
    }
    text.remove_prefix(end + 1);
  }
  filled.add(text);
  return filled;
}

}  // namespace

Filled fill(std::string_view text, const Variables& variables) {
  Parts filled = parts_of(text, variables);
  std::string whole;
  for (const auto& [part, secret] : filled.parts) whole += secret ? fmt::format("${{{}{}}}", kSecret, part) : part;
  return {.text = std::move(whole), .missing = std::move(filled.missing)};
}

step::Program fill(step::Program program, const Variables& variables, std::string& missing) {
  const auto replace = [&](std::string& text) {
    Filled filled = fill(text, variables);
    if (missing.empty()) missing = std::move(filled.missing);
    text = std::move(filled.text);
  };
  for (std::string& argument : program.command.arguments) replace(argument);
  for (const auto& [name, value] : program.environment)
    if (missing.empty()) missing = fill(value, variables).missing;
  replace(program.directory);
  return program;
}

std::shared_ptr<const effect::Place> place_of(const step::Program& program, const Variables& variables) {
  auto place = std::make_shared<effect::Place>();
  for (const auto& [name, value] : variables) {
    std::string variable = "HEALER_" + name;
    std::ranges::replace(variable, '.', '_');
    place->environment.emplace_back(std::move(variable), std::vector{effect::Place::Part{.text = value}});
  }
  for (const auto& [name, value] : program.environment)
    place->environment.emplace_back(name, parts_of(value, variables).parts);
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
