// SPDX-License-Identifier: MIT
// Looks at processes, paths, network interfaces and the machine, and notices deaths. Owned and called by the loop
// thread; what may wait runs on threads that are replaced when they are stuck (runtime/worker_pool), so that a pid file
// on a dead mount, or a hanging process that makes everybody hang who reads about it, delays no other service. A look
// that has no answer after `patience`, or that lacks descriptors, is observed as unknown (engine::Answer): then it is
// not known whether the process exists.
//
// A look at a process reads its pid file and then that process (or, if the file names none, the one that it named
// last), nothing else; this is cheap, and jobs that wait for a process may repeat it every few milliseconds. The pid of
// a foreground process is known: that process is read, or there is none, and whoever runs it reports its death. All of
// /proc is walked, once for all looks at the same time,
//  - if the service is found by a pattern (a walk less than 100 ms ago is good enough), or one of its rules asks for
//    its descendants (500 ms),
//  - and at the first look, and at each look at least 500 ms after the previous one, since people and programs are
//    shown the descendants of every process (as old as the previous look; at most 10 s); but not at the look after a
//    death, because the process must be restarted without delay.
// Other looks take the descendants from the last walk, or leave them out if it is older than a second. What needs a
// file of its own in /proc and is tested by no rule (the owner, the descriptors, the transfers) may be up to 10 s old.
//
// What is observed of a process: facts.process, as soon as there is a process with that pid, even a zombie (then
// without figures); evidence.output, Monit's words for it ("process is running with pid 12", "process is not running
// (...)"). If no process is found, and an earlier start program may have left one, its control group is searched; if
// that has none, the processes of the same user are searched for its mark (actions/environment), on a separate thread:
// if one of them hangs, nothing else waits for it.
//
// A process that /proc does not show is not known to be gone: if /proc is not mounted, or hides the processes of other
// users, a look has no answer either, unless it finds what it looks for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/events/act.hpp"
#include "engine/events/event_names.hpp"
#include "engine/events/evidence.hpp"
#include "engine/events/measure.hpp"
#include "engine/rules/plan.hpp"
#include "runtime/files/file_sums.hpp"
#include "runtime/files/mount_guard.hpp"
#include "runtime/inspection/proc_table.hpp"
#include "runtime/inspection/system_table.hpp"
#include "runtime/loop.hpp"
#include "runtime/process/control_groups.hpp"
#include "runtime/process/own_programs.hpp"
#include "runtime/process/process_watch.hpp"
#include "runtime/worker_pool.hpp"

namespace healer::engine {
struct ServiceBlock;
}  // namespace healer::engine

namespace healer::runtime {

struct FilesystemInspection;
struct NetworkInspection;
struct PathInspection;
struct PidFile;

class Inspector {
 public:
  struct Options {
    unsigned workers = 2;
    unsigned max_lost = 16;
    Duration stuck{1000};          ///< after which a thread is replaced
    Duration patience{10'000};     ///< for an answer; includes the wait for a thread
    std::size_t most_watched = 0;  ///< processes; 0: half of what RLIMIT_NOFILE has room for
    /// Where start programs leave processes; also whose their marks are.
    std::shared_ptr<const ControlGroups> groups = std::make_shared<const ControlGroups>();
    ExitStatusReader* exits = nullptr;  ///< how processes end; outlives this
    /// What healer itself runs, which no pattern finds.
    std::shared_ptr<OwnPrograms> programs = std::make_shared<OwnPrograms>();
    /// How all processes are seen.
    std::function<Result<std::shared_ptr<const ProcSnapshot>>()> walk = &ProcSnapshot::take;
  };
  /// Gets event::Measured, event::ProcessDied and event::NotSignalled, on the loop, never from within a call. The death
  /// of a process is told after the look that found it.
  using Sink = std::function<void(engine::Event)>;

  Inspector(Loop& loop, Options options, Sink sink);
  ~Inspector();
  Inspector(const Inspector&) = delete;
  Inspector& operator=(const Inspector&) = delete;

  /// Looks for the process of a service; answered by event::Measured once, unless it is cancelled. The death of a
  /// process that was found alive is told by event::ProcessDied once, until another takes its place or the service is
  /// forgotten; not that of a foreground process, of which the look itself says which one it is.
  void search_process(const engine::effect::Measure& run, const engine::measure::FindProcess& wanted,
                      std::shared_ptr<const engine::ServiceBlock> block);
  /// Reads the figures of the machine, for a service; answered in the same way.
  void read_system(const engine::effect::Measure& run);
  /// Reads what the file system says of the path of a service; answered in the same way.
  void read_path(const engine::effect::Measure& run, const engine::measure::ReadPath& wanted,
                 std::shared_ptr<const engine::ServiceBlock> block);
  /// Reads what the kernel says of a mounted filesystem and its device; answered in the same way.
  void read_filesystem(const engine::effect::Measure& run, std::shared_ptr<const engine::ServiceBlock> block);
  /// Reads what a network interface is and carries; answered in the same way.
  void read_interface(const engine::effect::Measure& run, const engine::measure::ReadInterface& wanted,
                      std::shared_ptr<const engine::ServiceBlock> block);
  /// The look is not answered. Unknown ones are ignored.
  void cancel(engine::RunId run);
  /// The service is gone, or no longer looked at: what is remembered of it goes too, and no death is told any more.
  void forget(engine::ServiceId service);
  /// Signals a process with proof of its identity; nothing happens where it is gone. Never healer's own process, nor
  /// the first one of the machine. event::NotSignalled tells where it was not done.
  void signal(const engine::effect::Signal& signal);

