// SPDX-License-Identifier: MIT
// What a service says, as a hash: two blocks with the same fingerprint behave the same.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "util/hash.hpp"

namespace healer::engine {
struct CheckKind;
struct RuleBody;
struct RuleCondition;
struct ServiceBlock;
struct Workflow;
}  // namespace healer::engine

namespace healer::config {

/// Hash of all fields but the places and the key itself.
[[nodiscard]] Hash128 fingerprint(const engine::Workflow& workflow);
[[nodiscard]] Hash128 fingerprint(const engine::ServiceBlock& block);
/// The same, for whoever has those of its rules, in their order.
[[nodiscard]] Hash128 fingerprint(const engine::ServiceBlock& block, std::span<const Hash128> rules);

/// Hash of all that the condition of a rule of that kind of service says, and the rule itself, by the one of its
/// condition.
[[nodiscard]] Hash128 fingerprint(const engine::CheckKind& kind, const engine::RuleCondition& condition);
[[nodiscard]] Hash128 fingerprint(const engine::RuleBody& body, const Hash128& condition);

/// What tells a rule from others when the files are edited (engine::RuleIdentity): its condition, as text, and what it
/// does.
[[nodiscard]] Hash128 condition_hash(std::string_view condition);
[[nodiscard]] Hash128 actions_hash(const engine::RuleBody& body);

/// The key of a rule's text: hash of its service's name in lower case, its text, and how many rules of the service with
/// the same text stand before it.
[[nodiscard]] Hash128 rule_key(std::string_view service, std::string_view text, std::size_t ordinal);

}  // namespace healer::config
