// SPDX-License-Identifier: MIT
#include "util/jq.hpp"

#include <catch2/catch.hpp>
#include <thread>
#include <vector>

namespace jq_test {

using namespace healer;

namespace {

std::string first(const std::string& filter, std::string_view json) {
  auto compiled = JqFilter::compile(filter);
  REQUIRE(compiled);
  const auto value = compiled->first(json);
  return value ? *value : "error: " + value.error().what;
}

}  // namespace

TEST_CASE("the first value of a filter counts", "[jq]") {
  CHECK(first(".a.b", R"({"a":{"b":"x"}})") == "\"x\"");
  CHECK(first(".[] | select(. > 1)", "[1,2,3]") == "2");
  CHECK(first(".a", "{}") == "null");
  CHECK(first("empty", "{}") == "error: the filter finds no value");
  CHECK(first(".[]", "[]") == "error: the filter finds no value");
  CHECK(first(".a", "[1]").starts_with("error: the filter has failed: Cannot index array"));
  CHECK(first(".", "<html>") == "error: this is not JSON");
  CHECK(first(".", "{\"a\":") == "error: this is not JSON");
  CHECK(first(".", "") == "error: this is not JSON");
  CHECK(first(".", "1 ]") == "error: this is not JSON");
  CHECK(first(".", std::string_view("[1] 2", 3)) == "[1]");
  CHECK(first(".", std::string_view("[1 2]", 2)) == "error: this is not JSON");
  CHECK(first(".", "1 2") == "error: this is not JSON");
  CHECK(first(".", std::string(100'000, '[')) == "error: this is not JSON");
}

TEST_CASE("a filter is used many times, and after it has failed", "[jq]") {
  auto filter = JqFilter::compile(".a + 1");
  REQUIRE(filter);
  for (int i = 0; i < 100; ++i) {
    CHECK(filter->first("{\"a\":" + std::to_string(i) + "}").value() == std::to_string(i + 1));
    CHECK_FALSE(filter->first("{\"a\":\"x\"}"));
  }
}

TEST_CASE("An invalid filter is reported in words", "[jq]") {
  CHECK(jq_problem(".a | .b").empty());
  CHECK(jq_problem(".a | nothing") == "nothing/0 is not defined");
  CHECK(jq_problem(".a |") == "syntax error, unexpected end of file");
  CHECK(jq_problem(".a == ${B}") == "syntax error, unexpected '{'");
  CHECK_FALSE(jq_problem(std::string("a\0b", 3)).empty());
}

TEST_CASE("a filter asks nothing but its text", "[jq]") {
  for (const auto* one :
       {"env.PATH", "$ENV", "$ENV.PATH", "input", "[inputs]", "import \"a\" as a; .", "include \"a\"; .", "halt",
        "halt_error", "\"\\(env.PATH)\"", "\"a\\((1)|env)\"", ". | debug", "$__prog_args"}) {
    CAPTURE(one);
    CHECK(jq_problem(one).find("is not allowed") != std::string::npos);
  }
  for (const auto* one : {".env", ".a.input", "\"env\"", ".[\"halt\"]", ".environment", ".a # env", "\"\\(.a) env\"",
                          ". as $input | $input"}) {
    CAPTURE(one);
    CHECK(jq_problem(one).empty());
  }
}

TEST_CASE("quoted values compare as texts, others as what they are", "[jq]") {
  CHECK(json_order("\"a\"", "\"a\"") == JsonOrder::Equal);
  CHECK(json_order("5", "\"5\"") == JsonOrder::Equal);
  CHECK(json_order("true", "\"true\"") == JsonOrder::Equal);
  CHECK(json_order("\"a\"", "\"b\"") == JsonOrder::Less);
  CHECK(json_order("[]", "\"[]\"") == JsonOrder::Unordered);
  CHECK(json_order("5", "5.0") == JsonOrder::Equal);
  CHECK(json_order("10", "9") == JsonOrder::Greater);
  CHECK(json_order("\"5\"", "5") == JsonOrder::Unordered);
  CHECK(json_order("null", "null") == JsonOrder::Equal);
  CHECK(json_order("null", "false") == JsonOrder::Unordered);
  CHECK(json_string("a\"b\n") == R"("a\"b\n")");
  for (const auto* one : {"1", "-1.5", "1e3", "true", "false", "null"}) CHECK(is_json_literal(one));
  for (const auto* one : {"", "nan", "True", "a", "1 2", "[]", "0x1", "-"}) CHECK_FALSE(is_json_literal(one));
}

TEST_CASE("filters of several threads do not meet", "[jq]") {
  std::vector<std::thread> threads;
  std::vector<int> right(4);
  for (std::size_t i = 0; i < right.size(); ++i)
    threads.emplace_back([&, i] {
      auto filter = JqFilter::compile("[.[] | . * 1.5] | add");
      for (int round = 0; filter && round < 200; ++round) right[i] += filter->first("[1,2,3]").value() == "9" ? 1 : 0;
    });
  for (auto& thread : threads) thread.join();
  CHECK(right == std::vector<int>(4, 200));
}

}  // namespace jq_test
