// SPDX-License-Identifier: MIT
#include "engine/script.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <span>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/script_line.hpp"
#include "engine/script_value.hpp"
#include "engine/service.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

constexpr std::int64_t kMaxRuns = 10'000'000;  // of one service, written out
constexpr Duration kReboot = minutes{1};

/// Reads one line after the other into a Script.
class Reader : private ScriptLine {
 public:
  Reader(const RuleSet& rules, ScriptReading& reading) : ScriptLine(reading.errors), script_(reading.script) {
    for (const auto& block : rules.services) {
      blocks_.emplace(to_lower(block->name), block.get());
      for (const Rule& rule : block->rules)
        for (const Action* action : {&rule.action, &rule.recovery.action})
          if (action->kind == ActionKind::Exec) add_program(action->command);
      for (const std::optional<Command>* command : {&block->start, &block->stop, &block->restart})
        if (*command) add_program(**command);
      if (const auto& foreground = block->process.foreground) {
        add_program(foreground->command);
        if (foreground->by_notice) add_program(foreground->command, heard_);
      }
    }
    settings_ = &rules.settings;
  }

  void read(std::string_view line, std::uint32_t number) {
    if (begin(line, number)) statement();
  }

  void finish() { std::ranges::stable_sort(script_.commands, {}, &ScriptedCommand::at); }

 private:
  void add_program(const Command& command) { add_program(command, programs_); }
  static void add_program(const Command& command, std::set<std::string>& to) {
    if (command.arguments.empty()) return;
    to.insert(command.arguments.front());
    to.insert(fmt::format("{}", fmt::join(command.arguments, " ")));
  }

  void statement() {
    const Word first = words_.front();
    // A name stands before a colon or before `takes`; so services may be called `start`, `run`, `exec` and `at`.
    if (first.raw.ends_with(':') || (words_.size() > 1 && iequals(words_[1].raw, "takes"))) return service();
    static constexpr std::array<std::string_view, 5> kWords{"start", "run", "exec", "at", "expect"};
    const bool keyword = std::ranges::any_of(kWords, [&](std::string_view word) { return iequals(word, first.raw); });
    if (const std::string words = quantity(); !words.empty() && (!keyword || blocks_.contains(to_lower(first.raw))))
      return measured(words);
    next_ = 1;
    if (iequals(first.raw, "start")) return start();
    if (iequals(first.raw, "run")) return length();
    if (iequals(first.raw, "exec")) return action();
    if (iequals(first.raw, "at")) return command();
    if (iequals(first.raw, "expect")) return expectation();
    const std::string_view near = nearest_word(first.raw, kWords);
    fail(first.offset, fmt::format("'{}' begins no statement", printable(first.raw)),
         !near.empty()                                ? fmt::format("did you mean '{}'?", near)
         : blocks_.contains(to_lower(text_of(first))) ? fmt::format("write {}: 0 1 ...", first.raw)
                                                      : "a line begins with start, run, exec, at, expect, or the name "
                                                        "of a service and a colon");
  }

  std::string service_name(const Word& word, std::string_view raw) {
    const std::string name = to_lower(text_of({raw, word.offset}));
    if (blocks_.contains(name)) return name;
    std::vector<std::string_view> known;
    for (const auto& [other, block] : blocks_) known.push_back(other);
    const std::string_view near = nearest_word(name, known);
    fail(word.offset, fmt::format("the rules have no service '{}'", printable(name)),
         near.empty() ? std::string{} : fmt::format("did you mean '{}'?", near));
    return name;
  }

  void service() {
    const Word first = words_[next_++];
    std::string_view raw = first.raw;
    const bool runs = raw.ends_with(':');
    if (runs) raw.remove_suffix(1);
    const std::string name = service_name(first, raw);
    if (failed_) return;
    if (blocks_.at(name)->has_members())
      return fail(first.offset, fmt::format("'{}' is made of others: nothing is looked at for it", printable(raw)),
                  "write the runs of its members");
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
    if (!block.is_run())
      return fail(here(), fmt::format("'{}' is no program: it does not exit", printable(block.name)),
                  fmt::format("write {}{} QUANTITY: VALUES, for what a rule compares",
                              block.has_process() ? fmt::format("{}: down, or ", raw) : "", raw));
    if (service.repeated)
      return fail(first.offset, "the line before of this service goes on for ever", "take its '...' away");
    if (!more()) return fail(here(), "the runs are missing", "write exit values, as in 0 0 1");
    while (more()) {
      if (take("...")) {
        if (service.runs.empty()) return fail(words_[next_ - 1].offset, "nothing to repeat stands before '...'");
        service.repeated = true;
        return want_end();
      }
      item(words_[next_++], service.runs);
    }
  }

