// SPDX-License-Identifier: MIT
#include "ctl/render/render_parts.hpp"

#include <algorithm>

#include <spdlog/fmt/fmt.h>

#include "ctl/render/render_text.hpp"
#include "util/text.hpp"

namespace healer::control {
namespace {

constexpr std::size_t kRoom = 18;          // of the last column of a table, before spare ones are left out for it
constexpr std::size_t kRoomForLines = 40;  // of one that is broken into lines, before it goes under its row
constexpr std::size_t kIndent = 4;         // of what stands there

}  // namespace

std::string_view ellipsis(const Style& style) { return style.unicode ? "\u2026" : "..."; }

std::string_view colour_of(std::string_view word) {
  if (is_down(word) || word == "error") return "1;31";
  if (word == "failing" || word == "unknown" || word == "warning") return "33";
  if (word == "running" || word == "ok") return "32";
  if (word == "unmonitored" || word == "debug") return "2";
  if (word == "initialising") return "36";
  return "";
}

std::string_view fill_of(std::string_view state) {
  if (is_down(state)) return "#f4a6a0";
  if (state == "failing" || state == "unknown") return "#f7dc8b";
  if (state == "running" || state == "ok") return "#b7e1b0";
  if (state == "initialising") return "#b5dbe8";
  return "#dddddd";
}

std::string paint(std::string text, std::string_view code, const Style& style) {
  if (!style.colour || code.empty() || text.empty()) return text;
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string clock_time(WallTime when, const Style& style) { return format_civil(style.civil(when)); }

std::string ago(WallTime when, const Style& style) {
  const Duration age = style.now - when;
  // The daemon's clock and ours are one; what is a moment ahead happened just now.
  return age < seconds{1} ? "just now" : format_duration(std::chrono::floor<seconds>(age)) + " ago";
}

std::string full_seconds(Duration duration) {
  return duration < seconds{1} ? "0 s" : format_duration(std::chrono::floor<seconds>(duration));
}

std::string lasting(WallTime since, const Style& style) { return full_seconds(style.now - since); }

std::string whole_seconds(Duration duration) {
  return duration <= Duration{0} ? "0 s" : format_duration(std::chrono::ceil<seconds>(duration));
}

std::string hanging(std::string_view first, std::string_view text, const Style& style) {
  const std::size_t indent = display_width(first);
  const std::size_t room = style.width == 0 ? 0 : style.width > indent + 8 ? style.width - indent : 8;
  std::string result;
  for (const std::string& line : wrap(text, room)) {
    result += result.empty() ? std::string(first) : std::string(indent, ' ');
    result += line;
    result += '\n';
  }
  return result;
}

std::string hanging_lines(std::string_view first, std::string_view text, const Style& style) {
  const std::string blanks(display_width(first), ' ');
  std::string result;
  for (bool more = true; more;) {
    const std::size_t end = text.find('\n');
    const std::string line = printable(text.substr(0, end));
    const std::string_view before = result.empty() ? first : blanks;
    if (line.empty() && !result.empty())
      result += '\n';
    else
      result += hanging(before, line, style);
    more = end != std::string_view::npos;
    if (more) text.remove_prefix(end + 1);
  }
  return result;
}

std::string field(std::string_view label, std::string_view text, const Style& style) {
  return hanging(fmt::format("  {:<{}}{}", label, kLabel, label.size() < kLabel ? "" : " "), printable(text), style);
}

std::string pause_text(const PauseView& pause, const Style& style) {
  std::string text = pause.until ? fmt::format("until {}", clock_time(*pause.until, style)) : "until it is resumed";
  if (!pause.scope.empty()) text = fmt::format("with {} {}", pause.scope, text);
  text += fmt::format(", by {}", pause.by);
  if (!pause.reason.empty()) text += fmt::format(": {}", pause.reason);
  return text;
}

std::string job_text(const JobView& job) {
  std::string text = fmt::format("step {} of {}, {}, waits for {}", job.step, job.steps, job.doing, job.waits_for);
  if (job.pid != 0) text += fmt::format(" (pid {})", job.pid);
  text += fmt::format(", for {}", full_seconds(job.age));
  return text + fmt::format(", by {}", job.by_kind == "rule" ? "a rule" : job.by);
}

std::string table(std::vector<Column> columns, const Style& style) {
  if (style.width != 0 && style.width < kNarrow) std::erase_if(columns, [](const Column& one) { return one.spare; });
  for (Column& column : columns) {
    column.width = display_width(column.title);
    for (const std::string& cell : column.cells) column.width = std::max(column.width, display_width(cell));
    if (column.most != 0) column.width = std::min(column.width, column.most);
  }
  const std::size_t rows = columns.empty() ? 0 : columns.front().cells.size();
  const auto used = [&columns] {
    std::size_t sum = 0;
    for (const Column& column : columns) sum += &column == &columns.back() ? 0 : column.width + 2;
    return sum;
  };
  const auto drop_spares = [&](std::size_t room) {
    while (used() + room > style.width) {
      const auto spare = std::find_if(columns.rbegin(), columns.rend(), [](const Column& one) { return one.spare; });
      if (spare == columns.rend()) break;
      columns.erase(spare.base() - 1);
    }
  };
  // What is broken into lines stands under its row where there is little room beside it.
  bool under = false;
  if (style.width != 0 && !columns.empty()) {
    const bool is_whole = columns.back().whole;
    under = is_whole && used() + std::min(kRoomForLines, columns.back().width) > style.width;
    // The last column says most.
    drop_spares(under ? 0 : std::min(kRoom, columns.back().width));
    if (!under && used() + 8 > style.width) {
      columns.pop_back();
    } else if (!under) {
      columns.back().width = std::min(columns.back().width, style.width - used());
    }
  }
  const auto below = [&](std::string_view text, std::string_view colour) {
    std::string lines;
    for (std::string& part : wrap(text, style.width > 2 * kIndent ? style.width - kIndent : style.width)) {
      lines += "\n" + std::string(style.width > 2 * kIndent ? kIndent : 0, ' ');
      lines += paint(std::move(part), colour, style);
    }
    return lines;
  };
  const std::string next_line = "\n" + std::string(used(), ' ');
  const auto add = [&](std::string& line, const Column& column, std::size_t row) {
    const bool is_title = row == 0;
    const std::string_view text = is_title ? column.title : std::string_view(column.cells[row - 1]);
    const std::string_view colour = is_title ? std::string_view{} : column.colours[row - 1];
    const bool last = &column == &columns.back();
    const bool breaks = last && style.width != 0 && !is_title && (column.whole || column.broken[row - 1]);
    if (breaks && (under || (column.width < kRoomForLines && display_width(text) > column.width))) {
      while (line.ends_with(' ')) line.pop_back();
      line += below(text, colour);
      return;
    }
    if (breaks) {
      std::string_view separator = "";
      for (std::string& part : wrap(text, column.width)) {
        line += separator;
        line += paint(std::move(part), colour, style);
        separator = next_line;
      }
      return;
    }
    if (last && under) return;  // the title of what stands below
    std::string cell = cut(text, column.width, ellipsis(style));
    const std::size_t blanks = last ? 0 : column.width - display_width(cell) + 2;
    line += paint(std::move(cell), colour, style);
    line.append(blanks, ' ');
  };
  std::string text;
  for (std::size_t row = 0; row <= rows; ++row) {
    std::string line;
    for (const Column& column : columns) add(line, column, row);
    while (line.ends_with(' ')) line.pop_back();
    text += line + "\n";
  }
  return text;
}

}  // namespace healer::control
