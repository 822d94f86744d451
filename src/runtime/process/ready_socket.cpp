// SPDX-License-Identifier: MIT
#include "runtime/process/ready_socket.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "util/hash.hpp"

namespace healer::runtime {
namespace {

constexpr int kMostMessagesPerTurn = 32;
constexpr char kNamed = '@';
constexpr Duration kLongestExtension = hours{24};
constexpr std::string_view kExtend = "EXTEND_TIMEOUT_USEC=";

/// Lets everybody write to the socket at `path`, if that is what it is: never to what somebody has put in its place.
Result<void> open_to_all(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat facts {};
  if (!file || ::fstat(file.get(), &facts) != 0) return system_error(errno, fmt::format("cannot look at {}", path));
  if (!S_ISSOCK(facts.st_mode) || facts.st_uid != ::geteuid()) {
    return Error{EEXIST, fmt::format("{} is not the socket that was made there", path)};
  }
  if (::chmod(fmt::format("/proc/self/fd/{}", file.get()).c_str(), 0666) != 0) {
    return system_error(errno, fmt::format("cannot set the mode of {}", path));
  }
  return {};
}

}  // namespace

Notice Notice::read(pid_t sender, std::string_view text) {
  Notice notice{.sender = sender};
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    notice.ready = notice.ready || line == "READY=1";
    notice.alive = notice.alive || line == "WATCHDOG=1";
    if (line.starts_with(kExtend)) {
      std::uint64_t time = 0;
      const char* const end = line.data() + line.size();
      const auto [rest, error] = std::from_chars(line.data() + kExtend.size(), end, time);
      if (error == std::errc{} && rest == end)
        notice.extend =
            std::min<Duration>(milliseconds{static_cast<std::int64_t>(std::min<std::uint64_t>(time / 1000, INT32_MAX))},
                               kLongestExtension);
    }
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return notice;
}

std::string closed_folder(const std::string& path, uid_t user, gid_t group) {
  if (user == 0) return {};
  std::error_code error;
  const std::filesystem::path last = std::filesystem::canonical(std::filesystem::path(path).parent_path(), error);
  std::filesystem::path folder;
  for (const std::filesystem::path& name : last) {
    folder /= name;
    struct stat facts {};
    if (::stat(folder.c_str(), &facts) != 0) break;
    const mode_t wanted = facts.st_uid == user ? S_IXUSR : facts.st_gid == group ? S_IXGRP : S_IXOTH;
    if ((facts.st_mode & wanted) == 0) return folder;
  }
  return {};
}

std::string ReadySocket::place_for(const std::string& path) {
  if (path.size() < sizeof sockaddr_un::sun_path) return path;
  return fmt::format("{}healer-notify-{}", kNamed, to_string(hash128(path)));
}

Result<std::unique_ptr<ReadySocket>> ReadySocket::open(Loop& loop, const std::string& path, Sink sink) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socklen_t length = sizeof address;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return Error{ENAMETOOLONG,
                 fmt::format("the path of a socket must have 1 to {} bytes: {}", sizeof address.sun_path - 1, path)};
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  const bool named = path.front() == kNamed;
  struct stat facts {};
  if (named) {
    address.sun_path[0] = '\0';
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  } else if (::lstat(path.c_str(), &facts) == 0) {
    if (!S_ISSOCK(facts.st_mode)) return Error{EEXIST, fmt::format("{} is there already, and is not a socket", path)};
    ::unlink(path.c_str());
  }
  Descriptor made(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made) return system_error(errno, "cannot make a socket");
  constexpr int kYes = 1;
  if (::setsockopt(made.get(), SOL_SOCKET, SO_PASSCRED, &kYes, sizeof kYes) != 0) {
    return system_error(errno, "cannot ask for the senders of messages");
  }
  if (::bind(made.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    return system_error(errno, fmt::format("cannot bind {}", path));
  }
  if (!named) {
    if (auto opened = open_to_all(path); !opened) return opened.error();
  }
  std::unique_ptr<ReadySocket> ready(new ReadySocket(std::move(made), std::move(sink)));
  auto watch = loop.watch(ready->socket_.get(), Loop::kReadable, [self = ready.get()](unsigned) { self->take(); });
  if (!watch) return watch.error();
  ready->watch_ = std::move(*watch);
  return ready;
}

void ReadySocket::take() {
  for (int i = 0; i < kMostMessagesPerTurn && take_one(); ++i) {
  }
}

/// False where there is nothing more.
bool ReadySocket::take_one() {
  std::array<char, kMostOfMessage> text;
  iovec place{text.data(), text.size()};
  // Room for the sender and the one descriptor of a barrier; the kernel closes what does not fit.
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(sizeof(int))> control;
  msghdr message{};
  message.msg_iov = &place;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t size = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (size < 0) return errno == EINTR;

  pid_t sender = 0;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET) continue;
    if (head->cmsg_type == SCM_CREDENTIALS) {
      ucred who{};
      std::memcpy(&who, CMSG_DATA(head), sizeof who);
      sender = who.pid;
    } else if (head->cmsg_type == SCM_RIGHTS) {
      for (std::size_t at = 0; head->cmsg_len >= CMSG_LEN(at + sizeof(int)); at += sizeof(int)) {
        int number = -1;
        std::memcpy(&number, CMSG_DATA(head) + at, sizeof number);
        ::close(number);
      }
    }
  }
  const std::string_view datagram(text.data(), static_cast<std::size_t>(size));
  // A sender in a pid namespace that cannot be seen from here has the number 0.
  if (sender <= 0 || (message.msg_flags & MSG_TRUNC) != 0) return true;
  if (const Notice notice = Notice::read(sender, datagram); notice.has_content()) sink_(notice);
  return true;
}

}  // namespace healer::runtime
