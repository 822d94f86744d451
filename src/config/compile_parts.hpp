// SPDX-License-Identifier: MIT
// Private to the compiler: what it makes of the statements of services and of `set` alike.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "config/syntax.hpp"
#include "config/vocabulary.hpp"
#include "engine/recipient.hpp"
#include "engine/settings.hpp"
#include "util/time.hpp"

namespace healer::config {

struct Document;

/// As much of it as can be reckoned with.
[[nodiscard]] inline Duration bounded(Duration duration) { return std::clamp(duration, Duration{0}, kMaxDuration); }

/// The number, or the greatest that there is room for.
template <typename Small>
[[nodiscard]] Small bounded(std::uint64_t value) {
  return static_cast<Small>(std::min<std::uint64_t>(value, std::numeric_limits<Small>::max()));
}

[[nodiscard]] inline std::optional<std::string> text_of(const Rare<Word>& word) {
  return word ? std::optional(word->value) : std::nullopt;
}

[[nodiscard]] inline engine::MailFormat mail_format(const MailFormatSyntax& format) {
  return {.from = text_of(format.from),
          .reply_to = text_of(format.reply_to),
          .subject = text_of(format.subject),
          .message = text_of(format.message)};
}

[[nodiscard]] inline engine::Recipient recipient(const AlertSyntax& alert) {
  engine::EventMask named;
  for (const Word& event : alert.events)
    if (const std::optional<engine::EventKind> kind = event_kind(event.value))
      named.set(static_cast<std::size_t>(*kind));
  if (alert.events.empty()) named.set();
  return {.address = alert.address.value,
          .events = alert.negated && !alert.events.empty() ? ~named : named,
          .listed = !alert.negated && !alert.events.empty(),
          .reminder = bounded<std::uint16_t>(alert.reminder ? alert.reminder->value : 0),
          .digest = alert.digest,
          .format = mail_format(alert.format)};
}

/// All `set` statements, in the order of writing.
[[nodiscard]] engine::Settings compile_settings(const Document& document);

}  // namespace healer::config
