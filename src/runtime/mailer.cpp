// SPDX-License-Identifier: MIT
#include "runtime/mailer.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>
#include <signal.h>

#include <spdlog/fmt/fmt.h>

#include "actions/mail.hpp"
#include "runtime/smtp.hpp"
#include "util/text.hpp"

namespace healer::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using Outcome = engine::event::MailOutcome;
using engine::Severity;

constexpr std::size_t kMaxInbox = 10'000;      // alerts that wait for a disk that does not answer
constexpr std::uint32_t kOvertaken = 8;        // refusals for now after which a mail holds others back no more
constexpr std::uint32_t kMaxRefusals = 7'200;  // about five days of them
constexpr Duration kJoinPatience{500};         // beyond the grace of stop(), before the thread is left to itself
constexpr Duration kLongestGrace{1'400};

/// A mail that waits.
struct Waiting {
  std::string to;
  std::optional<actions::Message> memory;  ///< where it could not be written
  Clock::time_point not_before{};
  std::uint32_t refusals = 0;
  bool failure_told = false;
};

struct Server {
  engine::MailServer settings;
  Clock::time_point not_before{};
  std::uint32_t failures = 0;  ///< in a row
};

}  // namespace

struct Mailer::Impl {
  Impl(MailerOptions mailer_options, MailerCallbacks mailer_callbacks)
      : options(std::move(mailer_options)), callbacks(std::move(mailer_callbacks)) {}

  // Set once.
  const MailerOptions options;
  const MailerCallbacks callbacks;
  std::thread thread;

  // Between the threads.
  std::mutex mutex;
  std::condition_variable ended;
  std::vector<engine::effect::Alert> inbox;
  std::optional<engine::MailSettings> new_settings;
  std::optional<Clock::time_point> stop_at;
  bool inbox_overflowed = false;
  bool over = false;
  std::mutex silence;     // held while a callback runs
  bool silenced = false;  // under `silence`
  std::atomic<std::size_t> count{0};
  SmtpClient smtp;

  // The thread's own.
  engine::MailSettings settings;
  std::vector<Server> servers;
  std::optional<MailQueue> queue;
  bool disk_sick = false;
  Clock::time_point disk_not_before{};
  std::map<MailKey, Waiting> mails;
  std::map<std::uint64_t, std::vector<MailKey>> untaken;  ///< alerts whose mails are not safe on disk
  bool said_no_servers = false;
  bool said_full = false;

  void run();
  void take_settings();
  void take_alerts();
  void use(engine::MailSettings fresh);
  void store(const engine::effect::Alert& alert);
  bool open_queue();
  void write_memory();
  void disk_failed(const Error& error);
  void deliver(const MailKey& key, bool last);
  bool try_servers(const MailKey& key, const actions::Message& message, bool last);
  void server_failed(Server& server, const std::string& reason);
  void close_mail(const MailKey& key, Outcome::Kind kind, std::string text);
  std::optional<MailKey> next_mail(Clock::time_point now, Clock::time_point& wake, const MailKey* after = nullptr);
  [[nodiscard]] bool stopping_now();
  void report(engine::Event event);
  void log(Severity severity, std::string text);
  [[nodiscard]] Duration rest(std::uint32_t failures) const;
};

// ---- the front ----------------------------------------------------------------------------------------------------

Mailer::Mailer(MailerOptions options, engine::MailSettings settings, MailerCallbacks callbacks)
    : impl_(std::make_shared<Impl>(std::move(options), std::move(callbacks))) {
  impl_->new_settings = std::move(settings);
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

void Mailer::configure(engine::MailSettings settings) {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->new_settings = std::move(settings);
  }
  impl_->smtp.wake();
}

