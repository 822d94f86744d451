// SPDX-License-Identifier: MIT
// What every store does, whichever it is.
#include <catch2/catch.hpp>

#include "support/rounds.hpp"
#include "tests/store/any_store.hpp"
#include "tests/store/samples.hpp"

namespace contract_test {

using namespace healer;
using namespace healer::store;
using namespace healer::store::test;

namespace {

using Sequences = std::vector<engine::Sequence>;

}  // namespace

TEST_CASE("a store that nobody wrote to gives nothing", "[store]") {
  Bench bench(GENERATE(false, true));
  const auto state = bench.loaded();
  CHECK(state.last_sequence == 0);
  CHECK(state.services.empty());
  CHECK(state.execs.empty());
  CHECK(state.alerts.empty());
  CHECK(state.jobs.empty());
  CHECK(bench.sequences({}).empty());
  CHECK(bench.store().load_sources().value().empty());
  bench.store().flush();
}

TEST_CASE("every field of a service survives", "[store]") {
  Bench bench(GENERATE(false, true));
  auto first = commit(1);
  first.services.emplace_back("Web \xc3\xbc 'quoted'", full_service());
  first.services.emplace_back("plain", SavedService{});
  SavedService remembers;
  remembers.memory = {{{Attribute::Status, std::nullopt}}};
  first.services.emplace_back("remembers", remembers);
  SavedService process;
  process.memory = {{{Attribute::Pid, 4'194'304}, {Attribute::Parent, 1}}};
  process.pause = Pause{};
  first.services.emplace_back("process", process);
  process.memory = {{{Attribute::Pid, std::nullopt}, {Attribute::Parent, std::nullopt}}};
  process.pause.reset();
  process.starts.edit().last = wall(0);
  first.services.emplace_back("unseen process", process);
  bench.submit(first);
  const auto state = bench.loaded();
  REQUIRE(state.services.size() == 5);
  for (const auto& [name, service] : first.services) {
    INFO(name);
    CHECK(describe(state.services.at(name)) == describe(service));
    CHECK(state.services.at(name) == service);
  }
}

TEST_CASE("a service that is saved again is the newer one, with all its rules", "[store]") {
  Bench bench(GENERATE(false, true));
  auto first = commit(1);
  first.services.emplace_back("web", full_service());
  bench.submit(first);
  bench.store().flush();
  auto second = commit(2);
  SavedService fewer = full_service();
  fewer.rules.erase(fewer.rules.begin());
  fewer.memory = {};
  second.services.emplace_back("web", fewer);
  bench.submit(second);
  CHECK(bench.loaded().services.at("web") == fewer);
}

TEST_CASE("what a service remembers since it was saved is written alone", "[store]") {
  Bench bench(GENERATE(false, true));
  auto first = commit(1);
  first.services.emplace_back("web", full_service());
  first.services.emplace_back("other", full_service());
  bench.submit(first);
  bench.store().flush();
  auto second = commit(2);
  second.remembered = {{"web", {{Attribute::Security, std::string("web_t:s1")}, {Attribute::ReadOffset, 1'000}}},
                       {"never saved", {{Attribute::ReadOffset, 1'000}}}};
  bench.submit(second);
  SavedService expected = full_service();
  expected.memory = {
      {{Attribute::Status, -3}, {Attribute::Security, std::string("web_t:s1")}, {Attribute::ReadOffset, 1'000}}};
  std::ranges::sort(expected.memory.baselines.edit(), {}, &Baseline::what);
  const SavedState state = bench.loaded();
  CHECK(state.services.at("web") == expected);
  CHECK(state.services.at("other") == full_service());
  CHECK_FALSE(state.services.contains("never saved"));
}

TEST_CASE("a beat is written alone, and goes with its service", "[store]") {
  Bench bench(GENERATE(false, true));
  auto first = commit(1);
  first.services.emplace_back("web", full_service());
  first.services.emplace_back("other", full_service());
  bench.submit(first);
  bench.store().flush();
  auto second = commit(2);
  Heartbeat beat = full_heartbeat();
  beat.word = BeatWord::Good;
  beat.started.reset();
  beat.ran.reset();
  beat.missed.reset();
  second.heartbeats = {{"web", beat}, {"never saved", beat}};
  bench.submit(second);
  CHECK(bench.loaded().services.at("web").heartbeat == beat);
  CHECK(bench.loaded().services.at("other").heartbeat == full_heartbeat());
  CHECK_FALSE(bench.loaded().services.contains("never saved"));
  auto third = commit(3);
  third.services.emplace_back("web", full_service());
  third.services.back().second.heartbeat = {};
  third.forgotten = {"other"};
  bench.submit(third);
  CHECK_FALSE(bench.loaded().services.at("web").heartbeat);
  auto fourth = commit(4);
  fourth.services.emplace_back("other", SavedService{});
  bench.submit(fourth);
  CHECK_FALSE(bench.loaded().services.at("other").heartbeat);
}

TEST_CASE("every field of an event survives, and its document until it is dropped", "[store]") {
  Bench bench(GENERATE(false, true));
  auto first = commit(1);
  first.occurrences = {full_occurrence(7), full_occurrence(8), full_occurrence(9)};
  first.occurrences[1].document = nullptr;
  bench.submit(first);
  REQUIRE(bench.loaded().occurrences.size() == 3);
  CHECK(bench.loaded().occurrences[0] == full_occurrence(7));
  CHECK(bench.loaded().occurrences[1].document == nullptr);
  CHECK(bench.loaded().last_id >= 9);
  bench.store().flush();
  auto second = commit(2);
  Occurrence judged = full_occurrence(7);
  judged.stage = OccurrenceStage::Judged;
  judged.standing.clear();
  judged.document = nullptr;  // as it was
  Occurrence dropped = full_occurrence(9);
  dropped.document = std::make_shared<const std::string>();
  second.occurrences = {judged, dropped};
  second.forgotten_occurrences = {8};
  bench.submit(second);
  const auto state = bench.loaded();
  REQUIRE(state.occurrences.size() == 2);
  judged.document = full_occurrence(7).document;
  CHECK(state.occurrences[0] == judged);
  CHECK(state.occurrences[1].document == nullptr);
}

TEST_CASE("every field of a pending exec and alert survives", "[store]") {
  Bench bench(GENERATE(false, true));
  auto first = commit(1);
  auto bare = full_exec(12);
  bare.cause = nullptr;
  bare.command = {};
  bare.recovery = false;
  bare.job = {};
  bare.healing = {};
  auto lonely = full_alert(13);
  lonely.recipients.clear();
  lonely.cause = nullptr;
  auto of_program = full_exec(14);
  engine::effect::Cause cause = *full_cause();
  cause.process.reset();
  of_program.cause = std::make_shared<const engine::effect::Cause>(cause);
  first.pending = {full_exec(10), full_alert(11), bare, lonely, of_program};
  bench.submit(first);
  const auto state = bench.loaded();
  REQUIRE(state.execs.size() == 3);
  REQUIRE(state.alerts.size() == 2);
  CHECK(describe(state.execs[0].exec) == describe(full_exec(10)));
  CHECK(describe(state.execs[1].exec) == describe(bare));
  CHECK(describe(state.execs[2].exec) == describe(of_program));
  CHECK_FALSE(state.execs[0].started);
  CHECK(describe(state.alerts[0]) == describe(full_alert(11)));
  CHECK(describe(state.alerts[1]) == describe(lonely));
  CHECK(state.last_id >= 14);
}

TEST_CASE("every field of a job survives, of every kind", "[store]") {
  Bench bench(GENERATE(false, true));
  auto first = commit(1);
  auto bare = full_job(2);
  bare.steps.clear();
  bare.cause = nullptr;
  bare.action = {};
  bare.unmonitor = false;
  first.jobs = {full_job(1), bare};
  for (const auto kind : {ActionKind::Alert, ActionKind::Exec, ActionKind::Unmonitor, ActionKind::Start,
                          ActionKind::Stop, ActionKind::Restart}) {
    first.jobs.push_back(full_job(3 + static_cast<std::uint64_t>(kind)));
    first.jobs.back().kind = kind;
  }
  bench.submit(first);
  const auto state = bench.loaded();
  REQUIRE(state.jobs.size() == first.jobs.size());
  for (std::size_t i = 0; i < first.jobs.size(); ++i) CHECK(describe(state.jobs[i]) == describe(first.jobs[i]));
  CHECK(state.last_id >= 8);
}

TEST_CASE("a job is the one that was saved last, until it has ended", "[store]") {
  const bool apart = GENERATE(false, true);
  Bench bench(GENERATE(false, true));
  const auto submit = [&](engine::effect::Commit next) {
    bench.submit(std::move(next));
    if (apart) bench.store().flush();
  };
  auto first = commit(1);
  first.jobs = {full_job(1), full_job(2), full_job(3)};
  submit(first);
  auto second = commit(2);
  auto shorter = full_job(1);
  shorter.steps.resize(1);
  shorter.position = 0;
  second.jobs = {shorter, full_job(2)};
  submit(second);
  auto third = commit(3);
  third.ended_jobs = {JobId(2), JobId(77)};
  submit(third);
  auto state = bench.loaded();
  REQUIRE(state.jobs.size() == 2);
  CHECK(describe(state.jobs[0]) == describe(shorter));
  CHECK(describe(state.jobs[1]) == describe(full_job(3)));
  CHECK(state.last_id >= 77);
  // Nothing is left of the steps of one that has ended.
  auto fourth = commit(4);
  fourth.jobs = {full_job(2)};
  fourth.jobs[0].steps.clear();
  submit(fourth);
  state = bench.loaded();
  CHECK(describe(state.jobs[1]) == describe(fourth.jobs[0]));
}

TEST_CASE("a job is where it has come to, with the steps that it was saved with", "[store]") {
  const bool apart = GENERATE(false, true);
  Bench bench(GENERATE(false, true));
  const auto submit = [&](engine::effect::Commit next) {
    bench.submit(std::move(next));
    if (apart) bench.store().flush();
  };
  auto first = commit(1);
  first.jobs = {full_job(1), full_job(2), full_job(3)};
  submit(first);
  auto second = commit(2);
  second.moved_jobs = {{.job = JobId(2), .position = 1, .action = ActionId(8), .begun = wall(1'795'000'888'001)},
                       {.job = JobId(3), .position = 1, .action = {}, .begun = wall(5)},
                       {.job = JobId(78), .position = 1, .action = {}, .begun = wall(5)}};  // of which nothing is known
  submit(second);
  // Whole again, and on from there; and one that has ended.
  auto third = commit(3);
  auto shorter = full_job(3);
  shorter.steps.resize(2);
  third.jobs = {shorter};
  submit(third);
  auto fourth = commit(4);
  fourth.moved_jobs = {{.job = JobId(3), .position = 0, .action = ActionId(9), .begun = wall(6)},
                       {.job = JobId(1), .position = 0, .action = {}, .begun = wall(7)}};
  submit(fourth);
  auto fifth = commit(5);
  fifth.ended_jobs = {JobId(1)};
  submit(fifth);

  auto moved = full_job(2);
  moved.position = 1;
  moved.action = ActionId(8);
  moved.begun = wall(1'795'000'888'001);
  shorter.position = 0;
  shorter.action = ActionId(9);
  shorter.begun = wall(6);
  const auto state = bench.loaded();
  REQUIRE(state.jobs.size() == 2);
  CHECK(describe(state.jobs[0]) == describe(moved));
  CHECK(describe(state.jobs[1]) == describe(shorter));
}

TEST_CASE("every kind of event and state of a cause survives", "[store]") {
  Bench bench(GENERATE(false, true));
  using State = engine::effect::Cause::State;
  auto first = commit(1);
  for (std::uint64_t i = 0; i < kEventKinds; ++i) {
    engine::effect::Cause cause = *full_cause();
    cause.event = static_cast<EventKind>(i);
    cause.state = static_cast<State>(i % 3);
    auto alert = full_alert(i + 1);
    alert.recipients[1].events = EventMask{}.set(i);
    alert.cause = std::make_shared<const engine::effect::Cause>(cause);
    first.pending.emplace_back(alert);
  }
  bench.submit(first);
  const auto state = bench.loaded();
  REQUIRE(state.alerts.size() == kEventKinds);
  for (std::size_t i = 0; i < kEventKinds; ++i)
    CHECK(describe(state.alerts[i]) == describe(std::get<engine::effect::Alert>(first.pending[i])));
}

TEST_CASE("acts are pending until they are started, ended or handed over", "[store]") {
  const bool apart = GENERATE(false, true);  // each in a transaction of its own, or all in one
  Bench bench(GENERATE(false, true));
  const auto submit = [&](engine::effect::Commit next) {
    bench.submit(std::move(next));
    if (apart) bench.store().flush();
  };
  auto first = commit(1);
  for (std::uint64_t id = 1; id <= 4; ++id) first.pending.emplace_back(full_exec(id));
  for (std::uint64_t id = 5; id <= 6; ++id) first.pending.emplace_back(full_alert(id));
  submit(first);
  auto second = commit(2);
  second.started = {ActionId(2), ActionId(3)};
  second.handed_over = {AlertId(5)};
  submit(second);
  auto third = commit(3);
  third.ended = {ActionId(3), ActionId(4)};
  submit(third);
  const auto state = bench.loaded();
  REQUIRE(state.execs.size() == 2);
  CHECK(state.execs[0].exec.action == ActionId(1));
  CHECK_FALSE(state.execs[0].started);
  CHECK(state.execs[1].exec.action == ActionId(2));
  CHECK(state.execs[1].started);
  REQUIRE(state.alerts.size() == 1);
  CHECK(state.alerts[0].alert == AlertId(6));
  CHECK(state.last_id >= 6);
}

TEST_CASE("an act that begins and ends in one commit leaves only its number", "[store]") {
  Bench bench(GENERATE(false, true));
  auto first = commit(1);
  first.pending = {full_exec(21), full_alert(22)};
  first.started = {ActionId(21)};
  first.ended = {ActionId(21)};
  first.handed_over = {AlertId(22)};
  bench.submit(first);
  const auto state = bench.loaded();
  CHECK(state.execs.empty());
  CHECK(state.alerts.empty());
  CHECK(state.last_id >= 22);
}

TEST_CASE("services that are forgotten leave nothing, and may come back", "[store]") {
  const bool apart = GENERATE(false, true);
  Bench bench(GENERATE(false, true));
  auto first = commit(1);
  first.services = {{"goes", full_service()}, {"returns", full_service()}, {"stays", full_service()}};
  bench.submit(first);
  if (apart) bench.store().flush();
  auto second = commit(2);
  second.forgotten = {"goes", "returns", "never was"};
  bench.submit(second);
  if (apart) bench.store().flush();
  auto third = commit(3);
  third.services.emplace_back("returns", SavedService{});
  bench.submit(third);
  const auto state = bench.loaded();
  CHECK(state.services.size() == 2);
  CHECK(state.services.at("returns") == SavedService{});
  CHECK(state.services.at("stays") == full_service());
}

TEST_CASE("forgetting and saving in one commit saves", "[store]") {
  Bench bench(GENERATE(false, true));
  auto first = commit(1);
  first.services.emplace_back("web", full_service());
  bench.submit(first);
  auto second = commit(2);
  second.forgotten = {"web"};
  second.services.emplace_back("web", SavedService{});
  bench.submit(second);
  CHECK(bench.loaded().services.at("web") == SavedService{});
}

TEST_CASE("commits are acknowledged in order, up to the last", "[store]") {
  Bench bench(GENERATE(false, true));
  for (engine::Sequence sequence = 1; sequence <= 500; ++sequence) bench.submit(commit(sequence));
  bench.store().flush();
  const auto acknowledged = bench.acknowledged();
  REQUIRE_FALSE(acknowledged.empty());
  CHECK(std::ranges::is_sorted(acknowledged));
  CHECK(acknowledged.back() == 500);
  CHECK(bench.loaded().last_sequence == 500);
  HistoryQuery all;
  all.limit = 1000;
  const auto sequences = bench.sequences(all);
  REQUIRE(sequences.size() == 500);
  CHECK(std::ranges::is_sorted(sequences));
}

TEST_CASE("a commit without anything in it is acknowledged, and its number kept", "[store]") {
  Bench bench(GENERATE(false, true));
  engine::effect::Commit empty;
  empty.sequence = 77;
  bench.submit(empty);
  bench.store().flush();
  CHECK(bench.acknowledged() == Sequences{77});
  CHECK(bench.loaded().last_sequence == 77);
}

TEST_CASE("every field of a record survives, of every kind", "[store]") {
  Bench bench(GENERATE(false, true));
  engine::effect::Commit first;
  first.sequence = 1;
  for (std::uint8_t kind = 0; kind < static_cast<std::uint8_t>(RecordKind::Count_); ++kind) {
    auto entry = record(1, "Web", static_cast<RecordKind>(kind));
    entry.id = 70U + kind;
    entry.severity = static_cast<Severity>(kind % 4);
    entry.rule = {kind, std::numeric_limits<std::uint64_t>::max()};
    entry.subject = std::numeric_limits<std::uint64_t>::max() - kind;
    entry.when = wall(-1 - kind);
    entry.output = std::string("nul \0 and \xff", 11);
    first.records.push_back(entry);
  }
  first.records.emplace_back().sequence = 1;
  first.records.back().id = 500;
  bench.submit(first);
  bench.reopen();
  const auto records = bench.store().history({});
  REQUIRE(records);
  CHECK(*records == first.records);
}

TEST_CASE("history is asked by service, time, kind, place and number", "[store]") {
  Bench bench(GENERATE(false, true));
  for (engine::Sequence sequence = 1; sequence <= 20; ++sequence)
    bench.submit(commit(sequence, sequence % 2 == 0 ? "even" : "odd",
                        sequence % 5 == 0 ? RecordKind::MailSent : RecordKind::RuleFailed));
  bench.store().flush();
  HistoryQuery query;

  SECTION("by service, in any case") {
    query.service = "EVEN";
    CHECK(bench.sequences(query) == Sequences{2, 4, 6, 8, 10, 12, 14, 16, 18, 20});
  }
  SECTION("by several services, few or many") {
    query.service = "nobody";
    query.others = {"Odd", "even"};
    query.limit = 3;
    CHECK(bench.sequences(query) == Sequences{18, 19, 20});
    query.others = {"ODD"};
    for (int i = 0; i < 500; ++i) query.others.push_back("a \"group\" of " + std::to_string(i));
    CHECK(bench.sequences(query) == Sequences{15, 17, 19});
    query.oldest = true;
    query.after = 4;
    CHECK(bench.sequences(query) == Sequences{5, 7, 9});
    query.others.emplace_back("even");
    CHECK(bench.sequences(query) == Sequences{5, 6, 7});
  }
  SECTION("of the daemon itself") {
    bench.submit(commit(21, "", RecordKind::DaemonStarted));
    bench.store().flush();
    query.own = true;
    CHECK(bench.sequences(query) == Sequences{21});
  }
  SECTION("a name is not a pattern") {
    query.service = "eve%";
    CHECK(bench.sequences(query).empty());
  }
  SECTION("since a moment, that moment included") {
    query.since = record(18).when;
    CHECK(bench.sequences(query) == Sequences{18, 19, 20});
  }
  SECTION("after a record") {
    query.after = 18;
    CHECK(bench.sequences(query) == Sequences{19, 20});
    query.after = 20;
    CHECK(bench.sequences(query).empty());
  }
  SECTION("of some kinds") {
    query.kinds = {RecordKind::MailSent};
    CHECK(bench.sequences(query) == Sequences{5, 10, 15, 20});
    query.kinds = {RecordKind::MailSent, RecordKind::RuleFailed};
    CHECK(bench.sequences(query).size() == 20);
    query.kinds = {RecordKind::Accepted};
    CHECK(bench.sequences(query).empty());
  }
  SECTION("the newest of them") {
    query.limit = 3;
    CHECK(bench.sequences(query) == Sequences{18, 19, 20});
    query.limit = 0;
    CHECK(bench.sequences(query).empty());
  }
  SECTION("all at once") {
    query.service = "even";
    query.since = record(5).when;
    query.after = 7;
    query.kinds = {RecordKind::RuleFailed};
    query.limit = 2;
    CHECK(bench.sequences(query) == Sequences{16, 18});
  }
}

/// The numbers that a commit of one record each gets.
engine::effect::Commit numbered(Sequence sequence, engine::RecordNumber id, std::string service = "web") {
  auto next = commit(sequence, std::move(service));
  next.records.front().id = id;
  return next;
}

TEST_CASE("the history goes on after a number, a page at a time", "[store]") {
  Bench bench(GENERATE(false, true));
  for (Sequence sequence = 1; sequence <= 20; ++sequence)
    bench.submit(numbered(sequence, 100 + sequence, sequence % 2 == 0 ? "even" : "odd"));
  if (GENERATE(false, true)) bench.store().flush();
  HistoryQuery query{.service = {}, .since = {}, .after = 110, .kinds = {}, .limit = 4, .oldest = true};
  const auto page = [&] {
    const auto found = bench.store().page(query);
    REQUIRE(found);
    return *found;
  };
  const auto numbers = [](const HistoryPage& found) {
    std::vector<engine::RecordNumber> ids;
    for (const auto& record : found.records) ids.push_back(record.id);
    return ids;
  };
  using Numbers = std::vector<engine::RecordNumber>;
  SECTION("until there is no more") {
    CHECK(numbers(page()) == Numbers{111, 112, 113, 114});
    CHECK(page().up_to == 114);
    query.after = 118;
    CHECK(numbers(page()) == Numbers{119, 120});
    CHECK(page().up_to == 120);
    query.after = 120;
    CHECK(numbers(page()).empty());
    CHECK(page().up_to == 120);
    CHECK_FALSE(page().anew);
  }
  SECTION("of one service, and it says how far it has looked") {
    query.service = "odd";
    query.limit = 10;
    CHECK(numbers(page()) == Numbers{111, 113, 115, 117, 119});
    CHECK(page().up_to == 120);
    CHECK(page().missing == 0);
  }
  SECTION("back from a number") {
    query = {.service = {}, .since = {}, .kinds = {}, .limit = 3, .before = 110};
    CHECK(numbers(page()) == Numbers{107, 108, 109});
  }
  SECTION("where records are missing it says how many") {
    query.after = 90;
    query.limit = 2;
    CHECK(numbers(page()) == Numbers{101, 102});
    CHECK(page().missing == 10);
    bench.submit(numbered(21, 130));
    query.after = 119;
    CHECK(numbers(page()) == Numbers{120, 130});
    CHECK(page().missing == 9);
  }
  SECTION("a number that none has had") {
    query.after = 1'000;
    CHECK(page().anew);
    CHECK(numbers(page()) == Numbers{101, 102, 103, 104});
    query.after = page().up_to;
    CHECK_FALSE(page().anew);
  }
}

TEST_CASE("a state gives the number of the newest record back, and of an older healer's", "[store]") {
  Bench bench(GENERATE(false, true));
  CHECK(bench.loaded().last_record == 0);
  bench.submit(commit(1));  // without a number, as they were written before
  bench.submit(commit(2));
  CHECK(bench.loaded().last_record == 2);
  bench.submit(numbered(3, 3));
  bench.submit(numbered(4, 9));
  CHECK(bench.loaded().last_record == 9);
}

TEST_CASE("records of one commit keep their order", "[store]") {
  Bench bench(GENERATE(false, true));
  for (engine::Sequence sequence = 1; sequence <= 3; ++sequence) {
    auto next = commit(sequence);
    next.records.push_back(record(sequence));
    next.records[0].text = "first";
    next.records[1].text = "second";
    bench.submit(next);
  }
  HistoryQuery query;
  query.limit = 3;
  bench.store().flush();
  const auto records = bench.store().history(query);
  REQUIRE(records);
  REQUIRE(records->size() == 3);
  CHECK((*records)[0].text == "second");
  CHECK((*records)[1].text == "first");
  CHECK((*records)[2].text == "second");
}

TEST_CASE("the rules files are those that were saved last, in their order", "[store]") {
  Bench bench(GENERATE(false, true));
  bench.store().save_sources(
      {{"/etc/healerrc", "set daemon 5"}, {"/etc/a", "x"}, {"/etc/b", std::string(100'000, 'b')}});
  const std::vector<SavedSource> newer{{"/z", "check \xff"}, {"/a", ""}, {"/z", "again"}};
  bench.store().save_sources(newer);
  CHECK(bench.store().load_sources().value() == newer);
  bench.store().flush();
  CHECK(bench.store().load_sources().value() == newer);
  bench.reopen();
  CHECK(bench.store().load_sources().value() == newer);
  bench.store().save_sources({});
  bench.reopen();
  CHECK(bench.store().load_sources().value().empty());
}

TEST_CASE("a life that did not record its end has died at its last record", "[store]") {
  Bench bench(GENERATE(false, true));
  bench.submit(commit(1, "", RecordKind::RuleFailed));
  CHECK_FALSE(bench.loaded().died);  // nothing says that a daemon was started
  CHECK(bench.loaded().seen == record(1).when);
  auto started = commit(2, "", RecordKind::DaemonStarted);
  started.records.front().subject = std::numeric_limits<std::uint64_t>::max() - 4;
  bench.submit(started);
  CHECK(bench.loaded().died == record(2).when);
  CHECK(bench.loaded().boot == std::numeric_limits<std::uint64_t>::max() - 4);
  bench.submit(commit(3));
  CHECK(bench.loaded().died == record(3).when);
  bench.submit(commit(4, "", RecordKind::DaemonStopped));
  bench.submit(commit(5, "", RecordKind::MailSent));
  CHECK_FALSE(bench.loaded().died);
  CHECK(bench.loaded().seen == record(5).when);
  bench.submit(commit(6, "", RecordKind::DaemonStarted));
  CHECK(bench.loaded().died == record(6).when);
  CHECK(bench.loaded().boot == record(6).subject);
}

TEST_CASE("numbers go on where they were, however often the store is opened", "[store]") {
  Bench bench(GENERATE(false, true));
  auto first = commit(41);
  first.pending.emplace_back(full_exec(900));
  bench.submit(first);
  auto second = commit(42);
  second.ended.emplace_back(900);
  bench.submit(second);
  for (int i = 0; i < 3; ++i) {
    const auto state = bench.loaded();
    CHECK(state.last_sequence == 42);
    CHECK(state.last_id >= 900);
  }
}

TEST_CASE("any run of commits leaves the same state in every store", "[store]") {
  const auto seed = GENERATE(range(1U, healer::test::kSanitized ? 5U : 21U));
  RandomCommits commits(seed);
  MemoryStore reference;
  Bench bench(true);
  std::mt19937 random(seed);
  for (int i = 0; i < 60; ++i) {
    auto next = commits.next();
    reference.submit(next);
    bench.submit(next);
    if (random() % 6 == 0) bench.store().flush();
    if (random() % 30 == 0) bench.reopen();
  }
  const auto expected = reference.load();
  const auto state = bench.loaded();
  CHECK(describe(state) == describe(*expected));
  CHECK(state.last_id >= expected->last_id);
  HistoryQuery query;
  CHECK(bench.store().history(query).value() == reference.history(query).value());
  query.service = "SERVICE3";
  CHECK(bench.store().history(query).value() == reference.history(query).value());
}

}  // namespace contract_test
