// SPDX-License-Identifier: MIT
#include "config/text/print.hpp"

#include <algorithm>

#include <spdlog/fmt/fmt.h>

#include "config/compile/url.hpp"
#include "config/compile/workflow.hpp"
#include "config/environments.hpp"
#include "config/syntax/vocabulary.hpp"
#include "config/text/secret.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/unit.hpp"
#include "grammar/lexer.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

std::string events_text(const engine::EventMask& events) {
  if (events.all()) return "";
  const bool negated = events.count() * 2 > engine::kEventKinds;
  std::string names;
  for (std::size_t i = 0; i < engine::kEventKinds; ++i)
    if (events.test(i) != negated) names += fmt::format("{}{}", names.empty() ? "" : ", ", event_names()[i]);
  return fmt::format(" {}on {{ {} }}", negated ? "not " : "", names);
}

std::string format_text(const engine::MailFormat& format, std::string_view indent) {
  std::string text;
  const auto line = [&](std::string_view name, const std::optional<std::string>& value) {
    if (value) text += fmt::format("{}  {}: {}\n", indent, name, *value);
  };
  line("from", format.from);
  line("reply-to", format.reply_to);
  line("subject", format.subject);
  line("message", format.message);
  return text.empty() ? "" : fmt::format("mail-format {{\n{}{}}}", text, indent);
}

/// The name of a contact behind `alert to`, where what follows may make it one of Monit's words (`check`).
std::string contact_name(const std::string& name) {
  const std::string in_place = name + " on";
  const grammar::TokenStream read = grammar::lex(in_place);
  const bool plain = read.tokens.front().kind == grammar::Kind::String && read.tokens.front().length == name.size();
  return plain ? name : written_text(name);
}

std::string recipient_text(const engine::Recipient& recipient, std::string_view indent) {
  std::string text = fmt::format("alert {}{}{}", recipient.contact ? "to " : "",
                                 recipient.contact ? contact_name(recipient.address) : recipient.address,
                                 events_text(recipient.events));
  if (const std::string format = format_text(recipient.format, indent); !format.empty()) text += " with " + format;
  if (recipient.reminder > 0) text += fmt::format(" with reminder on {} cycles", recipient.reminder);
  if (recipient.digest) text += " digest";
  return text;
}

/// The name of a service as it was written: where the machine was not asked, $HOST stands for no name that can be read.
std::string as_written(std::string name) {
  constexpr std::string_view kNoHost = OfflineEnvironment::kNoHost;
  for (std::size_t at = 0; (at = name.find(kNoHost, at)) != std::string::npos;) name.erase(at, kNoHost.find('$'));
  return name;
}

class Printer {
 public:
  std::string print(const engine::RuleSet& rules) {
    settings(rules.settings);
    for (const auto& service : rules.services) {
      text_ += '\n';
      print(*service, rules.settings);
    }
    for (const auto& workflow : rules.workflows) text_ += '\n' + workflow_text(*workflow);
    return std::move(text_);
  }

 private:
  void line(std::string_view text) { text_ += fmt::format("{}\n", text); }

  void settings(const engine::Settings& settings) {
    const engine::Settings defaults;
    line(fmt::format("set daemon {}{}", cycle_text(settings.cycle_length()),
                     settings.start_delay > Duration{0}
                         ? fmt::format(" with start delay {}", cycle_text(settings.start_delay))
                         : ""));
    if (settings.foreground) line("set init");
    if (settings.terminal_batch) line("set terminal batch");
    log(settings.log);
    path("pidfile", settings.pid_file);
    path("idfile", settings.id_file);
    path("statefile", settings.state_file);
    path("control socket", settings.control_socket);
    path("secrets", settings.secrets);
    operators(settings.operators);
    limits(settings.limits);
    line(fmt::format("set onreboot {}", kRebootPolicies[static_cast<std::size_t>(settings.on_reboot)]));
    if (settings.settle != defaults.settle) line("set settle " + written(settings.settle));
    if (settings.monit != MonitVersion::V5_33) line(fmt::format("set monit {}", to_string(settings.monit)));
    if (settings.end_leftovers) line("set leftovers end");
    if (settings.count_polls) line("set cycles count polls");
    if (settings.shadow) line("set shadow");
    if (settings.dry_run) line("set dry run");
    if (settings.accept_dormant) line("set accept dormant");
    for (const auto& [name, value] : settings.environment)
      line(fmt::format("# set environment {} \"...\" (the value is not shown)", name));
    mail(settings.mail, settings.monit >= MonitVersion::V6_1);
    for (const engine::Contact& contact : settings.contacts) line("set " + contact_text(contact));
    healing(settings);
    if (settings.fips) line("set fips");
    if (!settings.tls_options.empty()) line("set ssl " + written(settings.tls_options));
    if (settings.httpd) httpd(*settings.httpd);
    if (!settings.url.empty()) line("set url " + written_text(settings.url));
    if (settings.mmonit) mmonit(*settings.mmonit);
  }

