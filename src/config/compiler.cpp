// SPDX-License-Identifier: MIT
// Syntax to rules: what the engine reads. Nothing is judged here; the passes before have found no error.
#include <algorithm>
#include <csignal>
#include <limits>
#include <unordered_map>
#include <utility>

#include "config/connection.hpp"
#include "config/cron.hpp"
#include "config/event_of.hpp"
#include "config/fingerprint.hpp"
#include "config/passes.hpp"
#include "config/pool.hpp"
#include "config/quantity.hpp"
#include "config/rule_text.hpp"
#include "config/silence.hpp"
#include "config/vocabulary.hpp"
#include "config/workflow.hpp"
#include "engine/rule_set.hpp"
#include "engine/service.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

Duration bounded(Duration duration) { return std::clamp(duration, Duration{0}, kMaxDuration); }

template <typename Small>
Small bounded(std::uint64_t value) {
  return static_cast<Small>(std::min<std::uint64_t>(value, std::numeric_limits<Small>::max()));
}

std::optional<std::string> text_of(const Rare<Word>& word) { return word ? std::optional(word->value) : std::nullopt; }

engine::MailFormat mail_format(const MailFormatSyntax& format) {
  return {.from = text_of(format.from),
          .reply_to = text_of(format.reply_to),
          .subject = text_of(format.subject),
          .message = text_of(format.message)};
}

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
          .format = mail_format(alert.format)};
}

// ---- set ----------------------------------------------------------------------------------------------------------

