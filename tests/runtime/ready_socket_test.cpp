// SPDX-License-Identifier: MIT
#include "runtime/process/ready_socket.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "support/processes.hpp"

namespace ready_socket_test {

using namespace healer;
using namespace healer::runtime;
using healer::test::run_for;
using healer::test::run_until;

namespace {

/// The other end, as a program has it.
class Sender {
 public:
  explicit Sender(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
    connected_ = ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0;
  }
  [[nodiscard]] bool connected() const { return connected_; }
  /// False where there is no room for it now.
  bool send(std::string text, const std::vector<int>& descriptors = {}) const {
    iovec place{text.data(), text.size()};
    msghdr message{};
    message.msg_iov = &place;
    message.msg_iovlen = 1;
    std::vector<char> control(CMSG_SPACE(descriptors.size() * sizeof(int)));
    if (!descriptors.empty()) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* head = CMSG_FIRSTHDR(&message);
      head->cmsg_level = SOL_SOCKET;
      head->cmsg_type = SCM_RIGHTS;
      head->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
      std::memcpy(CMSG_DATA(head), descriptors.data(), descriptors.size() * sizeof(int));
    }
    return ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL) >= 0;
  }

 private:
  Descriptor socket_;
  bool connected_ = false;
};

struct Bench {
  void open() {
    socket.reset();
    auto opened = ReadySocket::open(loop, path, [this](const Notice& notice) {
      if (notice.ready) senders.push_back(notice.sender);
      notices.push_back(notice);
    });
    REQUIRE(opened);
    socket = std::move(*opened);
  }
  bool received(std::size_t count) {
    return run_until(loop, [&] { return senders.size() >= count; });
  }

  test::TemporaryDirectory directory;
  std::string path = (directory.path() / "notify").string();
  Loop loop;
  std::unique_ptr<ReadySocket> socket;
  std::vector<pid_t> senders;  // that are ready
  std::vector<Notice> notices;
};

}  // namespace

TEST_CASE("READY=1 is accepted in any line, and nothing else is", "[ready]") {
  Bench bench;
  bench.open();
  const Sender sender(bench.path);
  for (const char* text :
       {"", "READY=0", "READY=10", "XREADY=1", " READY=1", "STATUS=READY=1", "READY", "\n\n", "WATCHDOG=10",
        "EXTEND_TIMEOUT_USEC=", "EXTEND_TIMEOUT_USEC=1s", "EXTEND_TIMEOUT_USEC=-1", "STOPPING=1", "READY=1\r\n"}) {
    // The socket's queue holds about ten.
    CHECK(run_until(bench.loop, [&] { return sender.send(text); }));
  }
  run_for(bench.loop, Duration{50});
  CHECK(bench.notices.empty());
  for (const char* text : {"READY=1", "READY=1\n", "STATUS=x\nREADY=1\nMAINPID=1", "\nREADY=1\n\n"}) {
    CHECK(sender.send(text));
  }
  CHECK(bench.received(4));
  CHECK(bench.senders == std::vector<pid_t>(4, ::getpid()));
}

TEST_CASE("Watchdog and extension messages of a process are received", "[ready]") {
  Bench bench;
  bench.open();
  const Sender sender(bench.path);
  CHECK(sender.send("STATUS=x\nWATCHDOG=1"));
  CHECK(sender.send("EXTEND_TIMEOUT_USEC=2500000\nREADY=1"));
  CHECK(sender.send("EXTEND_TIMEOUT_USEC=18446744073709551615"));
  REQUIRE(run_until(bench.loop, [&] { return bench.notices.size() == 3; }));
  CHECK(bench.notices[0].alive);
  CHECK_FALSE(bench.notices[0].ready);
  CHECK(bench.notices[1].extend == Duration{2500});
  CHECK(bench.notices[1].ready);
  CHECK(bench.notices[2].extend == Duration{hours{24}});  // no more than a day at once
}

TEST_CASE("a barrier's descriptor is closed, and so is every other", "[ready]") {
  Bench bench;
  bench.open();
  const Sender sender(bench.path);
  run_for(bench.loop, Duration{20});
  const std::size_t before = test::open_descriptors();
  for (const std::size_t count : {1U, 2U, 253U}) {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    CHECK(sender.send("BARRIER=1", std::vector<int>(count, ends[1])));
    ::close(ends[1]);
    pollfd end{ends[0], 0, 0};
    CHECK(run_until(bench.loop, [&] { return ::poll(&end, 1, 0) == 1 && (end.revents & POLLHUP) != 0; }));
    ::close(ends[0]);
  }
  CHECK(sender.send("FDSTORE=1\nREADY=1", {0, 1, 2}));
  CHECK(bench.received(1));
  CHECK(test::open_descriptors() == before);
}

