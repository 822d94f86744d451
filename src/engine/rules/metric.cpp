// SPDX-License-Identifier: MIT
#include "engine/rules/metric.hpp"

#include <spdlog/fmt/fmt.h>

#include <cmath>

namespace healer::engine {
namespace {

/// "1 kB", "1.5 kB": a decimal only where there is one, even if it is 0 when rounded.
std::string format_bytes(double value) {
  constexpr std::array<std::string_view, 6> kUnits{"B", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.{}f} {}", value, unit == 0 || value == std::floor(value) ? 0 : 1, kUnits[unit]);
}

}  // namespace

bool is_of_descriptors(Metric metric) {
  return metric == Metric::FileDescriptors || metric == Metric::FileDescriptorsPercent;
}

bool is_of_transfers(Metric metric) {
  switch (metric) {
    case Metric::ReadRate:
    case Metric::WriteRate:
    case Metric::DiskReadRate:
    case Metric::DiskWriteRate:
    case Metric::ReadOperations:
    case Metric::WriteOperations: return true;
    default: return false;
  }
}

bool is_of_memory(Metric metric) { return metric == Metric::MemoryBytes || metric == Metric::MemoryPercent; }

Unit unit_of(Metric metric) {
  switch (metric) {
    case Metric::Cpu:
    case Metric::TotalCpu:
    case Metric::MemoryPercent:
    case Metric::TotalMemory:
    case Metric::ChildrenCpu:
    case Metric::ChildrenMemory:
    case Metric::FileDescriptorsPercent:
    case Metric::SystemCpu:
    case Metric::CpuUser:
    case Metric::CpuSystem:
    case Metric::CpuNice:
    case Metric::CpuWait:
    case Metric::CpuHardIrq:
    case Metric::CpuSoftIrq:
    case Metric::CpuSteal:
    case Metric::CpuGuest:
    case Metric::CpuGuestNice:
    case Metric::SystemMemory:
    case Metric::Swap:
    case Metric::SystemFileDescriptorsPercent:
    case Metric::SpaceUsage:
    case Metric::SpaceFree:
    case Metric::InodeUsage:
    case Metric::InodeFree:
    case Metric::Saturation:
    case Metric::UploadSaturation:
    case Metric::DownloadSaturation: return Unit::Percent;
    case Metric::MemoryBytes:
    case Metric::TotalMemoryBytes:
    case Metric::ChildrenMemoryBytes:
    case Metric::SystemMemoryBytes:
    case Metric::SwapBytes:
    case Metric::Size:
    case Metric::SpaceUsageBytes:
    case Metric::SpaceFreeBytes:
    case Metric::TotalUpload:
    case Metric::TotalDownload: return Unit::Bytes;
    case Metric::ReadRate:
    case Metric::WriteRate:
    case Metric::DiskReadRate:
    case Metric::DiskWriteRate:
    case Metric::UploadRate:
    case Metric::DownloadRate: return Unit::BytesPerSecond;
    case Metric::UploadPackets:
    case Metric::DownloadPackets: return Unit::PacketsPerSecond;
    case Metric::TotalUploadPackets:
    case Metric::TotalDownloadPackets: return Unit::Packets;
    case Metric::ReadOperations:
    case Metric::WriteOperations: return Unit::OperationsPerSecond;
    case Metric::PageIns:
    case Metric::PageOuts: return Unit::PagesPerSecond;
    case Metric::Uptime:
    case Metric::AccessAge:
    case Metric::ModificationAge:
    case Metric::ChangeAge:
    case Metric::Age:
    case Metric::RunTime: return Unit::Seconds;
    case Metric::Load1:
    case Metric::Load5:
    case Metric::Load15:
    case Metric::Load1PerCore:
    case Metric::Load5PerCore:
    case Metric::Load15PerCore: return Unit::Load;
    case Metric::ServiceTime: return Unit::Milliseconds;
    case Metric::Status:
    case Metric::ExitStatus:
    case Metric::Children:
    case Metric::Threads:
    case Metric::FileDescriptors:
    case Metric::TotalFileDescriptors:
    case Metric::SystemFileDescriptors:
    case Metric::InodeUsageNumber:
    case Metric::InodeFreeNumber:
    case Metric::HardLinks:
    case Metric::Tasks:
    case Metric::UnitRestarts:
    case Metric::Count_: break;
  }
  return Unit::Number;
}

std::string format_metric(Unit unit, double value) {
  switch (unit) {
    case Unit::Percent: return fmt::format("{:.1f}%", value);
    case Unit::Bytes: return format_bytes(value);
    case Unit::BytesPerSecond: return format_bytes(value) + "/s";
    case Unit::OperationsPerSecond: return fmt::format("{:.1f} operations/s", value);
    case Unit::Packets: return fmt::format("{:.0f} packets", value);
    case Unit::PacketsPerSecond: return fmt::format("{:.1f} packets/s", value);
    case Unit::PagesPerSecond: return fmt::format("{:.1f} pages/s", value);
    case Unit::Number: return fmt::format("{:.0f}", value);
    case Unit::Seconds: return fmt::format("{:.0f} s", value);
    case Unit::Milliseconds: return fmt::format("{:.{}f} ms/operation", value, value == std::floor(value) ? 0 : 3);
    case Unit::Load: return fmt::format("{:.2f}", value);
  }
  return {};
}

}  // namespace healer::engine
