// SPDX-License-Identifier: MIT
// How alerts leave the daemon: by mail, and to contacts.
#include <algorithm>
#include <memory>
#include <utility>

#include "daemon/daemon_impl.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "runtime/host.hpp"

namespace healer {

using namespace engine;

namespace {

constexpr Duration kLastMoment{1'000};  // for what is told as the daemon ends

}  // namespace

void Daemon::open_delivery(const Graph& graph) {
  const auto log = [this](Severity severity, const std::string& text) { write_log(severity, text); };
  const auto notified = [this](const Event& event) {
    const auto* const taken = std::get_if<event::AlertTaken>(&event);
    taken != nullptr ? alert_taken(*taken) : handle(event);
  };
  const auto posted = [this, notified](Event event) {
    loop_.post([notified, event = std::move(event)] { notified(event); });
  };
  server_names_ = std::make_unique<runtime::ServerNames>(loop_, runtime::Resolver::Options{});
  const auto look_up = [this](std::string host, runtime::ServerNames::Done done) {
    server_names_->look_up(std::move(host), std::move(done));
  };
  mailer_ = std::make_unique<runtime::Mailer>(runtime::MailerOptions{.directory = paths_.mail_dir,
                                                                     .former = paths_.state_file + ".mail",
                                                                     .places = paths_.state_file + ".mail-places",
                                                                     .host = runtime::Host{}.host_name(),
                                                                     .version = HEALER_VERSION,
                                                                     .civil = runtime::local_civil,
                                                                     .look_up = look_up},
                                              graph.settings->mail, graph.settings->cycle_length(),
                                              runtime::MailerCallbacks{posted, log});
  outbox_ = std::make_unique<delivery::Outbox>(loop_, delivery::OutboxOptions{.directory = paths_.contacts_dir},
                                               delivery::OutboxCallbacks{notified, log});
}

void Daemon::perform(effect::Alert& effect) {
  const bool is_mailed = std::ranges::any_of(effect.recipients, [](const Recipient& one) { return !one.contact; });
  const bool to_contacts = delivery::Outbox::concerns(effect);
  if (is_mailed && to_contacts) half_taken_.insert(effect.alert.number());
  if (to_contacts) outbox_->submit(effect);
  if (is_mailed || !to_contacts) mailer_->submit(std::move(effect));
}

/// One of the two has it on its disk. The engine may forget it when both have.
void Daemon::alert_taken(const event::AlertTaken& taken) {
  if (half_taken_.erase(taken.alert.number()) == 0) handle(taken);
}

std::vector<control::ContactView> Daemon::contact_views() const {
  std::vector<control::ContactView> views;
  for (const delivery::ContactFigures& one : outbox_->figures())
    views.push_back({.name = one.contact,
                     .waiting = one.waiting,
                     .since = one.since,
                     .error = one.error,
                     .error_since = one.error_since,
                     .next = one.next});
  return views;
}

/// What is still to be told when the loop has ended: contacts and collectors get a moment, as mail servers do. What
/// contacts do not take then waits for the next start.
void Daemon::deliver_last() {
  outbox_->when_idle([this] { http_ ? http_->when_idle([this] { loop_.stop(); }) : loop_.stop(); });
  auto limit = loop_.timer([this] { loop_.stop(); });
  limit.set_deadline(runtime::mono_now() + kLastMoment);
  loop_.run();
}

}  // namespace healer
