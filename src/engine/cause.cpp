// SPDX-License-Identifier: MIT
#include "engine/cause.hpp"

#include <array>

#include <spdlog/fmt/fmt.h>

#include "util/text.hpp"

namespace healer::engine {
namespace {

using State = effect::Cause::State;

/// By EventKind, then by State. A content test that holds is a match whatever its operator.
constexpr std::array<std::array<std::string_view, 3>, kEventKinds> kTexts{{
    // succeeded, failed, changed
    {"Action done", "Action failed", "Action done"},
    {"Download bytes ok", "Download bytes exceeded", "Download bytes changed"},
    {"Upload bytes ok", "Upload bytes exceeded", "Upload bytes changed"},
    {"Checksum succeeded", "Checksum failed", "Checksum changed"},
    {"Connection succeeded", "Connection failed", "Connection changed"},
    {"Content doesn't match", "Content match", "Content match"},
    {"Data access succeeded", "Data access error", "Data access changed"},
    {"Execution succeeded", "Execution failed", "Execution changed"},
    {"Does not exist", "Exists", "Existence changed"},  // `if exist`: failed means that it is there
    {"Filesystem flags succeeded", "Filesystem flags failed", "Filesystem flags changed"},
    {"GID succeeded", "GID failed", "GID changed"},
    {"Ping succeeded", "Ping failed", "Ping changed"},
    {"Monit instance changed", "Monit instance changed", "Monit instance changed"},
    {"Type succeeded", "Invalid type", "Type changed"},
    {"Link up", "Link down", "Link changed"},
    {"Exists", "Does not exist", "Existence changed"},
    {"Download packets ok", "Download packets exceeded", "Download packets changed"},
    {"Upload packets ok", "Upload packets exceeded", "Upload packets changed"},
    {"Permission succeeded", "Permission failed", "Permission changed"},
    {"PID succeeded", "PID failed", "PID changed"},
    {"PPID succeeded", "PPID failed", "PPID changed"},
    {"Resource limit succeeded", "Resource limit matched", "Resource limit changed"},
    {"Saturation ok", "Saturation exceeded", "Saturation changed"},
    {"Size succeeded", "Size failed", "Size changed"},
    {"Speed succeeded", "Speed failed", "Speed changed"},
    {"Status succeeded", "Status failed", "Status changed"},
    {"Timeout recovery", "Timeout", "Timeout changed"},
    {"Timestamp succeeded", "Timestamp failed", "Timestamp changed"},
    {"UID succeeded", "UID failed", "UID changed"},
    {"Uptime succeeded", "Uptime failed", "Uptime changed"},
}};

/// Program output as Monit tells it: up to the first NUL, without white space around it.
std::string_view told(std::string_view output) { return trim(output.substr(0, output.find('\0'))); }

std::string_view or_none(std::string_view output) { return output.empty() ? "no output" : output; }

}  // namespace

std::string_view event_text(EventKind event, State state) {
  return kTexts[static_cast<std::size_t>(event)][static_cast<std::size_t>(state)];
}

std::string describe_status(std::int64_t status, bool failed, std::string_view output) {
  return fmt::format("status {} ({}) -- {}", failed ? "failed" : "succeeded", status, or_none(told(output)));
}

std::string describe_run(const Observation& run, bool failed, Duration timeout) {
  const std::string_view output = run.output ? told(*run.output) : std::string_view{};
  std::string reason;
  if (run.outcome == Outcome::TimedOut) reason = describe_timeout(timeout);
  if (run.outcome == Outcome::Signalled) reason = fmt::format("killed by signal {}", run.status);
  if (!reason.empty() && !output.empty()) reason += '\n';
  return describe_status(run.status, failed, reason.append(output));
}

std::string describe_changed(std::int64_t before, std::int64_t now, std::string_view output) {
  return fmt::format("status changed ({} -> {}) -- {}", before, now, or_none(told(output)));
}

std::string describe_unchanged(std::int64_t status, std::string_view output) {
  return fmt::format("status didn't change ({}) -- {}", status, or_none(told(output)));
}

std::string describe_content(bool holds, std::string_view output) {
  return fmt::format("content {} on program output:\n{}{}", holds ? "match" : "doesn't match", told(output),
                     holds ? "\n" : "");
}

std::string describe_timeout(Duration after) { return "timed out after " + format_duration(after); }

}  // namespace healer::engine
