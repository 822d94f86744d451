// SPDX-License-Identifier: MIT
// What people write from the habit of other languages: each is told what to write here.
#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "config/syntax_text.hpp"

namespace habits_test {

using namespace healer::config;
using namespace healer::config::syntax_text;

namespace {

/// The place and the remedy of the first error: "2:16 write 'and'".
std::string remedy_of(const std::string& text) {
  const std::string all = errors(text);
  const std::string line = all.substr(0, all.find('\n'));
  const std::size_t place = line.find(": ");
  const std::size_t remedy = line.find(" (");
  if (place == std::string::npos || remedy == std::string::npos) return line;
  return line.substr(0, place) + " " + line.substr(remedy + 2, line.size() - remedy - 3);
}

std::string of_rule(const std::string& rule) { return remedy_of("check program x with path \"/x\"\n" + rule); }
std::string of_process(const std::string& rule) { return remedy_of("check process x with pidfile /x\n" + rule); }

const std::string kNext = "\nif status 1 then alert";

}  // namespace

TEST_CASE("words of conditions in other languages have a remedy", "[config][habits]") {
  CHECK(of_rule("if status != 0 && content = \"x\" then alert") == "2:16 write 'and'");
  CHECK(of_rule("if status != 0 || content = \"x\" then alert") == "2:16 write 'or'");
  CHECK(of_rule("if status is not 0 then alert") == "2:14 write '!='");
  const std::string regex =
      "write '=' or '!=' and a regular expression, as in: content = \"REGEX\"; of JSON: json '.a | test(\"REGEX\")' = "
      "true";
  for (const std::string word : {"contains", "matches", "=~", "like", "~"})
    CHECK(of_rule("if content " + word + " \"x\" then alert") == "2:12 " + regex);
  for (const std::string word : {"exit code", "exit status", "exitcode", "return code", "rc"})
    CHECK(of_rule("if " + word + " != 0 then alert") ==
          "2:4 the exit status of a program is 'status', as in: if status != 0 then alert");
  CHECK(of_rule("if output = \"x\" then alert") ==
        "2:4 what a program writes is 'content', as in: if content = \"REGEX\" then alert");
}

TEST_CASE("a rule without its 'then' is told so", "[config][habits]") {
  CHECK(of_rule("if status != 0 alert") == "2:16 write 'then' before 'alert'");
  CHECK(of_rule("if status != 0\n  alert") == "2:14 write 'then' before 'alert'");
  CHECK(of_rule("if status != 0 for 3 cycles exec \"/x\"") == "2:29 write 'then' before 'exec'");
  CHECK(of_rule("if status != 0: alert") == "2:15 write 'then' in place of ':'");
  CHECK(of_rule("if status != 0 { alert }") == "2:16 rules have no braces: if CONDITION then ACTION");
}

TEST_CASE("another condition after 'else' is a rule of its own", "[config][habits]") {
  const std::string other =
      "'else' is for the recovery, as in 'else if succeeded then alert'; another condition is a rule of its own: if "
      "... then ...";
  CHECK(of_rule("if status != 0 then alert\nelif status = 3 then alert") == "3:1 " + other);
  CHECK(of_rule("if status != 0 then alert elsif status = 3 then alert") == "2:27 " + other);
  CHECK(of_rule("if status != 0 then exec \"/x\" elif status = 3 then alert") == "2:31 " + other);
  CHECK(of_rule("if status != 0 then alert else if status = 3 then alert") == "2:35 " + other);
}

TEST_CASE("units as other programs call them have a remedy", "[config][habits]") {
  CHECK(of_process("if memory > 2G then alert") == "2:13 write '2 GB'");
  CHECK(of_process("if memory > 2 GiB then alert") == "2:15 write '2 GB'");
  CHECK(of_process("if memory > 1.5Mi then alert") == "2:13 write '1.5 MB'");
  CHECK(of_rule("if status != 0 for 5min then alert") == "2:20 write '5 minutes'");
  CHECK(of_rule("if status != 0 for 5 mins then alert") == "2:22 write '5 minutes'");
  CHECK(remedy_of("set daemon 30sec") == "1:12 write '30 seconds'");
}

TEST_CASE("'depend upon' and its like are 'depends on'", "[config][habits]") {
  CHECK(of_rule("depend upon y" + kNext) == "2:8 write 'depends on NAME'");
  CHECK(of_rule("depends upon y" + kNext) == "2:9 write 'depends on NAME'");
  CHECK(of_rule("group g\nrequires y" + kNext) == "3:1 write 'depends on NAME'");
}

TEST_CASE("A status without a comparison is reported", "[config][habits]") {
  const std::string remedy = "say which status, as in: if status != 0 then alert";
  CHECK(of_rule("if status alert") == "2:11 " + remedy);
  CHECK(of_rule("if status then alert") == "2:11 " + remedy);
}

TEST_CASE("Curly quotes are reported", "[config][habits]") {
  const std::string message =
      "typographic quotes do not quote: they are part of the text (write straight quotes: \"...\")\n";
  CHECK(rule_errors("start program = \u201c/x start\u201d" + kNext) == "2:17: " + message);
  // As a word of one piece Monit takes it.
  CHECK(tree("check program x with path \"/x\"\nif content = \u201cx\u201d then alert")
            .find("2:14: warning: " + message) != std::string::npos);
}

TEST_CASE("a regular expression with signs of the language is to be quoted", "[config][habits]") {
  CHECK(of_rule("if content = ^foo(bar|baz)$ then alert") ==
        "2:14 put the regular expression in double quotes: \"^foo(bar|baz)$\"");
  CHECK(remedy_of("check process x matching java.*(tomcat|jetty)\n if cpu > 5% then alert") ==
        "1:26 put the regular expression in double quotes: \"java.*(tomcat|jetty)\"");
  CHECK(of_rule("if content = foo(bar|baz qux) then alert") ==
        "2:14 put the regular expression in double quotes: \"foo(bar|baz qux)\"");
  CHECK(remedy_of("check process x matching ^nginx(: master)\n if cpu > 5% then alert") ==
        "1:26 put the regular expression in double quotes: \"^nginx(: master)\"");
  CHECK(of_rule("if content = a{2} then alert") == "2:14 put the regular expression in double quotes: \"a{2}\"");
}

TEST_CASE("the whole word is named where a keyword ends within it", "[config][habits]") {
  CHECK(rule_errors("if total memroy > 5 MB then alert") ==
        "2:10: unexpected 'memroy' after 'total' (did you mean 'total memory'?)\n");
  CHECK(remedy_of("check systemd nginx.service") ==
        "1:7 a unit of systemd is checked by 'check unit NAME with name \"nginx.service\"'");
  CHECK(remedy_of("check service x with pidfile /run/x") == "1:7 did you mean 'process'?");
  CHECK(remedy_of("check hosts x with address localhost") == "1:7 did you mean 'host'?");
}

TEST_CASE("a no-break space is named", "[config][habits]") {
  CHECK(rule_errors("if status\u00a0 != 0 then alert") ==
        "2:10: a no-break space (U+00A0) stands here (write a plain one)\n");
  CHECK(rule_errors("if status != 0 then\u200balert") ==
        "2:16: a zero-width space (U+200B) stands here (remove it, or write a plain space)\n");
}

TEST_CASE("A mistaken action has a remedy", "[config][habits]") {
  CHECK(of_rule("if status != 0 then restart shop") ==
        "2:29 an action is for the service itself: use 'depends on', or exec \"/usr/bin/healerctl restart shop\"");
  CHECK(of_rule("if status != 0 then alert admin@x") ==
        "2:27 'alert admin@x' is a statement of its own: write it on a line after the rule");
  CHECK(of_rule("if status != 0 then alert repeat every 3 cycles") ==
        "2:27 'repeat' is for 'exec'; alerts are repeated by a reminder: alert ADDRESS with reminder on 3 cycles");
  CHECK(of_rule("if status != 0 then alert repeat") ==
        "2:27 'repeat' is for 'exec'; alerts are repeated by a reminder: alert ADDRESS with reminder on 10 cycles");
  CHECK(of_process("if not running then restart") ==
        "2:8 a test that a process runs is 'exist': if does not exist then alert; of a unit: if not active then alert; "
        "of a heartbeat: if missed then alert");
  CHECK(remedy_of("set mailserver smtp.example.org:587") == "1:32 write smtp.example.org port 587");
  CHECK(remedy_of("check host x with address 127.0.0.1:8081") ==
        "1:36 write address 127.0.0.1, and the port in a test: if failed port 8081 then alert");
}

TEST_CASE("YAML and units of systemd are known again", "[config][habits]") {
  const std::string yaml =
      "this reads like YAML; here words follow each other without ':', as in: check process NAME with pidfile /path";
  CHECK(remedy_of("services:\n  - name: x\n") == "1:1 " + yaml);
  CHECK(remedy_of("check process x:\n  pidfile: /run/x.pid\n") == "1:16 " + yaml);
  CHECK(remedy_of("set daemon: 5\n") == "1:11 " + yaml);
  CHECK(of_process("start: \"/bin/x\"" + kNext) == "2:6 write start program = \"/path/of/program\"");
  CHECK(
      of_process("Restart=always" + kNext) ==
      "2:1 a process that has gone is started again unless a rule says otherwise; a limit is 'if 5 restarts within 10 "
      "cycles then unmonitor'");
  CHECK(
      of_process("ExecStart=/bin/x" + kNext) ==
      "2:1 write start program = \"/path/of/program\", or let healer run it: check process NAME with program \"...\"");
  CHECK(remedy_of("[Unit]\nDescription=x\n") ==
        "1:1 this is a unit file of systemd; a service begins with 'check process NAME'");
  // What has a ':' is no YAML.
  CHECK(errors("set limits {\n  foo: 1 kB }") == "2:3: unexpected 'foo', expected the name of a limit or '}'\n");
}

}  // namespace habits_test
