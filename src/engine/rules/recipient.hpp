// SPDX-License-Identifier: MIT
// Whom to tell.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/rules/event_kind.hpp"

namespace healer::engine {

/// Parts of a mail that may be set; an absent one falls to the next more general format, last to Monit's default.
struct MailFormat {
  std::optional<std::string> from;
  std::optional<std::string> reply_to;
  std::optional<std::string> subject;
  std::optional<std::string> message;

  bool operator==(const MailFormat&) const = default;
};

/// Who gets an alert, of which kinds, and after how many failed runs again.
struct Recipient {
  std::string address;
  EventMask events = EventMask{}.set();
  /// The kinds were listed (`{ ... }`, not `not on`). Failed execs of rules are mailed only to those who asked for them
  /// so.
  bool listed = false;
  std::uint16_t reminder = 0;  ///< `reminder N`: also on failing runs whose count since the firing is a multiple of N
  bool digest = false;         ///< `digest`: all alerts of a cycle in one mail
  MailFormat format;
  bool contact = false;  ///< `address` is the name of a contact (engine/rules/contact.hpp), no mail address

  bool operator==(const Recipient&) const = default;
};

}  // namespace healer::engine
