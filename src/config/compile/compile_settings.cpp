// SPDX-License-Identifier: MIT
// `set` statements to what the engine reads. Nothing is judged here; the passes before have found no error.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "config/compile/compile_parts.hpp"
#include "config/compile/cron.hpp"
#include "config/compile/workflow.hpp"
#include "config/passes/passes.hpp"
#include "config/syntax/vocabulary.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

std::optional<std::string> text_of(const Rare<Word>& word) { return word ? std::optional(word->value) : std::nullopt; }

engine::MailFormat mail_format(const MailFormatSyntax& format) {
  return {.from = text_of(format.from),
          .reply_to = text_of(format.reply_to),
          .subject = text_of(format.subject),
          .message = text_of(format.message)};
}

/// Applies `set` statements in the order of writing: the last of a kind counts, servers and recipients add up.
class SettingsCompiler {
 public:
  SettingsCompiler(engine::Settings& settings, MonitVersion monit)
      : settings_(settings), verifies_(monit >= MonitVersion::V6_1) {}

  void operator()(const SetDaemon& set) {
    settings_.cycle = bounded(set.cycle.value);
    if (set.start_delay) settings_.start_delay = bounded(set.start_delay->value);
  }
  void operator()(const SetLog& set) {
    settings_.log = {.target = set.syslog ? engine::LogSettings::Target::Syslog : engine::LogSettings::Target::File,
                     .path = set.path.value,
                     .facility = set.facility ? to_lower(set.facility->value) : ""};
  }
  void operator()(const SetPath& set) {
    switch (set.kind) {
      case SetPath::Kind::PidFile: settings_.pid_file = set.path.value; return;
      case SetPath::Kind::IdFile: settings_.id_file = set.path.value; return;
      case SetPath::Kind::StateFile: settings_.state_file = set.path.value; return;
      case SetPath::Kind::ControlSocket: settings_.control_socket = set.path.value; return;
      case SetPath::Kind::Secrets: settings_.secrets = set.path.value; return;
    }
  }
  void operator()(const SetLimits& set) {
    for (const SetLimits::Item& item : set.items) {
      const Limit* limit = find_limit(item.name.value);
      if (limit == nullptr) continue;
      if (limit->size != nullptr)
        settings_.limits.*limit->size =
            static_cast<std::uint32_t>(std::min(std::get<std::uint64_t>(item.value), kMaxSize));
      else if (const Duration time = std::get<Duration>(item.value); time > Duration{0})
        settings_.limits.*limit->time = bounded(time);
    }
  }
  void operator()(const SetMailServer& set) {
    for (const SetMailServer::Server& server : set.servers) {
      if (!server.port || server.port->value < 1 || server.port->value > 65535) continue;
      settings_.mail.servers.push_back(mail_server(server));
      if (verifies_ && server.tls && !says_verify(*server.tls)) settings_.mail.servers.back().verify = true;
    }
    if (set.timeout && set.timeout->value > Duration{0}) settings_.mail.timeout = bounded(set.timeout->value);
    settings_.mail.hostname = set.hostname ? set.hostname->value : "";  // as in Monit that of the last statement
  }
  void operator()(const SetMailFormat& set) { settings_.mail.format = mail_format(set.format); }
  void operator()(const SetAlert& set) { settings_.mail.recipients.push_back(recipient(set.alert)); }
  void operator()(const SetEventQueue& set) {
    settings_.mail.queue_directory = set.directory ? set.directory->value : "";
    settings_.mail.queue_slots = bounded<std::uint32_t>(set.slots ? set.slots->value : 0);
  }
  void operator()(const SetMailLimit& set) {
    settings_.mail.limit = {.mails = bounded<std::uint32_t>(set.mails.value), .within = bounded(set.within.value)};
  }
  /// Further statements add to the first; who they are is found out by the look-ups.
  void operator()(const SetOperators& set) {
    for (const Word& user : set.users)
      if (std::ranges::find(settings_.operators, user.value, &engine::OperatorUser::name) == settings_.operators.end())
        settings_.operators.push_back({.name = user.value, .uid = {}});
  }
  void operator()(const SetEnvironment& set) {
    std::erase_if(settings_.environment, [&](const auto& known) { return known.first == set.name.value; });
    settings_.environment.emplace_back(set.name.value, set.value.value);
  }
  void operator()(const SetSettle& set) { settings_.settle = bounded(set.settle.value); }
  void operator()(const SetSwitch& set) {
    switch (set.kind) {
      case SetSwitch::Kind::Init: settings_.foreground = true; return;
      case SetSwitch::Kind::Shadow: settings_.shadow = true; return;
      case SetSwitch::Kind::DryRun: settings_.dry_run = true; return;
      case SetSwitch::Kind::AcceptDormant: settings_.accept_dormant = true; return;
      case SetSwitch::Kind::EndLeftovers: settings_.end_leftovers = true; return;
      case SetSwitch::Kind::TerminalBatch: settings_.terminal_batch = true; return;
      case SetSwitch::Kind::Fips: settings_.fips = true; return;
      case SetSwitch::Kind::CyclesCountPolls: settings_.count_polls = true; return;
      case SetSwitch::Kind::CyclesCountRuns: settings_.count_polls = false; return;
    }
  }
  void operator()(const SetSsl& set) { settings_.tls_options = tls_options(set.tls); }
  /// A second statement adds to the first, as in Monit.
  void operator()(const SetHttpd& set) {
    if (!settings_.httpd) settings_.httpd.emplace();
    engine::HttpdSettings& httpd = *settings_.httpd;
    if (set.port) {
      httpd.port = bounded<std::uint16_t>(set.port->value);
      httpd.port_read_only = set.port_read_only;
    }
    if (!set.addresses.empty()) httpd.addresses.clear();
    for (const Word& address : set.addresses) httpd.addresses.push_back(address.value);
    for (const Word& proxy : set.proxies) httpd.proxies.push_back(proxy.value);
    if (set.unix_socket) {
      httpd.unix_socket = set.unix_socket->value;
      httpd.socket_read_only = set.socket_read_only;
    }
    if (set.uid) httpd.uid = set.uid->value;
    if (set.gid) httpd.gid = set.gid->value;
    if (set.permission) httpd.permission = set.permission->value;
    if (set.signature) httpd.signature = set.signature->value == "enable";
    if (set.tls) httpd.tls = *set.tls;
    for (const auto& [name, value] : set.tls_options) httpd.tls_options.emplace_back(name.value, value.value);
    for (const SetHttpd::Allow& allow : set.allow) httpd.allow.push_back(allowed(allow));
  }
  void operator()(const SetUrl& set) { settings_.url = set.url.value; }
  void operator()(const SetMmonit& set) {
    if (!settings_.mmonit) settings_.mmonit.emplace();
    engine::MmonitSettings& mmonit = *settings_.mmonit;
    for (const Word& url : set.urls) mmonit.urls.push_back(url.value);
    mmonit.timeout = bounded(set.timeout ? set.timeout->value : settings_.limits.network_timeout);
    mmonit.tls = set.tls.has_value();
    if (set.tls) mmonit.tls_options = tls_options(*set.tls);
    if (verifies_ && set.tls && !says_verify(*set.tls)) mmonit.tls_options.emplace_back("verify", "enable");
    if (set.checksum) mmonit.certificate_checksum = to_lower(set.checksum->value);
    mmonit.register_credentials = !set.without_credentials;
    mmonit.host_groups.insert(mmonit.host_groups.end(), set.host_groups.begin(), set.host_groups.end());
  }
  void operator()(const SetMonit& set) {
    if (const auto version = monit_version(set.version.value)) settings_.monit = *version;
  }
  void operator()(const SetExpectBuffer& set) {
    settings_.limits.send_expect_buffer = static_cast<std::uint32_t>(std::min(set.bytes.value, kMaxSize));
  }
  void operator()(const SetHealingLimit& set) { settings_.healing.limits.push_back(healing_limit(set.limit)); }
  void operator()(const SetHealingMode& set) { settings_.healing.mode = set.mode.mode; }
  void operator()(const SetHealingOnlyWhile& set) {
    for (const Word& name : set.services) settings_.healing.only_while.push_back(name.value);
  }
  void operator()(const SetMaintenance& set) {
    settings_.maintenance.push_back({.begin = read_cron(set.cron.value).spec,
                                     .text = set.cron.value,
                                     .length = bounded(set.length.value),
                                     .group = set.group ? set.group->value : ""});
  }
  void operator()(const SetContact& set) { settings_.contacts.push_back(contact(set)); }
  void operator()(const SetOnReboot& set) { settings_.on_reboot = reboot_policy(set.policy.value); }

