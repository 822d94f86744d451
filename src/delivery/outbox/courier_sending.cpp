// SPDX-License-Identifier: MIT
// What becomes of one alert after the other: its request, and the answer.
#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "delivery/outbox/courier_box.hpp"
#include "delivery/outbox/request.hpp"
#include "engine/events/event.hpp"
#include "runtime/clock.hpp"
#include "runtime/files/secret_file.hpp"

namespace healer::delivery {

using engine::event::Answered;
using runtime::HttpCall;

namespace {

constexpr Duration kLongestNote{1'000};  // that a disk which does not answer holds up the next alert

}  // namespace

void Courier::advance(Box& box) {
  if (!checked_ || box.under_way) return;
  const Duration now = runtime::mono_now();
  const Rhythm& rhythm = rhythm_of(box);
  while (!box.letters.empty() && is_given_up(rhythm, now - box.letters.first().since)) {
    const std::string last = box.error.empty() ? "" : fmt::format("; the last try: {}", box.error);
    close(box, LetterKey(box.letters.first_key()), false,
          fmt::format("not delivered within {}{}", format_duration(*rhythm.deadline), last));
  }
  if (box.letters.empty()) {
    box.timer.set_deadline(std::nullopt);
    return see_idle();
  }
  std::optional<Duration> overdue;
  if (rhythm.deadline) overdue = box.letters.first().since + *rhythm.deadline + Duration{1};
  if (!box.contact) {
    if (box.error.empty()) {
      box.error = kGone;
      box.error_since = wall();
    }
    box.timer.set_deadline(overdue);
    return see_idle();
  }
  // A crash sends again only what was under way: the note of what was sent goes before the next.
  if (box.noting && box.noting_until > now) {
    box.timer.set_deadline(box.noting_until);
    return;
  }
  if (box.tries.rests(now)) {
    box.timer.set_deadline(std::min(box.tries.not_before, overdue.value_or(Duration::max())));
    return see_idle();
  }
  begin(box);
}

/// Makes the request of the letter that is next. Its file, and its secrets, may be on disks that do not answer: these
/// have as long as the contact's server has.
void Courier::begin(Box& box) {
  const LetterKey key = box.letters.first_key();
  const Waiting& waiting = box.letters.first();
  box.under_way = key;
  box.preparing = ++last_call_;
  box.timer.set_deadline(runtime::mono_now() + box.contact->timeout);
  if (waiting.memory) return compose_for(box, *waiting.memory);
  auto letter = std::make_shared<Result<Letter>>(Error{0, "not read"});
  files_.submit(
      [this, queue = queue_, name = box.name, key, call = box.preparing, letter]() -> runtime::Loop::Callback {
        *letter = queue.read(name, key);
        return [this, name, key, call, letter] {
          Box* const its = preparing(name, call);
          if (its == nullptr) return;
          if (*letter) return compose_for(*its, **letter);
          const Error& why = letter->error();
          if (why.code != 0) return failed(*its, TryAgain{why.what});
          its->preparing = 0;
          its->under_way.reset();
          close(*its, key, false, why.what);
          advance(*its);
        };
      },
      [this, name = box.name, call = box.preparing](const Error& error) {
        if (Box* const its = preparing(name, call)) failed(*its, TryAgain{error.what});
      });
}

/// The contact for which that try is being prepared still; null: it was given up.
Courier::Box* Courier::preparing(const std::string& contact, std::uint64_t call) {
  Box* const its = find(contact);
  return its != nullptr && its->preparing == call ? its : nullptr;
}

/// Makes the request of a letter that was read.
void Courier::compose_for(Box& box, const Letter& letter) {
  if (!box.contact) {  // the rules have lost it meanwhile
    box.preparing = 0;
    box.under_way.reset();
    return advance(box);
  }
  const Duration timeout = box.contact->timeout;
  Parcel parcel = compose(*box.contact, letter, host_);
  if (!has_secret(parcel)) return prepared(box, call_of(parcel, timeout, tls_, {}));
  const auto read = [from = options_.read_secret, folder = secrets_](const std::string& name) {
    return from ? from(name, folder) : runtime::read_secret(name, folder);
  };
  auto made = std::make_shared<Result<HttpCall>>(Error{0, "not made"});
  secret_files_.submit(
      [this, parcel = std::move(parcel), timeout, tls = tls_, read, name = box.name, call = box.preparing,
       made]() -> runtime::Loop::Callback {
        *made = call_of(parcel, timeout, tls, read);
        return [this, name, call, made] {
          if (Box* const its = preparing(name, call)) prepared(*its, std::move(*made));
        };
      },
      [this, name = box.name, call = box.preparing](const Error& error) {
        if (Box* const its = preparing(name, call)) prepared(*its, Result<HttpCall>(error));
      });
}

void Courier::prepared(Box& box, Result<HttpCall> call) {
  if (!call) return failed(box, TryAgain{call.error().what});
  box.preparing = 0;
  box.timer.set_deadline(std::nullopt);
  if (!caller_)
    caller_ = std::make_unique<runtime::HttpCaller>(
        loop_, runtime::HttpCaller::Options{.most = 1024, .resolver = options_.resolver});
  caller_->call(engine::ActionId{++last_call_}, std::move(*call),
                [this, contact = box.name](const Answered& answer) { answered(contact, answer); });
}

void Courier::answered(const std::string& contact, const Answered& answer) {
  Box& its = box(contact);
  Answer notified{.status = answer.kind == Answered::Kind::Whole ? answer.status : std::uint16_t{0}, .why = answer.why};
  if (!answer.saved.empty()) notified.retry_after = answer.saved.front().value_or("");
  const Verdict verdict = its.kind != nullptr ? its.kind->judge(notified, wall()) : by_status(notified, wall());
  if (const auto* again = std::get_if<TryAgain>(&verdict)) return failed(its, *again);
  const LetterKey key = *std::exchange(its.under_way, std::nullopt);
  its.tries = {};
  its.long_rest_told = false;
  its.error.clear();
  its.error_since.reset();
  if (const auto* why = std::get_if<Final>(&verdict)) {
    its.error = why->why;
    its.error_since = wall();
    close(its, key, false, why->why);
  } else {
    close(its, key, true, {});
  }
  advance(its);
}

void Courier::failed(Box& box, const TryAgain& why) {
  const LetterKey key = *std::exchange(box.under_way, std::nullopt);
  const Duration now = runtime::mono_now();
  box.preparing = 0;
  const bool is_long = is_too_long(rhythm_of(box), why.after);
  const Duration rest = box.tries.fail(rhythm_of(box), now, why.after);
  box.error = why.why;
  box.error_since = wall();
  Waiting* const waiting = box.letters.find(key);
  if (waiting == nullptr) return advance(box);
  const bool tells = is_long && !box.long_rest_told && !waiting->is_of_loss && box.may_tell_loss(now);
  if (tells) {
    box.long_rest_told = true;
    box.loss_told = now;
  }
  if (!std::exchange(waiting->failure_reported, true) || tells)
    tell(engine::event::MailOutcome{
        .alert = engine::AlertId{key.alert},
        .kind = engine::event::MailOutcome::Kind::Failed,
        .text = fmt::format(
            "alert to contact {} not sent yet, trying again{}: {}", box.shown(),
            is_long ? fmt::format(" in {}, not in {} as it asks", format_duration(rest), format_duration(*why.after))
                    : "",
            why.why),
        .contact = box.shown(),
        .tells_others = tells});
  advance(box);
}

/// A letter is done with, one way or the other.
void Courier::close(Box& box, const LetterKey& key, bool sent, const std::string& why) {
  using Outcome = engine::event::MailOutcome;
  const std::optional<Waiting> waiting = box.letters.remove(key);
  if (!waiting) return;
  box.refused = !sent;
  if (sent && !disk_sick_) {
    box.noting = key;
    box.noting_until = runtime::mono_now() + kLongestNote;
  }
  bury(box, key);  // also what was only in memory: some of it may be on disk, or its engine not know that it is over
  note_sent(box, key);
  const Duration now = runtime::mono_now();
  const bool tells = !sent && !waiting->is_of_loss && box.may_tell_loss(now);
  if (tells) box.loss_told = now;
  tell(Outcome{.alert = engine::AlertId{key.alert},
               .kind = sent ? Outcome::Kind::Sent : Outcome::Kind::Dropped,
               .text = sent ? fmt::format("alert to contact {} sent: {}", box.shown(), waiting->subject)
                            : fmt::format("alert to contact {} dropped, {}: {}", box.shown(), why, waiting->subject),
               .contact = box.shown(),
               .tells_others = tells});
  if (waiting->memory) tell_safe(key, box.name);
}

const Rhythm& Courier::rhythm_of(const Box& box) const {
  static constexpr Rhythm kUsual;
  if (options_.rhythm) return *options_.rhythm;
  return box.kind != nullptr ? box.kind->rhythm : kUsual;
}

}  // namespace healer::delivery
