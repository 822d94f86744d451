// SPDX-License-Identifier: MIT
#include "web/metrics/badge.hpp"

#include <algorithm>
#include <cstddef>

#include <spdlog/fmt/fmt.h>

#include "util/text.hpp"
#include "web/html.hpp"

namespace healer::web {
namespace {

constexpr std::size_t kLongestText = 120;  // characters

/// All of them are dark enough for white words.
std::string_view colour_of(std::string_view state) {
  if (state == "running") return "#28753a";
  if (state == "failing") return "#9a5b00";
  if (state == "failed" || state == "given up") return "#b3261e";
  return state == "initialising" ? "#2a5f9e" : "#5f6368";
}

/// About how wide a character is, of 11 pixels' height, in tenths of a pixel.
unsigned width_of(std::string_view character) {
  constexpr std::string_view kNarrow = "ijl.,:;'|! ()[]";
  constexpr std::string_view kWide = "mwMW@%";
  const char c = character.front();
  if (character.size() > 1) return character.size() > 2 ? 120 : 75;
  if (kNarrow.find(c) != std::string_view::npos) return 40;
  if (kWide.find(c) != std::string_view::npos) return 105;
  return c >= 'A' && c <= 'Z' ? 80 : 68;
}

/// A text as it stands in XML, and about how wide it is.
struct Drawn {
  std::string text;
  unsigned width = 0;  ///< pixels
};

Drawn draw(std::string_view text) {
  Drawn drawn;
  unsigned tenths = 0;
  std::size_t count = 0;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view character = length == 0 ? std::string_view("?") : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
    if (count++ == kLongestText) {
      drawn.text += "\xE2\x80\xA6";  // an ellipsis
      tenths += 110;
      break;
    }
    tenths += width_of(character);
    // Neither control characters nor U+FFFE and U+FFFF may stand in XML.
    const char c = character.front();
    const bool is_forbidden = static_cast<unsigned char>(c) < ' ' || c == '\x7f' ||
                              character.starts_with("\xEF\xBF\xBE") || character.starts_with("\xEF\xBF\xBF");
    drawn.text += is_forbidden ? "?" : html_escaped(character);
  }
  drawn.width = (tenths + 9) / 10;
  return drawn;
}

}  // namespace

std::string badge(std::string_view label, std::string_view state, std::string_view words) {
  constexpr unsigned kMargin = 6;
  const Drawn left = draw(label);
  const Drawn right = draw(words);
  const unsigned left_width = left.width == 0 ? 0 : left.width + 2 * kMargin;
  const unsigned right_width = right.width + 2 * kMargin;
  const unsigned width = left_width + right_width;
  const std::string title = left.width == 0 ? right.text : left.text + ": " + right.text;
  std::string svg = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="20" viewBox="0 0 {0} 20" role="img" aria-label="{1}">)"
      "<title>{1}</title>"
      R"(<rect width="{0}" height="20" rx="3" fill="{2}"/>)",
      width, title, colour_of(state));
  if (left.width > 0)
    svg +=
        fmt::format(R"(<path d="M3 0h{0}v20h-{0}a3 3 0 0 1-3-3v-14a3 3 0 0 1 3-3z" fill="#3c4043"/>)", left_width - 3);
  svg += R"(<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">)";
  const auto add = [&](const Drawn& drawn, unsigned x) {
    if (drawn.width > 0)
      svg += fmt::format(R"(<text x="{}" y="14" textLength="{}" lengthAdjust="spacingAndGlyphs">{}</text>)", x,
                         drawn.width, drawn.text);
  };
  add(left, kMargin);
  add(right, left_width + kMargin);
  return svg + "</g></svg>\n";
}

}  // namespace healer::web
