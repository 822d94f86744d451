// SPDX-License-Identifier: MIT
// New rules are in force: what begins, ends or goes on by them.
#include <algorithm>
#include <iterator>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "engine/judging/evaluate.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/timing/first_runs.hpp"
#include "engine/turn.hpp"
#include "engine/words/cause.hpp"

namespace healer::engine {

void Engine::on(const event::Swap& event, Turn& turn) {
  const SwapPlan& plan = *event.plan;
  if (plan.graph->generation != graph_->generation + 1) return;  // computed against another generation
  for (const SlotChange& change : plan.changes) {
    const Job* const job = change.kind == SlotChange::Kind::Added ? nullptr : jobs_.of(change.service);
    if (job == nullptr) continue;
    const ServiceBlock* next = plan.graph->slots[change.service.index()].get();
    const ServiceBlock& now = graph_->at(change.service);
    if (next != nullptr && same_target(*next, now)) continue;
    jobs_.fail(job->id, fmt::format("{} is no longer in the rules, or is a different process now", now.name), false,
               turn);
    drain(turn);
  }
  const std::set<HealingId> taken = healing_.taken_by(*plan.graph);
  const std::shared_ptr<const Graph> before = std::exchange(graph_, plan.graph);
  graph_ = absent_.with_known_keys(std::move(graph_));
  services_.resize(graph_->slots.size());
  timetable_.resize(graph_->slots.size());
  rules_.resize(graph_->slots.size());
  proofs_.resize(graph_->slots.size());
  composites_.resize(graph_->slots.size());
  for (const SlotChange& change : plan.changes) apply(change, *before, turn);
  std::set<ServiceId> changed;
  for (const SlotChange& change : plan.changes) changed.insert(change.service);
  jobs_.forget_waits(changed);
  for (const auto& [id, flight] : turn.cut_off) start_run(id, flight.counted, flight.reason, turn);
  const auto count = [&](SlotChange::Kind kind) {
    return static_cast<std::size_t>(std::ranges::count(plan.changes, kind, &SlotChange::kind));
  };
  std::vector<ServiceId> fresh;
  for (const SlotChange& change : plan.changes)
    if (change.kind == SlotChange::Kind::Added) fresh.push_back(change.service);
  const std::size_t added = fresh.size();
  const Duration cycle = graph_->settings->cycle_length();
  sort_by_haste(fresh, *graph_);
  for (std::size_t i = 0; life_.runs() && i < added; ++i)
    begin(fresh[i],
          std::max(turn.now.mono, life_.started_at.mono + graph_->settings->start_delay) + herd_phase(i, added, cycle),
          turn);
  rules_.compact();
  const Duration cycle_before = before->settings->cycle_length();
  const auto reschedule = [&](ServiceId id) {
    if (life_.runs())
      timetable_.reschedule(id, *graph_->at(id).schedule, period_of(*before->at(id).schedule, cycle_before), period(id),
                            turn.now);
  };
  if (cycle_before != graph_->settings->cycle_length()) {
    for (const ServiceId id : graph_->order)
      timetable_.adopt(id, *graph_->at(id).schedule, graph_->settings->cycle_length());
    for (const ServiceId id : graph_->order)
      if (id.index() < before->slots.size() && before->slots[id.index()]) reschedule(id);
  } else {
    for (const SlotChange& change : plan.changes)
      if (change.kind == SlotChange::Kind::Replaced &&
          before->at(change.service).schedule != graph_->at(change.service).schedule)
        reschedule(change.service);
  }
  maintenance_.reload();
  alerts_.reload(turn.now);
  if (graph_->settings->shadow || graph_->settings->dry_run)
    while (!jobs_.all().empty()) {
      jobs_.fail(JobId{jobs_.all().begin()->first}, "healer only watches from now on", false, turn);
      drain(turn);
    }
  absent_.forget(turn);
  if (plan.empty()) return;
  std::vector<Fact> of_new_rules = std::exchange(turn.facts, {});  // heard when people read that these are in force
  healing_.reload(taken, turn);
  drain(turn);
  composites_.reload();

  const std::string text = fmt::format("rules reloaded: {} service{}, {} added, {} removed, {} changed",
                                       graph_->order.size(), graph_->order.size() == 1 ? "" : "s", added,
                                       count(SlotChange::Kind::Removed), count(SlotChange::Kind::Replaced));
  turn.record(RecordKind::Reloaded, Severity::Info, {}, text);
  alerts_.send_of_daemon(text, "start", turn);
  std::ranges::move(of_new_rules, std::back_inserter(turn.facts));
}

void Engine::apply(const SlotChange& change, const Graph& before, Turn& turn) {
  if (change.kind == SlotChange::Kind::Moved) return;
  const ServiceId id = change.service;
  ServiceState& state = services_[id.index()];
  if (change.kind == SlotChange::Kind::Removed) {
    if (absent_.is_left_out(before.at(id)))
      absent_.keep(before.at(id), save(id, before, turn.now));
    else
      turn.commit().forgotten.push_back(before.at(id).name);
    children_.release(id, before.at(id), turn);
    cancel_flight(id, turn);
    commands_.run_ended(id, false, turn);
    rules_.remove(id);
    proofs_.forget(id);
    pauses_.remove(id);
    alerts_.remove(id);
    arrivals_.remove(id);
    arrivals_.events().remove(id, before.at(id).name, turn);
    state = {};
    timetable_.forget(id);
    composites_.forget(id);
    return;
  }
  const ServiceBlock& block = graph_->at(id);
  Rare<Flight> cut_off;  // a run of a program that is another now
  if (change.kind == SlotChange::Kind::Replaced) {
    const ServiceBlock& old = before.at(id);
    timetable_.adopt(id, *block.schedule, graph_->settings->cycle_length());
    rules_.replace(id, old, change.rules_from, ids_.next());
    failures_.reload(id);
    const bool other_target = !same_target(old, block);
    if (other_target) {
      alerts_.retarget(id);
      children_.release(id, old, turn);
      if (const auto former = children_.keep_former(id, turn)) proofs_.know(id, *former);
      state.last.reset();
      starts_.retarget(id);
      if (!state.child->exists()) proofs_.forget(id);
    } else if (state.child->exists() && old.process->foreground->command != block.process->foreground->command) {
      turn.record(RecordKind::JobStep, Severity::Warning, block.name,
                  "its program has changed in the rules: the previous one runs until it is restarted");
    }
    const bool other_probes = !old.probes.empty() || !block.probes.empty();  // nobody here can tell
    if (other_probes && state.last && state.last->facts) {                   // their results go by their places
      auto facts = std::make_shared<Facts>(*state.last->facts);
      facts->further.set(&FurtherFacts::connections, {});
      Evidence rest = *state.last;
      rest.facts = std::move(facts);
      state.last = std::make_shared<const Evidence>(std::move(rest));
    }
    const bool other = other_target || other_probes || old.program != block.program;
    if (other) state.trouble.set(&Trouble::unknown, {});
    if (other) cut_off = cancel_flight(id, turn);
    if (old.name != block.name) turn.commit().forgotten.push_back(old.name);
    if (!block.is_heartbeat()) arrivals_.remove(id);
    if (!block.is_event()) arrivals_.events().remove(id, old.name, turn);
    if (block.is_heard()) timetable_.stop(id);
    if (block.is_heartbeat()) arrivals_.replace(id, old, turn);
    if (block.is_listed())
      timetable_.stop(id);
    else if ((old.is_heard() || block.is_heard() || old.is_listed()) && life_.runs())
      begin(id, turn.now.mono, turn);
    Memory fresh = fresh_memory(block);
    state.memory =
        old.program->command != block.program->command ? std::move(fresh) : restored(std::move(fresh), state.memory);
  } else {
    begin_afresh(id);
    if (const std::optional<SavedService> known = absent_.take(block.name)) {  // it is as it was
      restore(id, *known, turn.now);
      children_.find(id, turn);  // its process may have lived on
    }
  }
  if (!state.child->exists()) children_.find(id, turn);
  children_.keep_watch(id, turn);
  turn.save(id);
  if (cut_off) turn.cut_off.emplace_back(id, std::move(*cut_off));
}

}  // namespace healer::engine
