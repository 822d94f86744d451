// SPDX-License-Identifier: MIT
#include "runtime/jq_helper.hpp"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "runtime/clock.hpp"
#include "runtime/programs/helper_process.hpp"
#include "util/jq.hpp"

#if !defined(__has_feature)
#define __has_feature(feature) 0
#endif

namespace healer::runtime {
namespace {

constexpr std::string_view kName = "healer-jq";
constexpr std::string_view kOption = "--filter-helper";
constexpr std::size_t kMostText = std::size_t{1} << 26;   // of a question; the parent bounds it, too
constexpr std::size_t kMostValue = std::size_t{1} << 12;  // what rules compare is short
constexpr std::size_t kKeptFilters = 256;                 // compiled filters
constexpr rlim_t kMemory = rlim_t{512} << 20;
constexpr uid_t kNobody = 65534;

/// What goes over the socket, each way: this, and then `first` and `second` bytes.
struct FrameHead {
  std::uint32_t first = 0;   // of the filter; of an answer: 1 where there is a value
  std::uint32_t second = 0;  // of the text; of an answer: of the value, or of why there is none
};

std::string frame(FrameHead head, std::string_view first, std::string_view second) {
  std::string bytes(sizeof head, '\0');
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes.append(first).append(second);
}

// ---- the parent's side: with a deadline ---------------------------------------------------------------------------

class Exchange {
 public:
  Exchange(int socket, Duration deadline) : socket_(socket), deadline_(deadline) {}

  /// Sends all of it; false: the other side has gone, or the time is over.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
      if (sent <= 0 && !wait(sent, POLLOUT)) return false;
    }
    return true;
  }

  /// Receives so many bytes.
  std::optional<std::string> receive(std::size_t size) {
    std::string bytes(size, '\0');
    for (std::size_t at = 0; at < size;) {
      const ssize_t got = ::recv(socket_, bytes.data() + at, size - at, MSG_DONTWAIT);
      if (got > 0) at += static_cast<std::size_t>(got);
      if (got <= 0 && !wait(got, POLLIN)) return std::nullopt;
    }
    return bytes;
  }

  [[nodiscard]] bool too_late() const { return mono_now() >= deadline_; }

 private:
  [[nodiscard]] bool wait(ssize_t result, short wanted) const {
    if (result == 0 || (errno != EAGAIN && errno != EINTR)) return false;
    const Duration left = deadline_ - mono_now();
    if (left <= Duration{0}) return false;
    pollfd one{socket_, wanted, 0};
    return ::poll(&one, 1, static_cast<int>(left.count()) + 1) > 0 || errno == EINTR;
  }

  int socket_;
  Duration deadline_;
};

// ---- the helper's side --------------------------------------------------------------------------------------------

constexpr unsigned kLongestFilter = 2 * JqHelper::kPatience.count() / 1000;  // seconds

void limit(__rlimit_resource_t what, rlim_t most) {
  const rlimit bound{most, most};
  ::setrlimit(what, &bound);
}

/// Gives away whatever a filter could misuse. Where it is not root it has nothing to give away but its limits.
bool become_nobody() {
  if (::geteuid() == 0 && (::setgroups(0, nullptr) != 0 || ::setresgid(kNobody, kNobody, kNobody) != 0 ||
                           ::setresuid(kNobody, kNobody, kNobody) != 0))
    return false;
  if (::chdir("/") != 0 || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_NPROC, 0);
  limit(RLIMIT_NOFILE, 8);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !__has_feature(address_sanitizer) && \
    !__has_feature(thread_sanitizer)
  limit(RLIMIT_AS, kMemory);  // sanitizers take a share of all addresses there are
#endif
  return true;
}

bool read_all(std::string& bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t got = ::read(STDIN_FILENO, bytes.data() + at, bytes.size() - at);
    if (got == 0 || (got < 0 && errno != EINTR)) return false;
    if (got > 0) at += static_cast<std::size_t>(got);
  }
  return true;
}

bool write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(STDIN_FILENO, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) return false;
    if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

Result<std::string> first_value(const std::string& filter, std::string_view json) {
  static std::unordered_map<std::string, Result<JqFilter>> known;
  if (known.size() >= kKeptFilters && !known.contains(filter)) known.clear();
  auto found = known.find(filter);
  if (found == known.end()) found = known.emplace(filter, JqFilter::compile(filter)).first;
  if (!found->second) return found->second.error();
  auto value = found->second->first(json);
  if (value && value->size() > kMostValue) return Error{0, fmt::format("its value has over {} bytes", kMostValue)};
  return value;
}

}  // namespace

Result<std::string> JqHelper::first(const std::string& filter, const std::string& json) {
  if (filter.size() + json.size() > kMostText) return Error{0, "it is too long for a filter"};
  if (!socket_)
    if (auto started = start(); !started) return started.error();
  Exchange exchange(socket_.get(), mono_now() + kPatience);
  std::optional<std::string> answer;
  bool has_value = false;
  const FrameHead asked{static_cast<std::uint32_t>(filter.size()), static_cast<std::uint32_t>(json.size())};
  if (exchange.send(frame(asked, filter, json))) {
    if (const auto head = exchange.receive(sizeof(FrameHead))) {
      FrameHead received;
      std::memcpy(&received, head->data(), sizeof received);
      has_value = received.first == 1;
      if (received.second <= kMostValue * 2) answer = exchange.receive(received.second);
    }
  }
  if (!answer) {
    const bool too_late = exchange.too_late();
    end();
    return Error{0, too_late ? fmt::format("the filter gave no value within {}", format_duration(kPatience))
                             : "the filter took more memory than it may, or could not be run to its end"};
  }
  if (!has_value) return Error{0, std::move(*answer)};
  return std::move(*answer);
}

Result<void> JqHelper::start() {
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0)
    return system_error(errno, "no filter can be run");
  Descriptor ours(pair[0]);
  const Descriptor theirs(pair[1]);
  auto started = start_helper(program_, std::string(kName), std::string(kOption), theirs.get());
  if (!started) return Error{started.error().code, "no filter can be run: " + started.error().what};
  pid_ = *started;
  socket_ = std::move(ours);
  return {};
}

void JqHelper::end() {
  socket_.reset();
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
}

bool is_jq_helper(int argc, char** argv) { return argc == 2 && argv[0] == kName && argv[1] == kOption; }

int run_jq_helper() {
  if (!become_nobody()) return 1;
  for (;;) {
    std::string head_bytes(sizeof(FrameHead), '\0');
    if (!read_all(head_bytes)) return 0;
    FrameHead head;
    std::memcpy(&head, head_bytes.data(), sizeof head);
    if (std::size_t{head.first} + head.second > kMostText) return 1;
    std::string filter(head.first, '\0'), json(head.second, '\0');
    if (!read_all(filter) || !read_all(json)) return 0;
    // A filter may run for ever, and the daemon that would kill it may be gone: then the kernel ends it.
    ::alarm(kLongestFilter);
    const auto value = first_value(filter, json);
    ::alarm(0);
    const std::string payload = value ? *value : value.error().what.substr(0, kMostValue);
    const FrameHead answer{value ? 1U : 0U, static_cast<std::uint32_t>(payload.size())};
    if (!write_all(frame(answer, payload, {}))) return 0;
  }
}

}  // namespace healer::runtime
