// SPDX-License-Identifier: MIT
#include "control/socket/server.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <uv.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "control/socket/listen.hpp"

namespace healer::control {
namespace {

constexpr std::size_t kChunk = 64 * 1024;   // of one client, where nobody else waits
constexpr std::uint64_t kTurn = 3'000'000;  // nanoseconds that clients get of a turn of the loop
constexpr int kBacklog = 1024;
constexpr int kMostAccepted = 64;  // in a turn of the loop
constexpr Duration kTick = milliseconds{500};
constexpr std::size_t kShareOfStrangers = 4;  // the clients of strangers are at most this part of all
constexpr std::uint64_t kGrace = 1'000;       // milliseconds in which a client may be idle, however many wait

Failure too_large(std::size_t most) {
  return {"too-large", fmt::format("a request has at most {} bytes", most),
          most == kMaxRequest ? "name fewer services, or a group" : "send a smaller body"};
}

/// Ids of clients to ask again, and the way to tell the loop. Outlives the server in the Wakes that were given out.
struct WakeQueue {
  std::mutex mutex;
  uv_async_t* async = nullptr;  // null: the server has gone
  std::vector<std::uint64_t> clients;

  void add(std::uint64_t client) {
    const std::lock_guard lock(mutex);
    if (async == nullptr) return;
    clients.push_back(client);
    uv_async_send(async);
  }
};

/// Says why one who has just connected is not served, as far as that takes no time, and closes.
void turn_away(int descriptor, const Failure& failure) {
  const std::string line = error_line(failure);
  (void)::send(descriptor, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  ::syscall(SYS_close, descriptor);  // as it was accepted, for the thread sanitizer
}

void discard(uv_handle_t* handle, auto* owner) {
  handle->data = owner;
  uv_close(handle, [](uv_handle_t* closed) { delete static_cast<decltype(owner)>(closed->data); });
}

}  // namespace

class Server::Impl {
 public:
  Impl(Handler& handler, ServerOptions options)
      : handler_(handler), options_(std::move(options)), wakes_(std::make_shared<WakeQueue>()) {}
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Result<void> start(uv_loop_t* loop);
  Result<void> set_access(SocketAccess access);
  [[nodiscard]] std::size_t clients() const { return clients_.size(); }

 private:
  struct Client {
    uv_pipe_t pipe{};
    uv_write_t write{};
    Impl* server = nullptr;  // null: dropped, only the handle is still closing
    std::uint64_t id = 0;
    Peer peer;
    std::string in;                  // of requests, not yet answered
    std::string out;                 // being written
    std::unique_ptr<Answer> answer;  // of the request at hand
    bool writing = false;
    bool waiting = false;  // the answer waits for a Wake
    bool queued = false;   // its turn will come
    bool counted = false;  // among those of its user
    bool half_closed = false;
    bool last = false;                      // no more requests: close when `out` has gone
    std::optional<std::uint64_t> deadline;  // uv_now at which it is dropped
    std::uint64_t idle_since = 0;           // uv_now at which it was given its place, or its last answer
  };

  /// Who may send events may send large ones. That it is one is known when the line is whole.
  [[nodiscard]] static std::size_t most_of(const Client& client) {
    return is_at_least(client.peer.who, least_for(Verb::Event)) ? kMaxEventRequest : kMaxRequest;
  }
  void watch();
  using Among = std::function<bool(const Peer&)>;
  [[nodiscard]] Client* idlest(const Among& among = {});
  [[nodiscard]] bool is_full() const { return clients_.size() >= options_.max_clients; }
  bool accept();
  [[nodiscard]] std::optional<Failure> make_room(const Peer& peer);
  void add_to_user(Client& client);
  void uncount(Client& client);
  void rest();
  void start_ticking();
  void received(Client& client, std::string_view bytes);
  void ended(Client& client);
  void serve(Client& client);
  void queue(Client& client);
  void take_turns();
  [[nodiscard]] Client* next_in_line();
  void respond(Client& client);
  void pump(Client& client, std::size_t budget);
  void rest_from(Client& client);
  void refuse(Client& client, const Failure& failure);
  void send(Client& client);
  void sent(Client& client, int status);
  void drop(Client& client);
  void wake();
  void tick();
  [[nodiscard]] std::uint64_t in(Duration delay) const {
    return uv_now(loop_) + static_cast<std::uint64_t>(delay.count());
  }

