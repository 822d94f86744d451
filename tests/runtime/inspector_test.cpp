// SPDX-License-Identifier: MIT
#include "runtime/inspection/inspector.hpp"
#include "runtime/files/file_sums.hpp"
#include "runtime/inspection/filesystem_inspection.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>
#include <utility>

#include "engine/judging/evaluate.hpp"
#include "engine/rules/service.hpp"
#include "runtime/clock.hpp"
#include "runtime/inspection/proc_stat.hpp"
#include "runtime/inspector_bench.hpp"
#include "support/hung_mount.hpp"
#include "support/other_proc.hpp"

namespace inspector_test {

using namespace healer;
using namespace healer::engine;
using namespace healer::runtime;
using healer::test::Child;
using healer::test::InspectorBench;
using healer::test::run_for;
using healer::test::run_until;
using healer::test::TemporaryDirectory;

namespace {

/// Of a sleeper: nobody else's, so that the search for it finds no stranger.
std::string sleeper_line() { return "sleep 600 0." + std::to_string(::getpid()); }

Child sleeper() { return Child({"sleep", "600", "0." + std::to_string(::getpid())}); }

std::string number(const Child& child) { return std::to_string(child.pid()) + "\n"; }

/// Where it has exited it may still wait to be reaped.
bool process_is_gone(const Evidence& evidence) {
  REQUIRE(evidence.answer != Answer::Unknown);
  return !evidence.facts->process || evidence.facts->process->zombie;
}

std::shared_ptr<ServiceBlock> checked(std::string_view kind, const std::string& path) {
  auto block = InspectorBench::block(kind_named(kind));
  block->path = path;
  return block;
}

/// Of an inspector on a machine where something hangs.
Inspector::Options impatient(Duration patience) {
  Inspector::Options options;
  options.stuck = Duration{100};
  options.patience = patience;
  return options;
}

}  // namespace

TEST_CASE("a fifo tells its permission, owner and times, and is absent where another type is", "[runtime]") {
  InspectorBench bench;
  auto block = InspectorBench::block(kind_named("fifo"));
  block->path = bench.path("pipe");
  CHECK(bench.see(block).answer == Answer::Absent);
  REQUIRE(::mkfifo(block->path.c_str(), 0600) == 0);
  REQUIRE(::chmod(block->path.c_str(), 0640) == 0);
  const Evidence& seen = bench.see(block);
  REQUIRE(seen.answer == Answer::Present);
  CHECK(attribute_of(seen, Attribute::Permission) == Value(std::int64_t{0640}));
  CHECK(attribute_of(seen, Attribute::Uid) == Value(std::int64_t{::getuid()}));
  CHECK(attribute_of(seen, Attribute::Timestamp).has_value());
  CHECK(value_of(seen, Metric::Age).value() < 3600);
  block->path = bench.pid_file("plain", "x");
  CHECK(bench.see(block).answer == Answer::Absent);
  CHECK(*bench.see(block).output == block->path + " is not a fifo");
}

TEST_CASE("a filesystem tells its space, flags and owner, and is absent where nothing is mounted", "[runtime]") {
  InspectorBench bench;
  auto block = InspectorBench::block(kind_named("filesystem"));
  block->path = "/";
  const Evidence& seen = bench.see(block);
  REQUIRE(seen.answer == Answer::Present);
  struct ::statvfs space {};
  REQUIRE(::statvfs("/", &space) == 0);
  const double used = static_cast<double>(space.f_blocks - space.f_bfree) * static_cast<double>(space.f_frsize);
  constexpr double kMegabyte = 1024 * 1024;  // others write meanwhile
  CHECK(value_of(seen, Metric::SpaceUsageBytes).value() == Approx(used).margin(1000 * kMegabyte));
  CHECK(value_of(seen, Metric::SpaceUsage).value() + value_of(seen, Metric::SpaceFree).value() == Approx(100));
  CHECK(text_in(attribute_of(seen, Attribute::FsFlags).value())->starts_with("r"));
  CHECK(attribute_of(seen, Attribute::Uid) == Value(std::int64_t{0}));
  block->path = bench.directory.path().string() + "/";
  CHECK(bench.see(block).answer == Answer::Absent);
  CHECK(bench.see(block).output->empty());
}

TEST_CASE("a file tells its size and its checksums, which are made again where it has changed", "[runtime]") {
  InspectorBench bench;
  auto block = InspectorBench::block(kind_named("file"));
  block->path = bench.pid_file("file", "x");
  Rule rule;
  rule->condition->tests.push_back(Differs{.what = Attribute::Md5, .wanted = {}});
  rule->condition->tests.push_back(Changed{Attribute::Sha256});
  block->rules.push_back(rule);
  const auto text = [&](Attribute what) { return *text_in(attribute_of(bench.see(block), what).value()); };
  CHECK(value_of(bench.see(block), Metric::Size) == 1.0);
  CHECK(attribute_of(bench.see(block), Attribute::Size) == Value(std::int64_t{1}));
  CHECK(text(Attribute::Md5) == "9dd4e461268c8034f5c8564e155c67a6");
  CHECK(text(Attribute::Sha256) == "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881");
  CHECK_FALSE(attribute_of(bench.see(block), Attribute::Sha1));
  bench.pid_file("file", "y");
  CHECK(text(Attribute::Md5) == "415290769594460e2e485922904f345d");
  REQUIRE(::chmod(block->path.c_str(), 0) == 0);
  if (::geteuid() != 0) CHECK_FALSE(attribute_of(bench.see(block), Attribute::Md5));
  block->path = bench.directory.path();
  CHECK(bench.see(block).answer == Answer::Absent);
}

TEST_CASE("a checksum of a file without end keeps nobody else waiting", "[runtime]") {
  InspectorBench bench;
  auto slow = InspectorBench::block(kind_named("file"));
  slow->path = bench.path("holes");  // a minute of reading and more
  const Descriptor file(::open(slow->path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  REQUIRE(::ftruncate(file.get(), off_t{1} << 40) == 0);
  Rule rule;
  rule->condition->tests.push_back(Changed{Attribute::Sha512});
  slow->rules.push_back(rule);
  const std::uint64_t begun = bench.check(slow, 1);
  auto quick = InspectorBench::block(kind_named("file"));
  quick->path = bench.pid_file("plain", "x");
  for (int i = 0; i < 50; ++i) CHECK(bench.see(quick, 2).answer == Answer::Present);
  CHECK(bench.seen.count(begun) == 0);
  bench.inspector.cancel(RunId(begun));
  // It is not begun twice, whoever asks how often.
  for (int i = 0; i < 100; ++i) bench.inspector.cancel(RunId(bench.check(slow, 1)));
  CHECK(bench.see(quick, 2).answer == Answer::Present);
  REQUIRE(::ftruncate(file.get(), 0) == 0);
}

TEST_CASE("a file is summed anew until it has settled", "[runtime]") {
  TemporaryDirectory directory;
  const std::string path = directory.path() / "file";
  std::ofstream(path) << "x";
  Loop loop;
  FileSummer summer(loop, {}, std::make_shared<MountGuard>());
  std::uint64_t last = 0;
  const auto sums = [&](const std::string& of) {
    std::optional<Result<FileSums>> seen;
    summer.sum(++last, of, {.md5 = true}, [&](Result<FileSums> made) { seen = std::move(made); });
    REQUIRE(run_until(loop, [&] { return seen.has_value(); }));
    return std::move(*seen);
  };
  CHECK(sums(path)->sums.front().second == Value(std::string("9dd4e461268c8034f5c8564e155c67a6")));
  CHECK_FALSE(sums(path)->lasting);            // it was just changed
  CHECK_FALSE(sums("/proc/uptime")->lasting);  // its times do not change with it
  CHECK(sums("/usr/bin/env")->lasting);
  CHECK_FALSE(sums(directory.path()));
  CHECK_FALSE(sums(directory.path() / "none"));
  REQUIRE(::symlink("/proc/uptime", (directory.path() / "link").c_str()) == 0);
  CHECK(sums(directory.path() / "link").error().what.ends_with("leads to a file of the kernel's"));
  REQUIRE(::mkfifo((directory.path() / "pipe").c_str(), 0600) == 0);
  CHECK(sums(directory.path() / "pipe").error().what.ends_with("is not a regular file"));
}

TEST_CASE("what a device has done is told by the second") {
  const DeviceSample former{.taken = Duration{1000}, .bytes_read = 512, .reads = 1, .busy = Duration{5}};
  DeviceSample present{.taken = Duration{3000},
                       .bytes_read = 512 + 8192,
                       .bytes_written = 2048,
                       .reads = 5,
                       .writes = 4,
                       .busy = Duration{21}};
  Metrics metrics;
  add_means(metrics, former, present);
  CHECK(metrics.get(Metric::ReadRate) == 4096.0);
  CHECK(metrics.get(Metric::WriteRate) == 1024.0);
  CHECK(metrics.get(Metric::ReadOperations) == 2.0);
  CHECK(metrics.get(Metric::WriteOperations) == 2.0);
  CHECK(metrics.get(Metric::ServiceTime) == 2.0);
  present = {.taken = Duration{4000}};  // another device by that name
  add_means(metrics, former, present);
  CHECK(metrics.get(Metric::ReadRate) == 0.0);
  CHECK(metrics.get(Metric::ServiceTime) == 0.0);
}

TEST_CASE("a process is found by its pid file, and seen", "[inspector]") {
  InspectorBench bench;
  const Child child = sleeper();
  const auto block = InspectorBench::by_file(bench.pid_file("a.pid", number(child)));
  const Evidence& first = bench.see(block);
  CHECK(first.answer != Answer::Unknown);
  CHECK(*first.output == "process is running with pid " + std::to_string(child.pid()));
  REQUIRE(first.facts->process);
  CHECK(first.facts->process->pid == child.pid());
  CHECK(first.facts->process->parent == ::getpid());
  CHECK(first.facts->process->start_ticks == read_proc_stat(child.pid())->start_ticks);
  CHECK_FALSE(first.facts->process->zombie);
  CHECK(first.facts->metrics.get(Metric::Children) == 0.0);
  CHECK(first.facts->metrics.get(Metric::FileDescriptors) > 2.0);
  CHECK_FALSE(first.facts->metrics.get(Metric::Cpu));
  run_for(bench.loop, kShortestMean + Duration{20});
  const Evidence& second = bench.see(block);
  CHECK(second.facts->metrics.get(Metric::Cpu).value_or(-1) == Approx(0).margin(2));
  CHECK(second.facts->metrics.get(Metric::TotalCpu).value_or(-1) == Approx(0).margin(2));
  CHECK(second.facts->metrics.get(Metric::ReadRate).value_or(-1) >= 0);  // it may have been at its start
  for (const auto& [run, count] : bench.answers) CHECK(count == 1);
}

TEST_CASE("what a process uses is seen", "[inspector]") {
  InspectorBench bench;
  const Child child({"/usr/bin/python3", "-c", "while True: pass"});
  const auto block = InspectorBench::by_file(bench.pid_file("a.pid", number(child)));
  // Each look is between two of ours, so that what it saw is known however long this program had to wait meanwhile.
  struct Sample {
    double ticks;
    Duration when;
  };
  const auto sample = [&] {
    const Duration when = mono_now();
    return Sample{static_cast<double>(read_proc_stat(child.pid())->cpu_ticks), when};
  };
  const Sample before = sample();
  bench.see(block);
  const Sample begun = sample();
  const auto used = [&] { return sample().ticks - begun.ticks; };  // much less where others want the machine, too
  REQUIRE(run_until(bench.loop, [&] { return mono_now() > begun.when + kShortestMean && used() >= 20; }));
  const Sample ending = sample();
  const double cpu = bench.see(block).facts->metrics.get(Metric::Cpu).value_or(-1);
  const Sample after = sample();
  const auto percent = [](double ticks, Duration time) {
    return 100'000 * ticks / static_cast<double>(ticks_per_second()) / static_cast<double>(time.count());
  };
  CHECK(cpu >= percent(ending.ticks - begun.ticks - 1, after.when + Duration{2} - before.when));
  CHECK(cpu <= percent(after.ticks - before.ticks + 1, ending.when - Duration{2} - begun.when));
}

TEST_CASE("what no rule asks for is known at every look, and what one asks for is new", "[inspector]") {
  InspectorBench bench;
  const auto block = InspectorBench::by_file(bench.pid_file("x", std::to_string(::getpid())));
  const auto asking =
      InspectorBench::asking(InspectorBench::by_file(bench.path("x")), Compare{Metric::FileDescriptors});
  bench.see(block);
  run_for(bench.loop, kShortestMean + Duration{20});
  bench.see(block);
  for (int i = 0; i < 3; ++i) {
    const Evidence& seen = bench.see(block);
    CHECK(seen.facts->process->uid == ::getuid());
    CHECK(seen.facts->process->euid == ::geteuid());
    CHECK(seen.facts->process->gid == ::getgid());
    for (const Metric metric : {Metric::FileDescriptors, Metric::FileDescriptorsPercent, Metric::ReadRate,
                                Metric::DiskWriteRate, Metric::WriteOperations, Metric::Cpu, Metric::MemoryBytes})
      CHECK(seen.facts->metrics.get(metric));
    run_for(bench.loop, Duration{100});
  }
  const double before = bench.see(asking).facts->metrics.get(Metric::FileDescriptors).value_or(-1);
  std::vector<Descriptor> more;
  for (int i = 0; i < 100; ++i) more.emplace_back(::dup(0));
  CHECK(bench.see(asking).facts->metrics.get(Metric::FileDescriptors) > before + 50);
}

TEST_CASE("where others may write a pid file, whose its process is is asked at each look", "[inspector]") {
  if (::geteuid() != 0) {
    WARN("SKIPPED: only root can make files of others");
    return;
  }
  InspectorBench bench;
  const Child child({"/usr/bin/python3", "-c",
                     "import os, signal\nsignal.signal(signal.SIGUSR1, lambda *_: os.setuid(65534))\n"
                     "open('" +
                         bench.path("ready") + "', 'w').close()\nwhile True: signal.pause()"});
  REQUIRE(test::eventually([&] { return std::filesystem::exists(bench.path("ready")); }));
  const std::string file = bench.pid_file("x", number(child));
  REQUIRE(::chown(file.c_str(), 65534, 65534) == 0);
  const auto uid = [&] { return bench.see(InspectorBench::by_file(file)).facts->process->uid; };
  CHECK(uid() == 0);
  run_for(bench.loop, kShortestMean + Duration{20});
  CHECK(uid() == 0);
  child.send(SIGUSR1);
  REQUIRE(test::eventually([&] { return inspect_process(child.pid(), {})->facts.uid == 65534; }));
  CHECK(uid() == 65534);
}

TEST_CASE("a pid file that names no process says why", "[inspector]") {
  InspectorBench bench;
  const auto why = [&](const std::string& path) {
    const Evidence& evidence = bench.see(InspectorBench::by_file(path));
    CHECK(evidence.answer != Answer::Unknown);
    CHECK(evidence.facts);
    CHECK_FALSE(evidence.facts->process);
    return *evidence.output;
  };
  const auto reason = [&](const std::string& text) { return why(bench.pid_file("x", text)); };
  const std::string file = bench.path("x");
  CHECK(why(bench.path("none")) == "process is not running (the pid file " + bench.path("none") + " does not exist)");
  CHECK(reason("") == "process is not running (the pid file " + file + " is empty)");
  CHECK(reason(" \n") == "process is not running (the pid file " + file + " is empty)");
  for (const char* text : {"hello", "-5", "0", "x12", "99999999999999999999", "4194305"}) {
    CHECK(reason(text) == "process is not running (the pid file " + file + " holds no pid)");
  }
  CHECK(reason("4194304") == "process is not running (there is no process 4194304)");
  CHECK(why(bench.directory.path()) ==
        "process is not running (the pid file " + bench.directory.path().string() + " is not a regular file)");
  REQUIRE(::mkfifo(bench.path("fifo").c_str(), 0600) == 0);
  CHECK(why(bench.path("fifo")) ==
        "process is not running (the pid file " + bench.path("fifo") + " is not a regular file)");
  CHECK(why(bench.path("x") + "/y") == "process is not running (the pid file " + file + "/y does not exist)");
  // What is wrong with the path stays so: to wait for another answer would be to wait for ever.
  REQUIRE(::symlink("loop", bench.path("loop").c_str()) == 0);
  CHECK(why(bench.path("loop")) == "process is not running (cannot read the pid file " + bench.path("loop") +
                                       ": Too many levels of symbolic links)");
  const std::string longest = bench.path(std::string(300, 'n'));
  CHECK(why(longest) == "process is not running (cannot read the pid file " + longest + ": File name too long)");
  CHECK(bench.inspector.watched() == 0);
}

TEST_CASE("The process last named by a pid file is the service while it lives and the file names no other",
          "[inspector]") {
  InspectorBench bench;
  const Child child = sleeper();
  const Child other = sleeper();
  const ProcessIdentity last{child.pid(), read_proc_stat(child.pid())->start_ticks};
  const std::string file = bench.path("a.pid");
  const auto see = [&](ProcessIdentity process) {
    return bench.result(bench.check(InspectorBench::by_file(file), 1, process));
  };
  const auto is_last = [&](const std::string& why) {
    const Evidence found = see(last);
    REQUIRE(found.facts->process);
    CHECK(found.facts->process->pid == last.pid);
    CHECK(found.facts->process->file == 0);
    CHECK(*found.output == "process is running with pid " + std::to_string(last.pid) + ", but " + why);
  };
  is_last("the pid file " + file + " does not exist");
  CHECK(bench.inspector.watched() == 1);
  bench.pid_file("a.pid", "");
  is_last("the pid file " + file + " is empty");
  bench.pid_file("a.pid", "4194304\n");
  is_last("there is no process 4194304");

  CHECK(process_is_gone(see({last.pid, last.start_ticks + 1})));
  CHECK(*see({}).output == "process is not running (there is no process 4194304)");
  bench.pid_file("a.pid", number(other));
  CHECK(see(last).facts->process->pid == other.pid());
  std::filesystem::remove(file);
  is_last("the pid file " + file + " does not exist");
  child.send(SIGKILL);
  CHECK(run_until(bench.loop, [&] { return !bench.deaths.empty(); }));
  CHECK(bench.deaths.front().pid == last.pid);
  CHECK(*see(last).output == "process is not running (the pid file " + file + " does not exist)");
}

TEST_CASE("a signal that was not sent is told, and healer's own process gets none", "[inspector]") {
  InspectorBench bench;
  std::vector<std::string>& refused = bench.not_signalled;
  static volatile std::sig_atomic_t caught = 0;
  const auto before = std::signal(SIGUSR2, [](int) { caught = caught + 1; });
  const auto ticks = [](pid_t pid) { return read_proc_stat(pid).value().start_ticks; };
  const auto self = std::to_string(::getpid());
  bench.inspector.signal({::getpid(), ticks(::getpid()), SIGUSR2});
  CHECK(run_until(bench.loop, [&] { return refused.size() == 1; }));
  CHECK(refused == std::vector{self + " 12: it is healer itself"});
  CHECK(caught == 0);
  std::signal(SIGUSR2, before);
  refused.clear();

  const Child child = sleeper();
  const auto pid = std::to_string(child.pid());
  bench.inspector.signal({child.pid(), ticks(child.pid()), 99});
  CHECK(run_until(bench.loop, [&] { return refused.size() == 1; }));
  CHECK(refused == std::vector{pid + " 99: cannot signal process " + pid + ": Invalid argument"});
  refused.clear();

  bench.inspector.signal({1, ticks(1), 0});  // which sends nothing, whoever is asked
  CHECK(run_until(bench.loop, [&] { return refused.size() == 1; }));
  CHECK(refused == std::vector<std::string>{"1 0: it is the first process of the machine"});
  refused.clear();

  bench.inspector.signal({child.pid(), ticks(child.pid()) + 1, SIGTERM});  // that one is gone
  bench.inspector.signal({child.pid(), ticks(child.pid()), SIGTERM});
  CHECK(run_until(bench.loop, [&] { return read_proc_stat(child.pid()).value().zombie(); }));
  run_for(bench.loop, Duration{50});
  CHECK(refused.empty());
}

TEST_CASE("a pid file is read as Monit reads it", "[inspector]") {
  InspectorBench bench;
  const Child child = sleeper();
  const std::string pid = std::to_string(child.pid());
  for (const std::string& text : {pid, pid + "\n", "\n\n  " + pid, pid + "abc", pid + " 1\n", "+" + pid}) {
    const Evidence& evidence = bench.see(InspectorBench::by_file(bench.pid_file("x", text)));
    REQUIRE(evidence.facts->process);
    CHECK(evidence.facts->process->pid == child.pid());
  }
}

TEST_CASE("who can have chosen a pid file is known by the owners of it, of links and of folders on the way",
          "[inspector]") {
  if (::geteuid() != 0) {
    WARN("SKIPPED: only root can make files of others");
    return;
  }
  InspectorBench bench;
  const Child child = sleeper();
  const std::string file = bench.pid_file("x", number(child));
  const auto named_by = [&](const std::string& path) {
    return bench.see(InspectorBench::by_file(path)).facts->process->named_by;
  };
  const auto own = [](const std::string& path, uid_t owner) { REQUIRE(::lchown(path.c_str(), owner, owner) == 0); };
  CHECK(named_by(file) == 0);
  std::filesystem::create_symlink(file, bench.path("link"));
  std::filesystem::create_directory_symlink(bench.directory.path(), bench.path("here"));
  std::filesystem::create_symlink("here/link", bench.path("far"));
  CHECK(named_by(bench.path("far")) == 0);
  own(bench.path("link"), 1000);
  CHECK(named_by(bench.path("far")) == 1000);
  own(bench.path("here"), 1000);
  CHECK(named_by(bench.path("far")) == 1000);
  CHECK(named_by(bench.path("here/./../" + bench.directory.path().filename().string() + "/x")) == 1000);
  own(file, 33);
  CHECK(named_by(file) == 33);
  CHECK(named_by(bench.path("far")) == ProcessFacts::kAnybody);
  own(file, 0);
  REQUIRE(::chown(file.c_str(), 0, 33) == 0);
  std::filesystem::permissions(file, std::filesystem::perms(0664));  // its group can write another's number
  CHECK(named_by(file) == ProcessFacts::kAnybody);
  std::filesystem::permissions(file, std::filesystem::perms(0644));
  CHECK(named_by(file) == 0);
  std::filesystem::permissions(file, std::filesystem::perms(0666));
  CHECK(named_by(file) == ProcessFacts::kAnybody);
  std::filesystem::permissions(file, std::filesystem::perms(0644));
  // Two files of root's in a folder of another user, who swaps them.
  std::filesystem::create_directories(bench.path("outer/inner"));
  const std::string deep = bench.pid_file("outer/inner/y", number(child));
  CHECK(named_by(deep) == 0);
  own(bench.path("outer/inner"), 1000);
  CHECK(named_by(deep) == 1000);
  own(bench.path("outer/inner"), 0);
  own(bench.path("outer"), 1000);
  CHECK(named_by(deep) == 1000);
  own(bench.path("outer/inner"), 33);
  CHECK(named_by(deep) == ProcessFacts::kAnybody);
  own(bench.path("outer"), 0);
  own(bench.path("outer/inner"), 0);
  std::filesystem::permissions(bench.path("outer"), std::filesystem::perms(0777));
  CHECK(named_by(deep) == ProcessFacts::kAnybody);
  std::filesystem::permissions(bench.path("outer"), std::filesystem::perms(01777));  // nobody can move what is root's
  CHECK(named_by(deep) == 0);
  REQUIRE(::chown(bench.path("outer").c_str(), 0, 33) == 0);
  std::filesystem::permissions(bench.path("outer"), std::filesystem::perms(0775));
  CHECK(named_by(deep) == ProcessFacts::kAnybody);
}

TEST_CASE("the first process and healer itself are seen to be spared", "[inspector]") {
  InspectorBench bench;
  const Child child = sleeper();
  const auto spared = [&](const std::string& text) {
    return bench.see(InspectorBench::by_file(bench.pid_file("x", text))).facts->process->spared;
  };
  CHECK(spared("1"));
  CHECK(spared(std::to_string(::getpid())));
  CHECK_FALSE(spared(number(child)));
}

TEST_CASE("where /proc is not mounted nobody is known to be gone", "[inspector][proc]") {
  const Child child = sleeper();
  const ProcessIdentity identity{child.pid(), read_proc_stat(child.pid())->start_ticks};
  const bool works = test::with_proc("tmpfs", "", {}, [&] {
    InspectorBench bench;
    const auto unknown = [&](std::shared_ptr<ServiceBlock> block) {
      const Evidence& seen = bench.result(bench.check(std::move(block), 1, identity));
      CHECK(seen.answer == Answer::Unknown);
      CHECK(*seen.output == "no processes can be seen: /proc is not mounted");
    };
    unknown(InspectorBench::by_file(bench.pid_file("x", number(child))));
    unknown(InspectorBench::by_file(bench.path("none")));
    unknown(InspectorBench::by_pattern(sleeper_line()));
    unknown(InspectorBench::foreground());
    const auto found = find_process(identity.pid, identity.start_ticks);
    CHECK((!found && found.error().code == EACCES));
  });
  if (!works) WARN("SKIPPED: nothing can be mounted here");
}

TEST_CASE("A process hidden in /proc is not taken for gone", "[inspector][proc]") {
  constexpr uid_t kNobody = 65534;
  const Child child = sleeper();
  const ProcessIdentity identity{child.pid(), read_proc_stat(child.pid())->start_ticks};
  const char* const how = GENERATE("hidepid=1", "hidepid=2");
  const bool works =
      ::geteuid() == 0 && test::with_proc("proc", how, kNobody, [&] {
        InspectorBench bench;
        const auto checked = [&](std::shared_ptr<ServiceBlock> block, Answer answer) {
          const Evidence& seen = bench.result(bench.check(std::move(block), 1, identity));
          CHECK(seen.answer == answer);
          return *seen.output;
        };
        const std::string hidden =
            "process " + std::to_string(child.pid()) + " cannot be seen: /proc hides it (hidepid)";
        CHECK(checked(InspectorBench::by_file(bench.pid_file("x", number(child))), Answer::Unknown) == hidden);
        CHECK(checked(InspectorBench::by_file(bench.path("none")), Answer::Unknown) == hidden);  // whom it named last
        CHECK(checked(InspectorBench::foreground(), Answer::Unknown) == hidden);
        CHECK(checked(InspectorBench::by_pattern("^" + sleeper_line()), Answer::Unknown) ==
              "no process that can be seen matches \"^" + sleeper_line() + "\": /proc hides those of others (hidepid)");
        const auto found = find_process(identity.pid, identity.start_ticks);
        CHECK((!found && found.error().code != ESRCH));
        // What is seen is, and what the kernel does not know is not.
        CHECK(checked(InspectorBench::by_file(bench.pid_file("x", std::to_string(::getpid()))), Answer::Present) ==
              "process is running with pid " + std::to_string(::getpid()));
        const Evidence& gone = bench.see(InspectorBench::by_file(bench.pid_file("x", "4194304")));
        CHECK(*gone.output == "process is not running (there is no process 4194304)");
      });
  if (!works) WARN("SKIPPED: nothing can be mounted here");
}

TEST_CASE("a zombie is found as one, and is not watched", "[inspector]") {
  InspectorBench bench;
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(0);
  REQUIRE(test::eventually([&] { return read_proc_stat(pid)->zombie(); }));
  const Evidence& evidence = bench.see(InspectorBench::by_file(bench.pid_file("x", std::to_string(pid))));
  REQUIRE(evidence.facts->process);
  CHECK(evidence.facts->process->zombie);
  CHECK(evidence.facts->metrics == Metrics{});
  CHECK(*evidence.output == "process with pid " + std::to_string(pid) + " is a zombie");
  CHECK(bench.inspector.watched() == 0);
  ::waitpid(pid, nullptr, 0);
  CHECK_FALSE(bench.see(InspectorBench::by_file(bench.path("x"))).facts->process);
}

TEST_CASE("a pid file that comes late, and another process in it, are noticed at the next look", "[inspector]") {
  InspectorBench bench;
  const auto block = InspectorBench::by_file(bench.path("late"));
  CHECK_FALSE(bench.see(block).facts->process);
  const Child first = sleeper();
  bench.pid_file("late", number(first));
  CHECK(bench.see(block).facts->process->pid == first.pid());
  const Child second = sleeper();
  bench.pid_file("late", number(second));
  run_for(bench.loop, kShortestMean);
  const Evidence& other = bench.see(block);
  CHECK(other.facts->process->pid == second.pid());
  CHECK_FALSE(other.facts->metrics.get(Metric::Cpu));  // of which nothing was known before
}

TEST_CASE("a process is found by its command line", "[inspector]") {
  InspectorBench bench;
  const std::string word = "w" + bench.directory.path().filename().string();
  const auto block = InspectorBench::by_pattern(word + " [0-9]+$");
  const Evidence& none = bench.see(block);
  CHECK_FALSE(none.facts->process);
  CHECK(*none.output == "process is not running (no process matches \"" + word + " [0-9]+$\")");
  run_for(bench.loop, Duration{110});
  const Child child({"/bin/sh", "-c", "sleep 600 & wait", word, "42"});
  REQUIRE(run_until(bench.loop, [&] { return ProcSnapshot::take().value()->descendants(child.pid()).size() == 1; }));
  run_for(bench.loop, Duration{110});
  const Evidence& found = bench.see(block);
  REQUIRE(found.facts->process);
  CHECK(found.facts->process->pid == child.pid());  // not its child, which has the same words for a moment
  CHECK(found.facts->metrics.get(Metric::Children) == 1.0);
  CHECK(bench.inspector.watched() == 1);
  const Evidence& invalid = bench.see(InspectorBench::by_pattern("a("), 2);
  CHECK(invalid.answer == Answer::Unknown);
  CHECK_FALSE(invalid.facts->process);
}

TEST_CASE("the security attribute is looked up where a rule asks for it", "[inspector]") {
  InspectorBench bench;
  const Child child = sleeper();
  const auto block = InspectorBench::by_file(bench.pid_file("x", number(child)));
  CHECK(bench.see(block).facts->process->attribute.empty());
  const auto asking = InspectorBench::asking(InspectorBench::by_file(bench.path("x")),
                                             Differs{Attribute::Security, std::string("none")});
  // The machine may know of none: reading it is an error then.
  const auto text = read_head(AT_FDCWD, ("/proc/" + std::to_string(child.pid()) + "/attr/current").c_str(), 4096);
  const std::string expected = text ? text->substr(0, text->find_first_of(std::string_view("\n\0", 2))) : "";
  CHECK(bench.see(asking).facts->process->attribute == expected);
}

TEST_CASE("The machine is inspected", "[inspector]") {
  InspectorBench bench;
  const auto block = InspectorBench::block(kind_named("system"));
  const Evidence& first = bench.see(block);
  CHECK_FALSE(first.facts->process);
  CHECK(first.output->empty());
  CHECK(first.facts->metrics.get(Metric::Load1));
  CHECK(first.facts->metrics.get(Metric::SystemMemory) > 0.0);
  CHECK_FALSE(first.facts->metrics.get(Metric::SystemCpu));
  run_for(bench.loop, kShortestMean + Duration{20});
  const Evidence& second = bench.see(block);
  REQUIRE(second.facts->metrics.get(Metric::SystemCpu));
  CHECK(*second.facts->metrics.get(Metric::SystemCpu) <= 100.0);
  CHECK(second.facts->metrics.get(Metric::CpuWait));
  CHECK(bench.inspector.walks() == 0);
}

TEST_CASE("looks of one moment share a walk, and looks in quick succession need none", "[inspector]") {
  InspectorBench bench;
  const Child child = sleeper();
  const std::string file = bench.pid_file("x", number(child));
  const std::string pattern = '^' + sleeper_line() + '$';
  const Duration first = mono_now();
  std::vector<std::uint64_t> runs;
  for (std::uint32_t service = 1; service <= 20; ++service) {
    runs.push_back(
        bench.check(service % 2 != 0 ? InspectorBench::by_file(file) : InspectorBench::by_pattern(pattern), service));
  }
  for (const auto run : runs) CHECK(bench.result(run).facts->metrics.get(Metric::Children));
  CHECK(bench.inspector.walks() == 1);
  const Duration end = mono_now() + Duration{1500};
  std::uint64_t pauses = 0;  // in which this program had to wait for the machine, so that there was no quick succession
  for (Duration last = first; last < end || bench.last <= 100;) {
    bench.see(InspectorBench::by_file(file));
    if (mono_now() - std::exchange(last, mono_now()) > Duration{200}) ++pauses;
  }
  CHECK(bench.inspector.walks() <= 1 + pauses);
  const std::uint64_t walks = bench.inspector.walks();
  run_for(bench.loop, Duration{510});
  bench.see(InspectorBench::by_file(file));
  CHECK(bench.inspector.walks() == walks + 1);

  // Where a rule asks for descendants they are known each time, from a walk that is not old.
  const auto asking = InspectorBench::asking(InspectorBench::by_file(file), Compare{Metric::Children});
  const Duration begun = mono_now();
  const auto passed = [&] { return mono_now() - begun; };
  while (bench.inspector.walks() < walks + 3 && passed() < minutes{1})
    CHECK(bench.see(asking, 3).facts->metrics.get(Metric::Children) == 0.0);
  CHECK(passed() >= Duration{500});  // between two of them
  CHECK(bench.inspector.walks() == walks + 3);
}

TEST_CASE("a pattern that is asked for late in a long walk is looked for in the next one", "[inspector]") {
  Inspector::Options options;
  options.walk = [] {
    auto seen = ProcSnapshot::take();
    std::this_thread::sleep_for(std::chrono::milliseconds{300});
    return seen;
  };
  InspectorBench bench(options);
  const auto first = bench.check(InspectorBench::by_pattern("^no such process$"), 1);
  run_for(bench.loop, Duration{200});
  const Child child = sleeper();
  const auto second = bench.check(InspectorBench::by_pattern('^' + sleeper_line() + '$'), 2);
  const Duration begin = mono_now();
  CHECK_FALSE(bench.result(first).facts->process);
  CHECK(bench.result(second).answer != Answer::Unknown);
  CHECK(bench.result(second).facts->process);
  CHECK(mono_now() - begin < options.patience / 2);
  CHECK(bench.inspector.walks() == 2);
}

TEST_CASE("a foreground process is exactly that one, and its death is not told", "[inspector]") {
  InspectorBench bench;
  const Child child = sleeper();
  const auto block = InspectorBench::foreground();
  const ProcessIdentity own{child.pid(), read_proc_stat(child.pid())->start_ticks};
  const auto see = [&](ProcessIdentity process) { return bench.result(bench.check(block, 1, process)); };
  const Evidence found = see(own);
  CHECK(found.answer != Answer::Unknown);
  CHECK(*found.output == "process is running with pid " + std::to_string(own.pid));
  REQUIRE(found.facts->process);
  CHECK(found.facts->process->pid == own.pid);
  CHECK(found.facts->process->start_ticks == own.start_ticks);
  CHECK(found.facts->metrics.get(Metric::Children) == 0.0);
  CHECK(bench.inspector.watched() == 0);
  run_for(bench.loop, kShortestMean + Duration{20});
  CHECK(see(own).facts->metrics.get(Metric::Cpu));

  const auto is_nobody = [&](ProcessIdentity process) {
    const Evidence none = see(process);
    return none.answer == Answer::Absent && !none.facts->process && *none.output == "process is not running";
  };
  CHECK(is_nobody({own.pid, own.start_ticks + 1}));
  CHECK(is_nobody({}));
  child.send(SIGKILL);
  REQUIRE(test::eventually([&] { return read_proc_stat(own.pid)->zombie(); }));
  CHECK(is_nobody(own));
  run_for(bench.loop, Duration{50});
  CHECK(bench.deaths.empty());
}

TEST_CASE("what a service watched before it became a foreground process is watched no more", "[inspector]") {
  InspectorBench bench;
  const Child child = sleeper();
  bench.see(InspectorBench::by_file(bench.pid_file("x", number(child))));
  CHECK(bench.inspector.watched() == 1);
  bench.see(InspectorBench::foreground());
  CHECK(bench.inspector.watched() == 0);
}

TEST_CASE("the look that follows a death is made without a walk", "[inspector]") {
  InspectorBench bench;
  const Child child = sleeper();
  const auto block = InspectorBench::by_file(bench.pid_file("x", number(child)));
  bench.see(block);
  run_for(bench.loop, Duration{510});
  child.send(SIGKILL);
  REQUIRE(run_until(bench.loop, [&] { return !bench.deaths.empty(); }));
  CHECK(process_is_gone(bench.see(block)));
  CHECK(bench.inspector.walks() == 1);
  const Child next = sleeper();
  bench.pid_file("x", number(next));
  CHECK(bench.see(block).facts->process->pid == next.pid());
  CHECK(bench.inspector.walks() == 1);
  run_for(bench.loop, Duration{510});
  CHECK(bench.see(block).facts->metrics.get(Metric::Children) == 0.0);
  CHECK(bench.inspector.walks() == 2);
}

TEST_CASE("a process that was started after its pid file was written is seen to be younger", "[inspector]") {
  InspectorBench bench;
  const Child child = sleeper();
  const std::string file = bench.pid_file("x", number(child));
  const auto block = InspectorBench::by_file(file);
  const auto written_ago = [&](Duration ago) {
    const std::int64_t when = (runtime::now().wall - ago).time_since_epoch().count();
    const ::timespec time{when / 1000, when % 1000 * 1'000'000 + 7};
    const ::timespec both[] = {time, time};
    REQUIRE(::utimensat(AT_FDCWD, file.c_str(), both, 0) == 0);
    const ProcessFacts process = bench.see(block).facts->process.value();
    CHECK(process.file == when * 1'000'000 + 7);
    return process.younger;
  };
  CHECK_FALSE(bench.see(block).facts->process->younger);
  CHECK_FALSE(written_ago(seconds{1}));
  CHECK_FALSE(written_ago(-hours{1}));  // the clock was ahead then
  CHECK(written_ago(seconds{5}));
  CHECK(written_ago(minutes{1}));
  const Instant moment = runtime::now();
  CHECK(written_ago(moment.mono - seconds{1}));
  CHECK_FALSE(written_ago(moment.mono + seconds{1}));  // before this boot: the clock may have been another
  CHECK_FALSE(written_ago(hours{10'000}));
  CHECK(bench.see(InspectorBench::by_pattern('^' + sleeper_line() + '$'), 2).facts->process->file == 0);
}

TEST_CASE("what a program has left is found by the mark that it bears", "[inspector]") {
  const std::string state = "test-" + std::to_string(::getpid());  // nobody else's
  Inspector::Options options;
  options.groups = std::make_shared<const ControlGroups>(ControlGroups(state, {}));
  InspectorBench bench(options);
  constexpr std::uint64_t action = 41;
  const Child marked({"env", "HEALER_ACTION=" + state + ":41", "sleep", "600"});
  const Child longer({"env", "HEALER_ACTION=" + state + ":420", "sleep", "600"});
  const Child another({"env", "HEALER_ACTION=other-" + state + ":42", "sleep", "600"});
  const auto missing = InspectorBench::by_file(bench.path("none"));
  const auto left = [&](std::uint64_t by) {
    bench.left_by = ActionId(by);
    const Evidence& evidence = bench.see(missing);
    CHECK(process_is_gone(evidence));
    CHECK(*evidence.output == "process is not running (the pid file " + bench.path("none") + " does not exist)");
    return evidence.facts->further->left.empty() ? LeftProcess{} : evidence.facts->further->left.front();
  };
  REQUIRE(test::eventually([&] { return left(action).pid == marked.pid() && left(action).command == "sleep 600"; }));
  CHECK(left(action).start_ticks == read_proc_stat(marked.pid())->start_ticks);
  CHECK(left(action + 1).pid == 0);
  CHECK(left(0).pid == 0);
  bench.left_by = ActionId(action);
  CHECK(bench.see(InspectorBench::by_file(bench.pid_file("x", number(marked)))).facts->further->left.empty());
}

TEST_CASE("a mark in the environment of another user's process proves nothing", "[inspector]") {
  if (::geteuid() != 0) {
    WARN("SKIPPED: only root can be another user");
    return;
  }
  const std::string state = "test-" + std::to_string(::getpid());
  Inspector::Options options;
  options.groups = std::make_shared<const ControlGroups>(ControlGroups(state, {}));
  InspectorBench bench(options);
  bench.left_by = ActionId(43);
  const Child forged({"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "env",
                      "HEALER_ACTION=" + state + ":43", "sleep", "600"});
  REQUIRE(test::eventually([&] { return command_line(forged.pid()) == "sleep 600"; }));
  const auto missing = InspectorBench::by_file(bench.path("none"));
  CHECK(bench.see(missing).facts->further->left.empty());
  // But the program may have been started as that one.
  missing->programs.edit().start = Command{.arguments = {"/bin/start"}, .identity = Identity{.uid = 65534}};
  REQUIRE(bench.see(missing).facts->further->left.size() == 1);
  CHECK(bench.see(missing).facts->further->left.front().pid == forged.pid());
}

TEST_CASE("A cancelled check is not answered, others are answered once", "[inspector]") {
  InspectorBench bench;
  const Child child = sleeper();
  const std::string file = bench.pid_file("x", number(child));
  std::vector<std::uint64_t> cancelled;
  for (std::uint32_t service = 1; service <= 60; ++service) {
    auto block = service % 3 == 0 ? InspectorBench::by_pattern("sleep") : InspectorBench::by_file(file);
    const auto run = bench.check(service % 5 == 0 ? InspectorBench::block(kind_named("system")) : block, service);
    if (service % 2 == 0) cancelled.push_back(run);
    if (service == 30) run_for(bench.loop, Duration{1});
  }
  for (const auto run : cancelled) {
    if (bench.seen.count(run) == 0) bench.inspector.cancel(RunId(run));
  }
  const auto seen_before = bench.seen;
  bench.inspector.cancel(RunId(999));
  const auto unwanted = [&](std::uint64_t run) {
    return std::ranges::find(cancelled, run) != cancelled.end() && seen_before.count(run) == 0;
  };
  for (std::uint64_t run = 1; run <= bench.last; ++run) {
    if (!unwanted(run)) bench.result(run);
  }
  run_for(bench.loop, Duration{100});
  for (std::uint64_t run = 1; run <= bench.last; ++run) CHECK(bench.answers[run] == (unwanted(run) ? 0 : 1));
  CHECK(bench.inspector.watched() > 0);
}

TEST_CASE("pid files on a mount that hangs delay nobody", "[inspector][hang]") {
  test::HungMount mount;
  if (skipped(mount)) return;
  constexpr Duration kPatience{3000};
  InspectorBench bench(impatient(kPatience));
  const Child child = sleeper();
  std::vector<std::uint64_t> hanging;
  for (std::uint32_t service = 100; service < 130; ++service) {
    hanging.push_back(bench.check(InspectorBench::by_file(mount.path() + "/x.pid"), service));
  }
  const Duration begin = mono_now();
  CHECK(bench.see(InspectorBench::by_file(bench.pid_file("x", number(child)))).facts->process);
  CHECK(mono_now() - begin < kPatience);
  for (const auto run : hanging) {
    CHECK(bench.result(run).answer == Answer::Unknown);
    CHECK_FALSE(bench.result(run).facts->process);
  }
  CHECK(*bench.result(hanging.front()).output == "there was no answer within 3 s");
  CHECK(*bench.result(hanging.back()).output ==
        "cannot read the pid file " + mount.path() + "/x.pid (" + mount.path() + " does not answer)");
  CHECK(bench.inspector.stuck() <= 4);  // most of them never took a thread
  CHECK(bench.see(InspectorBench::by_pattern('^' + sleeper_line() + '$'), 2).facts->process);
  mount.end();
  CHECK(run_until(bench.loop, [&] { return bench.inspector.stuck() == 0; }));
  for (const auto& [run, count] : bench.answers) CHECK(count == 1);
  CHECK(*bench.see(InspectorBench::by_file(mount.path() + "/x.pid"), 100).output ==
        "process is not running (the pid file " + mount.path() + "/x.pid does not exist)");
}

TEST_CASE("a mount that hangs costs the looks at itself, and no others", "[inspector][hang]") {
  test::HungMount mount;
  if (skipped(mount)) return;
  InspectorBench bench(impatient(Duration{1500}));
  REQUIRE(::symlink(mount.path().c_str(), bench.path("link").c_str()) == 0);
  const Child child = sleeper();
  const auto healthy = InspectorBench::by_file(bench.pid_file("x", number(child)));
  for (int round = 0; round < 4; ++round) {
    std::vector<std::uint64_t> hanging;
    for (std::uint32_t service = 100; service < 110; ++service) {
      hanging.push_back(bench.check(checked("filesystem", mount.path()), service));
      hanging.push_back(bench.check(checked("directory", mount.path()), service + 10));
      hanging.push_back(bench.check(checked("directory", bench.path("link")), service + 20));
    }
    CHECK(bench.see(healthy).facts->process);
    for (const auto run : hanging) CHECK(bench.result(run).answer == Answer::Unknown);
  }
  CHECK(bench.inspector.stuck() <= 6);
  mount.end();
  CHECK(run_until(bench.loop, [&] { return bench.inspector.stuck() == 0; }));
  for (const auto& [run, count] : bench.answers) CHECK(count == 1);
}

TEST_CASE("Checks of one moment are answered although one of them hangs", "[inspector][hang]") {
  test::HungMount mount;
  if (skipped(mount)) return;
  Inspector::Options options;
  options.stuck = options.patience = seconds{60};  // so that nobody comes to replace the thread that hangs
  InspectorBench bench(options);
  std::vector<std::uint64_t> healthy;
  for (std::uint32_t service = 1; service <= 100; ++service) {
    if (service == 10) bench.check(checked("directory", mount.path()), service);
    healthy.push_back(bench.check(checked("directory", bench.directory.path()), service + 100));
  }
  const Duration begin = mono_now();
  for (const auto run : healthy) CHECK(bench.result(run).answer == Answer::Present);
  CHECK(mono_now() - begin < options.stuck / 2);
  mount.end();
}

TEST_CASE("a mount that hangs costs the lines of its own files, and no others", "[inspector][hang]") {
  test::HungMount mount(test::HungMount::Answers::Names);
  if (skipped(mount)) return;
  InspectorBench bench(impatient(Duration{1500}));
  const auto read = [](const std::string& path) {
    auto block = checked("file", path);
    block->lines->patterns = {{"error", false}};
    return block;
  };
  std::vector<std::uint64_t> hanging;
  for (std::uint32_t service = 100; service < 120; ++service)
    hanging.push_back(bench.check(read(mount.path() + "/log"), service));
  CHECK(run_until(bench.loop, [&] { return bench.inspector.stuck() >= 2; }));
  const auto healthy = read(bench.pid_file("log", "error\n"));
  CHECK(bench.see(healthy).answer == Answer::Present);
  for (const auto run : hanging) CHECK(bench.result(run).answer == Answer::Unknown);
  CHECK(*bench.result(hanging.back()).output ==
        "cannot read " + mount.path() + "/log (" + mount.path() + " does not answer)");
  CHECK(bench.see(healthy).answer == Answer::Present);
  CHECK(bench.inspector.stuck() <= 4);
  mount.end();
  CHECK(run_until(bench.loop, [&] { return bench.inspector.stuck() == 0; }));
}

TEST_CASE("Checks leave no descriptor behind", "[inspector]") {
  { const InspectorBench first; }  // libuv keeps a pipe for ever once there was a loop
  const std::size_t before = test::open_descriptors();
  {
    InspectorBench bench;
    const Child child = sleeper();
    const std::string file = bench.pid_file("x", number(child));
    auto summed = InspectorBench::block(kind_named("file"));
    summed->path = file;
    Rule changed;
    changed->condition->tests.push_back(Changed{Attribute::Md5});
    summed->rules.push_back(changed);
    auto root = InspectorBench::block(kind_named("filesystem"));
    root->path = "/";
    for (int i = 0; i < 20; ++i) {
      bench.see(summed, 5);
      bench.see(root, 6);
      bench.see(InspectorBench::by_file(file));
      bench.see(InspectorBench::by_file(bench.path("none")), 2);
      bench.see(InspectorBench::by_pattern("sleep"), 3);
      bench.see(InspectorBench::block(kind_named("system")), 4);
    }
    const std::size_t open = test::open_descriptors();
    for (int i = 0; i < 20; ++i) bench.see(InspectorBench::by_file(file));
    CHECK(test::eventually([&] { return test::open_descriptors() <= open; }));  // a walk may be under way
  }
  CHECK(test::eventually([&] { return test::open_descriptors() == before; }));
}

}  // namespace inspector_test
