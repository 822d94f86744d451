// SPDX-License-Identifier: MIT
// By which way a command reaches the daemon. Commands know no more than this: what they get is a client of the control
// protocol.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "control/client.hpp"

namespace healer {

class Door {
 public:
  virtual ~Door() = default;
  /// As Client::connect. Requires: the client is destroyed before the door.
  [[nodiscard]] virtual std::variant<control::Client, control::Failure> connect(Duration timeout) = 0;
};

/// The socket of a daemon on this machine.
class SocketDoor final : public Door {
 public:
  explicit SocketDoor(std::string path) : path_(std::move(path)) {}
  [[nodiscard]] std::variant<control::Client, control::Failure> connect(Duration timeout) override {
    return control::Client::connect(path_, timeout);
  }

 private:
  std::string path_;
};

}  // namespace healer
