// SPDX-License-Identifier: MIT
#include "control/daemon_world.hpp"

#include "support/job_view.hpp"

namespace healer::test {

void DaemonWorld::act(const std::function<void(World&)>& work) {
  server_.thread().run([&] {
    work(world_);
    settle();
  });
}

void DaemonWorld::cycle(std::int64_t status, const std::string& output) {
  act([&](World& world) {
    world.advance(begun_ ? seconds{1} : seconds{0});
    begun_ = true;
    for (const ServiceId id : world.engine->graph()->order) world.observe(id, status, Outcome::Exited, output);
  });
}

void DaemonWorld::set_contacts(const std::vector<ContactView>& contacts) {
  act([&](World&) { contacts_ = contacts; });
}

void DaemonWorld::set_mail(const MailView& mail) {
  act([&](World&) { mail_ = mail; });
}

void DaemonWorld::check_tokens() {
  act([&](World&) {
    for (const auto& check : std::exchange(checks_, {})) check();
  });
}

void DaemonWorld::set_stale(const std::optional<StaleView>& stale) {
  act([&](World&) { stale_ = stale; });
}

std::string DaemonWorld::output_path(ActionId action) const {
  return folder_.path() + "/" + std::to_string(action.number()) + ".out";
}

void DaemonWorld::submit(const event::Command& command) {
  if (on_submit(command)) return;
  world_.handle(command);
  settle();
}

void DaemonWorld::settle() {
  for (; settled_ < world_.effects.size(); ++settled_) {
    const Effect effect = world_.effects[settled_];
    statistics_.note(effect, *world_.engine);
    if (const auto* commit = std::get_if<effect::Commit>(&effect)) {
      store_.submit(*commit);
      commands_.add(commit->records);
      commands_.recorded(commit->sequence);
    } else if (const auto* reply = std::get_if<effect::Reply>(&effect)) {
      commands_.reply(*reply);
    }
  }
}

ServiceState& state_of(World& world, std::string_view name) {
  return const_cast<ServiceState&>(world.engine->service(world.id(name)));
}

void pause(World& world, std::string_view name, std::optional<WallTime> until, std::string reason) {
  world.handle(event::Command{.id = CommandId{900},
                              .kind = event::Command::Kind::Pause,
                              .services = {world.id(name)},
                              .by = ByPerson{"root"},
                              .until = until,
                              .reason = std::move(reason)});
}

ActionId running_action(DaemonWorld& world) {
  ActionId action;
  world.cycle(1);
  world.act([&](World& engine) {
    action = engine.execs.back().action;
    engine.handle(event::ActionStarted{action, 4242});
    engine.advance(milliseconds{500});
  });
  return action;
}

Job& add_restart(World& world) {
  const ServiceId web = world.id("web"), db = world.id("db");
  Job job{.id = JobId{70},
          .kind = ActionKind::Restart,
          .service = web,
          .steps = {{web, Bringing::Stop}, {db, Bringing::Start}, {web, Bringing::Start}},
          .position = 1,
          .begun = world.now.mono - seconds{3},
          .by = ByPerson{"root"}};
  let_run(job, ActionId{71});
  set_deadline(job, world.now.mono + seconds{30});
  state_of(world, "web").job = state_of(world, "db").job = job.id;
  auto& jobs = const_cast<std::map<std::uint64_t, Job>&>(world.engine->jobs());
  return jobs.insert_or_assign(70, std::move(job)).first->second;
}

RuleSet two_services() {
  auto web = service("web", {status_rule(Comparison::NotEqual, 0, {.count = 3, .window = 3})});
  auto db = service("db", {status_rule(Comparison::NotEqual, 0)});
  for (auto& block : {web, db}) {
    block->place = {.file = 0, .column = 1, .line = 10};
    block->rules[0].place = {.file = 0, .column = 3, .line = 11};
  }
  web->rules[0]->text = "if status != 0 for 3 cycles then exec \"/bin/heal\"";
  db->rules[0]->text = "if status != 0 then exec \"/bin/heal\"";
  db->groups = {"databases"};
  return rule_set({web, db});
}

}  // namespace healer::test
