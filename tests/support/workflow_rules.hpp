// SPDX-License-Identifier: MIT
// Rules with workflows, from their text: for tests of simulations and their scripts.
#pragma once

#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include "config/check.hpp"
#include "config/load.hpp"
#include "engine/rules/graph.hpp"
#include "support/fake_environment.hpp"

namespace healer::test {

/// Rules whose program /bin/ping fails for two cycles before they heal.
inline engine::RuleSet rules(const std::string& text) {
  FakeEnvironment machine;
  machine.online = false;
  machine.files["/rules"] = "set daemon 30\n" + text;
  config::LoadResult loaded = config::load("/rules", {}, machine);
  INFO(config::format_all(loaded.diagnostics, loaded.sources, false));
  REQUIRE(loaded.ok());
  return std::move(*loaded.rules);
}

/// Six nodes of a group, healed with `workflows`.
inline std::string fleet(const std::string& workflows) {
  return workflows + R"(
for each NODE in "n1" .. "n6" {
  check program ping_${NODE} with path "/bin/ping ${NODE}"
    group nodes
    if status != 0 for 2 cycles then heal with rebuild
})";
}

/// One service.
inline std::string app(const std::string& workflows) {
  return workflows + "check program app with path \"/bin/ping\" if status != 0 for 2 cycles then heal with rebuild\n";
}

inline const std::string kRebuild = R"(
workflow redeploy {
  guard program "/bin/may-go ${TARGET}" timeout 10 seconds
  step "deploy" program "/bin/deploy ${TARGET}" timeout 20 minutes
  step "verify" recovered within 5 minutes
}
workflow rebuild {
  guard program "/bin/may-go ${TARGET}" timeout 10 seconds
  step "shut down" program "/bin/shutdown ${TARGET}" timeout 2 minutes retry 2 times every 10 seconds repeatable
  step "rebuild" program "/bin/rebuild ${TARGET}" timeout 20 minutes
  step "verify" recovered within 5 minutes
  on failure heal with redeploy
  tries 2
})";

inline const std::string kStack = R"rules(
set secrets "/nonexistent"
workflow rebuild {
  guard program "/bin/may-go" timeout 10 seconds
  step "token" http post "https://id.example/tokens" header "X-Key: ${secret:key}" body '{}' expect 201
       save json '.id' as TOKEN secret repeatable
  step "find" program "/bin/find" timeout 10 seconds save "id=([0-9]+)" as ID
  step "update" http patch "https://heat.example/stacks/${ID}" header "X-Auth-Token: ${TOKEN}" body '{}' expect 202
       until get "https://heat.example/stacks/${ID}" json '.status' = "COMPLETE" fail json '.status' = "FAILED"
             every 5 seconds within 10 minutes
  step "verify" recovered within 5 minutes
  tries 2
  cooldown 5 minutes
}
)rules";

}  // namespace healer::test
