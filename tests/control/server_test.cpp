// SPDX-License-Identifier: MIT
#include "control/socket/server.hpp"

#include <grp.h>
#include <sys/wait.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "control/client.hpp"
#include "control/server_world.hpp"
#include "support/processes.hpp"

namespace server_test {

using namespace healer;
using namespace healer::control;
using namespace healer::test;
using control::Answer;

namespace {

constexpr gid_t kGroup = 54'321;  // of no account
constexpr uid_t kNobody = 65'534;

/// Sends `items` numbered items, of `size` bytes each.
class Counted : public Answer {
 public:
  Counted(Verb verb, std::size_t items, std::size_t size, std::atomic<std::size_t>& made)
      : verb_(verb), items_(items), size_(size), made_(made) {}
  Next pull(std::string& out, std::size_t budget) override {
    if (!begun_) out += header_line(verb_, {});
    begun_ = true;
    while (next_ < items_ && out.size() < budget) {
      out += item_line(Json{{"number", next_++}, {"padding", std::string(size_, 'x')}});
      ++made_;
    }
    if (next_ < items_) return Next::More;
    out += end_line(Done{true, "counted"});
    return Next::Done;
  }

 private:
  Verb verb_;
  std::size_t items_;
  std::size_t size_;
  std::atomic<std::size_t>& made_;
  std::size_t next_ = 0;
  bool begun_ = false;
};

/// Waits until it is told to end, or for ever.
class Patient : public Answer {
 public:
  Patient(std::shared_ptr<std::atomic<bool>> go, bool endless, std::atomic<int>& alive)
      : go_(std::move(go)), endless_(endless), alive_(alive) {
    ++alive_;
  }
  ~Patient() override { --alive_; }
  Next pull(std::string& out, std::size_t) override {
    if (!begun_) out += header_line(Verb::Validate, {});
    begun_ = true;
    if (!*go_) return Next::Waiting;
    out += end_line(Done{true, "at last"});
    return Next::Done;
  }
  [[nodiscard]] bool endless() const override { return endless_; }

 private:
  std::shared_ptr<std::atomic<bool>> go_;
  bool endless_;
  std::atomic<int>& alive_;
  bool begun_ = false;
};

/// ping: an end; status: `items` items; validate: waits; history: waits for ever.
class FakeHandler : public Handler {
 public:
  std::size_t items = 3;
  std::size_t size = 10;
  std::atomic<std::size_t> made{0};
  std::atomic<int> waiting{0};
  std::shared_ptr<std::atomic<bool>> go = std::make_shared<std::atomic<bool>>(false);
  std::mutex mutex;
  std::vector<Wake> wakes;

  /// Who has asked, in order.
  std::vector<std::string> peers() {
    const std::lock_guard lock(mutex);
    return peers_;
  }

  std::unique_ptr<Answer> handle(const Request& request, const Peer& peer, Wake wake) override {
    const std::lock_guard lock(mutex);
    peers_.push_back(peer.name());
    wakes.push_back(std::move(wake));
    if (request.verb == Verb::Validate) return std::make_unique<Patient>(go, false, waiting);
    if (request.verb == Verb::History) return std::make_unique<Patient>(go, true, waiting);
    return std::make_unique<Counted>(request.verb, request.verb == Verb::Status ? items : 0, size, made);
  }
  void wake_all() {
    const std::lock_guard lock(mutex);
    for (const Wake& wake : wakes) wake();
  }

 private:
  std::vector<std::string> peers_;
};

ServerOptions for_group() {
  ServerOptions options = patient();
  options.access.group = kGroup;
  return options;
}

constexpr std::string_view kPing = "{\"version\":1,\"command\":\"ping\"}\n";
constexpr std::string_view kStatus = "{\"version\":1,\"command\":\"status\"}\n";
constexpr std::string_view kValidate = "{\"version\":1,\"command\":\"validate\"}\n";
constexpr std::string_view kHistory = "{\"version\":1,\"command\":\"history\"}\n";

bool wait_until(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(milliseconds{5});
  }
  return true;
}

Client connected(const std::string& path) {
  auto client = Client::connect(path, kPatience);
  if (auto* failure = std::get_if<Failure>(&client)) throw std::runtime_error(failure->message);
  return std::get<Client>(std::move(client));
}

std::string code_of(const std::string& line) { return Json::parse(line).at("error").at("code").get<std::string>(); }

/// Runs `work` in a child with the identity uid nobody and the given supplementary groups, in the folder `place`; its
/// result is the child's exit status. The child only makes system calls and ends by _exit: the parent has threads.
int as_nobody(const std::string& place, const std::vector<gid_t>& groups, const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    if (chdir(place.c_str()) != 0) _exit(98);
    if (setgroups(groups.size(), groups.data()) != 0 || setgid(kNobody) != 0 || setuid(kNobody) != 0) _exit(99);
    _exit(work());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

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
  std::thread john([&] {
    // Connected, it waits for the end of the connection.
    CHECK(as_nobody(folder, {}, [&] {
            sockaddr_un address{};
            address.sun_family = AF_UNIX;
            std::strncpy(address.sun_path, name.c_str(), sizeof address.sun_path - 1);
            const int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
            if (connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return 3;
            char byte = 0;
            return recv(descriptor, &byte, 1, 0) == 0 ? 0 : 4;
          }) == 0);
  });
  REQUIRE(world.wait_for_clients(2));
  world.set_access(for_group().access);
  john.join();
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
    client.send(std::string(kMaxRequest + 1, ' '));
    CHECK(code_of(client.rest()) == "too-large");
  }
  SECTION("far too much at once") {
    RawClient client(world.path());
    client.send(std::string(1U << 20, '['));
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
  client.send(std::string(2 * kMaxRequest, ' '));
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
