// SPDX-License-Identifier: MIT
#include "config/lists/list_rows.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <optional>

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include "util/text.hpp"

namespace healer::config {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestValue = 60'000;
constexpr std::size_t kMostDigits = 18;
constexpr std::size_t kShown = 60;

std::string in_marks(std::string_view text) {
  return fmt::format("'{}{}'", printable(text.substr(0, kShown)), text.size() > kShown ? "..." : "");
}

bool has_controls(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

/// What an object says at `spec.zone`; null: nothing.
const json* value_at(const json& object, std::string_view path) {
  const json* at = &object;
  for (;;) {
    const std::size_t end = std::min(path.find('.'), path.size());
    if (!at->is_object()) return nullptr;
    const auto found = at->find(std::string(path.substr(0, end)));
    if (found == at->end()) return nullptr;
    at = &*found;
    if (end == path.size()) return at;
    path.remove_prefix(end + 1);
  }
}

/// A line that is an object. The result is why it is refused, or nothing.
std::optional<std::string> read_object(std::string_view line, const KeptOfRows& kept, ListRow& row) {
  const json object = json::parse(line, nullptr, false);
  if (!object.is_object()) return "this is not a JSON object";
  const auto name = object.find("name");
  if (name == object.end() || !name->is_string()) return R"(this object has no "name" that is a text)";
  row.name = name->get<std::string>();
  const auto add = [&row](const std::string& key, const json& value) {
    if (!value.is_null())
      row.fields.emplace_back(key, value.is_string() ? value.get<std::string>()
                                                     : value.dump(-1, ' ', false, json::error_handler_t::replace));
  };
  if (kept.all)
    for (const auto& [key, value] : object.items())
      if (key != "name") add(key, value);
  for (const std::string& field : kept.fields) {
    const json* const value = value_at(object, field);
    const bool is_there =
        std::ranges::find(row.fields, field, &std::pair<std::string, std::string>::first) != row.fields.end();
    if (value != nullptr && !is_there) add(field, *value);
  }
  if (std::string fault = fault_of(row); !fault.empty()) return fault;
  return std::nullopt;
}

struct Numbered {
  std::string_view prefix;
  std::string_view digits;
};

Numbered numbered(std::string_view name) {
  std::size_t begin = name.size();
  while (begin > 0 && is_digit(name[begin - 1])) --begin;
  return {name.substr(0, begin), name.substr(begin)};
}

}  // namespace

std::string fault_of(const ListRow& row) {
  for (const auto& [key, value] : row.fields) {
    if (has_controls(value) || has_controls(key))
      return fmt::format("the value of {} has control characters", in_marks(key));
    if (value.size() > kLongestValue) return fmt::format("the value of {} is too long", in_marks(key));
  }
  return is_plain_name(row.name) ? std::string() : fmt::format("{} is not a valid row name", in_marks(row.name));
}

Result<ListReading> read_rows(std::string_view text, const KeptOfRows& kept) {
  ListReading reading;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty() || line.front() == '#') continue;
    ListRow row;
    std::optional<std::string> wrong;
    if (line.front() == '{')
      wrong = read_object(line, kept, row);
    else
      row.name = line;
    if (!wrong && !is_plain_name(row.name)) wrong = fmt::format("{} is not a valid row name", in_marks(row.name));
    if (wrong)
      reading.refused.push_back({number, fmt::format("line {}: {}", number, *wrong)});
    else {
      reading.rows.push_back(std::move(row));
      if (kept.documents) reading.documents.emplace_back(line.front() == '{' ? line : std::string_view());
    }
    if (reading.rows.size() + reading.refused.size() > kMostRows)
      return Error{E2BIG, fmt::format("it has more than {} rows", kMostRows)};
  }
  return reading;
}

Result<std::vector<std::string>> rows_of_range(std::string_view first, std::string_view last) {
  const Numbered from = numbered(first);
  const Numbered to = numbered(last);
  if (from.digits.empty() || to.digits.empty())
    return Error{EINVAL, fmt::format("{} does not end in a number", in_marks(from.digits.empty() ? first : last))};
  if (from.prefix != to.prefix)
    return Error{EINVAL, fmt::format("{} and {} differ before their numbers", in_marks(first), in_marks(last))};
  if (from.digits.size() > kMostDigits || to.digits.size() > kMostDigits)
    return Error{EINVAL, "the numbers are too long"};
  const bool pads = from.digits.size() > 1 && from.digits.front() == '0';
  if ((to.digits.size() > 1 && to.digits.front() == '0') && (!pads || to.digits.size() != from.digits.size()))
    return Error{EINVAL, fmt::format("{} and {} are padded with zeros differently", in_marks(first), in_marks(last))};
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::from_chars(from.digits.data(), from.digits.data() + from.digits.size(), low);
  std::from_chars(to.digits.data(), to.digits.data() + to.digits.size(), high);
  if (low > high) return Error{EINVAL, fmt::format("{} comes after {}", in_marks(first), in_marks(last))};
  if (high - low >= kMostRangeRows)
    return Error{E2BIG, fmt::format("these are {} rows: a range has at most {}", high - low + 1, kMostRangeRows)};
  std::vector<std::string> names;
  for (std::uint64_t i = low; i <= high; ++i)
    names.push_back(fmt::format("{}{:0>{}}", from.prefix, i, pads ? from.digits.size() : std::size_t{1}));
  return names;
}

bool same_rows(std::vector<ListRow> one, std::vector<ListRow> other) {
  std::ranges::sort(one, {}, &ListRow::name);
  std::ranges::sort(other, {}, &ListRow::name);
  return one == other;
}

}  // namespace healer::config
