// SPDX-License-Identifier: MIT
#include "runtime/process/exit_status.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <sched.h>
#include <spdlog/fmt/fmt.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <vector>

#include "runtime/clock.hpp"
#include "runtime/inspection/proc_stat.hpp"

namespace healer::runtime {
namespace {

using engine::Outcome;
using engine::ProcessEnd;

// Of /proc/PID/stat.
constexpr int kFlagsField = 9;
constexpr int kPendingField = 31;
constexpr int kStatusField = 52;
constexpr int kMostEventsPerTurn = 64;
constexpr int kMostChecks = 5;                  // at whether threads go on
constexpr int kMostAtOnce = 8192;               // more than the buffer holds
constexpr std::int64_t kFresh = 1'000'000'000;  // nanoseconds

ProcessEnd end_of(int status) {
  if (WIFSIGNALED(status)) return {Outcome::Signalled, WTERMSIG(status)};
  return {Outcome::Exited, WEXITSTATUS(status)};
}

// ---- the pidfd ----------------------------------------------------------------------------------------------------

/// The first part of the kernel's pidfd_info, which older headers do not have.
struct PidfdInfo {
  std::uint64_t mask = 0;
  std::uint64_t cgroup = 0;
  std::array<std::uint32_t, 11> ids{};
  std::int32_t status = 0;
};
constexpr std::uint64_t kInfoExit = 8;  // PIDFD_INFO_EXIT
constexpr unsigned long kGetInfo = _IOWR(0xff, 11, PidfdInfo);

std::optional<int> status_by_pidfd(const Descriptor& pidfd) {
  PidfdInfo info{.mask = kInfoExit};
  if (::ioctl(pidfd.get(), kGetInfo, &info) != 0 || (info.mask & kInfoExit) == 0) return std::nullopt;
  return info.status;
}

// ---- the zombie ---------------------------------------------------------------------------------------------------

std::string_view field_of_stat(std::string_view line, int number) {
  line.remove_prefix(std::min(line.rfind(')') + 1, line.size()));  // of the second, which may hold anything
  for (int field = 3; !line.empty(); ++field) {
    line.remove_prefix(std::min(line.find_first_not_of(" \n"), line.size()));
    const std::string_view word = line.substr(0, line.find_first_of(" \n"));
    if (field == number) return word;
    line.remove_prefix(word.size());
  }
  return {};
}

/// Whom it may not tell, the kernel tells that it was 0: so ask it first for something that it refuses.
bool may_know(pid_t pid) {
  char target = 0;
  return ::readlink(fmt::format("/proc/{}/exe", pid).c_str(), &target, 1) >= 0 || errno == ENOENT;
}

template <typename Number>
std::optional<Number> number_of_stat(std::string_view line, int number) {
  const std::string_view field = field_of_stat(line, number);
  Number value = 0;
  if (std::from_chars(field.data(), field.data() + field.size(), value).ec != std::errc{}) return std::nullopt;
  return value;
}

std::optional<int> status_by_zombie(pid_t pid, const Descriptor& pidfd) {
  if (!may_know(pid)) return std::nullopt;
  const auto line = read_head(AT_FDCWD, fmt::format("/proc/{}/stat", pid).c_str(), kMostOfStat);
  const auto stat = line ? parse_proc_stat(*line) : std::nullopt;
  // First the look, then the proof: who has not been reaped now had its number then.
  if (!stat || !stat->zombie() || is_reaped(pidfd)) return std::nullopt;
  return number_of_stat<int>(*line, kStatusField);
}

/// Whether a thread, by its folder in /proc, neither ends nor was told to: with the process, all of it is.
bool goes_on(const std::string& thread) {
  constexpr unsigned long kEnds = 0x4 | 0x400;  // PF_EXITING, PF_SIGNALED
  constexpr unsigned long kKilled = 1UL << (SIGKILL - 1);
  const auto line = read_head(AT_FDCWD, (thread + "/stat").c_str(), kMostOfStat);
  return line && (number_of_stat<unsigned long>(*line, kFlagsField).value_or(0) & kEnds) == 0 &&
         (number_of_stat<unsigned long>(*line, kPendingField).value_or(0) & kKilled) == 0;
}

bool some_go_on(pid_t pid) {
  const std::string own = std::to_string(pid);
  std::error_code gone;
  for (std::filesystem::directory_iterator threads("/proc/" + own + "/task", gone), end; !gone && threads != end;
       threads.increment(gone))
    if (threads->path().filename() != own && goes_on(threads->path().string())) return true;
  return false;
}

/// Whether threads of a process beside its first go on. Of one that has been reaped none does. Between taking the
/// signal that ends it and saying so a thread looks as if it went on, and may be kept waiting there: then it is looked
/// at again.
bool others_go_on(pid_t pid) {
  for (int checks = 1; some_go_on(pid); ++checks) {
    if (checks == kMostChecks) return true;
    ::sched_yield();
  }
  return false;
}

}  // namespace

// ---- the connector ------------------------------------------------------------------------------------------------

namespace {

/// A message on the socket is an nlmsghdr, a cn_msg, of which this is the first part,
struct Head {
  std::uint32_t group = 0;
  std::uint32_t value = 0;
  std::uint32_t number = 0;
  std::uint32_t answers = 0;
};

/// and what the kernel calls proc_event, of which the names differ between its headers.
struct Event {
  static constexpr std::uint32_t kAnswer = 0;  // to a request; `pid` is then an errno
  static constexpr std::uint32_t kExit = 0x80000000;

