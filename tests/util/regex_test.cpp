// SPDX-License-Identifier: MIT
#include "util/regex.hpp"

#include <catch2/catch.hpp>

namespace regex_test {

using healer::regex_problem;

TEST_CASE("a regular expression that writes out to too much is known before it is compiled", "[util]") {
  for (const char* pattern :
       {"((a{1,200}){1,200}){1,200}", "a{1,5000}", "(((((((((((a+)+)+)+)+)+)+)+)+)+)+)+", "a{1,1600}b{1,1600}",
        "([0-9]{30}){199}", "(a{99999999999999999999}){2}", "((a{100}){100}){0}", "[]a{2}{3000}]{3001}"})
    CHECK_FALSE(regex_problem(pattern).empty());
  CHECK_FALSE(regex_problem(std::string(10'000, '(')).empty());
  CHECK_FALSE(regex_problem(std::string(200, '(') + "a" + std::string(200, ')')).empty());
}

TEST_CASE("what people write is no such expression", "[util]") {
  for (const char* pattern :
       {"", "a", "([0-9]{1,3}\\.){3}[0-9]{1,3}", "^(ok|fine)+$", "a{,5}", "x{", "{", "a{1,2", "\\{1,9999\\}",
        "[{1,9999}]", "[^]{]{1,9}", "[[:alpha:]]{1,64}", "((a*)*)*", "a{0,255}", "(a|b|c){100}", ")", "\\"})
    CHECK(regex_problem(pattern).empty());
  CHECK(regex_problem(std::string(60'000, 'a')).empty());
}

}  // namespace regex_test
