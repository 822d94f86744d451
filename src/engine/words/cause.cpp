// SPDX-License-Identifier: MIT
#include "engine/words/cause.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <spdlog/fmt/fmt.h>

#include "engine/events/event.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/unit.hpp"
#include "engine/words/heartbeat.hpp"
#include "engine/words/occurrence.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

/// By EventKind, then by State. A content test that holds is a match whatever its operator.
constexpr std::array<std::array<std::string_view, 3>, kEventKinds> kTexts{{
    // succeeded, failed, changed
    {"Action done", "Action failed", "Action done"},
    {"Download bytes ok", "Download bytes exceeded", "Download bytes changed"},
    {"Upload bytes ok", "Upload bytes exceeded", "Upload bytes changed"},
    {"Checksum succeeded", "Checksum failed", "Checksum changed"},
    {"Connection succeeded", "Connection failed", "Connection changed"},
    {"Content doesn't match", "Content match", "Content match"},
    {"Data access succeeded", "Data access error", "Data access changed"},
    {"Execution succeeded", "Execution failed", "Execution changed"},
    {"Exists not", "Does exist", "Existence changed"},  // `if exist`: failed means that it is there
    {"Filesystem flags succeeded", "Filesystem flags failed", "Filesystem flags changed"},
    {"GID succeeded", "GID failed", "GID changed"},
    {"ICMP succeeded", "ICMP failed", "ICMP changed"},
    {"Monit instance changed", "Monit instance changed", "Monit instance changed"},
    {"Type succeeded", "Invalid type", "Type changed"},
    {"Link up", "Link down", "Link changed"},
    {"Exists", "Does not exist", "Existence changed"},
    {"Download packets ok", "Download packets exceeded", "Download packets changed"},
    {"Upload packets ok", "Upload packets exceeded", "Upload packets changed"},
    {"Permission succeeded", "Permission failed", "Permission changed"},
    {"PID succeeded", "PID failed", "PID changed"},
    {"PPID succeeded", "PPID failed", "PPID changed"},
    {"Resource limit succeeded", "Resource limit matched", "Resource limit changed"},
    {"Saturation ok", "Saturation exceeded", "Saturation changed"},
    {"Size succeeded", "Size failed", "Size changed"},
    {"Speed ok", "Speed failed", "Speed changed"},
    {"Status succeeded", "Status failed", "Status changed"},
    {"Timeout recovery", "Timeout", "Timeout changed"},
    {"Timestamp succeeded", "Timestamp failed", "Timestamp changed"},
    {"UID succeeded", "UID failed", "UID changed"},
    {"Uptime succeeded", "Uptime failed", "Uptime changed"},
}};

/// Program output as Monit tells it: up to the first NUL, without white space around it.
std::string_view first_part(std::string_view output) { return trim(output.substr(0, output.find('\0'))); }

std::string_view or_none(std::string_view output) { return output.empty() ? "no output" : output; }

std::string_view output_of(const Evidence& run) { return run.output ? *run.output : std::string_view{}; }

// ---- quantities ---------------------------------------------------------------------------------------------------

std::string_view symbol(Comparison comparison) {
  constexpr std::array<std::string_view, 6> kSymbols{"=", "!=", "<", "<=", ">", ">="};
  return kSymbols[static_cast<std::size_t>(comparison)];
}

/// Seconds, for people.
std::string lasting(double value) { return format_duration(seconds{static_cast<std::int64_t>(value)}); }

/// A value in a sentence: loads are rounded there, unlike in a status.
std::string value_text(Unit unit, double value) {
  return unit == Unit::Load ? fmt::format("{:.1f}", value) : format_metric(unit, value);
}

/// A value in a whole sentence, which says itself what it is per, or of.
std::string amount_text(Unit unit, double value) {
  if (unit == Unit::Packets || unit == Unit::PacketsPerSecond) return fmt::format("{:.0f}", value);
  if (unit == Unit::PagesPerSecond) return fmt::format("{:.0f}", value);
  return format_metric(unit == Unit::BytesPerSecond ? Unit::Bytes : unit, value);
}

std::string limit_text(Unit unit, double value) {
  return unit == Unit::OperationsPerSecond ? fmt::format("{:.0f} operations/s", value) : value_text(unit, value);
}

// ---- tests --------------------------------------------------------------------------------------------------------

