// SPDX-License-Identifier: MIT
// What is journalled of healings: in every store, and in a file that is damaged.
#include <spdlog/fmt/fmt.h>

#include <catch2/catch.hpp>

#include "tests/store/any_store.hpp"
#include "tests/store/raw.hpp"
#include "tests/store/samples.hpp"
#include "tests/store/store_listener.hpp"

namespace healings_test {

using namespace healer;
using namespace healer::store;
using namespace healer::store::test;

TEST_CASE("every field of a healing and of what is remembered survives", "[store]") {
  Bench bench(GENERATE(false, true));
  CHECK(bench.loaded().healings.empty());
  auto first = commit(1);
  for (std::uint64_t id = 1; id < 30; ++id) {
    first.healings.push_back(AnyHealing(id).healing(id));
    first.targets.push_back(target_memory("web" + std::to_string(100 + id), id % 2 == 0, id));
    first.workflows.push_back(workflow_memory("heal" + std::to_string(100 + id), id));
  }
  first.targets[3].plan = nullptr;
  first.closed_brakes = {AnyHealing(1).any<ClosedBrake>(), AnyHealing(2).any<ClosedBrake>()};
  bench.submit(first);
  const auto state = bench.loaded();
  REQUIRE(state.healings.size() == first.healings.size());
  REQUIRE(state.healing.targets.size() == first.targets.size());
  for (std::size_t i = 0; i < first.healings.size(); ++i) {
    CHECK(same(state.healings[i], first.healings[i]));
    CHECK(same(state.healing.targets[i], first.targets[i]));
  }
  CHECK(state.healing.workflows == first.workflows);
  CHECK(state.healing.closed == *first.closed_brakes);
  CHECK(state.damaged_healings.empty());
  CHECK(state.last_id >= 29);
}

TEST_CASE("a healing is the one that was saved last, until it has ended", "[store]") {
  const bool apart = GENERATE(false, true);
  Bench bench(GENERATE(false, true));
  const auto submit = [&](engine::effect::Commit next) {
    bench.submit(std::move(next));
    if (apart) bench.store().flush();
  };
  auto first = commit(1);
  first.healings = {full_healing(1), full_healing(2), full_healing(3)};
  submit(first);
  auto second = commit(2);
  auto other = AnyHealing(77).healing(1);
  second.healings = {other, full_healing(2)};
  submit(second);
  auto third = commit(3);
  third.ended_healings = {HealingId(2), HealingId(77)};
  submit(third);
  const auto state = bench.loaded();
  REQUIRE(state.healings.size() == 2);
  CHECK(same(state.healings[0], other));
  CHECK(same(state.healings[1], full_healing(3)));
  CHECK(state.last_id >= 77);
}

TEST_CASE("targets and workflows are the same in any case, dry runs apart", "[store]") {
  const bool apart = GENERATE(false, true);
  Bench bench(GENERATE(false, true));
  const auto submit = [&](engine::effect::Commit next) {
    bench.submit(std::move(next));
    if (apart) bench.store().flush();
  };
  auto first = commit(1);
  first.targets = {target_memory("web1"), target_memory("web1", true), target_memory("Web2"), target_memory("web3")};
  first.workflows = {workflow_memory("heal"), workflow_memory("mend")};
  first.closed_brakes.emplace(3);
  submit(first);
  auto second = commit(2);
  second.targets = {target_memory("WEB1", false, 5), target_memory("web2", false, 6)};
  second.workflows = {workflow_memory("Heal", 7)};
  submit(second);
  auto third = commit(3);
  third.forgotten_targets = {{"WEB3", false}, {"Web1", true}, {"web2", false}, {"unknown", false}};
  third.targets = {target_memory("web2", false, 8)};  // forgotten and saved is saved
  third.closed_brakes.emplace();
  submit(third);
  const auto state = bench.loaded();
  REQUIRE(state.healing.targets.size() == 2);
  CHECK(same(state.healing.targets[0], target_memory("WEB1", false, 5)));
  CHECK(same(state.healing.targets[1], target_memory("web2", false, 8)));
  CHECK(state.healing.workflows == std::vector{workflow_memory("Heal", 7), workflow_memory("mend")});
  CHECK(state.healing.closed.empty());
}

TEST_CASE("a healing whose journal is damaged is told, once, and the others go on", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  const auto open = [&](Callbacks callbacks = {}) {
    auto opened = SqliteStore::open(path, std::move(callbacks));
    REQUIRE(opened);
    return std::move(*opened);
  };
  {
    auto first = commit(1);
    first.healings = {full_healing(1), full_healing(2, "web\xff"), full_healing(3), full_healing(4), full_healing(5)};
    first.targets = {target_memory("web1"), target_memory("web2")};
    first.workflows = {workflow_memory("heal"), workflow_memory("mend")};
    first.closed_brakes.emplace(2);
    open()->submit(first);
  }
  {
    Raw raw(path);
    raw("UPDATE healings SET state = substr(state, 1, 100) WHERE healing = 2");
    raw("UPDATE healings SET state = '', target = '' WHERE healing = 3");
    raw("UPDATE healings SET state = (SELECT state FROM healings WHERE healing = 1) WHERE healing = 4");
    raw("UPDATE healing_targets SET state = '[]' WHERE target = 'web2'");
    raw("UPDATE healing_workflows SET state = 'null' WHERE workflow = 'mend'");
    raw("UPDATE closed_brakes SET state = '5' WHERE position = 1");
  }
  {
    auto store = open();
    const auto state = store->load().value();
    REQUIRE(state.healings.size() == 2);
    CHECK(same(state.healings[0], full_healing(1)));
    CHECK(same(state.healings[1], full_healing(5)));
    CHECK(state.damaged_healings == std::vector<DamagedHealing>{{.id = HealingId{2}, .target = "web\xff"},
                                                                {.id = HealingId{3}},
                                                                {.id = HealingId{4}, .target = "web1"}});
    REQUIRE(state.healing.targets.size() == 1);
    CHECK(state.healing.targets[0].target == "web1");
    CHECK(state.damaged_targets == std::vector<std::pair<std::string, bool>>{{"web2", false}});
    // Its breaker may have been open.
    REQUIRE(state.healing.workflows.size() == 2);
    CHECK(state.healing.workflows[1] == WorkflowMemory{.workflow = "mend", .open = true});
    CHECK(state.healing.closed.size() == 1);
    REQUIRE(store->notes().size() == 6);
    CHECK(store->notes()[1] == "healing 3 cannot be resumed: its journal is damaged: it is empty");
    CHECK(store->notes()[2] == "healing 4 of web1 cannot be resumed: its journal is damaged: it is of another one");
  }
  // A life that has recorded nothing has not told anybody.
  CHECK(open()->load().value().damaged_healings.size() == 3);
  {
    auto store = open();
    CHECK(store->load().value().damaged_healings.size() == 3);
    store->submit(commit(2));
  }
  const auto state = open()->load().value();
  CHECK(state.damaged_healings.empty());
  CHECK(state.healings.size() == 2);
  CHECK(Raw(path)("SELECT count(*) FROM healing_targets") == "1");
}

TEST_CASE("of a damaged file what healing remembers is kept, and what was under way is given up", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  auto first = commit(1);
  first.healings = {full_healing(1), full_healing(2)};
  first.targets = {target_memory("web1")};
  first.workflows = {workflow_memory("heal")};
  first.closed_brakes = {AnyHealing(1).any<ClosedBrake>()};
  {
    auto opened = SqliteStore::open(path, {});
    REQUIRE(opened);
    (*opened)->submit(first);
  }
  Raw{path}("UPDATE meta SET value = -1 WHERE name = 'last_id'");
  auto opened = SqliteStore::open(path, {});
  REQUIRE(opened);
  REQUIRE_FALSE((*opened)->damages().empty());
  const auto state = (*opened)->load().value();
  CHECK(state.healings.empty());
  REQUIRE(state.damaged_healings.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const Healing& known = first.healings[i];
    CHECK(state.damaged_healings[i] ==
          DamagedHealing{.id = known.id, .target = "web1", .workflow = known.plan->name, .service = known.service});
  }
  REQUIRE(state.healing.targets.size() == 1);
  CHECK(same(state.healing.targets[0], first.targets[0]));
  CHECK(state.healing.workflows == first.workflows);
  CHECK(state.healing.closed == *first.closed_brakes);
}

/// A state of three healings, of which records tell: 1 has ended, 2 and 3 have not; and what targets and workflows
/// remember. The pages of some tables are overwritten.
std::unique_ptr<SqliteStore> opened_damaged(const std::string& path, const std::vector<std::string>& tables) {
  auto first = commit(1);
  first.healings = {full_healing(1), full_healing(2), full_healing(3)};
  first.targets = {target_memory("web1")};
  first.workflows = {workflow_memory("heal")};
  const auto add = [&](std::uint64_t id, RecordKind kind, const std::string& text) {
    Record record;
    record.sequence = 1;
    record.kind = kind;
    record.service = fmt::format("web{}", id);
    record.subject = id;
    record.text = text;
    first.records.push_back(std::move(record));
  };
  for (const std::uint64_t id : {1, 2, 3})
    add(id, RecordKind::HealingBegun, fmt::format("healing of web{} with heal begins", id));
  add(1, RecordKind::HealingEnded, "healing of web1 with heal recovered");
  {
    auto store = SqliteStore::open(path, {});
    REQUIRE(store);
    (*store)->submit(first);
  }
  move_log(path);
  std::vector<std::size_t> pages;
  {
    Raw raw(path);
    for (const std::string& table : tables)
      pages.push_back(std::stoul(raw("SELECT rootpage FROM sqlite_master WHERE name = '" + table + "'")));
  }
  auto bytes = healer::test::read_file(path);
  for (const std::size_t page : pages) bytes.replace((page - 1) * 4096, 4096, std::string(4096, '\x55'));
  healer::test::write_file(path, bytes);
  auto store = SqliteStore::open(path, {});
  REQUIRE(store);
  return std::move(*store);
}

TEST_CASE("healings whose table is damaged are known by their records, and what healing remembers is kept", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto store = opened_damaged(in(directory, "state"), {"healings"});
  REQUIRE(store->damages().size() == 1);
  CHECK(store->damages().front().ends_with("; 2 healings were under way, and cannot be resumed"));
  const auto state = store->load().value();
  CHECK(state.damaged_healings ==
        std::vector<DamagedHealing>{
            {.id = HealingId{2}, .service = "web2", .last_record = "healing of web2 with heal begins"},
            {.id = HealingId{3}, .service = "web3", .last_record = "healing of web3 with heal begins"}});
  REQUIRE(state.healing.targets.size() == 1);
  CHECK(same(state.healing.targets[0], target_memory("web1")));
  CHECK(state.healing.workflows == std::vector{workflow_memory("heal")});
}

TEST_CASE("where nothing tells of healings, there may have been some", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  {
    const auto store = opened_damaged(path, {"healings", "records", "records_by_sequence"});
    CHECK(store->load().value().damaged_healings == std::vector<DamagedHealing>{{}});
    store->submit(commit(2));
  }
  auto opened = SqliteStore::open(path, {});
  REQUIRE(opened);
  CHECK((*opened)->load().value().damaged_healings.empty());  // it was told
}

TEST_CASE("a healing whose records are damaged is given up with all that is known of it", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto store = opened_damaged(in(directory, "state"), {"records"});
  const auto state = store->load().value();
  REQUIRE(state.damaged_healings.size() == 3);
  CHECK(state.damaged_healings[0].id == HealingId{1});
  CHECK(state.damaged_healings[0].workflow == full_healing(1).plan->name);
  REQUIRE(store->damages().size() == 1);
  CHECK(store->damages().front().find("json") == std::string::npos);
}

TEST_CASE("healings in a file that could not be read at the start are not taken up later", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  {
    auto first = commit(1);
    first.healings = {full_healing(1)};
    auto opened = SqliteStore::open(path, {});
    REQUIRE(opened);
    (*opened)->submit(first);
  }
  Listener reported;
  std::unique_ptr<SqliteStore> store;
  {
    Raw other(path);
    other("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; UPDATE meta SET value = value");
    store = std::move(SqliteStore::open(path, reported.callbacks()).value());
    const auto state = store->load().value();
    CHECK(state.healings.empty());
    auto next = commit(state.last_sequence + 1);
    next.healings = {full_healing(9)};
    store->submit(next);
    REQUIRE(reported.wait_sick());
    other("COMMIT");
  }
  REQUIRE(reported.wait_well());
  const auto state = store->load().value();
  REQUIRE(state.healings.size() == 1);
  CHECK(same(state.healings[0], full_healing(9)));
}

}  // namespace healings_test
