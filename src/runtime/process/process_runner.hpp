// SPDX-License-Identifier: MIT
// Runs the programs of `check program` and reports what was seen. Owned and called by the loop thread.
//
// A run is over when its program has exited: what its pipes contain then is read, and a background process that keeps
// them open delays nothing. The output is the beginning of stderr, then of stdout, together at most `output_limit`
// bytes; the rest is read and dropped, so that no writer blocks.
//
// Timeouts. At the timeout, to the millisecond, the process group gets SIGTERM and the evidence (TimedOut, status 9,
// the output so far) is delivered at once; 2 s later, or when the program itself exits, what is left of the group gets
// SIGKILL; what it has written by then is delivered after that. Delivering at once is safe because of one guarantee: a
// new run of a service does not begin until the process of its previous run is gone (it waits here; its own timeout
// counts from its actual start). A cancelled run ends the same way, with nothing delivered.
//
// Filters of jq are given the standard output of a program, if it is complete, one after the other
// (runtime/net/searcher).
//
// Check programs that a previous daemon left running are ended first (runtime/programs/stale_checks): no run begins
// until it is known which services have one, and no run of such a service until it is gone. The search takes some
// milliseconds, and is given up after Options::search_patience.
//
// Runs beyond `most_running`, or for which no descriptors or processes are available, wait: first is whose next run
// falls due first, so that a service of a second does not wait for the first runs of thousands of an hour. What they
// lack is reported at once, and a run that the machine has refused for `resource_patience` is reported as NotStarted
// with the reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/events/event.hpp"
#include "runtime/loop.hpp"
#include "runtime/matcher.hpp"
#include "runtime/net/searcher.hpp"
#include "runtime/process/child.hpp"
#include "runtime/process/spawner.hpp"
#include "runtime/programs/stale_checks.hpp"

namespace healer::engine {
struct ServiceBlock;
}  // namespace healer::engine

namespace healer::runtime {

struct RunRequest {
  engine::ServiceId service;
  engine::RunId run;
  std::shared_ptr<const engine::ServiceBlock> block;  ///< says what to run
  std::vector<std::string> environment;               ///< NAME=value, complete
};

class ProcessRunner {
 public:
  struct Options {
    std::size_t most_running = 512;  ///< lowered to what RLIMIT_NOFILE has room for
    Duration resource_patience{30'000};
    Matcher::Options matcher{};
    std::string jq_helper = "/proc/self/exe";  ///< see JqHelper
    std::string mark{};  ///< that programs bear, before their number (actions/environment); empty: none
    /// How long programs wait for the search for those that a former daemon has left, on a machine that is too busy.
    Duration search_patience{1000};
    /// Told of each program that a former daemon has left.
    std::function<void(const std::string& service, pid_t pid)> stale_check{};
  };
  /// Gets event::Measured, event::RunWaits and event::RunWrote, on the loop, never from within start().
  using Sink = std::function<void(engine::Event)>;

  ProcessRunner(Loop& loop, Spawner& spawner, Options options, Sink sink);
  /// Kills what still runs. stop() first ends it in good order.
  ~ProcessRunner();
  ProcessRunner(const ProcessRunner&) = delete;
  ProcessRunner& operator=(const ProcessRunner&) = delete;

  void start(RunRequest request);
  /// How long a cycle is, which the schedules of services count in.
  void set_cycle(Duration cycle) { cycle_ = cycle; }
  /// Ends a run without a result. Unknown runs are ignored.
  void cancel(engine::RunId run);
  /// Cancels all runs; `done` is called when no process of theirs is left, nor of the former daemon's. Nothing may be
  /// started any more.
  void stop(std::function<void()> done);

  /// Runs whose program is being started, runs, or is being ended.
  [[nodiscard]] std::size_t running() const { return running_; }
  /// Runs that wait for a place, for resources, or for their predecessor to be gone.
  [[nodiscard]] std::size_t waiting() const { return runs_.size() - running_; }

 private:
  struct Run;
  struct Capture;
  struct Former {
    unsigned left = 0;                 ///< programs that are being ended
    std::vector<std::uint64_t> waits;  ///< runs
  };

  void queue(Run& run);
  void enqueue(Run& run);
  void pump();
  [[nodiscard]] bool begin(Run& run);
  void spawned(engine::RunId id, Result<Started> result);
  [[nodiscard]] bool put_back(Run& run, const Error& why);
  void tell(Run& run, const std::string& why);
  void read(Capture& capture, std::size_t most);
  void exited(engine::RunId id, Child::Exit exit);
  void end(Run& run);
  void deliver(Run& run, engine::Evidence evidence);
  void report_rest(const Run& run);
  struct Observed;
  void matched(Observed observed, Result<std::uint64_t> bits);
  struct Questions;
  void put_questions(const Run& run, const engine::Evidence& evidence);
  void ask(std::uint64_t id);
  void report(Observed observed);
  void remove(Run& run);
  void former_gone(const std::string& service);
  void end_if_stopped();
  [[nodiscard]] static std::string output_of(const Run& run);

  Loop& loop_;
  Spawner& spawner_;
  Options options_;
  Sink sink_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Run>> runs_;  ///< by RunId
  std::set<std::pair<Duration, std::uint64_t>> queue_;            ///< to be begun: by when, and RunId
  Duration cycle_{30'000};
  std::string lacking_;  ///< what the last one to be begun lacked; all of the queue were told
  Duration notified_all_{-60'000};
  std::unordered_map<std::uint32_t, std::deque<std::uint64_t>> lines_;    ///< by service: its run, and who waits for it
  std::unordered_set<std::uint64_t> matching_;                            ///< over, but not yet reported
  std::unordered_map<std::uint64_t, std::shared_ptr<Questions>> asking_;  ///< of these, what filters are to find
  std::unordered_map<std::uint64_t, engine::event::RunWrote> late_;       ///< of these, to be told after them
  std::size_t running_ = 0;
  bool pumping_ = false;
  std::vector<char> buffer_;
  Loop::Timer retry_;
  std::function<void()> stopped_;
  std::unordered_map<std::string, Former> former_;  ///< by the name of the service
  bool searching_ = false;                          ///< for what a former daemon has left
  std::shared_ptr<char> alive_ = std::make_shared<char>();
  Matcher matcher_;
  std::optional<Searcher> searcher_;  ///< from the first filter on
  std::optional<StaleChecks> stale_checks_;
};

}  // namespace healer::runtime
