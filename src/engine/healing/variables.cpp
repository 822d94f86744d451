// SPDX-License-Identifier: MIT
#include "engine/healing/variables.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/words/occurrence.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

constexpr std::string_view kSecret = "secret:";

void add(FilledParts& filled, std::string_view text) {
  if (filled.parts.empty() || filled.parts.back().secret) filled.parts.emplace_back();
  filled.parts.back().text.append(text);
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

std::optional<std::string> as_it_is(std::string_view, const std::string& value) { return value; }

/// For what a program is told. The reason is healer's own text, and may be of several lines.
std::optional<std::string> without_controls(std::string_view name, const std::string& value) {
  if (!has_controls(value)) return value;
  if (name != "REASON") return std::nullopt;
  std::string line = value;
  std::ranges::replace_if(line, is_control, ' ');
  return line;
}

/// With `${secret:NAME}` as it is.
std::string whole(const FilledParts& filled) {
  std::string text;
  for (const auto& [part, secret] : filled.parts) text += secret ? fmt::format("${{{}{}}}", kSecret, part) : part;
  return text;
}

}  // namespace

bool has_controls(std::string_view text) { return std::ranges::any_of(text, is_control); }

FilledParts fill_parts(std::string_view text, const Variables& variables, const WriteValue& write) {
  FilledParts filled;
  while (!text.empty()) {
    const std::size_t at = text.find("${");
    if (at == std::string_view::npos) break;
    if (at > 0 && text[at - 1] == '$') {  // $${ is a literal
      add(filled, text.substr(0, at - 1));
      add(filled, "${");
      text.remove_prefix(at + 2);
      continue;
    }
    const std::size_t end = text.find('}', at);
    if (end == std::string_view::npos) break;
    const std::string_view name = text.substr(at + 2, end - at - 2);
    add(filled, text.substr(0, at));
    if (name.starts_with(kSecret)) {
      filled.parts.push_back({.text = std::string(name.substr(kSecret.size())), .secret = true});
    } else if (const auto value = variables.find(name); value != variables.end()) {
      const std::optional<std::string> written = write(name, value->second);
      if (written) add(filled, *written);
      if (!written && filled.refused.empty()) filled.refused = name;
    } else {
      if (filled.missing.empty()) filled.missing = name;
      add(filled, text.substr(at, end - at + 1));
    }
    text.remove_prefix(end + 1);
  }
  add(filled, text);
  return filled;
}

Filled fill(std::string_view text, const Variables& variables) {
  FilledParts filled = fill_parts(text, variables, as_it_is);
  return {.text = whole(filled), .missing = std::move(filled.missing)};
}

FilledProgram fill(step::Program program, const Variables& variables, const Variables& secrets) {
  FilledProgram filled;
  const auto fill_in = [&](std::string_view text, const Variables& known) {
    FilledParts parts = fill_parts(text, known, without_controls);
    if (filled.missing.empty()) filled.missing = std::move(parts.missing);
    if (filled.refused.empty()) filled.refused = std::move(parts.refused);
    return whole(parts);
  };
  for (std::string& argument : program.command.arguments) argument = fill_in(argument, variables);
  Variables all = variables;
  all.insert(secrets.begin(), secrets.end());
  for (const auto& [name, value] : program.environment) (void)fill_in(value, all);
  program.directory = fill_in(program.directory, variables);
  filled.program = std::move(program);
  return filled;
}

std::string why_not_filled(const std::string& missing, const std::string& refused) {
  if (!missing.empty()) return fmt::format("has no value for ${{{}}}", missing);
  return refused.empty() ? std::string()
                         : fmt::format("cannot use the value of ${{{}}}: it contains control characters", refused);
}

std::vector<std::string> secrets_of(const Workflow& plan) {
  std::set<std::string> names;
  const auto text = [&](std::string_view written) {
    for (const auto& [part, secret] : fill_parts(written, {}, as_it_is).parts)
      if (secret) names.insert(part);
  };
  const auto program = [&](const step::Program& one) {
    for (const auto& [name, value] : one.environment) text(value);
  };
  const auto request = [&](const HttpRequest& one) {
    text(one.url);
    for (const std::string& header : one.headers) text(header);
    text(one.body);
  };
  const auto steps = [&](auto&& self, const std::vector<Step>& all) -> void {
    for (const Step& step : all) {
      if (const auto* its = std::get_if<step::Program>(&step.what)) program(*its);
      if (const auto* parallel = std::get_if<step::Parallel>(&step.what)) self(self, parallel->steps);
      if (const auto* http = std::get_if<step::Http>(&step.what)) {
        request(http->request);
        if (http->until) request(http->until->request);
      }
    }
  };
  if (plan.guard) program(plan.guard->program);
  for (const auto* all : {&plan.steps, &plan.on_failure, &plan.on_cancel}) steps(steps, *all);
  return {names.begin(), names.end()};
}

std::vector<std::string> values_of(const Variables& variables) {
  std::vector<std::string> values;
  for (const auto& [name, value] : variables) values.push_back(value);
  return values;
}

bool effect::Place::has_secrets() const {
  return !hidden.empty() || std::ranges::any_of(environment, [](const auto& variable) {
    return std::ranges::any_of(variable.second, &Part::secret);
  });
}

std::shared_ptr<const effect::Place> place_of(const step::Program& program, const Variables& variables,
                                              const Variables& secrets) {
  auto place = std::make_shared<effect::Place>();
  for (const auto& [name, value] : variables) {
    std::string variable = "HEALER_" + name;
    if (name.starts_with("EVENT."))
      variable = environment_name(name);
    else
      std::ranges::replace(variable, '.', '_');
    if (value.find('\0') != std::string::npos) continue;
    place->environment.emplace_back(std::move(variable), std::vector{effect::Place::Part{.text = value}});
  }
  for (const auto& [name, value] : program.environment)
    place->environment.emplace_back(name, fill_parts(value, variables, as_it_is).parts);
  place->directory = program.directory;
  place->hidden = values_of(secrets);
  return place;
}

Hash128 identity_of(const Healing& healing, const Hash128& word) {
  const std::string own =
      fmt::format("{} {} {}", healing.id.number(), healing.asked.time_since_epoch().count(), to_lower(healing.target));
  return hash128(word == Hash128{} ? own : fmt::format("{} {}", to_string(word), own));
}

std::string uuid_of(Hash128 hash) {
  const std::uint64_t high = (hash.high & ~std::uint64_t{0xF000}) | 0x8000;
  const std::uint64_t low = (hash.low & ~(std::uint64_t{3} << 62)) | std::uint64_t{1} << 63;
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, high >> 16 & 0xFFFF, high & 0xFFFF, low >> 48,
                     low & 0xFFFF'FFFF'FFFF);
}

}  // namespace healer::engine
