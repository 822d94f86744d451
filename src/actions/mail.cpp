// SPDX-License-Identifier: MIT
#include "actions/mail.hpp"

#include <array>
#include <cstdlib>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "actions/mail_text.hpp"
#include "util/hash.hpp"
#include "util/text.hpp"

namespace healer::actions {
namespace {

constexpr std::string_view kFrom = "monit@$HOST";
constexpr std::string_view kSubject = "monit alert --  $EVENT $SERVICE";
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

/// "Sat, 21 Nov 2026 04:19:24 +0100".
std::string header_date(const CivilTime& civil) {
  const std::int64_t offset = civil.offset.count() / 60;
  return fmt::format("{} {}{:02}{:02}", format_monit_date(civil), offset < 0 ? '-' : '+', std::abs(offset) / 60,
                     std::abs(offset) % 60);
}

/// The host name as it may stand in a Message-Id.
std::string id_host(std::string_view host) {
  std::string result;
  for (const char c : host)
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-') result += c;
  return result.empty() ? "localhost" : result;
}

std::string_view pick(const std::optional<std::string>& own, const std::optional<std::string>& general,
                      std::string_view otherwise) {
  if (own) return *own;
  return general ? std::string_view(*general) : otherwise;
}

}  // namespace

std::string expand_mail_variables(std::string_view text, const engine::effect::Cause& cause, const MailWorld& world) {
  const std::string date = format_monit_date(world.civil(cause.when));
  const std::array<std::pair<std::string_view, std::string_view>, 6> variables{{{"EVENT", cause.event_text},
                                                                                {"SERVICE", cause.service},
                                                                                {"DATE", date},
                                                                                {"HOST", world.host},
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

std::vector<Message> compose_mails(const engine::effect::Alert& alert, const engine::MailSettings& settings,
                                   const MailWorld& world) {
  std::vector<Message> messages;
  const engine::effect::Cause& cause = *alert.cause;
  const std::string date = header_date(world.civil(cause.when));
  const std::string id_part = id_host(settings.hostname.empty() ? world.host : settings.hostname);
  for (std::uint32_t number = 0; number < alert.recipients.size(); ++number) {
    const engine::Recipient& recipient = alert.recipients[number];
    const auto expand = [&](std::string_view text) { return expand_mail_variables(text, cause, world); };
    const Mailbox to = parse_mailbox(recipient.address);
    if (to.address.empty()) continue;
    Mailbox from = parse_mailbox(expand(pick(recipient.format.from, settings.format.from, kFrom)));
    if (from.address.empty()) from = parse_mailbox(expand(kFrom));
    const std::string reply_to = expand(pick(recipient.format.reply_to, settings.format.reply_to, ""));
    const std::string subject = expand(pick(recipient.format.subject, settings.format.subject, kSubject));
    const Body body = mail_body(expand(pick(recipient.format.message, settings.format.message, kMessage)));

    std::string text;
    if (!reply_to.empty()) text += fmt::format("Reply-To: {}\r\n", header_mailbox(parse_mailbox(reply_to)));
    text += fmt::format("From: {}\r\n", header_mailbox(from));
    text += fmt::format("To: {}\r\n", to.address);
    text += fmt::format("Subject: {}\r\n", header_text(subject));
    text += fmt::format("Date: {}\r\n", date);
    text += fmt::format("X-Mailer: healer {}\r\n", world.version);
    text += "MIME-Version: 1.0\r\n";
    text += "Content-Type: text/plain; charset=utf-8\r\n";
    text += fmt::format("Content-Transfer-Encoding: {}\r\n", body.encoding);
    text += fmt::format("Message-Id: <{}.{}.{}.{:016x}@{}>\r\n", cause.when.time_since_epoch().count(),
                        alert.alert.number(), number, hash128(to.address).low, id_part);
    text += "Auto-Submitted: auto-generated\r\n\r\n";
    text += body.text;
    messages.push_back({alert.alert, number, cause.when, from.address, to.address,
                        printable(std::string_view(subject).substr(0, kMaxHeader)), std::move(text)});
  }
  return messages;
}

}  // namespace healer::actions