/// What one test has to say of a run.
class Account {
 public:
  Account(const ServiceBlock& block, const Rule& rule, const Seen& seen, bool failed)
      : block_(block), rule_(rule), seen_(seen), failed_(failed) {}

  std::string operator()(const Compare& test) const {
    if (test.what == Metric::Status) return describe_run(seen_.run, failed_, block_.program->command.timeout);
    const Metric metric = deciding(seen_.run, test);
    const double value = value_of(seen_.run, metric).value_or(0);
    const Quantity* row = block_.kind->find(metric);
    const auto& [matched, limit, succeeded, current] = row != nullptr ? row->sentence : Sentence{};
    if (row != nullptr && limit.empty()) return whole(*row, value, test.comparison, test.value, Duration{0});
    const Unit unit = unit_of(metric);
    if (!failed_) return fmt::format("{} succeeded [current {} = {}]", succeeded, current, value_text(unit, value));
    return fmt::format("{} {} matches {} [{} {} {}]", matched, value_text(unit, value),
                       limit == "filedescriptors" ? "limit" : "resource limit", limit, symbol(test.comparison),
                       limit_text(unit, test.value));
  }

  std::string operator()(const Total& test) const {
    const Quantity* row = block_.kind->find(test.what);
    if (row == nullptr) return {};
    return whole(*row, value_of(seen_.run, test).value_or(0), test.comparison, test.value, test.span);
  }

  std::string operator()(const Linked& test) const {
    if (seen_.run.answer != Answer::Present) return std::string(output_of(seen_.run));
    const std::optional<Value> errors = attribute_of(seen_.run, Attribute::LinkErrors);
    if (errors && failed_ && !test.up) return format_value(*errors);
    return "link " + format_value(attribute_of(seen_.run, Attribute::Link).value_or(std::string("up")));
  }

  std::string operator()(const Differs& test) const {
    const AttributeRow* row = block_.kind->find(test.what);
    if (row == nullptr) return {};
    const Value* first = first_value(seen_.memory, test);
    const Value wanted = test.wanted ? *test.wanted : first != nullptr ? *first : Value(std::string());
    const Value now = attribute_of(seen_.run, test.what).value_or(nothing_like(wanted));
    return sentence_of(failed_ ? row->sentence.failed : row->sentence.succeeded, *row, now, wanted);
  }

  std::string operator()(const Changed& test) const {
    if (failed_ && test.also && holds(Changed{.what = test.what, .also = {}}, seen_) != true)
      return (*this)(Changed{.what = *test.also, .also = {}});
    const Value* before = seen_.memory.find(test.what);
    if (test.what == Attribute::Status) {
      const std::int64_t now = seen_.run.status;
      return failed_ ? describe_changed(before != nullptr ? std::get<std::int64_t>(*before) : now, now,
                                        output_of(seen_.run))
                     : describe_unchanged(now, output_of(seen_.run));
    }
    const AttributeRow* row = block_.kind->find(test.what);
    if (row == nullptr) return {};
    const Value now = attribute_of(seen_.run, test.what).value_or(std::int64_t{0});
    const bool changed = failed_ && before != nullptr;
    return sentence_of(changed ? row->sentence.changed : row->sentence.unchanged, *row, now,
                       before != nullptr ? *before : now);
  }

  std::string operator()(const Worded& test) const {
    const AttributeRow* row = block_.kind->find(test.what);
    if (row == nullptr) return {};
    const Value now = attribute_of(seen_.run, test.what).value_or(std::string());
    return sentence_of(failed_ ? row->sentence.failed : row->sentence.succeeded, *row, now, test.text);
  }

  /// Whatever the test asks, it is told what has happened.
  std::string operator()(const OutputChanged& /*test*/) const {
    const std::optional<Value> now = attribute_of(seen_.run, Attribute::Output);
    const Value* before = seen_.memory.find(Attribute::Output);
    if (!now || before == nullptr) return {};
    if (*now == *before)
      return fmt::format("content remained the same:\n<<<<<<< Begin\n{}\n>>>>>>> End", shown_output(*now));
    return fmt::format(
        "content changed:\n<<<<<<< Begin previous\n{}\n======= End previous - Begin current\n{}\n>>>>>>> End current",
        shown_output(*before), shown_output(*now));
  }