  std::uint32_t what = 0;
  std::uint32_t cpu = 0;
  std::uint64_t when = 0;
  std::uint32_t pid = 0;  // of the thread
  std::uint32_t tgid = 0;
  std::uint32_t status = 0;
};
constexpr std::size_t kEventAt = NLMSG_HDRLEN + sizeof(cn_msg);
static_assert(sizeof(cn_msg) == 20 && offsetof(cn_msg, ack) == offsetof(Head, answers));

struct Message {
  Head head;
  Event event;
};

/// The places of the filter: each process has one, and may share it with others.
constexpr std::size_t kWords = 256;
struct Place {
  std::size_t word;
  unsigned bit;
};

/// As the filter finds it, which reads numbers in the byte order of networks.
Place place_of(pid_t pid) {
  const std::uint32_t read = htonl(static_cast<std::uint32_t>(pid));
  return {read >> 24, (read >> 16) & 31};
}

/// Lets through answers, and exits of processes whose place is set: those of their first threads, and of others that
/// did not end with 0.
std::vector<sock_filter> filter_for(const std::array<std::uint32_t, kWords>& places) {
  constexpr auto at = [](std::size_t member) { return static_cast<std::uint32_t>(kEventAt + member); };
  constexpr unsigned kLoad = BPF_LD | BPF_W | BPF_ABS;
  constexpr unsigned kIs = BPF_JMP | BPF_JEQ | BPF_K;
  constexpr std::uint32_t kAll = 0xffffffff;
  std::vector<sock_filter> program{
      BPF_STMT(kLoad, at(offsetof(Event, what))),
      BPF_JUMP(kIs, htonl(Event::kAnswer), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, kAll),
      BPF_JUMP(kIs, htonl(Event::kExit), 1, 0),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(kLoad, at(offsetof(Event, pid))),
      BPF_STMT(BPF_MISC | BPF_TAX, 0),
      BPF_STMT(kLoad, at(offsetof(Event, tgid))),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 3, 0),
      BPF_STMT(kLoad, at(offsetof(Event, status))),
      BPF_JUMP(kIs, 0, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(kLoad, at(offsetof(Event, tgid))),
      BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 16),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 31),
      BPF_STMT(BPF_MISC | BPF_TAX, 0),
      BPF_STMT(kLoad, at(offsetof(Event, tgid))),
      BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 24),
  };
  const std::size_t first = program.size();
  const auto used = static_cast<std::size_t>(std::ranges::count_if(places, [](std::uint32_t word) { return word; }));
  const std::size_t found = first + 3 * used + 1;
  for (std::uint32_t word = 0; word < kWords; ++word) {
    if (places[word] == 0) continue;
    program.push_back(BPF_JUMP(kIs, word, 0, 2));
    program.push_back(BPF_STMT(BPF_LD | BPF_IMM, places[word]));
    program.push_back(BPF_STMT(BPF_JMP | BPF_JA, static_cast<std::uint32_t>(found - program.size() - 1)));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, 0));
  program.push_back(BPF_STMT(BPF_ALU | BPF_RSH | BPF_X, 0));
  program.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 1));
  program.push_back(BPF_JUMP(kIs, 0, 0, 1));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, 0));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, kAll));
  return program;
}

}  // namespace

class ExitStatusReader::Connector {
 public:
  /// An Error where the kernel does not speak to us.
  static Result<std::unique_ptr<Connector>> open(Loop& loop, int buffer);
  Connector(Loop& loop, Descriptor socket) : loop_(loop), socket_(std::move(socket)) {}
  ~Connector() { static_cast<void>(request(PROC_CN_MCAST_IGNORE, 0)); }
  Connector(const Connector&) = delete;
  Connector& operator=(const Connector&) = delete;

  void follow(pid_t pid);
  void leave(pid_t pid);
  std::optional<int> status_of(pid_t pid, std::int64_t since);
  [[nodiscard]] std::uint64_t received() const { return received_; }

