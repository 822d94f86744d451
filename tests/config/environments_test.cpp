// SPDX-License-Identifier: MIT
#include "config/environments.hpp"

#include <catch2/catch.hpp>

#include "config/load.hpp"
#include "config/print.hpp"
#include "engine/rule_set.hpp"
#include "support/fake_environment.hpp"

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

}  // namespace environments_test
