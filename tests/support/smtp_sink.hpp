// SPDX-License-Identifier: MIT
// tests/support/smtp_sink.py, for C++ tests.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/child.hpp"
#include "support/paths.hpp"

namespace healer::test {

/// A port of 127.0.0.1 that nobody else is given while this lives, also while no server listens there.
class OwnPort {
 public:
  OwnPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    // The server sets this, too, and so may have the same port.
    if (::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        ::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
      std::abort();
    number_ = ntohs(address.sin_port);
  }
  ~OwnPort() { ::close(socket_); }
  OwnPort(const OwnPort&) = delete;
  OwnPort& operator=(const OwnPort&) = delete;

  [[nodiscard]] std::uint16_t number() const { return number_; }

 private:
  int socket_;
  std::uint16_t number_ = 0;
};

/// A mail server on 127.0.0.1 that takes mails into a directory and fails on demand; see smtp_sink.py for the modes.
class SmtpSink {
 public:
  explicit SmtpSink(std::vector<std::string> options = {}) : options_(std::move(options)) { restart(); }

  [[nodiscard]] std::uint16_t port() const { return port_.number(); }
  [[nodiscard]] const std::filesystem::path& path() const { return directory_.path(); }
  /// Texts of the mails taken so far, in order.
  [[nodiscard]] std::vector<std::string> mails() const { return read(".eml"); }
  /// Their envelopes, as JSON text.
  [[nodiscard]] std::vector<std::string> envelopes() const { return read(".json"); }
  [[nodiscard]] std::size_t count() const { return names().size(); }
  [[nodiscard]] std::string commands() const { return read_file(path() / "commands.log"); }
  void mode(const std::string& text) { write_file(path() / "mode", text); }

  void stop() { child_.reset(); }
  /// Again, on the same port.
  void restart();

 private:
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] std::vector<std::string> read(const std::string& extension) const;

  std::vector<std::string> options_;
  TemporaryDirectory directory_;
  OwnPort port_;
  std::unique_ptr<Child> child_;
};

}  // namespace healer::test
