// SPDX-License-Identifier: MIT
// What a service says, as a hash: two blocks with the same fingerprint behave the same.
#pragma once

#include "engine/rule_identity.hpp"
#include "util/hash.hpp"

namespace healer::engine {
struct Rule;
struct ServiceBlock;
struct Workflow;
}  // namespace healer::engine

namespace healer::config {

/// Hash of all fields but the places and the key itself.
[[nodiscard]] Hash128 fingerprint(const engine::Workflow& workflow);
[[nodiscard]] Hash128 fingerprint(const engine::ServiceBlock& block);

/// What tells the rule from others when the files are edited: its text, which `text_key` stands for, its condition and
/// what it does.
[[nodiscard]] engine::RuleIdentity identity_of(const engine::Rule& rule, const Hash128& text_key,
                                               std::string_view condition);

/// The key of a rule's text: hash of its service's name in lower case, its text, and how many rules of the service with
/// the same text stand before it.
[[nodiscard]] Hash128 rule_key(std::string_view service, std::string_view text, std::size_t ordinal);

}  // namespace healer::config
