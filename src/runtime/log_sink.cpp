// SPDX-License-Identifier: MIT
#include "runtime/log_sink.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <syslog.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "runtime/descriptor.hpp"
#include "runtime/safe_path.hpp"
#include "util/text.hpp"

namespace healer::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using engine::Severity;
using Target = LogOptions::Target;

constexpr std::size_t kMaxText = 64 * 1024;
constexpr std::string_view kIdentity = "healerd";
constexpr Duration kOpenRest{1'000};      // before a file that cannot be opened is tried again
constexpr Duration kWriterPatience{200};  // beyond the grace of stop()

struct Entry {
  Severity severity = Severity::Info;
  WallTime when{};
  std::string service;
  std::string text;

  [[nodiscard]] std::size_t size() const { return sizeof(Entry) + service.size() + text.size(); }
};

int syslog_priority(Severity severity) {
  switch (severity) {
    case Severity::Debug: return LOG_DEBUG;
    case Severity::Info: return LOG_INFO;
    case Severity::Warning: return LOG_WARNING;
    case Severity::Error: return LOG_ERR;
  }
  return LOG_INFO;
}

/// "'service' text", each line printable, with `separator` between the lines.
std::string message(std::string_view service, std::string_view text, std::string_view separator) {
  std::string result = service.empty() ? "" : fmt::format("'{}' ", printable(service));
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  for (;;) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    result += printable(line);
    if (end == std::string_view::npos) return result;
    result += separator;
    text.remove_prefix(end + 1);
  }
}

/// Errors: as safe_path, or errno's.
Result<Descriptor> open_log(const std::string& path, int flags = 0) {
  std::string real = path;
  if (!path.starts_with("/dev/")) {  // as /dev/stdout, which is a link
    Result<std::string> safe = safe_path("the log file", path, Use::Log);
    if (!safe) return safe.error();
    real = std::move(*safe);
    flags |= O_NOFOLLOW;
  }
  Descriptor file(::open(real.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | flags, 0600));
  if (!file) return system_error(errno, fmt::format("the log {} cannot be written", path));
  return file;
}