void Mailer::stop(Duration grace) {
  if (!impl_->thread.joinable()) return;
  grace = std::min(grace, kLongestGrace);
  {
    std::unique_lock lock(impl_->mutex);
    impl_->stop_at = Clock::now() + grace;
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
  impl_->thread.detach();
  const std::lock_guard lock(impl_->silence);
  impl_->silenced = true;
}

std::size_t Mailer::waiting() const { return impl_->count; }

// ---- the thread ---------------------------------------------------------------------------------------------------

void Mailer::Impl::report(engine::Event event) {
  const std::lock_guard lock(silence);
  if (!silenced) callbacks.report(std::move(event));
}

void Mailer::Impl::log(Severity severity, std::string text) {
  const std::lock_guard lock(silence);
  if (!silenced) callbacks.log(severity, std::move(text));
}

Duration Mailer::Impl::rest(std::uint32_t failures) const {
  const std::uint32_t doublings = std::min<std::uint32_t>(failures > 0 ? failures - 1 : 0, 30);
  return std::min(options.last_rest, options.first_rest * (std::int64_t{1} << doublings));
}

bool Mailer::Impl::stopping_now() {
  const std::lock_guard lock(mutex);
  return stop_at && Clock::now() >= *stop_at;
}

void Mailer::Impl::run() {
  for (;;) {
    take_settings();
    take_alerts();
    write_memory();
    const Clock::time_point now = Clock::now();
    Clock::time_point wake = now + hours{1};
    const std::optional<MailKey> mail = next_mail(now, wake);
    {
      const std::lock_guard lock(mutex);
      if (stop_at && inbox.empty() && (!mail || now >= *stop_at)) break;
      if (stop_at) wake = std::min(wake, *stop_at);
    }
    if (mail) {
      Clock::time_point ignored = wake;
      deliver(*mail, !next_mail(now, ignored, &*mail));
    } else {
      if (disk_sick) wake = std::min(wake, disk_not_before);
      smtp.wait(std::chrono::ceil<milliseconds>(std::max(wake - now, Clock::duration{0})));
    }
  }
  const std::lock_guard lock(mutex);
  over = true;
  ended.notify_all();
}

void Mailer::Impl::take_settings() {
  std::optional<engine::MailSettings> fresh;
  {
    const std::lock_guard lock(mutex);
    fresh.swap(new_settings);
  }
  if (fresh) use(std::move(*fresh));
}

void Mailer::Impl::take_alerts() {
  std::vector<engine::effect::Alert> alerts;
  bool overflowed = false;
  {
    const std::lock_guard lock(mutex);
    alerts.swap(inbox);
    overflowed = std::exchange(inbox_overflowed, false);
  }
  if (!queue) (void)open_queue();
  for (const engine::effect::Alert& alert : alerts) store(alert);
  if (overflowed)
    log(Severity::Error, "mail queue: more alerts came than the disk could take; the rest is queued at the next start");
  count = mails.size();
}

void Mailer::Impl::use(engine::MailSettings fresh) {
  settings = std::move(fresh);
  servers.clear();
  for (const engine::MailServer& server : settings.servers) {
    if (const std::string text = complaint(server); !text.empty())
      log(Severity::Warning, fmt::format("mail server {}: {}", describe(server), text));
    servers.push_back({server, {}, 0});
  }
  said_no_servers = false;
  // Other servers may take what these refused for now.
  for (auto& [key, mail] : mails) mail.not_before = {};
}

bool Mailer::Impl::open_queue() {
  if (Clock::now() < disk_not_before) return false;
  Result<MailQueue> opened = MailQueue::open(options.directory, options.limits,
                                             [this](std::string text) { log(Severity::Error, std::move(text)); });
  if (!opened) {
    disk_failed(opened.error());
    return false;
  }
  queue.emplace(std::move(*opened));
  std::vector<MailKey> keys;
  for (const auto& [key, size] : queue->waiting()) keys.push_back(key);
  for (const MailKey& key : keys) {
    Result<actions::Message> message = queue->read(key);
    if (message) {
      mails[key].to = message->to;
    } else if (message.error().code != 0) {
      mails[key];  // cannot be read now: seen again when its turn comes
    } else {
      report(Outcome{engine::AlertId{key.alert}, Outcome::Kind::Dropped, message.error().what});
    }
  }
  if (!mails.empty()) log(Severity::Info, fmt::format("mail queue: {} mails of an earlier run wait", mails.size()));
  return true;
}

void Mailer::Impl::disk_failed(const Error& error) {
  if (!disk_sick)
    log(Severity::Error, fmt::format("mail queue: {}; mails are kept in memory until it can be written", error.what));
  disk_sick = true;
  disk_not_before = Clock::now() + options.disk_rest;
}

void Mailer::Impl::store(const engine::effect::Alert& alert) {
  const engine::event::AlertTaken taken{alert.alert};
  if (servers.empty()) {
    if (!alert.recipients.empty() && !std::exchange(said_no_servers, true))
      report(Outcome{alert.alert, Outcome::Kind::Dropped, "no mail is sent: no mail server is set (set mailserver)"});
    report(taken);
    return;
  }
  std::vector<MailKey> waiting;
  bool safe = true;
  for (actions::Message& message :
       actions::compose_mails(alert, settings, {options.host, options.version, options.civil})) {
    const MailKey key = key_of(message);
    if (mails.contains(key) || (queue && queue->known(key))) {
      if (mails.contains(key)) {
        waiting.push_back(key);
        safe = safe && !mails[key].memory;
      }
      continue;
    }
    std::optional<MailQueue::Taken> put;
    if (queue && Clock::now() >= disk_not_before) {
      Result<MailQueue::Taken> result = queue->put(message);
      if (result) {
        put = *result;
      } else {
        disk_failed(result.error());
      }
    }
    if (put == MailQueue::Taken::Full || mails.size() >= options.limits.messages) {
      if (!std::exchange(said_full, true))
        log(Severity::Error, fmt::format("mail queue: full with {} mails; new ones are dropped", mails.size()));
      report(Outcome{alert.alert, Outcome::Kind::Dropped,
                     fmt::format("mail to {} dropped: the mail queue is full", message.to)});
      continue;
    }
    Waiting& mail = mails[key];
    mail.to = message.to;
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
    report(taken);
  } else {
    untaken[alert.alert.number()] = std::move(waiting);
  }
}

/// Writes mails that are in memory only, once the disk works again.
void Mailer::Impl::write_memory() {
  if (!disk_sick || Clock::now() < disk_not_before || (!queue && !open_queue())) return;
  for (auto& [key, mail] : mails) {
    if (!mail.memory) continue;
    Result<MailQueue::Taken> put = queue->put(*mail.memory);
    if (!put) return disk_failed(put.error());
    if (*put == MailQueue::Taken::Full) {
      disk_not_before = Clock::now() + options.disk_rest;
      return;
    }
    mail.memory.reset();
  }
  if (Result<void> synced = queue->sync(); !synced) return disk_failed(synced.error());
  disk_sick = false;
  log(Severity::Info, "mail queue: the disk works again");
  for (const auto& [alert, keys] : std::exchange(untaken, {}))
    report(engine::event::AlertTaken{engine::AlertId{alert}});
}

/// The first mail (after `after`) that may be sent now; else `wake` is when the next may be.
std::optional<MailKey> Mailer::Impl::next_mail(Clock::time_point now, Clock::time_point& wake, const MailKey* after) {
  if (servers.empty() || mails.empty()) return std::nullopt;
  Clock::time_point server_ready = Clock::time_point::max();
  for (const Server& server : servers) server_ready = std::min(server_ready, server.not_before);
  if (server_ready > now) {
    wake = std::min(wake, server_ready);
    return std::nullopt;
  }
  std::set<std::string_view> held_back;
  for (const auto& [key, mail] : mails) {
    if (held_back.contains(mail.to)) continue;
    if (mail.not_before > now) {
      wake = std::min(wake, mail.not_before);
      if (mail.refusals < kOvertaken) held_back.insert(mail.to);
    } else if (after == nullptr || *after < key) {
      return key;
    }
  }
  return std::nullopt;
}

void Mailer::Impl::deliver(const MailKey& key, bool last) {
  Waiting& mail = mails.at(key);
  if (mail.memory) {
    const actions::Message message = *mail.memory;
    (void)try_servers(key, message, last);
    return;
  }
  const Result<actions::Message> message = queue->read(key);
  if (message) {
    mail.to = message->to;
    (void)try_servers(key, *message, last);
  } else if (message.error().code != 0) {
    log(Severity::Error, "mail queue: " + message.error().what);
    mail.not_before = Clock::now() + rest(++mail.refusals);
  } else {
    mails.erase(key);
    count = mails.size();
    report(Outcome{engine::AlertId{key.alert}, Outcome::Kind::Dropped, message.error().what});
  }
}

bool Mailer::Impl::try_servers(const MailKey& key, const actions::Message& message, bool last) {
  using Kind = SmtpResult::Kind;
  std::string refusal;
  std::string fault;
  const std::string ehlo = settings.hostname.empty() ? options.host : settings.hostname;
  const Duration timeout = settings.timeout;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    if (servers[i].not_before > Clock::now()) continue;
    const engine::MailServer server = servers[i].settings;
    const SmtpResult result = smtp.send(server, ehlo, timeout, message, last, [&] {
      take_alerts();  // they go to disk while a server lets us wait
      return !stopping_now();
    });
    if (result.kind == Kind::Aborted) return false;
    if (result.kind == Kind::Taken) {
      if (std::exchange(servers[i].failures, 0) > 0)
        log(Severity::Info, fmt::format("mail server {} works again", describe(server)));
      close_mail(key, Outcome::Kind::Sent,
                 fmt::format("mail to {} sent through {}: {}", message.to, describe(server), message.subject));
      return true;
    }
    if (result.kind == Kind::RefusedForGood) {
      close_mail(key, Outcome::Kind::Dropped,
                 fmt::format("mail to {} refused by {}: {}", message.to, describe(server), result.text));
      return true;
    }
    if (result.kind == Kind::RefusedForNow) {
      refusal = fmt::format("{}: {}", describe(server), result.text);
    } else {
      fault = fmt::format("{}: {}", describe(server), result.text);
      server_failed(servers[i], result.text);
    }
  }
  Waiting& mail = mails.at(key);
  if (!refusal.empty()) {
    mail.not_before = Clock::now() + rest(++mail.refusals);
    if (mail.refusals >= kMaxRefusals) {
      close_mail(
          key, Outcome::Kind::Dropped,
          fmt::format("mail to {} given up after {} refusals, the last by {}", message.to, mail.refusals, refusal));
      return true;
    }
  }
  const std::string reason = refusal.empty() ? fault : refusal;
  if (!reason.empty() && !std::exchange(mail.failure_told, true))
    report(Outcome{message.alert, Outcome::Kind::Failed,
                   fmt::format("mail to {} not sent yet, is tried again: {}", message.to, reason)});
  return false;
}

