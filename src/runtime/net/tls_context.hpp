// SPDX-License-Identifier: MIT
// What runtime/net/tls keeps of OpenSSL's: for its own files, and for the HTTP side's.
#pragma once

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "protocols/probe.hpp"
#include "util/result.hpp"

namespace healer::runtime {

template <auto Function>
struct FreeBy {
  void operator()(auto* pointer) const { Function(pointer); }
};

class TlsContext {
 public:
  /// Reads the plan's files; blocks, so it belongs to a worker.
  [[nodiscard]] static Result<std::shared_ptr<const TlsContext>> make(const protocols::TlsPlan& plan);
  /// Whether one of the files it was made of has changed since. Blocks, too.
  [[nodiscard]] bool is_stale() const;

  [[nodiscard]] SSL_CTX* get() const { return context_.get(); }

 private:
  struct Stamp {
    std::string path;
    std::int64_t changed = 0;  // nanoseconds; -1: it is not there
  };
  using Store = std::shared_ptr<X509_STORE>;

  /// The authorities of a file and a folder, those of the machine where neither is named; one for all that want the
  /// same.
  static Result<Store> store_of(const protocols::TlsPlan& plan, std::vector<Stamp>& stamps);

  std::unique_ptr<SSL_CTX, FreeBy<SSL_CTX_free>> context_;
  Store store_;
  std::vector<Stamp> stamps_;
};

/// When a file was last changed, in nanoseconds; -1: it is not there. May block.
[[nodiscard]] std::int64_t changed_at(const std::string& path);

/// Allows these versions alone: a sum of protocols::TlsVersion; 0: TLS 1.2 and 1.3.
void set_tls_versions(SSL_CTX* context, std::uint8_t versions);

/// What OpenSSL's queue of errors says last, in words; empties the queue.
[[nodiscard]] std::string openssl_words();

}  // namespace healer::runtime
