// SPDX-License-Identifier: MIT
#include "runtime/log/log.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <spdlog/fmt/fmt.h>
#include <spdlog/sinks/syslog_sink.h>

#include "runtime/clock.hpp"
#include "runtime/log/log_sinks.hpp"
#include "util/left_threads.hpp"
#include "util/text.hpp"

namespace healer::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using engine::Severity;
using Target = LogOptions::Target;

constexpr std::size_t kMaxText = 64 * 1024;
constexpr std::string_view kIdentity = "healerd";
constexpr Duration kWriterPatience{200};  // beyond the grace of stop()

struct Entry {
  Severity severity = Severity::Info;
  WallTime when{};
  std::string service;
  std::string text;

  [[nodiscard]] std::size_t size() const { return sizeof(Entry) + service.size() + text.size(); }
};

/// Where the entries go; null: nowhere.
std::shared_ptr<spdlog::sinks::sink> target_sink(const LogOptions& options) {
  std::shared_ptr<spdlog::sinks::sink> sink;
  switch (options.target) {
    case Target::None: return nullptr;
    case Target::File:
      sink = std::make_shared<FileSink>(options.path);
      sink->set_formatter(monit_formatter(options.civil));
      break;
    case Target::StandardError:
      sink = std::make_shared<StandardErrorSink>();
      sink->set_formatter(monit_formatter(options.civil));
      break;
    case Target::Syslog:
      sink = std::make_shared<spdlog::sinks::syslog_sink_st>(std::string(kIdentity), LOG_PID,
                                                             syslog_facility(options.facility), true);
      sink->set_formatter(text_formatter("\\n", ""));
      break;
    case Target::Journal:
      sink = std::make_shared<JournalSink>(std::string(kIdentity));
      sink->set_formatter(text_formatter("\n", ""));
      break;
  }
  return sink;
}

}  // namespace

int syslog_facility(std::string_view word) {
  static constexpr std::pair<std::string_view, int> kFacilities[] = {
      {"log_auth", LOG_AUTH},     {"log_authpriv", LOG_AUTHPRIV}, {"log_cron", LOG_CRON},
      {"log_daemon", LOG_DAEMON}, {"log_ftp", LOG_FTP},           {"log_kern", LOG_KERN},
      {"log_lpr", LOG_LPR},       {"log_mail", LOG_MAIL},         {"log_news", LOG_NEWS},
      {"log_syslog", LOG_SYSLOG}, {"log_user", LOG_USER},         {"log_uucp", LOG_UUCP},
      {"log_local0", LOG_LOCAL0}, {"log_local1", LOG_LOCAL1},     {"log_local2", LOG_LOCAL2},
      {"log_local3", LOG_LOCAL3}, {"log_local4", LOG_LOCAL4},     {"log_local5", LOG_LOCAL5},
      {"log_local6", LOG_LOCAL6}, {"log_local7", LOG_LOCAL7}};
  for (const auto& [name, number] : kFacilities)
    if (iequals(word, name)) return number;
  return LOG_USER;
}

bool under_journal() {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat facts {};
  return stream != nullptr && ::fstat(STDERR_FILENO, &facts) == 0 &&
         fmt::format("{}:{}", facts.st_dev, facts.st_ino) == stream;
}

LogOptions LogOptions::of(const engine::LogSettings& settings, bool foreground, CivilClock civil) {
  LogOptions options;
  options.civil = std::move(civil);
  options.path = settings.path;
  options.facility = settings.facility;
  switch (settings.target) {
    case engine::LogSettings::Target::File: options.target = Target::File; break;
    case engine::LogSettings::Target::Syslog: options.target = Target::Syslog; break;
    case engine::LogSettings::Target::None:
      if (under_journal()) {
        options.target = Target::Journal;
      } else {
        options.target = foreground ? Target::StandardError : Target::Syslog;
      }
      return options;
  }
  options.echo = foreground && !under_journal();
  return options;
}

// ---- the thread ---------------------------------------------------------------------------------------------------

struct Log::Impl {
  // Between the threads.
  std::mutex mutex;
  std::condition_variable wake;
  std::condition_variable ended;
  std::deque<Entry> queue;
  std::size_t queued_bytes = 0;
  std::optional<LogOptions> new_options;
  std::optional<Clock::time_point> stop_at;
  bool open_again = false;
  bool over = false;
  std::atomic<std::size_t> queue_bytes{0};
  std::atomic<std::uint64_t> lost{0};
  std::thread thread;

  // The thread's own, but for the logger's level, which is atomic.
  LogOptions options;
  ServiceLogger logger{std::string(kIdentity)};  ///< standard error in the foreground, and the target
  ServiceLogger losses{std::string(kIdentity)};  ///< the target alone
  bool failed = false;                           ///< an entry did not reach the target
  std::uint64_t reported_lost = 0;               ///< of `lost`
  std::string reason;                            ///< of the loss
  bool reason_reported = false;

  Impl();
  void use(LogOptions others);
  void run();
  void emit(const Entry& entry);
  [[nodiscard]] bool reached(ServiceLogger& through, const Entry& entry);
  void report_losses();
  void open_file_again();
};