/// Applies `set` statements in the order of writing: the last of a kind counts, servers and recipients add up.
class SettingsCompiler {
 public:
  explicit SettingsCompiler(engine::Settings& settings) : settings_(settings) {}

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
    for (const SetMailServer::Server& server : set.servers)
      if (server.port && server.port->value >= 1 && server.port->value <= 65535)
        settings_.mail.servers.push_back(mail_server(server));
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
    if (set.address) httpd.address = set.address->value;
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
  void operator()(const SetMmonit& set) {
    if (!settings_.mmonit) settings_.mmonit.emplace();
    engine::MmonitSettings& mmonit = *settings_.mmonit;
    for (const Word& url : set.urls) mmonit.urls.push_back(url.value);
    mmonit.timeout = bounded(set.timeout ? set.timeout->value : settings_.limits.network_timeout);
    mmonit.tls = set.tls.has_value();
    if (set.tls) mmonit.tls_options = tls_options(*set.tls);
    if (set.checksum) mmonit.certificate_checksum = to_lower(set.checksum->value);
    mmonit.register_credentials = !set.without_credentials;
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
  void operator()(const SetOnReboot& set) { settings_.on_reboot = reboot_policy(set.policy.value); }

 private:
  static engine::HttpdSettings::Allow::Kind kind_of(SetHttpd::Allow::Kind kind) {
    using Kind = engine::HttpdSettings::Allow::Kind;
    switch (kind) {
      case SetHttpd::Allow::Kind::Host: return Kind::Host;
      case SetHttpd::Allow::Kind::Login: return Kind::Login;
      case SetHttpd::Allow::Kind::Group: return Kind::Group;
      case SetHttpd::Allow::Kind::File: return Kind::File;
    }
    return Kind::Login;
  }

  static engine::HttpdSettings::Allow allowed(const SetHttpd::Allow& allow) {
    engine::HttpdSettings::Allow result{.kind = kind_of(allow.kind),
                                        .who = allow.who.value,
                                        .password = allow.password ? allow.password->value : "",
                                        .how = allow.how ? allow.how->value : "",
                                        .read_only = allow.read_only};
    for (const Word& user : allow.users) result.users.push_back(user.value);
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

  engine::Settings& settings_;
};

// ---- check --------------------------------------------------------------------------------------------------------

/// Which pattern that is of all; it is added where it is a new one.
template <typename Pattern>
std::uint8_t place_in(std::vector<Pattern>& all, const Pattern& wanted) {
  auto found = std::ranges::find(all, wanted);
  if (found == all.end()) found = all.insert(found, wanted);
  return static_cast<std::uint8_t>(found - all.begin());
}

/// Of services, by their names in lower case.
using Names = std::unordered_map<std::string, std::string>;

class ServiceCompiler {
 public:
  ServiceCompiler(const engine::Settings& settings, const Lookups& lookups, const Sources& sources, const Names& names)
      : settings_(settings), lookups_(lookups), sources_(sources), names_(names) {}

  std::shared_ptr<const engine::ServiceBlock> compile(const CheckSyntax& check) {
    block_ = {};
    check_ = &check;
    programs_ = programs_of(check);
    prints_.clear();
    silenced_.clear();
    comes_alive_ = false;
    block_.name = check.name.value;
    block_.place = place(check.range);
    block_.kind = check.kind;
    block_.row = check.row;
    switch (check.kind->target) {
      case engine::Target::None: break;
      case engine::Target::Program:
        block_.program->command = command(*check.command);
        block_.program->output_limit = settings_.limits.program_output;
        break;
      case engine::Target::Host: block_.host = check.host->value; break;
      case engine::Target::Members: block_.composite = composite(check); break;
      case engine::Target::Path:
        block_.path = check.path->value;
        if (check.kind->traits.has_lines) limit_lines();
        break;
      case engine::Target::Interface:
        if (check.interface) block_.interface->name = check.interface->value;
        if (check.address) block_.interface->address = check.address->value;
        break;
      case engine::Target::Process:
        if (check.pid_file) block_.process->pid_file = check.pid_file->value;
        if (check.pattern) block_.process->pattern = check.pattern->value;
        if (check.foreground)
          block_.process->foreground = engine::ForegroundSpec{.command = command(*check.command), .stop = {}};
        block_.end_leftovers = settings_.end_leftovers && !check.foreground;
        break;
    }
    // The schedule first: the tolerances may depend on it.
    for (const ServiceStatement& statement : check.statements)
      if (const auto* every = std::get_if<EverySyntax>(&statement)) schedule(*every);
    block_.rules.reserve(static_cast<std::size_t>(std::ranges::count_if(
        check.statements, [](const auto& statement) { return std::holds_alternative<IfSyntax>(statement); })));
    for (const ServiceStatement& statement : check.statements)
      std::visit([this](const auto& node) { add(node); }, statement);
    add_global_recipients();
    if (comes_alive_)
      for (engine::Rule& rule : block_.rules) rule->dormant = true;
    for (std::size_t i = 0; i < block_.rules.size(); ++i) prints_[i] = share_body(block_.rules[i], prints_[i]);
    block_.recipients = recipients_.shared(std::move(block_.recipients));
    block_.plan = plans_.shared(block_.kind->plan(block_));
    block_.key = fingerprint(block_, prints_);
    return std::make_shared<const engine::ServiceBlock>(std::move(block_));
  }

 private:
  /// Conditions of the same words are one.
  Shared<engine::RuleCondition> shared(engine::RuleCondition condition) {
    prints_.push_back(fingerprint(*check_->kind, condition));
    return conditions_.try_emplace(prints_.back(), std::move(condition)).first->second;
  }

  /// Rules of the same words have the same body. Returns its fingerprint, for which that of its condition is needed.
  Hash128 share_body(engine::Rule& rule, const Hash128& condition) {
    const Hash128 print = fingerprint(*std::as_const(rule.body), condition);
    rule.body = bodies_.try_emplace(print, rule.body).first->second;
    return print;
  }

  [[nodiscard]] engine::SourcePlace place(const SourceRange& range) const {
    const Position position = sources_.position(range.file, range.begin);
    return {.file = bounded<std::uint16_t>(range.file),
            .column = bounded<std::uint16_t>(position.column),
            .line = position.line};
  }

  [[nodiscard]] engine::Command command(const CommandSyntax& syntax) const {
    engine::Command result;
    result.arguments = syntax.arguments;
    if (const auto found = lookups_.identities.find(&syntax); found != lookups_.identities.end())
      result.identity = found->second;
    if (syntax.timeout) result.timeout = bounded(syntax.timeout->value);
    return result;
  }

  void limit_lines() {
    const std::uint32_t limit = settings_.limits.file_content_buffer;
    if (limit != std::as_const(block_).lines->limit) block_.lines->limit = limit;
  }

  /// Once each.
  [[nodiscard]] engine::CompositeSpec composite(const CheckSyntax& check) const {
    engine::CompositeSpec result;
    const auto add = [](std::vector<std::string>& all, const std::string& one) {
      const auto same = [&](const std::string& known) { return iequals(known, one); };
      if (std::ranges::none_of(all, same)) all.push_back(one);
    };
    for (const Word& name : check.members) add(result.members, names_.at(to_lower(name.value)));
    for (const Word& group : check.member_groups) add(result.groups, group.value);
    return result;
  }

  void schedule(const EverySyntax& every) {
    engine::Schedule schedule;
    comes_alive_ = false;
    schedule.text = schedule_text(every);
    if (every.interval) {
      schedule.kind = engine::Schedule::Kind::Interval;
      schedule.interval = bounded(every.interval->value);
    } else if (every.cron) {
      const CronReading reading = read_cron(every.cron->value);
      schedule.kind = every.negated ? engine::Schedule::Kind::NotCron : engine::Schedule::Kind::Cron;
      schedule.cron = reading.spec;
      comes_alive_ = !every.negated && reading.comes_alive && !check_->foreground;
    } else if (every.cycles) {
      schedule.cycles = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(every.cycles->value, 1, kMaxEvery));
    }
    block_.schedule = schedules_.shared(std::move(schedule));
  }

  [[nodiscard]] engine::Tolerance tolerance(const Rare<ToleranceSyntax>& syntax) const {
    engine::Tolerance result;
    if (!syntax) return result;
    if (syntax->held) result.held = bounded(syntax->held->value);
    std::uint64_t count = syntax->count ? syntax->count->value : 1;
    std::uint64_t window = syntax->window ? syntax->window->value : count;
    const engine::Schedule& schedule = *std::as_const(block_.schedule);
    if (settings_.count_polls && schedule.kind == engine::Schedule::Kind::Cycles) {
      const std::uint64_t cycles = schedule.cycles;
      const bool is_plain = count == window;
      window = (window + cycles - 1) / cycles;
      // `3 times` are three runs, however the cycles are counted; there may not be as many in the window.
      count = is_plain ? window : std::min(count, window);
    }
    result.window = static_cast<std::uint8_t>(std::min(window, engine::kMaxWindow));
    result.count = static_cast<std::uint8_t>(std::min<std::uint64_t>(count, result.window));
    return result;
  }

  [[nodiscard]] engine::Action action(const ActionSyntax& syntax) const {
    engine::Action result;
    switch (syntax.kind) {
      case ActionSyntax::Kind::Exec:
        result.kind = engine::ActionKind::Exec;
        result.command = command(*syntax.command);
        break;
      case ActionSyntax::Kind::Heal:
        result.kind = engine::ActionKind::Heal;
        result.heal = std::make_shared<const engine::HealOrder>(
            engine::HealOrder{.workflow = syntax.workflow->value,
                              .target = syntax.target ? syntax.target->value : "",
                              .dry_run = syntax.dry_run});
        break;
      case ActionSyntax::Kind::Unmonitor: result.kind = engine::ActionKind::Unmonitor; break;
      case ActionSyntax::Kind::Start: result.kind = engine::ActionKind::Start; break;
      case ActionSyntax::Kind::Stop: result.kind = engine::ActionKind::Stop; break;
      case ActionSyntax::Kind::Restart: result.kind = engine::ActionKind::Restart; break;
      case ActionSyntax::Kind::Alert: break;
    }
    result.repeat = bounded<std::uint16_t>(syntax.repeat ? syntax.repeat->value : 0);
    result.overlapping = syntax.overlapping;
    return result;
  }

  engine::Test test(const CompareSyntax& syntax) const {
    const QuantityReading reading = read_quantity(*check_->kind, syntax);
    engine::Compare test{
        .what = reading.row->metric, .comparison = comparison(syntax.comparison), .value = reading.value, .also = {}};
    for (const engine::Quantity& row : check_->kind->quantities)
      if (&row != reading.row && row.words == reading.row->words &&
          engine::unit_of(row.metric) == engine::unit_of(test.what))
        test.also->push_back(row.metric);
    return test;
  }
  engine::Test test(const TotalSyntax& syntax) const {
    const QuantityReading reading = read_quantity(*check_->kind, syntax.amount);
    return engine::Total{.what = reading.row->metric,
                         .comparison = comparison(syntax.amount.comparison),
                         .value = reading.value,
                         .span = syntax.span.value};
  }
  engine::Test test(const LinkSyntax& syntax) const { return engine::Linked{.up = syntax.up}; }
  engine::Test test(const DiffersSyntax& syntax) const {
    const engine::AttributeRow& row = *check_->kind->find_attribute(syntax.what);
    if (row.form == engine::Form::Mode)
      return engine::Differs{.what = row.attribute,
                             .wanted = std::int64_t{permission_of(syntax.value.value).value_or(0)}};
    if (row.form == engine::Form::Checksum)
      return engine::Differs{
          .what = row.attribute,
          .wanted = syntax.value.value.empty() ? std::nullopt : std::optional<engine::Value>(syntax.value.value)};
    if (row.form == engine::Form::Text) return engine::Differs{.what = row.attribute, .wanted = syntax.value.value};
    const auto found = lookups_.owners.find(&syntax);
    return engine::Differs{.what = row.attribute,
                           .wanted = std::int64_t{found == lookups_.owners.end() ? 0 : found->second}};
  }
  engine::Test test(const ChangedSyntax& syntax) const {
    const engine::AttributeRow& row = *check_->kind->find_attribute(syntax.what);
    engine::Changed test{.what = row.attribute, .also = {}};
    for (const engine::AttributeRow& other : check_->kind->attributes)
      if (&other != &row && other.words == row.words) test.also = other.attribute;
    return test;
  }
  engine::Test test(const PresentSyntax& syntax) const { return engine::Present{.wanted = !syntax.negated}; }
  engine::Test test(const MatchesSyntax& syntax) {
    if (check_->kind->traits.has_lines)
      return engine::Matches{.pattern = place_in(block_.lines->patterns, line_pattern(syntax)), .negated = false};
    return engine::Matches{.pattern = place_in(block_.program->patterns, syntax.pattern.value),
                           .negated = syntax.negated};
  }
  [[nodiscard]] engine::LinePattern line_pattern(const MatchesSyntax& syntax) const {
    const auto found = lookups_.patterns.find(&syntax);
    return {.text = found != lookups_.patterns.end() ? found->second : syntax.pattern.value, .negated = syntax.negated};
  }
  engine::Test test(const ConnectionSyntax& syntax) {
    const bool has_host = block_.kind->target == engine::Target::Host;
    const std::string host = has_host ? *block_.host : std::string(kLocalHost);
    ConnectionReading reading = read_connection(syntax, {}, host, settings_.limits);
    block_.probes.push_back(std::make_shared<const protocols::ProbePlan>(std::move(reading.plan)));
    return engine::Reached{.probe = static_cast<std::uint16_t>(block_.probes.size() - 1), .wanted = syntax.succeeded};
  }
  engine::Test test(const RestartsSyntax&) const { return engine::Restarts{}; }
  engine::Test test(const MembersSyntax& syntax) const { return engine::Members{.quota = syntax.quota}; }
  engine::Test test(const QueriedSyntax& syntax) {
    const auto& [filter, operation, value, quoted] = syntax.json;
    place_in(block_.program->filters, filter.value);
    return engine::Queried{engine::JsonTest{
        .filter = filter.value, .comparison = comparison(operation), .value = value.value, .quoted = quoted}};
  }

  void add(const IfSyntax& syntax) {
    engine::RuleBody rule;
    engine::RuleCondition condition;
    bool changes = false;
    bool content_only = true;
    for (const TermSyntax& term : syntax.condition.terms) {
      condition.tests.push_back(std::visit([this](const auto& node) { return test(node); }, term.test));
      // Where an `else` is written, a change stands until the run after it, in which it is over.
      const auto* changed = std::get_if<ChangedSyntax>(&term.test);
      changes = changes ||
                (changed != nullptr && !(syntax.recovery && check_->kind->find_attribute(changed->what)->recovers));
      const bool is_content = std::holds_alternative<MatchesSyntax>(term.test);
      if (!is_content || content_only) rule.event = std::visit(EventOf{*check_->kind}, term.test);
      content_only = content_only && is_content;
    }
    condition.postfix = syntax.condition.postfix;
    const std::string condition_words = condition_text(syntax);
    condition.hash = condition_hash(condition_words);
    rule.condition = shared(std::move(condition));
    rule.mode = changes ? engine::Mode::EachChange : content_only ? engine::Mode::EachMatch : engine::Mode::Latched;
    rule.tolerance = tolerance(syntax.tolerance);
    rule.action = action(syntax.action);
    rule.dormant = !silences(*check_, programs_, syntax).empty();
    if (syntax.recovery) {
      rule.recovery->tolerance = tolerance(syntax.recovery->tolerance);
      rule.recovery->action = action(syntax.recovery->action);
    }
    rule.text = rule_text(syntax, condition_words);
    rule.text.shrink_to_fit();
    rule.actions_hash = actions_hash(rule);
    const auto same = std::ranges::count(block_.rules, rule.text,
                                         [](const engine::Rule& one) -> const std::string& { return one->text; });
    const Hash128 key = rule_key(block_.name, rule.text, static_cast<std::size_t>(same));
    block_.rules.push_back({.body = std::move(rule), .key = key, .text_hash = key, .place = place(syntax.range)});
  }

  void add(const ServiceProgramSyntax& syntax) {
    switch (syntax.kind) {
      case ServiceProgramSyntax::Kind::Start: block_.start = command(syntax.command); return;
      case ServiceProgramSyntax::Kind::Stop: block_.stop = command(syntax.command); return;
      case ServiceProgramSyntax::Kind::Restart: block_.restart = command(syntax.command); return;
    }
  }
  void add(const DependsSyntax& syntax) {
    for (const Word& word : syntax.names) {
      // Where rows come and go, what was depended on may not be there now.
      const auto found = names_.find(to_lower(word.value));
      if (found == names_.end()) continue;
      const std::string& name = found->second;
      if (std::ranges::find(block_.depends, name) == block_.depends.end()) block_.depends.push_back(name);
    }
  }
  void add(const StopSignalSyntax& syntax) {
    block_.process->foreground->stop.push_back(
        {.number = signal_number(syntax.signal.value).value_or(SIGTERM), .within = bounded(syntax.within->value)});
  }
  void add(const ReadySyntax& syntax) {
    block_.process->foreground->ready_after = bounded(syntax.time->value);
    block_.process->foreground->by_notice = syntax.by_notice;
  }
  void add(const LeftoversSyntax&) { block_.end_leftovers = !block_.foreground(); }
  void add(const EverySyntax&) {}
  void add(const IgnoreSyntax& ignore) { block_.lines->ignored.push_back(line_pattern(ignore.lines)); }
  void add(const AlertSyntax& alert) {
    silenced_.push_back(alert.address.value);
    engine::Recipient local = recipient(alert);
    if (local.events.any()) block_.recipients->push_back(std::move(local));
  }
  void add(const NoAlertSyntax& no_alert) { silenced_.push_back(no_alert.address.value); }
  void add(const GroupSyntax& group) {
    const auto same = [&](const std::string& known) { return iequals(known, group.name.value); };
    if (std::ranges::none_of(block_.groups, same)) block_.groups.push_back(group.name.value);
  }
  void add(const ModeSyntax& mode) {
    block_.activity = iequals(mode.mode.value, "passive") ? engine::ServiceBlock::Activity::Passive
                                                          : engine::ServiceBlock::Activity::Active;
  }
  void add(const OnRebootSyntax& policy) { block_.on_reboot = reboot_policy(policy.policy.value); }

  /// A service's own word on an address, `alert` or `noalert`, stands in place of the global one.
  void add_global_recipients() {
    for (const engine::Recipient& global : settings_.mail.recipients) {
      const bool silenced =
          std::ranges::any_of(silenced_, [&](const std::string& address) { return iequals(address, global.address); });
      if (!silenced && global.events.any()) block_.recipients->push_back(global);
    }
  }

  const engine::Settings& settings_;
  const Lookups& lookups_;
  const Sources& sources_;
  const Names& names_;
  const CheckSyntax* check_ = nullptr;  ///< the one under way
  ServicePrograms programs_;            ///< its programs
  engine::ServiceBlock block_;
  /// What services that were compiled before have, too.
  std::unordered_map<Hash128, Shared<engine::RuleBody>> bodies_;
  std::unordered_map<Hash128, Shared<engine::RuleCondition>> conditions_;
  Pool<std::vector<engine::Recipient>> recipients_;
  Pool<engine::Plan> plans_;
  Pool<engine::Schedule> schedules_;
  std::vector<Hash128> prints_;        ///< fingerprints of the conditions of its rules, and then of the rules
  std::vector<std::string> silenced_;  ///< addresses that the service has a word of its own on
  bool comes_alive_ = false;
};

}  // namespace

engine::RuleSet compile(const Document& document, const Lookups& lookups, const Sources& sources) {
  engine::RuleSet rules;
  for (std::uint32_t file = 0; file < sources.size(); ++file) rules.files.push_back(sources.at(file).path);
  SettingsCompiler settings(rules.settings);
  for (const Document::Statement& statement : document.statements)
    if (const auto* set = std::get_if<SetSyntax>(&statement)) std::visit(settings, set->statement);
  Names names;
  for_each_check(document, [&](const CheckSyntax& check) {
    if (!check.stands_in) names.emplace(to_lower(check.name.value), check.name.value);
  });
  for_each_workflow(document, [&](const WorkflowSyntax& workflow) {
    rules.workflows.push_back(compile_workflow(workflow, lookups, sources));
  });
  ServiceCompiler services(rules.settings, lookups, sources, names);
  rules.services.reserve(names.size());
  for_each_check(document, [&](const CheckSyntax& check) {
    if (!check.stands_in) rules.services.push_back(services.compile(check));
  });
  return rules;
}

}  // namespace healer::config
