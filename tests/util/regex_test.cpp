// SPDX-License-Identifier: MIT
#include "util/regex.hpp"

#include <regex.h>

#include <array>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <string_view>

#include "support/rounds.hpp"

namespace regex_test {

using healer::regex_problem;
using healer::required_literal;

TEST_CASE("a regular expression that writes out to too much is known before it is compiled", "[util]") {
  for (const char* pattern :
       {"((a{1,200}){1,200}){1,200}", "a{1,5000}", "(((((((((((a+)+)+)+)+)+)+)+)+)+)+)+", "a{1,1600}b{1,1600}",
        "([0-9]{30}){199}", "(a{99999999999999999999}){2}", "((a{100}){100}){0}", "[]a{2}{3000}]{3001}"})
    CHECK_FALSE(regex_problem(pattern).empty());
  CHECK_FALSE(regex_problem(std::string(10'000, '(')).empty());
  CHECK_FALSE(regex_problem(std::string(200, '(') + "a" + std::string(200, ')')).empty());
}

TEST_CASE("Ordinary expressions are not rejected as too large", "[util]") {
  for (const char* pattern :
       {"", "a", "([0-9]{1,3}\\.){3}[0-9]{1,3}", "^(ok|fine)+$", "a{,5}", "x{", "{", "a{1,2", "\\{1,9999\\}",
        "[{1,9999}]", "[^]{]{1,9}", "[[:alpha:]]{1,64}", "((a*)*)*", "a{0,255}", "(a|b|c){100}", ")", "\\"})
    CHECK(regex_problem(pattern).empty());
  CHECK(regex_problem(std::string(60'000, 'a')).empty());
}

TEST_CASE("a text that an expression cannot do without is seen", "[util]") {
  CHECK(required_literal("error (disk|net)[0-9]+: .* failed$") == " failed");
  CHECK(required_literal("^plain$") == "plain");
  CHECK(required_literal("a\\.b\\*c") == "a.b*c");
  CHECK(required_literal("abc+d?ef*g{0,2}hi") == "abc");
  CHECK(required_literal("x[[:alpha:]abcdef]y[]abcdef]z") == "x");
  CHECK(required_literal("(abcdef|[)])+g\\wh") == "g");
  for (const char* none : {"", "a|b", "a*", "(abc)", "[abc]", ".", "a{1", "a+{0,1}", "a++*", "\\<", "\\", "é", "[a"})
    CHECK(required_literal(none).empty());
}

TEST_CASE("Each match of an expression contains its required text", "[util]") {
  std::mt19937 random(7);
  const auto pick = [&](std::size_t most) { return random() % most; };
  // Without references: some make the C library fail.
  constexpr std::array<std::string_view, 33> kParts{
      "a", "b",   "ab",  "c",    "\\.",         "\\*", ".",    "[ab]",  "[^a]",  "(",   ")",
      "|", "*",   "?",   "+",    "{2}",         "{0}", "{,2}", "{0,1}", "{",     "}",   "^",
      "$", "\\w", "\\|", "[]a]", "[[:alpha:]]", "\\(", "\n",   "(ab)",  "(a|b)", "\\{", "\\b"};
  std::size_t matched = 0;
  std::size_t counted = 0;
  for (int i = 0; i < healer::test::rounds(30'000); ++i) {
    std::string pattern;
    for (std::size_t left = 1 + pick(8); left > 0; --left) pattern += kParts[pick(kParts.size())];
    if (!regex_problem(pattern).empty()) continue;
    regex_t compiled;
    if (::regcomp(&compiled, pattern.c_str(), REG_EXTENDED | REG_NOSUB) != 0) continue;
    const std::string literal = required_literal(pattern);
    counted += literal.empty() ? 0 : 1;
    for (int tries = 0; tries < 20; ++tries) {
      constexpr std::string_view kLetters = "aaabbbcab.*|(){}1w^$?+\n";
      std::string text;
      for (std::size_t left = pick(10); left > 0; --left) text += kLetters[pick(kLetters.size())];
      if (::regexec(&compiled, text.c_str(), 0, nullptr, 0) != 0) continue;
      ++matched;
      INFO(pattern << " needs " << literal << ", not in " << text);
      REQUIRE(text.find(literal) != std::string::npos);
    }
    ::regfree(&compiled);
  }
  CHECK(matched > 1000);
  CHECK(counted > 1000);
}

TEST_CASE("Syntax that Perl's expressions read differently is recognised and explained", "[util]") {
  const auto of = [](const char* pattern) {
    const healer::PatternSlip slip = healer::pattern_slip(pattern);
    return slip.written.empty() ? "" : slip.written + " " + slip.meant;
  };
  CHECK(of("\\d+") == "\\d [0-9]");
  CHECK(of("a\\D") == "\\D [^0-9]");
  CHECK(of("\\Aok") == "\\A ^");
  CHECK(of("ok\\z") == "\\z $");
  CHECK(of("[\\d.]") == "\\d 0-9");
  CHECK(of("[]\\w]") == "\\w [:alnum:]_");
  CHECK(of("[^[:alpha:]\\s]") == "\\s [:space:]");
  for (const char* right : {"", "\\w\\s\\b", "[0-9]+", "\\\\d", "[a]d", "[[:digit:]]", "a\\", "[", "[[:", "[]d]"})
    CHECK(of(right).empty());
  CHECK(healer::pattern_slip("\\d").meaning == "the letter 'd'");
}

}  // namespace regex_test
