// SPDX-License-Identifier: MIT
#include "delivery/outbox.hpp"

#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/events/event.hpp"
#include "runtime/clock.hpp"
#include "runtime/files/secret_file.hpp"
#include "util/text.hpp"

namespace healer::delivery {

using engine::Severity;
using engine::event::Answered;
using runtime::HttpCall;

/// An alert that waits for its contact.
struct Outbox::Waiting {
  std::optional<Letter> memory{};  ///< until it is on disk
  bool saving = false;             ///< it is being written
  WallTime taken{};
  std::string subject;
  std::uint64_t bytes = 0;
  bool is_of_loss = false;
  bool failure_reported = false;
};

/// One contact: what waits for it, and how it does.
struct Outbox::Box {
  std::string name;                        ///< in lower case
  std::optional<engine::Contact> contact;  ///< none: the rules have none of that name
  std::map<LetterKey, Waiting> letters;
  std::set<LetterKey> sent;
  std::uint64_t bytes = 0;
  std::optional<LetterKey> under_way;
  std::uint32_t failures = 0;  ///< in a row
  Duration not_before{0};      ///< mono
  std::string error;
  std::optional<WallTime> error_since;
  std::optional<Duration> loss_told;  ///< mono: when others were last told that something was dropped
  runtime::Loop::Timer timer;

