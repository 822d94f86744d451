// SPDX-License-Identifier: MIT
// Rows of lists from outside that do not compile: each is left out alone, and no list can make good rules bad.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "config/load.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "support/fake_environment.hpp"

namespace rows_left_out_test {

using namespace healer;
using namespace healer::config;

namespace {

const std::string kMain = "/etc/main";
using Fields = std::vector<std::pair<std::string, std::string>>;
using Lists = std::map<ListSource, std::vector<ListRow>>;

ListSource of_file(const std::string& name, const std::string& file) {
  return {.name = name, .command = {}, .file = file};
}
const ListSource kNodes = of_file("N", "/nodes");
const ListSource kMore = of_file("M", "/more");

std::string block(const ListSource& list, const std::string& services) {
  return "for each " + list.name + " from file \"" + list.file + "\" {\n" + services + "\n}\n";
}

LoadResult load_rows(const std::string& text, Lists lists) {
  test::FakeEnvironment machine;
  machine.files[kMain] = text;
  machine.programs = {"/bin/true"};
  machine.lists = std::move(lists);
  return load(kMain, {}, machine);
}

std::string names_of(const LoadResult& result) {
  if (!result.ok()) return "errors: " + first_error(result.diagnostics, result.sources);
  std::string all;
  for (const auto& service : result.rules->services) all += (all.empty() ? "" : " ") + service->name;
  return all;
}

std::string left_out(const LoadResult& result) {
  std::string all;
  for (const RowLeftOut& row : result.rows_left_out) all += left_out_text(row) + "\n";
  return all;
}

const std::string kProgram = " with path \"/bin/true\" if status != 0 then alert\n";

std::vector<ListRow> rows(const std::vector<std::string>& names) {
  std::vector<ListRow> all;
  for (const std::string& name : names) all.push_back({name, {}});
  return all;
}

}  // namespace

TEST_CASE("a row whose service has the name of one of the rules is left out, wherever that is written",
          "[lists][rows]") {
  const std::string of_rows = block(kNodes, "check program ${N}" + kProgram + "check program http_${N}" + kProgram);
  const std::string of_rules = "check program collide" + kProgram;
  for (const std::string& text : {of_rows + of_rules, of_rules + of_rows}) {
    const LoadResult result = load_rows(text, {{kNodes, rows({"a", "collide", "b"})}});
    INFO(left_out(result));
    REQUIRE(result.ok());
    CHECK(result.rules->services.size() == 5);
    CHECK(names_of(result).find("http_collide") == std::string::npos);
    CHECK(left_out(result).starts_with(
        "the row 'collide' of the list N is refused: there is a service 'collide' already"));
    CHECK(result.rules->left_out.rows == std::set<std::pair<std::string, std::string>>{{"n", "collide"}});
  }
  const LoadResult other_case = load_rows(of_rows + of_rules, {{kNodes, rows({"a", "COLLIDE"})}});
  CHECK(names_of(other_case) == "a http_a collide");
}

TEST_CASE("of two rows that make one service the later one is left out", "[lists][rows]") {
  const std::string two =
      block(kNodes, "check program p_${N.id}" + kProgram) + block(kMore, "check program p_${M.id}" + kProgram);
  const LoadResult result =
      load_rows(two, {{kNodes, {{"a", {{"id", "1"}}}, {"b", {{"id", "2"}}}, {"c", {{"id", "1"}}}}},
                      {kMore, {{"x", {{"id", "3"}}}, {"y", {{"id", "2"}}}}}});
  CHECK(names_of(result) == "p_1 p_2 p_3");
  REQUIRE(result.rows_left_out.size() == 2);
  CHECK(result.rules->left_out.rows == std::set<std::pair<std::string, std::string>>{{"n", "c"}, {"m", "y"}});
}

TEST_CASE("every row in a circle is left out, and what depends on them lives", "[lists][rows]") {
  const std::string text = block(kNodes, "check program h_${N}" + kProgram + " depends on h_${N.v}") +
                           "check program outer" + kProgram + " depends on h_a\n";
  const LoadResult result = load_rows(text, {{kNodes,
                                              {{"a", {{"v", "b"}}},
                                               {"b", {{"v", "c"}}},
                                               {"c", {{"v", "a"}}},
                                               {"d", {{"v", "a"}}},
                                               {"e", {{"v", "d"}}},
                                               {"s", {{"v", "s"}}}}}});
  INFO(left_out(result));
  CHECK(names_of(result) == "h_d h_e outer");
  CHECK(result.rows_left_out.size() == 4);
  // A circle through a service of the rules lies at the row, too.
  const LoadResult mixed = load_rows(block(kNodes, "check program h_${N}" + kProgram + " depends on outer") +
                                         "check program outer" + kProgram + " depends on h_a\n",
                                     {{kNodes, rows({"a", "b"})}});
  INFO(left_out(mixed));
  CHECK(names_of(mixed) == "h_b outer");
  const LoadResult composites =
      load_rows(block(kNodes, "check composite c_${N} with members c_${N.v} if any member failed then alert"),
                {{kNodes, {{"a", {{"v", "b"}}}, {"b", {{"v", "a"}}}, {"c", {{"v", "a"}}}}}});
  INFO(left_out(composites));
  CHECK(names_of(composites) == "c_c");
}

TEST_CASE("a row with a value that cannot be is left out alone", "[lists][rows]") {
  const auto check = [](const std::string& service, const std::string& bad, const std::string& good) {
    INFO(service);
    CHECK(names_of(load_rows(block(kNodes, service), {})).empty());  // a list that is not known judges no value
    const LoadResult result =
        load_rows(block(kNodes, service), {{kNodes, {{"a", {{"v", bad}}}, {"b", {{"v", good}}}, {"c", {{"v", bad}}}}}});
    INFO(left_out(result));
    REQUIRE(result.ok());
    REQUIRE(result.rules->services.size() == 1);
    CHECK(result.rules->services.front()->row->target == "b");
    CHECK(result.rows_left_out.size() == 2);
  };
  check("check process p_${N} matching \"${N.v}\"", "(", "x");
  check("check program p_${N} with path \"/bin/true\" every \"${N.v}\" if status != 0 then alert", "nothing",
        "* * * * *");
  check("check file p_${N} with path /x if content = \"${N.v}\" then alert", "[", "x");
  check("check program p_${N} with path \"${N.v} x\" if status != 0 then alert", "/no/such", "/bin/true");
  check("check host p_${N} with address a if failed port ${N.v} then alert", "http", "81");
}

TEST_CASE("errors of the rules stay errors of the rules, whatever the rows", "[lists][rows]") {
  const auto errors = [](const std::string& text) {
    const LoadResult result = load_rows(text, {{kNodes, rows({"a", "b"})}});
    CHECK_FALSE(result.ok());
    return first_error(result.diagnostics, result.sources);
  };
  CHECK(errors(block(kNodes, "check program p_${N} with path \"/bin/true\" if status != 0 for 100 cycles then alert"))
            .find("between 1 and 64") != std::string::npos);
  CHECK(errors(block(kNodes, "check program p_${N} with path \"/no/such\" if status != 0 then alert"))
            .find("there is no program") != std::string::npos);
  CHECK(errors(block(kNodes, "check program p_${N}" + kProgram) + "check program x" + kProgram + " depends on x\n")
            .find("depends on itself") != std::string::npos);
  // Rows that are wrong beside it are not what is told.
  CHECK(
      errors(block(kNodes, "check program p" + kProgram) + "check program x" + kProgram + "check program x" + kProgram)
          .find("there is a service 'x' already") != std::string::npos);
}

TEST_CASE("rules may name services and groups that a list does not contain now", "[lists][rows]") {
  const std::string text = block(kNodes, "check program p_${N}" + kProgram + " group ${N.role}\n") +
                           "check composite all with members p_a, p_z if any member failed then alert\n"
                           "set healing only while p_z\n"
                           "workflow w { guard program \"/bin/true\" step \"x\" restart p_z pause while more than 40% "
                           "of group web failed }\n";
  for (const Lists& lists :
       {Lists{}, Lists{{kNodes, {{"a", {{"role", "db"}}}}}}, Lists{{kNodes, {{"z", {{"role", "web"}}}}}}}) {
    const LoadResult result = load_rows(text, lists);
    CHECK(names_of(result).find("all") != std::string::npos);
  }
}

TEST_CASE("rows beyond the greatest number of services are left out", "[lists][rows]") {
  std::vector<ListRow> many;
  for (std::size_t i = 0; i < kMostRows / 2 + 10; ++i) many.push_back({"n" + std::to_string(i), {}});
  const LoadResult result = load_rows(block(kNodes,
                                            "check file f_${N} with path /x if does not exist then alert\n"
                                            "check file g_${N} with path /x if does not exist then alert"),
                                      {{kNodes, std::move(many)}});
  REQUIRE(result.ok());
  CHECK(result.rules->services.size() == kMostRows);
  CHECK(result.rows_left_out.size() == 10);
}

TEST_CASE("rules that load while no list is known load with any rows", "[lists][rows]") {
  const std::string templates[] = {
      "check program ${N}" + kProgram,
      "check program h_${N}" + kProgram + " depends on h_${N.v}\n",
      "check program h_${N.v}" + kProgram + " depends on ${N.w}, outer\n",
      "check process m_${N} matching \"${N.v}\"\n",
      "check host k_${N} with address ${N.v} if failed port ${N.w} then alert\n if failed url \"http://x/${N.v}\" then "
      "alert\n",
      "check file f_${N.w} with path ${N.v} if content = \"${N.w}\" then alert\n",
      "check composite c_${N} with members c_${N.v}, h_${N} if any member failed then alert\n",
      "check composite d_${N} with members of group ${N.v} if 2 members failed then alert\n group ${N.w}\n",
      "check program e_${N} with path \"${N.v} ${N.w}\" every \"${N.w}\" if status != 0 then heal with w\n",
      "check program g_${N}" + kProgram + " group ${N.v}\n if status = 3 then heal a with v\n",
      "check process u_${N} with pidfile /run/${N.v} start program \"/bin/true ${N}\" as uid ${N.w}\n",
      "for each K from file \"/more\" { check program ${N.v}_${K}" + kProgram + " }\n",
  };
  const std::string rest = "check program outer" + kProgram + " depends on h_a\ncheck program a" + kProgram +
                           "workflow w { guard program \"/bin/true\" step \"x\" program \"/bin/true ${TARGET}\" pause "
                           "while more than 40% of group red failed }\n"
                           "workflow v { guard program \"/bin/true\" step \"x\" restart h_b }\n"
                           "set healing only while h_c\n";
  const std::string values[] = {"a",    "b",     "c",   "A",     "h_a",  "outer",     "red", "(", "[",
                                "*",    "80",    "0",   "99999", "/x",   "/bin/true", "",    " ", "* * * * *",
                                "root", "any-N", "any", "../x",  "${N}", "\xff",      "b c"};
  const std::string names[] = {"a", "b", "c", "A", "outer", "h_a", "red", "80", "any-N", "any", "w"};
  std::mt19937 lot(20260712);
  const auto one_of = [&](const auto& all) { return std::string(all[lot() % std::size(all)]); };
  std::size_t loaded = 0;
  std::size_t without_lists = 0;
  for (int round = 0; round < 400; ++round) {
    std::string text;
    for (const ListSource& list : {kNodes, of_file("N", "/others")}) {
      std::string services;
      for (const std::string& one : templates)
        if (lot() % 4 == 0) services += one;
      text += block(list, services);
    }
    text = lot() % 2 == 0 ? text + rest : rest + text;
    if (!load_rows(text, {}).ok()) continue;
    ++loaded;
    for (int time = 0; time < 5; ++time) {
      Lists lists;
      for (const ListSource& list : {kNodes, of_file("N", "/others"), of_file("K", "/more")}) {
        if (lot() % 8 == 0) continue;
        std::vector<ListRow>& all = lists[list];
        for (auto left = lot() % 7; left > 0; --left) {
          ListRow row{one_of(names), {}};
          for (const char* field : {"v", "w"})
            if (lot() % 10 != 0) row.fields.emplace_back(field, one_of(values));
          all.push_back(std::move(row));
        }
      }
      const LoadResult result = load_rows(text, lists);
      INFO(text << names_of(result));
      for (const auto& [list, all] : lists)
        for (const ListRow& row : all) {
          std::string shown = list.file + " " + row.name;
          for (const auto& [field, value] : row.fields) shown += " " + field + "=" + value;
          UNSCOPED_INFO(shown);
        }
      REQUIRE(result.ok());
      if (!result.lists_left_out.empty()) ++without_lists;
    }
  }
  CHECK(loaded > 100);
  CHECK(without_lists == 0);
}

TEST_CASE("the last resort is the rules without any rows", "[lists][rows]") {
  test::FakeEnvironment machine;
  machine.files[kMain] = block(kNodes, "check program p_${N}" + kProgram + " group web\n") + "check program one" +
                         kProgram +
                         "workflow w { guard program \"/bin/true\" step \"x\" program \"/bin/true ${N.ip}\" pause "
                         "while more than 40% of group web failed }\n";
  machine.programs = {"/bin/true"};
  machine.lists[kNodes] = rows({"a"});
  const LoadResult result = load_without_lists(kMain, {}, machine, "for a reason");
  CHECK(names_of(result) == "one");
  CHECK(result.lists_left_out == "for a reason");
  CHECK(result.rules->left_out.lists == std::set<std::string>{"n"});
}

}  // namespace rows_left_out_test
