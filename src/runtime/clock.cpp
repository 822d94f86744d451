// SPDX-License-Identifier: MIT
#include "runtime/clock.hpp"

#include <ctime>
#include <fstream>

#include "util/hash.hpp"

namespace healer::runtime {
namespace {

std::uint64_t read_boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return hash128(id).low;
}

}  // namespace

Instant now() {
  static const std::uint64_t boot = read_boot_id();
  return {boot, mono_now(), std::chrono::floor<milliseconds>(std::chrono::system_clock::now())};
}

Duration mono_now() {
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return seconds{time.tv_sec} + milliseconds{time.tv_nsec / 1'000'000};
}

std::int64_t kernel_now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

CivilTime local_civil(WallTime when) {
  const std::time_t whole = std::chrono::system_clock::to_time_t(std::chrono::floor<seconds>(when));
  std::tm local{};
  localtime_r(&whole, &local);
  return {local.tm_year + 1900, local.tm_mon + 1, local.tm_mday, local.tm_hour,
          local.tm_min,         local.tm_sec,     local.tm_wday, seconds{local.tm_gmtoff}};
}

}  // namespace healer::runtime
