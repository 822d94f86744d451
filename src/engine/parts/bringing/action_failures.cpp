// SPDX-License-Identifier: MIT
#include "engine/parts/bringing/action_failures.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/job.hpp"
#include "engine/parts/programs.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/service.hpp"
#include "engine/turn.hpp"

namespace healer::engine {

void ActionFailures::note(ServiceId id, const effect::Exec& exec, std::string_view failure, Turn& turn) {
  if (programs_.rule_of(exec) != nullptr) turn_to(id, exec.rule, std::string(failure), turn);
}

void ActionFailures::note(const Job& job, bool good, Turn& turn) {
  if (job.cause == nullptr || job.cancelled) return;
  const std::vector<Rule>& rules = graph_->at(job.service).rules;
  const auto rule = std::ranges::find_if(rules, [&](const Rule& one) { return one->text == job.cause->rule; });
  if (rule == rules.end()) return;
  turn_to(job.service, rule->key, good ? std::string() : fmt::format("{} failed: {}", to_string(job.kind), job.failure),
          turn);
}

/// `failure` of what a rule had done; empty: it has ended well.
void ActionFailures::turn_to(ServiceId id, Hash128 rule, std::string failure, Turn& turn) {
  Sparse<Trouble>& trouble = services_[id.index()].trouble;
  const Rare<ActionFailure>& last = trouble->action_failure;
  if (failure.empty() && (!last || last->rule != rule)) return;
  if (failure.empty())
    trouble.set(&Trouble::action_failure, {});
  else
    trouble.set(&Trouble::action_failure,
                ActionFailure{.rule = rule, .when = turn.now.wall, .text = std::move(failure)});
  turn.save(id);
}

void ActionFailures::complete(ServiceId id, std::string_view silent, std::string_view description, Turn& turn) {
  Sparse<Trouble>& trouble = services_[id.index()].trouble;
  if (!trouble->action_failure) return;
  std::string& text = trouble.edit().action_failure->text;
  const std::size_t at = text.find(silent);
  if (at == std::string::npos) return;
  text.replace(at, silent.size(), description);
  turn.save(id);
}

void ActionFailures::forget(ServiceId id, Hash128 rule) {
  const Rare<ActionFailure>& failure = services_[id.index()].trouble->action_failure;
  if (failure && failure->rule == rule) forget(id);
}

void ActionFailures::reload(ServiceId id) {
  const Rare<ActionFailure>& failure = services_[id.index()].trouble->action_failure;
  const std::vector<Rule>& rules = graph_->at(id).rules;
  if (failure && std::ranges::find(rules, failure->rule, &Rule::key) == rules.end()) forget(id);
}

void ActionFailures::restore(ServiceId id, const SavedService& saved) {
  const std::vector<Rule>& rules = graph_->at(id).rules;
  if (const Rare<ActionFailure>& failure = saved.action_failure;
      failure && std::ranges::find(rules, failure->rule, &Rule::key) != rules.end() &&
      std::ranges::find(saved.rules, failure->rule, &SavedRule::key) != saved.rules.end())
    services_[id.index()].trouble.set(&Trouble::action_failure, failure);
}

}  // namespace healer::engine
