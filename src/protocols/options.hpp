// SPDX-License-Identifier: MIT
// Options that several protocols have.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "protocols/protocol.hpp"

namespace healer::protocols {

inline constexpr Option kUsername{.word = "username"};
inline constexpr Option kPassword{.word = "password", .type = OptionType::Secret};
/// TLS that begins within the conversation; not in Monit.
inline constexpr Option kStartTls{.word = "starttls", .type = OptionType::Flag};

inline constexpr Option kLoginOptions[] = {kUsername, kPassword};
inline constexpr Option kLoginAndTlsOptions[] = {kUsername, kPassword, kStartTls};
inline constexpr Option kTlsOptions[] = {kStartTls};

/// Whether the setting of that word was given.
[[nodiscard]] inline bool given(std::span<const Setting> settings, std::string_view word) {
  return std::ranges::find(settings, word, &Setting::word) != settings.end();
}

/// For Protocol::upgrades: with `starttls`.
[[nodiscard]] inline bool begins_tls(std::span<const Setting> settings) { return given(settings, "starttls"); }

/// For Protocol::fault: a user name and a password come together.
[[nodiscard]] inline std::string login_fault(std::span<const Setting> settings) {
  if (given(settings, "password") != given(settings, "username")) return "'username' and 'password' need each other";
  return {};
}

/// For Protocol::warning, where with half a login none is made, as in Monit.
[[nodiscard]] inline std::string half_login(std::span<const Setting> settings) {
  const std::string wrong = login_fault(settings);
  return wrong.empty() ? wrong : wrong + ": nobody logs in";
}

/// For Protocol::warning, where Monit takes half a login: a password that nobody logs in with.
[[nodiscard]] inline std::string lone_password(std::span<const Setting> settings) {
  return given(settings, "password") && !given(settings, "username") ? "'password' has no effect without 'username'"
                                                                     : "";
}

/// Likewise, where both are written on a line of the protocol, which a line end would end.
[[nodiscard]] inline std::string line_login_fault(std::span<const Setting> settings) {
  for (const Setting& setting : settings)
    if (setting.text.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos)
      return "the " + std::string(setting.word) + " has a line end, which cannot be sent";
  return login_fault(settings);
}

}  // namespace healer::protocols