  std::string operator()(const Present& test) const {
    const bool there = seen_.run.answer == Answer::Present;
    if (block_.has_process()) {
      // Of healer's own child it is known how it ended.
      if (block_.foreground() && !there && seen_.run.output) return *seen_.run.output;
      return describe_existence(seen_.run);
    }
    const CheckKind& kind = *block_.kind;
    if (there) return sentence_of(test.wanted || kind.returned.empty() ? kind.present : kind.returned);
    const std::string_view why = output_of(seen_.run);
    return why.empty() ? describe_absence(block_) : std::string(why);
  }

  std::string operator()(const Matches& test) const {
    if (!block_.kind->traits.has_lines) return describe_content(failed_, output_of(seen_.run));
    const bool has_lines =
        failed_ && seen_.run.facts != nullptr && test.pattern < seen_.run.facts->further->lines.size();
    return has_lines ? "content match:\n" + seen_.run.facts->further->lines[test.pattern] : "content doesn't match";
  }

  std::string operator()(const Reached& test) const {
    const ConnectionSeen* seen = connection_of(seen_.run, test);
    return seen != nullptr ? seen->sentence : std::string{};
  }

  std::string operator()(const Restarts& /*test*/) const {
    if (!failed_) return "process is running after previous restart timeout (manually recovered?)";
    return fmt::format("service restarted {} times within {} cycles(s) - {}", rule_->tolerance.count,
                       rule_->tolerance.window, to_string(rule_->action.kind));
  }

  std::string operator()(const Members& /*test*/) const { return std::string(output_of(seen_.run)); }

  std::string operator()(const Queried& test) const { return describe(seen_.run, test); }

  std::string operator()(const EventCount& test) const {
    if (seen_.run.facts == nullptr || !seen_.run.facts->further->event) return {};
    return describe(*seen_.run.facts->further->event, test);
  }

  std::string operator()(const HeartbeatIs& test) const {
    if (seen_.run.facts == nullptr || !seen_.run.facts->further->beat) return {};
    return describe_heartbeat(block_.other->heartbeat, *seen_.run.facts->further->beat, test.what);
  }

 private:
  /// A sentence on whether it is there.
  [[nodiscard]] std::string sentence_of(std::string_view sentence) const {
    return fmt::format(fmt::runtime(sentence), fmt::arg("path", path()));
  }

  /// A sentence on a quantity that has no other parts.
  [[nodiscard]] std::string whole(const Quantity& row, double value, Comparison comparison, double limit,
                                  Duration span) const {
    const Unit unit = unit_of(row.metric);
    return fmt::format(fmt::runtime(failed_ ? row.sentence.matched : row.sentence.succeeded), fmt::arg("path", path()),
                       fmt::arg("value", fmt::format("{:.0f}", value)), fmt::arg("amount", amount_text(unit, value)),
                       fmt::arg("time", time_of(row)), fmt::arg("sign", symbol(comparison)),
                       fmt::arg("limit", amount_text(unit, limit)), fmt::arg("span", describe_span(span)),
                       fmt::arg("lasting", lasting(value)), fmt::arg("most", lasting(limit)));
  }

  /// A sentence on an attribute.
  [[nodiscard]] std::string sentence_of(std::string_view sentence, const AttributeRow& row, const Value& now,
                                        const Value& before) const {
    return fmt::format(fmt::runtime(sentence), fmt::arg("name", block_.name), fmt::arg("path", path()),
                       fmt::arg("now", written(row.form, now)), fmt::arg("before", written(row.form, before)));
  }

  static std::string_view shown_output(const Value& output) {
    const std::string* text = text_in(output);
    return text != nullptr ? engine::first_part(*text) : std::string_view{};
  }

  static std::string written(Form form, const Value& value) {
    const auto* number = std::get_if<std::int64_t>(&value);
    if (number != nullptr && form == Form::Mode) return fmt::format("{:04o}", *number);
    if (number != nullptr && form == Form::Size) return format_metric(Unit::Bytes, static_cast<double>(*number));
    if (number != nullptr && form == Form::Time) return format_iso(WallTime{seconds{*number}});
    return format_value(value);
  }

  /// When that was of which a quantity tells how long it is ago.
  [[nodiscard]] std::string time_of(const Quantity& quantity) const {
    const AttributeRow* row = block_.kind->find_attribute(quantity.words);
    const auto value = row != nullptr ? attribute_of(seen_.run, row->attribute) : std::nullopt;
    return value ? written(row->form, *value) : std::string{};
  }

