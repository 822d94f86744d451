// SPDX-License-Identifier: MIT
#include "runtime/inspection/system_table.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "runtime/clock.hpp"
#include "runtime/inspection/proc_stat.hpp"

namespace healer::runtime {
namespace {

using engine::Metric;
using engine::Metrics;

constexpr std::size_t kMost = 64 * 1024;

std::string contents(const char* path) {
  auto text = read_head(AT_FDCWD, path, kMost);
  return text ? std::move(*text) : std::string();
}

/// The numbers at the head of a text, at most `count`; what is missing is 0.
template <std::size_t count>
std::array<double, count> leading_numbers(const char* text) {
  std::array<double, count> numbers{};
  for (double& number : numbers) {
    char* end = nullptr;
    number = std::strtod(text, &end);
    if (end == text) break;
    text = end;
  }
  return numbers;
}

/// Of a line "NAME:   123 kB" the bytes.
double bytes_of(const std::string& text, const char* name) {
  const auto found = ("\n" + text).find("\n" + std::string(name) + ":");
  if (found == std::string::npos) return 0;
  return 1024 * std::strtod(text.c_str() + found + std::string(name).size() + 1, nullptr);
}

void add_memory(Metrics& metrics) {
  const std::string info = contents("/proc/meminfo");
  if (info.empty()) return;
  const auto add = [&](Metric percent, Metric bytes, double all, double left) {
    metrics.set(bytes, all - left);
    metrics.set(percent, all > 0 ? 100 * (all - left) / all : 0);
  };
  add(Metric::SystemMemory, Metric::SystemMemoryBytes, bytes_of(info, "MemTotal"), bytes_of(info, "MemAvailable"));
  add(Metric::Swap, Metric::SwapBytes, bytes_of(info, "SwapTotal"), bytes_of(info, "SwapFree"));
}

void add_descriptors(Metrics& metrics) {
  const auto [allocated, free, most] = leading_numbers<3>(contents("/proc/sys/fs/file-nr").c_str());
  if (most <= 0) return;
  metrics.set(Metric::SystemFileDescriptors, allocated - free);
  metrics.set(Metric::SystemFileDescriptorsPercent, 100 * (allocated - free) / most);
}

/// The number of a line "NAME 123".
std::optional<std::uint64_t> count_of(const std::string& text, std::string_view name) {
  const auto found = ("\n" + text).find(fmt::format("\n{} ", name));
  if (found == std::string::npos) return std::nullopt;
  return std::strtoull(text.c_str() + found + name.size() + 1, nullptr, 10);
}

}  // namespace

void add_load(Metrics& metrics) {
  const std::string text = contents("/proc/loadavg");
  if (text.empty()) return;
  const auto load = leading_numbers<3>(text.c_str());
  const auto cores = static_cast<double>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  constexpr std::array<std::pair<Metric, Metric>, 3> kMetricsOfLoad{{{Metric::Load1, Metric::Load1PerCore},
                                                                     {Metric::Load5, Metric::Load5PerCore},
                                                                     {Metric::Load15, Metric::Load15PerCore}}};
  for (std::size_t i = 0; i < load.size(); ++i) {
    metrics.set(kMetricsOfLoad[i].first, load[i]);
    metrics.set(kMetricsOfLoad[i].second, load[i] / cores);
  }
}

SystemInspection inspect_system() {
  SystemInspection inspection;
  add_load(inspection.metrics);
  add_memory(inspection.metrics);
  add_descriptors(inspection.metrics);
  inspection.sample.taken = mono_now();
  inspection.metrics.set(Metric::Uptime, static_cast<double>(inspection.sample.taken.count() / 1000));
  const std::string stat = contents("/proc/stat");
  if (stat.starts_with("cpu ")) {
    const auto ticks = leading_numbers<SystemSample::kFields>(stat.c_str() + 4);
    std::ranges::transform(ticks, inspection.sample.ticks.begin(),
                           [](double one) { return static_cast<std::uint64_t>(one); });
  }
  const std::string paging = contents("/proc/vmstat");
  inspection.sample.paged_in = count_of(paging, "pswpin");
  inspection.sample.paged_out = count_of(paging, "pswpout");
  return inspection;
}

void add_means(Metrics& metrics, const SystemSample& former, const SystemSample& present) {
  const Duration time = present.taken - former.taken;
  const auto add_rate = [&](Metric metric, const std::optional<std::uint64_t>& was,
                            const std::optional<std::uint64_t>& is) {
    if (!was || !is || time <= Duration{0}) return;
    metrics.set(metric, static_cast<double>(*is - std::min(*was, *is)) * 1000 / static_cast<double>(time.count()));
  };
  add_rate(Metric::PageIns, former.paged_in, present.paged_in);
  add_rate(Metric::PageOuts, former.paged_out, present.paged_out);
  std::array<double, SystemSample::kFields> used{};
  for (std::size_t i = 0; i < used.size(); ++i) {
    // Time of waiting may be counted back.
    used[i] = static_cast<double>(present.ticks[i] - std::min(former.ticks[i], present.ticks[i]));
  }
  double all = 0;  // time of guests is in the user's already
  for (std::size_t i = 0; i < SystemSample::Guest; ++i) all += used[i];
  if (all <= 0) return;
  const auto add = [&](Metric metric, double ticks) { metrics.set(metric, 100 * ticks / all); };
  add(Metric::SystemCpu, all - used[SystemSample::Idle] - used[SystemSample::Wait]);
  add(Metric::CpuUser, used[SystemSample::User]);
  add(Metric::CpuSystem, used[SystemSample::System]);
  add(Metric::CpuNice, used[SystemSample::Nice]);
  add(Metric::CpuWait, used[SystemSample::Wait]);
  add(Metric::CpuHardIrq, used[SystemSample::HardIrq]);
  add(Metric::CpuSoftIrq, used[SystemSample::SoftIrq]);
  add(Metric::CpuSteal, used[SystemSample::Steal]);
  add(Metric::CpuGuest, used[SystemSample::Guest]);
  add(Metric::CpuGuestNice, used[SystemSample::GuestNice]);
}

}  // namespace healer::runtime
