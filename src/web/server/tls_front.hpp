// SPDX-License-Identifier: MIT
// TLS before the HTTP server, by OpenSSL: a connection that comes by TLS becomes one without, over a pair of sockets.
// Certificate and key are read on a thread, and again when their files have changed; where the new ones cannot be used
// the old ones stay. Other settings are another matter: until they can be used nobody is answered by TLS.
//
// Costs are bounded: so many connections at a time and of one address, so much time for a handshake and without a byte,
// 16 kB in each direction. When all are taken, a new connection displaces the one that has been the longest without
// having shaken hands, and then the one that has been silent for longest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/descriptor.hpp"
#include "runtime/loop.hpp"
#include "util/time.hpp"
#include "web/server/http_server.hpp"

namespace healer::web {

/// `with ssl { ... }` of `set httpd`.
struct ServerTls {
  std::string certificates;         ///< file of the certificate with those that vouch for it
  std::string key;                  ///< its file; may be the same
  std::string client_certificates;  ///< file or folder with those that clients must show, or that vouch for theirs
  bool allow_self_signed = false;   ///< of clients
  std::uint8_t versions = 0;        ///< a sum of protocols::TlsVersion; 0: TLS 1.2 and 1.3
  std::string ciphers;              ///< OpenSSL's list, of TLS 1.2 and before; empty: the usual ones

  bool operator==(const ServerTls&) const = default;
};

struct TlsLimits {
  std::size_t sessions = 500;           ///< three descriptors each
  std::size_t of_an_address = 50;       ///< but of this machine; see network_of()
  Duration handshake = seconds{10};     ///< until hands are shaken
  Duration stalled = seconds{30};       ///< without a byte on its way, where one waits for that
  Duration silent = seconds{120};       ///< without a byte on its way, where nobody has anything to say
  Duration displaceable = seconds{10};  ///< silent for so long: another one may have its place
  Duration last_words = seconds{5};     ///< for the rest of what the HTTP server has said when that has ended

  /// Sessions take at most an eighth of the descriptors that this process may have.
  [[nodiscard]] static TlsLimits of_this_process();
};

class TlsFront {
 public:
  /// A connection as it is behind TLS, and what its client has shown; null: no certificate.
  using Ready = std::function<void(runtime::Descriptor plain, std::shared_ptr<const ClientCertificate> shown)>;
  using Report = std::function<void(bool failed, const std::string& text)>;

  TlsFront(runtime::Loop& loop, Report report, TlsLimits limits = TlsLimits::of_this_process());
  ~TlsFront();
  TlsFront(const TlsFront&) = delete;
  TlsFront& operator=(const TlsFront&) = delete;

  /// How TLS is spoken from now on. Connections that have not shaken hands are ended where that is something else, and
  /// all where another certificate is asked of clients.
  void use(const ServerTls& tls);
  /// Speaks TLS on a connected, non-blocking socket; `ready` is called when hands are shaken. It is closed where there
  /// is no certificate (yet), and where the handshake fails.
  void begin(runtime::Descriptor socket, const HttpServer::From& from, Ready ready);
  /// Ends the connections that come from there.
  void close_if(const std::function<bool(const HttpServer::From&)>& matches);
  /// Whether nothing that the HTTP server has said is still to be carried to a client.
  [[nodiscard]] bool is_quiet() const;
  /// How many connections there are.
  [[nodiscard]] std::size_t sessions() const;
  /// Why nobody is answered; empty: they are.
  [[nodiscard]] const std::string& trouble() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace healer::web