 private:
  /// What was told of a process that is followed.
  struct Followed {
    unsigned subscriptions = 0;
    std::int64_t reported_at = std::numeric_limits<std::int64_t>::min();  // when its first thread ended
    std::uint32_t status = 0;
    bool doubtful = false;    // another thread has ended otherwise after it
    bool left_early = false;  // other threads went on then
  };

  [[nodiscard]] bool request(std::uint32_t operation, std::uint32_t number);
  [[nodiscard]] Result<void> subscribe(int buffer);
  [[nodiscard]] bool attach();
  /// The next message of the kernel; nothing: there is none now.
  std::optional<Message> receive();
  void drain(int most);
  void note(const Event& event);

  Loop& loop_;
  Descriptor socket_;
  Loop::Watch watch_;
  std::unordered_map<pid_t, Followed> followed_;
  std::int64_t lost_ = 0;  // until then messages may be missing
  std::uint64_t received_ = 0;
  bool attaching_ = false;  // posted
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

Result<std::unique_ptr<ExitStatusReader::Connector>> ExitStatusReader::Connector::open(Loop& loop, int buffer) {
  Descriptor socket(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_CONNECTOR));
  if (!socket) return system_error(errno, "cannot open a netlink socket");
  auto connector = std::make_unique<Connector>(loop, std::move(socket));
  if (auto received = connector->subscribe(buffer); !received) return received.error();
  auto watch = loop.watch(connector->socket_.get(), Loop::kReadable,
                          [raw = connector.get()](unsigned) { raw->drain(kMostEventsPerTurn); });
  if (!watch) return watch.error();
  connector->watch_ = std::move(*watch);
  return connector;
}

/// Asks the kernel to speak. It answers before the request returns, or, to who may not ask, not at all: where there is
/// no answer others may have asked, but what we hear may be of other name spaces.
Result<void> ExitStatusReader::Connector::subscribe(int buffer) {
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer);
  if (!attach()) return system_error(errno, "cannot filter what the kernel reports of exits");
  sockaddr_nl address{.nl_family = AF_NETLINK, .nl_pad = 0, .nl_pid = 0, .nl_groups = CN_IDX_PROC};
  if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return system_error(errno, "cannot listen to what the kernel reports of exits");
  const auto number = static_cast<std::uint32_t>(kernel_now());
  if (!request(PROC_CN_MCAST_LISTEN, number)) return system_error(errno, "cannot ask the kernel to report exits");
  while (const auto message = receive()) {
    if (message->event.what != Event::kAnswer || message->head.answers != number + 1) continue;
    if (message->event.pid == 0) return {};
    return system_error(static_cast<int>(message->event.pid), "the kernel does not report exits");
  }
  return Error{EPERM, "the kernel does not report exits here"};
}

bool ExitStatusReader::Connector::request(std::uint32_t operation, std::uint32_t number) {
  constexpr std::uint32_t kSize = kEventAt + sizeof operation;
  const nlmsghdr outer{.nlmsg_len = kSize, .nlmsg_type = NLMSG_DONE, .nlmsg_flags = 0, .nlmsg_seq = number};
  const Head head{CN_IDX_PROC, CN_VAL_PROC, number, number};
  const std::uint16_t length = sizeof operation;
  std::array<char, kSize> bytes{};
  std::memcpy(bytes.data(), &outer, sizeof outer);
  std::memcpy(bytes.data() + NLMSG_HDRLEN, &head, sizeof head);
  std::memcpy(bytes.data() + NLMSG_HDRLEN + offsetof(cn_msg, len), &length, sizeof length);
  std::memcpy(bytes.data() + kEventAt, &operation, sizeof operation);
  const sockaddr_nl kernel{.nl_family = AF_NETLINK};
  return ::sendto(socket_.get(), bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr*>(&kernel),
                  sizeof kernel) >= 0;
}

