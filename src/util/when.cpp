// SPDX-License-Identifier: MIT
#include "util/when.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <string>

#include "util/text.hpp"

namespace healer {
namespace {

constexpr std::array<std::string_view, 7> kDays{"sunday",   "monday", "tuesday", "wednesday",
                                                "thursday", "friday", "saturday"};

/// Takes the number of so many digits, at least one and at most `most`, off the front.
std::optional<int> take_number(std::string_view& text, std::size_t most) {
  int value = 0;
  const std::string_view digits = text.substr(0, most);
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (failure != std::errc{} || !is_digit(text.front())) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - digits.data()));
  return value;
}

bool take(std::string_view& text, char wanted) {
  if (text.empty() || text.front() != wanted) return false;
  text.remove_prefix(1);
  return true;
}

/// "8:00", "08:00:30", "08:00:30.5".
std::optional<Duration> time_of_day(std::string_view text) {
  const auto hour = take_number(text, 2);
  if (!hour || *hour > 23 || !take(text, ':')) return std::nullopt;
  const auto minute = take_number(text, 2);
  if (!minute || *minute > 59) return std::nullopt;
  Duration time = hours{*hour} + minutes{*minute};
  if (take(text, ':')) {
    const auto second = take_number(text, 2);
    if (!second || *second > 60) return std::nullopt;
    time += seconds{*second};
    if (take(text, '.')) {
      Duration::rep digit = 100;
      for (; !text.empty() && is_digit(text.front()); digit /= 10, text.remove_prefix(1))
        time += milliseconds{(text.front() - '0') * digit};
    }
  }
  return text.empty() ? std::optional(time) : std::nullopt;
}

/// The moment at which the clock on the wall shows that.
WallTime from_local(std::chrono::sys_days day, Duration time, const CivilClock& civil) {
  const WallTime shown = WallTime{day} + time;
  WallTime when = shown;
  for (int i = 0; i < 2; ++i) when = shown - civil(when).offset;  // again, for the day of the change
  return when;
}

std::chrono::sys_days day_of(WallTime when, const CivilClock& civil) {
  const CivilTime c = civil(when);
  return std::chrono::sys_days{std::chrono::year_month_day{std::chrono::year{c.year},
                                                           std::chrono::month{static_cast<unsigned>(c.month)},
                                                           std::chrono::day{static_cast<unsigned>(c.day)}}};
}

/// "2026-11-20".
std::optional<std::chrono::sys_days> date(std::string_view text) {
  const auto year = take_number(text, 4);
  if (!year || *year < 1970 || !take(text, '-')) return std::nullopt;
  const auto month = take_number(text, 2);
  if (!month || !take(text, '-')) return std::nullopt;
  const auto day = take_number(text, 2);
  if (!day || !text.empty()) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{*year}, std::chrono::month{static_cast<unsigned>(*month)},
                                         std::chrono::day{static_cast<unsigned>(*day)}};
  return date.ok() ? std::optional(std::chrono::sys_days{date}) : std::nullopt;
}

/// "today", "yesterday", "tuesday", "tue".
std::optional<std::chrono::sys_days> day_named(std::string_view word, std::chrono::sys_days today) {
  if (word == "today") return today;
  if (word == "yesterday") return today - days{1};
  const auto found =
      std::ranges::find_if(kDays, [&](std::string_view day) { return word.size() >= 3 && day.starts_with(word); });
  if (found == kDays.end()) return std::nullopt;
  const auto weekday = static_cast<int>(found - kDays.begin());
  const int back = (static_cast<int>(std::chrono::weekday{today}.c_encoding()) - weekday + 6) % 7 + 1;
  return today - days{back};
}

}  // namespace

std::optional<WallTime> parse_when(std::string_view text, WallTime now, const CivilClock& civil) {
  const std::string lower = to_lower(trim(text));
  std::string_view rest = lower;
  if (rest.empty()) return std::nullopt;
  if (rest == "now") return now;
  std::string_view span = rest;
  if (span.ends_with(" ago")) span = trim(span.substr(0, span.size() - 4));
  if (const auto before = parse_duration(span)) return now - *before;

  const std::chrono::sys_days today = day_of(now, civil);
  if (const auto time = time_of_day(rest)) {
    const WallTime when = from_local(today, *time, civil);
    return when <= now ? when : from_local(today - days{1}, *time, civil);
  }
  if (rest.starts_with("last ")) rest = trim(rest.substr(5));
  const std::size_t length =
      std::min(rest.find_first_of(is_digit(rest.empty() ? 'x' : rest.front()) ? " t" : " "), rest.size());
  const std::string_view word = rest.substr(0, length);
  std::string_view clock = trim(rest.substr(std::min(length + 1, rest.size())));
  const auto day = word.empty() ? std::nullopt : is_digit(word.front()) ? date(word) : day_named(word, today);
  if (!day) return std::nullopt;
  const bool utc = clock.ends_with('z');
  if (utc) clock.remove_suffix(1);
  if (clock.starts_with("at ")) clock = trim(clock.substr(3));
  const auto time = clock.empty() && !utc ? std::optional(Duration{0}) : time_of_day(clock);
  if (!time) return std::nullopt;
  return utc ? WallTime{*day} + *time : from_local(*day, *time, civil);
}

}  // namespace healer
