// SPDX-License-Identifier: MIT
// TLS of probes, by OpenSSL on memory: no session has a socket, so it may begin in the middle of a connection. What is
// read from files (authorities, client certificates) is read on a thread of its own, once for all sessions that want
// the same, and again when the files have changed; no handshake touches a disk.
//
// Owned and called by the loop thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "protocols/probe.hpp"
#include "runtime/loop.hpp"
#include "runtime/worker_pool.hpp"
#include "util/result.hpp"

namespace healer::runtime {

/// Settings and authorities that many sessions share. Immutable once made.
class TlsContext;

/// Makes contexts, and keeps them warm.
class TlsContexts {
 public:
  using Context = std::shared_ptr<const TlsContext>;
  /// Called on the loop; from within get() where the context is there.
  using Done = std::function<void(Result<Context>)>;

  explicit TlsContexts(Loop& loop);

  /// The context for a plan. Errors: files that cannot be read, ciphers or certificates that OpenSSL does not take.
  void get(const protocols::TlsPlan& plan, Done done);

 private:
  struct Entry {
    Context context;
    std::optional<Error> error;
    Duration checked{0};  // when its files were looked at last
    bool at_work = false;
    std::vector<Done> waiting;
  };
  void make(const std::string& key, const protocols::TlsPlan& plan);
  void made(const std::string& key, Result<Context> result);

  std::unordered_map<std::string, Entry> entries_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  WorkerPool pool_;
};

/// One TLS connection, client's side. Bytes of the wire go in and out in memory; it never keeps more than it was given
/// plus one record.
class TlsSession {
 public:
  enum class State { Handshake, Open, Closed, Failed };

  /// `host` as it was written: a name is told to the server (SNI), and with `verify` the certificate must be its.
  TlsSession(std::shared_ptr<const TlsContext> context, const protocols::TlsPlan& plan, std::string_view host);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  /// Goes on with the handshake, without new bytes at first; judges the certificate at its end.
  State handshake();
  /// Bytes from the wire. Requires: not Failed.
  void feed(std::string_view bytes);
  /// What is to be written to the wire now.
  [[nodiscard]] std::string take_output();
  /// What the server has said within TLS, at most 16 KB; empty: nothing more now (look at state()).
  [[nodiscard]] std::string read();
  /// Says something within TLS. Requires: Open.
  void write(std::string_view bytes);

  /// Says good-bye; the bytes for the wire. Requires: Open.
  [[nodiscard]] std::string close();

  [[nodiscard]] State state() const { return state_; }
  /// Why it is Failed, for people.
  [[nodiscard]] const std::string& fault() const { return fault_; }
  [[nodiscard]] std::string version() const;
  [[nodiscard]] std::string cipher() const;
  /// The server's certificate, once the handshake has come so far.
  [[nodiscard]] const std::optional<protocols::CertificateFacts>& certificate() const { return certificate_; }

 private:
  struct Handle;
  void fail(std::string why);
  /// Empty where the certificate is what the plan wants.
  std::string judge();

  std::shared_ptr<const TlsContext> context_;
  protocols::TlsPlan plan_;
  std::string name_;  // the server's, which is told and verified; empty: an address
  std::unique_ptr<Handle> handle_;
  State state_ = State::Handshake;
  std::string fault_;
  std::optional<protocols::CertificateFacts> certificate_;
};

}  // namespace healer::runtime
