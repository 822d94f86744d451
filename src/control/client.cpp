// SPDX-License-Identifier: MIT
#include "control/client.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include <spdlog/fmt/fmt.h>

namespace healer::control {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxLine = 64U << 20;

Failure timed_out(std::string_view doing, Duration limit) {
  return {"timeout", fmt::format("healerd did not answer within {} ({})", format_duration(limit), doing),
          "it may be very busy or stopped: see its log"};
}

Failure closed() { return {"closed", "healerd closed the connection before its answer was complete", "see its log"}; }

/// Waits until `descriptor` is ready for `events`; false once `until` has come.
bool wait_ready(int descriptor, short events, std::optional<Clock::time_point> until) {
  for (;;) {
    int delay = -1;
    if (until) {
      const auto left = std::chrono::ceil<milliseconds>(*until - Clock::now()).count();
      delay = static_cast<int>(std::clamp<std::int64_t>(left, 0, INT_MAX));
    }
    pollfd entry{descriptor, events, 0};
    const int ready = poll(&entry, 1, delay);
    if (ready > 0) return true;
    if (ready == 0 && until && Clock::now() >= *until) return false;
    if (ready < 0 && errno != EINTR) return true;  // the next call says what is wrong
  }
}

Failure connect_failure(int code, const std::string& path) {
  switch (code) {
    case ENOENT:
      return {"not-running", fmt::format("healerd is not running (no socket at {})", path),
              "start it (systemctl start healer), or name its socket with --socket"};
    case ECONNREFUSED:
      return {"not-running", fmt::format("healerd is not running (nobody answers on {})", path),
              "start it (systemctl start healer), or name its socket with --socket"};
    case EACCES:
    case EPERM:
      return {"permission", fmt::format("no permission to use the socket {}", path),
              fmt::format("run healerctl as root, or join the group \"{}\"", kControlGroup)};
    default: return {"connect", fmt::format("cannot connect to {}: {}", path, std::strerror(code)), ""};
  }
}

/// One line of a reply; whether it was the last.
bool take_line(const std::string& line, Reply& reply, const std::function<void(const Json&)>& on_item,
               const std::function<void(const Json&)>& on_header) {
  try {
    const Json json = Json::parse(line);
    if (json.contains("error")) {
      reply.failure = json["error"].get<Failure>();
      return true;
    }
    if (json.contains("end")) {
      reply.failure.reset();
      reply.end = json["end"];
      return true;
    }
    if (json.contains("item")) {
      if (on_item) on_item(json["item"]);
    } else {
      reply.header = json;
      if (on_header) on_header(json);
    }
    return false;
  } catch (const std::exception& failure) {
    reply.failure = Failure{"protocol", fmt::format("the answer is not understood: {}", failure.what()),
                            "use the healerctl of the same release as healerd"};
    return true;
  }
}

}  // namespace

Client::Client(int descriptor, std::string path, Duration timeout)
    : descriptor_(descriptor), path_(std::move(path)), timeout_(timeout) {}

Client::Client(Client&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      process_(std::exchange(other.process_, -1)),
      path_(std::move(other.path_)),
      timeout_(other.timeout_),
      end_(other.end_),
      buffer_(std::move(other.buffer_)),
      taken_(other.taken_) {}

Client& Client::operator=(Client&& other) noexcept {
  if (this == &other) return *this;
  close();
  descriptor_ = std::exchange(other.descriptor_, -1);
  process_ = std::exchange(other.process_, -1);
  path_ = std::move(other.path_);
  timeout_ = other.timeout_;
  end_ = other.end_;
  buffer_ = std::move(other.buffer_);
  taken_ = other.taken_;
  return *this;
}

Client::~Client() { close(); }

void Client::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (process_ >= 0) ::close(process_);
  descriptor_ = process_ = -1;
}

std::variant<Client, Failure> Client::connect(const std::string& path, Duration timeout) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return Failure{"connect",
                   fmt::format("the path of the socket must have 1 to {} bytes", sizeof address.sun_path - 1), ""};
  std::memcpy(address.sun_path, path.data(), path.size());
  const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return connect_failure(errno, path);
  Client client(descriptor, path, timeout);
  const auto until = Clock::now() + timeout;
  while (::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return connect_failure(errno, path);
    // The daemon's queue is full; a unix socket cannot be polled for that.
    if (Clock::now() >= until) return timed_out("too many clients are waiting", timeout);
    usleep(20'000);
  }
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0)
    client.process_ = static_cast<int>(syscall(SYS_pidfd_open, peer.pid, 0));
  return client;
}

