// SPDX-License-Identifier: MIT
#include "control/wire.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace wire_test {

using namespace healer;
using namespace healer::control;

namespace {

const WallTime kWhen{milliseconds{1'795'235'064'123}};

std::string parsed(std::string_view line) {
  const auto result = parse_request(line);
  if (const auto* failure = std::get_if<Failure>(&result))
    return failure->code + ": " + failure->message + " | " + failure->remedy;
  return to_line(std::get<Request>(result));
}

template <typename T>
void check_round_trip(const T& value) {
  const std::string line = to_line(Json(value));
  INFO(line);
  CHECK(Json::parse(line).get<T>() == value);
}

JobView full_job() {
  return {70,         "restart",   "web",  2,        5,        "start db", "its program to end",
          seconds{3}, seconds{27}, "root", "person", "if ...", 71,         4242};
}

ServiceStatus full_status() {
  ServiceStatus status;
  status.name = "ping_web";
  status.kind = "program";
  status.state = "failed";
  status.text = "status 1: no route";
  status.since = kWhen;
  status.next_run = seconds{12};
  status.rule = "if status != 0 then alert";
  status.rule_place = "/etc/healer/healer.conf:13";
  status.monitored = true;
  status.passive = true;
  status.groups = {"web", "all hosts"};
  status.heartbeat = HeartbeatView{.last = kWhen,
                                   .word = "exit",
                                   .status = 3,
                                   .text = "no space\nleft",
                                   .beat = "exit status 3",
                                   .every = hours{24},
                                   .within = minutes{30},
                                   .due = kWhen + hours{24},
                                   .missed_at = kWhen + hours{25},
                                   .missed = kWhen,
                                   .started = kWhen,
                                   .ran = seconds{7}};
  status.place = "/etc/healer/healer.conf:12";
  status.schedule = "every 2 cycles";
  status.last = RunView{"exited", 1, kWhen, milliseconds{120}, "no route\n\x1b[31m"};
  status.running = milliseconds{5};
  status.run_waits = "Too many open files";
  status.runs = 18'446'744'073'709'551'615U;
  status.overruns = 3;
  status.depends = {"db", "cache"};
  status.process = ProcessView{4242, 1, 33, 34, 35, true};
  status.measured = {{"cpu", "percent", 1.25, "1.2%"}, {"uptime", "seconds", 90, "1 m 30 s"}};
  status.connections = {{"http localhost:80", "passed", "127.0.0.1:80", 0.25, kWhen, "HTTP status 200"},
                        {.name = "ping web", .verdict = "untried", .text = "not tried"}};
  status.job = full_job();
  status.waits = "db is not up";
  status.pause = PauseView{kWhen, "root", "person", "maintenance", "everything"};
  status.acknowledged = AcknowledgementView{kWhen, "anna", "person", "known"};
  status.starts = StartsView{3, kWhen, kWhen};
  status.rules = {{"if status != 0 for 3 cycles then alert", "/etc/healer/healer.conf:13", "failed", 3, 3, 3,
                   seconds{1}, seconds{90}, kWhen, "dormant", true}};
  status.action_failure = "exec /x exited with status 2 after 5 s";
  status.action_failed_at = kWhen;
  status.actions = {{7, "if status != 0 then exec \"/x\"", 4242, true, minutes{2}, true, "Too many open files"}};
  return status;
}

}  // namespace

