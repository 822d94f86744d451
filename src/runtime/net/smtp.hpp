// SPDX-License-Identifier: MIT
// One mail, one server: a conversation by libcurl, and what was said in it. What that means, and what follows (queue,
// order, retries), is for who sends it. Belongs to one thread, but for wake().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "engine/rules/settings.hpp"
#include "util/time.hpp"

namespace healer::runtime {

/// What a server is given.
struct Envelope {
  const std::string& from;  ///< addresses alone, never with a control character
  const std::string& to;
  const std::string& text;  ///< headers and body; lines end with CRLF
};

/// What came of it; texts are printable, bounded, and without any password.
struct SmtpResult {
  bool is_aborted = false;  ///< by the caller
  std::uint16_t status =
      0;              ///< what the server said of this sender, recipient or text; 0: nothing, or it serves nobody
  std::string reply;  ///< that, in its words
  std::string fault;  ///< why the conversation ended; empty: as it should
};

class SmtpClient {
 public:
  SmtpClient();
  ~SmtpClient();
  SmtpClient(const SmtpClient&) = delete;
  SmtpClient& operator=(const SmtpClient&) = delete;

  /// Sends a mail. The connection is used again for the next one, and closed with QUIT after the `last`. `timeout`
  /// bounds the way to the greeting and login, and each answer after that. While it waits it calls `meanwhile` at least
  /// once a second and after wake(); where that returns false, it gives up at once. `addresses`: those of the server's
  /// name, as runtime/net/server_names has them; empty: libcurl looks them up.
  [[nodiscard]] SmtpResult send(const engine::MailServer& server, const std::string& ehlo, Duration timeout,
                                const Envelope& mail, bool last, const std::function<bool()>& meanwhile,
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
