// SPDX-License-Identifier: MIT
#include "web/server/http_server.hpp"

#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <map>
#include <optional>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "runtime/clock.hpp"
#include "util/text.hpp"

namespace healer::web {
namespace {

/// Libmicrohttpd's own bound is not reached: ours is.
constexpr std::size_t kSlack = 64;
/// So much of a stream is made at a time.
constexpr std::size_t kChunk = 64 * 1024;
/// So much of one that does not end is handed over at a time.
constexpr std::size_t kSmallChunk = 4 * 1024;
/// More fields than any form of ours has.
constexpr std::size_t kMaxFields = 2'000;
/// Of a parameter of an address libmicrohttpd keeps so many bytes, and closes the connection where there is no room.
constexpr std::size_t kFieldBytes = 64;
/// So long streams are made without a break. What is still to be made waits for the next turn of the loop: cycles, and
/// whatever else the loop does, come between.
constexpr std::chrono::milliseconds kTurn{5};
/// How often it is looked whether a client is too slow.
constexpr Duration kSweep = seconds{1};

struct FreeResponse {
  void operator()(MHD_Response* response) const { MHD_destroy_response(response); }
};
using OwnedResponse = std::unique_ptr<MHD_Response, FreeResponse>;

struct FreeForm {
  void operator()(MHD_PostProcessor* form) const { MHD_destroy_post_processor(form); }
};

std::string text_of(const char* value, std::size_t size) { return value == nullptr ? "" : std::string(value, size); }

MHD_Result take_field(void* fields, MHD_ValueKind, const char* key, std::size_t key_size, const char* value,
                      std::size_t value_size) {
  auto& all = *static_cast<Fields*>(fields);
  if (all.size() >= kMaxFields) return MHD_NO;
  all.emplace_back(text_of(key, key_size), text_of(value, value_size));
  return MHD_YES;
}

/// A part of a value of a form: they come in pieces, the first at the offset 0.
MHD_Result take_form(void* fields, MHD_ValueKind, const char* key, const char*, const char*, const char*,
                     const char* data, std::uint64_t offset, std::size_t size) {
  auto& all = *static_cast<Fields*>(fields);
  if (offset == 0) {
    if (all.size() >= kMaxFields) return MHD_NO;
    all.emplace_back(key, "");
  }
  if (all.empty()) return MHD_NO;
  all.back().second.append(text_of(data, size));
  return MHD_YES;
}

bool is_form(const Request& request) {
  const auto type = request.header("Content-Type");
  return type && iequals(type->substr(0, type->find_first_of("; ")), "application/x-www-form-urlencoded");
}

/// Whether the other end says nothing more, whatever of it is still to be read.
bool is_hung_up(int socket) {
  pollfd state{.fd = socket, .events = POLLRDHUP, .revents = 0};
  return ::poll(&state, 1, 0) == 1;
}

}  // namespace

struct Exchange;

/// One connection, from its socket's coming to its going.
struct Connection {
  HttpServer::From from;
  std::string network;  ///< network_of() its address
  int socket = -1;
  Duration waits_since{0};  ///< for a request to come whole, since then; of one at work: nothing
  std::uint64_t wait = 0;   ///< grows from one that waits to the next: many begin in the same millisecond
  bool at_work = false;
  std::string path;              ///< of the request that is being read, as it was sent
  bool is_refused = false;       ///< it has been answered already, and ends
  Exchange* exchange = nullptr;  ///< that is being read or answered; none: there is no request
};

/// One request, until its response has been sent.
struct Exchange {
  enum class Stage { Reading, Waiting, Answering };

  Request request;
  Stage stage = Stage::Reading;
  std::unique_ptr<Deferred> deferred;
  std::uint64_t id = 0;
  HttpServer::Impl* server = nullptr;
  MHD_Connection* connection = nullptr;
  Connection* of = nullptr;
  bool suspended = false;
  std::shared_ptr<std::atomic<bool>> woken = std::make_shared<std::atomic<bool>>(false);
  // of a stream
  std::unique_ptr<Stream> stream;
  std::string made;
  std::size_t sent = 0;
  bool complete = false;
  // of a stream, and of a reply that is waited for
  bool is_gone = false;         ///< who is to have it, or he is to go
  runtime::Loop::Watch client;  ///< while nothing is said: whether he goes
};

struct HttpServer::Impl : std::enable_shared_from_this<Impl> {
  Impl(runtime::Loop& on, Dispatch answer, HttpLimits bounds) : loop(on), dispatch(std::move(answer)), limits(bounds) {}

