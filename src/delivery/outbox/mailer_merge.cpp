// SPDX-License-Identifier: MIT
// Several mails to one person that become one: digests, what a limit held back, and the word of what was dropped; and
// what is said about all that wait.
#include <algorithm>
#include <set>
#include <tuple>

#include <spdlog/fmt/fmt.h>

#include "delivery/contacts/mail_digest.hpp"
#include "delivery/outbox/mailer_impl.hpp"
#include "runtime/clock.hpp"

namespace healer::delivery {

using engine::Severity;

/// Until when a mail is held for a digest; nothing: it is not, or no longer.
std::optional<WallTime> Mailer::Impl::held_for_digest(const Waiting& mail, WallTime now) const {
  if (!mail.digest || stopping) return std::nullopt;
  const bool past = mail.hold_until <= now || mail.hold_until > now + kLongestHold;  // or the clock was set back
  return past ? std::nullopt : std::optional(mail.hold_until);
}

/// Begins a digest where a cycle is over, and makes one mail of what a limit held back where there is room again.
void Mailer::Impl::merge_due(WallTime now) {
  std::map<std::string, std::vector<MailKey>> digests;
  std::map<std::string, std::vector<MailKey>> held;
  std::set<std::string> due;  // people whose cycle is over
  for (const auto& [key, mail] : mails) {
    if (mail.covered || ledger.begun(key)) continue;
    if (mail.digest) {
      digests[mail.to].push_back(key);
      if (!held_for_digest(mail, now)) due.insert(mail.to);
    } else if (ledger.held(key)) {
      held[mail.to].push_back(key);
    }
  }
  for (const std::string& to : due) {
    if (digests[to].size() > 1) {
      merge(std::move(digests[to]), [](const Impl& self, const std::vector<Mail>& parts, WallTime when) {
        return compose_digest(parts, {self.host, self.options.version, self.options.civil}, when);
      });
    } else {
      mails.at(digests[to].front()).digest = false;  // a single one goes as it is
    }
  }
  for (auto& [to, keys] : held) {
    if (ledger.full_until(to, now)) continue;
    for (const MailKey& key : keys) ledger.release(key);
    if (keys.size() == 1) continue;
    merge(std::move(keys), [](const Impl& self, const std::vector<Mail>& parts, WallTime when) {
      return compose_held_back(parts, self.last_limit, {self.host, self.options.version, self.options.civil}, when);
    });
  }
}

/// Makes one mail of those. It is on disk before they are finished; where it cannot be, it covers them in memory.
void Mailer::Impl::merge(std::vector<MailKey> keys, Merge how) {
  std::vector<Mail> parts;
  for (const MailKey& key : keys) {
    Waiting& mail = mails.at(key);
    mail.digest = false;
    Result<Mail> read = mail.memory ? Result<Mail>(*mail.memory) : queue->read(key);
    // One that cannot be read goes, or is given up, by itself.
    if (read) parts.push_back(std::move(*read));
  }
  if (parts.size() < 2) return;
  Mail message = how(*this, parts, options.wall());
  while (mails.contains(key_of(message)) || (queue && queue->known(key_of(message)))) ++message.number;
  const MailKey merged = key_of(message);
  Waiting& mail = mails[merged];
  mail.to = message.to;
  mail.subject = message.subject;
  mail.covers = message.covers;
  for (const MailKey& key : mail.covers) mails.at(key).covered = true;
  bool safe = queue && runtime::mono_now() >= disk_not_before;
  if (safe) {
    Result<MailQueue::Taken> put = queue->put(message);
    Result<void> synced = put ? queue->sync() : Result<void>(put.error());
    if (!synced) disk_failed(synced.error());
    safe = synced && *put == MailQueue::Taken::Queued;
  }
  if (safe)
    cover(merged);
  else
    mail.memory = std::move(message);
}

/// A mail that takes the place of others is on disk: they are over.
void Mailer::Impl::cover(const MailKey& key) {
  for (const MailKey& part : std::exchange(mails.at(key).covers, {})) forget(part);
  sync_queue();
}

/// The limit is reached: says so, when the first of a person's mails is held back.
void Mailer::Impl::hold_back(const MailKey& key, const Waiting& mail, WallTime until) {
  if (ledger.held(key)) return;
  const bool first = std::ranges::none_of(
      mails, [&](const auto& other) { return other.second.to == mail.to && ledger.held(other.first); });
  ledger.hold(key);
  if (first)
    report(
        Outcome{engine::AlertId{key.alert}, Outcome::Kind::Failed,
                fmt::format("mail to {} held back: the limit of {} is reached; what is held back is summed up in one "
                            "mail at {}",
                            mail.to, describe(*last_limit), format_civil(options.civil(until)))});
}

/// Tells people what was dropped of their mails, once a server works and nothing waits that it did not take from them
/// at the last try. The word goes before what came later.
void Mailer::Impl::report_dropped() {
  report_at.reset();
  if (ledger.dropped().empty() || servers.empty() || (!served && !mails.empty())) return;
  const WallTime now = options.wall();
  std::vector<std::string> people;
  for (const auto& [to, dropped] : ledger.dropped()) {
    if (std::ranges::any_of(mails, [&](const auto& mail) { return mail.second.to == to && mail.second.failed; }))
      continue;
    if (const auto until = ledger.full_until(to, now))
      report_at = report_at ? std::min(*report_at, *until) : *until;
    else
      people.push_back(to);
  }
  for (const std::string& to : people) report_dropped_to(to);
}

void Mailer::Impl::report_dropped_to(const std::string& to) {
  Mail message =
      compose_dropped(ledger.dropped().find(to)->second, {host, options.version, options.civil}, options.wall());
  while (mails.contains(key_of(message)) || (queue && queue->known(key_of(message)))) ++message.number;
  const MailKey key = key_of(message);
  bool safe = queue && runtime::mono_now() >= disk_not_before;
  if (safe) {
    ledger.telling(to, key);
    Result<MailQueue::Taken> put = queue->put(message);
    Result<void> synced = put ? queue->sync() : Result<void>(put.error());
    if (!synced) disk_failed(synced.error());
    if (synced && *put != MailQueue::Taken::Queued) return;  // no room now: when one of those that wait has gone
    safe = static_cast<bool>(synced);
  }
  Waiting& mail = mails[key];
  mail.to = message.to;
  mail.subject = message.subject;
  if (!safe) mail.memory = std::move(message);
  ledger.mark_notified(to);
}

/// What is said about the queue from now on.
void Mailer::Impl::report_figures() {
  MailFigures figures{.waiting = mails.size(), .since = {}, .error = {}, .error_since = {}};
  if (!mails.empty()) figures.since = WallTime{milliseconds{mails.begin()->first.when}};
  if (last_error) std::tie(figures.error, figures.error_since) = *last_error;
  const auto earlier = [](std::optional<WallTime>& first, WallTime when) {
    first = first ? std::min(*first, when) : when;
  };
  const WallTime now = options.wall();
  for (const auto& [key, mail] : mails) {
    if (mail.covered) continue;
    if (const auto until = held_for_digest(mail, now)) {
      ++figures.gathered;
      earlier(figures.digest_until, *until);
    } else if (ledger.held(key)) {
      ++figures.held;
      if (const auto room = ledger.full_until(mail.to, now)) earlier(figures.held_until, *room);
    }
  }
  if (figures.held > 0 && last_limit) figures.limit = describe(*last_limit);
  const std::lock_guard lock(figures_mutex);
  reported_figures = std::move(figures);
}

}  // namespace healer::delivery
