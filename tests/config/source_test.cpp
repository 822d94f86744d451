// SPDX-License-Identifier: MIT
#include "config/source.hpp"

#include <catch2/catch.hpp>

namespace source_test {

using healer::config::Position;
using healer::config::Sources;

TEST_CASE("lines and columns are counted from 1, columns in characters", "[source]") {
  Sources sources;
  const auto file = sources.add("f",
                                "a\n\tb\xC3\xA4\xE2\x82\xAC"
                                "c\r\nlast");
  const auto at = [&](std::uint32_t offset) {
    const Position position = sources.position(file, offset);
    return std::pair(position.line, position.column);
  };
  CHECK(at(0) == std::pair(1U, 1U));
  CHECK(at(1) == std::pair(1U, 2U));  // the newline belongs to its line
  CHECK(at(2) == std::pair(2U, 1U));  // the tab
  CHECK(at(3) == std::pair(2U, 2U));  // b
  CHECK(at(4) == std::pair(2U, 3U));  // ä
  CHECK(at(6) == std::pair(2U, 4U));  // €
  CHECK(at(9) == std::pair(2U, 5U));  // c
  CHECK(at(12) == std::pair(3U, 1U));
  CHECK(at(16) == std::pair(3U, 5U));  // the end
  CHECK(at(999) == std::pair(3U, 5U));
  CHECK(sources.line_at(file, 4) ==
        "\tb\xC3\xA4\xE2\x82\xAC"
        "c");
  CHECK(sources.line_at(file, 16) == "last");
  CHECK(sources.text({file, 12, 16}) == "last");
  CHECK(sources.text({file, 12, 999}) == "last");
  CHECK(sources.text({file, 12, 3}).empty());
}

TEST_CASE("an empty file has one empty line", "[source]") {
  Sources sources;
  const auto file = sources.add("f", "");
  CHECK(sources.position(file, 0).line == 1);
  CHECK(sources.line_at(file, 0).empty());
}

TEST_CASE("places far into a file are the same as counted by hand", "[source]") {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += i % 7 == 0 ? "\n" : "line \xC3\xA4 of some length\n";
  text += std::string(20'000, 'x') + "\xC3\xA4y";
  Sources sources;
  const auto file = sources.add("f", text);
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  for (std::uint32_t offset = 0; offset < text.size(); ++offset) {
    const bool begins = (static_cast<unsigned char>(text[offset]) & 0xC0U) != 0x80U;
    if (begins) {
      const Position position = sources.position(file, offset);
      if (position.line != line || position.column != column) FAIL("at byte " << offset);
    }
    if (text[offset] == '\n') {
      ++line;
      column = 1;
    } else if (begins) {
      ++column;
    }
  }
  CHECK(column == 20'003);
}

}  // namespace source_test
