// SPDX-License-Identifier: MIT
// The rows of lists, parsed once and asked many filters.
#include <catch2/catch.hpp>

#include <optional>
#include <string>
#include <vector>

#include "runtime/jq_helper.hpp"
#include "runtime/list_question.hpp"
#include "support/paths.hpp"
#include "support/rounds.hpp"

namespace list_question_test {

using namespace healer;
using namespace healer::runtime;

namespace {

const std::string kNodes = R"({"items": [
  {"metadata": {"name": "a"}, "spec": {"zone": "z1", "n": 3, "none": null}, "ready": true},
  {"metadata": {"name": "b"}, "spec": {}, "ready": "no"},
  {"metadata": {"name": 7}},
  {"metadata": {}}], "more": "?page=2"})";

ListQuestion nodes() {
  return {.parts = {{.rows = ".items[]",
                     .name = ".metadata.name",
                     .fields = {"spec.zone", "spec.n", "spec.none", "spec", "ready.x"},
                     .filters = {".ready", ".spec | error(\"x\")"}}},
          .next = ".more",
          .text = kNodes};
}

ListAnswer answered(const ListQuestion& question) {
  CompiledFilters compiled;
  const Result<ListAnswer> found = answer(question, compiled);
  REQUIRE(found);
  return *found;
}

std::string refused(const ListQuestion& question) {
  CompiledFilters compiled;
  const Result<ListAnswer> found = answer(question, compiled);
  return found ? "" : found.error().what;
}

}  // namespace

TEST_CASE("rows, their names, fields and values", "[list-question]") {
  const ListAnswer found = answered(nodes());
  REQUIRE(found.parts.size() == 1);
  const auto& rows = found.parts.front();
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].name == "a");
  CHECK(rows[0].fields == std::vector<std::optional<std::string>>{"z1", "3", std::nullopt,
                                                                  R"({"zone":"z1","n":3,"none":null})", std::nullopt});
  CHECK(rows[0].values[0] == ListAnswer::Value{true, "true"});
  CHECK(rows[0].values[1] == ListAnswer::Value{false, "the filter has failed: x"});
  CHECK(rows[1].values[0] == ListAnswer::Value{true, "\"no\""});
  CHECK(rows[2].wrong == "its name is no text: 7");
  CHECK(rows[3].wrong == "its name is no text: null");
  CHECK(found.next == "?page=2");
}

TEST_CASE("a filter may rebuild the rows, and a document is for several lists", "[list-question]") {
  ListQuestion question{
      .parts = {{.rows = ".items[] | {id: .metadata.name, up: .ready}",
                 .name = ".id",
                 .fields = {"up"},
                 .filters = {".metadata", ".up"}},
                {.rows = ".items[] | select(.ready == true)", .name = ".metadata.name", .fields = {}, .filters = {}}},
      .next = {},
      .text = kNodes};
  const ListAnswer found = answered(question);
  CHECK(found.parts[0].size() == 4);
  CHECK(found.parts[0][0].fields[0] == "true");
  CHECK(found.parts[0][0].values[0] == ListAnswer::Value{true, "null"});
  REQUIRE(found.parts[1].size() == 1);
  CHECK(found.parts[1][0].name == "a");
}

TEST_CASE("what is no list of rows says why", "[list-question]") {
  ListQuestion question = nodes();
  question.text = "<html>502 Bad Gateway</html>";
  CHECK(refused(question) == "this is not JSON");
  question.text = kNodes.substr(0, kNodes.size() / 2);  // half an answer
  CHECK(refused(question) == "this is not JSON");
  question.text = R"({"error": "not now"})";
  CHECK(refused(question).starts_with("the rows: the filter has failed: "));
  question.text = R"({"items": [], "more": 5})";
  CHECK(refused(question) == "the next page: the place of its next page is no text");
  question.text = R"({"items": []})";
  CHECK(answered(question).parts.front().empty());
  CHECK(answered(question).next.empty());
}

TEST_CASE("each line may be a row", "[list-question]") {
  const ListAnswer found = answered({.parts = {{.rows = {}, .name = {}, .fields = {}, .filters = {".a"}}},
                                     .next = {},
                                     .lines = true,
                                     .text = "{\"a\": 1}\n{\"a\"\n{\"a\": 3}\n"});
  REQUIRE(found.parts.front().size() == 3);
  CHECK(found.parts.front()[0].values[0] == ListAnswer::Value{true, "1"});
  CHECK(found.parts.front()[1].values[0] == ListAnswer::Value{false, "this is not JSON"});
  CHECK(found.parts.front()[2].values[0] == ListAnswer::Value{true, "3"});
}

TEST_CASE("questions and answers survive their way, and other bytes are none", "[list-question]") {
  const std::string question = to_bytes(nodes());
  REQUIRE(question_of(question));
  CHECK(to_bytes(*question_of(question)) == question);
  const ListAnswer found = answered(nodes());
  const std::string answer = to_bytes(found);
  CHECK(answer_of(answer) == found);
  for (std::size_t size = 0; size < answer.size(); ++size) CHECK_FALSE(answer_of(answer.substr(0, size)));
  CHECK_FALSE(answer_of(answer + "x"));
  CHECK_FALSE(question_of(std::string(64, '\xFF')));
}

TEST_CASE("a helper answers for lists, goes on after one that fails, and gives back its memory", "[list-question]") {
  JqHelper helper(healer::test::build_folder() + "/healerd");
  CHECK(*helper.rows(nodes()) == answered(nodes()));
  ListQuestion endless = nodes();
  endless.parts.front().rows = "last(range(1e18))";
  const Result<ListAnswer> none = helper.rows(endless);
  REQUIRE_FALSE(none);
  CHECK(none.error().what == "the filter gave no value within 3 s");  // 2 s, and 1 s for the beginning of a MB
  ListQuestion many = nodes();
  many.text = R"({"items": [)";
  const int rows = healer::test::kSanitized ? 2'000 : 20'000;
  for (int i = 0; i < rows; ++i)
    many.text += (i == 0 ? "" : ",") + (R"({"metadata": {"name": "node)" + std::to_string(i) + R"("}, "ready": true})");
  many.text += "]}";
  Result<ListAnswer> found = helper.rows(many);
  for (int again = 0; !found && again < 20; ++again)
    found = helper.rows(many);  // a busy machine takes longer than it may
  REQUIRE(found);
  CHECK(found->parts.front().size() == static_cast<std::size_t>(rows));
  CHECK(*helper.first(".a", "{\"a\": 7}") == "7");
}

}  // namespace list_question_test
