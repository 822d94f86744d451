// SPDX-License-Identifier: MIT
#include "runtime/action_runner.hpp"

#include <cerrno>
#include <csignal>
#include <optional>
#include <stdexcept>
#include <unordered_set>
#include <utility>

#include "runtime/clock.hpp"
#include "runtime/proc_stat.hpp"

namespace healer::runtime {
namespace {

using engine::ActionId;
using engine::Outcome;

constexpr Duration kLookAgain{5000};
constexpr Duration kThinInterval{250};
constexpr Duration kFastThinInterval{50};  // while a program writes much
constexpr Duration kRetryInterval{100};
constexpr Duration kLookInterval{1000};
constexpr std::int64_t kTimeoutStatus = 9;
constexpr std::int64_t kNotStartedStatus = 127;

}  // namespace

struct ActionRunner::Action {
  ActionId id;
  ActionRequest request;                                       // of what this daemon starts
  std::shared_ptr<bool> made = std::make_shared<bool>(false);  // its files, by an attempt that failed
  Duration started{0};
  std::optional<Duration> refused_since;
  bool timed_out = false;
  bool ending = false;  // asked for by end()
  bool over = false;    // its end is being written down
  bool waits = false;   // for resources, to be tried again
  Spawner::Ticket ticket = 0;
  Loop::Timer timer;  // timeout, the next attempt, or SIGKILL
  std::unique_ptr<Child> child;

