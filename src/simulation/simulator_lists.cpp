// SPDX-License-Identifier: MIT
// Lists of a simulation: read at their intervals, as a daemon reads them.
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/judging/rows.hpp"
#include "engine/reload/diff.hpp"
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
}

void Simulation::read_list(std::size_t list, const ListKeeper::Interval& of) {
  plan(now_.mono + of.every, 1, [this, list, of] { read_list(list, of); });
  if (engine_) take(lists_->read(list, failed_rows(*engine_, of.name), rows_in_repair(*engine_, of.name)));
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
