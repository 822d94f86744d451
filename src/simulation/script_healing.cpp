// SPDX-License-Identifier: MIT
// How guards and steps of workflows end, in a script, and the rows of lists: `guard`, `step`, `list`.
#include <algorithm>
#include <array>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/step_runs.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "simulation/script_reader.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

using How = ScriptedEnd::How;

constexpr std::string_view kGuardForm = "guard WORKFLOW: refuses*2 ok";
constexpr std::string_view kStepForm = "step WORKFLOW STEP: ok fails, or takes 2 minutes, or heals";

/// All steps of a workflow, also those of `parallel`.
std::vector<const Step*> steps_of(const Workflow& workflow) {
  std::vector<const Step*> steps;
  for (const auto* part : {&workflow.steps, &workflow.on_failure, &workflow.on_cancel})
    for (const Step& step : *part)
      for (std::size_t i = 0; i < runs_of(step); ++i) steps.push_back(&step_of(step, i));
  return steps;
}

bool is_request(const Step& step) { return std::holds_alternative<step::Http>(step.what); }
bool has_outcome(const Step& step) { return is_request(step) || std::holds_alternative<step::Program>(step.what); }

/// What a script says instead of how a step ends that neither runs a program nor makes a request.
std::string written_by(const Step& step) {
  return std::visit([](const auto& kind) { return in_script(kind); }, step.what);
}

}  // namespace

void ScriptReader::add_workflows(const RuleSet& rules) {
  for (const auto& workflow : rules.workflows) workflows_.emplace(to_lower(workflow->name), workflow);
  for (const auto& block : rules.services) {
    targets_.insert(to_lower(block->target()));
    for (const Rule& rule : block->rules)
      for (const Action* action : {&rule->action, &rule->recovery->action}) {
        if (action->heal == nullptr) continue;
        const std::string& target = action->heal->target;
        if (target.find("${") != std::string::npos) any_target_ = true;
        if (!target.empty()) targets_.insert(to_lower(target));
      }
  }
}

bool ScriptReader::runs_in_workflow(const std::string& program) const {
  const std::string_view path = std::string_view(program).substr(0, program.find(' '));
  const auto runs = [&](const step::Program& one) {
    return !one.command.arguments.empty() && one.command.arguments.front() == path;
  };
  return std::ranges::any_of(workflows_, [&](const auto& entry) {
    const Workflow& workflow = *entry.second;
    return (workflow.guard && runs(workflow.guard->program)) ||
           std::ranges::any_of(steps_of(workflow), [&](const Step* step) {
             const auto* const one = std::get_if<step::Program>(&step->what);
             return one != nullptr && runs(*one);
           });
  });
}

std::vector<std::string> ScriptReader::step_names() const {
  std::vector<std::string> names{"guard"};
  for (const auto& [own, workflow] : workflows_)
    for (const Step* step : steps_of(*workflow)) names.push_back(to_lower(step->name));
  return names;
}

std::shared_ptr<const Workflow> ScriptReader::workflow_of(const Word& word) {
  if (failed_) return nullptr;
  std::vector<std::string_view> known;
  for (const auto& [name, workflow] : workflows_) known.push_back(name);
  const std::string name = one_of(word, word.raw, known, "workflow");
  return failed_ ? nullptr : workflows_.at(name);
}

std::string ScriptReader::target_of(const Word& word) {
  if (any_target_) return to_lower(text_of(word));
  const std::vector<std::string_view> known(targets_.begin(), targets_.end());
  return one_of(word, word.raw, known, "target of a healing");
}

ScriptReader::Word ScriptReader::name_of(std::string_view what, std::string_view form, bool& colon) {
  Word word = want_word(what, form);
  colon = word.raw.ends_with(':');
  if (colon) word.raw.remove_suffix(1);
  if (!failed_ && word.raw.empty())
    fail(word.offset, fmt::format("{} is missing", what), fmt::format("write {}", form));
  return word;
}