/// Makes the kernel's filter that of the processes followed now.
bool ExitStatusReader::Connector::attach() {
  std::array<std::uint32_t, kWords> places{};
  for (const auto& [pid, followed] : followed_) {
    const Place place = place_of(pid);
    places[place.word] |= std::uint32_t{1} << place.bit;
  }
  std::vector<sock_filter> filter = filter_for(places);
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return ::setsockopt(socket_.get(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

void ExitStatusReader::Connector::follow(pid_t pid) {
  if (followed_[pid].subscriptions++ > 0 || std::exchange(attaching_, true)) return;
  loop_.post([this, alive = std::weak_ptr<char>(alive_)] {  // once for all of this turn
    if (alive.expired()) return;
    attaching_ = false;
    // Where there is no memory for it, these are not heard of.
    static_cast<void>(attach());
  });
}

/// Its place in the filter stays until that is recreated.
void ExitStatusReader::Connector::leave(pid_t pid) {
  const auto found = followed_.find(pid);
  if (--found->second.subscriptions == 0) followed_.erase(found);
}

std::optional<Message> ExitStatusReader::Connector::receive() {
  alignas(NLMSG_ALIGNTO) std::array<char, 512> bytes;
  while (true) {
    sockaddr_nl sender{};
    socklen_t length = sizeof sender;
    const ssize_t size =
        ::recvfrom(socket_.get(), bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&sender), &length);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == ENOBUFS) {
      lost_ = kernel_now();
      continue;
    }
    if (size < 0) return std::nullopt;
    ++received_;
    // Anybody may write to a group; from number 0 only the kernel does.
    if (sender.nl_pid != 0 || static_cast<std::size_t>(size) < kEventAt + sizeof(Event)) continue;
    Message message;
    std::memcpy(&message.head, bytes.data() + NLMSG_HDRLEN, sizeof message.head);
    std::memcpy(&message.event, bytes.data() + kEventAt, sizeof message.event);
    if (message.head.group == CN_IDX_PROC && message.head.value == CN_VAL_PROC) return message;
  }
}

void ExitStatusReader::Connector::drain(int most) {
  for (; most > 0; --most) {
    const auto message = receive();
    if (!message) return;
    if (message->event.what == Event::kExit) note(message->event);
  }
}

/// The status of a process is that of its first thread, where that has left last or with the others. One that has left
/// before has taken another, as has one whose place another thread took by exec: both are told by those that end later,
/// of which the kernel may report a while after it has made the pidfd readable; the former also by those that go on.
void ExitStatusReader::Connector::note(const Event& event) {
  const auto found = followed_.find(static_cast<pid_t>(event.tgid));
  if (found == followed_.end()) return;
  Followed& followed = found->second;
  if (event.pid == event.tgid) {
    followed.reported_at = static_cast<std::int64_t>(event.when);
    followed.status = event.status;
    followed.doubtful = false;
    followed.left_early = others_go_on(found->first);
  } else if (end_of(static_cast<int>(event.status)) != end_of(static_cast<int>(followed.status))) {
    followed.doubtful = true;
  }
}

/// `since`: what happened before was of another process of this number. What was told long before the process has ended
/// was not told of that: its first thread had left, or has become another program.
std::optional<int> ExitStatusReader::Connector::status_of(pid_t pid, std::int64_t since) {
  drain(kMostAtOnce);
  const Followed& followed = followed_.at(pid);
  const bool certain =
      followed.reported_at >= since && followed.reported_at > lost_ && !followed.doubtful && !followed.left_early;
  if (!certain || kernel_now() - followed.reported_at > kFresh) return std::nullopt;
  return static_cast<int>(followed.status);
}

// ---- all of them --------------------------------------------------------------------------------------------------

ExitStatusReader::Subscription& ExitStatusReader::Subscription::operator=(Subscription&& other) noexcept {
  std::swap(exits_, other.exits_);
  std::swap(pid_, other.pid_);
  std::swap(since_, other.since_);
  return *this;
}

ExitStatusReader::Subscription::~Subscription() {
  if (exits_ != nullptr && exits_->connector_ != nullptr) exits_->connector_->leave(pid_);
}

std::optional<ProcessEnd> ExitStatusReader::Subscription::ask(const Descriptor& pidfd) const {
  if (exits_ == nullptr) return std::nullopt;
  std::optional<int> status;
  if (exits_->options_.check) status = status_by_zombie(pid_, pidfd);
  if (!status && exits_->options_.ask_pidfd) status = status_by_pidfd(pidfd);
  if (!status && exits_->connector_ != nullptr) status = exits_->connector_->status_of(pid_, since_);
  return status ? std::optional(end_of(*status)) : std::nullopt;
}

ExitStatusReader::ExitStatusReader(Loop& loop, Options options) : loop_(loop), options_(std::move(options)) {}

ExitStatusReader::~ExitStatusReader() = default;

bool ExitStatusReader::pidfds_report() {
  utsname system{};
  unsigned major = 0;
  unsigned minor = 0;
  if (::uname(&system) != 0 || std::sscanf(system.release, "%u.%u", &major, &minor) != 2) return false;
  return std::pair(major, minor) >= std::pair(6U, 15U);
}

std::uint64_t ExitStatusReader::received() const { return connector_ == nullptr ? 0 : connector_->received(); }

void ExitStatusReader::listen() {
  if (std::exchange(tried_, true) || !options_.listen || (options_.ask_pidfd && pidfds_report())) return;
  auto connector = Connector::open(loop_, options_.buffer);
  if (connector) {
    connector_ = std::move(*connector);
  } else if (options_.not_received) {
    options_.not_received(connector.error().what);
  }
}

ExitStatusReader::Subscription ExitStatusReader::follow(pid_t pid) {
  listen();
  if (connector_ != nullptr) connector_->follow(pid);
  return {this, pid, kernel_now()};
}

}  // namespace healer::runtime
