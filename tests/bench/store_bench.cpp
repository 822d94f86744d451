// SPDX-License-Identifier: MIT
// Transitions per second through SqliteStore, from submit() to committed(), with so many of them under way at once,
// against a bare loop that writes the same rows with SQLite, as many in a transaction, taken in turns. A transition is
// one record and its service with two rules. `ratio` is the former by the latter.
//
// The same of steps of healings, which are on the disk itself when they are told committed: one record and the healing
// with its plan. The bare loop writes a row of that length in synchronous=FULL.
#include <benchmark/benchmark.h>
#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>

#include "store/healing_json.hpp"
#include "store/sqlite_store.hpp"
#include "support/child.hpp"

namespace {

using namespace healer;
using namespace healer::store;

constexpr engine::Sequence kCommits = 4000;
constexpr engine::Sequence kSyncedCommits = 400;
constexpr engine::Sequence kServices = 50;

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Ends the program where a thing that must work does not: the figures would be those of something else.
void require(bool good, const char* why = "the store cannot be opened") {
  if (good) return;
  std::fprintf(stderr, "%s\n", why);
  std::exit(EXIT_FAILURE);
}

/// What is measured: transitions, or steps of healings.
enum class What { Transitions, Steps };

/// A healing of four steps, the third of which is under way.
engine::Healing healing(engine::Sequence sequence) {
  engine::Workflow plan;
  plan.name = "rebuild";
  for (const char* const name : {"drain", "power-cycle", "rebuild", "rejoin"}) {
    engine::step::Program program;
    program.command.arguments = {"/usr/local/lib/healer/steps", name, "${TARGET}"};
    plan.steps.push_back({.name = name, .what = std::move(program), .timeout = minutes{10}});
  }
  plan.steps.push_back({.name = "recovered", .what = engine::step::Recovered{}});
  engine::Healing healing;
  healing.id = engine::HealingId(1 + sequence % kServices);
  healing.target = healing.service = "service" + std::to_string(sequence % kServices);
  healing.by = engine::ByRule{};
  healing.cause = std::make_shared<const engine::effect::Cause>();
  healing.plan = std::make_shared<const engine::Workflow>(std::move(plan));
  healing.at = engine::stage::Stepping{
      {.position = 2, .under_way = {{.state = engine::StepRun::State::Running, .action = engine::ActionId(sequence)}}}};
  healing.round = 1;
  healing.outcomes = {{.name = "drain", .good = true, .text = "exited with status 0 after 2 s"},
                      {.name = "power-cycle", .good = true, .text = "exited with status 0 after 41 s"}};
  return healing;
}

class Through {
 public:
  explicit Through(What what) : what_(what) {
    Callbacks callbacks;
    callbacks.committed = [this](engine::Sequence up_to) {
      const std::scoped_lock lock(mutex_);
      acknowledged_ = up_to;
      changed_.notify_one();
    };
    auto opened = SqliteStore::open((directory_.path() / "state").string(), callbacks);
    require(static_cast<bool>(opened));
    store_ = std::move(*opened);
  }

  void run(engine::Sequence in_flight) {
    const auto end = sequence_ + (what_ == What::Steps ? kSyncedCommits : kCommits);
    while (sequence_ < end) {
      store_->submit(what_ == What::Steps ? step(sequence_ + 1) : transition(sequence_ + 1));
      ++sequence_;
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return sequence_ - acknowledged_ < in_flight; });
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return acknowledged_ == end; });
  }

 private:
  static engine::effect::Commit transition(engine::Sequence sequence) {
    engine::effect::Commit commit;
    commit.sequence = sequence;
    engine::Record& record = commit.records.emplace_back();
    record.sequence = sequence;
    record.kind = engine::RecordKind::RuleFailed;
    record.service = "service" + std::to_string(sequence % kServices);
    record.text = "status failed (1) -- no output";
    engine::SavedService service;
    service.rules.resize(2);
    commit.services.emplace_back(record.service, std::move(service));
    return commit;
  }
  static engine::effect::Commit step(engine::Sequence sequence) {
    engine::effect::Commit commit;
    commit.sequence = sequence;
    engine::Record& record = commit.records.emplace_back();
    record.sequence = sequence;
    record.kind = engine::RecordKind::ActionEnded;
    record.service = "service" + std::to_string(sequence % kServices);
    record.text = "step power-cycle is done";
    commit.healings.push_back(healing(sequence));
    return commit;
  }

  What what_;
  healer::test::TemporaryDirectory directory_;
  std::mutex mutex_;
  std::condition_variable changed_;
  engine::Sequence sequence_ = 0;
  engine::Sequence acknowledged_ = 0;
  std::unique_ptr<SqliteStore> store_;
};

