// SPDX-License-Identifier: MIT
#include "ctl/render/render.hpp"

#include <spdlog/fmt/fmt.h>
#include <catch2/catch.hpp>

#include "ctl/render/render_text.hpp"

namespace render_test {

using namespace healer;
using namespace healer::control;

namespace {

const WallTime kNow{milliseconds{1'795'235'064'123}};  // 2026-11-21 04:24:24.123

Style style(std::size_t width, bool colour = false, bool unicode = true) {
  return {.width = width, .colour = colour, .unicode = unicode, .now = kNow};
}

const DaemonView kDaemon{.version = "0.1.0", .pid = 42, .up = hours{76} + milliseconds{500}, .cycle = seconds{30}};

std::vector<ServiceSummary> five() {
  return {
      {"ping_web", "program", "running", "exit status 0 in 120 ms", {}, milliseconds{11'400}},
      {"ping_db1", "program", "failed", "exit status 1: Verbindung zum Rechner über das Netz fehlgeschlagen",
       kNow - seconds{302}, seconds{12}},
      {"ping_db2", "program", "failing", "2 of 3 failed runs: if status != 0 for 3 cycles then alert", {}, seconds{12}},
      {"backup_of_the_whole_machine_to_the_other_site", "program", "initialising", "", {}, hours{5}},
      {"日本語のサービス", "program", "unmonitored", "", {}, {}}};
}

Totals totals_of(const std::vector<ServiceSummary>& services) {
  Totals totals;
  for (const ServiceSummary& service : services) totals.add(service.state);
  return totals;
}

std::string summary(const Style& how) { return "\n" + render_summary(kDaemon, five(), totals_of(five()), how); }

ServiceStatus failed_service() {
  ServiceStatus status;
  static_cast<ServiceSummary&>(status) = five()[1];
  status.groups = {"web", "databases"};
  status.place = "/etc/healer/healer.conf:12";
  status.schedule = "every 2 cycles";
  status.last = RunView{"exited", 1, kNow - milliseconds{3200}, milliseconds{120},
                        "Verbindung fehlgeschlagen\n\x1b[31mnext\tline\n3\n4\n5\n6\n7\n"};
  status.runs = 120;
  status.overruns = 2;
  status.running = milliseconds{1500};
  status.rules = {{"if status != 0 for 3 cycles then exec \"/usr/bin/restore --all\"",
                   "/etc/healer/healer.conf:14",
                   "failed",
                   3,
                   3,
                   3,
                   {},
                   {},
                   kNow - seconds{302},
                   ""},
                  {"if status = 2 for 3 times within 5 cycles then alert",
                   "/etc/healer/healer.conf:15",
                   "failing",
                   1,
                   3,
                   5,
                   {},
                   {},
                   {},
                   "dormant"},
                  {"if content = \"no\" for 90 seconds then alert",
                   "/etc/healer/healer.conf:16",
                   "ok",
                   0,
                   1,
                   1,
                   {},
                   seconds{90},
                   {},
                   ""}};
  status.actions = {
      {7, "if status != 0 for 3 cycles then exec \"/usr/bin/restore --all\"", 4242, true, seconds{125}, true}};
  return status;
}

ServiceExplanation explanation() {
  return {
      "ping_db1",
      "program",
      "failed",
      "/etc/healer/healer.conf:12",
      {"The next run is in 12 s."},
      {{"if status != 0 for 3 cycles then exec \"/usr/bin/restore --all\"", "/etc/healer/healer.conf:14", "failed",
        "stands failed for 5 m 2 s", "nothing new: exec acts once, when the rule fires", "recovers, and alerts", "",
        RecordView{9, kNow - seconds{302}, "rule-failed", "error", "ping_db1", "status failed (1) -- no route", ""}},
       {"if status = 2 then alert",
        "/etc/healer/healer.conf:15",
        "ok",
        "passes",
        "fires: alert",
        "nothing",
        "dormant: accept it",
        {}}},
      {{7, "if status != 0 for 3 cycles then exec \"/usr/bin/restore --all\"", 0, false, seconds{2}, false}}};
}

std::string block(const Style& how) { return "\n" + render_status(failed_service(), how); }

std::string explained(const Style& how) { return "\n" + render_explanation(explanation(), how); }

std::string record(const Style& how) {
  return "\n" +
         render_record({1, kNow, "rule-failed", "error", "ping_db1",
                        "status failed (1) -- no route\nto host, which is said in more words than fit", ""},
                       how) +
         render_record({2, kNow, "daemon-started", "info", "", "healer 0.1.0 started", ""}, how);
}

std::string failure(const Style& how) {
  return "\n" + render_failure({"not-running", "healerd is not running (no socket at /run/healer/healer.sock)",
                                "start it (systemctl start healer), or name its socket with --socket"},
                               how);
}

std::string reload_failure(const Style& how) {
  return "\n" + render_failure({"reload-failed", "a.conf:1:1: error: no such word\n  chekc program\n  ^~~~~\n",
                                "the old rules stay"},
                               how);
}

/// Escapes as <CODE>, so that they can be read here.
std::string visible(std::string text) {
  for (std::size_t at = 0; (at = text.find("\x1b[", at)) != std::string::npos;) {
    text.replace(at, 2, "<");
    text[text.find('m', at)] = '>';
  }
  return text;
}

}  // namespace

TEST_CASE("widths are columns", "[control]") {
  CHECK(display_width("") == 0);
  CHECK(display_width("abc") == 3);
  CHECK(display_width("über") == 4);
  CHECK(display_width("u\u0308ber") == 4);  // a combining mark
  CHECK(display_width("日本") == 4);
  CHECK(display_width("🙂") == 2);
}

TEST_CASE("text is cut with an ellipsis, never within a character", "[control]") {
  CHECK(cut("healer", 6, "…") == "healer");
  CHECK(cut("healers", 6, "…") == "heale…");
  CHECK(cut("healers", 6, "...") == "hea...");
  CHECK(cut("日本語", 5, "…") == "日本…");
  CHECK(cut("日本語", 4, "…") == "日…");
  CHECK(cut("über", 3, "…") == "üb…");
  CHECK(cut("a b c", 3, "…") == "a…");
  CHECK(cut("healer", 2, "...") == "he");
  CHECK(cut("healer", 0, "…") == "");
  CHECK(pad("日", 4) == "日  ");
  CHECK(pad("long", 2) == "long");
}

TEST_CASE("lines break at blanks, and within what has none", "[control]") {
  const auto lines = [](std::string_view text, std::size_t width) {
    std::string all;
    for (const std::string& line : wrap(text, width)) all += line + "|";
    return all;
  };
  CHECK(lines("one two three", 0) == "one two three|");
  CHECK(lines("one two three", 7) == "one two|three|");
  CHECK(lines("one two three", 6) == "one|two|three|");
  CHECK(lines("abcdefgh", 3) == "abc|def|gh|");
  CHECK(lines("a   b", 3) == "a|b|");
  CHECK(lines("日本語", 1) == "日|本|語|");
  CHECK(lines("", 5) == "|");
}

TEST_CASE("a summary fits the terminal", "[control]") {
  CHECK(summary(style(40)) == R"(
healer 0.1.0, up 3 d 4 h, cycle 30 s

SERVICE               STATE
ping_web              running
ping_db1              failed
ping_db2              failing
backup_of_the_whole…  initialising
日本語のサービス      unmonitored

5 services: 1 failed, 1 failing, 1 initialising, 1 running, 1 unmonitored
)");
  CHECK(summary(style(80)) == R"(
healer 0.1.0, up 3 d 4 h, cycle 30 s

SERVICE                     STATE         FOR      NEXT  WHAT
ping_web                    running                12 s  exit status 0 in 120 ms
ping_db1                    failed        5 m 2 s  12 s
    exit status 1: Verbindung zum Rechner über das Netz fehlgeschlagen
ping_db2                    failing                12 s
    2 of 3 failed runs: if status != 0 for 3 cycles then alert
backup_of_the_whole_machi…  initialising           5 h
日本語のサービス            unmonitored

5 services: 1 failed, 1 failing, 1 initialising, 1 running, 1 unmonitored
)");
  CHECK(summary(style(120)) == R"(
healer 0.1.0, up 3 d 4 h, cycle 30 s

SERVICE                                   STATE         FOR      NEXT  WHAT
ping_web                                  running                12 s  exit status 0 in 120 ms
ping_db1                                  failed        5 m 2 s  12 s  exit status 1: Verbindung zum Rechner über das
                                                                       Netz fehlgeschlagen
ping_db2                                  failing                12 s  2 of 3 failed runs: if status != 0 for 3 cycles
                                                                       then alert
backup_of_the_whole_machine_to_the_othe…  initialising           5 h
日本語のサービス                          unmonitored

5 services: 1 failed, 1 failing, 1 initialising, 1 running, 1 unmonitored
)");
}

TEST_CASE("why a service was given up is whole, as why one has failed", "[control]") {
  const std::string why =
      "with daemon: if does not exist for 2 cycles then unmonitor, which was the last of many words";
  const ServiceSummary given_up{.name = "dep", .state = "given up", .text = why};
  const std::string text = render_summary({}, std::vector{given_up}, {}, style(80));
  CAPTURE(text);
  for (const std::string_view word : {"with daemon:", "unmonitor,", "of many words"})
    CHECK(text.find(word) != std::string::npos);
}

TEST_CASE("mails that wait are a line, with what the server said last", "[control]") {
  DaemonView daemon = kDaemon;
  const std::string plain = render_daemon(daemon, style(0));
  CHECK(plain == "healer 0.1.0, up 3 d 4 h, cycle 30 s\n");
  daemon.mail = MailView{};
  CHECK(render_daemon(daemon, style(0)) == plain);
  daemon.mail->error = "mx:25: 421 not now";  // it took mails by other ways, or there are none left
  CHECK(render_daemon(daemon, style(0)) == plain);
  daemon.mail = MailView{.waiting = 1};
  CHECK(render_daemon(daemon, style(0)) == plain + "1 mail waits\n");
  daemon.mail = MailView{12, kNow - minutes{4}, "mx:25: 421 \x1b[31mnot now", kNow - seconds{10}};
  CHECK(render_daemon(daemon, style(0)) ==
        plain + "12 mails wait, for 4 m; the mail server: mx:25: 421 \\x1b[31mnot now (10 s ago)\n");
  CHECK(render_summary(daemon, {}, {}, style(0)).find("12 mails wait") != std::string::npos);
  daemon.mail.reset();
  daemon.contacts = {{.name = "te\x1b\x6d", .waiting = 1},
                     {.name = "wall",
                      .waiting = 3,
                      .since = kNow - minutes{2},
                      .error = "it answered 503",
                      .error_since = kNow - seconds{10}}};
  CHECK(render_daemon(daemon, style(0)) ==
        plain +
            "1 alert waits for the contact te\\x1bm\n3 alerts wait for the contact wall, for 2 m: it answered 503 "
            "(10 s ago)\n");
  daemon.contacts = {{.name = "wall", .error = "it answered 404", .error_since = kNow - seconds{10}}};
  CHECK(render_daemon(daemon, style(0)) ==
        plain + "the contact wall has not taken its last alert: it answered 404 (10 s ago)\n");
}

TEST_CASE("a summary that is piped is whole", "[control]") {
  CHECK(summary(style(0)) == R"(
healer 0.1.0, up 3 d 4 h, cycle 30 s

SERVICE                                        STATE         FOR      NEXT  WHAT
ping_web                                       running                12 s  exit status 0 in 120 ms
ping_db1                                       failed        5 m 2 s  12 s  exit status 1: Verbindung zum Rechner über das Netz fehlgeschlagen
ping_db2                                       failing                12 s  2 of 3 failed runs: if status != 0 for 3 cycles then alert
backup_of_the_whole_machine_to_the_other_site  initialising           5 h
日本語のサービス                               unmonitored

5 services: 1 failed, 1 failing, 1 initialising, 1 running, 1 unmonitored
)");
}

TEST_CASE("without UTF-8 the ellipsis is three dots", "[control]") {
  CHECK(summary(style(80, false, false)) == R"(
healer 0.1.0, up 3 d 4 h, cycle 30 s

SERVICE                     STATE         FOR      NEXT  WHAT
ping_web                    running                12 s  exit status 0 in 120 ms
ping_db1                    failed        5 m 2 s  12 s
    exit status 1: Verbindung zum Rechner über das Netz fehlgeschlagen
ping_db2                    failing                12 s
    2 of 3 failed runs: if status != 0 for 3 cycles then alert
backup_of_the_whole_mac...  initialising           5 h
日本語のサービス            unmonitored

5 services: 1 failed, 1 failing, 1 initialising, 1 running, 1 unmonitored
)");
}

TEST_CASE("a service is a block", "[control]") {
  CHECK(block(style(40)) == R"(
ping_db1
  state      failed for 5 m 2 s, since
             2026-11-21 04:19:22
  kind       program
  place      /etc/healer/healer.conf:12
  groups     web and databases
  last run   3 s ago: exit status 1,
             took 120 ms
  output     Verbindung fehlgeschlagen
             \x1b[31mnext\tline
             3
             4
             5
             6
             7
  running    for 1.5 s
  next run   in 12 s (every 2 cycles)
  runs       120, the last 2 skipped:
             the previous one has not
             finished
  rule       if status != 0 for 3 cycles
             then exec "/usr/bin/restore
             --all"
             (/etc/healer/healer.conf:14
             )
             failed for 5 m 2 s
  rule       if status = 2 for 3 times
             within 5 cycles then alert
             (/etc/healer/healer.conf:15
             )
             failing, 1 of the last 5
             runs failed, 3 needed,
             action held back: dormant
  rule       if content = "no" for 90
             seconds then alert
             (/etc/healer/healer.conf:16
             )
             ok
  action     runs for 2 m 5 s as pid
             4242, once more afterwards:
             if status != 0 for 3 cycles
             then exec "/usr/bin/restore
             --all"
)");
  CHECK(block(style(80)) == R"(
ping_db1
  state      failed for 5 m 2 s, since 2026-11-21 04:19:22
  kind       program
  place      /etc/healer/healer.conf:12
  groups     web and databases
  last run   3 s ago: exit status 1, took 120 ms
  output     Verbindung fehlgeschlagen
             \x1b[31mnext\tline
             3
             4
             5
             6
             7
  running    for 1.5 s
  next run   in 12 s (every 2 cycles)
  runs       120, the last 2 skipped: the previous one has not finished
  rule       if status != 0 for 3 cycles then exec "/usr/bin/restore --all"
             (/etc/healer/healer.conf:14)
             failed for 5 m 2 s
  rule       if status = 2 for 3 times within 5 cycles then alert
             (/etc/healer/healer.conf:15)
             failing, 1 of the last 5 runs failed, 3 needed, action held back:
             dormant
  rule       if content = "no" for 90 seconds then alert
             (/etc/healer/healer.conf:16)
             ok
  action     runs for 2 m 5 s as pid 4242, once more afterwards: if status != 0
             for 3 cycles then exec "/usr/bin/restore --all"
)");
  CHECK(block(style(0)) == R"(
ping_db1
  state      failed for 5 m 2 s, since 2026-11-21 04:19:22
  kind       program
  place      /etc/healer/healer.conf:12
  groups     web and databases
  last run   3 s ago: exit status 1, took 120 ms
  output     Verbindung fehlgeschlagen
             \x1b[31mnext\tline
             3
             4
             5
             6
             7
  running    for 1.5 s
  next run   in 12 s (every 2 cycles)
  runs       120, the last 2 skipped: the previous one has not finished
  rule       if status != 0 for 3 cycles then exec "/usr/bin/restore --all" (/etc/healer/healer.conf:14)
             failed for 5 m 2 s
  rule       if status = 2 for 3 times within 5 cycles then alert (/etc/healer/healer.conf:15)
             failing, 1 of the last 5 runs failed, 3 needed, action held back: dormant
  rule       if content = "no" for 90 seconds then alert (/etc/healer/healer.conf:16)
             ok
  action     runs for 2 m 5 s as pid 4242, once more afterwards: if status != 0 for 3 cycles then exec "/usr/bin/restore --all"
)");
}

TEST_CASE("what the machine lacks is told of a run and of an action", "[control]") {
  ServiceStatus status = failed_service();
  status.run_waits = "cannot make a pipe: Too many open files";
  status.actions[0] = {7, "if status != 0 then exec \"/x\"", 0, false, minutes{2}, false, "no processes"};
  const std::string text = render_status(status, style(0));
  CHECK(text.find("\n  run waits  for 1.5 s: cannot make a pipe: Too many open files\n") != std::string::npos);
  CHECK(text.find("\n  running  ") == std::string::npos);
  CHECK(text.find("waits for 2 m to be started (no processes): if status != 0 then exec \"/x\"\n") !=
        std::string::npos);
}

TEST_CASE("a rule that counts restarts tells of restarts", "[control]") {
  ServiceStatus status{{.name = "web", .kind = "process", .state = "running"}};
  status.rules = {{.text = "if 5 restarts within 10 cycles then unmonitor",
                   .place = "a:3",
                   .state = "ok",
                   .failed = 2,
                   .count = 5,
                   .window = 10,
                   .restarts = true}};
  CHECK(render_status(status, {.now = kNow}).find("ok, restarts in 2 of the last 10 runs, 5 needed\n") !=
        std::string::npos);
}

TEST_CASE("each rule is explained", "[control]") {
  CHECK(explained(style(40)) == R"(
ping_db1 is failed (/etc/healer/healer.conf:12)
  The next run is in 12 s.
  action waits for 2 s to be started: if
  status != 0 for 3 cycles then exec
  "/usr/bin/restore --all"

  1. if status != 0 for 3 cycles then
     exec "/usr/bin/restore --all"
     (/etc/healer/healer.conf:14)
     now          stands failed for 5 m
                  2 s
     if it holds  nothing new: exec acts
                  once, when the rule
                  fires
     if not       recovers, and alerts
     last fired   2026-11-21 04:19:22, 5
                  m 2 s ago: status
                  failed (1) -- no route

  2. if status = 2 then alert
     (/etc/healer/healer.conf:15)
     now          passes
     if it holds  fires: alert
     if not       nothing
     held back    dormant: accept it
)");
  CHECK(explained(style(80)) == R"(
ping_db1 is failed (/etc/healer/healer.conf:12)
  The next run is in 12 s.
  action waits for 2 s to be started: if status != 0 for 3 cycles then exec
  "/usr/bin/restore --all"

  1. if status != 0 for 3 cycles then exec "/usr/bin/restore --all"
     (/etc/healer/healer.conf:14)
     now          stands failed for 5 m 2 s
     if it holds  nothing new: exec acts once, when the rule fires
     if not       recovers, and alerts
     last fired   2026-11-21 04:19:22, 5 m 2 s ago: status failed (1) -- no
                  route

  2. if status = 2 then alert (/etc/healer/healer.conf:15)
     now          passes
     if it holds  fires: alert
     if not       nothing
     held back    dormant: accept it
)");
}

TEST_CASE("a record hangs from its time", "[control]") {
  CHECK(record(style(40)) == R"(
2026-11-21 04:24:24.123
  ping_db1: status failed (1) -- no
  route
  to host, which is said in more words
  than fit
2026-11-21 04:24:24.123
  healer: healer 0.1.0 started
)");
  CHECK(record(style(80)) == R"(
2026-11-21 04:24:24.123  ping_db1: status failed (1) -- no route
                         to host, which is said in more words than fit
2026-11-21 04:24:24.123  healer: healer 0.1.0 started
)");
  CHECK(record(style(0)) == R"(
2026-11-21 04:24:24.123  ping_db1: status failed (1) -- no route
                         to host, which is said in more words than fit
2026-11-21 04:24:24.123  healer: healer 0.1.0 started
)");
}

TEST_CASE("mails that were sent one after the other are one line", "[control]") {
  const auto mail = [](int second, const std::string& to) {
    return RecordView{
        1, kNow + seconds{second}, "mail-sent", "info", "web", "mail to " + to + " sent through mx:25: web failed", ""};
  };
  CHECK(render_mails({}, style(0)).empty());
  const std::vector<RecordView> mails{mail(0, "a@x"), mail(1, "b@x"), mail(3, "c@x")};
  CHECK(render_mails(std::span(mails).first(1), style(0)) == render_record(mails.front(), style(0)));
  CHECK(render_mails(mails, style(0)) ==
        "2026-11-21 04:24:27.123  healer: 3 mails sent within 3 s, the last to c@x sent through mx:25: web failed\n");
}

TEST_CASE("a failed test of a connection is told by its cause first, where the rest may be cut", "[control]") {
  const ServiceSummary web{.name = "web",
                           .state = "failed",
                           .text = "failed protocol test [HTTP] at [localhost]:80 [TCP/IP] -- Connection refused"};
  const auto shown = [&](std::size_t width) { return render_summary(kDaemon, {&web, 1}, {}, style(width)); };
  CHECK(shown(50).find("WHAT") != std::string::npos);
  CHECK(shown(50).find("Connection refused") != std::string::npos);
  CHECK(shown(80).find("Connection refused (failed protocol test") != std::string::npos);
  CHECK(shown(0).find("[TCP/IP] -- Connection refused") != std::string::npos);
}

TEST_CASE("the end of line that a record ends with is not shown", "[control]") {
  CHECK(render_record({1, kNow, "rule-matched", "info", "web", "content match on program output:\nno route\n", ""},
                      style(0)) ==
        "2026-11-21 04:24:24.123  web: content match on program output:\n                         no route\n");
}

TEST_CASE("a failure comes with its remedy", "[control]") {
  CHECK(failure(style(80)) == R"(
healerctl: healerd is not running (no socket at /run/healer/healer.sock)
  start it (systemctl start healer), or name its socket with --socket
)");
  CHECK(failure(style(40)) == R"(
healerctl: healerd is not running (no socket at /run/healer/healer.sock)
  start it (systemctl start healer), or
  name its socket with --socket
)");
}

TEST_CASE("a failed reload shows the diagnostics line by line", "[control]") {
  CHECK(reload_failure(style(80)) == R"(
healerctl: a.conf:1:1: error: no such word
  chekc program
  ^~~~~
  the old rules stay
)");
}

TEST_CASE("colour marks the state, and nothing else", "[control]") {
  CHECK(visible(summary(style(80, true))) == R"(
healer 0.1.0, up 3 d 4 h, cycle 30 s

SERVICE                     STATE         FOR      NEXT  WHAT
ping_web                    <32>running<0>                12 s  exit status 0 in 120 ms
<1;31>ping_db1<0>                    <1;31>failed<0>        5 m 2 s  12 s
    exit status 1: Verbindung zum Rechner über das Netz fehlgeschlagen
ping_db2                    <33>failing<0>                12 s
    2 of 3 failed runs: if status != 0 for 3 cycles then alert
backup_of_the_whole_machi…  <36>initialising<0>           5 h
日本語のサービス            <2>unmonitored<0>

5 services: <1;31>1 failed<0>, <33>1 failing<0>, 1 initialising, 1 running, 1 unmonitored
)");
  CHECK(visible(block(style(60, true))) == R"(
<1;31>ping_db1<0>
  state      <1;31>failed<0> for 5 m 2 s, since 2026-11-21 04:19:22
  kind       program
  place      /etc/healer/healer.conf:12
  groups     web and databases
  last run   3 s ago: exit status 1, took 120 ms
  output     Verbindung fehlgeschlagen
             \x1b[31mnext\tline
             3
             4
             5
             6
             7
  running    for 1.5 s
  next run   in 12 s (every 2 cycles)
  runs       120, the last 2 skipped: the previous one has
             not finished
  rule       if status != 0 for 3 cycles then exec
             "/usr/bin/restore --all"
             (/etc/healer/healer.conf:14)
             failed for 5 m 2 s
  rule       if status = 2 for 3 times within 5 cycles then
             alert (/etc/healer/healer.conf:15)
             failing, 1 of the last 5 runs failed, 3 needed,
             action held back: dormant
  rule       if content = "no" for 90 seconds then alert
             (/etc/healer/healer.conf:16)
             ok
  action     runs for 2 m 5 s as pid 4242, once more
             afterwards: if status != 0 for 3 cycles then
             exec "/usr/bin/restore --all"
)");
  CHECK(visible(record(style(80, true))) == R"(
2026-11-21 04:24:24.123  <1;31>ping_db1: status failed (1) -- no route<0>
                         to host, which is said in more words than fit
2026-11-21 04:24:24.123  healer: healer 0.1.0 started
)");
  CHECK(visible(failure(style(80, true))) == R"(
<1;31>healerctl:<0> healerd is not running (no socket at /run/healer/healer.sock)
  start it (systemctl start healer), or name its socket with --socket
)");
}

TEST_CASE("what waits in the mail queue says why: the limit, a digest, or the server", "[control][render]") {
  DaemonView daemon;
  const Style style{.now = kNow};
  const auto rendered = [&](const MailView& mail) {
    daemon.mail = mail;
    return mail_text(daemon, style);
  };
  CHECK(rendered({}).empty());
  CHECK(rendered({.waiting = 15,
                  .since = kNow - minutes{2},
                  .held = 15,
                  .held_until = kNow + minutes{5},
                  .limit = "20 mails within 1 h"}) ==
        fmt::format("15 mails wait, for 2 m: held by the limit of 20 mails within 1 h until {}",
                    format_civil(utc_civil(kNow + minutes{5})).substr(11, 5)));
  CHECK(rendered({.waiting = 3, .held = 1, .limit = "1 mail within 1 m", .gathered = 2}) ==
        "3 mails wait: 1 held by the limit of 1 mail within 1 m; 2 gathered for a digest");
  CHECK(rendered({.waiting = 1, .error = "mx:25: 421 not now"}) == "1 mail waits; the mail server: mx:25: 421 not now");
}

TEST_CASE("rules in force that are not those on disk are told before everything", "[control][render]") {
  DaemonView daemon{.version = "1"};
  const Style style{.now = kNow};
  CHECK(stale_text(daemon, style).empty());
  daemon.stale = StaleView{kNow - minutes{5}, "web.rules:3:36: error: unexpected 'allert'"};
  CHECK(render_daemon(daemon, style) ==
        "healer 1, up 0 s, cycle 0 ms\n"
        "the rules on disk are not loaded, for 5 m: web.rules:3:36: error: unexpected 'allert' (fix them, then "
        "`healerctl reload`)\n");
}

TEST_CASE("history and explanations are broken where the output was", "[control][render]") {
  const Style style{.now = kNow};
  const std::string when = format_civil(utc_civil(kNow), 123);
  CHECK(render_record({.when = kNow, .service = "web", .text = "status failed (1) -- first\nsecond\x1b\n"}, style) ==
        when + "  web: status failed (1) -- first\n" + std::string(when.size() + 2, ' ') + "second\\x1b\n");
  ServiceExplanation explanation{.name = "web", .state = "failed", .notes = {"The last run: a\nb."}};
  CHECK(render_explanation(explanation, style) == "web is failed ()\n  The last run: a\n  b.\n");
}

}  // namespace render_test
