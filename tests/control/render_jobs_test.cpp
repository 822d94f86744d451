// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "control/render.hpp"
#include "control/render_text.hpp"

using namespace healer;
using namespace healer::control;

namespace {

const WallTime kNow{milliseconds{1'795'235'064'123}};  // 2026-11-21 04:24:24.123

Style style(std::size_t width, bool colour = false) {
  return {.width = width, .colour = colour, .unicode = true, .now = kNow};
}

std::vector<JobView> two_jobs() {
  return {{70, "restart", "web", 2, 5, "start db", "its program to end", milliseconds{3400}, milliseconds{26'600},
           "root", "", 71, 4242},
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
  status.last = RunView{"looked", 0, kNow - seconds{3}, milliseconds{2}, ""};
  status.process = ProcessView{4242, 1, 33, 0, 33, false};
  status.measured = {{"cpu", "percent", 1.25, "1.2%"},
                     {"memory", "bytes", 13'107'200, "12.5 MB"},
                     {"children", "number", 2, "2"},
                     {"threads", "number", 4, "4"},
                     {"uptime", "seconds", 10'920, "3 h 2 m"}};
  status.job = two_jobs().front();
  status.waits = "db is being restarted";
  status.pause = PauseView{kNow + hours{2}, "root", "new disks"};
  status.starts = StartsView{3, kNow - minutes{5}, kNow + seconds{40}};
  status.runs = 120;
  return status;
}

Totals seven() { return {7, 2, 1, 2, 1, 1}; }

}  // namespace

TEST_CASE("what is under way is a table that fits the terminal", "[control][jobs]") {
  CHECK(jobs(0) == R"(
ID             KIND     SERVICE                      STEP  FOR  BY    PID   DOING
70             restart  web                          2/5   3 s  root  4242  start db, waits for its program to end (at most 27 s more)
1795235040000  exec     backup_of_the_whole_machine  1/1   2 m  rule        exec /usr/bin/heal, waits for its program to be started
)");
  CHECK(jobs(100) == R"(
ID             KIND     SERVICE                    STEP  FOR  BY    PID   DOING
70             restart  web                        2/5   3 s  root  4242  start db, waits for its p…
1795235040000  exec     backup_of_the_whole_mach…  1/1   2 m  rule        exec /usr/bin/heal, waits…
)");
  CHECK(jobs(50) == R"(
ID             KIND     SERVICE       DOING
70             restart  web           start db, w…
1795235040000  exec     backup_of_t…  exec /usr/b…
)");
  CHECK(jobs(40) == R"(
ID             KIND     SERVICE
70             restart  web
1795235040000  exec     backup_of_t…
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
  measured   cpu 1.2%, memory 12.5 MB, children 2, threads 4, uptime 3 h 2 m
  job        restart: step 2 of 5, start db, waits for its program to end (pid
             4242), for 3 s, by root
  waits      db is being restarted
  paused     until 2026-11-21 06:24:24, by root: new disks
  starts     the last 5 m ago; 3 in a row failed or died soon; not by a rule
             before 2026-11-21 04:25:04
  last look  3 s ago: took 2 ms
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
}

TEST_CASE("output of a program keeps its lines and cannot command the terminal", "[control][jobs]") {
  CHECK(render_output("a\tb\n\nc") == "a\tb\n\nc");
  CHECK(render_output("\x1b[2J\r\n\x07") == "\\x1b[2J\\r\n\\x07");
  CHECK(render_output("").empty());
}
