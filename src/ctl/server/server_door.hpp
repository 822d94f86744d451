// SPDX-License-Identifier: MIT
// A daemon that is asked over HTTP: each client's other end is a thread that speaks the control protocol with it, and
// HTTP with the server.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <variant>

#include "ctl/server/door.hpp"

namespace healer {

/// Which server, and who asks.
struct ServerAsked {
  std::string url;     ///< http[s]://host[:port][/prefix], without a slash at its end
  std::string user{};  ///< empty: by the token, or as nobody
  std::string password{};
  std::string token{};
  std::string authority{};  ///< file with the certificates that vouch for the server's; empty: the machine's own
};

class ServerDoor final : public Door {
 public:
  explicit ServerDoor(ServerAsked server) : server_(std::move(server)) {}
  /// Ends what is still under way.
  ~ServerDoor() override = default;
  /// That nobody answers is told by the reply to the first request.
  [[nodiscard]] std::variant<control::Client, control::Failure> connect(Duration timeout) override;

 private:
  struct Serving {
    std::shared_ptr<std::atomic<bool>> is_over = std::make_shared<std::atomic<bool>>(false);
    std::jthread thread{};
  };

  ServerAsked server_;
  std::list<Serving> serving_;
};

/// What is wrong with the URL of a server; empty: nothing.
[[nodiscard]] std::string wrong_server(const std::string& url);

}  // namespace healer
