// SPDX-License-Identifier: MIT
// Healing as people see and steer it: over the socket, and by healerctl.
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "control/client.hpp"
#include "control/daemon_world.hpp"
#include "control/healing_views.hpp"
#include "control/views.hpp"
#include "ctl/render/render.hpp"
#include "engine/rules/service.hpp"
#include "support/fleet_world.hpp"
#include "support/paths.hpp"

namespace healing_control_test {

using namespace healer;
using namespace healer::control;
using namespace healer::test;

namespace {

/// A fleet behind a control socket.
class HealedWorld : public DaemonWorld {
 public:
  explicit HealedWorld(const Fleet& fleet) : DaemonWorld(fleet_rules(fleet)) {
    act([this](World& world) {
      world.answer = [this](ServiceId id) -> std::optional<std::int64_t> {
        return failed_.contains(id.index()) ? 1 : 0;
      };
      world.advance(seconds{2});
    });
  }
  void fail(std::size_t target) {
    act([&](World& world) {
      failed_.insert(target);
      world.advance(seconds{2});
    });
  }
  void recover(std::size_t target) {
    act([&](World& world) {
      failed_.erase(target);
      world.advance(seconds{2});
    });
  }
  void pass(Duration time) {
    act([&](World& world) { world.advance(time); });
  }
  /// Lets time pass until the program is started, as pid 4242.
  void wait_for(const std::string& program) {
    act([&](World& world) {
      const auto is_there = [&] {
        return world.execs.size() > taken_ && world.execs.back().command.arguments.front() == "/bin/" + program;
      };
      for (int i = 0; i < 18'000 && !is_there(); ++i) world.advance(milliseconds{100});
      if (!is_there()) throw std::runtime_error("no " + program);
      taken_ = world.execs.size();
      world.handle(event::ActionStarted{.action = world.execs.back().action, .pid = 4242, .start_ticks = 1});
    });
  }
  void end_program(int status) {
    act([&](World& world) {
      world.handle(event::ActionEnded{
          .action = world.execs.back().action, .outcome = Outcome::Exited, .status = status, .elapsed = seconds{1}});
    });
  }

 private:
  std::set<std::size_t> failed_;
  std::size_t taken_ = 0;
};

struct Received {
  std::vector<Json> items;
  Reply reply;