  Handler& handler_;
  ServerOptions options_;
  uv_loop_t* loop_ = nullptr;
  uv_poll_t* listener_ = nullptr;
  int socket_ = -1;
  uv_timer_t* timer_ = nullptr;
  uv_idle_t* turns_ = nullptr;               // runs while somebody's turn is to come
  std::deque<std::uint64_t> asked_, going_;  // clients that have asked; others whose answers go on
  bool asked_next_ = true;
  struct Counts {
    std::size_t all = 0;
    std::size_t strangers = 0;  // among them: one may have a role in one process, and none in another
  };
  std::map<uid_t, Counts> of_user_;  // how many clients
  std::size_t strangers_ = 0;        // among them all
  std::shared_ptr<WakeQueue> wakes_;
  std::map<std::uint64_t, Client*> clients_;
  std::uint64_t next_client_ = 1;
  bool resting_ = false;  // until the next tick: there was no descriptor for another client
  dev_t device_ = 0;      // of the socket's file, so that only our own is removed
  ino_t inode_ = 0;
  bool unprotected_ = false;  // the file has not the mode that goes with the access
};

Result<void> Server::Impl::start(uv_loop_t* loop) {
  loop_ = loop;
  auto bound = bind_socket(options_.path, options_.access);
  if (!bound) return bound.error();
  struct stat info {};
  if (lstat(options_.path.c_str(), &info) == 0) {
    device_ = info.st_dev;
    inode_ = info.st_ino;
  }
  socket_ = *bound;
  auto listener = std::make_unique<uv_poll_t>();
  int code = ::listen(socket_, kBacklog) == 0 ? uv_poll_init(loop, listener.get(), socket_) : -errno;
  if (code != 0) return system_error(-code, fmt::format("cannot listen on {}", options_.path));
  listener_ = listener.release();
  listener_->data = this;

  timer_ = new uv_timer_t{};
  uv_timer_init(loop, timer_);
  timer_->data = this;
  turns_ = new uv_idle_t{};
  uv_idle_init(loop, turns_);
  turns_->data = this;
  auto* async = new uv_async_t{};
  uv_async_init(loop, async, [](uv_async_t* handle) { static_cast<Impl*>(handle->data)->wake(); });
  async->data = this;
  // Only the listener keeps the loop alive.
  uv_unref(reinterpret_cast<uv_handle_t*>(async));
  wakes_->async = async;
  watch();
  return {};
}

Server::Impl::~Impl() {
  while (!clients_.empty()) drop(*clients_.begin()->second);
  {
    const std::lock_guard lock(wakes_->mutex);
    if (wakes_->async != nullptr) discard(reinterpret_cast<uv_handle_t*>(wakes_->async), wakes_->async);
    wakes_->async = nullptr;
  }
  if (timer_ != nullptr) discard(reinterpret_cast<uv_handle_t*>(timer_), timer_);
  if (turns_ != nullptr) discard(reinterpret_cast<uv_handle_t*>(turns_), turns_);
  if (listener_ != nullptr) discard(reinterpret_cast<uv_handle_t*>(listener_), listener_);
  if (socket_ >= 0) close(socket_);
  struct stat info {};
  if (inode_ != 0 && lstat(options_.path.c_str(), &info) == 0 && info.st_dev == device_ && info.st_ino == inode_)
    unlink(options_.path.c_str());
}

/// The client whose place is given to another: of those who wait for nothing, else of those who only follow, the oldest
/// of the user who has most. Null: there is none.
Server::Impl::Client* Server::Impl::idlest(const Among& among) {
  for (const bool followers : {false, true}) {
    std::map<uid_t, std::pair<std::size_t, Client*>> idle;  // by user: how many, and the oldest
    for (const auto& [id, client] : clients_) {
      if (among && !among(client->peer)) continue;
      if (client->writing || client->last || client->queued || uv_now(loop_) - client->idle_since < kGrace) continue;
      if (followers ? !client->answer || !client->answer->endless() || !client->waiting : client->answer != nullptr)
        continue;
      auto& [count, oldest] = idle[client->peer.uid];
      if (count++ == 0) oldest = client;
    }
    const auto most = std::ranges::max_element(idle, {}, [](const auto& user) { return user.second.first; });
    // Whoever follows alone is not in the way of others.
    if (most != idle.end() && (!followers || most->second.first > clients_.size() / 2)) return most->second.second;
  }
  return nullptr;
}

/// Hears of those who wait for us, as long as there is room for one more: others stay in the kernel's queue. Where
/// there is none, a tick looks again.
void Server::Impl::watch() {
  if (resting_ || (is_full() && idlest() == nullptr)) {
    uv_poll_stop(listener_);
    return;
  }
  uv_poll_start(listener_, UV_READABLE, [](uv_poll_t* poll, int, int) {
    auto& server = *static_cast<Impl*>(poll->data);
    for (int i = 0; i < kMostAccepted && server.accept(); ++i) continue;
  });
}

/// One that cannot be accepted stays, and would be told of at every turn of the loop. (uv_listen would ask for it over
/// and over within one turn, where the descriptor that it keeps for this has gone.)
void Server::Impl::rest() {
  resting_ = true;
  watch();
  start_ticking();
}

/// False: there is nobody, or no room.
bool Server::Impl::accept() {
  if (is_full() && idlest() == nullptr) {  // they are busy again
    watch();
    return false;
  }
  // By the bare call, as libuv closes it: the thread sanitizer must hear of both, or of neither.
  const auto descriptor =
      static_cast<int>(::syscall(SYS_accept4, socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (descriptor < 0) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) rest();
    return false;
  }
  // Nobody gives his place to one who may not come in.
  auto peer = admit(descriptor, options_.access);
  if (!peer) {
    turn_away(descriptor, {"denied", peer.error().what,
                           fmt::format("run healerctl as root, or join the group \"{}\"", kControlGroup)});
    return true;
  }
  if (const auto failure = make_room(*peer)) {
    turn_away(descriptor, *failure);
    return true;
  }
  if (is_full())
    if (Client* const idle = idlest(); idle != nullptr) drop(*idle);
  auto* client = new Client;
  uv_pipe_init(loop_, &client->pipe, 0);
  client->pipe.data = client;
  client->server = this;
  client->id = next_client_++;
  clients_.emplace(client->id, client);
  if (clients_.size() == 1) start_ticking();
  if (is_full()) watch();
  auto* stream = reinterpret_cast<uv_stream_t*>(&client->pipe);
  if (uv_pipe_open(&client->pipe, descriptor) != 0) {
    close(descriptor);
    drop(*client);
    return true;
  }
  client->peer = std::move(*peer);
  add_to_user(*client);
  client->deadline = in(options_.idle);
  client->idle_since = uv_now(loop_);
  const int code = uv_read_start(
      stream,
      [](uv_handle_t*, std::size_t, uv_buf_t* buffer) {
        static thread_local char bytes[kMaxRequest];  // one read at a time, taken at once
        *buffer = uv_buf_init(bytes, sizeof bytes);
      },
      [](uv_stream_t* from, ssize_t count, const uv_buf_t* buffer) {
        auto& owner = *static_cast<Client*>(from->data);
        if (owner.server == nullptr || count == 0) return;
        if (count > 0) return owner.server->received(owner, {buffer->base, static_cast<std::size_t>(count)});
        if (count == UV_EOF) return owner.server->ended(owner);
        owner.server->drop(owner);
      });
  if (code != 0) drop(*client);
  return true;
}

void Server::Impl::add_to_user(Client& client) {
  client.counted = true;
  Counts& counts = of_user_[client.peer.uid];
  ++counts.all;
  if (client.peer.who.role) return;
  ++counts.strangers;
  ++strangers_;
}

/// Makes room for one more client of that user, where he or strangers have as many as they may. Why there is none;
/// none: there is.
std::optional<Failure> Server::Impl::make_room(const Peer& peer) {
  const auto known = of_user_.find(peer.uid);
  const Counts counts = known == of_user_.end() ? Counts{} : known->second;
  const bool is_stranger = !peer.who.role;
  const auto refuse_unless = [this](const Among& idle_among, const std::string& why) -> std::optional<Failure> {
    Client* const idle = idlest(idle_among);
    if (idle == nullptr) return Failure{"busy", why, "end one of them, or try again later"};
    drop(*idle);
    return std::nullopt;
  };
  if (is_stranger && counts.strangers >= options_.max_of_stranger)
    return refuse_unless([&](const Peer& other) { return other.uid == peer.uid && !other.who.role; },
                         fmt::format("{} has {} connections already", peer.name(), counts.strangers));
  if (peer.uid != 0 && counts.all >= options_.max_of_user)
    return refuse_unless([&](const Peer& other) { return other.uid == peer.uid; },
                         fmt::format("{} has {} connections already", peer.name(), counts.all));
  if (is_stranger && strangers_ >= std::max<std::size_t>(options_.max_clients / kShareOfStrangers, 1))
    return refuse_unless([](const Peer& other) { return !other.who.role; },
                         fmt::format("users who may not control healerd have {} connections already", strangers_));
  return std::nullopt;
}

void Server::Impl::uncount(Client& client) {
  if (!std::exchange(client.counted, false)) return;
  const auto counts = of_user_.find(client.peer.uid);
  if (!client.peer.who.role) {
    --counts->second.strangers;
    --strangers_;
  }
  if (--counts->second.all == 0) of_user_.erase(counts);
}

Result<void> Server::Impl::set_access(SocketAccess access) {
  if (access == options_.access && !unprotected_) return {};
  options_.access = std::move(access);
  Result<void> done;
  struct stat info {};
  if (lstat(options_.path.c_str(), &info) == 0 && info.st_dev == device_ && info.st_ino == inode_) {
    done = protect_socket(options_.path, options_.access);
    unprotected_ = !done;
  }
  std::vector<Client*> gone;
  for (const auto& [id, client] : clients_) {
    int descriptor = -1;
    if (!client->counted || uv_fileno(reinterpret_cast<uv_handle_t*>(&client->pipe), &descriptor) != 0) continue;
    auto peer = admit(descriptor, options_.access);
    if (!peer || (client->peer.who.role && !peer->who.role)) {  // what it is being told is not for it any more
      gone.push_back(client);
      continue;
    }
    uncount(*client);
    client->peer = std::move(*peer);
    add_to_user(*client);
  }
  for (Client* client : gone) drop(*client);
  return done;
}

void Server::Impl::received(Client& client, std::string_view bytes) {
  if (client.last) return;
  client.in += bytes;
  // While an answer is under way at most one more request may lie here.
  if (client.in.size() > most_of(client) + 1 && (client.answer || client.writing || client.queued)) return drop(client);
  serve(client);
}

void Server::Impl::ended(Client& client) {
  client.half_closed = true;
  uv_read_stop(reinterpret_cast<uv_stream_t*>(&client.pipe));
  // Gone altogether, or only done with asking?
  pollfd entry{};
  if (uv_fileno(reinterpret_cast<uv_handle_t*>(&client.pipe), &entry.fd) == 0 && poll(&entry, 1, 0) == 1 &&
      (entry.revents & (POLLHUP | POLLERR)) != 0)
    return drop(client);
  const bool busy = client.writing || (client.answer ? !client.answer->endless() : client.queued);
  if (!busy) drop(client);
}

/// Has the next request answered that lies whole in `in`, if none is being answered: when its turn comes.
void Server::Impl::serve(Client& client) {
  if (client.answer || client.writing || client.last) return;
  const std::size_t end = client.in.find('\n');
  if (std::min(end, client.in.size()) > most_of(client)) return refuse(client, too_large(most_of(client)));
  if (end == std::string::npos) {
    if (client.half_closed) drop(client);
    return;
  }
  client.deadline.reset();
  queue(client);
}

void Server::Impl::queue(Client& client) {
  if (std::exchange(client.queued, true)) return;
  (client.answer ? going_ : asked_).push_back(client.id);
  if (uv_is_active(reinterpret_cast<uv_handle_t*>(turns_)) == 0)
    uv_idle_start(turns_, [](uv_idle_t* turns) { static_cast<Impl*>(turns->data)->take_turns(); });
}

/// Of those that have asked, and those whose answers go on, alternately.
Server::Impl::Client* Server::Impl::next_in_line() {
  while (!asked_.empty() || !going_.empty()) {
    const bool asked = going_.empty() || (!asked_.empty() && asked_next_);
    asked_next_ = !asked;
    std::deque<std::uint64_t>& line = asked ? asked_ : going_;
    const auto found = clients_.find(line.front());
    line.pop_front();
    if (found != clients_.end()) return found->second;
  }
  return nullptr;
}

void Server::Impl::take_turns() {
  const std::uint64_t until = uv_hrtime() + kTurn;
  do {
    Client* const client = next_in_line();
    if (client == nullptr) {
      uv_idle_stop(turns_);
      return;
    }
    client->queued = false;
    if (!client->answer && !client->writing && !client->last) respond(*client);
    const std::size_t others = asked_.size() + going_.size();
    if (client->server != nullptr) pump(*client, kChunk / (others + 1));
  } while (uv_hrtime() < until);
}

/// Begins to answer the request that lies first in `in`.
void Server::Impl::respond(Client& client) {
  const std::size_t end = client.in.find('\n');
  if (end == std::string::npos) return;
  const std::string line = client.in.substr(0, end);
  client.in.erase(0, end + 1);
  auto parsed = parse_request(line);
  if (const auto* failure = std::get_if<Failure>(&parsed)) return refuse(client, *failure);
  if (line.size() > kMaxRequest && std::get<Request>(parsed).verb != Verb::Event)
    return refuse(client, too_large(kMaxRequest));
  client.answer =
      handler_.handle(std::get<Request>(parsed), client.peer, [queue = wakes_, id = client.id] { queue->add(id); });
}

/// Asks the answer for its next chunk and sends it.
void Server::Impl::pump(Client& client, std::size_t budget) {
  if (client.writing || !client.answer) return;
  const Answer::Next next = client.answer->pull(client.out, std::max<std::size_t>(budget, 1));
  client.waiting = next == Answer::Next::Waiting;
  if (next == Answer::Next::Done) client.answer.reset();
  if (!client.out.empty()) return send(client);
  if (next == Answer::Next::More) return queue(client);
  if (!client.answer) rest_from(client);
}

/// It has its answer.
void Server::Impl::rest_from(Client& client) {
  client.deadline = in(options_.idle);
  client.idle_since = uv_now(loop_);
  serve(client);
}

/// Says why, and closes.
void Server::Impl::refuse(Client& client, const Failure& failure) {
  client.last = true;
  client.out = error_line(failure);
  send(client);
}

void Server::Impl::send(Client& client) {
  client.writing = true;
  client.deadline = in(options_.stalled);
  client.write.data = &client;
  const uv_buf_t buffer = uv_buf_init(client.out.data(), static_cast<unsigned>(client.out.size()));
  const int code = uv_write(&client.write, reinterpret_cast<uv_stream_t*>(&client.pipe), &buffer, 1,
                            [](uv_write_t* request, int status) {
                              auto& owner = *static_cast<Client*>(request->data);
                              if (owner.server != nullptr) owner.server->sent(owner, status);
                            });
  if (code != 0) drop(client);
}

void Server::Impl::sent(Client& client, int status) {
  client.writing = false;
  client.out.clear();
  if (status != 0 || client.last) return drop(client);
  client.deadline.reset();
  if (client.half_closed && client.answer && client.answer->endless()) return drop(client);
  if (!client.answer) return rest_from(client);
  if (!client.waiting) queue(client);
}

void Server::Impl::drop(Client& client) {
  const bool was_full = is_full();
  uncount(client);
  clients_.erase(client.id);
  client.server = nullptr;
  client.answer.reset();
  discard(reinterpret_cast<uv_handle_t*>(&client.pipe), &client);
  if (was_full) watch();
}

void Server::Impl::wake() {
  std::vector<std::uint64_t> woken;
  {
    const std::lock_guard lock(wakes_->mutex);
    woken.swap(wakes_->clients);
  }
  std::ranges::sort(woken);
  const auto repeated = std::ranges::unique(woken);
  woken.erase(repeated.begin(), repeated.end());
  for (const std::uint64_t id : woken) {
    if (const auto found = clients_.find(id); found != clients_.end()) {
      found->second->waiting = false;
      if (found->second->answer) queue(*found->second);
    }
  }
}

void Server::Impl::start_ticking() {
  uv_timer_start(
      timer_, [](uv_timer_t* timer) { static_cast<Impl*>(timer->data)->tick(); },
      static_cast<std::uint64_t>(kTick.count()), static_cast<std::uint64_t>(kTick.count()));
}

void Server::Impl::tick() {
  resting_ = false;
  watch();
  std::vector<Client*> late;
  for (const auto& [id, client] : clients_)
    if (client->deadline && *client->deadline <= uv_now(loop_)) late.push_back(client);
  for (Client* client : late) drop(*client);
  if (clients_.empty()) uv_timer_stop(timer_);
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::open(uv_loop_s* loop, Handler& handler, ServerOptions options) {
  auto impl = std::make_unique<Impl>(handler, std::move(options));
  if (const auto started = impl->start(loop); !started) return started.error();
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Result<void> Server::set_access(SocketAccess access) { return impl_->set_access(std::move(access)); }

std::size_t Server::clients() const { return impl_->clients(); }

}  // namespace healer::control
