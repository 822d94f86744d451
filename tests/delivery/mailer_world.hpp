// SPDX-License-Identifier: MIT
// A mailer with a disk of its own, and what it says.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "delivery/outbox/mailer.hpp"
#include "engine/events/event.hpp"
#include "support/smtp_sink.hpp"

namespace healer::test {

using engine::event::MailOutcome;
using Kinds = MailOutcome::Kind;

/// What a mailer said, from its thread.
class MailEvents {
 public:
  [[nodiscard]] delivery::MailerCallbacks callbacks();
  [[nodiscard]] std::vector<std::uint64_t> taken() const;
  [[nodiscard]] std::size_t count(Kinds kind) const;
  /// All that was said, as a log would have it.
  [[nodiscard]] std::string everything() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::uint64_t> taken_;
  std::vector<MailOutcome> outcomes_;
  std::string log_;
};

engine::effect::Alert alert(std::uint64_t number, std::vector<std::string> addresses = {"root@localhost"});

engine::MailServer server(const SmtpSink& sink);

/// A mailer's rhythm for who cannot wait.
inline delivery::Rhythm quick() {
  delivery::Rhythm rhythm = delivery::mail_kind().rhythm;
  rhythm.first = Duration{20};
  rhythm.longest = Duration{100};
  return rhythm;
}

struct MailWorld {
  TemporaryDirectory directory;
  MailEvents mail_events;
  delivery::MailerOptions options{.directory = (directory.path() / "mail").string(),
                                  .host = "vm",
                                  .version = "1",
                                  .civil = utc_civil,
                                  .limits = delivery::mail_kind().limits,
                                  .rhythm = quick(),
                                  .disk_rest = Duration{50}};
  engine::MailSettings settings;
  Duration cycle{seconds{1}};

  explicit MailWorld(std::vector<engine::MailServer> servers) { settings.servers = std::move(servers); }
  std::unique_ptr<delivery::Mailer> start();
  /// Stops the mailer, which is to bring the server's mails up to `count`; what a busy machine leaves it no time to
  /// send goes in its next life.
  bool stops(delivery::Mailer& mailer, const SmtpSink& sink, std::size_t count);
};

/// Mailers that are killed at random moments, one after the other.
struct KilledMailers {
  std::uint64_t total = 60;  ///< alerts
  std::uint64_t handed = 4;  ///< to one mailer: a few, so that however quick the machine is, many are killed
  unsigned longest = 8'000;  ///< microseconds that one lives after it has taken some
  std::uint64_t taken = 0;   ///< the last alert that is on their disk
  int kills = 0;

  /// Hands over the alerts that `make` makes of 1, 2, ..., as the engine does: what was not said to be taken again.
  void run(const MailWorld& world, const std::function<engine::effect::Alert(std::uint64_t)>& make, unsigned seed);

 private:
  [[noreturn]] void tell_and_wait(const MailWorld& world,
                                  const std::function<engine::effect::Alert(std::uint64_t)>& make, int end) const;
};

/// The service numbers of the mails, in the order in which they were taken.
std::vector<int> received(const SmtpSink& sink);

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::size_t occurrences(const std::string& text, const std::string& part);

}  // namespace healer::test
