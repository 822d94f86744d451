// SPDX-License-Identifier: MIT
#include "runtime/jq_helper.hpp"

#include <fcntl.h>
#include <grp.h>
#include <malloc.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
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
constexpr std::size_t kMostText = std::size_t{1} << 26;                // of a question; the parent bounds it, too
constexpr std::size_t kMostValue = std::size_t{1} << 12;               // what rules compare is short
constexpr std::size_t kKeptFilters = 256;                              // compiled filters
constexpr std::size_t kMostList = kMostText + (std::size_t{4} << 20);  // of a question about one, with its filters
constexpr std::size_t kMostAnswer = std::size_t{256} << 20;            // to such
constexpr std::uint32_t kListAsked = 0xFFFFFFFF;                       // FrameHead::first of such a question
constexpr rlim_t kMemory = rlim_t{512} << 20;
constexpr rlim_t kLeastOfList = rlim_t{256} << 20;
constexpr rlim_t kMemoryOfByte = 16;  // more, for each of a list
constexpr rlim_t kMostMemory = kLeastOfList + kMemoryOfByte * kMostList;
constexpr uid_t kNobody = 65534;

/// What goes over the socket, each way: this, and then `first` and `second` bytes.
struct FrameHead {
  std::uint32_t first = 0;   // of the filter, or kListAsked; of an answer: 1 where there is one
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

/// What a list takes more, by its bytes.
Duration patience_for(std::size_t size) {
  return milliseconds{1'000 * ((size >> 20) + ((size & 0xFFFFF) != 0 ? 1 : 0))};
}

// ---- the helper's side --------------------------------------------------------------------------------------------

constexpr unsigned kLongestFilter = 2 * JqHelper::kPatience.count() / 1000;  // seconds

void limit(__rlimit_resource_t what, rlim_t most) {
  const rlimit bound{most, most};
  ::setrlimit(what, &bound);
}

/// How much memory it may take: more for a list, by the bytes of that; 0: it is none.
void set_memory([[maybe_unused]] std::size_t list) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !__has_feature(address_sanitizer) && \
    !__has_feature(thread_sanitizer)
  // Sanitizers take a share of all addresses there are.
  const rlimit bound{std::max(kMemory, list == 0 ? rlim_t{0} : kLeastOfList + kMemoryOfByte * list), kMostMemory};
  ::setrlimit(RLIMIT_AS, &bound);
#endif
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
  limit(RLIMIT_AS, kMostMemory);
#endif
  set_memory(0);
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

Result<JqHelper::Said> JqHelper::ask(const std::string& question, Duration patience, std::size_t most) {
  if (!socket_)
    if (auto started = start(); !started) return started.error();
  Exchange exchange(socket_.get(), mono_now() + patience);
  std::optional<std::string> answer;
  bool is_good = false;
  if (exchange.send(question)) {
    if (const auto head = exchange.receive(sizeof(FrameHead))) {
      FrameHead received;
      std::memcpy(&received, head->data(), sizeof received);
      is_good = received.first == 1;
      if (received.second <= most) answer = exchange.receive(received.second);
    }
  }
  if (answer) return Said{is_good, std::move(*answer)};
  const bool too_late = exchange.too_late();
  end();
  return Error{EAGAIN, too_late ? fmt::format("the filter gave no value within {}", format_duration(patience))
                                : "the filter took more memory than it may, or could not be run to its end"};
}

Result<std::string> JqHelper::first(const std::string& filter, const std::string& json) {
  if (filter.size() + json.size() > kMostText) return Error{0, "it is too long for a filter"};
  const FrameHead asked{static_cast<std::uint32_t>(filter.size()), static_cast<std::uint32_t>(json.size())};
  Result<Said> said = ask(frame(asked, filter, json), kPatience, kMostValue * 2);
  if (!said) return said.error();
  if (!said->is_good) return Error{0, std::move(said->text)};
  return std::move(said->text);
}

Result<ListAnswer> JqHelper::rows(const ListQuestion& question) {
  const std::string bytes = to_bytes(question);
  if (question.text.size() > kMostText || bytes.size() > kMostList) return Error{0, "it is too long for a filter"};
  const FrameHead asked{kListAsked, static_cast<std::uint32_t>(bytes.size())};
  const Result<Said> said = ask(frame(asked, bytes, {}), kPatience + patience_for(question.text.size()), kMostAnswer);
  if (!said) return said.error();
  if (!said->is_good) return Error{0, said->text};
  std::optional<ListAnswer> answer = answer_of(said->text);
  if (!answer) return Error{0, "the filters could not be run to their end"};
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

namespace {

/// Answers one question. False: the parent has gone, or asks nonsense.
bool serve(FrameHead head) {
  std::string filter(head.first, '\0'), json(head.second, '\0');
  if (!read_all(filter) || !read_all(json)) return false;
  // A filter may run for ever, and the daemon that would kill it may be gone: then the kernel ends it.
  ::alarm(kLongestFilter);
  const auto value = first_value(filter, json);
  ::alarm(0);
  const std::string payload = value ? *value : value.error().what.substr(0, kMostValue);
  return write_all(frame({value ? 1U : 0U, static_cast<std::uint32_t>(payload.size())}, payload, {}));
}

/// The same of a list. What it took is given back: the next one may be small.
bool serve_list(std::size_t size) {
  static CompiledFilters compiled;
  std::string bytes(size, '\0');
  if (!read_all(bytes)) return false;
  set_memory(size);
  ::alarm(kLongestFilter + 2 * static_cast<unsigned>(patience_for(size).count() / 1000));
  bool is_sent = false;
  {
    const std::optional<ListQuestion> question = question_of(bytes);
    if (!question) return false;
    bytes = {};
    if (compiled.size() > kKeptFilters) compiled.clear();
    const Result<ListAnswer> found = answer(*question, compiled);
    const std::string payload = found ? to_bytes(*found) : found.error().what.substr(0, kMostValue);
    const bool fits = payload.size() <= kMostAnswer;
    const std::string told = fits ? payload : "its rows are too much to be told";
    is_sent = write_all(frame({found && fits ? 1U : 0U, static_cast<std::uint32_t>(told.size())}, told, {}));
  }
  ::alarm(0);
  ::malloc_trim(0);
  set_memory(0);
  return is_sent;
}

}  // namespace

int run_jq_helper() {
  if (!become_nobody()) return 1;
  for (;;) {
    std::string head_bytes(sizeof(FrameHead), '\0');
    if (!read_all(head_bytes)) return 0;
    FrameHead head;
    std::memcpy(&head, head_bytes.data(), sizeof head);
    if (head.first == kListAsked) {
      if (head.second > kMostList) return 1;
      if (!serve_list(head.second)) return 0;
    } else {
      if (std::size_t{head.first} + head.second > kMostText) return 1;
      if (!serve(head)) return 0;
    }
  }
}

}  // namespace healer::runtime
