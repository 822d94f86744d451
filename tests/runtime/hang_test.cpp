// SPDX-License-Identifier: MIT
// What never answers must delay nobody: mounts, patterns, workers.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "runtime/action_bench.hpp"
#include "runtime/files/mount_guard.hpp"
#include "runtime/matcher.hpp"
#include "runtime/process/spawner.hpp"
#include "runtime/runner_bench.hpp"
#include "runtime/worker_pool.hpp"
#include "support/hung_mount.hpp"
#include "support/processes.hpp"

namespace hang_test {

using namespace healer;
using namespace healer::engine;
using namespace healer::runtime;
using healer::test::run_for;
using healer::test::run_until;

namespace {

/// Work that blocks until it is let go.
class Gate {
 public:
  void wait() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    opened_.wait(lock, [this] { return open_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }
  int waiting() {
    const std::lock_guard lock(mutex_);
    return waiting_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
  int waiting_ = 0;
};

}  // namespace

TEST_CASE("workers that are stuck are replaced, up to a limit, and work is refused beyond it", "[hang]") {
  Loop loop;
  Gate gate;
  WorkerPool pool(loop, {"test", 2, 3, Duration{50}});
  int done = 0;
  std::vector<std::string> refused;
  const auto blocking = [&]() -> Loop::Callback {
    gate.wait();
    return [&] { ++done; };
  };
  const auto refuse = [&](Error error) { refused.push_back(error.what); };
  for (int i = 0; i < 4; ++i) pool.submit(blocking, refuse);
  int quick = 0;
  pool.submit([&]() -> Loop::Callback { return [&] { ++quick; }; }, refuse);
  CHECK(run_until(loop, [&] { return quick == 1; }));
  CHECK(test::eventually([&] { return gate.waiting() == 4; }));
  CHECK(run_until(loop, [&] { return pool.stuck() == 4; }));

  pool.submit(blocking, refuse);  // the last worker that may be lost
  pool.submit([&]() -> Loop::Callback { return [&] { ++quick; }; }, refuse);
  CHECK(run_until(loop, [&] { return !refused.empty(); }));
  CHECK(refused == std::vector<std::string>{"all 5 workers (test) hang"});
  CHECK(quick == 1);

  gate.open();
  CHECK(run_until(loop, [&] { return done == 5; }));
  CHECK(pool.stuck() == 0);
  pool.submit([&]() -> Loop::Callback { return [&] { ++quick; }; }, refuse);
  CHECK(run_until(loop, [&] { return quick == 2; }));
}

TEST_CASE("work that throws is refused with what it threw, and its worker goes on", "[hang]") {
  Loop loop;
  WorkerPool pool(loop, {"test", 1, 0, Duration{1000}});
  std::vector<std::string> refused;
  const auto refuse = [&](Error error) { refused.push_back(error.what); };
  int done = 0;
  for (int i = 0; i < 2; ++i) {
    pool.submit([]() -> Loop::Callback { throw std::runtime_error("no more entries"); }, refuse);
    pool.submit([&]() -> Loop::Callback { return [&] { ++done; }; }, refuse);
  }
  CHECK(run_until(loop, [&] { return done == 2; }));
  CHECK(refused == std::vector<std::string>(2, "no more entries"));
  CHECK(pool.stuck() == 0);
}

TEST_CASE("a pool can go while its workers hang, and what they finish later reaches nobody", "[hang]") {
  Loop loop;
  auto gate = std::make_shared<Gate>();
  bool reached = false;
  {
    WorkerPool pool(loop, {"test", 1, 0, Duration{10}});
    pool.submit(
        [gate, &reached]() -> Loop::Callback {
          gate->wait();
          return [&reached] { reached = true; };
        },
        [](Error) {});
    CHECK(run_until(loop, [&] { return gate->waiting() == 1; }));
  }
  gate->open();
  run_for(loop, Duration{50});
  CHECK_FALSE(reached);
}

TEST_CASE("All tasks of a batch are done and reported once, possibly over several turns", "[hang]") {
  Loop loop;
  WorkerPool pool(loop, {.name = "test"});
  constexpr std::size_t kTasks = 5000;
  std::vector<int> answered(kTasks, 0);
  std::vector<std::string> refused;
  std::vector<WorkerPool::Task> tasks;
  std::size_t all = 0;
  for (std::size_t i = 0; i < kTasks; ++i)
    tasks.push_back({[&, i]() -> Loop::Callback {
                       if (i % 100 == 0) throw std::runtime_error(std::to_string(i));
                       if (i % 100 == 1) return {};
                       return [&, i] {
                         ++answered[i];
                         ++all;
                         if (i % 50 == 2) std::this_thread::sleep_for(std::chrono::microseconds{500});
                       };
                     },
                     [&](const Error& error) { refused.push_back(error.what); }});
  pool.submit(std::move(tasks));
  pool.submit(std::vector<WorkerPool::Task>{});
  CHECK(run_until(loop, [&] { return all == kTasks / 100 * 98 && refused.size() == kTasks / 100; }));
  run_for(loop, Duration{20});
  for (std::size_t i = 0; i < kTasks; ++i) REQUIRE(answered[i] == (i % 100 < 2 ? 0 : 1));
  CHECK(refused.size() == kTasks / 100);
}

TEST_CASE("Results that gather while the loop is busy are reported over several turns", "[hang]") {
  Loop loop;
  WorkerPool pool(loop, {.name = "test"});
  constexpr std::size_t kTasks = 200;
  std::atomic<std::size_t> done = 0;
  std::size_t answered = 0, answered_before_others = 0;
  for (std::size_t i = 0; i < kTasks; ++i)
    pool.submit(
        [&]() -> Loop::Callback {
          ++done;
          return [&] {
            if (answered == 0) loop.post([&] { answered_before_others = answered; });
            ++answered;
            std::this_thread::sleep_for(std::chrono::microseconds{500});
          };
        },
        [](const Error&) {});
  while (done < kTasks) std::this_thread::yield();
  CHECK(run_until(loop, [&] { return answered == kTasks; }));
  CHECK(answered_before_others > 0);
  CHECK(answered_before_others < kTasks);
}

TEST_CASE("A hanging task holds up no other task of its batch", "[hang]") {
  Loop loop;
  Gate gate;
  // Nobody is replaced here within the time of the test: there are these two workers.
  WorkerPool pool(loop, {.name = "test", .workers = 2, .max_lost = 0, .patience = minutes{10}});
  int quick = 0;
  int hung = 0;
  const auto refuse = [](const Error& error) { FAIL(error.what); };
  const auto batch = [&](bool with_one_that_hangs) {
    std::vector<WorkerPool::Task> tasks;
    for (int i = 0; i < 50; ++i) {
      if (with_one_that_hangs && i == 3)
        tasks.push_back({[&]() -> Loop::Callback {
                           gate.wait();
                           return [&] { ++hung; };
                         },
                         refuse});
      else
        tasks.push_back({[&]() -> Loop::Callback { return [&] { ++quick; }; }, refuse});
    }
    pool.submit(std::move(tasks));
  };
  batch(true);
  CHECK(run_until(loop, [&] { return quick == 49; }));  // those before it, too, which its worker had done
  for (int i = 1; i <= 20; ++i) {
    batch(false);
    CHECK(run_until(loop, [&] { return quick == 49 + 50 * i; }));
  }
  // The second worker hangs with what it had done, and nobody is left for the rest.
  batch(true);
  CHECK(run_until(loop, [&] { return quick == 49 + 50 * 20 + 3; }));
  CHECK(gate.waiting() == 2);
  gate.open();
  CHECK(run_until(loop, [&] { return hung == 2 && quick == 49 * 2 + 50 * 20; }));
}

TEST_CASE("A pool may be destroyed by its own report, and reports nothing more", "[hang]") {
  Loop loop;
  auto pool = std::make_unique<WorkerPool>(loop, WorkerPool::Options{.name = "test", .workers = 1});
  int answered = 0;
  std::vector<WorkerPool::Task> tasks;
  for (int i = 0; i < 100; ++i)
    tasks.push_back({[&]() -> Loop::Callback {
                       return [&] {
                         ++answered;
                         pool.reset();
                       };
                     },
                     [](const Error&) {}});
  pool->submit(std::move(tasks));
  CHECK(run_until(loop, [&] { return answered > 0; }));
  run_for(loop, Duration{20});
  CHECK(answered == 1);
}

TEST_CASE("a pattern that backtracks without end delays no other service, and is said to have taken too long",
          "[hang]") {
  ProcessRunner::Options options;
  options.matcher.patience = Duration{1000};
  test::RunnerBench bench(options);
  // Two of them, as many as there are matching threads. On this text each takes seconds.
  const std::vector<std::string> evil{"(.*)(.*)(.*)(.*)\\1\\2\\3\\4[x]"};
  const std::string text(60, 'a');
  const auto first = bench.start({"/usr/bin/printf", text}, Duration{0}, 0, evil);
  const auto second = bench.start({"/usr/bin/printf", text}, Duration{0}, 0, evil);
  const auto good = bench.start({"/usr/bin/printf", "fine"}, Duration{0}, 0, {"^fine$"});
  // The program has ended in time: it is not said to have timed out.
  CHECK(bench.result(first).outcome == Outcome::Unmatched);
  CHECK(bench.result(second).outcome == Outcome::Unmatched);
  CHECK(bench.result(first).status == 9);
  CHECK(bench.output(first) == "the output could not be matched within 1 s\n" + text);
  bench.result(good);
  const auto later = bench.start({"/usr/bin/printf", "fine"}, Duration{0}, 0, {"^fine$"});
  CHECK(bench.result(later).outcome == Outcome::Exited);
  CHECK(bench.result(later).matches == 1);
}

TEST_CASE("programs on a mount that hangs time out, and delay nobody", "[hang]") {
  test::HungMount mount;
  if (skipped(mount)) return;
  Spawner::Options options;
  options.threads = 2;
  options.patience = Duration{100};
  test::RunnerBench bench({}, std::move(options));
  std::vector<std::uint64_t> hanging;
  for (int i = 0; i < 20; ++i) hanging.push_back(bench.start({mount.path() + "/program"}, seconds{5}));
  const auto quick = bench.start({"/bin/true"});
  CHECK(bench.result(quick).status == 0);
  CHECK(bench.seen.size() == 1);
  for (const auto id : hanging) {
    CHECK(bench.result(id).outcome == Outcome::TimedOut);
    CHECK(bench.result(id).status == 9);
  }
  // Most of them never took a thread.
  CHECK(bench.spawner.stuck() <= 6);
  CHECK(bench.runner.running() >= 2);  // which nothing can end while the mount hangs
  CHECK(bench.result(bench.start({"/bin/true"})).status == 0);
  mount.end();
  CHECK(bench.idle());
  CHECK(run_until(bench.loop, [&] { return bench.spawner.stuck() == 0; }));
  CHECK_FALSE(test::has_children());
}

TEST_CASE("programs on a mount that hangs for long are refused, without a thread for each", "[hang]") {
  test::HungMount mount;
  if (skipped(mount)) return;
  Spawner::Options options;
  options.patience = Duration{50};
  options.mount_patience = Duration{300};
  test::RunnerBench bench({}, std::move(options));
  const auto first = bench.start({mount.path() + "/a"});
  const auto second = bench.start({mount.path() + "/b"});
  CHECK(run_until(bench.loop, [&] { return bench.spawner.stuck() == 2; }));
  run_for(bench.loop, Duration{1000});  // the wait for the mount began a little later than the thread's work
  const auto third = bench.start({mount.path() + "/c"});
  CHECK(bench.result(third).outcome == Outcome::NotStarted);
  CHECK(bench.output(third) ==
        "cannot execute " + mount.path() + "/c (programs on " + mount.path() + " do not answer): Input/output error");
  CHECK(bench.seen.size() == 1);
  mount.end();
  CHECK(bench.result(first).outcome == Outcome::NotStarted);
  CHECK(bench.result(second).outcome == Outcome::NotStarted);
  CHECK(bench.idle());
  CHECK_FALSE(test::has_children());
}

TEST_CASE("an action on a mount that hangs holds up its line for a while only", "[hang]") {
  test::HungMount mount;
  if (skipped(mount)) return;
  test::ActionBench bench;
  bench.options.line_patience = Duration{200};
  bench.line = "web";
  bench.start(1, {mount.path() + "/program"});
  bench.start(2, {"/bin/true"});
  bench.start(3, {"/bin/true"});
  CHECK(bench.end(2).status == 0);
  CHECK(bench.end(3).status == 0);
  mount.end();
  CHECK(bench.end(1).outcome == Outcome::NotStarted);
}

TEST_CASE("a program under a waiter whose mount hangs is ended, or fails, when the mount does", "[hang]") {
  test::HungMount mount;
  if (skipped(mount)) return;
  test::ActionBench bench;
  bench.waited = true;
  bench.start(1, {mount.path() + "/program"});
  REQUIRE(run_until(bench.loop, [&] { return mount.waiting() > 0; }));
  SECTION("it is ended: its waiter goes at once, itself when the kernel lets it") {
    bench.runner->end(ActionId(1));
    REQUIRE(run_until(bench.loop, [&] { return bench.started.contains(1); }));
    CHECK(bench.ended.empty());
    mount.end();
    CHECK(bench.end(1).outcome != Outcome::NotStarted);
  }
  SECTION("it fails") {
    mount.end();
    CHECK(bench.end(1).outcome == Outcome::NotStarted);
    CHECK(bench.end(1).output.starts_with("cannot execute"));
  }
  CHECK(test::reap_all());
}

TEST_CASE("when every thread that may be lost is lost, runs are reported as not started", "[hang]") {
  test::HungMount one;
  test::HungMount other;
  if (skipped(one) || skipped(other)) return;
  Spawner::Options options;
  options.threads = 1;
  options.max_lost = 2;
  options.patience = Duration{50};
  ProcessRunner::Options runner;
  runner.resource_patience = Duration{300};
  test::RunnerBench bench(runner, std::move(options));
  bench.start({one.path() + "/a"});
  bench.start({one.path() + "/b"});
  bench.start({other.path() + "/c"});
  CHECK(run_until(bench.loop, [&] { return bench.spawner.stuck() == 3; }));
  const auto refused = bench.start({"/bin/true"});
  CHECK(bench.result(refused).outcome == Outcome::NotStarted);
  CHECK(bench.output(refused) == "not started: cannot start a program: all 3 workers (healer-spawn) hang");
  one.end();
  other.end();
  CHECK(bench.result(bench.start({"/bin/true"})).status == 0);
  CHECK(bench.idle());
  CHECK_FALSE(test::has_children());
}

TEST_CASE("the mount of a path is known without touching the path", "[hang]") {
  CHECK(mount_of("/proc/1/exe") == "/proc");
  CHECK(mount_of("/proc") == "/proc");
  CHECK(mount_of("/") == "/");
  CHECK(mount_of("relative") == "/");
  CHECK(mount_of("/processes-of-old/x") == "/");
}

}  // namespace hang_test
