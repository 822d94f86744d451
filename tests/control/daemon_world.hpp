// SPDX-License-Identifier: MIT
// A daemon without a machine: the engine in virtual time, a store in memory, and the commands on a real control socket.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "control/commands.hpp"
#include "control/server_world.hpp"
#include "store/memory_store.hpp"
#include "support/engine_world.hpp"

namespace healer::test {

class DaemonWorld {
 public:
  using ReloadDone = std::function<void(bool ok, std::string text)>;

  explicit DaemonWorld(RuleSet rules, ServerOptions options = patient())
      : world_(std::move(rules)), commands_(hooks()), server_(commands_, std::move(options)) {
    act([](World& world) { world.start(); });
  }

  /// Does something with the engine, on the thread that owns it.
  void act(const std::function<void(World&)>& work) {
    server_.thread().run([&] {
      work(world_);
      settle();
    });
  }
  /// The next run of each service exits with `status`.
  void cycle(std::int64_t status, const std::string& output = {}) {
    act([&](World& world) {
      world.advance(begun_ ? seconds{1} : seconds{0});
      begun_ = true;
      for (const ServiceId id : world.engine.graph()->order) world.observe(id, status, Outcome::Exited, output);
    });
  }
  [[nodiscard]] const std::string& path() const { return server_.path(); }
  [[nodiscard]] ServerWorld& server() { return server_; }
  /// On the server's thread.
  [[nodiscard]] Commands& commands() { return commands_; }
  [[nodiscard]] store::MemoryStore& store() { return store_; }

  std::function<void(ReloadDone)> on_reload = [](const ReloadDone& done) { done(true, "rules reloaded"); };
  std::function<void()> on_quit = [] {};

 private:
  DaemonHooks hooks() {
    return {.engine = world_.engine,
            .store = store_,
            .now = [this] { return world_.now; },
            .submit =
                [this](event::Command command) {
                  world_.handle(command);
                  settle();
                },
            .reload = [this](ReloadDone done) { on_reload(std::move(done)); },
            .quit = [this] { on_quit(); },
            .version = "1.2.3"};
  }

  /// Commits go to the store, replies to the commands, as in the daemon.
  void settle() {
    for (; settled_ < world_.effects.size(); ++settled_) {
      const Effect effect = world_.effects[settled_];
      if (const auto* commit = std::get_if<effect::Commit>(&effect)) {
        store_.submit(*commit);
        commands_.recorded();
      } else if (const auto* reply = std::get_if<effect::Reply>(&effect)) {
        commands_.reply(*reply);
      }
    }
  }

  World world_;
  store::MemoryStore store_;
  Commands commands_;
  std::size_t settled_ = 0;
  bool begun_ = false;
  ServerWorld server_;
};

/// "web" fails at the third failed run, "db" at once; "db" is in the group "databases".
inline RuleSet two_services() {
  auto web = service("web", {status_rule(Comparison::NotEqual, 0, {.count = 3, .window = 3})});
  auto db = service("db", {status_rule(Comparison::NotEqual, 0)});
  for (auto& block : {web, db}) {
    block->place = {.file = 0, .column = 1, .line = 10};
    block->rules[0].place = {.file = 0, .column = 3, .line = 11};
  }
  web->rules[0].text = "if status != 0 for 3 cycles then exec \"/bin/heal\"";
  db->rules[0].text = "if status != 0 then exec \"/bin/heal\"";
  db->groups = {"databases"};
  return rule_set({web, db});
}

}  // namespace healer::test
