// SPDX-License-Identifier: MIT
#include "runtime/clock.hpp"

#include <algorithm>
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
  return {boot, mono_now(), wall_now()};
}

WallTime wall_now() { return std::chrono::floor<milliseconds>(std::chrono::system_clock::now()); }

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
  constexpr std::time_t kFirst = -62'135'596'800;  // the years 1
  constexpr std::time_t kLast = 253'402'300'799;   // to 9999: a saved time may be any number
  const std::time_t whole =
      std::clamp<std::time_t>(std::chrono::floor<seconds>(when.time_since_epoch()).count(), kFirst, kLast);
  std::tm local{};
  localtime_r(&whole, &local);
  return {local.tm_year + 1900, local.tm_mon + 1, local.tm_mday, local.tm_hour,
          local.tm_min,         local.tm_sec,     local.tm_wday, seconds{local.tm_gmtoff}};
}

}  // namespace healer::runtime