TEST_CASE("huge and hostile messages do no harm", "[ready]") {
  Bench bench;
  bench.open();
  const Sender sender(bench.path);
  const std::size_t before = test::open_descriptors();
  CHECK(sender.send("READY=1\n" + std::string(ReadySocket::kMostOfMessage, 'x')));  // cut: who knows what it said
  CHECK(sender.send("READY=1\n" + std::string(100'000, '\0')));
  CHECK(sender.send(std::string(3000, '\n')));
  CHECK(sender.send(std::string("READY=1\0\n", 9)));
  run_for(bench.loop, Duration{50});
  CHECK(bench.senders.empty());
  CHECK(sender.send("READY=1\n" + std::string(ReadySocket::kMostOfMessage - 8, 'x')));
  CHECK(bench.received(1));

  // A flood leaves the loop its time for others.
  bool stop = false;
  int timers = 0;
  Loop::Timer timer;
  timer = bench.loop.timer([&] {
    for (int i = 0; i < 5000 && sender.send("STATUS=flood"); ++i) {
    }
    ++timers;
    if (!stop) timer.set_deadline(Duration{0});
  });
  timer.set_deadline(Duration{0});
  CHECK(run_until(bench.loop, [&] { return timers > 20; }));
  stop = true;
  run_for(bench.loop, Duration{50});
  CHECK(sender.send("READY=1"));
  CHECK(bench.received(2));
  CHECK(test::open_descriptors() == before);
}

TEST_CASE("without descriptors left, messages are taken all the same", "[ready]") {
  Bench bench;
  bench.open();
  const Sender sender(bench.path);
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  CHECK(sender.send("READY=1\nBARRIER=1", {ends[1]}));
  ::close(ends[1]);
  {
    const test::FewDescriptors none;
    CHECK(bench.received(1));
  }
  pollfd end{ends[0], 0, 0};
  CHECK(::poll(&end, 1, 0) == 1);
  ::close(ends[0]);
}

TEST_CASE("the next daemon listens at the same place, and all may write there", "[ready]") {
  Bench bench;
  bench.open();
  bench.socket.reset();
  CHECK_FALSE(Sender(bench.path).connected());
  bench.open();
  const Sender sender(bench.path);
  CHECK(sender.connected());
  CHECK(sender.send("READY=1"));
  CHECK(bench.received(1));
  struct stat facts {};
  REQUIRE(::stat(bench.path.c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0666);
}

TEST_CASE("An abstract name replaces a socket path that is too long", "[ready]") {
  Bench bench;
  const std::string folder = bench.directory.path().string() + "/";
  const std::string fits = folder + std::string(107 - folder.size(), 'x');
  CHECK(ReadySocket::place_for(fits) == fits);
  bench.path = ReadySocket::place_for(fits + "x");
  CHECK(bench.path.starts_with("@healer-notify-"));
  CHECK(bench.path == ReadySocket::place_for(fits + "x"));
  CHECK(bench.path != ReadySocket::place_for(fits + "y"));
  bench.open();
  bench.open();  // the next daemon
  CHECK(Sender(bench.path).send("READY=1"));
  CHECK(bench.received(1));
  CHECK(bench.senders.front() == ::getpid());
  const auto second = ReadySocket::open(bench.loop, bench.path, [](const Notice&) {});
  REQUIRE_FALSE(second);
  CHECK(second.error().what == "cannot bind " + bench.path + ": Address already in use");
}

TEST_CASE("a folder that others cannot enter is named", "[ready]") {
  const test::TemporaryDirectory directory;
  const std::filesystem::path outer = directory.path() / "outer";
  const std::filesystem::path inner = outer / "inner";
  std::filesystem::create_directories(inner);
  struct stat facts {};
  REQUIRE(::stat(inner.c_str(), &facts) == 0);
  const auto closed = [&](uid_t user, gid_t group) { return closed_folder(inner / "notify", user, group); };
  const uid_t other = facts.st_uid + 1000;
  const gid_t foreign = facts.st_gid + 1000;
  for (const auto& folder : {directory.path(), outer, inner}) REQUIRE(::chmod(folder.c_str(), 0711) == 0);
  CHECK(closed(other, foreign).empty());
  REQUIRE(::chmod(inner.c_str(), 0710) == 0);
  CHECK(closed(other, foreign) == inner);
  CHECK(closed(other, facts.st_gid).empty());
  CHECK(closed(facts.st_uid, foreign).empty());
  REQUIRE(::chmod(outer.c_str(), 0701) == 0);
  CHECK(closed(other, foreign) == inner);
  CHECK(closed(other, facts.st_gid) == outer);
  REQUIRE(::chmod(directory.path().c_str(), 0700) == 0);
  CHECK(closed(other, foreign) == directory.path());
  CHECK(closed(0, 0).empty());
  CHECK(closed_folder("/nonexistent/notify", other, foreign).empty());
  // By whatever way.
  const test::TemporaryDirectory open;
  REQUIRE(::chmod(open.path().c_str(), 0755) == 0);
  std::filesystem::create_symlink(inner, open.path() / "link");
  CHECK(closed_folder(open.path() / "link" / "notify", other, foreign) == directory.path());
}

TEST_CASE("A place that cannot hold the socket is refused with a reason", "[ready]") {
  Bench bench;
  const auto why = [&](const std::string& path) {
    const auto opened = ReadySocket::open(bench.loop, path, [](const Notice&) {});
    REQUIRE_FALSE(opened);
    return opened.error().what;
  };
  test::write_file(bench.path, "mine");
  CHECK(why(bench.path) == bench.path + " is there already, and is not a socket");
  CHECK(test::read_file(bench.path) == "mine");
  CHECK(why(bench.path + "/x") == "cannot bind " + bench.path + "/x: Not a directory");
  CHECK(why(std::string(108, 'x')).starts_with("the path of a socket must have 1 to 107 bytes: xxx"));
}

}  // namespace ready_socket_test
