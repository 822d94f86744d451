// SPDX-License-Identifier: MIT
#include "engine/healing/parts/requests.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/parts/secrets.hpp"
#include "engine/healing/parts/steps.hpp"
#include "engine/healing/request.hpp"
#include "engine/healing/step_runs.hpp"
#include "engine/healing/variables.hpp"
#include "engine/healing/world.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

using State = StepRun::State;

constexpr Duration kTimeout{30'000};      // where a step says nothing
constexpr std::size_t kMostOfValue = 80;  // of an answer's, in what people read

Duration patience_of(const Step& step) { return step.timeout > Duration{0} ? step.timeout : kTimeout; }

/// "PATCH https://heat.example/v1".
std::string name_of(const effect::Request& request) { return fmt::format("{} {}", request.method, request.shown); }

/// What the test `i` of an answer has said: ".status is "BUILDING""; nothing where that is not for people.
std::string describe_value(const Step& step, const JsonTest& test, const event::Answered& answer, std::size_t i) {
  if (is_to_save_secret(step)) return {};
  const std::vector<std::optional<std::string>>& values = answer.shown.empty() ? answer.values : answer.shown;
  if (i >= values.size() || !values[i]) return fmt::format("{} has no value", test.filter);
  std::string text = printable(*values[i]);
  if (text.size() > kMostOfValue) text.replace(kMostOfValue, text.size(), "...");
  return fmt::format("{} is {}", test.filter, text);
}

}  // namespace

bool StepRequests::is_question(ActionId request) const {
  return std::ranges::any_of(polls_, [&](const auto& entry) { return entry.second.flight == request; });
}

bool StepRequests::is_question(ActionId request, HealingId healing, std::size_t run) const {
  const auto asked = polls_.find({healing, run});
  return asked != polls_.end() && asked->second.flight == request;
}

std::optional<Duration> StepRequests::next_question() const {
  std::optional<Duration> first;
  for (const auto& [run, questions] : polls_)
    if (questions.flight == ActionId{}) first = std::min(first.value_or(questions.next), questions.next);
  return first;
}

// ---- the request --------------------------------------------------------------------------------------------------

void StepRequests::begin(HealingWorld& world, Healing& healing, const Step& step, StepRun& run,
                         const HealingSecrets& secrets) {
  const auto& http = std::get<step::Http>(step.what);
  const Variables values = variables_of(world, healing, step.name);
  const Variables& hidden = secrets.of(healing);
  FilledRequest filled = fill(http.request, values, hidden);
  if (!filled.missing.empty() && save_again(world, healing, filled.missing)) return;
  if (!filled.missing.empty() || !filled.refused.empty())
    return run_over(world, healing, step, run, StepEnd::Failed, why_not_filled(filled.missing, filled.refused),
                    kNeverAgain);
  effect::Request& request = filled.request;
  request.request = world.ids().action();
  request.healing = healing.id;
  request.safe = request.safe || step.repeatable;
  request.timeout = patience_of(step);
  if (!http.expect.empty()) request.expected = http.expect.front();
  for (const JsonTest& test : http.expect_json) request.wanted.push_back(bind(test, values, hidden));
  for (const Saving& saving : http.saves) request.saves.push_back(bind(saving, values, hidden));
  run.begin(State::Requesting);
  run.action = request.request;
  run.request = name_of(request);
  world
      .record(RecordKind::HealingStep, Severity::Info, healing.service,
              fmt::format("{}, step \"{}\": {}", describe(healing), step.name, run.request))
      .subject = healing.id.number();
  world.request(std::move(request));
  world.save(healing);
}

