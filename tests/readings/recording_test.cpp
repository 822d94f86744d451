// SPDX-License-Identifier: MIT
// The readings in a file: written by the recorder's thread, read beside it, pruned by whole chunks.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include <unistd.h>

#include <catch2/catch.hpp>

#include "engine/reload/diff.hpp"
#include "engine/rules/rule_set.hpp"
#include "readings/recorder.hpp"
#include "readings/recording.hpp"
#include "replay/replay.hpp"
#include "store/sqlite_db.hpp"
#include "support/recorded_shell.hpp"
#include "support/small_disk.hpp"
#include "support/workflow_rules.hpp"

using namespace healer;
using namespace healer::engine;
using namespace healer::readings;
using namespace healer::test;

namespace {

std::filesystem::path new_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "healer-readings-XXXXXX").string();
  REQUIRE(mkdtemp(name.data()) != nullptr);
  return name;
}

struct Folder {
  std::filesystem::path path = new_folder();
  ~Folder() { std::filesystem::remove_all(path); }
  [[nodiscard]] std::string file() const { return (path / "state.readings").string(); }
};

RuleSet one_rule() {
  Rule rule = status_rule(Comparison::NotEqual, 0);
  rule->action.kind = ActionKind::Exec;
  rule->action.command->arguments = {"/bin/act"};
  rule->text = "rule";
  rule.key = hash128(rule->text);
  return rule_set({service("a", {rule}), service("b", {rule})}, seconds{30});
}

Recorder::ReadState state_of_nothing() {
  return [] { return Result<SavedState>(SavedState{}); };
}

const WallTime kBegin = World::kStart.wall;

}  // namespace