  [[nodiscard]] std::string failure() const {
    return reply.failure ? reply.failure->code + ": " + reply.failure->message + " | " + reply.failure->remedy : "none";
  }
};

Received ask(DaemonWorld& world, const Request& request) {
  auto client = Client::connect(world.path(), kPatience);
  if (auto* failure = std::get_if<Failure>(&client)) throw std::runtime_error(failure->message);
  Received received;
  received.reply = std::get<Client>(client).call(request, [&](const Json& item) { received.items.push_back(item); });
  return received;
}

Json one(DaemonWorld& world, Verb verb, const std::string& name) {
  return ask(world, {.verb = verb, .names = {name}}).items.at(0);
}

std::string healerctl(DaemonWorld& world, const std::string& arguments) {
  const TemporaryFolder folder;
  const std::string command = "{ TZ=UTC " + build_folder() + "/healerctl --socket " + world.path() + " " + arguments +
                              "; } >" + folder.path() + "/out 2>&1";
  const int status = std::system(command.c_str());
  std::ifstream file(folder.path() + "/out");
  return std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : -1) + "|" +
         std::string(std::istreambuf_iterator<char>(file), {});
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// What a line of `jobs follow` says of another stage.
std::string stage_in(const std::string& line) {
  const Json item = Json::parse(line).at("item");
  return item.at("doing").get<std::string>() + "; " + item.value("waits_for", "");
}

std::string id_of(DaemonWorld& world, std::size_t at = 0) {
  return std::to_string(ask(world, {.verb = Verb::HealingStatus}).items.at(at).at("id").get<std::uint64_t>());
}

std::string plan_of(DaemonWorld& world) {
  return ask(world, {.verb = Verb::HealingStatus}).items.at(0).at("plan_hash").get<std::string>();
}

}  // namespace

TEST_CASE("healing status tells what runs, what is held back, and why", "[control][healing]") {
  HealedWorld world({.targets = 6});
  CHECK(ask(world, {.verb = Verb::HealingStatus}).items.empty());
  CHECK(healerctl(world, "healing") == "0|nothing is being healed or held back\n");
  world.fail(0);
  world.fail(1);
  world.wait_for("guard");
  world.end_program(0);
  world.wait_for("shutdown");
  const Received received = ask(world, {.verb = Verb::HealingStatus});
  REQUIRE(received.items.size() == 2);
  const Json& runs = received.items[0];
  CHECK(runs.at("target") == "n0");
  CHECK(runs.at("workflow") == "rebuild");
  CHECK(runs.at("stage") == "under way");
  CHECK(runs.at("waits") == false);
  CHECK(runs.at("mode") == "automatic");
  CHECK(runs.at("try") == 1);
  CHECK(runs.at("tries") == 2);
  CHECK(runs.at("step") == 1);
  CHECK(runs.at("steps") == 3);
  CHECK(runs.at("doing") == "shutdown");
  CHECK(runs.at("waits_for") == "its program to end");
  CHECK(runs.at("pid") == 4242);
  CHECK(runs.at("action") != 0);
  CHECK(runs.at("since").is_string());
  CHECK(runs.at("by") == "rule");
  const Json& waits = received.items[1];
  CHECK(waits.at("target") == "n1");
  CHECK(waits.at("stage") == "held back");
  CHECK(waits.at("waits") == true);
  CHECK(waits.at("reason") == "limit reached: 1 of 1 running");
  CHECK(received.reply.end.at("doubt") == "");
  CHECK(received.reply.end.at("cooldowns").empty());

  const std::string shown = healerctl(world, "healing status");
  INFO(shown);
  CHECK(has(shown, "ID "));
  CHECK(has(shown, "rebuild   under way  1/2  1/3  "));
  CHECK(has(shown, "shutdown, waits for its program to end (pid 4242"));
  CHECK(
      has(shown,
          "limit reached: 1 of 1 running; it begins when one of those has ended; `healerctl heal n1 --override limit` "
          "heals it none the less\n"));
  const Json document = Json::parse(healerctl(world, "healing status --json").substr(2));
  CHECK(document.at("command") == "healing-status");
  CHECK(document.at("healings").size() == 2);
  CHECK(document.at("doubt") == "");
}

TEST_CASE("a service whose target is healed or held back says so", "[control][healing]") {
  HealedWorld world({.targets = 6});
  CHECK(one(world, Verb::Status, "n0").at("healing").is_null());
  world.fail(0);
  world.fail(1);
  world.wait_for("guard");
  CHECK(has(one(world, Verb::Summary, "n0").at("text"), "(being healed with rebuild: guard)"));
  world.end_program(0);
  world.wait_for("shutdown");
  CHECK(has(one(world, Verb::Summary, "n0").at("text"), "(being healed with rebuild: step 1 of 3, shutdown)"));
  CHECK(has(one(world, Verb::Summary, "n1").at("text"),
            "(healing with rebuild held back: limit reached: 1 of 1 running)"));
  CHECK_FALSE(has(one(world, Verb::Summary, "n2").at("text"), "heal"));
  CHECK(one(world, Verb::Status, "n0").at("healing").at("doing") == "shutdown");
  CHECK(one(world, Verb::Status, "n0").at("actions").empty());
  const std::string shown = healerctl(world, "status n0 n1");
  INFO(shown);
  CHECK(has(shown, "healing    under way with rebuild, try 1 of 2, step 1 of 3, for "));
  CHECK(has(shown, ": shutdown, waits for its program to end (pid 4242"));
  CHECK(has(shown, "healing    held back with rebuild, for "));
  CHECK(has(shown, ": limit reached: 1 of 1 running; it begins when "));
}

TEST_CASE("A target whose healing was cancelled before it began is shown with a reason for being left alone",
          "[control][healing]") {
  HealedWorld world({.targets = 6});
  world.fail(0);
  world.fail(1);
  world.wait_for("guard");
  world.end_program(0);
  world.wait_for("shutdown");
  CHECK(ask(world, {.verb = Verb::HealingStatus}).reply.end.at("spent").empty());
  healerctl(world, "cancel n1");
  const std::string shown = healerctl(world, "healing status");
  INFO(shown);
  CHECK(has(shown,
            "n1 stands failed, and its rules heal it again only after it has recovered and fails anew; `healerctl heal "
            "n1` heals it now\n"));
}

TEST_CASE("a healing under way is a job, whose output can be followed", "[control][healing]") {
  HealedWorld world({.targets = 6});
  world.fail(0);
  world.fail(1);
  world.wait_for("guard");
  world.end_program(0);
  world.wait_for("shutdown");
  const Received received = ask(world, {.verb = Verb::Jobs});
  REQUIRE(received.items.size() == 1);
  const JobView job = received.items[0].get<JobView>();
  CHECK(job.kind == "heal");
  CHECK(job.service == "n0");
  CHECK(job.doing == "heal n0 with rebuild, try 1 of 2, shutdown");
  CHECK(job.waits_for == "its program to end");
  CHECK(job.step == 1);
  CHECK(job.steps == 3);
  CHECK(job.pid == 4242);
  RawClient client(world.path());
  client.send(to_line(Request{.verb = Verb::Follow, .id = job.id}) + "\n");
  CHECK(has(client.lines(1), "\"follow\""));
  CHECK(stage_in(client.lines(1)) == "heal n0 with rebuild, try 1 of 2, shutdown; its program to end");
  std::ofstream(world.output_path(ActionId{job.action})) << "going down\n";
  world.act([](World&) {});
  CHECK(client.lines(1) == item_line(OutputView{job.action, "n0", job.doing, "going down\n"}));
  // Also where no program writes anything.
  world.end_program(7);
  CHECK(stage_in(client.lines(1)) == "heal n0 with rebuild, try 1 of 2, shutdown; its next attempt");
  healerctl(world, "cancel " + std::to_string(job.id));
  world.wait_for("undo");
  world.end_program(0);
  std::string line = client.lines(1);
  while (has(line, "\"item\"")) line = client.lines(1);
  CHECK(has(line, "healing " + std::to_string(job.id) + " of n0 has ended: cancelled"));
  const std::string shown = render_stage({.doing = "calm\x1b", .waits_for = "its time to pass", .left = seconds{30}});
  CHECK(has(shown, ", waits for its time to pass (at most 30 s more) <==\n"));
  CHECK_FALSE(has(shown, "\x1b"));
}

TEST_CASE("explain tells what each brake says, and would say", "[control][healing]") {
  HealedWorld world({.targets = 6});
  Json rule = one(world, Verb::Explain, "n0").at("rules").at(0);
  CHECK(rule.at("state") == "ok");
  CHECK(rule.at("heals").at("workflow") == "rebuild");
  CHECK(rule.at("heals").at("target") == "n0");
  CHECK(rule.at("heals").at("guard") == "/bin/guard");
  CHECK(rule.at("heals").at("healing").is_null());
  REQUIRE(rule.at("heals").at("brakes").size() > 5);
  for (const Json& brake : rule.at("heals").at("brakes")) {
    INFO(brake.dump());
    CHECK(brake.at("lets") == true);
  }
  world.fail(0);
  world.fail(1);
  world.wait_for("guard");
  rule = one(world, Verb::Explain, "n0").at("rules").at(0);
  CHECK(rule.at("heals").at("healing").at("stage") == "runs the guard");
  CHECK(rule.at("heals").at("brakes").empty());
  rule = one(world, Verb::Explain, "n1").at("rules").at(0);
  CHECK(rule.at("state") == "failed");
  CHECK(rule.at("heals").at("healing").at("stage") == "held back");
  const auto brake_text = [](const Json& of, const std::string& brake) {
    for (const Json& one : of.at("heals").at("brakes"))
      if (one.at("brake") == brake) return one.at("lets").get<bool>() ? "yes" : one.at("text").get<std::string>();
    return std::string("nothing");
  };
  CHECK(brake_text(rule, "limit") == "1 of 1 running");
  CHECK(brake_text(rule, "cooldown") == "yes");
  // One that is well has no healing, but the place is taken.
  CHECK(brake_text(one(world, Verb::Explain, "n5").at("rules").at(0), "limit") == "1 of 1 running");
  const std::string shown = healerctl(world, "explain n1");
  INFO(shown);
  CHECK(has(shown, "     heals        n1 with rebuild; its guard is /bin/guard\n"));
  CHECK(has(shown, "     healing      held back with rebuild, for "));
  CHECK(has(shown, "     brakes       blocked by limit: 1 of 1 running\n"));
  CHECK_FALSE(has(shown, "one at a time"));
  const std::string all = healerctl(world, "explain --all n5");
  CHECK(has(all, "     brakes       blocked by limit: 1 of 1 running\n"));
  CHECK(has(all, "                  allowed by one at a time\n"));
}

TEST_CASE("what would be said where most of a group is not well closes the brake, though nothing waits",
          "[control][healing]") {
  HealedWorld world({.targets = 6});
  world.act([](World& engine) {
    for (const char* name : {"n1", "n2", "n3", "n4"})
      engine.handle(event::Command{.id = CommandId{9},
                                   .kind = event::Command::Kind::Pause,
                                   .services = {engine.id(name)},
                                   .by = ByPerson{"anna"}});
  });
  world.act([](World& engine) {
    const auto verdicts = engine.engine->healing().preview_brakes(engine.id("n0"), {.workflow = "rebuild"}, engine.now);
    const auto pause = std::ranges::find(verdicts, engine::Brake::PauseWhile, &BrakeVerdict::brake);
    REQUIRE(pause != verdicts.end());
    CHECK_FALSE(pause->lets);
    CHECK(pause->text ==
          "4 of 6 in group nodes are not well (4 of them are paused, which counts as not well); goes on at no more "
          "than 50 %");
    CHECK(engine.engine->healing().preview_brakes(engine.id("n1"), {.workflow = "rebuild"}, engine.now)[1].text ==
          "n1 was paused by anna");
    CHECK(engine.engine->healing().preview_brakes(engine.id("n0"), {.workflow = "nosuch"}, engine.now).at(0).text ==
          "there is none named nosuch");
    CHECK(engine.engine->healings().idle());
  });
}

TEST_CASE("Unmonitoring or stopping a target reports the healing that it ends", "[control][healing]") {
  HealedWorld world({.targets = 2});
  world.fail(0);
  world.wait_for("guard");
  const std::string id = id_of(world);
  CHECK(healerctl(world, "unmonitor n0") ==
        "0|n0 unmonitored\nhealing " + id +
            " of n0 with rebuild is abandoned: its guard goes on to its end, and nothing follows\n");
  const Json healing = ask(world, {.verb = Verb::HealingStatus}).items.at(0);
  CHECK(healing.at("abandoned").get<std::string>().starts_with("its target was unmonitored by "));
  CHECK(has(healerctl(world, "healing"), "abandoned, nothing follows: its target was unmonitored by "));
  world.end_program(0);
  CHECK(ask(world, {.verb = Verb::HealingStatus}).items.empty());
  CHECK(ask(world, {.verb = Verb::HealingReport}).items.at(0).at("abandoned") == 1);
  CHECK(has(healerctl(world, "healing"), "(healing " + id + ": abandoned "));
}

TEST_CASE("people ask for healings, approve, reject and cancel them", "[control][healing]") {
  HealedWorld world({.targets = 6, .mode = HealingMode::Approval});
  CHECK(has(healerctl(world, "heal n0"), "0|healing of n0 with rebuild is held back: storm: "));
  world.pass(seconds{2});
  std::string id = id_of(world);
  const Json waits = ask(world, {.verb = Verb::HealingStatus}).items.at(0);
  CHECK(waits.at("stage") == "waits for approval");
  CHECK(waits.at("mode") == "approval");
  CHECK(waits.at("left_ms") > 0);
  const std::string line = "healerctl approve " + id + " --plan " + plan_of(world);
  CHECK(has(healerctl(world, "summary n0"), "waits for approval: " + line));
  CHECK(has(healerctl(world, "status n0"), line));
  const std::string status = healerctl(world, "healing");
  INFO(status);
  CHECK(has(status, "\nhealing " + id + " of n0 waits for approval:\n  " + line +
                        "\n  guard program /bin/guard n0, timeout 10 s\n"
                        "  step \"shutdown\": program /bin/shutdown n0, timeout 20 m, retry 2 times\n"));
  CHECK(healerctl(world, "approve " + id) ==
        "1|healerctl: healing " + id +
            " is approved by the hash of its plan, which `healerctl healing status` shows\n  `" + line + "`\n");
  CHECK(healerctl(world, "approve n0 --plan 0123456") ==
        "1|healerctl: \"0123456\" is not the hash of a plan: 8 digits or more are needed\n  `" + line + "`\n");
  CHECK(healerctl(world, "approve n0 --plan 01234567") ==
        "1|healerctl: nothing was approved: the plan of healing " + id +
            " is not 01234567\n  `healerctl healing status` shows it; `" + line + "`\n");
  CHECK(ask(world, {.verb = Verb::HealingStatus}).items.at(0).at("stage") == "waits for approval");
  CHECK(has(healerctl(world, "approve " + id + " --plan " + plan_of(world)),
            "0|healing of n0 with rebuild approved by "));
  world.wait_for("guard");
  CHECK(has(healerctl(world, "approve " + id + " --plan 01234567"),
            "1|healerctl: healing " + id + " does not wait for approval"));
  CHECK(has(healerctl(world, "cancel " + id), "0|healing of n0 with rebuild cancelled\n"));
  world.end_program(0);
  CHECK(has(healerctl(world, "heal n1 --with REBUILD"), "0|healing of n1 with rebuild"));
  world.pass(seconds{2});
  id = id_of(world);
  CHECK(healerctl(world, "reject " + id) == "0|healing of n1 with rebuild rejected\n");
  CHECK(ask(world, {.verb = Verb::HealingStatus}).items.empty());
  CHECK(healerctl(world, "reject " + id) ==
        "1|healerctl: there is no healing " + id + " (any more)\n  `healerctl healing status` lists them\n");
  CHECK(has(healerctl(world, "cancel " + id), "1|healerctl: nothing with the number " + id + " is under way"));

  const Received report = ask(world, {.verb = Verb::HealingReport});
  REQUIRE(report.items.size() == 2);
  CHECK(report.items[0].dump() ==
        R"({"workflow":"rebuild","known":true,"proposed":2,"would_run":0,"approved":1,"rejected":1,"ran":0,)"
        R"("recovered":0,"failed":0,"abandoned":0})");
  const std::string shown = healerctl(world, "healing report");
  INFO(shown);
  CHECK(has(shown, "WORKFLOW  PROPOSED  WOULD HAVE RUN  APPROVED  REJECTED  RAN  RECOVERED  FAILED  ABANDONED\n"));
  CHECK(has(shown, "rebuild   2         0               1         1         0    0          0\n"));
}

TEST_CASE("A request for a healing reports that it needs approval", "[control][healing]") {
  HealedWorld world({.targets = 1, .mode = HealingMode::Approval});
  CHECK(has(healerctl(world, "heal n0"), "0|healing of n0 with rebuild waits for approval (healing "));
  CHECK(has(healerctl(world, "approve " + id_of(world) + " --plan " + plan_of(world)), "0|"));
  world.wait_for("guard");
  CHECK(one(world, Verb::Status, "n0").at("healing").at("approved_by") != "");
}

TEST_CASE("people override brakes, by name", "[control][healing]") {
  HealedWorld world({.targets = 6});
  world.fail(0);
  world.wait_for("guard");
  CHECK(has(healerctl(world, "heal n1"), "0|healing of n1 with rebuild is held back: limit reached: 1 of 1 running"));
  CHECK(has(healerctl(world, "heal n1 --override limit,pause"), "already"));
  const Json of_n1 = ask(world, {.verb = Verb::HealingStatus}).items.at(1);
  CHECK(of_n1.at("overrides").dump() == R"(["limit","pause"])");
  CHECK(of_n1.at("by") != "rule");
  CHECK(healerctl(world, "heal n1 --override limits") ==
        "2|healerctl: --override takes limit, cooldown and pause, not \"limits\"; did you mean \"limit\"?\n"
        "  `healerctl --help` shows how it is used\n");
  CHECK(ask(world, {.verb = Verb::Heal, .names = {"n1"}, .overrides = {"guard"}}).failure() ==
        "bad-request: only limit, cooldown and pause may be overridden, not \"guard\" | ");
  CHECK(ask(world, {.verb = Verb::Heal, .names = {"n1"}, .workflow = "rebild"}).failure() ==
        "unknown-workflow: there is no workflow \"rebild\" | did you mean \"rebuild\"?");
  CHECK(has(healerctl(world, "heal"), "2|healerctl: heal which services?"));
  CHECK(has(healerctl(world, "heal n9"), "there is no target and no service \"n9\""));
}

TEST_CASE("Overriding brakes of a held back healing reports the result", "[control][healing]") {
  HealedWorld world({.targets = 6});
  world.fail(0);
  world.wait_for("guard");
  CHECK(has(healerctl(world, "heal n1"), "is held back: limit reached: 1 of 1 running"));
  const std::string id = id_of(world, 1);
  CHECK(healerctl(world, "heal n1") == "0|healing of n1 with rebuild is requested already (healing " + id +
                                           "); it is held back: limit reached: 1 of 1 running\n");
  CHECK(healerctl(world, "heal n1 --override cooldown") ==
        "0|healing of n1 with rebuild is requested already (healing " + id +
            "); overridden: cooldown; it is held back: limit reached: 1 of 1 running\n");
  CHECK(healerctl(world, "heal n1 --override limit") ==
        "0|healing of n1 with rebuild is requested already (healing " + id +
            "); overridden: limit; it has begun: its guard is running\n");
  CHECK(healerctl(world, "heal n1 --override pause") ==
        "0|healing of n1 with rebuild is under way already (healing " + id +
            "); it has already begun and no brake holds it: nothing was overridden\n");
}

TEST_CASE("healings are named by number, by target and by service", "[control][healing]") {
  HealedWorld world({.targets = 2, .mode = HealingMode::Approval, .of_rows = true});
  CHECK(has(healerctl(world, "status rwo0"), "did you mean \"row0\"?"));
  CHECK(has(healerctl(world, "heal row1"), "0|healing of row1 with rebuild"));
  world.pass(seconds{2});
  CHECK(has(healerctl(world, "approve row0"), "1|healerctl: no healing of row0 waits for approval"));
  CHECK(has(healerctl(world, "approve row9"), "1|healerctl: there is no target and no service \"row9\""));
  CHECK(has(healerctl(world, "heal row9"), "there is no target and no service \"row9\""));
  CHECK(has(healerctl(world, "approve ROW1 --plan " + plan_of(world)), "0|healing of row1 with rebuild approved by "));
  CHECK(has(healerctl(world, "cancel n1"), "0|healing of row1 with rebuild cancelled\n"));  // by its service
  world.wait_for("guard");
  world.end_program(0);
  CHECK(has(healerctl(world, "cancel row1"), "1|healerctl: no healing of row1 is under way or waits"));
  CHECK(has(healerctl(world, "heal n0 --with rebuild"), "0|healing of row0 with rebuild"));
  world.pass(seconds{2});
  CHECK(healerctl(world, "reject row0") == "0|healing of row0 with rebuild rejected\n");
}

TEST_CASE("what rests, and what is open until a person resets it, is told", "[control][healing]") {
  HealedWorld world({.targets = 1, .tries = 1, .breaker = Breaker{.failed = 1, .within = hours{1}}});
  world.fail(0);
  world.wait_for("guard");
  world.end_program(0);
  for (int attempt = 0; attempt < 3; ++attempt) {
    world.wait_for("shutdown");
    world.end_program(7);
  }
  const Json end = ask(world, {.verb = Verb::HealingStatus}).reply.end;
  REQUIRE(end.at("open").size() == 1);
  CHECK(end.at("open")[0].at("workflow") == "rebuild");
  CHECK(end.at("open")[0].at("failed") == 1);
  CHECK(end.at("open")[0].at("targets") == Json::array({"n0"}));
  REQUIRE(end.at("cooldowns").size() == 1);
  CHECK(end.at("cooldowns")[0].at("target") == "n0");
  CHECK(end.at("cooldowns")[0].at("end") == "failed");
  CHECK(end.at("cooldowns")[0].at("left_ms") > 0);
  const std::string shown = healerctl(world, "healing status");
  INFO(shown);
  CHECK(has(shown, "the breaker of workflow rebuild is open: 1 failed (of n0), the last "));
  CHECK(has(shown, "n0 in its cooldown for another "));
  CHECK(has(healerctl(world, "healing reset rebild"), "did you mean \"rebuild\"?"));
  CHECK(has(healerctl(world, "healing reset rebuild"), "0|workflow rebuild reset by "));
  CHECK(ask(world, {.verb = Verb::HealingStatus}).reply.end.at("open").empty());
}

TEST_CASE("every view shows that a healing did not help, until the target has recovered", "[control][healing]") {
  HealedWorld world({.targets = 2, .tries = 1});
  world.fail(0);
  world.wait_for("guard");
  CHECK_FALSE(one(world, Verb::Summary, "n0").contains("rests"));
  world.end_program(0);
  for (int attempt = 0; attempt < 3; ++attempt) {
    world.wait_for("shutdown");
    world.end_program(7);
  }
  {
    const std::string shown = healerctl(world, "explain n0");  // in its cooldown: what lasts comes first
    INFO(shown);
    CHECK(has(shown, "     brakes       blocked by recovery: "));
    CHECK(has(shown, "`healerctl heal n0`"));
    CHECK(has(shown, "                  blocked by cooldown: another "));
  }
  CHECK(has(healerctl(world, "status n0"),
            "then healed again by rules only after it has recovered; `healerctl heal n0 --override cooldown` heals it "
            "before that"));
  world.pass(hours{2});  // long after its cooldown
  const std::string hint = "rules heal it again only after it has recovered";
  const Json summary = one(world, Verb::Summary, "n0");
  CHECK(has(summary.at("text"), hint));
  CHECK(summary.at("rests").at("until_recovered") == true);
  CHECK(summary.at("rests").at("left_ms") == 0);
  CHECK(one(world, Verb::Status, "n0").at("rests").at("end") == "failed");
  CHECK_FALSE(one(world, Verb::Status, "n1").contains("rests"));
  const Json end = ask(world, {.verb = Verb::HealingStatus}).reply.end;
  REQUIRE(end.at("cooldowns").size() == 1);
  CHECK(end.at("cooldowns")[0].at("until_recovered") == true);
  const std::string shown =
      "healed again by rules only after it has recovered; `healerctl heal n0` heals it before that";
  CHECK(has(healerctl(world, "healing status"), "n0 is " + shown + " (healing "));
  CHECK(has(healerctl(world, "status n0"), "healing    is " + shown));
  CHECK(has(healerctl(world, "summary n0"), hint));
  CHECK(
      has(healerctl(world, "healing reset rebuild"),
          "a healing did not help these, so rules heal them again only after they have recovered: n0; `healerctl heal "
          "NAME` heals one before that"));
  world.recover(0);
  CHECK_FALSE(one(world, Verb::Summary, "n0").contains("rests"));
  CHECK(ask(world, {.verb = Verb::HealingStatus}).reply.end.at("cooldowns").empty());
  CHECK_FALSE(has(healerctl(world, "healing reset rebuild"), "did not help"));
}

TEST_CASE("a brake that has closed, and doubt, are told", "[control][healing]") {
  HealedWorld world({.targets = 6});
  for (const std::size_t target : {0, 1, 2, 3}) world.fail(target);
  world.pass(seconds{5});
  const Json end = ask(world, {.verb = Verb::HealingStatus}).reply.end;
  REQUIRE(end.at("closed").size() == 1);
  CHECK(end.at("closed")[0].at("group") == "nodes");
  CHECK(end.at("closed")[0].at("above") == 50);
  CHECK(has(healerctl(world, "healing"),
            "more than 50 % of group nodes were not well; now 4 of 6 in group nodes are not well; goes on at no more "
            "than 50 %\n"));
  HealingHolds holds;
  holds.doubt = "healer has just started";
  CHECK(render_healings({}, holds, {}) ==
        "no healing is under way\n\n"
        "nothing is healed now, because healer doubts what it sees: healer has just started\n");
  const HealingHolds of_list{
      .doubt = {},
      .pauses = {},
      .closed =
          {{.workflow = "w", .group = "", .list = "NODE", .above = 50, .text = "4 of 6 in list NODE are not well"}},
      .open = {},
      .cooldowns = {}};
  CHECK(has(render_healings({}, of_list, {}), "more than 50 % of list NODE were not well"));
}

TEST_CASE("what is shown of healing fits, and cannot command the terminal", "[control][healing]") {
  const HealingView healing{.id = 7,
                            .target = "a\x1b[2J",
                            .workflow = "w",
                            .plan = "other",
                            .stage = "held back",
                            .waits = true,
                            .mode = "dry run",
                            .reason = "limit: \x1b[31m"};
  const std::string shown = render_healings({&healing, 1}, {}, {.width = 60});
  CHECK(has(shown, "other (after w)"));
  CHECK(has(shown, "held back (dry run)"));
  CHECK_FALSE(has(shown, "\x1b"));
  ServiceExplanation explained{.name = "a", .kind = "program", .state = "ok", .place = "f:1"};
  explained.rules.push_back(
      {.text = "if", .heals = HealExplanation{.workflow = "w\x1b", .brakes = {{"x\x1b", false}}}});
  CHECK_FALSE(has(render_explanation(explained, {}), "\x1b"));
  CHECK(render_healing_report({}, {}) == "the rules have no workflow\n");
}

TEST_CASE("on 80 columns what a healing does stands under its row", "[control][healing]") {
  HealingView healing{.id = 12,
                      .target = "webbox1",
                      .workflow = "rebuild_vm",
                      .plan = "rebuild_vm",
                      .stage = "steps",
                      .mode = "automatic",
                      .doing = "rebuild",
                      .waits_for = "its program to end",
                      .pid = 4242};
  healing.round = healing.tries = healing.step = 1;
  healing.steps = 3;
  const std::string shown = render_healings({&healing, 1}, {}, {.width = 80});
  CHECK(has(shown, "\n    rebuild, waits for its program to end (pid 4242)\n"));
  CHECK(std::ranges::count(shown, '\n') == 3);
}

}  // namespace healing_control_test
