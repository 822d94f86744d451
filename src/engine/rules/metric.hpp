// SPDX-License-Identifier: MIT
// The quantities that tests compare with a number, and one look's values of them. What they are called says the row of
// a kind (engine/rules/kind).
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "util/few.hpp"

namespace healer::engine {

/// A measured quantity. Percentages are Monit's; rates are means since the look before. The names with Total are of a
/// process with all its descendants.
enum class Metric : std::uint8_t {
  // check program
  Status,  ///< its exit value
  // check process
  Cpu,            ///< percent of the cores that its threads can use: one thread, one core; at most all cores
  TotalCpu,       ///< the same, and the same of its descendants taken together
  MemoryPercent,  ///< of the machine's
  MemoryBytes,    ///< resident
  TotalMemory,
  TotalMemoryBytes,
  Children,  ///< all descendants
  Threads,
  FileDescriptors,
  FileDescriptorsPercent,  ///< of its soft limit
  TotalFileDescriptors,
  ReadRate,   ///< by read calls, whether the disk was needed or not
  WriteRate,  ///< the same by write calls
  DiskReadRate,
  DiskWriteRate,
  ReadOperations,
  WriteOperations,
  // check process and check system
  Uptime,
  // check system
  Load1,
  Load5,
  Load15,
  Load1PerCore,
  Load5PerCore,
  Load15PerCore,
  SystemCpu,  ///< all but idle and wait
  CpuUser,
  CpuSystem,
  CpuNice,
  CpuWait,
  CpuHardIrq,
  CpuSoftIrq,
  CpuSteal,
  CpuGuest,
  CpuGuestNice,
  SystemMemory,
  SystemMemoryBytes,
  Swap,
  SwapBytes,
  SystemFileDescriptors,
  SystemFileDescriptorsPercent,
  // of a path: how long ago it was read, written, changed, either of these
  AccessAge,
  ModificationAge,
  ChangeAge,
  Age,
  Size,  ///< of a file
  // check filesystem, which also has ReadRate, WriteRate, ReadOperations and WriteOperations
  SpaceUsage,
  SpaceUsageBytes,
  SpaceFree,
  SpaceFreeBytes,
  InodeUsage,
  InodeUsageNumber,
  InodeFree,
  InodeFreeNumber,
  ServiceTime,  ///< of one operation on its device
  // check network: of what it can carry what it does; both ways together where only one is possible at a time
  Saturation,
  UploadSaturation,
  DownloadSaturation,
  UploadRate,
  DownloadRate,
  UploadPackets,
  DownloadPackets,
  TotalUpload,  ///< these are of a time that a test names (Total)
  TotalDownload,
  TotalUploadPackets,
  TotalDownloadPackets,
  // check process; the numbers of metrics are recorded: new ones come last
  ChildrenCpu,  ///< of its descendants taken together, without itself
  ChildrenMemory,
  ChildrenMemoryBytes,
  ExitStatus,    ///< of a foreground process that is not there: how it ended
  HardLinks,     ///< of a path
  PageIns,       ///< of check system: pages that came back from swap, a second
  PageOuts,      ///< and that went there
  RunTime,       ///< of check heartbeat: since the `start` of a run, or from that to its end
  Tasks,         ///< of check unit: its processes and threads
  UnitRestarts,  ///< and how often systemd has restarted it by itself, since its last start or in a time (Total)
  Count_
};
inline constexpr std::size_t kMetrics = static_cast<std::size_t>(Metric::Count_);

enum class Unit : std::uint8_t {
  Percent,
  Bytes,
  Number,
  BytesPerSecond,
  OperationsPerSecond,
  Packets,
  PacketsPerSecond,
  PagesPerSecond,
  Seconds,
  Milliseconds,  ///< of one operation
  Load
};

[[nodiscard]] Unit unit_of(Metric metric);
/// Whether it tells of the file descriptors of a process, without its descendants.
[[nodiscard]] bool is_of_descriptors(Metric metric);
/// Whether it tells of what a process reads and writes.
[[nodiscard]] bool is_of_transfers(Metric metric);
/// Whether it tells of the memory of a process, without its descendants.
[[nodiscard]] bool is_of_memory(Metric metric);
/// A value with its unit, as Monit writes it: "85.0%", "10.5 MB", "3", "2.0 MB/s", "12.0 operations/s", "5 packets",
/// "12.0 pages/s", "90 s", "0.529 ms/operation", "0.52".
[[nodiscard]] std::string format_metric(Unit unit, double value);

/// What one look has measured. What could not be measured (yet: rates need two looks) is not known. Of each service the
/// last is kept, and most kinds know but a few: a list in the order of the metrics, mostly also that of setting them.
class Metrics {
 public:
  struct Figure {
    Metric metric;
    double value;

    bool operator==(const Figure&) const = default;
  };

  void set(Metric metric, double value) {
    std::vector<Figure>& figures = figures_.edit();
    if (figures.capacity() == 0) figures.reserve(kMostly);
    const auto place = place_of(metric, figures);
    if (place != figures.end() && place->metric == metric)
      place->value = value;
    else
      figures.insert(place, {metric, value});
  }
  /// It is not known any more.
  void reset(Metric metric) {
    if (figures_.empty()) return;
    std::vector<Figure>& figures = figures_.edit();
    const auto place = place_of(metric, figures);
    if (place != figures.end() && place->metric == metric) figures.erase(place);
  }
  [[nodiscard]] std::optional<double> get(Metric metric) const {
    for (const Figure& figure : figures_)
      if (figure.metric >= metric) return figure.metric == metric ? std::optional(figure.value) : std::nullopt;
    return std::nullopt;
  }
  /// Those that are known, in the order of the metrics.
  [[nodiscard]] const std::vector<Figure>& all() const { return figures_; }

  bool operator==(const Metrics&) const = default;

 private:
  static constexpr std::size_t kMostly = 5;
  /// Where it is or belongs.
  [[nodiscard]] static std::vector<Figure>::iterator place_of(Metric metric, std::vector<Figure>& figures) {
    auto place = figures.end();
    while (place != figures.begin() && std::prev(place)->metric >= metric) --place;
    return place;
  }

  Few<Figure> figures_;
};

}  // namespace healer::engine
