// SPDX-License-Identifier: MIT
// What a script expects: `expect ...`.
#include <algorithm>
#include <array>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/healing_report.hpp"
#include "engine/rules/service.hpp"
#include "engine/words/explain.hpp"
#include "simulation/script_reader.hpp"
#include "util/text.hpp"

namespace healer::engine {

/// expect [not] fired NAME [ACTION] [at run N | by TIME] [N times], expect [not] recovered NAME ...,
/// expect [not] NAME STATE [at TIME], expect [not] healing TARGET ..., expect [not] workflow NAME ...
void ScriptReader::expectation() {
  constexpr std::string_view kForm = "expect fired NAME exec at run 3, or expect NAME failed at 5 minutes";
  static constexpr std::array<std::string_view, 7> kStates{"initialising", "running", "failing", "failed",
                                                           "unmonitored",  "given",   "absent"};
  static constexpr std::array<std::string_view, 6> kActions{"alert", "exec", "start", "stop", "restart", "unmonitor"};
  Expectation wanted{.line = number_, .column = 1 + static_cast<std::uint32_t>(words_.front().offset)};
  const auto among = [this](const auto& words) -> std::string {
    const auto found = std::ranges::find_if(words, [this](std::string_view word) { return see(word); });
    if (found == words.end()) return {};
    ++next_;
    return std::string(*found);
  };
  wanted.negated = take("not");
  if (take("healing")) return healing_expectation(std::move(wanted));
  if (!blocks_.contains("list") && take("list")) return list_expectation(std::move(wanted));
  if (take("workflow")) return workflow_expectation(std::move(wanted));
  const bool fired = take("fired");
  const bool recovered = !fired && take("recovered");
  wanted.what = fired ? Expectation::What::Fired : recovered ? Expectation::What::Recovered : Expectation::What::State;
  const Word name = want_word("the name of a service", kForm);
  if (failed_) return;
  wanted.service = service_name(name, name.raw);
  if (failed_) return;
  if (wanted.what == Expectation::What::State) {
    const std::size_t begin = here();
    wanted.state = among(kStates);
    if (wanted.state == "given") wanted.state = take("up") ? to_string(Condition::GivenUp) : std::string_view{};
    if (wanted.state.empty()) {
      const std::string_view near = more() ? nearest_word(words_[next_].raw, kStates) : std::string_view{};
      return fail(begin, "the state of the service is missing",
                  near.empty() ? "write initialising, running, failing, failed, unmonitored, given up or absent"
                               : did_you_mean(near));
    }
    if (take("at")) wanted.time = offset(kForm);
  } else {
    if (fired) wanted.action = among(kActions);
    when_and_how_often(wanted, true, kForm);
  }
  want_end();
  script_.expectations.push_back(std::move(wanted));
}

/// expect [not] healing TARGET TURN ["why"] [with WORKFLOW] [by TIME] [N times], expect [not] healing TARGET step STEP
/// ...
void ScriptReader::healing_expectation(Expectation wanted) {
  constexpr std::string_view kForm = "expect healing NAME begun with WORKFLOW by 5 minutes";
  wanted.what = Expectation::What::Healing;
  const Word name = want_word("the target of the healing", kForm);
  if (failed_) return;
  wanted.service = target_of(name);
  const Word turn = want_word("what happens to the healing", kForm);
  if (failed_) return;
  if (iequals(turn.raw, "step")) {
    wanted.state = "step";
    const Word step = want_word("the name of the step", "expect healing NAME step \"rebuild\"");
    wanted.step = to_lower(text_of(step));
    if (failed_) return;
    const std::vector<std::string> names = step_names();
    const std::vector<std::string_view> known(names.begin(), names.end());
    if (std::ranges::find(known, wanted.step) == known.end())
      fail(step.offset, fmt::format("no workflow has a step '{}'", printable(wanted.step)),
           did_you_mean(nearest_word(wanted.step, known)));
  } else {
    wanted.state = one_of(turn, turn.raw, kTurnsOfHealings, "turn of a healing");
    if (more() && words_[next_].quoted()) wanted.why = text_of(words_[next_++]);
  }
  if (take("with")) {
    const Word workflow = want_word("the name of the workflow", kForm);
    if (const auto plan = workflow_of(workflow)) wanted.workflow = to_lower(plan->name);
  }
  when_and_how_often(wanted, false, kForm);
  want_end();
  script_.expectations.push_back(std::move(wanted));
}

/// expect [not] workflow NAME TURN [by TIME] [N times]
void ScriptReader::workflow_expectation(Expectation wanted) {
  constexpr std::string_view kForm = "expect workflow NAME paused by 5 minutes";
  wanted.what = Expectation::What::Workflow;
  const Word name = want_word("the name of the workflow", kForm);
  if (const auto plan = workflow_of(name)) wanted.workflow = to_lower(plan->name);
  const Word turn = want_word("what becomes of the workflow", kForm);
  if (failed_) return;
  wanted.state = one_of(turn, turn.raw, kTurnsOfWorkflows, "turn of a workflow");
  when_and_how_often(wanted, false, kForm);
  want_end();
  script_.expectations.push_back(std::move(wanted));
}

/// at run N, by TIME, N times
void ScriptReader::when_and_how_often(Expectation& wanted, bool runs, std::string_view form) {
  for (bool any = true; any && !failed_;) {
    any = false;
    if (runs && !wanted.run && !wanted.time && take("at")) {
      want("run", form);
      wanted.run = static_cast<std::uint64_t>(number("the number of the run", 1, kMaxRuns, form));
      any = true;
    } else if (!wanted.run && !wanted.time && take("by")) {
      wanted.time = offset(form);
      any = true;
    } else if (!wanted.times && next_ + 1 < words_.size() &&
               (iequals(words_[next_ + 1].raw, "times") || iequals(words_[next_ + 1].raw, "time"))) {
      wanted.times = static_cast<std::uint64_t>(number("how many times", 1, kMaxRuns, form));
      ++next_;
      any = true;
    }
  }
}

}  // namespace healer::engine
