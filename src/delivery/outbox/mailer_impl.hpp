// SPDX-License-Identifier: MIT
// The inside of the mailer: mailer.cpp has the front, the thread and the queue, mailer_sending.cpp what the servers are
// given, mailer_merge.cpp what becomes of several mails to one person.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "delivery/contacts/mail.hpp"
#include "delivery/outbox/mail_ledger.hpp"
#include "delivery/outbox/mail_queue.hpp"
#include "delivery/outbox/mailer.hpp"
#include "delivery/rhythm.hpp"
#include "engine/events/event.hpp"
#include "runtime/net/smtp.hpp"

namespace healer::delivery {

struct Mailer::Impl : std::enable_shared_from_this<Mailer::Impl> {
  /// A digest waits no longer than this, however long a cycle is: nobody should learn late of what has failed.
  static constexpr Duration kLongestHold = minutes{5};

  using Outcome = engine::event::MailOutcome;

  /// A mail that waits.
  struct Waiting {
    std::string to;
    std::string subject;
    std::optional<Mail> memory;  ///< where it could not be written
    Tries refused{};             ///< for now
    bool failure_reported = false;
    bool failed = false;          ///< no server took it at the last try, or it had no chance of being taken
    bool urgent = false;          ///< it goes before the rest, and no limit holds it
    bool digest = false;          ///< it may become a part of one
    bool covered = false;         ///< another mail has taken its place, and is not on disk yet
    WallTime hold_until{};        ///< of a digest
    std::vector<MailKey> covers;  ///< those whose place it takes, until it is on disk
  };

  struct Server {
    engine::MailServer settings;
    Tries tries{};
  };

  /// What is known of a server's name.
  struct Name {
    bool asked = false;                        ///< and not answered yet
    std::optional<Result<std::string>> fresh;  ///< the answer to the last question
    std::string addresses;                     ///< the last good one
  };

  struct Settings {
    engine::MailSettings mail;
    Duration cycle{0};
    std::string host;
  };

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
  std::optional<Settings> new_settings;
  std::optional<Duration> stop_at;  ///< mono
  bool inbox_overflowed = false;
  bool over = false;
  std::mutex silence;        // held while a callback runs
  bool silenced = false;     // under `silence`
  std::mutex figures_mutex;  // held for a copy, never while anything waits
  MailFigures reported_figures;
  std::mutex names_mutex;
  std::map<std::string, Name> names;  ///< of servers
  runtime::SmtpClient smtp;

  // The thread's own.
  engine::MailSettings settings;
  Duration cycle{0};
  std::string host;
  std::vector<Server> servers;
  std::optional<MailQueue> queue;
  MailLedger ledger;
  bool disk_sick = false;
  Duration disk_not_before{0};  ///< mono
  std::map<MailKey, Waiting> mails;
  std::map<std::uint64_t, std::vector<MailKey>> untaken;  ///< alerts whose mails are not safe on disk
  std::optional<MailKey> sending;
  std::optional<std::pair<std::string, WallTime>> last_error;  ///< what MailFigures has
  std::optional<engine::MailLimit> last_limit;                 ///< that held mails back
  bool stopping = false;                                       ///< what is held for a digest is held no more
  bool served = false;                                         ///< a server answered to the last mail that was tried
  std::optional<WallTime> report_at;  ///< when a limit has room for the word of what was dropped
  bool logged_no_servers = false;
  bool logged_full = false;

  // mailer.cpp
  void run();
  bool turn();
  void take_results();
  void use(Settings fresh);
  void store(const engine::effect::Alert& alert);
  bool open_queue();
  void take_over_former();
  void write_memory();
  void disk_failed(const Error& error);
  void deliver(const MailKey& key, bool last);
  bool try_servers(const MailKey& key, const Mail& message, bool last);
  void server_worked(Server& server, const MailKey& key);
  void ask_name(const std::string& host);
  [[nodiscard]] Result<std::string> addresses_of(const engine::MailServer& server);
  void server_failed(Server& server, const std::string& reason);
  void close_mail(const MailKey& key, Outcome::Kind kind, std::string text);
  void forget(const MailKey& key);
  void sync_queue();
  bool make_room(std::uint64_t alert, std::size_t bytes);
  void not_taken(const std::string* to);
  void taken(const std::string& to);
  void drop(const MailKey& key);
  [[nodiscard]] Limits limits() const;
  std::optional<MailKey> next_mail(Duration now, WallTime wall, Duration& wake, const MailKey* after = nullptr);
  [[nodiscard]] bool stopping_now();
  void report_taken(engine::AlertId alert);
  void report(engine::Event event);
  void log(engine::Severity severity, std::string text);

  // mailer_merge.cpp
  using Merge = Mail (*)(const Impl&, const std::vector<Mail>&, WallTime now);
  void merge_due(WallTime now);
  void merge(std::vector<MailKey> keys, Merge how);
  void cover(const MailKey& key);
  [[nodiscard]] std::optional<WallTime> held_for_digest(const Waiting& mail, WallTime now) const;
  void hold_back(const MailKey& key, const Waiting& mail, WallTime until);
  void report_figures();
  void report_dropped();
  void report_dropped_to(const std::string& to);
};

}  // namespace healer::delivery
