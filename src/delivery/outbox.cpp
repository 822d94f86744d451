// SPDX-License-Identifier: MIT
#include "delivery/outbox.hpp"

#include <algorithm>
#include <utility>

#include "engine/events/event.hpp"
#include "util/text.hpp"

namespace healer::delivery {

using engine::event::AlertTaken;

Outbox::Outbox(runtime::Loop& loop, OutboxOptions options, OutboxCallbacks callbacks)
    : loop_(loop),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      courier_(loop, options_.contacts,
               {.safe = [this](engine::AlertId alert, const std::string& contact) { safe(alert, contact); },
                .report = callbacks_.report,
                .log = callbacks_.log}) {
  if (!options_.mail || options_.mail->look_up) return;
  names_ = std::make_unique<runtime::ServerNames>(loop_, runtime::Resolver::Options{});
  options_.mail->look_up = [this](std::string host, runtime::ServerNames::Done done) {
    names_->look_up(std::move(host), std::move(done));
  };
}

Outbox::~Outbox() { stop(); }

void Outbox::configure(const engine::Settings& settings, const std::string& host) {
  courier_.configure(settings, host);
  if (!options_.mail) return;
  if (mailer_) return mailer_->configure(settings.mail, settings.cycle_length(), host);
  options_.mail->host = host;
  const auto report = [this, alive = std::weak_ptr<char>(alive_)](engine::Event event) {
    loop_.post([this, alive, event = std::move(event)] {
      if (!alive.expired()) take_mail_event(event);
    });
  };
  mailer_ = std::make_unique<Mailer>(*options_.mail, settings.mail, settings.cycle_length(),
                                     MailerCallbacks{.report = report, .log = callbacks_.log});
}

void Outbox::submit(const engine::effect::Alert& alert) {
  Untaken& untaken = untaken_[alert.alert.number()];
  untaken = {};
  for (const engine::Recipient& recipient : alert.recipients)
    if (recipient.contact) untaken.contacts.insert(to_lower(recipient.address));
  const bool is_for_contacts = !untaken.contacts.empty();
  // What is for nobody is the mailer's, which takes and forgets it.
  untaken.mail = !is_for_contacts || !std::ranges::all_of(alert.recipients, &engine::Recipient::contact);
  const bool is_mailed = untaken.mail;
  if (is_for_contacts) courier_.submit(alert);
  if (!is_mailed) return;
  if (mailer_) return mailer_->submit(alert);
  loop_.post([this, alive = std::weak_ptr<char>(alive_), id = alert.alert] {
    if (!alive.expired()) mailed(id);
  });
}

void Outbox::take_mail_event(const engine::Event& event) {
  const auto* const taken = std::get_if<AlertTaken>(&event);
  taken != nullptr ? mailed(taken->alert) : callbacks_.report(event);
}

/// All its mails are on the disk, or over.
void Outbox::mailed(engine::AlertId alert) {
  const auto found = untaken_.find(alert.number());
  if (found == untaken_.end()) return;
  found->second.mail = false;
  see_taken(found);
}

void Outbox::safe(engine::AlertId alert, const std::string& contact) {
  const auto found = untaken_.find(alert.number());
  if (found == untaken_.end()) return;
  found->second.contacts.erase(contact);
  see_taken(found);
}

/// The engine may forget it when all have it on their disks.
void Outbox::see_taken(std::map<std::uint64_t, Untaken>::iterator alert) {
  if (alert->second.mail || !alert->second.contacts.empty()) return;
  const engine::AlertId id{alert->first};
  untaken_.erase(alert);
  callbacks_.report(AlertTaken{id});
}

std::vector<ContactFigures> Outbox::contacts() const { return courier_.figures(); }

MailFigures Outbox::mail() const { return mailer_ ? mailer_->figures() : MailFigures{}; }

void Outbox::when_idle(runtime::Loop::Callback done) { courier_.when_idle(std::move(done)); }

void Outbox::stop() {
  if (mailer_) mailer_->stop();
}

}  // namespace healer::delivery
