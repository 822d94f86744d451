// SPDX-License-Identifier: MIT
#include "util/secrets/strike_out.hpp"

#include <catch2/catch.hpp>

#include "util/text.hpp"

namespace healer {
namespace {

TEST_CASE("a secret is struck out of a text however it is written there", "[strike_out]") {
  const auto rest = [](std::string_view text) { return strike_out(text, {"TOP/SE CRET&2"}); };
  CHECK(rest("it is TOP/SE CRET&2, and TOP/SE CRET&2") == "it is *****, and *****");
  CHECK(rest("/a?k=TOP%2FSE%20CRET%262") == "/a?k=*****");
  CHECK(rest("/a?k=TOP%2fSE+CRET%262&x") == "/a?k=*****&x");
  CHECK(rest("cannot resolve top%2fse%20cret%262.invalid") == "cannot resolve *****.invalid");
  CHECK(rest(R"({"k": "TOP\/SE CRET\u00262"})") == R"({"k": "*****"})");
  CHECK(rest("TOP/SE CRET") == "TOP/SE CRET");
  CHECK(strike_out("cannot resolve topsecret1.invalid", {"TOPSECRET1"}) == "cannot resolve *****.invalid");
  CHECK(strike_out(R"("a\"b\\c\n")", {"a\"b\\c\n"}) == R"("*****")");
  CHECK(strike_out(R"(a\\bc)", {R"(a\\bc)"}) == "*****");
  CHECK(strike_out("100%25 sure", {"100%25"}) == "***** sure");
  CHECK(strike_out(printable("key\ttwo"), {"key\ttwo"}) == "*****");
}

TEST_CASE("of several secrets the longest is struck out first", "[strike_out]") {
  CHECK(strike_out("abcdefgh abcd", {"abcd", "abcdefgh"}) == "***** *****");
  CHECK(strike_out("as it is", {}) == "as it is");
  CHECK(strike_out("as it is", {""}) == "as it is");
  CHECK(strike_out("", {"abcd"}).empty());
  CHECK(strike_out("stars *****", {"*****"}) == "stars *****");
}

TEST_CASE("a short secret is not told by what is left of other words", "[strike_out]") {
  CHECK(strike_out("cannot resolve a name", {"e"}) == "cannot resolve a name");
  CHECK(strike_out("first\nthe key is e\nlast", {"e"}) == "first\n*****\nlast");
  CHECK(strike_out("\"42\"", {"42"}) == "*****");
  CHECK(strike_out("425 or 142", {"42"}) == "425 or 142");
}

TEST_CASE("a secret of several lines is struck out line by line, and without the blanks around it", "[strike_out]") {
  CHECK(strike_out("it has second line", {"first line\nsecond line\n"}) == "it has *****");
  CHECK(strike_out("first line\nsecond line", {"first line\nsecond line\n"}) == "*****");
  CHECK(strike_out("header TOKEN1", {" TOKEN1\r"}) == "header *****");
}

TEST_CASE("what a secret URL leads to is a secret, too", "[strike_out]") {
  const auto rest = [](std::string_view text) {
    return strike_out(text, {"https://hooks.example:8443/services/T0/abcdefgh1234"});
  };
  CHECK(rest("cannot resolve hooks.example: no such name") == "cannot resolve *****: no such name");
  CHECK(rest("could not connect to hooks.example:8443") == "could not connect to *****:*****");
  CHECK(rest(R"(.path is "/services/T0/abcdefgh1234")") == R"(.path is "*****")");
  CHECK(rest("no token abcdefgh1234") == "no token *****");
}

}  // namespace
}  // namespace healer
