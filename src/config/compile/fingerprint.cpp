// SPDX-License-Identifier: MIT
#include "config/compile/fingerprint.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/rules/service.hpp"
#include "engine/rules/workflow.hpp"
#include "protocols/probe.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

/// How numbers are gathered.
enum class Form : std::uint8_t {
  Lasting,  ///< as digits: the same in every version, for what is saved
  Fleeting  ///< as they are: for what is compared within one run of the program, of which there is much more
};

/// Gathers values so that different sequences of values give different texts: every text carries its length.
template <Form form>
class Gatherer {
 public:
  void add(std::string_view text) {
    number(text.size(), ':');
    write(text);
  }
  template <typename Number>
  requires std::integral<Number> || std::is_enum_v<Number>
  void add(Number number) { this->number(static_cast<std::int64_t>(number), ','); }
  void add(Duration duration) { add(duration.count()); }
  template <typename Value>
  void add(const std::optional<Value>& value) {
    write(value ? "+" : "-");
    if (value) add(*value);
  }
  template <typename Value>
  void add(const Shared<Value>& value) {
    add(*value);
  }
  template <typename Value>
  void add(const Sparse<Value>& value) {
    add(*value);
  }
  template <typename Value>
  void add(const Few<Value>& values) {
    add(static_cast<const std::vector<Value>&>(values));
  }
  template <typename Value>
  void add(const Rare<Value>& value) {
    write(value ? "+" : "-");
    if (value) add(*value);
  }
  template <typename Value>
  void add(const std::vector<Value>& values) {
    add(values.size());
    for (const Value& value : values) add(value);
  }
  void add(const std::pair<std::string, std::string>& variable) { all(variable.first, variable.second); }
  template <typename... Values>
  void all(const Values&... values) {
    (add(values), ...);
  }
  /// Names and values, in turn: of the values alone it is made.
  template <typename Value, typename... Rest>
  void operator()(const char* /*name*/, const Value& value, const Rest&... rest) {
    add(value);
    if constexpr (sizeof...(rest) > 0) (*this)(rest...);
  }