void StepRequests::answered(HealingWorld& world, Healing& healing, const Step& step, StepRun& run,
                            const event::Answered& answer, HealingSecrets& secrets) {
  using Kind = event::Answered::Kind;
  const auto& http = std::get<step::Http>(step.what);
  const std::string what = std::exchange(run.request, {});
  const StepTerms terms = terms_of(step);
  const auto ends = [&](StepEnd how, const std::string& why) {
    run_over(world, healing, step, run, how, fmt::format("{}: {}", what, why));
  };
  const auto fails = [&](const std::string& why) { ends(StepEnd::Failed, why); };
  if (answer.kind == Kind::Failed) return fails(answer.why);
  const bool expected = answer.kind == Kind::Whole && is_expected(http.expect, answer.status);
  // What stands between may have given up on a server that goes on.
  const bool gateway = answer.kind == Kind::Whole && !expected && (answer.status == 502 || answer.status == 504);
  if (answer.kind == Kind::InDoubt || gateway) {
    const std::string why =
        gateway ? fmt::format("answered {}, expected {}", answer.status, describe_expected(http.expect)) : answer.why;
    if (http.request.only_asks()) return fails(why);
    return ends(StepEnd::InDoubt, fmt::format("{}; whether it was done is unknown, and it {}", why,
                                              terms.repeatable ? "may be repeated" : "is not 'repeatable'"));
  }
  if (!expected) return fails(fmt::format("answered {}, expected {}", answer.status, describe_expected(http.expect)));
  for (std::size_t i = 0; i < http.expect_json.size(); ++i) {
    const JsonTest& test = http.expect_json[i];
    const std::optional<std::string> value = i < answer.values.size() ? answer.values[i] : std::nullopt;
    if (is_met(test, value)) continue;
    const std::string difference = describe_value(step, test, answer, i);
    return fails(fmt::format("answered {}, but {}", answer.status,
                             difference.empty() ? fmt::format("{} is not as expected", test.filter) : difference));
  }
  if (const std::string why = secrets.save(healing, http.saves, answer.saved); !why.empty())
    return run_over(world, healing, step, run, StepEnd::Failed,
                    fmt::format("{}: answered {}, but {}", what, answer.status, why), once_done(terms));
  const std::string description =
      fmt::format("{} answered {} in {}", what, answer.status, format_duration(answer.elapsed));
  if (!http.until) return run_over(world, healing, step, run, StepEnd::Done, description);
  if (healing.is_abandoned())
    return run_over(world, healing, step, run, StepEnd::Done, description + "; its result is not awaited");
  run.begin(State::Polling);
  run.action = {};
  run.request = description;
  run.due = Deadline::in(http.until->within, world.now());
  polls_[{healing.id, index_of(healing, run)}] = {.next = world.now().mono};
  world
      .record(RecordKind::HealingStep, Severity::Info, healing.service,
              fmt::format("{}, step \"{}\": {}; polling every {}", describe(healing), step.name, description,
                          format_duration(http.until->every)))
      .subject = healing.id.number();
  world.save(healing);
}

void request_lost(HealingWorld& world, Healing& healing, const Step& step, StepRun& run) {
  const std::string why = fmt::format("{}: healer was restarted before the answer came", run.request);
  if (const auto end = run.restore(healing.is_abandoned() ? kNeverAgain : terms_of(step)))
    return run_over(world, healing, step, run, *end,
                    fmt::format("{}; whether it was done is unknown{}", why,
                                terms_of(step).repeatable ? fmt::format(", {} times in a row", StepRun::kMostDoubts + 1)
                                                          : ", and it is not 'repeatable'"));
  world
      .record(RecordKind::HealingStep, Severity::Warning, healing.service,
              fmt::format("{}, step \"{}\": {}; it is made again, as it may be repeated", describe(healing), step.name,
                          why))
      .subject = healing.id.number();
  world.save(healing);
}

// ---- until --------------------------------------------------------------------------------------------------------

void StepRequests::stop(HealingWorld& world, const Healing& healing, std::size_t run) {
  const auto found = polls_.find({healing.id, run});
  if (found == polls_.end()) return;
  if (found->second.flight != ActionId{}) world.end_request(found->second.flight);
  polls_.erase(found);
}

void StepRequests::stop_all(HealingWorld& world) {
  for (const auto& [run, questions] : polls_)
    if (questions.flight != ActionId{}) world.end_request(questions.flight);
  polls_.clear();
}

void StepRequests::poll(HealingWorld& world, Healing& healing, const Step& step, std::size_t run,
                        const HealingSecrets& secrets) {
  StepRun& its = healing.under_way()[run];
  const step::Until& until = *std::get<step::Http>(step.what).until;
  Poll& questions = polls_[{healing.id, run}];
  if (its.due->over(world.now())) {
    const std::string last = questions.last;
    stop(world, healing, run);
    const std::string what = std::exchange(its.request, {});
    return run_over(world, healing, step, its, StepEnd::Failed,
                    fmt::format("{}, and was not done within {}{}", what, format_duration(its.due->length),
                                last.empty() ? "" : ": " + last));
  }
  if (questions.flight != ActionId{} || questions.next > world.now().mono) return;
  const Variables values = variables_of(world, healing, step.name);
  const Variables& hidden = secrets.of(healing);
  FilledRequest filled = fill(until.request, values, hidden);
  if (!filled.missing.empty() && save_again(world, healing, filled.missing)) return;
  if (!filled.missing.empty() || !filled.refused.empty()) {
    stop(world, healing, run);
    return run_over(world, healing, step, its, StepEnd::Failed, why_not_filled(filled.missing, filled.refused),
                    kNeverAgain);
  }
  effect::Request& request = filled.request;
  request.request = world.ids().action();
  request.healing = healing.id;
  request.safe = true;
  request.timeout = std::min(patience_of(step), its.due->left(world.now()));
  for (const JsonTest& test : until.met) request.wanted.push_back(bind(test, values, hidden));
  for (const JsonTest& test : until.failed) request.failing.push_back(bind(test, values, hidden));
  questions.flight = request.request;
  world.ask(std::move(request));
}

