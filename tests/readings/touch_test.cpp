// SPDX-License-Identifier: MIT
// Everything whose judgement a service can touch that is left out of a replay.
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "engine/reload/diff.hpp"
#include "replay/recorded_rules.hpp"
#include "support/workflow_rules.hpp"

using namespace healer;
using namespace healer::engine;
using namespace healer::test;

namespace {

using Names = std::set<std::string>;

std::string workflow(const std::string& name, const std::string& more = {}) {
  return "workflow " + name + " { guard program \"/bin/may\" step \"go\" program \"/bin/go\" timeout 1 minute " + more +
         " step \"verify\" recovered within 5 minutes }\n";
}

std::string program(const std::string& name, const std::string& more = {}) {
  return "check program " + name + " with path \"/bin/" + name + "\" if status = 9 then alert " + more + "\n";
}

Touched without(const std::string& text, const std::string& name) {
  const auto graph = make_graph(rules(text));
  Slots left_out(graph->slots.size());
  left_out[graph->find(name)->index()] = true;
  return touched_by(*graph, left_out);
}

}  // namespace

TEST_CASE("what counts the group of a service that is left out may heal otherwise, whatever group it is in") {
  const std::string other = program("calm", "if status != 0 then heal with free");
  for (const char* const brake : {"pause while more than 40% of group web failed", "limit 20% of group web at once",
                                  "approval when more than 10% of group web failed"}) {
    CAPTURE(brake);
    const Touched touched = without(
        "workflow counts { guard program \"/bin/may\" step \"go\" program \"/bin/go\" timeout 1 minute "
        "step \"verify\" recovered within 5 minutes " +
            std::string(brake) + " }\n" + workflow("free") + program("new", "group web") +
            program("db", "if status != 0 then heal with counts") + other,
        "new");
    CHECK(touched.healing == Names{"new", "db"});
    CHECK(touched.wholly == Names{"new"});
  }
}

TEST_CASE("a healing in doubt is handed on to all that share brakes with it, and to what goes by its service") {
  const Touched touched =
      without(workflow("one") + workflow("two") + workflow("free") + program("new", "group web") +
                  program("a", "group web if status != 0 then heal with one") +
                  program("b", "if status != 0 then heal with one if status = 2 then heal with two") +
                  program("c", "if status != 0 then heal with two") +
                  program("d", "if status != 0 then exec \"/x\" depends on c") +
                  program("e", "if status != 0 then heal with free") + program("f", "if status != 0 then alert") +
                  "check composite all with members c if any member failed then alert\n",
              "new");
  CHECK(touched.healing == Names{"new", "a", "b", "c", "d", "all"});
  CHECK(touched.wholly == Names{"new", "d", "all"});
}

TEST_CASE("what a healing starts and stops, and what is started with a service, is touched") {
  const std::string process = "start program \"/bin/up\" stop program \"/bin/down\" ";
  const Touched touched =
      without(workflow("w", "step \"db\" restart db") + program("new", "if status != 0 then heal with w") +
                  "check process db with pidfile \"/run/db\" " + process + "\n" +
                  "check process disk with pidfile \"/run/disk\" " + process + "\n" +
                  "check process app with pidfile \"/run/app\" " + process + " depends on db, disk\n" + program("calm"),
              "new");
  CHECK(touched.wholly == Names{"new", "db", "app", "disk"});
  // A service that does nothing but look has no jobs.
  CHECK(without(program("new", "depends on calm if status != 0 then alert") + program("calm"), "new").wholly ==
        Names{"new"});
}

TEST_CASE("limits of all healings, and a group that they count, touch all of them") {
  const std::string healed = workflow("w") + workflow("v") + program("a", "if status != 0 then heal with v");
  const auto all = [&](const std::string& settings, const std::string& service) {
    return without(settings + healed + service, "new").healing.contains("a");
  };
  CHECK_FALSE(all("", program("new", "if status != 0 then heal with w")));
  CHECK(all("set healing limit 2 at once\n", program("new", "if status != 0 then heal with w")));
  CHECK_FALSE(all("set healing limit 2 at once\n", program("new", "if status != 0 then alert")));
  CHECK(all("set healing limit 50% of group web at once\n", program("new", "group web")));
  CHECK(all("set healing only while new\n", program("new")));
}
