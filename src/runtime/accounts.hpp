// SPDX-License-Identifier: MIT
// The users and groups of this machine. A directory service may be asked, and may never answer: not for the loop
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/rules/command.hpp"
#include "util/result.hpp"

namespace healer::runtime {

struct Account {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::string name;
  std::string home;
};

/// Nothing where there is none; an Error where that cannot be known now.
[[nodiscard]] Result<std::optional<Account>> account_of(const std::string& name);
[[nodiscard]] Result<std::optional<Account>> account_of(std::uint32_t uid);
/// The same of a group: its number.
[[nodiscard]] Result<std::optional<std::uint32_t>> group_of(const std::string& name);
[[nodiscard]] Result<std::optional<std::uint32_t>> group_of(std::uint32_t gid);

/// The number that no user and no group has: for the kernel it means that nothing is to change.
inline constexpr std::uint32_t kNoNumber = ~std::uint32_t{0};

/// As whom a program runs.
struct RunsAs {
  std::optional<std::uint32_t> uid;
  std::optional<std::uint32_t> gid;
  std::string home;  ///< of the user; empty: healer's
};

/// What the names of an identity stand for now, and the HOME of its user. An Error where one is unknown ("user deploy
/// is unknown on this machine"), or cannot be looked up: nothing may run then.
[[nodiscard]] Result<RunsAs> look_up(const engine::Identity& identity);

/// What is looked up of it, for people: "user deploy and group www".
[[nodiscard]] std::string names_in(const engine::Identity& identity);

}  // namespace healer::runtime
