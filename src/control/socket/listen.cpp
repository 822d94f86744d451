// SPDX-License-Identifier: MIT
#include "control/socket/listen.hpp"

#include <fcntl.h>
#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include <spdlog/fmt/fmt.h>

namespace healer::control {
namespace {

/// Makes sure that nobody but root and this user can put something else at `path`.
Result<void> check_folder(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  struct stat info {};
  if (stat(folder.c_str(), &info) != 0) {
    if (errno != ENOENT) return system_error(errno, fmt::format("cannot look at {}", folder));
    if (mkdir(folder.c_str(), 0755) != 0) return system_error(errno, fmt::format("cannot make the folder {}", folder));
    if (stat(folder.c_str(), &info) != 0) return system_error(errno, fmt::format("cannot look at {}", folder));
  }
  if (!S_ISDIR(info.st_mode)) return Error{ENOTDIR, fmt::format("{} is not a folder", folder)};
  if (info.st_uid != 0 && info.st_uid != geteuid())
    return Error{
        EPERM, fmt::format("{} belongs to another user (uid {}): not safe for a control socket", folder, info.st_uid)};
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (info.st_mode & S_ISVTX) == 0)
    return Error{EPERM, fmt::format("others can write to {} (mode {:04o}): not safe for a control socket", folder,
                                    info.st_mode & 07777)};
  return {};
}

/// Removes what an ended daemon has left at `path`.
Result<void> clear_stale(const std::string& path, const sockaddr_un& address) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return {};
    return system_error(errno, fmt::format("cannot look at {}", path));
  }
  if (!S_ISSOCK(info.st_mode)) return Error{EEXIST, fmt::format("{} is there already, and is not a socket", path)};
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return system_error(errno, "cannot make a socket");
  const int answer = connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int code = answer == 0 ? 0 : errno;
  close(probe);
  // EAGAIN: somebody listens, but its queue is full.
  if (code == 0 || code == EAGAIN) return Error{EADDRINUSE, fmt::format("another process answers on {}", path)};
  if (code != ECONNREFUSED) return system_error(code, fmt::format("cannot tell whether somebody answers on {}", path));
  if (unlink(path.c_str()) != 0 && errno != ENOENT)
    return system_error(errno, fmt::format("cannot remove the stale {}", path));
  return {};
}

/// All groups of the peer; without what the kernel does not tell.
std::vector<gid_t> groups_of(int descriptor, gid_t primary) {
  std::vector<gid_t> groups(32);
  for (;;) {
    auto size = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
    const bool notified = getsockopt(descriptor, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) == 0;
    const bool larger = !notified && errno == ERANGE && size / sizeof(gid_t) > groups.size();
    groups.resize(notified || larger ? size / sizeof(gid_t) : 0);
    if (!larger) break;
  }
  groups.push_back(primary);
  return groups;
}

}  // namespace

std::optional<gid_t> group_id(const std::string& name) {
  std::vector<char> buffer(4096);
  for (;;) {
    group entry{};
    group* found = nullptr;
    const int code = getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
    if (code == ERANGE && buffer.size() < (1U << 24)) {
      buffer.resize(buffer.size() * 4);  // a group of very many members
      continue;
    }
    if (code != 0 || found == nullptr) return std::nullopt;
    return entry.gr_gid;
  }
}

Result<void> protect_socket(const std::string& path, const SocketAccess& access) {
  if (access.group && lchown(path.c_str(), geteuid(), *access.group) != 0)
    return system_error(errno, fmt::format("cannot give the group to {}", path));
  const mode_t mode = access.is_open() ? 0666 : access.group ? 0660 : 0600;
  if (chmod(path.c_str(), mode) != 0) return system_error(errno, fmt::format("cannot set the mode of {}", path));
  return {};
}

Result<int> bind_socket(const std::string& path, const SocketAccess& access) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path || path.find('\0') != std::string::npos)
    return Error{ENAMETOOLONG, fmt::format("the path of the control socket must have 1 to {} bytes: {}",
                                           sizeof address.sun_path - 1, path)};
  std::memcpy(address.sun_path, path.data(), path.size());
  if (const auto checked = check_folder(path); !checked) return checked.error();
  if (const auto cleared = clear_stale(path, address); !cleared) return cleared.error();

  const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return system_error(errno, "cannot make a socket");
  const auto fail = [&](const std::string& what) {
    const int code = errno;
    close(descriptor);
    return system_error(code, fmt::format("{} {}", what, path));
  };
  // Linux gives the file the mode that the socket had before bind: it is never open to others, not for a moment, and
  // the umask of the process (which other threads share) is left alone.
  if (fchmod(descriptor, 0600) != 0) return fail("cannot protect");
  if (bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return fail("cannot bind");
  // It does not listen yet: whoever finds it now is refused.
  if (const auto done = protect_socket(path, access); !done) {
    unlink(path.c_str());
    close(descriptor);
    return done.error();
  }
  return descriptor;
}

Result<Peer> admit(int descriptor, const SocketAccess& access) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return system_error(errno, "cannot tell who connects");
  const Asker who = asker_of({.uid = peer.uid, .groups = groups_of(descriptor, peer.gid)}, access, geteuid());
  if (!who.role && !access.is_open())
    return Error{EACCES,
                 fmt::format("uid {} may not control healerd: it is neither root nor in the group that may", peer.uid)};
  return Peer{.pid = peer.pid, .uid = peer.uid, .who = who};
}

}  // namespace healer::control
