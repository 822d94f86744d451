// SPDX-License-Identifier: MIT
// What foreground processes say of themselves while they run: that they are well, and that they need more time.
#include <catch2/catch.hpp>

#include <csignal>
#include <thread>

#include "runtime/action_bench.hpp"
#include "runtime/process/ready_socket.hpp"

namespace watchdog_test {

using namespace healer;
using namespace healer::engine;
using namespace healer::runtime;
using healer::test::run_for;
using healer::test::run_until;

namespace {

/// Foreground programs, and where they speak to.
struct ReadyBench : test::ActionBench {
  ReadyBench() {
    foreground = true;
    environment.push_back("NOTIFY_SOCKET=" + path);
    options.groups = std::make_shared<const ControlGroups>(directory.path().filename().string(), GroupTree{});
  }
  void open() {
    auto opened = ReadySocket::open(loop, path, [this](const Notice& notice) { runner->on_notice(notice); });
    REQUIRE(opened);
    socket = std::move(*opened);
  }
  std::string output(std::uint64_t id) const { return test::read_file(file(std::to_string(id) + ".out")); }

  std::string path = (directory.path() / "notify").string();
  std::unique_ptr<ReadySocket> socket;
};

/// Says something each 50 ms, until a file of that name is there.
std::string saying(const std::string& what, const std::string& until) {
  return "import os,socket,time\ns=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM)\n"
         "while not os.path.exists('" +
         until + "'):\n s.sendto(b'" + what +
         "',os.environ['NOTIFY_SOCKET'])\n time.sleep(0.05)\n"
         "time.sleep(600)";
}

}  // namespace

TEST_CASE("A process that stops reporting to its watchdog is reported", "[foreground]") {
  ReadyBench bench;
  bench.open();
  const std::string gate = (bench.directory.path() / "gate").string();
  const bool by_child = GENERATE(false, true);
  if (by_child)
    bench.shell(1, "/usr/bin/python3 -c \"" + saying("WATCHDOG=1", gate) + "\" & wait");
  else
    bench.start(1, {"/usr/bin/python3", "-c", saying("WATCHDOG=1", gate)});
  REQUIRE(run_until(bench.loop, [&] { return bench.started.count(1) != 0; }));
  run_for(bench.loop, Duration{1000});
  bench.runner->watch(ActionId(1), Duration{1000});
  run_for(bench.loop, Duration{3000});
  CHECK(bench.silences.empty());
  test::write_with_mode(gate, "", 0644);
  CHECK(run_until(bench.loop, [&] { return bench.silences[1].size() == 2; }));  // each time anew
  CHECK(bench.silences[1].front() >= Duration{1000});
  bench.runner->watch(ActionId(1), Duration{0});
  const std::size_t before = bench.silences[1].size();
  run_for(bench.loop, Duration{1500});
  CHECK(bench.silences[1].size() == before);
  bench.runner->end(ActionId(1), {{SIGTERM, Duration{5000}}});
  bench.end(1);
}

TEST_CASE("Messages that came while the daemon was held up count", "[foreground]") {
  ReadyBench bench;
  bench.open();
  bench.start(1, {"/usr/bin/python3", "-c", saying("WATCHDOG=1", "/no/such/gate")});
  REQUIRE(run_until(bench.loop, [&] { return bench.started.count(1) != 0; }));
  run_for(bench.loop, Duration{500});
  bench.runner->watch(ActionId(1), Duration{1000});
  std::this_thread::sleep_for(Duration{2000});
  run_for(bench.loop, Duration{500});
  CHECK(bench.silences.empty());
  bench.runner->end(ActionId(1), {{SIGTERM, Duration{5000}}});
  bench.end(1);
}

TEST_CASE("A process that asks for more time gets no stronger signal before it is over", "[foreground]") {
  ReadyBench bench;
  bench.open();
  const std::string script =
      "import os,signal,socket,sys,time\ns=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM)\n"
      "def stop(*_):\n s.sendto(b'EXTEND_TIMEOUT_USEC=60000000',os.environ['NOTIFY_SOCKET'])\n time.sleep(1.5)\n "
      "sys.exit(7)\n"
      "signal.signal(signal.SIGTERM,stop)\nprint('begun',flush=True)\ntime.sleep(600)";
  bench.start(1, {"/usr/bin/python3", "-c", script});
  REQUIRE(run_until(bench.loop, [&] { return bench.started.count(1) != 0 && bench.output(1) == "begun\n"; }));
  bench.runner->end(ActionId(1), {{SIGTERM, Duration{700}}});
  CHECK(bench.end(1).outcome == Outcome::Exited);
  CHECK(bench.end(1).status == 7);
  CHECK(bench.extensions[1] == std::vector<Duration>{Duration{60'000}});
}

}  // namespace watchdog_test