  /// The words of a line between its first and a colon, as in `web total memory: 50%`; empty: there is no colon.
  [[nodiscard]] std::string quantity() const {
    constexpr std::size_t kMost = 4;
    std::string text;
    for (std::size_t i = 1; i < words_.size() && i <= kMost; ++i) {
      text += (text.empty() ? "" : " ") + to_lower(words_[i].raw);
      if (text.ends_with(':')) return text.substr(0, text.size() - 1);
    }
    return {};
  }

  /// NAME QUANTITY: VALUE...
  void measured(const std::string& words) {
    const Word first = words_[next_++];
    const std::string name = service_name(first, first.raw);
    if (failed_) return;
    const std::size_t begin = here();
    while (!words_[next_++].raw.ends_with(':')) {
    }
    if (words == "connection" || words.starts_with("connection ")) return connections(name, words, first, begin);
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

  /// Values that a line gives of something, to those of the lines before.
  void add(ScriptedSeries& series, const std::vector<std::optional<double>>& values, std::optional<std::size_t> again,
           std::size_t line, std::size_t begin) {
    if (series.repeated) return fail(line, "the line before of this quantity goes on for ever", "take its '...' away");
    if (series.values.size() + values.size() > kMaxRuns)
      return fail(begin, fmt::format("a quantity may have {} scripted values", kMaxRuns),
                  "let the list repeat with ...");
    series.values.insert(series.values.end(), values.begin(), values.end());
    series.repeated = again.has_value();
    if (series.values.empty()) fail(*again, "nothing to repeat stands before '...'");
  }

  /// NAME connection [NUMBER]: up*3 down unknown ...
  void connections(const std::string& name, const std::string& words, const Word& first, std::size_t begin) {
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
    if (!failed_ && !more()) fail(here(), "the values are missing", "write up, down or unknown, run by run");
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
      if (!up && !iequals(text, "down") && !iequals(text, "unknown"))
        return fail(word.offset, fmt::format("'{}' is nothing that comes of a connection", printable(text)),
                    "write up, down or unknown, with *TIMES behind");
      append(word, at, iequals(text, "unknown") ? std::nullopt : std::optional(up ? 1.0 : 0.0), values);
    }
    want_end();
    if (!failed_) add(script_.services[name].connections[which], values, again, first.offset, begin);
  }

  /// 95  95%  unknown, each with *N behind. The first with a unit decides which of `metrics` the line tells.
  void value(const Word& word, std::string_view words, std::vector<Metric>& metrics,
             std::vector<std::optional<double>>& values) {
    std::size_t at = std::min(word.raw.find('*'), word.raw.size());
    const std::string_view text = word.raw.substr(0, at);
    std::optional<double> value;
    if (!iequals(text, "unknown")) {
      const auto read = read_value(text, metrics);
      if (!read)
        return fail(word.offset, fmt::format("'{}' is no value of '{}'", printable(text), words),
                    fmt::format("write {}, or unknown, with *TIMES behind", value_form(metrics)));
      metrics.assign(1, read->metric);
      value = read->value;
    }
    append(word, at, value, values);
  }

  /// One value, as often as `*TIMES` says, which may stand in the word from `at` on.
  void append(const Word& word, std::size_t at, std::optional<double> value,
              std::vector<std::optional<double>>& values) {
    std::int64_t times = 1;
    if (at < word.raw.size()) times = read_number(word.raw, ++at, word.offset, "the number of times", 1, kMaxRuns);
    if (at != word.raw.size())
      fail(word.offset + at, fmt::format("'{}' was not expected here", printable(word.raw.substr(at))));
    if (values.size() + static_cast<std::size_t>(times) > kMaxRuns)
      fail(word.offset, fmt::format("a quantity may have {} scripted values", kMaxRuns),
           "let the list repeat with ...");
    if (!failed_) values.insert(values.end(), static_cast<std::size_t>(times), value);
  }

