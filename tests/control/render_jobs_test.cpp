// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "ctl/render/render.hpp"
#include "ctl/render/render_text.hpp"

namespace render_jobs_test {

using namespace healer;
using namespace healer::control;

namespace {

const WallTime kNow{milliseconds{1'795'235'064'123}};  // 2026-11-21 04:24:24.123

Style style(std::size_t width, bool colour = false) {
  return {.width = width, .colour = colour, .unicode = true, .now = kNow};
}

std::vector<JobView> two_jobs() {
  return {{70, "restart", "web", 2, 5, "start db", "its program to end", milliseconds{3400}, milliseconds{26'600},
           "root", "person", "", 71, 4242},
          {1'795'235'040'000,
           "exec",
           "backup_of_the_whole_machine",
           1,
           1,
           "exec /usr/bin/heal",
           "its program to be started",
           minutes{2},
           {},
           "rule",
           "rule",
           "if status != 0 then exec \"/usr/bin/heal\"",
           1'795'235'040'000,
           0}};
}

std::string jobs(std::size_t width, bool colour = false) {
  return "\n" + render_jobs(two_jobs(), style(width, colour));
}

ServiceStatus supervised() {
  ServiceStatus status;
  status.name = "nginx";
  status.kind = "process";
  status.state = "running";
  status.place = "/etc/healer/web.rules:3";
  status.depends = {"db", "cache"};
  status.last = RunView{"looked", 0, kNow - seconds{3}, milliseconds{2}, "process is running with pid 4242"};
  status.process = ProcessView{4242, 1, 33, 0, 33, false};
  status.measured = {{"cpu", "percent", 1.25, "1.2%"},
                     {"total cpu", "percent", 2.5, "2.5%"},
                     {"memory", "percent", 0.3, "0.3%"},
                     {"memory", "bytes", 13'107'200, "12.5 MB"},
                     {"total memory", "percent", 0.6, "0.6%"},
                     {"total memory", "bytes", 26'214'400, "25 MB"},
                     {"children", "number", 2, "2"},
                     {"threads", "number", 4, "4"},
                     {"filedescriptors", "number", 17, "17"},
                     {"filedescriptors", "percent", 1.66, "1.7%"},
                     {"total filedescriptors", "number", 40, "40"},
                     {"disk read", "bytes/s", 0, "0 B/s"},
                     {"disk write", "bytes/s", 4096, "4 kB/s"},
                     {"disk read", "operations/s", 0, "0.0 operations/s"},
                     {"disk write", "operations/s", 2, "2.0 operations/s"},
                     {"uptime", "seconds", 10'920, "3 h 2 m"}};
  status.job = two_jobs().front();
  status.waits = "db is being restarted";
  status.pause = PauseView{kNow + hours{2}, "root", "person", "new disks"};
  status.starts = StartsView{3, kNow - minutes{5}, kNow + seconds{40}};
  status.runs = 120;
  return status;
}

Totals seven() { return {.services = 7, .running = 2, .failing = 1, .failed = 2, .initialising = 1, .unmonitored = 1}; }

}  // namespace

TEST_CASE("what is under way is a table that fits the terminal", "[control][jobs]") {
  CHECK(jobs(0) == R"(
ID             KIND     SERVICE                      STEP  FOR  BY    PID   DOING
70             restart  web                          2/5   3 s  root  4242  start db, waits for its program to end (at most 27 s more)
1795235040000  exec     backup_of_the_whole_machine  1/1   2 m  rule        exec /usr/bin/heal, waits for its program to be started
)");
  CHECK(jobs(100) == R"(
ID             KIND     SERVICE                    STEP  FOR  BY    PID
70             restart  web                        2/5   3 s  root  4242
    start db, waits for its program to end (at most 27 s more)
1795235040000  exec     backup_of_the_whole_mach…  1/1   2 m  rule
    exec /usr/bin/heal, waits for its program to be started
)");
  CHECK(jobs(50) == R"(
ID             KIND     SERVICE
70             restart  web
    start db, waits for its program to end (at
    most 27 s more)
1795235040000  exec     backup_of_t…
    exec /usr/bin/heal, waits for its program to
    be started
)");
  CHECK(jobs(40) == R"(
ID             KIND     SERVICE
70             restart  web
    start db, waits for its program to
    end (at most 27 s more)
1795235040000  exec     backup_of_t…
    exec /usr/bin/heal, waits for its
    program to be started
)");
  CHECK(jobs(100, true) == jobs(100));  // nothing in it is good or bad
  CHECK(render_jobs({}, style(80)) == "nothing is under way\n");
}

TEST_CASE("a process is a block of its own", "[control][jobs]") {
  CHECK("\n" + render_status(supervised(), style(80)) == R"(
nginx
  state      running
  kind       process
  place      /etc/healer/web.rules:3
  depends on db and cache
  process    pid 4242, parent 1, uid 33, effective uid 0, gid 33
  measured   cpu 1.2%, total cpu 2.5%
             memory 12.5 MB (0.3%), total memory 25 MB (0.6%)
             children 2, threads 4, filedescriptors 17 (1.7%),
             total filedescriptors 40
             disk read 0 B/s (0.0 operations/s),
             disk write 4 kB/s (2.0 operations/s)
             uptime 3 h 2 m
  job        restart: step 2 of 5, start db, waits for its program to end (pid
             4242), for 3 s, by root
  waits      db is being restarted
  paused     until 2026-11-21 06:24:24, by root: new disks
  starts     the last 5 m ago; 3 in a row failed or died soon; not by a rule
             before 2026-11-21 04:25:04
  last check 3 s ago, in 2 ms: process is running with pid 4242
  runs       120
)");
  for (const std::size_t width : {40U, 60U, 100U}) {
    const std::string text = render_status(supervised(), style(width));
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
      CHECK(display_width(text.substr(at, text.find('\n', at) - at)) <= width);
  }
  ServiceStatus later = supervised();
  later.pause->until.reset();
  later.pause->reason.clear();
  later.starts = StartsView{0, kNow - minutes{5}, kNow - seconds{1}};
  const std::string text = render_status(later, style(0));
  CHECK(text.find("  paused     until it is resumed, by root\n") != std::string::npos);
  CHECK(text.find("  starts     the last 5 m ago\n") != std::string::npos);
}

TEST_CASE("what was measured of the system is told by topics, in the words of the rules", "[control][jobs]") {
  ServiceStatus status;
  status.name = "box";
  status.measured = {{"uptime", "seconds", 90, "1 m 30 s"},
                     {"loadavg(1min)", "load", 1.5, "1.50"},
                     {"loadavg(5min)", "load", 1.25, "1.25"},
                     {"loadavg(1min) per core", "load", 0.75, "0.75"},
                     {"cpu", "percent", 21, "21.0%"},
                     {"cpu(user)", "percent", 20, "20.0%"},
                     {"cpu(wait)", "percent", 1, "1.0%"},
                     {"memory", "percent", 2.3, "2.3%"},
                     {"memory", "bytes", 590'243'430, "562.9 MB"},
                     {"swap", "percent", 0, "0.0%"},
                     {"swap", "bytes", 0, "0 B"},
                     {"warp", "number", 9, "9"}};  // of a daemon that is newer
  CHECK(render_status(status, style(80)).find(R"(
  measured   uptime 1 m 30 s, warp 9
             loadavg(1min) 1.50, (5min) 1.25, (1min) per core 0.75
             cpu 21.0%, (user) 20.0%, (wait) 1.0%
             memory 562.9 MB (2.3%), swap 0 B (0.0%)
)") != std::string::npos);
  status.measured.resize(1);
  CHECK(render_status(status, style(80)).find("  measured   uptime 1 m 30 s\n") != std::string::npos);
}

TEST_CASE("a report is Monit's", "[control][jobs]") {
  // As `monit report` of 5.33 prints it for seven services.
  CHECK(render_report(seven(), "") ==
        "up:             3 (42.9%)\n"
        "down:           2 (28.6%)\n"
        "initialising:   1 (14.3%)\n"
        "unmonitored:    1 (14.3%)\n"
        "total:          7 services\n");
  CHECK(render_report({}, "").starts_with("up:             0 (0.0%)\n"));
  CHECK(render_report(seven(), "up") == "3\n");
  CHECK(render_report(seven(), "down") == "2\n");
  CHECK(render_report(seven(), "initialising") == "1\n");
  CHECK(render_report(seven(), "unmonitored") == "1\n");
  CHECK(render_report(seven(), "total") == "7\n");
  CHECK(render_report(seven(), "unknown") == "0\n");
  Totals more = seven();
  more.add("unknown");
  CHECK(render_report(more, "").starts_with(
      "up:             3 (37.5%)\ndown:           2 (25.0%)\nunknown:        1 (12.5%)\n"));
  CHECK(render_totals(more, {}).find("2 failed") != std::string::npos);
  CHECK(render_totals(more, {}).find(", 1 unknown") != std::string::npos);
}

TEST_CASE("output of a program keeps its lines and cannot command the terminal", "[control][jobs]") {
  CHECK(render_output("a\tb\n\nc") == "a\tb\n\nc");
  CHECK(render_output("\x1b[2J\r\n\x07") == "\\x1b[2J\\r\n\\x07");
  CHECK(render_output("").empty());
}

}  // namespace render_jobs_test
