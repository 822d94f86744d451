// SPDX-License-Identifier: MIT
// An alert to one contact, as it waits on disk until its server has taken it: what the alert says, and nothing of how
// it is told, so that a contact that was mended gets what has waited, and no secret lies there. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "delivery/template.hpp"
#include "engine/events/act.hpp"
#include "util/time.hpp"

namespace healer::delivery {

/// Names a letter among those of its contact, over restarts; they are sent in this order. The time is in it so that ids
/// which begin again after a lost state are new names.
struct LetterKey {
  std::uint64_t alert = 0;
  std::int64_t when = 0;  ///< ms since the epoch

  auto operator<=>(const LetterKey&) const = default;
};

struct Letter {
  LetterKey key;
  WallTime taken{};      ///< since when it waits
  std::string state;     ///< "failed", "recovered", "changed", "reminder", "info"
  std::string incident;  ///< never empty
  std::string event;     ///< "Status failed"
  std::string service;
  std::string action;
  std::string rule;  ///< its canonical text; empty: no rule is concerned
  std::string description;
  bool is_of_loss = false;  ///< it tells of an alert that was not delivered

  bool operator==(const Letter&) const = default;
};

/// What a contact is told by an alert that is taken now. Requires: the alert has a cause.
[[nodiscard]] Letter letter_of(const engine::effect::Alert& alert, WallTime now);

/// What people are told a letter is about: "Status failed web".
[[nodiscard]] std::string subject_of(const Letter& letter);

/// What the names of templates stand for. `host`: the machine's.
[[nodiscard]] Values values_of(const Letter& letter, const std::string& host);

/// The same for every try to deliver a letter to a contact: 32 hexadecimal digits.
[[nodiscard]] std::string idempotency_key(const Letter& letter, std::string_view contact);

/// The letter as a file, which proves itself whole; and back. Nothing: it is damaged, or none.
[[nodiscard]] std::string serialise(const Letter& letter);
[[nodiscard]] std::optional<Letter> parse_letter(std::string_view file);

/// "00000000000000000042-0000019c8d2f1a3b": how the file of a letter is called, without a suffix; and back.
[[nodiscard]] std::string file_name(const LetterKey& key);
[[nodiscard]] std::optional<LetterKey> parse_file_name(std::string_view name);

}  // namespace healer::delivery
