// SPDX-License-Identifier: MIT
#include "util/text.hpp"

#include <catch2/catch.hpp>

namespace text_test {

using namespace healer;

TEST_CASE("edit distance counts slips of the fingers", "[util]") {
  CHECK(edit_distance("process", "process", 3) == 0);
  CHECK(edit_distance("proces", "process", 3) == 1);
  CHECK(edit_distance("porcess", "process", 3) == 1);
  CHECK(edit_distance("PROCESS", "process", 3) == 0);
  CHECK(edit_distance("abc", "xyz", 2) == 3);
}

TEST_CASE("the nearest word is offered only where it is near", "[util]") {
  const std::string_view words[] = {"process", "program", "file"};
  CHECK(nearest_word("progam", words) == "program");
  CHECK(nearest_word("proces", words) == "process");
  CHECK(nearest_word("elephant", words).empty());
  // Of two that are equally near, the one that begins alike.
  const std::string_view protocols[] = {"ftp", "http"};
  CHECK(nearest_word("htp", protocols) == "http");
}

TEST_CASE("Foreign text is made printable", "[util]") {
  CHECK(printable("a\nb\x1b[31m") == "a\\nb\\x1b[31m");
  CHECK(printable("gr\xc3\xbc\xc3\x9f") == "gr\xc3\xbc\xc3\x9f");
  CHECK(printable("\xff\xc2\x9b") == "\\xff\\x9b");
  // Text that turns its direction reads as another than it is.
  CHECK(printable("a\u202Eb\u2066c\u200Fd\u061C") == "a\\u202eb\\u2066c\\u200fd\\u061c");
  CHECK(printable("\u2014\U0001F642") == "\u2014\U0001F642");
}

TEST_CASE("paths in the kernel's tables have octal numbers", "[util]") {
  CHECK(from_octal("/a\\040b\\134c") == "/a b\\c");
  CHECK(from_octal("\\04") == "\\04");
  CHECK(from_octal("\\089") == "\\089");
  CHECK(from_octal("\\") == "\\");
  CHECK(from_octal("").empty());
}

TEST_CASE("words are joined as a sentence", "[util]") {
  const std::string words[] = {"a", "b", "c"};
  CHECK(join_words(words, "or") == "a, b or c");
  CHECK(join_words(std::span(words).first(1), "or") == "a");
}

}  // namespace text_test
