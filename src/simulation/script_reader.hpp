// SPDX-License-Identifier: MIT
// Reads the statements of a script. Private to the reader: script.cpp has what services, processes and actions do,
// script_healing.cpp the steps of workflows, script_list.cpp lists, script_operator_commands.cpp what people do,
// script_expectation.cpp what is expected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/rules/service.hpp"
#include "engine/rules/workflow.hpp"
#include "simulation/script.hpp"
#include "simulation/script_line.hpp"

namespace healer::engine {

struct RuleSet;

inline constexpr std::int64_t kMaxRuns = 10'000'000;  // of one service, written out

/// Reads one line after the other into a Script.
class ScriptReader : private ScriptLine {
 public:
  /// Requires: `rules` and `reading` outlive it.
  ScriptReader(const RuleSet& rules, ScriptReading& reading, const std::vector<std::string>& lists = {});

  void read(std::string_view line, std::uint32_t number);
  /// The same of a line that tells a list; leaves others alone.
  void read_list(std::string_view line, std::uint32_t number);
  void finish();

 private:
  using Workflows = std::map<std::string, std::shared_ptr<const Workflow>>;

  void statement();
  /// What stands behind how a run ends: `:"output"`, `*TIMES`, `@DURATION`.
  struct Suffix {
    std::optional<std::string> text;
    std::int64_t times = 1;
    std::optional<Duration> takes;
  };
  Suffix suffix(const Word& word, std::size_t at, std::string_view what);
  /// One of `known`, which are what `what` says, and its name in lower case.
  std::string one_of(const Word& word, std::string_view raw, std::span<const std::string_view> known,
                     std::string_view what);
  [[nodiscard]] static std::string did_you_mean(std::string_view near);

  // services, processes, actions (script.cpp)
  void add_program(const Command& command) { add_program(command, programs_); }
  static void add_program(const Command& command, std::set<std::string>& to);
  std::string service_name(const Word& word, std::string_view raw);
  void service();
  [[nodiscard]] std::string quantity() const;
  void measured(const std::string& words);
  void add(ScriptedSeries& series, const std::vector<std::optional<double>>& values, std::optional<std::size_t> again,
           std::size_t line, std::size_t begin);
  void told(const std::string& name, Attribute what, const std::string& words, const Word& first, std::size_t begin);
  void connections(const std::string& name, const std::string& words, const Word& first, std::size_t begin);
  void value(const Word& word, std::string_view words, std::vector<Metric>& metrics,
             std::vector<std::optional<double>>& values);
  void append(const Word& word, std::size_t at, std::optional<double> value,
              std::vector<std::optional<double>>& values);
  void item(const Word& word, std::vector<ScriptedRun>& runs);
  void start();
  void length();
  void action();

  // workflows (script_healing.cpp)
  void add_workflows(const RuleSet& rules);
  [[nodiscard]] bool runs_in_workflow(const std::string& program) const;
  /// Of all workflows, in lower case, and `guard`.
  [[nodiscard]] std::vector<std::string> step_names() const;
  void guard();
  void step();
  void ends_of(StepOf of, const Step* what, bool colon);
  void end_of(const Word& word, const Step* what, bool until, std::vector<ScriptedEnd>& ends);
  /// A name with its colon taken away; `colon`: whether there was one.
  Word name_of(std::string_view what, std::string_view form, bool& colon);
  std::shared_ptr<const Workflow> workflow_of(const Word& word);
  std::string target_of(const Word& word);

  // lists (script_list.cpp)
  void list(bool later);
  bool list_command(ScriptedCommand& command);
  std::string list_name(std::string_view form);
  void list_expectation(Expectation wanted);

  // people and other hands (script_operator_commands.cpp)
  void command();
  void services_of(ScriptedCommand& command);
  void healing_command(ScriptedCommand& command);
  void beat(ScriptedCommand& command);
  void occurs(ScriptedCommand& command);
  bool is_known(const Word& word);
  void name_all(ScriptedCommand& command) const;
  bool another_hand(ScriptedCommand& command);
  void clock(ScriptedCommand& command);

  // what is expected (script_expectation.cpp)
  void expectation();
  void healing_expectation(Expectation wanted);
  void workflow_expectation(Expectation wanted);
  void when_and_how_often(Expectation& wanted, bool runs, std::string_view form);

  Script& script_;
  const Settings* settings_ = nullptr;
  std::map<std::string, const ServiceBlock*> blocks_;  // by name in lower case
  std::set<std::string> programs_;
  std::set<std::string> received_;  // those whose word counts that they are ready
  Workflows workflows_;             // by name in lower case
  std::set<std::string> targets_;   // of healing, in lower case
  std::set<std::string> groups_;    // the same
  std::set<std::string> lists_;     // from outside, the same
  std::set<std::string> rows_;      // of lists, the same
  bool any_target_ = false;         // a rule says whom it heals by values that are known later
};

}  // namespace healer::engine
