// SPDX-License-Identifier: MIT
// A recorded day of 1,000 services, each run every 30 s: 600 programs, whose status seldom changes, 300 processes,
// whose figures change at each run, and 100 hosts, whose answers take another time each. How long its replay takes,
// with the rules of that day and with others; `ratio` is against a plain loop that reads the same rows from SQLite, in
// the same run. Also: bytes a day, and of a day on which only programs run that see nothing new.
#include <benchmark/benchmark.h>
#include <sqlite3.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>

#include "engine/rules/rule_set.hpp"
#include "readings/item_code.hpp"
#include "readings/recording.hpp"
#include "replay/replay.hpp"
#include "store/state_image.hpp"
#include "support/recorded_shell.hpp"

namespace {

using namespace healer;
using namespace healer::engine;

constexpr std::uint32_t kServices = 1000;
constexpr std::uint32_t kPrograms = 600;
constexpr std::uint32_t kProcesses = 300;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void require(bool good, const char* why) {
  if (good) return;
  std::fprintf(stderr, "%s\n", why);
  std::exit(EXIT_FAILURE);
}

RuleSet rules(std::uint8_t failures) {
  std::vector<std::shared_ptr<ServiceBlock>> blocks;
  for (std::uint32_t i = 0; i < kServices; ++i) {
    Rule rule = test::status_rule(Comparison::NotEqual, 0, {failures, failures, Duration{0}});
    rule->action.kind = ActionKind::Exec;
    rule->action.command->arguments = {"/usr/local/bin/act", std::to_string(i)};
    rule->text = "rule";
    rule.key = hash128(rule->text);
    blocks.push_back(test::service("service_" + std::to_string(i), {rule}));
  }
  return test::rule_set(std::move(blocks), seconds{30});
}

/// What is seen on such a machine.
class Machine {
 public:
  explicit Machine(bool changes) : changes_(changes) {}

