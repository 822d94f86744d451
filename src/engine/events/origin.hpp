// SPDX-License-Identifier: MIT
// Who wants a thing. Policy asks which of these it is; words are made of it only where people read them, so that a
// person may be called "rule".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "engine/ids.hpp"

namespace healer::engine {

/// A rule of the service, or of one that it depends on.
struct ByRule {
  bool operator==(const ByRule&) const = default;
};

/// A step of a healing.
struct ByHealing {
  HealingId id;
  std::uint32_t run = 0;  ///< which of the step's runs; 0 where an earlier daemon began it

  bool operator==(const ByHealing&) const = default;
};

/// What a person may do.
enum class Role : std::uint8_t { ReadOnly, Operator, Admin };
/// The way that a person's word came.
enum class Via : std::uint8_t { Socket, Signal, Script };

/// A person, or a program of theirs.
struct ByPerson {
  std::string name;  ///< "root", "uid 1000"
  Role role = Role::Admin;
  Via via = Via::Socket;

  bool operator==(const ByPerson&) const = default;
};

/// healer itself.
struct ByDaemon {
  bool operator==(const ByDaemon&) const = default;
};

using Origin = std::variant<ByDaemon, ByRule, ByHealing, ByPerson>;

[[nodiscard]] inline bool is_rule(const Origin& by) { return std::holds_alternative<ByRule>(by); }
[[nodiscard]] inline bool is_healing(const Origin& by) { return std::holds_alternative<ByHealing>(by); }
[[nodiscard]] inline bool is_person(const Origin& by) { return std::holds_alternative<ByPerson>(by); }
/// Whether it is this healing, in whichever run of a step.
[[nodiscard]] bool is_healing(const Origin& by, HealingId healing);

/// As people read it: "rule", "healing 7", the name of the person, "healer".
[[nodiscard]] std::string words_of(const Origin& by);
/// What stands beside these words in JSON: "rule", "healing", "person", "daemon".
[[nodiscard]] std::string_view kind_of(const Origin& by);

/// One text for each origin, as it is saved and recorded: the words, with "person " before the name of a person that
/// would read as another origin. A person's role and way are not saved.
[[nodiscard]] std::string saved_text(const Origin& by);
/// The origin of a saved text, also of one that was written before there was a prefix. Never fails: what is nothing
/// else is a person.
[[nodiscard]] Origin origin_of(std::string_view saved);

}  // namespace healer::engine
