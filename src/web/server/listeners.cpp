// SPDX-License-Identifier: MIT
#include "web/server/listeners.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "runtime/clock.hpp"
#include "runtime/files/safe_path.hpp"
#include "runtime/net/address.hpp"
#include "runtime/worker_pool.hpp"

namespace healer::web {
namespace {

using runtime::Descriptor;

constexpr Duration kAgain = seconds{10};
/// Where there are no descriptors for those who come.
constexpr Duration kRest = seconds{1};
constexpr int kBacklog = 128;
constexpr int kPerTurn = 64;

using Sockets = std::vector<Descriptor>;

Result<Descriptor> listen_on(const sockaddr* address, socklen_t size) {
  Descriptor socket(::socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return system_error(errno, "no socket");
  const int on = 1;
  if (address->sa_family == AF_INET6) setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (address->sa_family != AF_UNIX) setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(socket.get(), address, size) != 0 || ::listen(socket.get(), kBacklog) != 0)
    return Error{errno, runtime::words_of_errno(errno)};
  return socket;
}

Result<Sockets> open_tcp(const Endpoint& endpoint) {
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int failure = getaddrinfo(endpoint.any ? nullptr : endpoint.address.c_str(),
                                  std::to_string(endpoint.port).c_str(), &hints, &list);
  if (failure != 0) return Error{0, gai_strerror(failure)};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(list, freeaddrinfo);
  Sockets sockets;
  std::optional<Error> error;
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
    auto socket = listen_on(one->ai_addr, one->ai_addrlen);
    if (socket)
      sockets.push_back(std::move(*socket));
    else if (!error || socket.error().code != EAFNOSUPPORT)
      error = socket.error();
  }
  // A machine without IPv6 has one family less; a port that another one has is a fault in any family.
  const bool is_taken = error && error->code == EADDRINUSE;
  if (sockets.empty() || is_taken) return error.value_or(Error{0, "it has no address"});
  return sockets;
}

/// Whether somebody answers there.
bool is_answered(const sockaddr_un& address) {
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  return connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 || errno == EAGAIN;
}

/// The number of a user or group, by number or name; that which changes nothing of an empty one; none: it is unknown.
template <typename Entry>
std::optional<unsigned> number_of(const std::string& name, Entry* (*look_up)(const char*), unsigned Entry::*number) {
  if (name.empty()) return static_cast<unsigned>(-1);
  unsigned value = 0;
  const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), value);
  if (error == std::errc{} && rest == name.data() + name.size()) return value;
  const Entry* const entry = look_up(name.c_str());
  return entry == nullptr ? std::nullopt : std::optional<unsigned>(entry->*number);
}

Result<Sockets> open_unix(const Endpoint& endpoint) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (endpoint.path.size() >= sizeof address.sun_path) return Error{0, "its path is too long for a socket"};
  std::memcpy(address.sun_path, endpoint.path.data(), endpoint.path.size());
  if (const auto safe = runtime::safe_path("the socket", endpoint.path); !safe) return safe.error();
  struct stat facts {};
  if (lstat(endpoint.path.c_str(), &facts) == 0) {
    if (!S_ISSOCK(facts.st_mode)) return Error{0, "something else than a socket is there"};
    if (is_answered(address)) return Error{EADDRINUSE, "another program answers there"};
    unlink(endpoint.path.c_str());
  }
  // healerd's umask lets nobody else connect before the socket belongs to whom it should.
  auto socket = listen_on(reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (!socket) return socket.error();
  const auto uid = number_of(endpoint.owner, &getpwnam, &passwd::pw_uid);
  const auto gid = number_of(endpoint.group, &getgrnam, &group::gr_gid);
  if (!uid || !gid)
    return Error{0, fmt::format("there is no {}", uid ? "group " + endpoint.group : "user " + endpoint.owner)};
  if (lchown(endpoint.path.c_str(), *uid, *gid) != 0)
    return Error{errno, fmt::format("its owner cannot be set: {}", runtime::words_of_errno(errno))};
  if (chmod(endpoint.path.c_str(), endpoint.mode) != 0)
    return Error{errno, fmt::format("its mode cannot be set: {}", runtime::words_of_errno(errno))};
  Sockets sockets;
  sockets.push_back(std::move(*socket));
  return sockets;
}

/// Another descriptor of a socket that was handed over: it may be listened on again after it was not for a while.
Result<Sockets> open_handed(int handed) {
  Descriptor socket(fcntl(handed, F_DUPFD_CLOEXEC, 3));
  if (!socket) return Error{errno, runtime::words_of_errno(errno)};
  Sockets sockets;
  sockets.push_back(std::move(socket));
  return sockets;
}

std::string_view remedy_of(const Error& error) {
  switch (error.code) {
    case EADDRINUSE: return "another program has it (`ss -ltnp` shows which): end that, or choose another one";
    case EADDRNOTAVAIL: return "this machine does not have the address (yet)";
    case EACCES:
    case EPERM: return "healerd may not have it";
    default: return "";
  }
}

}  // namespace

std::string Endpoint::text() const {
  if (port == 0) return path;
  if (any) return fmt::format("*:{}", port);
  return address.find(':') == std::string::npos ? fmt::format("{}:{}", address, port)
                                                : fmt::format("[{}]:{}", address, port);
}

bool is_loopback(const std::string& address) {
  return address == "::1" || address.starts_with("127.") || address == "localhost" ||
         address.starts_with("::ffff:127.");
}

