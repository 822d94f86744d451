// SPDX-License-Identifier: MIT
// How alerts leave the daemon: by mail, and to contacts.
#include <memory>
#include <utility>

#include "daemon/daemon_impl.hpp"

namespace healer {

using namespace engine;

namespace {

constexpr Duration kLastMoment{1'000};  // for what is told as the daemon ends

}  // namespace

void Daemon::open_delivery() {
  const auto log = [this](Severity severity, const std::string& text) { write_log(severity, text); };
  delivery::OutboxOptions options{.contacts = {.directory = paths_.contacts_dir},
                                  .mail = delivery::MailerOptions{.directory = paths_.mail_dir,
                                                                  .former = paths_.state_file + ".mail",
                                                                  .places = paths_.state_file + ".mail-places",
                                                                  .host = "",
                                                                  .version = HEALER_VERSION,
                                                                  .civil = runtime::local_civil}};
  outbox_ = std::make_unique<delivery::Outbox>(
      loop_, std::move(options), delivery::OutboxCallbacks{[this](const Event& event) { handle(event); }, log});
}

void Daemon::perform(effect::Alert& effect) { outbox_->submit(effect); }

/// What is still to be told when the loop has ended: contacts and collectors get a moment, as mail servers do. What
/// contacts do not take then waits for the next start.
void Daemon::deliver_last() {
  outbox_->when_idle([this] { http_ ? http_->when_idle([this] { loop_.stop(); }) : loop_.stop(); });
  auto limit = loop_.timer([this] { loop_.stop(); });
  limit.set_deadline(runtime::mono_now() + kLastMoment);
  loop_.run();
  outbox_->stop();
  // That the last mails were taken, and by whom, is told now: else they would go again after the next start.
  loop_.post([this] { loop_.stop(); });
  loop_.run();
}

}  // namespace healer