/// Writes all of it; how much was written where that fails.
bool write_all(int file, std::string_view text, bool& begun) {
  begun = false;
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    begun = true;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

std::string format_log_entry(Severity severity, const CivilTime& civil, std::string_view service,
                             std::string_view text) {
  const std::int64_t offset = civil.offset.count() / 60;
  return fmt::format("[{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}{:02}{:02}] {:<9}: {}\n", civil.year, civil.month,
                     civil.day, civil.hour, civil.minute, civil.second, offset < 0 ? '-' : '+', std::abs(offset) / 60,
                     std::abs(offset) % 60, engine::to_string(severity), message(service, text, "\n    "));
}

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

struct LogSink::Impl {
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
  std::atomic<Severity> lowest{Severity::Info};
  std::atomic<std::size_t> queue_bytes{0};
  std::atomic<std::uint64_t> lost{0};
  std::thread thread;

  // The thread's own.
  LogOptions options;
  Descriptor file;
  Clock::time_point open_not_before{};
  bool half_line = false;       ///< the file ends in the middle of a line
  std::uint64_t lost_told = 0;  ///< of `lost`
  std::string reason;           ///< of the loss
  bool reason_told = false;

  void run();
  void emit(const Entry& entry);
  [[nodiscard]] bool emit_to_target(const Entry& entry);
  [[nodiscard]] bool emit_to_file(const Entry& entry);
  void tell_losses();
  [[nodiscard]] bool may_open_again();
};

void LogSink::Impl::run() {
  std::unique_lock lock(mutex);
  for (;;) {
    wake.wait(lock, [this] { return !queue.empty() || new_options || open_again || stop_at; });
    if (stop_at && (queue.empty() || Clock::now() >= *stop_at)) break;
    if (new_options || open_again) {
      const bool other = new_options.has_value();
      if (other) options = std::move(*std::exchange(new_options, std::nullopt));
      open_again = false;
      lock.unlock();
      if (other || !file || may_open_again()) {
        file.reset();
        open_not_before = {};
        half_line = false;
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

void LogSink::Impl::emit(const Entry& entry) {
  if (options.echo) {
    bool begun = false;
    (void)write_all(STDERR_FILENO, message(entry.service, entry.text, "\n    ") + "\n", begun);
  }
  tell_losses();
  if (emit_to_target(entry)) return;
  ++lost;
  // Nobody reads the log now: standard error is the last resort, once.
  if (!std::exchange(reason_told, true) && !options.echo) {
    bool begun = false;
    (void)write_all(STDERR_FILENO, fmt::format("{}: the log cannot be written: {}\n", kIdentity, reason), begun);
  }
}

void LogSink::Impl::tell_losses() {
  const std::uint64_t now_lost = lost;
  if (now_lost == lost_told) return;
  const Entry entry{Severity::Error, std::chrono::floor<milliseconds>(std::chrono::system_clock::now()), "",
                    fmt::format("{} log entries were lost: {}", now_lost - lost_told,
                                reason.empty() ? "they came faster than they could be written" : reason)};
  if (!emit_to_target(entry)) return;
  lost_told = now_lost;
  reason.clear();
  reason_told = false;
}

/// Whether the file can be reopened; if not, that is logged to the one that is open.
bool LogSink::Impl::may_open_again() {
  const Result<Descriptor> again = open_log(options.path);
  if (again) return true;
  emit({Severity::Warning, std::chrono::floor<milliseconds>(std::chrono::system_clock::now()), "",
        fmt::format("the log cannot be reopened and continues in the open file: {}", again.error().what)});
  return false;
}

bool LogSink::Impl::emit_to_target(const Entry& entry) {
  switch (options.target) {
    case Target::None: return true;
    case Target::File: return emit_to_file(entry);
    case Target::StandardError: {
      const std::string line = format_log_entry(entry.severity, options.civil(entry.when), entry.service, entry.text);
      bool begun = false;
      if (write_all(STDERR_FILENO, line, begun)) return true;
      reason = system_error(errno, "standard error").what;
      return false;
    }
    case Target::Syslog:
      ::openlog(kIdentity.data(), LOG_PID, syslog_facility(options.facility));
      ::syslog(syslog_priority(entry.severity), "%s", message(entry.service, entry.text, "\\n").c_str());
      return true;
    case Target::Journal: {
      const std::string text = message(entry.service, entry.text, "\n");
      const int code = ::sd_journal_send("MESSAGE=%s", text.c_str(), "PRIORITY=%i", syslog_priority(entry.severity),
                                         "SYSLOG_IDENTIFIER=%s", kIdentity.data(), "HEALER_SERVICE=%s",
                                         printable(entry.service).c_str(), nullptr);
      if (code >= 0) return true;
      reason = system_error(-code, "the journal").what;
      return false;
    }
  }
  return true;
}

bool LogSink::Impl::emit_to_file(const Entry& entry) {
  if (!file) {
    if (Clock::now() < open_not_before) return false;
    open_not_before = Clock::now() + kOpenRest;
    Result<Descriptor> opened = open_log(options.path);
    if (!opened) {
      reason = opened.error().what;
      return false;
    }
    file = std::move(*opened);
  }
  std::string line = format_log_entry(entry.severity, options.civil(entry.when), entry.service, entry.text);
  if (half_line) line.insert(0, "\n");
  bool begun = false;
  if (write_all(file.get(), line, begun)) {
    half_line = false;
    return true;
  }
  reason = system_error(errno, options.path).what;
  half_line = half_line || begun;
  return false;
}

// ---- the front ----------------------------------------------------------------------------------------------------

Result<void> LogSink::check(const LogOptions& options) {
  if (options.target != Target::File) return {};
  const Result<Descriptor> file = open_log(options.path, O_NONBLOCK);
  if (file || file.error().code == ENXIO) return {};  // a pipe that nobody reads yet
  return file.error();
}

LogSink::LogSink(LogOptions options) : impl_(std::make_shared<Impl>()) {
  impl_->lowest = options.lowest;
  impl_->queue_bytes = options.queue_bytes;
  impl_->options = std::move(options);
  // Signals are the loop's.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  impl_->thread = std::thread([impl = impl_] { impl->run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(impl_->thread.native_handle(), "healer-log");
}

LogSink::~LogSink() { stop(); }

void LogSink::write(Severity severity, WallTime when, std::string_view service, std::string_view text) {
  if (severity < impl_->lowest) return;
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

void LogSink::configure(LogOptions options) {
  impl_->lowest = options.lowest;
  impl_->queue_bytes = options.queue_bytes;
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->new_options = std::move(options);
  }
  impl_->wake.notify_one();
}

void LogSink::reopen() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->open_again = true;
  }
  impl_->wake.notify_one();
}

void LogSink::stop(Duration grace) {
  if (!impl_->thread.joinable()) return;
  std::unique_lock lock(impl_->mutex);
  impl_->stop_at = Clock::now() + grace;
  impl_->wake.notify_one();
  impl_->ended.wait_for(lock, grace + kWriterPatience, [this] { return impl_->over; });
  const bool over = impl_->over;
  lock.unlock();
  if (over) {
    impl_->thread.join();
  } else {
    impl_->thread.detach();  // it hangs in the kernel
  }
}

std::uint64_t LogSink::lost() const { return impl_->lost; }

}  // namespace healer::runtime