  void operators(const std::vector<engine::OperatorUser>& users) {
    std::string names;
    for (const engine::OperatorUser& user : users) names += (names.empty() ? "" : ", ") + written_name(user.name);
    if (!names.empty()) line("set operators " + names);
  }

  void healing(const engine::Settings& settings) {
    const engine::HealingSettings& healing = settings.healing;
    for (const engine::HealingLimit& limit : healing.limits) line("set healing " + limit_text(limit));
    if (healing.mode != engine::HealingMode::Automatic)
      line(fmt::format("set healing mode {}", engine::to_string(healing.mode)));
    std::string names;
    for (const std::string& name : healing.only_while) names += (names.empty() ? "" : ", ") + written_name(name);
    if (!names.empty()) line("set healing only while " + names);
    for (const engine::Maintenance& window : settings.maintenance)
      line(fmt::format("set maintenance {} for {}{}", written_text(window.text), written(window.length),
                       window.group.empty() ? "" : " group " + written_name(window.group)));
  }

  /// Whole seconds as Monit writes them, anything else with its unit.
  static std::string cycle_text(Duration duration) {
    if (duration % seconds{1} == Duration{0})
      return std::to_string(std::chrono::duration_cast<seconds>(duration).count());
    return written(duration);
  }

  void path(std::string_view what, const std::string& path) {
    if (!path.empty()) line(fmt::format("set {} {}", what, written_word(path)));
  }

  void log(const engine::LogSettings& log) {
    switch (log.target) {
      case engine::LogSettings::Target::None: return;
      case engine::LogSettings::Target::File: return path("log", log.path);
      case engine::LogSettings::Target::Syslog:
        return line("set log syslog" + (log.facility.empty() ? "" : " facility " + log.facility));
    }
  }

  void limits(const engine::Limits& limits) {
    line("set limits {");
    for (const Limit& limit : kLimits)
      if (limit.time == nullptr || limits.*limit.time > Duration{0})
        line(fmt::format("  {}: {}", limit.name,
                         limit.size != nullptr ? written_size(limits.*limit.size) : short_time(limits.*limit.time)));
    line("}");
  }

  static std::string short_time(Duration duration) {
    if (duration % seconds{1} == Duration{0})
      return fmt::format("{} s", std::chrono::duration_cast<seconds>(duration).count());
    return fmt::format("{} ms", duration.count());
  }

  /// `verifies`: certificates are, unless it is said that they are not.
  void mail(const engine::MailSettings& mail, bool verifies) {
    const engine::MailSettings defaults;
    for (std::size_t i = 0; i < mail.servers.size(); ++i) {
      std::string text = "set mailserver " + server(mail.servers[i], verifies);
      if (i + 1 == mail.servers.size()) {
        if (mail.timeout != defaults.timeout) text += " with timeout " + written(mail.timeout);
        if (!mail.hostname.empty()) text += " using hostname " + written_text(mail.hostname);
      }
      line(text);
      if (!mail.servers[i].password.empty()) line("  # with a password that is not shown");
    }
    if (const std::string format = format_text(mail.format, ""); !format.empty()) line("set " + format);
    if (!mail.queue_directory.empty() || mail.queue_slots > 0)
      line("set eventqueue" + (mail.queue_directory.empty() ? "" : " basedir " + written_word(mail.queue_directory)) +
           (mail.queue_slots == 0 ? "" : fmt::format(" slots {}", mail.queue_slots)));
    if (mail.limit)
      line(fmt::format("set mail limit {} mail{} within {}", mail.limit->mails, mail.limit->mails == 1 ? "" : "s",
                       written(mail.limit->within)));
    for (const engine::Recipient& recipient : mail.recipients) line("set " + recipient_text(recipient, ""));
  }

