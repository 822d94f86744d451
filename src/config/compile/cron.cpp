// SPDX-License-Identifier: MIT
#include "config/compile/cron.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <system_error>

#include <spdlog/fmt/fmt.h>

#include "config/diagnostic.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

struct Field {
  std::string_view name;
  unsigned first = 0;
  unsigned last = 0;
};

constexpr std::array<Field, 5> kFields{
    {{"minute", 0, 59}, {"hour", 0, 23}, {"day of the month", 1, 31}, {"month", 1, 12}, {"weekday", 0, 6}}};
constexpr std::string_view kBlanks = " \t\n\r\v\f";

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find_first_of(separators);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<unsigned> number(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  unsigned value = 0;
  for (const char c : text) value = std::min(value * 10 + static_cast<unsigned>(c - '0'), 1'000'000U);
  return value;
}

/// Whether a part of a field is one to Monit 6: `*`, `*/2`, `5`, `5-10`, `5-10/2`.
bool is_strict(std::string_view item) {
  const std::size_t slash = item.find('/');
  const auto is_number = [](std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() && text.front() != '-';
  };
  if (slash != item.npos && !is_number(item.substr(slash + 1))) return false;
  const std::string_view range = item.substr(0, slash);
  if (range == "*") return true;
  const std::size_t dash = range.find('-');
  if (!is_number(range.substr(0, dash))) return false;
  return dash == range.npos ? slash == item.npos : is_number(range.substr(dash + 1));
}

/// Bits of one field, as healer and as Monit read it.
struct Bits {
  std::uint64_t healer = 0;
  std::uint64_t monit = 0;
};

class FieldReader {
 public:
  FieldReader(const Field& field, std::vector<std::string>& remarks)
      : field_(field), is_weekday_(field.name == "weekday"), remarks_(remarks) {}

  Bits read(std::string_view text) {
    for (const std::string_view item : split(text, ",")) {
      is_lax_ = is_lax_ || !is_strict(item);
      item.find('/') == item.npos ? read_item(item) : read_step(item);
    }
    return bits_;
  }
  /// Whether it has a part that Monit 6 refuses.
  [[nodiscard]] bool is_lax() const { return is_lax_; }
  /// Why a step is none; empty: there is nothing wrong.
  [[nodiscard]] const std::string& fault() const { return fault_; }

 private:
  /// `*/5`, `8-18/2`, and `30/10`, which Monit has not: every so many of a range, or up to the last one.
  void read_step(std::string_view item) {
    if (is_strict(item)) return strict_step(item);
    const std::size_t slash = item.find('/');
    const std::string_view range = item.substr(0, slash);
    const std::size_t dash = range.find('-');
    const unsigned last = is_weekday_ && dash != range.npos ? 7 : field_.last;
    const std::optional<unsigned> step = number(item.substr(slash + 1));
    const std::optional<unsigned> from = range == "*" ? field_.first : number(range.substr(0, dash));
    const std::optional<unsigned> to = dash == range.npos ? field_.last : number(range.substr(dash + 1));
    if (!step || *step == 0 || !from || !to || *from < field_.first || *from > *to || *to > last) {
      if (fault_.empty()) fault_ = fmt::format("the {} {} is not a step", field_.name, in_quotes(item));
      return;
    }
    for (unsigned value = *from; value <= *to; value += *step) set(value, value, false);
  }

  /// One that Monit 6 takes, though it may never match there.
  void strict_step(std::string_view item) {
    const std::size_t slash = item.find('/');
    const std::string_view range = item.substr(0, slash);
    const std::size_t dash = range.find('-');
    const unsigned step = number(item.substr(slash + 1)).value_or(0);
    const unsigned from = range == "*" ? field_.first : number(range.substr(0, dash)).value_or(0);
    const unsigned to = range == "*" ? field_.last : number(range.substr(dash + 1)).value_or(0);
    const unsigned last = is_weekday_ && range != "*" ? 7 : field_.last;
    if (step == 0) return remark(fmt::format("{} {} never matches: no step is 0", field_.name, in_quotes(item)));
    if (from > last || (from <= to && to < field_.first))
      return remark(fmt::format("there is no {} {}: it never matches", field_.name, item));
    if (from <= to) {
      if (to > last) remark(fmt::format("{} {} is read as {}-{}/{}", field_.name, item, from, last, step));
      for (unsigned value = from; value <= std::min(to, last); value += step) set(value, value, true);
      return;
    }
    remark(fmt::format("{} {} is read as every {} from {} over {} to {}; to Monit it never matches", field_.name, item,
                       step, from, field_.first, to));
    const unsigned round = field_.last + 1 - field_.first;
    for (unsigned value = from; value <= to + round; value += step)
      set(value > field_.last ? value - round : value, value > field_.last ? value - round : value, false);
  }

