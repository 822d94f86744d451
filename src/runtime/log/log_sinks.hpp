// SPDX-License-Identifier: MIT
// What spdlog lacks for the log: Monit's form of a line, and sinks that keep what the log promises. Used by the log's
// thread alone. A sink that cannot write throws, and says in a sentence what is wrong; the logger hands that to its
// error handler.
#pragma once

#include <spdlog/details/null_mutex.h>
#include <spdlog/formatter.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>

#include <memory>
#include <string>
#include <string_view>

#include "engine/events/record.hpp"
#include "runtime/descriptor.hpp"
#include "util/result.hpp"
#include "util/time.hpp"

namespace healer::runtime {

/// A logger of entries that bear the time of their event, and the name of the service in place of the logger's.
class ServiceLogger final : public spdlog::logger {
 public:
  using spdlog::logger::logger;
  void write(engine::Severity severity, WallTime when, std::string_view service, std::string_view text);
};

[[nodiscard]] spdlog::level::level_enum level_of(engine::Severity severity);

/// Monit's form, by spdlog's pattern "[%Q] %-9l: %m": %Q is the time by `civil`, with its offset, and %m the text after
/// the service in quotes, where there is one. Further lines of the text are indented.
[[nodiscard]] std::unique_ptr<spdlog::formatter> monit_formatter(CivilClock civil);
/// The text alone, after the service in quotes; its lines are joined by `separator`, and followed by `end`.
[[nodiscard]] std::unique_ptr<spdlog::formatter> text_formatter(std::string separator, std::string end);

/// A private file (0600) that is appended to: never through a link, nor where others could put another one. It is
/// opened with the first entry; where that fails it is not tried again for a second.
class FileSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit FileSink(std::string path);
  /// Opens the file, which is made if need be. Errors: as safe_path, or errno's.
  [[nodiscard]] static Result<Descriptor> open(const std::string& path, int flags = 0);
  /// Opens the file anew: it may have been moved away. Where that fails it goes on in the one that is open.
  [[nodiscard]] Result<void> reopen();

 protected:
  void sink_it_(const spdlog::details::log_msg& entry) override;
  void flush_() override {}

 private:
  std::string path_;
  Descriptor file_;
  Duration open_not_before_{0};  // mono
  bool half_line_ = false;       // the file ends in the middle of a line
};

/// Standard error. `may_fail`: what cannot be written there is no loss.
class StandardErrorSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit StandardErrorSink(bool may_fail = false) : may_fail_(may_fail) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& entry) override;
  void flush_() override {}

 private:
  bool may_fail_;
};

/// The journal, with the service as HEALER_SERVICE.
class JournalSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit JournalSink(std::string identity) : identity_(std::move(identity)) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& entry) override;
  void flush_() override {}

 private:
  std::string identity_;
};

}  // namespace healer::runtime
