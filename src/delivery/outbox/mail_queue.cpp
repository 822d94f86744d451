// SPDX-License-Identifier: MIT
#include "delivery/outbox/mail_queue.hpp"

#include <cerrno>
#include <optional>
#include <utility>

#include "delivery/contacts/mail_file.hpp"

namespace healer::delivery {
namespace {

constexpr QueueForm kMails{.suffix = ".mail",
                           .place = "the mail queue",
                           .what = "mail",
                           .is_name = [](std::string_view name) { return parse_mail_name(name).has_value(); },
                           .most_of_file = std::uint64_t{8} << 20};

}  // namespace

Result<MailQueue> MailQueue::open(const std::string& path, const Limits& limits, Warn warn) {
  Result<QueueFolder> folder = QueueFolder::open(path, kMails);
  if (!folder) return folder.error();
  MailQueue queue(std::move(*folder), limits, std::move(warn));
  if (Result<void> loaded = queue.load(); !loaded) return loaded.error();
  return queue;
}

Result<bool> MailQueue::take_over(const std::string& former, const std::string& path) {
  return QueueFolder::take_over(former, path, kMails, "ledger");
}

Result<void> MailQueue::load() {
  const Result<FoundFiles> found = folder_.list();
  if (!found) return found.error();
  for (const FoundFiles::Waiting& one : found->waiting) backlog_.add(*parse_mail_name(one.name), one.bytes);
  for (const std::string& name : found->foreign) set_aside(name, "its name is not that of a mail");
  for (const std::string& name : found->sent) bury(*parse_mail_name(name));
  return {};
}

Result<MailQueue::Taken> MailQueue::put(const Mail& mail) {
  const MailKey key = key_of(mail);
  if (known(key)) return Taken::Known;
  const std::string text = serialise(mail);
  if (text.size() > kMails.most_of_file || (mail.covers.empty() && full(text.size()))) return Taken::Full;
  if (Result<void> written = folder_.put(file_name(key), text); !written) return written.error();
  backlog_.add(key, text.size());
  return Taken::Queued;
}

Result<void> MailQueue::sync() { return folder_.sync(); }

Result<Mail> MailQueue::read(const MailKey& key) {
  const std::string name = file_name(key);
  const Result<std::string> text = folder_.read(name);
  if (!text && text.error().code != 0 && text.error().code != ENOENT) return text.error();
  std::optional<Mail> mail = text ? parse_mail(*text, key) : std::nullopt;
  if (mail) return std::move(*mail);
  backlog_.remove(key);
  const bool is_damaged = text || text.error().code == 0;
  if (is_damaged) set_aside(name, "it is damaged");
  return Error{0, "mail " + name + std::string(kMails.suffix) + (is_damaged ? " is damaged" : " has vanished")};
}

Result<void> MailQueue::finish(const MailKey& key) {
  if (!backlog_.remove(key)) return {};
  Result<void> buried = folder_.bury(file_name(key));
  bury(key);
  return buried;
}

void MailQueue::bury(const MailKey& key) {
  for (const MailKey& oldest : backlog_.note_sent(key)) folder_.forget(file_name(oldest));
}

void MailQueue::set_aside(const std::string& name, const std::string& why) {
  const std::string aside = folder_.set_aside(name, backlog_.limits().damaged);
  warn_("mail queue: " + name + std::string(kMails.suffix) + " is set aside as " + aside + ": " + why);
}

}  // namespace healer::delivery