TEST_CASE("what was recorded on disk is replayed exactly, from its beginning and from a place in the middle") {
  const Folder folder;
  RecordedShell* running = nullptr;
  {
    std::mutex mutex;
    SavedState saved;
    Recorder recorder(folder.file(),
                      [&] {
                        const std::scoped_lock lock(mutex);
                        return Result<SavedState>(saved);
                      },
                      {}, {.gather = Duration{0}, .chunk = hours{2}});
    int failing = 0;
    RecordedShell shell(
        one_rule(), 5, [&](recorded::Item item) { recorder.take(std::move(item)); },
        [&](ServiceId) { return program_status(++failing % 50 < 3 ? 1 : 0); });
    running = &shell;
    for (int i = 0; i < 9 * 60; ++i) {
      shell.advance(minutes{1});
      const std::scoped_lock lock(mutex);
      saved = shell.saved;
    }
    REQUIRE(running->action_records.size() > 20);
  }
  CHECK((std::filesystem::status(folder.file()).permissions() & std::filesystem::perms::all) ==
        (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
  const auto play = [&](WallTime since) {
    auto recording = Recording::open(folder.file(), since, kBegin + days{1});
    REQUIRE(recording);
    const Replay done = replay(one_rule(), **recording, {since, kBegin + days{1}});
    CHECK((*recording)->trouble().empty());
    CHECK(done.count(ReplayLine::Who::Both) == done.lines.size());
    return done.lines.size();
  };
  const std::size_t all = play(kBegin);
  CHECK(play(kBegin + hours{6}) < all);
  CHECK(play(kBegin + hours{8}) > 0);
}

TEST_CASE("a chunk that begins after a reload, or before one, names its services by the rules of its place") {
  // Slot by slot other services: whoever names one by the wrong rules names another.
  const auto rules = [](std::vector<std::string> names) {
    std::vector<std::shared_ptr<ServiceBlock>> blocks;
    for (std::string& name : names) blocks.push_back(service(std::move(name), {status_rule(Comparison::NotEqual, 0)}));
    return rule_set(std::move(blocks), seconds{30});
  };
  const Folder folder;
  {
    // All of it is one batch for the thread: reloads that come later are known when the first chunk begins.
    Recorder recorder(folder.file(), state_of_nothing(), {}, {.gather = hours{1}, .chunk = hours{1}});
    RecordedShell shell(
        rules({"old"}), 5, [&](recorded::Item item) { recorder.take(std::move(item)); },
        [&](ServiceId) { return program_status(0); });
    shell.advance(minutes{90});
    shell.reload(rules({}));
    shell.reload(rules({"new"}));
    shell.advance(hours{3});
  }
  auto recording = Recording::open(folder.file(), kBegin, kBegin + days{1});
  REQUIRE(recording);
  bool reloaded = false;
  std::set<std::string> before;
  std::set<std::string> after;
  std::vector<std::vector<std::string>> there;
  while (const auto item = (*recording)->next()) {
    if (const auto* begun = std::get_if<recorded::Begun>(&item->what)) {
      REQUIRE(begun->services);
      there.push_back(*begun->services);
    }
    if (const auto* change = std::get_if<recorded::Reloaded>(&item->what)) {
      reloaded = true;
      REQUIRE(change->services);
      there.push_back(change->services->come);
      there.push_back(change->services->gone);
    }
    if (const auto* ran = std::get_if<recorded::Ran>(&item->what))
      (reloaded ? after : before).insert((*recording)->service(ran->service).name);
  }
  CHECK((*recording)->trouble().empty());
  CHECK(before == std::set<std::string>{"old"});
  CHECK(after == std::set<std::string>{"new"});
  const std::vector<std::string> none;
  CHECK(there == std::vector<std::vector<std::string>>{
                     {"old"}, {"old"}, none, {"old"}, {"new"}, none, {"new"}, {"new"}, {"new"}});
}

TEST_CASE("what waits is written at the end for as long as the disk makes progress") {
  const Folder folder;
  constexpr int kItems = 30;
  {
    // Each item begins a chunk, for which the state is read from a disk that takes its time: longer than patience in
    // all.
    Recorder recorder(folder.file(),
                      [] {
                        std::this_thread::sleep_for(std::chrono::milliseconds(100));
                        return Result<SavedState>(SavedState{});
                      },
                      {}, {.gather = hours{1}, .chunk = Duration{0}});
    RecordedShell shell(
        one_rule(), 5, [&](recorded::Item item) { recorder.take(std::move(item)); },
        [&](ServiceId) { return program_status(0); });
    for (int i = 0; i < kItems; ++i) shell.advance(minutes{1});
  }
  auto recording = Recording::open(folder.file(), kBegin, kBegin + days{1});
  REQUIRE(recording);
  WallTime last = kBegin;
  while (const auto item = (*recording)->next()) last = item->wall;
  CHECK(last >= kBegin + minutes{kItems - 1});
}

TEST_CASE("a chunk in the middle of a life begins with what the lists say, and with a state that cannot be written") {
  const auto listed = [] {
    return rules(R"(
workflow rebuild {
  guard program "/bin/may-go" timeout 10 seconds
  step "rebuild" program "/bin/rebuild" timeout 5 minutes
  step "verify" recovered within 5 minutes
  cooldown 2 minutes
}
for each NODE in "n1" .. "n3" {
  check program ping_${NODE} with path "/bin/ping ${NODE}" if status != 0 then heal with rebuild
})");
  };
  const event::ListsDoubted doubted{.names = {"node"}, .missing = {{"node", "n1"}}};
  const Folder folder;
  {
    Recorder recorder(folder.file(), state_of_nothing(), {}, {.gather = Duration{0}, .chunk = hours{1}});
    int checks = 0;
    RecordedShell shell(
        listed(), 5, [&](recorded::Item item) { recorder.take(std::move(item)); },
        [&](ServiceId) { return program_status(++checks % 50 < 3 ? 1 : 0); });
    shell.handle(doubted);
    for (int i = 0; i < 9 * 60; ++i) shell.advance(minutes{1});
    REQUIRE(std::ranges::none_of(shell.action_records, [](const ActionRecord& action_record) {
      return action_record.kind == ActionRecord::Kind::Heal;
    }));
  }
  const WallTime since = kBegin + hours{5};
  auto recording = Recording::open(folder.file(), since, kBegin + days{1});
  REQUIRE(recording);
  const Replay done = replay(listed(), **recording, {since, kBegin + days{1}});
  CHECK(done.count(ReplayLine::Who::Both) == done.lines.size());
  // From a place in the middle, where no start of the daemon is kept.
  {
    auto file = ReadingsFile::open(folder.file());
    REQUIRE(file);
    REQUIRE(file->file->prune(kBegin + hours{3}, std::uint64_t{1} << 40));
  }
  auto middle = Recording::open(folder.file(), since, kBegin + days{1});
  REQUIRE(middle);
  const auto begun = (*middle)->next();
  REQUIRE(begun);
  REQUIRE(std::get<recorded::Begun>(begun->what).goes_on);
  const auto next = (*middle)->next();
  REQUIRE(next);
  const auto* reported_again = std::get_if<event::ListsDoubted>(&next->what);
  REQUIRE(reported_again != nullptr);
  CHECK(reported_again->names == doubted.names);
  CHECK(reported_again->missing == doubted.missing);
  (*middle)->rewind();
  const Replay part = replay(listed(), **middle, {since, kBegin + days{1}});
  CHECK(part.runs > 100);
  CHECK(part.count(ReplayLine::Who::Both) == part.lines.size());
}

TEST_CASE("the texts of rules are kept once in a chunk, are there at each beginning, and go with their chunks") {
  const Folder folder;
  const auto text = [](const std::string& rules, std::vector<recorded::RulesText::Row> rows) {
    return std::make_shared<const recorded::RulesText>(
        recorded::RulesText{"/rules", {{"/rules", rules}}, {{"NODE", {}, "/nodes", std::move(rows)}}});
  };
  const auto first = text("one", {{"n1", {}}});
  const auto second = text("one", {{"n1", {}}, {"n2", {}}});
  const auto graph = make_graph(one_rule());
  {
    Recorder recorder(folder.file(), state_of_nothing(), {}, {.gather = hours{1}, .chunk = hours{1}});
    const auto take = [&](Duration after, recorded::What what) {
      recorder.take({Duration{1000} + after, kBegin + after, std::move(what)});
    };
    recorded::Begun begun;
    begun.state = std::make_shared<const SavedState>();
    begun.rules = graph;
    begun.text = first;
    take(Duration{0}, begun);
    for (const auto& one : {second, second, first}) {
      recorded::Reloaded reloaded;
      reloaded.rules = graph;
      reloaded.text = one;
      take(minutes{1}, reloaded);
    }
    recorded::Reloaded without_text;
    without_text.rules = graph;
    take(minutes{2}, without_text);
    recorded::Reloaded last;
    last.rules = graph;
    last.text = second;
    take(minutes{3}, last);
    take(hours{2}, recorded::Woke{});
  }
  auto recording = Recording::open(folder.file(), kBegin, kBegin + days{1});
  REQUIRE(recording);
  std::vector<std::string> met;
  while (const auto item = (*recording)->next()) {
    std::optional<recorded::TextNumber> number;
    if (const auto* begun = std::get_if<recorded::Begun>(&item->what))
      number = begun->number;
    else if (const auto* reloaded = std::get_if<recorded::Reloaded>(&item->what))
      number = reloaded->number;
    else
      continue;
    const auto& known = (*recording)->texts();
    met.push_back(!number                              ? "none"
                  : *known.at(*number).text == *first  ? "first"
                  : *known.at(*number).text == *second ? "second"
                                                       : "?");
  }
  CHECK((*recording)->trouble().empty());
  CHECK(met == std::vector<std::string>{"first", "second", "second", "first", "none", "second", "second"});
  const auto count = [&](const char* query) {
    auto opened = store::Database::open(folder.file(), store::Database::Mode::Read, Duration{1000}, "file");
    REQUIRE(opened);
    return (*opened)->number(query);
  };
  CHECK(count("SELECT count(*) FROM rules WHERE chunk = 1") == 2);
  CHECK(count("SELECT count(*) FROM texts WHERE chunk = 1") == 3);  // one of rules, two of rows
  CHECK(count("SELECT count(*) FROM rules WHERE chunk = 2") == 1);
  {
    auto file = ReadingsFile::open(folder.file());
    REQUIRE(file);
    REQUIRE(file->file->prune(kBegin + hours{3}, std::uint64_t{1} << 40));
  }
  CHECK(count("SELECT count(*) FROM texts WHERE chunk = 1") == 0);
  CHECK(count("SELECT count(*) FROM rules WHERE chunk = 1") == 0);
}

TEST_CASE("a recording of an earlier version, the eldest without the texts of rules, is read and continued") {
  const Folder folder;
  const int version = GENERATE(2, 3);
  const auto record = [&] {
    Recorder recorder(folder.file(), state_of_nothing(), {}, {.gather = Duration{0}});
    RecordedShell shell(
        one_rule(), 5, [&](recorded::Item item) { recorder.take(std::move(item)); },
        [&](ServiceId) { return program_status(0); });
    shell.advance(minutes{10});
  };
  record();
  {
    auto opened = store::Database::open(folder.file(), store::Database::Mode::Write, Duration{1000}, "file");
    REQUIRE(opened);
    if (version == 2) (*opened)->execute("DROP TABLE rules");
    if (version == 2) (*opened)->execute("DROP TABLE texts");
    (*opened)->execute(("PRAGMA user_version = " + std::to_string(version)).c_str());
    REQUIRE((*opened)->ok());
  }
  const auto runs = [&] {
    auto recording = Recording::open(folder.file(), kBegin, kBegin + days{1});
    REQUIRE(recording);
    if (version == 2) CHECK((*recording)->texts().empty());
    return replay(one_rule(), **recording, {kBegin, kBegin + days{1}}).runs;
  };
  CHECK(runs() > 10);
  record();
  CHECK_FALSE(std::filesystem::exists(folder.file() + ".corrupt"));
  CHECK(runs() > 10);
}

TEST_CASE("old chunks go, and what was not recorded is told") {
  const Folder folder;
  {
    Recorder recorder(folder.file(), state_of_nothing(), {},
                      {.keep = hours{10}, .gather = Duration{0}, .chunk = hours{1}});
    RecordedShell shell(
        one_rule(), 5, [&](recorded::Item item) { recorder.take(std::move(item)); },
        [&](ServiceId) { return program_status(0); });
    for (int i = 0; i < 48; ++i) {
      shell.advance(hours{1});
      std::this_thread::yield();
    }
  }
  auto reader = ReadingsReader::open(folder.file());
  REQUIRE(reader);
  const auto chunks = (*reader)->chunks();
  REQUIRE(chunks);
  REQUIRE_FALSE(chunks->empty());
  const auto last = (*reader)->last();
  REQUIRE(last);
  const auto before = Recording::open(folder.file(), kBegin - hours{3}, kBegin - hours{2});
  REQUIRE_FALSE(before);
  CHECK(before.error().what.find("the readings in") != std::string::npos);
  const auto after = Recording::open(folder.file(), kBegin + days{9}, kBegin + days{10});
  REQUIRE_FALSE(after);
  CHECK(after.error().what.find("end at") != std::string::npos);
}

TEST_CASE("the file stays within its bytes") {
  const Folder folder;
  auto opened = ReadingsFile::open(folder.file());
  REQUIRE(opened);
  ReadingsFile& file = *opened->file;
  for (int chunk = 0; chunk < 20; ++chunk) {
    REQUIRE(file.begin_chunk(kBegin + hours{chunk}, false, "state"));
    REQUIRE(file.add_part(kBegin + hours{chunk}, std::string(100'000, 'x')));
    REQUIRE(file.prune(WallTime{}, 500'000));
  }
  auto reader = ReadingsReader::open(folder.file());
  REQUIRE(reader);
  CHECK((*reader)->chunks()->size() <= 5);
  CHECK((*reader)->chunks()->back().begun == kBegin + hours{19});
  CHECK(std::filesystem::file_size(folder.file()) < 1'500'000);
}

TEST_CASE("a file that cannot be written is a gap, told once, and no more") {
  const Folder folder;
  std::filesystem::create_directory(folder.file());  // nobody can open that
  std::atomic<int> reported{0};
  Recorder recorder(folder.file(), state_of_nothing(), [&](const std::string&) { ++reported; },
                    {.most_waiting = 1000, .gather = Duration{0}, .retry = Duration{1}});
  RecordedShell shell(
      one_rule(), 5, [&](recorded::Item item) { recorder.take(std::move(item)); },
      [&](ServiceId) { return program_status(0); });
  for (int i = 0; i < 100; ++i) shell.advance(minutes{10});
  while (reported == 0) std::this_thread::yield();
  std::filesystem::remove(folder.file());
  // It is written as soon as it can be.
  while (!std::filesystem::exists(folder.file()) || reported < 2) {
    shell.advance(minutes{1});
    std::this_thread::sleep_for(Duration{2});
  }
}

TEST_CASE("the last of the disk is left to others", "[disk]") {
  const SmallDisk disk(40);
  if (!disk.works()) {
    WARN("SKIPPED: no file system can be mounted here");
    return;
  }
  const std::string path = disk.file("state.readings");
  std::mutex mutex;
  std::vector<std::string> notes;
  Recorder recorder(path, state_of_nothing(),
                    [&](const std::string& text) {
                      const std::scoped_lock lock(mutex);
                      notes.push_back(text);
                    },
                    {.gather = Duration{0}, .retry = Duration{1}});
  RecordedShell shell(
      one_rule(), 5, [&](recorded::Item item) { recorder.take(std::move(item)); },
      [&](ServiceId) { return program_status(0); });
  const auto noted = [&](std::size_t count, const std::string& text) {
    for (int i = 0; i < 5000; ++i) {
      shell.advance(minutes{1});
      std::this_thread::sleep_for(Duration{2});
      const std::scoped_lock lock(mutex);
      if (notes.size() >= count) return notes[count - 1].starts_with(text);
    }
    return false;
  };
  const std::string ballast = disk.file("ballast");
  // A megabyte is left, of the two that are not for readings.
  const auto space = [&] { return std::filesystem::space(disk.path()).available; };
  {
    std::ofstream file(ballast, std::ios::binary);
    const std::string block(1 << 16, 'b');
    while (space() > 1'000'000) (file << block).flush();
  }
  CHECK(noted(1, "what is seen is not recorded for replays: less than 2"));
  const auto left = space();
  for (int i = 0; i < 100; ++i) shell.advance(minutes{10});
  CHECK(space() + 300'000 > left);
  std::filesystem::remove(ballast);
  CHECK(noted(2, "what is seen is recorded again"));
}

TEST_CASE("where there is no room the oldest makes it") {
  const Folder folder;
  auto opened = ReadingsFile::open(folder.file());
  REQUIRE(opened);
  ReadingsFile& file = *opened->file;
  for (int chunk = 0; chunk < 5; ++chunk) {
    REQUIRE(file.begin_chunk(kBegin + hours{chunk}, false, "state"));
    REQUIRE(file.add_part(kBegin + hours{chunk}, std::string(100'000, 'x')));
  }
  const auto chunks = [&] { return (*ReadingsReader::open(folder.file()))->chunks()->size(); };
  CHECK(*file.make_room(150'000));
  CHECK(chunks() == 3);
  CHECK(*file.make_room(150'000));  // it is there
  CHECK(chunks() == 3);
  CHECK_FALSE(*file.make_room(5'000'000));
  CHECK(chunks() == 1);
}

TEST_CASE("what another user has put beside the recording is not used") {
  if (::geteuid() != 0) return;
  const Folder folder;
  for (const std::string suffix : {"", "-wal", "-shm"}) {
    const std::string planted = folder.file() + suffix;
    std::ofstream(planted) << "";
    REQUIRE(::chown(planted.c_str(), 65534, 0) == 0);
    const auto opened = ReadingsFile::open(folder.file());
    REQUIRE_FALSE(opened);
    CHECK(opened.error().what.find(planted + " belongs to another user (uid 65534)") != std::string::npos);
    std::filesystem::remove(planted);
  }
  CHECK(ReadingsFile::open(folder.file()));
}

TEST_CASE("a symbolic link is not followed, and what is no recording is set aside") {
  const Folder folder;
  std::filesystem::create_symlink(folder.path / "elsewhere", folder.file());
  CHECK_FALSE(ReadingsFile::open(folder.file()));
  CHECK_FALSE(std::filesystem::exists(folder.path / "elsewhere"));
  std::filesystem::remove(folder.file());
  std::ofstream(folder.file()) << std::string(5000, 'x');
  const auto opened = ReadingsFile::open(folder.file());
  REQUIRE(opened);
  CHECK(opened->note.find("was set aside") != std::string::npos);
  CHECK(std::filesystem::exists(folder.file() + ".corrupt"));
}
