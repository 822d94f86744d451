// SPDX-License-Identifier: MIT
#include "support/engine_world.hpp"

#include "engine/granting.hpp"
#include "engine/rules/rule_set.hpp"
#include "support/effect_text.hpp"

namespace healer::test {

std::string_view words_of(engine::Metric metric) {
  for (const engine::CheckKind* kind : engine::all_kinds())
    if (const engine::Quantity* row = kind->find(metric)) return row->words;
  return {};
}

Rule status_rule(Comparison comparison, std::int64_t value, Tolerance tolerance, std::uint16_t repeat) {
  Rule rule;
  rule->condition = RuleCondition{{Compare{Metric::Status, comparison, static_cast<double>(value)}}};
  rule->tolerance = tolerance;
  rule->action = {.kind = ActionKind::Exec, .command = Command{.arguments = {"/bin/heal"}}, .repeat = repeat};
  rule->condition->hash =
      hash128("status " + std::to_string(static_cast<int>(comparison)) + " " + std::to_string(value));
  rule->text = "if status " + std::to_string(static_cast<int>(comparison)) + " " + std::to_string(value) + " " +
               std::to_string(tolerance.count) + "/" + std::to_string(tolerance.window);
  return rule;
}

std::shared_ptr<ServiceBlock> service(std::string name, std::vector<Rule> rules) {
  auto block = std::make_shared<ServiceBlock>();
  block->name = std::move(name);
  block->program->command = {.arguments = {"/bin/check", block->name}};
  std::string all = block->name;
  for (Rule& rule : rules) {
    all += rule->text;
    rule.key = hash128(block->name + rule->text);
    std::string done = std::string(to_string(rule->action.kind)) + std::string(to_string(rule->recovery->action.kind));
    for (const Command* command : {&*rule->action.command, &*rule->recovery->action.command})
      for (const std::string& argument : command->arguments) done += " " + argument;
    rule->actions_hash = hash128(done);
  }
  block->rules = std::move(rules);
  block->key = hash128(all);
  return block;
}

RuleSet rule_set(std::vector<std::shared_ptr<ServiceBlock>> services, Duration cycle) {
  RuleSet rules;
  rules.settings.cycle = cycle;
  rules.files = {"test.rules"};
  for (auto& block : services) rules.services.push_back(std::move(block));
  return rules;
}

World::World(RuleSet rules, SavedState left) : World(make_graph(std::move(rules)), std::move(left)) {}

World::World(std::shared_ptr<const Graph> graph, SavedState left, Instant at)
    : now(at), engine(std::make_unique<Engine>(std::move(graph), utc_civil, left, at)), saved(std::move(left)) {}

World::~World() = default;

void World::handle(const Event& event) {
  const std::size_t before = inbox_.size();
  if (grants)
    engine::handle(*engine, event, now, *this);
  else
    engine->handle(event, now, *this);
  if (traces_effects()) trace_turn(now, {inbox_.begin() + static_cast<std::ptrdiff_t>(before), inbox_.end()});
  if (received) received(event);
  if (std::exchange(busy_, true)) return;  // the call further out goes on: effects are taken in order
  for (; !inbox_.empty();) {
    Effect effect = std::move(inbox_.front());
    inbox_.pop_front();
    take(std::move(effect));
  }
  busy_ = false;
}

void World::advance(Duration span) {
  const Duration end = now.mono + span;
  while (true) {
    const auto deadline = engine->next_deadline();
    if (!deadline || *deadline > end) break;
    move_to(std::max(*deadline, now.mono));
    handle(event::Wake{});
  }
  move_to(end);
}

void World::observe(ServiceId id, std::int64_t status, Outcome outcome, std::string output, std::uint64_t matches) {
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (open[i].service != id) continue;
    const RunId run = open[i].run;
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
    handle(event::measured(id, run,
                           {.outcome = outcome,
                            .status = status,
                            .matches = matches,
                            .elapsed = milliseconds{5},
                            .output = std::make_shared<const std::string>(std::move(output))}));
    return;
  }
}

std::size_t World::count(RecordKind kind) const {
  std::size_t found = 0;
  for (const Record& record : records) found += record.kind == kind ? 1U : 0U;
  return found;
}

void World::move_to(Duration mono) {
  now.wall += mono - now.mono;
  now.mono = mono;
}

void World::take(Effect effect) {
  effects.push_back(effect);
  if (const auto* run = std::get_if<effect::Measure>(&effect)) {
    open.push_back(*run);
    const ServiceId id = run->service;
    if (const auto status = answer ? answer(id) : std::nullopt) observe(id, *status);
  } else if (const auto* cancel = std::get_if<effect::CancelRun>(&effect)) {
    std::erase_if(open, [&](const effect::Measure& o) { return o.run == cancel->run; });
  } else if (auto* exec = std::get_if<effect::Exec>(&effect)) {
    execs.push_back(*exec);
    if (begins) begins(*exec);
  } else if (auto* request = std::get_if<effect::Request>(&effect)) {
    if (!request->secrets.empty()) {
      event::Answered checked_secrets{.request = request->request, .why = secret_trouble};
      if (!secret_trouble.empty()) checked_secrets.kind = event::Answered::Kind::Failed;
      return handle(checked_secrets);
    }
    requests.push_back(*request);
    if (asks) asks(*request);
  } else if (auto* claim = std::get_if<effect::Claim>(&effect)) {
    claims.push_back(*claim);
  } else if (auto* end = std::get_if<effect::EndRequest>(&effect)) {
    ended_requests.push_back(end->request);
  } else if (auto* alert = std::get_if<effect::Alert>(&effect)) {
    alerts.push_back(*alert);
  } else if (auto* reply = std::get_if<effect::Reply>(&effect)) {
    replies.push_back(*reply);
  } else if (auto* commit = std::get_if<effect::Commit>(&effect)) {
    keep(*commit);
    if (commits) handle(event::Committed{.up_to = commit->sequence, .unjournalled = unjournalled});
  }
}

void World::keep(const effect::Commit& commit) {
  records.insert(records.end(), commit.records.begin(), commit.records.end());
  engine::keep(saved, commit);
  if (!recorded) return;
  for (const Record& record : commit.records) recorded(record);
}

}  // namespace healer::test
