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
#include "engine/service.hpp"
#include "store/memory_store.hpp"
#include "support/engine_world.hpp"

namespace healer::test {

class DaemonWorld {
 public:
  using ReloadDone = std::function<void(ReloadOutcome)>;

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

  bool reload_confirmed = false;  ///< of the last reload
  std::function<void(ReloadDone)> on_reload = [](const ReloadDone& done) { done({.text = "rules reloaded"}); };
  std::function<void(ReloadDone)> on_diff = [](const ReloadDone& done) { done({.text = "nothing would change"}); };
  std::function<void()> on_quit = [] {};
  /// Takes a command in place of the engine, where it returns true.
  std::function<bool(const event::Command&)> on_submit = [](const event::Command&) { return false; };
  /// The engine's answer to a command.
  void reply(const effect::Reply& reply) { commands_.reply(reply); }
  /// What waits for a mail server from now on; before the first word of it: none, as with an older healer.
  void set_mail(const MailView& mail) {
    act([&](World&) { mail_ = mail; });
  }
  /// From now on the rules in force are not those on disk.
  void set_stale(const std::optional<StaleView>& stale) {
    act([&](World&) { stale_ = stale; });
  }
  /// Where programs write their output.
  [[nodiscard]] std::string output_path(ActionId action) const {
    return folder_.path() + "/" + std::to_string(action.number()) + ".out";
  }

 private:
  DaemonHooks hooks() {
    return {.engine = world_.engine,
            .store = store_,
            .now = [this] { return world_.now; },
            .submit =
                [this](event::Command command) {
                  if (on_submit(command)) return;
                  world_.handle(command);
                  settle();
                },
            .reload =
                [this](bool confirmed, ReloadDone done) {
                  reload_confirmed = confirmed;
                  on_reload(std::move(done));
                },
            .quit = [this] { on_quit(); },
            .output_path = [this](ActionId action) { return output_path(action); },
            .mail = [this] { return mail_; },
            .version = "1.2.3",
            .diff = [this](ReloadDone done) { on_diff(std::move(done)); },
            .stale = [this] { return stale_; }};
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

  TemporaryFolder folder_;
  World world_;
  store::MemoryStore store_;
  Commands commands_;
  std::size_t settled_ = 0;
  bool begun_ = false;
  std::optional<MailView> mail_;
  std::optional<StaleView> stale_;
  ServerWorld server_;
};

/// Puts a service of the world into a state that many events would lead to.
inline ServiceState& state_of(World& world, std::string_view name) {
  return const_cast<ServiceState&>(world.engine.service(world.id(name)));
}

/// The program of the rule of "db" runs as pid 4242.
inline ActionId running_action(DaemonWorld& world) {
  ActionId action;
  world.cycle(1);
  world.act([&](World& engine) {
    action = engine.execs.back().action;
    engine.handle(event::ActionStarted{action, 4242});
    engine.advance(milliseconds{500});
  });
  return action;
}

/// A restart of "web", asked for by root: "db" is being started, by a program.
inline Job& add_restart(World& world) {
  using Kind = effect::SavedStep::Kind;
  const ServiceId web = world.id("web"), db = world.id("db");
  Job job{.id = JobId{70},
          .kind = ActionKind::Restart,
          .service = web,
          .steps = {{web, Kind::Stop}, {db, Kind::Start}, {web, Kind::Start}},
          .position = 1,
          .phase = Job::Phase::Acting,
          .action = ActionId{71},
          .deadline = world.now.mono + seconds{30},
          .begun = world.now.mono - seconds{3},
          .by = "root"};
  state_of(world, "web").job = state_of(world, "db").job = job.id;
  auto& jobs = const_cast<std::map<std::uint64_t, Job>&>(world.engine.jobs());
  return jobs.insert_or_assign(70, std::move(job)).first->second;
}

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
