// SPDX-License-Identifier: MIT
// One mail, and the servers that may take it.
#include <algorithm>

#include <spdlog/fmt/fmt.h>

#include "delivery/contacts/mail_text.hpp"
#include "delivery/outbox/mailer_impl.hpp"
#include "runtime/clock.hpp"
#include "runtime/net/address.hpp"

namespace healer::delivery {

using engine::Severity;
using runtime::Address;
using runtime::describe;
using runtime::mono_now;

void Mailer::Impl::deliver(const MailKey& key, bool last) {
  ledger.begin(key);
  Waiting& mail = mails.at(key);
  if (mail.memory) {
    const Mail message = *mail.memory;
    (void)try_servers(key, message, last);
    return;
  }
  const Result<Mail> message = queue->read(key);
  if (message) {
    mail.to = message->to;
    (void)try_servers(key, *message, last);
  } else if (message.error().code != 0) {
    log(Severity::Error, "mail queue: " + message.error().what);
    mail.refused.fail(options.rhythm, mono_now());
  } else {
    mails.erase(key);
    ledger.forget(key);
    report(Outcome{engine::AlertId{key.alert}, Outcome::Kind::Dropped, message.error().what});
  }
}

bool Mailer::Impl::try_servers(const MailKey& key, const Mail& message, bool last) {
  std::string refusal;
  std::string fault;
  std::string refused;      // for good, and by whom
  bool all_refused = true;  // for good
  const std::string ehlo = settings.hostname.empty() ? id_host(host) : settings.hostname;
  const Duration timeout = settings.timeout;
  const runtime::Envelope envelope{message.from, message.to, message.text};
  for (std::size_t i = 0; i < servers.size(); ++i) {
    if (servers[i].tries.rests(mono_now())) {
      all_refused = false;
      continue;
    }
    const engine::MailServer server = servers[i].settings;
    const Result<std::string> addresses = addresses_of(server);
    if (!addresses && stopping_now()) return false;
    const auto meanwhile = [&] {
      take_results();  // alerts go to disk while a server lets us wait
      return !stopping_now();
    };
    Answer answer{.why = addresses ? std::string() : addresses.error().what};
    if (addresses) {
      runtime::SmtpResult result = smtp.send(server, ehlo, timeout, envelope, last, meanwhile, *addresses);
      if (result.is_aborted) return false;
      answer = {.status = result.status, .why = std::move(result.fault), .words = std::move(result.reply)};
    }
    const Verdict verdict = mail_kind().judge(answer, options.wall());
    if (std::holds_alternative<Taken>(verdict)) {
      server_worked(servers[i], key);
      taken(message.to);
      if (!message.urgent) ledger.sent(message.to, options.wall());
      close_mail(key, Outcome::Kind::Sent,
                 fmt::format("mail to {} sent through {}: {}", message.to, describe(server), message.subject));
      return true;
    }
    const auto* const again = std::get_if<TryAgain>(&verdict);
    if (again != nullptr && again->is_of_server) {
      all_refused = false;
      fault = fmt::format("{}: {}", describe(server), again->why);
      server_failed(servers[i], again->why);
      continue;
    }
    const std::string said =
        fmt::format("{}: {}", describe(server), again != nullptr ? again->why : std::get<Final>(verdict).why);
    last_error = {said, options.wall()};
    if (again == nullptr) {
      // It may be no more than that this server does not relay for us: another may take it.
      refused += (refused.empty() ? "" : "; by ") + said;
    } else {
      all_refused = false;
      refusal = said;
    }
  }
  if (!refused.empty() && all_refused) {
    served = true;
    close_mail(key, Outcome::Kind::Dropped,
               fmt::format("mail to {} refused by {}: {}", message.to, refused, message.subject));
    return true;
  }
  if (refusal.empty()) refusal = refused;
  Waiting& mail = mails.at(key);
  if (!refusal.empty()) {
    mail.refused.fail(options.rhythm, mono_now());
    const Duration waited = std::max<Duration>(options.wall() - message.when, Duration{0});
    if (is_given_up(options.rhythm, waited, mail.refused.failures)) {
      close_mail(key, Outcome::Kind::Dropped,
                 fmt::format("mail to {} given up after {} refusals, the last by {}: {}", message.to,
                             mail.refused.failures, refusal, message.subject));
      return true;
    }
  }
  const std::string reason = refusal.empty() ? fault : refusal;
  if (!reason.empty() && !std::exchange(mail.failure_reported, true))
    report(Outcome{message.alert, Outcome::Kind::Failed,
                   fmt::format("mail to {} not sent yet, trying again: {}", message.to, reason)});
  if (!reason.empty()) not_taken(refusal.empty() ? nullptr : &message.to);
  return false;
}

/// It has taken that mail.
void Mailer::Impl::server_worked(Server& server, const MailKey& key) {
  if (std::exchange(server.tries, {}).failures > 0)
    log(Severity::Info, fmt::format("mail server {} works again", describe(server.settings)));
  // What was refused for now, and waits, keeps what was said of it.
  if (std::ranges::none_of(mails,
                           [&](const auto& other) { return other.first != key && other.second.refused.failures > 0; }))
    last_error.reset();
}

void Mailer::Impl::ask_name(const std::string& name) {
  if (!options.look_up || name.starts_with('[') || Address::parse(name)) return;
  {
    const std::lock_guard lock(names_mutex);
    Name& its = names[name];
    if (std::exchange(its.asked, true)) return;
    its.fresh.reset();
  }
  options.look_up(name, [name, weak = weak_from_this()](Result<std::string> found) {
    const auto self = weak.lock();
    if (!self) return;
    {
      const std::lock_guard lock(self->names_mutex);
      Name& its = self->names[name];
      its.asked = false;
      if (found) its.addresses = *found;
      its.fresh = std::move(found);
    }
    self->smtp.wake();
  });
}

/// Where a server is; empty: its name says so. As healer ends nobody looks names up: then it is where it was.
Result<std::string> Mailer::Impl::addresses_of(const engine::MailServer& server) {
  if (!options.look_up || server.host.starts_with('[') || Address::parse(server.host)) return std::string();
  if (!stopping) ask_name(server.host);
  const Duration until = mono_now() + std::max(settings.timeout, Duration{100});
  while (true) {
    {
      const std::lock_guard lock(names_mutex);
      Name& its = names[server.host];
      if (!its.asked && its.fresh) return *its.fresh;
      if ((stopping || mono_now() >= until) && !its.addresses.empty()) return its.addresses;
    }
    if (mono_now() >= until)
      return Error{
          0, fmt::format("cannot resolve {}: no answer within {}", server.host, format_duration(settings.timeout))};
    smtp.wait(until - mono_now());
    take_results();
    if (stopping_now()) return Error{0, "stopped"};
  }
}

void Mailer::Impl::server_failed(Server& server, const std::string& reason) {
  const Duration rest = server.tries.fail(options.rhythm, mono_now());
  last_error = {fmt::format("{}: {}", describe(server.settings), reason), options.wall()};
  if (server.tries.failures == 1)
    log(Severity::Warning, fmt::format("mail server {} does not work: {}; mails that wait: {}",
                                       describe(server.settings), reason, mails.size()));
  else
    log(Severity::Debug, fmt::format("mail server {} still does not work: {}; tried again in {}",
                                     describe(server.settings), reason, format_duration(rest)));
}

}  // namespace healer::delivery
