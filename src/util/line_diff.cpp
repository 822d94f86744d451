// SPDX-License-Identifier: MIT
#include "util/line_diff.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <spdlog/fmt/fmt.h>

namespace healer {
namespace {

constexpr std::size_t kContext = 3;
constexpr std::size_t kMostCells = std::size_t{16} << 20;  // beyond it the middle is shown as one change

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

struct Line {
  char sign = ' ';
  std::string_view text;
};

/// The lines of both texts in one row: kept, taken away, added.
std::vector<Line> merged(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b) {
  std::size_t first = 0;
  while (first < a.size() && first < b.size() && a[first] == b[first]) ++first;
  std::size_t last = 0;
  while (last < a.size() - first && last < b.size() - first && a[a.size() - 1 - last] == b[b.size() - 1 - last]) ++last;
  const std::size_t n = a.size() - first - last;
  const std::size_t m = b.size() - first - last;

  std::vector<Line> row;
  for (std::size_t i = 0; i < first; ++i) row.push_back({' ', a[i]});
  std::size_t i = 0;
  std::size_t j = 0;
  if ((n + 1) * (m + 1) <= kMostCells) {
    // common[i][j]: how many lines the rests from i and j have in common, in their order.
    std::vector<std::uint32_t> common((n + 1) * (m + 1), 0);
    const auto at = [&](std::size_t x, std::size_t y) -> std::uint32_t& { return common[x * (m + 1) + y]; };
    for (std::size_t x = n; x-- > 0;)
      for (std::size_t y = m; y-- > 0;)
        at(x, y) = a[first + x] == b[first + y] ? at(x + 1, y + 1) + 1 : std::max(at(x + 1, y), at(x, y + 1));
    while (i < n && j < m) {
      if (a[first + i] == b[first + j]) {
        row.push_back({' ', a[first + i]});
        ++i, ++j;
      } else if (at(i + 1, j) >= at(i, j + 1)) {
        row.push_back({'-', a[first + i++]});
      } else {
        row.push_back({'+', b[first + j++]});
      }
    }
  }
  while (i < n) row.push_back({'-', a[first + i++]});
  while (j < m) row.push_back({'+', b[first + j++]});
  for (std::size_t k = 0; k < last; ++k) row.push_back({' ', a[a.size() - last + k]});
  return row;
}

}  // namespace

std::string line_diff(std::string_view before, std::string_view after, std::string_view before_name,
                      std::string_view after_name) {
  if (before == after) return {};
  const std::vector<Line> row = merged(lines_of(before), lines_of(after));
  std::string text = fmt::format("--- {}\n+++ {}\n", before_name, after_name);
  std::size_t old_line = 0;
  std::size_t new_line = 0;
  const auto count = [&](std::size_t from, std::size_t to, char other) {
    return static_cast<std::size_t>(std::count_if(row.begin() + static_cast<std::ptrdiff_t>(from),
                                                  row.begin() + static_cast<std::ptrdiff_t>(to),
                                                  [&](const Line& line) { return line.sign != other; }));
  };
  const auto place = [](std::size_t line, std::size_t size) {
    return size == 1 ? fmt::format("{}", line + 1) : fmt::format("{},{}", size == 0 ? line : line + 1, size);
  };
  std::size_t done = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i].sign == ' ') continue;
    const std::size_t begin = std::max(done, i - std::min(i, kContext));
    std::size_t end = i;
    for (std::size_t k = i; k < row.size() && k < end + 2 * kContext + 1; ++k)
      if (row[k].sign != ' ') end = k + 1;
    const std::size_t stop = std::min(row.size(), end + kContext);
    old_line += count(done, begin, '+');
    new_line += count(done, begin, '-');
    const std::size_t olds = count(begin, stop, '+');
    const std::size_t changes = count(begin, stop, '-');
    text += fmt::format("@@ -{} +{} @@\n", place(old_line, olds), place(new_line, changes));
    for (std::size_t k = begin; k < stop; ++k) {
      text += row[k].sign;
      text += row[k].text;
      if (!row[k].text.ends_with('\n')) text += "\n\\ No newline at end of file\n";
    }
    old_line += olds;
    new_line += changes;
    done = i = stop;
    --i;
  }
  return text;
}

}  // namespace healer
