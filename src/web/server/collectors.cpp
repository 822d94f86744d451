// SPDX-License-Identifier: MIT
#include "web/server/collectors.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "runtime/clock.hpp"
#include "runtime/files/secret_file.hpp"
#include "runtime/net/http_caller.hpp"
#include "web/monit/collector.hpp"
#include "web/monit/collector_queue.hpp"
#include "web/server/credentials.hpp"

namespace healer::web {
namespace {

using engine::event::Answered;
using monit::CollectorDocument;
using monit::CollectorQueue;
using monit::CollectorUrl;

constexpr std::size_t kServicesPerTurn = 500;
constexpr std::uint16_t kFirstFailure = 400;  ///< answers below are successes, as in Monit: redirects, too

bool has_secret(const std::string& text) { return text.find(runtime::kSecretBegin) != std::string::npos; }

engine::TlsOptions tls_options_of(const engine::MmonitSettings& mmonit) {
  engine::TlsOptions options = mmonit.tls_options;
  // As Monit before 6.1; where it is to verify, that has been written out.
  if (std::ranges::find(options, "verify", &engine::TlsOptions::value_type::first) == options.end())
    options.emplace_back("verify", "disable");
  if (!mmonit.certificate_checksum.empty()) options.emplace_back("checksum", mmonit.certificate_checksum);
  return options;
}

}  // namespace

struct Collectors::Impl {
  struct Collector {
    CollectorUrl url;
    CollectorQueue queue{};
    std::optional<CollectorQueue::Message> message{};  ///< under way, or about to be
    std::uint64_t call = 0;                            ///< 0: its document is being made
    std::string error{};                               ///< why the last try has failed
    std::uint64_t dropped_before = 0;                  ///< events of the queue, when it was last well
    bool told_dropped = false;
  };

  Impl(runtime::Loop& on, const control::Supervisor& of, Report to)
      : loop(on), daemon(of), report(std::move(to)), timer(loop.timer([this] { cycle(); })) {}

  void use(const engine::Settings& settings);
  void cycle();
  void tell(std::vector<monit::CollectorEvent> told);
  void advance_all();
  void advance(Collector& collector);
  void make_document();
  void grow();
  void send(Collector& collector);
  void answered(const std::string& url, std::uint64_t call, const Answered& answer);
  void failed(Collector& collector, bool of_event, const std::string& why);
  void came_through(Collector& collector);
  void see_idle();
  void say(bool is_failure, std::string text) {
    loop.post([this, alive = std::weak_ptr<char>(alive), is_failure, text = std::move(text)] {
      if (!alive.expired()) report(is_failure, text);
    });
  }

