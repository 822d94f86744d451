// SPDX-License-Identifier: MIT
#include "delivery/outbox/courier.hpp"

#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "delivery/outbox/courier_box.hpp"
#include "engine/events/event.hpp"
#include "runtime/clock.hpp"
#include "util/text.hpp"

namespace healer::delivery {

using engine::Severity;

Courier::Courier(runtime::Loop& loop, CourierOptions options, CourierCallbacks callbacks)
    : loop_(loop),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      queue_(options_.directory),
      disk_timer_(loop.timer([this] {
        check();
        for (const auto& [name, its] : boxes_) {
          its->disk_sick = false;
          for (const LetterKey& key : std::exchange(its->unburied, {})) bury(*its, key);
        }
        save();
      })),
      files_(loop, {.name = "healer-outbox", .workers = 1, .max_lost = 4, .patience = Duration{10'000}}),
      secret_files_(loop, {.name = "healer-secrets", .workers = 1, .max_lost = 4, .patience = Duration{10'000}}) {
  check();
}

Courier::~Courier() = default;

WallTime Courier::wall() const { return options_.wall ? options_.wall() : runtime::wall_now(); }

/// The alert is safe as far as this contact is concerned: on disk, or over.
void Courier::tell_safe(const LetterKey& key, const std::string& contact) {
  loop_.post([this, alive = std::weak_ptr<char>(alive_), alert = engine::AlertId{key.alert}, contact] {
    if (!alive.expired()) callbacks_.safe(alert, contact);
  });
}

void Courier::tell(engine::Event event) {
  loop_.post([this, alive = std::weak_ptr<char>(alive_), event = std::move(event)] {
    if (!alive.expired()) callbacks_.report(event);
  });
}

void Courier::log(Severity severity, std::string text) {
  loop_.post([this, alive = std::weak_ptr<char>(alive_), severity, text = std::move(text)] {
    if (!alive.expired()) callbacks_.log(severity, text);
  });
}

Courier::Box* Courier::find(const std::string& contact) {
  const auto found = boxes_.find(contact);
  return found == boxes_.end() ? nullptr : found->second.get();
}

Courier::Box& Courier::box(const std::string& contact) {
  const std::string name = to_lower(contact);
  std::unique_ptr<Box>& made = boxes_[name];
  if (!made) {
    made = std::make_unique<Box>();
    made->name = name;
    made->letters.set_limits(options_.limits.value_or(Limits{}));
    made->timer = loop_.timer([this, its = made.get()] {
      its->preparing == 0 ? advance(*its) : failed(*its, TryAgain{"the disk of its alerts or secrets does not answer"});
    });
  }
  return *made;
}

void Courier::configure(const engine::Settings& settings, std::string host) {
  host_ = std::move(host);
  const bool all_change = tls_ != settings.tls_options || secrets_ != settings.secrets;
  tls_ = settings.tls_options;
  secrets_ = settings.secrets;
  std::map<std::string, std::optional<engine::Contact>> former;
  for (const auto& [name, its] : boxes_) former[name] = std::exchange(its->contact, std::nullopt);
  for (const engine::Contact& contact : settings.contacts) {
    const Kind* const kind = find_kind(contact.kind);
    if (kind == nullptr) continue;
    Box& its = box(contact.name);
    its.contact = contact;
    its.kind = kind;
    its.letters.set_limits(options_.limits.value_or(kind->limits));
  }
  for (const auto& [name, its] : boxes_) {
    // Any other is left alone as long as it has asked for, or has to be: lists reload rules often.
    if (its->contact.has_value() != former[name].has_value()) {
      its->error = its->contact ? "" : kGone;
      its->error_since = its->contact ? std::optional<WallTime>() : wall();
    }
    if (all_change || its->contact != former[name]) {
      its->tries = {};
      its->long_rest_told = false;
    }
    advance(*its);
  }
}

// ---- what is on disk ----------------------------------------------------------------------------------------------

/// Looks what an earlier daemon has left; again, where that has failed.
void Courier::check() {
  if (found_ || std::exchange(checking_, true)) return;
  auto found = std::make_shared<Result<std::map<std::string, FoundLetters>>>(Error{0, "not looked at"});
  auto warnings = std::make_shared<std::vector<std::string>>();
  files_.submit(
      [this, queue = queue_, found, warnings]() -> runtime::Loop::Callback {
        *found = queue.check([&](std::string text) { warnings->push_back(std::move(text)); });
        return [this, found, warnings] {
          for (std::string& warning : *warnings) log(Severity::Warning, std::move(warning));
          checked(found);
        };
      },
      [this, found](Error error) {
        *found = std::move(error);
        checked(found);
      });
}

void Courier::checked(const std::shared_ptr<Result<std::map<std::string, FoundLetters>>>& found) {
  checked_ = true;
  checking_ = false;
  if (*found) {
    found_ = true;
    for (const auto& [contact, letters] : **found) take_found(contact, letters);
  } else {
    disk_failed("alerts of contacts: " + found->error().what);
  }
  for (const engine::effect::Alert& alert : std::exchange(early_, {})) accept(alert);
  for (const auto& [name, its] : boxes_) advance(*its);
  see_idle();
}

/// Where this comes late, alerts were taken, and sent, before it was known what is here.
void Courier::take_found(const std::string& contact, const FoundLetters& found) {
  Box& its = box(contact);
  const Duration now = runtime::mono_now();
  for (const LetterKey& key : found.sent) {
    note_sent(its, key);
    if (its.letters.remove(key)) tell_safe(key, contact);
  }
  for (const Letter& letter : found.waiting) {
    if (its.letters.was_sent(letter.key)) {
      bury(its, letter.key);
      continue;
    }
    const auto [waiting, is_new] = its.letters.add(letter.key, serialise(letter).size());
    waiting = {.memory = {},
               .since = now - std::max<Duration>(wall() - letter.taken, Duration{0}),
               .subject = subject_of(letter),
               .is_of_loss = letter.is_of_loss};
    if (!is_new) tell_safe(letter.key, contact);
  }
}

void Courier::submit(const engine::effect::Alert& alert) { checked_ ? accept(alert) : early_.push_back(alert); }

void Courier::accept(const engine::effect::Alert& alert) {
  const Letter letter = letter_of(alert, wall());
  const std::uint64_t bytes = serialise(letter).size();
  std::vector<Box*> unsafe;
  for (const engine::Recipient& recipient : alert.recipients) {
    if (!recipient.contact) continue;
    Box& its = box(recipient.address);
    if (its.letters.was_sent(letter.key)) {
      tell_safe(letter.key, its.name);
      continue;
    }
    const auto [waiting, is_new] = its.letters.add(letter.key, bytes);
    if (is_new)
      waiting = {.memory = letter,
                 .since = runtime::mono_now(),
                 .subject = subject_of(letter),
                 .is_of_loss = letter.is_of_loss};
    if (waiting.memory)
      unsafe.push_back(&its);
    else
      tell_safe(letter.key, its.name);
  }
  for (Box* const its : unsafe) make_room(*its);
  if (!unsafe.empty()) save();
  for (Box* const its : unsafe) advance(*its);
}

/// Drops the oldest of what waits, where that is too much; never what is under way, nor the newest.
void Courier::make_room(Box& box) {
  while (box.letters.is_over()) {
    auto oldest = box.letters.waiting().begin();
    if (box.under_way == oldest->first) ++oldest;
    if (oldest == box.letters.waiting().end() || std::next(oldest) == box.letters.waiting().end()) return;
    close(box, LetterKey(oldest->first), false, "more alerts wait for it than are kept");
  }
}

/// Puts on disk what is only in memory, all that there is at once, but of contacts whose folders rest.
void Courier::save() {
  if (saving_ || !checked_) return;
  auto batches = std::make_shared<std::vector<Batch>>();
  for (const auto& [name, its] : boxes_) {
    if (its->disk_sick) continue;
    Batch batch{.contact = name, .letters = {}};
    for (const auto& [key, entry] : its->letters.waiting())
      if (entry.item.memory) batch.letters.push_back(*entry.item.memory);
    if (!batch.letters.empty()) batches->push_back(std::move(batch));
  }
  if (batches->empty()) return;
  saving_ = true;
  files_.submit(
      [this, queue = queue_, batches]() -> runtime::Loop::Callback {
        for (Batch& batch : *batches) batch.done = queue.put(batch.contact, batch.letters);
        return [this, batches] { saved(*batches); };
      },
      [this, batches](const Error& error) {
        for (Batch& batch : *batches) batch.done = error;
        saved(*batches);
      });
}

void Courier::saved(const std::vector<Batch>& batches) {
  saving_ = false;
  std::string why;
  for (const Batch& batch : batches) {
    Box& its = box(batch.contact);
    its.disk_sick = !batch.done;
    if (!batch.done && why.empty()) why = batch.done.error().what;
    for (const Letter& letter : batch.letters) {
      if (!batch.done) break;
      Waiting* const waiting = its.letters.find(letter.key);
      if (waiting == nullptr) {  // it was over before it was on disk: where the disk hung, once more
        bury(its, letter.key);
        continue;
      }
      waiting->memory.reset();
      tell_safe(letter.key, batch.contact);
    }
  }
  const bool any_sick = std::ranges::any_of(
      boxes_, [](const auto& one) { return one.second->disk_sick || !one.second->unburied.empty(); });
  if (!why.empty()) {
    disk_failed(fmt::format("alerts of contacts are kept in memory: {}", why));
  } else if (!any_sick && std::exchange(disk_sick_, false)) {
    log(Severity::Info, "alerts of contacts are written again");
  }
  save();
  see_idle();
}

/// The folder is sick: said once, and tried again when it has rested.
void Courier::disk_failed(std::string why) {
  if (!std::exchange(disk_sick_, true)) log(Severity::Error, std::move(why));
  disk_timer_.set_deadline(runtime::mono_now() + options_.disk_rest);
}

/// It is over, and so are some of those that were long ago.
void Courier::note_sent(Box& box, const LetterKey& key) {
  for (const LetterKey& oldest : box.letters.note_sent(key))
    files_.submit(
        [queue = queue_, name = box.name, oldest]() -> runtime::Loop::Callback {
          queue.forget(name, oldest);
          return [] {};
        },
        [](const Error&) {});
}

void Courier::bury(Box& box, const LetterKey& key) {
  ++burying_;
  const auto over = [this, &box, key](const Result<void>& done) {
    --burying_;
    if (!done) {
      box.unburied.insert(key);
      if (box.unburied.size() > box.letters.limits().sent) box.unburied.erase(box.unburied.begin());
      disk_failed(done.error().what);
    }
    if (box.noting == key) {
      box.noting.reset();
      advance(box);
    }
    see_idle();
  };
  files_.submit([queue = queue_, name = box.name, key,
                 over]() -> runtime::Loop::Callback { return [over, done = queue.bury(name, key)] { over(done); }; },
                [over](const Error& error) { over(error); });
}

// ---- for people ---------------------------------------------------------------------------------------------------

std::vector<ContactFigures> Courier::figures() const {
  std::vector<ContactFigures> all;
  const Duration now = runtime::mono_now();
  for (const auto& [name, its] : boxes_) {
    if (its->letters.empty() && (!its->refused || its->error.empty() || !its->contact)) continue;
    ContactFigures figures{
        .contact = its->shown(), .waiting = its->letters.size(), .error = its->error, .error_since = its->error_since};
    if (!its->letters.empty()) figures.since = WallTime{milliseconds{its->letters.first_key().when}};
    if (!its->under_way && its->contact && its->tries.rests(now)) figures.next = wall() + (its->tries.not_before - now);
    all.push_back(std::move(figures));
  }
  return all;
}

void Courier::when_idle(runtime::Loop::Callback done) {
  idle_.push_back(std::move(done));
  see_idle();
}

void Courier::see_idle() {
  if (idle_.empty() || !checked_ || saving_ || burying_ > 0) return;
  for (const auto& [name, its] : boxes_) {
    const bool rests = its->letters.empty() || !its->contact || its->tries.rests(runtime::mono_now());
    if (its->under_way || !rests) return;
  }
  for (const runtime::Loop::Callback& done : std::exchange(idle_, {})) loop_.post(done);
}

}  // namespace healer::delivery