Log::Impl::Impl() {
  for (ServiceLogger* const one : {&logger, &losses})
    one->set_error_handler([this](const std::string& why) {
      failed = true;
      if (!why.empty()) reason = why;
    });
}

void Log::Impl::use(LogOptions others) {
  options = std::move(others);
  logger.sinks().clear();
  losses.sinks().clear();
  if (options.echo) {
    logger.sinks().push_back(std::make_shared<StandardErrorSink>(true));
    logger.sinks().back()->set_formatter(text_formatter("\n    ", "\n"));
  }
  const std::shared_ptr<spdlog::sinks::sink> target = target_sink(options);
  if (target == nullptr) return;
  logger.sinks().push_back(target);
  losses.sinks().push_back(target);
}

void Log::Impl::run() {
  std::unique_lock lock(mutex);
  for (;;) {
    wake.wait(lock, [this] { return !queue.empty() || new_options || open_again || stop_at; });
    if (stop_at && (queue.empty() || Clock::now() >= *stop_at)) break;
    if (new_options || open_again) {
      std::optional<LogOptions> others = std::exchange(new_options, std::nullopt);
      open_again = false;
      lock.unlock();
      try {
        if (others)
          use(std::move(*others));
        else
          open_file_again();
      } catch (const std::exception& error) {  // for want of memory
        reason = error.what();
      }
      lock.lock();
      continue;
    }
    const Entry entry = std::move(queue.front());
    queue.pop_front();
    queued_bytes -= entry.size();
    lock.unlock();
    try {
      emit(entry);
    } catch (const std::exception& error) {  // for want of memory, most likely
      ++lost;
      reason = error.what();
    }
    lock.lock();
  }
  over = true;
  ended.notify_all();
}

bool Log::Impl::reached(ServiceLogger& through, const Entry& entry) {
  failed = false;
  through.write(entry.severity, entry.when, entry.service, entry.text);
  return !failed;
}

void Log::Impl::emit(const Entry& entry) {
  report_losses();
  if (reached(logger, entry)) return;
  ++lost;
  // Nobody reads the log now: standard error is the last resort, once.
  if (!std::exchange(reason_reported, true) && !options.echo)
    std::fputs(fmt::format("{}: the log cannot be written: {}\n", kIdentity, reason).c_str(), stderr);
}

void Log::Impl::report_losses() {
  const std::uint64_t now_lost = lost;
  if (now_lost == reported_lost) return;
  const Entry entry{Severity::Error, now().wall, "",
                    fmt::format("{} log entries were lost: {}", now_lost - reported_lost,
                                reason.empty() ? "they came faster than they could be written" : reason)};
  if (!reached(losses, entry)) return;
  reported_lost = now_lost;
  reason.clear();
  reason_reported = false;
}

void Log::Impl::open_file_again() {
  if (options.target != Target::File) return;
  const Result<void> again = static_cast<FileSink&>(*logger.sinks().back()).reopen();
  if (again) return;
  emit({Severity::Warning, now().wall, "",
        fmt::format("the log cannot be reopened and continues in the open file: {}", again.error().what)});
}

// ---- the front ----------------------------------------------------------------------------------------------------

Result<void> Log::check(const LogOptions& options) {
  if (options.target != Target::File) return {};
  const Result<Descriptor> file = FileSink::open(options.path, O_NONBLOCK);
  if (file || file.error().code == ENXIO) return {};  // a pipe that nobody reads yet
  return file.error();
}

Log::Log(LogOptions options) : impl_(std::make_shared<Impl>()) {
  impl_->logger.set_level(level_of(options.lowest));
  impl_->queue_bytes = options.queue_bytes;
  impl_->use(std::move(options));
  // Signals are the loop's.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  impl_->thread = std::thread([impl = impl_] { impl->run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(impl_->thread.native_handle(), "healer-log");
}

Log::~Log() { stop(); }

void Log::write(Severity severity, WallTime when, std::string_view service, std::string_view text) {
  if (!impl_->logger.should_log(level_of(severity))) return;
  Entry entry{severity, when, std::string(service.substr(0, kMaxText)), std::string(text.substr(0, kMaxText))};
  {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->queued_bytes + entry.size() > impl_->queue_bytes) {
      ++impl_->lost;
      return;
    }
    impl_->queued_bytes += entry.size();
    impl_->queue.push_back(std::move(entry));
  }
  impl_->wake.notify_one();
}

void Log::configure(LogOptions options) {
  impl_->logger.set_level(level_of(options.lowest));
  impl_->queue_bytes = options.queue_bytes;
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->new_options = std::move(options);
  }
  impl_->wake.notify_one();
}

void Log::reopen() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->open_again = true;
  }
  impl_->wake.notify_one();
}

void Log::stop(Duration grace) {
  if (!impl_->thread.joinable()) return;
  std::unique_lock lock(impl_->mutex);
  impl_->stop_at = Clock::now() + grace;
  impl_->wake.notify_one();
  impl_->ended.wait_for(lock, grace + kWriterPatience, [this] { return impl_->over; });
  const bool over = impl_->over;
  lock.unlock();
  end_thread(impl_->thread, over);
}

std::uint64_t Log::lost() const { return impl_->lost; }

}  // namespace healer::runtime
