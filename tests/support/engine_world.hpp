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
#include "engine/rules/service.hpp"
#include "util/hash.hpp"

namespace healer::test {

using namespace healer::engine;

/// Rules for tests without the language.
/// What the first kind that has this quantity calls it.
std::string_view words_of(engine::Metric metric);

Rule status_rule(Comparison comparison, std::int64_t value, Tolerance tolerance = {}, std::uint16_t repeat = 0);

std::shared_ptr<ServiceBlock> service(std::string name, std::vector<Rule> rules);

RuleSet rule_set(std::vector<std::shared_ptr<ServiceBlock>> services, Duration cycle = seconds{1});

class World : public EffectSink {
 public:
  explicit World(RuleSet rules, SavedState left = {});
  explicit World(std::shared_ptr<const Graph> graph, SavedState left, Instant at = kStart);
  World(World&&) = default;
  ~World() override;

  static constexpr Instant kStart{
      .boot = 7, .mono = hours{1}, .wall = WallTime{seconds{1'795'235'040}}};  // a full minute

  Instant now;
  std::unique_ptr<Engine> engine;     ///< never null; replaced where the daemon is restarted
  bool commits = true;                ///< answer commits at once
  bool unjournalled = false;          ///< in that they cannot be written
  std::vector<Effect> effects;        ///< all, in order
  std::vector<effect::Measure> open;  ///< runs not answered yet
  std::vector<effect::Exec> execs;
  std::vector<effect::Request> requests;
  std::vector<ActionId> ended_requests;
  bool grants = true;                 ///< what healings claim, at once
  std::vector<effect::Claim> claims;  ///< where it does not
  std::string secret_trouble;         ///< why secrets cannot be read; empty: they can be
  std::vector<effect::Alert> alerts;
  std::vector<effect::Reply> replies;
  std::vector<Record> records;
  SavedState saved;                            ///< what a store would hold
  std::function<void(const Event&)> received;  ///< what the engine was told, and has handled
  // Told at once of what is recorded and released, where set.
  std::function<void(const Record&)> recorded;
  std::function<void(const effect::Exec&)> begins;
  std::function<void(const effect::Request&)> asks;
  /// Answers runs by itself where set: status of a run.
  std::function<std::optional<std::int64_t>(ServiceId)> answer;

  void emit(Effect effect) override { inbox_.push_back(std::move(effect)); }

  void handle(const Event& event);

  void start() { handle(event::Started{"test", "box", saved.word}); }

  /// Lets time pass, waking the engine at each of its deadlines.
  void advance(Duration span);

  void observe(ServiceId id, std::int64_t status, Outcome outcome = Outcome::Exited, std::string output = {},
               std::uint64_t matches = 0);

  [[nodiscard]] ServiceId id(std::string_view name) const { return engine->graph()->find(name).value(); }
  [[nodiscard]] std::size_t count(RecordKind kind) const;

 private:
  void move_to(Duration mono);

  void take(Effect effect);

  void keep(const effect::Commit& commit);

  std::deque<Effect> inbox_;
  bool busy_ = false;
};

}  // namespace healer::test
