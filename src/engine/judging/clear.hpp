// SPDX-License-Identifier: MIT
// In engine/judging/evaluate.cpp: whether what a check found is clear, as the recovery of a healing's target needs it.
// Pure.
//
// A rule asks for what its service may not have at all: inodes of a filesystem that counts none, the speed of a link
// that has none. Such a test says nothing, however long one waits, and must keep no recovery open.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/judging/evaluate.hpp"
#include "engine/rules/rule.hpp"

namespace healer::engine {

/// Whether a test asks for a value that its service does not have: the service is there and answers, the value is
/// missing in this check and was missing in the last one before (`before`; null: there was none). A rate needs two
/// checks, so one alone proves nothing, except of inodes.
[[nodiscard]] bool is_unknowable(const Test& test, const Evidence& run, const Evidence* before);

inline constexpr std::string_view kNoInodes = "the filesystem counts no inodes";
/// Whether a test asks for inodes of a filesystem that has none.
[[nodiscard]] bool lacks_inodes(const Test& test, const Evidence& run);

/// Which of a rule's values its service does not have, for people: "the filesystem counts no inodes", "its
/// saturation is not known"; empty: none is missing, or the rule can be judged all the same.
[[nodiscard]] std::string unknowable_part(const ServiceBlock& block, const Rule& rule, const Seen& seen,
                                          const Evidence* before);

/// Whether a rule lets its service count as recovered: false where its condition holds; nothing where that cannot be
/// told yet. Tests that are unknowable are left out; a rule of which nothing else is left is not judged, and blocks
/// only while it stands failed.
[[nodiscard]] std::optional<bool> is_clear(const Rule& rule, bool stands_failed, const Seen& seen,
                                           const Evidence* before);

}  // namespace healer::engine