TEST_CASE("what is written on the wire is read back the same", "[control]") {
  check_round_trip(
      Request{1, Verb::History, {"a", "Ä \"b\"\n"}, {"g"}, true, true, hours{2}, {}, true, 50, 7, hours{1}, "why"});
  check_round_trip(Request{});
  check_round_trip(Request{.verb = Verb::Beat,
                           .names = {"backup"},
                           .beat = BeatSent{.word = "exit", .status = 3, .text = "x", .token = "y"}});
  check_round_trip(Request{.verb = Verb::Event,
                           .names = {"alarms"},
                           .event = EventSent{.occurrences = {{"a1", "alarm", "{}", "remark"}},
                                              .body = "{\"a\": 1}",
                                              .again = 7,
                                              .dry_run = true,
                                              .sender = "10.0.0.7",
                                              .refused = 400,
                                              .why = "no JSON"}});
  check_round_trip(EventAnswer{7, "a1", "alarm", 422, "refused"});
  check_round_trip(EventView{.event = 7,
                             .service = "alarms",
                             .id = "a1",
                             .state = "alarm",
                             .sender = "anna",
                             .remark = "r",
                             .first = kWhen,
                             .last = kWhen,
                             .count = 3,
                             .status = 422,
                             .answer = "refused",
                             .stage = "refused",
                             .outcome = "o",
                             .targets = {"vm-7"},
                             .again = 5,
                             .has_document = true});
  check_round_trip(Failure{"code", "message", "remedy"});
  check_round_trip(
      DaemonView{"0.1.0",
                 42,
                 hours{30},
                 seconds{30},
                 3600,
                 7,
                 {"/etc/healer/healer.conf"},
                 true,
                 true,
                 CountsView{7, 6, 5, 4, 3, 2},
                 MailView{12, WallTime{milliseconds{1}}, "mx:25: 421 not now", WallTime{milliseconds{2}}, 3,
                          WallTime{milliseconds{3}}, "20 mails within 1 h", 4, WallTime{milliseconds{4}}},
                 {"the disk is full"},
                 StaleView{WallTime{milliseconds{5}}, "web.rules:1:2: error: no"}});
  check_round_trip(full_status());
  check_round_trip(ServiceStatus{});
  check_round_trip(static_cast<ServiceSummary>(full_status()));
  check_round_trip(full_job());
  check_round_trip(JobView{});
  check_round_trip(OutputView{71, "web", "start db", "line\n\x1b[31m"});
  check_round_trip(ServiceName{"web", {"a", "b"}});
  check_round_trip(Totals{6, 1, 1, 1, 1, 1});
  HealingView healing;
  healing.id = 7;
  healing.target = "web";
  healing.waits = true;
  healing.asked = kWhen;
  healing.since = kWhen;
  healing.left = seconds{3};
  healing.overrides = {"limit"};
  check_round_trip(healing);
  check_round_trip(HealingHolds{"late",
                                {{kWhen, "anna", "person", "moving", "group webs"}},
                                {{"w", "g", "", 40, kWhen}, {"w", "", "l", 40, kWhen}},
                                {{"w", 3, kWhen}},
                                {{"web", seconds{3}, seconds{4}, 7, "failed", kWhen, true}}});
  check_round_trip(WorkflowReport{"w", false, 1, 2, 3, 4, 5, 6, 7});
  check_round_trip(RecordView{9, kWhen, "rule-failed", "error", "web", "status failed (1)", "no route"});
  check_round_trip(Done{false, "2 of 5 services failed: a, b"});
  const DiagnosticView diagnostic{"error", "web.rules:1:2", "no", "write yes"};
  check_round_trip(Failure{"code", "message", "remedy", {diagnostic}});
  check_round_trip(Done{true,
                        "rules reloaded",
                        {diagnostic},
                        ChangesView{{{"web", "changed", "web.rules:1", {"kept"}, {"begun"}, {"gone"}}}, 12, true}});
  RuleExplanation rule{"if ...", "f:1",  "failing", "now",
                       "then",   "else", "held",    RecordView{1, kWhen, "k", "s", "n", "t", "o"}};
  rule.heals = HealExplanation{"w", "web", "dry run", "/bin/guard", healing, true, {{"limit", false, "1 at once"}}};
  check_round_trip(
      ServiceExplanation{"web", "program", "running", "f:1", {"note"}, {rule, RuleExplanation{}}, {ActionView{}}});
}

TEST_CASE("a request says only what is not the default", "[control]") {
  CHECK(to_line(Request{.verb = Verb::Status}) == R"({"version":1,"command":"status"})");
  CHECK(to_line(Request{.verb = Verb::History, .names = {"web"}, .since = hours{2}, .follow = true, .limit = 50}) ==
        R"({"version":1,"command":"history","names":["web"],"since_ms":7200000,"follow":true,"limit":50})");
  CHECK(to_line(Request{.verb = Verb::Pause, .all = true, .span = hours{2}, .reason = "disk"}) ==
        R"({"version":1,"command":"pause","all":true,"for_ms":7200000,"reason":"disk"})");
  CHECK(to_line(Request{.verb = Verb::Follow, .id = 7}) == R"({"version":1,"command":"follow","id":7})");
}

TEST_CASE("a measured value is a number", "[control]") {
  CHECK(Json(full_status())["measured"][0]["value"] == 1.25);
  CHECK(Json::parse(R"({"measured":[{"value":3}]})").get<ServiceStatus>().measured[0].value == 3);
  CHECK_THROWS(Json::parse(R"({"measured":[{"value":"3"}]})").get<ServiceStatus>());
}

TEST_CASE("each line of a reply has its form", "[control]") {
  CHECK(
      header_line(Verb::Ping, {.version = "0.1.0", .pid = 42}) ==
      R"({"version":1,"command":"ping","daemon":{"version":"0.1.0","pid":42,"up_ms":0,"cycle_ms":0,"cycles":0,)"
      R"("generation":0,"files":[],"shadow":false,"dry_run":false,"counts":{"runs":0,"changes":0,"deaths":0,)"
      R"("programs":0,"mails":0,"mails_waiting":0},"mail":null,"troubles":[],"stale":null,"refused_rows":[],"damages":[]}})"
      "\n");
  CHECK(item_line(ServiceSummary{.name = "a"}) ==
        R"({"item":{"name":"a","kind":"","state":"","text":"","since":null,"next_run_ms":null,"dying":false,)"
        R"("rule":"","rule_place":""}})"
        "\n");
  CHECK(end_line(Done{true, "done"}) == "{\"end\":{\"ok\":true,\"text\":\"done\"}}\n");
  CHECK(error_line({"denied", "no", ""}) ==
        "{\"version\":1,\"error\":{\"code\":\"denied\",\"message\":\"no\",\"remedy\":\"\"}}\n");
}

