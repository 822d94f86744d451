// SPDX-License-Identifier: MIT
#include "engine/rules/unit.hpp"

#include <algorithm>

#include <spdlog/fmt/fmt.h>

#include "util/text.hpp"

namespace healer::engine {
namespace {

// No program: the paths of programs are absolute.
constexpr std::string_view kSystemd = "systemd";
constexpr std::array<std::string_view, 3> kVerbs{"start", "stop", "restart"};
constexpr std::array<std::string_view, 11> kSuffixes{".service", ".socket",    ".target", ".device",
                                                     ".mount",   ".automount", ".swap",   ".timer",
                                                     ".path",    ".slice",     ".scope"};
constexpr std::size_t kLongestName = 255;

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view(":-_.\\@").find(c) != std::string_view::npos;
}

}  // namespace

std::string_view to_string(UnitVerb verb) { return kVerbs[static_cast<std::size_t>(verb)]; }

Command unit_command(UnitVerb verb, std::string_view unit) {
  Command command;
  command.arguments = {std::string(kSystemd), std::string(to_string(verb)), std::string(unit)};
  command.timeout = kUnitJobTimeout;
  return command;
}

std::optional<UnitOrder> unit_order(const Command& command) {
  if (command.arguments.size() != kVerbs.size() || command.arguments.front() != kSystemd) return std::nullopt;
  const auto verb = std::ranges::find(kVerbs, command.arguments[1]);
  if (verb == kVerbs.end()) return std::nullopt;
  return UnitOrder{static_cast<UnitVerb>(verb - kVerbs.begin()), command.arguments[2]};
}

std::string standing_of(const UnitFacts& unit) {
  if (unit.load == "not-found") return "failed (no such unit)";
  const bool is_loaded = unit.load == "loaded" || unit.load.empty();
  // Between a failure and its restart some versions of systemd say that it has failed.
  if (unit.active == "failed" && !is_restarted_by_systemd(unit.sub))
    return fmt::format("failed ({})", unit.result.empty() || unit.result == "success" ? unit.sub : unit.result);
  if (unit.active == "active" || unit.active == "reloading")
    return fmt::format("active ({})", unit.active == "active" ? unit.sub : unit.active);
  const std::string_view active = unit.active == "failed" ? std::string_view("activating") : unit.active;
  return fmt::format("{} ({})", active, is_loaded ? unit.sub : unit.load);
}

bool is_restarted_by_systemd(std::string_view substate) {
  return substate == "auto-restart" || substate == "auto-restart-queued" || substate == "failed-before-auto-restart" ||
         substate == "dead-before-auto-restart";
}

std::string unit_name_problem(std::string_view name) {
  if (name.empty()) return "it is empty";
  if (name.size() > kLongestName) return fmt::format("it is longer than {} characters", kLongestName);
  if (!std::ranges::all_of(name, is_name_character)) return "units have letters, digits and :-_.\\@ in their names";
  const auto has = [&](std::string_view suffix) { return name.ends_with(suffix) && name.size() > suffix.size(); };
  const auto suffix = std::ranges::find_if(kSuffixes, has);
  if (suffix == kSuffixes.end()) return "it ends in no type that systemd knows, as in 'nginx.service'";
  const std::size_t at = name.find('@');
  if (at == 0) return "it begins with '@'";
  if (at != std::string_view::npos && at + 1 + suffix->size() == name.size())
    return "it is a template, and not one of its units, as in 'getty@tty1.service'";
  return {};
}

}  // namespace healer::engine