 private:
  static engine::HttpdSettings::Allow::Kind kind_of(SetHttpd::Allow::Kind kind) {
    using Who = engine::HttpdSettings::Allow::Kind;
    switch (kind) {
      case SetHttpd::Allow::Kind::Host: return Who::Host;
      case SetHttpd::Allow::Kind::Login: return Who::Login;
      case SetHttpd::Allow::Kind::Group: return Who::Group;
      case SetHttpd::Allow::Kind::File: return Who::File;
      case SetHttpd::Allow::Kind::Token: return Who::Token;
    }
    return Who::Login;
  }

  static engine::HttpdSettings::Allow allowed(const SetHttpd::Allow& allow) {
    engine::HttpdSettings::Allow result{.kind = kind_of(allow.kind),
                                        .who = allow.who.value,
                                        .password = allow.password ? allow.password->value : "",
                                        .how = allow.how ? allow.how->value : "",
                                        .role = allow.role};
    for (const Word& user : allow.users) result.users.push_back(user.value);
    return result;
  }

  static engine::Contact contact(const SetContact& set) {
    engine::Contact result{.name = set.name.value,
                           .kind = set.kind.value,
                           .place = set.place ? set.place->value : "",
                           .method = set.method ? set.method->value : "",
                           .headers = {},
                           .body = set.body ? set.body->value : ""};
    for (const Word& header : set.headers) result.headers.push_back(header.value);
    if (set.timeout) result.timeout = bounded(set.timeout->value);
    for (const auto& [name, value] : set.settings) result.settings.emplace_back(name.value, value.value);
    return result;
  }