/// guard WORKFLOW [of TARGET]: END..., guard WORKFLOW [of TARGET] takes DURATION
void ScriptReader::guard() {
  bool colon = false;
  const Word name = name_of("the name of the workflow", kGuardForm, colon);
  const auto workflow = workflow_of(name);
  if (failed_) return;
  if (!workflow->guard)
    return fail(name.offset, fmt::format("workflow '{}' has no guard", workflow->name),
                "nothing refuses its healings: leave the line out");
  ends_of({.workflow = to_lower(workflow->name)}, nullptr, colon);
}

/// step WORKFLOW STEP [until] [of TARGET]: END..., the same with takes DURATION, or heals [for DURATION]
void ScriptReader::step() {
  bool colon = false;
  const Word name = name_of("the name of the workflow", kStepForm, colon);
  const auto workflow = workflow_of(name);
  if (failed_) return;
  if (colon) return fail(here(), "the name of the step is missing", fmt::format("write {}", kStepForm));
  const Word step = name_of("the name of the step", kStepForm, colon);
  if (failed_) return;
  std::vector<std::string> names;
  for (const Step* known : steps_of(*workflow)) names.push_back(to_lower(known->name));
  const std::string own = one_of(step, step.raw, std::vector<std::string_view>(names.begin(), names.end()),
                                 fmt::format("step of workflow '{}'", workflow->name));
  if (failed_) return;
  const auto steps = steps_of(*workflow);
  const Step* const what = *std::ranges::find_if(steps, [&](const Step* one) { return iequals(one->name, own); });
  StepOf of{.workflow = to_lower(workflow->name), .step = own};
  if (!colon && (see("until") || see("until:"))) {
    const Word until = words_[next_++];
    const auto* const http = std::get_if<step::Http>(&what->what);
    if (http == nullptr || !http->until)
      return fail(until.offset, fmt::format("step '{}' does not ask whether it is done", what->name),
                  "only a request with until does");
    of.until = true;
    colon = until.raw.ends_with(':');
  }
  ends_of(std::move(of), what, colon);
}

/// What stands behind the names: how it ends, how long it takes, whether it heals.
void ScriptReader::ends_of(StepOf of, const Step* what, bool colon) {
  const std::string_view form = what == nullptr ? kGuardForm : kStepForm;
  if (!colon && take("of")) of.target = target_of(name_of("the name of the target", form, colon));
  if (failed_) return;
  ScriptedStep& scripted = script_.steps[of];
  const bool ends = what == nullptr || has_outcome(*what);
  if (!colon) {
    const std::size_t begin = here();
    if (take("takes")) {
      if (!ends) return fail(begin, fmt::format("step '{}' takes no time of its own", what->name), written_by(*what));
      scripted.takes = duration("step WORKFLOW STEP takes 2 minutes");
    } else if (what != nullptr && !of.until && take("heals")) {
      if (!ends && !std::holds_alternative<step::Bring>(what->what))
        return fail(begin, fmt::format("step '{}' heals nothing", what->name),
                    "a program, a request, or the start of a service does");
      scripted.heals = take("for") ? duration("step WORKFLOW STEP heals for 20 minutes") : Duration{0};
    } else {
      fail(begin, more() ? fmt::format("unexpected '{}'", printable(words_[next_].raw)) : "a colon is missing",
           fmt::format("write {}", form));
    }
    return want_end();
  }
  if (!ends)
    return fail(words_.front().offset, fmt::format("step '{}' neither runs a program nor makes a request", what->name),
                written_by(*what));
  if (scripted.repeated)
    return fail(words_.front().offset, "the previous line of this step never ends", "remove its '...'");
  if (!more()) return fail(here(), "how it ends is missing", fmt::format("write {}", form));
  while (more()) {
    if (take("...")) {
      if (scripted.ends.empty()) return fail(words_[next_ - 1].offset, "there is nothing to repeat before '...'");
      scripted.repeated = true;
      return want_end();
    }
    end_of(words_[next_++], what, of.until, scripted.ends);
  }
}

