// SPDX-License-Identifier: MIT
// Logins by cookie, the single-use tokens that lead to them, and the tokens of forms. Nothing of it outlives the
// daemon. Random numbers and the time are handed in.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "control/permissions.hpp"
#include "util/time.hpp"

namespace healer::web {

class Logins {
 public:
  /// How long a login lasts, and a token that leads to one.
  static constexpr Duration kLasts = hours{12};
  static constexpr Duration kOnce = minutes{5};

  /// `key`: 32 random bytes, for the tokens of forms.
  explicit Logins(std::string key) : key_(std::move(key)) {}

  /// A token that logs `who` in once. `random`: text that nobody can guess.
  [[nodiscard]] std::string offer(const control::Asker& who, std::string random, Duration now);
  /// Spends it: whose it is; none: nobody's, it was spent, or it is too old.
  [[nodiscard]] std::optional<control::Asker> spend(std::string_view token, Duration now);

  /// Logs `who` in: the value of the cookie.
  [[nodiscard]] std::string begin(const control::Asker& who, std::string random, Duration now);
  /// Whose cookie it is.
  [[nodiscard]] std::optional<control::Asker> find(std::string_view cookie, Duration now) const;
  void end(std::string_view cookie);
  /// Ends all of them: who may do what has been changed.
  void end_all() { sessions_.clear(), offers_.clear(); }

  /// What a form must send back (`securitytoken`) that was shown to this user by this login; an empty one is that of a
  /// user who sends his password each time.
  [[nodiscard]] std::string form_token(std::string_view user, std::string_view cookie) const;

 private:
  struct Entry {
    control::Asker who;
    Duration until{0};
  };
  using Entries = std::map<std::string, Entry, std::less<>>;
  /// Makes room for another one.
  static void trim(Entries& entries, Duration now);

  std::string key_;
  Entries offers_, sessions_;  ///< by the SHA-256 of what is known only to its owner
};

}  // namespace healer::web
