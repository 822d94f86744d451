// SPDX-License-Identifier: MIT
// How an action runner finds again what others have started, and what waiters tell it.
#include <cerrno>
#include <csignal>
#include <utility>

#include "runtime/clock.hpp"
#include "runtime/inspection/proc_stat.hpp"
#include "runtime/programs/action_runner_impl.hpp"

namespace healer::runtime {
namespace {

using engine::ActionId;
using engine::Outcome;

constexpr Duration kLookAgain{1000};
constexpr auto kWaiterKilled = "not started: the waiter of the program was lost before it could start it";

}  // namespace

void ActionRunner::adopt(ActionId id, bool foreground, bool only_watch, std::optional<std::uint32_t> owner,
                         ActionFiles::Shown output, ProgramUse use) {
  if (actions_.count(id.number()) != 0) return;
  newest_ = std::max(newest_, id);
  auto action = std::make_unique<Action>();
  action->id = id;
  action->foreground = foreground;
  action->only_watch = only_watch;
  action->owner = owner;
  action->use = std::move(use);
  if (foreground) action->use.kind = ProgramUse::Kind::Service;
  if (output != ActionFiles::Shown::All) guarded_[id.number()] = output;
  actions_.emplace(id.number(), std::move(action));
  inspect(id, true);
}

/// What the files tell of an action, and its waiter, if that will add to it. On the keeper's thread.
void ActionRunner::read_trace(const ActionFiles& files, ActionId id, Found& seen) {
  const auto read = [&] {
    auto trace = files.read(id);
    if (trace)
      seen.trace = std::move(*trace);
    else
      seen.unknown = trace.error().what;
    return static_cast<bool>(trace);
  };
  if (!read()) return;
  const ProcessIdentity& waiter = seen.trace.waiter;
  if (!seen.trace.end && waiter.pid > 0 && seen.trace.start.boot == now().boot) {
    auto pidfd = find_process(waiter.pid, waiter.start_ticks);
    if (pidfd)
      seen.waiter = std::move(*pidfd);
    else if (pidfd.error().code != ESRCH)
      seen.unknown = pidfd.error().what;
    else if (!read())  // it may have gone just now, with its work done
      return;
  }
  if (seen.trace.starting || (seen.waiter && seen.trace.pid < 0 && !seen.trace.end))
    seen.unknown = "a previous healerd is still starting it";
}

void ActionRunner::inspect(ActionId id, bool report_start) {
  keeper_.submit(
      [this, files = files_, id, report_start]() -> Loop::Callback {
        auto seen = std::make_shared<Found>();
        read_trace(*files, id, *seen);
        const Instant before = now();
        if (!seen->trace.end && seen->trace.pid > 0 && seen->trace.start.boot == before.boot) {
          auto pidfd = find_process(seen->trace.pid, seen->trace.start_ticks);
          seen->lives = static_cast<bool>(pidfd);
          if (pidfd) {
            seen->pidfd = std::move(*pidfd);
          } else if (pidfd.error().code != ESRCH) {
            seen->unknown = pidfd.error().what;
          }
          seen->proof = std::make_shared<SessionProof>(
              SessionProof{seen->lives ? ticks_at(before.mono) : 0, files->true_path(id)});
        }
        return [this, id, report_start, seen] { found(id, report_start, seen); };
      },
      [this, id, report_start](const Error& why) { check_again(id, report_start, why.what); });
}

/// What cannot be looked at has not ended: the files may lie on a mount that does not answer now, or there are no
/// descriptors left, or a starter of the former daemon is at it still.
void ActionRunner::check_again(ActionId id, bool report_start, const std::string& why) {
  Action& action = *actions_.at(id.number());
  wait_for(action, why);
  action.timer = loop_.timer([this, id, report_start] { inspect(id, report_start); });
  action.timer.set_deadline(mono_now() + options_.check_again);
}

/// Its files tell what people may see of what it writes. Which secrets a former daemon has given to it nobody knows.
void ActionRunner::guard(ActionId id, ActionFiles::Shown output) {
  using Shown = ActionFiles::Shown;
  if (output == Shown::All) {
    guarded_.erase(id.number());
    return;
  }
  guarded_[id.number()] = output == Shown::Struck && given_->of(id) ? Shown::Struck : Shown::Nothing;
}

void ActionRunner::found(ActionId id, bool report_start, std::shared_ptr<Found> found) {
  if (!found->unknown.empty()) return check_again(id, report_start, found->unknown);
  const ActionFiles::Trace& trace = found->trace;
  Action& action = *actions_.at(id.number());
  guard(id, trace.start.output);
  if (!action.owner) action.owner = trace.owner;
  action.waited = action.waited || trace.waiter.pid > 0;
  if (trace.never_started(now().boot) && !action.request.command.arguments.empty()) {
    if (action.ending)
      return finish(id, {id, Outcome::NotStarted, kNotStartedStatus, false, Duration{0}, kToEnd}, false);
    if (action.waiter_lost)
      return finish(id, {id, Outcome::NotStarted, kNotStartedStatus, false, Duration{0}, kWaiterKilled}, false);
    *action.made = true;  // a former daemon has made its files, and no more
    return spawn(action);
  }
  if (trace.end) {
    records_.insert(id.number());
    const std::string& why = trace.end->reason;
    return search_leftovers(id, {id, trace.end->outcome, trace.end->status, false, trace.end->elapsed, why},
                            why.empty());
  }
  action.proof = std::move(found->proof);
  if (found->waiter) {
    action.started = start_time(trace.start_ticks);
    await_waiter(action, {trace.waiter.pid, std::move(found->waiter), {}});
    if (trace.start.deadline > Duration{0}) expect_end(action, trace.start.deadline);
    return runs(action, trace.pid, trace.start_ticks, report_start);
  }
  if (!found->lives) {
    action.pid = trace.pid;
    return gone(action, {id, Outcome::Exited, 0, true, Duration{0}, {}});
  }
  action.started = start_time(trace.start_ticks);
  action.pidfd = std::make_shared<Descriptor>(std::move(found->pidfd));
  if (options_.exits != nullptr) action.subscription = options_.exits->follow(trace.pid);
  auto watch = loop_.watch(action.pidfd->get(), Loop::kReadable, [this, id](unsigned) { adopted_ended(id); });
  if (watch) {
    action.watch = std::move(*watch);
  } else {
    action.check = loop_.timer([this, id] {
      Action& checked = *actions_.at(id.number());
      if (!lives(*checked.pidfd)) return adopted_ended(id);
      checked.check.set_deadline(mono_now() + kLookAgain);
    });
    action.check.set_deadline(mono_now() + kLookAgain);
  }
  if (trace.start.deadline > Duration{0}) {
    action.timer = loop_.timer([this, id] { time_out(id); });
    action.timer.set_deadline(trace.start.deadline);
  }
  runs(action, trace.pid, trace.start_ticks, report_start);
}

/// Its program ends, or is ended, with the waiter there; where that is lost, the program is looked for.
void ActionRunner::await_waiter(Action& action, WaiterHandle handle) {
  action.waiter = std::make_unique<Waiter>(
      loop_, std::move(handle), [this, id = action.id](const std::optional<WaiterEnd>& reported) {
        actions_.at(id.number())->waiter.reset();
        if (!reported) return inspect(id, false);
        if (reported->recorded) records_.insert(id.number());
        search_leftovers(id, {id, reported->end.outcome, reported->end.status, false, reported->end.elapsed, {}},
                         reported->recorded);
      });
}

void ActionRunner::adopted_ended(ActionId id) {
  Action& action = *actions_.at(id.number());
  action.watch = {};
  action.check = {};
  const Duration elapsed = mono_now() - action.started;
  engine::event::ActionEnded ended{id, Outcome::Exited, 0, true, elapsed, {}};
  if (const auto end = action.subscription.ask(*action.pidfd))
    ended = {id, end->outcome, end->status, false, elapsed, {}};
  if (action.foreground) {
    if (!action.only_watch) signal_group(*action.pidfd, SIGKILL);
    return gone(action, std::move(ended));
  }
  if (action.timed_out || action.ending) signal_adopted(action, SIGKILL);  // what is left of its group
  if (action.waited) return step_ended(action, std::move(ended));
  if (action.timed_out) ended = {id, Outcome::TimedOut, kTimeoutStatus, false, elapsed, {}};
  finish(id, std::move(ended), false);
}

}  // namespace healer::runtime
