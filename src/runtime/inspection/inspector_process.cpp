// SPDX-License-Identifier: MIT
// Looks for the process of a service: by its pid file, by a pattern, or as healer's own child. All of it on workers.
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "engine/rules/service.hpp"
#include "runtime/clock.hpp"
#include "runtime/files/named_pid.hpp"
#include "runtime/inspection/inspector_impl.hpp"
#include "util/text.hpp"

namespace healer::runtime {
namespace {

constexpr Duration kClocksDiffer{2'000};  // between the file system's and ours, without a step

/// Whether a process was started after a file was written, as far as the clocks of today can tell: nothing of a time
/// before this boot, or before the wall clock was stepped.
bool started_after(std::uint64_t start_ticks, std::int64_t written, const std::optional<WallTime>& stepped) {
  const Instant moment = now();
  const WallTime file{Duration{written / 1'000'000}};
  if (file < moment.wall - moment.mono || (stepped && file < *stepped)) return false;
  const WallTime started = moment.wall - (moment.mono - start_time(start_ticks));
  return started - kClocksDiffer > file;
}

}  // namespace

ProcessQuery Inspector::Request::query_of(const PidFile& file) const {
  ProcessQuery of = query;
  of.owner = of.owner || file.named_by != 0;  // whether it may be signalled depends on that
  return of;
}

/// Whether the process is in the control group of the program that has started the service.
bool Inspector::Request::is_of_start(const ProcessIdentity& process) const {
  if (came_by == engine::ActionId{}) return false;
  const auto living = groups->living(came_by);
  return living && std::ranges::find(*living, process) != living->end();
}

Inspector::Found Inspector::find(const Request& request, MountGuard& guard) {
  Found found;
  if (const auto ours = proc_is_ours(); !ours) {
    found.unknown = true;
    found.output = ours.error().what;
    return found;
  }
  if (request.block->foreground()) return find_own(request);
  const engine::ProcessSpec& spec = *request.block->process;
  std::string why;  // there is none
  if (request.commands != nullptr) {
    const ProcSnapshot& snapshot = *request.commands->snapshot;
    const auto match = find_match(*request.commands, spec.pattern, [&](const ProcStat& process) {
      return request.programs->is_not(snapshot, process, request.block->name);
    });
    if (!match) {
      found.unknown = true;
      found.output = match.error().what;
    } else if (match->pid == 0 && snapshot.hides()) {
      found.unknown = true;
      found.output = fmt::format("no process that can be seen matches \"{}\": /proc hides those of others (hidepid)",
                                 printable(spec.pattern));
    } else if (match->pid == 0) {
      why = fmt::format("no process matches \"{}\"", printable(spec.pattern));
      if (match->passed_over != 0)
        why += fmt::format(" but process {}, which healer runs for something else", match->passed_over);
    } else {
      why = see({.pid = match->pid}, request, found);
    }
  } else {
    const auto file = guard.guarded({request.run, spec.pid_file, request.mount_patience, "read the pid file"},
                                    [&] { return read_pid_file(spec.pid_file); });
    if (file) {
      why = see(*file, request, found);
    } else if (file.error().code == ESRCH) {
      why = file.error().what;
    } else {
      found.unknown = true;
      found.output = file.error().what;
    }
    if (!why.empty()) find_last(request, why, found);
  }
  if (!found.inspection && !found.unknown) found.output = fmt::format("process is not running ({})", why);
  return found;
}

/// Looks at the process that was found by a file (written at 0: by none). Says why there is none.
std::string Inspector::see(const PidFile& file, const Request& request, Found& found) {
  const pid_t pid = file.pid;
  // First the handle, then the look: so a death in between is noticed.
  if (request.watched.pid != pid && request.may_watch) found.pidfd = open_pidfd(pid);
  auto inspection = inspect_process(pid, request.query_of(file));
  if (!inspection) {
    found.pidfd = {};
    if (inspection.error().code == ESRCH) return inspection.error().what;
    found.unknown = true;
    found.output = inspection.error().what;
    return {};
  }
  found.inspection = std::move(*inspection);
  engine::ProcessFacts& facts = found.inspection->facts;
  facts.file = file.written;
  facts.younger = file.written != 0 && started_after(facts.start_ticks, file.written, request.stepped) &&
                  !request.is_of_start({pid, facts.start_ticks});
  facts.named_by = file.named_by;
  facts.spared = pid == ::getpid() || pid == kFirstProcess;
  if (facts.zombie) {
    found.output = fmt::format("process with pid {} is a zombie", pid);
    return {};
  }
  found.output = fmt::format("process is running with pid {}", pid);
  const bool number_used_again = request.watched.pid == pid && request.watched.start_ticks != facts.start_ticks;
  if (number_used_again && request.may_watch) {
    if (auto pidfd = find_process(pid, facts.start_ticks)) found.pidfd = std::move(*pidfd);
  }
  return {};
}

/// The pid file names nobody, and `why`. Whom it named last may live on: a stop program, or the process itself, takes
/// the file away before the process has gone, and another hand may remove it. As to Monit, that one is the service's.
void Inspector::find_last(const Request& request, const std::string& why, Found& found) {
  if (request.own.pid == 0) return;
  Found last;
  if (!see({.pid = request.own.pid}, request, last).empty()) return;
  if (last.unknown) {
    found = std::move(last);
    return;
  }
  const engine::ProcessFacts& facts = last.inspection->facts;
  if (facts.start_ticks != request.own.start_ticks || facts.zombie) return;
  found = std::move(last);
  found.output += fmt::format(", but {}", why);
}

/// A foreground process: exactly that one, or none.
Inspector::Found Inspector::find_own(const Request& request) {
  Found found;
  found.output = "process is not running";
  if (request.own.pid == 0) return found;
  auto inspection = inspect_process(request.own.pid, request.query_of({.pid = request.own.pid}));
  if (!inspection) {
    found.unknown = inspection.error().code != ESRCH;
    if (found.unknown) found.output = inspection.error().what;
  } else if (inspection->facts.start_ticks == request.own.start_ticks && !inspection->facts.zombie) {
    found.inspection = std::move(*inspection);
    found.output = fmt::format("process is running with pid {}", request.own.pid);
  }
  return found;
}

}  // namespace healer::runtime
