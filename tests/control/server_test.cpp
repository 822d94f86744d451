// SPDX-License-Identifier: MIT
#include "control/socket/server.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "control/client.hpp"
#include "control/fake_handler.hpp"
#include "support/processes.hpp"

namespace server_test {

using namespace healer;
using namespace healer::control;
using namespace healer::test;
using namespace healer::test::serving;

namespace {

Client connected(const std::string& path) {
  auto client = Client::connect(path, kPatience);
  if (auto* failure = std::get_if<Failure>(&client)) throw std::runtime_error(failure->message);
  return std::get<Client>(std::move(client));
}

}  // namespace

TEST_CASE("a client gets header, items and end", "[control]") {
  FakeHandler handler;
  ServerWorld world(handler);
  Client client = connected(world.path());
  std::string items;
  const Reply reply =
      client.call(Request{.verb = Verb::Status}, [&](const Json& item) { items += item["number"].dump() + " "; });
  CHECK(reply.ok());
  CHECK(reply.header["command"] == "status");
  CHECK(items == "0 1 2 ");
  CHECK(reply.end["text"] == "counted");
  CHECK(handler.peers() == std::vector<std::string>{geteuid() == 0 ? "root" : "uid " + std::to_string(geteuid())});
  CHECK(client.call(Request{.verb = Verb::Ping}).ok());  // another on the same connection
}

TEST_CASE("the socket lets in its owner and its group alone, and goes with the server", "[control]") {
  FakeHandler handler;
  ServerWorld world(handler, geteuid() == 0 ? for_group() : patient());
  struct stat info {};
  REQUIRE(lstat(world.path().c_str(), &info) == 0);
  CHECK(S_ISSOCK(info.st_mode));
  CHECK((info.st_mode & 07777) == (geteuid() == 0 ? 0660U : 0600U));
  CHECK(info.st_uid == geteuid());
  if (geteuid() == 0) CHECK(info.st_gid == kGroup);
  world.stop();
  CHECK(lstat(world.path().c_str(), &info) != 0);
}

TEST_CASE("what is no request is refused and the connection closed", "[control]") {
  FakeHandler handler;
  ServerWorld world(handler);
  SECTION("not JSON") {
    RawClient client(world.path());
    client.send("hello\n" + std::string(kPing));
    CHECK(code_of(client.rest()) == "bad-request");
  }
  SECTION("an empty line") {
    RawClient client(world.path());
    client.send("\n");
    CHECK(code_of(client.rest()) == "bad-request");
  }
  SECTION("an unknown command") {
    RawClient client(world.path());
    client.send("{\"version\":1,\"command\":\"reboot\"}\n");
    CHECK(code_of(client.rest()) == "unknown-command");
  }
  SECTION("a line that never ends") {
    RawClient client(world.path());
    client.send(std::string(kMaxEventRequest + 1, ' '));
    CHECK(code_of(client.rest()) == "too-large");
  }
  SECTION("what is larger than all but an event may be") {
    RawClient client(world.path());
    client.send(std::string(kMaxRequest, ' ') + std::string(kPing));
    CHECK(code_of(client.rest()) == "too-large");
  }
  SECTION("far too much at once") {
    RawClient client(world.path());
    client.send(std::string(2 * kMaxEventRequest, '['));
    CHECK(code_of(client.rest()) == "too-large");
  }
  CHECK(handler.made == 0);
  CHECK(handler.peers().empty());
  CHECK(world.wait_for_clients(0));
}

TEST_CASE("a request of just the greatest size is taken", "[control]") {
  FakeHandler handler;
  ServerWorld world(handler);
  RawClient client(world.path());
  std::string line(kPing.substr(0, kPing.size() - 1));
  line += std::string(kMaxRequest - line.size(), ' ');
  client.send(line + "\n");
  CHECK(client.lines(2).find("\"end\"") != std::string::npos);
}

TEST_CASE("a request may come in pieces, and several at once", "[control]") {
  FakeHandler handler;
  ServerWorld world(handler);
  RawClient client(world.path());
  for (const char byte : kPing) client.send(std::string_view(&byte, 1));
  CHECK(client.lines(2).find("\"end\"") != std::string::npos);
  client.send(std::string(kPing) + std::string(kStatus) + std::string(kPing));
  const std::string replies = client.lines(2 + 5 + 2);
  CHECK(replies.find("\"number\":2") != std::string::npos);
  CHECK(replies.ends_with("\"counted\"}}\n"));
}

TEST_CASE("a client that closes its sending half gets its answer", "[control]") {
  FakeHandler handler;
  handler.items = 20'000;
  ServerWorld world(handler);
  SECTION("a long one") {
    RawClient client(world.path());
    client.send(kStatus);
    client.half_close();
    const std::string text = client.rest();
    CHECK(text.find("\"number\":19999") != std::string::npos);
    CHECK(text.ends_with("\"counted\"}}\n"));
  }
  SECTION("one that waits") {
    RawClient client(world.path());
    client.send(kValidate);
    client.half_close();
    CHECK(client.lines(1).starts_with("{\"version\":1"));
    *handler.go = true;
    handler.wake_all();
    CHECK(client.rest() == "{\"end\":{\"ok\":true,\"text\":\"at last\"}}\n");
  }
  SECTION("but not one that never ends") {
    RawClient client(world.path());
    client.send(kHistory);
    client.half_close();
    CHECK(client.lines(1).starts_with("{\"version\":1"));
    CHECK(client.rest().empty());
  }
  SECTION("half a request is none") {
    RawClient client(world.path());
    client.send("{\"version\":1,");
    client.half_close();
    CHECK(client.rest().empty());
  }
  CHECK(world.wait_for_clients(0));
  CHECK(handler.waiting == 0);
}

TEST_CASE("an answer that waits is asked again when it is woken, from any thread", "[control]") {
  FakeHandler handler;
  ServerWorld world(handler);
  RawClient client(world.path());
  client.send(kValidate);
  CHECK(client.lines(1).starts_with("{\"version\":1"));
  handler.wake_all();  // needless: it still waits
  *handler.go = true;
  handler.wake_all();
  CHECK(client.lines(1) == "{\"end\":{\"ok\":true,\"text\":\"at last\"}}\n");
  client.send(kPing);
  CHECK(client.lines(2).find("\"end\"") != std::string::npos);
  world.stop();
  handler.wake_all();  // harmless when the server has gone
}

TEST_CASE("a client that leaves while it waits leaves nothing behind", "[control]") {
  FakeHandler handler;
  ServerWorld world(handler);
  {
    RawClient client(world.path());
    client.send(kHistory);
    CHECK(client.lines(1).starts_with("{\"version\":1"));
    CHECK(world.clients() == 1);
  }
  CHECK(world.wait_for_clients(0));
  CHECK(handler.waiting == 0);
}

TEST_CASE("a client that does not read costs one chunk and is dropped", "[control]") {
  FakeHandler handler;
  handler.items = 1'000'000;
  handler.size = 1000;
  ServerWorld world(handler, ServerOptions{.idle = kPatience, .stalled = milliseconds{300}});
  RawClient client(world.path());
  client.send(kStatus);
  REQUIRE(wait_until([&] { return handler.made > 0; }));
  CHECK(world.wait_for_clients(0));
  // What the kernel's buffers took and one chunk; not the gigabyte that the whole answer would be.
  CHECK(handler.made < 5'000);
}

TEST_CASE("a client that asks nothing, or half a question, is dropped", "[control]") {
  FakeHandler handler;
  ServerWorld world(handler, ServerOptions{.idle = milliseconds{200}, .stalled = kPatience});
  RawClient silent(world.path());
  RawClient half(world.path());
  half.send("{\"version\":1");
  CHECK(silent.rest().empty());
  CHECK(half.rest().empty());
  CHECK(world.wait_for_clients(0));
}

TEST_CASE("a client that waits for its answer is not idle", "[control]") {
  FakeHandler handler;
  ServerWorld world(handler, ServerOptions{.idle = seconds{3}, .stalled = kPatience});
  RawClient waiting(world.path());
  waiting.send(kValidate);
  CHECK(waiting.lines(1).starts_with("{\"version\":1"));
  RawClient silent(world.path());  // the measure: it is dropped, and the server's clock has gone on
  CHECK(silent.rest().empty());
  *handler.go = true;
  handler.wake_all();
  CHECK(waiting.lines(1) == "{\"end\":{\"ok\":true,\"text\":\"at last\"}}\n");
}

TEST_CASE("two hundred clients at once are all served, a few at a time", "[control]") {
  FakeHandler handler;
  ServerWorld world(handler, ServerOptions{.max_clients = 8, .idle = kPatience, .stalled = kPatience});
  std::vector<std::thread> threads;
  std::atomic<int> served{0};
  for (int i = 0; i < 200; ++i)
    threads.emplace_back([&] {
      Client client = connected(world.path());
      if (client.call(Request{.verb = Verb::Status}).ok()) ++served;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(served == 200);
  CHECK(world.wait_for_clients(0));
}

TEST_CASE("more clients than places wait until one is free", "[control]") {
  FakeHandler handler;
  ServerWorld world(handler, ServerOptions{.max_clients = 2, .idle = kPatience, .stalled = kPatience});
  auto first = std::make_unique<RawClient>(world.path());
  RawClient second(world.path());
  REQUIRE(world.wait_for_clients(2));
  RawClient third(world.path());
  third.send(kPing);
  second.send(kPing);
  CHECK(second.lines(2).find("\"end\"") != std::string::npos);
  CHECK(world.clients() == 2);
  first.reset();
  CHECK(third.lines(2).find("\"end\"") != std::string::npos);
}

TEST_CASE("clients that ask nothing give their places to those who do", "[control]") {
  FakeHandler handler;
  ServerWorld world(handler, ServerOptions{.max_clients = 4, .idle = kPatience, .stalled = kPatience});
  std::vector<std::unique_ptr<RawClient>> silent;
  for (int i = 0; i < 10; ++i) silent.push_back(std::make_unique<RawClient>(world.path()));
  const auto begun = std::chrono::steady_clock::now();
  RawClient late(world.path());
  late.send(kPing);
  CHECK(late.lines(2).find("\"end\"") != std::string::npos);
  CHECK(std::chrono::steady_clock::now() - begun < kPatience);
  CHECK(world.clients() <= 4);
}

TEST_CASE("a client for whom there is no descriptor waits, and nothing else does", "[control]") {
  FakeHandler handler;
  ServerWorld world(handler, patient());
  RawClient client(world.path());
  REQUIRE(world.wait_for_clients(1));
  std::optional<FewDescriptors> few(std::in_place, 1);
  RawClient late(world.path());  // it is in the kernel's queue
  late.send(kPing);
  client.send(kPing);
  CHECK(client.lines(2).find("\"end\"") != std::string::npos);
  CHECK(world.clients() == 1);
  few.reset();
  CHECK(late.lines(2).find("\"end\"") != std::string::npos);
}

TEST_CASE("a pipelining client cannot fill the memory", "[control]") {
  FakeHandler handler;
  ServerWorld world(handler);
  RawClient client(world.path());
  client.send(kValidate);
  CHECK(client.lines(1).starts_with("{\"version\":1"));
  client.send(std::string(2 * kMaxEventRequest, ' '));
  CHECK(client.rest().empty());
  CHECK(world.wait_for_clients(0));
  CHECK(handler.waiting == 0);
}

TEST_CASE("the socket is made safely or not at all", "[control]") {
  FakeHandler handler;
  TemporaryFolder folder;
  LoopThread thread;
  std::unique_ptr<Server> server;
  const auto open = [&](const std::string& path) {
    std::string result = "open";
    thread.run([&] {
      auto opened = Server::open(thread.loop(), handler, {.path = path});
      if (opened)
        server = std::move(*opened);
      else
        result = opened.error().what;
    });
    return result;
  };
  const std::string path = folder.path() + "/run/healer.sock";
  SECTION("a missing folder is made") {
    CHECK(open(path) == "open");
    CHECK(std::filesystem::status(folder.path() + "/run").permissions() == std::filesystem::perms{0755});
  }
  SECTION("but not a path of them") {
    CHECK(open(folder.path() + "/a/b/healer.sock") ==
          "cannot make the folder " + folder.path() + "/a/b: No such file or directory");
  }
  SECTION("what an ended daemon left is replaced") {
    mkdir((folder.path() + "/run").c_str(), 0755);
    const int old = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    REQUIRE(bind(old, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    close(old);
    CHECK(open(path) == "open");
    CHECK(connected(path).call(Request{}).ok());
  }
  SECTION("one that is answered is left alone") {
    CHECK(open(path) == "open");
    auto first = std::move(server);
    CHECK(open(path) == "another process answers on " + path);
    CHECK(connected(path).call(Request{}).ok());
    thread.run([&] { first.reset(); });
  }
  SECTION("a file in its place is left alone") {
    mkdir((folder.path() + "/run").c_str(), 0755);
    close(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    CHECK(open(path) == path + " is there already, and is not a socket");
    std::filesystem::remove(path);
    std::filesystem::create_symlink("/dev/null", path);
    CHECK(open(path) == path + " is there already, and is not a socket");
  }
  SECTION("a folder where others write is refused") {
    mkdir((folder.path() + "/run").c_str(), 0755);
    chmod((folder.path() + "/run").c_str(), 0777);
    CHECK(open(path) == "others can write to " + folder.path() + "/run (mode 0777): not safe for a control socket");
    chmod((folder.path() + "/run").c_str(), 01777);
    CHECK(open(path) == "open");
  }
  SECTION("a path that does not fit is refused") {
    CHECK_THAT(open("/" + std::string(200, 'x')),
               Catch::StartsWith("the path of the control socket must have 1 to 107 bytes"));
  }
  thread.run([&] { server.reset(); });
}

TEST_CASE("a server takes only its own socket with it", "[control]") {
  FakeHandler handler;
  ServerWorld world(handler);
  REQUIRE(unlink(world.path().c_str()) == 0);
  close(::open(world.path().c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  world.stop();
  CHECK(std::filesystem::exists(world.path()));
}

}  // namespace server_test
