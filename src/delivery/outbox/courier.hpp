// SPDX-License-Identifier: MIT
// Delivers alerts to contacts: stores them on disk (delivery/outbox/letter_queue), confirms that, and sends them when
// the contact's server takes them.
//
// Each contact has a queue of its own, in the order of its alerts, and one request under way: a contact that is slow or
// dead holds up no other. What an answer means, and when what failed is tried again, says the contact's kind: what
// waits longer than the deadline is dropped, as is what was refused for good; that is recorded, and told to others once
// an hour. If the disk cannot be written, alerts wait in memory, and are confirmed only when they have been sent.
//
// Delivery is at least once: a crash between an answer and the note of it, for which the next alert waits, sends an
// alert again, with the same Idempotency-Key.
//
// Owned and called by the loop thread. Files and secrets are read and written on threads that may be lost.
// courier.cpp has the front and what is kept, courier_sending.cpp what becomes of one alert after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "delivery/contact.hpp"
#include "delivery/outbox/letter_queue.hpp"
#include "engine/events/act.hpp"
#include "engine/events/event_names.hpp"
#include "engine/events/record.hpp"
#include "engine/rules/settings.hpp"
#include "runtime/loop.hpp"
#include "runtime/net/http_caller.hpp"
#include "runtime/net/resolver.hpp"
#include "runtime/worker_pool.hpp"

namespace healer::delivery {

struct CourierOptions {
  std::string directory;             ///< of the queues, made if need be
  std::optional<Rhythm> rhythm{};    ///< empty: each kind's own
  std::optional<Limits> limits{};    ///< the same, of each contact
  Duration disk_rest{5'000};         ///< before a disk that failed is written again
  std::function<WallTime()> wall{};  ///< empty: the real one
  /// Reads the secret of that name in that folder, on a thread; empty: runtime::read_secret.
  std::function<Result<std::string>(const std::string& name, const std::string& folder)> read_secret{};
  runtime::Resolver::Options resolver{};  ///< of names
};

/// What a person is told about a contact for which alerts wait, or which has not taken its last one.
struct ContactFigures {
  std::string contact;  ///< its name
  std::size_t waiting = 0;
  std::optional<WallTime> since{};  ///< when what the oldest tells of happened
  std::string error{};              ///< why the last try has failed; empty: none has, or the last was taken
  std::optional<WallTime> error_since{};
  std::optional<WallTime> next{};  ///< when it is tried again
};

/// Called on the loop, each in a turn of its own.
struct CourierCallbacks {
  /// The alert is safe as far as that contact is concerned (its name in lower case): on disk, or over. Maybe again.
  std::function<void(engine::AlertId alert, const std::string& contact)> safe;
  std::function<void(const engine::Event&)> report;  ///< MailOutcome
  std::function<void(engine::Severity, std::string)> log;
};

class Courier {
 public:
  Courier(runtime::Loop& loop, CourierOptions options, CourierCallbacks callbacks);
  ~Courier();
  Courier(const Courier&) = delete;
  Courier& operator=(const Courier&) = delete;

  /// Uses these from now on. What waits for a contact that was changed is tried at once, and so is all that waits where
  /// the folder of secrets or the options of TLS are others. Of `settings`: contacts, secrets, options of TLS.
  void configure(const engine::Settings& settings, std::string host);

  /// Delivers this alert to the contacts among its recipients. The same alert again is the same letters.
  void submit(const engine::effect::Alert& alert);

  /// Of contacts for whom something waits, or which have not taken their last one.
  [[nodiscard]] std::vector<ContactFigures> figures() const;

  /// Calls `done` as soon as nothing is under way or about to be, which may be at once.
  void when_idle(runtime::Loop::Callback done);

 private:
  struct Waiting;
  struct Box;
  struct Batch;

  // courier.cpp
  /// What waits for a contact, made where there is none yet. Its name may be of any case.
  Box& box(const std::string& contact);
  /// The same of that name, in lower case; null: nothing ever did, and the rules do not have it.
  [[nodiscard]] Box* find(const std::string& contact);
  void check();
  void checked(const std::shared_ptr<Result<std::map<std::string, FoundLetters>>>& found);
  void take_found(const std::string& contact, const FoundLetters& found);
  void accept(const engine::effect::Alert& alert);
  void make_room(Box& box);
  void save();
  void saved(const std::vector<Batch>& batches);
  void disk_failed(std::string why);
  void note_sent(Box& box, const LetterKey& key);
  void bury(Box& box, const LetterKey& key);
  void tell_safe(const LetterKey& key, const std::string& contact);
  void tell(engine::Event event);
  void log(engine::Severity severity, std::string text);
  void see_idle();
  [[nodiscard]] WallTime wall() const;

  // courier_sending.cpp
  /// Begins with what is next for a contact, where it is time; else sees to it that this is called when it is. Drops
  /// what has waited too long. May be called whenever something has changed.
  void advance(Box& box);
  void begin(Box& box);
  [[nodiscard]] Box* preparing(const std::string& contact, std::uint64_t call);
  void compose_for(Box& box, const Letter& letter);
  void prepared(Box& box, Result<runtime::HttpCall> call);
  void answered(const std::string& contact, const engine::event::Answered& answer);
  /// What is under way for a contact did not come through, and is tried again later. Requires: something is.
  void failed(Box& box, const TryAgain& why);
  void close(Box& box, const LetterKey& key, bool sent, const std::string& why);
  [[nodiscard]] const Rhythm& rhythm_of(const Box& box) const;

  runtime::Loop& loop_;
  const CourierOptions options_;
  const CourierCallbacks callbacks_;
  const LetterQueue queue_;
  engine::TlsOptions tls_;
  std::string secrets_;
  std::string host_;
  std::map<std::string, std::unique_ptr<Box>> boxes_;  ///< by names in lower case
  std::vector<engine::effect::Alert> early_;           ///< that came before it was known what is on disk
  bool checked_ = false;
  bool checking_ = false;
  bool found_ = false;  ///< what is on disk is known
  bool saving_ = false;
  bool disk_sick_ = false;   ///< people were told so
  std::size_t burying_ = 0;  ///< letters that are being noted as over
  std::uint64_t last_call_ = 0;
  std::vector<runtime::Loop::Callback> idle_;
  runtime::Loop::Timer disk_timer_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
  std::unique_ptr<runtime::HttpCaller> caller_;  ///< made when something is sent first
  // These go first: what they have to tell is about all of this. A folder of secrets that does not answer keeps no
  // alert off its disk.
  runtime::WorkerPool files_;
  runtime::WorkerPool secret_files_;
};

}  // namespace healer::delivery
