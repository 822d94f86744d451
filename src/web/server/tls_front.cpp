// SPDX-License-Identifier: MIT
#include "web/server/tls_front.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "runtime/clock.hpp"
#include "runtime/net/tls_context.hpp"
#include "runtime/worker_pool.hpp"
#include "util/result.hpp"

namespace healer::web {
namespace {

using runtime::Descriptor;
using runtime::FreeBy;
using Context = std::shared_ptr<SSL_CTX>;

/// How old what is known of the files may be when somebody connects.
constexpr Duration kLook = seconds{5};
constexpr std::size_t kBuffer = 16 * 1024;

/// What the files were when they were read.
using Stamps = std::vector<std::pair<std::string, std::int64_t>>;

Stamps stamps_of(const ServerTls& tls) {
  Stamps stamps;
  for (const std::string* path : {&tls.certificates, &tls.key, &tls.client_certificates})
    if (!path->empty()) stamps.emplace_back(*path, runtime::changed_at(*path));
  return stamps;
}

Error tls_error(std::string_view what, const std::string& path) {
  return {0, fmt::format("{} {}: {}", what, path, runtime::openssl_words())};
}

Result<void> ask_for_certificates(SSL_CTX* context, const ServerTls& tls) {
  struct stat facts {};
  const std::string& path = tls.client_certificates;
  if (::stat(path.c_str(), &facts) != 0)
    return Error{errno, fmt::format("{}: {}", path, runtime::words_of_errno(errno))};
  X509_STORE* const store = SSL_CTX_get_cert_store(context);
  const bool loaded = S_ISDIR(facts.st_mode) ? X509_STORE_load_path(store, path.c_str()) == 1
                                             : X509_STORE_load_file(store, path.c_str()) == 1;
  if (!loaded) return tls_error("cannot read the certificates of clients in", path);
  // A certificate that is itself in the store is trusted, whoever has signed it.
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  const auto take_self_signed = [](int ok, X509_STORE_CTX* chain) -> int {
    const int error = X509_STORE_CTX_get_error(chain);
    return ok != 0 || error == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT ? 1 : 0;
  };
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                     tls.allow_self_signed ? static_cast<SSL_verify_cb>(take_self_signed) : nullptr);
  return {};
}

/// Reads files: on a worker.
Result<Context> make_context(const ServerTls& tls) {
  ERR_clear_error();
  Context made(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (!made) return Error{0, "cannot begin TLS: " + runtime::openssl_words()};
  SSL_CTX* const context = made.get();
  runtime::set_tls_versions(context, tls.versions);
  SSL_CTX_set_options(context,
                      SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(context,
                   SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_id_context(context, reinterpret_cast<const unsigned char*>("healer"), 6);
  // Nobody is there to type the passphrase of a key: such a key cannot be used.
  SSL_CTX_set_default_passwd_cb(context, [](char*, int, int, void*) { return -1; });
  if (!tls.ciphers.empty() && SSL_CTX_set_cipher_list(context, tls.ciphers.c_str()) != 1)
    return Error{0, fmt::format("OpenSSL knows none of the ciphers \"{}\"", tls.ciphers)};
  if (SSL_CTX_use_certificate_chain_file(context, tls.certificates.c_str()) != 1)
    return tls_error("cannot read the certificate in", tls.certificates);
  if (SSL_CTX_use_PrivateKey_file(context, tls.key.c_str(), SSL_FILETYPE_PEM) != 1)
    return tls_error("cannot use the key in", tls.key);
  if (SSL_CTX_check_private_key(context) != 1)
    return Error{0, fmt::format("the key in {} is not that of the certificate in {}", tls.key, tls.certificates)};
  if (!tls.client_certificates.empty())
    if (auto asked = ask_for_certificates(context, tls); !asked) return asked.error();
  return made;
}

/// The common name of a certificate; empty: it has none, or it cannot be told which.
std::string common_name(X509* certificate) {
  X509_NAME* const subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, at) >= 0) return {};
  unsigned char* bytes = nullptr;
  const int size = ASN1_STRING_to_UTF8(&bytes, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
  if (size < 0) return {};
  std::string name(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return name.find('\0') == std::string::npos ? name : std::string();
}

/// What the client has shown; null: no certificate. Where clients may sign their own, anybody could write any name into
/// it: then it is known by its hash alone.
std::shared_ptr<const ClientCertificate> shown_by(SSL* ssl) {
  const std::unique_ptr<X509, FreeBy<X509_free>> certificate(SSL_get1_peer_certificate(ssl));
  if (!certificate) return nullptr;
  auto shown = std::make_shared<ClientCertificate>();
  if (SSL_get_verify_result(ssl) == X509_V_OK) shown->name = common_name(certificate.get());
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (X509_digest(certificate.get(), EVP_sha256(), digest.data(), &size) == 1)
    for (unsigned at = 0; at < size; ++at) shown->sha256 += fmt::format("{:02x}", digest.at(at));
  return shown;
}

/// What is answered to one who speaks HTTP where TLS is spoken: he sees what is wrong, and not a closed connection.
constexpr std::string_view kNotByTls =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 57\r\n"
    "Connection: close\r\n\r\nThis port speaks TLS: write https:// in place of http://\n";

/// Whether what has come in place of a handshake is a request of HTTP.
bool is_http_request(unsigned long error) {
  return ERR_GET_LIB(error) == ERR_LIB_SSL && ERR_GET_REASON(error) == SSL_R_HTTP_REQUEST;
}

/// Bytes on their way in one direction.
struct Channel {
  std::array<char, kBuffer> bytes;
  std::size_t begin = 0, end = 0;
  bool closed = false;  ///< nothing more comes in at its source

  [[nodiscard]] bool empty() const { return begin == end; }
};

/// For what is waited, a sum of Loop::Ready each.
struct Wants {
  unsigned of_socket = 0, of_plain = 0;
};

struct Session {
  std::uint64_t id = 0;
  HttpServer::From from;
  std::string network;  ///< network_of() its address
  Descriptor socket, plain;
  std::unique_ptr<SSL, FreeBy<SSL_free>> ssl;
  runtime::Loop::Watch of_socket, of_plain;
  runtime::Loop::Timer limit;
  TlsFront::Ready ready;
  bool open = false;
  Duration moved{0};      ///< when bytes were last carried
  bool is_ended = false;  ///< by the HTTP server: the client may read what is left
  Channel in, out;        ///< from the client; to it
};

}  // namespace

struct TlsFront::Impl : std::enable_shared_from_this<Impl> {
  Impl(runtime::Loop& on, Report tell, TlsLimits bounds)
      : loop(on),
        report(std::move(tell)),
        limits(bounds),
        pool(on, {.name = "tls-files", .workers = 1, .patience = Duration{10'000}}) {}

  void use(const ServerTls& wanted);
  void read_files();
  bool is_for_now(std::uint64_t of);
  void have(std::uint64_t of, const Stamps& stamps, Result<Context> made);
  void look();
  bool make_room(const HttpServer::From& from, const std::string& network);
  void begin(Descriptor socket, const HttpServer::From& from, Ready ready);
  void shake(Session& session);
  void pump(Session& session);
  bool carry_in(Session& session, Wants& wants, bool& moved);
  bool carry_out(Session& session, Wants& wants, bool& moved);
  bool watch(runtime::Loop::Watch& watch, int descriptor, unsigned wants, runtime::Loop::Callback what);
  void end(const Session& session);
  void end_those(const std::function<bool(const Session&)>& matches);

  runtime::Loop& loop;
  Report report;
  TlsLimits limits;
  std::optional<ServerTls> tls;
  Context context;
  Stamps known;
  std::string trouble;
  Duration looked{0};
  bool is_reading = false;
  std::uint64_t round = 0;  ///< of settings
  std::uint64_t next = 1;
  std::map<std::uint64_t, std::unique_ptr<Session>> sessions;  ///< the oldest first
  std::unordered_map<std::string, std::size_t> of_network;     ///< sessions from each
  runtime::WorkerPool pool;
};

void TlsFront::Impl::read_files() {
  looked = runtime::now().mono;
  if (std::exchange(is_reading, true)) return;
  pool.submit(
      [this, with = *tls, of = round, before = known]() -> runtime::Loop::Callback {
        Stamps stamps = stamps_of(with);
        if (stamps == before) return [this, of] { is_for_now(of); };
        auto made = std::make_shared<Result<Context>>(make_context(with));
        return [this, of, stamps = std::move(stamps), made] { have(of, stamps, std::move(*made)); };
      },
      [this, of = round](const Error& error) { have(of, {}, error); });
}

/// Files have been read. False: for settings that are no longer those; they are read for these.
bool TlsFront::Impl::is_for_now(std::uint64_t of) {
  is_reading = false;
  if (of == round) return true;
  read_files();
  return false;
}

void TlsFront::Impl::have(std::uint64_t of, const Stamps& stamps, Result<Context> made) {
  if (!is_for_now(of)) return;
  known = stamps;
  if (made) {
    const bool is_first = context == nullptr;
    context = std::move(*made);
    if (!std::exchange(trouble, {}).empty() || !is_first) report(false, "TLS: the certificate has been read");
    return;
  }
  const std::string text =
      fmt::format("TLS: {}{}", made.error().what,
                  context ? "; the former certificate is still used" : "; nobody is answered by TLS");
  if (std::exchange(trouble, text) != text) report(true, text);
}

/// Has files read again that have changed: what somebody gets who connects now may still be the former certificate.
void TlsFront::Impl::look() {
  if (tls && runtime::now().mono - looked > kLook) read_files();
}

/// False: there is no room for another one from there.
bool TlsFront::Impl::make_room(const HttpServer::From& from, const std::string& network) {
  const auto same = from.local ? of_network.end() : of_network.find(network);
  const bool is_of_many = same != of_network.end() && same->second >= limits.of_an_address;
  if (!is_of_many && sessions.size() < limits.sessions) return true;
  const auto may_go = [&](const Session& session) { return !is_of_many || session.network == network; };
  const Session *oldest = nullptr, *stillest = nullptr;
  for (const auto& [id, session] : sessions) {
    if (!may_go(*session)) continue;
    if (!session->open) {
      oldest = session.get();
      break;
    }
    if (stillest == nullptr || session->moved < stillest->moved) stillest = session.get();
  }
  if (oldest == nullptr && stillest != nullptr && runtime::now().mono - stillest->moved >= limits.displaceable)
    oldest = stillest;
  if (oldest == nullptr) return false;
  end(*oldest);
  return true;
}

void TlsFront::Impl::begin(Descriptor socket, const HttpServer::From& from, Ready ready) {
  look();
  std::string network = from.local ? std::string() : network_of(from.peer);
  if (!context || !make_room(from, network)) return;
  auto owned = std::make_unique<Session>();
  Session& session = *owned;
  session.id = next++;
  session.from = from;
  session.network = std::move(network);
  session.socket = std::move(socket);
  session.ready = std::move(ready);
  session.ssl.reset(SSL_new(context.get()));
  if (!session.ssl || SSL_set_fd(session.ssl.get(), session.socket.get()) != 1) return;
  SSL_set_accept_state(session.ssl.get());
  auto watch = loop.watch(session.socket.get(), runtime::Loop::kReadable, [this, &session](unsigned) {
    if (session.open)
      pump(session);
    else
      shake(session);
  });
  if (!watch) return;
  session.of_socket = std::move(*watch);
  session.limit = loop.timer([this, &session] { end(session); });
  session.limit.set_deadline(runtime::now().mono + limits.handshake);
  if (!from.local) ++of_network[session.network];
  sessions.emplace(session.id, std::move(owned));
}

void TlsFront::Impl::shake(Session& session) {
  ERR_clear_error();
  const int result = SSL_do_handshake(session.ssl.get());
  if (result != 1) {
    switch (SSL_get_error(session.ssl.get(), result)) {
      case SSL_ERROR_WANT_READ: return session.of_socket.change(runtime::Loop::kReadable);
      case SSL_ERROR_WANT_WRITE: return session.of_socket.change(runtime::Loop::kWritable);
      default: break;
    }
    if (is_http_request(ERR_peek_error())) {
      (void)::send(session.socket.get(), kNotByTls.data(), kNotByTls.size(), MSG_NOSIGNAL);
      // What of his request is unread would have the answer taken back.
      std::array<char, 4096> rest{};
      while (::recv(session.socket.get(), rest.data(), rest.size(), 0) == static_cast<ssize_t>(rest.size())) continue;
    }
    return end(session);
  }
  std::array<int, 2> pair{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair.data()) != 0) return end(session);
  session.plain = Descriptor(pair[0]);
  Descriptor other(pair[1]);
  session.open = true;
  session.moved = runtime::now().mono;
  const Ready ready = std::exchange(session.ready, {});
  ready(std::move(other), shown_by(session.ssl.get()));
  pump(session);
}

/// Carries on whatever can be carried in either direction.
void TlsFront::Impl::pump(Session& session) {
  Wants wants;
  bool has_moved = false;
  for (bool moved = true; moved; has_moved = has_moved || moved) {
    moved = false;
    wants = {};
    if (!carry_in(session, wants, moved) || !carry_out(session, wants, moved)) return end(session);
  }
  if (has_moved) session.moved = runtime::now().mono;
  if (session.out.closed) session.is_ended = true;
  const bool is_waited_for = !session.in.empty() || !session.out.empty();
  session.limit.set_deadline(session.moved + (session.is_ended ? limits.last_words
                                              : is_waited_for  ? limits.stalled
                                                               : limits.silent));
  // Where nothing is waited for, nothing is watched: a hang-up would be told in each turn, although nothing can be done
  // about it yet. Of the HTTP server it must be known once.
  if (wants.of_socket == 0) session.of_socket = {};
  if (wants.of_plain == 0 && session.is_ended) session.of_plain = {};
  const bool is_watched =
      watch(session.of_socket, session.socket.get(), wants.of_socket, [this, &session] { pump(session); }) &&
      watch(session.of_plain, session.plain.get(), wants.of_plain, [this, &session] {
        pollfd state{.fd = session.plain.get(), .events = 0, .revents = 0};
        if (::poll(&state, 1, 0) == 1) session.is_ended = true;
        pump(session);
      });
  if (!is_watched) end(session);
}

/// Has `watch` wait for that; one that is inert and has nothing to wait for stays so.
bool TlsFront::Impl::watch(runtime::Loop::Watch& watch, int descriptor, unsigned wants, runtime::Loop::Callback what) {
  if (watch) {
    watch.change(wants);
    return true;
  }
  if (wants == 0) return true;
  auto made = loop.watch(descriptor, wants, [what = std::move(what)](unsigned) { what(); });
  if (made) watch = std::move(*made);
  return static_cast<bool>(made);
}

/// From the client. False: it is over.
bool TlsFront::Impl::carry_in(Session& session, Wants& wants, bool& moved) {
  Channel& in = session.in;
  if (in.empty() && !in.closed) {
    ERR_clear_error();
    const int got = SSL_read(session.ssl.get(), in.bytes.data(), static_cast<int>(in.bytes.size()));
    if (got > 0) {
      in.begin = 0;
      in.end = static_cast<std::size_t>(got);
      moved = true;
    } else {
      switch (SSL_get_error(session.ssl.get(), got)) {
        case SSL_ERROR_WANT_READ: wants.of_socket |= runtime::Loop::kReadable; break;
        case SSL_ERROR_WANT_WRITE: wants.of_socket |= runtime::Loop::kWritable; break;
        case SSL_ERROR_ZERO_RETURN:
          in.closed = true;
          shutdown(session.plain.get(), SHUT_WR);
          break;
        default: return false;
      }
    }
  }
  if (in.empty()) return true;
  const ssize_t sent = ::send(session.plain.get(), in.bytes.data() + in.begin, in.end - in.begin, MSG_NOSIGNAL);
  if (sent > 0) {
    in.begin += static_cast<std::size_t>(sent);
    moved = true;
  } else if (errno == EAGAIN) {
    wants.of_plain |= runtime::Loop::kWritable;
  } else {
    // The HTTP server has ended it: nothing more is heard, but what it has said is still carried to the client.
    in.begin = in.end = 0;
    in.closed = true;
  }
  return true;
}

/// To the client. False: it is over.
bool TlsFront::Impl::carry_out(Session& session, Wants& wants, bool& moved) {
  Channel& out = session.out;
  if (out.empty() && !out.closed) {
    const ssize_t got = ::recv(session.plain.get(), out.bytes.data(), out.bytes.size(), 0);
    if (got > 0) {
      out.begin = 0;
      out.end = static_cast<std::size_t>(got);
      moved = true;
    } else if (got < 0 && errno == EAGAIN) {
      wants.of_plain |= runtime::Loop::kReadable;
    } else {
      out.closed = true;
    }
  }
  ERR_clear_error();
  if (out.empty()) {
    if (!out.closed) return true;
    SSL_shutdown(session.ssl.get());  // the server has said all: the client need not answer
    return false;
  }
  const int sent = SSL_write(session.ssl.get(), out.bytes.data() + out.begin, static_cast<int>(out.end - out.begin));
  if (sent > 0) {
    out.begin += static_cast<std::size_t>(sent);
    moved = true;
    return true;
  }
  switch (SSL_get_error(session.ssl.get(), sent)) {
    case SSL_ERROR_WANT_READ: wants.of_socket |= runtime::Loop::kReadable; return true;
    case SSL_ERROR_WANT_WRITE: wants.of_socket |= runtime::Loop::kWritable; return true;
    default: return false;
  }
}

void TlsFront::Impl::end(const Session& session) {
  if (!session.from.local) {
    const auto found = of_network.find(session.network);
    if (found != of_network.end() && --found->second == 0) of_network.erase(found);
  }
  sessions.erase(session.id);
}

/// Ends sessions, one of which may be at work now: its memory goes at the end of the turn.
void TlsFront::Impl::end_those(const std::function<bool(const Session&)>& matches) {
  std::vector<std::uint64_t> ids;
  for (const auto& [id, session] : sessions) {
    if (!matches(*session)) continue;
    shutdown(session->socket.get(), SHUT_RDWR);
    ids.push_back(id);
  }
  if (ids.empty()) return;
  loop.at_end_of_turn([weak = weak_from_this(), ids = std::move(ids)] {
    const auto self = weak.lock();
    if (!self) return;
    for (const std::uint64_t id : ids)
      if (const auto found = self->sessions.find(id); found != self->sessions.end()) self->end(*found->second);
  });
}

void TlsFront::Impl::use(const ServerTls& wanted) {
  if (tls == wanted) return look();
  const bool others_are_asked = tls && (tls->client_certificates != wanted.client_certificates ||
                                        tls->allow_self_signed != wanted.allow_self_signed);
  end_those([others_are_asked](const Session& session) { return others_are_asked || !session.open; });
  tls = wanted;
  context.reset();  // it may let in whom these settings do not
  known.clear();
  ++round;
  read_files();
}

TlsLimits TlsLimits::of_this_process() {
  TlsLimits limits;
  limits.sessions = most_connections(3);
  limits.of_an_address = std::min(limits.of_an_address, limits.sessions / 2);
  return limits;
}

TlsFront::TlsFront(runtime::Loop& loop, Report report, TlsLimits limits)
    : impl_(std::make_shared<Impl>(loop, std::move(report), limits)) {}
TlsFront::~TlsFront() = default;

void TlsFront::use(const ServerTls& tls) { impl_->use(tls); }
void TlsFront::begin(Descriptor socket, const HttpServer::From& from, Ready ready) {
  impl_->begin(std::move(socket), from, std::move(ready));
}
void TlsFront::close_if(const std::function<bool(const HttpServer::From&)>& matches) {
  impl_->end_those([&matches](const Session& session) { return matches(session.from); });
}
bool TlsFront::is_quiet() const {
  return std::ranges::all_of(impl_->sessions, [](const auto& one) {
    const Session& session = *one.second;
    pollfd state{.fd = session.plain.get(), .events = POLLIN, .revents = 0};
    return !session.open || (session.out.empty() && ::poll(&state, 1, 0) == 0);
  });
}
std::size_t TlsFront::sessions() const { return impl_->sessions.size(); }
const std::string& TlsFront::trouble() const { return impl_->trouble; }

}  // namespace healer::web