Client Client::over(int descriptor, Duration timeout) {
  (void)fcntl(descriptor, F_SETFL, O_NONBLOCK);
  return Client(descriptor, "", timeout);
}

std::optional<Failure> Client::send(std::string_view bytes) {
  const auto until = Clock::now() + timeout_;
  while (!bytes.empty()) {
    const ssize_t count = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      if (!wait_ready(descriptor_, POLLOUT, until)) return timed_out("it does not accept the request", timeout_);
    } else if (errno != EINTR) {
      // The daemon may have refused and closed: its last line says why.
      return std::nullopt;
    }
  }
  return std::nullopt;
}

/// The first line that lies whole in the buffer, whose bytes before `from` hold no end of one.
std::optional<std::string> Client::buffered_line(std::size_t from) {
  const std::size_t end = buffer_.find('\n', from);
  if (end == std::string::npos) {
    buffer_.erase(0, taken_);
    taken_ = 0;
    return std::nullopt;
  }
  std::string found = buffer_.substr(taken_, end - taken_);
  taken_ = end + 1;
  if (taken_ == buffer_.size()) {
    buffer_.clear();
    taken_ = 0;
  }
  return found;
}

/// Takes what has come, if something has.
std::optional<Failure> Client::receive() {
  if (buffer_.size() > kMaxLine) return Failure{"protocol", "healerd sent a line of over 64 MiB", ""};
  std::array<char, 65'536> bytes;
  const ssize_t count = recv(descriptor_, bytes.data(), bytes.size(), 0);
  if (count > 0)
    buffer_.append(bytes.data(), static_cast<std::size_t>(count));
  else if (count == 0 || (errno != EAGAIN && errno != EINTR))
    return closed();
  return std::nullopt;
}

std::variant<std::string, Failure> Client::line(std::optional<Duration> limit) {
  std::optional<Clock::time_point> until;
  if (limit) until = Clock::now() + *limit;
  std::size_t searched = taken_;
  for (;;) {
    if (auto found = buffered_line(searched)) return std::move(*found);
    searched = buffer_.size();
    if (!wait_ready(descriptor_, POLLIN, until)) return timed_out("waiting for its answer", *limit);
    if (auto failure = receive()) return std::move(*failure);
  }
}

std::optional<Failure> Client::begin(const Request& request) { return send(to_line(request) + '\n'); }

bool Client::advance(Reply& reply, const std::function<void(const Json&)>& on_item,
                     const std::function<void(const Json&)>& on_header) {
  const std::size_t searched = buffer_.size();
  reply.failure = receive();
  // What was sent before the end of the connection may be the whole reply.
  for (auto found = buffered_line(searched); found; found = buffered_line(taken_))
    if (take_line(*found, reply, on_item, on_header)) return true;
  return reply.failure.has_value();
}

Reply Client::call(const Request& request, const std::function<void(const Json&)>& on_item,
                   const std::function<void(const Json&)>& on_header) {
  Reply reply;
  if ((reply.failure = begin(request))) return reply;
  // What is yet to happen may take any time; a daemon that dies meanwhile closes the connection.
  const bool open_ended =
      acts(request.verb) || request.follow || request.verb == Verb::Follow || request.verb == Verb::Diff;
  for (;;) {
    const bool patient = open_ended && !reply.header.is_null();
    std::optional<Duration> limit = patient ? std::nullopt : std::optional(timeout_);
    if (end_) {
      const Duration left = std::max(std::chrono::ceil<Duration>(*end_ - Clock::now()), Duration{0});
      limit = limit ? std::min(*limit, left) : left;
    }
    auto next = line(limit);
    if (auto* failure = std::get_if<Failure>(&next); failure != nullptr && failure->code == "timeout" && end_) {
      if (reply.header.is_null())
        failure->message = "healerd did not answer in time";
      else
        *failure = {"unfinished", fmt::format("{} has not finished in time", to_string(request.verb)),
                    acts(request.verb) ? "healerd continues with it; `healerctl jobs` shows its progress" : ""};
    }
    if (auto* failure = std::get_if<Failure>(&next)) {
      const bool quit = request.verb == Verb::Quit && !reply.header.is_null() && failure->code == "closed";
      if (!quit) reply.failure = std::move(*failure);
      return reply;
    }
    if (take_line(std::get<std::string>(next), reply, on_item, on_header)) return reply;
  }
}

void Client::set_limit(Duration limit) { end_ = Clock::now() + limit; }

bool Client::wait_for_exit(Duration limit) {
  if (process_ < 0) return true;  // it had ended before we could ask
  return wait_ready(process_, POLLIN, Clock::now() + limit);
}

}  // namespace healer::control