class Bare {
 public:
  explicit Bare(What what) : what_(what) {
    const std::string path = (directory_.path() / "state").string();
    SqliteStore::open(path, {}).value().reset();  // the same tables
    require(sqlite3_open(path.c_str(), &handle_) == SQLITE_OK);
    execute(what == What::Steps ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
    record_ = prepare(
        "INSERT INTO records(sequence, when_ms, kind, severity, service, rule, subject, text, output) "
        "VALUES(?, 0, 'rule-failed', 'info', ?, '00000000000000000000000000000000', 0, "
        "'status failed (1) -- no output', '')");
    service_ = prepare(
        "INSERT OR REPLACE INTO services(name, monitored, boot, saved_ms, quick_starts, restarted, paused, "
        "pause_reason, paused_by) VALUES(?, 1, 0, 0, 0, 0, 0, '', '')");
    rule_ = prepare(
        "INSERT OR REPLACE INTO rules(service, position, key, window_bits, status, since_fired, again_bits, accepted) "
        "VALUES(?, ?, '00000000000000000000000000000000', 0, 'ok', 0, 0, 0)");
    healing_ = prepare("INSERT OR REPLACE INTO healings(healing, target, state) VALUES(?, ?, ?)");
    meta_ = prepare("INSERT OR REPLACE INTO meta VALUES('last_sequence', ?)");
  }
  ~Bare() {
    for (sqlite3_stmt* statement : {record_, service_, rule_, healing_, meta_}) sqlite3_finalize(statement);
    sqlite3_close(handle_);
  }

  void run(engine::Sequence in_transaction) {
    const auto end = sequence_ + (what_ == What::Steps ? kSyncedCommits : kCommits);
    while (sequence_ < end) {
      execute("BEGIN IMMEDIATE");
      for (engine::Sequence i = 0; i < in_transaction && sequence_ < end; ++i) {
        const std::string name = "service" + std::to_string(++sequence_ % kServices);
        bind(record_, 1, sequence_);
        bind(record_, 2, name);
        step(record_);
        if (what_ == What::Steps) {
          bind(healing_, 1, 1 + sequence_ % kServices);
          bind(healing_, 2, name);
          bind(healing_, 3, state_);
          step(healing_);
          continue;
        }
        bind(service_, 1, name);
        step(service_);
        for (engine::Sequence rule = 0; rule < 2; ++rule) {
          bind(rule_, 1, name);
          bind(rule_, 2, rule);
          step(rule_);
        }
      }
      bind(meta_, 1, sequence_);
      step(meta_);
      execute("COMMIT");
    }
  }

 private:
  sqlite3_stmt* prepare(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    require(sqlite3_prepare_v2(handle_, sql, -1, &statement, nullptr) == SQLITE_OK, sqlite3_errmsg(handle_));
    return statement;
  }
  void execute(const char* sql) {
    require(sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) == SQLITE_OK, sqlite3_errmsg(handle_));
  }
  static void bind(sqlite3_stmt* statement, int place, engine::Sequence value) {
    sqlite3_bind_int64(statement, place, static_cast<sqlite3_int64>(value));
  }
  static void bind(sqlite3_stmt* statement, int place, const std::string& value) {
    sqlite3_bind_text(statement, place, value.data(), static_cast<int>(value.size()), SQLITE_TRANSIENT);
  }
  void step(sqlite3_stmt* statement) {
    require(sqlite3_step(statement) == SQLITE_DONE, sqlite3_errmsg(handle_));
    sqlite3_reset(statement);
  }

  What what_;
  std::string state_ = to_json(healing(0));
  healer::test::TemporaryDirectory directory_;
  sqlite3* handle_ = nullptr;
  sqlite3_stmt *record_ = nullptr, *service_ = nullptr, *rule_ = nullptr, *healing_ = nullptr, *meta_ = nullptr;
  engine::Sequence sequence_ = 0;
};

void against_bare(benchmark::State& state, What what) {
  const auto in_flight = static_cast<engine::Sequence>(state.range(0));
  Through store(what);
  Bare bare(what);
  store.run(in_flight);
  bare.run(in_flight);
  double through = 0;
  double alone = 0;
  for (auto _ : state) {
    alone += seconds_of([&] { bare.run(in_flight); });
    const double time = seconds_of([&] { store.run(in_flight); });
    through += time;
    state.SetIterationTime(time);
  }
  const double all =
      static_cast<double>(what == What::Steps ? kSyncedCommits : kCommits) * static_cast<double>(state.iterations());
  state.counters["commits_per_s"] = all / through;
  state.counters["bare_per_s"] = all / alone;
  state.counters["ratio"] = alone / through;
}

void commits_against_bare(benchmark::State& state) { against_bare(state, What::Transitions); }
void healing_steps_against_bare(benchmark::State& state) { against_bare(state, What::Steps); }

BENCHMARK(commits_against_bare)
    ->ArgName("in_flight")
    ->Arg(1)
    ->Arg(10)
    ->Arg(100)
    ->Arg(1000)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(healing_steps_against_bare)
    ->ArgName("in_flight")
    ->Arg(1)
    ->Arg(10)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
