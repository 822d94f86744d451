// SPDX-License-Identifier: MIT
#include "config/diagnostic.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "config/source.hpp"
#include "config/text/secret.hpp"
#include "util/text.hpp"
#include "util/unicode.hpp"

namespace healer::config {
namespace {

constexpr std::size_t kShownColumns = 100;  ///< of the source line
constexpr std::size_t kBefore = 60;         ///< columns kept before the caret where a line is cut
constexpr std::size_t kTab = 8;
constexpr std::string_view kCut = "...";
constexpr std::string_view kIndent = "  ";

struct Style {
  std::string_view place, severity, caret, off;
};

Style style_of(DiagnosticSeverity severity, bool color) {
  if (!color) return {};
  switch (severity) {
    case DiagnosticSeverity::Note: return {"\033[1m", "\033[1;36m", "\033[1;32m", "\033[0m"};
    case DiagnosticSeverity::Warning: return {"\033[1m", "\033[1;35m", "\033[1;32m", "\033[0m"};
    case DiagnosticSeverity::Error: return {"\033[1m", "\033[1;31m", "\033[1;32m", "\033[0m"};
  }
  return {};
}

/// One character of the source line as it is shown.
struct Cell {
  std::string shown;
  std::size_t width = 1;
  bool marked = false;
};

/// Columns that a terminal gives a character: none to combining marks, two to East Asian wide ones and pictures.
std::size_t width_of(std::uint32_t code) {
  struct Range {
    std::uint32_t first, last;
  };
  static constexpr std::array<Range, 5> kNone{
      {{0x0300, 0x036F}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}}};
  static constexpr std::array<Range, 7> kWide{{{0x1100, 0x115F},
                                               {0x2E80, 0xA4CF},
                                               {0xAC00, 0xD7A3},
                                               {0xF900, 0xFAFF},
                                               {0xFF00, 0xFF60},
                                               {0x1F300, 0x1F9FF},
                                               {0x20000, 0x3FFFD}}};
  const auto within = [code](const Range& range) { return code >= range.first && code <= range.last; };
  if (std::ranges::any_of(kNone, within)) return 0;
  return std::ranges::any_of(kWide, within) ? 2 : 1;
}

/// The part of the line that may be shown, character by character. A huge line is narrowed to the bytes around
/// `begin` first. `cut_front` and `cut_back` tell whether something was left out.
std::vector<Cell> cells_of(std::string_view line, std::size_t begin, std::size_t end, bool& cut_front, bool& cut_back) {
  constexpr std::size_t kMostBytes = kShownColumns * 4;
  std::size_t first = begin > kMostBytes ? begin - kMostBytes : 0;
  while (first > 0 && (static_cast<unsigned char>(line[first]) & 0xC0U) == 0x80U) --first;
  const std::size_t last = std::min(line.size(), begin + kMostBytes);
  cut_front = first > 0;
  cut_back = last < line.size();

  std::vector<Cell> cells;
  std::size_t column = 0;
  for (std::size_t i = first; i < last;) {
    const std::string_view rest = line.substr(i);
    const std::size_t length = utf8_length(rest);
    const std::string_view character = rest.substr(0, std::max<std::size_t>(length, 1));
    Cell cell;
    cell.marked = i >= begin && i < std::max(end, begin + 1);
    if (character == "\t") {
      cell.width = kTab - column % kTab;
      cell.shown.assign(cell.width, ' ');
    } else {
      cell.shown = printable(character);
      cell.width = cell.shown == character ? width_of(code_point(character)) : cell.shown.size();
    }
    column += cell.width;
    i += character.size();
    cells.push_back(std::move(cell));
  }
  return cells;
}

/// The source line and the line with the caret.
std::string snippet(const SourceRange& range, const Sources& sources, const Style& style) {
  const std::string_view line = sources.line_at(range.file, range.begin);
  const auto line_start = static_cast<std::size_t>(line.data() - sources.at(range.file).text.data());
  const std::size_t begin = std::min(range.begin - line_start, line.size());
  const std::size_t end = std::min(std::max(range.end, range.begin) - line_start, line.size());
  bool cut_front = false;
  bool cut_back = false;
  const std::string shown_line =
      without_secrets(line, std::string_view(sources.at(range.file).text).substr(0, line_start));
  std::vector<Cell> cells = cells_of(shown_line, begin, end, cut_front, cut_back);
  // A place at the end of the line is marked behind its last character.
  if (std::ranges::none_of(cells, &Cell::marked)) cells.push_back({.shown = "", .width = 1, .marked = true});

  std::size_t before = 0;
  std::size_t total = 0;
  bool seen = false;
  for (const Cell& cell : cells) {
    seen = seen || cell.marked;
    if (!seen) before += cell.width;
    total += cell.width;
  }
  std::size_t skip = 0;
  if (total > kShownColumns || cut_front) skip = before > kBefore ? before - kBefore : 0;

  std::string shown;
  std::string carets;
  std::size_t at = 0;
  std::size_t used = 0;
  cut_front = cut_front || skip > 0;
  if (cut_front) {
    shown += kCut;
    carets.append(kCut.size(), ' ');
  }
  bool first_mark = true;
  for (const Cell& cell : cells) {
    at += cell.width;
    if (at <= skip && !cell.marked) continue;
    if (used + cell.width > kShownColumns && !first_mark) {
      cut_back = true;
      break;
    }
    used += cell.width;
    shown += cell.shown;
    if (!cell.marked) {
      carets.append(cell.width, ' ');
    } else if (cell.width > 0) {
      carets += first_mark ? '^' : '~';
      carets.append(cell.width - 1, '~');
      first_mark = false;
    }
  }
  if (cut_back) shown += kCut;
  while (carets.ends_with(' ')) carets.pop_back();
  while (shown.ends_with(' ')) shown.pop_back();
  if (!shown.empty()) shown.insert(0, kIndent);
  return fmt::format("{}\n{}{}{}{}\n", shown, kIndent, style.caret, carets, style.off);
}

}  // namespace