  runtime::Loop& loop;
  const control::Supervisor& daemon;
  const Report report;
  runtime::Loop::Timer timer;
  std::optional<engine::MmonitSettings> mmonit;
  std::optional<engine::HttpdSettings::Allow> login;
  std::string secrets;
  Duration period{0};
  Duration next_cycle{0};  ///< mono
  std::vector<std::unique_ptr<Collector>> collectors;
  monit::CollectorEvents events;
  std::uint64_t number = 0;  ///< of the last event or cycle
  std::shared_ptr<const CollectorDocument> document;
  std::uint64_t document_number = 0;  ///< it tells of what has happened up to there
  std::shared_ptr<CollectorDocument> growing;
  std::uint64_t growing_number = 0;
  std::uint64_t last_call = 0;
  std::vector<runtime::Loop::Callback> idle;
  std::shared_ptr<char> alive = std::make_shared<char>();
  std::unique_ptr<runtime::HttpCaller> caller;  ///< made when something is sent first
};

void Collectors::Impl::use(const engine::Settings& settings) {
  const auto* const told = monit::told_login(settings);
  mmonit = settings.shadow ? std::nullopt : settings.mmonit;  // who only watches is no host of M/Monit's
  login = told == nullptr ? std::nullopt : std::optional(*told);
  secrets = settings.secrets;
  period = settings.cycle_length();
  document.reset();
  growing.reset();
  std::vector<std::unique_ptr<Collector>> before = std::exchange(collectors, {});
  for (const std::string& url : mmonit ? mmonit->urls : std::vector<std::string>{}) {
    CollectorUrl place = monit::collector_url(url);
    const auto known =
        std::ranges::find_if(before, [&](const auto& one) { return one != nullptr && one->url.bare == place.bare; });
    collectors.push_back(known != before.end() ? std::move(*known) : std::make_unique<Collector>());
    collectors.back()->url = std::move(place);
  }
  for (const auto& gone : before)
    if (gone != nullptr && gone->call != 0 && caller) caller->end(engine::ActionId{gone->call});
  next_cycle = runtime::mono_now();
  timer.set_deadline(collectors.empty() ? std::nullopt : std::optional(next_cycle));
  see_idle();
}

void Collectors::Impl::cycle() {
  const Duration now = runtime::mono_now();
  next_cycle = std::max(next_cycle + period, now);
  timer.set_deadline(next_cycle);
  ++number;
  for (const auto& one : collectors) one->queue.cycle(number);
  advance_all();
}

void Collectors::Impl::tell(std::vector<monit::CollectorEvent> told) {
  for (monit::CollectorEvent& event : told) {
    const auto shared = std::make_shared<const monit::CollectorEvent>(std::move(event));
    ++number;
    for (const auto& one : collectors) {
      one->queue.add(number, shared);
      if (one->queue.dropped() == one->dropped_before || std::exchange(one->told_dropped, true)) continue;
      say(true, fmt::format("M/Monit: more than {} events wait for {}: the oldest are dropped",
                            CollectorQueue::kMostEvents, one->url.bare));
    }
  }
  if (!told.empty()) advance_all();
}

void Collectors::Impl::advance_all() {
  for (const auto& one : collectors) advance(*one);
  const auto needs = [](const auto& one) { return (one->message && one->call == 0) || one->queue.has_more(); };
  if (std::ranges::none_of(collectors, needs)) document.reset();
  see_idle();
}

void Collectors::Impl::advance(Collector& collector) {
  if (!collector.message) collector.message = collector.queue.next();
  if (!collector.message || collector.call != 0) return;
  if (document && document_number >= collector.message->number) return send(collector);
  if (!growing) make_document();
}

/// All that asks for a document until then gets this one.
void Collectors::Impl::make_document() {
  growing_number = number;
  growing = std::make_shared<CollectorDocument>(daemon, mmonit->host_groups);
  loop.post([this, its = std::weak_ptr<CollectorDocument>(growing)] {
    if (!its.expired()) grow();
  });
}

void Collectors::Impl::grow() {
  if (growing->grow(kServicesPerTurn)) {
    loop.post([this, its = std::weak_ptr<CollectorDocument>(growing)] {
      if (!its.expired()) grow();
    });
    return;
  }
  document = std::exchange(growing, nullptr);
  document_number = growing_number;
  advance_all();
}

void Collectors::Impl::send(Collector& collector) {
  const monit::Scene scene(daemon);
  const CollectorQueue::Message& message = *collector.message;
  runtime::HttpCall call{.method = "POST", .timeout = mmonit->timeout, .tls = tls_options_of(*mmonit)};
  call.headers = monit::collector_headers(scene.version);
  call.discards_body = true;
  const std::string password = collector.url.password;
  const std::string told = login ? login->password : std::string();
  if (has_secret(password) || has_secret(told)) {
    // Their files may be on a disk that does not answer.
    call.url = collector.url.bare;
    call.complete = [url = collector.url, who = login, folder = secrets, document = document,
                     event = message.event](runtime::HttpCall& whole) -> Result<void> {
      auto secret = runtime::with_secrets(url.password, folder);
      if (!secret) return secret.error();
      auto inner = runtime::with_secrets(who ? who->password : std::string(), folder);
      if (!inner) return inner.error();
      whole.url = url.whole(*secret);
      whole.hidden = {*secret, *inner};
      whole.body = document->text(event.get(), who ? std::optional(std::pair(who->who, *inner)) : std::nullopt);
      std::erase(whole.hidden, "");
      return {};
    };
  } else {
    call.url = collector.url.whole(password);
    call.hidden = {password, told};
    std::erase(call.hidden, "");
    call.body = document->text(message.event.get(), login ? std::optional(std::pair(login->who, told)) : std::nullopt);
  }
  collector.call = ++last_call;
  if (!caller) caller = std::make_unique<runtime::HttpCaller>(loop);
  caller->call(engine::ActionId{collector.call}, std::move(call),
               [this, url = collector.url.bare, number = collector.call](const Answered& answer) {
                 answered(url, number, answer);
               });
}

void Collectors::Impl::answered(const std::string& url, std::uint64_t call, const Answered& answer) {
  const auto found = std::ranges::find_if(collectors, [&](const auto& one) { return one->call == call; });
  if (found == collectors.end() || (*found)->url.bare != url) return;
  Collector& collector = **found;
  const bool of_event = collector.message->event != nullptr;
  const bool is_answer = answer.kind == Answered::Kind::Whole;
  const bool taken = is_answer && answer.status < kFirstFailure;
  collector.call = 0;
  collector.message.reset();
  collector.queue.ended(taken       ? CollectorQueue::End::Taken
                        : is_answer ? CollectorQueue::End::Refused
                                    : CollectorQueue::End::Lost);
  if (taken)
    came_through(collector);
  else
    failed(collector, of_event, is_answer ? fmt::format("it answered {}", answer.status) : answer.why);
  advance_all();
}

void Collectors::Impl::failed(Collector& collector, bool of_event, const std::string& why) {
  if (std::exchange(collector.error, why) == why) return;
  say(true,
      fmt::format("M/Monit: {} message to {} failed: {}", of_event ? "event" : "status", collector.url.bare, why));
}

/// An event that is refused while statuses are taken is no recovery.
void Collectors::Impl::came_through(Collector& collector) {
  if (collector.error.empty() || collector.queue.waiting() > 0) return;
  const std::uint64_t dropped =
      collector.queue.dropped() - std::exchange(collector.dropped_before, collector.queue.dropped());
  collector.told_dropped = false;
  collector.error.clear();
  say(false, fmt::format("M/Monit: {} takes messages again{}", collector.url.bare,
                         dropped == 0   ? std::string()
                         : dropped == 1 ? ", an event was dropped"
                                        : fmt::format(", {} events were dropped", dropped)));
}

void Collectors::Impl::see_idle() {
  if (idle.empty() || std::ranges::any_of(collectors, [](const auto& one) { return one->message.has_value(); })) return;
  for (runtime::Loop::Callback& done : std::exchange(idle, {})) done();
}

Collectors::Collectors(runtime::Loop& loop, const control::Supervisor& daemon, Report report)
    : impl_(std::make_unique<Impl>(loop, daemon, std::move(report))) {}
Collectors::~Collectors() = default;

void Collectors::use(const engine::Settings& settings) { impl_->use(settings); }

void Collectors::see(const engine::Event& event) {
  if (!impl_->collectors.empty() && std::holds_alternative<engine::event::Command>(event))
    impl_->events.note(event, monit::Scene(impl_->daemon));
}

void Collectors::see(const engine::Effect& effect) {
  if (impl_->collectors.empty()) return;
  const auto* const commit = std::get_if<engine::effect::Commit>(&effect);
  if (commit == nullptr ? !std::holds_alternative<engine::effect::Reply>(effect) : commit->records.empty()) return;
  impl_->tell(impl_->events.of(effect, monit::Scene(impl_->daemon)));
}

std::vector<std::string> Collectors::troubles() const {
  std::vector<std::string> texts;
  for (const auto& one : impl_->collectors) {
    if (one->error.empty()) continue;
    std::string text = fmt::format("M/Monit: {} takes nothing: {}", one->url.bare, one->error);
    if (const std::size_t waiting = one->queue.waiting(); waiting > 0)
      text += fmt::format("; {} {} for it", waiting, waiting == 1 ? "event waits" : "events wait");
    if (const std::uint64_t dropped = one->queue.dropped() - one->dropped_before; dropped > 0)
      text += fmt::format("; {} {} dropped", dropped, dropped == 1 ? "was" : "were");
    texts.push_back(std::move(text));
  }
  return texts;
}

void Collectors::when_idle(runtime::Loop::Callback done) {
  impl_->idle.push_back(std::move(done));
  impl_->see_idle();
}

}  // namespace healer::web
