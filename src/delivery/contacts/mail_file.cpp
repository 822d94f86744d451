// SPDX-License-Identifier: MIT
#include "delivery/contacts/mail_file.hpp"

#include <spdlog/fmt/fmt.h>

#include "delivery/proof.hpp"
#include "util/text.hpp"

namespace healer::delivery {
namespace {

constexpr std::string_view kMailMagic = "healer-mail 2 ";
constexpr std::string_view kPlainMagic = "healer-mail 1 ";  // from before there were digests: without facts
constexpr std::size_t kMailNameBytes = 20 + 1 + 6 + 1 + 16;

bool read_fact(std::string_view line, Mail& mail) {
  const std::string_view word = take_until(line, ' ').value_or("");
  std::int64_t when = 0;
  if (word == "digest") {
    mail.digest = read_number(line, when);
    mail.hold_until = WallTime{milliseconds{when}};
    return mail.digest;
  }
  if (word == "urgent") return mail.urgent = true;
  if (word == "own-subject") return mail.own_subject = true;
  if (word == "unlisted") return read_number(line, mail.unlisted);
  if (word == "item") {
    MailItem item;
    if (!take_number(line, ' ', when)) return false;
    item.when = WallTime{milliseconds{when}};
    item.word = take_until(line, ' ').value_or("");
    item.service = take_until(line, '\t').value_or("");
    item.event = line;
    mail.items.push_back(std::move(item));
    return true;
  }
  if (word == "covers") {
    MailKey& key = mail.covers.emplace_back();
    return take_number(line, ' ', key.alert) && take_number(line, ' ', key.number) && read_number(line, key.when);
  }
  return false;
}

}  // namespace

/// The envelope a line each, then facts a line each and an empty line, then the mail.
std::string serialise(const Mail& mail) {
  std::string facts;
  if (mail.digest) facts += fmt::format("digest {}\n", mail.hold_until.time_since_epoch().count());
  if (mail.urgent) facts += "urgent 1\n";
  if (mail.own_subject) facts += "own-subject 1\n";
  if (mail.unlisted > 0) facts += fmt::format("unlisted {}\n", mail.unlisted);
  for (const MailItem& item : mail.items)
    facts += fmt::format("item {} {} {}\t{}\n", item.when.time_since_epoch().count(), item.word,
                         printable(item.service), printable(item.event));
  for (const MailKey& key : mail.covers) facts += fmt::format("covers {} {} {}\n", key.alert, key.number, key.when);
  return with_proof(kMailMagic, fmt::format("{}\n{}\n{}\n{}\n{}", mail.from, mail.to, mail.subject, facts, mail.text));
}

std::optional<Mail> parse_mail(std::string_view file, const MailKey& key) {
  const bool is_plain = file.starts_with(kPlainMagic);
  const auto proven = proven_payload(is_plain ? kPlainMagic : kMailMagic, file);
  if (!proven) return std::nullopt;
  std::string_view payload = *proven;
  Mail mail;
  mail.alert = engine::AlertId{key.alert};
  mail.number = key.number;
  mail.when = WallTime{milliseconds{key.when}};
  for (std::string* field : {&mail.from, &mail.to, &mail.subject}) {
    const auto value = take_until(payload, '\n');
    if (!value) return std::nullopt;
    *field = *value;
  }
  if (is_plain) mail.items = {{mail.when, "told", mail.subject, "mail"}};
  for (bool facts = !is_plain; facts;) {
    const auto fact = take_until(payload, '\n');
    if (!fact) return std::nullopt;
    facts = !fact->empty();
    if (facts && !read_fact(*fact, mail)) return std::nullopt;
  }
  mail.text = payload;
  return mail;
}

std::string file_name(const MailKey& key) {
  return fmt::format("{:020}-{:06}-{:016x}", key.alert, key.number, static_cast<std::uint64_t>(key.when));
}

std::optional<MailKey> parse_mail_name(std::string_view name) {
  if (name.size() != kMailNameBytes || name[20] != '-' || name[27] != '-') return std::nullopt;
  MailKey key;
  std::uint64_t when = 0;
  if (!read_number(name.substr(0, 20), key.alert) || !read_number(name.substr(21, 6), key.number) ||
      !read_number(name.substr(28), when, 16))
    return std::nullopt;
  key.when = static_cast<std::int64_t>(when);
  return key;
}

}  // namespace healer::delivery
