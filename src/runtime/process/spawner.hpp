// SPDX-License-Identifier: MIT
// Starts programs for the loop without ever blocking it. The thread that starts a program sleeps until the program
// runs, with a program on a dead mount for ever. So a few separate threads do this, which are replaced when they are
// stuck (runtime/worker_pool). A spawn that its owner gives up is killed through its pidfd, which also frees the
// thread, unless the kernel itself cannot end the wait.
//
// One mount cannot use up the threads (runtime/files/mount_guard): while several spawns from a mount hang, further
// programs of that mount wait without a thread, and after `mount_patience` they are refused with an error that names
// it.
//
// As whom a program runs may be a name, which is looked up there just before the start: a directory service may be
// asked, which can take for ever, too. Where it has not answered within `lookup_patience` the start has failed, and
// nothing is started when the answer comes. While several look-ups of a name hang, or many of whatever names, further
// ones wait without a thread, and are refused as late. Of a name that is unknown, or cannot be looked up, nothing is
// started.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/accounts.hpp"
#include "runtime/loop.hpp"
#include "runtime/process/launch.hpp"
#include "runtime/process/session.hpp"
#include "runtime/worker_pool.hpp"

namespace healer::runtime {

/// The status of a program that has outlived its timeout, as in Monit, which kills it with signal 9.
inline constexpr std::int64_t kTimeoutStatus = 9;
/// The status of a program that could not be started, as a shell has it.
inline constexpr std::int64_t kNotStartedStatus = 127;
/// Before what the machine had nothing to give for is tried again.
inline constexpr Duration kRetryInterval{100};

class Spawner {
 public:
  struct Options {
    unsigned threads = 3;
    unsigned max_lost = 16;
    Duration patience{1000};  ///< after which a spawn hangs, and its thread is replaced
    Duration mount_patience{10'000};
    Duration lookup_patience{10'000};
    std::function<Result<RunsAs>(const engine::Identity&)> look_up = &runtime::look_up;
    LaunchDefaults defaults = LaunchDefaults::capture();
    /// Is told of each program that runs; whoever sees its end tells that.
    std::shared_ptr<OwnPrograms> programs = std::make_shared<OwnPrograms>();
  };

  using Ticket = std::uint64_t;
  /// Told on the loop how it went, exactly once for every start(), unless the spawn hangs for ever or the Spawner goes.
  using Done = std::function<void(Result<Started>)>;
  /// Runs on the spawner's thread just before the start, when it is known as whom, where slow disks may be waited for;
  /// an Error ends the spawn.
  using Prepare = std::function<Result<void>(Launch&)>;

  Spawner(Loop& loop, Options options);
  /// What is not started by now is not started any more.
  ~Spawner();

  /// Starts a program. `done` is never called from within start().
  /// `before`: as `prepare`, but before anything is looked up; it may run several times, while the spawn waits.
  Ticket start(Launch launch, Done done, Prepare prepare = {}, Prepare before = {});

  /// The result is no longer wanted: a spawn that waits is dropped (ECANCELED), one that hangs is killed. `done` is
  /// still called; where the program has started all the same, its owner has it and must end it. May be repeated.
  void give_up(Ticket ticket);

  /// Threads that hang in a start now.
  [[nodiscard]] unsigned stuck() const { return pool_.stuck(); }
  [[nodiscard]] OwnPrograms& programs() const { return *options_.programs; }
  /// For each Child; spawns that hang do not hold it up.
  [[nodiscard]] SessionSweeper& sweeper() { return sweeper_; }

 private:
  struct Spawn;

  void submit(Ticket ticket);
  struct Means;
  [[nodiscard]] static std::optional<Error> obstacle(const Spawn& spawn, const Means& means, bool for_long);
  [[nodiscard]] static Result<void> look_up(Ticket ticket, Spawn& spawn, const Means& means);
  [[nodiscard]] static Result<Started> launch(Ticket ticket, Spawn& spawn, const Means& means);
  void end_late_lookups();
  void finish(Ticket ticket, Result<Started> result);

  Options options_;
  std::shared_ptr<const Means> means_;  // of the threads
  std::unordered_map<Ticket, std::shared_ptr<Spawn>> spawns_;
  std::vector<Ticket> parked_;  // by what hangs for others
  Loop::Timer unpark_;
  Loop::Timer lookups_;
  bool looks_ = false;  // it will look
  Ticket next_ticket_ = 1;
  WorkerPool pool_;
  SessionSweeper sweeper_;
};

}  // namespace healer::runtime
