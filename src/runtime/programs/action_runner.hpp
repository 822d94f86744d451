// SPDX-License-Identifier: MIT
// Starts the programs of actions, at most once each, even across crashes and restarts of the daemon, and reports their
// end. Owned and called by the loop thread; the files (runtime/programs/action_files) are handled on separate threads.
//
// An action outlives the daemon. One that a previous daemon started is identified by pid and start time, and watched.
// If it ended meanwhile, the end recorded by the previous daemon is reported, or that it ended unseen. If it ends now,
// its status is known as far as the kernel reports it for processes that are not our children
// (runtime/process/exit_status). At its timeout, which also applies to an adopted action, the program's processes get
// SIGTERM and 2 s later SIGKILL; the end is reported when the program is gone, because until then another instance must
// not begin.
//
// The program of a healing's step runs under a waiter (runtime/programs/waiter), which ends it at its timeout and
// records how it ended, whether or not a daemon is running. As long as the waiter lives, this daemon or the next one
// waits for it; the end of the program is unknown only if the waiter is lost, too. A waiter that does not end its
// program in time (it was stopped, perhaps) is woken up, and then replaced by this. When the end of a step that was to
// end is reported, all that came of its program is gone, wherever that had gone: what cannot be killed is waited for,
// and told of after a minute. Of one that has failed by itself is told what it has left running; that is not touched.
//
// Actions of one line are started one after the other: the next when the previous one is running, or will never run. A
// start that takes too long, for example from a mount that does not answer, delays the others only for a while.
//
// A foreground process is an action without a timeout: it runs until it dies or is ended, by its own signals. When its
// main process is gone, what is left of its session gets SIGKILL (runtime/process/session says how the session of one
// that a previous daemon started is told from a stranger's), and then processes that have left that session are ended
// (runtime/process/detached_processes). When the end is reported, everything that can be ended is gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/events/event.hpp"
#include "engine/ids.hpp"
#include "engine/rules/command.hpp"
#include "runtime/inspection/ancestry.hpp"
#include "runtime/loop.hpp"
#include "runtime/process/child.hpp"
#include "runtime/process/control_groups.hpp"
#include "runtime/process/detached_processes.hpp"
#include "runtime/process/exit_status.hpp"
#include "runtime/process/ready_socket.hpp"
#include "runtime/process/session.hpp"
#include "runtime/process/spawner.hpp"
#include "runtime/programs/action_files.hpp"
#include "runtime/worker_pool.hpp"

