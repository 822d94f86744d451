// SPDX-License-Identifier: MIT
// One mail, and the servers that may take it.
#include <algorithm>

#include <spdlog/fmt/fmt.h>

#include "actions/mail_text.hpp"
#include "runtime/mail/mailer_impl.hpp"
#include "runtime/net/address.hpp"

namespace healer::runtime {

using engine::Severity;

namespace {

constexpr std::uint32_t kMaxRefusals = 7'200;  // about five days of them

}  // namespace

void Mailer::Impl::deliver(const MailKey& key, bool last) {
  ledger.begin(key);
  Waiting& mail = mails.at(key);
  if (mail.memory) {
    const actions::Message message = *mail.memory;
    (void)try_servers(key, message, last);
    return;
  }
  const Result<actions::Message> message = queue->read(key);
  if (message) {
    mail.to = message->to;
    (void)try_servers(key, *message, last);
  } else if (message.error().code != 0) {
    log(Severity::Error, "mail queue: " + message.error().what);
    mail.not_before = Clock::now() + rest(++mail.refusals);
  } else {
    mails.erase(key);
    ledger.forget(key);
    report(Outcome{engine::AlertId{key.alert}, Outcome::Kind::Dropped, message.error().what});
  }
}

bool Mailer::Impl::try_servers(const MailKey& key, const actions::Message& message, bool last) {
  using Kind = SmtpResult::Kind;
  std::string refusal;
  std::string fault;
  std::string refused;      // for good, and by whom
  bool all_refused = true;  // for good
  const std::string ehlo = settings.hostname.empty() ? actions::id_host(host) : settings.hostname;
  const Duration timeout = settings.timeout;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    if (servers[i].not_before > Clock::now()) {
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
    const SmtpResult result = addresses ? smtp.send(server, ehlo, timeout, message, last, meanwhile, *addresses)
                                        : SmtpResult{Kind::ServerFault, addresses.error().what};
    if (result.kind == Kind::Aborted) return false;
    if (result.kind == Kind::Taken) {
      if (std::exchange(servers[i].failures, 0) > 0)
        log(Severity::Info, fmt::format("mail server {} works again", describe(server)));
      // What was refused for now, and waits, keeps what was said of it.
      if (std::ranges::none_of(mails,
                               [&](const auto& other) { return other.first != key && other.second.refusals > 0; }))
        last_error.reset();
      taken(message.to);
      if (!message.urgent) ledger.sent(message.to, options.wall());
      close_mail(key, Outcome::Kind::Sent,
                 fmt::format("mail to {} sent through {}: {}", message.to, describe(server), message.subject));
      return true;
    }
    const std::string answer = fmt::format("{}: {}", describe(server), result.text);
    if (result.kind == Kind::ServerFault) {
      all_refused = false;
      fault = answer;
      server_failed(servers[i], result.text);
      continue;
    }
    last_error = {answer, options.wall()};
    if (result.kind == Kind::RefusedForGood) {
      // It may be no more than that this server does not relay for us: another may take it.
      refused += (refused.empty() ? "" : "; by ") + answer;
    } else {
      all_refused = false;
      refusal = answer;
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
    mail.not_before = Clock::now() + rest(++mail.refusals);
    if (mail.refusals >= kMaxRefusals) {
      close_mail(key, Outcome::Kind::Dropped,
                 fmt::format("mail to {} given up after {} refusals, the last by {}: {}", message.to, mail.refusals,
                             refusal, message.subject));
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
  const Clock::time_point until = Clock::now() + std::max(settings.timeout, Duration{100});
  while (true) {
    {
      const std::lock_guard lock(names_mutex);
      Name& its = names[server.host];
      if (!its.asked && its.fresh) return *its.fresh;
      if ((stopping || Clock::now() >= until) && !its.addresses.empty()) return its.addresses;
    }
    if (Clock::now() >= until)
      return Error{
          0, fmt::format("cannot resolve {}: no answer within {}", server.host, format_duration(settings.timeout))};
    smtp.wait(std::chrono::ceil<milliseconds>(until - Clock::now()));
    take_results();
    if (stopping_now()) return Error{0, "stopped"};
  }
}

void Mailer::Impl::server_failed(Server& server, const std::string& reason) {
  ++server.failures;
  const Duration pause = rest(server.failures);
  server.not_before = Clock::now() + pause;
  last_error = {fmt::format("{}: {}", describe(server.settings), reason), options.wall()};
  if (server.failures == 1)
    log(Severity::Warning, fmt::format("mail server {} does not work: {}; mails that wait: {}",
                                       describe(server.settings), reason, mails.size()));
  else
    log(Severity::Debug, fmt::format("mail server {} still does not work: {}; tried again in {}",
                                     describe(server.settings), reason, format_duration(pause)));
}

}  // namespace healer::runtime