  void add(const std::string& text) { add(std::string_view(text)); }
  void add(const engine::Identity& identity) {
    all(identity.uid, identity.gid, identity.user, identity.home);
    if (!identity.group.empty()) all('G', identity.group);
  }
  void add(const engine::Command& command) { all(command.arguments, command.identity, command.timeout); }
  void add(const engine::ProgramSpec& spec) { all(spec.command, spec.patterns, spec.output_limit); }
  void add(const engine::LinePattern& pattern) { all(pattern.text, pattern.negated); }
  void add(const engine::LinesSpec& spec) { all(spec.patterns, spec.ignored, spec.limit); }
  void add(const engine::StopSignal& signal) { all(signal.number, signal.within); }
  void add(const engine::ForegroundSpec& spec) {
    all(spec.command, spec.stop, spec.ready_after, spec.by_notice);
    if (spec.watchdog > Duration{0}) all('W', spec.watchdog);
  }
  void add(const engine::ProcessSpec& spec) { all(spec.pid_file, spec.pattern, spec.foreground); }
  void add(const engine::InterfaceSpec& spec) { all(spec.name, spec.address); }
  void add(const engine::Value& value) {
    if (const auto* number = std::get_if<std::int64_t>(&value)) return all('n', *number);
    all('t', *engine::text_in(value));
  }
  void add(const engine::Compare& test) {
    all('c', test.what, test.comparison, std::bit_cast<std::uint64_t>(test.value));
  }
  void add(const engine::Total& test) {
    all('T', test.what, test.comparison, std::bit_cast<std::uint64_t>(test.value), test.span);
  }
  void add(const engine::Linked& test) { all('l', test.up); }
  void add(const engine::Differs& test) {
    all('d', test.what);
    if (test.wanted) add(*test.wanted);
  }
  void add(const engine::Changed& test) { all('h', test.what); }
  void add(const engine::Present& test) { all('p', test.wanted); }
  void add(const engine::Matches& test) { all('m', test.pattern, test.negated); }
  void add(const engine::Reached& test) { all('r', test.probe, test.wanted); }
  void add(const engine::Restarts&) { add('n'); }
  void add(const engine::Members& test) { all('q', test.quota.kind, std::bit_cast<std::uint64_t>(test.quota.number)); }
  void add(const engine::CompositeSpec& spec) { all(spec.members, spec.groups); }
  void add(const engine::Queried& test) { all('j', test.test); }
  void add(const engine::HeartbeatIs& test) { all('b', test.what); }
  void add(const engine::EventCount& test) { all('e', test.above, test.within); }
  void add(const engine::EventSpec& spec) {
    all(spec.hook, spec.secrets, spec.token, spec.certificate, spec.format, spec.key, spec.state, spec.within,
        spec.valid, spec.fields, spec.filters);
  }
  void add(const engine::HeartbeatSpec& spec) { all(spec.every, spec.within, spec.token, spec.certificate); }
  void add(const engine::ListedSpec& spec) { all(spec.list, spec.row, spec.delay); }
  void add(const engine::Worded& test) { all('w', test.what, test.is_pattern, test.negated, test.text); }
  void add(const engine::OutputChanged& test) { all('o', test.negated); }
  void add(const engine::Test& test) {
    std::visit([this](const auto& one) { add(one); }, test);
  }
  void add(const engine::RuleCondition& condition) {
    [[maybe_unused]] const auto& [tests, joined, hash] = condition;
    all(tests, joined);
  }
  void add(const engine::Tolerance& tolerance) { all(tolerance.count, tolerance.window, tolerance.held); }
  void add(const engine::Action& action) {
    all(action.kind, action.command, action.repeat, action.overlapping, action.implied);
    if (action.lasting > Duration{0}) all('U', action.lasting);
    if (action.heal) all('H', action.heal->workflow, action.heal->target, action.heal->dry_run);
    if (action.heal && action.heal->any_target) add('A');
  }
  // All members are named, so that a new one does not compile until it is thought of here.
  void add(const engine::Recovery& recovery) {
    const auto& [tolerance, action] = recovery;
    all(tolerance, action);
  }
  void add(const Hash128& hash) { all(hash.high, hash.low); }
  /// `print`: that of the condition.
  void add(const engine::RuleBody& body, const Hash128& print) {
    [[maybe_unused]] const auto& [condition, tolerance, action, recovery, mode, event, each_run, newer_counting,
                                  dormant, text, of_actions] = body;
    all(print, tolerance, action, recovery, mode, event, each_run, newer_counting, dormant, text);
  }
  void add(const protocols::Setting& setting) {
    all(setting.word, setting.op, setting.number, setting.text, setting.value);
  }
  void add(const protocols::TlsPlan& tls) {
    all(tls.verify, tls.allow_self_signed, tls.versions, tls.ciphers, tls.client_certificate, tls.ca_file, tls.ca_path,
        tls.checksum, tls.valid_days, tls.alpn, tls.server_name);
  }
  void add(const protocols::ResponseTime& time) { all(time.op, time.limit.count()); }
  void add(const engine::Probe& probe) {
    all(probe->transport, probe->host, probe->port, probe->family, probe->source,
        probe->protocol != nullptr ? probe->protocol->name : std::string_view(), probe->settings, probe->tls,
        probe->limits.send_expect, probe->limits.http_content, probe->timeout, probe->attempts, probe->response_time,
        probe->pings, probe->ping_size);
  }
  void add(const engine::CronSpec& cron) { all(cron.minutes, cron.hours, cron.month_days, cron.months, cron.weekdays); }
  void add(const engine::Schedule& schedule) {
    all(schedule.kind, schedule.cycles, schedule.interval, schedule.cron, schedule.text);
  }
  void add(const engine::MailFormat& format) { all(format.from, format.reply_to, format.subject, format.message); }
  void add(const engine::Recipient& recipient) {
    all(recipient.address, recipient.events.to_string(), recipient.listed, recipient.reminder, recipient.digest,
        recipient.format, recipient.contact);
  }
  /// `rules`: what each of its rules says.
  void add(const engine::ServiceBlock& block, std::span<const Hash128> rules) {
    for (std::size_t i = 0; i < rules.size(); ++i) all(rules[i], block.rules[i].key);
    all(block.name, block.kind->word, block.program, block.process, block.path, block.lines, block.other->composite,
        block.other->interface, block.other->host, block.probes, block.programs->start, block.programs->stop,
        block.programs->restart, block.depends, block.schedule, rules.size(), block.groups, block.recipients,
        block.on_reboot, block.activity, block.end_leftovers, block.shares_memory);
    if (block.is_heartbeat()) add(block.other->heartbeat);
    if (block.is_event()) add(block.other->event);
    if (block.is_listed()) add(block.other->listed);
    if (block.is_unit()) add(block.other->unit);
    if (block.row) all(block.row->target, block.row->variables);
  }

