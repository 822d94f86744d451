// SPDX-License-Identifier: MIT
// A state file that healer 0.1.0 wrote in version 4, and its rules: what this version makes of both must fit together,
// or a reload would fire again what has fired.
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>
#include <string>

#include "config/check.hpp"
#include "config/load.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "store/sqlite_store.hpp"
#include "support/child.hpp"
#include "support/fake_environment.hpp"
#include "support/paths.hpp"
#include "tests/store/raw.hpp"

using namespace healer;
using namespace healer::engine;

namespace {

std::string kept(const std::string& name) {
  const std::ifstream file(test::source_folder() + "/tests/store/" + name);
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("a state file of version 4 knows the rules of today by the same keys", "[store]") {
  test::TemporaryDirectory directory;
  const std::string path = (directory.path() / "state").string();
  {
    store::test::Raw raw(path);
    raw("PRAGMA journal_mode = WAL");
    raw(kept("kept_state.sql"));
  }
  auto opened = store::SqliteStore::open(path, {});
  REQUIRE(opened);
  const SavedState state = (*opened)->load().value();

  CHECK(state.services.at("ping").memory == Memory{{{Attribute::Status, 3}}});
  const Memory& sleeper = state.services.at("sleeper").memory;
  REQUIRE(sleeper.find(Attribute::Pid) != nullptr);
  CHECK(std::get<std::int64_t>(*sleeper.find(Attribute::Pid)) > 1);
  CHECK(sleeper.find(Attribute::Parent) != nullptr);
  CHECK(state.services.at("here").memory == Memory{});

  test::FakeEnvironment machine;
  machine.programs.insert("/bin/sh");
  machine.files["/etc/kept.rules"] = kept("kept.rules");
  const config::LoadResult loaded = config::load("/etc/kept.rules", {}, machine);
  INFO(config::format_all(loaded.diagnostics, loaded.sources, false));
  REQUIRE(loaded.ok());
  REQUIRE(loaded.rules->services.size() == 3);
  for (const auto& block : loaded.rules->services) {
    const std::vector<SavedRule>& saved = state.services.at(block->name).rules;
    REQUIRE(saved.size() == block->rules.size());
    for (std::size_t i = 0; i < saved.size(); ++i) {
      INFO(block->name << ": " << block->rules[i]->text);
      CHECK(saved[i].key == block->rules[i].key);
      CHECK(saved[i].identity == block->rules[i].identity());
    }
  }
}
