// SPDX-License-Identifier: MIT
#include "store/batch.hpp"

#include <catch2/catch.hpp>

#include "tests/store/samples.hpp"

namespace batch_test {

using namespace healer;
using namespace healer::store;
using namespace healer::store::test;

TEST_CASE("a batch is empty until something is in it", "[store]") {
  Batch batch;
  CHECK(batch.empty());
  CHECK(batch.bytes() == 0);
  SECTION("a commit") {
    batch.add(commit(1));
    CHECK_FALSE(batch.empty());
    CHECK(batch.up_to() == 1);
  }
  SECTION("sources") {
    batch.set_sources({});
    CHECK_FALSE(batch.empty());
  }
}

TEST_CASE("a batch holds the newest state of a service only, however often it is saved", "[store]") {
  Batch batch;
  engine::effect::Commit first;
  first.sequence = 1;
  first.services.emplace_back("web", full_service());
  batch.add(first);
  const auto bytes = batch.bytes();
  for (engine::Sequence sequence = 2; sequence < 1000; ++sequence) {
    first.sequence = sequence;
    batch.add(first);
  }
  CHECK(batch.bytes() == bytes);
  CHECK(batch.services().size() == 1);
}

TEST_CASE("a batch holds what a service of an earlier one remembers since, until it is saved whole", "[store]") {
  Batch batch;
  engine::effect::Commit next;
  next.sequence = 1;
  next.remembered = {{"web", {{Attribute::ReadOffset, 5}}}};
  batch.add(next);
  const auto bytes = batch.bytes();
  next.remembered = {{"web", {{Attribute::ReadOffset, 6}}}};
  batch.add(next);
  CHECK(batch.bytes() == bytes);
  CHECK(batch.remembered().at("web") == Memory{{{Attribute::ReadOffset, 6}}});
  SECTION("and goes with it") {
    next.remembered.clear();
    next.forgotten = {"web"};
    batch.add(next);
    CHECK(batch.remembered().empty());
  }
  SECTION("and belongs to it from then on") {
    next.remembered = {{"web", {{Attribute::Status, 7}}}};
    next.services.emplace_back("web", full_service());
    batch.add(next);
    CHECK(batch.remembered().empty());
    SavedService expected = full_service();
    expected.memory.put({Attribute::Status, 7});
    CHECK(batch.services().at("web") == expected);
  }
}

TEST_CASE("a batch forgets acts that are over within it", "[store]") {
  Batch batch;
  std::size_t after_first = 0;
  for (std::uint64_t id = 1; id < 2000; id += 2) {
    engine::effect::Commit next;
    next.sequence = id;
    next.pending = {full_exec(id), full_alert(id + 1)};
    next.started = {ActionId(id)};
    next.ended = {ActionId(id)};
    next.handed_over = {AlertId(id + 1)};
    batch.add(next);
    if (id == 1) after_first = batch.bytes();
  }
  CHECK(batch.bytes() == after_first);
  CHECK(batch.execs().empty());
  CHECK(batch.alerts().empty());
  CHECK(batch.last_id() == 2000);
}

TEST_CASE("a batch holds the newest state of a job, and none of one that has ended", "[store]") {
  Batch batch;
  engine::effect::Commit next = commit(1);
  next.records.clear();
  next.jobs = {full_job(8), full_job(9)};
  batch.add(next);
  const auto bytes = batch.bytes();
  next.jobs[1].position = 1;
  batch.add(next);
  CHECK(batch.bytes() == bytes);
  CHECK(batch.jobs().at(JobId(9)).position == 1);
  next.jobs.clear();
  next.moved_jobs = {{.job = JobId(9), .position = 2}};
  batch.add(next);
  CHECK(batch.bytes() == bytes);
  CHECK(batch.jobs().at(JobId(9)).position == 2);
  CHECK(batch.moved_jobs().empty());
  next.moved_jobs.clear();
  next.jobs.clear();
  next.ended_jobs = {JobId(8), JobId(9)};
  batch.add(next);
  CHECK(batch.jobs().empty());
  // What an earlier batch has written of them must go, too.
  CHECK(batch.ended_jobs() == std::set{JobId(8), JobId(9)});
  CHECK(batch.last_id() == 9);
}

TEST_CASE("a batch holds how far a job of an earlier one has come, until it is saved whole or has ended", "[store]") {
  Batch batch;
  engine::effect::Commit next = commit(1);
  batch.add(next);
  const auto bytes = batch.bytes();
  next.records.clear();
  for (std::uint32_t position = 1; position < 100; ++position) {
    next.moved_jobs = {{.job = JobId(8), .position = position}, {.job = JobId(9), .position = position}};
    batch.add(next);
  }
  REQUIRE(batch.moved_jobs().size() == 2);
  CHECK(batch.moved_jobs().at(JobId(9)).position == 99);
  CHECK(batch.jobs().empty());
  CHECK(batch.last_id() == 9);
  CHECK(batch.bytes() < bytes + 500);
  next.moved_jobs.clear();
  next.jobs = {full_job(8)};
  next.ended_jobs = {JobId(9)};
  batch.add(next);
  CHECK(batch.moved_jobs().empty());
  CHECK(batch.jobs().at(JobId(8)).position == full_job(8).position);
}

TEST_CASE("a batch holds the newest state of a healing, a target and a workflow, and none of what is over", "[store]") {
  Batch batch;
  engine::effect::Commit next = commit(1);
  batch.add(next);
  CHECK(batch.durability() == engine::effect::Durability::Written);
  next.records.clear();
  next.healings = {full_healing(8), full_healing(9)};
  next.targets = {target_memory("web1"), target_memory("web1", true), target_memory("web2")};
  next.workflows = {workflow_memory("heal")};
  next.closed_brakes.emplace(2);
  batch.add(next);
  CHECK(batch.durability() == engine::effect::Durability::Synced);
  const auto bytes = batch.bytes();
  next.healings[1].round = 77;
  next.targets = {target_memory("WEB1")};
  next.workflows = {workflow_memory("HEAL")};
  batch.add(next);
  CHECK(batch.bytes() == bytes);
  CHECK(batch.healings().at(HealingId(9)).round == 77);
  CHECK(batch.targets().size() == 3);
  CHECK(batch.targets().at({"web1", false}).target == "WEB1");
  CHECK(batch.workflows().at("heal").workflow == "HEAL");
  next = {};
  next.ended_healings = {HealingId(8), HealingId(9), HealingId(70)};
  next.forgotten_targets = {{"Web1", true}};
  next.closed_brakes.emplace();
  batch.add(next);
  CHECK(batch.healings().empty());
  // What an earlier batch has written of them must go, too.
  CHECK(batch.ended_healings() == std::set{HealingId(8), HealingId(9), HealingId(70)});
  CHECK(batch.forgotten_targets() == std::set{Batch::TargetKey{"web1", true}});
  CHECK(batch.targets().size() == 2);
  CHECK(batch.closed_brakes()->empty());
  CHECK(batch.last_id() == 70);
}

TEST_CASE("trimming drops the oldest records first, then the oldest acts, never a service, a job or a healing",
          "[store]") {
  Batch batch;
  for (engine::Sequence sequence = 1; sequence <= 10; ++sequence) {
    auto next = commit(sequence);
    next.services.emplace_back("web" + std::to_string(sequence), full_service());
    auto exec = full_exec(2 * sequence);
    if (sequence > 1) exec.healing = {};
    next.pending = {std::move(exec), full_alert(2 * sequence + 1)};
    next.jobs = {full_job(sequence)};
    next.healings = {full_healing(sequence)};
    next.targets = {target_memory("web" + std::to_string(sequence))};
    next.workflows = {workflow_memory("heal" + std::to_string(sequence))};
    next.closed_brakes.emplace(1);
    batch.add(next);
  }
  CHECK_FALSE(batch.trim(batch.bytes()));
  CHECK(batch.trim(batch.bytes() - 1));
  CHECK(batch.records().size() == 9);
  CHECK(batch.records().front().sequence == 2);
  CHECK(batch.lost().count == 1);
  CHECK(batch.lost().last_sequence == 1);
  CHECK(batch.trim(0));
  CHECK(batch.records().empty());
  CHECK(batch.alerts().empty());
  CHECK(batch.execs().size() == 1);  // that of a healing
  CHECK(batch.services().size() == 10);
  CHECK(batch.jobs().size() == 10);
  CHECK(batch.healings().size() == 10);
  CHECK(batch.targets().size() == 10);
  CHECK(batch.workflows().size() == 10);
  CHECK(batch.closed_brakes()->size() == 1);
  CHECK(batch.lost().count == 10);
  CHECK(batch.up_to() == 10);
  CHECK(batch.last_id() == 21);
  CHECK_FALSE(batch.trim(0));
}

TEST_CASE("a batch holds the last beat of a service of an earlier one, until it is saved whole", "[store]") {
  Batch batch;
  engine::effect::Commit next;
  next.sequence = 1;
  next.heartbeats = {{"web", full_heartbeat()}};
  batch.add(next);
  const auto bytes = batch.bytes();
  batch.add(next);
  CHECK(batch.bytes() == bytes);
  next.heartbeats.front().second.status = 4;
  batch.add(next);
  CHECK(batch.heartbeats().at("web").status == 4);
  next.heartbeats.clear();
  SECTION("and goes with it") {
    next.forgotten = {"web"};
    batch.add(next);
    CHECK(batch.heartbeats().empty());
  }
  SECTION("and belongs to it from then on") {
    next.services.emplace_back("web", full_service());
    batch.add(next);
    CHECK(batch.heartbeats().empty());
    CHECK(batch.services().at("web") == full_service());
    Batch later;
    next.services.clear();
    next.heartbeats = {{"web", {}}};
    later.add(next);
    batch.merge(std::move(later));
    CHECK(batch.services().at("web").heartbeat == Heartbeat{});
  }
}

TEST_CASE("a batch holds an event once, with the document that came first", "[store]") {
  Batch batch;
  engine::effect::Commit next;
  next.sequence = 1;
  next.occurrences = {full_occurrence(7)};
  batch.add(next);
  const auto bytes = batch.bytes();
  next.occurrences.front().document = nullptr;
  next.occurrences.front().outcome = "other";
  batch.add(next);
  CHECK(batch.occurrences().at(7).document != nullptr);
  CHECK(batch.occurrences().at(7).outcome == "other");
  CHECK(batch.bytes() < bytes);
  next.occurrences.clear();
  next.forgotten_occurrences = {7};
  Batch later;
  later.add(next);
  batch.merge(std::move(later));
  CHECK(batch.occurrences().empty());
  CHECK(batch.forgotten_occurrences() == std::set<std::uint64_t>{7});
}

TEST_CASE("merging two batches is adding their commits one after the other", "[store]") {
  const auto seed = GENERATE(range(1U, 31U));
  RandomCommits commits(seed);
  Batch whole, first, second;
  for (int i = 0; i < 40; ++i) {
    const auto next = commits.next();
    whole.add(next);
    (i < static_cast<int>(seed) ? first : second).add(next);
  }
  first.merge(second);
  CHECK(first.up_to() == whole.up_to());
  CHECK(first.last_id() == whole.last_id());
  CHECK(first.records() == whole.records());
  CHECK(first.services() == whole.services());
  CHECK(first.remembered() == whole.remembered());
  CHECK(first.heartbeats() == whole.heartbeats());
  CHECK(first.forgotten() == whole.forgotten());
  CHECK(first.started() == whole.started());
  CHECK(first.ended() == whole.ended());
  CHECK(first.handed_over() == whole.handed_over());
  CHECK(first.bytes() == whole.bytes());
  REQUIRE(first.execs().size() == whole.execs().size());
  for (const auto& [id, exec] : first.execs()) {
    CHECK(describe(exec.exec) == describe(whole.execs().at(id).exec));
    CHECK(exec.started == whole.execs().at(id).started);
  }
  CHECK(first.alerts().size() == whole.alerts().size());
  CHECK(first.ended_jobs() == whole.ended_jobs());
  REQUIRE(first.moved_jobs().size() == whole.moved_jobs().size());
  for (const auto& [id, moved] : first.moved_jobs()) {
    CHECK(moved.position == whole.moved_jobs().at(id).position);
    CHECK(moved.action == whole.moved_jobs().at(id).action);
  }
  REQUIRE(first.jobs().size() == whole.jobs().size());
  for (const auto& [id, job] : first.jobs()) CHECK(describe(job) == describe(whole.jobs().at(id)));
  CHECK(first.durability() == whole.durability());
  CHECK(first.ended_healings() == whole.ended_healings());
  CHECK(first.forgotten_targets() == whole.forgotten_targets());
  CHECK(first.targets() == whole.targets());
  CHECK(first.workflows() == whole.workflows());
  CHECK(first.closed_brakes() == whole.closed_brakes());
  REQUIRE(first.healings().size() == whole.healings().size());
  for (const auto& [id, healing] : first.healings()) CHECK(same(healing, whole.healings().at(id)));
}

TEST_CASE("merging a batch that lost records loses the older ones too", "[store]") {
  Batch first, second;
  first.add(commit(1));
  second.add(commit(2));
  second.add(commit(3));
  second.trim(second.bytes() - 1);
  first.merge(second);
  REQUIRE(first.records().size() == 1);
  CHECK(first.records().front().sequence == 3);
  CHECK(first.lost().count == 2);
  CHECK(first.lost().last_sequence == 2);
}

}  // namespace batch_test
