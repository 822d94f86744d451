// SPDX-License-Identifier: MIT
#include "control/socket/healing_answers.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include "control/queries.hpp"
#include "control/socket/job_answers.hpp"
#include "engine/healing/named.hpp"
#include "engine/healing/plan_text.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/workflow.hpp"
#include "util/text.hpp"

namespace healer::control {
namespace {

constexpr std::array<std::string_view, 3> kOverrides{"limit", "cooldown", "pause"};

/// `healing status`: healings page by page, each as it is when its page is asked for.
class HealingsAnswer : public Answer {
 public:
  explicit HealingsAnswer(const Supervisor& daemon) : daemon_(daemon), queries_(daemon) {}

  Next pull(std::string& out, std::size_t budget) override {
    if (!std::exchange(begun_, true)) out += answer_header(daemon_, Verb::HealingStatus);
    while (out.size() < budget) {
      const std::vector<HealingView> next = queries_.healings(last_, 1);
      if (next.empty()) {
        out += end_line(queries_.holds());
        return Next::Done;
      }
      last_ = engine::HealingId{next.front().id};
      out += item_line(next.front());
    }
    return Next::More;
  }

 private:
  const Supervisor& daemon_;
  Queries queries_;
  engine::HealingId last_{};
  bool begun_ = false;
};

/// `healing report`.
class WorkflowsAnswer : public Answer {
 public:
  explicit WorkflowsAnswer(const Supervisor& daemon)
      : header_(answer_header(daemon, Verb::HealingReport)), workflows_(Queries(daemon).workflows()) {}

  Next pull(std::string& out, std::size_t budget) override {
    out += std::exchange(header_, {});
    for (; next_ < workflows_.size(); ++next_) {
      if (out.size() >= budget) return Next::More;
      out += item_line(workflows_[next_]);
    }
    out += end_line(Done{true, ""});
    return Next::Done;
  }

 private:
  std::string header_;
  std::vector<WorkflowReport> workflows_;
  std::size_t next_ = 0;
};

Failure unknown_workflow(const engine::Graph& graph, std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& workflow : graph.workflows) names.emplace_back(workflow->name);
  const std::string_view near = nearest_word(name, names);
  return {"unknown-workflow", fmt::format("there is no workflow \"{}\"", printable(name)),
          near.empty() ? "`healerctl healing report` lists them" : fmt::format("did you mean \"{}\"?", near)};
}

/// A plan is approved that was shown, by its hash: it may be another by now.
std::optional<Failure> cannot_approve(const engine::Healing& healing, const std::string& plan) {
  const std::string line = fmt::format("`{}`", engine::approval_line(healing));
  if (plan.empty())
    return Failure{"plan-needed",
                   fmt::format("healing {} is approved by the hash of its plan, which `healerctl healing status` shows",
                               healing.id.number()),
                   line};
  const bool is_hash = plan.size() >= engine::kHashShown && std::ranges::all_of(plan, [](char c) {
                         return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
                       });
  if (!is_hash)
    return Failure{"bad-request",
                   fmt::format("\"{}\" is not the hash of a plan: {} digits or more are needed", printable(plan),
                               engine::kHashShown),
                   line};
  if (engine::hash_of_plan(healing).starts_with(to_lower(plan))) return std::nullopt;
  return Failure{"other-plan",
                 fmt::format("nothing was approved: the plan of healing {} is not {}", healing.id.number(), plan),
                 fmt::format("`healerctl healing status` shows it; {}", line)};
}

}  // namespace

std::unique_ptr<Answer> answer_healing(const Supervisor& daemon, Verb verb) {
  if (verb == Verb::HealingReport) return std::make_unique<WorkflowsAnswer>(daemon);
  return std::make_unique<HealingsAnswer>(daemon);
}

std::optional<Failure> find_healing(const engine::Engine& engine, Request& request) {
  if (request.names.empty()) return std::nullopt;
  if (request.names.size() > 1)
    return Failure{"bad-request", "one healing is named, by its number or its target",
                   "`healerctl healing status` lists them"};
  const std::string name = request.names.front();
  request.names.clear();
  const engine::Healings& healings = engine.healings();
  // A number that is known is that, whatever there is of the same name.
  if (request.id != 0 && (healings.all().contains(engine::HealingId{request.id}) ||
                          engine.jobs().contains(request.id) || engine.programs().all().contains(request.id)))
    return std::nullopt;
  const bool decides = request.verb != Verb::Cancel;
  const engine::Healing* meant = healing_meant(healings, name, decides);
  if (const auto service = engine.graph()->find(name); meant == nullptr && service)
    meant = healing_meant(healings, engine.graph()->at(*service).target(), decides);
  if (meant != nullptr) request.id = meant->id.number();
  if (meant != nullptr || request.id != 0) return std::nullopt;
  const bool known = engine.graph()->find(name) || !healings.targets().services_of(*engine.graph(), name).empty();
  if (!known)
    return Failure{"unknown-service", fmt::format("there is no target and no service \"{}\"", printable(name)),
                   "`healerctl healing status` lists the healings"};
  return Failure{"unknown-healing",
                 decides ? fmt::format("no healing of {} waits for approval", printable(name))
                         : fmt::format("no healing of {} is under way or waits", printable(name)),
                 "`healerctl healing status` lists them"};
}

std::optional<Failure> cannot_heal(const engine::Engine& engine, const Request& request) {
  if (request.verb == Verb::Approve || request.verb == Verb::Reject) {
    const auto found = engine.healings().all().find(engine::HealingId{request.id});
    if (found == engine.healings().all().end())
      return Failure{"unknown-healing", fmt::format("there is no healing {} (any more)", request.id),
                     "`healerctl healing status` lists them"};
    if (found->second.stage() != engine::Healing::Stage::Approval)
      return Failure{"no-approval",
                     fmt::format("healing {} does not wait for approval: {}", request.id,
                                 found->second.reason().empty() ? std::string(to_string(found->second.stage()))
                                                                : found->second.reason()),
                     request.verb == Verb::Reject ? fmt::format("`healerctl cancel {}` ends it", request.id) : ""};
    return request.verb == Verb::Approve ? cannot_approve(found->second, request.plan) : std::nullopt;
  }
  for (const std::string& one : request.overrides) {
    if (std::ranges::find(kOverrides, one) != kOverrides.end()) continue;
    const std::string_view near = nearest_word(one, kOverrides);
    return Failure{"bad-request",
                   fmt::format("only limit, cooldown and pause may be overridden, not \"{}\"", printable(one)),
                   near.empty() ? std::string{} : fmt::format("did you mean \"{}\"?", near)};
  }
  const auto& remembered = engine.healings().memory().workflows;
  const bool known =
      engine.graph()->workflow(request.workflow) != nullptr ||
      (request.verb == Verb::HealingReset && std::ranges::any_of(remembered, [&](const engine::WorkflowMemory& one) {
         return iequals(one.workflow, request.workflow);
       }));
  if (known || (request.verb == Verb::Heal && request.workflow.empty())) return std::nullopt;
  return unknown_workflow(*engine.graph(), request.workflow);
}

engine::Overrides overrides_of(const Request& request) {
  const auto has = [&](std::string_view word) {
    return std::ranges::find(request.overrides, word) != request.overrides.end();
  };
  return {.limit = has("limit"), .cooldown = has("cooldown"), .pause = has("pause")};
}

}  // namespace healer::control