  /// Processes whose death will be told.
  [[nodiscard]] std::size_t watched() const { return watch_.size(); }
  /// Walks over /proc so far.
  [[nodiscard]] std::size_t walks() const { return walks_; }
  /// Threads that hang now, at a look or at the lines of a file.
  [[nodiscard]] unsigned stuck() const { return pool_.stuck() + lines_.stuck(); }

 private:
  struct Inspection;
  struct PathRun;
  class PathInspections;
  struct Memory;
  struct Reader;
  struct Found;
  struct Request;
  using InspectionIds = std::vector<std::uint64_t>;
  using Tasks = std::vector<WorkerPool::Task>;
  struct Expiry {
    Duration at;
    std::uint64_t run;
  };

  Inspection& add(const engine::effect::Measure& run);
  Inspection& keep(std::unique_ptr<Inspection> inspection);
  void flush_at_end_of_turn();
  void flush();
  void walk();
  void walked(const Result<std::shared_ptr<const ProcSnapshot>>& snapshot);
  void read_commands();
  void commands_read(const std::shared_ptr<Reader>& reader,
                     const Result<std::shared_ptr<const ProcCommands>>& commands);
  void submit(Inspection& inspection, Tasks& tasks);
  void expire();
  template <typename Seen>
  Loop::Callback deliver(std::uint64_t run, Result<Seen> seen, void (Inspector::*then)(std::uint64_t, Seen&));
  [[nodiscard]] Memory& memory_of(engine::ServiceId service);
  [[nodiscard]] static Found find(const Request& request, MountGuard& guard);
  [[nodiscard]] static Found find_own(const Request& request);
  [[nodiscard]] static std::string see(const PidFile& file, const Request& request, Found& found);
  static void find_last(const Request& request, const std::string& why, Found& found);
  void note_clock();
  void check_again(Inspection& inspection);
  [[nodiscard]] bool shows_totals(const Inspection& inspection, const ProcessIdentity& identity) const;
  void found(std::uint64_t run, Found& found);
  void search(Inspection& inspection, std::shared_ptr<engine::Facts> facts, std::string output);
  void found_system(std::uint64_t run, SystemInspection& inspection);
  void found_path(PathRun& run);
  void inspect(PathRun run);
  void submit_paths();
  void expire_paths(Duration now);
  void cancel_path(engine::RunId run);
  void answer_path(PathRun& run, std::shared_ptr<const engine::Facts> facts, std::string output, engine::Answer answer);
  void fail_path(PathRun& run, std::string why);
  void sum(PathRun& run);
  void found_filesystem(std::uint64_t run, FilesystemInspection& inspection);
  void found_interface(std::uint64_t run, const engine::measure::ReadInterface& wanted, NetworkInspection& inspection);
  void fail(std::uint64_t run, const std::string& why);
  void fail_all(InspectionIds& inspections, const std::string& why);
  void answer(std::uint64_t run, std::shared_ptr<const engine::Facts> facts, std::string output, engine::Answer answer);
  void tell(engine::ServiceId service, engine::RunId run, Duration begun, std::shared_ptr<const engine::Facts> facts,
            std::string output, engine::Answer answer);
  [[nodiscard]] std::string too_late() const;

  Loop& loop_;
  Options options_;
  Sink sink_;
  ProcessWatch watch_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Inspection>> inspections_;  ///< by RunId
  std::unordered_map<std::uint32_t, std::unique_ptr<Memory>> memories_;         ///< by ServiceId
  InspectionIds fresh_;                                                         ///< of this turn of the loop
  InspectionIds for_walk_;                                                      ///< wait for the walk that is under way
  InspectionIds for_commands_;                    ///< wait for the command lines that are being read
  std::shared_ptr<PathInspections> fresh_paths_;  ///< of this turn of the loop
  std::shared_ptr<PathInspections> fresh_lines_;  ///< those of them that read the lines of files
  std::deque<std::shared_ptr<PathInspections>>
      path_inspections_;         ///< that were submitted, in their order; some are answered
  bool flushing_ = false;        ///< at the end of this turn
  std::deque<Expiry> expiries_;  ///< of looks, in their order; some have been answered
  Loop::Timer patience_;         ///< set while there are any
  bool walking_ = false;
  std::size_t walks_ = 0;
  std::optional<WallTime> booted_;   ///< when the machine was, by the wall clock of the last look
  std::optional<WallTime> stepped_;  ///< when the wall clock was seen to be stepped, by itself after that
  ProcTable table_;
  std::shared_ptr<const ProcCommands> commands_;
  std::vector<std::shared_ptr<Reader>> readers_;  ///< of command lines: the last may be waited for, others hang
  Loop::Timer reader_patience_;
  std::shared_ptr<MountGuard> guard_ = std::make_shared<MountGuard>();
  std::shared_ptr<char> alive_ = std::make_shared<char>();
  WorkerPool pool_;
  WorkerPool searcher_;
  WorkerPool lines_;  ///< for the lines of files, whose patterns may make it last for ever
  FileSummer sums_;
};

}  // namespace healer::runtime
