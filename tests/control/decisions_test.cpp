// SPDX-License-Identifier: MIT
// What Monit's log and healer's history say was decided, and how they are paired.
#include "control/decisions.hpp"

#include <catch2/catch.hpp>

namespace decisions_test {

using namespace healer;
using namespace healer::control;

namespace {

std::string text(const Decisions& decisions) {
  std::string result;
  for (const Decision& one : decisions.list) result += one.what + " " + one.service + "\n";
  return result;
}

RecordView record(const std::string& time, const std::string& kind, const std::string& service,
                  const std::string& said) {
  return {.when = *parse_iso("2026-11-22T" + time + ".000Z"),
          .kind = kind,
          .severity = "info",
          .service = service,
          .text = said,
          .output = {}};
}

const std::string kLog =
    "[2026-11-22T14:49:40+0100] info     : Starting Monit 5.33.0 daemon\n"
    "[2026-11-22T14:49:41+0100] error    : 'shop' process is not running\n"
    "[2026-11-22T14:49:41+0100] info     : 'shop' trying to restart\n"
    "[2026-11-22T14:49:41+0100] info     : 'shop' start: '/usr/local/bin/shop start'\n"
    "[2026-11-22T14:49:43+0100] info     : 'shop' process is running with pid 31466\n"
    "[2026-11-22T14:49:43+0100] warning  : 'web' status failed (1) -- no answer\n"
    "[2026-11-22T14:49:48+0100] error    : 'web' status failed (1) -- no answer\nmore of it\n"
    "[2026-11-22T14:49:48+0100] info     : 'web' exec: '/usr/local/bin/heal web'\n"
    "[2026-11-22T14:49:50+0100] error    : 'web' status failed (1) -- no answer\n"
    "[2026-11-22T14:49:52+0100] info     : 'web' status succeeded (0) -- no output\n"
    "[UTC Nov 22 14:49:53] info     : 'web' of an older Monit\n"
    "[2026-11-22T14:49:54+0100] info     : 'x' stop: '/bin/true'\n";

}  // namespace

TEST_CASE("of Monit's log the first of each failure counts, and what was done", "[decisions]") {
  const Decisions found = decisions_of_monit(kLog);
  CHECK(text(found) == "failed shop\nrestart shop\nrecovered shop\nfailed web\nexec web\nrecovered web\nstop x\n");
  CHECK(found.unread == 1);
  CHECK(format_iso(*found.from) == "2026-11-22T13:49:40.000Z");
  CHECK(format_iso(*found.to) == "2026-11-22T13:49:54.000Z");
  CHECK(!decisions_of_monit("nothing\n[x\n[2026-11-22T14:49:54+0x00] a\n").from);
}

TEST_CASE("of healer's history what was done counts, and what was held back", "[decisions]") {
  const Decisions found =
      decisions_of_healer({record("13:49:40", "daemon-started", "", "healer has started"),
                           record("13:49:41", "rule-failed", "shop", "process is not running"),
                           record("13:49:41", "action-held", "shop", "restart held: shadow"),
                           record("13:49:41", "action-held", "shop", "alert held: shadow"),
                           record("13:49:42", "rule-recovered", "shop", "process is running with pid 7"),
                           record("13:49:43", "job-started", "web", "stop by rule: stop web")});
  CHECK(text(found) == "failed shop\nrestart shop\nrecovered shop\nstop web\n");
}

TEST_CASE("decisions of a kind that are near are one", "[decisions]") {
  const auto pairs = [](const std::string& log, const std::vector<RecordView>& records) {
    std::string result;
    for (const MatchedDecision& one : compare(decisions_of_monit(log), decisions_of_healer(records), seconds{10}).list)
      result += one.any().what + " " + one.any().service + " " + std::string(to_string(one.match)) + "\n";
    return result;
  };
  const RecordView start = record("13:49:30", "daemon-started", "", "healer has started");
  CHECK(pairs(kLog, {start, record("13:49:41", "rule-failed", "shop", "process is not running"),
                     record("13:49:41", "action-held", "SHOP", "restart held: shadow"),
                     record("13:49:43", "rule-recovered", "shop", "process is running"),
                     record("13:49:45", "rule-failed", "web", "status failed (1)"),
                     record("13:49:45", "action-held", "web", "exec held: shadow"),
                     record("13:49:51", "rule-recovered", "web", "status succeeded"),
                     record("13:49:53", "action-held", "y", "exec held: shadow")}) ==
        "failed shop both\nrestart shop both\nrecovered shop both\nfailed web both\nexec web both\nrecovered web both\n"
        "exec y only-healer\nstop x only-monit\n");

  std::string log;
  for (int i = 10; i < 40; i += 15)
    log += "[2026-11-22T13:49:" + std::to_string(i) + "+0000] info     : 'a' trying to restart\n";
  CHECK(pairs(log, {record("13:49:10", "action-held", "a", "restart held: shadow")}) ==
        "restart a both\nrestart a again\n");
  CHECK(!compare(decisions_of_monit(kLog), decisions_of_healer({record("19:00:00", "reloaded", "", "x")}), seconds{10})
             .overlaps);
}

}  // namespace decisions_test
