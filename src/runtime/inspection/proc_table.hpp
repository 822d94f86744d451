// SPDX-License-Identifier: MIT
// All processes of the machine at one moment, and what can be said of them: who descends from whom, who matches a
// pattern, what a process and its descendants use. Percentages and rates are Monit's.
//
// A snapshot is one walk over /proc that reads /proc/PID/stat of each process and nothing else, since that never waits
// for the process. Command lines may: a process that hangs while it reads its own memory lets everybody hang who asks
// for its command line. So these are read apart, and a process that is known to hang is left out (read_commands).
//
// What a mean is taken over is decided here too (Means): at least kShortestMean, so that looks in quick succession do
// not make figures of a few clock ticks.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/events/evidence.hpp"
#include "runtime/inspection/proc_stat.hpp"
#include "util/result.hpp"
#include "util/time.hpp"

namespace healer::runtime {

inline constexpr Duration kShortestMean{500};

/// What a mean is taken from: the latest sample that is at least kShortestMean older than the present one. A Sample has
/// a time `taken`.
template <typename Sample>
class Means {
 public:
  /// Adds the present sample. What it is compared with: nothing at first.
  const std::optional<Sample>& add(const Sample& present) {
    if (!base_) {
      base_ = present;
    } else if (present.taken - base_->taken >= kShortestMean) {
      former_ = std::exchange(base_, present);
    }
    return former_;
  }
  [[nodiscard]] bool has_former() const { return former_.has_value(); }

 private:
  std::optional<Sample> former_;
  std::optional<Sample> base_;
};

/// Every process there was.
class ProcSnapshot {
 public:
  /// Walks /proc. Blocks for as long as that takes: not for the loop thread. An Error where not all can be seen, for
  /// want of descriptors or memory, or of /proc.
  [[nodiscard]] static Result<std::shared_ptr<const ProcSnapshot>> take();
  /// What a walk at that time has found. `hides`: /proc does not show the processes of others (hidepid).
  ProcSnapshot(Duration taken, std::vector<ProcStat> processes, bool hides = false);

  [[nodiscard]] Duration taken() const { return taken_; }
  /// Whether there may be others, which are hidden from this one.
  [[nodiscard]] bool hides() const { return hides_; }
  [[nodiscard]] const std::vector<ProcStat>& processes() const { return processes_; }  ///< by pid
  /// The process of that number, or null.
  [[nodiscard]] const ProcStat* find(pid_t pid) const;
  /// Children, their children and so on.
  [[nodiscard]] std::vector<const ProcStat*> descendants(pid_t pid) const;

 private:
  Duration taken_;
  bool hides_;
  std::vector<ProcStat> processes_;
  std::vector<std::pair<pid_t, std::uint32_t>> by_parent_;  // parent, index of the child
};

/// A snapshot and the one that its means are taken from.
struct ProcTable {
  Duration taken{0};
  std::shared_ptr<const ProcSnapshot> snapshot;
  std::shared_ptr<const ProcSnapshot> former;  ///< null at first

  /// The next snapshot has come.
  void add(std::shared_ptr<const ProcSnapshot> next);