  /// What is said about what nobody knows: 0, or no text.
  static Value nothing_like(const Value& wanted) {
    if (text_in(wanted) != nullptr) return std::string();
    return std::int64_t{0};
  }

  /// What the service looks at, in Monit's eyes.
  [[nodiscard]] const std::string& path() const {
    if (block_.kind->target == Target::Path) return block_.path;
    if (!block_.has_process()) return block_.name;
    return block_.process->pid_file.empty() ? block_.process->pattern : block_.process->pid_file;
  }

  const ServiceBlock& block_;
  const Rule& rule_;
  const Seen& seen_;
  bool failed_;
};

/// What a part of a condition has come to, and the test that has decided it.
struct Decided {
  std::optional<bool> held;
  const Test* test = nullptr;
  bool negated = false;  ///< the part holds where the test does not
};

/// Of what is joined, the first that has decided: what holds of an `or`, what does not of an `and`, else the first.
Decided deciding(const RuleCondition& condition, const Seen& seen) {
  return fold<Decided>(
      condition.postfix, condition.tests.size(),
      [&](std::size_t test) {
        return Decided{holds(condition.tests[test], seen), &condition.tests[test]};
      },
      [](Decided one) {
        if (one.held) one.held = !*one.held;
        one.negated = !one.negated;
        return one;
      },
      [](Op op, Decided left, Decided right) {
        const bool decides = op == Op::Or;
        if (left.held == decides) return left;
        if (right.held == decides) return right;
        if (left.held && right.held) return left;
        Decided open = left.held || !right.held ? left : right;  // what is known has more to say
        open.held.reset();
        return open;
      });
}

/// The connection that has decided; null: it was something else.
const ConnectionSeen* deciding_connection(const Rule& rule, const Seen& seen) {
  const auto* test = std::get_if<Reached>(deciding(*rule->condition, seen).test);
  return test != nullptr ? connection_of(seen.run, *test) : nullptr;
}

}  // namespace

std::string_view event_text(EventKind event, effect::Cause::State state) {
  return kTexts[static_cast<std::size_t>(event)][static_cast<std::size_t>(state)];
}

std::string describe(const ServiceBlock& block, const Rule& rule, const Seen& seen, bool failed) {
  const Decided decided = deciding(*rule->condition, seen);
  return std::visit(Account(block, rule, seen, failed != decided.negated), *decided.test);
}

std::string describe(const Evidence& run, const Queried& test) {
  const ValueSeen* seen = value_of(run, test);
  const std::string filter = printable(test.test->filter);
  if (seen == nullptr) return fmt::format("json {} was not evaluated", filter);
  if (!seen->value) return fmt::format("json {} is not known: {}", filter, seen->why);
  const std::string value = shown_value(*seen->value);
  const std::optional<bool> held = compare(*test.test, *seen->value);
  const std::string wanted = printable(wanted_value(*test.test));
  if (!held) return fmt::format("json {} is {}, which cannot be compared with {}", filter, value, wanted);
  return fmt::format("json {} is {}{}", filter, value,
                     *held ? fmt::format(" ({} {})", symbol(test.test->comparison), wanted) : "");
}

std::string shown_value(std::string_view json) {
  constexpr std::size_t kMost = 100;
  const bool is_long = json.size() > kMost;
  return printable(json.substr(0, kMost)) + (is_long ? "..." : "");
}

std::string describe_recovery(const ServiceBlock& block, const Rule& rule, const Seen& seen, EventKind event) {
  const ConnectionSeen* connection = deciding_connection(rule, seen);
  const bool is_time = connection != nullptr && event == EventKind::Speed && !connection->in_time.empty();
  return is_time ? connection->in_time : describe(block, rule, seen, false);
}

EventKind event_of(const Rule& rule, const Seen& seen) {
  const ConnectionSeen* connection = deciding_connection(rule, seen);
  return connection != nullptr ? connection->event.value_or(rule->event) : rule->event;
}

std::string_view unchanged_text(EventKind event) {
  return event == EventKind::Speed ? "Speed not changed" : event_text(event, effect::Cause::State::Succeeded);
}

std::string describe_span(Duration span) {
  const bool is_hours = span > Duration{0} && span % hours{1} == Duration{0};
  return is_hours ? fmt::format("{} hour", span / hours{1}) : fmt::format("{} minute", span / minutes{1});
}