  void add(double value) { add(std::bit_cast<std::uint64_t>(value)); }
  void add(const engine::Saving& saving) { all(saving.from, saving.what, saving.name, saving.secret); }
  void add(const engine::JsonTest& test) { all(test.filter, test.comparison, test.value, test.quoted); }
  void add(const engine::HttpRequest& request) { fields(*this, request); }
  void add(const engine::step::Until& until) { fields(*this, until); }
  void add(const engine::step::Kind auto& kind) {
    add(kind.kSign);
    fields(*this, kind);
  }
  void add(const engine::Step& step) {
    add(step.name);
    std::visit([this](const auto& what) { add(what); }, step.what);
    all(step.timeout, step.retries, step.pause, step.repeatable);
  }
  void add(const engine::Guard& guard) { all(guard.program, guard.timeout, guard.once); }
  void add(const engine::HealingLimit& limit) { all(limit.number, limit.percent, limit.group, limit.within); }
  void add(const engine::PauseWhile& pause) { all(pause.group, pause.above, pause.until); }
  void add(const engine::Breaker& breaker) { all(breaker.failed, breaker.within); }
  void add(const engine::Approval& approval) { all(approval.within, approval.else_run, approval.when); }
  void add(const engine::Workflow& workflow) {
    all(workflow.name, workflow.guard, workflow.steps, workflow.on_failure, workflow.on_cancel, workflow.limits,
        workflow.pauses, workflow.cooldown, workflow.tries, workflow.ramp, workflow.probation, workflow.breaker,
        workflow.approval, workflow.mode);
  }

  [[nodiscard]] Hash128 hash() const { return hash128(std::string_view(text_).substr(0, size_)); }

 private:
  static constexpr std::size_t kUsual = 1024;
  static constexpr std::size_t kLongestNumber = 24;

  template <typename Number>
  void number(Number number, char end) {
    char* const begin = room(kLongestNumber);
    if constexpr (form == Form::Fleeting) {
      std::memcpy(begin, &number, sizeof number);
      size_ += sizeof number;
    } else {
      char* const behind = std::to_chars(begin, begin + kLongestNumber - 1, number).ptr;
      *behind = end;
      size_ += static_cast<std::size_t>(behind + 1 - begin);
    }
  }
  void write(std::string_view text) {
    std::ranges::copy(text, room(text.size()));
    size_ += text.size();
  }
  /// Where so many bytes can be written.
  char* room(std::size_t bytes) {
    if (text_.size() - size_ < bytes) text_.resize(std::max(text_.size() * 2, text_.size() + bytes + kUsual));
    return text_.data() + size_;
  }

  std::string text_;      ///< with room behind what is written
  std::size_t size_ = 0;  ///< what is written of it
};

}  // namespace

Hash128 fingerprint(const engine::Workflow& workflow) {
  Gatherer<Form::Lasting> gatherer;
  gatherer.add(workflow);
  return gatherer.hash();
}

Hash128 fingerprint(const engine::ServiceBlock& block) {
  std::vector<Hash128> rules;
  for (const engine::Rule& rule : block.rules)
    rules.push_back(fingerprint(*rule.body, fingerprint(*block.kind, *rule.body->condition)));
  return fingerprint(block, rules);
}

Hash128 fingerprint(const engine::ServiceBlock& block, std::span<const Hash128> rules) {
  Gatherer<Form::Fleeting> gatherer;
  gatherer.add(block, rules);
  return gatherer.hash();
}

Hash128 fingerprint(const engine::CheckKind& kind, const engine::RuleCondition& condition) {
  Gatherer<Form::Fleeting> gatherer;
  // The kind stands for what tests have beside what is written.
  gatherer.all(kind.word, condition, condition.hash);
  return gatherer.hash();
}

Hash128 fingerprint(const engine::RuleBody& body, const Hash128& condition) {
  Gatherer<Form::Fleeting> gatherer;
  gatherer.add(body, condition);
  return gatherer.hash();
}

Hash128 condition_hash(std::string_view condition) {
  Gatherer<Form::Lasting> gatherer;
  gatherer.all(std::string_view("condition"), condition);
  return gatherer.hash();
}

Hash128 actions_hash(const engine::RuleBody& body) {
  Gatherer<Form::Lasting> gatherer;
  gatherer.all(std::string_view("actions"), body.action, body.recovery->action);
  return gatherer.hash();
}

Hash128 rule_key(std::string_view service, std::string_view text, std::size_t ordinal) {
  Gatherer<Form::Lasting> gatherer;
  gatherer.all(std::string_view("rule"), std::string_view(to_lower(service)), text, ordinal);
  return gatherer.hash();
}

}  // namespace healer::config
