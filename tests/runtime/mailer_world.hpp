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

#include "runtime/mailer.hpp"
#include "support/smtp_sink.hpp"

namespace healer::test {

using engine::event::MailOutcome;
using Kind = MailOutcome::Kind;

/// What a mailer said, from its thread.
class Heard {
 public:
  [[nodiscard]] runtime::MailerCallbacks callbacks() {
    return {[this](engine::Event event) {
              const std::lock_guard lock(mutex_);
              if (const auto* taken = std::get_if<engine::event::AlertTaken>(&event))
                taken_.push_back(taken->alert.number());
              if (const auto* outcome = std::get_if<MailOutcome>(&event)) outcomes_.push_back(*outcome);
            },
            [this](engine::Severity, std::string text) {
              const std::lock_guard lock(mutex_);
              log_ += text + "\n";
            }};
  }
  [[nodiscard]] std::vector<std::uint64_t> taken() const {
    const std::lock_guard lock(mutex_);
    return taken_;
  }
  [[nodiscard]] std::size_t count(Kind kind) const {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(
        std::ranges::count_if(outcomes_, [kind](const MailOutcome& outcome) { return outcome.kind == kind; }));
  }
  /// All that was said, as a log would have it.
  [[nodiscard]] std::string everything() const {
    const std::lock_guard lock(mutex_);
    std::string text = log_;
    for (const MailOutcome& outcome : outcomes_) text += outcome.text + "\n";
    return text;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::uint64_t> taken_;
  std::vector<MailOutcome> outcomes_;
  std::string log_;
};

inline engine::effect::Alert alert(std::uint64_t number, std::vector<std::string> addresses = {"root@localhost"}) {
  auto cause = std::make_shared<engine::effect::Cause>();
  cause->service = "service-" + std::to_string(number);
  cause->event_text = "Status failed";
  cause->action_text = "alert";
  cause->description = "status failed (1) -- no output";
  cause->when = WallTime{seconds{1'795'234'764}};
  engine::effect::Alert result;
  result.alert = engine::AlertId{number};
  for (std::string& address : addresses) result.recipients.push_back({.address = std::move(address), .format = {}});
  result.cause = std::move(cause);
  return result;
}

inline engine::MailServer server(const SmtpSink& sink) {
  engine::MailServer result;
  result.host = "127.0.0.1";
  result.port = sink.port();
  return result;
}

struct MailWorld {
  TemporaryDirectory directory;
  Heard heard;
  runtime::MailerOptions options{.directory = (directory.path() / "mail").string(),
                                 .host = "vm",
                                 .version = "1",
                                 .civil = utc_civil,
                                 .limits = {},
                                 .first_rest = Duration{20},
                                 .last_rest = Duration{100},
                                 .disk_rest = Duration{50}};
  engine::MailSettings settings;
  Duration cycle{seconds{1}};

  explicit MailWorld(std::vector<engine::MailServer> servers) { settings.servers = std::move(servers); }
  std::unique_ptr<runtime::Mailer> start() {
    return std::make_unique<runtime::Mailer>(options, settings, cycle, heard.callbacks());
  }
  /// Stops the mailer, which is to bring the server's mails up to `count`; what a busy machine leaves it no time to
  /// send goes in its next life.
  bool stops(runtime::Mailer& mailer, const SmtpSink& sink, std::size_t count) {
    mailer.stop();
    if (sink.count() == count) return true;
    const auto next = start();
    return eventually([&] { return sink.count() == count; });
  }
};

/// Mailers that are killed at random moments, one after the other.
struct KilledMailers {
  std::uint64_t total = 60;  ///< alerts
  std::uint64_t handed = 4;  ///< to one mailer: a few, so that however quick the machine is, many are killed
  unsigned longest = 8'000;  ///< microseconds that one lives after it has taken some
  std::uint64_t taken = 0;   ///< the last alert that is on their disk
  int kills = 0;

  /// Hands over the alerts that `make` makes of 1, 2, ..., as the engine does: what was not said to be taken again.
  void run(const MailWorld& world, const std::function<engine::effect::Alert(std::uint64_t)>& make, unsigned seed) {
    std::mt19937 random(seed);
    while (taken < total && kills < 200) {
      int ends[2];
      if (pipe(ends) != 0) return;
      const pid_t child = fork();
      if (child == 0) {
        close(ends[0]);
        tell_and_wait(world, make, ends[1]);
      }
      close(ends[1]);
      std::uint64_t word = 0;
      const std::uint64_t until = random() % (handed + 1);
      for (std::uint64_t i = 0; i < until && taken < total && read(ends[0], &word, sizeof word) == sizeof word; ++i)
        taken = std::max(taken, word);
      usleep(static_cast<useconds_t>(random() % longest));
      kill(child, SIGKILL);
      ++kills;
      while (read(ends[0], &word, sizeof word) == sizeof word) taken = std::max(taken, word);
      close(ends[0]);
      waitpid(child, nullptr, 0);
    }
  }

 private:
  [[noreturn]] void tell_and_wait(const MailWorld& world,
                                  const std::function<engine::effect::Alert(std::uint64_t)>& make, int end) const {
    runtime::MailerCallbacks callbacks{[end](const engine::Event& event) {
                                         const auto* it = std::get_if<engine::event::AlertTaken>(&event);
                                         if (it == nullptr) return;
                                         const std::uint64_t word = it->alert.number();
                                         if (write(end, &word, sizeof word) < 0) _exit(1);
                                       },
                                       [](engine::Severity, const std::string&) {}};
    runtime::Mailer mailer(world.options, world.settings, world.cycle, callbacks);
    for (std::uint64_t i = taken + 1; i <= std::min(taken + handed, total); ++i) mailer.submit(make(i));
    for (;;) pause();
  }
};

/// The service numbers of the mails, in the order in which they were taken.
inline std::vector<int> received(const SmtpSink& sink) {
  std::vector<int> result;
  for (const std::string& mail : sink.mails()) {
    const std::size_t at = mail.find("service-");
    result.push_back(at == std::string::npos ? -1 : std::stoi(mail.substr(at + 8)));
  }
  return result;
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

inline std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

}  // namespace healer::test