  // Of an adopted one.
  pid_t pid = -1;
  std::uint64_t start_ticks = 0;
  std::shared_ptr<Descriptor> pidfd;
  Loop::Watch watch;
  Loop::Timer look;
};

/// What became of an action that an earlier daemon started.
struct ActionRunner::Found {
  ActionFiles::Trace trace;
  Descriptor pidfd;
  bool lives = false;
};

ActionRunner::ActionRunner(Loop& loop, Spawner& spawner, Options options, Sink sink)
    : loop_(loop),
      spawner_(spawner),
      options_(std::move(options)),
      sink_(std::move(sink)),
      files_(std::make_shared<const ActionFiles>(options_.directory)),
      thin_(loop.timer([this] { thin_all(); })),
      keeper_(loop, {"healer-actions", 1, 2, Duration{5000}}) {
  if (auto made = files_->prepare_directory(); !made) throw std::runtime_error(made.error().what);
}

ActionRunner::~ActionRunner() {
  for (auto& [id, action] : actions_) {
    if (action->child) action->child->let_go();
  }
}

// ---- starting

void ActionRunner::start(ActionRequest request) {
  const ActionId id = request.action;
  if (actions_.count(id.number()) != 0) return;
  auto action = std::make_unique<Action>();
  action->id = id;
  action->request = std::move(request);
  Action& added = *actions_.emplace(id.number(), std::move(action)).first->second;
  spawn(added);
}

void ActionRunner::spawn(Action& action) {
  const engine::Command& command = action.request.command;
  Launch launch;
  launch.arguments = command.arguments;
  launch.environment = action.request.environment;
  launch.uid = command.identity.uid;
  launch.gid = command.identity.gid;
  auto prepare = [files = files_, id = action.id, made = action.made, timeout = command.timeout,
                  uid = command.identity.uid, durable = !action.request.repeatable](Launch& into) -> Result<void> {
    if (std::exchange(*made, false)) files->forget(id);
    const Instant moment = now();
    auto opened =
        files->create(id, moment.boot, timeout > Duration{0} ? moment.mono + timeout : Duration{0}, uid, durable);
    if (!opened) return opened.error();
    *made = true;
    into.output = std::move(opened->output);
    into.proof = std::move(opened->proof);
    return {};
  };
  action.started = mono_now();
  action.waits = false;
  action.ticket = spawner_.start(
      std::move(launch),
      [this, id = action.id, alive = std::weak_ptr<char>(alive_)](Result<Started> result) {
        if (!alive.expired()) spawned(id, std::move(result));
      },
      std::move(prepare));
}

void ActionRunner::spawned(ActionId id, Result<Started> result) {
  Action& action = *actions_.at(id.number());
  if (!result) {
    const Error& error = result.error();
    if (error.code == EEXIST) return inspect(id, true);
    const Duration moment = mono_now();
    if (!action.refused_since) action.refused_since = moment;
    if (action.ending) {
      constexpr auto kReason = "not started: it was to end before";
      return finish(id, {id, Outcome::NotStarted, kNotStartedStatus, false, Duration{0}, kReason}, false);
    }
    if (lacks_resources(error) && moment - *action.refused_since < options_.resource_patience) {
      action.waits = true;
      action.timer = loop_.timer([this, &action] { spawn(action); });
      action.timer.set_deadline(moment + kRetryInterval);
      return;
    }
    return finish(id, {id, Outcome::NotStarted, kNotStartedStatus, false, Duration{0}, error.what}, false);
  }
  const pid_t pid = result->pid;
  action.timer = {};
  action.child = std::make_unique<Child>(loop_, spawner_.helper(), std::move(*result), [this, id](Child::Exit exit) {
    const Action& ended = *actions_.at(id.number());
    const Duration elapsed = mono_now() - ended.started;
    if (ended.timed_out) return finish(id, {id, Outcome::TimedOut, kTimeoutStatus, false, elapsed, {}}, false);
    finish(id, {id, exit.outcome, exit.status, false, elapsed, {}}, false);
  });
  if (const Duration timeout = action.request.command.timeout; timeout > Duration{0}) {
    action.timer = loop_.timer([this, id] { time_out(id); });
    action.timer.set_deadline(action.started + timeout);
  }
  if (action.ending) end_program(action);
  thin_later(kThinInterval);
  sink_(engine::event::ActionStarted{id, pid});
}

// ---- adopting

void ActionRunner::adopt(ActionId id) {
  if (actions_.count(id.number()) != 0) return;
  auto action = std::make_unique<Action>();
  action->id = id;
  actions_.emplace(id.number(), std::move(action));
  inspect(id, false);
}

void ActionRunner::inspect(ActionId id, bool tell_start) {
  keeper_.submit(
      [this, files = files_, id, tell_start]() -> Loop::Callback {
        auto seen = std::make_shared<Found>();
        seen->trace = files->read(id);
        if (!seen->trace.end && seen->trace.pid > 0 && seen->trace.boot == now().boot) {
          seen->pidfd = find_process(seen->trace.pid, seen->trace.start_ticks);
          seen->lives = static_cast<bool>(seen->pidfd);
        }
        return [this, id, tell_start, seen] { found(id, tell_start, seen); };
      },
      [this, id, tell_start](const Error&) {
        // What cannot be looked at has not ended: the files may lie on a mount that does not answer now.
        Action& action = *actions_.at(id.number());
        action.timer = loop_.timer([this, id, tell_start] { inspect(id, tell_start); });
        action.timer.set_deadline(mono_now() + kLookAgain);
      });
}

void ActionRunner::found(ActionId id, bool tell_start, std::shared_ptr<Found> found) {
  const ActionFiles::Trace& trace = found->trace;
  if (trace.end) return finish(id, {id, trace.end->outcome, trace.end->status, false, trace.end->elapsed, {}}, true);
  if (!found->lives) return finish(id, {id, Outcome::Exited, 0, true, Duration{0}, {}}, true);

  Action& action = *actions_.at(id.number());
  action.pid = trace.pid;
  action.start_ticks = trace.start_ticks;
  action.started = start_time(trace.start_ticks);
  action.pidfd = std::make_shared<Descriptor>(std::move(found->pidfd));
  auto watch = loop_.watch(action.pidfd->get(), Loop::kReadable, [this, id](unsigned) { adopted_ended(id); });
  if (watch) {
    action.watch = std::move(*watch);
  } else {
    action.look = loop_.timer([this, id] {
      Action& looked = *actions_.at(id.number());
      if (!find_process(looked.pid, looked.start_ticks)) return adopted_ended(id);
      looked.look.set_deadline(mono_now() + kLookInterval);
    });
    action.look.set_deadline(mono_now() + kLookInterval);
  }
  if (trace.deadline > Duration{0}) {
    action.timer = loop_.timer([this, id] { time_out(id); });
    action.timer.set_deadline(trace.deadline);
  }
  if (action.ending) end_program(action);
  thin_later(kThinInterval);
  if (tell_start) sink_(engine::event::ActionStarted{id, trace.pid});
}

void ActionRunner::adopted_ended(ActionId id) {
  Action& action = *actions_.at(id.number());
  action.watch = {};
  action.look = {};
  const Duration elapsed = mono_now() - action.started;
  if (action.timed_out || action.ending) signal_adopted(action, SIGKILL);  // what is left of its group
  if (!action.timed_out) return finish(id, {id, Outcome::Exited, 0, true, elapsed, {}}, false);
  finish(id, {id, Outcome::TimedOut, kTimeoutStatus, false, elapsed, {}}, false);
}

// ---- ending

void ActionRunner::time_out(ActionId id) {
  Action& action = *actions_.at(id.number());
  action.timed_out = true;
  end_program(action);
}

void ActionRunner::end(ActionId id) {
  const auto found = actions_.find(id.number());
  if (found == actions_.end()) return;
  Action& action = *found->second;
  if (action.over || action.timed_out || std::exchange(action.ending, true)) return;
  if (action.child || action.pidfd) return end_program(action);
  // An adopted one that is being looked for ends when it is found.
  if (action.ticket == 0) return;
  if (!action.waits) return give_up(action);
  action.timer = loop_.timer([this, id] { spawned(id, Error{ECANCELED, {}}); });
  action.timer.set_deadline(Duration{0});
}

/// Its start is no longer wanted.
void ActionRunner::give_up(Action& action) {
  spawner_.give_up(action.ticket);
  // Between the moments at which a spawn can be dropped and can be killed lies a short one at which it cannot.
  action.timer = loop_.timer([this, &action] { spawner_.give_up(action.ticket); });
  action.timer.set_deadline(mono_now() + Child::kGrace);
}

/// The program that runs.
void ActionRunner::end_program(Action& action) {
  action.timer = {};
  if (action.child) return action.child->end();
  signal_adopted(action, SIGTERM);
  action.timer = loop_.timer([this, &action] { signal_adopted(action, SIGKILL); });
  action.timer.set_deadline(mono_now() + Child::kGrace);
}

void ActionRunner::signal_adopted(Action& action, int number) {
  keeper_.submit(
      [pidfd = action.pidfd, pid = action.pid, number]() -> Loop::Callback {
        signal_session(*pidfd, pid, number);
        return {};
      },
      [](Error) {});
}

/// Writes the end down, takes the output and reports. `written`: the end is in the files already, or is not known.
void ActionRunner::finish(ActionId id, engine::event::ActionEnded ended, bool written) {
  Action& action = *actions_.at(id.number());
  action.over = true;
  action.timer = {};
  action.child.reset();
  action.request = {};
  std::unordered_set<std::uint64_t> alive;
  for (const auto& [number, other] : actions_) alive.insert(number);
  auto shared = std::make_shared<engine::event::ActionEnded>(std::move(ended));
  const auto report = [this, id, shared] {
    actions_.erase(id.number());
    sink_(std::move(*shared));
  };
  keeper_.submit(
      [files = files_, id, shared, written, report, alive = std::move(alive),
       kept = options_.kept]() -> Loop::Callback {
        if (shared->outcome == Outcome::NotStarted && !written) {
          files->write_reason(id, shared->output);
        } else {
          files->cut(id);
          shared->output = files->excerpt(id);
        }
        if (!written && !shared->unseen) files->write_end(id, {shared->outcome, shared->status, shared->elapsed});
        files->remove_old(kept, alive);
        return report;
      },
      [report](Error) { report(); });
}

void ActionRunner::thin_later(Duration delay) {
  if (!std::exchange(thinning_, true)) thin_.set_deadline(mono_now() + delay);
}

void ActionRunner::thin_all() {
  std::vector<ActionId> ids;
  for (const auto& [number, action] : actions_) ids.emplace_back(number);
  const auto again = [this](bool fast) {
    thinning_ = false;
    if (!actions_.empty()) thin_later(fast ? kFastThinInterval : kThinInterval);
  };
  keeper_.submit(
      [files = files_, ids = std::move(ids), again]() -> Loop::Callback {
        bool fast = false;
        for (const ActionId id : ids) fast = files->thin(id) || fast;
        return [again, fast] { again(fast); };
      },
      [again](Error) { again(false); });
}

}  // namespace healer::runtime
