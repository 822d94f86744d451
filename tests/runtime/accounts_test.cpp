// SPDX-License-Identifier: MIT
// As whom programs run that name a user and a group: looked up when they begin.
#include "runtime/accounts.hpp"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <spdlog/fmt/fmt.h>
#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

#include "actions/environment.hpp"
#include "runtime/action_bench.hpp"
#include "runtime/inspection/proc_stat.hpp"
#include "runtime/programs/waiter.hpp"
#include "runtime/runner_bench.hpp"

namespace accounts_test {

using namespace healer;
using namespace healer::engine;
using namespace healer::runtime;
using healer::test::read_file;
using healer::test::reap_all;
using healer::test::run_for;
using healer::test::run_until;

namespace {

constexpr std::uint32_t kNobody = 65534;

/// A directory service that does not answer before it is let go.
class Silence {
 public:
  Result<RunsAs> answer() {
    std::unique_lock lock(mutex_);
    ++asked_;
    over_.wait(lock, [this] { return is_over_; });
    ++answered_;
    return RunsAs{.uid = ::geteuid(), .gid = {}, .home = {}};
  }
  void end() {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    over_.notify_all();
  }
  int asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  int answered() {
    const std::lock_guard lock(mutex_);
    return answered_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  int asked_ = 0;
  int answered_ = 0;
};

Spawner::Options asking(std::function<Result<RunsAs>(const Identity&)> look_up) {
  Spawner::Options options;
  options.patience = Duration{50};
  options.lookup_patience = Duration{300};
  options.look_up = std::move(look_up);
  return options;
}

/// A bench whose programs leave a mark where they have run at all.
struct Bench : test::ActionBench {
  explicit Bench(Spawner::Options spawning = {}) : ActionBench(std::move(spawning)) { waited = GENERATE(true, false); }

  std::string mark = (directory.path() / "mark").string();

