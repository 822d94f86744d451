// SPDX-License-Identifier: MIT
// Rows that several kinds of services have.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "engine/rules/kind.hpp"

namespace healer::checks {

using namespace engine;

/// The rows of both.
template <typename Row, std::size_t kFirst, std::size_t kSecond>
consteval std::array<Row, kFirst + kSecond> joined(const std::array<Row, kFirst>& first,
                                                   const std::array<Row, kSecond>& second) {
  std::array<Row, kFirst + kSecond> all{};
  std::ranges::copy(second, std::ranges::copy(first, all.begin()).out);
  return all;
}

inline constexpr AttributeRow kUid{.attribute = Attribute::Uid,
                                   .words = "uid",
                                   .topic = "a uid or gid",
                                   .form = Form::User,
                                   .differs = true,
                                   .event = EventKind::Uid,
                                   .sentence = {.failed = "uid test failed for {name} -- current uid is {now}",
                                                .succeeded = "uid test succeeded [current uid = {now}]"}};
inline constexpr AttributeRow kGid{.attribute = Attribute::Gid,
                                   .words = "gid",
                                   .topic = "a uid or gid",
                                   .form = Form::Group,
                                   .differs = true,
                                   .event = EventKind::Gid,
                                   .sentence = {.failed = "gid test failed for {name} -- current gid is {now}",
                                                .succeeded = "gid test succeeded [current gid = {now}]"}};

inline constexpr Quantity kUptime{
    .metric = Metric::Uptime,
    .words = "uptime",
    .sentence = {.matched = "uptime test failed for {path} -- current uptime is {value} seconds",
                 .succeeded = "uptime test succeeded [current uptime = {value} seconds]"},
    .event = EventKind::Uptime};

/// The load of the machine.
inline constexpr std::array<Quantity, 6> kLoads{{
    {.metric = Metric::Load1,
     .words = "loadavg(1min)",
     .sentence = {"loadavg (1min) of", "loadavg (1min)", "loadavg (1min) check", "loadavg (1min)"}},
    {.metric = Metric::Load5,
     .words = "loadavg(5min)",
     .sentence = {"loadavg (5min) of", "loadavg (5min)", "loadavg (5min) check", "loadavg (5min)"}},
    {.metric = Metric::Load15,
     .words = "loadavg(15min)",
     .sentence = {"loadavg (15min) of", "loadavg (15min)", "loadavg (15min) check", "loadavg (15min)"}},
    {.metric = Metric::Load1PerCore,
     .words = "loadavg(1min) per core",
     .sentence = {"loadavg per core (1min) of", "loadavg per core (1min)", "loadavg per core (1min) check",
                  "loadavg per core (1min)"}},
    {.metric = Metric::Load5PerCore,
     .words = "loadavg(5min) per core",
     .sentence = {"loadavg per core (5min) of", "loadavg per core (5min)", "loadavg per core (5min) check",
                  "loadavg per core (5min)"}},
    {.metric = Metric::Load15PerCore,
     .words = "loadavg(15min) per core",
     .sentence = {"loadavg per core (15min) of", "loadavg per core (15min)", "loadavg per core (15min) check",
                  "loadavg per core (15min)"}},
}};

}  // namespace healer::checks
