// SPDX-License-Identifier: MIT
// The inside of the courier: what it knows of one contact.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "delivery/backlog.hpp"
#include "delivery/outbox/courier.hpp"

namespace healer::delivery {

/// What is said of a contact that has left the rules.
inline constexpr const char* kGone = "the rules have no contact of that name any more";

/// An alert that waits for its contact.
struct Courier::Waiting {
  std::optional<Letter> memory{};  ///< until it is on disk
  Duration since{0};               ///< mono, so that no clock that is set makes it older
  std::string subject;
  bool is_of_loss = false;
  bool failure_reported = false;
};

/// One contact: what waits for it, and how it does.
struct Courier::Box {
  std::string name;                        ///< in lower case
  std::optional<engine::Contact> contact;  ///< none: the rules have none of that name
  const Kind* kind = nullptr;  ///< of the contact, the last one's where there is none; null: there never was
  Backlog<LetterKey, Waiting> letters{Limits{}};
  std::set<LetterKey> unburied;  ///< of those that were sent, which the disk does not know to be over
  bool disk_sick = false;        ///< its folder could not be written; it rests
  std::optional<LetterKey> under_way;
  std::optional<LetterKey> noting;  ///< the one that was sent last, until the disk knows it or does not answer
  Duration noting_until{0};         ///< mono: then the next goes all the same
  std::uint64_t preparing = 0;      ///< which try waits for disks: its letter or its secrets are read; 0: none
  Tries tries;
  std::string error;
  std::optional<WallTime> error_since;
  bool refused = false;               // its last letter was dropped
  std::optional<Duration> loss_told;  ///< mono: when others were last told that something was dropped, or is late
  bool long_rest_told = false;        ///< others know that it asks for more rest than it gets
  runtime::Loop::Timer timer;

  [[nodiscard]] const std::string& shown() const { return contact ? contact->name : name; }
  [[nodiscard]] bool may_tell_loss(Duration now) const { return !loss_told || now - *loss_told >= hours{1}; }
};

/// Letters that are written together, and how that went.
struct Courier::Batch {
  std::string contact;
  std::vector<Letter> letters;
  Result<void> done{};
};

}  // namespace healer::delivery