  void begin(std::uint64_t id) { shell(id, "echo ran >> " + mark); }
  /// Nothing of the program was there: no process, and no file that tells of one.
  void check_nothing_ran(std::uint64_t id) {
    const std::string number = std::to_string(id);
    CHECK_FALSE(started.contains(id));
    CHECK_FALSE(std::filesystem::exists(mark));
    for (const char* suffix : {".out", ".pid", ".end"}) CHECK_FALSE(std::filesystem::exists(file(number + suffix)));
    CHECK_FALSE(test::has_children());
  }
};

bool skipped() {
  const passwd* const nobody = ::getpwnam("nobody");
  if (::geteuid() == 0 && nobody != nullptr && nobody->pw_uid == kNobody) return false;
  WARN("SKIPPED: not root, or no user nobody");
  return true;
}

}  // namespace

TEST_CASE("names are looked up, and numbers stay", "[accounts]") {
  const auto root = look_up({.user = "root", .group = "root"});
  REQUIRE(root);
  CHECK(root->uid == 0U);
  CHECK(root->gid == 0U);
  CHECK(root->home == ::getpwnam("root")->pw_dir);

  const auto number = look_up({.uid = 0, .gid = 4'000'000'000});
  REQUIRE(number);
  CHECK(number->uid == 0U);
  CHECK(number->gid == 4'000'000'000);
  CHECK(number->home == ::getpwnam("root")->pw_dir);

  const auto group = look_up({.group = "root"});
  REQUIRE(group);
  CHECK_FALSE(group->uid);
  CHECK(group->gid == 0U);
  CHECK(group->home.empty());

  // As a plan of an earlier healer has it: its numbers count, whoever has that name now.
  const Identity found{.uid = 33, .gid = 34, .user = "root", .home = "/srv"};
  CHECK_FALSE(found.is_open());
  CHECK_FALSE(Identity{}.is_open());
  CHECK(Identity{.user = "root"}.is_open());
  CHECK(Identity{.uid = 33}.is_open());
  CHECK(Identity{.group = "www"}.is_open());
  const auto kept = look_up(found);
  REQUIRE(kept);
  CHECK(kept->uid == 33U);
  CHECK(kept->gid == 34U);
  CHECK(kept->home == "/srv");
}

TEST_CASE("who is unknown is said, and is nobody", "[accounts]") {
  const auto reason = [](const Identity& identity) {
    const auto found = look_up(identity);
    return found ? std::string("found") : found.error().what;
  };
  CHECK(reason({.user = "no_such"}) == "user no_such is unknown on this machine");
  CHECK(reason({.user = "root", .group = "no_such"}) == "group no_such is unknown on this machine");
  CHECK(reason({.user = "no_such", .group = "neither"}) == "user no_such is unknown on this machine");
  CHECK(reason({.uid = 4'000'000'000}) == "user 4000000000 is unknown on this machine");
  CHECK(reason({.uid = kNoNumber}) == "user 4294967295 is unknown on this machine");
  CHECK(reason({.user = "a\nb"}) == "user a\\nb is unknown on this machine");
  CHECK(names_in({.user = "deploy", .group = "www"}) == "user deploy and group www");
  CHECK(names_in({.uid = 7, .gid = 8}) == "user 7");
}

TEST_CASE("a program runs as the user and group that it names, with that user's HOME", "[accounts]") {
  if (skipped()) return;
  Bench bench;
  const std::string group = ::getgrgid(::getpwnam("nobody")->pw_gid)->gr_name;
  bench.identity = {.user = "nobody", .group = group};
  bench.environment.emplace_back("HOME=/daemon");
  const std::string check = "id -u; id -G; echo $HOME; echo again >> /dev/stdout";
  const std::string numbers = "65534\n" + std::to_string(::getpwnam("nobody")->pw_gid) + "\n";
  bench.shell(1, check);
  CHECK(bench.end(1).output == numbers + "/daemon\nagain\n");  // the rules set it
  bench.sets_home = true;
  bench.shell(2, check);
  CHECK(bench.end(2).output == numbers + ::getpwnam("nobody")->pw_dir + "\nagain\n");
  bench.identity = {.uid = kNobody};
  bench.shell(3, "id -u; id -G; echo $HOME");
  CHECK(bench.end(3).output == "65534\n0\n" + std::string(::getpwnam("nobody")->pw_dir) + "\n");
  const auto trace = bench.runner->files().read(ActionId(2));
  REQUIRE(trace);
  CHECK(trace->owner == kNobody);
}

TEST_CASE("a later daemon knows as whom a program runs that named its user", "[accounts]") {
  if (skipped()) return;
  test::ActionBench bench;
  const std::string state = fmt::format("accounts-test-{}", ::getpid());
  bench.options.groups = std::make_shared<const ControlGroups>(ControlGroups(state, {}));
  bench.foreground = true;
  bench.identity = {.user = "nobody"};
  // What has left its session is found by its mark, among the processes of its user.
  bench.environment.push_back(actions::action_mark(state, ActionId(1)));
  bench.shell(1, "setsid sleep 600 > /dev/null 2>&1 & echo $!; sleep 600");
  REQUIRE(run_until(bench.loop, [&] { return read_file(bench.file("1.out")).ends_with('\n'); }));
  const auto left = static_cast<pid_t>(std::stoi(read_file(bench.file("1.out"))));
  REQUIRE(test::eventually([&] {
    const auto stat = read_proc_stat(left);
    return stat && stat->session == left;
  }));
  bench.new_daemon();
  bench.runner->adopt(ActionId(1), true);
  REQUIRE(run_until(bench.loop, [&] { return bench.started.contains(1); }));
  bench.runner->end(ActionId(1));
  bench.end(1);
  const auto stat = read_proc_stat(left);
  CHECK((!stat || stat->zombie()));
  CHECK(reap_all());
}

TEST_CASE("nothing of a program runs whose user or group is unknown", "[accounts]") {
  Bench bench;
  bench.identity = {.user = "no_such"};
  std::string why = "user no_such is unknown on this machine";
  SECTION("a user") {}
  SECTION("a group") {
    bench.identity = {.group = "no_such"};
    why = "group no_such is unknown on this machine";
  }
  SECTION("a number") {
    bench.identity = {.uid = 4'000'000'000};
    why = "user 4000000000 is unknown on this machine";
  }
  bench.begin(1);
  CHECK(bench.end(1).outcome == Outcome::NotStarted);
  CHECK(bench.end(1).output == why);
  bench.check_nothing_ran(1);
}

TEST_CASE("a program that a former daemon has begun is found, though its user is unknown by now", "[accounts]") {
  Bench bench;
  bench.begin(1);
  CHECK(bench.end(1).status == 0);
  bench.new_daemon();
  bench.identity = {.user = "no_such"};
  bench.begin(1);
  CHECK(bench.end(1).outcome == Outcome::Exited);
  CHECK(read_file(bench.mark) == "ran\n");
  CHECK(reap_all());
}

TEST_CASE("nothing of a program runs whose user cannot be looked up", "[accounts]") {
  Bench bench(asking([](const Identity&) -> Result<RunsAs> { return Error{EIO, "user x cannot be looked up: no"}; }));
  bench.identity = {.user = "root"};
  bench.begin(1);
  CHECK(bench.end(1).outcome == Outcome::NotStarted);
  CHECK(bench.end(1).output == "user x cannot be looked up: no");
  bench.check_nothing_ran(1);
}

TEST_CASE("a look-up that fails in no known way starts nothing", "[accounts]") {
  Bench bench(asking([](const Identity&) -> Result<RunsAs> { throw std::runtime_error("no memory"); }));
  bench.options.resource_patience = Duration{0};
  bench.identity = {.user = "root"};
  bench.begin(1);
  CHECK(bench.end(1).outcome == Outcome::NotStarted);
  CHECK(bench.end(1).output == "cannot start a program: no memory");
  bench.check_nothing_ran(1);
}

TEST_CASE("look-ups that are not answered fail in time, hold nobody up, and start nothing later", "[accounts]") {
  const auto silence = std::make_shared<Silence>();
  Bench bench(asking([silence](const Identity&) { return silence->answer(); }));
  const Identity named{.user = "root"};
  bench.identity = named;
  bench.begin(1);
  bench.begin(2);
  REQUIRE(run_until(bench.loop, [&] { return silence->asked() == 2; }));
  bench.identity = {};
  bench.start(3, {"/bin/true"});
  CHECK(bench.end(3).status == 0);
  CHECK(bench.ended.size() == 1);
  for (const std::uint64_t id : {1, 2}) {
    CHECK(bench.end(id).outcome == Outcome::NotStarted);
    CHECK(bench.end(id).output == "user root cannot be looked up: no answer within 300 ms");
  }
  // Those that come now take no threads for it.
  bench.identity = named;
  for (std::uint64_t id = 10; id < 40; ++id) bench.begin(id);
  for (std::uint64_t id = 10; id < 40; ++id) {
    CHECK(bench.end(id).outcome == Outcome::NotStarted);
    CHECK(bench.end(id).output == "user root cannot be looked up: others have no answer either");
  }
  CHECK(silence->asked() == 2);
  bench.identity = {};
  bench.start(4, {"/bin/true"});
  CHECK(bench.end(4).status == 0);

  silence->end();
  REQUIRE(run_until(bench.loop, [&] { return silence->answered() == 2 && bench.spawner.stuck() == 0; }));
  run_for(bench.loop, Duration{200});
  for (const std::uint64_t id : {1, 2, 10, 39}) bench.check_nothing_ran(id);
  bench.identity = named;
  bench.begin(5);
  CHECK(bench.end(5).status == 0);
  CHECK(read_file(bench.mark) == "ran\n");
}

TEST_CASE("a user who is not answered for holds up no other user", "[accounts]") {
  const auto silence = std::make_shared<Silence>();
  Bench bench(asking([silence](const Identity& who) -> Result<RunsAs> {
    if (who.user == "root") return silence->answer();
    return RunsAs{.uid = ::geteuid(), .gid = {}, .home = {}};
  }));
  bench.identity = {.user = "root"};
  bench.begin(1);
  bench.begin(2);
  for (const std::uint64_t id : {1, 2}) CHECK(bench.end(id).outcome == Outcome::NotStarted);
  bench.identity = {.user = "local"};
  bench.begin(3);
  CHECK(bench.end(3).status == 0);
  silence->end();
  REQUIRE(run_until(bench.loop, [&] { return silence->answered() == 2 && bench.spawner.stuck() == 0; }));
}

TEST_CASE("many users who are not answered for leave threads to what names none", "[accounts]") {
  const auto silence = std::make_shared<Silence>();
  Bench bench(asking([silence](const Identity&) { return silence->answer(); }));
  for (std::uint64_t id = 0; id < 40; ++id) {
    bench.identity = {.user = "user" + std::to_string(id)};
    bench.begin(id + 1);
  }
  for (std::uint64_t id = 1; id <= 40; ++id) CHECK(bench.end(id).outcome == Outcome::NotStarted);
  CHECK(silence->asked() < 16);
  bench.identity = {};
  bench.start(50, {"/bin/true"});
  CHECK(bench.end(50).status == 0);
  silence->end();
  REQUIRE(run_until(bench.loop, [&] { return bench.spawner.stuck() == 0; }));
}

TEST_CASE("a program whose user is looked up while the spawner goes is not started any more", "[accounts]") {
  const auto silence = std::make_shared<Silence>();
  const test::TemporaryDirectory directory;
  const std::string mark = (directory.path() / "mark").string();
  Loop loop;
  auto spawner = std::make_unique<Spawner>(loop, asking([silence](const Identity&) { return silence->answer(); }));
  Launch launch;
  launch.arguments = {"/bin/sh", "-c", "echo ran >> " + mark};
  launch.run_as({.user = "root"});
  const auto prepared = std::make_shared<std::atomic<bool>>(false);
  spawner->start(
      std::move(launch), [](const Result<Started>&) { FAIL("nobody is told"); },
      [prepared](Launch&) -> Result<void> {
        *prepared = true;
        return {};
      });
  REQUIRE(run_until(loop, [&] { return silence->asked() == 1; }));
  spawner.reset();
  silence->end();
  REQUIRE(test::eventually([&] { return silence->answered() == 1; }));
  run_for(loop, Duration{200});
  CHECK_FALSE(*prepared);
  CHECK_FALSE(std::filesystem::exists(mark));
}

TEST_CASE("a program that is to end while its user is looked up is not started any more", "[accounts]") {
  const auto silence = std::make_shared<Silence>();
  auto options = asking([silence](const Identity&) { return silence->answer(); });
  options.lookup_patience = Duration{60'000};
  Bench bench(std::move(options));
  bench.identity = {.user = "root"};
  bench.begin(1);
  REQUIRE(run_until(bench.loop, [&] { return silence->asked() == 1; }));
  bench.runner->end(ActionId(1));
  CHECK(bench.end(1).outcome == Outcome::NotStarted);
  CHECK(bench.end(1).output == "not started: it was cancelled before");
  silence->end();
  REQUIRE(run_until(bench.loop, [&] { return silence->answered() == 1; }));
  run_for(bench.loop, Duration{200});
  bench.check_nothing_ran(1);
}

TEST_CASE("a check program never runs as healer in place of a user who is unknown", "[accounts]") {
  test::RunnerBench bench;
  bench.identity = {.user = "no_such"};
  const auto run = bench.start({"/bin/true"});
  CHECK(bench.result(run).outcome == Outcome::NotStarted);
  CHECK(bench.output(run) == "user no_such is unknown on this machine");
}

TEST_CASE("nothing is started as somebody who is not known", "[accounts]") {
  const std::string why = "it is not known as whom the program is to run";
  LaunchProgress progress;
  const auto refusal = [&](const Identity& identity, bool waited) {
    Launch launch;
    launch.arguments = {"/bin/true"};
    launch.run_as(identity);
    if (waited) launch.waiter = WaiterOrder{.program = "/bin/true", .action = ActionId(1)};
    const auto result = waited ? start_waited(std::move(launch), {}, progress)
                               : Launcher(LaunchDefaults{}).start(std::move(launch), progress);
    return result ? std::string() : result.error().what;
  };
  CHECK(refusal({.user = "root"}, false) == why);
  CHECK(refusal({.user = "root"}, true) == why);
  // For the kernel this number means: as before.
  CHECK(refusal({.uid = kNoNumber, .user = "x"}, false) == why);
  CHECK(refusal({.gid = kNoNumber}, false) == why);
  CHECK_FALSE(test::has_children());
}

}  // namespace accounts_test
