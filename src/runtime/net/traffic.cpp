// SPDX-License-Identifier: MIT
#include "runtime/net/traffic.hpp"

#include <algorithm>

namespace healer::runtime {
namespace {

Duration::rep minute_of(Duration time) { return std::chrono::duration_cast<minutes>(time).count(); }

/// How many minutes a time is, with the one under way.
Duration::rep length_of(Duration span) {
  const auto most = static_cast<Duration::rep>(Traffic::kMostMinutes);
  return span > Duration{0} ? std::clamp<Duration::rep>(minute_of(span), 1, most) : most;
}

}  // namespace

void Traffic::add(const InterfaceSample& present, Duration longest) {
  const bool is_other = present.interface != last_.interface || began_anew(last_.counters, present.counters);
  if (is_other) minutes_.clear();
  const Duration::rep now = minute_of(present.taken);
  // What came between two looks counts for the later minute, in which it was seen.
  if (minutes_.empty())
    minutes_.push_back({now, present.counters});
  else if (now > minutes_.back().number)
    minutes_.push_back({now, last_.counters});
  while (minutes_.front().number <= now - length_of(longest)) minutes_.pop_front();
  last_ = present;
}

InterfaceCounters Traffic::since(Duration span) const {
  const Duration::rep first = minute_of(last_.taken) - length_of(span) + 1;
  const auto begin = std::ranges::find_if(minutes_, [&](const Minute& minute) { return minute.number >= first; });
  const InterfaceCounters& now = last_.counters;
  const InterfaceCounters& then = begin->begun;
  return {.bytes_in = now.bytes_in - then.bytes_in,
          .bytes_out = now.bytes_out - then.bytes_out,
          .packets_in = now.packets_in - then.packets_in,
          .packets_out = now.packets_out - then.packets_out};
}

}  // namespace healer::runtime
