// SPDX-License-Identifier: MIT
// Starts the programs of actions, at most once each, over crashes and restarts of the daemon too, and reports their
// end. Owned and called by the loop thread; the files (runtime/action_files) are handled on threads of their own.
//
// An action outlives the daemon. One that a former daemon started is watched by the proof of its number and start time;
// where it ended meanwhile, the end that the former daemon wrote down is reported, or that it ended unseen. At its
// timeout, which also binds an adopted action, the program's processes get SIGTERM and 2 s later SIGKILL; the end is
// reported when the program has gone, because until then another instance must not begin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/event.hpp"
#include "engine/graph.hpp"
#include "runtime/action_files.hpp"
#include "runtime/child.hpp"
#include "runtime/loop.hpp"
#include "runtime/spawner.hpp"
#include "runtime/worker_pool.hpp"

namespace healer::runtime {

struct ActionRequest {
  engine::ActionId action;
  engine::Command command;
  std::vector<std::string> environment;  ///< NAME=value, complete
  bool repeatable = false;               ///< after a reboot it may be started once more
};

class ActionRunner {
 public:
  struct Options {
    std::string directory;   ///< of the files; its parent must exist
    std::size_t kept = 200;  ///< actions whose files are kept
    Duration resource_patience{30'000};
  };
  /// Gets event::ActionStarted and event::ActionEnded, on the loop, never from within start() or adopt().
  using Sink = std::function<void(engine::Event)>;

  ActionRunner(Loop& loop, Spawner& spawner, Options options, Sink sink);
  /// Running programs are left alone, for the next daemon to adopt.
  ~ActionRunner();
  ActionRunner(const ActionRunner&) = delete;
  ActionRunner& operator=(const ActionRunner&) = delete;

  /// Starts the program; where the files of this action exist already it is adopted instead.
  void start(ActionRequest request);
  /// Watches an action that a former daemon started; answered by ActionEnded alone.
  void adopt(engine::ActionId action);
  /// Ends the program: SIGTERM to its session now, SIGKILL 2 s later; ActionEnded comes when it has gone. One that is
  /// still being started is ended as soon as it runs, or not started any more (NotStarted). Harmless where it is gone.
  void end(engine::ActionId action);

  [[nodiscard]] std::size_t running() const { return actions_.size(); }
  [[nodiscard]] const ActionFiles& files() const { return *files_; }

 private:
  struct Action;
  struct Found;

  void spawn(Action& action);
  void spawned(engine::ActionId id, Result<Started> result);
  void inspect(engine::ActionId id, bool tell_start);
  void found(engine::ActionId id, bool tell_start, std::shared_ptr<Found> found);
  void time_out(engine::ActionId id);
  void give_up(Action& action);
  void end_program(Action& action);
  void signal_adopted(Action& action, int number);
  void adopted_ended(engine::ActionId id);
  void finish(engine::ActionId id, engine::event::ActionEnded ended, bool written);
  void thin_later(Duration delay);
  void thin_all();

  Loop& loop_;
  Spawner& spawner_;
  Options options_;
  Sink sink_;
  std::shared_ptr<const ActionFiles> files_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Action>> actions_;
  Loop::Timer thin_;
  bool thinning_ = false;  // planned or under way
  std::shared_ptr<char> alive_ = std::make_shared<char>();
  WorkerPool keeper_;
};

}  // namespace healer::runtime