TEST_CASE("output of programs that is not UTF-8 does not break a reply", "[control]") {
  CHECK(Json::parse(item_line(RecordView{.text = "caf\xe9 \xff"}))["item"]["text"] == "caf\xef\xbf\xbd \xef\xbf\xbd");
}

TEST_CASE("a request that is none is refused with its reason", "[control]") {
  CHECK(parsed(R"({"version":1,"command":"ping"})") == R"({"version":1,"command":"ping"})");
  CHECK(parsed(R"({"version":1,"command":"ping","newer":[1,2]})") == R"({"version":1,"command":"ping"})");
  const std::string remedy = " | send one JSON object on a line, such as {\"version\":1,\"command\":\"ping\"}";
  CHECK(parsed("") == "bad-request: the request is not understood: it is not JSON" + remedy);
  CHECK(parsed("status") == "bad-request: the request is not understood: it is not JSON" + remedy);
  CHECK(parsed("{\"version\":1") == "bad-request: the request is not understood: it is not JSON" + remedy);
  CHECK(parsed("\xff\xfe") == "bad-request: the request is not understood: it is not JSON" + remedy);
  CHECK(parsed("[]") == "bad-request: the request is not understood: it is not a JSON object" + remedy);
  CHECK(parsed("{}") == "bad-request: the request is not understood: it names no \"command\"" + remedy);
  CHECK(parsed(R"({"command":"ping"})") ==
        "bad-request: the request is not understood: it has no \"version\"" + remedy);
  CHECK(parsed(R"({"version":1,"command":7})") ==
        "bad-request: the request is not understood: it names no \"command\"" + remedy);
  CHECK(parsed(R"({"version":1,"command":"history","limit":-1})") ==
        "bad-request: the request is not understood: a number out of range" + remedy);
  CHECK(parsed(R"({"version":1,"command":"history","limit":4294967296})") ==
        "bad-request: the request is not understood: a number out of range" + remedy);
  CHECK(parsed(R"({"version":1,"command":"history","limit":1.5})") ==
        "bad-request: the request is not understood: not a whole number" + remedy);
  CHECK(parsed(R"({"version":1,"command":"status","names":"web"})") ==
        "bad-request: the request is not understood: not a list" + remedy);
  CHECK_THAT(parsed(R"({"version":1,"command":"status","names":[7]})"), Catch::StartsWith("bad-request: "));
  CHECK(parsed(R"({"version":2,"command":"ping"})") ==
        "version: version 2 of the protocol is not spoken here, only version 1 | use the healerctl of the same release "
        "as healerd");
  CHECK(parsed(R"({"version":1,"command":"sumary"})") ==
        "unknown-command: there is no command \"sumary\" | did you mean \"summary\"?");
  CHECK(parsed(R"({"version":1,"command":"\u001b[2J"})") == "unknown-command: there is no command \"\\x1b[2J\" | ");
}

TEST_CASE("hostile nesting is refused, not followed", "[control]") {
  for (const char* opener : {"[", "{\"a\":"}) {
    std::string nested;
    while (nested.size() < kMaxRequest) nested += opener;
    CHECK_THAT(parsed(nested), Catch::StartsWith("bad-request: "));
  }
}

TEST_CASE("verbs have names, and those that act are known", "[control]") {
  for (int i = 0; i < static_cast<int>(Verb::Count_); ++i) {
    const Verb verb = static_cast<Verb>(i);
    CHECK(verb_of(to_string(verb)) == verb);
  }
  CHECK(verb_of("none") == Verb::Count_);
  for (const Verb verb : {Verb::History, Verb::Report, Verb::Names, Verb::Jobs, Verb::Follow}) CHECK_FALSE(acts(verb));
  for (const Verb verb : {Verb::Start, Verb::Stop, Verb::Restart, Verb::Pause, Verb::Resume, Verb::Cancel})
    CHECK(acts(verb));
  CHECK(acts(Verb::Monitor));
  CHECK(acts(Verb::Quit));
}

TEST_CASE("what a terminal would obey is escaped in JSON, and comes back as it was", "[wire]") {
  const std::string text =
      "a\x1b[2J\xc2\x85\xc2\x9b"
      "2J\x7f\u202Etxt.exe\u2066\u200f gr\u00fc\u00df \U0001F642";
  const std::string line = to_line(Json{{"text", text}});
  CHECK(line ==
        "{\"text\":\"a\\u001b[2J\\u0085\\u009b2J\\u007f\\u202etxt.exe\\u2066\\u200f gr\u00fc\u00df \U0001F642\"}");
  CHECK(Json::parse(line).at("text") == text);
}

}  // namespace wire_test
