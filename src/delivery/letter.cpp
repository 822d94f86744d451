// SPDX-License-Identifier: MIT
#include "delivery/letter.hpp"

#include <array>

#include <spdlog/fmt/fmt.h>

#include "delivery/proof.hpp"
#include "engine/words/cause.hpp"
#include "util/hash.hpp"

namespace healer::delivery {
namespace {

constexpr std::string_view kLetterMagic = "healer-letter 1 ";
constexpr std::size_t kMostOfDescription = std::size_t{256} << 10;  // as of a mail
constexpr std::size_t kLetterNameBytes = 20 + 1 + 16;

std::string_view state_of(const engine::effect::Alert& alert) {
  using State = engine::effect::Cause::State;
  const engine::effect::Cause& cause = *alert.cause;
  if (alert.reminder) return "reminder";
  if (cause.state == State::Failed) return "failed";
  const bool is_new_entry = cause.event == engine::EventKind::Instance || cause.event == engine::EventKind::Action;
  if (cause.state == State::Succeeded) return is_new_entry && alert.incident.empty() ? "info" : "recovered";
  return is_new_entry ? "info" : "changed";
}

/// The texts of a letter, in the order in which they are written.
template <typename AnyLetter>
auto texts_of(AnyLetter& letter) {
  return std::array{&letter.state,  &letter.incident, &letter.event,      &letter.service,
                    &letter.action, &letter.rule,     &letter.description};
}

}  // namespace

Letter letter_of(const engine::effect::Alert& alert, WallTime now) {
  const engine::effect::Cause& cause = *alert.cause;
  Letter letter{.key = {alert.alert.number(), cause.when.time_since_epoch().count()},
                .taken = now,
                .state = std::string(state_of(alert)),
                .incident = alert.incident,
                .event = cause.event_text,
                .service = cause.service,
                .action = cause.action_text,
                .rule = cause.rule,
                .description = cause.description.substr(0, kMostOfDescription)};
  if (letter.incident.empty())
    letter.incident = to_string(hash128(fmt::format("alert {} {}", letter.key.alert, letter.key.when)));
  letter.is_of_loss = cause.event == engine::EventKind::Instance && cause.event_text == engine::kNotDelivered;
  return letter;
}

std::string subject_of(const Letter& letter) { return fmt::format("{} {}", letter.event, letter.service); }

Values values_of(const Letter& letter, const std::string& host) {
  return {{"EVENT", letter.event},
          {"SERVICE", letter.service},
          {"HOST", host},
          {"DATE", format_iso(WallTime{milliseconds{letter.key.when}})},
          {"ACTION", letter.action},
          {"STATE", letter.state},
          {"DESCRIPTION", letter.description},
          {"REASON", letter.rule.empty() ? letter.description : letter.rule},
          {"URL", ""},  // healer has no address of its own yet
          {"INCIDENT", letter.incident}};
}

std::string idempotency_key(const Letter& letter, std::string_view contact) {
  return to_string(hash128(fmt::format("letter {} {} {}", contact, letter.key.alert, letter.key.when)));
}

std::string serialise(const Letter& letter) {
  std::string payload = fmt::format("{} {} {} {}\n", letter.key.alert, letter.key.when,
                                    letter.taken.time_since_epoch().count(), letter.is_of_loss ? 1 : 0);
  for (const std::string* text : texts_of(letter)) payload += fmt::format("{}\n{}\n", text->size(), *text);
  return with_proof(kLetterMagic, payload);
}

std::optional<Letter> parse_letter(std::string_view file) {
  const auto proven = proven_payload(kLetterMagic, file);
  if (!proven) return std::nullopt;
  file = *proven;
  Letter letter;
  std::int64_t taken = 0;
  int of_loss = 0;
  if (!take_number(file, ' ', letter.key.alert) || !take_number(file, ' ', letter.key.when) ||
      !take_number(file, ' ', taken) || !take_number(file, '\n', of_loss))
    return std::nullopt;
  letter.taken = WallTime{milliseconds{taken}};
  letter.is_of_loss = of_loss != 0;
  for (std::string* text : texts_of(letter)) {
    std::size_t size = 0;
    if (!take_number(file, '\n', size) || file.size() < size + 1) return std::nullopt;
    *text = file.substr(0, size);
    file.remove_prefix(size + 1);
  }
  return letter;
}

std::string file_name(const LetterKey& key) {
  return fmt::format("{:020}-{:016x}", key.alert, static_cast<std::uint64_t>(key.when));
}

std::optional<LetterKey> parse_file_name(std::string_view name) {
  if (name.size() != kLetterNameBytes || name[20] != '-') return std::nullopt;
  LetterKey key;
  std::uint64_t when = 0;
  if (!read_number(name.substr(0, 20), key.alert) || !read_number(name.substr(21), when, 16)) return std::nullopt;
  key.when = static_cast<std::int64_t>(when);
  return key;
}

}  // namespace healer::delivery
