// SPDX-License-Identifier: MIT
// What Monit's log and healer's history say was decided, and how they are paired.
#include "ctl/render/decisions.hpp"

#include <algorithm>
#include <cstdlib>
#include <random>
#include <sstream>
#include <vector>

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
                  const std::string& line) {
  return {.when = *parse_iso("2026-11-22T" + time + ".000Z"),
          .kind = kind,
          .severity = "info",
          .service = service,
          .text = line,
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

TEST_CASE("a process that is a zombie has failed, and recovers when it runs", "[decisions]") {
  const Decisions of_monit = decisions_of_monit(
      "[2026-11-22T14:49:41+0100] error    : 'web' process with pid 7 is a zombie\n"
      "[2026-11-22T14:49:43+0100] error    : 'web' process is not running\n"
      "[2026-11-22T14:49:45+0100] info     : 'web' zombie check succeeded [status_flag=0000]\n"
      "[2026-11-22T14:49:45+0100] info     : 'web' process is running with pid 8\n");
  const Decisions of_healer =
      decisions_of_healer({record("13:49:40", "daemon-started", "", "healer has started"),
                           record("13:49:41", "rule-failed", "web", "process with pid 7 is a zombie"),
                           record("13:49:45", "rule-recovered", "web", "process is running with pid 8")});
  CHECK(text(of_monit) == "failed web\nrecovered web\n");
  CHECK(text(of_healer) == "failed web\nrecovered web\n");
  for (const MatchedDecision& one : compare(of_monit, of_healer, seconds{10}).list) CHECK(one.match == Match::Both);
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

namespace {

/// Decisions at these seconds, of which Monit's go by the first letter: "m0 h5 m60". `r` is a recovery in Monit's log.
std::string paired(const std::string& moments, const std::string& what = "failed") {
  const WallTime base = *parse_iso("2026-11-22T09:00:00.000Z");
  Decisions monit, healer;
  std::istringstream words(moments);
  for (std::string one; words >> one;) {
    Decisions& of = one[0] == 'h' ? healer : monit;
    of.list.push_back({.when = base + seconds{std::stoi(one.substr(1))},
                       .service = "web",
                       .what = one[0] == 'r' ? "recovered" : what,
                       .text = {}});
  }
  monit.from = healer.from = base;
  monit.to = healer.to = base + hours{1};
  const auto second = [&](const std::optional<Decision>& one) {
    return std::to_string(std::chrono::duration_cast<seconds>(one->when - base).count());
  };
  std::string result;
  for (const MatchedDecision& one : compare(monit, healer, minutes{2}).list) {
    if (one.any().what != what) continue;
    result += result.empty() ? "" : " ";
    result += one.match == Match::Both ? "m" + second(one.monit) + "=h" + second(one.healer)
              : one.monit              ? "m" + second(one.monit)
                                       : "h" + second(one.healer);
    if (one.match == Match::Again) result += "(again)";
  }
  return result;
}

}  // namespace

TEST_CASE("the decisions that are nearest in time are one", "[decisions]") {
  // Monit came later: healer had failed and recovered once before.
  CHECK(paired("h0 h103 m103") == "h0 m103=h103");
  CHECK(paired("m0 m103 h103") == "m0 m103=h103");
  // A service that flaps does not shift the chain.
  CHECK(paired("h0 m60 h61 m120 h121 m180 h181 m240") == "h0 m60=h61 m120=h121 m180=h181 m240");
  CHECK(paired("m0 h59 m60 h119 m120 h179 m180") == "m0 m60=h59 m120=h119 m180=h179");
  // Those of one moment find each their own, in order.
  CHECK(paired("m0 m0 h2 h3") == "m0=h2 m0=h3");
  CHECK(paired("h0 h1 m3 m3") == "m3=h0 m3=h1");
  CHECK(paired("m0 h10 m20") == "m0=h10 m20");
  CHECK(paired("m0 h120") == "m0=h120");
  CHECK(paired("m0 h121") == "m0 h121");
  CHECK(paired("m0 h100 m200 h300") == "m0=h100 m200=h300");
  CHECK(paired("h100 m200 m0 h300") == "m0=h100 m200=h300");  // a clock that was set back
}

TEST_CASE("what Monit does again for one failure is no difference, before and after healer", "[decisions]") {
  CHECK(paired("m0 m30 m60 m90 h31", "restart") == "m0(again) m30=h31 m60(again) m90(again)");
  CHECK(paired("m0 r10 m30 h31", "restart") == "m0 m30=h31");
  CHECK(paired("m0 m500 h501", "restart") == "m0 m500=h501");
  CHECK(paired("m0 m30", "restart") == "m0 m30(again)");
}

TEST_CASE("no other pairs in order are nearer together", "[decisions]") {
  const auto cost = [](const std::string& pairs) {
    int result = 0;
    std::istringstream words(pairs);
    for (std::string one; words >> one;) {
      const std::size_t sign = one.find("=h");
      result += sign == std::string::npos ? 60 : std::abs(std::stoi(one.substr(1)) - std::stoi(one.substr(sign + 2)));
    }
    return result;
  };
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<int> monit(random() % 8), healer(random() % 8);
    std::string moments;
    for (int& one : monit) one = static_cast<int>(random() % 600);
    for (int& one : healer) one = static_cast<int>(random() % 600);
    std::ranges::sort(monit);
    std::ranges::sort(healer);
    for (const int one : monit) moments += " m" + std::to_string(one);
    for (const int one : healer) moments += " h" + std::to_string(one);
    if (moments.empty()) continue;
    // The least of all: each decision that stays alone costs half of what is too far apart.
    std::vector<std::vector<int>> least(monit.size() + 1, std::vector<int>(healer.size() + 1));
    for (std::size_t i = 0; i <= monit.size(); ++i)
      for (std::size_t j = 0; j <= healer.size(); ++j) {
        int& best = least[i][j] = static_cast<int>(i + j) * 60;
        if (i > 0) best = std::min(best, least[i - 1][j] + 60);
        if (j > 0) best = std::min(best, least[i][j - 1] + 60);
        if (i > 0 && j > 0) best = std::min(best, least[i - 1][j - 1] + std::abs(monit[i - 1] - healer[j - 1]));
      }
    CAPTURE(moments);
    CHECK(cost(paired(moments.substr(1))) == least.back().back());
  }
}

}  // namespace decisions_test
