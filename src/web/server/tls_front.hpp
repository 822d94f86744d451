// SPDX-License-Identifier: MIT
// TLS before the HTTP server, by OpenSSL: a connection that comes by TLS becomes one without, over a pair of sockets.
// Certificate and key are read on a thread, and again when their files have changed; where the new ones cannot be used
// the old ones stay.
//
// Costs are bounded: so many connections at a time, so much time for a handshake, 16 kB in each direction.
#pragma once

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

class TlsFront {
 public:
  /// A connection as it is behind TLS.
  using Ready = std::function<void(runtime::Descriptor plain)>;
  using Report = std::function<void(bool failed, const std::string& text)>;

  TlsFront(runtime::Loop& loop, Report report);
  ~TlsFront();
  TlsFront(const TlsFront&) = delete;
  TlsFront& operator=(const TlsFront&) = delete;

  /// How TLS is spoken from now on.
  void use(const ServerTls& tls);
  /// Speaks TLS on a connected, non-blocking socket; `ready` is called when hands are shaken. It is closed where there
  /// is no certificate (yet), and where the handshake fails.
  void begin(runtime::Descriptor socket, Ready ready);
  /// Why nobody is answered; empty: they are.
  [[nodiscard]] const std::string& trouble() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace healer::web
