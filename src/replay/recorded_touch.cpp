// SPDX-License-Identifier: MIT
// What services that are left out of a replay could have touched: by dependencies, composites, jobs and healings.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/healing/variables.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/rules/workflow.hpp"
#include "replay/recorded_rules.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

/// What its rules ask to heal.
std::vector<const HealOrder*> orders_of(const ServiceBlock& block) {
  std::vector<const HealOrder*> orders;
  for (const Rule& rule : block.rules)
    for (const Action* action : {&rule->action, &rule->recovery->action})
      if (action->heal) orders.push_back(action->heal.get());
  return orders;
}

/// Its groups and its lists, in lower case, as brakes count them.
std::set<std::string> groups_of(const ServiceBlock& block) {
  std::set<std::string> names;
  for (const std::string& group : block.groups) names.insert(to_lower(group));
  if (block.row)
    for (const std::string& list : block.row->lists) names.insert("${" + to_lower(list) + "}");
  return names;
}

/// Whether something of it may start or stop it, which starts what it depends on, or keeps that from its own jobs.
bool may_have_jobs(const ServiceBlock& block) {
  const auto moves = [](const Action& action) {
    return action.kind == ActionKind::Start || action.kind == ActionKind::Stop || action.kind == ActionKind::Restart;
  };
  return block.has_process() || std::ranges::any_of(block.rules, [&](const Rule& rule) {
           return moves(rule->action) || moves(rule->recovery->action);
         });
}

/// What a workflow does beyond its own programs, with those that it goes on with when it fails.
struct Reaches {
  std::set<std::string> workflows;  ///< itself, too
  std::set<std::string> brought;    ///< services that its steps start and stop, with `${NAME}`s
  std::set<std::string> counted;    ///< groups whose counts decide when it runs
};

class Spreading {
 public:
  explicit Spreading(const Graph& all) : all_(all), levels_(all.slots.size(), Level::None) {
    for (const auto& workflow : all.workflows) collect(*workflow, workflows_[to_lower(workflow->name)]);
    for (const ServiceId id : all.order) {
      const ServiceBlock& block = all.at(id);
      of_target_[to_lower(block.target())].push_back(id);
      for (const std::string& group : groups_of(block)) of_group_[group].push_back(id);
      for (const HealOrder* const order : orders_of(block)) {
        of_target_[target_of(block, *order)].push_back(id);
        for (const std::string& workflow : reaches(order->workflow).workflows) of_workflow_[workflow].push_back(id);
        visit_brought(block, *order, [&](ServiceId brought) { who_brings_[brought.number()].push_back(id); });
      }
    }
    for (const auto& [name, reaches] : workflows_)
      for (const std::string& group : reaches.counted) counting_[group].push_back(name);
    const HealingSettings& healing = all.settings->healing;
    for (const HealingLimit& limit : healing.limits)
      if (!limit.group.empty()) limited_.insert(to_lower(limit.group));
    for (const std::string& name : healing.only_while) only_while_.insert(to_lower(name));
  }

  void leave_out(ServiceId id) {
    raise(id, Level::Wholly);
    while (!open_.empty()) {
      const ServiceId next = open_.back();
      open_.pop_back();
      spread(next);
    }
  }

  [[nodiscard]] Touched touched() const {
    Touched touched;
    for (const ServiceId id : all_.order) {
      const Level level = levels_[id.index()];
      if (level != Level::None) touched.healing.insert(to_lower(all_.at(id).name));
      if (level == Level::Wholly) touched.wholly.insert(to_lower(all_.at(id).name));
    }
    return touched;
  }

 private:
  enum class Level : std::uint8_t { None, Healing, Wholly };

  void collect(const Workflow& workflow, Reaches& reaches) const {
    if (!reaches.workflows.insert(to_lower(workflow.name)).second) return;
    for (const HealingLimit& limit : workflow.limits)
      if (!limit.group.empty()) reaches.counted.insert(to_lower(limit.group));
    for (const PauseWhile& brake : workflow.pauses)
      if (!brake.group.empty()) reaches.counted.insert(to_lower(brake.group));
    if (workflow.approval && workflow.approval->when && !workflow.approval->when->group.empty())
      reaches.counted.insert(to_lower(workflow.approval->when->group));
    for (const auto* const steps : {&workflow.steps, &workflow.on_failure, &workflow.on_cancel})
      for (const Step& step : *steps) collect(step, reaches);
  }
  void collect(const Step& step, Reaches& reaches) const {
    if (const auto* bring = std::get_if<step::Bring>(&step.what)) reaches.brought.insert(bring->service);
    if (const auto* parallel = std::get_if<step::Parallel>(&step.what))
      for (const Step& one : parallel->steps) collect(one, reaches);
    if (const auto* other = std::get_if<step::Escalate>(&step.what))
      if (const auto workflow = all_.workflow(other->workflow)) collect(*workflow, reaches);
  }

