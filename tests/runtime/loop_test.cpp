// SPDX-License-Identifier: MIT
#include "runtime/loop.hpp"

#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <thread>
#include <vector>

#include "runtime/descriptor.hpp"
#include "support/processes.hpp"

namespace loop_test {

using namespace healer;
using namespace healer::runtime;
using healer::test::run_for;
using healer::test::run_until;

TEST_CASE("work posted from many threads runs on the loop thread, in each thread's order", "[loop]") {
  Loop loop;
  constexpr int kThreads = 4;
  constexpr int kEach = 2000;
  std::vector<int> next(kThreads, 0);
  int done = 0;
  bool in_order = true;
  bool on_thread = true;
  const auto home = std::this_thread::get_id();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        loop.post([&, t, i] {
          in_order = in_order && next[static_cast<std::size_t>(t)]++ == i;
          on_thread = on_thread && std::this_thread::get_id() == home;
          ++done;
        });
      }
    });
  }
  CHECK(run_until(loop, [&] { return done == kThreads * kEach; }));
  for (auto& thread : threads) thread.join();
  CHECK(in_order);
  CHECK(on_thread);
}

TEST_CASE("posted work that posts itself for ever does not keep timers and descriptors waiting", "[loop]") {
  Loop loop;
  bool stop = false;
  std::function<void()> again = [&] {
    if (!stop) loop.post(again);
  };
  loop.post(again);
  Descriptor event(::eventfd(1, EFD_CLOEXEC));
  bool seen = false;
  auto watch = loop.watch(event.get(), Loop::kReadable, [&](unsigned) { seen = true; });
  REQUIRE(watch);
  CHECK(run_until(loop, [&] { return seen; }));
  stop = true;
  run_for(loop, Duration{10});
}

TEST_CASE("what is gathered in a turn runs before the loop waits, in order, and may ask for more", "[loop]") {
  Loop loop;
  std::vector<int> ran;
  loop.at_end_of_turn([&] {
    ran.push_back(1);
    loop.at_end_of_turn([&] {
      ran.push_back(3);
      loop.stop();
    });
  });
  loop.at_end_of_turn([&] { ran.push_back(2); });
  loop.run();  // nothing else wakes it
  CHECK(ran == std::vector<int>{1, 2, 3});
}

TEST_CASE("a flood of readable descriptors starves none of them", "[loop]") {
  Loop loop;
  constexpr std::size_t kMany = 200;
  std::vector<Descriptor> events;
  std::vector<Loop::Watch> watches;
  std::vector<int> calls(kMany, 0);
  for (std::size_t i = 0; i < kMany; ++i) {
    events.emplace_back(::eventfd(1, EFD_CLOEXEC));
    auto watch = loop.watch(events.back().get(), Loop::kReadable, [&calls, i](unsigned) {
      ++calls[i];
      const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(200);
      while (std::chrono::steady_clock::now() < until) {
      }
    });
    REQUIRE(watch);
    watches.push_back(std::move(*watch));
  }
  CHECK(run_until(loop, [&] { return *std::min_element(calls.begin(), calls.end()) >= 3; }));
}

TEST_CASE("timers fire in the order of their deadlines, never early, once", "[loop]") {
  Loop loop;
  std::vector<int> order;
  std::vector<Loop::Timer> timers;
  const Duration start = mono_now();
  bool early = false;
  for (const int delay : {60, 20, 40, 0}) {
    timers.push_back(loop.timer([&, delay] {
      early = early || mono_now() < start + Duration{delay};
      order.push_back(delay);
    }));
    timers.back().set_deadline(start + Duration{delay});
  }
  CHECK(run_until(loop, [&] { return order.size() == 4; }));
  run_for(loop, Duration{30});
  CHECK(order == std::vector<int>{0, 20, 40, 60});
  CHECK_FALSE(early);
}

