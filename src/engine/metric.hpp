// SPDX-License-Identifier: MIT
// The quantities that tests compare with a number, and one look's values of them. What they are called says the row of
// a kind (engine/kind).
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  Seconds,
  Milliseconds,  ///< of one operation
  Load
};

[[nodiscard]] Unit unit_of(Metric metric);
/// A value with its unit, as Monit writes it: "85.0%", "10.5 MB", "3", "2.0 MB/s", "12.0 operations/s", "5 packets",
/// "90 s", "0.529 ms/operation", "0.52".
[[nodiscard]] std::string format_metric(Unit unit, double value);

/// What one look has measured. What could not be measured (yet: rates need two looks) is not known. Of each service the
/// last is kept, and most kinds know but a few.
class Metrics {
 public:
  void set(Metric metric, double value) {
    const auto index = static_cast<std::size_t>(metric);
    const auto place = values_.begin() + static_cast<std::ptrdiff_t>(place_of(index));
    if (known_.test(index))
      *place = value;
    else
      values_.insert(place, value);
    known_.set(index);
  }
  [[nodiscard]] std::optional<double> get(Metric metric) const {
    const auto index = static_cast<std::size_t>(metric);
    return known_.test(index) ? std::optional(values_[place_of(index)]) : std::nullopt;
  }

  bool operator==(const Metrics&) const = default;

 private:
  using Known = std::bitset<kMetrics>;
  /// How many before it are known.
  [[nodiscard]] std::size_t place_of(std::size_t index) const { return (known_ & ~(~Known{} << index)).count(); }

  Known known_;
  std::vector<double> values_;  ///< of those that are known, in their order
};

}  // namespace healer::engine