  void open();
  void close();
  void serve(runtime::Descriptor socket, From from);
  void run();
  void run_soon();
  void drop_slow_ones();
  bool make_room(const From& from, const std::string& network);
  void drop(Connection& connection);
  void end(Connection& connection);
  void close_if(const std::function<bool(const From&)>& matches);

  void take_target(Connection& connection, std::string_view target);
  Exchange* begin(MHD_Connection* connection, const char* url, const char* method);
  MHD_Result read(Exchange& exchange, const char* data, std::size_t* size);
  MHD_Result answer(Exchange& exchange, Reply reply);
  MHD_Result send(Exchange& exchange, Response response);
  void suspend(Exchange& exchange);
  void watch_client(Exchange& exchange);
  void resume(std::uint64_t id);
  [[nodiscard]] Wake wake_of(const Exchange& exchange);
  ssize_t pull(Exchange& exchange, char* out, std::size_t most);
  void ended(Exchange& exchange);

  template <typename Work>
  static auto guarded(Work work, decltype(work()) otherwise) noexcept -> decltype(work());

  // What libmicrohttpd calls.
  static void* on_target(void* self, const char* target, MHD_Connection* connection);
  static MHD_Result on_request(void* self, MHD_Connection* connection, const char* url, const char* method, const char*,
                               const char* data, std::size_t* size, void** context);
  static ssize_t on_pull(void* exchange, std::uint64_t, char* out, std::size_t most);
  static void on_end(void* self, MHD_Connection*, void** context, MHD_RequestTerminationCode);
  static void on_connection(void* self, MHD_Connection* connection, void** context,
                            MHD_ConnectionNotificationCode what);

