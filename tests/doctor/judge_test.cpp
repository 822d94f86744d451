// SPDX-License-Identifier: MIT
#include "doctor/judge.hpp"
#include "engine/rules/rule_set.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

namespace judge_test {

using namespace healer;
using namespace healer::doctor;

namespace {

constexpr WallTime kNow{milliseconds{1'790'000'000'000}};

/// A machine on which nothing is wrong.
Facts well() {
  Facts facts;
  facts.root = true;
  facts.user = "root";
  facts.group_exists = true;
  facts.own_version = "1.0";
  facts.socket = "/run/healer/healer.sock";
  facts.systemd = true;
  facts.unit = Unit{.loaded = "loaded", .active = "active", .enabled = "enabled", .pid = 7, .delegates = true};
  facts.daemon = {.answer = Daemon::Answer::Answers, .version = "1.0", .pid = 7, .services = 3};
  facts.rules = {.path = "/etc/healer/rules.d", .services = 3};
  facts.alerts_mailed = true;
  facts.mail_servers = {{"localhost:25", ""}};
  facts.limits = Limits{.descriptors = 65'536, .open = 20};
  facts.cgroup2 = true;
  facts.now = kNow;
  facts.clock_synchronised = true;
  facts.state = {.path = "/var/lib/healer/state", .exists = true, .free_bytes = 1'000'000'000, .newest = kNow};
  return facts;
}

/// The worst finding on a subject.
Finding on(const Facts& facts, std::string_view subject) {
  const std::vector<Finding> findings = judge(facts);
  const auto found = std::ranges::find(findings, subject, &Finding::subject);
  REQUIRE(found != findings.end());
  if (found->verdict == Verdict::Good)
    CHECK(found->remedy.empty());
  else
    CHECK(!found->remedy.empty());
  return *found;
}

}  // namespace

TEST_CASE("nothing stands in the way on a machine that is well", "[doctor]") {
  const std::vector<Finding> findings = judge(well());
  CHECK(findings.size() == 10);
  for (const Finding& one : findings) {
    CAPTURE(one.subject, one.text);
    CHECK(one.verdict == Verdict::Good);
    CHECK(one.remedy.empty());
  }
}

TEST_CASE("the worst comes first", "[doctor]") {
  Facts facts = well();
  facts.clock_synchronised = false;
  facts.state.read_only = true;
  const std::vector<Finding> findings = judge(facts);
  CHECK(findings[0].subject == "state");
  CHECK(findings[1].subject == "clock");
  CHECK(std::ranges::is_sorted(findings, {}, &Finding::verdict));
}

TEST_CASE("a unit that does not run, or will not run, is found", "[doctor]") {
  Facts facts = well();
  facts.unit->active = "failed";
  CHECK(on(facts, "unit").verdict == Verdict::Fault);
  CHECK(on(facts, "unit").remedy.find("journalctl") != std::string::npos);
  facts.unit->active = "inactive";
  CHECK(on(facts, "unit").remedy == "systemctl start healer");
  facts.unit->loaded = "masked";
  CHECK(on(facts, "unit").remedy == "systemctl unmask healer.service");
  facts.unit->loaded = "not-found";
  CHECK(on(facts, "unit").verdict == Verdict::Warning);
  facts = well();
  facts.unit->enabled = "disabled";
  CHECK(on(facts, "unit").remedy == "systemctl enable healer");
  facts = well();
  facts.unit->restarts = 9;
  CHECK(on(facts, "unit").text == "healerd has ended and was started again 9 times");
  facts.systemd = false;
  facts.unit.reset();
  CHECK(on(facts, "unit").verdict == Verdict::Good);
}

TEST_CASE("a daemon that does not answer is a fault, and whoever may not ask learns how to", "[doctor]") {
  Facts facts = well();
  facts.root = false;
  facts.user = "ann";
  facts.daemon = {.answer = Daemon::Answer::Forbidden, .error = "you may not ask healerd", .remedy = "be root"};
  const Finding found = on(facts, "daemon");
  CHECK(found.verdict == Verdict::Fault);
  CHECK(found.remedy.find("usermod -aG healer ann") != std::string::npos);
  facts.limits.reset();
  CHECK(on(facts, "descriptors").text == "not checked: needs root");
  facts.daemon = {.answer = Daemon::Answer::NotRunning, .error = "healerd does not run"};
  CHECK(on(facts, "descriptors").text == "not checked: no healerd runs");
  CHECK(on(facts, "daemon").remedy.find("systemctl start healer") != std::string::npos);
}

TEST_CASE("what the daemon lacks, and rules that are not in force, are faults; another version is a warning",
          "[doctor]") {
  Facts facts = well();
  facts.daemon.version = "0.9";
  CHECK(on(facts, "daemon") == Finding{Verdict::Warning, "daemon", "healerd 0.9 runs, healerctl is of version 1.0",
                                       "systemctl restart healer; what is under way continues"});
  facts.daemon.stale = "a.rules:1:1: unexpected 'chek'";
  CHECK(on(facts, "daemon").text == "the rules on disk are not loaded: a.rules:1:1: unexpected 'chek'");
  facts.daemon.troubles = {"the state cannot be written"};
  CHECK(on(facts, "daemon").text == "the state cannot be written");
}

TEST_CASE("each error and warning of the rules is a finding with its place", "[doctor]") {
  Facts facts = well();
  facts.rules.problems = {{.place = "a.rules:3:5", .message = "there is no program /opt/x", .remedy = "install it"},
                          {.error = true, .place = "a.rules:9:1", .message = "unexpected 'chek'"}};
  CHECK(on(facts, "rules") ==
        Finding{Verdict::Fault, "rules", "a.rules:9:1: unexpected 'chek'", "healerd -t shows the line"});
  CHECK(std::ranges::count(judge(facts), std::string_view("rules"), &Finding::subject) == 2);
  facts = well();
  facts.rules.services = 0;
  CHECK(on(facts, "rules").verdict == Verdict::Warning);
  facts.rules.unreadable = true;
  CHECK(on(facts, "rules").verdict == Verdict::Good);
}

TEST_CASE("a state file that is damaged, or has no room, is found", "[doctor]") {
  Facts facts = well();
  facts.state.error = "the file is damaged";
  CHECK(on(facts, "state").verdict == Verdict::Fault);
  facts = well();
  facts.state.error.clear();
  facts.state.set_aside = {"/var/lib/healer/state.corrupt-1"};
  CHECK(on(facts, "state").text == "a damaged state file was moved to /var/lib/healer/state.corrupt-1");
  CHECK(on(facts, "state").verdict == Verdict::Warning);
  facts.state.set_aside.clear();
  facts.state.free_bytes = 30'000'000;
  CHECK(on(facts, "state").text == "only 30.0 MB are free for /var/lib/healer/state");
  CHECK(on(facts, "state").verdict == Verdict::Warning);
  facts.state.free_bytes = 0;
  CHECK(on(facts, "state").verdict == Verdict::Fault);
  facts = well();
  facts.state.exists = false;
  CHECK(on(facts, "state").verdict == Verdict::Warning);  // though a daemon runs
}

TEST_CASE("a monit that supervises the same services is a fault, any other is none", "[doctor]") {
  Facts facts = well();
  facts.monits = {{.pid = 5, .file = "/etc/monit/monitrc", .read = true}};
  CHECK(on(facts, "monit").verdict == Verdict::Good);
  facts.monits[0].shared = {"shop", "web"};
  CHECK(on(facts, "monit").text == "monit (pid 5, /etc/monit/monitrc) and healer both supervise shop and web");
  CHECK(on(facts, "monit").verdict == Verdict::Fault);
  facts.monits[0] = {.pid = 5, .file = "/etc/monit/monitrc"};
  CHECK(on(facts, "monit").remedy == "run this as root");
}

TEST_CASE("a pattern that matches what healer runs itself is warned of", "[doctor]") {
  Facts facts = well();
  facts.loose_patterns = {{.service = "shopd", .pattern = "shopd", .own = 812, .command = "/opt/probe shopd"}};
  CHECK(on(facts, "patterns").verdict == Verdict::Warning);
  CHECK(on(facts, "patterns").text ==
        "the pattern \"shopd\" of shopd matches a program that healer runs for something else, too (pid 812: "
        "/opt/probe shopd)");
}

TEST_CASE("a contact that does not take its alerts is found, and nobody need be mailed where contacts are told",
          "[doctor]") {
  Facts facts = well();
  facts.daemon.contacts = {{"wall", 2, ""}};  // they are under way
  for (const Finding& finding : judge(facts)) CHECK(finding.subject != "contacts");
  facts.daemon.contacts.push_back({"team", 1, "it answered 503"});
  CHECK(on(facts, "contacts").verdict == Verdict::Warning);
  CHECK(on(facts, "contacts").text == "1 alert waits for the contact team: it answered 503");
  CHECK(on(facts, "contacts").remedy.find("tries again by itself") != std::string::npos);
  facts.daemon.contacts.back().is_gone = true;
  CHECK(on(facts, "contacts").remedy.find("nothing is tried") == 0);
  facts.daemon.contacts = {{"team", 0, "it answered 404"}};
  CHECK(on(facts, "contacts").verdict == Verdict::Fault);
  CHECK(on(facts, "contacts").text == "the contact team has not taken its last alert: it answered 404");
  facts.alerts_mailed = false;
  facts.mail_servers.clear();
  facts.alerts_to_contacts = true;
  CHECK(on(facts, "mail").verdict == Verdict::Good);
}

TEST_CASE("mail that reaches nobody is found; one server of several may be down", "[doctor]") {
  Facts facts = well();
  facts.mail_servers[0].error = "Connection refused";
  CHECK(on(facts, "mail").verdict == Verdict::Fault);
  CHECK(on(facts, "mail").text == "the mail server localhost:25 cannot be reached: Connection refused");
  facts.mail_servers.push_back({"mx:25", ""});
  CHECK(on(facts, "mail").verdict == Verdict::Warning);
  facts.mail_servers.clear();
  CHECK(on(facts, "mail").text == "no mail server is set: alerts are in the log and the history alone");
  Facts broken = facts;
  broken.rules.broken = true;
  CHECK(on(broken, "mail").text == "not checked: the rules have errors");
  facts = well();
  facts.alerts_mailed = false;
  CHECK(on(facts, "mail").verdict == Verdict::Warning);
  facts = well();
  facts.daemon.mail_error = "550 no";
  facts.daemon.mails_waiting = 1;
  CHECK(on(facts, "mail").text == "1 mail waits; the server said last: 550 no");
}

TEST_CASE("descriptors, control groups and the clock are looked at", "[doctor]") {
  Facts facts = well();
  facts.limits = Limits{.descriptors = 1'000, .open = 950};
  CHECK(on(facts, "descriptors").verdict == Verdict::Fault);
  facts.limits = Limits{.descriptors = 1'000, .open = 10};
  facts.daemon.services = 500;
  CHECK(on(facts, "descriptors").text == "healerd may open 1000 descriptors; 500 services may need 1628");
  facts.cgroup2 = false;
  CHECK(on(facts, "cgroup").verdict == Verdict::Warning);
  facts.state.newest = kNow + hours{3};
  CHECK(on(facts, "clock").text.starts_with("the clock was set back"));
  facts.now = WallTime{};
  CHECK(on(facts, "clock").verdict == Verdict::Fault);
}

}  // namespace judge_test