std::string_view to_string(DiagnosticSeverity severity) {
  switch (severity) {
    case DiagnosticSeverity::Note: return "note";
    case DiagnosticSeverity::Warning: return "warning";
    case DiagnosticSeverity::Error: return "error";
  }
  return "";
}

std::string_view to_string(Code code) {
  static constexpr std::array<std::string_view, kCodes> kWords{"syntax",
                                                               "unknown-word",
                                                               "unsupported",
                                                               "out-of-range",
                                                               "invalid-value",
                                                               "invalid-pattern",
                                                               "invalid-schedule",
                                                               "invalid-url",
                                                               "invalid-connection",
                                                               "wrong-quantity",
                                                               "unknown-name",
                                                               "duplicate-name",
                                                               "duplicate-statement",
                                                               "unknown-service",
                                                               "circle",
                                                               "wrong-test",
                                                               "wrong-place",
                                                               "wrong-order",
                                                               "no-test",
                                                               "too-many",
                                                               "grouping",
                                                               "missing-option",
                                                               "unknown-workflow",
                                                               "unknown-group",
                                                               "unknown-variable",
                                                               "no-steps",
                                                               "no-guard",
                                                               "exposed-secret",
                                                               "lost-secret",
                                                               "outside-value",
                                                               "unknown-user",
                                                               "missing-program",
                                                               "missing-file",
                                                               "unreadable",
                                                               "too-open",
                                                               "others-write",
                                                               "secret-readable",
                                                               "rights",
                                                               "unread-list",
                                                               "refused-row",
                                                               "only-healer",
                                                               "other-monit",
                                                               "dormant",
                                                               "counting",
                                                               "misread",
                                                               "clamped",
                                                               "no-effect",
                                                               "never-runs",
                                                               "never-true",
                                                               "awkward-name",
                                                               "hidden-secret",
                                                               "no-mail-server",
                                                               "no-start-program",
                                                               "suspicious",
                                                               "not-yet",
                                                               "duplicate-rule",
                                                               "contradiction",
                                                               "unreachable",
                                                               "no-stop-program",
                                                               "same-program",
                                                               "no-recipient",
                                                               "slow-check",
                                                               "slow-to-notice",
                                                               "wrong-port",
                                                               "endless-restarts",
                                                               "shared-folder",
                                                               "unverified-certificate",
                                                               "deprecated"};
  return kWords[static_cast<std::size_t>(code)];
}

