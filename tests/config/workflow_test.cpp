// SPDX-License-Identifier: MIT
// What becomes of workflows and of rules that heal in what the engine reads.
#include <catch2/catch.hpp>
#include <string>

#include <spdlog/fmt/fmt.h>

#include "config/check.hpp"
#include "config/compile/workflow.hpp"
#include "config/load.hpp"
#include "config/passes/passes.hpp"
#include "config/syntax/parser.hpp"
#include "config/text/print.hpp"
#include "engine/reload/diff.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/workflow.hpp"
#include "support/fake_environment.hpp"

namespace workflow_test {

using namespace healer;
using namespace healer::config;
namespace step = engine::step;

namespace {

const std::string kService = "check program p with path \"/bin/true\" if status != 0 then ";

engine::RuleSet rules(const std::string& text) {
  test::FakeEnvironment machine;
  machine.users["nobody"] = {.uid = 65534, .gid = 65534, .name = "nobody", .home = "/nonexistent"};
  machine.files["/main"] = text;
  LoadResult result = load("/main", {}, machine);
  INFO(format_all(result.diagnostics, result.sources, false));
  REQUIRE(result.ok());
  return std::move(*result.rules);
}

/// The workflow `w` of these items, which may name the groups `g` and `web`.
engine::Workflow workflow(const std::string& items) {
  return *rules("workflow w {\n" + items + "\n}\n" + kService + "alert group g group web").workflows.at(0);
}

/// The only step of a workflow.
template <typename Kind>
Kind only(const std::string& text) {
  const engine::Workflow made = workflow("guard program \"/bin/true\" step " + text);
  REQUIRE(made.steps.size() == 1);
  return std::get<Kind>(made.steps[0].what);
}

/// The messages about a text whose services have these rows.
std::string diagnostics_with_rows(const std::string& text,
                                  const std::vector<std::shared_ptr<const engine::Row>>& rows) {
  Sources sources;
  const std::uint32_t file = sources.add("f", text);
  Diagnostics diagnostics;
  FileSyntax syntax = parse(file, sources.at(file).text, diagnostics);
  Document document;
  std::size_t service = 0;
  for (Statement& statement : syntax.statements) {
    if (auto* check = std::get_if<CheckSyntax>(&statement)) {
      check->row = rows.at(service++);
      document.statements.emplace_back(std::move(*check));
    } else if (auto* one = std::get_if<WorkflowSyntax>(&statement)) {
      document.statements.emplace_back(std::move(*one));
    }
  }
  check_workflows(document, sources, diagnostics);
  std::string out;
  for (const Diagnostic& one : diagnostics)
    out += std::to_string(sources.position(one.range->file, one.range->begin).line) + ": " + one.message + "\n";
  return out;
}

/// What is said of a file, a line each: "3:8: message | remedy".
std::string diagnostics_of(const std::string& text) {
  test::FakeEnvironment machine;
  machine.files["/main"] = text;
  const LoadResult result = load("/main", {}, machine);
  std::string out;
  for (const Diagnostic& one : result.diagnostics) {
    const Position at = result.sources.position(one.range->file, one.range->begin);
    out += fmt::format("{}:{}: {} | {}\n", at.line, at.column, one.message, one.remedy);
  }
  return out;
}

}  // namespace

TEST_CASE("a workflow has the brakes of the default until a word of their kind is written", "[workflow]") {
  const std::string step = "guard program \"/bin/true\" step program \"/bin/true\" step recovered within 1 minute ";
  const engine::Workflow plain = workflow(step);
  CHECK(plain.limits == std::vector<engine::HealingLimit>{{.number = 1}});
  CHECK(plain.pauses == std::vector<engine::PauseWhile>{{.group = "", .above = 50}});
  CHECK(plain.cooldown == minutes{10});
  CHECK(plain.tries == 1);
  CHECK(plain.mode == engine::HealingMode::Automatic);
  CHECK(plain.guard->timeout == seconds{30});
  CHECK_FALSE(plain.approval);

  CHECK(workflow(step + "limit 3 at once").limits == std::vector<engine::HealingLimit>{{.number = 3}});
  const engine::Workflow within = workflow(step + "limit 4 within 1 hour");
  REQUIRE(within.limits.size() == 2);
  CHECK(within.limits[0] == engine::HealingLimit{.number = 4, .within = hours{1}});
  CHECK(within.limits[1] == engine::HealingLimit{.number = 1});
  const engine::Workflow ramp = workflow(step + "ramp 1, 2, 4");
  CHECK(ramp.limits.empty());
  CHECK(ramp.ramp == std::vector<std::uint32_t>{1, 2, 4});
  CHECK(workflow(step + "cooldown 20 minutes").cooldown == minutes{20});
  const engine::Workflow paused =
      workflow(step + "pause while more than 40% of group web failed until less than 20.5%");
  CHECK(paused.pauses == std::vector<engine::PauseWhile>{{.group = "web", .above = 40, .until = 20.5}});
  CHECK(workflow(step + "approval").approval == engine::Approval{.within = hours{1}, .else_run = false});
}

TEST_CASE("a workflow that only tells people has no brakes", "[workflow]") {
  const engine::Workflow telling = workflow("step \"call\" alert \"${TARGET} needs a person\"");
  CHECK(telling.only_alerts());
  CHECK(telling.limits.empty());
  CHECK(telling.pauses.empty());
  CHECK(telling.cooldown == Duration{0});
  CHECK_FALSE(workflow("step \"call\" alert \"x\" on failure step wait 3 seconds").limits.empty());
}

TEST_CASE("Steps are compiled as written", "[workflow]") {
  const auto program = only<step::Program>(
      "\"x\" program \"/bin/true -e 'a=${TARGET} b'\" environment A \"b c\" directory \"/var\" as uid nobody save "
      "\"n=([0-9]+)\" as N save json '.id' as ID secret repeatable");
  CHECK(program.command.arguments == std::vector<std::string>{"/bin/true", "-e", "a=${TARGET} b"});
  CHECK(program.command.identity == engine::Identity{.user = "nobody"});
  CHECK(program.environment == std::vector<std::pair<std::string, std::string>>{{"A", "b c"}});
  CHECK(program.directory == "/var");
  CHECK(program.saves ==
        std::vector<engine::Saving>{{.from = engine::Saving::From::Regex, .what = "n=([0-9]+)", .name = "N"},
                                    {.from = engine::Saving::From::Json, .what = ".id", .name = "ID", .secret = true}});

  const auto http = only<step::Http>(
      "http patch \"https://a.example/\" header \"A: b\" body '{\"a\": 1}' expect 200, 202 json '.n' >= 3 save header "
      "\"X\" as X follow insecure limit 2 MB until get \"https://b.example/\" json '.s' = \"DONE\" fail json '.s' = "
      "\"BAD\" every 2 seconds within 3 minutes");
  CHECK(http.request.method == "PATCH");
  CHECK(http.request.headers == std::vector<std::string>{"A: b"});
  CHECK(http.request.body == "{\"a\": 1}");
  CHECK(http.request.limit == 2U << 20);
  CHECK(http.request.follow);
  CHECK(http.request.insecure);
  CHECK(http.expect == std::vector<std::uint16_t>{200, 202});
  CHECK(http.expect_json ==
        std::vector<engine::JsonTest>{{.filter = ".n", .comparison = engine::Comparison::GreaterEqual, .value = "3"}});
  REQUIRE(http.until);
  CHECK(http.until->request.method == "GET");
  CHECK(http.until->request.url == "https://b.example/");
  CHECK(http.until->met == std::vector<engine::JsonTest>{{.filter = ".s", .value = "DONE", .quoted = true}});
  CHECK(http.until->failed == std::vector<engine::JsonTest>{{.filter = ".s", .value = "BAD", .quoted = true}});
  CHECK(http.until->every == seconds{2});
  CHECK(http.until->within == minutes{3});

  CHECK(only<step::Wait>("wait 90seconds").length == seconds{90});
  CHECK(only<step::Tell>("alert \"x\"").text == "x");
  CHECK(only<step::Note>("NOTE \"x ${TARGET}\"").text == "x ${TARGET}");
  const auto recovered = only<step::Recovered>("recovered or gone within 5 minutes");
  CHECK(recovered.within == minutes{5});
  CHECK(recovered.or_gone);
}

TEST_CASE("a note has its values and its name, is told apart, and is no alert", "[workflow]") {
  const engine::Workflow made = workflow("step note \"${TARGET} is ill\" step \"b\" note '\"' on failure note \"x\"");
  CHECK(made.steps[0].name == "note");
  CHECK(made.steps[1].name == "b");
  CHECK(std::get<step::Note>(made.steps[1].what).text == "\"");
  CHECK(made.on_failure[0].name == "note 2");
  CHECK_FALSE(made.only_alerts());
  CHECK(workflow("step \"a\" note \"x\"").key != workflow("step \"a\" note \"y\"").key);
  CHECK(workflow("step \"a\" note \"x\"").key != workflow("step \"a\" alert \"x\"").key);

  const auto said = [](const std::string& step) {
    return diagnostics_with_rows("workflow w {\n" + step + "\n}\n" + kService + "heal with w", {nullptr});
  };
  CHECK(said("step note \"${TARGET}\"") == "");
  CHECK(said("step note \"${NODE}\"") == "2: ${NODE} has no value here\n");
  CHECK(said("step note \"${secret:x}\"") == "2: a secret where others can read it\n");
}

TEST_CASE("a step has a timeout of its own, or its kind's", "[workflow]") {
  const engine::Workflow made = workflow(
      "guard program \"/bin/true\" step program \"/bin/true\" step program \"/bin/true\" timeout 5 seconds retry 2 "
      "times "
      "every 3 seconds step http get \"https://a.example/\" step wait 1 second");
  CHECK(made.steps[0].timeout == minutes{5});
  CHECK(made.steps[1].timeout == seconds{5});
  CHECK(made.steps[1].retries == 2);
  CHECK(made.steps[1].pause == seconds{3});
  CHECK(made.steps[2].timeout == seconds{30});
  CHECK(made.steps[3].timeout == Duration{0});
  const engine::RuleSet limited = rules(
      "set limits { programTimeout: 7 s }\nworkflow w { guard program \"/bin/true\" step program \"/bin/true\" }");
  CHECK(limited.workflows.at(0)->steps.at(0).timeout == seconds{7});
}

TEST_CASE("each step has a name, and no two the same", "[workflow]") {
  const engine::Workflow made = workflow(
      "guard program \"/bin/true\" step program \"/bin/true\" step program \"/bin/true\" step \"true 3\" program "
      "\"/bin/true\" parallel { step program \"/bin/true\" step wait 1 second } on failure alert \"x\"");
  CHECK(made.steps[0].name == "true");
  CHECK(made.steps[1].name == "true 2");
  const auto& parallel = std::get<step::Parallel>(made.steps[3].what);
  CHECK(parallel.steps[0].name == "true 4");
  CHECK(parallel.steps[1].name == "wait 1 second");
  CHECK(made.on_failure.at(0).name == "alert");
}

TEST_CASE("a rule heals its own target, or another", "[workflow]") {
  const auto order = [](const std::string& text) {
    std::string others;
    for (const char* other : {"\"a b\"", "with", "restart"})
      others += fmt::format("\ncheck program {} with path /bin/true if status != 0 then alert", other);
    const engine::RuleSet made = rules(kService + text + others + "\nworkflow w { step alert \"x\" }");
    REQUIRE(made.services.at(0)->rules.at(0)->action.kind == engine::ActionKind::Heal);
    return *made.services.at(0)->rules.at(0)->action.heal;
  };
  CHECK(order("heal with w") == engine::HealOrder{.workflow = "w"});
  CHECK(order("heal with W dry run") == engine::HealOrder{.workflow = "W", .dry_run = true});
  CHECK(order("heal \"a b\" with w") == engine::HealOrder{.workflow = "w", .target = "a b"});
  CHECK(order("heal with with w") == engine::HealOrder{.workflow = "w", .target = "with"});
  CHECK(order("heal restart with w") == engine::HealOrder{.workflow = "w", .target = "restart"});
  CHECK(order("heal \"${SERVICE}\" with w") == engine::HealOrder{.workflow = "w", .target = "${SERVICE}"});
}

TEST_CASE("whom a rule heals is there: a target, or a service", "[workflow]") {
  const auto row = std::make_shared<engine::Row>();
  row->target = "Node1";
  row->variables = {{"NODE", "Node1"}};
  row->lists = {"NODE"};
  const auto diagnostics = [&](const std::string& name) {
    return diagnostics_with_rows(
        "check program other with path /bin/true\ncheck program ping with path /bin/true\n  if "
        "status != 0 then heal " +
            name + " with w\nworkflow w { step alert \"x\" }",
        {nullptr, row});
  };
  for (const char* good : {"other", "OTHER", "ping", "node1", "\"${NODE}\"", "\"${TARGET}\"", "\"${SERVICE}\""}) {
    INFO(good);
    CHECK(diagnostics(good).empty());
  }
  CHECK(diagnostics("othr") == "3: there is no target and no service 'othr' to heal\n");
  CHECK(diagnostics("\"x${NODE}\"") == "3: there is no target and no service 'xNode1' to heal\n");
}

TEST_CASE("Errors in a workflow are reported at their place with a remedy", "[workflow]") {
  const std::string heals = kService + "heal with w\n";
  const auto in = [&](const std::string& items) {
    return diagnostics_of("workflow w {\n  guard program \"/bin/true\"\n" + items + "\n}\n" + heals);
  };
  const std::string step = "  step \"a\" program \"/bin/true\"\n";
  CHECK(in("  step rebuild program \"/bin/true\"") ==
        "3:8: the name of a step must be in double quotes | write step \"rebuild\"\n");
  CHECK(in(step + "  step \"b\" wait 30") ==
        "4:17: this time has no unit: 'wait 30' | as in: wait 30 seconds, or wait 30 minutes\n");
  CHECK(in("  step \"b\" wait 30\n" + step) ==
        "3:17: this time has no unit: 'wait 30' | as in: wait 30 seconds, or wait 30 minutes\n");
  CHECK(in(step + "  cooldown 20\n  tries 2") ==
        "4:12: this time has no unit: 'cooldown 20' | as in: cooldown 20 seconds, or cooldown 20 minutes\n");
  CHECK(in("  step \"use\" program \"/bin/true ${X}\"\n  step \"make\" program \"/bin/true\" save \"(.*)\" as X") ==
        "3:22: ${X} is not saved yet when this is run | move this after the step 'make', which saves it\n");
  CHECK(in("  step \"a\" program \"/bin/true ${NODE}\"") ==
        "3:20: ${NODE} has no value here | only values of a 'for each NODE' around the services, and values that "
        "a step saves, can be used; write $${ for a literal ${\n");
  const std::string rows =
      "for each NODE in n1 n2 {\n  check program x_${NODE} with path /bin/true\n    if status != 0 then alert\n}\n";
  CHECK(in("  step \"a\" program \"/bin/true ${NODE}\"\n}\n" + rows + "workflow v {\n  step \"b\" alert \"x\"") ==
        "3:20: ${NODE} only has a value inside its 'for each', and no rule there heals with 'w' | move the rule that "
        "heals with it into the 'for each NODE', or use ${TARGET}\n");
  CHECK(in(step + "  step \"b\" heal with v\n}\nworkflow v {\n  step \"c\" alert \"x\"") ==
        "4:3: 'heal with' is not a step: it names the workflow that takes over when all tries of this one have failed "
        "| write it after the steps: on failure heal with v\n");
  CHECK(in(step + "  heal with v")
            .starts_with("4:3: 'heal with' is not a step: it names the workflow that takes over when all tries of this "
                         "one have failed | write on failure heal with v\n"));
  CHECK(in(step + "  limit 2 at once\n  limit 4 within 1 hour\n  limit 1 at once") ==
        "4:3: this limit has no effect: line 6 limits the same, and is smaller | keep one of them\n");
  CHECK(in(step + "  limit 1 at once\n  limit 2 at once group g\n  limit 2 within 1 hour").find("no effect") ==
        std::string::npos);
  // A block without its end.
  const std::string open = "workflow w {\n  guard program \"/bin/true\"\n" + step;
  CHECK(diagnostics_of(open + heals).starts_with("1:10: this block is not closed | close it with '}'\n"));
  CHECK(diagnostics_of(open).starts_with("1:10: this block is not closed | close it with '}'\n"));
  CHECK(in("  parallel {\n" + step + "  limit 1 at once")
            .starts_with(
                "5:3: 'limit' cannot be used in the block of 'parallel' | close that block with '}' before it\n"));
  // Words of rules.
  const std::string good = "workflow w {\n  guard program \"/bin/true\"\n" + step + "}\n";
  const std::string rule = "check program p with path /bin/true\n  if status != 0 then ";
  CHECK(diagnostics_of(good + rule + "workflow w")
            .starts_with("6:23: unexpected 'workflow', expected an action | write 'then "
                         "heal with NAME'\n"));
  CHECK(diagnostics_of(good + rule + "exec workflow w")
            .find("a workflow is run by 'then heal with w'; 'exec' takes the path "
                  "of a program") != std::string::npos);
}

TEST_CASE("another workflow, or dry run, is another action of the rule", "[workflow]") {
  const auto block = [](const std::string& text) {
    return rules(kService + text + "\nworkflow v { step alert \"x\" }\nworkflow w { step alert \"x\" }").services.at(0);
  };
  const auto plain = block("heal with w");
  for (const std::string other : {"heal with v", "heal with w dry run", "heal P with w"}) {
    INFO(other);
    CHECK(block(other)->key != plain->key);
    CHECK(block(other)->rules[0].identity().actions != plain->rules[0].identity().actions);
    CHECK(block(other)->rules[0].identity().condition == plain->rules[0].identity().condition);
  }
}

TEST_CASE("the hash of a workflow is that of all it says, wherever it stands", "[workflow]") {
  const std::string step =
      "guard program \"/bin/true\" step \"a\" program \"/bin/true\" step recovered within 1 minute ";
  const engine::Workflow plain = workflow(step);
  CHECK(workflow("\n\n# moved\n" + step) == plain);
  for (const std::string other :
       {"limit 2 at once", "limit 1 within 1 day", "pause while more than 40% of group g failed", "cooldown 1 hour",
        "tries 2", "ramp 1, 2", "probation 1 hour", "breaker 1 failed within 1 hour", "approval", "mode shadow",
        "on failure alert \"x\"", "on cancel alert \"x\"", "step wait 1 second", "limit 1 at once group g"}) {
    INFO(other);
    CHECK_FALSE(workflow(step + other) == plain);
  }
}

TEST_CASE("an edit of a workflow alone is a new generation", "[workflow]") {
  const auto text = [](const std::string& length) {
    return rules(kService + "alert\nworkflow w { step \"x\" wait " + length + " }");
  };
  const auto graph = engine::make_graph(text("3 seconds"));
  REQUIRE(graph->workflows.size() == 1);
  CHECK(graph->workflow("W") == graph->workflows[0]);
  CHECK(engine::plan_swap(*graph, text("3 seconds"))->empty());
  const auto edited = engine::plan_swap(*graph, text("4 seconds"));
  CHECK(edited->workflows_changed);
  CHECK_FALSE(edited->empty());
  CHECK(edited->changes.empty());
  CHECK(std::get<step::Wait>(edited->graph->workflows.at(0)->steps.at(0).what).length == seconds{4});
  CHECK_FALSE(engine::plan_swap(*graph, rules(kService + "alert"))->empty());
}

TEST_CASE("settings of healing and maintenance reach the engine", "[workflow]") {
  const engine::Settings settings =
      rules(
          "set healing limit 2 at once\nset healing limit 20% of group g at once\nset healing mode dry run\n"
          "set healing only while p, p\nset maintenance \"0 2 * * 0\" for 2 hours group g\n" +
          kService + "alert\n  group g")
          .settings;
  CHECK(settings.healing.limits ==
        std::vector<engine::HealingLimit>{{.number = 2}, {.number = 20, .percent = true, .group = "g"}});
  CHECK(settings.healing.mode == engine::HealingMode::DryRun);
  CHECK(settings.healing.only_while == std::vector<std::string>{"p", "p"});
  REQUIRE(settings.maintenance.size() == 1);
  CHECK(settings.maintenance[0].length == hours{2});
  CHECK(settings.maintenance[0].group == "g");
}

TEST_CASE("a workflow knows the values of the rows that are healed with it", "[workflow]") {
  const auto row = std::make_shared<const engine::Row>(
      engine::Row{.target = "web1",
                  .variables = {{"NODE", "web1"}, {"NODE.ip", "192.0.2.1"}, {"NODE.mac", "02:00:00:00:00:01"}},
                  .lists = {"NODE"}});
  const auto bare = std::make_shared<const engine::Row>(
      engine::Row{.target = "web2", .variables = {{"NODE", "web2"}, {"NODE.ip", "192.0.2.2"}}, .lists = {"NODE"}});
  const std::string text =
      "workflow w { step alert \"${NODE} ${NODE.ip}\" on failure heal with v }\n"
      "workflow v { step alert \"${NODE} ${NODE.mac}\" }\n"
      "check program a with path \"/bin/true\" if status != 0 then heal \"${NODE}\" with w\n"
      "check program b with path \"/bin/true\" if status != 0 then heal with w\n";
  CHECK(diagnostics_with_rows(text, {row, row}) == "");
  CHECK(diagnostics_with_rows(text, {row, bare}) ==
        "4: the workflow 'v' needs ${NODE.mac}, and 'b' has no such value\n");
  CHECK(diagnostics_with_rows(text, {row, nullptr}) ==
        "4: the workflow 'w' needs ${NODE}, and 'b' has no such value\n"
        "4: the workflow 'w' needs ${NODE.ip}, and 'b' has no such value\n"
        "4: the workflow 'v' needs ${NODE}, and 'b' has no such value\n"
        "4: the workflow 'v' needs ${NODE.mac}, and 'b' has no such value\n");
  CHECK(diagnostics_with_rows(text, {nullptr, nullptr}) ==
        "3: 'a' has no value ${NODE}\n"
        "2: ${NODE} has no value here\n2: ${NODE.mac} has no value here\n"
        "1: ${NODE} has no value here\n1: ${NODE.ip} has no value here\n");
}

TEST_CASE("a workflow's text is read back to the same workflow", "[workflow]") {
  const std::string text =
      "workflow \"a b\" { guard once program \"/bin/true ${TARGET}\" timeout 3 seconds as uid nobody\n"
      "step \"x\" program \"/bin/true 'a b'\" directory \"/x y\" retry 2 times every 3 seconds repeatable\n"
      "step http put \"https://a.example/${TARGET}?x=1\" header \"A: ${TARGET}\" body file \"/b\" json '.a == \"b\"' "
      "!= "
      "\"c'd\"\n"
      "parallel { step wait 3 seconds step restart p }\nstep recovered within 1 minute\n"
      "on failure { note \"y ${REASON}\" alert \"x\" heal with w }\non cancel program \"/bin/true\"\n"
      "limit 20% of group g at once limit 4 within 1 hour group g ramp 1, 2 probation 3 minutes breaker 2 failed "
      "within 1 day\n"
      "pause while more than 2.5% of group g failed cooldown 1 hour tries 3\n"
      "approval within 3 minutes else run when more than 10% of group g failed mode approval }\n"
      "workflow w { step alert \"\\0x07\" }\n" +
      kService + "heal p with \"a b\" dry run\n  group g";
  const engine::RuleSet once = rules(text);
  const std::string printed = print(once);
  INFO(printed);
  const engine::RuleSet twice = rules(printed);
  REQUIRE(twice.workflows.size() == once.workflows.size());
  for (std::size_t i = 0; i < once.workflows.size(); ++i) CHECK(*twice.workflows[i] == *once.workflows[i]);
  CHECK(print(twice) == printed);
}

TEST_CASE("users and groups of a workflow's programs are kept as they are written", "[workflow]") {
  const std::string text =
      "workflow w {\n  guard program \"/bin/true\" as uid www and gid www\n  step program \"/bin/true\" as uid 33 and "
      "gid "
      "33\n  step program \"/bin/true\" as uid www and gid 33\n  step program \"/bin/true\" as gid www\n}\n" +
      kService + "exec \"/bin/x\" as uid www and gid www";
  const auto load_text = [&](test::FakeEnvironment machine) {
    machine.files["/main"] = text;
    LoadResult result = load("/main", {}, machine);
    INFO(format_all(result.diagnostics, result.sources, false));
    REQUIRE(result.ok());
    return std::move(*result.rules);
  };
  const engine::RuleSet made = load_text({});
  const engine::Workflow& written = *made.workflows.at(0);
  const auto identity = [&](std::size_t step) {
    return *std::get<step::Program>(written.steps.at(step).what).command.identity;
  };
  CHECK(written.guard->program.command.identity == engine::Identity{.user = "www", .group = "www"});
  CHECK(identity(0) == engine::Identity{.uid = 33, .gid = 33});
  CHECK(identity(1) == engine::Identity{.gid = 33, .user = "www"});
  CHECK(identity(2) == engine::Identity{.group = "www"});
  // Those of services are numbers, as in Monit.
  CHECK(made.services.at(0)->rules.at(0)->action.command->identity ==
        engine::Identity{.uid = 33, .gid = 33, .user = "www", .home = "/var/www"});
  const std::string printed = print(made);
  CHECK(printed.find("guard program \"/bin/true\" as uid www and gid www") != std::string::npos);
  CHECK(printed.find("program \"/bin/true\" as uid 33 and gid 33") != std::string::npos);
  CHECK(printed.find("program \"/bin/true\" as gid www") != std::string::npos);

  // So it is the same workflow where the machine has given them other numbers, and where nobody is looked up.
  test::FakeEnvironment other;
  other.users["www"].uid = 1033;
  other.users["old"] = {.uid = 33, .gid = 33, .name = "old", .home = "/"};
  other.groups["www"] = 1033;
  other.groups["old"] = 33;
  CHECK(load_text(other).workflows.at(0)->key == written.key);
  other = {};
  other.online = false;
  CHECK(load_text(other).workflows.at(0)->key == written.key);
}

TEST_CASE("programs of workflows are looked at like those of services", "[workflow]") {
  test::FakeEnvironment machine;
  machine.programs = {"/bin/true", "/srv/tool"};
  machine.facts["/srv/tool"] = {.is_regular = true, .mode = 0777};
  machine.files["/main"] =
      "workflow w {\n  guard program \"/srv/tool\"\n  step program \"/no/such\"\n  step program \"${TARGET} x\"\n"
      "  step program \"/bin/true a && b\" environment A \"*****\"\n  step program \"/bin/true\" as uid "
      "nobody_such and gid no_group\n}\n";
  const LoadResult result = load("/main", {}, machine);
  std::string diagnostics;
  for (const Diagnostic& one : result.diagnostics)
    if (one.range)
      diagnostics += std::to_string(result.sources.position(one.range->file, one.range->begin).line) + " " +
                     std::string(to_string(one.code)) + "\n";
  CHECK(diagnostics ==
        "2 others-write\n3 missing-program\n5 misread\n5 hidden-secret\n6 unknown-user\n6 unknown-user\n");
  CHECK_FALSE(result.ok());
}

}  // namespace workflow_test