  runtime::Loop& loop;
  Dispatch dispatch;
  HttpLimits limits;
  MHD_Daemon* daemon = nullptr;
  runtime::Loop::Watch watch;
  runtime::Loop::Timer timer, look;
  std::map<Connection*, std::unique_ptr<Connection>> connections;
  std::unordered_map<std::string, std::size_t> of_address;
  std::unordered_map<std::uint64_t, std::unique_ptr<Exchange>> exchanges;
  std::uint64_t next = 1;
  std::uint64_t dropped = 0;
  std::unique_ptr<Connection> coming;                  ///< that is being given to libmicrohttpd
  bool is_due = false;                                 ///< run() comes at the end of this turn
  std::chrono::steady_clock::time_point turn_began{};  ///< when libmicrohttpd was last run
};

/// What was thrown must not reach libmicrohttpd, which is written in C.
template <typename Work>
auto HttpServer::Impl::guarded(Work work, decltype(work()) otherwise) noexcept -> decltype(work()) {
  try {
    return work();
  } catch (const std::exception&) {
    return otherwise;
  }
}

void HttpServer::Impl::open() {
  constexpr unsigned kFlags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET;
  daemon = MHD_start_daemon(
      kFlags, 0, nullptr, nullptr, &Impl::on_request, this, MHD_OPTION_CONNECTION_LIMIT,
      static_cast<unsigned>(limits.connections + kSlack), MHD_OPTION_CONNECTION_MEMORY_LIMIT, 2 * limits.header_bytes,
      MHD_OPTION_CONNECTION_TIMEOUT, static_cast<unsigned>(std::chrono::ceil<seconds>(limits.stalled).count()),
      MHD_OPTION_NOTIFY_COMPLETED, &Impl::on_end, this, MHD_OPTION_NOTIFY_CONNECTION, &Impl::on_connection, this,
      MHD_OPTION_URI_LOG_CALLBACK, &Impl::on_target, this, MHD_OPTION_END);
  if (daemon == nullptr) throw std::runtime_error("libmicrohttpd gives no server");
  const auto* const info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
  auto watched = loop.watch(info->epoll_fd, runtime::Loop::kReadable, [this](unsigned) { run(); });
  if (!watched) throw std::runtime_error(watched.error().what);
  watch = std::move(*watched);
  timer = loop.timer([this] { run(); });
  look = loop.timer([this] { drop_slow_ones(); });
}

void HttpServer::Impl::close() {
  watch = {};
  timer = {};
  look = {};
  for (auto& [id, exchange] : exchanges)
    if (std::exchange(exchange->suspended, false)) MHD_resume_connection(exchange->connection);
  MHD_stop_daemon(daemon);
  exchanges.clear();
  connections.clear();
}

/// Has libmicrohttpd do what it can do now.
void HttpServer::Impl::run() {
  is_due = false;
  turn_began = std::chrono::steady_clock::now();
  MHD_run(daemon);
  MHD_UNSIGNED_LONG_LONG wait = 0;
  if (MHD_get_timeout(daemon, &wait) != MHD_YES) return timer.set_deadline(std::nullopt);
  timer.set_deadline(runtime::now().mono + milliseconds{static_cast<std::int64_t>(std::min(wait, 3'600'000ULL))});
}

void HttpServer::Impl::run_soon() {
  if (std::exchange(is_due, true)) return;
  loop.at_end_of_turn([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->run();
  });
}

void HttpServer::Impl::serve(runtime::Descriptor socket, From from) {
  std::string network = from.local ? std::string() : network_of(from.peer);
  if (!make_room(from, network)) {
    ++dropped;
    return;
  }
  coming = std::make_unique<Connection>(Connection{.from = std::move(from),
                                                   .network = std::move(network),
                                                   .socket = socket.get(),
                                                   .waits_since = runtime::now().mono,
                                                   .wait = next++});
  sockaddr_in nobody{};
  nobody.sin_family = AF_INET;
  MHD_add_connection(daemon, socket.release(), reinterpret_cast<const sockaddr*>(&nobody), sizeof nobody);
  coming.reset();  // still there only where it was refused
  if (connections.size() == 1) look.set_deadline(runtime::now().mono + kSweep);
  run_soon();
}

/// False: there is no room for another of those.
bool HttpServer::Impl::make_room(const From& from, const std::string& network) {
  if (!from.local) {
    const auto found = of_address.find(network);
    if (found != of_address.end() && found->second >= limits.of_an_address) return false;
  }
  if (connections.size() < limits.connections) return true;
  Connection *idlest = nullptr, *waiting = nullptr;
  for (auto& [connection, owned] : connections) {
    const bool is_deferred = connection->exchange != nullptr && connection->exchange->stage == Exchange::Stage::Waiting;
    if (connection->at_work && !is_deferred) continue;
    Connection*& oldest = is_deferred ? waiting : idlest;
    if (oldest == nullptr || connection->wait < oldest->wait) oldest = connection;
  }
  if (idlest == nullptr) idlest = waiting;
  if (idlest == nullptr) return false;
  drop(*idlest);
  // It is seen in one round that it has ended, and taken away in the next.
  for (int round = 0; round < 3 && connections.size() >= limits.connections; ++round) run();
  return connections.size() < limits.connections;
}

void HttpServer::Impl::drop(Connection& connection) {
  ++dropped;
  end(connection);
}

/// Libmicrohttpd sees that it ends, and closes it: one that is suspended when it is asked how to go on.
void HttpServer::Impl::end(Connection& connection) {
  shutdown(connection.socket, SHUT_RDWR);
  if (connection.exchange == nullptr) return;
  connection.exchange->is_gone = true;
  resume(connection.exchange->id);
}

void HttpServer::Impl::close_if(const std::function<bool(const From&)>& matches) {
  for (auto& [connection, owned] : connections)
    if (matches(connection->from)) end(*connection);
  run_soon();
}

void HttpServer::Impl::drop_slow_ones() {
  const Duration now = runtime::now().mono;
  for (auto& [connection, owned] : connections)
    if (!connection->at_work && now - connection->waits_since > limits.request) drop(*connection);
  run();  // where a request has been too large for it, libmicrohttpd closes the connection when it is asked again
  if (!connections.empty()) look.set_deadline(now + kSweep);
}

void HttpServer::Impl::on_connection(void* self, MHD_Connection* connection, void** context,
                                     MHD_ConnectionNotificationCode what) {
  auto& impl = *static_cast<Impl*>(self);
  if (what == MHD_CONNECTION_NOTIFY_STARTED) {
    Connection* const known = impl.coming.get();
    if (known == nullptr) {
      // Nobody knows from where it comes: begin() answers no request of it, either.
      const auto* const info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
      if (info != nullptr) shutdown(info->connect_fd, SHUT_RDWR);
      return;
    }
    if (!known->from.local) ++impl.of_address[known->network];
    impl.connections.emplace(known, std::move(impl.coming));
    *context = known;
    return;
  }
  auto* const known = static_cast<Connection*>(*context);
  if (known == nullptr) return;
  if (!known->from.local) {
    const auto found = impl.of_address.find(known->network);
    if (found != impl.of_address.end() && --found->second == 0) impl.of_address.erase(found);
  }
  impl.connections.erase(known);
}

/// The connection that libmicrohttpd's is; null: nobody knows from where it comes.
Connection* connection_of(MHD_Connection* connection) {
  const auto* const info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info == nullptr ? nullptr : static_cast<Connection*>(info->socket_context);
}

/// Writes a response to a socket, as far as it takes that at once.
void write_out(int socket, const Response& response) {
  std::string text = fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n",
                                 response.status, reason_of(response.status), response.type, response.body.size());
  for (const auto& [name, value] : response.headers) text += fmt::format("{}: {}\r\n", name, value);
  text += "\r\n" + response.body;
  (void)::send(socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/// What is asked, before libmicrohttpd reads its parameters: where these are more than it has room for, it would close
/// the connection without a word.
void* HttpServer::Impl::on_target(void* self, const char* target, MHD_Connection* connection) {
  if (Connection* const known = connection_of(connection); known != nullptr)
    guarded(
        [&] {
          static_cast<Impl*>(self)->take_target(*known, target);
          return true;
        },
        false);
  return nullptr;
}

void HttpServer::Impl::take_target(Connection& connection, std::string_view target) {
  const std::string_view path = target.substr(0, target.find('?'));
  connection.path = path;
  const std::size_t most = limits.header_bytes / kFieldBytes;
  if (static_cast<std::size_t>(std::ranges::count(target.substr(path.size()), '&')) < most) return;
  connection.is_refused = true;
  const Request request{.path = decoded_path(path),
                        .peer = connection.from.peer,
                        .secure = connection.from.secure,
                        .unfit = Unfit{414, fmt::format("A request has at most {} parameters", most)}};
  Reply reply = dispatch(request, connection.from, [] {});
  if (const auto* const response = std::get_if<Response>(&reply)) write_out(connection.socket, *response);
  shutdown(connection.socket, SHUT_WR);
}

MHD_Result HttpServer::Impl::on_request(void* self, MHD_Connection* connection, const char* url, const char* method,
                                        const char*, const char* data, std::size_t* size, void** context) {
  auto& impl = *static_cast<Impl*>(self);
  return guarded(
      [&] {
        if (*context != nullptr) return impl.read(*static_cast<Exchange*>(*context), data, size);
        *context = impl.begin(connection, url, method);
        return *context == nullptr ? MHD_NO : MHD_YES;
      },
      MHD_NO);
}

/// Null: it is not known from where it comes, and so not what it may; or it has been answered.
Exchange* HttpServer::Impl::begin(MHD_Connection* connection, const char* url, const char* method) {
  Connection* const of = connection_of(connection);
  if (of == nullptr || of->is_refused) return nullptr;
  auto owned = std::make_unique<Exchange>();
  Exchange& exchange = *owned;
  exchange.id = next++;
  exchange.server = this;
  exchange.connection = connection;
  exchange.of = of;
  Request& request = exchange.request;
  request.method = method_of(method);
  request.path = of->path.starts_with('/') ? decoded_path(of->path) : url;
  MHD_get_connection_values_n(connection, MHD_HEADER_KIND, &take_field, &request.headers);
  MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, &take_field, &request.query);
  MHD_get_connection_values_n(connection, MHD_COOKIE_KIND, &take_field, &request.cookies);
  request.peer = of->from.peer;
  request.secure = of->from.secure;
  request.certificate = of->from.certificate;
  exchanges.emplace(exchange.id, std::move(owned));
  of->exchange = &exchange;
  return &exchange;
}

namespace {

Response went_wrong() { return {.status = 500, .body = "Something went wrong here.\n"}; }

}  // namespace

/// Takes a part of the body; at its end, and whenever a connection goes on that had nothing to say, answers.
MHD_Result HttpServer::Impl::read(Exchange& exchange, const char* data, std::size_t* size) {
  if (exchange.is_gone) return MHD_NO;
  Request& request = exchange.request;
  if (*size > 0) {
    if (request.body.size() + *size > limits.body_bytes && !request.unfit)
      request.unfit = Unfit{413, fmt::format("The body of a request has at most {} bytes", limits.body_bytes)};
    if (!request.unfit) request.body.append(data, *size);
    *size = 0;
    return MHD_YES;
  }
  if (exchange.stage == Exchange::Stage::Waiting) {
    exchange.woken->store(false);
    std::optional<Response> response;
    try {
      response = exchange.deferred->poll();
    } catch (const std::exception&) {
      response = went_wrong();
    }
    if (response) return send(exchange, std::move(*response));
    suspend(exchange);
    return MHD_YES;
  }
  if (exchange.stage == Exchange::Stage::Answering) return MHD_YES;
  exchange.of->at_work = true;
  exchange.of->wait = next++;
  if (!request.body.empty() && !request.unfit && is_form(request)) {
    const std::unique_ptr<MHD_PostProcessor, FreeForm> form(
        MHD_create_post_processor(exchange.connection, 4096, &take_form, &request.form));
    if (form != nullptr) MHD_post_process(form.get(), request.body.data(), request.body.size());
    if (request.form.size() >= kMaxFields)
      request.unfit = Unfit{413, fmt::format("A form has less than {} fields", kMaxFields)};
  }
  try {
    return answer(exchange, dispatch(request, exchange.of->from, wake_of(exchange)));
  } catch (const std::exception&) {
    return send(exchange, went_wrong());
  }
}

MHD_Result HttpServer::Impl::answer(Exchange& exchange, Reply reply) {
  if (exchange.is_gone) return MHD_NO;  // what it has asked for has closed its own door
  if (auto* const response = std::get_if<Response>(&reply)) return send(exchange, std::move(*response));
  exchange.deferred = std::move(std::get<std::unique_ptr<Deferred>>(reply));
  exchange.stage = Exchange::Stage::Waiting;
  suspend(exchange);
  return MHD_YES;
}

MHD_Result HttpServer::Impl::send(Exchange& exchange, Response response) {
  exchange.stage = Exchange::Stage::Answering;
  exchange.deferred.reset();
  OwnedResponse made;
  if (response.stream) {
    exchange.stream = std::move(response.stream);
    // Libmicrohttpd keeps a buffer of that size for as long as the response lasts, of which there may be a thousand.
    const std::size_t part = exchange.stream->endless() ? kSmallChunk : kChunk;
    made.reset(MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, part, &Impl::on_pull, &exchange, nullptr));
  } else {
    made.reset(MHD_create_response_from_buffer(response.body.size(), response.body.data(), MHD_RESPMEM_MUST_COPY));
  }
  if (!made) return MHD_NO;
  if (!response.type.empty()) MHD_add_response_header(made.get(), MHD_HTTP_HEADER_CONTENT_TYPE, response.type.c_str());
  // A header with a line break in it is none: libmicrohttpd leaves it out.
  for (const auto& [name, value] : response.headers) MHD_add_response_header(made.get(), name.c_str(), value.c_str());
  return MHD_queue_response(exchange.connection, response.status, made.get());
}

