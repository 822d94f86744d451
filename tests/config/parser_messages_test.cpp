// SPDX-License-Identifier: MIT
// What the parser says of what it does not understand: every error path with its whole message.
#include "config/syntax/parser.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "config/syntax_text.hpp"
#include "support/rounds.hpp"

namespace parser_messages_test {

using namespace healer::config;
using namespace healer::config::syntax_text;

// ---- messages
// -----------------------------------------------------------------------------------------------------------

TEST_CASE("an error names what is written, what is expected and the nearest word", "[config]") {
  CHECK(errors("set deamon 5") ==
        "1:5: unexpected 'deamon', expected 'alert', 'onreboot', 'cycles', 'daemon', 'init', 'terminal', 'log' or "
        "something else (did you mean 'daemon'?)\n");
  CHECK(errors("set shadw\nset settle 5\nset cycles count pols\nset accept") ==
        "1:5: unexpected 'shadw', expected 'alert', 'onreboot', 'cycles', 'daemon', 'init', 'terminal', 'log' or "
        "something else (did you mean 'shadow'?)\n"
        "2:12: the statement ends here, expected a unit such as 'seconds'\n"
        "3:18: unexpected 'pols', expected 'polls' or 'runs' (did you mean 'polls'?)\n"
        "4:11: the file ends here, expected 'dormant'\n");
  CHECK(rule_errors("if staus != 0 then alert") ==
        "2:4: unexpected 'staus', expected a test such as 'status != 0' or 'cpu > 80%' (did you mean 'status'?)\n");
  CHECK(rule_errors("if status != 0 fro 3 cycles then alert") ==
        "2:16: unexpected 'fro', expected a test such as 'status != 0' or 'cpu > 80%', a number or 'then' (did you "
        "mean 'for'?)\n");
  CHECK(rule_errors("if status != 0 then alrt") ==
        "2:21: unexpected 'alrt', expected 'alert', 'ignore', 'exec', 'start', 'stop', 'restart', 'unmonitor' or "
        "'heal' (did you "
        "mean "
        "'alert'?)\n");
  CHECK(rule_errors("if status != 0 then alert esle alert") ==
        "2:27: unexpected 'esle', expected another statement or 'else' (did you mean 'else'?)\n");
  CHECK(rule_errors("mode activ") ==
        "2:6: unexpected 'activ', expected 'active', 'passive' or 'manual' (did you mean 'active'?)\n");
  CHECK(rule_errors("alert a@b on { pidd }") ==
        "2:16: unexpected 'pidd', expected a name of an event (did you mean 'pid'?)\n");
}

TEST_CASE("an error without a near word says what is expected", "[config]") {
  CHECK(errors("set daemon") == "1:11: the file ends here, expected a number\n");
  CHECK(errors("set log foo") == "1:9: unexpected 'foo', expected an absolute path or 'syslog'\n");
  CHECK(errors("set alert root") == "1:11: unexpected 'root', expected a mail address with '@'\n");
  CHECK(errors("set limits { foo: 1 kB }") == "1:14: unexpected 'foo', expected the name of a limit or '}'\n");
  CHECK(errors("set limits { networktimeout: 5 }") == "1:32: unexpected '}', expected a unit such as 'seconds'\n");
  CHECK(errors("set mailserver a port x") == "1:23: unexpected 'x', expected a number\n");
  CHECK(errors("set mail-format { body: x }") ==
        "1:19: unexpected 'body', expected 'from:', 'reply-to:', 'subject:' or 'message:'\n");
  CHECK(errors("set mail-format { form: x }") ==
        "1:19: unexpected 'form', expected 'from:', 'reply-to:', 'subject:' or 'message:' (did you mean 'from:'?)\n");
  CHECK(errors("set mail-format { message: x") ==
        "1:29: the file ends here, expected '}', 'from:', 'reply-to:', 'subject:' or 'message:'\n");
  CHECK(errors("set control socket x") == "1:20: unexpected 'x', expected an absolute path\n");
  CHECK(errors("set environment") == "1:16: the file ends here, expected the name of a variable\n");
  CHECK(rule_errors("if status != then alert") == "2:14: unexpected 'then', expected a number\n");
  CHECK(rule_errors("if status 1 alert") ==
        "2:13: unexpected 'alert', expected a test such as 'status != 0' or 'cpu > 80%', a number or 'then' (write "
        "'then' before 'alert')\n");
  CHECK(rule_errors("if content then alert") ==
        "2:12: unexpected 'then', expected an operator such as '!=', 'not' or 'changed'\n");
  CHECK(rule_errors("if status 1 then exec \"/a\" repeat 3 cycles") == "2:35: unexpected '3', expected 'every'\n");
  CHECK(rule_errors("every 5") == "2:8: the file ends here, expected a unit such as 'seconds' or 'cycles'\n");
  CHECK(rule_errors("every") == "2:6: the file ends here, expected a quoted schedule or a number\n");
  CHECK(
      rule_errors("group a b") ==
      "2:9: unexpected 'b', expected a statement such as 'if', 'every' or 'check' (the name of a group is one word)\n");
  CHECK(rule_errors("group a\n/* x */") ==
        "3:1: unexpected '/*', expected a statement such as 'if', 'every' or 'check' (a comment begins with '#')\n");
}

TEST_CASE("a word of the language in place of a text is to be quoted", "[config]") {
  CHECK(errors("set mailserver host") ==
        "1:16: unexpected 'host', expected a host name ('host' is a keyword; put it in double quotes to use it as "
        "text)\n");
  CHECK(errors("check program x path\nif status 1 then alert") ==
        "1:17: the statement ends here, expected a program\n");
}

TEST_CASE("a statement that lacks its end is told of where it stops", "[config]") {
  CHECK(errors("set mail limit 20 mails\ncheck program x path \"/x\"\n if status 1 then alert") ==
        "1:19: the statement ends here, expected a time such as 'within 1 hour'\n");
  CHECK(rule_errors("every 5\nif status 1\ngroup g\nstart\ninclude /x") ==
        "2:7: the statement ends here, expected a unit such as 'seconds' or 'cycles'\n"
        "3:11: the statement ends here, expected a test such as 'status != 0' or 'cpu > 80%', a number or 'then'\n"
        "5:1: the statement ends here, expected a program or '='\n");
  const std::string program = "check process x with program \"/bin/x\"\n";
  CHECK(errors(program + "stop signal KILL within 5\nready after 5 seconds") ==
        "2:25: the statement ends here, expected a unit such as 'seconds'\n");
  CHECK(errors(program + "stop signal KILL within 5 ready after 5 seconds") ==
        "2:27: unexpected 'ready', expected a unit such as 'seconds'\n");
  CHECK(errors("check process x\n start program = \"/x\"") ==
        "1:15: the statement ends here, expected 'program \"...\"', 'pidfile', 'match' or 'path'\n");
}

TEST_CASE("a word that is none without what follows it is not proposed in its own place", "[config]") {
  for (const std::string word : {"group", "depends on"})
    CHECK(rule_errors("if status 1 then alert\n" + word + "\nx") ==
          "3:1: unexpected '" + word +
              "', expected another statement or 'else' (the rest of this statement must be on the same line)\n");
  CHECK(errors("check\nprogram x path /x") ==
        "1:1: unexpected 'check', expected 'set', 'check' or 'include' (the rest of this statement must be on the same "
        "line)\n");
}

TEST_CASE("a slip in the first word of a statement is found where it is", "[config]") {
  CHECK(errors("chek program x path \"/x\"") ==
        "1:1: unexpected 'chek', expected 'set', 'check' or 'include' (did you mean 'check'?)\n");
  CHECK(rule_errors("fi status 1 then alert") ==
        "2:1: unexpected 'fi', expected another statement (did you mean 'if'?)\n");
  CHECK(rule_errors("if status 1 then exec \"/a\" evry 2 cycles") ==
        "2:28: unexpected 'evry', expected another statement (did you mean 'every'?)\n");
  CHECK(errors("set daemon 5 start delai 3") == "1:20: unexpected 'delai', expected 'delay' (did you mean 'delay'?)\n");
}

TEST_CASE("a quote that was to be escaped is found where the text ends", "[config]") {
  const std::string program =
      " a quote cannot be escaped: the text ends here (write '...' around what is one argument: "
      "\"/bin/sh -c 'COMMAND'\")\n";
  CHECK(rule_errors(R"(if status 1 then exec "/bin/sh -c \"echo hello\"")") == "2:23:" + program);
  CHECK(rule_errors(R"(start program = "/bin/sh -c \"echo hello\"")") == "2:17:" + program);
  CHECK(rule_errors(R"(if content = "say \"hi\" to" then alert)") ==
        "2:14: a quote cannot be escaped: the text ends here (write '...' around a text that has double quotes in "
        "it)\n");
  // A text may end with a backslash.
  CHECK(rule_errors("if content = \"C:\\\" then alert").empty());
  CHECK(rule_errors("if status 1 then exec \"/bin/x \\\"\nif status 2 then alrt") ==
        "3:18: unexpected 'alrt', expected 'alert', 'ignore', 'exec', 'start', 'stop', 'restart', 'unmonitor' or "
        "'heal' (did you "
        "mean "
        "'alert'?)\n");
}

TEST_CASE("a second action is told of as one", "[config]") {
  const std::string alerts = ": a rule has exactly one (every action sends an alert as well: leave out 'alert')\n";
  CHECK(rule_errors("if status 1 then alert and restart") == "2:28: 'restart' is a second action" + alerts);
  CHECK(rule_errors("if status 1 then alert and restart\n\ngroup g\n") ==
        "2:28: 'restart' is a second action" + alerts);
  CHECK(rule_errors("if status 1 then alert, exec \"/a\"") == "2:25: 'exec' is a second action" + alerts);
  CHECK(rule_errors("if status 1 then restart and alert") == "2:30: 'alert' is a second action" + alerts);
  CHECK(rule_errors("if status 1 then exec \"/a\" and unmonitor\nif status 2 then alert") ==
        "2:32: 'unmonitor' is a second action: a rule has exactly one (write a rule for each of them)\n");
  CHECK(rule_errors("if status 1\n then alert and restart") == "3:17: 'restart' is a second action" + alerts);
  CHECK(rule_errors("if status 1 then alert\nevery 2 cycles restart") ==
        "3:23: the file ends here, expected a program or '='\n");
  CHECK(rule_errors("if status 1 then alert start program =") ==
        "2:39: the file ends here, expected a program in double quotes\n");
}

TEST_CASE("what is written from habit has its remedy", "[config]") {
  CHECK(errors("set mailserver localhost prot 25") ==
        "1:26: unexpected 'prot', expected an option of the server before it (did you mean 'port'?)\n");
  CHECK(errors("set mailserver a port 25, bb prot 25") ==
        "1:30: unexpected 'prot', expected an option of the server before it (did you mean 'port'?)\n");
  CHECK(errors("set mailserver prot\nset daemon x") == "2:12: unexpected 'x', expected a number\n");
  CHECK(errors("check system x\n if loadavg(1) > 4 then alert") ==
        "2:16: unexpected '>', expected a test such as 'status != 0' or 'cpu > 80%', a number or 'then' (there are "
        "loadavg(1min), loadavg(5min) and loadavg(15min))\n");
  CHECK(rule_errors("if status 1 then alert else if success then alert") ==
        "2:32: unexpected 'success', expected 'succeeded' (did you mean 'succeeded'?)\n");
  CHECK(rule_errors("group my group") ==
        "2:10: unexpected 'group', expected a statement such as 'if', 'every' or 'check' (the name of a group is one "
        "word)\n");
  CHECK(errors("set daemon 5 // every five seconds") ==
        "1:14: unexpected '//', expected a unit such as 'seconds', another statement or 'start' (a comment begins with "
        "'#')\n");
}

TEST_CASE("the end of the file is shown where its last word is", "[config]") {
  for (const std::string end : {"", "\n", "\n\n# a comment\n"}) {
    CHECK(errors("set mailserver" + end) == "1:15: the file ends here, expected a host name\n");
    CHECK(rule_errors("every 5" + end) == "2:8: the file ends here, expected a unit such as 'seconds' or 'cycles'\n");
  }
}

TEST_CASE("a wrong kind of check is named", "[config]") {
  CHECK(errors("check proces x with path \"/x\"") ==
        "1:7: 'proces' is not a kind of check (did you mean 'process'?)\n");
  CHECK(errors("check foo x") ==
        "1:7: 'foo' is not a kind of check (the kinds are process, file, directory, filesystem, fifo, "
        "host, system, program, network, composite, heartbeat, event, row and unit)\n");
  CHECK(errors("check ") ==
        "1:7: the file ends here, expected a kind of check and a name (write check program "
        "NAME with path \"...\")\n");
  CHECK(errors("check program x pth \"/x\"") == "1:17: unexpected 'pth', expected 'path' (did you mean 'path'?)\n");
  CHECK(errors("check program\npath \"/x\"") == "2:6: unexpected '\"/x\"', expected 'path'\n");
}

TEST_CASE("Malformed values are reported", "[config]") {
  CHECK(errors("check program /x path \"/x\"") ==
        "1:15: the name of a service must not begin with '/' (remove the '/')\n");
  CHECK(errors("check program x path \"/x\" timeout 5 s timeout 6 s") ==
        "1:39: 'timeout' is given twice (keep one of them)\n");
  CHECK(errors("check program x path \"  \"") == "1:22: a program is missing here (write its absolute path)\n");
  CHECK(errors("set alert a@b reminder 3 reminder 4") == "1:26: 'reminder' is given twice (keep one of them)\n");
  CHECK(errors("set alert a@b { pid } not { gid }") == "1:23: a list of events is given twice (keep one of them)\n");
  CHECK(errors("set mailserver a port 1 port 2") == "1:25: 'port' is given twice (keep one of them)\n");
  CHECK(errors("set mail-format { from: x }") ==
        "1:19: this names no mail address (write NAME <user@host> or user@host on the same line)\n");
  for (const std::string sender : {"A < b >", "A <>", "< >", "a <", "A <b >", "A <b c>", "A <b ", "A <b c"})
    CHECK(errors("set mail-format { from: " + sender + "\n}") ==
          "1:19: this names no mail address (write NAME <user@host> or user@host on the same line)\n");
  for (const std::string sender : {"A <b>", "A <b", "A <b> c", "A <b c> <d>", "A <<b>>", "A < b@c >", "A <  @>", "b"})
    CHECK(errors("set mail-format { from: " + sender + "\n}").empty());
  CHECK(errors("set mail-format { from: a{@b }") ==
        "1:19: a mail address has no '{' in it (write NAME <user@host> or user@host)\n");
  CHECK(rule_errors("if content < \"x\" then alert") ==
        "2:12: a content cannot be compared with '<' (write content = \"...\" or content != \"...\")\n");
  CHECK(rule_errors("if content = \"x\" then alert else alert") ==
        "2:29: content and changed tests have no 'else': they act on every match or change (remove the 'else' branch, "
        "or test the status)\n");
  CHECK(rule_errors("if status 1 then exec \"/a\" timeout 5 s timeout 6 s") ==
        "2:40: 'timeout' is given twice (keep one of them)\n");
  CHECK(rule_errors("if status 1 then exec \"/a\" repeat every 2 cycles repeat every 3 cycles") ==
        "2:63: 'repeat' is given twice (keep one of them)\n");
}

TEST_CASE("text that is no token is told of", "[config]") {
  CHECK(errors("\xEF\xBB\xBFset init") ==
        "1:1: the file begins with a byte order mark (save it as UTF-8 without BOM)\n");
  CHECK(errors(std::string("set init\0\0", 10)) == "1:9: a zero byte (this is not a text file; save it as UTF-8)\n");
  CHECK(errors("set init @") == "1:10: '@' cannot be used here (put it in double quotes)\n");
  CHECK(errors("set log " + std::string(70000, 'x')) ==
        "1:9: a text of 70000 bytes is too long (at most 65535 bytes are possible)\n");
  CHECK(errors("check program \"\" path /x") == "1:15: an empty name (write a name between the quotes)\n");
  CHECK(rule_errors("group \"a b\"") ==
        "2:7: unbalanced quotes: a name without quotes cannot contain spaces or special characters (write it as one "
        "word)\n");
  CHECK(rule_errors("every x") ==
        "2:7: a schedule is needed here (write \"every 2 cycles\" or a quoted schedule: every \"0 8 * * 1-5\")\n");
}

TEST_CASE("a missing quote is found where it opens", "[config]") {
  CHECK(errors("set log \"/x\nset init") ==
        "1:9: unbalanced quotes: the text that begins here is not closed (close it with \")\n");
  // The next quote closes it, and inside and outside change places; after the line all is read again.
  CHECK(errors("check process x pidfile \"/x\n start program = \"/a\"\n stop program = \"/b\"") ==
        "1:25: unbalanced quotes: the text that begins here continues on the next line (close it with \")\n");
  CHECK(rule_errors("if status 1 then exec \"/a\nif status 2 then exec \"/b\"\nif content = \"c\" then alert\nif "
                    "status 3 then alrt") ==
        "2:23: unbalanced quotes: the text that begins here continues on the next line (close it with \")\n"
        "5:18: unexpected 'alrt', expected 'alert', 'ignore', 'exec', 'start', 'stop', 'restart', 'unmonitor' or "
        "'heal' (did you "
        "mean "
        "'alert'?)\n");
  CHECK(
      errors("check program x path '/x\n if status 1 then alert\ncheck program y path '/y'\n if status 2 then alert") ==
      "1:22: unbalanced quotes: the text that begins here continues on the next line (close it with ')\n");
  // Text over several lines is no sign of it.
  CHECK(
      rule_errors("if status 1 then exec \"/bin/sh -c '\n  a\n  b'\" 5") ==
      "4:7: unexpected '5', expected another statement, 'else', 'repeat', 'timeout', 'uid', 'gid' or 'overlapping'\n");
}

TEST_CASE("all errors of a file are found", "[config]") {
  CHECK(errors("set daemon x\nset init\ncheck program x path \"/x\"\n if status 1 then alrt\n if status 2 then\n  exec "
               "\"/a\" as uid\n"
               " else if passed then alert\n group a\nset log x\ncheck program y path \"/y\"\n if stats 1 then alert\n "
               "if status 1 then alert") ==
        "1:12: unexpected 'x', expected a number\n"
        "4:19: unexpected 'alrt', expected 'alert', 'ignore', 'exec', 'start', 'stop', 'restart', 'unmonitor' or "
        "'heal' (did you "
        "mean "
        "'alert'?)\n"
        "7:2: unexpected 'else', expected a name or number ('else' is a keyword; put it in double quotes to use it as "
        "text)\n"
        "9:9: unexpected 'x', expected an absolute path or 'syslog'\n"
        "11:5: unexpected 'stats', expected a test such as 'status != 0' or 'cpu > 80%' (did you mean 'status'?)\n");
}

TEST_CASE("what is understood is in the tree even beside errors", "[config]") {
  const auto result = parsed(
      "set daemon x\nset init\ncheck program x path \"/x\"\n if status 1 then alrt\n if status 2 then alert\n"
      "check program path\n if status 3 then alert\n");
  std::string out;
  for (const auto& statement : result.file.statements) out += std::visit(ShowStatement{}, statement);
  CHECK(out ==
        "set init\ncheck 'x' [/x]\n  if status = 2 then alert\ncheck 'path' broken\n  if status = 3 then alert\n");
}

TEST_CASE("A text in place of a process, program or test is reported", "[config]") {
  CHECK(errors("check process x with pid /x") ==
        "1:22: unexpected 'pid', expected 'program \"...\"', 'pidfile', 'match' or 'path'\n");
  CHECK(errors("check process x with pidfile x") == "1:30: unexpected 'x', expected an absolute path\n");
  CHECK(errors("check process x matching 5") == "1:26: unexpected '5', expected a regular expression\n");
  CHECK(errors("check process x") ==
        "1:16: the file ends here, expected 'program \"...\"', 'pidfile', 'match' or 'path'\n");
  CHECK(errors("check system") == "1:13: the file ends here, expected a name of the service\n");
  CHECK(rule_errors("start program =") == "2:16: the file ends here, expected a program in double quotes\n");
  CHECK(rule_errors("start") == "2:6: the file ends here, expected a program or '='\n");
  CHECK(rule_errors("group a depends on ") == "2:19: the file ends here, expected a name of a service\n");
  CHECK(rule_errors("depends on y z") == "2:14: unexpected 'z', expected a name of a service or another statement\n");
  CHECK(
      rule_errors("if not then alert") ==
      "2:8: unexpected 'then', expected a test such as 'status != 0' or 'cpu > 80%' (write behind 'not' what is not to "
      "hold, as in: not status = 0)\n");
  CHECK(rule_errors("if cpu > then alert") == "2:10: unexpected 'then', expected a number\n");
  CHECK(rule_errors("if cpu 5 60 then alert") ==
        "2:13: unexpected 'then', expected a unit such as 'seconds', a number or 'cycles'\n");
  CHECK(rule_errors("if failed uid = root then alert") ==
        "2:15: unexpected '=', expected a name or number ('=' is a keyword; put it in double quotes to use it as "
        "text)\n");
  CHECK(rule_errors("if failed uuid root then alert") ==
        "2:11: unexpected 'uuid', expected 'uid', 'gid', 'md5', 'checksum', 'euid', 'permission', 'security' or "
        "something else (did you mean 'uid'?)\n");
  CHECK(rule_errors("if changed pit then alert") ==
        "2:12: unexpected 'pit', expected a test such as 'status != 0' or 'cpu > 80%', 'md5', 'checksum', 'status', "
        "'pid', 'ppid', 'permission' or something else (did you mean 'pid'?)\n");
  CHECK(rule_errors("if failed security \"S\" then alert") == "2:20: unexpected '\"S\"', expected 'attribute'\n");
  CHECK(rule_errors("if cpu (iowait) > 5% then alert") ==
        "2:9: unexpected 'iowait', expected a number or an operator such as '!=' (the parts are user, system, wait, "
        "nice, "
        "hardirq, softirq, steal, guest and guestnice; 'cpu' alone is all but idle and wait)\n");
  CHECK(rule_errors("if loadavg(2min) > 5 then alert") ==
        "2:12: unexpected '2min', expected a number, an operator such as '!=' or 'core' (there are loadavg(1min), "
        "loadavg(5min) and loadavg(15min))\n");
  CHECK(rule_errors("if disk red > 5 then alert") ==
        "2:9: unexpected 'red', expected 'read' or 'write' (did you mean 'read'?)\n");
  CHECK(rule_errors("if 3 restart then alert") == "2:14: unexpected 'then', expected a number\n");
  CHECK(rule_errors("if 3 restarts within 5 cycles then alert else alert") ==
        "2:42: a test of restarts has no 'else' (remove the 'else' branch)\n");
  CHECK(
      rule_errors("if changed pid then alert else alert") ==
      "2:27: content and changed tests have no 'else': they act on every match or change (remove the 'else' branch)\n");
  CHECK(rule_errors("if cpu > 5% then timeout") ==
        "2:18: unexpected 'timeout', expected 'alert', 'ignore', 'exec', 'start', 'stop', 'restart', 'unmonitor' or "
        "'heal'\n");
}

TEST_CASE("statements of a service need a service", "[config]") {
  CHECK(errors("set init\nif status 1 then alert") ==
        "2:1: 'if' belongs to no service (it must follow a 'check', before any 'set')\n");
}

TEST_CASE("very many errors are not all told", "[config]") {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "set daemon x\n";
  const auto result = parsed(text);
  CHECK(result.diagnostics.size() == 201);
  CHECK(result.diagnostics.back().message == "more than 199 errors; the rest of the file is not read");
}

TEST_CASE("very long and hostile texts are parsed in one go", "[config]") {
  std::string nested(200000, '{'), joined = kCheck + "if status 1", tight = kCheck, quotes, unclosed;
  const int many = healer::test::rounds(20000);
  for (int i = 0; i < many; ++i) {
    joined += " and status 1";
    tight += "if status>0 then alert\n";
    quotes += "'\"\n";
    unclosed += "exec \"\nif '\n";
  }
  CHECK(parsed(nested).diagnostics.size() == 1);
  CHECK(parsed(joined + " then alert").diagnostics.empty());
  CHECK(parsed(tight).file.extensions.size() == static_cast<std::size_t>(many));
  CHECK(parsed(quotes).diagnostics.size() < 300);
  CHECK(parsed(unclosed).diagnostics.size() < 300);
  CHECK(parsed("").diagnostics.empty());
}

}  // namespace parser_messages_test
