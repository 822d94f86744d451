// SPDX-License-Identifier: MIT
// Any bytes as a rules file: no fault of memory, no endless work, and the promises of the language hold.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "config/diagnostic.hpp"
#include "config/environments.hpp"
#include "config/load.hpp"
#include "config/text/print.hpp"
#include "engine/rules/rule_set.hpp"
#include "support/fake_environment.hpp"

namespace {

using healer::config::LoadResult;

LoadResult load(const std::string& text, bool monit_dialect) {
  healer::test::FakeEnvironment machine;
  machine.files = {{"/rules", text},
                   {"/other.rules", "check program other path \"/bin/true\"\n if status != 0 then alert\n"}};
  return healer::config::load("/rules",
                              {.monit_dialect = monit_dialect ? std::optional(healer::MonitVersion::V6) : std::nullopt},
                              healer::config::OfflineEnvironment(machine));
}

std::string messages(const LoadResult& result) {
  std::string all;
  for (const healer::config::Diagnostic& diagnostic : result.diagnostics) {
    all += healer::config::format(diagnostic, result.sources, false);
  }
  return all;
}

[[noreturn]] void broken(const char* promise, const std::string& detail) {
  std::fprintf(stderr, "broken promise: %s\n%s\n", promise, detail.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const LoadResult ours = load(text, false);
  const std::string complaints = messages(ours);
  if (!ours.ok() && complaints.empty()) broken("who refuses says why", "");

  const LoadResult theirs = load(text, true);
  if (theirs.ok() && !ours.ok()) broken("what Monit accepts is accepted", complaints);

  if (ours.ok()) {
    const std::string printed = healer::config::print(*ours.rules);
    const LoadResult again = load(printed, false);
    if (!again.ok()) broken("what is printed can be read", printed + "\n" + messages(again));
    if (again.rules->services.size() != ours.rules->services.size()) broken("every service is printed", printed);
    // What is not shown (a password) is a comment the first time, and is gone then.
    const std::string twice = healer::config::print(*again.rules);
    const LoadResult third = load(twice, false);
    if (!third.ok() || healer::config::print(*third.rules) != twice) broken("what is printed means the same", twice);
  }
  return 0;
}
