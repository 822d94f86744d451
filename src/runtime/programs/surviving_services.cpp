// SPDX-License-Identifier: MIT
#include "runtime/programs/surviving_services.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "runtime/inspection/proc_stat.hpp"

namespace healer::runtime {
namespace {

/// Whether it has surely ended, or was never started.
bool has_ended(const ActionFiles::Trace& trace) {
  if (trace.end) return true;
  if (trace.pid < 0) return !trace.starting;
  const auto pidfd = find_process(trace.pid, trace.start_ticks);
  return !pidfd && pidfd.error().code == ESRCH;
}

std::vector<std::string> command_of(pid_t pid) {
  std::vector<std::string> words;
  const auto text = read_head(AT_FDCWD, fmt::format("/proc/{}/cmdline", pid).c_str(), kMostOfCommand);
  if (!text) return words;
  for (std::size_t begin = 0; begin < text->size();) {
    const std::size_t end = std::min(text->find('\0', begin), text->size());
    words.push_back(text->substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

}  // namespace

SurvivingServices find_surviving_services(const ActionFiles& files, Instant now) {
  SurvivingServices found;
  for (const engine::ActionId action : files.actions()) {
    found.newest = std::max(found.newest, action);
    auto trace = files.read(action);
    if (!trace) continue;
    ActionFiles::Start& start = trace->start;
    if (start.boot != 0 && start.boot != now.boot) break;  // nor do older ones live
    if ((start.service.empty() && !start.purpose) || has_ended(*trace)) continue;
    SurvivingService survivor{.action = action,
                              .service = start.purpose ? start.purpose->service : std::move(start.service),
                              .purpose = std::move(start.purpose),
                              .command = {},
                              .since = now.wall};
    if (trace->pid > 0) {
      survivor.command = command_of(trace->pid);
      survivor.since = now.wall - (now.mono - start_time(trace->start_ticks));
    }
    found.processes.push_back(std::move(survivor));
  }
  return found;
}

}  // namespace healer::runtime
