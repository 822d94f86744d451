// SPDX-License-Identifier: MIT
#include "runtime/programs/action_runner.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>
#include <stdexcept>
#include <unordered_set>
#include <utility>

#include "actions/environment.hpp"
#include "runtime/clock.hpp"
#include "runtime/inspection/proc_stat.hpp"
#include "runtime/programs/action_runner_impl.hpp"
#include "util/secrets/strike_out.hpp"

namespace healer::runtime {
namespace {

using engine::ActionId;
using engine::Outcome;

// Files are removed when nothing has ended for a while: a disk takes longer to make files where many were just removed.
constexpr Duration kQuiet{2000};
constexpr Duration kLongestUntidy{10'000};
constexpr Duration kEarlyPatience{10'000};
constexpr std::size_t kMostEarly = 1000;
constexpr Duration kLastWord{250};                        // for what was sent in time, and could not be read
constexpr Spawner::Ticket kInLine = ~Spawner::Ticket{0};  // no spawn of it has begun, but one will

}  // namespace

ActionRunner::ActionRunner(Loop& loop, Spawner& spawner, Options options, Sink sink)
    : loop_(loop),
      spawner_(spawner),
      options_(std::move(options)),
      sink_(std::move(sink)),
      files_(std::make_shared<const ActionFiles>(options_.directory, options_.spare)),
      detached_(loop, options_.groups),
      tidy_(loop.timer([this] { tidy_up(); })),
      thin_(loop.timer([this] { thin_due(); })),
      keeper_(loop, {"healer-actions", 1, 2, Duration{5000}}) {
  if (auto made = files_->prepare_directory(); !made) throw std::runtime_error(made.error().what);
  options_.groups->remove_empty({}, ActionId(~std::uint64_t{0}));
}

ActionRunner::~ActionRunner() {
  for (auto& [id, action] : actions_) {
    if (action->child) action->child->let_go();
  }
  options_.groups->remove_empty({}, ActionId(~std::uint64_t{0}));
}

// ---- starting

void ActionRunner::start(ActionRequest request) {
  const ActionId id = request.action;
  if (actions_.count(id.number()) != 0) return;
  newest_ = std::max(newest_, id);
  auto action = std::make_unique<Action>();
  action->id = id;
  action->foreground = request.foreground;
  action->owner = request.command.identity->uid;
  action->waited = request.waited;
  action->use = std::move(request.use);
  if (action->foreground) action->use.kind = ProgramUse::Kind::Service;
  action->request = std::move(request);
  if (action->foreground) action->request.command.timeout = Duration{0};
  Action& added = *actions_.emplace(id.number(), std::move(action)).first->second;
  if (added.line = added.request.line; added.line.empty()) return spawn(added);
  auto& line = lines_[added.line];
  line.push_back(id);
  if (line.size() == 1) return spawn(added);
  added.waits = true;
  added.ticket = kInLine;
  added.timer = loop_.timer([this, &added] {
    leave_line(added);
    spawn(added);
  });
  added.timer.set_deadline(mono_now() + options_.line_patience);
}

/// It is started, or has its own way from now on: with the first of a line the next one begins.
void ActionRunner::leave_line(Action& action) {
  if (action.line.empty()) return;
  const auto found = lines_.find(std::exchange(action.line, {}));
  auto& line = found->second;
  const bool first = line.front() == action.id;
  line.erase(std::ranges::find(line, action.id));
  if (line.empty()) {
    lines_.erase(found);
  } else if (Action& next = *actions_.at(line.front().number()); first && !next.ending) {
    spawn(next);
  }
}

void ActionRunner::spawn(Action& action) {
  const engine::Command& command = action.request.command;
  Launch launch;
  launch.arguments = command.arguments;
  launch.environment = action.request.environment;
  launch.directory = action.request.directory;
  launch.run_as(*command.identity);
  launch.sets_home = action.request.sets_home;
  launch.must_prove = action.foreground;
  launch.use = action.use;
  if (action.request.output != ActionFiles::Shown::All) guarded_[action.id.number()] = action.request.output;
  auto prepare = [files = files_, id = action.id, made = action.made, service = action.request.service,
                  purpose = action.request.purpose, timeout = command.timeout, durable = !action.request.repeatable,
                  shown = action.request.output, given = given_, late = action.request.late,
                  groups = action.request.grouped ? options_.groups : nullptr,
                  waiter = action.request.waited ? options_.waiter : std::string(),
                  state = options_.groups->state()](Launch& into) -> Result<void> {
    if (std::exchange(*made, false)) files->forget(id);
    const Instant moment = now();
    const Duration deadline = timeout > Duration{0} ? moment.mono + timeout : Duration{0};
    auto opened = files->create(id, {moment.boot, deadline, service, shown, purpose}, into.uid, durable);
    if (!opened) return opened.error();
    *made = true;
    if (late) {
      const auto variables = late();
      if (!variables) return variables.error();
      if (shown == ActionFiles::Shown::Struck) given->add(id, variables->hidden);
      for (const auto& [name, value] : variables->values) actions::set_variable(into.environment, name, value);
    }
    into.output = std::move(opened->output);
    into.proof = std::move(opened->proof);
    if (groups != nullptr) into.group = groups->make(id);
    if (!waiter.empty()) into.waiter = WaiterOrder{waiter, id, deadline, std::move(opened->folder), state};
    return {};
  };
  // What a former daemon has begun runs, perhaps, whether or not its user is known any more.
  auto before = [files = files_, id = action.id, made = action.made](Launch&) -> Result<void> {
    if (!*made && files->was_begun(id)) return system_error(EEXIST, "cannot make " + files->output_path(id));
    return {};
  };
  const bool is_open = launch.looked_up.has_value();
  action.started = mono_now();
  action.timer = {};
  action.waits = false;
  action.ticket = spawner_.start(
      std::move(launch),
      [this, id = action.id, alive = std::weak_ptr<char>(alive_)](Result<Started> result) {
        if (!alive.expired()) spawned(id, std::move(result));
      },
      std::move(prepare), is_open ? Spawner::Prepare(std::move(before)) : Spawner::Prepare());
}

void ActionRunner::spawned(ActionId id, Result<Started> result) {
  Action& action = *actions_.at(id.number());
  if (!result) {
    const Error& error = result.error();
    if (error.code == EEXIST || error.code == kWaiterLost) {
      action.ticket = 0;  // nothing is being started: end() leaves it to who looks for it
      action.waiter_lost = error.code == kWaiterLost;
      guard(id, action.request.output);
      return inspect(id, true);
    }
    const Duration moment = mono_now();
    if (!action.refused_since) action.refused_since = moment;
    if (action.ending) {
      return finish(id, {id, Outcome::NotStarted, kNotStartedStatus, false, Duration{0}, kToEnd}, false);
    }
    if ((lacks_resources(error) || lacks_room(error)) && moment - *action.refused_since < options_.resource_patience) {
      action.waits = true;
      wait_for(action, error.what);
      action.timer = loop_.timer([this, &action] { spawn(action); });
      action.timer.set_deadline(moment + kRetryInterval);
      return;
    }
    if (action.request.waited) records_.insert(id.number());
    return finish(id, {id, Outcome::NotStarted, kNotStartedStatus, false, Duration{0}, error.what}, false);
  }
  const pid_t pid = result->pid;
  action.owner = result->uid;
  if (action.request.command.identity->is_open()) action.started = mono_now();  // its names took their time
  const std::uint64_t start_ticks = result->start_ticks;
  action.timer = {};
  if (result->waiter.pid > 0) {
    action.pidfd = std::make_shared<Descriptor>(std::move(result->pidfd));
    await_waiter(action, std::move(result->waiter));
    if (const Duration timeout = action.request.command.timeout; timeout > Duration{0})
      expect_end(action, action.started + timeout);
    return runs(action, pid, start_ticks, true);
  }
  action.child = std::make_unique<Child>(loop_, spawner_.sweeper(), std::move(*result), [this, id](Child::Exit exit) {
    const Action& ended = *actions_.at(id.number());
    const Duration elapsed = mono_now() - ended.started;
    if (ended.timed_out) return finish(id, {id, Outcome::TimedOut, kTimeoutStatus, false, elapsed, {}}, false);
    end_detached(id, {id, exit.outcome, exit.status, false, elapsed, {}});
  });
  if (const Duration timeout = action.request.command.timeout; timeout > Duration{0}) {
    action.timer = loop_.timer([this, id] { time_out(id); });
    action.timer.set_deadline(action.started + timeout);
  }
  if (action.foreground) action.child->take_session_along();
  runs(action, pid, start_ticks, true);
}

/// Tells of each reason once, however often it is tried.
void ActionRunner::wait_for(Action& action, const std::string& why) {
  if (std::exchange(action.reported_wait, why) != why) sink_(engine::event::ActionWaits{action.id, why});
}

/// The program runs.
void ActionRunner::runs(Action& action, pid_t pid, std::uint64_t start_ticks, bool tell) {
  action.pid = pid;
  if (!action.child) spawner_.programs().runs(pid, action.use);  // a former daemon's, perhaps
  action.is_counted = true;
  leave_line(action);
  if (action.ending) end_program(action);
  action.thin_when = mono_now() + kThinInterval;
  thin_at(action.thin_when);
  if (action.foreground) mains_[pid] = action.id;
  if (tell) sink_(engine::event::ActionStarted{action.id, pid, start_ticks});
  if (!early_.empty())
    std::erase_if(early_, [this](const auto& early) { return receive(early.second, {.ready = true}); });
}

// ---- what has gone

/// What a former daemon started has ended; of a foreground process the rest ends first, that of its session before
/// what has left it.
void ActionRunner::gone(Action& action, engine::event::ActionEnded ended) {
  if (action.waited) return step_ended(action, std::move(ended));
  if (!action.foreground || action.only_watch || !action.proof) return finish(action.id, std::move(ended), false);
  action.over = true;
  action.timer = {};
  action.watch_timer = {};
  spawner_.sweeper().kill(action.pid, std::move(action.proof),
                          [this, ended = std::move(ended), alive = std::weak_ptr<char>(alive_)] {
                            if (!alive.expired()) end_detached(ended.action, ended);
                          });
}

/// Of a foreground process nothing is to be left, wherever it has gone; its session is empty by now.
void ActionRunner::end_detached(ActionId id, engine::event::ActionEnded ended) {
  Action& action = *actions_.at(id.number());
  if (!action.foreground) return finish(id, std::move(ended), false);
  action.over = true;
  action.timer = {};
  action.watch_timer = {};
  action.child.reset();
  forget_main(action);
  detached_.end(id, action.owner, [this, ended = std::move(ended)](pid_t left) mutable {
    ended.left = left;
    finish(ended.action, std::move(ended), false);
  });
}

/// Its number may be another's from now on.
void ActionRunner::forget_main(const Action& action) {
  if (const auto main = mains_.find(action.pid); main != mains_.end() && main->second == action.id) mains_.erase(main);
}

// ---- what they say

void ActionRunner::on_notice(const Notice& notice) {
  if (receive({notice.sender}, notice)) return;
  const auto is_waited_for = [&notice](const auto& entry) {
    const Action& action = *entry.second;
    return action.foreground && !action.over &&
           ((notice.ready && !action.ready) || (notice.alive && action.watched > Duration{0}) || notice.extend);
  };
  if (std::ranges::none_of(actions_, is_waited_for)) return;
  const Duration now = mono_now();
  std::erase_if(received_, [now](const auto& one) { return now - one.second.first > AncestryReader::kMemory; });
  if (const auto known = received_.find(notice.sender); known != received_.end()) {
    const auto action = actions_.find(known->second.second.number());
    if (action != actions_.end() && !action->second->over) receive(*action->second, notice);
    return;
  }
  auto line = ancestry_.of(notice.sender, now);
  if (!line || receive(*line, notice) || !notice.ready) return;
  // A program may be quicker than the news that it runs.
  const auto may_run = [](const auto& entry) {
    const Action& action = *entry.second;
    return action.foreground && !action.over && action.pid < 0;
  };
  while (!early_.empty() && now - early_.front().first > kEarlyPatience) early_.pop_front();
  if (early_.size() < kMostEarly && std::ranges::any_of(actions_, may_run)) early_.emplace_back(now, std::move(*line));
}

/// Whether it is known whose word that is: the sender, and to whom it belongs.
bool ActionRunner::receive(const std::vector<pid_t>& line, const Notice& notice) {
  for (const pid_t pid : line) {
    const auto main = mains_.find(pid);
    if (main == mains_.end()) continue;
    const ActionId id = main->second;
    if (line.size() > 1 && notice.sender > 0) received_.insert_or_assign(notice.sender, std::pair(mono_now(), id));
    receive(*actions_.at(id.number()), notice);
    return true;
  }
  return false;
}

void ActionRunner::receive(Action& action, const Notice& notice) {
  const ActionId id = action.id;
  const Duration now = mono_now();
  if (notice.alive) action.word = now;
  // It may yet take its time to end, before the next signal.
  if (notice.extend && action.signalled > 0) wait_for_signal(action, std::max(action.signal_due, now + *notice.extend));
  if (notice.extend) sink_(engine::event::ActionExtended{id, *notice.extend});
  const auto still = actions_.find(id.number());
  if (notice.ready && still != actions_.end() && !std::exchange(still->second->ready, true))
    sink_(engine::event::ActionReady{id});
}

void ActionRunner::watch(ActionId id, Duration every) {
  const auto found = actions_.find(id.number());
  if (found == actions_.end() || !found->second->foreground || found->second->over) return;
  Action& action = *found->second;
  action.watched = every;
  action.word = mono_now();
  action.doubted = false;
  action.watch_timer = {};
  if (every == Duration{0}) return;
  action.watch_timer = loop_.timer([this, id] { watch_due(id); });
  action.watch_timer.set_deadline(action.word + every);
}

/// Where this daemon was held up itself, what has been sent meanwhile is read before it is judged.
void ActionRunner::watch_due(ActionId id) {
  Action& action = *actions_.at(id.number());
  const Duration now = mono_now();
  const Duration silent = now - action.word;
  if (silent < action.watched || !std::exchange(action.doubted, true)) {
    if (silent < action.watched) action.doubted = false;
    return action.watch_timer.set_deadline(action.doubted ? now + kLastWord : action.word + action.watched);
  }
  action.doubted = false;
  action.watch_timer.set_deadline(now + action.watched);
  sink_(engine::event::ActionSilent{id, silent});
}

// ---- ending

void ActionRunner::time_out(ActionId id) {
  Action& action = *actions_.at(id.number());
  action.timed_out = true;
  end_program(action);
}

void ActionRunner::end(ActionId id, std::vector<engine::StopSignal> signals) {
  const auto found = actions_.find(id.number());
  if (found == actions_.end()) return;
  Action& action = *found->second;
  if (action.over || action.timed_out || std::exchange(action.ending, true)) return;
  action.signals = std::move(signals);
  if (action.child || action.pidfd || action.waiter) return end_program(action);
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
  if (!action.signals.empty()) return next_signal(action);
  if (action.waiter) {
    action.waiter->end();
    return expect_end(action, mono_now());
  }
  if (action.waited) expect_end(action, mono_now());
  if (action.child) return action.child->end();
  signal_adopted(action, SIGTERM);
  action.timer = loop_.timer([this, &action] { signal_adopted(action, SIGKILL); });
  action.timer.set_deadline(mono_now() + Child::kGrace);
}

/// Of those that a foreground process is ended by; after the last SIGKILL to its session.
void ActionRunner::next_signal(Action& action) {
  if (action.signalled == action.signals.size()) {
    return action.child ? action.child->kill() : signal_adopted(action, SIGKILL);
  }
  const engine::StopSignal& next = action.signals[action.signalled++];
  if (action.child) {
    action.child->signal(next.number);
  } else {
    signal_held(*action.pidfd, next.number);
  }
  wait_for_signal(action, mono_now() + next.within);
}

void ActionRunner::wait_for_signal(Action& action, Duration until) {
  action.signal_due = until;
  action.timer = loop_.timer([this, &action] { next_signal(action); });
  action.timer.set_deadline(until);
}

void ActionRunner::signal_adopted(Action& action, int number) {
  keeper_.submit(
      [pidfd = action.pidfd, pid = action.pid, number]() -> Loop::Callback {
        signal_session(*pidfd, pid, number);
        return {};
      },
      [](Error) {});
}

bool ActionRunner::hides_output(ActionId action) const {
  const auto found = guarded_.find(action.number());
  return found != guarded_.end() && found->second == ActionFiles::Shown::Nothing;
}

std::function<std::vector<std::string>()> ActionRunner::given_secrets(ActionId action) const {
  return [given = given_, action] { return given->of(action).value_or(std::vector<std::string>()); };
}

/// Of output that is not shown as it is: what is struck out of it. Nothing: all of it is.
ActionRunner::Secrets ActionRunner::to_strike(ActionId action) const {
  return hides_output(action) ? std::nullopt : given_->of(action);
}

/// Writes the end down, takes the output and reports. `written`: the end is in the files already.
void ActionRunner::finish(ActionId id, engine::event::ActionEnded ended, bool written) {
  Action& action = *actions_.at(id.number());
  action.over = true;
  action.timer = {};
  action.backstop = {};
  action.watch_timer = {};
  if (std::exchange(action.is_counted, false)) spawner_.programs().ended(action.pid);
  action.child.reset();
  action.waiter.reset();
  action.request = {};
  forget_main(action);
  leave_line(action);
  const Duration now = mono_now();
  if (!tidy_by_) tidy_by_ = now + kLongestUntidy;
  tidy_.set_deadline(std::min(now + kQuiet, *tidy_by_));
  auto shared = std::make_shared<engine::event::ActionEnded>(std::move(ended));
  const auto report = [this, id, shared] {
    actions_.erase(id.number());
    sink_(std::move(*shared));
  };
  // What was not started has written nothing.
  if (shared->outcome == Outcome::NotStarted && !hides_output(id)) {
    guarded_.erase(id.number());
    given_->forget(id);
  }
  keeper_.submit(
      [files = files_, id, shared, written, report, guarded = keeps_secrets(id), secrets = to_strike(id),
       durable = !action.foreground]() -> Loop::Callback {
        if (shared->outcome == Outcome::NotStarted && !written) {
          files->write_reason(id, shared->output);
        } else {
          files->cut(id);
          if (!guarded)
            shared->output = files->excerpt(id);
          else
            shared->output = secrets ? ActionFiles::excerpt(strike_out(files->kept(id), *secrets)) : std::string();
        }
        if (!written && !shared->unseen) {
          files->write_end(id, {shared->outcome, shared->status, shared->elapsed}, durable);
        }
        return report;
      },
      [report](Error) { report(); });
}

void ActionRunner::settle(const std::vector<ActionId>& ended) {
  std::vector<ActionId> settled;
  std::vector<std::pair<ActionId, Secrets>> hidden;
  for (const ActionId id : ended) {
    if (records_.erase(id.number()) != 0) settled.push_back(id);
    if (keeps_secrets(id)) hidden.emplace_back(id, to_strike(id));
  }
  if (settled.empty() && hidden.empty()) return;
  keeper_.submit(
      [this, files = files_, settled = std::move(settled), hidden = std::move(hidden)]() -> Loop::Callback {
        for (const auto& [id, secrets] : hidden)
          secrets ? files->strike_output(id, *secrets) : files->forget_output(id);
        for (const ActionId id : settled) files->remove_record(id);
        return [this, hidden] {
          for (const auto& [id, secrets] : hidden) {
            guarded_.erase(id.number());
            given_->forget(id);
          }
        };
      },
      [](Error) {});
}

// ---- keeping the files small

void ActionRunner::tidy_up() {
  tidy_by_.reset();
  std::unordered_set<std::uint64_t> alive = records_;
  for (const auto& [number, other] : actions_) alive.insert(number);
  keeper_.submit(
      [files = files_, groups = options_.groups, alive = std::move(alive), kept = options_.kept,
       newest = newest_]() -> Loop::Callback {
        files->remove_old(kept, alive, newest);
        groups->remove_empty(alive, newest);
        return {};
      },
      [](Error) {});
}

void ActionRunner::thin_at(Duration when) {
  if (thinning_ || (thin_when_ && *thin_when_ <= when)) return;
  thin_when_ = when;
  thin_.set_deadline(when);
}

/// What has been quiet for a while is looked at less often.
void ActionRunner::thin_due() {
  const Duration now = mono_now();
  thin_when_.reset();
  std::vector<ActionId> due;
  for (const auto& [number, action] : actions_) {
    if (action->pid > 0 && !action->over && action->thin_when <= now) due.push_back(action->id);
  }
  thinning_ = true;
  keeper_.submit(
      [this, files = files_, due = std::move(due)]() -> Loop::Callback {
        Sizes sizes;
        for (const ActionId id : due) sizes.emplace_back(id, files->thin(id));
        return [this, sizes = std::move(sizes)] { thinned(sizes); };
      },
      [this](Error) { thinned({}); });
}

void ActionRunner::thinned(const Sizes& sizes) {
  thinning_ = false;
  const Duration now = mono_now();
  for (const auto& [id, size] : sizes) {
    const auto found = actions_.find(id.number());
    if (found == actions_.end()) continue;
    Action& action = *found->second;
    const bool quiet = std::exchange(action.written, size.written) == size.written;
    action.thin_pause = size.thinned ? kFastThinInterval
                        : quiet      ? std::min(2 * action.thin_pause, kQuietThinInterval)
                                     : kThinInterval;
    action.thin_when = now + action.thin_pause;
  }
  std::optional<Duration> next;
  for (const auto& [number, action] : actions_) {
    if (action->pid > 0 && !action->over && (!next || action->thin_when < *next)) next = action->thin_when;
  }
  if (next) thin_at(std::max(*next, now + kFastThinInterval));
}

}  // namespace healer::runtime