void StepRequests::polled(HealingWorld& world, Healing& healing, const Step& step, std::size_t run,
                          const event::Answered& answer) {
  StepRun& its = healing.under_way()[run];
  const step::Until& until = *std::get<step::Http>(step.what).until;
  Poll& questions = polls_.at({healing.id, run});
  questions.flight = {};
  questions.next = world.now().mono + until.every;
  const auto over = [&](bool good, const std::string& how) {
    const std::string what = std::exchange(its.request, {});
    stop(world, healing, run);
    run_over(world, healing, step, its, good ? StepEnd::Done : StepEnd::Failed, fmt::format("{}{}", what, how));
  };
  if (answer.kind != event::Answered::Kind::Whole) {
    questions.last = answer.why;
    return;
  }
  if (!is_expected({}, answer.status)) {
    questions.last = fmt::format("{} answered {}", until.request.method, answer.status);
    return;
  }
  const auto value_of = [&](std::size_t i) { return i < answer.values.size() ? answer.values[i] : std::nullopt; };
  for (std::size_t i = 0; i < until.failed.size(); ++i) {
    const std::optional<std::string> value = value_of(until.met.size() + i);
    if (!is_met(until.failed[i], value)) continue;
    const std::string difference = describe_value(step, until.failed[i], answer, until.met.size() + i);
    return over(false, fmt::format(", and then failed{}", difference.empty() ? "" : ": " + difference));
  }
  for (std::size_t i = 0; i < until.met.size(); ++i) {
    if (is_met(until.met[i], value_of(i))) continue;
    questions.last = describe_value(step, until.met[i], answer, i);
    return;
  }
  over(true, fmt::format(", and was done {} later", format_duration(until.within - its.due->left(world.now()))));
}

// ---- secrets that were lost ---------------------------------------------------------------------------------------

bool StepRequests::save_again(HealingWorld& world, Healing& healing, const std::string& name) {
  const auto has_saved = [&](const Step& step) {
    return is_to_save_secret(step, name) && std::ranges::any_of(healing.outcomes, [&](const StepOutcome& outcome) {
             return outcome.good && outcome.name == step.name;
           });
  };
  const auto saver = [&](const std::vector<Step>& steps) {
    return std::ranges::find_if(steps, [&](const Step& step) {
      for (std::size_t i = 0; i < runs_of(step); ++i)
        if (has_saved(step_of(step, i))) return true;
      return false;
    });
  };
  const bool own = saver(healing.steps()) != healing.steps().end();
  const std::vector<Step>& steps = own ? healing.steps() : healing.plan->steps;
  const auto found = saver(steps);
  if (found == steps.end()) return false;
  const auto position = static_cast<std::uint32_t>(found - steps.begin());
  stage::Progress& progress = *healing.progress();
  if (own && position >= progress.position) return false;  // it is yet to be run
  for (std::size_t i = 0; i < runs_of(*found); ++i)
    if (const Step& one = step_of(*found, i); is_to_save_secret(one) && !one.repeatable) return false;
  // What is under way beside this step ends first; then all of it is put aside.
  const bool busy = std::ranges::any_of(healing.under_way(), [](const StepRun& run) {
    return run.state == State::Running || run.state == State::Requesting || run.state == State::Bringing ||
           run.state == State::Ending;
  });
  if (busy) return true;
  for (std::size_t i = 0; i < healing.under_way().size(); ++i) stop(world, healing, i);
  if (!progress.detour) progress.detour = Detour{progress.position, false, std::move(progress.under_way)};
  progress.detour->of_plan = progress.detour->of_plan || !own;
  progress.under_way.assign(runs_of(*found), {});
  for (std::size_t i = 0; i < progress.under_way.size(); ++i)
    if (!is_to_save_secret(step_of(*found, i))) progress.under_way[i].state = State::Done;
  progress.position = position;
  world
      .record(RecordKind::HealingStep, Severity::Warning, healing.service,
              fmt::format("{}: {} was lost when healer was restarted; re-running step \"{}\" to get its value",
                          describe(healing), name, steps[position].name))
      .subject = healing.id.number();
  world.save(healing);
  return true;
}

void come_back(stage::Progress& progress) {
  progress.position = progress.detour->position;
  progress.under_way = std::move(progress.detour->under_way);
  progress.detour.reset();
}

}  // namespace healer::engine
