// SPDX-License-Identifier: MIT
#include "web/server/tls_front.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
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

constexpr std::size_t kMostSessions = 500;
constexpr Duration kHandshake = seconds{10};
/// How old what is known of the files may be when somebody connects.
constexpr Duration kLook = seconds{5};
constexpr std::size_t kBuffer = 16 * 1024;

/// What the files were when they were read.
using Stamps = std::vector<std::pair<std::string, std::int64_t>>;

std::int64_t stamp_of(const std::string& path) {
  struct stat facts {};
  if (path.empty() || ::stat(path.c_str(), &facts) != 0) return -1;
  return static_cast<std::int64_t>(facts.st_mtim.tv_sec) * 1'000'000'000 + facts.st_mtim.tv_nsec;
}

Stamps stamps_of(const ServerTls& tls) {
  Stamps stamps;
  for (const std::string* path : {&tls.certificates, &tls.key, &tls.client_certificates})
    if (!path->empty()) stamps.emplace_back(*path, stamp_of(*path));
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

/// Bytes on their way in one direction.
struct Channel {
  std::array<char, kBuffer> bytes;
  std::size_t begin = 0, end = 0;
  bool closed = false;  ///< nothing more comes in at its source

  [[nodiscard]] bool empty() const { return begin == end; }
};

struct Session {
  Descriptor socket, plain;
  std::unique_ptr<SSL, FreeBy<SSL_free>> ssl;
  runtime::Loop::Watch of_socket, of_plain;
  runtime::Loop::Timer limit;
  TlsFront::Ready ready;
  bool open = false;
  Channel in, out;  ///< from the client; to it
};

}  // namespace