std::string describe_absence(const ServiceBlock& block) {
  return fmt::format(fmt::runtime(block.kind->absent), fmt::arg("path", block.path));
}

std::string describe_doubt(const ProcessFacts& process, Doubt doubt) {
  if (doubt != Doubt::Foreign)
    return fmt::format(
        "process {} may belong to another service, because it was started after the pid file was written", process.pid);
  if (process.named_by == ProcessFacts::kAnybody)
    return fmt::format(
        "process {} may belong to another service, because other users can write or replace its pid file", process.pid);
  if (process.named_by == 0)  // the file is gone
    return fmt::format("process {} belongs to another user than its pid file did", process.pid);
  return fmt::format("process {} belongs to user {}, and its pid file, or a folder or link on the way, to user {}",
                     process.pid, process.uid, process.named_by);
}

std::string describe_left(std::span<const LeftProcess> left) {
  std::string text = fmt::format("process {}", left.front().pid);
  if (!left.front().command.empty()) text += fmt::format(" ({})", left.front().command);
  if (left.size() > 1) text += fmt::format(" and {} more", left.size() - 1);
  return text;
}

std::string describe_existence(const Evidence& run) {
  const bool known = run.facts != nullptr && run.facts->process;
  if (!known) return "process is not running";
  const ProcessFacts& process = *run.facts->process;
  return process.zombie ? fmt::format("process with pid {} is a zombie", process.pid)
                        : fmt::format("process is running with pid {}", process.pid);
}

std::string describe_not_done(std::string_view verb, const Command& command, Outcome outcome, std::int64_t status,
                              std::string_view output) {
  const std::string program = fmt::format("'{}'", fmt::join(command.arguments, " "));
  const bool timed_out = outcome == Outcome::TimedOut;
  std::string reason(first_part(output));
  if (unit_order(command)) {
    if (timed_out) reason = "systemd has not done it within " + format_duration(kUnitJobTimeout);
    return fmt::format("failed to {}: {}", verb, reason.empty() ? "systemd does not say why" : reason);
  }
  if (reason.empty()) {
    reason = timed_out ? fmt::format("Program {} {}", program, describe_timeout(command.timeout)) : or_none(reason);
  } else {
    reason = fmt::format("{}: {}{}", program, timed_out ? "Program timed out -- " : "", reason);
  }
  return fmt::format("failed to {} (exit status {}) -- {}", verb, timed_out ? -1 : status, reason);
}

std::string brief_failure(std::string_view failure, const ServiceBlock& block) {
  constexpr std::string_view kTimedOut = "Program timed out -- ";
  for (const Rare<Command>* command : {&block.programs->start, &block.programs->restart, &block.programs->stop}) {
    if (!*command) continue;
    const std::string program = fmt::format(" -- '{}': ", fmt::join((*command)->arguments, " "));
    const std::size_t at = failure.find(program);
    if (at == std::string_view::npos) continue;
    std::string_view output = failure.substr(at + program.size());
    const bool timed_out = output.starts_with(kTimedOut);
    if (timed_out) output.remove_prefix(kTimedOut.size());
    return fmt::format("{}: {}{}", failure.substr(0, at), timed_out ? "timed out, " : "", telling_line(output));
  }
  return std::string(failure.substr(0, failure.find('\n')));
}

std::string_view telling_line(std::string_view output, std::size_t errors) {
  const auto word_of = [](const std::string& line, std::string_view word) {
    for (std::size_t at = line.find(word); at != std::string::npos; at = line.find(word, at + 1)) {
      const std::string_view before = trim(std::string_view(line).substr(0, at));
      const bool none = before == "0" || before.ends_with(" 0") || before == "no" || before.ends_with(" no");
      if (!none) return true;
    }
    return false;
  };
  std::string_view fatal, on_stderr, error, last;
  for (std::size_t begin = 0; begin < output.size();) {
    const std::size_t end = std::min(output.find('\n', begin), output.size());
    const std::string_view line = first_part(output.substr(begin, end - begin));
    if (!line.empty()) {
      const std::string lower = to_lower(line);
      last = line;
      if (begin < errors) on_stderr = line;
      if (lower.find("fatal:") != std::string::npos) fatal = line;
      if (word_of(lower, "error")) error = line;
    }
    begin = end + 1;
  }
  for (const std::string_view line : {fatal, on_stderr, error})
    if (!line.empty()) return line;
  return last;
}