  void httpd(const engine::HttpdSettings& httpd) {
    std::string text = "set httpd";
    if (httpd.port) text += fmt::format(" port {}{}", *httpd.port, httpd.port_read_only ? " read-only" : "");
    for (const std::string& address : httpd.addresses)
      text += (&address == &httpd.addresses.front() ? " address " : ", ") + written_text(address);
    if (!httpd.unix_socket.empty()) {
      text += " unixsocket " + written_word(httpd.unix_socket);
      if (!httpd.uid.empty()) text += " uid " + written_string(httpd.uid);
      if (!httpd.gid.empty()) text += " gid " + written_string(httpd.gid);
      if (!httpd.permission.empty()) text += " permission " + httpd.permission;
      if (httpd.socket_read_only) text += " read-only";
    }
    if (!httpd.signature) text += " signature disable";
    if (!httpd.tls_options.empty()) text += " ssl " + written(httpd.tls_options);
    if (!httpd.tls && !httpd.tls_options.empty()) text += " ssl disable";
    for (const engine::HttpdSettings::Allow& allow : httpd.allow) text += " allow " + allowed(allow);
    for (const std::string& proxy : httpd.proxies)
      text += (&proxy == &httpd.proxies.front() ? " trust proxy " : ", ") + written_text(proxy);
    line(text);
  }

  static std::string allowed(const engine::HttpdSettings::Allow& allow) {
    using Who = engine::HttpdSettings::Allow::Kind;
    const std::string_view role = allow.role == engine::Role::ReadOnly   ? " read-only"
                                  : allow.role == engine::Role::Operator ? " operator"
                                                                         : "";
    switch (allow.kind) {
      case Who::Login: return fmt::format("{}:{}{}", written_text(allow.who), written_text(kHidden), role);
      case Who::Group: return fmt::format("@{}{}", written_text(allow.who), role);
      case Who::Host: return written_string(allow.who);
      case Who::Token: return fmt::format("token {}{}", written_text(kHidden), role);
      case Who::File: break;
    }
    std::string text = (allow.how.empty() ? "" : allow.how + " ") + written_word(allow.who);
    for (const std::string& user : allow.users) text += " " + written_text(user);
    return text;
  }

  void mmonit(const engine::MmonitSettings& mmonit) {
    std::string text = " timeout " + written(mmonit.timeout);
    if (mmonit.tls)
      text += " using tls" + (mmonit.tls_options.empty() ? "" : " with options " + written(mmonit.tls_options));
    if (!mmonit.certificate_checksum.empty())
      text += fmt::format(" certificate checksum \"{}\"", mmonit.certificate_checksum);
    if (!mmonit.host_groups.empty()) {
      text += " hostgroups [";
      for (const std::string& group : mmonit.host_groups) text += fmt::format(" \"{}\"", group);
      text += " ]";
    }
    if (!mmonit.register_credentials) text += " register without credentials";
    // One each: to Monit, TLS is that of the last of several.
    for (const std::string& url : mmonit.urls) line("set mmonit " + shown_url(url) + text);
  }

