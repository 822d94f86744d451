// SPDX-License-Identifier: MIT
#include "runtime/log/log_sinks.hpp"

#include <fcntl.h>
#include <syslog.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include <spdlog/fmt/fmt.h>
#include <spdlog/pattern_formatter.h>

#include "runtime/clock.hpp"
#include "runtime/files/safe_path.hpp"
#include "util/text.hpp"

namespace healer::runtime {
namespace {

using spdlog::details::log_msg;

constexpr const char* kMonitPattern = "[%Q] %-9l: %m";
constexpr const char* kTextPattern = "%m";
constexpr Duration kOpenRest{1'000};  // before a file that cannot be opened is tried again

std::string_view text_of(spdlog::string_view_t text) { return {text.data(), text.size()}; }

void append(spdlog::memory_buf_t& to, std::string_view text) { to.append(text.data(), text.data() + text.size()); }

/// "'service' text": each line printable, with a separator between the lines, so that nobody writes an entry by
/// printing one.
class MessageFlag final : public spdlog::custom_flag_formatter {
 public:
  explicit MessageFlag(std::string separator) : separator_(std::move(separator)) {}

  void format(const log_msg& entry, const std::tm&, spdlog::memory_buf_t& to) override {
    if (entry.logger_name.size() > 0) append(to, fmt::format("'{}' ", printable(text_of(entry.logger_name))));
    std::string_view text = text_of(entry.payload);
    text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
    for (;;) {
      const std::size_t end = text.find('\n');
      std::string_view line = text.substr(0, end);
      if (line.ends_with('\r')) line.remove_suffix(1);
      append(to, printable(line));
      if (end == std::string_view::npos) return;
      append(to, separator_);
      text.remove_prefix(end + 1);
    }
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<MessageFlag>(separator_);
  }

 private:
  std::string separator_;
};

/// "2026-11-21T04:24:24+0000"
class TimeFlag final : public spdlog::custom_flag_formatter {
 public:
  explicit TimeFlag(CivilClock civil) : civil_(std::move(civil)) {}

  void format(const log_msg& entry, const std::tm&, spdlog::memory_buf_t& to) override {
    const CivilTime civil = civil_(std::chrono::floor<milliseconds>(entry.time));
    const std::int64_t offset = civil.offset.count() / 60;
    append(to, fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}{:02}{:02}", civil.year, civil.month, civil.day,
                           civil.hour, civil.minute, civil.second, offset < 0 ? '-' : '+', std::abs(offset) / 60,
                           std::abs(offset) % 60));
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<TimeFlag>(civil_);
  }

 private:
  CivilClock civil_;
};

std::unique_ptr<spdlog::pattern_formatter> formatter_of(const char* pattern, std::string end, std::string separator,
                                                        CivilClock civil = {}) {
  spdlog::pattern_formatter::custom_flags flags;
  flags['m'] = std::make_unique<MessageFlag>(std::move(separator));
  if (civil) flags['Q'] = std::make_unique<TimeFlag>(std::move(civil));
  // Its own clock is asked for no flag; UTC takes the least time.
  return std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::utc, std::move(end),
                                                     std::move(flags));
}

/// Writes all of it. `begun`: some of it was written, also where the rest was not.
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

[[noreturn]] void fail(const Error& error) { throw spdlog::spdlog_ex(error.what); }

int syslog_priority(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::debug: return LOG_DEBUG;
    case spdlog::level::warn: return LOG_WARNING;
    case spdlog::level::err: return LOG_ERR;
    default: return LOG_INFO;
  }
}

}  // namespace

void ServiceLogger::write(engine::Severity severity, WallTime when, std::string_view service, std::string_view text) {
  sink_it_(log_msg(spdlog::log_clock::time_point(when.time_since_epoch()), {}, {service.data(), service.size()},
                   level_of(severity), {text.data(), text.size()}));
}

spdlog::level::level_enum level_of(engine::Severity severity) {
  switch (severity) {
    case engine::Severity::Debug: return spdlog::level::debug;
    case engine::Severity::Info: return spdlog::level::info;
    case engine::Severity::Warning: return spdlog::level::warn;
    case engine::Severity::Error: return spdlog::level::err;
  }
  return spdlog::level::info;
}

std::unique_ptr<spdlog::formatter> monit_formatter(CivilClock civil) {
  return formatter_of(kMonitPattern, "\n", "\n    ", std::move(civil));
}

std::unique_ptr<spdlog::formatter> text_formatter(std::string separator, std::string end) {
  return formatter_of(kTextPattern, std::move(end), std::move(separator));
}

// ---- a file -------------------------------------------------------------------------------------------------------

FileSink::FileSink(std::string path) : path_(std::move(path)) {}

Result<Descriptor> FileSink::open(const std::string& path, int flags) {
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

Result<void> FileSink::reopen() {
  open_not_before_ = Duration{0};
  if (!file_) return {};
  Result<Descriptor> again = open(path_);
  if (!again) return again.error();
  file_ = std::move(*again);
  half_line_ = false;
  return {};
}

void FileSink::sink_it_(const log_msg& entry) {
  if (!file_) {
    if (mono_now() < open_not_before_) throw spdlog::spdlog_ex(std::string{});  // why was said
    open_not_before_ = mono_now() + kOpenRest;
    Result<Descriptor> opened = open(path_);
    if (!opened) fail(opened.error());
    file_ = std::move(*opened);
  }
  spdlog::memory_buf_t line;
  if (half_line_) line.push_back('\n');
  formatter_->format(entry, line);
  bool begun = false;
  if (!write_all(file_.get(), {line.data(), line.size()}, begun)) {
    half_line_ = half_line_ || begun;
    fail(system_error(errno, path_));
  }
  half_line_ = false;
}

// ---- others -------------------------------------------------------------------------------------------------------

void StandardErrorSink::sink_it_(const log_msg& entry) {
  spdlog::memory_buf_t line;
  formatter_->format(entry, line);
  bool begun = false;
  if (!write_all(STDERR_FILENO, {line.data(), line.size()}, begun) && !may_fail_)
    fail(system_error(errno, "standard error"));
}

void JournalSink::sink_it_(const log_msg& entry) {
  spdlog::memory_buf_t text;
  formatter_->format(entry, text);
  const std::string service = printable(text_of(entry.logger_name));
  const int code = ::sd_journal_send("MESSAGE=%.*s", static_cast<int>(text.size()), text.data(), "PRIORITY=%i",
                                     syslog_priority(entry.level), "SYSLOG_IDENTIFIER=%s", identity_.c_str(),
                                     "HEALER_SERVICE=%s", service.c_str(), nullptr);
  if (code < 0) fail(system_error(-code, "the journal"));
}

}  // namespace healer::runtime
