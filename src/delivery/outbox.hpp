// SPDX-License-Identifier: MIT
// The one door through which alerts leave the daemon: an alert goes in, and when all whom it is for have it on their
// disks, an AlertTaken comes out; what is sent, or dropped, is told by a MailOutcome.
//
// Who carries it is said by the kind of each recipient (delivery/contact): mails go through the mailer, on a thread of
// its own; all else through the courier, on the loop. Both keep their queues in folders of the same form
// (delivery/outbox/queue_folder), and try again by the same rhythm (delivery/rhythm).
//
// Owned and called by the loop thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "delivery/outbox/courier.hpp"
#include "delivery/outbox/mailer.hpp"
#include "engine/events/act.hpp"
#include "engine/events/event_names.hpp"
#include "engine/events/record.hpp"
#include "engine/rules/settings.hpp"
#include "runtime/loop.hpp"
#include "runtime/net/server_names.hpp"

namespace healer::delivery {

struct OutboxOptions {
  CourierOptions contacts;
  /// Without `look_up` names are looked up on the loop. Empty: what is to be mailed is taken and forgotten.
  std::optional<MailerOptions> mail{};
};

struct OutboxCallbacks {
  /// AlertTaken and MailOutcome: on the loop, each in a turn of its own.
  std::function<void(const engine::Event&)> report;
  /// From any thread; it hands over and returns at once.
  std::function<void(engine::Severity, std::string)> log;
};

class Outbox {
 public:
  /// Opens the queues; nothing is sent before configure().
  Outbox(runtime::Loop& loop, OutboxOptions options, OutboxCallbacks callbacks);
  /// As stop().
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  /// Uses these from now on. Of `settings`: mail, the length of a cycle, contacts, secrets, options of TLS.
  void configure(const engine::Settings& settings, const std::string& host);

  /// Delivers this alert to all its recipients; an AlertTaken follows when it is safe here. The same alert again is the
  /// same mails and letters. Requires: configured.
  void submit(const engine::effect::Alert& alert);

  /// Of contacts for whom something waits, or which have not taken their last one.
  [[nodiscard]] std::vector<ContactFigures> contacts() const;
  [[nodiscard]] MailFigures mail() const;

  /// Calls `done` as soon as nothing is under way to contacts, or about to be, which may be at once.
  void when_idle(runtime::Loop::Callback done);
  /// Lets mails be tried for a second at most, and ends; the rest waits for the next start. Nothing is told any more
  /// but to the log.
  void stop();

 private:
  /// For whom an alert is not on a disk yet.
  struct Untaken {
    bool mail = false;
    std::set<std::string> contacts;  ///< by names in lower case
  };

  void take_mail_event(const engine::Event& event);
  void mailed(engine::AlertId alert);
  void safe(engine::AlertId alert, const std::string& contact);
  void see_taken(std::map<std::uint64_t, Untaken>::iterator alert);

  runtime::Loop& loop_;
  OutboxOptions options_;
  const OutboxCallbacks callbacks_;
  std::map<std::uint64_t, Untaken> untaken_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
  Courier courier_;
  std::unique_ptr<runtime::ServerNames> names_;  ///< of mail servers
  std::unique_ptr<Mailer> mailer_;               ///< from the first settings on
};

}  // namespace healer::delivery
