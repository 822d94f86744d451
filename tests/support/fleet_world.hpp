// SPDX-License-Identifier: MIT
// A fleet in virtual time: targets that fail and are well as a test says, healed by a workflow "rebuild".
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/rules/workflow.hpp"
#include "support/engine_world.hpp"

namespace healer::test {

struct Fleet {
  int targets = 1;
  std::uint32_t tries = 2;
  std::vector<HealingLimit> limits{{.number = 1}};
  HealingMode mode = HealingMode::Automatic;
  std::optional<Breaker> breaker{};
  Duration probation{0};
  bool escalate = false;  ///< on failure: heal with redeploy
  std::string tell{};     ///< on failure: alert with this text
  bool of_rows = false;   ///< their targets are rows of a list: row0, row1, ...
  bool calls = false;     ///< steps of requests in place of programs: token, mark, update (until it is done)
  std::optional<Approval> approval{};
  bool listed = false;                            ///< targets are rows of the list NODE
  bool maintenance = false;                       ///< of everything, ten minutes in each hour, at 30
  bool sentinel = false;                          ///< `set healing only while sentinel`
  bool written = false;                           ///< the rows of `listed` stand in the rules
  std::set<int> absent{};                         ///< targets that the rules do not have now
  HealingMode over_all = HealingMode::Automatic;  ///< `set healing mode`
};

inline constexpr std::string_view kSentinel = "sentinel";

/// Rules of a fleet: services n0, n1, ... of group "nodes", each with `if status != 0 then heal with rebuild`.
RuleSet fleet_rules(const Fleet& fleet);

class FleetWorld : public World {
 public:
  explicit FleetWorld(const Fleet& fleet);
  /// `granted`: what healings claim, at once.
  FleetWorld(std::shared_ptr<const Graph> graph, SavedState left, std::vector<bool> failed, Instant at,
             bool granted = true);

  void fail(int target) { failed[static_cast<std::size_t>(target)] = true; }
  void heal(int target) { failed[static_cast<std::size_t>(target)] = false; }
  /// Lets time pass until a program of that name is started; the target that it is for. Empty where none is, in half an
  /// hour.
  std::string wait_for(std::string_view program);
  /// The program that was started last ends with this status; negative: by this signal.
  void end_program(int status);
  void pass(std::string_view program) {
    wait_for(program);
    end_program(0);
  }
  /// Lets time pass until a request of that method is made, and to a URL that ends so; its number. 0 where none is, in
  /// half an hour.
  ActionId wait_for_request(std::string_view method, std::string_view end);
  /// The request that was made last is answered, with these values for its filters.
  void answer_request(std::uint16_t status, std::vector<std::optional<std::string>> values = {},
                      std::vector<std::optional<std::string>> kept = {});
  void fail_request(event::Answered::Kind kind, const std::string& why);
  /// What the program that was started last is called.
  [[nodiscard]] std::string last_program() const;
  [[nodiscard]] std::size_t programs(std::string_view name) const;
  [[nodiscard]] std::size_t alerts_of(std::string_view event) const;

  std::vector<bool> failed;
  bool sentinel_failed = false;
  /// Told of each answer, where set: whether that is well.
  std::function<void(const std::string& service, bool well)> judged;
  std::size_t taken = 0;           ///< programs that a test has waited for
  std::size_t requests_taken = 0;  ///< the same of requests
};

}  // namespace healer::test
