// SPDX-License-Identifier: MIT
#include "runtime/notify.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include <catch2/catch.hpp>

#include "support/child.hpp"

namespace notify_test {

using namespace healer;
using namespace healer::runtime;

namespace {

/// systemd's end of NOTIFY_SOCKET.
class Systemd {
 public:
  Systemd() : server_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    const std::string path = directory_.path() / "notify";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    REQUIRE(bind(server_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    setenv("NOTIFY_SOCKET", path.c_str(), 1);
  }
  ~Systemd() {
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    close(server_);
  }
  /// The next message; empty where there is none.
  std::string next() {
    char buffer[4096];
    const ssize_t got = recv(server_, buffer, sizeof buffer, 0);
    return got > 0 ? std::string(buffer, static_cast<std::size_t>(got)) : "";
  }

 private:
  test::TemporaryDirectory directory_;
  int server_;
};

Instant at(Duration mono) { return {1, mono, {}}; }

}  // namespace

TEST_CASE("systemd is told of start, reload, state and end") {
  Systemd systemd;
  Notifier notifier;
  notifier.ready("12 services");
  CHECK(systemd.next() == "READY=1\nSTATUS=12 services");
  notifier.reloading();
  CHECK(systemd.next().starts_with("RELOADING=1\nMONOTONIC_USEC="));
  notifier.status("all well\nREADY=0");
  CHECK(systemd.next() == "STATUS=all well\\nREADY=0");
  notifier.stopping();
  CHECK(systemd.next() == "STOPPING=1");
  notifier.beat(at(seconds{1}));
  CHECK(systemd.next().empty());  // nobody watches
}

TEST_CASE("The watchdog gets beats, but not more than it needs") {
  Systemd systemd;
  setenv("WATCHDOG_USEC", "8000000", 1);
  setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  Notifier notifier;
  REQUIRE(notifier.watchdog_interval() == seconds{8});
  notifier.beat(at(seconds{100}));
  CHECK(systemd.next() == "WATCHDOG=1");
  notifier.beat(at(seconds{101}));
  CHECK(systemd.next().empty());
  notifier.beat(at(seconds{102}));
  CHECK(systemd.next() == "WATCHDOG=1");
}

TEST_CASE("A watchdog of another process is none of ours") {
  Systemd systemd;
  setenv("WATCHDOG_USEC", "8000000", 1);
  setenv("WATCHDOG_PID", "1", 1);
  CHECK_FALSE(Notifier{}.watchdog_interval());
}

TEST_CASE("Without systemd nothing is said") {
  unsetenv("NOTIFY_SOCKET");
  Notifier notifier;
  notifier.ready("x");
  notifier.stopping();
  notifier.beat(at(seconds{1}));
  CHECK_FALSE(notifier.watchdog_interval());
}

}  // namespace notify_test
