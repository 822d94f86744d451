// SPDX-License-Identifier: MIT
// define and for each: what becomes of names, ranges and rows, and what is said where they cannot be.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "config/check.hpp"
#include "config/compile/fingerprint.hpp"
#include "config/lists/list_rows.hpp"
#include "config/load.hpp"
#include "config/text/format.hpp"
#include "config/text/print.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "protocols/probe.hpp"
#include "support/fake_environment.hpp"

namespace lists_test {

using namespace healer;
using namespace healer::config;

namespace {

const std::string kMain = "/etc/main";

LoadResult load_files(std::map<std::string, std::string> files, const LoadOptions& options = {}) {
  test::FakeEnvironment machine;
  machine.files = std::move(files);
  machine.programs = {"/bin/true", "/bin/sh", "/bin/list"};
  return load(kMain, options, machine);
}

LoadResult load_text(const std::string& text, const LoadOptions& options = {}) {
  return load_files({{kMain, text}}, options);
}

/// Messages as "LINE:COLUMN: message (remedy) [row]", one a line.
std::string messages_of(const LoadResult& result, DiagnosticSeverity least = DiagnosticSeverity::Error) {
  std::string text;
  for (const Diagnostic& one : result.diagnostics) {
    if (one.severity < least || one.on_request) continue;
    if (one.range) {
      const Position at = result.sources.position(one.range->file, one.range->begin);
      text += std::to_string(at.line) + ":" + std::to_string(at.column) + ": ";
    }
    text += one.message + (one.remedy.empty() ? "" : " (" + one.remedy + ")") +
            (one.row.empty() ? "" : " [" + one.row + "]") + "\n";
  }
  return text;
}

std::string errors(const std::string& text) { return messages_of(load_text(text)); }

std::vector<std::shared_ptr<const engine::ServiceBlock>> services(const std::string& text) {
  LoadResult result = load_text(text);
  INFO(format_all(result.diagnostics, result.sources, false));
  REQUIRE(result.ok());
  return std::move(result.rules->services);
}

std::string names(const std::string& text) {
  std::string all;
  for (const auto& block : services(text)) all += (all.empty() ? "" : " ") + block->name;
  return all;
}

std::string ping(const std::string& list) {
  return "for each NODE in " + list +
         " {\n  check program ping_${NODE} with path \"/bin/true ${NODE}\" if status != 0 then alert\n}\n";
}

}  // namespace

TEST_CASE("ranges of rows", "[lists]") {
  const auto rows = [](const std::string& first, const std::string& last) {
    const auto names = rows_of_range(first, last);
    if (!names) return names.error().what;
    std::string all;
    for (const std::string& name : *names) all += (all.empty() ? "" : " ") + name;
    return all;
  };
  CHECK(rows("db1", "db3") == "db1 db2 db3");
  CHECK(rows("db9", "db11") == "db9 db10 db11");
  CHECK(rows("web08", "web12") == "web08 web09 web10 web11 web12");
  CHECK(rows("x0", "x2") == "x0 x1 x2");
  CHECK(rows("db4", "db4") == "db4");
  CHECK(rows("8", "11") == "8 9 10 11");
  CHECK(rows("db-a", "db-c") == "'db-a' does not end in a number");
  CHECK(rows("db1", "web3") == "'db1' and 'web3' differ before their numbers");
  CHECK(rows("db3", "db1") == "'db3' comes after 'db1'");
  CHECK(rows("db1", "db09") == "'db1' and 'db09' are padded with zeros differently");
  CHECK(rows("db001", "db09") == "'db001' and 'db09' are padded with zeros differently");
  CHECK(rows("db1", "db10001") == "these are 10001 rows: a range has at most 10000");
  CHECK(rows("db1", "db12345678901234567890") == "the numbers are too long");
  CHECK(rows("db098", "db101") == "db098 db099 db100 db101");
}

TEST_CASE("what a list says", "[lists]") {
  const auto reading = read_rows(
      "web1\n\n# comment\n  web2  \r\n{\"name\": \"db1\", \"ip\": \"10.0.0.1\", \"cpus\": 4, \"tags\": [\"a\"], \"x\": "
      "null}\n");
  REQUIRE(reading);
  CHECK(reading->rows == std::vector<ListRow>{{"web1", {}},
                                              {"web2", {}},
                                              {"db1", {{"cpus", "4"}, {"ip", "10.0.0.1"}, {"tags", "[\"a\"]"}}}});
  CHECK(reading->refused.empty());
  const auto bad = read_rows(
      "-web\n$(reboot)\n{\"name\": 1}\n{\"name\": \"a b\"}\n{\"name\": \"a\", \"x\": "
      "\"1\\n2\"}\n{\"name\"\n../x\nok\n");
  REQUIRE(bad);
  CHECK(bad->rows == std::vector<ListRow>{{"ok", {}}});
  std::vector<std::string> why;
  for (const RefusedRow& one : bad->refused) why.push_back(one.why);
  CHECK(why == std::vector<std::string>{
                   "line 1: '-web' is not a valid row name", "line 2: '$(reboot)' is not a valid row name",
                   R"(line 3: this object has no "name" that is a text)", "line 4: 'a b' is not a valid row name",
                   "line 5: the value of 'x' has control characters", "line 6: this is not a JSON object",
                   "line 7: '../x' is not a valid row name"});
  std::string many;
  for (std::size_t i = 0; i <= kMostRows; ++i) many += "n" + std::to_string(i) + "\n";
  const auto too_many = read_rows(many);
  REQUIRE_FALSE(too_many);
  CHECK(too_many.error().what == "it has more than 100000 rows");
}

TEST_CASE("a block becomes a service for each row", "[lists]") {
  const auto all = services(ping("\"webbox1\", db1 .. \"db3\", 7"));
  REQUIRE(all.size() == 5);
  CHECK(names(ping("\"webbox1\", db1 .. \"db3\", 7")) == "ping_webbox1 ping_db1 ping_db2 ping_db3 ping_7");
  CHECK(all[1]->program->command.arguments == std::vector<std::string>{"/bin/true", "db1"});
  CHECK(all[1]->target() == "db1");
  REQUIRE(all[1]->row);
  CHECK(*all[1]->row == engine::Row{.target = "db1", .variables = {{"NODE", "db1"}}, .lists = {"NODE"}});
  CHECK(all[1]->place.line == 2);
  CHECK(all[1]->rules[0]->text == "if status != 0 then alert");
}

TEST_CASE("a value is never more than one argument", "[lists]") {
  const auto all = services(
      "define TEXT \"two words 'x\"\nfor each NODE in \"a\" {\n check program p with path \"/bin/true ${TEXT} -e "
      "'n=${NODE} ${TEXT}'\" if status != 0 then exec \"/bin/true ${TEXT}\"\n}\n");
  CHECK(all[0]->program->command.arguments ==
        std::vector<std::string>{"/bin/true", "two words 'x", "-e", "n=a two words 'x"});
  CHECK(all[0]->rules[0]->action.command->arguments == std::vector<std::string>{"/bin/true", "two words 'x"});
}

TEST_CASE("a value may stand wherever a text may", "[lists]") {
  const auto all = services(
      "define DIR \"/var/lib\"\ndefine PORT 8080\ndefine WORD \"ok\"\n"
      "for each NODE in \"a.b\" {\n"
      " check host h_${NODE} with address ${NODE} group g-${NODE} depends on f_${NODE}\n"
      "  if failed host ${NODE} port ${PORT} protocol http request \"/x?${NODE}\" content = \"${WORD}\" then alert\n"
      "  if failed url http://${NODE}:81/y then alert\n"
      "  start program = \"${DIR}/start ${NODE}\"\n"
      " check file f_${NODE} with path \"${DIR}/${NODE}\" if content = \"^${NODE}$\" then alert\n"
      " check process p_${NODE} with pidfile ${DIR}/${NODE}.pid if failed unixsocket \"${DIR}/s\" then alert\n"
      " check process q_${NODE} matching \"web ${NODE}\" if does not exist then alert\n"
      "}\n");
  REQUIRE(all.size() == 4);
  CHECK(all[0]->name == "h_a.b");
  CHECK(all[0]->other->host == "a.b");
  CHECK(all[0]->groups == std::vector<std::string>{"g-a.b"});
  CHECK(all[0]->depends == std::vector<std::string>{"f_a.b"});
  CHECK(all[0]->probes.at(0)->port == 8080);
  CHECK(all[0]->rules[0]->text ==
        "if failed host \"a.b\" port 8080 protocol http request \"/x?a.b\" content = \"ok\" then alert");
  CHECK(all[2]->rules[0]->text == "if failed unixsocket /var/lib/s then alert");
  CHECK(all[0]->probes.at(1)->host == "a.b");
  CHECK(all[0]->programs->start->arguments == std::vector<std::string>{"/var/lib/start", "a.b"});
  CHECK(all[1]->path == "/var/lib/a.b");
  CHECK(all[1]->lines->patterns.at(0).text == "^a.b$");
  CHECK(all[2]->process->pid_file == "/var/lib/a.b.pid");
  CHECK(all[3]->process->pattern == "web a.b");
}

TEST_CASE("names are replaced in settings and includes too", "[lists]") {
  const LoadResult result = load_files({{kMain,
                                         "define DIR \"/etc/more\"\nset log \"${DIR}/log\"\nset environment X "
                                         "\"${DIR}/x\"\ninclude ${DIR}/*.conf\ncheck system s\n"},
                                        {"/etc/more/a.conf",
                                         "check program x with path \"/bin/true ${DIR}\" if status "
                                         "!= 0 then alert\n"}});
  INFO(messages_of(result));
  REQUIRE(result.ok());
  CHECK(result.rules->settings.log.path == "/etc/more/log");
  CHECK(result.rules->settings.environment.at(0).second == "/etc/more/x");
  // The included file does not know the name.
  CHECK(result.rules->services.at(0)->program->command.arguments.at(1) == "${DIR}");
}

TEST_CASE("Undefined names stay unchanged outside of a block", "[lists]") {
  const auto all = services(
      "check program x with path \"/bin/sh -c 'echo $${HOME} ${HOME:-x} ${HOME} $$'\" if status != 0 then alert\n"
      "define HOME \"/h\"\n"
      "check program y with path \"/bin/true ${HOME} $${HOME} ${HOME:-x} ${OTHER}\" if status != 0 then alert\n");
  CHECK(all[0]->program->command.arguments.at(2) == "echo $${HOME} ${HOME:-x} ${HOME} $$");
  CHECK(all[1]->program->command.arguments ==
        std::vector<std::string>{"/bin/true", "/h", "${HOME}", "${HOME:-x}", "${OTHER}"});
}

TEST_CASE("blocks may stand in blocks", "[lists]") {
  const auto all = services(
      "for each NODE in \"a\", \"b\" {\n for each PART in \"x\", \"y\" {\n  define BOTH \"${NODE}-${PART}\"\n"
      "  check file f_${BOTH} with path /tmp/${BOTH} if does not exist then alert\n }\n"
      " check file g_${NODE} with path /tmp/${NODE} if does not exist then alert\n}\n"
      "define BOTH \"z\"\ncheck file h_${BOTH} with path /tmp/h if does not exist then alert\n");
  std::string all_names;
  for (const auto& block : all) all_names += block->name + " ";
  CHECK(all_names == "f_a-x f_a-y g_a f_b-x f_b-y g_b h_z ");
  REQUIRE(all[1]->row);
  CHECK(*all[1]->row ==
        engine::Row{.target = "y", .variables = {{"NODE", "a"}, {"PART", "y"}}, .lists = {"NODE", "PART"}});
  CHECK(all[2]->target() == "a");
  CHECK_FALSE(all[6]->row);
}

TEST_CASE("names may be words of the language", "[lists]") {
  CHECK(names("define PORT \"80\"\ndefine start '/x'\ncheck file a${PORT} with path ${start} if does not exist then "
              "alert\nfor each group in \"q\" {\n check system s_${group}\n}\n") == "a80 s_q");
}

TEST_CASE("a service is the same one however its list is written", "[lists]") {
  const auto one = services(ping("\"db1\" .. \"db3\""));
  const auto other = services("# more\n\n" + ping("\"db2\", \"other\""));
  CHECK(fingerprint(*one[1]) == fingerprint(*other[0]));
  CHECK(one[1]->key == other[0]->key);
  CHECK(one[1]->rules[0].key == other[0]->rules[0].key);
  CHECK(one[0]->key != one[1]->key);
  // The row is part of it: its programs are told of it.
  const auto alone = services("check program ping_db2 with path \"/bin/true db2\" if status != 0 then alert\n");
  CHECK(alone[0]->key != one[1]->key);
  CHECK(alone[0]->rules[0].key == one[1]->rules[0].key);
}

TEST_CASE("Printed rules are read back with the same meaning", "[lists]") {
  const LoadResult result = load_text(ping("\"a\", \"b\""));
  REQUIRE(result.ok());
  const std::string text = print(*result.rules);
  CHECK(text.find("# for each: NODE = \"a\"\ncheck program ping_a with path \"/bin/true a\"") != std::string::npos);
  const LoadResult again = load_text(text);
  REQUIRE(again.ok());
  CHECK(again.rules->services.size() == 2);
}

TEST_CASE("the layout of blocks", "[lists][format]") {
  const auto formatted = format_rules(
      "define A \"x\"\nfor   each NODE in \"a\",\n\"b\" .. \"c\" {\n# of it\ncheck program p_${NODE} with path "
      "\"/bin/true\"\nif status != 0 then alert\nfor each X in \"a\" {\ncheck system s_${X}\n"
      "alert a@b\n}\n# last\n}\ncheck system y\n  group z\n");
  REQUIRE(formatted);
  CHECK(*formatted ==
        "define A \"x\"\nfor each NODE in \"a\",\n    \"b\" .. \"c\" {\n  # of it\n"
        "  check program p_${NODE} with path \"/bin/true\"\n"
        "    if status != 0 then alert\n  for each X in \"a\" {\n    check system s_${X}\n"
        "      alert a@b\n  }\n  # last\n}\ncheck system y\n  group z\n");
  CHECK(*format_rules(*formatted) == *formatted);
}

TEST_CASE("errors of names", "[lists]") {
  CHECK(errors("define 1x \"a\"\n") ==
        "1:8: '1x' is not a valid name for a value (a name has letters, digits and '_', and begins with no digit)\n");
  CHECK(errors("define a-b \"a\"\n") ==
        "1:8: 'a-b' is not a valid name for a value (a name has letters, digits and '_', and begins with no digit)\n");
  CHECK(errors("define A\n").find("expected a text in double quotes") != std::string::npos);
  CHECK(errors("define A \"x\"\ndefine A \"y\"\n") ==
        "2:8: 'A' is defined already (the first one is at /etc/main:1:8)\n");
  CHECK(errors("define NODE \"x\"\n" + ping("\"a\"")) ==
        "2:10: 'NODE' is defined already (the first one is at /etc/main:1:8)\n");
  CHECK(errors("for each NODE in \"a\", \"b\" {\n check system s_${NODES}\n}\n") ==
        "2:15: 'NODES' is not defined (did you mean 'NODE'?) [here NODE is 'a'; the same of 1 more row]\n");
  CHECK(
      errors(
          "for each NODE in \"a\" {\n check system s_${NODE} alert x@y with mail-format { subject: ${ZZZ}\n }\n}\n") ==
      "2:63: 'ZZZ' is not defined (define it before this block, or write $${ZZZ} for a literal ${ZZZ}) [here NODE is "
      "'a']\n");
  CHECK(errors("for each NODE in \"a\" {\n check program p with path \"/bin/true ${NODE:-x}\" if status != 0 then "
               "alert\n}\n") == "2:28: '${' names nothing (write $${ for a literal ${) [here NODE is 'a']\n");
  CHECK(errors("for each NODE in \"a\" {\n check file f with path \"${NODE}/x\" if does not exist then alert\n}\n") ==
        "2:25: 'a/x' is not a path: it does not begin with '/' [here NODE is 'a']\n");
  CHECK(errors("check file f with path \"${NODE}/x\" if does not exist then alert\n") ==
        "1:24: '${NODE}/x' is not a path: it does not begin with '/'\n");
  CHECK(errors("define P \"x\"\ncheck host h with address a if failed port ${P} then alert\n") ==
        "2:44: 'x' is not a port (a port is a number from 1 to 65535)\n");
  CHECK(errors("define P \"x\"\ncheck host h with address a if failed port 80 protocol http json '.a${P}' = 1 then "
               "alert\n") ==
        "2:66: a jq filter takes no '${...}' (compare with the value: json '.name' = \"${NAME}\")\n");
  CHECK(errors("for each HOST in \"a\" {\n check system s_${HOST}\n}\n") ==
        "1:10: 'HOST' is a name that healer gives to programs itself (choose another one, such as NODE)\n");
  std::string doubling = "define A0 \"0123456789\"\n";
  for (int i = 1; i < 20; ++i)
    doubling +=
        "define A" + std::to_string(i) + " \"${A" + std::to_string(i - 1) + "}${A" + std::to_string(i - 1) + "}\"\n";
  CHECK(errors(doubling).find("this becomes longer than 65535 bytes") != std::string::npos);
}

TEST_CASE("errors of lists", "[lists]") {
  CHECK(errors(ping("\"a\", \"b\", \"A\"")) ==
        "1:28: 'A' is in this list already (the first one is at /etc/main:1:18; case makes no difference)\n");
  CHECK(errors(ping("\"db1\" .. \"db3\", \"db2\"")) ==
        "1:34: 'db2' is in this list already (the first one is at /etc/main:1:18; case makes no difference)\n");
  CHECK(errors(ping("\"a b\"")) ==
        "1:18: 'a b' is not a valid row name (a name has letters, digits and . _ : @ -, begins with a letter or digit, "
        "and "
        "is at most 253 characters long)\n");
  CHECK(errors(ping("\"db1\" .. \"web3\"")) ==
        "1:18: this is not a range: 'db1' and 'web3' differ before their numbers (as in \"db1\" .. \"db9\", or "
        "\"web08\" .. "
        "\"web12\")\n");
  CHECK(errors("for each NODE in \"a\", \"b\" {\n check system one\n}\n") ==
        "2:15: there is a service 'one' already (each row needs a service of its own: put the row's name into that of "
        "the service) [here NODE is 'b']\n");
  CHECK(errors("for each NODE in \"a\" {\n check system s_${NODE}\n")
            .find("1:1: this block is not closed (close it with '}')") != std::string::npos);
  CHECK(errors("for each NODE in \"a\" {\n set daemon 5\n include /x\n check system s_${NODE}\n}\n") ==
        "2:2: 'set' cannot be used in a 'for each' (write it before the block)\n"
        "3:2: 'include' cannot be used in a 'for each' (write it before the block)\n");
  // An error in the header does not hide those in the block.
  const std::string both =
      errors("for each NODE from nowhere {\n check system s_${NODE}\n  if cpuu > 5% then alert\n}\n");
  CHECK(both.find("1:20: unexpected 'nowhere'") != std::string::npos);
  CHECK(both.find("3:6: unexpected 'cpuu'") != std::string::npos);
  CHECK(both.find("unexpected '}'") == std::string::npos);
  CHECK(errors("check system y\n}\n").find("2:1: unexpected '}'") != std::string::npos);
  CHECK(errors("for each A in \"a1\" .. \"a1000\" {\n for each B in \"b1\" .. \"b1000\" {\n  check system "
               "s_${A}_${B}\n }\n}\n")
            .find("these lists make more than 100000 services") != std::string::npos);
}

TEST_CASE("Monit knows neither", "[lists]") {
  const LoadResult result = load_text("define A \"x\"\n" + ping("\"a\""), {.monit_dialect = MonitVersion::V5_33});
  CHECK(messages_of(result) == "1:1: only healer understands 'define'\n2:5: only healer understands 'for each'\n");
}

TEST_CASE("arguments of a program stay arguments where Monit takes them", "[lists]") {
  const auto all =
      services("check program x with path \"/bin/true\"\n  define A \"b\" each c\n if status != 0 then alert\n");
  CHECK(all[0]->program->command.arguments == std::vector<std::string>{"/bin/true", "define", "A", "b", "each", "c"});
  // In a block it is no file of Monit's.
  CHECK(services("for each N in \"a\" {\n check process x with pidfile /x\n start program = \"/bin/true\"\n define A "
                 "\"b\"\n check "
                 "program ${A} with path \"/bin/true\"\n if status != 0 then alert\n}\n")
            .at(1)
            ->name == "b");
  CHECK(names("check process x with pidfile /x\nstart program = /bin/true\nfor each N in \"a\" {\n check system "
              "${N}\n}\n") == "x a");
}

TEST_CASE("values of rows are made fit for what they go into", "[lists]") {
  const auto all = services(
      "define BASE \"http://a.b/c d\"\nfor each NODE in \"x@y:1\" {\n check host h with address a\n"
      "  if failed url \"http://a/${NODE}?q\" then alert\n"
      "  if failed port 80 protocol http request \"/z/${NODE}\" method post body '{\"n\": \"${NODE}\"}' then "
      "alert\n}\n");
  CHECK(all[0]->rules[0]->text.find("/x%40y%3A1?q") != std::string::npos);
  CHECK(all[0]->rules[1]->text.find("/z/x%40y%3A1") != std::string::npos);
}

namespace {

const ListSource kNodes{.name = "NODE", .command = {}, .file = "/nodes"};

/// A block over the list of /nodes, loaded with these rows.
LoadResult load_rows(const std::string& block, std::vector<ListRow> rows, const std::string& more = {}) {
  test::FakeEnvironment machine;
  machine.files[kMain] = "for each NODE from file \"/nodes\" {\n" + block + "\n}\n" + more;
  machine.programs = {"/bin/true", "/bin/sh"};
  machine.lists[kNodes] = std::move(rows);
  return load(kMain, {}, machine);
}

std::string names_of(const LoadResult& result) {
  std::string all;
  if (!result.ok()) return "errors";
  for (const auto& block : result.rules->services) all += (all.empty() ? "" : " ") + block->name;
  return all;
}

}  // namespace

TEST_CASE("a list that was not read is checked with a row that stands for any, which becomes no service", "[lists]") {
  const std::string text =
      "for each NODE from command \"/bin/list -a 'b c'\" {\n check host h_${NODE} with address ${NODE.ip}\n"
      "  if failed port ${NODE.port} then alert\n check file f_${NODE} with path ${NODE.dir}/x if does not exist then "
      "alert\n}\nfor each SITE from file \"/sites\" every 90 seconds {\n check system s_${SITE}\n}\n"
      "check system one depends on h_a\n";
  const LoadResult result = load_text(text);
  INFO(messages_of(result));
  REQUIRE(result.ok());
  CHECK(names_of(result) == "one");
  CHECK(result.rules->services[0]->depends.empty());
  CHECK(messages_of(result, DiagnosticSeverity::Note) ==
        "1:1: the list NODE is not read here: its block is checked with one row that stands for any\n"
        "6:1: the list SITE is not read here: its block is checked with one row that stands for any\n"
        "9:29: there is no service 'h_a' now: nothing waits for it (this changes as soon as a list contains it)\n");
  REQUIRE(result.lists.size() == 2);
  CHECK(result.lists[0].source.command == std::vector<std::string>{"/bin/list", "-a", "b c"});
  CHECK(result.lists[0].every == minutes(5));
  CHECK(result.lists[1].source.file == "/sites");
  CHECK(result.lists[1].every == seconds(90));
  // Its errors are told all the same.
  CHECK(errors("for each NODE from file \"/x\" {\n check system s_${NOD}\n}\n") ==
        "2:15: 'NOD' is not defined (did you mean 'NODE'?) [here NODE is 'any-NODE']\n");
}

TEST_CASE("rows that were read become services", "[lists]") {
  const LoadResult result =
      load_rows(" check host h_${NODE} with address ${NODE.ip}\n  if failed port ${NODE.port} then alert",
                {{"a", {{"ip", "10.0.0.1"}, {"port", "81"}}}, {"b", {{"ip", "10.0.0.2"}, {"port", "82"}}}},
                "check system s depends on h_b\n");
  INFO(messages_of(result));
  CHECK(names_of(result) == "h_a h_b s");
  CHECK(result.rules->services[1]->other->host == "10.0.0.2");
  CHECK(result.rules->services[1]->probes[0]->port == 82);
  CHECK(result.rules->services[0]->row->variables ==
        std::vector<std::pair<std::string, std::string>>{{"NODE", "a"}, {"NODE.ip", "10.0.0.1"}, {"NODE.port", "81"}});
  CHECK(result.rules->services[2]->depends == std::vector<std::string>{"h_b"});
}

TEST_CASE("a row knows the lists around it, also after a list within another", "[lists]") {
  const LoadResult result = load_text(
      "for each A in \"a1\", \"a2\" {\n for each B in \"b1\" {\n  check file ${A}_${B} with path /x\n }\n}\n");
  INFO(messages_of(result));
  REQUIRE(result.rules->services.size() == 2);
  for (const auto& service : result.rules->services) CHECK(service->row->lists == std::vector<std::string>{"A", "B"});
}

TEST_CASE("a row that cannot be is left out, and the others are not", "[lists]") {
  const LoadResult result = load_rows(
      " check host h_${NODE} with address a\n  if failed port ${NODE.port} then alert\n"
      " check file f_${NODE} with path ${NODE.dir} if does not exist then alert",
      {{"a", {{"port", "81"}, {"dir", "/x"}}},
       {"b", {{"dir", "/x"}}},
       {"c", {{"port", "http"}, {"dir", "/x"}}},
       {"d", {{"port", "81"}, {"dir", "../x"}}}});
  CHECK(names_of(result) == "h_a f_a");
  CHECK(messages_of(result, DiagnosticSeverity::Warning)
            .find("the row 'b' of the list NODE is refused: it has no field 'port'") != std::string::npos);
}

TEST_CASE("a value from outside is no part of a shell's script", "[lists]") {
  const auto script = [](const std::string& command) {
    return messages_of(load_rows(" check program p_${NODE} with path \"" + command + "\"\n  if status != 0 then alert",
                                 {{"a", {{"ip", "x"}}}}));
  };
  const std::string_view refused = "a value from a list cannot be put into a shell script";
  for (const std::string command :
       {"/bin/sh -c 'ping ${NODE}'", "/bin/sh -ec 'ping ${NODE}'", "/usr/bin/env bash -x -c 'a; ${NODE.ip}'",
        "/bin/busybox sh -c 'ping ${NODE}'", "/bin/su www -c 'ping ${NODE}'"}) {
    INFO(command);
    CHECK(script(command).find(refused) != std::string::npos);
  }
  CHECK(script("/bin/sh -c 'ping ${NODE.ip}'").find("use the environment variable: \"$HEALER_NODE_IP\"") !=
        std::string::npos);
  for (const std::string command :
       {"/bin/sh -c 'ping $HEALER_NODE' sh ${NODE}", "/bin/true -c ${NODE}", "/bin/sh /x ${NODE}"}) {
    INFO(command);
    CHECK(script(command).empty());
  }
  // A name that the rules give themselves is no stranger; one that is made of such a value is.
  CHECK(
      services("for each NODE in \"a\" {\n check program p with path \"/bin/sh -c 'ping ${NODE}'\" if status != 0 then "
               "alert\n}\n")
          .size() == 1);
  CHECK(messages_of(
            load_rows(" define X \"-${NODE}\"\n check program p with path \"/bin/sh -c 'ping ${X}'\"\n  if status != 0 "
                      "then alert",
                      {{"a", {}}}))
            .find(refused) != std::string::npos);
}

TEST_CASE("values of JSON rows are escaped", "[lists]") {
  const LoadResult result = load_rows(
      " check host h with address a\n  if failed url \"http://a/x?q=${NODE.q}\" then alert\n"
      "  if failed port 80 protocol http method post body '{\"q\": \"${NODE.q}\"}' then alert",
      {{"a", {{"q", "a&b=\"c\" \\"}}}});
  INFO(messages_of(result));
  REQUIRE(result.ok());
  CHECK(result.rules->services[0]->rules[0]->text.find("q=a%26b%3D%22c%22%20%5C") != std::string::npos);
  const auto& settings = result.rules->services[0]->probes[1]->settings;
  const auto body = std::ranges::find(settings, std::string_view("body"), &protocols::Setting::word);
  REQUIRE(body != settings.end());
  CHECK(body->text == "{\"q\": \"a&b=\\\"c\\\" \\\\\"}");
}

TEST_CASE("errors of lists from outside", "[lists]") {
  const std::string end = " {\n check system s_${NODE}\n}\n";
  CHECK(errors("for each NODE from file nodes" + end).find("unexpected 'nodes', expected an absolute path") !=
        std::string::npos);
  CHECK(errors("for each NODE from command list" + end) ==
        "1:28: 'list' is not the path of a program (write its whole path)\n");
  CHECK(errors("for each NODE from file \"/x\" every 0 seconds" + end).find("a list is read at most once a second") !=
        std::string::npos);
  CHECK(errors("for each A in \"a\" {\nfor each NODE from file \"/x/${A}\"" + end + "}\n")
            .find("a list cannot be named by a row of another one") != std::string::npos);
}

TEST_CASE("lists that share a name are told apart by their places", "[lists]") {
  const LoadResult result = load_text(
      "for each NODE from file \"/a\" {\n check system s_${NODE}\n}\nfor each NODE from file "
      "\"/b\" {\n check system t_${NODE}\n}\n");
  REQUIRE(result.lists.size() == 2);
  CHECK(result.lists[0].name == "NODE@/etc/main:1");
  CHECK(result.lists[1].name == "NODE@/etc/main:4");
}

}  // namespace lists_test