void Mailer::Impl::server_failed(Server& server, const std::string& reason) {
  ++server.failures;
  const Duration pause = rest(server.failures);
  server.not_before = Clock::now() + pause;
  if (server.failures == 1)
    log(Severity::Warning, fmt::format("mail server {} does not work: {}; mails that wait: {}",
                                       describe(server.settings), reason, mails.size()));
  else
    log(Severity::Debug, fmt::format("mail server {} still does not work: {}; tried again in {}",
                                     describe(server.settings), reason, format_duration(pause)));
}

/// The mail is done with, one way or the other.
void Mailer::Impl::close_mail(const MailKey& key, Outcome::Kind kind, std::string text) {
  mails.erase(key);
  count = mails.size();
  said_full = false;
  if (queue) {
    Result<void> finished = queue->finish(key);
    if (finished) finished = queue->sync();
    if (!finished) log(Severity::Error, "mail queue: " + finished.error().what);
  }
  const auto alert = untaken.find(key.alert);
  if (alert != untaken.end()) {
    std::erase(alert->second, key);
    if (alert->second.empty()) {
      untaken.erase(alert);
      report(engine::event::AlertTaken{engine::AlertId{key.alert}});
    }
  }
  report(Outcome{engine::AlertId{key.alert}, kind, std::move(text)});
}

}  // namespace healer::runtime
