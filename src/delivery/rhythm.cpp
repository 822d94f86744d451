// SPDX-License-Identifier: MIT
#include "delivery/rhythm.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "util/text.hpp"

namespace healer::delivery {
namespace {

constexpr std::array<std::string_view, 12> kMonths{"jan", "feb", "mar", "apr", "may", "jun",
                                                   "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::int64_t kMostSeconds = std::int64_t{365} * 24 * 3600;

std::optional<int> digits(std::string_view text, std::size_t least, std::size_t most) {
  int number = 0;
  if (text.size() < least || text.size() > most || !std::ranges::all_of(text, is_digit)) return std::nullopt;
  (void)std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// "08:49:37", in seconds.
std::optional<int> time_of_day(std::string_view text) {
  if (text.size() != 8 || text[2] != ':' || text[5] != ':') return std::nullopt;
  const auto hour = digits(text.substr(0, 2), 2, 2);
  const auto minute = digits(text.substr(3, 2), 2, 2);
  const auto second = digits(text.substr(6, 2), 2, 2);
  if (!hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  return (*hour * 60 + *minute) * 60 + *second;
}

/// A date of HTTP, in each of its three forms (RFC 9110, 5.6.7); all are in GMT.
std::optional<WallTime> http_date(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" ,-", at), text.size());
    if (end > at) words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  std::optional<int> day, year, second;
  std::size_t month = kMonths.size();
  for (const std::string_view word : words) {
    const auto named = std::ranges::find(kMonths, to_lower(word));
    if (named != kMonths.end()) {
      month = static_cast<std::size_t>(named - kMonths.begin());
    } else if (const auto time = time_of_day(word)) {
      second = time;
    } else if (const auto short_number = digits(word, 1, 2); short_number && !day) {
      day = short_number;
    } else if (short_number) {
      year = *short_number + (*short_number < 70 ? 2000 : 1900);
    } else if (const auto whole = digits(word, 4, 4)) {
      year = whole;
    }
  }
  if (!day || !year || !second || month == kMonths.size()) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{*year}, std::chrono::month{static_cast<unsigned>(month) + 1},
                                         std::chrono::day{static_cast<unsigned>(*day)}};
  if (!date.ok()) return std::nullopt;
  return WallTime{std::chrono::sys_days{date}} + seconds{*second};
}

}  // namespace

Duration pause(const Rhythm& rhythm, std::uint32_t failures) {
  const std::uint32_t doublings = std::min<std::uint32_t>(failures > 0 ? failures - 1 : 0, 30);
  return std::min(rhythm.longest, rhythm.first * (std::int64_t{1} << doublings));
}

Duration Tries::fail(const Rhythm& rhythm, Duration now, std::optional<Duration> wants) {
  ++failures;
  const Duration rest =
      wants ? std::max(std::min(*wants, rhythm.longest_wanted), rhythm.first) : pause(rhythm, failures);
  not_before = now + rest;
  return rest;
}

bool is_too_long(const Rhythm& rhythm, std::optional<Duration> wanted) {
  return wanted && *wanted > rhythm.longest_wanted;
}

std::optional<Duration> retry_after(std::string_view value, WallTime now) {
  value = trim(value);
  if (value.empty()) return std::nullopt;
  if (std::ranges::all_of(value, is_digit)) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    return seconds{error == std::errc{} ? std::min(number, kMostSeconds) : kMostSeconds};
  }
  const std::optional<WallTime> date = http_date(value);
  if (!date || *date <= now) return std::nullopt;
  return std::min<Duration>(*date - now, seconds{kMostSeconds});
}

Verdict by_status(const Answer& answer, WallTime now) {
  if (answer.status == 0) return TryAgain{.why = answer.why, .is_of_server = true};
  if (answer.status >= 200 && answer.status <= 299) return Taken{};
  const std::string why = fmt::format("it answered {}", answer.status);
  if (answer.status == 408 || answer.status == 429 || answer.status >= 500)
    return TryAgain{why, retry_after(answer.retry_after, now)};
  if (answer.status >= 300 && answer.status <= 399)
    return Final{fmt::format("{}, a redirect, which is not followed", why)};
  return Final{why};
}

bool is_given_up(const Rhythm& rhythm, Duration waited, std::uint32_t refusals) {
  return (rhythm.deadline && waited >= *rhythm.deadline) ||
         (rhythm.most_refusals > 0 && refusals >= rhythm.most_refusals);
}

}  // namespace healer::delivery
