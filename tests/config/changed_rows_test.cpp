// SPDX-License-Identifier: MIT
// Rules of which only rows of lists are others: what is compiled of the changed rows alone is what all rows give.
#include "config/lists/changed_rows.hpp"

#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "engine/reload/diff.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "support/fake_environment.hpp"

namespace changed_rows_test {

using namespace healer;
using namespace healer::config;
using Lists = ListsEnvironment::Lists;

namespace {

const std::string kMain = "/etc/main";
const ListSource kNodes{.name = "N", .command = {}, .file = "/nodes"};
const ListSource kDisks{.name = "D", .command = {}, .file = "/disks"};

const std::string kProgram = " with path \"/bin/true\" if status != 0 then alert\n";
const std::string kText = "check program before" + kProgram +
                          "for each N from file \"/nodes\" {\ncheck program p_${N}" + kProgram +
                          "check file f_${N} with path \"/x/${N.v}\" if size > 1 MB then alert\n group ${N.v}\n}\n"
                          "check program between" +
                          kProgram + "for each D from file \"/disks\" { check program d_${D}" + kProgram +
                          "}\n"
                          "for each N from file \"/nodes\" { check program q_${N}" +
                          kProgram +
                          "}\n"
                          "for each W in \"w1\", \"w2\" { check program ${W}" +
                          kProgram + "}\n";

test::FakeEnvironment machine_of(const std::string& text) {
  test::FakeEnvironment machine;
  machine.files[kMain] = text;
  machine.programs = {"/bin/true"};
  return machine;
}

LoadResult whole(const std::string& text, const Lists& lists) {
  const test::FakeEnvironment machine = machine_of(text);
  return load(kMain, {}, ListsEnvironment(lists, machine));
}

std::optional<LoadResult> changed(const std::string& text, const Lists& now, const Lists& before) {
  const test::FakeEnvironment machine = machine_of(text);
  LoadResult old = load(kMain, {}, ListsEnvironment(before, machine));
  REQUIRE(old.ok());
  return load_changed_rows(kMain, {}, machine, now, before, *engine::make_graph(std::move(*old.rules)));
}

std::string described(const LoadResult& result) {
  std::string all;
  for (const auto& block : result.rules->services) {
    all += block->name + " " + to_string(block->key);
    for (const engine::Rule& rule : block->rules) all += " " + to_string(rule.key) + " " + rule->text;
    all += "\n";
  }
  return all;
}

ListRow row(const std::string& name, const std::string& value = "a") { return {name, {{"v", value}}}; }

}  // namespace

TEST_CASE("what is compiled of changed rows alone is what all rows give, in the same order", "[lists][rows]") {
  std::mt19937 lot(20260712);
  std::size_t partly = 0;
  for (int round = 0; round < 300; ++round) {
    const auto rows_of = [&](const char* letter) {
      std::vector<ListRow> rows;
      for (int i = 0; i < 12; ++i) rows.push_back(row(letter + std::to_string(i)));
      return rows;
    };
    const Lists before{{kNodes, rows_of("n")}, {kDisks, rows_of("d")}};
    Lists now = before;
    for (auto& [source, rows] : now)
      for (auto left = lot() % 4; left > 0; --left) {
        const std::size_t at = lot() % rows.size();
        switch (lot() % 4) {
          case 0: rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(at)); break;
          case 1:
            rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(at), row("new" + std::to_string(lot() % 1000)));
            break;
          case 2: rows[at].fields[0].second = "b"; break;
          case 3: std::swap(rows[at], rows.front()); break;
        }
      }
    const auto some = changed(kText, now, before);
    const LoadResult all = whole(kText, now);
    if (!all.ok() || !all.rows_left_out.empty()) {  // twice the same new row
      CHECK_FALSE(some);
      continue;
    }
    REQUIRE(some);
    ++partly;
    CHECK(described(*some) == described(all));
    CHECK(some->rules->lists == all.rules->lists);
    CHECK(some->rules->left_out == all.rules->left_out);
  }
  CHECK(partly > 250);
}

TEST_CASE("what is the same stays the very same", "[lists][rows]") {
  const Lists before{{kNodes, {row("a"), row("b")}}, {kDisks, {row("x")}}};
  const test::FakeEnvironment machine = machine_of(kText);
  const auto graph = engine::make_graph(std::move(*load(kMain, {}, ListsEnvironment(before, machine)).rules));
  Lists now = before;
  now[kNodes].push_back(row("c"));
  const auto result = load_changed_rows(kMain, {}, machine, now, before, *graph);
  REQUIRE(result);
  std::size_t same = 0;
  for (const auto& block : result->rules->services)
    if (const auto id = graph->find(block->name); id && graph->slots[id->index()] == block) ++same;
  CHECK(same == graph->order.size());
}

TEST_CASE("All rows are compiled where the changed ones alone do not suffice", "[lists][rows]") {
  const Lists before{{kNodes, {row("a"), row("b")}}, {kDisks, {row("x")}}};
  Lists now = before;
  now[kNodes].push_back(row("c"));
  CHECK(changed(kText, now, before));
  SECTION("a service has the name of a new one") {
    now[kNodes].push_back(row("D_X"));
    const std::string text = kText + "for each N from file \"/nodes\" { check program ${N}" + kProgram + "}\n";
    CHECK_FALSE(changed(text, now, before));
  }
  SECTION("a new row does not compile") {
    now[kNodes].push_back({"e", {}});
    CHECK_FALSE(changed(kText, now, before));
  }
  SECTION("services name others") {
    CHECK_FALSE(changed(kText + "check program after" + kProgram + " depends on p_c\n", now, before));
  }
  SECTION("a list is in another one") {
    CHECK_FALSE(changed(
        kText + "for each S in \"s\" { for each N from file \"/nodes\" { check program ${S}_${N}" + kProgram + "} }\n",
        now, before));
  }
  SECTION("a list had no rows") {
    Lists empty = before;
    empty[kDisks].clear();
    CHECK_FALSE(changed(kText, now, empty));
  }
  SECTION("most rows are new") {
    for (char name = 'd'; name < 'm'; ++name) now[kNodes].push_back(row(std::string(1, name)));
    CHECK_FALSE(changed(kText, now, before));
  }
}

}  // namespace changed_rows_test
