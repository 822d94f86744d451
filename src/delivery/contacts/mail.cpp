// SPDX-License-Identifier: MIT
#include "delivery/contacts/mail.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "delivery/contact.hpp"
#include "delivery/contacts/mail_text.hpp"
#include "engine/words/cause.hpp"
#include "util/hash.hpp"
#include "util/text.hpp"

namespace healer::delivery {
namespace {

constexpr std::string_view kFrom = "monit@$HOST";
constexpr std::string_view kSubject = "monit alert --  $EVENT $SERVICE";
/// Of what healer itself does, and Monit has no mails of.
constexpr std::string_view kOwnSubject = "healer: $EVENT $SERVICE";
constexpr std::string_view kOwnSubjectOfAll = "healer: $EVENT";
constexpr std::size_t kMaxWhat = 120;  // of what has happened to healer itself, in a subject
// The blank after $SERVICE is Monit's.
constexpr std::string_view kMessage =
    "$EVENT Service $SERVICE \n"
    "\n"
    "\tDate:        $DATE\n"
    "\tAction:      $ACTION\n"
    "\tHost:        $HOST\n"
    "\tDescription: $DESCRIPTION\n"
    "\n"
    "Your faithful employee,\n"
    "healer\n";

std::string_view pick(const std::optional<std::string>& own, const std::optional<std::string>& general,
                      std::string_view otherwise) {
  if (own) return *own;
  return general ? std::string_view(*general) : otherwise;
}

/// What has happened to healer itself, on one line; a cut in it is shown.
std::string own_event(const engine::effect::Cause& cause) {
  std::string what = cause.description.substr(0, cause.description.find('\n'));
  if (what.size() <= kMaxWhat) return what;
  const std::size_t blank = what.rfind(' ', kMaxWhat);
  return what.substr(0, blank == std::string::npos ? kMaxWhat : blank) + "...";
}

/// The subject where none is written.
std::string_view subject_of(const engine::effect::Cause& cause) {
  const bool heals = cause.event == engine::EventKind::Action && cause.action_text == "heal";
  if (!heals) return kSubject;
  return cause.service == "healer" ? kOwnSubjectOfAll : kOwnSubject;
}

/// What has happened to the service, in a word for a subject.
std::string_view word_of(const engine::effect::Cause& cause) {
  using State = engine::effect::Cause::State;
  if (cause.state == State::Failed) return "failed";
  if (cause.event == engine::EventKind::Action) return "handled";
  if (cause.event == engine::EventKind::Content) return "matched";
  return cause.state == State::Succeeded ? "recovered" : "changed";
}

}  // namespace

bool needs_person(const engine::effect::Cause& cause) {
  if (cause.event == engine::EventKind::Instance) return cause.event_text == engine::kHealerDied;
  const bool gives_up = cause.action_text == to_string(engine::ActionKind::Unmonitor) ||
                        cause.action_text == to_string(engine::ActionKind::Stop);
  return gives_up && !cause.rule.empty() && cause.state == engine::effect::Cause::State::Failed;
}

MailKey key_of(const Mail& message) {
  return {message.alert.number(), message.number, message.when.time_since_epoch().count()};
}

std::string expand_mail_variables(std::string_view text, const engine::effect::Cause& cause, const MailWriter& writer) {
  const std::string date = format_monit_date(writer.civil(cause.when));
  const std::string& service = cause.event == engine::EventKind::Instance ? writer.host : cause.service;  // as Monit
  const std::array<std::pair<std::string_view, std::string_view>, 6> variables{{{"EVENT", cause.event_text},
                                                                                {"SERVICE", service},
                                                                                {"DATE", date},
                                                                                {"HOST", writer.host},
                                                                                {"ACTION", cause.action_text},
                                                                                {"DESCRIPTION", cause.description}}};
  std::string result;
  while (!text.empty()) {
    const std::size_t dollar = text.find('$');
    result += text.substr(0, dollar);
    if (dollar == std::string_view::npos) break;
    text.remove_prefix(dollar + 1);
    bool known = false;
    for (const auto& [name, value] : variables) {
      if (!text.starts_with(name)) continue;
      result += value;
      text.remove_prefix(name.size());
      known = true;
      break;
    }
    if (!known) result += '$';
  }
  return result;
}

std::vector<Mail> compose_mails(const engine::effect::Alert& alert, const engine::MailSettings& settings,
                                const MailWriter& writer) {
  std::vector<Mail> messages;
  const engine::effect::Cause& cause = *alert.cause;
  // A host in an address has no blank.
  const MailWriter senders{id_host(writer.host), writer.version, writer.civil};
  const auto expand_sender = [&](std::string_view text) { return expand_mail_variables(text, cause, senders); };
  for (std::uint32_t number = 0; number < alert.recipients.size(); ++number) {
    const engine::Recipient& recipient = alert.recipients[number];
    if (recipient.contact) continue;
    const auto expand = [&](std::string_view text) { return expand_mail_variables(text, cause, writer); };
    const Mailbox to = parse_mailbox(recipient.address);
    if (to.address.empty()) continue;
    Mailbox from = parse_mailbox(expand_sender(pick(recipient.format.from, settings.format.from, kFrom)));
    if (from.address.empty()) from = parse_mailbox(expand_sender(kFrom));
    const std::string reply_to = expand_sender(pick(recipient.format.reply_to, settings.format.reply_to, ""));
    std::string subject = expand(pick(recipient.format.subject, settings.format.subject, subject_of(cause)));
    const bool own_subject = recipient.format.subject || settings.format.subject;
    // "Monit instance changed" is all that Monit says of itself; what has happened follows.
    if (cause.event == engine::EventKind::Instance && !own_subject) subject += fmt::format(": {}", own_event(cause));
    const Body body = mail_body(expand(pick(recipient.format.message, settings.format.message, kMessage)));

    const std::string id =
        fmt::format("{}.{}.{}.{:016x}@{}", cause.when.time_since_epoch().count(), alert.alert.number(), number,
                    hash128(to.address).low, id_host(settings.hostname.empty() ? writer.host : settings.hostname));
    Mail& message = messages.emplace_back();
    message.alert = alert.alert;
    message.number = number;
    message.when = cause.when;
    message.from = from.address;
    message.to = to.address;
    message.subject = printable(std::string_view(subject).substr(0, kMaxHeader));
    message.text = mail_text({.reply_to = reply_to.empty() ? "" : header_mailbox(parse_mailbox(reply_to)),
                              .from = header_mailbox(from),
                              .to = to.address,
                              .subject = header_text(subject),
                              .date = header_date(writer.civil(cause.when)),
                              .version = writer.version,
                              .id = id},
                             body);
    // Of healer itself what has happened says more than that it has changed.
    const bool own = cause.event == engine::EventKind::Instance;
    message.items = {
        {cause.when, std::string(word_of(cause)), cause.service, own ? own_event(cause) : cause.event_text}};
    message.urgent = needs_person(cause);
    message.digest = recipient.digest && !message.urgent;
    message.own_subject = own_subject;
  }
  return messages;
}

namespace {

/// What an SMTP server has said of a mail; another server may take what one refuses, whichever way.
Verdict judge_mail(const Answer& answer, WallTime) {
  if (answer.status == 0) return TryAgain{.why = answer.why, .is_of_server = true};
  if (answer.status < 400) return Taken{};
  if (answer.status < 500) return TryAgain{.why = answer.words};
  return Final{answer.words};
}

}  // namespace

extern const Kind mail_contact;
const Kind mail_contact{.name = "mail",
                        .place = "",
                        .compose_mails = compose_mails,
                        .judge = judge_mail,
                        .rhythm = {.first = seconds{1},
                                   .longest = minutes{1},
                                   .deadline = std::nullopt,  // servers may be away for long: the queue is bounded
                                   .most_refusals = 7'200},   // about five days of them
                        .limits = {.letters = 1000, .bytes = 32U << 20, .sent = 2000, .damaged = 100}};

}  // namespace healer::delivery
