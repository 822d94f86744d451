// SPDX-License-Identifier: MIT
// What a control server is asked in tests of it: a handler that answers anything, and clients of other users.
#pragma once

#include <grp.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "control/server_world.hpp"

namespace healer::test::serving {

using control::Answer;

inline constexpr gid_t kGroup = 54'321;  // of no account
inline constexpr uid_t kNobody = 65'534;

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

/// The group kGroup may use it.
inline ServerOptions for_group() {
  ServerOptions options = patient();
  options.access.group = kGroup;
  return options;
}

/// A socket that everybody may connect to.
inline ServerOptions for_all() {
  ServerOptions options = patient();
  options.access = {.group = kGroup, .operators = {{kNobody - 1, "john"}}};
  return options;
}

inline constexpr std::string_view kPing = "{\"version\":1,\"command\":\"ping\"}\n";
inline constexpr std::string_view kStatus = "{\"version\":1,\"command\":\"status\"}\n";
inline constexpr std::string_view kValidate = "{\"version\":1,\"command\":\"validate\"}\n";
inline constexpr std::string_view kHistory = "{\"version\":1,\"command\":\"history\"}\n";

/// Whether it becomes true in time.
inline bool wait_until(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(milliseconds{5});
  }
  return true;
}

/// The code of the error that this line is.
inline std::string code_of(const std::string& line) {
  return Json::parse(line).at("error").at("code").get<std::string>();
}

/// Runs `work` in a child with that user's identity and the given supplementary groups, in the folder `place`; its
/// result is the child's exit status. The child only makes system calls and ends by _exit: the parent has threads.
inline int as_user(uid_t user, const std::string& place, const std::vector<gid_t>& groups,
                   const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    if (chdir(place.c_str()) != 0) _exit(98);
    if (setgroups(groups.size(), groups.data()) != 0 || setgid(user) != 0 || setuid(user) != 0) _exit(99);
    _exit(work());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// The same as uid nobody.
inline int as_nobody(const std::string& place, const std::vector<gid_t>& groups, const std::function<int()>& work) {
  return as_user(kNobody, place, groups, work);
}

/// A connection that a child of that user has made: to the kernel it stays the user's when it is the test that talks.
inline RawClient connected_as(uid_t user, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string name = path.substr(slash + 1);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name.data(), name.size());
  const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int status = as_user(user, path.substr(0, slash), {}, [&] {
    return connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : 1;
  });
  if (status != 0) throw std::runtime_error("cannot connect as another user");
  return RawClient(descriptor);
}

}  // namespace healer::test::serving
