// SPDX-License-Identifier: MIT
#include "runtime/programs/leftovers.hpp"

#include <unistd.h>

#include <string>

#include "actions/environment.hpp"
#include "engine/rules/service.hpp"
#include "runtime/inspection/proc_stat.hpp"
#include "runtime/inspection/proc_table.hpp"
#include "util/text.hpp"

namespace healer::runtime {
namespace {

constexpr std::size_t kMostListed = 80;

engine::LeftProcess process_of(const ProcessIdentity& one, const std::string& name) {
  const std::string line = command_line(one.pid);
  return {one.pid, one.start_ticks, printable(line.empty() ? name : line.substr(0, kMostListed))};
}

}  // namespace

std::vector<uid_t> owners_of(const engine::ServiceBlock& block) {
  std::vector<uid_t> owners{::geteuid()};
  for (const auto* program : block.programs->all()) {
    if (*program && (*program)->identity->uid) owners.push_back(*(*program)->identity->uid);
  }
  if (block.foreground() && block.process->foreground->command.identity->uid)
    owners.push_back(*block.process->foreground->command.identity->uid);
  return owners;
}

std::optional<std::vector<ProcessIdentity>> living_of(const ControlGroups& groups, engine::ActionId action,
                                                      const std::vector<uid_t>& owners) {
  if (groups.has(action)) return groups.living(action);
  std::vector<ProcessIdentity> living;
  if (groups.state().empty()) return living;  // nothing bears its mark
  const auto marked = marked_processes(actions::action_mark(groups.state(), action), owners);
  if (!marked) return std::nullopt;
  for (const MarkedProcess& one : *marked)
    if (one.value.empty()) living.push_back({one.pid, one.start_ticks});
  return living;
}

Leftovers find_leftovers(const ControlGroups& groups, engine::ActionId left_by, engine::ActionId came_by,
                         const std::vector<uid_t>& owners) {
  Leftovers left{.by = left_by};
  if (left_by != engine::ActionId{}) {
    if (const auto grouped = groups.eldest_first(left_by); !grouped.empty()) {
      left.processes.push_back(process_of({grouped.front().pid, grouped.front().start_ticks}, grouped.front().name));
      return left;
    }
    // It was not born in a group, or was moved out of it.
    const auto marked = marked_processes(actions::action_mark(groups.state(), left_by), owners);
    for (const MarkedProcess& one : marked.value_or(std::vector<MarkedProcess>{})) {
      if (!one.value.empty()) continue;  // of a longer number
      left.processes.push_back(process_of({one.pid, one.start_ticks}, {}));
      return left;
    }
  }
  left.by = came_by;
  if (came_by != engine::ActionId{}) {
    for (const ProcStat& one : groups.eldest_first(came_by))
      left.processes.push_back(process_of({one.pid, one.start_ticks}, one.name));
  }
  return left;
}

}  // namespace healer::runtime