  static engine::MailServer mail_server(const SetMailServer::Server& server) {
    engine::MailServer result;
    result.host = server.host.value;
    result.port = bounded<std::uint16_t>(server.port->value);
    if (server.username) result.username = server.username->value;
    if (server.password) result.password = server.password->value;
    if (server.checksum) result.certificate_checksum = to_lower(server.checksum->value);
    if (!server.tls) return result;
    using Security = engine::MailServer::Security;
    const bool greets_first = result.port == 25 || result.port == 587;  // on any other port Monit begins with TLS
    result.security = greets_first ? Security::StartTls : Security::Tls;
    const auto set_version = [&](const Word& word) {
      const std::string version = to_lower(word.value);
      if (version != "ssl" && version != "tls") result.tls_version = version;
    };
    if (server.tls->version) set_version(*server.tls->version);
    for (const auto& [name, value] : server.tls->options) {
      if (iequals(name.value, "version")) set_version(value);
      if (iequals(name.value, "verify")) result.verify = iequals(value.value, "enable");
      if (iequals(name.value, "selfsigned")) result.allow_self_signed = iequals(value.value, "allow");
      if (iequals(name.value, "ciphers")) result.ciphers = value.value;
      if (iequals(name.value, "cacertificatefile")) result.ca_file = value.value;
      if (iequals(name.value, "cacertificatepath")) result.ca_path = value.value;
      if (iequals(name.value, "clientpemfile") || (iequals(name.value, "pemfile") && result.client_certificate.empty()))
        result.client_certificate = value.value;
    }
    return result;
  }

  static bool says_verify(const TlsSyntax& tls) {
    return std::ranges::any_of(tls.options, [](const auto& option) { return iequals(option.first.value, "verify"); });
  }

  engine::Settings& settings_;
  bool verifies_;  ///< certificates are verified unless it is said that they are not
};

}  // namespace

engine::Recipient recipient(const AlertSyntax& alert) {
  engine::EventMask named;
  for (const Word& event : alert.events)
    if (const std::optional<engine::EventKind> kind = event_kind(event.value))
      named.set(static_cast<std::size_t>(*kind));
  if (alert.events.empty()) named.set();
  return {.address = alert.address.value,
          .events = alert.negated && !alert.events.empty() ? ~named : named,
          .listed = !alert.negated && !alert.events.empty(),
          .reminder = bounded<std::uint16_t>(alert.reminder ? alert.reminder->value : 0),
          .digest = alert.digest,
          .format = mail_format(alert.format),
          .contact = alert.to_contact};
}

engine::Settings compile_settings(const Document& document) {
  engine::Settings settings;
  settings.monit = document.monit;
  SettingsCompiler compiler(settings, monit_of(document));
  for (const Document::Statement& statement : document.statements)
    if (const auto* set = std::get_if<SetSyntax>(&statement)) std::visit(compiler, set->statement);
  return settings;
}

}  // namespace healer::config