  static std::string server(const engine::MailServer& server, bool verifies) {
    std::string text = fmt::format("{} port {}", written_string(server.host), server.port);
    if (!server.username.empty()) text += " username " + written_text(server.username);
    if (server.security == engine::MailServer::Security::None) return text;
    text += " using tls";
    std::string options;
    const auto option = [&](std::string_view name, std::string_view value) {
      if (!value.empty()) options += fmt::format("{}{}: {}", options.empty() ? "" : " ", name, value);
    };
    option("version", server.tls_version);
    option("verify", server.verify != verifies ? server.verify ? "enable" : "disable" : "");
    option("selfsigned", server.allow_self_signed ? "allow" : "");
    if (!server.ciphers.empty()) option("ciphers", written_text(server.ciphers));
    const auto file = [&](std::string_view name, const std::string& path) {
      if (!path.empty()) option(name, written_word(path));
    };
    file("clientpemfile", server.client_certificate);
    file("cacertificatefile", server.ca_file);
    file("cacertificatepath", server.ca_path);
    if (!options.empty()) text += fmt::format(" with options {{ {} }}", options);
    if (!server.certificate_checksum.empty())
      text += fmt::format(" certificate checksum \"{}\"", server.certificate_checksum);
    return text;
  }

  void print(const engine::ServiceBlock& block, const engine::Settings& settings) {
    if (block.row) line(fmt::format("# for each: {}", row_text(*block.row)));
    line(header(block));
    if (block.foreground()) foreground(*block.process->foreground);
    command("start", block.programs->start);
    command("stop", block.programs->stop);
    command("restart", block.programs->restart);
    if (!block.depends.empty()) {
      std::string names;
      for (const std::string& name : block.depends) names += (names.empty() ? "" : ", ") + written_word(name);
      line("  depends on " + names);
    }
    for (const std::string& group : block.groups) line("  group " + written_word(group));
    if (block.activity == engine::ServiceBlock::Activity::Passive) line("  mode passive");
    if (block.end_leftovers && !settings.end_leftovers) line("  with leftovers ended");
    line(fmt::format("  onreboot {}", kRebootPolicies[static_cast<std::size_t>(block.on_reboot)]));
    if (!block.schedule->text.empty()) line("  " + block.schedule->text);
    if (block.other->listed.delay > Duration{0}) line(fmt::format("  delay {}", written(block.other->listed.delay)));
    for (const engine::LinePattern& pattern : block.lines->ignored)
      line(fmt::format("  ignore content {} {}", pattern.negated ? "!=" : "=", written_text(pattern.text)));
    recipients(block, settings);
    for (const engine::Rule& rule : block.rules) {
      line("  " + rule->text);
      if (rule->dormant && !settings.accept_dormant) line("    # dormant: judged, but not acted on until accepted");
      if (const std::string real = counted(rule->tolerance, settings); !real.empty()) line("    # " + real);
    }
  }