 private:
  struct Sample {
    Duration taken{0};
    std::shared_ptr<const ProcSnapshot> snapshot;
  };
  Means<Sample> means_;
};

/// The command lines of a snapshot's processes, in its order: arguments joined by blanks, as Monit sees them; the
/// executable's name where there are none (kernel threads, zombies).
struct ProcCommands {
  std::shared_ptr<const ProcSnapshot> snapshot;
  std::vector<std::string> lines;
};
/// Reads them. `at` says whose is being read, 0 at the end; of the processes in `skipped` the name is taken. Errors as
/// ProcSnapshot::take.
[[nodiscard]] Result<std::shared_ptr<const ProcCommands>> read_commands(std::shared_ptr<const ProcSnapshot> snapshot,
                                                                        const std::vector<pid_t>& skipped,
                                                                        std::atomic<pid_t>& at);
/// What a pattern has found.
struct PatternMatch {
  pid_t pid = 0;          ///< 0: none
  pid_t passed_over = 0;  ///< one that matches, too, but is not to be taken; 0: none
};
/// Of the processes that match the pattern the topmost parent with the longest uptime, as Monit; living ones before
/// zombies. Those of which `is_not` (if there is one) says so are passed over; it is asked of matching ones alone. An
/// Error where the pattern is invalid. Slow with some patterns: not for the loop thread.
[[nodiscard]] Result<PatternMatch> find_match(const ProcCommands& commands, const std::string& pattern,
                                              const std::function<bool(const ProcStat&)>& is_not = {});

/// The command line of a process, as that of a snapshot; empty where it cannot be seen. May wait for that process: not
/// for the loop thread.
[[nodiscard]] std::string command_line(pid_t pid);

/// A process that was seen to bear a mark.
struct MarkedProcess {
  pid_t pid = -1;
  std::uint64_t start_ticks = 0;
  uid_t owner = 0;
  std::string value;  ///< what follows the beginning of the mark
};
/// All living processes but this one in whose environment a text begins so ("NAME=value..."), as far as they can be
/// seen; nothing where nobody can be. Only those of `owners` (real uids) are asked: anybody can write a mark into an
/// environment of his own, and as much beside it as he likes. May wait for any of them, as above;
/// `looked` counts those that it has done with.
[[nodiscard]] std::optional<std::vector<MarkedProcess>> marked_processes(
    const std::string& beginning, const std::vector<uid_t>& owners, std::atomic<std::uint64_t>* inspected = nullptr);

/// What a process has used up to a moment.
struct ProcessSample {
  Duration taken{0};
  pid_t pid = -1;
  std::uint64_t start_ticks = 0;
  std::uint64_t cpu_ticks = 0;
  struct Io {
    std::uint64_t read_bytes = 0;
    std::uint64_t written_bytes = 0;
    std::uint64_t disk_read_bytes = 0;
    std::uint64_t disk_written_bytes = 0;
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
  };
  std::optional<Io> io;  ///< none where we may not know
};

/// What is wanted of one process.
struct ProcessQuery {
  bool attribute = false;          ///< its security attribute
  bool total_descriptors = false;  ///< those of its descendants too
  bool of_children = false;        ///< what its descendants use without itself
  bool load = false;               ///< the load averages of the machine
  /// The process that a former look has found; of another, everything is looked at. What is not wanted of the known one
  /// costs nothing.
  ProcessIdentity known{};
  bool owner = true;         ///< whose it is
  bool transfers = true;     ///< what it reads and writes
  bool descriptors = true;   ///< how many it has open
  bool shares = false;       ///< its memory is its proportional share (PSS), not all that is resident
  bool memory = true;        ///< with `shares`: that is read now
  bool total_memory = true;  ///< and of its descendants
};

/// What /proc says of one process.
struct ProcessInspection {
  engine::ProcessFacts facts;
  engine::Metrics metrics;  ///< what needs no former sample; nothing of a zombie
  ProcessSample sample;
  // What was looked at; where that is not all, it is the known one.
  bool has_owner = false;
  bool has_transfers = false;
  bool has_descriptors = false;
  bool has_memory = false;

  [[nodiscard]] bool is_whole() const { return has_owner && has_transfers && has_descriptors && has_memory; }
};
/// Looks at the process of that number. An Error with code ESRCH where there is none, or where it is a thread of
/// another process; with another code where that is not known, for instance since /proc hides it. May wait for that
/// process: not for the loop thread. Requires: proc_is_ours().
[[nodiscard]] Result<ProcessInspection> inspect_process(pid_t pid, const ProcessQuery& query);

/// Adds the figures that are means since `former`, where that was the same process: what it has used of the cores, ...
void add_means(engine::Metrics& metrics, const ProcessSample& former, const ProcessSample& present);
/// ... and what it has read and written, where both know that.
void add_transfers(engine::Metrics& metrics, const ProcessSample& former, const ProcessSample& present);
/// The proportional share of memory (PSS) of the descendants of a process. May wait for each of them: not for the loop
/// thread.
[[nodiscard]] double shares_of_descendants(const ProcSnapshot& snapshot, pid_t pid);
/// Adds the figures of a process with its descendants, by a table. Those of its own must be there already. `shares`:
/// what the memory of its descendants is, where that is not all that is resident.
void add_totals(engine::Metrics& metrics, const ProcTable& table, const ProcessSample& process,
                const ProcessQuery& query, std::optional<double> shares = {});

}  // namespace healer::runtime
