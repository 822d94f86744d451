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
  Duration since{0};               ///< mono, so that no clock that is set makes it older
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
  std::set<LetterKey> unburied;  ///< of these, which the disk does not know to be over
  std::uint64_t bytes = 0;
  bool disk_sick = false;  ///< its folder could not be written; it rests
  std::optional<LetterKey> under_way;
  std::uint64_t preparing = 0;  ///< which try waits for disks: its letter or its secrets are read; 0: none
  std::uint32_t failures = 0;   ///< in a row
  Duration not_before{0};       ///< mono
  std::string error;
  std::optional<WallTime> error_since;
  bool refused = false;               // its last letter was dropped
  std::optional<Duration> loss_told;  ///< mono: when others were last told that something was dropped, or is late
  bool long_rest_told = false;        ///< others know that it asks for more rest than it gets
  runtime::Loop::Timer timer;

  [[nodiscard]] const std::string& shown() const { return contact ? contact->name : name; }
  [[nodiscard]] bool may_tell_loss(Duration now) const;
};

/// Letters that are written together, and how that went.
struct Outbox::Batch {
  std::string contact;
  std::vector<Letter> letters;
  Result<void> done{};
};

namespace {

constexpr Duration kLossesTold = hours{1};  // to others, so often at most

using ReadSecret = std::function<Result<std::string>(const std::string& name)>;

/// What is sent, with its secrets, which `hidden` gets.
Result<std::string> with_secrets_of(const Text& parts, Format format, const ReadSecret& read_secret,
                                    std::vector<std::string>& hidden) {
  std::string whole;
  for (const auto& [text, is_secret] : parts) {
    if (!is_secret) {
      whole += text;
      continue;
    }
    Result<std::string> secret = read_secret(text);
    if (!secret) return secret;
    const std::optional<std::string> written = written_secret(format, *secret, whole.empty());
    if (!written) return Error{0, fmt::format("secret {}: it contains control characters", text)};
    whole += *written;
    hidden.push_back(std::move(*secret));
  }
  return whole;
}

bool has_secret(const Parcel& parcel) {
  const auto is_any = [](const Text& text) { return std::ranges::any_of(text, &Place::Part::secret); };
  return is_any(parcel.url) || is_any(parcel.body) || std::ranges::any_of(parcel.headers, is_any);
}

Result<HttpCall> call_of(const Parcel& parcel, Duration timeout, const engine::TlsOptions& tls,
                         const ReadSecret& read_secret) {
  HttpCall call{.method = parcel.method, .timeout = timeout, .tls = tls};
  call.discards_body = true;
  call.saves.push_back({.from = engine::Saving::From::Header, .what = "Retry-After", .name = "after"});
  Result<std::string> url = with_secrets_of(parcel.url, Format::Url, read_secret, call.hidden);
  if (!url) return url.error();
  call.url = std::move(*url);
  for (const Text& header : parcel.headers) {
    Result<std::string> text = with_secrets_of(header, Format::Header, read_secret, call.hidden);
    if (!text) return text.error();
    call.headers.push_back(std::move(*text));
  }
  Result<std::string> body = with_secrets_of(parcel.body, parcel.body_format, read_secret, call.hidden);
  if (!body) return body.error();
  call.body = std::move(*body);
  return call;
}

}  // namespace

bool Outbox::Box::may_tell_loss(Duration now) const { return !loss_told || now - *loss_told >= kLossesTold; }

Outbox::Outbox(runtime::Loop& loop, OutboxOptions options, OutboxCallbacks callbacks)
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
    made->timer = loop_.timer([this, its = made.get()] {
      its->preparing == 0 ? advance(*its) : failed(*its, TryAgain{"the disk of its alerts or secrets does not answer"});
    });
  }
  return *made;
}

void Outbox::configure(const engine::Settings& settings, std::string host) {
  host_ = std::move(host);
  const bool all_change = tls_ != settings.tls_options || secrets_ != settings.secrets;
  tls_ = settings.tls_options;
  secrets_ = settings.secrets;
  std::map<std::string, std::optional<engine::Contact>> former;
  for (const auto& [name, its] : boxes_) former[name] = std::exchange(its->contact, std::nullopt);
  for (const engine::Contact& contact : settings.contacts)
    if (find_kind(contact.kind) != nullptr) box(contact.name).contact = contact;
  for (const auto& [name, its] : boxes_) {
    // Any other is left alone as long as it has asked for, or has to be: lists reload rules often.
    if (all_change || its->contact != former[name]) {
      its->failures = 0;
      its->not_before = Duration{0};
      its->long_rest_told = false;
    }
    advance(*its);
  }
}