struct TlsFront::Impl : std::enable_shared_from_this<Impl> {
  Impl(runtime::Loop& on, Report tell)
      : loop(on),
        report(std::move(tell)),
        pool(on, {.name = "tls-files", .workers = 1, .patience = Duration{10'000}}) {}

  void read_files();
  void have(const ServerTls& of, const Stamps& stamps, Result<Context> made);
  void look();
  void begin(Descriptor socket, Ready ready);
  void shake(Session& session);
  void pump(Session& session);
  void end(Session& session);

  runtime::Loop& loop;
  Report report;
  std::optional<ServerTls> tls;
  Context context;
  Stamps known;
  std::string trouble;
  Duration looked{0};
  bool is_reading = false;
  std::unordered_map<Session*, std::unique_ptr<Session>> sessions;
  runtime::WorkerPool pool;
};

void TlsFront::Impl::read_files() {
  looked = runtime::now().mono;
  if (std::exchange(is_reading, true)) return;
  pool.submit(
      [this, of = *tls, before = known]() -> runtime::Loop::Callback {
        Stamps stamps = stamps_of(of);
        if (stamps == before) return [this] { is_reading = false; };
        auto made = std::make_shared<Result<Context>>(make_context(of));
        return [this, of, stamps = std::move(stamps), made] { have(of, stamps, std::move(*made)); };
      },
      [this, of = *tls](const Error& error) { have(of, {}, error); });
}

void TlsFront::Impl::have(const ServerTls& of, const Stamps& stamps, Result<Context> made) {
  is_reading = false;
  if (!tls || of != *tls) return tls ? read_files() : void();  // it has been changed meanwhile
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

void TlsFront::Impl::begin(Descriptor socket, Ready ready) {
  look();
  if (!context || sessions.size() >= kMostSessions) return;
  auto owned = std::make_unique<Session>();
  Session& session = *owned;
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
  session.limit.set_deadline(runtime::now().mono + kHandshake);
  sessions.emplace(&session, std::move(owned));
}

void TlsFront::Impl::shake(Session& session) {
  ERR_clear_error();
  const int result = SSL_do_handshake(session.ssl.get());
  if (result != 1) {
    switch (SSL_get_error(session.ssl.get(), result)) {
      case SSL_ERROR_WANT_READ: return session.of_socket.change(runtime::Loop::kReadable);
      case SSL_ERROR_WANT_WRITE: return session.of_socket.change(runtime::Loop::kWritable);
      default: return end(session);
    }
  }
  std::array<int, 2> pair{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair.data()) != 0) return end(session);
  session.plain = Descriptor(pair[0]);
  Descriptor other(pair[1]);
  auto watch = loop.watch(session.plain.get(), runtime::Loop::kReadable, [this, &session](unsigned) { pump(session); });
  if (!watch) return end(session);
  session.of_plain = std::move(*watch);
  session.limit = {};
  session.open = true;
  const Ready ready = std::exchange(session.ready, {});
  ready(std::move(other));
  pump(session);
}

/// Carries on whatever can be carried in either direction.
void TlsFront::Impl::pump(Session& session) {
  SSL* const ssl = session.ssl.get();
  Channel &in = session.in, &out = session.out;
  unsigned of_socket = 0, of_plain = 0;
  bool moved = true;
  while (moved) {
    moved = false;
    of_socket = of_plain = 0;
    ERR_clear_error();
    if (in.empty() && !in.closed) {
      const int got = SSL_read(ssl, in.bytes.data(), static_cast<int>(in.bytes.size()));
      if (got > 0) {
        in.begin = 0;
        in.end = static_cast<std::size_t>(got);
        moved = true;
      } else {
        const int error = SSL_get_error(ssl, got);
        if (error == SSL_ERROR_WANT_READ)
          of_socket |= runtime::Loop::kReadable;
        else if (error == SSL_ERROR_WANT_WRITE)
          of_socket |= runtime::Loop::kWritable;
        else if (error == SSL_ERROR_ZERO_RETURN)
          in.closed = true, shutdown(session.plain.get(), SHUT_WR);
        else
          return end(session);
      }
    }
    if (!in.empty()) {
      const ssize_t sent = ::send(session.plain.get(), in.bytes.data() + in.begin, in.end - in.begin, MSG_NOSIGNAL);
      if (sent > 0)
        in.begin += static_cast<std::size_t>(sent), moved = true;
      else if (errno == EAGAIN)
        of_plain |= runtime::Loop::kWritable;
      else
        return end(session);
    }
    if (out.empty() && !out.closed) {
      const ssize_t got = ::recv(session.plain.get(), out.bytes.data(), out.bytes.size(), 0);
      if (got > 0)
        out.begin = 0, out.end = static_cast<std::size_t>(got), moved = true;
      else if (got == 0)
        out.closed = true;
      else if (errno == EAGAIN)
        of_plain |= runtime::Loop::kReadable;
      else
        return end(session);
    }
    if (!out.empty()) {
      ERR_clear_error();
      const int sent = SSL_write(ssl, out.bytes.data() + out.begin, static_cast<int>(out.end - out.begin));
      if (sent > 0) {
        out.begin += static_cast<std::size_t>(sent);
        moved = true;
      } else {
        const int error = SSL_get_error(ssl, sent);
        if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) return end(session);
        of_socket |= error == SSL_ERROR_WANT_READ ? runtime::Loop::kReadable : runtime::Loop::kWritable;
      }
    } else if (out.closed) {
      ERR_clear_error();
      SSL_shutdown(ssl);  // the server has said all: the client need not answer
      return end(session);
    }
  }
  session.of_socket.change(of_socket);
  session.of_plain.change(of_plain);
}

void TlsFront::Impl::end(Session& session) { sessions.erase(&session); }

TlsFront::TlsFront(runtime::Loop& loop, Report report) : impl_(std::make_shared<Impl>(loop, std::move(report))) {}
TlsFront::~TlsFront() = default;

void TlsFront::use(const ServerTls& tls) {
  if (impl_->tls == tls) return impl_->look();
  impl_->tls = tls;
  impl_->known.clear();
  impl_->read_files();
}

void TlsFront::begin(Descriptor socket, Ready ready) { impl_->begin(std::move(socket), std::move(ready)); }
const std::string& TlsFront::trouble() const { return impl_->trouble; }

}  // namespace healer::web
