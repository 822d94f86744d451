// SPDX-License-Identifier: MIT
// Who was mailed when, for `set mail limit`; which mails the limit holds back; which mails a server may have accepted
// already; and which were dropped and must be reported. It is kept in a file beside the queue, so that after a restart
// no limit and no loss is forgotten, mails that belong into one summary are not sent one by one, and nothing that has
// been delivered is sent again in another mail.
//
//     sent 1795234764000 admin@example.org
//     held 42 0 1795234764000              alert, recipient, time: the key of the mail
//     begun 43 0 1795234765000
//     dropped 40 0 1795234763000 0 admin@example.org monit@vm      alerts beyond the items, recipient, sender
//     item 1795234763000 failed web<TAB>Status failed              of the mail that was dropped
//     telling 40 500000 1795234763000 admin@example.org            the mail that reports the lines above
//
// No clock is read here. Not thread-safe: it lives on the mailer's thread. A line that a crash cut short is skipped.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "delivery/contacts/mail.hpp"
#include "engine/ids.hpp"
#include "engine/rules/settings.hpp"
#include "runtime/descriptor.hpp"
#include "util/result.hpp"
#include "util/time.hpp"

namespace healer::delivery {

class MailLedger {
 public:
  /// Reads `path`, or begins it, beside what is in memory already; a mail is held where it still `waits`. Before that,
  /// and where it fails, all is as it should be but that it does not last.
  [[nodiscard]] Result<void> open(const std::string& path, const std::function<bool(const MailKey&)>& waits);

  void set_limit(std::optional<engine::MailLimit> limit) { limit_ = limit; }

  /// A server has taken a mail to that address.
  void sent(const std::string& address, WallTime now);
  /// When there is room for a mail to that address, after `more` that are sent now; nothing: now.
  [[nodiscard]] std::optional<WallTime> full_until(const std::string& address, WallTime now, std::size_t more = 0);

  /// The limit holds this mail back.
  void hold(const MailKey& key);
  [[nodiscard]] bool held(const MailKey& key) const { return held_.contains(key); }
  void release(const MailKey& key) { held_.erase(key); }

  /// From now on a server may have taken this mail, whatever is heard about it: it goes as it is, or not at all.
  void begin(const MailKey& key);
  [[nodiscard]] bool begun(const MailKey& key) const { return begun_.contains(key); }

  /// This mail is dropped, and is to be told of. Its text is not needed. Call it before the mail goes: what still waits
  /// when the file is opened was not dropped.
  void drop(const Mail& mail);
  /// What was dropped, by address: as one mail, without a text, with the key of the first; its items are bounded.
  [[nodiscard]] const std::map<std::string, Mail, std::less<>>& dropped() const { return dropped_; }
  /// That mail tells of it, as soon as it waits...
  void telling(const std::string& address, const MailKey& key);
  /// ...which it does now.
  void mark_notified(const std::string& address);

  /// The mail is no more.
  void forget(const MailKey& key) {
    held_.erase(key);
    begun_.erase(key);
  }

 private:
  [[nodiscard]] Result<void> rewrite();
  void write(const std::string& lines);
  void read(std::string_view line, const std::function<bool(const MailKey&)>& waits);

  std::string path_;
  runtime::Descriptor file_;  ///< to append to; none: nothing can be written now
  std::size_t lines_ = 0;
  std::size_t most_lines_ = 0;  ///< then the file is rewritten, without what is over
  std::optional<engine::MailLimit> limit_;
  std::map<std::string, std::deque<WallTime>, std::less<>> sent_;  ///< by address, oldest first; no more than count
  std::set<MailKey> held_;
  std::set<MailKey> begun_;
  std::map<std::string, Mail, std::less<>> dropped_;
  Mail* reading_ = nullptr;  ///< of dropped_: what the items that are read are added to
};

}  // namespace healer::delivery
