// SPDX-License-Identifier: MIT
// Who may come in at the control socket, and what places he may take there.
#include <sys/fsuid.h>

#include <catch2/catch.hpp>

#include "control/fake_handler.hpp"
#include "control/socket/server.hpp"

namespace admission_test {

using namespace healer;
using namespace healer::control;
using namespace healer::test;
using namespace healer::test::serving;

namespace {

/// 0: answered with an end; 1: refused with "denied"; 2: may not even connect; 3: something else.
int visit(const char* path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  const int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
  if (connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return errno == EACCES ? 2 : 3;
  if (send(descriptor, kPing.data(), kPing.size(), MSG_NOSIGNAL) < 0 && errno != EPIPE) return 3;
  char text[4096] = {};
  std::size_t length = 0;
  for (;;) {
    const ssize_t count = recv(descriptor, text + length, sizeof text - 1 - length, 0);
    if (count <= 0) break;
    length += static_cast<std::size_t>(count);
    if (std::strstr(text, "\"end\"") != nullptr) return 0;
    if (std::strstr(text, "\"denied\"") != nullptr) return 1;
  }
  return 3;
}

}  // namespace

TEST_CASE("strangers are refused, members of the group are not", "[control]") {
  if (geteuid() != 0) {
    WARN("SKIPPED: needs root");
    return;
  }
  FakeHandler handler;
  ServerWorld world(handler, for_group());
  const std::string& path = world.path();
  const std::size_t slash = path.rfind('/');
  // By a relative path: whether a stranger may walk through /tmp is the machine's affair, not the server's.
  const std::string folder = path.substr(0, slash);
  const std::string name = path.substr(slash + 1);
  const auto visit_as = [&](const std::vector<gid_t>& groups) {
    return as_nobody(folder, groups, [&] { return visit(name.c_str()); });
  };
  CHECK(visit_as({}) == 2);
  CHECK(visit_as({1, kGroup, 2}) == 0);
  std::vector<gid_t> many(60);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = 60'000 + static_cast<gid_t>(i);
  many.back() = kGroup;
  CHECK(visit_as(many) == 0);
  // Where somebody opened the file to all, the kernel's word about the peer still counts.
  REQUIRE(chmod(path.c_str(), 0666) == 0);
  CHECK(visit_as({}) == 1);
  CHECK(visit_as({1, 2}) == 1);
  CHECK(visit_as({kGroup}) == 0);
  CHECK(world.wait_for_clients(0));
  CHECK(handler.peers() == std::vector<std::string>{"uid 65534", "uid 65534", "uid 65534"});
}

TEST_CASE("where there are operators everybody may connect, and the handler learns who it is", "[control]") {
  if (geteuid() != 0) {
    WARN("SKIPPED: needs root");
    return;
  }
  FakeHandler handler;
  ServerWorld world(handler, for_group());
  const std::string& path = world.path();
  const std::size_t slash = path.rfind('/');
  const std::string folder = path.substr(0, slash), name = path.substr(slash + 1);
  const auto visit_as = [&](const std::vector<gid_t>& groups) {
    return as_nobody(folder, groups, [&] { return visit(name.c_str()); });
  };
  const auto mode = [&] {
    struct stat info {};
    REQUIRE(lstat(path.c_str(), &info) == 0);
    return info.st_mode & 07777;
  };
  SocketAccess access{.group = kGroup, .operators = {{kNobody, "john"}}};
  world.set_access(access);
  CHECK(mode() == 0666);
  CHECK(visit_as({}) == 0);
  CHECK(visit_as({kGroup}) == 0);
  access.operators = {{kNobody - 1, "mary"}};
  world.set_access(access);
  CHECK(visit_as({}) == 0);  // a stranger: what he may is the handler's business
  access.operators.clear();
  world.set_access(access);
  CHECK(mode() == 0660);
  CHECK(visit_as({}) == 2);
  CHECK(handler.peers() == std::vector<std::string>{"john", "john", "uid 65534"});
}

TEST_CASE("who is no operator any more is cut off, and who is root stays", "[control]") {
  if (geteuid() != 0) {
    WARN("SKIPPED: needs root");
    return;
  }
  FakeHandler handler;
  ServerOptions options = for_group();
  options.access.operators = {{kNobody, "john"}};
  ServerWorld world(handler, options);
  RawClient root(world.path());
  REQUIRE(world.wait_for_clients(1));
  const std::size_t slash = world.path().rfind('/');
  const std::string folder = world.path().substr(0, slash), name = world.path().substr(slash + 1);
  int cut_off = -1;
  std::thread john([&] {
    // Connected, it waits for the end of the connection.
    cut_off = as_nobody(folder, {}, [&] {
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      std::strncpy(address.sun_path, name.c_str(), sizeof address.sun_path - 1);
      const int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
      if (connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return 3;
      char byte = 0;
      return recv(descriptor, &byte, 1, 0) == 0 ? 0 : 4;
    });
  });
  REQUIRE(world.wait_for_clients(2));
  world.set_access(for_group().access);
  john.join();
  CHECK(cut_off == 0);
  CHECK(world.wait_for_clients(1));
  root.send(kPing);
  CHECK(root.lines(2).find("\"end\"") != std::string::npos);
}

TEST_CASE("one user has only so many connections, and the others theirs", "[control]") {
  if (geteuid() != 0) {
    WARN("SKIPPED: needs root");
    return;
  }
  FakeHandler handler;
  ServerOptions options = for_group();
  options.access.operators = {{kNobody, "john"}};
  options.max_of_user = 2;
  ServerWorld world(handler, options);
  const std::size_t slash = world.path().rfind('/');
  const std::string folder = world.path().substr(0, slash), name = world.path().substr(slash + 1);
  std::vector<std::unique_ptr<RawClient>> of_root;
  for (int i = 0; i < 5; ++i) of_root.push_back(std::make_unique<RawClient>(world.path()));
  REQUIRE(world.wait_for_clients(5));
  CHECK(as_nobody(folder, {}, [&] {
          sockaddr_un address{};
          address.sun_family = AF_UNIX;
          std::strncpy(address.sun_path, name.c_str(), sizeof address.sun_path - 1);
          for (int i = 0; i < 3; ++i) {
            const int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
            if (connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return 3;
            // Two wait for something, so that none of them is idle.
            if (i < 2 && send(descriptor, kValidate.data(), kValidate.size(), MSG_NOSIGNAL) < 0) return 4;
            char text[512] = {};
            if (recv(descriptor, text, sizeof text - 1, 0) <= 0) return 5;
            if ((std::strstr(text, "\"busy\"") != nullptr) != (i == 2)) return 6;
          }
          return 0;
        }) == 0);
}

TEST_CASE("one stranger has only a few connections", "[control]") {
  if (geteuid() != 0) {
    WARN("SKIPPED: needs root");
    return;
  }
  FakeHandler handler;
  ServerWorld world(handler, for_all());
  std::vector<RawClient> busy;
  for (std::size_t i = 0; i < ServerOptions{}.max_of_stranger; ++i) {
    busy.push_back(connected_as(kNobody, world.path()));
    busy.back().send(kValidate);
    REQUIRE(busy.back().lines(1).starts_with("{\"version\":1"));
  }
  RawClient one_more = connected_as(kNobody, world.path());
  one_more.send(kPing);
  CHECK(one_more.rest().find("uid 65534 has 16 connections already") != std::string::npos);
  RawClient other = connected_as(1, world.path());
  other.send(kPing);
  CHECK(other.lines(2).find("\"end\"") != std::string::npos);
}

TEST_CASE("a stranger takes the place of another who is idle, and of nobody else", "[control]") {
  if (geteuid() != 0) {
    WARN("SKIPPED: needs root");
    return;
  }
  FakeHandler handler;
  ServerOptions options = for_all();
  options.max_clients = 8;  // two of them for strangers
  ServerWorld world(handler, options);
  RawClient root(world.path());
  const std::string_view asks = GENERATE(kPing, kValidate);
  std::vector<RawClient> first;
  for (int i = 0; i < 2; ++i) {
    first.push_back(connected_as(kNobody, world.path()));
    first.back().send(asks);
    REQUIRE(first.back().lines(1).starts_with("{\"version\":1"));
  }
  const auto ask_as_other = [&] {
    RawClient other = connected_as(1, world.path());
    other.send(kPing);
    return other.lines(2);
  };
  if (asks == kValidate)  // none is idle
    CHECK(ask_as_other().find("users who may not control healerd have 2 connections already") != std::string::npos);
  else
    CHECK(wait_until([&] { return ask_as_other().find("\"end\"") != std::string::npos; }));
  root.send(kPing);
  CHECK(root.lines(2).find("\"end\"") != std::string::npos);
}

TEST_CASE("nobody loses his place to one who may not come in", "[control]") {
  if (geteuid() != 0) {
    WARN("SKIPPED: needs root");
    return;
  }
  FakeHandler handler;
  ServerOptions options = for_group();
  options.max_clients = 2;
  ServerWorld world(handler, options);
  REQUIRE(chmod(world.path().c_str(), 0666) == 0);
  RawClient first(world.path()), second(world.path());
  REQUIRE(world.wait_for_clients(2));
  RawClient stranger = connected_as(kNobody, world.path());
  CHECK(code_of(stranger.rest()) == "denied");
  for (RawClient* const client : {&first, &second}) {
    client->send(kPing);
    CHECK(client->lines(2).find("\"end\"") != std::string::npos);
  }
}

TEST_CASE("a mode that the socket could not be given is given by the next try", "[control]") {
  if (geteuid() != 0) {
    WARN("SKIPPED: needs root");
    return;
  }
  FakeHandler handler;
  ServerWorld world(handler, for_group());
  const auto mode = [&] {
    struct stat info {};
    REQUIRE(lstat(world.path().c_str(), &info) == 0);
    return info.st_mode & 07777;
  };
  const SocketAccess access = for_all().access;
  world.thread().run([] { setfsuid(kNobody); });  // the files are not this thread's to change
  CHECK_THROWS(world.set_access(access));
  world.thread().run([] { setfsuid(0); });
  CHECK(mode() == 0660);
  world.set_access(access);
  CHECK(mode() == 0666);
}

}  // namespace admission_test
