// SPDX-License-Identifier: MIT
#include "delivery/contacts/mail_digest.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <spdlog/fmt/fmt.h>

#include "delivery/contacts/mail_text.hpp"
#include "util/hash.hpp"
#include "util/text.hpp"

namespace healer::delivery {
namespace {

constexpr std::size_t kMaxNames = 4;             // of one word, in a subject
constexpr std::uint32_t kFirstNumber = 500'000;  // in the keys of such mails; people of an alert are fewer

/// The more urgent first. "told" is of mails that an older healer has left.
constexpr std::array<std::string_view, 6> kWords{"failed", "matched", "changed", "recovered", "handled", "told"};

struct Digest {
  std::vector<MailItem> items;
  std::uint32_t unlisted = 0;

  [[nodiscard]] std::size_t count() const { return items.size() + unlisted; }
};

Digest digest_of(std::span<const Mail> mails) {
  Digest digest;
  for (const Mail& mail : mails) {
    digest.unlisted += mail.unlisted;
    digest.items.insert(digest.items.end(), mail.items.begin(), mail.items.end());
  }
  return digest;
}

/// "web, db failed; cache recovered": each service once, by what has happened to it last.
std::string names_by_word(const std::vector<MailItem>& items) {
  std::vector<std::string_view> order;
  std::map<std::string_view, std::string_view> last;
  std::string own;  // of healer itself: what has happened
  for (const MailItem& item : items) {
    if (item.service == "healer" && item.word == "changed") {
      own = item.event;
      continue;
    }
    if (!last.contains(item.service)) order.push_back(item.service);
    last[item.service] = item.word;
  }
  std::string text;
  for (const std::string_view word : kWords) {
    std::size_t named = 0;
    std::size_t more = 0;
    for (const std::string_view service : order) {
      if (last.at(service) != word) continue;
      if (named == kMaxNames) {
        ++more;
        continue;
      }
      if (named++ > 0)
        text += ", ";
      else if (!text.empty())
        text += "; ";
      text += service;
    }
    if (more > 0) text += fmt::format(" and {} more", more);
    if (named > 0) text += fmt::format(" {}", word);
  }
  if (!own.empty()) text += fmt::format("{}healer: {}", text.empty() ? "" : "; ", own);
  return text;
}

/// The subject of several mails. Where a mail-format has one it stays, of the most urgent of them, since people's
/// filters go by it; `told` says how many there are.
std::string subject_of(std::span<const Mail> mails, const std::string& digest, const std::string& usual) {
  const auto urgency = [](const Mail& mail) {
    const std::string_view word =
        mail.items.empty() ? std::string_view("told") : std::string_view(mail.items.front().word);
    return std::ranges::find(kWords, word) - kWords.begin();
  };
  const Mail* most = nullptr;
  for (const Mail& mail : mails)
    if (mail.own_subject && (most == nullptr || urgency(mail) < urgency(*most))) most = &mail;
  return most == nullptr ? usual : fmt::format("{} ({})", most->subject, digest);
}

std::string lines_of(const Digest& digest, const MailWriter& writer) {
  const std::size_t listed = std::min(digest.items.size(), kMaxLines);
  std::string text;
  for (const MailItem& item : std::span(digest.items).first(listed))
    text += fmt::format("  {}  {}: {}\n", format_civil(writer.civil(item.when)), item.service, item.event);
  if (digest.count() > listed) text += fmt::format("  and {} more that are not listed here\n", digest.count() - listed);
  return text;
}

/// The mail around `text`, with the sender of the first of `mails`, whose place it takes.
Mail merge(std::span<const Mail> mails, Digest digest, const std::string& subject, std::string_view text,
           const MailWriter& writer, WallTime now) {
  const Mail& first = mails.front();
  Mail merged;
  merged.alert = first.alert;
  merged.number = first.number % kFirstNumber + kFirstNumber;
  merged.when = first.when;
  merged.from = first.from;
  merged.to = first.to;
  merged.subject = printable(std::string_view(subject).substr(0, kMaxHeader));
  merged.own_subject = std::ranges::any_of(mails, &Mail::own_subject);
  std::string id = header_of(first.text, "Message-Id");
  std::erase_if(id, [](char c) { return c == '<' || c == '>'; });
  if (id.empty()) id = fmt::format("{}.{:016x}@{}", first.alert.number(), hash128(first.to).low, id_host(writer.host));
  const std::string from = header_of(first.text, "From");
  merged.text = mail_text({.reply_to = header_of(first.text, "Reply-To"),
                           .from = from.empty() ? merged.from : from,
                           .to = first.to,
                           .subject = header_text(subject),
                           .date = header_date(writer.civil(now)),
                           .version = writer.version,
                           .id = fmt::format("{}.{}.{}", now.time_since_epoch().count(), mails.size(), id)},
                          mail_body(text));
  const std::size_t count = digest.count();
  if (digest.items.size() > kMaxLines) digest.items.resize(kMaxLines);
  merged.items = std::move(digest.items);
  merged.unlisted = static_cast<std::uint32_t>(count - merged.items.size());
  for (const Mail& mail : mails) merged.covers.push_back(key_of(mail));
  return merged;
}

std::string span_of(const Digest& digest, const MailWriter& writer) {
  const auto [first, last] = std::ranges::minmax(digest.items, {}, &MailItem::when);
  return fmt::format("from {} to {}", format_civil(writer.civil(first.when)), format_civil(writer.civil(last.when)));
}

}  // namespace

Mail compose_digest(std::span<const Mail> mails, const MailWriter& writer, WallTime now) {
  Digest digest = digest_of(mails);
  const std::size_t count = digest.count();
  const std::string names = names_by_word(digest.items);
  const std::string subject = subject_of(mails, fmt::format("{} alerts: {}", count, names),
                                         fmt::format("healer: {} alerts on {}: {}", count, writer.host, names));
  std::string text = fmt::format("{} alerts on {}, {}:\n\n", count, writer.host, span_of(digest, writer));
  text += lines_of(digest, writer);
  std::size_t full = 0;
  for (const Mail& mail : mails) {
    const std::string body = body_of(mail.text);
    if (full == kMaxFull || text.size() + body.size() > kMaxFullBytes) {
      text += fmt::format("\n---- {} more alerts are not shown in full here: healerctl history has them ----\n",
                          mails.size() - full);
      break;
    }
    text += fmt::format("\n---- {} of {}: {} ----\n\n{}", ++full, mails.size(), mail.subject, body);
  }
  return merge(mails, std::move(digest), subject, text, writer, now);
}

Mail compose_held_back(std::span<const Mail> mails, const std::optional<engine::MailLimit>& limit,
                       const MailWriter& writer, WallTime now) {
  Digest digest = digest_of(mails);
  const std::size_t count = digest.count();
  const std::string names = names_by_word(digest.items);
  const std::string subject =
      subject_of(mails, fmt::format("{} alerts held back: {}", count, names),
                 fmt::format("healer: {} alerts held back on {}: {}", count, writer.host, names));
  const std::string text = fmt::format(
      "The limit of {} to {} was reached on {}. {} alerts were held back, {}:\n\n{}\n"
      "Their descriptions are in the history: healerctl history\n",
      limit ? describe(*limit) : "mails", mails.front().to, writer.host, count, span_of(digest, writer),
      lines_of(digest, writer));
  return merge(mails, std::move(digest), subject, text, writer, now);
}

Mail compose_dropped(const Mail& dropped, const MailWriter& writer, WallTime now) {
  const std::span<const Mail> mails(&dropped, 1);
  Digest digest = digest_of(mails);
  const std::size_t count = digest.count();
  const std::string alerts = fmt::format("{} {}", count, count == 1 ? "alert" : "alerts");
  const std::string subject =
      fmt::format("healer: {} dropped on {}: {}", alerts, writer.host, names_by_word(digest.items));
  const std::string text = fmt::format(
      "The mail queue on {} was full. {} to {} {} dropped, {}:\n\n{}\n"
      "Their descriptions are in the history: healerctl history\n",
      writer.host, alerts, dropped.to, count == 1 ? "was" : "were", span_of(digest, writer), lines_of(digest, writer));
  Mail message = merge(mails, std::move(digest), subject, text, writer, now);
  message.covers.clear();
  return message;
}

std::string describe(const engine::MailLimit& limit) {
  return fmt::format("{} {} within {}", limit.mails, limit.mails == 1 ? "mail" : "mails",
                     format_duration(limit.within));
}

}  // namespace healer::delivery