  [[nodiscard]] const std::string& shown() const { return contact ? contact->name : name; }
};

namespace {

constexpr Duration kLossesTold = hours{1};  // to others, so often at most

/// What is sent, with its secrets, which `hidden` gets.
Result<std::string> with_secrets_of(const Text& parts, Format format, const std::string& folder,
                                    std::vector<std::string>& hidden) {
  std::string whole;
  for (const auto& [text, is_secret] : parts) {
    if (!is_secret) {
      whole += text;
      continue;
    }
    Result<std::string> secret = runtime::read_secret(text, folder);
    if (!secret) return secret;
    const std::optional<std::string> written = written_secret(format, *secret, whole.empty());
    if (!written) return Error{0, fmt::format("secret {}: it contains control characters", text)};
    whole += *written;
    hidden.push_back(std::move(*secret));
  }
  return whole;
}

Result<HttpCall> call_of(const Parcel& parcel, const engine::Contact& contact, const std::string& folder,
                         const engine::TlsOptions& tls) {
  HttpCall call{.method = parcel.method, .timeout = contact.timeout, .tls = tls};
  call.discards_body = true;
  call.saves.push_back({.from = engine::Saving::From::Header, .what = "Retry-After", .name = "after"});
  Result<std::string> url = with_secrets_of(parcel.url, Format::Url, folder, call.hidden);
  if (!url) return url.error();
  call.url = std::move(*url);
  for (const Text& header : parcel.headers) {
    Result<std::string> text = with_secrets_of(header, Format::Header, folder, call.hidden);
    if (!text) return text.error();
    call.headers.push_back(std::move(*text));
  }
  Result<std::string> body = with_secrets_of(parcel.body, parcel.body_format, folder, call.hidden);
  if (!body) return body.error();
  call.body = std::move(*body);
  return call;
}

}  // namespace

Outbox::Outbox(runtime::Loop& loop, OutboxOptions options, OutboxCallbacks callbacks)
    : loop_(loop),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      queue_(options_.directory),
      disk_timer_(loop.timer([this] {
        check();
        save();
      })),
      files_(loop, {.name = "healer-outbox", .workers = 1, .max_lost = 4, .patience = Duration{10'000}}) {
  check();
}

Outbox::~Outbox() = default;

WallTime Outbox::wall() const { return options_.wall ? options_.wall() : runtime::wall_now(); }

void Outbox::tell(engine::Event event) {
  loop_.post([this, alive = std::weak_ptr<char>(alive_), event = std::move(event)] {
    if (!alive.expired()) callbacks_.report(event);
  });
}

void Outbox::log(Severity severity, std::string text) {
  loop_.post([this, alive = std::weak_ptr<char>(alive_), severity, text = std::move(text)] {
    if (!alive.expired()) callbacks_.log(severity, text);
  });
}

Outbox::Box* Outbox::find(const std::string& contact) {
  const auto found = boxes_.find(contact);
  return found == boxes_.end() ? nullptr : found->second.get();
}

Outbox::Box& Outbox::box(const std::string& contact) {
  const std::string name = to_lower(contact);
  std::unique_ptr<Box>& made = boxes_[name];
  if (!made) {
    made = std::make_unique<Box>();
    made->name = name;
    made->timer = loop_.timer([this, its = made.get()] { advance(*its); });
  }
  return *made;
}

void Outbox::configure(const engine::Settings& settings, std::string host) {
  host_ = std::move(host);
  tls_ = settings.tls_options;
  secrets_ = settings.secrets;
  for (const auto& [name, its] : boxes_) its->contact.reset();
  for (const engine::Contact& contact : settings.contacts)
    if (find_kind(contact.kind) != nullptr) box(contact.name).contact = contact;
  for (const auto& [name, its] : boxes_) {
    its->failures = 0;
    its->not_before = Duration{0};
    advance(*its);
  }
}

// ---- what is on disk ----------------------------------------------------------------------------------------------

/// Looks what an earlier daemon has left; again, where that has failed.
void Outbox::check() {
  if (found_) return;
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

void Outbox::checked(const std::shared_ptr<Result<std::map<std::string, FoundLetters>>>& found) {
  checked_ = true;
  if (*found) {
    found_ = true;
    for (auto& [contact, letters] : **found) {
      Box& its = box(contact);
      its.sent.insert(letters.sent.begin(), letters.sent.end());
      for (Letter& letter : letters.waiting) {
        const std::uint64_t bytes = serialise(letter).size();
        const auto [known, is_new] = its.letters.try_emplace(letter.key);
        if (is_new) its.bytes += bytes;
        known->second = {.memory = {},
                         .taken = std::min(letter.taken, wall()),
                         .subject = subject_of(letter),
                         .bytes = bytes,
                         .is_of_loss = letter.is_of_loss};
        if (!is_new) taken(letter.key.alert, contact);
      }
    }
  } else {
    if (!std::exchange(disk_sick_, true)) log(Severity::Error, "alerts of contacts: " + found->error().what);
    disk_timer_.set_deadline(runtime::mono_now() + options_.disk_rest);
  }
  for (const engine::effect::Alert& alert : std::exchange(early_, {})) accept(alert);
  for (const auto& [name, its] : boxes_) advance(*its);
  see_idle();
}

bool Outbox::concerns(const engine::effect::Alert& alert) {
  return std::ranges::any_of(alert.recipients, &engine::Recipient::contact);
}

void Outbox::submit(const engine::effect::Alert& alert) { checked_ ? accept(alert) : early_.push_back(alert); }

void Outbox::accept(const engine::effect::Alert& alert) {
  const Letter letter = letter_of(alert, wall());
  const std::uint64_t bytes = serialise(letter).size();
  std::set<std::string> unsafe;
  for (const engine::Recipient& recipient : alert.recipients) {
    if (!recipient.contact) continue;
    Box& its = box(recipient.address);
    if (its.sent.contains(letter.key)) continue;
    const auto [known, is_new] = its.letters.try_emplace(letter.key);
    if (is_new) {
      known->second = {.memory = letter,
                       .taken = letter.taken,
                       .subject = subject_of(letter),
                       .bytes = bytes,
                       .is_of_loss = letter.is_of_loss};
      its.bytes += bytes;
    }
    if (known->second.memory) unsafe.insert(its.name);
  }
  if (unsafe.empty()) return tell(engine::event::AlertTaken{alert.alert});
  untaken_[alert.alert.number()] = unsafe;
  for (const std::string& name : unsafe) make_room(*find(name));
  save();
  for (const std::string& name : unsafe) advance(*find(name));
}

/// Drops the oldest of what waits, where that is too much; never what is under way, nor the newest.
void Outbox::make_room(Box& box) {
  while (box.letters.size() > options_.most_letters || box.bytes > options_.most_bytes) {
    auto oldest = box.letters.begin();
    if (box.under_way == oldest->first) ++oldest;
    if (oldest == box.letters.end() || std::next(oldest) == box.letters.end()) return;
    close(box, LetterKey(oldest->first), false, "more alerts wait for it than are kept");
  }
}

/// Puts on disk what is only in memory, all that there is at once.
void Outbox::save() {
  if (saving_ || !checked_) return;
  std::map<std::string, std::vector<Letter>> letters;
  std::vector<std::pair<std::string, LetterKey>> names;
  for (const auto& [name, its] : boxes_)
    for (auto& [key, waiting] : its->letters) {
      if (!waiting.memory) continue;
      waiting.saving = true;
      letters[name].push_back(*waiting.memory);
      names.emplace_back(name, key);
    }
  if (names.empty()) return;
  saving_ = true;
  auto done = std::make_shared<Result<void>>();
  files_.submit(
      [this, queue = queue_, letters = std::move(letters), names, done]() -> runtime::Loop::Callback {
        for (const auto& [contact, all] : letters)
          if (*done) *done = queue.put(contact, all);
        return [this, names, done] { saved(names, *done); };
      },
      [this, names](Error error) { saved(names, Result<void>(std::move(error))); });
}

void Outbox::saved(const std::vector<std::pair<std::string, LetterKey>>& letters, const Result<void>& done) {
  saving_ = false;
  for (const auto& [contact, key] : letters) {
    Box& its = box(contact);
    const auto waiting = its.letters.find(key);
    if (waiting == its.letters.end()) continue;
    waiting->second.saving = false;
    if (!done) continue;
    waiting->second.memory.reset();
    taken(key.alert, contact);
  }
  if (!done) {
    if (!std::exchange(disk_sick_, true))
      log(Severity::Error, fmt::format("alerts of contacts are kept in memory: {}", done.error().what));
    disk_timer_.set_deadline(runtime::mono_now() + options_.disk_rest);
    return;
  }
  if (std::exchange(disk_sick_, false)) log(Severity::Info, "alerts of contacts are written again");
  save();
}

/// The alert is safe as far as this contact is concerned: on disk, or over.
void Outbox::taken(std::uint64_t alert, const std::string& contact) {
  const auto found = untaken_.find(alert);
  if (found == untaken_.end()) return;
  found->second.erase(contact);
  if (!found->second.empty()) return;
  untaken_.erase(found);
  tell(engine::event::AlertTaken{engine::AlertId{alert}});
}

// ---- one after the other ------------------------------------------------------------------------------------------

/// Begins with what is next for a contact, where it is time.
void Outbox::advance(Box& box) {
  if (!checked_ || box.under_way) return;
  while (!box.letters.empty() && is_overdue(options_.rhythm, box.letters.begin()->second.taken, wall())) {
    const std::string last = box.error.empty() ? "" : fmt::format("; the last try: {}", box.error);
    close(box, LetterKey(box.letters.begin()->first), false,
          fmt::format("not delivered within {}{}", format_duration(options_.rhythm.deadline), last));
  }
  if (box.letters.empty()) {
    box.timer.set_deadline(std::nullopt);
    return see_idle();
  }
  const Duration now = runtime::mono_now();
  const Duration patience = options_.rhythm.deadline - (wall() - box.letters.begin()->second.taken);
  const Duration overdue = now + std::max(patience, Duration{0}) + Duration{1};
  if (!box.contact) {
    if (box.error.empty()) {
      box.error = "the rules have no contact of that name any more";
      box.error_since = wall();
    }
    box.timer.set_deadline(overdue);
    return see_idle();
  }
  if (box.not_before > now) {
    box.timer.set_deadline(std::min(box.not_before, overdue));
    return see_idle();
  }
  begin(box);
}

/// Makes the request of the letter that is next. Its file, and its secrets, may be on a disk that does not answer.
void Outbox::begin(Box& box) {
  const auto& [key, waiting] = *box.letters.begin();
  box.under_way = key;
  auto made = std::make_shared<Result<HttpCall>>(Error{0, "not made"});
  files_.submit(
      [this, queue = queue_, contact = *box.contact, name = box.name, key = key, memory = waiting.memory, host = host_,
       folder = secrets_, tls = tls_, made]() -> runtime::Loop::Callback {
        const Result<Letter> letter = memory ? Result<Letter>(*memory) : queue.read(name, key);
        *made =
            letter ? call_of(compose(contact, *letter, host), contact, folder, tls) : Result<HttpCall>(letter.error());
        const bool is_lost = !letter && letter.error().code == 0;
        return [this, name, key, made, is_lost] {
          Box* const its = find(name);
          if (!is_lost) return prepared(name, std::move(*made));
          its->under_way.reset();
          close(*its, key, false, made->error().what);
          advance(*its);
        };
      },
      [this, name = box.name](Error error) { prepared(name, Result<HttpCall>(std::move(error))); });
}

void Outbox::prepared(const std::string& contact, Result<HttpCall> call) {
  Box& its = box(contact);
  if (!call) {
    failed(its, TryAgain{call.error().what});
    return;
  }
  if (!caller_)
    caller_ = std::make_unique<runtime::HttpCaller>(
        loop_, runtime::HttpCaller::Options{.most = 1024, .resolver = options_.resolver});
  caller_->call(engine::ActionId{++last_call_}, std::move(*call),
                [this, contact](const Answered& answer) { answered(contact, answer); });
}

void Outbox::answered(const std::string& contact, const Answered& answer) {
  Box& its = box(contact);
  const Kind* const kind = its.contact ? find_kind(its.contact->kind) : nullptr;
  Answer notified{.status = answer.kind == Answered::Kind::Whole ? answer.status : std::uint16_t{0}, .why = answer.why};
  if (!answer.saved.empty()) notified.retry_after = answer.saved.front().value_or("");
  const Verdict verdict = kind != nullptr ? kind->judge(notified, wall()) : by_status(notified, wall());
  if (const auto* again = std::get_if<TryAgain>(&verdict)) return failed(its, *again);
  const LetterKey key = *std::exchange(its.under_way, std::nullopt);
  its.failures = 0;
  its.not_before = Duration{0};
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

void Outbox::failed(Box& box, const TryAgain& why) {
  const LetterKey key = *std::exchange(box.under_way, std::nullopt);
  ++box.failures;
  const Duration rest = why.after ? std::max(*why.after, options_.rhythm.first) : pause(options_.rhythm, box.failures);
  box.not_before = runtime::mono_now() + rest;
  box.error = why.why;
  box.error_since = wall();
  const auto waiting = box.letters.find(key);
  if (waiting != box.letters.end() && !std::exchange(waiting->second.failure_reported, true))
    tell(engine::event::MailOutcome{
        .alert = engine::AlertId{key.alert},
        .kind = engine::event::MailOutcome::Kind::Failed,
        .text = fmt::format("alert to contact {} not sent yet, trying again: {}", box.shown(), why.why),
        .contact = box.shown()});
  advance(box);
}

/// A letter is done with, one way or the other.
void Outbox::close(Box& box, const LetterKey& key, bool sent, const std::string& why) {
  using Outcome = engine::event::MailOutcome;
  const auto found = box.letters.find(key);
  if (found == box.letters.end()) return;
  const Waiting waiting = std::move(found->second);
  box.letters.erase(found);
  box.bytes -= waiting.bytes;
  if (!waiting.memory || waiting.saving) bury(box, key);
  box.sent.insert(key);
  while (box.sent.size() > options_.most_sent) {
    files_.submit(
        [queue = queue_, name = box.name, oldest = *box.sent.begin()]() -> runtime::Loop::Callback {
          queue.forget(name, oldest);
          return [] {};
        },
        [](const Error&) {});
    box.sent.erase(box.sent.begin());
  }
  const Duration now = runtime::mono_now();
  const bool tells = !sent && !waiting.is_of_loss && (!box.loss_told || now - *box.loss_told >= kLossesTold);
  if (tells) box.loss_told = now;
  tell(Outcome{.alert = engine::AlertId{key.alert},
               .kind = sent ? Outcome::Kind::Sent : Outcome::Kind::Dropped,
               .text = sent ? fmt::format("alert to contact {} sent: {}", box.shown(), waiting.subject)
                            : fmt::format("alert to contact {} dropped, {}: {}", box.shown(), why, waiting.subject),
               .contact = box.shown(),
               .tells_others = tells});
  taken(key.alert, box.name);
}

void Outbox::bury(Box& box, const LetterKey& key) {
  auto done = std::make_shared<Result<void>>();
  files_.submit(
      [this, queue = queue_, name = box.name, key, done]() -> runtime::Loop::Callback {
        *done = queue.bury(name, key);
        return [this, done] {
          if (!*done) log(Severity::Error, done->error().what);
        };
      },
      [this](const Error& error) { log(Severity::Error, error.what); });
}

// ---- for people ---------------------------------------------------------------------------------------------------

std::vector<ContactFigures> Outbox::figures() const {
  std::vector<ContactFigures> all;
  const Duration now = runtime::mono_now();
  for (const auto& [name, its] : boxes_) {
    if (its->letters.empty()) continue;
    ContactFigures figures{.contact = its->shown(),
                           .waiting = its->letters.size(),
                           .since = WallTime{milliseconds{its->letters.begin()->first.when}},
                           .error = its->error,
                           .error_since = its->error_since};
    if (!its->under_way && its->contact && its->not_before > now) figures.next = wall() + (its->not_before - now);
    all.push_back(std::move(figures));
  }
  return all;
}

void Outbox::when_idle(runtime::Loop::Callback done) {
  idle_.push_back(std::move(done));
  see_idle();
}

void Outbox::see_idle() {
  if (idle_.empty() || !checked_ || saving_) return;
  for (const auto& [name, its] : boxes_) {
    const bool rests = its->letters.empty() || !its->contact || its->not_before > runtime::mono_now();
    if (its->under_way || !rests) return;
  }
  for (const runtime::Loop::Callback& done : std::exchange(idle_, {})) loop_.post(done);
}

}  // namespace healer::delivery
