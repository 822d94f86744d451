// SPDX-License-Identifier: MIT
#include "delivery/outbox/mailer.hpp"

#include <algorithm>
#include <exception>
#include <set>

#include <pthread.h>
#include <signal.h>

#include <spdlog/fmt/fmt.h>

#include "delivery/contacts/mail_text.hpp"
#include "delivery/outbox/mail_places.hpp"
#include "delivery/outbox/mailer_impl.hpp"
#include "runtime/clock.hpp"
#include "util/left_threads.hpp"

namespace healer::delivery {

using engine::Severity;
using runtime::complaint;
using runtime::describe;
using runtime::mono_now;

namespace {

constexpr std::size_t kMaxInbox = 10'000;  // alerts that wait for a disk that does not answer
constexpr std::uint32_t kOvertaken = 8;    // refusals for now after which a mail holds others back no more
constexpr Duration kJoinPatience{500};     // beyond the grace of stop(), before the thread is left to itself
constexpr Duration kLongestGrace{1'400};
constexpr Duration kRestAfterFault{1'000};

}  // namespace

// ---- the front ----------------------------------------------------------------------------------------------------

Mailer::Mailer(MailerOptions options, engine::MailSettings settings, Duration cycle, MailerCallbacks callbacks) {
  if (!options.wall) options.wall = runtime::wall_now;
  impl_ = std::make_shared<Impl>(std::move(options), std::move(callbacks));
  impl_->new_settings = {std::move(settings), cycle, impl_->options.host};
  // Signals are the loop's.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  impl_->thread = std::thread([impl = impl_] { impl->run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(impl_->thread.native_handle(), "healer-mail");
}

Mailer::~Mailer() { stop(); }

void Mailer::submit(engine::effect::Alert alert) {
  {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->inbox.size() >= kMaxInbox) {
      impl_->inbox_overflowed = true;  // the engine still has it, for the next start
    } else {
      impl_->inbox.push_back(std::move(alert));
    }
  }
  impl_->smtp.wake();
}

void Mailer::configure(engine::MailSettings settings, Duration cycle, std::string host) {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->new_settings = {std::move(settings), cycle, std::move(host)};
  }
  impl_->smtp.wake();
}

void Mailer::stop(Duration grace) {
  if (!impl_->thread.joinable()) return;
  grace = std::min(grace, kLongestGrace);
  {
    std::unique_lock lock(impl_->mutex);
    impl_->stop_at = mono_now() + grace;
    impl_->smtp.wake();
    const auto over = [this] { return impl_->over; };
    if (!impl_->ended.wait_for(lock, grace, over)) {
      impl_->smtp.wake();  // the grace is over: it gives up what it sends
      impl_->ended.wait_for(lock, kJoinPatience, over);
    }
    if (impl_->over) {
      lock.unlock();
      impl_->thread.join();
      return;
    }
  }
  // It hangs in the kernel. It may finish what it does, unheard.
  end_thread(impl_->thread, false);
  const std::lock_guard lock(impl_->silence);
  impl_->silenced = true;
}

MailFigures Mailer::figures() const {
  const std::lock_guard lock(impl_->figures_mutex);
  return impl_->reported_figures;
}

std::size_t Mailer::waiting() const { return figures().waiting; }

// ---- the thread ---------------------------------------------------------------------------------------------------

void Mailer::Impl::report(engine::Event event) {
  const std::lock_guard lock(silence);
  if (!silenced) callbacks.report(std::move(event));
}

void Mailer::Impl::log(Severity severity, std::string text) {
  const std::lock_guard lock(silence);
  if (!silenced) callbacks.log(severity, std::move(text));
}

bool Mailer::Impl::stopping_now() {
  const std::lock_guard lock(mutex);
  return stop_at && mono_now() >= *stop_at;
}

void Mailer::Impl::run() {
  for (bool goes_on = true; goes_on;) {
    try {
      goes_on = turn();
    } catch (const std::exception& error) {
      // What was to be stored is still the engine's, and what is stored stays: it is tried again.
      sending.reset();
      try {
        log(Severity::Error, fmt::format("mail: {}", error.what()));
      } catch (const std::exception&) {  // for want of memory, most likely
      }
      {
        const std::lock_guard lock(mutex);
        goes_on = !stop_at;
      }
      if (goes_on) smtp.wait(kRestAfterFault);
    }
  }
  const std::lock_guard lock(mutex);
  over = true;
  ended.notify_all();
}

/// False where it was the last.
bool Mailer::Impl::turn() {
  take_results();
  write_memory();
  // One time for both: a mail that was held when mails were merged does not go by itself a moment later.
  const WallTime wall = options.wall();
  merge_due(wall);
  report_dropped();
  report_figures();
  const Duration now = mono_now();
  Duration wake = now + hours{1};
  if (report_at) wake = std::min(wake, now + std::max(*report_at - options.wall(), Duration{1}));
  const std::optional<MailKey> mail = next_mail(now, wall, wake);
  if (!mail) report_figures();  // what a limit holds back is known by now
  {
    const std::lock_guard lock(mutex);
    if (stopping && inbox.empty() && (!mail || now >= *stop_at)) return false;
    if (stop_at) wake = stopping ? std::min(wake, *stop_at) : now;
  }
  if (mail) {
    Duration ignored = wake;
    sending = *mail;
    deliver(*mail, !next_mail(now, wall, ignored, &*mail));
    sending.reset();
  } else {
    if (disk_sick) wake = std::min(wake, disk_not_before);
    smtp.wait(std::max(wake - now, Duration{0}));
  }
  return true;
}

/// Settings and alerts, in one go: an alert that was handed over after new settings is written by them.
void Mailer::Impl::take_results() {
  std::optional<Settings> fresh;
  std::vector<engine::effect::Alert> alerts;
  bool overflowed = false;
  {
    const std::lock_guard lock(mutex);
    if (sending && new_settings) return;  // the mail that is being sent goes by the settings it began with
    fresh.swap(new_settings);
    alerts.swap(inbox);
    overflowed = std::exchange(inbox_overflowed, false);
    stopping = stop_at.has_value();
  }
  if (fresh) use(std::move(*fresh));
  if (!queue) (void)open_queue();
  for (const engine::effect::Alert& alert : alerts) store(alert);
  if (overflowed)
    log(Severity::Error, "mail queue: more alerts came than the disk could take; the rest is queued at the next start");
  report_figures();
}

void Mailer::Impl::use(Settings fresh) {
  settings = std::move(fresh.mail);
  cycle = fresh.cycle;
  host = std::move(fresh.host);
  ledger.set_limit(settings.limit);
  if (settings.limit) last_limit = settings.limit;
  if (queue) queue->set_limits(limits());
  servers.clear();
  for (const engine::MailServer& server : settings.servers) {
    if (const std::string text = complaint(server); !text.empty())
      log(Severity::Warning, fmt::format("mail server {}: {}", describe(server), text));
    servers.push_back({server});
    ask_name(server.host);  // so that the last mails are sent, too, when nobody looks names up any more
  }
  logged_no_servers = false;
  // Other servers may take what these refused for now.
  for (auto& [key, mail] : mails) mail.refused.not_before = {};
}

/// Mails of earlier queues are moved to this one. A place that cannot be had now is remembered, and tried again at the
/// next start.
void Mailer::Impl::take_over_former() {
  std::vector<std::string> places;
  if (!options.places.empty()) {
    if (Result<std::vector<std::string>> read = read_mail_places(options.places); read)
      places = std::move(*read);
    else
      log(Severity::Error,
          fmt::format("mail queue: {}; mails that wait elsewhere are not looked for", read.error().what));
  }
  const std::vector<std::string> before = places;
  if (!options.former.empty()) places.push_back(options.former);
  std::vector<std::string> left;
  for (const std::string& place : places) {
    if (place == options.directory) continue;
    const Result<bool> moved = MailQueue::take_over(place, options.directory);
    if (!moved)
      log(Severity::Error,
          fmt::format("mail queue: {}; the mails there wait until the next start", moved.error().what));
    const bool done = moved && *moved;
    if (!done && place != options.former) left.push_back(place);
  }
  if (options.directory != options.former) left.push_back(options.directory);
  if (options.places.empty() || left == before) return;
  if (Result<void> written = write_mail_places(options.places, left); !written)
    log(Severity::Error,
        fmt::format("mail queue: {}; where mails wait is forgotten when healer ends", written.error().what));
}

bool Mailer::Impl::open_queue() {
  if (mono_now() < disk_not_before) return false;
  take_over_former();
  Result<MailQueue> opened =
      MailQueue::open(options.directory, limits(), [this](std::string text) { log(Severity::Error, std::move(text)); });
  if (!opened) {
    disk_failed(opened.error());
    return false;
  }
  queue.emplace(std::move(*opened));
  std::vector<MailKey> keys;
  for (const auto& [key, size] : queue->waiting()) keys.push_back(key);
  std::vector<MailKey> covered;  // by mails that were put just before the end of an earlier run
  for (const MailKey& key : keys) {
    Result<Mail> message = queue->read(key);
    if (message) {
      Waiting& mail = mails[key];
      mail.to = message->to;
      mail.subject = message->subject;
      mail.urgent = message->urgent;
      mail.digest = message->digest;
      mail.hold_until = message->hold_until;
      covered.insert(covered.end(), message->covers.begin(), message->covers.end());
    } else if (message.error().code != 0) {
      mails[key];  // cannot be read now: seen again when its turn comes
    } else {
      report(Outcome{engine::AlertId{key.alert}, Outcome::Kind::Dropped, message.error().what});
    }
  }
  for (const MailKey& key : covered) forget(key);
  sync_queue();
  if (Result<void> ledger_opened =
          ledger.open(options.directory + "/ledger", [this](const MailKey& key) { return mails.contains(key); });
      !ledger_opened) {
    log(Severity::Error,
        fmt::format("mail queue: {}; the mail limit is forgotten when healer ends", ledger_opened.error().what));
  }
  for (auto& [key, mail] : mails) mail.digest = mail.digest && !ledger.begun(key);
  if (!mails.empty()) log(Severity::Info, fmt::format("mail queue: {} mails of an earlier run wait", mails.size()));
  return true;
}

void Mailer::Impl::disk_failed(const Error& error) {
  if (!disk_sick)
    log(Severity::Error, fmt::format("mail queue: {}; mails are kept in memory until it can be written", error.what));
  disk_sick = true;
  disk_not_before = mono_now() + options.disk_rest;
}

void Mailer::Impl::store(const engine::effect::Alert& alert) {
  if (servers.empty()) {
    if (!alert.recipients.empty() && !std::exchange(logged_no_servers, true))
      report(Outcome{alert.alert, Outcome::Kind::Dropped, "no mail is sent: no mail server is set (set mailserver)"});
    report_taken(alert.alert);
    return;
  }
  std::vector<MailKey> waiting;
  bool safe = true;
  for (Mail& message : mail_kind().compose_mails(alert, settings, {host, options.version, options.civil})) {
    const MailKey key = key_of(message);
    message.hold_until = message.digest ? options.wall() + std::min(cycle, kLongestHold) : WallTime{};
    if (mails.contains(key) || (queue && queue->known(key))) {
      if (mails.contains(key)) {
        waiting.push_back(key);
        safe = safe && !mails[key].memory;
      }
      continue;
    }
    const bool room = make_room(key.alert, message.text.size());
    std::optional<MailQueue::Taken> put;
    if (room && queue && mono_now() >= disk_not_before) {
      Result<MailQueue::Taken> result = queue->put(message);
      if (result) {
        put = *result;
      } else {
        disk_failed(result.error());
      }
    }
    if (put == MailQueue::Taken::Full || !room) {
      ledger.drop(message);
      report(Outcome{alert.alert, Outcome::Kind::Dropped,
                     fmt::format("mail to {} dropped: the mail queue is full: {}", message.to, message.subject)});
      continue;
    }
    Waiting& mail = mails[key];
    mail.to = message.to;
    mail.subject = message.subject;
    mail.urgent = message.urgent;
    mail.digest = message.digest;
    mail.hold_until = message.hold_until;
    waiting.push_back(key);
    if (!put) {
      mail.memory = std::move(message);
      safe = false;
    }
  }
  if (safe && !waiting.empty()) {
    if (Result<void> synced = queue->sync(); !synced) {
      disk_failed(synced.error());
      safe = false;
    }
  }
  if (safe) {
    report_taken(alert.alert);
  } else {
    untaken[alert.alert.number()] = std::move(waiting);
  }
}

/// Most mails that may wait: healer's own bound, beyond those that slots let wait for a server.
Limits Mailer::Impl::limits() const {
  Limits most = options.limits;
  most.letters += settings.queue_slots;
  return most;
}

/// Makes room for one more mail: the oldest go. False: there is none.
bool Mailer::Impl::make_room(std::uint64_t alert, std::size_t bytes) {
  while (mails.size() >= limits().letters || (queue && queue->full(bytes))) {
    const auto may_go = [&](const auto& known) {
      return known.first != sending && known.first.alert != alert && !known.second.covered;
    };
    auto oldest = std::ranges::find_if(mails, [&](const auto& known) { return may_go(known) && !known.second.urgent; });
    if (oldest == mails.end()) oldest = std::ranges::find_if(mails, may_go);
    if (oldest == mails.end()) return false;
    if (!std::exchange(logged_full, true))
      log(Severity::Error, fmt::format("mail queue: full with {} mails; the oldest are dropped", mails.size()));
    drop(MailKey(oldest->first));
  }
  return true;
}

/// At a try no server took a mail to that person, or none: no server worked. It stands for all that would have gone
/// then: of what failed so, no more wait than there are slots. The oldest go: who reads his mails after a night without
/// a server needs to know how things stand. What comes while the servers rest counts at the next try.
void Mailer::Impl::not_taken(const std::string* to) {
  served = to != nullptr;
  const WallTime now = options.wall();
  std::vector<MailKey> failed;
  for (auto& [key, mail] : mails) {
    // What was held, and is not one mail yet, was not a part of the try either.
    const bool held =
        mail.digest || (ledger.held(key) && !ledger.begun(key)) || (!mail.urgent && ledger.full_until(mail.to, now));
    if (mail.covered || held) continue;
    mail.failed = mail.failed || to == nullptr || mail.to == *to;
    if (mail.failed) failed.push_back(key);
  }
  const std::size_t slots = settings.queue_slots;
  if (slots == 0 || failed.size() <= slots) return;
  if (!std::exchange(logged_full, true))
    log(Severity::Error, fmt::format("mail queue: full with {} mails; the oldest are dropped", slots));
  std::ranges::stable_partition(failed, [&](const MailKey& key) { return !mails.at(key).urgent; });
  failed.resize(failed.size() - slots);
  for (const MailKey& key : failed) drop(key);
}

/// A server took a mail to that person: what has failed for want of one is to be tried again.
void Mailer::Impl::taken(const std::string& to) {
  served = true;
  for (auto& [key, mail] : mails)
    if (mail.to == to || mail.refused.failures == 0) mail.failed = false;
}

/// Drops a mail, to be told of when a server works.
void Mailer::Impl::drop(const MailKey& key) {
  const Waiting& mail = mails.at(key);
  const std::string text =
      fmt::format("mail to {} dropped: the mail queue is full, and newer ones came: {}", mail.to, mail.subject);
  const Result<Mail> message = mail.memory ? Result<Mail>(*mail.memory) : queue->read(key);
  if (message) ledger.drop(*message);
  close_mail(key, Outcome::Kind::Dropped, text);
}

/// Writes mails that are in memory only, once the disk works again.
void Mailer::Impl::write_memory() {
  if (!disk_sick || mono_now() < disk_not_before || (!queue && !open_queue())) return;
  for (auto& [key, mail] : mails) {
    if (!mail.memory) continue;
    Result<MailQueue::Taken> put = queue->put(*mail.memory);
    if (!put) return disk_failed(put.error());
    if (*put == MailQueue::Taken::Full) {
      disk_not_before = mono_now() + options.disk_rest;
      return;
    }
    mail.memory.reset();
  }
  if (Result<void> synced = queue->sync(); !synced) return disk_failed(synced.error());
  disk_sick = false;
  log(Severity::Info, "mail queue: the disk works again");
  std::vector<MailKey> merged;
  for (const auto& [key, mail] : mails)
    if (!mail.covers.empty()) merged.push_back(key);
  for (const MailKey& key : merged) cover(key);
  for (const auto& [alert, keys] : std::exchange(untaken, {})) report_taken(engine::AlertId{alert});
}

/// The first mail (after `after`) that may be sent now; else `wake` is when the next may be.
std::optional<MailKey> Mailer::Impl::next_mail(Duration now, WallTime wall, Duration& wake, const MailKey* after) {
  if (servers.empty() || mails.empty()) return std::nullopt;
  Duration server_ready = Duration::max();
  for (const Server& server : servers) server_ready = std::min(server_ready, server.tries.not_before);
  if (server_ready > now) {
    wake = std::min(wake, server_ready);
    return std::nullopt;
  }
  const auto wake_at = [&](WallTime when) { wake = std::min(wake, now + std::max(when - wall, Duration{1})); };
  std::set<std::string_view> held_back;
  // What needs a person goes first.
  for (const bool urgent : {true, false}) {
    for (const auto& [key, mail] : mails) {
      if (mail.urgent != urgent || mail.covered || held_back.contains(mail.to)) continue;
      if (const auto until = held_for_digest(mail, wall)) {
        wake_at(*until);
        continue;
      }
      if (mail.refused.rests(now)) {
        wake = std::min(wake, mail.refused.not_before);
        if (mail.refused.failures < kOvertaken) held_back.insert(mail.to);
      } else if (after == nullptr || *after != key) {
        const bool one_more = after != nullptr && mails.at(*after).to == mail.to && !mails.at(*after).urgent;
        const auto until = urgent ? std::nullopt : ledger.full_until(mail.to, wall, one_more ? 1 : 0);
        if (until) {
          if (after == nullptr) hold_back(key, mail, *until);
          wake_at(*until);
          continue;
        }
        return key;
      }
    }
  }
  return std::nullopt;
}

/// The mail is done with, one way or the other.
void Mailer::Impl::close_mail(const MailKey& key, Outcome::Kind kind, std::string text) {
  const std::vector<MailKey> covered = mails.contains(key) ? mails.at(key).covers : std::vector<MailKey>();
  forget(key);
  for (const MailKey& part : covered) forget(part);
  sync_queue();
  if (kind == Outcome::Kind::Sent) logged_full = false;
  report_figures();
  report(Outcome{engine::AlertId{key.alert}, kind, std::move(text)});
}

/// It waits no more, and once the queue is synced never will again.
void Mailer::Impl::forget(const MailKey& key) {
  mails.erase(key);
  ledger.forget(key);
  if (queue) {
    if (Result<void> finished = queue->finish(key); !finished)
      log(Severity::Error, "mail queue: " + finished.error().what);
  }
  const auto alert = untaken.find(key.alert);
  if (alert != untaken.end()) {
    std::erase(alert->second, key);
    if (alert->second.empty()) {
      untaken.erase(alert);
      report_taken(engine::AlertId{key.alert});
    }
  }
}

void Mailer::Impl::sync_queue() {
  if (!queue) return;
  if (Result<void> synced = queue->sync(); !synced) log(Severity::Error, "mail queue: " + synced.error().what);
}

/// Whoever hears of it finds its mails counted.
void Mailer::Impl::report_taken(engine::AlertId alert) {
  report_figures();
  report(engine::event::AlertTaken{alert});
}

}  // namespace healer::delivery