namespace healer::runtime {

/// What is read for a program just before its start.
struct LateVariables {
  std::vector<std::pair<std::string, std::string>> values;
  std::vector<std::string> hidden{};  ///< secrets: struck out of what it is said to write
};

/// The secrets that this daemon has given to programs: each is known before its program begins, to every thread.
class GivenSecrets {
 public:
  void add(engine::ActionId action, const std::vector<std::string>& secrets) {
    const std::lock_guard lock(mutex_);
    std::vector<std::string>& all = given_[action.number()];
    all.insert(all.end(), secrets.begin(), secrets.end());
  }
  void forget(engine::ActionId action) {
    const std::lock_guard lock(mutex_);
    given_.erase(action.number());
  }
  /// Nothing: it is not known what that one was given.
  [[nodiscard]] std::optional<std::vector<std::string>> of(engine::ActionId action) const {
    const std::lock_guard lock(mutex_);
    const auto found = given_.find(action.number());
    return found == given_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::vector<std::string>> given_;
};

struct ActionRequest {
  engine::ActionId action;
  engine::Command command;
  std::vector<std::string> environment;  ///< NAME=value, complete
  bool sets_home = false;                ///< HOME in it becomes that of a user who is looked up for the start
  bool foreground = false;               ///< a foreground process: the timeout of its command counts for nothing
  std::string service;                   ///< whose foreground process it is; written down
  std::optional<ActionFiles::Purpose> purpose{};  ///< written down, too
  ProgramUse use{};                               ///< what it is started for; of a foreground process it is told
  std::string line{};           ///< those of one line are started in the order of start(); empty: of none
  bool repeatable = false;      ///< after a reboot it may be started once more
  std::string directory = "/";  ///< where it begins
  bool grouped = false;         ///< it gets a control group of its own, if there can be one
  bool waited = false;          ///< it runs under a waiter of its own; not a foreground process
  /// What people may see of what it writes; the rest goes when its end is settled.
  ActionFiles::Shown output = ActionFiles::Shown::All;
  /// Variables that are set in the environment just before the start, read where slow disks may be waited for; an
  /// Error: it is not started. May be empty.
  std::function<Result<LateVariables>()> late{};
};

class ActionRunner {
 public:
  struct Options {
    std::string directory;                  ///< of the files; its parent must exist
    std::string waiter = "/proc/self/exe";  ///< see WaiterOrder::program
    std::string spare{};                    ///< where they go while the disk of that cannot be written; empty: nowhere
    /// Of the programs that ask for one.
    std::shared_ptr<const ControlGroups> groups = std::make_shared<const ControlGroups>();
    std::size_t kept = 200;              ///< actions whose files are kept
    Duration resource_patience{30'000};  ///< with descriptors, memory, or room on the disk, that are lacking
    Duration line_patience{30'000};      ///< with those of a line that come first, and are not started
    Duration check_again{5'000};         ///< after what an earlier daemon started could not be checked
    Duration waiter_slack{1'000};        ///< with a waiter that is to end its program, before it is woken up
    Duration waiter_patience{10'000};    ///< with it, before it is replaced
    Duration notify_lingering{60'000};   ///< when people are told that a step that is to end has not
    ExitStatusReader* exits = nullptr;   ///< how adopted programs end; outlives this
  };
  /// Gets event::ActionStarted, event::ActionWaits, event::ActionReady, event::ActionExtended, event::ActionSilent and
  /// event::ActionEnded, on the loop; never from within a call but on_notice().
  using Sink = std::function<void(engine::Event)>;

  ActionRunner(Loop& loop, Spawner& spawner, Options options, Sink sink);
  /// Running programs are left alone, for the next daemon to adopt.
  ~ActionRunner();
  ActionRunner(const ActionRunner&) = delete;
  ActionRunner& operator=(const ActionRunner&) = delete;

  /// Starts the program; where the files of this action tell of a program, or cannot rule it out, it is adopted
  /// instead.
  void start(ActionRequest request);
  /// Watches an action that a former daemon started; answered by ActionStarted where it still runs, and by ActionEnded.
  /// `only_watch`: when a foreground process has gone, what it leaves is not ended. `owner`: as whom it was started,
  /// where not as healer. `output`: what people may see of it until its files have told that. `use`: what it was
  /// started for.
  void adopt(engine::ActionId action, bool foreground = false, bool only_watch = false,
             std::optional<std::uint32_t> owner = {}, ActionFiles::Shown output = ActionFiles::Shown::All,
             ProgramUse use = {});
  /// Ends the program: SIGTERM to its session now, SIGKILL 2 s later; ActionEnded comes when it has gone. With
  /// `signals` a foreground process gets these, its main process alone, each for its time, and then its session
  /// SIGKILL. One that is still being started is ended as soon as it runs, or not started any more (NotStarted).
  /// Harmless where it is gone; what is asked later of one that is ending changes nothing.
  void end(engine::ActionId action, std::vector<engine::StopSignal> signals = {});
  /// A process says something of itself; it is heard for the foreground process whose session or descendant it is. That
  /// it is ready is told once by ActionReady. It may still be starting: then that is told after ActionStarted.
  /// Strangers are ignored, and a flood of them costs little: while it lasts words may be lost
  /// (runtime/inspection/ancestry), but never that of a main process that is known to run.
  void on_notice(const Notice& notice);
  /// From now on a foreground process must say so often that it is well: where it has not, event::ActionSilent tells,
  /// each such time anew. 0: it need not.
  void watch(engine::ActionId action, Duration every);

  /// Whether how the action has ended, which was told, is kept in a record of its waiter's still. It is kept until
  /// settle().
  [[nodiscard]] bool has_record(engine::ActionId action) const { return records_.contains(action.number()); }
  /// Whether what the program writes, or has written, has secrets in it, or may have, that are on the disk still.
  [[nodiscard]] bool keeps_secrets(engine::ActionId action) const { return guarded_.contains(action.number()); }
  /// Whether none of it is for people.
  [[nodiscard]] bool hides_output(engine::ActionId action) const;
  /// What is to be struck out of it, else. Any thread may ask, also when this has gone.
  [[nodiscard]] std::function<std::vector<std::string>()> given_secrets(engine::ActionId action) const;
  /// These have ended for good: the journal has it on the disk.
  void settle(const std::vector<engine::ActionId>& ended);

  [[nodiscard]] std::size_t running() const { return actions_.size(); }
  [[nodiscard]] const ActionFiles& files() const { return *files_; }

 private:
  struct Action;
  struct Found;
  using Secrets = std::optional<std::vector<std::string>>;
  using Sizes = std::vector<std::pair<engine::ActionId, ActionFiles::Size>>;

  void spawn(Action& action);
  void leave_line(Action& action);
  void spawned(engine::ActionId id, Result<Started> result);
  void await_waiter(Action& action, WaiterHandle handle);
  static void read_trace(const ActionFiles& files, engine::ActionId id, Found& seen);
  void inspect(engine::ActionId id, bool report_start);
  void check_again(engine::ActionId id, bool report_start, const std::string& why);
  void guard(engine::ActionId id, ActionFiles::Shown output);
  void wait_for(Action& action, const std::string& why);
  void found(engine::ActionId id, bool report_start, std::shared_ptr<Found> found);
  void time_out(engine::ActionId id);
  void give_up(Action& action);
  void end_program(Action& action);
  void next_signal(Action& action);
  void signal_adopted(Action& action, int number);
  void adopted_ended(engine::ActionId id);
  // Of healings' steps (action_steps.cpp).
  void expect_end(Action& action, Duration due);
  void overdue(engine::ActionId id);
  void report_lingering(engine::ActionId id);
  void step_ended(Action& action, engine::event::ActionEnded ended);
  void search_leftovers(engine::ActionId id, engine::event::ActionEnded ended, bool written);
  void gone(Action& action, engine::event::ActionEnded ended);
  void end_detached(engine::ActionId id, engine::event::ActionEnded ended);
  void forget_main(const Action& action);
  void runs(Action& action, pid_t pid, std::uint64_t start_ticks, bool tell);
  [[nodiscard]] bool receive(const std::vector<pid_t>& line, const Notice& notice);
  void receive(Action& action, const Notice& notice);
  void watch_due(engine::ActionId id);
  void wait_for_signal(Action& action, Duration until);
  void finish(engine::ActionId id, engine::event::ActionEnded ended, bool written);
  [[nodiscard]] Secrets to_strike(engine::ActionId action) const;
  void tidy_up();
  void thin_at(Duration when);
  void thin_due();
  void thinned(const Sizes& sizes);

  Loop& loop_;
  Spawner& spawner_;
  Options options_;
  Sink sink_;
  std::shared_ptr<const ActionFiles> files_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Action>> actions_;
  std::unordered_set<std::uint64_t> records_;  // of actions that have ended, which are not settled yet
  std::unordered_map<std::uint64_t, ActionFiles::Shown>
      guarded_;  // not all of whose output is shown, until that is settled
  std::shared_ptr<GivenSecrets> given_ = std::make_shared<GivenSecrets>();
  std::unordered_map<std::string, std::deque<engine::ActionId>> lines_;  // not started yet; the first is at it
  std::unordered_map<pid_t, engine::ActionId> mains_;                    // of foreground processes that run
  /// Who said to be ready, by ancestry, and when, while it was not known whose it is.
  std::deque<std::pair<Duration, std::vector<pid_t>>> early_;
  /// Whose descendants have been heard of late: they are not looked at again in that time.
  std::unordered_map<pid_t, std::pair<Duration, engine::ActionId>> received_;
  AncestryReader ancestry_;
  DetachedProcesses detached_;
  engine::ActionId newest_;
  Loop::Timer tidy_;
  std::optional<Duration> tidy_by_;  // when it is planned: at the latest
  Loop::Timer thin_;
  std::optional<Duration> thin_when_;
  bool thinning_ = false;  // under way
  std::shared_ptr<char> alive_ = std::make_shared<char>();
  WorkerPool keeper_;
};

}  // namespace healer::runtime