  static std::string row_text(const engine::Row& row) {
    std::string text;
    for (const auto& [name, value] : row.variables)
      text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, written_text(value));
    return text;
  }

  static std::string header(const engine::ServiceBlock& block) {
    const std::string name = written_word(as_written(block.name));
    const std::string begin = fmt::format("check {} {}", block.kind->word, name);
    switch (block.kind->target) {
      case engine::Target::None: return begin;
      case engine::Target::Program: return fmt::format("{} with path {}", begin, command_text(block.program->command));
      case engine::Target::Host: return fmt::format("{} with address {}", begin, written_text(block.other->host));
      case engine::Target::Members: return begin + " with members " + members(block.other->composite);
      case engine::Target::Path: return fmt::format("{} with path {}", begin, written_word(block.path));
      case engine::Target::Row: return begin;
      case engine::Target::Heartbeat: return begin + heartbeat(block.other->heartbeat);
      case engine::Target::Events: return begin + hook(block.other->event);
      case engine::Target::Unit: return fmt::format("{} with name {}", begin, written_text(block.other->unit));
      case engine::Target::Interface:
        return block.other->interface.name.empty()
                   ? fmt::format("{} with address {}", begin, written_string(block.other->interface.address))
                   : fmt::format("{} with interface {}", begin, written_string(block.other->interface.name));
      case engine::Target::Process:
        if (block.foreground())
          return fmt::format("{} with program {}", begin, program_text(block.process->foreground->command));
        return block.process->pid_file.empty()
                   ? fmt::format("{} matching {}", begin, written_text(block.process->pattern))
                   : fmt::format("{} with pidfile {}", begin, written_word(block.process->pid_file));
    }
    return {};
  }

  /// A token that is no reference is not shown.
  static std::string heartbeat(const engine::HeartbeatSpec& spec) {
    std::string text = fmt::format(" every {} within {}", written(spec.every), written(spec.within));
    const bool is_reference = spec.token.find("${") != std::string::npos;
    if (!spec.token.empty()) text += " token " + written_text(is_reference ? spec.token : kHidden);
    if (!spec.certificate.empty()) text += " certificate " + written_text(spec.certificate);
    return text;
  }

  static std::string hook(const engine::EventSpec& spec) {
    const auto shown = [](const std::string& secret) {
      return written_text(secret.find("${") != std::string::npos ? secret : std::string(kHidden));
    };
    std::string text = " with hook " + written_text(spec.hook);
    for (const std::string& secret : spec.secrets)
      text += (&secret == &spec.secrets.front() ? " secret " : ", ") + shown(secret);
    if (!spec.token.empty()) text += " token " + shown(spec.token);
    if (!spec.certificate.empty()) text += " certificate " + written_text(spec.certificate);
    text += fmt::format(" format {}", engine::to_string(spec.format));
    if (!spec.key.empty()) text += " key json " + written_text(spec.key);
    if (!spec.state.empty()) text += " state json " + written_text(spec.state);
    return text + fmt::format(" within {} valid {}", written(spec.within), written(spec.valid));
  }

  static std::string members(const engine::CompositeSpec& composite) {
    std::string text;
    const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
    for (const std::string& name : composite.members) add(written_word(name));
    for (const std::string& group : composite.groups) add("of group " + written_word(group));
    return text;
  }

  void command(std::string_view what, const Rare<engine::Command>& command) {
    if (command && !engine::unit_order(*command))  // systemd's own jobs are what is not written
      line(fmt::format("  {} program = {}", what, command_text(*command)));
  }

  void foreground(const engine::ForegroundSpec& spec) {
    for (const engine::StopSignal& signal : spec.stop)
      line(fmt::format("  stop signal {} within {}", signal_name(signal.number), written(signal.within)));
    line(fmt::format("  ready {} {}", spec.by_notice ? "on notify within" : "after", written(spec.ready_after)));
    if (spec.watchdog > Duration{0}) line(fmt::format("  watchdog {}", written(spec.watchdog)));
  }

  static std::string program_text(const engine::Command& command) {
    return written(command.arguments) + written(*command.identity);
  }

  static std::string command_text(const engine::Command& command) {
    return program_text(command) + " timeout " + written(command.timeout);
  }

  /// What `set cycles count polls` made of a tolerance.
  static std::string counted(const engine::Tolerance& tolerance, const engine::Settings& settings) {
    if (!settings.count_polls || tolerance.held > Duration{0}) return "";
    if (tolerance.window == 1) return "acts on a single run";
    if (tolerance.count == tolerance.window) return fmt::format("acts after {} runs", tolerance.count);
    return fmt::format("acts after {} of {} runs", tolerance.count, tolerance.window);
  }

  void recipients(const engine::ServiceBlock& block, const engine::Settings& settings) {
    const auto is_global = [&](const engine::Recipient& recipient) {
      return std::ranges::find(settings.mail.recipients, recipient) != settings.mail.recipients.end();
    };
    for (const engine::Recipient& recipient : *block.recipients)
      if (!is_global(recipient)) line("  " + recipient_text(recipient, "  "));
    for (const engine::Recipient& global : settings.mail.recipients) {
      const bool is_notified = std::ranges::any_of(*block.recipients, [&](const engine::Recipient& recipient) {
        return iequals(recipient.address, global.address) && recipient.contact == global.contact;
      });
      if (is_notified || global.events.none()) continue;
      if (global.contact)
        line(
            fmt::format("  alert to {} not on {{ {} }}", contact_name(global.address), fmt::join(event_names(), ", ")));
      else
        line("  noalert " + global.address);
    }
  }

  std::string text_;
};

}  // namespace

std::string print(const engine::RuleSet& rules) { return Printer().print(rules); }

}  // namespace healer::config
