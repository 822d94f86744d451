// SPDX-License-Identifier: MIT
// Syntax to rules: what the engine reads. Nothing is judged here; the passes before have found no error.
#include <algorithm>
#include <csignal>
#include <unordered_map>
#include <utility>

#include "config/compile/compile_parts.hpp"
#include "config/compile/connection.hpp"
#include "config/compile/cron.hpp"
#include "config/compile/event_of.hpp"
#include "config/compile/fingerprint.hpp"
#include "config/compile/pool.hpp"
#include "config/compile/quantity.hpp"
#include "config/compile/workflow.hpp"
#include "config/passes/events.hpp"
#include "config/passes/passes.hpp"
#include "config/passes/silence.hpp"
#include "config/syntax/vocabulary.hpp"
#include "config/text/rule_text.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/unit.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

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
  ServiceCompiler(const engine::Settings& settings, const Lookups& lookups, const Sources& sources, const Names& names,
                  const EventFieldNames& event_fields)
      : settings_(settings), lookups_(lookups), sources_(sources), names_(names), event_fields_(event_fields) {}

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
      case engine::Target::Host: block_.other.edit().host = check.host->value; break;
      case engine::Target::Members: block_.other.edit().composite = composite(check); break;
      case engine::Target::Heartbeat:
        block_.other.edit().heartbeat = {.every = bounded(check.heartbeat->every.value),
                                         .within = bounded(check.heartbeat->within.value),
                                         .token = check.heartbeat->token.value_or(Word{}).value,
                                         .certificate = check.heartbeat->certificate.value_or(Word{}).value};
        break;
      case engine::Target::Events: block_.other.edit().event = hook(check); break;
      case engine::Target::Row:
        if (check.listed) block_.other.edit().listed = *check.listed;
        break;
      case engine::Target::Unit: block_.other.edit().unit = check.unit->value; break;
      case engine::Target::Path:
        block_.path = check.path->value;
        if (check.kind->traits.has_lines) limit_lines();
        break;
      case engine::Target::Interface:
        if (check.interface) block_.other.edit().interface.name = check.interface->value;
        if (check.address) block_.other.edit().interface.address = check.address->value;
        break;
      case engine::Target::Process:
        if (check.pid_file) block_.process->pid_file = check.pid_file->value;
        if (check.pattern) block_.process->pattern = check.pattern->value;
        if (check.foreground)
          block_.process->foreground = engine::ForegroundSpec{.command = command(*check.command), .stop = {}};
        block_.end_leftovers = settings_.end_leftovers && !check.foreground;
        block_.shares_memory = is_newer();
        break;
    }
    // The schedule first: the tolerances may depend on it.
    for (const ServiceStatement& statement : check.statements)
      if (const auto* every = std::get_if<EverySyntax>(&statement)) schedule(*every);
    block_.rules.reserve(static_cast<std::size_t>(std::ranges::count_if(
        check.statements, [](const auto& statement) { return std::holds_alternative<IfSyntax>(statement); })));
    for (const ServiceStatement& statement : check.statements)
      std::visit([this](const auto& node) { add(node); }, statement);
    if (block_.is_unit()) add_unit_jobs();
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
  /// Whether what is written means what it means to Monit 6.
  [[nodiscard]] bool is_newer() const { return settings_.monit >= MonitVersion::V6; }

  /// Conditions of the same words are one.
  Shared<engine::RuleCondition> shared(engine::RuleCondition condition) {
    prints_.push_back(fingerprint(*check_->kind, condition));
    return conditions_.try_emplace(prints_.back(), std::move(condition)).first->second;
  }

  /// Rules of the same words have the same body. Returns its fingerprint, for which that of its condition is needed.
  Hash128 share_body(engine::Rule& rule, const Hash128& condition) {
    const auto known = bodies_.try_emplace(fingerprint(*std::as_const(rule.body), condition), rule.body).first;
    rule.body = known->second;
    return known->first;
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

  [[nodiscard]] engine::EventSpec hook(const CheckSyntax& check) const {
    const HookSyntax& syntax = *check.hook;
    engine::EventSpec spec;
    spec.hook = syntax.path.value;
    for (const Word& secret : syntax.secrets) spec.secrets.push_back(secret.value);
    spec.token = syntax.token.value_or(Word{}).value;
    spec.certificate = syntax.certificate.value_or(Word{}).value;
    if (syntax.format) spec.format = engine::event_format_of(syntax.format->value).value_or(spec.format);
    spec.key = syntax.key.value_or(Word{}).value;
    spec.state = syntax.state.value_or(Word{}).value;
    if (syntax.within) spec.within = bounded(syntax.within->value);
    if (syntax.valid) spec.valid = bounded(syntax.valid->value);
    spec.fields = event_fields_.of(check);
    return spec;
  }

  /// Once each.
  [[nodiscard]] engine::CompositeSpec composite(const CheckSyntax& check) const {
    engine::CompositeSpec result;
    const auto add = [](std::vector<std::string>& all, const std::string& one) {
      const auto same = [&](const std::string& known) { return iequals(known, one); };
      if (std::ranges::none_of(all, same)) all.push_back(one);
    };
    // Where rows come and go, a member may not be there now.
    for (const Word& name : check.members)
      if (const auto known = names_.find(to_lower(name.value)); known != names_.end())
        add(result.members, known->second);
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
        if (!syntax.command->timeout) result.command->timeout = settings_.limits.exec_timeout;
        break;
      case ActionSyntax::Kind::Ignore: result.kind = engine::ActionKind::Ignore; break;
      case ActionSyntax::Kind::Heal:
        result.kind = engine::ActionKind::Heal;
        result.heal = std::make_shared<const engine::HealOrder>(
            engine::HealOrder{.workflow = syntax.workflow->value,
                              .target = syntax.target ? syntax.target->value : "",
                              .dry_run = syntax.dry_run,
                              .any_target = syntax.any_target});
        break;
      case ActionSyntax::Kind::Unmonitor:
        result.kind = engine::ActionKind::Unmonitor;
        if (syntax.lasting) result.lasting = bounded(syntax.lasting->value);
        break;
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
  engine::Test test(const TextSyntax& syntax) const {
    return engine::Worded{.what = check_->kind->find_attribute(syntax.what)->attribute,
                          .is_pattern = syntax.is_pattern,
                          .negated = syntax.comparison == ComparisonWord::NotEqual,
                          .text = syntax.value.value};
  }
  engine::Test test(const OutputChangedSyntax& syntax) const { return engine::OutputChanged{syntax.negated}; }
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
    const std::string host = has_host ? block_.other->host : std::string(kLocalHost);
    ConnectionReading reading = read_connection(syntax, {}, host, settings_.limits);
    // From 6.1 on Monit verifies unless it is told not to.
    if (reading.plan.tls && settings_.monit >= MonitVersion::V6_1 && !says_verify(syntax))
      reading.plan.tls->verify = true;
    block_.probes.push_back(std::make_shared<const protocols::ProbePlan>(std::move(reading.plan)));
    return engine::Reached{.probe = static_cast<std::uint16_t>(block_.probes.size() - 1), .wanted = syntax.succeeded};
  }
  engine::Test test(const RestartsSyntax&) const { return engine::Restarts{}; }
  engine::Test test(const MembersSyntax& syntax) const { return engine::Members{.quota = syntax.quota}; }
  engine::Test test(const EventCountSyntax& syntax) const {
    return engine::EventCount{.above = bounded<std::uint32_t>(syntax.above.value),
                              .within = bounded(syntax.within.value)};
  }
  /// How a unit stands is one text: these tests ask how it begins.
  static engine::Test standing(std::string_view beginning) {
    return engine::Worded{.what = engine::Attribute::UnitStanding, .is_pattern = true, .text = std::string(beginning)};
  }
  engine::Test test(const ActiveSyntax&) const { return standing(engine::kStandsActive); }
  engine::Test test(const HeartbeatTestSyntax& syntax) const {
    if (check_->kind->traits.is_unit) return standing(engine::kStandsFailed);
    using What = engine::HeartbeatIs::What;
    return engine::HeartbeatIs{.what = syntax.missed ? What::Missed : What::Failed};
  }
  engine::Test test(const QueriedSyntax& syntax) {
    const auto& [filter, operation, value, quoted] = syntax.json;
    if (block_.is_event())
      place_in(block_.other.edit().event.filters, filter.value);
    else
      place_in(block_.program->filters, filter.value);
    return engine::Queried{engine::JsonTest{
        .filter = filter.value, .comparison = comparison(operation), .value = value.value, .quoted = quoted}};
  }

  static bool says_verify(const ConnectionSyntax& syntax) {
    return syntax.tls && std::ranges::any_of(syntax.tls->options,
                                             [](const auto& option) { return iequals(option.first.value, "verify"); });
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
      // What a document says is no state: each event is judged alone.
      const bool is_content = std::holds_alternative<MatchesSyntax>(term.test) ||
                              (block_.is_event() && std::holds_alternative<QueriedSyntax>(term.test));
      rule.each_run = rule.each_run || std::holds_alternative<OutputChangedSyntax>(term.test);
      if (!is_content || content_only) rule.event = std::visit(EventOf{*check_->kind}, term.test);
      content_only = content_only && is_content;
    }
    condition.postfix = syntax.condition.postfix;
    const std::string condition_words = condition_text(syntax);
    condition.hash = condition_hash(condition_words);
    rule.condition = shared(std::move(condition));
    rule.mode = changes ? engine::Mode::EachChange : content_only ? engine::Mode::EachMatch : engine::Mode::Latched;
    rule.each_run = rule.each_run && rule.mode == engine::Mode::Latched;
    rule.newer_counting = is_newer();
    rule.tolerance = tolerance(syntax.tolerance);
    rule.action = action(syntax.action);
    rule.dormant = !silences(*check_, programs_, syntax).empty();
    if (syntax.recovery) {
      rule.recovery->tolerance = tolerance(syntax.recovery->tolerance);
      rule.recovery->action = action(syntax.recovery->action);
    } else if (!rule.action.tells()) {
      rule.recovery->action.kind = engine::ActionKind::Ignore;  // who was not told of the one is not of the other
    }
    rule.text = rule_text(syntax, condition_words);
    rule.text.shrink_to_fit();
    rule.actions_hash = actions_hash(rule);
    const Hash128 key = rule_key(block_.name, rule.text, count_before(rule.text));
    block_.rules.push_back({.body = std::move(rule), .key = key, .text_hash = {}, .place = place(syntax.range)});
  }

  /// How many rules of the service have that text already; this one is counted then, too.
  std::size_t count_before(const std::string& text) {
    constexpr std::size_t kFew = 16;
    if (block_.rules.size() < kFew)
      return static_cast<std::size_t>(std::ranges::count(
          block_.rules, text, [](const engine::Rule& one) -> const std::string& { return one->text; }));
    if (block_.rules.size() == kFew) {
      texts_.clear();
      for (const engine::Rule& one : block_.rules) ++texts_[one->text];
    }
    return texts_[text]++;
  }

  void add(const ServiceProgramSyntax& syntax) {
    switch (syntax.kind) {
      case ServiceProgramSyntax::Kind::Start: block_.programs.edit().start = command(syntax.command); return;
      case ServiceProgramSyntax::Kind::Stop: block_.programs.edit().stop = command(syntax.command); return;
      case ServiceProgramSyntax::Kind::Restart: block_.programs.edit().restart = command(syntax.command); return;
    }
  }
  /// A unit is started and stopped by systemd's own jobs, where the rules name no programs for that.
  void add_unit_jobs() {
    using enum engine::UnitVerb;
    const engine::Programs& written = *std::as_const(block_.programs);
    const std::string& unit = block_.other->unit;
    const bool is_plain = !written.start && !written.stop && !written.restart;
    if (!written.start) block_.programs.edit().start = engine::unit_command(Start, unit);
    if (!written.stop) block_.programs.edit().stop = engine::unit_command(Stop, unit);
    if (is_plain) block_.programs.edit().restart = engine::unit_command(Restart, unit);
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
  void add(const WatchdogSyntax& syntax) { block_.process->foreground->watchdog = bounded(syntax.time.value); }
  void add(const DelaySyntax& syntax) { block_.other.edit().listed.delay = bounded(syntax.time.value); }
  void add(const LeftoversSyntax&) { block_.end_leftovers = !block_.foreground(); }
  void add(const EverySyntax&) {}
  void add(const IgnoreSyntax& ignore) { block_.lines->ignored.push_back(line_pattern(ignore.lines)); }
  void add(const AlertSyntax& alert) {
    silenced_.emplace_back(alert.address.value, alert.to_contact);
    engine::Recipient local = recipient(alert);
    if (local.events.any()) block_.recipients->push_back(std::move(local));
  }
  void add(const NoAlertSyntax& no_alert) { silenced_.emplace_back(no_alert.address.value, false); }
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
      const bool silenced = std::ranges::any_of(silenced_, [&](const auto& one) {
        return iequals(one.first, global.address) && one.second == global.contact;
      });
      if (!silenced && global.events.any()) block_.recipients->push_back(global);
    }
  }

  const engine::Settings& settings_;
  const Lookups& lookups_;
  const Sources& sources_;
  const Names& names_;
  const EventFieldNames& event_fields_;
  const CheckSyntax* check_ = nullptr;  ///< the one under way
  ServicePrograms programs_;            ///< its programs
  engine::ServiceBlock block_;
  /// What services that were compiled before have, too.
  std::unordered_map<Hash128, Shared<engine::RuleBody>> bodies_;
  std::unordered_map<Hash128, Shared<engine::RuleCondition>> conditions_;
  Pool<std::vector<engine::Recipient>> recipients_;
  Pool<engine::Plan> plans_;
  Pool<engine::Schedule> schedules_;
  std::unordered_map<std::string, std::size_t> texts_;  ///< of its rules, where these are many, and how often each
  std::vector<Hash128> prints_;  ///< fingerprints of the conditions of its rules, and then of the rules
  /// Addresses, and names of contacts (true), that the service has a word of its own on.
  std::vector<std::pair<std::string, bool>> silenced_;
  bool comes_alive_ = false;
};

}  // namespace

engine::RuleSet compile(const Document& document, const Lookups& lookups, const Sources& sources) {
  engine::RuleSet rules;
  for (std::uint32_t file = 0; file < sources.size(); ++file) rules.files.push_back(sources.at(file).path);
  rules.settings = compile_settings(document);
  for (engine::OperatorUser& user : rules.settings.operators)
    if (const auto known = lookups.operators.find(user.name); known != lookups.operators.end())
      user.uid = known->second;
  Names names;
  for_each_check(document, [&](const CheckSyntax& check) {
    if (!check.stands_in) names.emplace(to_lower(check.name.value), check.name.value);
  });
  for_each_workflow(document, [&](const WorkflowSyntax& workflow) {
    rules.workflows.push_back(compile_workflow(workflow, lookups, sources));
  });
  for (const ListDeclaration& list : document.expansion.lists) rules.lists.push_back(list.source.name);
  const EventFieldNames event_fields(document);
  ServiceCompiler services(rules.settings, lookups, sources, names, event_fields);
  rules.services.reserve(names.size());
  for_each_check(document, [&](const CheckSyntax& check) {
    if (!check.stands_in) rules.services.push_back(services.compile(check));
  });
  return rules;
}

}  // namespace healer::config
