// SPDX-License-Identifier: MIT
// Going into the background as daemons do, so that whoever started it learns whether it came up.
#pragma once

#include <string>

#include "util/result.hpp"

namespace healer {

/// The parent's view of a daemon that goes into the background.
class Background {
 public:
  /// Forks. In the parent it waits for the child's word, prints an error of it on stderr and exits: 0 up, 1 not. In the
  /// child it returns: a session of its own. Requires: no other thread runs yet.
  [[nodiscard]] static Result<Background> enter();
  /// A daemon that stays in the foreground.
  [[nodiscard]] static Background foreground() { return Background(-1); }

  Background(Background&& other) noexcept;
  Background& operator=(Background&&) = delete;
  ~Background();

  /// The daemon is up: the parent may go. Standard streams become /dev/null.
  void up();
  /// The daemon did not come up. In the foreground the error is printed here.
  void failed(const std::string& error);

 private:
  explicit Background(int pipe) : pipe_(pipe) {}
  int pipe_;
};

}  // namespace healer