/// ok, fails, refuses, 3, timeout, missing, signal:9 of a program; ok, fails, 503, lost, unreachable, timeout of a
/// request; done, pending, failed besides of what asks. Each with what stands behind runs.
void ScriptReader::end_of(const Word& word, const Step* what, bool until, std::vector<ScriptedEnd>& ends) {
  struct Known {
    std::string_view word;
    ScriptedEnd end;
  };
  static const std::array<Known, 5> kOfPrograms{
      {{"ok", {}},
       {"fails", {.how = How::Program, .status = 1}},
       {"refuses", {.how = How::Program, .status = 1}},
       {"timeout", {.how = How::Program, .outcome = Outcome::TimedOut}},
       {"missing", {.how = How::Program, .outcome = Outcome::NotStarted, .status = 127}}}};
  static const std::array<Known, 5> kOfRequests{{{"ok", {}},
                                                 {"fails", {.how = How::Answer, .status = 500}},
                                                 {"lost", {.how = How::Lost}},
                                                 {"unreachable", {.how = How::Unreachable}},
                                                 {"timeout", {.how = How::Late}}}};
  static const std::array<Known, 6> kOfQuestions{{{"done", {}},
                                                  {"pending", {.how = How::Pending}},
                                                  {"failed", {.how = How::Failing}},
                                                  {"lost", {.how = How::Lost}},
                                                  {"unreachable", {.how = How::Unreachable}},
                                                  {"timeout", {.how = How::Late}}}};
  const bool request = what != nullptr && is_request(*what);
  const std::span<const Known> known = until     ? std::span<const Known>(kOfQuestions)
                                       : request ? std::span<const Known>(kOfRequests)
                                                 : std::span<const Known>(kOfPrograms);
  const std::string_view raw = word.raw;
  const std::string_view text = raw.substr(0, raw.find_first_of(":*@"));
  const auto found = std::ranges::find_if(known, [&](const Known& one) { return iequals(one.word, text); });
  std::size_t at = text.size();
  ScriptedEnd end;
  if (found != known.end()) {
    end = found->end;
  } else if (!text.empty() && is_digit(text.front())) {
    at = 0;
    end.how = request ? How::Answer : How::Program;
    end.status = request ? read_number(raw, at, word.offset, "the status of an answer", 100, 599)
                         : read_number(raw, at, word.offset, "an exit value", 0, 255);
  } else if (iequals(text, "signal") && !request && raw.substr(at).starts_with(':')) {
    end.how = How::Program;
    end.outcome = Outcome::Signalled;
    end.status = read_number(raw, ++at, word.offset, "the signal", 1, 64);
  } else {
    std::vector<std::string_view> words;
    for (const Known& one : known) words.push_back(one.word);
    const std::string_view near = nearest_word(to_lower(text), words);
    return fail(word.offset, fmt::format("'{}' is not how it ends", printable(raw)),
                !near.empty() ? did_you_mean(near)
                : until       ? "write done, pending, failed, lost, unreachable, timeout or a status, as in 200:'{}'"
                : request     ? "write ok, fails, lost, unreachable, timeout or a status, as in 201:'{}'"
                              : "write ok, fails, timeout, missing, signal:N or an exit value");
  }
  if (end.how == How::Failing && std::get<step::Http>(what->what).until->failed.empty())
    return fail(word.offset, fmt::format("step '{}' has no condition for failure", what->name),
                "write pending: after its time it has failed");
  const Suffix behind = suffix(word, at, "how it ends");
  if (failed_) return;
  end.takes = behind.takes;
  end.text = behind.text;
  if (static_cast<std::int64_t>(ends.size()) + behind.times > kMaxRuns)
    return fail(word.offset, fmt::format("a step may have {} scripted ends", kMaxRuns), "let the list repeat with ...");
  ends.insert(ends.end(), static_cast<std::size_t>(behind.times), end);
}

}  // namespace healer::engine
