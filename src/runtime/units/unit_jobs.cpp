// SPDX-License-Identifier: MIT
#include "runtime/units/unit_jobs.hpp"

#include <array>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "runtime/clock.hpp"

namespace healer::runtime {
namespace {

using engine::ActionId;
using engine::UnitVerb;

/// Whether the unit is as the order wants it.
bool is_done(UnitVerb verb, const UnitReading& unit) {
  const std::string standing = engine::standing_of(unit.facts);
  if (verb == UnitVerb::Stop) return unit.facts.active == "inactive" || unit.facts.active == "failed";
  return standing.starts_with("active");
}

/// How a job has ended that is not done. `unit`: as it is now, where that is known.
std::string words_of(const engine::UnitOrder& order, std::string_view result, const UnitReading* unit) {
  if (result == "dependency") return fmt::format("a dependency of {} could not be started", order.unit);
  if (result == "timeout") return fmt::format("the job for {} has timed out", order.unit);
  if (result == "canceled") return fmt::format("the job for {} was cancelled", order.unit);
  if (result != "failed" || unit == nullptr) return fmt::format("the job for {} has ended: {}", order.unit, result);
  return fmt::format("the job for {} has failed: the unit is {}", order.unit, engine::standing_of(unit->facts));
}

}  // namespace

UnitJobs::Job* UnitJobs::find(ActionId action) {
  const auto found = jobs_.find(action.number());
  return found == jobs_.end() ? nullptr : &found->second;
}

void UnitJobs::tell(engine::Event event) {
  loop_.post([this, event = std::move(event), alive = std::weak_ptr<char>(alive_)] {
    if (!alive.expired()) sink_(event);
  });
}

void UnitJobs::wait(ActionId action, Duration until, void (UnitJobs::*then)(ActionId)) {
  Job& job = *find(action);
  job.timer = loop_.timer([this, action, then] { (this->*then)(action); });
  job.timer.set_deadline(until);
}

// ---- begin --------------------------------------------------------------------------------------------------------

void UnitJobs::start(ActionId action, engine::UnitOrder order) {
  Job& job = jobs_[action.number()];
  job.order = std::move(order);
  job.begun = mono_now();
  ask(action);
}

void UnitJobs::adopt(ActionId action, engine::UnitOrder order) {
  Job& job = jobs_[action.number()];
  job.order = std::move(order);
  job.begun = mono_now();
  job.adopted = true;
  check(action);
}

void UnitJobs::ask(ActionId action) {
  Job& job = *find(action);
  job.stage = Stage::Asked;
  job.timer = {};
  bus_.order(job.order, [this, action, alive = std::weak_ptr<char>(alive_)](Result<std::string> path) {
    if (alive.expired()) return;
    Job* const asked = find(action);
    if (asked == nullptr) return;
    if (path) {
      asked->stage = Stage::Running;
      asked->path = std::move(*path);
      tell(engine::event::ActionStarted{.action = action});
      if (asked->cancelled) end(action);
      return;
    }
    const int code = path.error().code;
    if (code != SystemBus::kNotSent && code != SystemBus::kNotAnswered) return finish(action, path.error().what);
    why_ = path.error().what;
    if (code == SystemBus::kNotAnswered) return check(action);  // it may have been done
    asked->stage = Stage::Waiting;
    await_connection(action, &UnitJobs::ask);
  });
}

// ---- what has become of one ---------------------------------------------------------------------------------------

void UnitJobs::check(ActionId action) {
  Job& job = *find(action);
  job.stage = Stage::Checking;
  job.timer = {};
  bus_.read(job.order.unit, [this, action, alive = std::weak_ptr<char>(alive_)](const Result<UnitReading>& unit) {
    if (alive.expired()) return;
    Job* const asked = find(action);
    if (asked == nullptr || asked->stage != Stage::Checking) return;
    if (unit) return checked(action, *unit);
    const int code = unit.error().code;
    if (code != SystemBus::kNotSent && code != SystemBus::kNotAnswered) return finish(action, unit.error().what);
    why_ = unit.error().what;
    await_connection(action, &UnitJobs::check);
  });
}

void UnitJobs::checked(ActionId action, const UnitReading& unit) {
  Job& job = *find(action);
  if (!unit.job.empty()) {
    job.stage = Stage::Running;
    job.path = unit.job;
    tell(engine::event::ActionStarted{.action = action});
    if (job.cancelled) end(action);
    return;
  }
  if (!job.result.empty()) return finish(action, words_of(job.order, job.result, &unit));
  if (job.cancelled) return finish(action, words_of(job.order, "canceled", nullptr));
  // Whether it was restarted nobody has seen.
  if (is_done(job.order.verb, unit)) return finish(action, {}, job.adopted || job.order.verb == UnitVerb::Restart);
  if (!job.adopted && !std::exchange(job.again, true)) return ask(action);
  finish(action, fmt::format("the unit is {}", engine::standing_of(unit.facts)));
}

/// There is no connection: `then` when there may be one, and not for long.
void UnitJobs::await_connection(ActionId action, void (UnitJobs::*then)(ActionId)) {
  Job& job = *find(action);
  if (job.cancelled || mono_now() - job.begun > kPatience) return give_up(action);
  if (std::exchange(job.told, why_) != why_) tell(engine::event::ActionWaits{.action = action, .why = why_});
  wait(action, mono_now() + kCheckPause, then);
}

void UnitJobs::connected() {
  std::vector<ActionId> waiting;
  for (const auto& [number, job] : jobs_)
    if (job.stage == Stage::Waiting || job.stage == Stage::Checking) waiting.emplace_back(number);
  for (const ActionId action : waiting)
    if (const Job* const job = find(action); job != nullptr) job->stage == Stage::Waiting ? ask(action) : check(action);
}

void UnitJobs::lost(const std::string& why) {
  why_ = why;
  for (auto& [number, job] : jobs_) {
    if (job.stage != Stage::Running) continue;  // the others hear of it by their calls
    job.begun = mono_now();
    check(ActionId{number});
  }
}

void UnitJobs::job_ended(std::string_view path, std::string_view result) {
  std::vector<ActionId> ended;
  for (const auto& [number, job] : jobs_)
    if (job.stage == Stage::Running && job.path == path) ended.emplace_back(number);
  for (const ActionId action : ended) {
    if (result == "done" || result == "skipped") {
      finish(action, {});
    } else if (result == "failed") {
      failed(action, std::string(result));
    } else {
      finish(action, words_of(find(action)->order, result, nullptr));
    }
  }
}

/// Its unit says why.
void UnitJobs::failed(ActionId action, std::string result) {
  Job& job = *find(action);
  job.result = std::move(result);
  check(action);
}

// ---- end ----------------------------------------------------------------------------------------------------------

void UnitJobs::end(ActionId action) {
  Job* const job = find(action);
  if (job == nullptr) return;
  job->cancelled = true;
  if (job->stage == Stage::Waiting) return wait(action, Duration{0}, &UnitJobs::give_up);
  if (job->stage != Stage::Running) return;
  bus_.cancel(job->path);
  wait(action, mono_now() + kCancelTime, &UnitJobs::give_up);
}

void UnitJobs::give_up(ActionId action) {
  const Job& job = *find(action);
  finish(action, job.stage == Stage::Running ? fmt::format("the job for {} is left to systemd", job.order.unit) : why_);
}

/// `failure`: why it has failed; empty: it has not.
void UnitJobs::finish(ActionId action, std::string failure, bool unseen) {
  const auto found = jobs_.find(action.number());
  const Duration elapsed = mono_now() - found->second.begun;
  jobs_.erase(found);
  tell(engine::event::ActionEnded{.action = action,
                                  .status = failure.empty() ? 0 : 1,
                                  .unseen = unseen && failure.empty(),
                                  .elapsed = elapsed,
                                  .output = std::move(failure)});
}

}  // namespace healer::runtime
