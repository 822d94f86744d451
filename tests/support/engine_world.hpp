// SPDX-License-Identifier: MIT
// A world for the engine in virtual time: it keeps the clock, answers commits at once (or when told), and writes down
// every effect. Scenarios read like a timeline.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.hpp"
#include "engine/service.hpp"
#include "util/hash.hpp"

namespace healer::test {

using namespace healer::engine;

/// Rules for tests without the language.
inline Rule status_rule(Comparison comparison, std::int64_t value, Tolerance tolerance = {}, std::uint16_t repeat = 0) {
  Rule rule;
  rule.condition = {{StatusTest{comparison, value}, false}};
  rule.tolerance = tolerance;
  rule.action = {.kind = ActionKind::Exec, .command = {.arguments = {"/bin/heal"}}, .repeat = repeat};
  rule.identity.condition =
      hash128("status " + std::to_string(static_cast<int>(comparison)) + " " + std::to_string(value));
  rule.text = "if status " + std::to_string(static_cast<int>(comparison)) + " " + std::to_string(value) + " " +
              std::to_string(tolerance.count) + "/" + std::to_string(tolerance.window);
  return rule;
}

inline std::shared_ptr<ServiceBlock> service(std::string name, std::vector<Rule> rules) {
  auto block = std::make_shared<ServiceBlock>();
  block->name = std::move(name);
  block->program.command = {.arguments = {"/bin/check", block->name}};
  std::string all = block->name;
  for (Rule& rule : rules) {
    all += rule.text;
    rule.key = rule.identity.text = hash128(block->name + rule.text);
    std::string done = std::string(to_string(rule.action.kind)) + std::string(to_string(rule.recovery.action.kind));
    for (const Command* command : {&rule.action.command, &rule.recovery.action.command})
      for (const std::string& argument : command->arguments) done += " " + argument;
    rule.identity.actions = hash128(done);
    rule.identity.kind = rule.action.kind;
  }
  block->rules = std::move(rules);
  block->key = hash128(all);
  return block;
}

inline RuleSet rule_set(std::vector<std::shared_ptr<ServiceBlock>> services, Duration cycle = seconds{1}) {
  RuleSet rules;
  rules.settings.cycle = cycle;
  rules.files = {"test.rules"};
  for (auto& block : services) rules.services.push_back(std::move(block));
  return rules;
}

class World : public EffectSink {
 public:
  explicit World(RuleSet rules, SavedState left = {}) : World(make_graph(std::move(rules)), std::move(left)) {}
  World(std::shared_ptr<const Graph> graph, SavedState left, Instant at = kStart)
      : now(at), engine(std::move(graph), utc_civil, left, at), saved(std::move(left)) {}

  static constexpr Instant kStart{
      .boot = 7, .mono = hours{1}, .wall = WallTime{seconds{1'795'235'040}}};  // a full minute

  Instant now;
  Engine engine;
  bool commits = true;                 ///< answer commits at once
  std::vector<Effect> effects;         ///< all, in order
  std::vector<effect::StartRun> open;  ///< runs not answered yet
  std::vector<effect::Exec> execs;
  std::vector<effect::Alert> alerts;
  std::vector<effect::Reply> replies;
  std::vector<Record> records;
  SavedState saved;  ///< what a store would hold
  /// Answers runs by itself where set: status of a run.
  std::function<std::optional<std::int64_t>(ServiceId)> answer;

  void emit(Effect effect) override { inbox_.push_back(std::move(effect)); }

  void handle(const Event& event) {
    engine.handle(event, now, *this);
    if (std::exchange(busy_, true)) return;  // the call further out goes on: effects are taken in order
    for (; !inbox_.empty();) {
      Effect effect = std::move(inbox_.front());
      inbox_.pop_front();
      take(std::move(effect));
    }
    busy_ = false;
  }

  void start() { handle(event::Started{"test"}); }

  /// Lets time pass, waking the engine at each of its deadlines.
  void advance(Duration span) {
    const Duration end = now.mono + span;
    while (true) {
      const auto deadline = engine.next_deadline();
      if (!deadline || *deadline > end) break;
      move_to(std::max(*deadline, now.mono));
      handle(event::Wake{});
    }
    move_to(end);
  }

  void observe(ServiceId id, std::int64_t status, Outcome outcome = Outcome::Exited, std::string output = {},
               std::uint64_t matches = 0) {
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (open[i].service != id) continue;
      const RunId run = open[i].run;
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
      handle(event::Observed{id,
                             run,
                             {.outcome = outcome,
                              .status = status,
                              .matches = matches,
                              .elapsed = milliseconds{5},
                              .output = std::make_shared<const std::string>(std::move(output))}});
      return;
    }
  }

  [[nodiscard]] ServiceId id(std::string_view name) const { return engine.graph()->find(name).value(); }
  [[nodiscard]] std::size_t count(RecordKind kind) const {
    std::size_t found = 0;
    for (const Record& record : records) found += record.kind == kind ? 1U : 0U;
    return found;
  }

 private:
  void move_to(Duration mono) {
    now.wall += mono - now.mono;
    now.mono = mono;
  }

  void take(Effect effect) {
    effects.push_back(effect);
    if (const auto* run = std::get_if<effect::StartRun>(&effect)) {
      open.push_back(*run);
      const ServiceId id = run->service;
      if (const auto status = answer ? answer(id) : std::nullopt) observe(id, *status);
    } else if (const auto* cancel = std::get_if<effect::CancelRun>(&effect)) {
      std::erase_if(open, [&](const effect::StartRun& o) { return o.run == cancel->run; });
    } else if (auto* exec = std::get_if<effect::Exec>(&effect)) {
      execs.push_back(*exec);
    } else if (auto* alert = std::get_if<effect::Alert>(&effect)) {
      alerts.push_back(*alert);
    } else if (auto* reply = std::get_if<effect::Reply>(&effect)) {
      replies.push_back(*reply);
    } else if (auto* commit = std::get_if<effect::Commit>(&effect)) {
      keep(*commit);
      if (commits) handle(event::Committed{.up_to = commit->sequence});
    }
  }

  void keep(const effect::Commit& commit) {
    records.insert(records.end(), commit.records.begin(), commit.records.end());
    engine::keep(saved, commit);
  }

  std::deque<Effect> inbox_;
  bool busy_ = false;
};

}  // namespace healer::test
