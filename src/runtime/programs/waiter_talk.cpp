// SPDX-License-Identifier: MIT
#include "runtime/programs/waiter_talk.hpp"

#include <spdlog/fmt/fmt.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace healer::runtime {
namespace {

constexpr std::size_t kMostDescriptors = 5;
constexpr std::size_t kMostMessageBytes = 8192;
constexpr std::size_t kMostOfTask = std::size_t{1} << 26;
constexpr std::string_view kRuns = "runs", kFailed = "failed", kEnded = "ended";

// ---- messages with descriptors --------------------------------------------------------------------------------------

bool send_message(int socket, std::string_view text, const std::vector<int>& descriptors) {
  iovec part{const_cast<char*>(text.data()), text.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
    std::memcpy(CMSG_DATA(head), descriptors.data(), descriptors.size() * sizeof(int));
  }
  ssize_t sent = -1;
  do sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

struct Packet {
  std::string text;
  std::vector<Descriptor> descriptors;
};

std::optional<Packet> receive_message(int socket, int flags) {
  Packet got;
  got.text.resize(kMostMessageBytes);
  iovec part{got.text.data(), got.text.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t size = -1;
  do size = ::recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
  while (size < 0 && errno == EINTR);
  if (size <= 0) return std::nullopt;
  got.text.resize(static_cast<std::size_t>(size));
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    std::vector<int> numbers((head->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    std::memcpy(numbers.data(), CMSG_DATA(head), numbers.size() * sizeof(int));
    for (const int number : numbers) got.descriptors.emplace_back(number);
  }
  return got;
}

// ---- texts, none of which has a NUL -------------------------------------------------------------------------------

class TextsOut {
 public:
  void add(std::string_view text) {
    good_ = good_ && text.find('\0') == std::string_view::npos;
    all_.append(text).push_back('\0');
  }
  void add(std::uint64_t number) { add(std::to_string(number)); }
  void add(const std::optional<std::uint32_t>& number) { add(number ? std::to_string(*number) : std::string()); }
  void add(const std::vector<std::string>& texts) {
    add(texts.size());
    for (const std::string& text : texts) add(text);
  }
  [[nodiscard]] const std::string& all() const { return all_; }
  /// Whether they are read as they were added: none has a NUL.
  [[nodiscard]] bool good() const { return good_; }

 private:
  std::string all_;
  bool good_ = true;
};

class TextsIn {
 public:
  explicit TextsIn(std::string_view all) : rest_(all) {}

  std::string text() {
    const std::size_t end = rest_.find('\0');
    if (end == std::string_view::npos) {
      good_ = false;
      return {};
    }
    std::string found(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return found;
  }
  std::uint64_t number() {
    const std::string digits = text();
    std::uint64_t value = 0;
    const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    good_ = good_ && error == std::errc{} && *rest == '\0';
    return value;
  }
  std::optional<std::uint32_t> user() {
    if (rest_.starts_with('\0')) {
      rest_.remove_prefix(1);
      return std::nullopt;
    }
    return static_cast<std::uint32_t>(number());
  }
  std::vector<std::string> texts() {
    std::vector<std::string> found;
    for (std::uint64_t left = number(); good_ && left > 0; --left) found.push_back(text());
    return found;
  }
  [[nodiscard]] bool done() const { return good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

std::optional<std::string> read_whole(int file) {
  struct stat facts {};
  if (::fstat(file, &facts) != 0 || static_cast<std::size_t>(facts.st_size) > kMostOfTask) return std::nullopt;
  std::string text(static_cast<std::size_t>(facts.st_size), '\0');
  if (::pread(file, text.data(), text.size(), 0) != facts.st_size) return std::nullopt;
  return text;
}

}  // namespace

bool send_task(int socket, const Launch& launch, const LaunchDefaults& defaults) {
  TextsOut texts;
  texts.add(launch.waiter->action.number());
  texts.add(static_cast<std::uint64_t>(launch.waiter->deadline.count()));
  texts.add(launch.waiter->state);
  texts.add(launch.directory);
  texts.add(launch.uid);
  texts.add(launch.gid);
  texts.add(launch.arguments);
  texts.add(launch.environment);
  texts.add(std::uint64_t{defaults.reset_oom_score});
  for (const auto& [resource, value] : defaults.limits) {
    texts.add(static_cast<std::uint64_t>(resource));
    texts.add(std::uint64_t{value.rlim_cur});
    texts.add(std::uint64_t{value.rlim_max});
  }
  if (!texts.good()) {
    errno = EINVAL;
    return false;
  }
  const Descriptor file(::memfd_create("healer-waiter", MFD_CLOEXEC));
  if (!file || !write_whole(file.get(), texts.all())) return false;
  std::vector<int> descriptors{file.get(), launch.output.get(), launch.proof.get(), launch.waiter->folder.get()};
  if (launch.group) descriptors.push_back(launch.group.get());
  return send_message(socket, "start", descriptors);
}

std::optional<WaiterTask> receive_task(int socket) {
  auto message = receive_message(socket, 0);
  if (!message || message->descriptors.size() < 4) return std::nullopt;
  std::vector<Descriptor>& descriptors = message->descriptors;
  const auto text = read_whole(descriptors[0].get());
  if (!text) return std::nullopt;
  TextsIn texts(*text);
  WaiterTask task;
  Launch& launch = task.launch;
  WaiterOrder order;
  order.action = engine::ActionId{texts.number()};
  order.deadline = Duration{static_cast<std::int64_t>(texts.number())};
  order.state = texts.text();
  order.folder = std::move(descriptors[3]);
  launch.waiter = std::move(order);
  launch.directory = texts.text();
  launch.uid = texts.user();
  launch.gid = texts.user();
  launch.arguments = texts.texts();
  launch.environment = texts.texts();
  launch.output = std::move(descriptors[1]);
  launch.proof = std::move(descriptors[2]);
  if (descriptors.size() > 4) launch.group = std::move(descriptors[4]);
  task.defaults.reset_oom_score = texts.number() != 0;
  for (int left = RLIM_NLIMITS; left > 0 && !texts.done(); --left) {
    const int resource = static_cast<int>(texts.number());
    rlimit value{};
    value.rlim_cur = texts.number();
    value.rlim_max = texts.number();
    task.defaults.limits.emplace_back(resource, value);
  }
  if (!texts.done()) return std::nullopt;
  return task;
}

void send_start(int socket, const Result<Started>& start) {
  if (!start) {
    send_message(
        socket,
        fmt::format("{} {} {}", kFailed, start.error().code, start.error().what.substr(0, kMostMessageBytes / 2)), {});
    return;
  }
  std::vector<int> descriptors;
  if (start->pidfd) descriptors.push_back(start->pidfd.get());
  send_message(socket, fmt::format("{} {} {}", kRuns, start->pid, start->start_ticks), descriptors);
}

void send_end(int socket, const WaiterEnd& waiter_end) {
  send_message(socket,
               fmt::format("{} {} {} {} {}", kEnded, static_cast<int>(waiter_end.end.outcome), waiter_end.end.status,
                           waiter_end.end.elapsed.count(), waiter_end.recorded ? 1 : 0),
               {});
}

std::optional<WaiterWord> receive_from_waiter(int socket, bool wait) {
  auto message = receive_message(socket, wait ? 0 : MSG_DONTWAIT);
  if (!message) return std::nullopt;
  std::istringstream fields(message->text);
  std::string kind;
  fields >> kind;
  WaiterWord word;
  if (kind == kRuns) {
    Started started;
    fields >> started.pid >> started.start_ticks;
    if (!message->descriptors.empty()) started.pidfd = std::move(message->descriptors.front());
    word.start = std::move(started);
  } else if (kind == kFailed) {
    Error error;
    fields >> error.code;
    fields.get();
    std::getline(fields, error.what, '\0');
    word.start = std::move(error);
  } else if (kind == kEnded) {
    int outcome = 0;
    std::int64_t elapsed = 0;
    WaiterEnd waiter_end;
    fields >> outcome >> waiter_end.end.status >> elapsed >> waiter_end.recorded;
    waiter_end.end.outcome = static_cast<engine::Outcome>(outcome);
    waiter_end.end.elapsed = Duration{elapsed};
    word.end = std::move(waiter_end);
  }
  if (fields.fail() || (!word.start && !word.end)) return std::nullopt;
  return word;
}

}  // namespace healer::runtime