  [[nodiscard]] const Reaches& reaches(const std::string& workflow) const {
    static const Reaches kNone;
    const auto found = workflows_.find(to_lower(workflow));
    return found == workflows_.end() ? kNone : found->second;
  }

  static std::string target_of(const ServiceBlock& block, const HealOrder& order) {
    return to_lower(order.target.empty() ? block.target() : order.target);
  }

  /// Those that its healing starts or stops; all that have that name only while it runs are any of them.
  template <typename Visit>
  void visit_brought(const ServiceBlock& block, const HealOrder& order, const Visit& visit) const {
    Variables known{{"TARGET", order.target.empty() ? block.target() : order.target}};
    if (block.row) known.insert(block.row->variables.begin(), block.row->variables.end());
    for (const std::string& text : reaches(order.workflow).brought) {
      const Filled name = fill(text, known);
      if (!name.missing.empty()) {
        for (const ServiceId id : all_.order) visit(id);
      } else if (const auto id = all_.find(name.text)) {
        visit(*id);
      }
    }
  }

  void raise(ServiceId id, Level level) {
    Level& now = levels_[id.index()];
    if (now >= level) return;
    now = level;
    open_.push_back(id);
  }
  void raise(const std::map<std::string, std::vector<ServiceId>>& by, const std::string& name) {
    const auto found = by.find(name);
    if (found == by.end()) return;
    for (const ServiceId id : found->second) raise(id, Level::Healing);
  }

  void touch_all() {
    if (std::exchange(all_touched_, true)) return;
    for (const ServiceId id : all_.order) raise(id, Level::Healing);
  }
  void touch_target(const std::string& target) {
    if (targets_.insert(target).second) raise(of_target_, target);
  }
  void touch_group(const std::string& group) {
    if (!groups_.insert(group).second) return;
    raise(of_group_, group);
    if (const auto found = counting_.find(group); found != counting_.end())
      for (const std::string& workflow : found->second) raise(of_workflow_, workflow);
    if (limited_.contains(group)) touch_all();
  }
  void touch_workflow(const std::string& workflow) {
    if (touched_workflows_.insert(workflow).second) raise(of_workflow_, workflow);
  }

  /// From one that is left out, or may be in another way than it was.
  void spread(ServiceId id) {
    const ServiceBlock& block = all_.at(id);
    const std::vector<const HealOrder*> orders = orders_of(block);
    const bool wholly = levels_[id.index()] == Level::Wholly;
    if (!wholly && orders.empty()) return;  // no healing of it goes on
    for (const ServiceId other : all_.dependents[id.index()]) raise(other, Level::Wholly);
    for (const ServiceId other : all_.owners[id.index()]) raise(other, Level::Wholly);
    if (wholly && may_have_jobs(block))
      for (const ServiceId other : all_.requirements[id.index()]) raise(other, Level::Wholly);
    touch_target(to_lower(block.target()));
    for (const std::string& group : groups_of(block)) touch_group(group);
    if (only_while_.contains(to_lower(block.name))) touch_all();
    if (const auto found = who_brings_.find(id.number()); found != who_brings_.end())
      for (const ServiceId other : found->second) raise(other, Level::Healing);
    for (const HealOrder* const order : orders) {
      touch_target(target_of(block, *order));
      for (const std::string& workflow : reaches(order->workflow).workflows) touch_workflow(workflow);
      if (!all_.settings->healing.limits.empty()) touch_all();
      visit_brought(block, *order, [&](ServiceId brought) { raise(brought, Level::Wholly); });
      // One of them is healed at a time.
      for (const ServiceId member : all_.members[id.index()]) raise(member, Level::Healing);
    }
  }

  const Graph& all_;
  std::vector<Level> levels_;  // by slot
  std::vector<ServiceId> open_;
  std::map<std::string, Reaches> workflows_;
  std::map<std::string, std::vector<ServiceId>> of_target_;    // those that are, or heal, it
  std::map<std::string, std::vector<ServiceId>> of_group_;     // its members
  std::map<std::string, std::vector<ServiceId>> of_workflow_;  // those that heal with it
  std::map<std::string, std::vector<std::string>> counting_;   // workflows that count a group
  std::map<std::uint32_t, std::vector<ServiceId>> who_brings_;
  std::set<std::string> limited_;  // groups that a limit of all healings counts
  std::set<std::string> only_while_;
  std::set<std::string> targets_, groups_, touched_workflows_;  // that have been touched
  bool all_touched_ = false;
};

}  // namespace

Touched touched_by(const Graph& all, const Slots& left_out) {
  Spreading spreading(all);
  for (const ServiceId id : all.order)
    if (id.index() < left_out.size() && left_out[id.index()]) spreading.leave_out(id);
  return spreading.touched();
}

}  // namespace healer::engine