std::string describe_exit(Outcome outcome, std::int64_t status) {
  if (outcome != Outcome::Signalled) return fmt::format("exited with status {}", status);
  const char* const name = ::sigabbrev_np(static_cast<int>(status));
  return fmt::format("killed by signal {}{}", status, name == nullptr ? "" : fmt::format(" (SIG{})", name));
}

std::string describe_end(const event::ActionEnded& end) {
  const std::string after = end.elapsed > Duration{0} ? " after " + format_duration(end.elapsed) : std::string{};
  std::string text = describe_exit(end.outcome, end.status) + after;
  if (end.outcome == Outcome::NotStarted) text = "could not be started";
  if (end.outcome == Outcome::Signalled) text.insert(0, "was ");
  if (end.unseen) text = fmt::format("ended{}; exit status unknown (started by a previous healerd)", after);
  if (end.left != 0) text += fmt::format(" (process {}, which had left its session, was ended with it)", end.left);
  const std::string_view output = first_part(end.output);
  const std::string_view last = output.substr(output.rfind('\n') + 1);  // of no line at all: the whole
  return last.empty() ? text : fmt::format("{}: {}", text, last);
}

std::string describe_action(std::string_view verb, bool done) {
  return fmt::format("{} action {}", verb, done ? "done" : "failed");
}

std::string describe_status(std::int64_t status, bool failed, std::string_view output) {
  return fmt::format("status {} ({}) -- {}", failed ? "failed" : "succeeded", status, or_none(first_part(output)));
}

std::string describe_run(const Evidence& run, bool failed, Duration timeout) {
  const std::string_view output = run.output ? first_part(*run.output) : std::string_view{};
  std::string reason;
  if (run.outcome == Outcome::TimedOut) reason = describe_timeout(timeout);
  if (run.outcome == Outcome::Signalled) reason = fmt::format("killed by signal {}", run.status);
  if (!reason.empty() && !output.empty()) reason += '\n';
  return describe_status(run.status, failed, reason.append(output));
}

std::string describe_changed(std::int64_t before, std::int64_t now, std::string_view output) {
  return fmt::format("status changed ({} -> {}) -- {}", before, now, or_none(first_part(output)));
}

std::string describe_unchanged(std::int64_t status, std::string_view output) {
  return fmt::format("status didn't change ({}) -- {}", status, or_none(first_part(output)));
}

std::string describe_content(bool holds, std::string_view output) {
  return fmt::format("content {} on program output:\n{}{}", holds ? "match" : "doesn't match", first_part(output),
                     holds ? "\n" : "");
}

std::string describe_timeout(Duration after) { return "timed out after " + format_duration(after); }

std::shared_ptr<const effect::Cause> cause_of(const ServiceBlock& block, const Rule& rule, const Seen& seen,
                                              EventKind event, bool recovered, WallTime when) {
  // What asks for a change is over in the next run.
  const bool of_change =
      rule->mode == Mode::EachChange || std::holds_alternative<Changed>(rule->condition->tests.front());
  auto cause = std::make_shared<effect::Cause>();
  cause->service = block.name;
  cause->event = event;
  cause->state = recovered   ? effect::Cause::State::Succeeded
                 : of_change ? effect::Cause::State::Changed
                             : effect::Cause::State::Failed;
  cause->event_text = recovered && of_change ? unchanged_text(event) : event_text(event, cause->state);
  cause->action_text = to_string((recovered ? rule->recovery->action : rule->action).kind);
  cause->rule = rule->text;
  cause->when = when;
  cause->description = recovered ? describe_recovery(block, rule, seen, event) : describe(block, rule, seen, true);
  if (block.has_process()) cause->process = figures_of(seen.run);
  if (block.is_run()) cause->program_status = seen.run.status;
  return cause;
}

effect::Cause::Process figures_of(const Evidence& run) {
  effect::Cause::Process figures;
  const ProcessFacts* process = process_of(run);
  if (process == nullptr) return figures;
  const Metrics& metrics = run.facts->metrics;
  figures.pid = process->pid;
  figures.memory_kb = static_cast<std::int64_t>(metrics.get(Metric::MemoryBytes).value_or(0) / 1024);
  figures.children = static_cast<std::int64_t>(metrics.get(Metric::Children).value_or(-1));
  figures.cpu_percent = metrics.get(Metric::Cpu).value_or(-1);
  return figures;
}

}  // namespace healer::engine
