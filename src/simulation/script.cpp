// SPDX-License-Identifier: MIT
#include "simulation/script.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/unit.hpp"
#include "simulation/script_reader.hpp"
#include "simulation/script_value.hpp"
#include "util/text.hpp"

namespace healer::engine {

ScriptReader::ScriptReader(const RuleSet& rules, ScriptReading& reading, const std::vector<std::string>& lists)
    : ScriptLine(reading.errors), script_(reading.script), settings_(&rules.settings) {
  for (const std::string& list : lists) lists_.insert(to_lower(list));
  for (const auto& block : rules.services) {
    blocks_.emplace(to_lower(block->name), block.get());
    if (block->row)
      for (const auto& [name, value] : block->row->variables)
        if (std::ranges::find(block->row->lists, name) != block->row->lists.end()) rows_.insert(to_lower(value));
    for (const std::string& group : block->groups) groups_.insert(to_lower(group));
    for (const Rule& rule : block->rules)
      for (const Action* action : {&rule->action, &rule->recovery->action})
        if (action->kind == ActionKind::Exec) add_program(*action->command);
    for (const Rare<Command>* command : block->programs->all())
      if (*command) add_program(**command);
    if (const auto& foreground = block->process->foreground) {
      add_program(foreground->command);
      if (foreground->by_notice) add_program(foreground->command, received_);
    }
  }
  add_workflows(rules);
}

void ScriptReader::read(std::string_view line, std::uint32_t number) {
  if (begin(line, number)) statement();
}

void ScriptReader::read_list(std::string_view line, std::uint32_t number) {
  if (!begin(line, number)) return;
  const bool later = take("at");
  if (later) offset("at 5 minutes list NODE: node1 node2");
  if (failed_ || !take("list") || !more() || next_ + 1 == words_.size()) return;
  list(later);
}

void ScriptReader::finish() { std::ranges::stable_sort(script_.commands, {}, &ScriptedCommand::at); }

void ScriptReader::statement() {
  const Word first = words_.front();
  // A name stands before a colon or before `takes`; so services may be called `start`, `run`, `exec` and `at`.
  if (first.raw.ends_with(':') || (words_.size() > 1 && iequals(words_[1].raw, "takes"))) return service();
  static constexpr std::array<std::string_view, 8> kWords{"start",  "run",   "exec", "at",
                                                          "expect", "guard", "step", "list"};
  const bool keyword = std::ranges::any_of(kWords, [&](std::string_view word) { return iequals(word, first.raw); });
  if (const std::string words = quantity(); !words.empty() && (!keyword || blocks_.contains(to_lower(first.raw))))
    return measured(words);
  next_ = 1;
  if (iequals(first.raw, "start")) return start();
  if (iequals(first.raw, "run")) return length();
  if (iequals(first.raw, "exec")) return action();
  if (iequals(first.raw, "at")) return command();
  if (iequals(first.raw, "expect")) return expectation();
  if (iequals(first.raw, "guard")) return guard();
  if (iequals(first.raw, "step")) return step();
  if (iequals(first.raw, "list")) return list(false);
  const std::string_view near = nearest_word(first.raw, kWords);
  fail(first.offset, fmt::format("'{}' does not begin a statement", printable(first.raw)),
       !near.empty()                                ? did_you_mean(near)
       : blocks_.contains(to_lower(text_of(first))) ? fmt::format("write {}: 0 1 ...", first.raw)
                                                    : "a line begins with start, run, exec, at, expect, guard, step, "
                                                      "list, or the name of a service and a colon");
}

std::string ScriptReader::did_you_mean(std::string_view near) {
  return near.empty() ? std::string{} : fmt::format("did you mean '{}'?", near);
}

std::string ScriptReader::one_of(const Word& word, std::string_view raw, std::span<const std::string_view> known,
                                 std::string_view what) {
  std::string name = to_lower(text_of({raw, word.offset}));
  if (failed_ || std::ranges::find(known, name) != known.end()) return name;
  const std::string_view near = nearest_word(name, known);
  std::vector<std::string> names(known.begin(), known.end());
  constexpr std::size_t kMostShown = 25;
  fail(word.offset, fmt::format("'{}' is not a {}", printable(name), what),
       !near.empty()               ? did_you_mean(near)
       : names.size() > kMostShown ? std::string{}
       : names.empty()             ? fmt::format("the rules have no {}", what)
                                   : fmt::format("write {}", join_words(names, "or")));
  return name;
}

ScriptReader::Suffix ScriptReader::suffix(const Word& word, std::size_t at, std::string_view what) {
  const std::string_view raw = word.raw;
  Suffix behind;
  while (at < raw.size() && !failed_) {
    const char mark = raw[at];
    if (mark == ':' && at + 1 < raw.size() && is_quote(raw[at + 1])) {
      behind.text = unquote(raw, ++at, word.offset);
    } else if (mark == '*') {
      behind.times = read_number(raw, ++at, word.offset, "the number of times", 1, kMaxRuns);
    } else if (mark == '@') {
      const std::size_t begin = ++at;
      at = std::min(raw.find_first_of("*:", at), raw.size());
      behind.takes = parse_duration(raw.substr(begin, at - begin));
      if (!behind.takes)
        fail(word.offset + begin, "there is no duration after '@'", "write it in one word, as in @90s");
    } else {
      fail(word.offset + at, fmt::format("unexpected '{}'", printable(raw.substr(at))),
           fmt::format("only :\"output\", *TIMES and @DURATION can follow {}", what));
    }
  }
  return behind;
}

void ScriptReader::add_program(const Command& command, std::set<std::string>& to) {
  if (command.arguments.empty()) return;
  to.insert(command.arguments.front());
  to.insert(fmt::format("{}", fmt::join(command.arguments, " ")));
}

std::string ScriptReader::service_name(const Word& word, std::string_view raw) {
  const std::string name = to_lower(text_of({raw, word.offset}));
  if (blocks_.contains(name)) return name;
  std::vector<std::string_view> known;
  for (const auto& [other, block] : blocks_) known.push_back(other);
  const std::string_view near = nearest_word(name, known);
  fail(word.offset, fmt::format("the rules have no service '{}'", printable(name)), did_you_mean(near));
  return name;
}

void ScriptReader::service() {
  const Word first = words_[next_++];
  std::string_view raw = first.raw;
  const bool runs = raw.ends_with(':');
  if (runs) raw.remove_suffix(1);
  const std::string name = service_name(first, raw);
  if (failed_) return;
  if (blocks_.at(name)->has_members())
    return fail(first.offset, fmt::format("'{}' is a composite: it is not checked itself", printable(raw)),
                "write the runs of its members");
  if (blocks_.at(name)->is_event())
    return fail(first.offset, fmt::format("'{}' is a check of events: these come, it is not checked", printable(raw)),
                fmt::format("write at 5 minutes event {} '{{...}}'", printable(raw)));
  if (blocks_.at(name)->is_heard())
    return fail(first.offset, fmt::format("'{}' is a heartbeat: it is heard, not checked", printable(raw)),
                fmt::format("write at 5 minutes beat {}", printable(raw)));
  ScriptedService& service = script_.services[name];
  if (!runs) {
    ++next_;
    service.takes = duration("NAME takes 2 seconds");
    return want_end();
  }
  const ServiceBlock& block = *blocks_.at(name);
  if (block.has_process() && take("down")) {
    service.down = true;
    return want_end();
  }
  if (!block.is_run() && !block.is_listed())
    return fail(here(), fmt::format("'{}' is not a program: it does not exit", printable(block.name)),
                fmt::format("write {}{} QUANTITY: VALUES, for what a rule compares",
                            block.has_process() ? fmt::format("{}: down, or ", raw) : "", raw));
  if (service.repeated) return fail(first.offset, "the previous line of this service never ends", "remove its '...'");
  if (!more()) return fail(here(), "the runs are missing", "write exit values, as in 0 0 1");
  while (more()) {
    if (take("...")) {
      if (service.runs.empty()) return fail(words_[next_ - 1].offset, "there is nothing to repeat before '...'");
      service.repeated = true;
      return want_end();
    }
    item(words_[next_++], service.runs);
  }
}

/// The words of a line between its first and a colon, as in `web total memory: 50%`; empty: there is no colon.
std::string ScriptReader::quantity() const {
  constexpr std::size_t kMost = 4;
  std::string text;
  for (std::size_t i = 1; i < words_.size() && i <= kMost; ++i) {
    text += (text.empty() ? "" : " ") + to_lower(words_[i].raw);
    if (text.ends_with(':')) return text.substr(0, text.size() - 1);
  }
  return {};
}

/// NAME QUANTITY: VALUE...
void ScriptReader::measured(const std::string& words) {
  const Word first = words_[next_++];
  const std::string name = service_name(first, first.raw);
  if (failed_) return;
  const std::size_t begin = here();
  while (!words_[next_++].raw.ends_with(':')) {
  }
  if (words == "connection" || words.starts_with("connection ")) return connections(name, words, first, begin);
  if (blocks_.at(name)->is_unit() && (words == "state" || words == "substate"))
    return told(name, words == "state" ? Attribute::UnitState : Attribute::UnitSubstate, words, first, begin);
  std::vector<Metric> metrics = compared_metrics(*blocks_.at(name), words);
  if (metrics.empty()) {
    const std::vector<std::string> known = compared_words(*blocks_.at(name));
    const std::vector<std::string_view> views(known.begin(), known.end());
    const std::string_view near = nearest_word(words, views);
    return fail(begin, fmt::format("no rule of '{}' compares '{}'", name, printable(words)),
                !near.empty()   ? fmt::format("did you mean '{}'?", near)
                : known.empty() ? "its rules compare nothing that is measured"
                                : fmt::format("its rules compare {}", join_words(known, "and")));
  }
  if (!more())
    return fail(here(), "the values are missing", fmt::format("write them run by run, as {}", value_form(metrics)));
  std::vector<std::optional<double>> values;
  std::optional<std::size_t> again;
  while (more() && !again) {
    if (see("..."))
      again = words_[next_++].offset;
    else
      value(words_[next_++], words, metrics, values);
  }
  want_end();
  if (!failed_) add(script_.services[name].measured[metrics.front()], values, again, first.offset, begin);
}

/// NAME state: active*3 failed unknown ...
void ScriptReader::told(const std::string& name, Attribute what, const std::string& words, const Word& first,
                        std::size_t begin) {
  ScriptedTexts& texts = script_.services[name].told[what];
  if (texts.repeated) return fail(first.offset, "the previous line of this never ends", "remove its '...'");
  if (!more())
    return fail(here(), "the values are missing",
                fmt::format("write them run by run, as {}",
                            what == Attribute::UnitState ? "active failed" : "running auto-restart"));
  while (!failed_ && more()) {
    const Word word = words_[next_++];
    if (iequals(word.raw, "...")) {
      if (texts.values.empty()) return fail(word.offset, "there is nothing to repeat before '...'");
      texts.repeated = true;
      return want_end();
    }
    std::size_t at = std::min(word.raw.find('*'), word.raw.size());
    const std::string text = to_lower(word.raw.substr(0, at));
    std::int64_t times = 1;
    if (at < word.raw.size()) times = read_number(word.raw, ++at, word.offset, "the number of times", 1, kMaxRuns);
    if (at != word.raw.size()) fail(word.offset + at, fmt::format("unexpected '{}'", printable(word.raw.substr(at))));
    const bool is_state = std::ranges::find(kUnitStates, text) != kUnitStates.end();
    if (what == Attribute::UnitState && text != "unknown" && !is_state)
      return fail(word.offset, fmt::format("'{}' is not a state of a unit", printable(text)),
                  fmt::format("the states are {}, and unknown", fmt::join(kUnitStates, ", ")));
    if (texts.values.size() + static_cast<std::size_t>(times) > kMaxRuns)
      return fail(begin, fmt::format("a {} may have {} scripted values", words, kMaxRuns),
                  "let the list repeat with ...");
    texts.values.insert(texts.values.end(), static_cast<std::size_t>(times),
                        text == "unknown" ? std::nullopt : std::optional(text));
  }
}

/// Values that a line gives of something, to those of the lines before.
void ScriptReader::add(ScriptedSeries& series, const std::vector<std::optional<double>>& values,
                       std::optional<std::size_t> again, std::size_t line, std::size_t begin) {
  if (series.repeated) return fail(line, "the previous line of this quantity never ends", "remove its '...'");
  if (series.values.size() + values.size() > kMaxRuns)
    return fail(begin, fmt::format("a quantity may have {} scripted values", kMaxRuns), "let the list repeat with ...");
  series.values.insert(series.values.end(), values.begin(), values.end());
  series.repeated = again.has_value();
  if (series.values.empty()) fail(*again, "there is nothing to repeat before '...'");
}

/// NAME connection [NUMBER]: up*3 down unresolved unknown ...
void ScriptReader::connections(const std::string& name, const std::string& words, const Word& first,
                               std::size_t begin) {
  const std::size_t known = blocks_.at(name)->probes.size();
  if (known == 0) return fail(begin, fmt::format("no rule of '{}' asks for a connection", name));
  std::size_t which = kEveryConnection;
  if (const std::size_t blank = words.find(' '); blank != std::string::npos) {
    std::size_t at = blank + 1;
    which = static_cast<std::size_t>(
                read_number(words, at, begin, "the number of the connection", 1, static_cast<std::int64_t>(known))) -
            1;
    if (!failed_ && at != words.size()) fail(begin, fmt::format("'{}' names no connection", printable(words)));
  }
  if (!failed_ && !more()) fail(here(), "the values are missing", "write up, down, unresolved or unknown, run by run");
  std::vector<std::optional<double>> values;
  std::optional<std::size_t> again;
  while (!failed_ && more() && !again) {
    if (see("...")) {
      again = words_[next_++].offset;
      break;
    }
    const Word word = words_[next_++];
    const std::size_t at = std::min(word.raw.find('*'), word.raw.size());
    const std::string_view text = word.raw.substr(0, at);
    const bool up = iequals(text, "up");
    const bool unresolved = iequals(text, "unresolved");
    if (!up && !unresolved && !iequals(text, "down") && !iequals(text, "unknown"))
      return fail(word.offset, fmt::format("'{}' is not an outcome of a connection", printable(text)),
                  "write up, down, unresolved or unknown, followed by *TIMES");
    append(word, at,
           iequals(text, "unknown") ? std::nullopt
                                    : std::optional(up           ? 1.0
                                                    : unresolved ? kUnresolved
                                                                 : 0.0),
           values);
  }
  want_end();
  if (!failed_) add(script_.services[name].connections[which], values, again, first.offset, begin);
}

/// 95  95%  unknown, each with *N behind. The first with a unit decides which of `metrics` the line tells.
void ScriptReader::value(const Word& word, std::string_view words, std::vector<Metric>& metrics,
                         std::vector<std::optional<double>>& values) {
  std::size_t at = std::min(word.raw.find('*'), word.raw.size());
  const std::string_view text = word.raw.substr(0, at);
  std::optional<double> value;
  if (!iequals(text, "unknown")) {
    const auto read = read_value(text, metrics);
    if (!read)
      return fail(word.offset, fmt::format("'{}' is not a value of '{}'", printable(text), words),
                  fmt::format("write {}, or unknown, followed by *TIMES", value_form(metrics)));
    metrics.assign(1, read->metric);
    value = read->value;
  }
  append(word, at, value, values);
}

/// One value, as often as `*TIMES` says, which may stand in the word from `at` on.
void ScriptReader::append(const Word& word, std::size_t at, std::optional<double> value,
                          std::vector<std::optional<double>>& values) {
  std::int64_t times = 1;
  if (at < word.raw.size()) times = read_number(word.raw, ++at, word.offset, "the number of times", 1, kMaxRuns);
  if (at != word.raw.size()) fail(word.offset + at, fmt::format("unexpected '{}'", printable(word.raw.substr(at))));
  if (values.size() + static_cast<std::size_t>(times) > kMaxRuns)
    fail(word.offset, fmt::format("a quantity may have {} scripted values", kMaxRuns), "let the list repeat with ...");
  if (!failed_) values.insert(values.end(), static_cast<std::size_t>(times), value);
}

/// 0  1:"text"  timeout  missing  signal:11, each with *N and @DURATION behind.
void ScriptReader::item(const Word& word, std::vector<ScriptedRun>& runs) {
  const std::string_view raw = word.raw;
  std::size_t at = 0;
  ScriptedRun run;
  const auto skip = [&](std::string_view text) {
    return raw.substr(at).starts_with(text) && (at += text.size(), true);
  };
  if (raw.front() >= '0' && raw.front() <= '9') {
    run.status = read_number(raw, at, word.offset, "an exit value", 0, 255);
  } else if (skip("timeout")) {
    run = {.outcome = Outcome::TimedOut, .status = 9};
  } else if (skip("missing")) {
    run = {.outcome = Outcome::NotStarted, .status = 127, .output = "No such file or directory"};
  } else if (skip("signal:")) {
    run = {.outcome = Outcome::Signalled, .status = read_number(raw, at, word.offset, "the signal", 1, 64)};
  } else {
    return fail(word.offset, fmt::format("'{}' is not the end of a run", printable(raw)),
                "write an exit value, timeout, missing or signal:N, with :\"output\", *TIMES and @DURATION after it");
  }
  const Suffix behind = suffix(word, at, "a run");
  run.takes = behind.takes;
  if (behind.text) run.output = *behind.text;
  if (static_cast<std::int64_t>(runs.size()) + behind.times > kMaxRuns)
    return fail(word.offset, fmt::format("a service may have {} scripted runs", kMaxRuns),
                "let the list repeat with ...");
  runs.insert(runs.end(), static_cast<std::size_t>(behind.times), run);
}

void ScriptReader::start() {
  constexpr std::string_view kForm = "start at 2026-11-21 04:00:00";
  want("at", kForm);
  script_.start = wall_time(kForm);
  want_end();
}

void ScriptReader::length() {
  constexpr std::string_view kForm = "run for 10 minutes, or run for 50 cycles";
  want("for", kForm);
  if (next_ + 1 < words_.size() &&
      (iequals(words_[next_ + 1].raw, "cycles") || iequals(words_[next_ + 1].raw, "cycle"))) {
    std::size_t at = 0;
    const std::int64_t cycles =
        read_number(words_[next_].raw, at, words_[next_].offset, "the number of cycles", 1, kMaxRuns);
    if (at != words_[next_].raw.size()) fail(words_[next_].offset + at, "a whole number was expected");
    next_ += 2;
    script_.length = settings_->start_delay + settings_->cycle_length() * cycles;
  } else {
    script_.length = duration(kForm);
  }
  want_end();
}

void ScriptReader::action() {
  constexpr std::string_view kForm = "exec /path/of/program takes 30 seconds, exits 1";
  constexpr std::string_view kReady = "exec /path/of/program ready after 5 seconds";
  const Word& word = want_word("the program", kForm);
  const std::string program = text_of(word);
  if (!programs_.contains(program)) {
    const std::vector<std::string_view> known(programs_.begin(), programs_.end());
    const std::string_view near = nearest_word(program, known);
    return fail(word.offset, fmt::format("no action or service of the rules runs '{}'", printable(program)),
                !near.empty()               ? did_you_mean(near)
                : runs_in_workflow(program) ? "for a program of a workflow, write step WORKFLOW STEP: ok fails"
                                            : std::string{});
  }
  ScriptedAction& action = script_.actions[program];
  if (!more()) fail(here(), "how it ends is missing", fmt::format("write {}", kForm));
  while (more()) {
    if (take(",")) continue;
    const bool never = take("never");
    if (never ? take_one("ready") : take("ready")) {
      if (!received_.contains(program))
        fail(word.offset, fmt::format("no service waits for '{}' to say that it is ready", printable(program)));
      if (!never) want("after", kReady);
      action.ready = never ? std::nullopt : std::optional(duration(kReady));
      continue;
    }
    action.ends = !never;
    if (never) {
      if (!take_one("ends")) want("ends", "exec /path/of/program never ends");
    } else if (take("takes")) {
      action.takes = duration(kForm);
    } else if (take("exits")) {
      action.outcome = Outcome::Exited;
      action.status = number("the exit value", 0, 255, kForm);
    } else if (take("signal")) {
      action.outcome = Outcome::Signalled;
      action.status = number("the signal", 1, 64, kForm);
    } else if (take_one("missing")) {
      action.outcome = Outcome::NotStarted;
      action.status = 127;
    } else {
      fail(here(), fmt::format("unexpected '{}'", printable(words_[next_].raw)),
           "a program takes a duration, exits with a value, is killed by a signal, never ends, or is missing; it is "
           "ready after a duration, or never");
    }
  }
}

ScriptReading read_script(std::string_view text, const RuleSet& rules, const std::vector<std::string>& lists) {
  ScriptReading reading;
  ScriptReader reader(rules, reading, lists);
  for (std::uint32_t line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    reader.read(text.substr(0, end), line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  reader.finish();
  return reading;
}

}  // namespace healer::engine