void HttpServer::Impl::suspend(Exchange& exchange) {
  exchange.suspended = true;
  // What changes something is carried through although nobody reads what has come of it.
  if (exchange.stage == Exchange::Stage::Answering || is_safe(exchange.request.method)) watch_client(exchange);
  MHD_suspend_connection(exchange.connection);
  // It may have been woken since it was asked.
  if (exchange.woken->load()) {
    loop.post([weak = weak_from_this(), id = exchange.id] {
      if (const auto self = weak.lock()) self->resume(id);
    });
  }
}

/// Libmicrohttpd does not look at a connection that is suspended: that its client has gone must be seen here.
void HttpServer::Impl::watch_client(Exchange& exchange) {
  const int socket = exchange.of->socket;
  auto watched = loop.watch(socket, runtime::Loop::kReadable, [this, &exchange, socket](unsigned) {
    // Another request is read when its turn comes. Until then it is only told when the connection has ended.
    if (!is_hung_up(socket)) return exchange.client.change(0);
    exchange.is_gone = true;
    resume(exchange.id);
  });
  if (watched) exchange.client = std::move(*watched);
}

void HttpServer::Impl::resume(std::uint64_t id) {
  const auto found = exchanges.find(id);
  if (found == exchanges.end() || !found->second->suspended) return;
  found->second->suspended = false;
  found->second->client = {};  // a hang-up would be told again and again
  MHD_resume_connection(found->second->connection);
  run_soon();
}

