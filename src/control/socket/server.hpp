// SPDX-License-Identifier: MIT
// The control socket: who may come in, what they may cost, and the flow of bytes. What the commands mean is the
// Handler's business (control/commands).
//
// Everything but a Wake is called on the loop thread, and the Handler is never entered from within one of its own
// calls. Costs are bounded: at most `max_clients` descriptors are used, at most `max_of_user` of them by one who is not
// root, at most `max_of_stranger` by one stranger, and a quarter by all strangers. When all are taken, a new client
// displaces an idle one, once it is known that it may come in: of the user with the most idle clients, the one that has
// been idle longest. If none is idle, the new client waits in the kernel's queue; one who has too many himself
// displaces an idle one of his own, one stranger too many that of a stranger, or is refused. A client is idle if it has
// not asked anything for a second; after those, clients that only follow count as idle, too. A client holds at most one
// request, one chunk of its answer and one Answer. The next chunk is requested only when the previous one has been
// sent.
//
// Clients take turns, for some milliseconds in a turn of the loop: those that have just asked and those whose answers
// go on alternately, each of them in the order in which they came. The more there are, the less is written for one at a
// time: a short question among a thousand long answers is answered soon. A client that sends no complete request for
// `idle`, or does not read for `stalled`, is dropped.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "control/permissions.hpp"
#include "control/wire.hpp"
#include "util/result.hpp"
#include "util/time.hpp"

struct uv_loop_s;

namespace healer::control {

/// The process at the other end, as the kernel vouches for it.
struct Peer {
  pid_t pid = 0;
  uid_t uid = 0;
  Asker who{};

  /// The person whom the history names.
  [[nodiscard]] const std::string& name() const { return who.name; }
};

/// An answer under way; made by the Handler, owned by the server, destroyed when it is done or its client has gone.
class Answer {
 public:
  enum class Next {
    More,     ///< ask again when this has been sent
    Waiting,  ///< nothing (more) now: ask again after a Wake
    Done      ///< that was all
  };
  virtual ~Answer() = default;
  /// Appends whole lines to `out`: about `budget` bytes, and at least one line where it says More.
  virtual Next pull(std::string& out, std::size_t budget) = 0;
  /// Whether it never comes to an end by itself: it ends when its client closes its sending half.
  [[nodiscard]] virtual bool endless() const { return false; }
};

/// Has an Answer that is Waiting asked again, in a later turn of the loop. May be called from any thread, at any time,
/// also when client or server have gone.
using Wake = std::function<void()>;

class Handler {
 public:
  virtual ~Handler() = default;
  /// Answers a request that was understood. Never null.
  [[nodiscard]] virtual std::unique_ptr<Answer> handle(const Request& request, const Peer& peer, Wake wake) = 0;
};

struct ServerOptions {
  std::string path{kDefaultSocket};
  SocketAccess access;
  std::size_t max_clients = 2'000;
  std::size_t max_of_user = 1'000;   ///< of one who is not root
  std::size_t max_of_stranger = 16;  ///< of one who has no role
  Duration idle = seconds{10};
  Duration stalled = seconds{30};
};

/// The id of a group by its name; nothing where there is none. Asks the name service: for start-up only.
[[nodiscard]] std::optional<gid_t> group_id(const std::string& name);

class Server {
 public:
  /// Begins to listen on `options.path`, mode 0660 of the daemon's user and the group (0600 where there is none, 0666
  /// where there are operators). A missing last folder of the path is made with mode 0755; a folder that others can
  /// write to (without the sticky bit) is refused, for they could put their own socket there. A socket that nobody
  /// answers on is replaced, anything else in its place is an error. Requires: SIGPIPE is ignored, `handler` lives
  /// longer than the server, and the caller holds the lock of the pid file.
  [[nodiscard]] static Result<std::unique_ptr<Server>> open(uv_loop_s* loop, Handler& handler, ServerOptions options);

  /// Drops all clients and removes the socket. Its handles are closed in the next turns of the loop.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Who may use it from now on: also those who are connected are judged by it. An error where the socket's file cannot
  /// be given the mode: the next call tries it again.
  Result<void> set_access(SocketAccess access);

  /// How many clients are connected now.
  [[nodiscard]] std::size_t clients() const;

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace healer::control
