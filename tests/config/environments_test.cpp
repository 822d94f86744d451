// SPDX-License-Identifier: MIT
#include "config/environments.hpp"

#include <catch2/catch.hpp>

#include "config/load.hpp"
#include "config/text/print.hpp"
#include "engine/rules/rule_set.hpp"
#include "support/fake_environment.hpp"
#include "util/regex.hpp"

namespace environments_test {

using namespace healer;
using namespace healer::config;

TEST_CASE("offline, only the rules files are read and nothing is looked up", "[environments]") {
  test::FakeEnvironment machine;
  machine.files["/etc/x"] = "text";
  machine.links["/etc/y"] = "/etc/x";
  machine.uid = 7;
  const OfflineEnvironment offline(machine);
  CHECK(*offline.read("/etc/x") == "text");
  CHECK_FALSE(offline.read("/etc/z"));
  CHECK(offline.stat("/etc/x")->is_regular);
  CHECK(offline.glob("/etc/*").value() == std::vector<std::string>{"/etc/x"});
  CHECK(offline.canonical("/etc/y") == "/etc/x");
  CHECK_FALSE(offline.looks_up());
  CHECK_FALSE(offline.user("root").has_value());
  CHECK_FALSE(offline.group("root").has_value());
  CHECK(offline.executable("/no/such/program"));
  CHECK(offline.effective_uid() == 7);
}

TEST_CASE("a system that is named by $HOST is printed so where the machine is not asked", "[environments]") {
  test::FakeEnvironment machine;
  machine.files["/rules"] = "check system $HOST\ncheck system \"the $HOST_2 of a/$HOST\"\n";
  const auto loaded = load("/rules", {}, OfflineEnvironment(machine));
  REQUIRE(loaded.ok());
  machine.files["/rules"] = print(*loaded.rules);
  CAPTURE(machine.files["/rules"]);
  CHECK(machine.files["/rules"].find("/$HOST") == machine.files["/rules"].find("a/$HOST") + 1);
  const auto again = load("/rules", {}, OfflineEnvironment(machine));
  REQUIRE(again.ok());
  CHECK(again.rules->services[1]->name == loaded.rules->services[1]->name);
}

TEST_CASE("the last good rules are served from memory, users from the machine", "[environments]") {
  test::FakeEnvironment machine;
  machine.uid = 7;
  machine.files["/etc/now"] = "is not seen";
  const SavedEnvironment saved(
      {{"/etc/h/main", "main"}, {"/etc/h/d/b.conf", "b"}, {"/etc/h/d/a.conf", "a"}, {"/etc/h/d/a.conf", "a"}}, machine);
  CHECK(*saved.read("/etc/h/main") == "main");
  CHECK(saved.read("/etc/now").error().code == ENOENT);
  CHECK(saved.read("/etc/h/d").error().code == ENOENT);
  CHECK(saved.glob("/etc/h/d/*.conf").value() == std::vector<std::string>{"/etc/h/d/a.conf", "/etc/h/d/b.conf"});
  CHECK(saved.glob("/etc/h/*").value() == std::vector<std::string>{"/etc/h/main"});
  CHECK(saved.stat("/etc/h/d")->is_directory);
  CHECK(saved.stat("/etc/h/d/")->is_directory);
  CHECK(saved.stat("/etc/h/main")->is_regular);
  CHECK(saved.stat("/etc/h/main")->uid == 7);
  CHECK(saved.stat("/etc/h/mai").error().code == ENOENT);
  CHECK(saved.user("www")->uid == 33);
  CHECK(saved.group("www") == 33U);
  CHECK(saved.executable("/no/such/program"));
}

TEST_CASE("the last good rules load though a key, passwords or patterns they name are gone", "[environments]") {
  test::FakeEnvironment machine;
  machine.files["/rules"] =
      "set httpd port 2812 with ssl { pemfile: /etc/key.pem } allow md5 /etc/passwords\n"
      "check file log with path /var/log/x\n  if match /etc/patterns then alert\n"
      "check host h with address x\n  if failed port 443 with ssl { cacertificatefile: /etc/ca.pem } then alert\n";
  for (const std::string name : {"/etc/key.pem", "/etc/passwords", "/etc/ca.pem"}) machine.files[name] = "x:y\n";
  machine.files["/etc/patterns"] = "error\n";
  const auto first = load("/rules", {}, machine);
  CAPTURE(first.diagnostics.size());
  REQUIRE(first.ok());
  const SavedEnvironment whole({{"/rules", machine.files["/rules"]}}, machine);
  const auto with_all = load("/rules", {}, whole);
  REQUIRE(with_all.ok());
  CHECK(print(*with_all.rules) == print(*first.rules));
  for (const std::string name : {"/etc/key.pem", "/etc/passwords", "/etc/ca.pem", "/etc/patterns"}) {
    machine.files.erase(name);
    CAPTURE(name);
    CHECK_FALSE(load("/rules", {}, machine).ok());
    CHECK(load("/rules", {}, SavedEnvironment({{"/rules", machine.files["/rules"]}}, machine)).ok());
  }
}

TEST_CASE("A lost file of patterns makes its test unknown, so that no line fires or is skipped by it",
          "[environments]") {
  test::FakeEnvironment machine;
  machine.files["/rules"] =
      "check file log with path /var/log/x\n  if content != /etc/patterns then alert\n  ignore content = "
      "/etc/patterns\n";
  const std::string lost = GENERATE(as<std::string>(), "", "(\n");  // empty, as after a full disk, and half a line
  if (!lost.empty() || GENERATE(true, false)) machine.files["/etc/patterns"] = lost;
  CHECK_FALSE(load("/rules", {}, machine).ok());
  const auto known = load("/rules", {}, SavedEnvironment({{"/rules", machine.files["/rules"]}}, machine));
  REQUIRE(known.ok());
  const auto& lines = known.rules->services.at(0)->lines;
  for (const auto& pattern : {lines->patterns.at(0), lines->ignored.at(0)}) {
    CAPTURE(pattern.text);
    CHECK_FALSE(pattern_problem(pattern.text).empty());
  }
}

TEST_CASE("a user who is gone does not stop the last good rules of an interface", "[environments]") {
  test::FakeEnvironment machine;
  machine.files["/rules"] = "set httpd unixsocket /run/x uid nosuch gid nosuch\ncheck system x\n";
  CHECK_FALSE(load("/rules", {}, machine).ok());
  CHECK(load("/rules", {}, SavedEnvironment({{"/rules", machine.files["/rules"]}}, machine)).ok());
}

TEST_CASE("an operator whom nobody knows keeps no daemon from starting, and has no right", "[environments]") {
  test::FakeEnvironment machine;
  machine.files["/rules"] = "set operators www, nosuch\ncheck system x\n";
  const auto checked = load("/rules", {}, ListsEnvironment({}, machine));
  CHECK_FALSE(checked.ok());
  const StartEnvironment start(machine);
  const SavedEnvironment saved({{"/rules", machine.files["/rules"]}}, machine);
  for (const Environment* const each :
       {static_cast<const Environment*>(&start), static_cast<const Environment*>(&saved)}) {
    const auto loaded = load("/rules", {}, ListsEnvironment({}, *each));
    REQUIRE(loaded.ok());
    REQUIRE(loaded.diagnostics.size() == 1);
    CHECK(loaded.diagnostics[0].severity == DiagnosticSeverity::Warning);
    CHECK(loaded.diagnostics[0].message == "there is no user 'nosuch' on this machine");
    CHECK(loaded.diagnostics[0].remedy ==
          "nobody of that name has a right until it is known and the rules are reloaded");
    const auto& operators = loaded.rules->settings.operators;
    REQUIRE(operators.size() == 2);
    CHECK(operators[0].uid == 33U);
    CHECK_FALSE(operators[1].uid);
  }
}

TEST_CASE("a file of passwords and the owner of a socket must be there, as in Monit", "[environments]") {
  test::FakeEnvironment machine;
  machine.files["/etc/passwords"] = "john:secret\n";
  const auto takes = [&](const std::string& set) {
    machine.files["/rules"] = set + "\ncheck system x\n";
    return load("/rules", {}, machine).ok();
  };
  for (const std::string how : {"", "cleartext", "crypt", "md5"}) {
    CHECK(takes("set httpd port 2812 allow " + how + " /etc/passwords john"));
    CHECK_FALSE(takes("set httpd port 2812 allow " + how + " /etc/missing"));
  }
  CHECK(takes("set httpd port 2812 allow @nobody allow localhost"));
  CHECK(takes("set httpd unixsocket /run/x uid www gid www"));
  CHECK_FALSE(takes("set httpd unixsocket /run/x uid nosuch"));
  CHECK_FALSE(takes("set httpd unixsocket /run/x gid nosuch"));
}

}  // namespace environments_test
