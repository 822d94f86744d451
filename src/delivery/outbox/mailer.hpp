// SPDX-License-Identifier: MIT
// Mails alerts: stores them on disk (delivery/outbox/mail_queue), confirms that, and sends them when a server accepts
// them. What is mailed, what answers mean and when something is tried again is said by the description of mail
// (delivery/contacts/mail).
//
// Order is kept: mails are sent in the order of their alerts, across crashes and dead servers. Servers are tried in
// order, and the first that works is used; one that fails is left alone, for longer each time. A mail that is refused
// for good is dropped, which is reported; one that is refused temporarily is tried again, and delays only later mails
// to the same person, for a limited time. If the disk cannot be written, mails wait in memory, and are confirmed
// only when they have been sent.
//
// All alerts of a cycle to a person who asked for a digest are sent in one mail; a single one is sent as it is. The
// cycle ends one cycle length after the first of them came, or when healer stops. Mails beyond `set mail limit` are
// held back, and reported in one mail when there is room again. Mails that need a person (see delivery/contacts/mail)
// are sent before the others, and wait neither for a digest nor for a limit.
//
// If more mails than the queue has slots wait after a try at which no server took them, the oldest are dropped; the
// same happens if more wait in all than healer's own bound. Dropped mails are recorded, and reported in a mail when a
// server works again.
//
// All of this runs on a separate thread, so that neither a disk nor a server ever delays the loop. The functions here
// may be called from any thread and never wait, except for stop().
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "delivery/contact.hpp"
#include "engine/events/act.hpp"
#include "engine/events/event_names.hpp"
#include "engine/events/record.hpp"
#include "engine/rules/settings.hpp"
#include "util/result.hpp"
#include "util/time.hpp"

namespace healer::delivery {

struct MailerOptions {
  std::string directory;  ///< of the queue, made if need be
  std::string former{};   ///< of a queue whose mails are taken over; empty: none
  std::string places{};   ///< the file that keeps where further mails may wait (mail_places.hpp); empty: none
  std::string host;       ///< $HOST, and EHLO where nothing else is set; until configure() says another
  std::string version;    ///< of healer
  CivilClock civil;       ///< called on the mailer's thread
  Limits limits = mail_kind().limits;
  Rhythm rhythm = mail_kind().rhythm;  ///< of servers, and of mails that are refused
  Duration disk_rest{5'000};           ///< before a disk that failed is written again
  std::function<WallTime()> wall{};    ///< for cycles and limits, on the mailer's thread; empty: the real one
  /// Looks a server's name up, called on the mailer's thread: `done` gets its addresses (runtime/net/server_names), on
  /// any thread. Empty: libcurl does, and a name server that does not answer holds the thread.
  std::function<void(std::string host, std::function<void(Result<std::string>)> done)> look_up{};
};

/// What a person is told about the queue.
struct MailFigures {
  std::size_t waiting = 0;        ///< mails, on disk and in memory
  std::optional<WallTime> since;  ///< of the alert that has waited longest
  /// What a server said last against a mail, or why none works; empty: the last mail was taken, or none was sent, and
  /// none that was refused waits.
  std::string error;
  std::optional<WallTime> error_since;     ///< when that was
  std::size_t held = 0;                    ///< of those that wait, how many a limit holds back
  std::optional<WallTime> held_until{};    ///< when there is room for the first of them
  std::string limit{};                     ///< "20 mails within 1 h"; empty: none is held back
  std::size_t gathered = 0;                ///< of those that wait, how many wait for their digest
  std::optional<WallTime> digest_until{};  ///< when the first of the digests goes
};

/// Called on the mailer's thread; they hand over to the loop and return at once.
struct MailerCallbacks {
  std::function<void(engine::Event)> report;  ///< AlertTaken and MailOutcome
  std::function<void(engine::Severity, std::string)> log;
};

class Mailer {
 public:
  Mailer(MailerOptions options, engine::MailSettings settings, Duration cycle, MailerCallbacks callbacks);
  /// As stop().
  ~Mailer();
  Mailer(const Mailer&) = delete;
  Mailer& operator=(const Mailer&) = delete;

  /// Mails this alert; an AlertTaken follows when it is safe here. The same alert again is the same mail. Alerts to
  /// nobody, and alerts where no mail server is set, are taken and forgotten.
  void submit(engine::effect::Alert alert);

  /// Uses these settings from now on: after a reload. Servers that rest are tried again at once. `host` as in
  /// MailerOptions.
  void configure(engine::MailSettings settings, Duration cycle, std::string host);

  /// Puts what was submitted on disk, tries for `grace` to send it, and ends; the rest stays queued for the next start.
  /// Returns within 2 s, whatever disk and servers do; afterwards no callback is called any more.
  void stop(Duration grace = Duration{1'000});

  /// The figures of now, without waiting for anything.
  [[nodiscard]] MailFigures figures() const;
  [[nodiscard]] std::size_t waiting() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;  // shared with the thread, which may outlive this where a disk does not answer
};

}  // namespace healer::delivery
