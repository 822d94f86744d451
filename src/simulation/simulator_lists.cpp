// SPDX-License-Identifier: MIT
// Lists of a simulation: read at their intervals, as a daemon reads them.
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/judging/rows.hpp"
#include "engine/reload/diff.hpp"
#include "engine/rules/service.hpp"
#include "simulation/list_keeper.hpp"
#include "simulation/simulated_operator_commands.hpp"
#include "simulation/simulation.hpp"
#include "util/text.hpp"

namespace healer::engine {

void Simulation::begin_lists() {
  if (lists_ == nullptr) return;
  const std::vector<ListKeeper::Interval> lists = lists_->lists();
  for (std::size_t list = 0; list < lists.size(); ++list)
    plan(start_ + lists[list].every, 1, [this, list, of = lists[list]] { read_list(list, of); });
  // The daemon reads them when it starts.
  const Duration first = start_ + graph_->settings->start_delay;
  for (std::size_t list = 0; list < lists.size(); ++list)
    plan(first, 1, [this, list, of = lists[list]] { tell_rows(list, of); });
}

void Simulation::read_list(std::size_t list, const ListKeeper::Interval& of) {
  plan(now_.mono + of.every, 1, [this, list, of] { read_list(list, of); });
  if (!engine_) return;
  take(lists_->read(list, failed_rows(*engine_, of.name), rows_in_repair(*engine_, of.name), now_.wall));
  tell_rows(list, of);
}

/// What a reading has found of rows is told to the services that judge them.
void Simulation::tell_rows(std::size_t list, const ListKeeper::Interval& of) {
  if (!engine_) return;
  const std::shared_ptr<const Graph> graph = graph_;
  for (const ServiceId id : graph->order) {
    const ServiceBlock& block = graph->at(id);
    if (!block.is_listed() || block.other->listed.list != of.key || !engine_->service(id).monitored) continue;
    if (!lists_->has_row(list, block.other->listed.row)) continue;
    const Evidence seen = of_row(id, world_.run(id, now_.mono));
    world_.end_run(id);
    ++timeline_.runs;
    const std::span<const RuleState> rules = engine_->rules(id);
    before_.assign(rules.begin(), rules.end());
    judged_ = id;
    handle(event::RowsRead{.began = now_.mono, .rows = {{id, std::make_shared<const Evidence>(seen)}}});
  }
}

/// What is seen of a row, with what its list knows of it. Nobody knows how a row is that the list does not have.
Evidence Simulation::of_row(ServiceId id, Evidence seen) const {
  const ListedSpec& listed = graph_->at(id).other->listed;
  const std::vector<ListKeeper::Interval> lists = lists_ == nullptr ? decltype(lists_->lists()){} : lists_->lists();
  for (std::size_t list = 0; list < lists.size(); ++list) {
    if (lists[list].key != listed.list) continue;
    const std::optional<WallTime> known = lists_->has_row(list, listed.row);
    if (known) {
      auto facts = seen.facts ? std::make_shared<Facts>(*seen.facts) : std::make_shared<Facts>();
      facts->further.edit().row = RowSeen{*known};
      seen.facts = std::move(facts);
      return seen;
    }
  }
  seen.answer = Answer::Unknown;
  seen.output = std::make_shared<const std::string>("its list does not have it now");
  return seen;
}

void Simulation::take(ListKeeper::Changes changes) {
  for (const ListKeeper::Message& message : changes.messages) handle(event::ListReported{message.text, message.alerts});
  if (!changes.refused.empty()) add({.kind = "reply", .text = changes.refused}, nullptr);
  handle(lists_->doubted());
  if (!changes.errors.empty()) handle(event::ReloadFailed{changes.errors});
  if (!changes.rules) return;
  const auto plan = plan_swap(*engine_->graph(), std::move(*changes.rules));
  const std::shared_ptr<const Graph> before = std::exchange(graph_, plan->graph);
  world_.take_over(*before, *graph_, now_.mono);
  handle(event::Swap{plan});
  handle(lists_->doubted());
}

/// A rule of some service has recovered: a row that is missing may be well now.
void Simulation::see_rows() {
  const std::vector<ListKeeper::Interval> lists = lists_->lists();
  bool is_new = false;
  for (std::size_t list = 0; list < lists.size(); ++list)
    is_new = lists_->see(list, failed_rows(*engine_, lists[list].name), rows_in_repair(*engine_, lists[list].name)) ||
             is_new;
  if (is_new) handle(lists_->doubted());
}

void Simulation::change_list(const ScriptedCommand& command) {
  using Kind = ScriptedCommand::Kind;
  if (command.kind == Kind::ListSays) return lists_->change(command.statement);
  if (!engine_) return add({.kind = "reply", .text = "no healer runs: the command was lost"}, nullptr);
  if (command.kind == Kind::ForgetRow)
    if (const KeptRow kept = why_row_is_kept(*engine_, command.target); !kept.why.empty())
      return add({.kind = "reply", .text = fmt::format("{}: {}", kept.why, kept.remedy)}, nullptr);
  take(command.kind == Kind::AcceptList ? lists_->accept(command.target) : lists_->forget(command.target));
}

std::vector<ServiceId> Simulation::there(const std::vector<std::string>& names) {
  std::vector<ServiceId> services;
  for (const std::string& name : names)
    if (const auto id = graph_->find(name)) services.push_back(*id);
  if (services.empty()) add({.kind = "reply", .text = not_there(names)}, nullptr);
  return services;
}

}  // namespace healer::engine
