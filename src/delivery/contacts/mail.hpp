// SPDX-License-Identifier: MIT
// From an alert to the mails it means. Pure.
//
// What mail filters and ticket systems of people who come from Monit match on is Monit's to the letter: the subject
// (`monit alert --  EVENT SERVICE`), the sender (monit@HOST) and the lines of the body. What tells healer apart stands
// where no filter looks: X-Mailer, Message-Id and the signature.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/events/act.hpp"
#include "engine/ids.hpp"
#include "engine/rules/settings.hpp"
#include "util/time.hpp"

namespace healer::delivery {

/// Names one mail over restarts. The time is in it so that ids which begin again after a lost state are new names.
struct MailKey {
  std::uint64_t alert = 0;
  std::uint32_t number = 0;
  std::int64_t when = 0;  ///< ms since the epoch

  auto operator<=>(const MailKey&) const = default;
};

/// What a mail tells, in a line: for mails that tell of several.
struct MailItem {
  WallTime when{};
  std::string word;  ///< what has happened to the service: "failed", "recovered", ...
  std::string service;
  std::string event;  ///< "Status failed"

  bool operator==(const MailItem&) const = default;
};

/// One mail to one person, ready for SMTP.
struct Mail {
  engine::AlertId alert;
  std::uint32_t number = 0;  ///< of the recipient within its alert
  WallTime when{};           ///< of the cause; with alert and number it names the mail, also after a lost state
  std::string from;          ///< envelope: addresses alone, never with a control character
  std::string to;
  std::string subject;            ///< readable, on one line: for logs
  std::string text;               ///< headers and body; lines end with CRLF and are at most 998 bytes long
  std::vector<MailItem> items{};  ///< of one alert, or of several, in their order; bounded
  std::uint32_t unlisted = 0;     ///< alerts that it tells of beyond `items`
  bool digest = false;            ///< the person wants all alerts of a cycle in one mail
  WallTime hold_until{};          ///< of such a mail: when its cycle is over
  std::vector<MailKey> covers{};  ///< mails that this one takes the place of
  bool urgent = false;            ///< a person is needed: it goes before the rest, alone, and no limit holds it
  bool own_subject = false;       ///< its subject is that of a mail-format, not the usual one

  bool operator==(const Mail&) const = default;
};

[[nodiscard]] MailKey key_of(const Mail& message);

/// Where and by whom mails are written.
struct MailWriter {
  std::string host;     ///< $HOST
  std::string version;  ///< of healer
  CivilClock civil;     ///< for dates
};

/// Whether only a person can help now: a rule has given its service up, or healer itself had died.
[[nodiscard]] bool needs_person(const engine::effect::Cause& cause);

/// One message for each recipient with an address, in their order. Formats: the recipient's, else `set mail-format`,
/// else the default. The same alert gives the same messages, Message-Id included.
[[nodiscard]] std::vector<Mail> compose_mails(const engine::effect::Alert& alert, const engine::MailSettings& settings,
                                              const MailWriter& writer);

/// Replaces $EVENT, $SERVICE, $DATE, $HOST, $ACTION and $DESCRIPTION, as Monit: upper case only, wherever the name
/// begins with one of them; anything else stays. In one pass: a `$` in a value is never replaced.
[[nodiscard]] std::string expand_mail_variables(std::string_view text, const engine::effect::Cause& cause,
                                                const MailWriter& writer);

}  // namespace healer::delivery
