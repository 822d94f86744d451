// SPDX-License-Identifier: MIT
// Private to the engine and its parts: what one call of Engine::handle gathers before it emits its one Commit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/events/commit.hpp"
#include "engine/events/effect.hpp"
#include "engine/events/event.hpp"
#include "engine/events/evidence.hpp"
#include "engine/facts.hpp"
#include "engine/ids.hpp"
#include "engine/order.hpp"
#include "engine/parts/timetable.hpp"
#include "engine/state.hpp"
#include "util/few.hpp"

namespace healer::engine {

class Releases;
class RunningPrograms;

/// What is to be done in the world is handed to the turn, by whichever part: acts, and programs that begin or end.
struct Turn {
  Turn(Instant when, EffectSink& effects, RunningPrograms& running, const Releases& held)
      : now(when), sink(effects), programs(running), releases(held) {}

  Instant now;
  EffectSink& sink;
  RunningPrograms& programs;
  const Releases& releases;
  std::vector<ServiceId> changed{};                               // services to save; some may be in it twice
  std::vector<std::pair<ServiceId, Few<Baseline>>> remembered{};  // by services that need not be saved whole for it
  std::vector<ServiceId> heard{};                                 // the same, of which only the heartbeat has changed
  std::uint64_t new_occurrence = 0;                               // of which nothing was saved yet; 0: of none
  std::vector<std::uint64_t> occurrences{};                       // that are to be saved
  std::vector<JobId> changed_jobs{};                              // as `changed`, of jobs
  std::vector<JobId> moved_jobs{};                                // and of those that have only gone on
  std::vector<HealingId> changed_healings{};
  std::vector<std::pair<ServiceId, Flight>> cut_off{};  // by a reload, from a run that is to be started over
  std::shared_ptr<const Evidence> before{};             // what was last seen of a service, before what it is told now
  std::vector<effect::Reply> replies{};                 // sent when the commit is durable
  std::vector<BringOrder> orders{};                     // of healings, done at the end of the turn
  std::vector<OrderEnded> orders_ended{};               // which they are told then
  std::vector<
      std::variant<effect::Exec, effect::Alert, effect::Signal, effect::EndAction, effect::Request, effect::EndRequest>>
      acts{};                             // that the commit sets free
  std::vector<effect::EndAction> ends{};  // that need not wait for it
  std::vector<Fact> facts{};              // that no part has heard yet, in the order in which they were told

  /// What somebody has asked for has come to this.
  void answer(const Requester& requester, bool good, std::string text) {
    if (const auto* const command = std::get_if<CommandId>(&requester))
      replies.push_back({*command, good, std::move(text)});
    else
      orders_ended.push_back({std::get<HealingRun>(requester), good, std::move(text)});
  }

  /// What is to be made durable. Most turns change nothing that is: it is made when it is first asked for.
  effect::Commit& commit() { return commit_ ? *commit_ : commit_.emplace(); }
  /// How many records it has by now.
  [[nodiscard]] std::size_t records() const { return commit_ ? commit_->records.size() : 0; }

  void tell(Fact fact) { facts.push_back(std::move(fact)); }

  /// Adds a record; its number and the commit's are filled in when the turn is over.
  Record& record(RecordKind kind, Severity severity, std::string service, std::string text) {
    std::vector<Record>& records = commit().records;
    records.push_back({.id = 0,
                       .sequence = 0,
                       .when = now.wall,
                       .kind = kind,
                       .severity = severity,
                       .service = std::move(service),
                       .rule = {},
                       .subject = 0,
                       .text = std::move(text),
                       .output = {}});
    return records.back();
  }

  void save(ServiceId id) {
    if (changed.empty() || changed.back() != id) changed.push_back(id);
  }
  /// Saves what a run has changed in the memory of a service.
  void save(ServiceId id, Few<Baseline> of_memory) {
    if (!of_memory.empty()) remembered.emplace_back(id, std::move(of_memory));
  }
  void save(JobId id) { changed_jobs.push_back(id); }
  void save_move(JobId id) { moved_jobs.push_back(id); }

  void note(Severity severity, std::string service, std::string text) {
    sink.emit(effect::Note{severity, std::move(service), std::move(text)});
  }

  [[nodiscard]] bool durable() const {
    return (commit_ && commit_->reports_actions()) || !changed.empty() || !remembered.empty() || !heard.empty() ||
           !occurrences.empty() || !changed_jobs.empty() || !moved_jobs.empty() || !changed_healings.empty() ||
           !acts.empty();
  }

 private:
  std::optional<effect::Commit> commit_{};
};

}  // namespace healer::engine
