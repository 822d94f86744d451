// SPDX-License-Identifier: MIT
// The log: lines in Monit's form, to a file, syslog, the journal or standard error.
//
//     [2026-11-21T04:24:24+0000] error    : 'web' status failed (1) -- no answer
//         second line of the program's output
//
// spdlog's logger, pattern and sinks make the lines and carry them out; ours is the queue before it, which is bounded
// in bytes. A line that begins with `[` is always healer's own: what a program printed is indented, and control
// characters are made visible, so nobody writes log entries by printing them. write() only queues; a thread of its own
// waits for disks and daemons. A full disk, a full queue or a journal that is gone costs lines, which are counted, and
// said once it is over; it never costs time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/events/record.hpp"
#include "engine/rules/settings.hpp"
#include "util/result.hpp"
#include "util/time.hpp"

namespace healer::runtime {

struct LogOptions {
  enum class Target : std::uint8_t { None, File, Syslog, Journal, StandardError } target = Target::None;
  bool echo = false;     ///< on standard error too: in the foreground
  std::string path;      ///< Target::File: made with mode 0600 if need be, appended to
  std::string facility;  ///< Target::Syslog: "log_daemon", "log_local0", ...; empty or unknown: user
  engine::Severity lowest = engine::Severity::Info;
  CivilClock civil;  ///< called on the log's thread
  std::size_t queue_bytes = 8U << 20;

  /// What `set log` means. Without one Monit is silent; healer writes to the journal where it runs under it, in the
  /// foreground to standard error, and else to syslog.
  [[nodiscard]] static LogOptions of(const engine::LogSettings& settings, bool foreground, CivilClock civil);
};

class Log {
 public:
  explicit Log(LogOptions options);
  /// As stop().
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  /// Whether a log by these options can be written, as far as that shows beforehand: a file is made if need be. Blocks
  /// on the disk.
  [[nodiscard]] static Result<void> check(const LogOptions& options);

  /// Queues an entry. `service` may be empty. From any thread; never waits.
  void write(engine::Severity severity, WallTime when, std::string_view service, std::string_view text);
  /// Uses other options from here on: after a reload. Also opens the file again.
  void configure(LogOptions options);
  /// Opens the file again: it may have been moved away. Where that fails the log goes on in the file that is open, and
  /// says so there.
  void reopen();
  /// Writes what is queued, for `grace` at most, and ends.
  void stop(Duration grace = Duration{1'000});
  /// Entries that could not be written since the start.
  [[nodiscard]] std::uint64_t lost() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;  // shared with the thread, which may outlive this where a disk does not answer
};

/// syslog's number of a facility by Monit's word for it ("log_daemon"; any case).
[[nodiscard]] int syslog_facility(std::string_view word);

/// Whether standard error goes to the journal.
[[nodiscard]] bool under_journal();

}  // namespace healer::runtime