std::string format(const Diagnostic& diagnostic, const Sources& sources, bool color) {
  const Style style = style_of(diagnostic.severity, color);
  std::string place;
  if (diagnostic.range) {
    const Position position = sources.position(diagnostic.range->file, diagnostic.range->begin);
    place =
        fmt::format("{}:{}:{}: ", printable(sources.at(diagnostic.range->file).path), position.line, position.column);
  } else if (!diagnostic.path.empty()) {
    place = printable(diagnostic.path) + ": ";
  }
  return fmt::format("{}{}{}{}{}:{} {}\n", style.place, place, style.off, style.severity,
                     to_string(diagnostic.severity), style.off, printable(diagnostic.message)) +
         excerpt(diagnostic, sources, color);
}

std::string excerpt(const Diagnostic& diagnostic, const Sources& sources, bool color) {
  std::string result;
  if (diagnostic.range) result += snippet(*diagnostic.range, sources, style_of(diagnostic.severity, color));
  for (const std::string& text : {diagnostic.remedy, diagnostic.row}) {
    if (text.empty()) continue;
    const Style note = style_of(DiagnosticSeverity::Note, color);
    result += fmt::format("{}{}note:{} {}\n", kIndent, note.severity, note.off, printable(text));
  }
  return result;
}

bool has_errors(const std::vector<Diagnostic>& diagnostics) {
  return std::ranges::any_of(
      diagnostics, [](const Diagnostic& diagnostic) { return diagnostic.severity == DiagnosticSeverity::Error; });
}

std::string first_error(const std::vector<Diagnostic>& diagnostics, const Sources& sources) {
  for (const Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.severity != DiagnosticSeverity::Error) continue;
    const std::string whole = format(diagnostic, sources, false);
    return whole.substr(0, whole.find('\n'));
  }
  return {};
}

void report(Diagnostics& diagnostics, DiagnosticSeverity severity, Code code, const SourceRange& range,
            std::string message, std::string remedy) {
  diagnostics.push_back({.severity = severity,
                         .range = range,
                         .path = {},
                         .message = std::move(message),
                         .remedy = std::move(remedy),
                         .code = code});
}

void report(Diagnostics& diagnostics, DiagnosticSeverity severity, Code code, const SourceRange& range,
            std::string message, std::string remedy, std::vector<std::uint32_t> causing_rows) {
  report(diagnostics, severity, code, range, std::move(message), std::move(remedy));
  diagnostics.back().causing_rows = std::move(causing_rows);
}

void report(Diagnostics& diagnostics, DiagnosticSeverity severity, Code code, std::string path, std::string message,
            std::string remedy) {
  diagnostics.push_back({.severity = severity,
                         .range = std::nullopt,
                         .path = std::move(path),
                         .message = std::move(message),
                         .remedy = std::move(remedy),
                         .code = code});
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kMost = 60;
  std::string shown = printable(text);
  if (shown.size() > kMost) {
    std::size_t end = kMost;
    while (end > 0 && (static_cast<unsigned char>(shown[end]) & 0xC0U) == 0x80U) --end;
    shown = shown.substr(0, end) + "...";
  }
  return "'" + shown + "'";
}

}  // namespace healer::config
