// SPDX-License-Identifier: MIT
#include "actions/environment.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "engine/words/occurrence.hpp"
#include "util/text.hpp"

namespace healer::actions {

void set_variable(std::vector<std::string>& environment, std::string_view name, std::string_view value) {
  std::string entry(name);
  entry += '=';
  const std::size_t key = entry.size();
  entry += value.substr(0, value.find('\0'));
  const auto same = std::ranges::find_if(environment, [&](const std::string& other) {
    return std::string_view(other).substr(0, key) == std::string_view(entry).substr(0, key);
  });
  if (same == environment.end()) {
    environment.push_back(std::move(entry));
  } else {
    *same = std::move(entry);
  }
}

namespace {

void set_both(std::vector<std::string>& environment, const std::string& name, std::string_view value) {
  set_variable(environment, "MONIT_" + name, value);
  set_variable(environment, "HEALER_" + name, value);
}

void set_process(std::vector<std::string>& environment, const engine::effect::Cause::Process& process, bool all) {
  const auto set_known = [&](const std::string& name, auto value, const std::string& text) {
    if (all || value >= 0) set_both(environment, name, text);
  };
  set_known("PROCESS_PID", process.pid, std::to_string(process.pid));
  set_known("PROCESS_MEMORY", process.memory_kb, std::to_string(process.memory_kb));
  set_known("PROCESS_CHILDREN", process.children, std::to_string(process.children));
  set_known("PROCESS_CPU_PERCENT", process.cpu_percent, fmt::format("{:.1f}", process.cpu_percent));
}

}  // namespace

std::vector<std::string> check_environment(const BaseEnvironment& base, const engine::Identity& identity,
                                           std::string_view service) {
  std::vector<std::string> environment;
  set_variable(environment, "PATH", base.path);
  set_variable(environment, "HOME", identity.home.empty() ? base.home : identity.home);
  set_variable(environment, "LANG", base.lang);
  for (const auto& [name, value] : base.written) set_variable(environment, name, value);
  set_both(environment, "SERVICE", service);
  return environment;
}

std::vector<std::string> foreground_environment(const BaseEnvironment& base, const engine::Identity& identity,
                                                std::string_view service, std::string_view notify_socket,
                                                engine::ActionId action) {
  std::vector<std::string> environment = check_environment(base, identity, service);
  set_both(environment, "HOST", base.host);
  if (!notify_socket.empty()) set_variable(environment, "NOTIFY_SOCKET", notify_socket);
  environment.push_back(action_mark(base.state, action));
  return environment;
}

void add_watchdog(std::vector<std::string>& environment, Duration every) {
  if (every > Duration{0})
    set_variable(environment, "WATCHDOG_USEC", std::to_string(std::chrono::microseconds(every).count()));
}

std::vector<std::string> action_environment(const BaseEnvironment& base, const engine::Identity& identity,
                                            const engine::effect::Cause& cause, const CivilClock& civil, bool of_job,
                                            engine::ActionId action) {
  std::vector<std::string> environment = check_environment(base, identity, cause.service);
  set_both(environment, "EVENT", cause.event_text);
  set_both(environment, "DESCRIPTION", std::string_view(cause.description).substr(0, kMaxDescription));
  set_both(environment, "DATE", format_monit_date(civil(cause.when)));
  set_both(environment, "HOST", base.host);
  if (cause.process) set_process(environment, *cause.process, of_job);
  if (cause.program_status) set_both(environment, "PROGRAM_STATUS", std::to_string(*cause.program_status));
  for (const auto& [name, value] : cause.fields)
    if (value.find('\0') == std::string::npos) set_variable(environment, engine::environment_name(name), value);
  if (action != engine::ActionId{}) environment.push_back(action_mark(base.state, action));
  return environment;
}

bool writes_home(const BaseEnvironment& base) {
  return std::ranges::any_of(base.written, [](const auto& variable) { return variable.first == "HOME"; });
}

void add_row(std::vector<std::string>& environment, const engine::Row& row) {
  std::vector<std::string> values;
  for (const auto& [name, value] : row.variables) set_variable(values, row_variable(name), value);
  for (std::string& value : values) {
    const std::string_view name = std::string_view(value).substr(0, value.find('=') + 1);
    const auto is_same = [&](const std::string& known) { return known.starts_with(name); };
    if (std::ranges::none_of(environment, is_same)) environment.push_back(std::move(value));
  }
}

std::string row_variable(std::string_view name) {
  std::string result = "HEALER_";
  for (const char c : name) {
    const bool is_letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
    result += is_letter ? static_cast<char>(c & ~0x20) : is_digit(c) ? c : '_';
  }
  return result;
}

std::string action_mark(std::string_view state, engine::ActionId action) {
  return action_mark(state) + std::to_string(action.number());
}

std::string action_mark(std::string_view state) { return fmt::format("{}={}:", kMarkVariable, state); }

std::string check_mark(std::string_view state) { return fmt::format("HEALER_CHECK={}:", state); }

}  // namespace healer::actions
