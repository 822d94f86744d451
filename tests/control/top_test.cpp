// SPDX-License-Identifier: MIT
// The live view without its terminal: frames of any size, and what keys ask for.
#include <algorithm>
#include <catch2/catch.hpp>

#include "control/daemon_world.hpp"
#include "control/statistics.hpp"
#include "ctl/render/render_text.hpp"
#include "ctl/render/top_view.hpp"
#include "engine/rules/service.hpp"

namespace top_test {

using namespace healer;
using namespace healer::control;

namespace {

using Kind = TopKey::Kind;

const WallTime kNow{hours{500'000}};

ServiceSummary service(const std::string& name, const std::string& state, const std::string& text = {}) {
  return {.name = name,
          .kind = "process",
          .state = state,
          .text = text,
          .since = state == "failed" ? std::optional(kNow - seconds{65}) : std::nullopt,
          .next_run = seconds{12}};
}

TopData five() {
  TopData data;
  data.daemon = {.version = "0.1.0", .pid = 42, .up = hours{2}, .cycle = seconds{30}};
  data.daemon.counts = {.runs = 7'200, .changes = 72, .deaths = 1, .programs = 36, .mails = 0, .mails_waiting = 3};
  data.services = {service("alpha", "running", "pid 4, up 3 h"), service("beta", "failed", "process is not running"),
                   service("gamma", "failing", "exit status 1 in 5 ms"), service("delta", "unmonitored"),
                   service("epsilon", "running", "process 9 has died")};
  data.services.back().dying = true;
  for (const ServiceSummary& one : data.services) data.totals.add(one.state);
  data.jobs = {{.id = 7,
                .kind = "restart",
                .service = "beta",
                .step = 1,
                .steps = 2,
                .doing = "start beta",
                .waits_for = "its program to end",
                .age = seconds{3},
                .by = "rule",
                .by_kind = "rule",
                .pid = 99}};
  data.records = {{.sequence = 1,
                   .when = kNow - seconds{9},
                   .severity = "warning",
                   .service = "beta",
                   .text = "process 8 has died"},
                  {.sequence = 2, .when = kNow - minutes{2}, .severity = "info", .text = "healer started"}};
  return data;
}

Top with(TopData data, TopSize size = {}, bool unicode = true) {
  Top top(seconds{2}, unicode);
  top.resize(size);
  top.take(std::move(data), kNow);
  return top;
}

std::string text_of(const TopLine& line) {
  std::string text;
  for (const TopPiece& piece : line) text += piece.text;
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

std::string screen(const Top& top) {
  std::string text;
  for (const TopLine& line : top.frame(kNow)) text += text_of(line) + "\n";
  return text;
}

std::optional<TopIntent> type(Top& top, const std::string& characters) {
  std::optional<TopIntent> intent;
  for (const char one : characters) intent = top.press({Kind::Text, std::string(1, one)});
  return intent;
}

std::optional<TopIntent> type(Top& top, Kind kind) { return top.press({kind}); }

std::string asked(const std::optional<TopIntent>& intent) {
  if (!intent) return "nothing";
  std::string text = std::string(to_string(intent->request.verb)) + ":";
  for (const std::string& name : intent->request.names) text += " " + name;
  if (intent->request.span) text += " for " + format_duration(*intent->request.span);
  return text;
}

}  // namespace

TEST_CASE("the live view shows what needs a person first", "[control][top]") {
  CHECK(screen(with(five())) == R"(healer 0.1.0, up 2 h, cycle 30 s, every 2 s, by state
5 services: 1 failed, 1 failing, 2 running, 1 unmonitored
per second since the start: 1.0 runs, <0.1 changes, <0.1 deaths, <0.1 programs,…
SERVICE  STATE        FOR       NEXT    WHAT
beta     failed       1 m 5 s   12 s    process is not running
epsilon  running                12 s    process 9 has died
gamma    failing                12 s    exit status 1 in 5 ms
alpha    running                12 s    pid 4, up 3 h
delta    unmonitored            12 s









UNDER WAY: 1
7  restart beta, for 3 s: step 1 of 2, start beta, waits for its program to end
LAST
  9 s ago  beta: process 8 has died
  2 m ago  healer: healer started
? help  q leave  / filter  Enter explain  o output  s start  t stop  r restart
)");
}

TEST_CASE("no line of the live view is wider or higher than its terminal", "[control][top]") {
  TopData data = five();
  data.services.push_back(service("数据库服务器-一个很长的名字", "failed", "不在运行 ünd Ümläute \x1b[2J"));
  data.services.push_back(service(std::string(300, 'x'), "initialising"));
  const bool unicode = GENERATE(true, false);
  for (std::size_t rows = 1; rows <= 40; ++rows) {
    for (const std::size_t columns : {1, 2, 7, 12, 20, 21, 30, 40, 59, 60, 79, 80, 200}) {
      Top top = with(data, {rows, columns}, unicode);
      for (const char* keys : {"", "?", "q/fail", "\x1b", "s", "p2 hours"}) {
        for (const char* key = keys; *key != '\0'; ++key)
          (void)(*key == '\x1b' ? type(top, Kind::Escape) : type(top, std::string(1, *key)));
        const auto lines = top.frame(kNow);
        INFO(rows << "x" << columns << " after " << keys);
        REQUIRE(lines.size() <= rows);
        for (const TopLine& line : lines) {
          const std::string text = text_of(line);
          REQUIRE(display_width(text) <= columns);
          REQUIRE(text.find('\x1b') == std::string::npos);
          if (!unicode) REQUIRE(std::ranges::all_of(text, [](char one) { return static_cast<signed char>(one) >= 0; }));
        }
        (void)type(top, Kind::Escape);
      }
    }
  }
}

TEST_CASE("a narrow terminal is shown what matters", "[control][top]") {
  CHECK(screen(with(five(), {8, 24})) == R"(healer 0.1.0, up 2 h, c…
5 services: 1 failed, 1…
per second since the st…
SERVICE  STATE   2 below
beta     failed
epsilon  running
gamma    failing
? help  q leave  / filt…
)");
  CHECK(screen(with(five(), {4, 14})) == R"(3 below
beta
epsilon
? help  q lea…
)");
}

TEST_CASE("ten thousand services are looked through by keys, and only what is visible is drawn", "[control][top]") {
  TopData data = five();
  data.services.clear();
  data.totals = {};
  for (int i = 0; i < 10'000; ++i)
    data.services.push_back(service("node" + std::to_string(i), i == 9'876 ? "failed" : "running"));
  Top top = with(std::move(data));
  CHECK(top.chosen() == "node9876");
  (void)type(top, Kind::End);
  CHECK(top.chosen() == "node9999");
  CHECK(screen(top).find("node9999") != std::string::npos);
  CHECK(screen(top).find("node9876") == std::string::npos);
  (void)type(top, Kind::PageUp);
  CHECK(top.chosen() == "node9985");  // as many as there is room for
  (void)type(top, Kind::Home);
  (void)type(top, "jj");
  CHECK(top.chosen() == "node1");
  CHECK(top.frame(kNow).size() == 24);
}

TEST_CASE("the marker stays on its service when what is above it changes", "[control][top]") {
  Top top = with(five());
  (void)type(top, "jjj");
  CHECK(top.chosen() == "alpha");
  TopData data = five();
  data.services[0].state = "failed";
  top.take(data, kNow);
  CHECK(top.chosen() == "alpha");
  (void)type(top, "k");
  CHECK(top.chosen() == "alpha");  // it is the first now
  (void)type(top, "j");
  CHECK(top.chosen() == "beta");
  (void)type(top, "k");
  data.services.erase(data.services.begin());
  top.take(data, kNow);
  CHECK(top.chosen() == "beta");
  top.take(TopData{}, kNow);
  CHECK(top.chosen().empty());
  CHECK(asked(type(top, "m")) == "nothing");
  CHECK(asked(type(top, Kind::Enter)) == "nothing");
}

TEST_CASE("what needs a person first comes back into sight when there is room again", "[control][top]") {
  TopData data = five();
  data.services.clear();
  for (int i = 0; i < 5; ++i) data.services.push_back(service("bad" + std::to_string(i), "failed"));
  data.services.push_back(service("web", "running"));
  for (int i = 0; i < 40; ++i) data.services.push_back(service("good" + std::to_string(i), "running"));
  const TopSize large{30, 100};
  Top top = with(data, large);
  const auto all_failed = [](const Top& shown) {
    const std::string text = screen(shown);
    for (int i = 0; i < 5; ++i)
      if (text.find("\nbad" + std::to_string(i)) == std::string::npos) return false;
    return true;
  };
  (void)type(top, "jjjjj");
  REQUIRE(top.chosen() == "web");
  REQUIRE(all_failed(top));

  SECTION("after the terminal was small") {
    top.resize({6, 20});
    CHECK(screen(top).find("\n5 above, 40 below\nweb") != std::string::npos);
    CHECK_FALSE(all_failed(top));
    SECTION("whatever is asked there") {
      (void)type(top, ">");
      (void)type(top, "<");
    }
    SECTION("and moved to") {
      (void)type(top, "j");
      (void)type(top, "k");
    }
    top.resize(large);
    CHECK(top.chosen() == "web");
    CHECK(all_failed(top));
  }
  SECTION("after another list was shown") {
    (void)type(top, Kind::End);
    CHECK(screen(top).find(" more above\n") != std::string::npos);
    CHECK(screen(top).find(" below\n") == std::string::npos);
    (void)type(top, "/web");
    (void)type(top, Kind::Enter);
    CHECK(screen(top).find(" above") == std::string::npos);
    (void)type(top, Kind::Escape);
    CHECK(top.chosen() == "web");
    CHECK(all_failed(top));
  }
  SECTION("after more was under way or had failed") {
    while (top.chosen() != "good7") (void)type(top, "j");
    REQUIRE(all_failed(top));
    TopData worse = data;
    for (std::size_t i = 30; i < 40; ++i) worse.services[i].state = "failed";
    top.take(worse, kNow);
    CHECK(top.chosen() == "good7");
    CHECK(screen(top).find("more above") != std::string::npos);
    top.take(data, kNow);
    CHECK(all_failed(top));
  }
  SECTION("but what a person has moved to stays") {
    (void)type(top, Kind::End);
    (void)type(top, "kkk");
    const std::string before = screen(top);
    REQUIRE_FALSE(all_failed(top));
    top.take(data, kNow);
    CHECK(screen(top) == before);
  }
}

TEST_CASE("the list is sorted and filtered", "[control][top]") {
  Top top = with(five());
  const auto names = [&top] {
    std::string text;
    const std::string all = screen(top);
    for (const char* name : {"alpha", "beta", "gamma", "delta", "epsilon"})
      if (all.find(std::string("\n") + name) != std::string::npos) text += std::string(name) + " ";
    return text;
  };
  (void)type(top, ">");
  CHECK(screen(top).find("by name") != std::string::npos);
  (void)type(top, Kind::Home);
  CHECK(top.chosen() == "alpha");
  (void)type(top, ">");
  (void)type(top, Kind::End);
  CHECK(top.chosen() == "epsilon");
  (void)type(top, "<<<");
  CHECK(screen(top).find("by next run") != std::string::npos);
  (void)type(top, "/FAIL");
  CHECK(names() == "beta gamma ");
  CHECK(screen(top).find("/FAIL_") != std::string::npos);
  CHECK(screen(top).find("; 2 with \"FAIL\"") != std::string::npos);
  (void)type(top, Kind::Erase);
  (void)type(top, "q");  // a letter here, no key
  CHECK(names().empty());
  CHECK(screen(top).find("none with this name or state") != std::string::npos);
  (void)type(top, Kind::Escape);
  CHECK(names() == "alpha beta gamma delta epsilon ");
  (void)type(top, "/beta");
  (void)type(top, Kind::Enter);
  CHECK(top.chosen() == "beta");
  CHECK(names() == "beta ");
  CHECK(screen(top).find("beta: process 8 has died") != std::string::npos);
  CHECK(screen(top).find("healer: healer started") == std::string::npos);  // what has happened is filtered, too
  (void)type(top, Kind::Escape);
  CHECK(names() == "alpha beta gamma delta epsilon ");
  CHECK(screen(top).find("healer: healer started") != std::string::npos);
}

TEST_CASE("what changes much is asked about before it is done", "[control][top]") {
  Top top = with(five());
  for (const auto& [key, verb] : {std::pair("s", "start"), {"t", "stop"}, {"r", "restart"}}) {
    CHECK(asked(type(top, key)) == "nothing");
    CHECK(screen(top).find(std::string(verb) + " beta? y does it, any other key does not\n") != std::string::npos);
    CHECK(asked(type(top, "n")) == "nothing");
    CHECK(screen(top).find("nothing was done\n") != std::string::npos);
    (void)type(top, key);
    CHECK(asked(type(top, "y")) == std::string(verb) + ": beta");
    CHECK(screen(top).find(std::string(verb) + " beta ...\n") != std::string::npos);
  }
  CHECK(asked(type(top, "m")) == "monitor: beta");
  CHECK(asked(type(top, "u")) == "unmonitor: beta");
  CHECK(asked(type(top, "P")) == "resume: beta");
  CHECK(asked(type(top, "p2 hours")) == "nothing");
  CHECK(asked(type(top, Kind::Enter)) == "pause: beta for 2 h");
  (void)type(top, "p");
  CHECK(asked(type(top, Kind::Enter)) == "pause: beta");
  (void)type(top, "pever");
  CHECK(asked(type(top, Kind::Enter)) == "nothing");
  CHECK(screen(top).find("\"ever\" is not a duration (such as 2 hours, or 90m): nothing was done\n") !=
        std::string::npos);
  (void)type(top, "p1h");
  CHECK(asked(type(top, Kind::Escape)) == "nothing");
  top.tell("1 service unmonitored", true);
  CHECK(screen(top).find("1 service unmonitored\n") != std::string::npos);
  CHECK(type(top, "q")->kind == TopIntent::Kind::Quit);
  CHECK(type(top, " ")->kind == TopIntent::Kind::Refresh);
  CHECK(asked(type(top, "Z")) == "nothing");
  CHECK(screen(top).find("? shows what the keys do") != std::string::npos);
}

TEST_CASE("an explanation and an output cover the list until they are left", "[control][top]") {
  Top top = with(five(), {12, 40});
  CHECK(asked(type(top, Kind::Enter)) == "explain: beta");
  ServiceExplanation explanation{.name = "beta", .kind = "process", .state = "failed", .place = "a.rules:1"};
  for (int i = 0; i < 20; ++i) explanation.notes.push_back("Sentence " + std::to_string(i) + ".");
  top.explained(explanation, utc_civil, kNow);
  top.ended("");
  CHECK(screen(top).starts_with("explain beta\nbeta is failed (a.rules:1)\n  Sentence 0.\n"));
  CHECK(screen(top).ends_with("q goes back, there is more below\n"));
  (void)type(top, "G");
  CHECK(screen(top).find("Sentence 19.\nq goes back\n") != std::string::npos);
  (void)type(top, "g");
  CHECK(screen(top).find("Sentence 0.") != std::string::npos);
  top.resize({12, 20});
  CHECK(screen(top).find("  Sentence 0.") != std::string::npos);
  CHECK(type(top, "q")->kind == TopIntent::Kind::Close);
  CHECK(screen(top).find("SERVICE") != std::string::npos);

  CHECK(asked(type(top, "o")) == "output: beta");
  CHECK(screen(top).starts_with("output of beta\n"));
  for (int i = 0; i < 30; ++i)
    top.written({.action = 7, .service = "beta", .doing = "start beta", .text = "line " + std::to_string(i) + "\n"});
  CHECK(screen(top).find("line 29\nq goes back; start…") != std::string::npos);
  (void)type(top, "k");  // whoever reads is left alone
  top.written({.action = 7, .service = "beta", .doing = "start beta", .text = "\x1b[2Jmore\n"});
  CHECK(screen(top).find("more\n") == std::string::npos);
  (void)type(top, "G");
  CHECK(screen(top).find("\\x1b[2Jmore\n") != std::string::npos);
  top.ended("end of output");
  (void)type(top, Kind::Escape);

  CHECK(asked(type(top, "o")) == "output: beta");
  top.written({.action = 0, .service = "beta", .doing = "no program of beta has run yet", .text = ""});
  CHECK(screen(top).find("q goes back; no pro…") != std::string::npos);
  (void)type(top, Kind::Escape);

  (void)type(top, "?");
  CHECK(screen(top).starts_with("help\n"));
}

TEST_CASE("the output of a program that writes without end is bounded", "[control][top]") {
  Top top = with(five(), {5, 30});
  (void)type(top, "o");
  for (int i = 0; i < 100; ++i) top.written({.action = 7, .doing = "x", .text = std::string(16'000, 'a') + "\n"});
  top.written({.action = 7, .doing = "x", .text = "last\n"});
  CHECK(screen(top).find("\nlast\n") != std::string::npos);
  (void)type(top, "g");
  CHECK(screen(top).find("aaaa") != std::string::npos);
}

TEST_CASE("a daemon that does not answer is said to, and its return too", "[control][top]") {
  Top top(seconds{2}, true);
  top.resize({10, 80});
  CHECK(screen(top).starts_with("asking healerd\n"));
  top.lost({"not-running", "healerd is not running", ""});
  CHECK(screen(top).starts_with("no answer, trying again: healerd is not running\n"));
  top.take(five(), kNow - seconds{7});
  CHECK_FALSE(top.is_lost());
  top.lost({"not-running", "healerd is not running", ""});
  CHECK(screen(top).starts_with("no answer since 7 s, trying again: healerd is not running\n5 services:"));
  top.take(five(), kNow);
  CHECK(screen(top).ends_with("healerd answers again\n"));
  TopData data = five();
  data.daemon.pid = 43;
  top.take(data, kNow);
  CHECK(screen(top).ends_with("healerd was started again, as process 43\n"));
}

TEST_CASE("rates are the difference of two answers of the same daemon", "[control][top]") {
  DaemonView before{.pid = 1, .up = seconds{10}, .counts = {.runs = 100, .deaths = 4}};
  DaemonView now{.pid = 1, .up = seconds{12}, .counts = {.runs = 150, .deaths = 4, .mails = 1}};
  TopRates rates = top_rates(before, now);
  CHECK(rates.runs == Approx(25));
  CHECK(rates.deaths == 0);
  CHECK(rates.mails == Approx(0.5));
  CHECK_FALSE(rates.average);
  rates = top_rates({}, now);
  CHECK(rates.runs == Approx(12.5));
  CHECK(rates.average);
  before.pid = 2;  // the daemon before it
  CHECK(top_rates(before, now).runs == Approx(12.5));
  CHECK(top_rates({}, {.up = seconds{0}, .counts = {.runs = 3}}).runs == 0);
}

TEST_CASE("what a daemon does is counted from its events and its commits", "[control][top]") {
  using namespace engine;
  test::World world(test::two_services());
  Statistics statistics;
  statistics.note(Event{event::Measured{}});
  statistics.note(Event{event::Measured{}});
  statistics.note(Event{event::Wake{}});
  effect::Commit commit;
  for (const RecordKind kind : {RecordKind::RuleFailed, RecordKind::RuleRecovered, RecordKind::ProcessDied,
                                RecordKind::ActionStarted, RecordKind::ActionEnded, RecordKind::MailSent})
    commit.records.push_back({.kind = kind});
  statistics.note(Effect{commit}, *world.engine);
  statistics.note(Effect{effect::Note{}}, *world.engine);
  CHECK(statistics.counts() ==
        CountsView{.runs = 2, .changes = 2, .deaths = 1, .programs = 1, .mails = 1, .mails_waiting = 0});
}

TEST_CASE("one answer is plain text where there is no terminal", "[control][top]") {
  const std::string text = render_top(five(), {.now = kNow});
  CHECK(
      text.starts_with("healer 0.1.0, up 2 h, cycle 30 s\n\nSERVICE  STATE        FOR      NEXT  WHAT\n"
                       "beta     failed       1 m 5 s  12 s  process is not running\nepsilon"));
  CHECK(
      text.find("per second since the start: 1.0 runs, <0.1 changes, <0.1 deaths, <0.1 programs, 0 mails; 3 mails wait"
                "\n\nUNDER WAY\nID  KIND") != std::string::npos);
  CHECK(text.find("\nLAST\n2027-01-") != std::string::npos);
}

TEST_CASE("the live view's head says that the rules on disk are not loaded, and why mails wait", "[control][top]") {
  TopData data = five();
  data.daemon.stale = StaleView{kNow - minutes{5}, "web.rules:3:36: error: no"};
  data.daemon.mail = MailView{.waiting = 3, .held = 3, .limit = "20 mails within 1 h"};
  const std::string shown = screen(with(data, {.rows = 24, .columns = 200}));
  CHECK(shown.starts_with("the rules on disk are not loaded: web.rules:3:36: error: no; healer 0.1.0, up 2 h\n"));
  CHECK(shown.find("; 3 mails wait: held by the limit of 20 mails within 1 h\n") != std::string::npos);
}

}  // namespace top_test
