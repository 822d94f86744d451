// SPDX-License-Identifier: MIT
// Any bytes as what a list says: as lines, as a document over HTTP, and as what the helper that reads it is asked and
// answers. Each row has a name that may stand in paths and programs, or is refused with a sentence.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "config/lists/list_rows.hpp"
#include "runtime/list_question.hpp"
#include "util/text.hpp"

namespace {

using namespace healer;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void check_lines(std::string_view text) {
  for (const bool all : {true, false}) {
    const auto reading = config::read_rows(text, {.all = all, .fields = {"ip", "spec.zone"}, .documents = true});
    if (!reading) continue;
    if (reading->rows.size() > config::kMostRows) fail("a list has so many rows at most");
    if (reading->documents.size() != reading->rows.size()) fail("each row has a document, be it empty");
    for (const config::ListRow& row : reading->rows) {
      if (!is_plain_name(row.name)) fail("a row has a plain name");
      if (!config::fault_of(row).empty()) fail("a row that is taken has no fault");
    }
    for (const config::RefusedRow& row : reading->refused)
      if (row.why.empty() || row.why.find('\n') != std::string::npos) fail("a sentence says why");
  }
}

/// libjq loses a few bytes of many a text that is no JSON, in a helper that may take only so much memory: none is given
/// to it here.
bool is_json(std::string_view text, bool lines) {
  if (!lines) return nlohmann::json::accept(text);
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (!line.empty() && !nlohmann::json::accept(line)) return false;
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return true;
}

void check_document(std::string_view text) {
  static runtime::CompiledFilters compiled;
  runtime::ListQuestion question{
      .parts = {{.rows = ".items[]?", .name = ".name", .fields = {"ip", "spec.zone"}, .filters = {".up", ".a.b"}}},
      .next = ".next?",
      .text = std::string(text)};
  for (const bool lines : {false, true}) {
    question.lines = lines;
    const auto asked = runtime::question_of(to_bytes(question));
    if (!asked || to_bytes(*asked) != to_bytes(question)) fail("a question survives its way");
    if (!is_json(text, lines)) continue;
    const auto found = runtime::answer(question, compiled);
    if (!found) continue;
    const auto reported = runtime::answer_of(to_bytes(*found));
    if (!reported || *reported != *found) fail("an answer survives its way");
  }
}

void check_bytes(std::string_view bytes) {
  if (const auto question = runtime::question_of(bytes); question && to_bytes(*question) != bytes)
    fail("a question is read as it was written");
  if (const auto answer = runtime::answer_of(bytes); answer && to_bytes(*answer) != bytes)
    fail("an answer is read as it was written");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_lines(text);
  check_document(text);
  check_bytes(text);
  return 0;
}
