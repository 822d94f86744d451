// SPDX-License-Identifier: MIT
#include "runtime/net/connection.hpp"

#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "runtime/clock.hpp"
#include "runtime/random.hpp"

namespace healer::runtime {
namespace {

using protocols::Order;
using protocols::ProbeVerdict;
using protocols::Transport;
using protocols::Want;

constexpr std::size_t kPiece = 16 * 1024;
constexpr int kPiecesATurn = 4;  // read before others have their turn
constexpr std::size_t kMostUnsent = std::size_t{64} << 10;

/// No local port or memory left: that says nothing about the server.
bool is_ours(int code) { return code == EADDRNOTAVAIL || code == EAGAIN || code == ENOBUFS || code == ENOMEM; }

}  // namespace

Connection::Connection(Loop& loop, TlsContexts& contexts, Searcher& searcher,
                       std::shared_ptr<const protocols::ProbePlan> plan, Done done)
    : loop_(loop),
      contexts_(contexts),
      searcher_(searcher),
      plan_(std::move(plan)),
      done_(std::move(done)),
      timer_(loop.timer([this] { timed_out(); })),
      begun_(Steady::now()),
      phase_begun_(begun_) {}

Connection::~Connection() = default;

std::chrono::microseconds Connection::since(Steady::time_point begin) const {
  return std::chrono::duration_cast<std::chrono::microseconds>(Steady::now() - begin);
}

// ---- connecting ---------------------------------------------------------------------------------------------------

void Connection::start(const Address& host, const std::optional<Address>& source) {
  result_.address = host.text_with_port();
  open(host.family(), plan_->transport == Transport::Udp ? SOCK_DGRAM : SOCK_STREAM);
  if (late_) return;
  if (source) {
    const int on = 1;
    if (!host.is_v6()) ::setsockopt(socket_.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    if (auto error = send_from(socket_.get(), *source))
      return fail_later(ProbeVerdict::Unknown, std::move(error->what));
  }
  connect(host.get(), host.size());
}

void Connection::start_unix() {
  result_.address = plan_->host;
  open(AF_UNIX, SOCK_STREAM);
  if (late_) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (plan_->host.size() >= sizeof address.sun_path)
    return fail_later(ProbeVerdict::Failed,
                      fmt::format("the path of a unix socket has at most {} bytes", sizeof address.sun_path - 1));
  std::memcpy(address.sun_path, plan_->host.data(), plan_->host.size());
  connect(reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

void Connection::open(int family, int type) {
  timer_.set_deadline(mono_now() + plan_->timeout);
  socket_ = Descriptor(::socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket_) {
    const bool no_family = errno == EAFNOSUPPORT;
    fail_later(no_family ? ProbeVerdict::Failed : ProbeVerdict::Unknown, words_of_errno(errno));
  }
}

void Connection::connect(const sockaddr* address, socklen_t size) {
  if (::connect(socket_.get(), address, size) != 0 && errno != EINPROGRESS) {
    if (errno == EAGAIN && plan_->transport == Transport::Unix)
      return fail_later(ProbeVerdict::Failed, "its queue of connections is full");
    return fail_later(is_ours(errno) ? ProbeVerdict::Unknown : ProbeVerdict::Failed, words_of_errno(errno));
  }
  interest_ = Loop::kWritable;
  auto watch = loop_.watch(socket_.get(), interest_, [this](unsigned ready_for) { ready(ready_for); });
  if (!watch) return fail_later(ProbeVerdict::Unknown, watch.error().what);
  watch_ = std::move(*watch);
}

void Connection::fail_later(ProbeVerdict verdict, std::string text) {
  late_.emplace(verdict, std::move(text));
  timer_.set_deadline(Duration{0});
}

void Connection::ready(unsigned ready_for) {
  if (phase_ == Phase::Connect) return connected();
  const std::weak_ptr<bool> alive = alive_;
  if ((ready_for & Loop::kWritable) != 0 && !unsent_.empty()) flush();
  if (alive.expired() || phase_ == Phase::Done) return;
  if ((ready_for & Loop::kReadable) != 0) read();
}

void Connection::connected() {
  int code = 0;
  socklen_t size = sizeof code;
  ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &code, &size);
  if (code != 0) {
    return finish(is_ours(code) ? ProbeVerdict::Unknown : ProbeVerdict::Failed, words_of_errno(code));
  }
  result_.connect = since(begun_);
  phase_begun_ = Steady::now();
  const Order order{.host = plan_->transport == Transport::Unix ? "" : plan_->host,
                    .port = plan_->port,
                    .tls = plan_->tls.has_value(),
                    .datagrams = plan_->transport == Transport::Udp,
                    .settings = plan_->settings,
                    .limits = plan_->limits,
                    .nonce = random64(),
                    .now = wall_now};
  conversation_ = plan_->protocol->make(order);
  const bool later =
      plan_->protocol->within || (plan_->protocol->upgrades != nullptr && plan_->protocol->upgrades(plan_->settings));
  if (plan_->tls && !later) return begin_tls();
  phase_ = Phase::Talk;
  begin_talk();
}

// ---- TLS ----------------------------------------------------------------------------------------------------------

protocols::TlsPlan Connection::tls_plan() const {
  protocols::TlsPlan plan = plan_->tls ? *plan_->tls : protocols::TlsPlan{};
  if (plan_->protocol->within_tls != nullptr) plan.alpn = plan_->protocol->within_tls(plan_->settings);
  return plan;
}

void Connection::begin_tls() {
  phase_ = Phase::Tls;
  phase_begun_ = Steady::now();
  waits_for_context_ = true;
  listen();
  contexts_.get(tls_plan(), [this, alive = std::weak_ptr<bool>(alive_)](const Result<TlsContexts::Context>& context) {
    if (alive.expired() || phase_ != Phase::Tls) return;
    waits_for_context_ = false;
    if (!context) return finish(ProbeVerdict::Unknown, context.error().what);
    secure(*context);
  });
}

void Connection::secure(std::shared_ptr<const TlsContext> context) {
  phase_begun_ = Steady::now();  // what came before was ours
  tls_ = std::make_unique<TlsSession>(std::move(context), tls_plan(), plan_->host);
  shake_hands();
}

void Connection::shake_hands() {
  const TlsSession::State state = tls_->handshake();
  result_.certificate = tls_->certificate();
  if (state == TlsSession::State::Failed) {
    unsent_ = tls_->take_output();  // what TLS says of it
    flush();
    return finish(ProbeVerdict::Failed, tls_->fault());
  }
  const std::weak_ptr<bool> alive = alive_;
  send({});
  if (alive.expired() || phase_ == Phase::Done) return;
  if (state == TlsSession::State::Handshake) {
    if (ended_) return finish(ProbeVerdict::Failed, "the server closed the connection");
    return listen();
  }
  result_.tls = since(phase_begun_);
  result_.tls_version = tls_->version();
  result_.tls_cipher = tls_->cipher();
  phase_ = Phase::Talk;
  begin_talk();
}

// ---- the conversation ---------------------------------------------------------------------------------------------

void Connection::begin_talk() {
  phase_begun_ = Steady::now();
  const std::weak_ptr<bool> alive = alive_;
  act(upgrades_ ? conversation_->secured() : conversation_->begin());
  if (!alive.expired() && phase_ == Phase::Talk) pump();
}

void Connection::act(Want want) {
  const std::weak_ptr<bool> alive = alive_;
  if (!want.send.empty()) send(want.send);
  if (alive.expired() || phase_ == Phase::Done) return;
  switch (want.kind) {
    case Want::Kind::Receive: return listen();
    case Want::Kind::StartTls:
      if (tls_) return finish(ProbeVerdict::Failed, "TLS within TLS is not supported");
      upgrades_ = true;
      return begin_tls();
    case Want::Kind::Search: return search_for({want.search->pattern, want.search->text});
    case Want::Kind::Query: return query({want.query->filter, want.query->text});
    case Want::Kind::Elsewhere:
      result_.elsewhere = *want.elsewhere;
      return finish(ProbeVerdict::Failed, "it redirects");
    case Want::Kind::Unknown: return finish(ProbeVerdict::Unknown, std::move(want.text));
    case Want::Kind::Pass: return finish(ProbeVerdict::Passed, std::move(want.text));
    case Want::Kind::Fail: return finish(ProbeVerdict::Failed, std::move(want.text));
  }
}

void Connection::search_for(Want::Search wanted) {
  searching_ = true;
  listen();
  searcher_.search(std::move(wanted), [this, alive = std::weak_ptr<bool>(alive_)](const auto& result) {
    if (alive.expired() || phase_ != Phase::Talk) return;
    searching_ = false;
    if (!result) return finish(ProbeVerdict::Unknown, "what it sent was not compared: " + result.error().what);
    act(conversation_->found(*result));
    if (!alive.expired() && phase_ == Phase::Talk) pump();
  });
}

void Connection::query(Want::Query wanted) {
  searching_ = true;
  listen();
  searcher_.query(std::move(wanted), result_.address, [this, alive = std::weak_ptr<bool>(alive_)](const auto& value) {
    if (alive.expired() || phase_ != Phase::Talk) return;
    searching_ = false;
    act(conversation_->answered(value));
    if (!alive.expired() && phase_ == Phase::Talk) pump();
  });
}

void Connection::read() {
  std::array<char, kPiece> piece;
  const std::weak_ptr<bool> alive = alive_;
  for (int i = 0; i < kPiecesATurn && !searching_ && !waits_for_context_ && !ended_ && unsent_.size() < kMostUnsent;
       ++i) {
    const ssize_t got = ::recv(socket_.get(), piece.data(), piece.size(), 0);
    if (got > 0) {
      if (phase_ == Phase::Talk && !result_.first_byte) result_.first_byte = since(phase_begun_);
      take({piece.data(), static_cast<std::size_t>(got)});
      if (alive.expired() || phase_ == Phase::Done) return;
      if (static_cast<std::size_t>(got) < piece.size() && plan_->transport != Transport::Udp) return;  // that was all
    } else if (got == 0 && plan_->transport != Transport::Udp) {
      ended_ = true;
      return end_of_stream();
    } else if (got < 0) {
      if (errno == EAGAIN || errno == EINTR) return;
      // Nobody listens to a datagram, or the server broke off; what a conversation thinks of an end does not matter.
      return finish(ProbeVerdict::Failed,
                    errno == ECONNRESET ? "the server broke off the connection" : words_of_errno(errno));
    }
  }
}

void Connection::take(std::string_view bytes) {
  if (!tls_) return act(conversation_->receive(bytes));
  tls_->feed(bytes);
  if (phase_ == Phase::Tls) return shake_hands();
  pump();
}

void Connection::pump() {
  const std::weak_ptr<bool> alive = alive_;
  while (!searching_ && phase_ == Phase::Talk && tls_ != nullptr && tls_->state() == TlsSession::State::Open) {
    const std::string bytes = tls_->read();
    if (bytes.empty()) break;
    act(conversation_->receive(bytes));
    if (alive.expired() || phase_ != Phase::Talk) return;
  }
  if (searching_ || phase_ != Phase::Talk) return;
  if (tls_ && tls_->state() == TlsSession::State::Failed) return finish(ProbeVerdict::Failed, tls_->fault());
  if (ended_ || (tls_ && tls_->state() == TlsSession::State::Closed)) act(conversation_->closed());
}

void Connection::end_of_stream() {
  if (phase_ == Phase::Tls) {
    if (tls_) return finish(ProbeVerdict::Failed, "the server closed the connection");
    return listen();
  }
  pump();
}

void Connection::send(std::string_view bytes) {
  if (tls_) {
    if (tls_->state() == TlsSession::State::Open) tls_->write(bytes);
    unsent_ += tls_->take_output();
  } else {
    unsent_ += bytes;
  }
  if (!unsent_.empty()) flush();
}

void Connection::flush() {
  while (!unsent_.empty()) {
    const ssize_t sent = ::send(socket_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EAGAIN || errno == EINTR) break;
      // It may have said why before it closed: that is read yet.
      unsent_.clear();
      break;
    }
    unsent_.erase(0, static_cast<std::size_t>(sent));
  }
  listen();
}

void Connection::listen() {
  if (phase_ == Phase::Done) return;
  unsigned wanted = unsent_.empty() ? 0U : static_cast<unsigned>(Loop::kWritable);
  const bool is_behind = unsent_.size() >= kMostUnsent;  // who does not read is not read from
  if (!searching_ && !waits_for_context_ && !ended_ && !is_behind) wanted |= Loop::kReadable;
  if (wanted == interest_) return;
  interest_ = wanted;
  // What has hung up is told to a watch even if nothing is asked for: then there must be none.
  if (wanted == 0) {
    watch_ = {};
  } else if (watch_) {
    watch_.change(wanted);
  } else if (auto watch = loop_.watch(socket_.get(), wanted, [this](unsigned ready_for) { ready(ready_for); })) {
    watch_ = std::move(*watch);
  }
}

// ---- the end ------------------------------------------------------------------------------------------------------

void Connection::timed_out() {
  if (late_) return finish(late_->first, std::move(late_->second));
  const std::string limit = format_duration(plan_->timeout);
  if (waits_for_context_) return finish(ProbeVerdict::Unknown, fmt::format("TLS files were not read within {}", limit));
  if (searching_)
    return finish(ProbeVerdict::Unknown,
                  fmt::format("what it sent was not compared within {}: a simpler expression may help", limit));
  if (phase_ == Phase::Talk && conversation_->silence_passes())
    return finish(ProbeVerdict::Passed, fmt::format("nothing refused it within {}", limit));
  if (phase_ == Phase::Talk)
    return finish(ProbeVerdict::Failed, fmt::format("no {} within {}", conversation_->awaited(), limit));
  finish(ProbeVerdict::Failed, fmt::format("no answer within {}", limit));
}

void Connection::finish(ProbeVerdict verdict, std::string text) {
  result_.verdict = verdict;
  result_.text = std::move(text);
  result_.phase = verdict == ProbeVerdict::Passed ? Phase::Done : phase_;
  if (result_.connect) result_.response = since(begun_);
  phase_ = Phase::Done;
  watch_ = {};
  timer_.set_deadline(std::nullopt);
  if (tls_ && tls_->state() == TlsSession::State::Open) {
    unsent_ += tls_->close();
    flush();
  }
  socket_.reset();
  const Done done = std::move(done_);
  if (done) done(std::move(result_));
}

}  // namespace healer::runtime