struct Listeners::Impl : std::enable_shared_from_this<Impl> {
  struct Door {
    Endpoint endpoint;
    Sockets sockets;
    std::vector<runtime::Loop::Watch> watches;
    runtime::Loop::Timer again, rest;
    std::string trouble;  ///< why it cannot be listened on; empty: it is, or that is being tried
  };
  using Doors = std::map<std::string, std::shared_ptr<Door>>;

  Impl(runtime::Loop& on, Accepted take, Report tell)
      : loop(on),
        accepted(std::move(take)),
        report(std::move(tell)),
        pool(on, {.name = "listener", .workers = 1, .patience = Duration{10'000}}) {}

  void open(const std::shared_ptr<Door>& door);
  void opened(const std::shared_ptr<Door>& door, Result<Sockets> sockets);
  void accept(Door& door, std::size_t which);

  runtime::Loop& loop;
  Accepted accepted;
  Report report;
  Doors doors;
  runtime::WorkerPool pool;
};

void Listeners::Impl::open(const std::shared_ptr<Door>& door) {
  pool.submit(
      [this, door, endpoint = door->endpoint]() -> runtime::Loop::Callback {
        auto sockets = std::make_shared<Result<Sockets>>(endpoint.handed >= 0 ? open_handed(endpoint.handed)
                                                         : endpoint.port == 0 ? open_unix(endpoint)
                                                                              : open_tcp(endpoint));
        return [this, door, sockets] { opened(door, std::move(*sockets)); };
      },
      [this, door](const Error& error) { opened(door, error); });
}

void Listeners::Impl::opened(const std::shared_ptr<Door>& door, Result<Sockets> sockets) {
  const auto known = doors.find(door->endpoint.text());
  if (known == doors.end() || known->second != door) return;  // it is not wanted any more
  if (!sockets) {
    const std::string_view remedy = remedy_of(sockets.error());
    std::string trouble = fmt::format("cannot listen on {}: {}{}{}", door->endpoint.text(), sockets.error().what,
                                      remedy.empty() ? "" : "; ", remedy);
    if (std::exchange(door->trouble, trouble) != trouble) report(true, trouble + "; it is tried again");
    door->again = loop.timer([this, weak = std::weak_ptr(door)] {
      if (const auto self = weak.lock()) open(self);
    });
    return door->again.set_deadline(runtime::now().mono + kAgain);
  }
  door->sockets = std::move(*sockets);
  for (std::size_t which = 0; which < door->sockets.size(); ++which) {
    auto watch = loop.watch(door->sockets[which].get(), runtime::Loop::kReadable,
                            [this, raw = door.get(), which](unsigned) { accept(*raw, which); });
    if (watch) door->watches.push_back(std::move(*watch));
  }
  door->rest = loop.timer([raw = door.get()] {
    for (auto& watch : raw->watches) watch.change(runtime::Loop::kReadable);
  });
  door->trouble.clear();
  report(false, fmt::format("listening on {}{}", door->endpoint.text(),
                            door->endpoint.handed >= 0 ? ", a socket of systemd's" : ""));
}

void Listeners::Impl::accept(Door& door, std::size_t which) {
  for (int count = 0; count < kPerTurn; ++count) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    Descriptor socket(
        accept4(door.sockets[which].get(), reinterpret_cast<sockaddr*>(&address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        for (auto& watch : door.watches) watch.change(0);
        door.rest.set_deadline(runtime::now().mono + kRest);
      }
      return;
    }
    HttpServer::From from{.local = true};
    if (address.ss_family == AF_INET) {
      from.peer = runtime::Address(reinterpret_cast<const sockaddr_in&>(address).sin_addr).text();
    } else if (address.ss_family == AF_INET6) {
      const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
      from.peer = runtime::Address(v6.sin6_addr, v6.sin6_scope_id).text();
    }
    from.local = from.peer.empty() || is_loopback(from.peer);
    accepted(std::move(socket), std::move(from), door.endpoint);
  }
}

Listeners::Listeners(runtime::Loop& loop, Accepted accepted, Report report)
    : impl_(std::make_shared<Impl>(loop, std::move(accepted), std::move(report))) {}

Listeners::~Listeners() { listen({}); }

void Listeners::listen(const std::vector<Endpoint>& endpoints) {
  std::erase_if(impl_->doors, [&](const auto& one) {
    if (std::ranges::find(endpoints, one.second->endpoint) != endpoints.end()) return false;
    Impl::Door& door = *one.second;
    if (door.endpoint.port == 0 && door.endpoint.handed < 0 && !door.sockets.empty())
      unlink(door.endpoint.path.c_str());
    door.watches.clear();
    door.sockets.clear();
    return true;
  });
  for (const Endpoint& endpoint : endpoints) {
    auto& door = impl_->doors[endpoint.text()];
    if (door) continue;
    door = std::make_shared<Impl::Door>();
    door->endpoint = endpoint;
    impl_->open(door);
  }
}

std::vector<std::string> Listeners::troubles() const {
  std::vector<std::string> all;
  for (const auto& [text, door] : impl_->doors)
    if (!door->trouble.empty()) all.push_back(door->trouble);
  return all;
}

std::string Listeners::trouble_on(const Endpoint& endpoint) const {
  const auto found = impl_->doors.find(endpoint.text());
  return found == impl_->doors.end() ? std::string() : found->second->trouble;
}

}  // namespace healer::web
