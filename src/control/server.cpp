// SPDX-License-Identifier: MIT
#include "control/server.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <uv.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "control/listen.hpp"

namespace healer::control {
namespace {

constexpr std::size_t kChunk = 64 * 1024;
constexpr int kBacklog = 128;
constexpr Duration kTick = milliseconds{500};
constexpr std::uint64_t kGrace = 1'000;  // milliseconds in which a client may be idle, however many wait

Failure too_large() {
  return {"too-large", fmt::format("a request has at most {} bytes", kMaxRequest), "name fewer services, or a group"};
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
    bool half_closed = false;
    bool last = false;                      // no more requests: close when `out` has gone
    std::optional<std::uint64_t> deadline;  // uv_now at which it is dropped
    std::uint64_t idle_since = 0;           // uv_now at which it was given its place, or its last answer
  };

  void watch();
  [[nodiscard]] Client* idlest();
  void accept();
  void rest();
  void start_ticking();
  void received(Client& client, std::string_view bytes);
  void ended(Client& client);
  void serve(Client& client);
  void respond(Client& client, std::string_view line);
  void pump(Client& client);
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
  std::shared_ptr<WakeQueue> wakes_;
  std::map<std::uint64_t, Client*> clients_;
  std::uint64_t next_client_ = 1;
  bool resting_ = false;  // until the next tick: there was no descriptor for another client
  dev_t device_ = 0;      // of the socket's file, so that only our own is removed
  ino_t inode_ = 0;
};

Result<void> Server::Impl::start(uv_loop_t* loop) {
  loop_ = loop;
  auto bound = bind_socket(options_.path, options_.group);
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
  if (listener_ != nullptr) discard(reinterpret_cast<uv_handle_t*>(listener_), listener_);
  if (socket_ >= 0) close(socket_);
  struct stat info {};
  if (inode_ != 0 && lstat(options_.path.c_str(), &info) == 0 && info.st_dev == device_ && info.st_ino == inode_)
    unlink(options_.path.c_str());
}

/// The client whose place is given to another: of those who wait for nothing, else of those who only follow, the oldest
/// of the user who has most. Null: there is none.
Server::Impl::Client* Server::Impl::idlest() {
  for (const bool followers : {false, true}) {
    std::map<uid_t, std::pair<std::size_t, Client*>> idle;  // by user: how many, and the oldest
    for (const auto& [id, client] : clients_) {
      if (client->writing || client->last || uv_now(loop_) - client->idle_since < kGrace) continue;
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

/// Hears of those who wait for us, as long as there is room for one more: others stay in the kernel's queue.
void Server::Impl::watch() {
  if (resting_ || (clients_.size() >= options_.max_clients && idlest() == nullptr)) {
    uv_poll_stop(listener_);
    return;
  }
  uv_poll_start(listener_, UV_READABLE, [](uv_poll_t* poll, int, int) { static_cast<Impl*>(poll->data)->accept(); });
}

/// One that cannot be accepted stays, and would be told of at every turn of the loop. (uv_listen would ask for it over
/// and over within one turn, where the descriptor that it keeps for this has gone.)
void Server::Impl::rest() {
  resting_ = true;
  watch();
  start_ticking();
}

void Server::Impl::accept() {
  if (clients_.size() >= options_.max_clients && idlest() == nullptr) return watch();  // they are busy again
  // By the bare call, as libuv closes it: the thread sanitizer must hear of both, or of neither.
  const auto descriptor =
      static_cast<int>(::syscall(SYS_accept4, socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (descriptor < 0) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) rest();
    return;
  }
  if (clients_.size() >= options_.max_clients)
    if (Client* const idle = idlest(); idle != nullptr) drop(*idle);
  auto* client = new Client;
  uv_pipe_init(loop_, &client->pipe, 0);
  client->pipe.data = client;
  client->server = this;
  client->id = next_client_++;
  clients_.emplace(client->id, client);
  if (clients_.size() == 1) start_ticking();
  watch();
  auto* stream = reinterpret_cast<uv_stream_t*>(&client->pipe);
  if (uv_pipe_open(&client->pipe, descriptor) != 0) {
    close(descriptor);
    return drop(*client);
  }
  const auto peer = admit(descriptor, options_.group);
  if (!peer) {
    return refuse(*client, {"denied", peer.error().what,
                            fmt::format("run healerctl as root, or join the group \"{}\"", kControlGroup)});
  }
  client->peer = *peer;
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
}

void Server::Impl::received(Client& client, std::string_view bytes) {
  if (client.last) return;
  client.in += bytes;
  // While an answer is under way at most one more request may lie here.
  if (client.in.size() > kMaxRequest + 1 && (client.answer || client.writing)) return drop(client);
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
  const bool busy = client.writing || (client.answer && !client.answer->endless());
  if (!busy) drop(client);
}

/// Answers the next request that lies whole in `in`, if none is being answered.
void Server::Impl::serve(Client& client) {
  if (client.answer || client.writing || client.last) return;
  const std::size_t end = client.in.find('\n');
  if (std::min(end, client.in.size()) > kMaxRequest) return refuse(client, too_large());
  if (end == std::string::npos) {
    if (client.half_closed) drop(client);
    return;
  }
  const std::string line = client.in.substr(0, end);
  client.in.erase(0, end + 1);
  respond(client, line);
}

void Server::Impl::respond(Client& client, std::string_view line) {
  auto parsed = parse_request(line);
  if (const auto* failure = std::get_if<Failure>(&parsed)) return refuse(client, *failure);
  client.deadline.reset();
  client.answer =
      handler_.handle(std::get<Request>(parsed), client.peer, [queue = wakes_, id = client.id] { queue->add(id); });
  pump(client);
}

/// Asks the answer for its next chunk and sends it.
void Server::Impl::pump(Client& client) {
  if (client.writing || !client.answer) return;
  const Answer::Next next = client.answer->pull(client.out, kChunk);
  client.waiting = next == Answer::Next::Waiting;
  if (next == Answer::Next::Done) client.answer.reset();
  if (!client.out.empty()) return send(client);
  if (next == Answer::Next::More) return wakes_->add(client.id);
  if (client.answer) return;
  client.deadline = in(options_.idle);
  client.idle_since = uv_now(loop_);
  serve(client);
  watch();
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
  if (client.answer) {
    if (!client.waiting) pump(client);
    return;
  }
  client.deadline = in(options_.idle);
  client.idle_since = uv_now(loop_);
  serve(client);
  watch();
}

void Server::Impl::drop(Client& client) {
  clients_.erase(client.id);
  client.server = nullptr;
  client.answer.reset();
  discard(reinterpret_cast<uv_handle_t*>(&client.pipe), &client);
  watch();
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
      pump(*found->second);
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

std::size_t Server::clients() const { return impl_->clients(); }

}  // namespace healer::control
