// SPDX-License-Identifier: MIT
#include "delivery/outbox/mail_ledger.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <sstream>

#include <spdlog/fmt/fmt.h>

#include "delivery/contacts/mail_digest.hpp"
#include "util/text.hpp"

namespace healer::delivery {

using runtime::Descriptor;

namespace {

constexpr std::size_t kMaxSent = 10'000;     // of one address
constexpr std::size_t kFewestLines = 1'000;  // lines that come before the file is rewritten, at least

std::string sent_line(const std::string& address, WallTime when) {
  return fmt::format("sent {} {}\n", when.time_since_epoch().count(), address);
}

std::string key_line(std::string_view word, const MailKey& key) {
  return fmt::format("{} {} {} {}\n", word, key.alert, key.number, key.when);
}

/// The line of a mail that was dropped, and one for each item.
std::string dropped_lines(const Mail& mail) {
  std::string text = fmt::format("dropped {} {} {} {} {} {}\n", mail.alert.number(), mail.number,
                                 mail.when.time_since_epoch().count(), mail.unlisted, mail.to, mail.from);
  for (const MailItem& item : mail.items)
    text += fmt::format("item {} {} {}\t{}\n", item.when.time_since_epoch().count(), item.word, printable(item.service),
                        printable(item.event));
  return text;
}

void add_item(Mail& dropped, MailItem item) {
  if (dropped.items.size() < kMaxLines)
    dropped.items.push_back(std::move(item));
  else
    ++dropped.unlisted;
}

/// What was dropped of a person's mails, and this one too.
Mail& add_dropped(std::map<std::string, Mail, std::less<>>& all, const Mail& mail) {
  const auto [entry, first] = all.try_emplace(mail.to, mail);
  if (!first) {
    entry->second.unlisted += mail.unlisted;
    for (const MailItem& item : mail.items) add_item(entry->second, item);
  } else {
    entry->second.text.clear();
    entry->second.covers.clear();
  }
  return entry->second;
}

}  // namespace

Result<void> MailLedger::open(const std::string& path, const std::function<bool(const MailKey&)>& waits) {
  path_ = path;
  std::ifstream file(path_);
  for (std::string line; std::getline(file, line);) read(line, waits);
  reading_ = nullptr;
  std::erase_if(dropped_, [](const auto& dropped) { return dropped.second.items.empty(); });  // cut short
  for (auto& [address, times] : sent_) std::ranges::sort(times);
  std::erase_if(held_, [&](const MailKey& key) { return !waits(key); });
  std::erase_if(begun_, [&](const MailKey& key) { return !waits(key); });
  return rewrite();
}

void MailLedger::read(std::string_view line, const std::function<bool(const MailKey&)>& waits) {
  std::istringstream words{std::string(line)};
  std::string word, address;
  std::int64_t when = 0;
  MailKey key;
  words >> word;
  if (word == "sent" && words >> when >> address) sent_[address].emplace_back(milliseconds{when});
  if ((word == "held" || word == "begun") && words >> key.alert >> key.number >> key.when)
    (word == "held" ? held_ : begun_).insert(key);
  if (word == "item") {
    MailItem item;
    if (reading_ == nullptr || !(words >> when >> item.word)) return;
    item.when = WallTime{milliseconds{when}};
    words.get();
    std::getline(words, item.service, '\t');
    std::getline(words, item.event);
    return add_item(*reading_, std::move(item));
  }
  reading_ = nullptr;
  if (word == "dropped") {
    Mail mail;
    if (!(words >> key.alert >> key.number >> key.when >> mail.unlisted >> mail.to) || waits(key)) return;
    words >> mail.from;
    mail.alert = engine::AlertId{key.alert};
    mail.number = key.number;
    mail.when = WallTime{milliseconds{key.when}};
    reading_ = &add_dropped(dropped_, mail);
  }
  if (word == "telling" && words >> key.alert >> key.number >> key.when >> address && waits(key))
    dropped_.erase(address);
}

/// Rewrites the file, with what still counts.
Result<void> MailLedger::rewrite() {
  const std::string fresh = path_ + ".new";
  file_.reset();
  Descriptor file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_APPEND | O_CLOEXEC, 0600));
  if (!file) return system_error(errno, "cannot make " + fresh);
  std::string text;
  lines_ = held_.size() + begun_.size();
  for (const auto& [address, times] : sent_) {
    lines_ += times.size();
    for (const WallTime when : times) text += sent_line(address, when);
  }
  for (const auto& [address, mail] : dropped_) {
    lines_ += 1 + mail.items.size();
    text += dropped_lines(mail);
  }
  for (const MailKey& key : held_) text += key_line("held", key);
  for (const MailKey& key : begun_) text += key_line("begun", key);
  most_lines_ = 2 * lines_ + kFewestLines;
  const bool written = ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (!written || ::fsync(file.get()) != 0 || ::rename(fresh.c_str(), path_.c_str()) != 0) {
    const int code = errno;
    ::unlink(fresh.c_str());
    return system_error(code, "cannot write " + path_);
  }
  file_ = std::move(file);
  return {};
}

/// Appends lines. Where that fails the limit holds for the life of this process alone.
void MailLedger::write(const std::string& lines) {
  if (path_.empty()) return;
  lines_ += static_cast<std::size_t>(std::ranges::count(lines, '\n'));
  if (!file_ || lines_ > most_lines_) {
    (void)rewrite();
  } else if (::write(file_.get(), lines.data(), lines.size()) != static_cast<ssize_t>(lines.size())) {
    file_.reset();
  }
}

void MailLedger::sent(const std::string& address, WallTime now) {
  if (!limit_) return;
  (void)full_until(address, now);  // forgets what is over
  std::deque<WallTime>& times = sent_[address];
  times.push_back(now);
  if (times.size() > kMaxSent) times.pop_front();
  write(sent_line(address, now));
}

std::optional<WallTime> MailLedger::full_until(const std::string& address, WallTime now, std::size_t more) {
  if (!limit_) return std::nullopt;
  const std::size_t most = std::clamp<std::size_t>(limit_->mails, 1, kMaxSent);
  const auto found = sent_.find(address);
  if (found == sent_.end()) return more < most ? std::nullopt : std::optional(now + limit_->within);
  std::deque<WallTime>& times = found->second;
  for (auto late = times.rbegin(); late != times.rend() && *late > now; ++late) *late = now;  // the clock was set back
  while (!times.empty() && times.front() + limit_->within <= now) times.pop_front();
  const std::size_t count = times.size() + more;
  if (count < most) return std::nullopt;
  const std::size_t first = count - most;
  return (first < times.size() ? times[first] : now) + limit_->within;
}

void MailLedger::hold(const MailKey& key) {
  if (held_.insert(key).second) write(key_line("held", key));
}

void MailLedger::begin(const MailKey& key) {
  if (begun_.insert(key).second) write(key_line("begun", key));
}

void MailLedger::drop(const Mail& mail) {
  add_dropped(dropped_, mail);
  write(dropped_lines(mail));
}

void MailLedger::telling(const std::string& address, const MailKey& key) {
  const std::string line = key_line("telling", key);
  write(line.substr(0, line.size() - 1) + " " + address + "\n");
}

void MailLedger::mark_notified(const std::string& address) {
  dropped_.erase(address);
  if (!path_.empty()) (void)rewrite();
}

}  // namespace healer::delivery
