// SPDX-License-Identifier: MIT
// How an action runner sees to the end of healings' steps: that their waiters end them, and what they leave.
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "runtime/clock.hpp"
#include "runtime/programs/action_runner_impl.hpp"
#include "runtime/programs/leftovers.hpp"

namespace healer::runtime {

using engine::ActionId;
using engine::Outcome;

/// It is to end when `due` has come, by its waiter or without. The first such time counts.
void ActionRunner::expect_end(Action& action, Duration due) {
  if (action.overdue > 0) return;
  action.due = std::min(action.due, due);
  action.backstop = loop_.timer([this, id = action.id] { overdue(id); });
  action.backstop.set_deadline(action.due + options_.waiter_slack);
}

/// A waiter that somebody has stopped goes on; one that does not end its program then is done without.
void ActionRunner::overdue(ActionId id) {
  Action& action = *actions_.at(id.number());
  const auto next = [&](Duration after) { action.backstop.set_deadline(action.due + after); };
  switch (++action.overdue) {
    case 1:
      if (action.waiter) action.waiter->go_on();
      return next(options_.waiter_patience);
    case 2:
      // The program is looked for when its waiter has gone, and ended by this.
      action.timed_out = action.timed_out || !action.ending;
      if (action.waiter) action.waiter->kill();
      return next(options_.notify_lingering);
    default: return report_lingering(id);
  }
}

/// People are told once what keeps it from being over.
void ActionRunner::report_lingering(ActionId id) {
  const Action& action = *actions_.at(id.number());
  std::vector<uid_t> owners{::geteuid()};
  if (action.owner) owners.push_back(*action.owner);
  const auto tell = [this, id](std::string what) {
    if (actions_.contains(id.number())) sink_(engine::event::ActionWaits{id, std::move(what), true});
  };
  keeper_.submit(
      [groups = options_.groups, id, owners = std::move(owners), tell]() -> Loop::Callback {
        const Leftovers left = find_leftovers(*groups, id, {}, owners);
        std::string what = "something that it has started";
        if (!left.processes.empty())
          what = fmt::format("process {} ({})", left.processes.front().pid, left.processes.front().command);
        return [tell, what] { tell(what); };
      },
      [tell](const Error&) { tell("something that it has started"); });
}

/// A program has gone that no waiter ends any more. Where it was to end, all that came of it goes before that is told.
void ActionRunner::step_ended(Action& action, engine::event::ActionEnded ended) {
  const ActionId id = action.id;
  if (action.timed_out) {
    ended.outcome = Outcome::TimedOut;
    ended.status = kTimeoutStatus;
    ended.unseen = false;
    if (ended.elapsed == Duration{0}) ended.elapsed = mono_now() - action.started;
  }
  if (action.only_watch || !(action.timed_out || action.ending)) return search_leftovers(id, std::move(ended), false);
  action.over = true;
  action.timer = {};
  detached_.end(
      id, action.owner, [this, ended = std::move(ended)](pid_t) { finish(ended.action, ended, false); }, true);
}

/// What a step that has failed by itself leaves running is told with its end.
void ActionRunner::search_leftovers(ActionId id, engine::event::ActionEnded ended, bool written) {
  Action& action = *actions_.at(id.number());
  const bool good = ended.outcome == Outcome::Exited && ended.status == 0 && !ended.unseen;
  const bool was_ended = action.ending || ended.outcome == Outcome::TimedOut;
  if (!action.waited || good || was_ended || ended.outcome == Outcome::NotStarted)
    return finish(id, std::move(ended), written);
  action.over = true;
  action.timer = {};
  detached_.check(id, action.owner, [this, ended = std::move(ended), written](pid_t left, std::string command) mutable {
    ended.left = left;
    ended.left_command = std::move(command);
    finish(ended.action, std::move(ended), written);
  });
}

}  // namespace healer::runtime