  Evidence operator()(ServiceId id) {
    if (id.number() < kPrograms || !changes_) {
      std::int64_t& status = status_[id];
      if (random_() % (status == 0 ? 3000 : 5) == 0) status = status == 0 ? 1 : 0;
      return test::program_status(status);
    }
    Evidence seen = test::program_status(0);
    auto facts = std::make_shared<Facts>();
    if (id.number() < kPrograms + kProcesses) {
      double& up = up_[id];
      facts->process = ProcessFacts{.pid = 1000 + id.number(), .parent = 1, .start_ticks = id.number()};
      facts->metrics.set(Metric::Uptime, up += 30);
      facts->metrics.set(Metric::Cpu, random_() % 4 == 0 ? static_cast<double>(random_() % 1000) / 30 : 0);
      facts->metrics.set(Metric::MemoryBytes, 4096.0 * static_cast<double>(50'000 + random_() % 20));
      facts->metrics.set(Metric::MemoryPercent, static_cast<double>(50'000 + random_() % 20) / 16e4);
      facts->metrics.set(Metric::Threads, 4);
      facts->metrics.set(Metric::Children, 0);
      facts->metrics.set(Metric::ReadRate, random_() % 2 == 0 ? static_cast<double>(random_() % 100'000) / 30 : 0);
    } else {
      facts->further.edit().connections.push_back({.reach = Reach::Passed,
                                                   .name = "http localhost:80",
                                                   .response = std::chrono::microseconds{900 + random_() % 400}});
    }
    seen.facts = std::move(facts);
    return seen;
  }

 private:
  bool changes_;
  std::mt19937 random_{1};
  std::map<ServiceId, std::int64_t> status_;
  std::map<ServiceId, double> up_;
};

/// A day in a file of its own, as the recorder writes it.
struct RecordedFile {
  explicit RecordedFile(bool changes) {
    std::string name = (std::filesystem::temp_directory_path() / "healer-bench-XXXXXX").string();
    require(mkdtemp(name.data()) != nullptr, "there is no folder");
    folder = name;
    auto opened = readings::ReadingsFile::open(file());
    require(static_cast<bool>(opened), "the readings cannot be opened");
    readings::ReadingsFile& out = *opened->file;
    std::optional<readings::ChunkWriter> writer;
    std::string part;
    WallTime last{};
    const auto flush = [&] {
      if (part.empty()) return;
      bytes += part.size();
      require(static_cast<bool>(out.add_part(last, std::move(part))), "a part cannot be written");
      part.clear();
    };
    const auto take = [&](recorded::Item item) {
      if (const auto* begun = std::get_if<recorded::Begun>(&item.what)) {
        writer.emplace(begun->rules);
        require(static_cast<bool>(out.begin_chunk(item.wall, true, *store::image_of(*begun->state))), "no chunk");
      }
      if (item.wall - last >= seconds{1}) flush();
      last = item.wall;
      writer->write(item, part);
    };
    test::RecordedShell shell(rules(2), 1, take, Machine(changes));
    shell.latest = Duration{2};
    shell.longest_run = Duration{200};
    shell.advance(days{1});
    flush();
    runs = shell.runs;
    action_records = shell.action_records.size();
  }
  ~RecordedFile() { std::filesystem::remove_all(folder); }
  RecordedFile(const RecordedFile&) = delete;
  RecordedFile& operator=(const RecordedFile&) = delete;

  [[nodiscard]] std::string file() const { return (folder / "state.readings").string(); }

  std::filesystem::path folder;
  std::uint64_t bytes = 0;
  std::uint64_t runs = 0;
  std::size_t action_records = 0;
};

const RecordedFile& day() {
  static const RecordedFile file(true);
  return file;
}

double plain_loop() {
  const auto begin = std::chrono::steady_clock::now();
  sqlite3* database = nullptr;
  sqlite3_stmt* rows = nullptr;
  require(sqlite3_open_v2(day().file().c_str(), &database, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK, "no database");
  require(sqlite3_prepare_v2(database, "SELECT items FROM parts ORDER BY id", -1, &rows, nullptr) == SQLITE_OK,
          "no rows");
  std::uint64_t sum = 0;
  while (sqlite3_step(rows) == SQLITE_ROW) {
    const auto* const bytes = static_cast<const unsigned char*>(sqlite3_column_blob(rows, 0));
    for (int i = 0; i < sqlite3_column_bytes(rows, 0); ++i) sum += bytes[i];
  }
  benchmark::DoNotOptimize(sum);
  sqlite3_finalize(rows);
  sqlite3_close(database);
  return seconds_since(begin);
}

/// The argument: how often a run must fail; 2 are the rules of that day.
void replay_of_a_day(benchmark::State& state) {
  const WallTime begin = test::World::kStart.wall;
  double took = 0;
  double plain = 0;
  for (auto _ : state) {
    plain += plain_loop();
    const auto start = std::chrono::steady_clock::now();
    auto recording = readings::Recording::open(day().file(), begin, begin + days{2});
    require(static_cast<bool>(recording), "the recording cannot be opened");
    const Replay done = replay(rules(static_cast<std::uint8_t>(state.range(0))), **recording, {begin, begin + days{2}});
    took += seconds_since(start);
    const bool same = done.count(ReplayLine::Who::Both) == done.lines.size();
    require(same == (state.range(0) == 2), "the replay tells something else");
    require(state.range(0) != 2 || done.lines.size() == day().action_records, "the replay does not do what was done");
  }
  const auto times = static_cast<double>(state.iterations());
  state.counters["seconds"] = took / times;
  state.counters["runs"] = static_cast<double>(day().runs);
  state.counters["ratio"] = took / plain;
  state.counters["megabytes_a_day"] = static_cast<double>(day().bytes) / 1e6;
}
BENCHMARK(replay_of_a_day)->Arg(2)->Arg(3)->Unit(benchmark::kSecond)->Iterations(1);

void a_quiet_day(benchmark::State& state) {
  for (auto _ : state) {
    const RecordedFile quiet(false);
    state.counters["megabytes_a_day"] = static_cast<double>(quiet.bytes) / 1e6;
    state.counters["bytes_a_run"] = static_cast<double>(quiet.bytes) / static_cast<double>(quiet.runs);
  }
}
BENCHMARK(a_quiet_day)->Unit(benchmark::kSecond)->Iterations(1);

}  // namespace