  /// 0  1:"text"  timeout  missing  signal:11, each with *N and @DURATION behind.
  void item(const Word& word, std::vector<ScriptedRun>& runs) {
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
      return fail(
          word.offset, fmt::format("'{}' is not the end of a run", printable(raw)),
          "write an exit value, timeout, missing or signal:N, with :\"output\", *TIMES and @DURATION behind it");
    }
    std::int64_t times = 1;
    while (at < raw.size() && !failed_) {
      const char mark = raw[at];
      if (mark == ':' && at + 1 < raw.size() && raw[at + 1] == '"') {
        run.output = unquote(raw, ++at, word.offset);
      } else if (mark == '*') {
        times = read_number(raw, ++at, word.offset, "the number of times", 1, kMaxRuns);
      } else if (mark == '@') {
        const std::size_t begin = ++at;
        at = std::min(raw.find_first_of("*:", at), raw.size());
        run.takes = parse_duration(raw.substr(begin, at - begin));
        if (!run.takes) fail(word.offset + begin, "no duration stands behind '@'", "write it in one word, as in @90s");
      } else {
        fail(word.offset + at, fmt::format("'{}' was not expected here", printable(raw.substr(at))),
             "behind a run stand :\"output\", *TIMES and @DURATION");
      }
    }
    if (static_cast<std::int64_t>(runs.size()) + times > kMaxRuns)
      return fail(word.offset, fmt::format("a service may have {} scripted runs", kMaxRuns),
                  "let the list repeat with ...");
    runs.insert(runs.end(), static_cast<std::size_t>(times), run);
  }

  void start() {
    constexpr std::string_view kForm = "start at 2026-11-21 04:00:00";
    want("at", kForm);
    script_.start = wall_time(kForm);
    want_end();
  }

  void length() {
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

  void action() {
    constexpr std::string_view kForm = "exec /path/of/program takes 30 seconds, exits 1";
    constexpr std::string_view kReady = "exec /path/of/program ready after 5 seconds";
    const Word& word = want_word("the program", kForm);
    const std::string program = text_of(word);
    if (!programs_.contains(program)) {
      const std::vector<std::string_view> known(programs_.begin(), programs_.end());
      const std::string_view near = nearest_word(program, known);
      return fail(word.offset, fmt::format("no action or service of the rules runs '{}'", printable(program)),
                  near.empty() ? std::string{} : fmt::format("did you mean '{}'?", near));
    }
    ScriptedAction& action = script_.actions[program];
    if (!more()) fail(here(), "how it ends is missing", fmt::format("write {}", kForm));
    while (more()) {
      if (take(",")) continue;
      const bool never = take("never");
      if (never ? take_one("ready") : take("ready")) {
        if (!heard_.contains(program))
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
        fail(here(), fmt::format("'{}' was not expected here", printable(words_[next_].raw)),
             "a program takes a duration, exits with a value, is killed by a signal, never ends, or is missing; it is "
             "ready after a duration, or never");
      }
    }
  }

  void command() {
    using Kind = ScriptedCommand::Kind;
    constexpr std::string_view kForm = "at 00:05:00 unmonitor NAME";
    static constexpr std::array<std::pair<std::string_view, Kind>, 11> kCommands{{{"monitor", Kind::Monitor},
                                                                                  {"unmonitor", Kind::Unmonitor},
                                                                                  {"validate", Kind::Validate},
                                                                                  {"accept", Kind::Accept},
                                                                                  {"start", Kind::Start},
                                                                                  {"stop", Kind::Stop},
                                                                                  {"restart", Kind::Restart},
                                                                                  {"pause", Kind::Pause},
                                                                                  {"resume", Kind::Resume},
                                                                                  {"crash", Kind::Crash},
                                                                                  {"reboot", Kind::Reboot}}};
    ScriptedCommand command;
    command.at = offset(kForm);
    if (another_hand(command)) return;
    const Word word = want_word("the command", kForm);
    const auto found =
        std::ranges::find_if(kCommands, [&](const auto& known) { return iequals(known.first, word.raw); });
    if (iequals(word.raw, "set")) {
      clock(command);
    } else if (found == kCommands.end()) {
      std::vector<std::string_view> known{"set"};
      for (const auto& [name, kind] : kCommands) known.push_back(name);
      const std::string_view near = nearest_word(word.raw, known);
      fail(word.offset, fmt::format("'{}' is no command", printable(word.raw)),
           near.empty() ? "known are monitor, unmonitor, validate, accept, start, stop, restart, pause, resume, crash, "
                          "reboot and set clock; a process dies, or comes up"
                        : fmt::format("did you mean '{}'?", near));
    } else if (command.kind = found->second; command.kind == Kind::Crash || command.kind == Kind::Reboot) {
      if (command.kind == Kind::Reboot) command.span = kReboot;
      if (take("for")) command.span = duration("at 1 hour crash for 10 seconds");
    } else {
      const auto ends = [&] { return !more() || (command.kind == Kind::Pause && see("for")); };
      if (ends()) fail(here(), "the name of a service is missing", "write names, or all");
      while (!ends()) {
        const Word name = words_[next_++];
        if (!iequals(name.raw, "all"))
          command.services.push_back(service_name(name, name.raw));
        else
          name_all(command);
      }
      if (take("for")) command.span = duration("at 1 hour pause NAME for 2 hours");
    }
    want_end();
    script_.commands.push_back(std::move(command));
  }

  /// expect [not] fired NAME [ACTION] [at run N | by TIME] [N times], expect [not] recovered NAME ...,
  /// expect [not] NAME STATE [at TIME]
  void expectation() {
    constexpr std::string_view kForm = "expect fired NAME exec at run 3, or expect NAME failed at 5 minutes";
    static constexpr std::array<std::string_view, 5> kStates{"initialising", "running", "failing", "failed",
                                                             "unmonitored"};
    static constexpr std::array<std::string_view, 6> kActions{"alert", "exec", "start", "stop", "restart", "unmonitor"};
    Expectation wanted{.line = number_, .column = 1 + static_cast<std::uint32_t>(words_.front().offset)};
    const auto among = [this](const auto& words) -> std::string {
      const auto found = std::ranges::find_if(words, [this](std::string_view word) { return see(word); });
      if (found == words.end()) return {};
      ++next_;
      return std::string(*found);
    };
    wanted.negated = take("not");
    const bool fired = take("fired");
    const bool recovered = !fired && take("recovered");
    wanted.what = fired       ? Expectation::What::Fired
                  : recovered ? Expectation::What::Recovered
                              : Expectation::What::State;
    const Word name = want_word("the name of a service", kForm);
    if (failed_) return;
    wanted.service = service_name(name, name.raw);
    if (failed_) return;
    if (wanted.what == Expectation::What::State) {
      const std::size_t begin = here();
      wanted.state = among(kStates);
      if (wanted.state.empty()) {
        const std::string_view near = more() ? nearest_word(words_[next_].raw, kStates) : std::string_view{};
        return fail(begin, "the state of the service is missing",
                    near.empty() ? "write initialising, running, failing, failed or unmonitored"
                                 : fmt::format("did you mean '{}'?", near));
      }
      if (take("at")) wanted.time = offset(kForm);
    } else {
      if (fired) wanted.action = among(kActions);
      for (bool any = true; any && !failed_;) {
        any = false;
        if (!wanted.run && !wanted.time && take("at")) {
          want("run", kForm);
          wanted.run = static_cast<std::uint64_t>(number("the number of the run", 1, kMaxRuns, kForm));
          any = true;
        } else if (!wanted.run && !wanted.time && take("by")) {
          wanted.time = offset("expect fired NAME exec by 5 minutes");
          any = true;
        } else if (!wanted.times && next_ + 1 < words_.size() &&
                   (iequals(words_[next_ + 1].raw, "times") || iequals(words_[next_ + 1].raw, "time"))) {
          wanted.times = static_cast<std::uint64_t>(number("how many times", 1, kMaxRuns, kForm));
          ++next_;
          any = true;
        }
      }
    }
    want_end();
    script_.expectations.push_back(std::move(wanted));
  }

  void name_all(ScriptedCommand& command) const {
    command.services.clear();
    for (const auto& [name, block] : blocks_) command.services.push_back(name);
  }

  /// NAME dies, NAME comes up: whether that is the command. What can be a command to healer is one.
  bool another_hand(ScriptedCommand& command) {
    const Word name = more() ? words_[next_] : Word{};
    const std::string_view verb = next_ + 1 < words_.size() ? words_[next_ + 1].raw : std::string_view{};
    const bool dies = iequals(verb, "dies");
    if ((!dies && !iequals(verb, "comes")) ||
        (blocks_.contains(to_lower(verb)) && !blocks_.contains(to_lower(name.raw))))
      return false;
    next_ += 2;
    command.kind = dies ? ScriptedCommand::Kind::Dies : ScriptedCommand::Kind::ComesUp;
    command.services.push_back(service_name(name, name.raw));
    if (!failed_ && !blocks_.at(command.services.front())->has_process())
      fail(name.offset, fmt::format("'{}' is no process", printable(command.services.front())),
           "only a process dies, or comes up");
    if (!dies) want("up", "at 5 minutes NAME comes up");
    want_end();
    script_.commands.push_back(std::move(command));
    return true;
  }

  void clock(ScriptedCommand& command) {
    constexpr std::string_view kForm = "set clock +1 hour, or set clock 2026-11-21 09:00:00";
    want("clock", kForm);
    Word& word = more() ? words_[next_] : words_.back();
    if (more() && (word.raw.starts_with('+') || word.raw.starts_with('-'))) {
      const bool back = word.raw.front() == '-';
      word.raw.remove_prefix(1);
      ++word.offset;
      if (word.raw.empty()) ++next_;
      command.kind = ScriptedCommand::Kind::StepClock;
      command.span = duration(kForm) * (back ? -1 : 1);
    } else {
      command.kind = ScriptedCommand::Kind::SetClock;
      command.clock = wall_time(kForm);
    }
  }

  Script& script_;
  const Settings* settings_ = nullptr;
  std::map<std::string, const ServiceBlock*> blocks_;  // by name in lower case
  std::set<std::string> programs_;
  std::set<std::string> heard_;  // those whose word counts that they are ready
};

}  // namespace

ScriptReading read_script(std::string_view text, const RuleSet& rules) {
  ScriptReading reading;
  Reader reader(rules, reading);
  for (std::uint32_t line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    reader.read(text.substr(0, end), line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  reader.finish();
  return reading;
}

}  // namespace healer::engine
