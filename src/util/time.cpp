// SPDX-License-Identifier: MIT
#include "util/time.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <spdlog/fmt/fmt.h>

#include "util/text.hpp"

namespace healer {
namespace {

constexpr std::array<std::string_view, 7> kWeekdays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

std::string two_units(std::int64_t big, std::string_view big_unit, std::int64_t small, std::string_view small_unit) {
  return small == 0 ? fmt::format("{} {}", big, big_unit)
                    : fmt::format("{} {} {} {}", big, big_unit, small, small_unit);
}

/// The length of a unit by its lower-case name.
std::optional<Duration> unit_of(std::string_view word) {
  struct Unit {
    std::string_view name;
    Duration length;
  };
  static constexpr std::array<Unit, 26> kUnits{{
      {"ms", milliseconds{1}},
      {"millisecond", milliseconds{1}},
      {"milliseconds", milliseconds{1}},
      {"s", seconds{1}},
      {"sec", seconds{1}},
      {"secs", seconds{1}},
      {"second", seconds{1}},
      {"seconds", seconds{1}},
      {"m", minutes{1}},
      {"min", minutes{1}},
      {"mins", minutes{1}},
      {"minute", minutes{1}},
      {"minutes", minutes{1}},
      {"h", hours{1}},
      {"hr", hours{1}},
      {"hrs", hours{1}},
      {"hour", hours{1}},
      {"hours", hours{1}},
      {"d", days{1}},
      {"day", days{1}},
      {"days", days{1}},
      {"w", days{7}},
      {"wk", days{7}},
      {"wks", days{7}},
      {"week", days{7}},
      {"weeks", days{7}},
  }};
  for (const Unit& unit : kUnits)
    if (unit.name == word) return unit.length;
  return std::nullopt;
}

}  // namespace

CivilTime utc_civil(WallTime when) {
  const auto day = std::chrono::floor<days>(when);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss time{std::chrono::floor<seconds>(when - day)};
  return {static_cast<int>(date.year()),
          static_cast<int>(static_cast<unsigned>(date.month())),
          static_cast<int>(static_cast<unsigned>(date.day())),
          static_cast<int>(time.hours().count()),
          static_cast<int>(time.minutes().count()),
          static_cast<int>(time.seconds().count()),
          static_cast<int>(std::chrono::weekday{day}.c_encoding()),
          seconds{0}};
}

std::string format_duration(Duration duration) {
  const std::int64_t ms = duration.count();
  if (ms < 0) return "-" + format_duration(-duration);
  if (ms < 1000) return fmt::format("{} ms", ms);
  if (ms < 60'000) {
    return ms % 1000 == 0 ? fmt::format("{} s", ms / 1000)
                          : fmt::format("{}.{} s", ms / 1000,
                                        ms % 1000 < 100 && ms < 10'000 ? fmt::format("{:03}", ms % 1000)
                                                                       : fmt::format("{}", ms % 1000 / 100));
  }
  const std::int64_t s = ms / 1000;
  if (s < 3600) return two_units(s / 60, "m", s % 60, "s");
  if (s < 86'400) return two_units(s / 3600, "h", s % 3600 / 60, "m");
  return two_units(s / 86'400, "d", s % 86'400 / 3600, "h");
}

std::optional<Duration> parse_duration(std::string_view text) {
  constexpr double kLimit = 10'000.0 * 366 * 86'400'000;
  double total = 0;
  text = trim(text);
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    double number = 0;
    const auto [end, failure] =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (failure != std::errc{} || text.front() == '-' || !std::isfinite(number)) return std::nullopt;
    text = trim(text.substr(static_cast<std::size_t>(end - text.data())));
    const std::size_t length = std::min(text.find_first_of(" \t0123456789."), text.size());
    const std::optional<Duration> unit = unit_of(to_lower(text.substr(0, length)));
    if (!unit) return std::nullopt;
    total += number * static_cast<double>(unit->count());
    if (total > kLimit) return std::nullopt;
    text = trim(text.substr(length));
  }
  return Duration{static_cast<Duration::rep>(std::llround(total))};
}

std::string format_civil(const CivilTime& c, int fraction_ms) {
  std::string text =
      fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", c.year, c.month, c.day, c.hour, c.minute, c.second);
  if (fraction_ms >= 0) text += fmt::format(".{:03}", fraction_ms);
  return text;
}

std::string format_monit_date(const CivilTime& c) {
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02}", kWeekdays[static_cast<std::size_t>(c.weekday)], c.day,
                     kMonths[static_cast<std::size_t>(c.month - 1)], c.year, c.hour, c.minute, c.second);
}

std::string format_iso(WallTime when) {
  const CivilTime c = utc_civil(when);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", c.year, c.month, c.day, c.hour, c.minute, c.second,
                     subsecond_ms(when));
}

std::optional<WallTime> parse_iso(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00.000Z";
  if (text.size() != kForm.size()) return std::nullopt;
  for (std::size_t i = 0; i < kForm.size(); ++i)
    if (kForm[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != kForm[i]) return std::nullopt;
  const auto number = [&](std::size_t at, std::size_t length) {
    int value = 0;
    std::from_chars(text.data() + at, text.data() + at + length, value);
    return value;
  };
  const std::chrono::year_month_day date{std::chrono::year{number(0, 4)},
                                         std::chrono::month{static_cast<unsigned>(number(5, 2))},
                                         std::chrono::day{static_cast<unsigned>(number(8, 2))}};
  if (!date.ok() || number(11, 2) > 23 || number(14, 2) > 59 || number(17, 2) > 60) return std::nullopt;
  return WallTime{std::chrono::sys_days{date}} + hours{number(11, 2)} + minutes{number(14, 2)} +
         seconds{number(17, 2)} + milliseconds{number(20, 3)};
}

int subsecond_ms(WallTime when) { return static_cast<int>((when - std::chrono::floor<seconds>(when)).count()); }

}  // namespace healer