// ---- what is on disk ----------------------------------------------------------------------------------------------

/// Looks what an earlier daemon has left; again, where that has failed.
void Outbox::check() {
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

void Outbox::checked(const std::shared_ptr<Result<std::map<std::string, FoundLetters>>>& found) {
  checked_ = true;
  checking_ = false;
  if (*found) {
    found_ = true;
    const Duration now = runtime::mono_now();
    for (auto& [contact, letters] : **found) {
      Box& its = box(contact);
      its.sent.insert(letters.sent.begin(), letters.sent.end());
      // Where this comes late, alerts were taken, and sent, before it was known what is here.
      for (const LetterKey& key : letters.sent) {
        const auto known = its.letters.find(key);
        if (known == its.letters.end()) continue;
        its.bytes -= known->second.bytes;
        its.letters.erase(known);
        taken(key.alert, contact);
      }
      for (const Letter& letter : letters.waiting) {
        if (its.sent.contains(letter.key)) {
          bury(its, letter.key);
          continue;
        }
        const std::uint64_t bytes = serialise(letter).size();
        const auto [known, is_new] = its.letters.try_emplace(letter.key);
        if (is_new) its.bytes += bytes;
        known->second = {.memory = {},
                         .since = now - std::max<Duration>(wall() - letter.taken, Duration{0}),
                         .subject = subject_of(letter),
                         .bytes = bytes,
                         .is_of_loss = letter.is_of_loss};
        if (!is_new) taken(letter.key.alert, contact);
      }
    }
  } else {
    disk_failed("alerts of contacts: " + found->error().what);
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
                       .since = runtime::mono_now(),
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

/// Puts on disk what is only in memory, all that there is at once, but of contacts whose folders rest.
void Outbox::save() {
  if (saving_ || !checked_) return;
  auto batches = std::make_shared<std::vector<Batch>>();
  for (const auto& [name, its] : boxes_) {
    if (its->disk_sick) continue;
    Batch batch{.contact = name, .letters = {}};
    for (auto& [key, waiting] : its->letters) {
      if (!waiting.memory) continue;
      batch.letters.push_back(*waiting.memory);
    }
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

void Outbox::saved(const std::vector<Batch>& batches) {
  saving_ = false;
  std::string why;
  for (const Batch& batch : batches) {
    Box& its = box(batch.contact);
    its.disk_sick = !batch.done;
    if (!batch.done && why.empty()) why = batch.done.error().what;
    for (const Letter& letter : batch.letters) {
      if (!batch.done) break;
      const auto waiting = its.letters.find(letter.key);
      if (waiting == its.letters.end()) {  // it was over before it was on disk: where the disk hung, once more
        bury(its, letter.key);
        continue;
      }
      waiting->second.memory.reset();
      taken(letter.key.alert, batch.contact);
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
void Outbox::disk_failed(std::string why) {
  if (!std::exchange(disk_sick_, true)) log(Severity::Error, std::move(why));
  disk_timer_.set_deadline(runtime::mono_now() + options_.disk_rest);
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

void Outbox::advance(Box& box) {
  if (!checked_ || box.under_way) return;
  const Duration now = runtime::mono_now();
  while (!box.letters.empty() && is_overdue(options_.rhythm, now - box.letters.begin()->second.since)) {
    const std::string last = box.error.empty() ? "" : fmt::format("; the last try: {}", box.error);
    close(box, LetterKey(box.letters.begin()->first), false,
          fmt::format("not delivered within {}{}", format_duration(options_.rhythm.deadline), last));
  }
  if (box.letters.empty()) {
    box.timer.set_deadline(std::nullopt);
    return see_idle();
  }
  const Duration overdue = box.letters.begin()->second.since + options_.rhythm.deadline + Duration{1};
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

/// Makes the request of the letter that is next. Its file, and its secrets, may be on disks that do not answer: these
/// have as long as the contact's server has.
void Outbox::begin(Box& box) {
  const auto& [key, waiting] = *box.letters.begin();
  box.under_way = key;
  box.preparing = ++last_call_;
  box.timer.set_deadline(runtime::mono_now() + box.contact->timeout);
  if (waiting.memory) return compose_for(box, *waiting.memory);
  auto letter = std::make_shared<Result<Letter>>(Error{0, "not read"});
  files_.submit(
      [this, queue = queue_, name = box.name, key = key, call = box.preparing, letter]() -> runtime::Loop::Callback {
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
Outbox::Box* Outbox::preparing(const std::string& contact, std::uint64_t call) {
  Box* const its = find(contact);
  return its != nullptr && its->preparing == call ? its : nullptr;
}

/// Makes the request of a letter that was read.
void Outbox::compose_for(Box& box, const Letter& letter) {
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

void Outbox::prepared(Box& box, Result<HttpCall> call) {
  if (!call) return failed(box, TryAgain{call.error().what});
  box.preparing = 0;
  box.timer.set_deadline(std::nullopt);
  if (!caller_)
    caller_ = std::make_unique<runtime::HttpCaller>(
        loop_, runtime::HttpCaller::Options{.most = 1024, .resolver = options_.resolver});
  caller_->call(engine::ActionId{++last_call_}, std::move(*call),
                [this, contact = box.name](const Answered& answer) { answered(contact, answer); });
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

void Outbox::failed(Box& box, const TryAgain& why) {
  const LetterKey key = *std::exchange(box.under_way, std::nullopt);
  const Rhythm& rhythm = options_.rhythm;
  const Duration now = runtime::mono_now();
  box.preparing = 0;
  ++box.failures;
  const bool is_long = why.after && *why.after > rhythm.longest_wanted;
  const Duration rest =
      why.after ? std::max(std::min(*why.after, rhythm.longest_wanted), rhythm.first) : pause(rhythm, box.failures);
  box.not_before = now + rest;
  box.error = why.why;
  box.error_since = wall();
  const auto waiting = box.letters.find(key);
  if (waiting == box.letters.end()) return advance(box);
  const bool tells = is_long && !box.long_rest_told && !waiting->second.is_of_loss && box.may_tell_loss(now);
  if (tells) {
    box.long_rest_told = true;
    box.loss_told = now;
  }
  if (!std::exchange(waiting->second.failure_reported, true) || tells)
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
void Outbox::close(Box& box, const LetterKey& key, bool sent, const std::string& why) {
  using Outcome = engine::event::MailOutcome;
  const auto found = box.letters.find(key);
  if (found == box.letters.end()) return;
  const Waiting waiting = std::move(found->second);
  box.letters.erase(found);
  box.bytes -= waiting.bytes;
  box.refused = !sent;
  bury(box, key);  // also what was only in memory: some of it may be on disk, or its engine not know that it is over
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
  const bool tells = !sent && !waiting.is_of_loss && box.may_tell_loss(now);
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
  ++burying_;
  const auto over = [this, &box, key](const Result<void>& done) {
    --burying_;
    if (!done) {
      box.unburied.insert(key);
      if (box.unburied.size() > options_.most_sent) box.unburied.erase(box.unburied.begin());
      disk_failed(done.error().what);
    }
    see_idle();
  };
  files_.submit([queue = queue_, name = box.name, key,
                 over]() -> runtime::Loop::Callback { return [over, done = queue.bury(name, key)] { over(done); }; },
                [over](const Error& error) { over(error); });
}

// ---- for people ---------------------------------------------------------------------------------------------------

std::vector<ContactFigures> Outbox::figures() const {
  std::vector<ContactFigures> all;
  const Duration now = runtime::mono_now();
  for (const auto& [name, its] : boxes_) {
    if (its->letters.empty() && (!its->refused || its->error.empty() || !its->contact)) continue;
    ContactFigures figures{
        .contact = its->shown(), .waiting = its->letters.size(), .error = its->error, .error_since = its->error_since};
    if (!its->letters.empty()) figures.since = WallTime{milliseconds{its->letters.begin()->first.when}};
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
  if (idle_.empty() || !checked_ || saving_ || burying_ > 0) return;
  for (const auto& [name, its] : boxes_) {
    const bool rests = its->letters.empty() || !its->contact || its->not_before > runtime::mono_now();
    if (its->under_way || !rests) return;
  }
  for (const runtime::Loop::Callback& done : std::exchange(idle_, {})) loop_.post(done);
}

}  // namespace healer::delivery