TEST_CASE("a timer can be set anew, called off, and destroyed, also by its own or another callback", "[loop]") {
  Loop loop;
  int first = 0;
  int second = 0;
  Loop::Timer other = loop.timer([&] { ++second; });
  Loop::Timer self;
  self = loop.timer([&] {
    if (++first < 3) {
      self.set_deadline(mono_now() + Duration{1});
    } else {
      other = {};
      self = {};
    }
  });
  const Duration now = mono_now();
  other.set_deadline(now + Duration{10'000});
  other.set_deadline(now + Duration{20'000});
  self.set_deadline(now + Duration{5});
  CHECK(run_until(loop, [&] { return first == 3; }));
  CHECK(second == 0);

  // Two that are due in the same turn: the first takes the second away.
  int late = 0;
  Loop::Timer b = loop.timer([&] { ++late; });
  Loop::Timer a = loop.timer([&] { b = {}; });
  a.set_deadline(Duration{1});
  b.set_deadline(Duration{2});
  run_for(loop, Duration{20});
  CHECK(late == 0);
}

TEST_CASE("a watch ends with its handle, even within the turn that would call it", "[loop]") {
  Loop loop;
  Descriptor a(::eventfd(1, EFD_CLOEXEC));
  Descriptor b(::eventfd(1, EFD_CLOEXEC));
  Loop::Watch watch_a;
  Loop::Watch watch_b;
  int calls = 0;
  const auto both_away = [&](unsigned) {
    ++calls;
    watch_a = {};
    watch_b = {};
  };
  watch_a = loop.watch(a.get(), Loop::kReadable, both_away).value();
  watch_b = loop.watch(b.get(), Loop::kReadable, both_away).value();
  run_for(loop, Duration{30});
  CHECK(calls == 1);
}

TEST_CASE("a plain file cannot be watched, and the same descriptor not twice", "[loop]") {
  Loop loop;
  test::TemporaryDirectory directory;
  const std::string path = test::write_with_mode(directory.path() / "plain", "x", 0644);
  FILE* file = ::fopen(path.c_str(), "re");
  REQUIRE(file != nullptr);
  auto plain = loop.watch(::fileno(file), Loop::kReadable, [](unsigned) {});
  REQUIRE_FALSE(plain);
  CHECK(plain.error().code == EPERM);
  ::fclose(file);
  Descriptor event(::eventfd(0, EFD_CLOEXEC));
  auto once = loop.watch(event.get(), Loop::kReadable, [](unsigned) {});
  REQUIRE(once);
  auto twice = loop.watch(event.get(), Loop::kReadable, [](unsigned) {});
  REQUIRE_FALSE(twice);
  CHECK(twice.error().code == EEXIST);
}

TEST_CASE("what a watch waits for can be changed", "[loop]") {
  Loop loop;
  Descriptor event(::eventfd(0, EFD_CLOEXEC));
  unsigned seen = 0;
  Loop::Watch watch;
  watch = loop.watch(event.get(), Loop::kReadable,
                     [&](unsigned ready) {
                       seen |= ready;
                       watch.change(0);
                     })
              .value();
  run_for(loop, Duration{20});
  CHECK(seen == 0);
  watch.change(Loop::kWritable);
  CHECK(run_until(loop, [&] { return seen != 0; }));
  CHECK(seen == Loop::kWritable);
}

TEST_CASE("a signal is told to the loop", "[loop]") {
  Loop loop;
  int seen = 0;
  auto watch = loop.on_signal(SIGUSR1, [&] { ++seen; });
  REQUIRE(watch);
  ::kill(::getpid(), SIGUSR1);
  CHECK(run_until(loop, [&] { return seen == 1; }));
}

TEST_CASE("a step of the wall clock is noticed", "[loop]") {
  Loop loop;
  int steps = 0;
  loop.on_clock_step([&] { ++steps; });
  run_for(loop, Duration{20});
  CHECK(steps == 0);
  timex step{};
  step.modes = ADJ_SETOFFSET | ADJ_NANO;
  step.time.tv_usec = 1;  // of a nanosecond, so that nobody else's time is wrong: for the kernel that is a step
  if (::clock_adjtime(CLOCK_REALTIME, &step) < 0) {
    WARN("SKIPPED: the clock may not be set here");
    return;
  }
  CHECK(run_until(loop, [&] { return steps > 0; }));
}

TEST_CASE("a turn that takes long shows as lag", "[loop]") {
  Loop loop;
  run_for(loop, Duration{10});
  bool done = false;
  loop.post([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(80));
    done = true;
  });
  CHECK(run_until(loop, [&] { return done; }));
  run_for(loop, Duration{5});
  CHECK(loop.lag().max >= std::chrono::milliseconds(80));
  CHECK(loop.lag().recent >= std::chrono::milliseconds(80));
}

TEST_CASE("a loop leaves no descriptor behind", "[loop]") {
  { const Loop warm_up; }  // libuv opens some for the whole process
  const std::size_t before = test::open_descriptors();
  {
    Loop loop;
    auto timer = loop.timer([] {});
    timer.set_deadline(mono_now() + seconds{100});
    auto signal = loop.on_signal(SIGUSR2, [] {});
    run_for(loop, Duration{5});
  }
  CHECK(test::open_descriptors() == before);
}

TEST_CASE("many timers that run out at once do not keep the loop from others", "[loop]") {
  runtime::Loop loop;
  constexpr int kTimers = 200;
  int fired = 0, turns = 0;
  std::vector<runtime::Loop::Timer> timers;
  for (int i = 0; i < kTimers; ++i)
    timers.push_back(loop.timer([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
      if (++fired == kTimers) loop.stop();
    }));
  for (auto& timer : timers) timer.set_deadline(Duration{0});
  std::function<void()> turn = [&] {
    ++turns;
    if (fired < kTimers) loop.post(turn);
  };
  loop.post(turn);
  loop.run();
  CHECK(fired == kTimers);
  CHECK(turns > kTimers / 10);
}

TEST_CASE("a timer that goes before its turn is not told", "[loop]") {
  runtime::Loop loop;
  int answered = 0;
  runtime::Loop::Timer second;
  runtime::Loop::Timer first = loop.timer([&] {
    ++answered;
    second = {};
    std::this_thread::sleep_for(runtime::Loop::kTurnBudget * 2);
    loop.post([&] { loop.stop(); });
  });
  second = loop.timer([&] { ++answered; });
  first.set_deadline(Duration{0});
  second.set_deadline(Duration{1});
  loop.run();
  CHECK(answered == 1);
}

}  // namespace loop_test
