// SPDX-License-Identifier: MIT
#include "ctl/render/render_text.hpp"

#include <algorithm>
#include <clocale>
#include <cwchar>

namespace healer::control {
namespace {

/// Makes this thread's character functions speak UTF-8, whatever the user's locale, for as long as it lives.
class Utf8Scope {
 public:
  Utf8Scope() : before_(uselocale(locale())) {}
  ~Utf8Scope() { uselocale(before_); }
  Utf8Scope(const Utf8Scope&) = delete;
  Utf8Scope& operator=(const Utf8Scope&) = delete;

 private:
  static locale_t locale() {
    static const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return utf8;  // null, where the system has none: the locale stays as it is
  }
  locale_t before_;
};

struct Glyph {
  std::size_t bytes;
  std::size_t columns;
};

/// The first character of `text`, which is not empty. Requires: a Utf8Scope.
Glyph first_glyph(std::string_view text) {
  if (static_cast<unsigned char>(text.front()) < 0x80) return {1, 1};
  std::mbstate_t state{};
  wchar_t character = 0;
  const std::size_t bytes = std::mbrtowc(&character, text.data(), text.size(), &state);
  if (bytes == 0 || bytes > text.size()) return {1, 1};
  const int columns = wcwidth(character);
  return {bytes, columns < 0 ? 1 : static_cast<std::size_t>(columns)};
}

/// Bytes of the longest beginning of `text` that fits into `width` columns.
std::size_t fitting(std::string_view text, std::size_t width) {
  const Utf8Scope utf8;
  std::size_t bytes = 0;
  std::size_t columns = 0;
  while (bytes < text.size()) {
    const Glyph glyph = first_glyph(text.substr(bytes));
    if (columns + glyph.columns > width) break;
    columns += glyph.columns;
    bytes += glyph.bytes;
  }
  return bytes;
}

std::size_t one_glyph(std::string_view text) {
  const Utf8Scope utf8;
  return first_glyph(text).bytes;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  const Utf8Scope utf8;
  std::size_t columns = 0;
  while (!text.empty()) {
    const Glyph glyph = first_glyph(text);
    columns += glyph.columns;
    text.remove_prefix(glyph.bytes);
  }
  return columns;
}

std::string cut(std::string_view text, std::size_t width, std::string_view ellipsis) {
  if (fitting(text, width) == text.size()) return std::string(text);
  const std::size_t mark = display_width(ellipsis);
  if (mark > width) return std::string(text.substr(0, fitting(text, width)));
  std::string result(text.substr(0, fitting(text, width - mark)));
  while (!result.empty() && result.back() == ' ') result.pop_back();
  return result.append(ellipsis);
}

std::string pad(std::string text, std::size_t width) {
  const std::size_t columns = display_width(text);
  if (columns < width) text.append(width - columns, ' ');
  return text;
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  if (width == 0) return {std::string(text)};
  std::vector<std::string> lines;
  do {
    std::size_t take = fitting(text, width);
    if (take < text.size()) {
      const std::size_t blank = text.substr(0, take + 1).rfind(' ');
      if (blank != std::string_view::npos && blank > 0) take = blank;
      if (take == 0) take = one_glyph(text);  // a wide character in one column
    }
    std::string_view line = text.substr(0, take);
    while (line.ends_with(' ')) line.remove_suffix(1);
    lines.emplace_back(line);
    text.remove_prefix(take);
    while (text.starts_with(' ')) text.remove_prefix(1);
  } while (!text.empty());
  return lines;
}

}  // namespace healer::control