Wake HttpServer::Impl::wake_of(const Exchange& exchange) {
  return [&on = loop, weak = weak_from_this(), id = exchange.id, woken = exchange.woken] {
    if (woken->exchange(true)) return;
    const auto alive = weak.lock();
    if (!alive) return;  // and the loop may have gone, too
    on.post([weak, id] {
      if (const auto self = weak.lock()) self->resume(id);
    });
  };
}

ssize_t HttpServer::Impl::on_pull(void* exchange, std::uint64_t, char* out, std::size_t most) {
  auto& of = *static_cast<Exchange*>(exchange);
  return guarded([&] { return of.server->pull(of, out, most); }, ssize_t{MHD_CONTENT_READER_END_WITH_ERROR});
}

ssize_t HttpServer::Impl::pull(Exchange& exchange, char* out, std::size_t most) {
  if (exchange.is_gone) {
    // Told of an error libmicrohttpd would close the connection, but keep it until all older ones have gone. It takes
    // away one to which it cannot write.
    shutdown(exchange.of->socket, SHUT_RDWR);
    return MHD_CONTENT_READER_END_OF_STREAM;
  }
  if (exchange.sent == exchange.made.size() && !exchange.complete) {
    if (std::chrono::steady_clock::now() - turn_began > kTurn) {
      exchange.woken->store(true);
      suspend(exchange);
      return 0;
    }
    exchange.made.clear();
    exchange.sent = 0;
    exchange.woken->store(false);
    const Stream::Next what = exchange.stream->pull(exchange.made, kChunk);
    if (what == Stream::Next::Done) exchange.complete = true;
    if (what == Stream::Next::Waiting && exchange.made.empty()) {
      suspend(exchange);
      return 0;
    }
  }
  const std::size_t now = std::min(most, exchange.made.size() - exchange.sent);
  if (now == 0 && exchange.complete) return MHD_CONTENT_READER_END_OF_STREAM;
  exchange.made.copy(out, now, exchange.sent);
  exchange.sent += now;
  return static_cast<ssize_t>(now);
}

