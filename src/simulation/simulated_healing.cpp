// SPDX-License-Identifier: MIT
#include "simulation/simulated_healing.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/request.hpp"
#include "engine/healing/saving.hpp"
#include "util/jq.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

using How = ScriptedEnd::How;

StepOf in_script(const ActionContext& origin) {
  return {.workflow = to_lower(origin.healing->plan->name),
          .step = origin.step == nullptr ? "" : to_lower(origin.step->name),
          .until = origin.polls,
          .target = to_lower(origin.healing->target)};
}

/// What a step saves of a text. Headers are not scripted: what they say is called as the variable.
std::optional<std::string> saved_in(const std::string& text, const Saving& saving) {
  if (saving.from == Saving::From::Header) return saving.name;
  if (saving.from == Saving::From::Regex) return saved_from(saving, text);
  const std::optional<std::string> value = value_in(text, saving.what);
  return value && *value != "null" ? std::optional(json_text(*value)) : std::nullopt;
}

}  // namespace

const ScriptedStep* SimulatedHealing::find(const StepOf& of) const {
  const auto found = script_.steps.find(of);
  return found == script_.steps.end() ? nullptr : &found->second;
}

SimulatedHealing::Ending SimulatedHealing::next(const ActionContext& origin) {
  const StepOf own = in_script(origin);
  StepOf each = own;
  each.target.clear();
  Ending ending{.end = {}, .heals = heals(origin)};
  Duration takes = kStepTakes;
  bool known = false;
  for (const ScriptedStep* scripted : {find(each), find(own)}) {  // what is said of the target goes before
    if (scripted == nullptr) continue;
    if (scripted->takes) takes = *scripted->takes;
    if (scripted->ends.empty()) continue;
    const std::uint64_t place = taken_[own];
    const std::size_t size = scripted->ends.size();
    ending.end = scripted->ends[scripted->repeated ? place % size : std::min<std::uint64_t>(place, size - 1)];
    known = true;
  }
  if (known) ++taken_[own];
  if (!ending.end.takes) ending.end.takes = takes;
  return ending;
}

std::optional<Duration> SimulatedHealing::heals(const ActionContext& origin) const {
  StepOf of = in_script(origin);
  of.until = false;
  if (const ScriptedStep* const own = find(of); own != nullptr && own->heals) return own->heals;
  of.target.clear();
  const ScriptedStep* const each = find(of);
  return each == nullptr ? std::nullopt : each->heals;
}

std::optional<event::ActionEnded> ended(const effect::Exec& exec, const ScriptedEnd& end,
                                        const std::vector<Saving>& saves) {
  event::ActionEnded ending_event{.action = exec.action,
                                  .outcome = end.outcome,
                                  .status = end.status,
                                  .elapsed = *end.takes,
                                  .output = end.text.value_or("")};
  if (end.outcome == Outcome::NotStarted) {
    ending_event.elapsed = Duration{0};
    ending_event.output = "No such file or directory";
    return ending_event;
  }
  const Duration timeout = exec.command.timeout;
  if (end.outcome == Outcome::TimedOut || (timeout > Duration{0} && ending_event.elapsed >= timeout)) {
    if (timeout == Duration{0}) return std::nullopt;
    ending_event.outcome = Outcome::TimedOut;
    ending_event.status = 9;
    ending_event.elapsed = timeout;
    return ending_event;
  }
  for (const Saving& saving : saves)
    ending_event.saved.push_back(end.text ? saved_in(*end.text, saving) : std::optional(saving.name));
  return ending_event;
}

event::Answered answered(const effect::Request& request, const ScriptedEnd& end, const Step& step, bool polls) {
  using Kind = event::Answered::Kind;
  const auto& http = std::get<step::Http>(step.what);
  const bool late = end.how == How::Late || (request.timeout > Duration{0} && *end.takes >= request.timeout);
  event::Answered answer{.request = request.request, .elapsed = late ? request.timeout : *end.takes};
  const auto none = [&] { answer.values.resize(request.wanted.size() + request.failing.size()); };
  if (late || end.how == How::Lost) {
    answer.kind = Kind::InDoubt;
    answer.why =
        late ? fmt::format("no answer within {}", format_duration(request.timeout)) : "the answer was incomplete";
  } else if (end.how == How::Unreachable) {
    answer.kind = Kind::Failed;
    answer.why = "could not connect";
  } else if (end.how == How::Pending || end.how == How::Failing) {
    answer.status = 200;
    none();
    if (end.how == How::Failing)
      for (std::size_t i = 0; i < request.failing.size(); ++i)
        answer.values[request.wanted.size() + i] = value_that_meets(request.failing[i]);
  } else if (end.text) {
    answer.status = end.how == How::Well ? request.expected : static_cast<std::uint16_t>(end.status);
    for (const std::vector<JsonTest>* tests : {&request.wanted, &request.failing})
      for (const JsonTest& test : *tests) answer.values.push_back(value_in(*end.text, test.filter));
    for (const Saving& saving : request.saves) answer.saved.push_back(saved_in(*end.text, saving));
  } else if (const auto status = static_cast<std::uint16_t>(end.status);
             end.how == How::Well || (!polls && is_expected(http.expect, status))) {
    const Duration elapsed = answer.elapsed;
    answer = expected_answer(request);
    answer.elapsed = elapsed;
    if (end.how == How::Answer) answer.status = status;
  } else {
    answer.status = status;
    none();
  }
  return answer;
}

bool is_done(const event::Answered& answer, const effect::Request& request, const Step& step, bool polls) {
  const auto& http = std::get<step::Http>(step.what);
  if (answer.kind != event::Answered::Kind::Whole || http.until.has_value() != polls) return false;
  if (!is_expected(polls ? std::vector<std::uint16_t>{} : http.expect, answer.status)) return false;
  for (std::size_t i = 0; i < request.wanted.size(); ++i)
    if (!is_met(request.wanted[i], answer.values[i])) return false;
  for (std::size_t i = 0; i < request.failing.size(); ++i)
    if (is_met(request.failing[i], answer.values[request.wanted.size() + i])) return false;
  return std::ranges::all_of(answer.saved, [](const auto& value) { return value.has_value(); });
}

}  // namespace healer::engine
