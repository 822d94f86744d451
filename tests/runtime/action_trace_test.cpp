// SPDX-License-Identifier: MIT
// What is written down of an action before it runs, and what a later daemon makes of it.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>
#include <filesystem>

#include "runtime/action_bench.hpp"
#include "runtime/clock.hpp"
#include "runtime/inspection/proc_stat.hpp"
#include "runtime/process/launch.hpp"
#include "runtime/programs/surviving_services.hpp"
#include "support/small_disk.hpp"

namespace action_trace_test {

using namespace healer;
using namespace healer::engine;
using namespace healer::runtime;
using healer::test::read_file;
using healer::test::reap_all;
using healer::test::run_for;
using healer::test::run_until;
using Bench = healer::test::ActionBench;

namespace {

bool skipped(const test::SmallDisk& disk) {
  if (!disk.works()) WARN("SKIPPED: no file system can be mounted here");
  return !disk.works();
}

/// Starts `sleep 600` with these files, as a daemon does it.
Result<Started> sleep_with(ActionFiles::Opened opened, bool must_prove) {
  Launcher launcher(LaunchDefaults::capture());
  Launch launch;
  launch.arguments = {"/bin/sleep", "600"};
  launch.output = std::move(opened.output);
  launch.proof = std::move(opened.proof);
  launch.must_prove = must_prove;
  LaunchProgress progress;
  return launcher.start(std::move(launch), progress);
}

void end(pid_t pid) {
  ::kill(pid, SIGKILL);
  CHECK(reap_all());
}

/// Writes what a former daemon has left of an action.
void leave(const ActionFiles& files, std::uint64_t id, const std::string& trace) {
  test::write_with_mode(files.output_path(ActionId(id)), "", 0600);
  test::write_with_mode(files.pid_path(ActionId(id)), trace, 0600);
}

std::string stat_line(pid_t pid, std::uint64_t ticks) {
  return std::to_string(pid) + " (a) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 0 0 1 0 " + std::to_string(ticks);
}

}  // namespace

TEST_CASE("a directory of actions has a word of its own, which lasts as long as it does", "[trace]") {
  test::TemporaryDirectory folder;
  const auto at = [&](const char* name) { return ActionFiles(folder.path() / name); };
  CHECK(at("none").identity().error().code == ENOENT);
  REQUIRE(at("one").prepare_directory());
  REQUIRE(at("other").prepare_directory());
  const std::string word = at("one").identity().value();
  CHECK(word.size() == 16);
  CHECK(word.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(at("other").identity().value() != word);
  std::filesystem::rename(folder.path() / "one", folder.path() / "moved");
  REQUIRE(at("moved").create(ActionId(1), {}, std::nullopt));
  CHECK(at("moved").identity().value() == word);
  std::filesystem::remove_all(folder.path() / "moved");
  REQUIRE(at("moved").prepare_directory());
  CHECK(at("moved").identity().value() != word);
}

TEST_CASE("on a full disk a foreground process waits for room, and a later daemon finds it", "[trace]") {
  test::SmallDisk disk;
  if (skipped(disk)) return;
  Bench bench;
  bench.options.directory = disk.file("actions");
  bench.foreground = true;
  bench.new_daemon();
  disk.fill();
  bench.start(1, {"/bin/sleep", "600"});
  REQUIRE(run_until(bench.loop, [&] { return !bench.waits.empty(); }));
  run_for(bench.loop, Duration{300});
  CHECK(bench.started.empty());
  CHECK(bench.ended.empty());
  // At once, and once, though it is tried many times.
  const std::string why = "cannot write " + disk.file("actions/1.pid") + ": No space left on device";
  CHECK(bench.waits == std::vector<std::string>{why});
  disk.free();
  REQUIRE(run_until(bench.loop, [&] { return !bench.started.empty(); }));
  const auto pid = bench.started[1];
  disk.fill();
  bench.new_daemon();
  bench.runner->adopt(ActionId(1), true);
  REQUIRE(run_until(bench.loop, [&] { return !bench.started.empty() || !bench.ended.empty(); }));
  CHECK(bench.started[1] == pid);
  bench.runner->end(ActionId(1));
  bench.end(1);
  CHECK(reap_all());
}

TEST_CASE("a foreground process for which there is no room for long is not started, and says why", "[trace]") {
  test::SmallDisk disk;
  if (skipped(disk)) return;
  Bench bench;
  bench.options.directory = disk.file("actions");
  bench.options.resource_patience = Duration{200};
  bench.foreground = true;
  bench.new_daemon();
  disk.fill();
  bench.start(1, {"/bin/sleep", "600"});
  CHECK(bench.end(1).outcome == Outcome::NotStarted);
  CHECK(bench.end(1).output == "cannot write " + disk.file("actions/1.pid") + ": No space left on device");
  CHECK_FALSE(test::has_children());
}

TEST_CASE("on a full disk any other program is started: it may be what makes room", "[trace]") {
  test::SmallDisk disk;
  if (skipped(disk)) return;
  Bench bench;
  bench.options.directory = disk.file("actions");
  bench.new_daemon();
  disk.fill();
  bench.shell(1, "rm " + disk.file("ballast"));
  CHECK(bench.end(1).status == 0);
  CHECK_FALSE(std::filesystem::exists(disk.file("ballast")));
}

TEST_CASE("a program that must be proved does not run where its proof cannot be written", "[trace]") {
  const auto opened = [] {
    return ActionFiles::Opened{Descriptor(::open("/dev/null", O_WRONLY | O_CLOEXEC)),
                               Descriptor(::open("/dev/full", O_WRONLY | O_CLOEXEC))};
  };
  const auto refused = sleep_with(opened(), true);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ENOSPC);
  CHECK(refused.error().what == "cannot record the identity of the process: No space left on device");
  CHECK_FALSE(test::has_children());
  const auto started = sleep_with(opened(), false);
  REQUIRE(started);
  end(started->pid);
}

TEST_CASE("Space for later records is reserved from the start", "[trace]") {
  const test::TemporaryDirectory directory;
  const ActionFiles files(directory.path().string());
  const auto size = [&] { return std::filesystem::file_size(files.pid_path(ActionId(1))); };
  auto opened = files.create(ActionId(1), {.boot = 7, .deadline = Duration{9}, .service = "shop"}, std::nullopt);
  REQUIRE(opened);
  const auto room = size();
  const auto started = sleep_with(std::move(*opened), true);
  REQUIRE(started);
  files.write_end(ActionId(1), {Outcome::Signalled, 9, Duration{1234}});
  CHECK(size() == room);
  const auto trace = files.read(ActionId(1));
  REQUIRE(trace);
  CHECK(trace->start.boot == 7);
  CHECK(trace->start.deadline == Duration{9});
  CHECK(trace->start.service == "shop");
  CHECK(trace->pid == started->pid);
  CHECK(trace->start_ticks == started->start_ticks);
  REQUIRE(trace->end);
  CHECK(trace->end->outcome == Outcome::Signalled);
  CHECK(trace->end->status == 9);
  CHECK(trace->end->elapsed == Duration{1234});
  end(started->pid);
}

TEST_CASE("the end is written behind the lines of a file without room, too", "[trace]") {
  const test::TemporaryDirectory directory;
  const ActionFiles files(directory.path().string());
  leave(files, 1, "boot 7\ndeadline 0\n" + stat_line(4242, 99) + "\n");
  leave(files, 2, "");
  for (const std::uint64_t id : {1, 2}) {
    files.write_end(ActionId(id), {Outcome::Exited, 3, Duration{5}});
    const auto trace = files.read(ActionId(id));
    REQUIRE(trace);
    CHECK(trace->pid == (id == 1 ? 4242 : -1));
    REQUIRE(trace->end);
    CHECK(trace->end->status == 3);
  }
}

TEST_CASE("any name of a service comes back as it was", "[trace]") {
  const test::TemporaryDirectory directory;
  const ActionFiles files(directory.path().string());
  std::uint64_t id = 0;
  for (const std::string& name :
       {std::string("shop"), std::string("my shop"), std::string("100%25"), std::string("a\nboot 5\n\xff\x01 (b) S"),
        std::string("ended 0 0 0"), std::string("ü%"), std::string(5000, ' ')}) {
    REQUIRE(files.create(ActionId(++id), {.boot = 1, .service = name}, std::nullopt));
    const auto trace = files.read(ActionId(id));
    REQUIRE(trace);
    CHECK((trace->start.service == name));
    CHECK(trace->start.boot == 1);
    CHECK_FALSE(trace->end);
  }
}

TEST_CASE("what a program was started for comes back as it was", "[trace]") {
  const test::TemporaryDirectory directory;
  const ActionFiles files(directory.path().string());
  const ActionFiles::Purpose of_rule{.rule = hash128("rule"), .recovery = true, .service = "my shop"};
  const ActionFiles::Purpose of_healing{.healing = HealingId{7}, .rule = {}, .service = "a\nb", .target = "two words"};
  std::uint64_t id = 0;
  std::vector<Result<ActionFiles::Opened>> starting;  // as long as they are locked
  const ActionFiles::Purpose of_job{.job = true, .program = hash128("x"), .rule = {}, .service = "its start"};
  for (const auto& purpose : {of_rule, of_healing, of_job}) {
    starting.push_back(files.create(ActionId(++id), {.boot = now().boot, .purpose = purpose}, std::nullopt));
    REQUIRE(starting.back());
    const auto trace = files.read(ActionId(id));
    REQUIRE(trace);
    CHECK((trace->start.purpose == purpose));
  }
  const SurvivingServices survivors = find_surviving_services(files, now());
  REQUIRE(survivors.processes.size() == 3);
  CHECK((survivors.processes[0].purpose == of_job));
  CHECK(survivors.processes[0].service == "its start");
  CHECK((survivors.processes[1].purpose == of_healing));
  CHECK(survivors.processes[2].service == "my shop");
  starting.clear();
  CHECK(find_surviving_services(files, now()).processes.empty());
}

TEST_CASE("a line that was cut tells nothing", "[trace]") {
  const test::TemporaryDirectory directory;
  const ActionFiles files(directory.path().string());
  leave(files, 1, "boot 7\ndeadline 0\n" + stat_line(4242, 99));
  const auto trace = files.read(ActionId(1));
  REQUIRE(trace);
  CHECK(trace->start.boot == 7);
  CHECK(trace->pid == -1);
}

TEST_CASE("what a former daemon is starting just now is waited for", "[trace]") {
  Bench bench;
  bench.options.check_again = Duration{50};
  bench.new_daemon();
  const ActionFiles& files = bench.runner->files();
  auto runs = files.create(ActionId(1), {.boot = now().boot, .service = "shop"}, std::nullopt);
  auto dies = files.create(ActionId(2), {.boot = now().boot, .service = "shop"}, std::nullopt);
  REQUIRE(runs);
  REQUIRE(dies);
  CHECK(find_surviving_services(files, now()).processes.size() == 2);
  bench.runner->adopt(ActionId(1), true);
  bench.runner->adopt(ActionId(2), true);
  run_for(bench.loop, Duration{200});
  CHECK(bench.started.empty());
  CHECK(bench.ended.empty());
  dies = ActionFiles::Opened{};  // the starter has gone without having started anything
  CHECK(bench.end(2).unseen);
  const auto started = sleep_with(std::move(*runs), true);
  REQUIRE(started);
  REQUIRE(run_until(bench.loop, [&] { return !bench.started.empty(); }));
  CHECK(bench.started[1] == started->pid);
  bench.runner->end(ActionId(1));
  bench.end(1);
  CHECK(reap_all());
}

TEST_CASE("an action of which a former daemon has made the files, and no more, is started, once", "[trace]") {
  Bench bench;
  bench.new_daemon();
  const ActionFiles& files = bench.runner->files();
  const auto acted = [&] { return read_file(bench.file("acted")); };
  const std::string act = "echo x >> " + bench.file("acted");
  const std::string begun = "boot " + std::to_string(now().boot) + "\ndeadline 0\nlocked\n";
  bench.foreground = GENERATE(false, true);
  SECTION("both files") {
    REQUIRE(files.create(ActionId(1), {.boot = now().boot, .service = bench.foreground ? "shop" : ""}, std::nullopt));
  }
  SECTION("the first of them, half written") { test::write_with_mode(files.pid_path(ActionId(1)), "boot 12", 0600); }
  SECTION("a line of the child that was cut") { leave(files, 1, begun + stat_line(4242, 99)); }
  bench.shell(1, act);
  CHECK_FALSE(bench.end(1).unseen);
  CHECK(acted() == "x\n");
  CHECK(bench.started.contains(1));
  bench.new_daemon();
  bench.shell(1, act);
  bench.end(1);
  CHECK(acted() == "x\n");
}

TEST_CASE("an action that may have been started is not started once more", "[trace]") {
  Bench bench;
  bench.new_daemon();
  const std::string boot = "boot " + std::to_string(now().boot) + "\ndeadline 0\n";
  const std::string trace = GENERATE_COPY(
      // Nobody could write down who it is, or lock the file; it was started; it was, in another boot.
      std::string(), boot, boot + "locked\n" + stat_line(4'194'304, 99) + "\n",
      "boot " + std::to_string(now().boot + 1) + "\ndeadline 0\nlocked\n");
  leave(bench.runner->files(), 1, trace);
  bench.shell(1, "echo x >> " + bench.file("acted"));
  CHECK(bench.end(1).unseen);
  CHECK_FALSE(std::filesystem::exists(bench.file("acted")));
}

TEST_CASE("an action that is to end, and was never started, is not started", "[trace]") {
  Bench bench;
  bench.new_daemon();
  REQUIRE(bench.runner->files().create(ActionId(1), {.boot = now().boot}, std::nullopt));
  bench.shell(1, "echo x >> " + bench.file("acted"));
  bench.runner->end(ActionId(1));
  CHECK(bench.end(1).outcome == Outcome::NotStarted);
  CHECK_FALSE(std::filesystem::exists(bench.file("acted")));
}

TEST_CASE("a program that runs without its proof leaves no word that there is none", "[trace]") {
  // As on a disk that is full by now: nothing can be written, but what is there can be taken away.
  const int proof = ::memfd_create("proof", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  REQUIRE(::write(proof, "locked\n", 7) == 7);
  REQUIRE(::fcntl(proof, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) == 0);
  const Descriptor kept(::fcntl(proof, F_DUPFD_CLOEXEC, 0));
  const auto started =
      sleep_with(ActionFiles::Opened{Descriptor(::open("/dev/null", O_WRONLY | O_CLOEXEC)), Descriptor(proof)}, false);
  REQUIRE(started);
  CHECK(::lseek(kept.get(), 0, SEEK_END) == 0);
  end(started->pid);
}

TEST_CASE("an action whose files cannot be read, and that is to end, ends when they can", "[trace]") {
  Bench bench;
  bench.options.check_again = Duration{100};
  bench.new_daemon();
  test::write_with_mode(bench.file("1.out"), "", 0600);
  std::filesystem::create_directory(bench.file("1.pid"));
  bench.shell(1, "true");
  run_for(bench.loop, Duration{250});
  bench.runner->end(ActionId(1));
  run_for(bench.loop, Duration{250});
  CHECK(bench.ended.empty());
  std::filesystem::remove(bench.file("1.pid"));
  CHECK(run_until(bench.loop, [&] { return bench.ended.contains(1); }));
}

TEST_CASE("foreground processes that an earlier daemon has left are told by their files", "[trace]") {
  Bench bench;
  bench.new_daemon();
  CHECK(find_surviving_services(bench.runner->files(), now()).processes.empty());
  CHECK(find_surviving_services(bench.runner->files(), now()).newest == ActionId(0));
  const std::uint64_t boot = now().boot;
  const auto own = read_proc_stat(::getpid());
  REQUIRE(own);
  const ActionFiles& files = bench.runner->files();
  // Of another boot: neither it nor what is older can live, whatever is written there.
  const std::string alive = "\nservice old\n" + stat_line(::getpid(), own->start_ticks) + "\n";
  leave(files, 1, "boot " + std::to_string(boot) + alive);
  leave(files, 2, "boot " + std::to_string(boot + 1) + alive);
  bench.foreground = true;
  bench.start(3, {"/bin/sleep", "600"});
  bench.service = "my other";
  bench.start(4, {"/bin/sleep", "601"});
  bench.start(5, {"/bin/true"});
  bench.end(5);
  bench.foreground = false;
  bench.start(6, {"/bin/sleep", "602"});
  leave(files, 7,
        "boot " + std::to_string(boot) + "\nservice dead\n" + stat_line(::getpid(), own->start_ticks + 1) + "\n");
  leave(files, 8, "boot " + std::to_string(boot) + "\nservice never\n");
  leave(files, 9, "");
  REQUIRE(run_until(bench.loop, [&] { return bench.started.size() == 4; }));

  const SurvivingServices survivors = find_surviving_services(files, now());
  CHECK(survivors.newest == ActionId(9));
  REQUIRE(survivors.processes.size() == 2);
  CHECK(survivors.processes[0].action == ActionId(4));
  CHECK(survivors.processes[0].service == "my other");
  CHECK(survivors.processes[0].command == std::vector<std::string>{"/bin/sleep", "601"});
  CHECK(now().wall - survivors.processes[0].since < seconds{60});
  CHECK(now().wall >= survivors.processes[0].since);
  CHECK(survivors.processes[1].action == ActionId(3));
  CHECK(survivors.processes[1].service == "shop");
  for (const std::uint64_t id : {3, 4, 6}) bench.runner->end(ActionId(id));
  for (const std::uint64_t id : {3, 4, 6}) bench.end(id);
}

TEST_CASE("a folder of actions that others can write is refused, and a trace that another user wrote is not believed") {
  const test::TemporaryDirectory directory;
  const std::string path = (directory.path() / "actions").string();
  const ActionFiles files(path);
  REQUIRE(files.prepare_directory());
  REQUIRE(files.create(ActionId{7}, {.boot = 1}, std::nullopt));
  CHECK(files.read(ActionId{7}));
  if (::geteuid() == 0) {
    REQUIRE(::chown(files.pid_path(ActionId{7}).c_str(), 65534, 0) == 0);
    const auto trace = files.read(ActionId{7});
    REQUIRE_FALSE(trace);
    CHECK(trace.error().code == EPERM);
  }
  std::filesystem::permissions(path, std::filesystem::perms{0755});
  CHECK(files.prepare_directory());
  std::filesystem::permissions(path, std::filesystem::perms{0777});
  const auto refused = files.prepare_directory();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == EPERM);
}

TEST_CASE("while its disk cannot be written an action's files are in the spare place, and are found there") {
  test::SmallDisk disk;
  if (skipped(disk)) return;
  const test::TemporaryDirectory directory;
  const std::string spare = (directory.path() / "spare").string();
  const ActionFiles files(disk.file("actions"), spare);
  const bool made = GENERATE(false, true);
  if (made) {
    REQUIRE(files.prepare_directory());
    REQUIRE(files.create(ActionId{6}, {.boot = 1}, std::nullopt));
  }
  disk.set_read_only(true);
  REQUIRE(files.prepare_directory());
  CHECK(files.identity());
  REQUIRE(files.create(ActionId{7}, {.boot = 1, .service = "web"}, std::nullopt));
  CHECK(files.output_path(ActionId{7}) == spare + "/7.out");
  files.write_end(ActionId{7}, {.status = 3});
  const auto trace = files.read(ActionId{7});
  REQUIRE(trace);
  REQUIRE(trace->end);
  CHECK(trace->end->status == 3);
  // Nothing is done twice, wherever it was done before.
  for (const std::uint64_t id : {6, 7}) {
    if (id == 6 && !made) continue;
    const auto again = files.create(ActionId{id}, {.boot = 1}, std::nullopt);
    REQUIRE_FALSE(again);
    CHECK(again.error().code == EEXIST);
  }
  disk.set_read_only(false);
  REQUIRE(files.prepare_directory());
  REQUIRE(files.create(ActionId{8}, {.boot = 1}, std::nullopt));
  CHECK(files.output_path(ActionId{8}) == disk.file("actions/8.out"));
  CHECK(files.actions().front() == ActionId{8});
  files.forget(ActionId{7});
  CHECK(std::filesystem::is_empty(spare));
}

}  // namespace action_trace_test