void HttpServer::Impl::on_end(void* self, MHD_Connection*, void** context, MHD_RequestTerminationCode) {
  auto* const exchange = static_cast<Exchange*>(*context);
  if (exchange == nullptr) return;
  *context = nullptr;
  static_cast<Impl*>(self)->ended(*exchange);
}

void HttpServer::Impl::ended(Exchange& exchange) {
  exchange.of->exchange = nullptr;
  exchange.of->at_work = false;
  exchange.of->waits_since = runtime::now().mono;
  exchange.of->wait = next++;
  exchanges.erase(exchange.id);
}

HttpServer::HttpServer(runtime::Loop& loop, Dispatch dispatch, HttpLimits limits)
    : impl_(std::make_shared<Impl>(loop, std::move(dispatch), limits)) {
  impl_->open();
}

HttpServer::~HttpServer() { impl_->close(); }

void HttpServer::serve(runtime::Descriptor socket, From from) { impl_->serve(std::move(socket), std::move(from)); }
void HttpServer::close_if(const std::function<bool(const From&)>& matches) { impl_->close_if(matches); }
bool HttpServer::is_quiet() const {
  return std::ranges::none_of(impl_->exchanges, [](const auto& one) {
    const Exchange& exchange = *one.second;
    const bool is_stream = exchange.stream != nullptr && exchange.stream->endless();
    return exchange.stage == Exchange::Stage::Answering
               ? !is_stream
               : exchange.stage == Exchange::Stage::Waiting && exchange.woken->load();
  });
}
std::size_t HttpServer::connections() const { return impl_->connections.size(); }
std::uint64_t HttpServer::dropped() const { return impl_->dropped; }

}  // namespace healer::web