  void read_item(std::string_view item) {
    if (item.empty()) return;
    if (item.find('*') != std::string_view::npos) {
      set(field_.first, field_.last, false);
      if (item == "*")
        bits_.monit = bits_.healer;
      else
        remark(fmt::format("{} {} is read as '*'", field_.name, in_quotes(item)));
      return;
    }
    const std::size_t dash = item.find('-');
    const std::optional<unsigned> from = number(item.substr(0, dash));
    const std::optional<unsigned> to = dash == std::string_view::npos ? from : number(item.substr(dash + 1));
    if (!from || !to)
      return remark(fmt::format("{} {} is not a range: it never matches", field_.name, in_quotes(item)));

    const unsigned last = is_weekday_ ? 7 : field_.last;
    if (dash == std::string_view::npos && (*from < field_.first || *from > last))
      return remark(fmt::format("there is no {} {}: it never matches", field_.name, item));
    if (*from <= *to) {
      if (*from > last || *to < field_.first)
        return remark(fmt::format("there is no {} {}: it never matches", field_.name, item));
      if (*to > last)
        remark(fmt::format("{} {} is read as {}-{}", field_.name, item, *from, last));
      else if (*to == 7 && is_weekday_)
        remark(*from == *to ? "weekday 7 is read as Sunday; Monit never matches it"
                            : fmt::format("weekday {} includes Sunday; Monit leaves 7 out", item));
      set(*from, std::min(*to, last), true);
      return;
    }
    if (*from > last || *to < field_.first)
      return remark(fmt::format("there is no {} {}: it never matches", field_.name, item));
    remark(fmt::format("{} {} is read as {}-{} and {}-{}; Monit never matches it", field_.name, item, *from,
                       field_.last, field_.first, *to));
    set(*from, last, false);
    set(field_.first, *to, false);
  }

  /// Sets the bits of a range, of which weekday 7 is Sunday.
  void set(unsigned from, unsigned to, bool monit_too) {
    for (unsigned value = std::max(from, field_.first); value <= to; ++value) {
      const bool is_sunday = is_weekday_ && value == 7;
      bits_.healer |= std::uint64_t{1} << (is_sunday ? 0 : value);
      if (monit_too && !is_sunday) bits_.monit |= std::uint64_t{1} << value;
    }
  }

  void remark(std::string text) { remarks_.push_back(std::move(text)); }

  const Field& field_;
  bool is_weekday_;
  std::vector<std::string>& remarks_;
  std::string fault_;
  bool is_lax_ = false;
  Bits bits_;
};

/// A field with numbers for the names in it.
std::string numbered(std::size_t field, std::string_view written) {
  static constexpr std::string_view kMonths[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                                 "jul", "aug", "sep", "oct", "nov", "dec"};
  static constexpr std::string_view kWeekdays[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};
  std::string text = to_lower(written);
  const auto put = [&](std::string_view name, std::size_t number) {
    for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos;)
      text.replace(at, name.size(), std::to_string(number));
  };
  for (std::size_t month = 0; field == 3 && month < std::size(kMonths); ++month) put(kMonths[month], month + 1);
  for (std::size_t day = 0; field == 4 && day < std::size(kWeekdays); ++day) put(kWeekdays[day], day);
  return text;
}

}  // namespace

CronReading read_cron(std::string_view text) {
  CronReading reading;
  std::vector<std::string_view> fields = split(text, kBlanks);
  std::erase(fields, std::string_view{});
  if (fields.size() != kFields.size()) {
    reading.error = fmt::format("a cron schedule has five fields, not {}", fields.size());
    reading.remedy = "minute, hour, day of the month, month and weekday, as in '0 8-19 * * 1-5'";
    return reading;
  }
  std::array<Bits, 5> bits;
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    const std::string field = numbered(i, fields[i]);
    const bool is_named = fields[i].find_first_not_of("0123456789*-,/") != std::string_view::npos;
    FieldReader reader(kFields[i], reading.remarks);
    bits[i] = reader.read(field);
    const bool has_steps = field.find('/') != std::string::npos;
    reading.is_own = reading.is_own || is_named || (has_steps && reader.is_lax());
    reading.has_steps = reading.has_steps || has_steps;
    reading.is_lax = reading.is_lax || reader.is_lax();
    reading.error = reader.fault();
    if (field.find_first_not_of("0123456789*-,/") != std::string::npos)
      reading.error = fmt::format("the {} {} is not understood: only numbers, '*', '-', ',' and '/' may be used{}",
                                  kFields[i].name, in_quotes(fields[i]),
                                  i == 3   ? ", and names such as jan"
                                  : i == 4 ? ", and names such as mon"
                                           : "");
    else if (!reading.error.empty())
      reading.remedy = "a step is written '*/5' or '8-18/2'";
    if (!reading.error.empty()) return reading;
    if (bits[i].healer == 0 && reading.never.empty()) reading.never = kFields[i].name;
  }
  // Of what Monit refuses nothing comes alive that it would let sleep, and how it reads that is nobody's business.
  if (reading.is_own)
    std::erase_if(reading.remarks, [](const std::string& remark) { return remark.find("Monit") != remark.npos; });
  reading.comes_alive = !reading.is_own && reading.never.empty() &&
                        std::ranges::any_of(bits, [](const Bits& field) { return field.monit == 0; });
  reading.spec = {.minutes = bits[0].healer,
                  .hours = static_cast<std::uint32_t>(bits[1].healer),
                  .month_days = static_cast<std::uint32_t>(bits[2].healer),
                  .months = static_cast<std::uint16_t>(bits[3].healer),
                  .weekdays = static_cast<std::uint8_t>(bits[4].healer)};
  return reading;
}

}  // namespace healer::config
