// SPDX-License-Identifier: MIT
// One mail, one server: a conversation by libcurl, and what its outcome means. Policy (queue, order, retries) is the
// mailer's. Belongs to one thread, but for wake().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "actions/mail.hpp"
#include "engine/rules/settings.hpp"
#include "util/time.hpp"

namespace healer::runtime {

struct SmtpResult {
  enum class Kind : std::uint8_t {
    Taken,           ///< the server has the mail
    RefusedForGood,  ///< 5xx for this sender, recipient or text: never try again
    RefusedForNow,   ///< 4xx for it: another server, or later
    ServerFault,     ///< unreachable, silent, no TLS, no login...: nothing that this mail could help
    Aborted          ///< by the caller
  };
  Kind kind = Kind::ServerFault;
  std::string text;  ///< the server's words or the reason; printable, bounded, without any password
};

class SmtpClient {
 public:
  SmtpClient();
  ~SmtpClient();
  SmtpClient(const SmtpClient&) = delete;
  SmtpClient& operator=(const SmtpClient&) = delete;

  /// Sends `message`. The connection is used again for the next one, and closed with QUIT after the `last`. `timeout`
  /// bounds the way to the greeting and login, and each answer after that. While it waits it calls `meanwhile` at least
  /// once a second and after wake(); where that returns false, it gives up at once. `addresses`: those of the server's
  /// name, as runtime/net/server_names has them; empty: libcurl looks them up.
  [[nodiscard]] SmtpResult send(const engine::MailServer& server, const std::string& ehlo, Duration timeout,
                                const actions::Message& message, bool last, const std::function<bool()>& meanwhile,
                                const std::string& addresses = {});

  /// Sleeps until wake() or for that long.
  void wait(Duration limit);
  /// Ends a wait. From any thread.
  void wake();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// "HOST:PORT" of a server, for people.
[[nodiscard]] std::string describe(const engine::MailServer& server);

/// What of a server's settings cannot be obeyed as written (SSLv2, SSLv3, an unknown TLS version, a checksum of no
/// known kind); empty where all can.
[[nodiscard]] std::string complaint(const engine::MailServer& server);

}  // namespace healer::runtime
