// SPDX-License-Identifier: MIT
// The parser on words of healer's own, and what it says to those who write the language from habit.
#include <catch2/catch.hpp>
#include <string>

#include "config/syntax/parser.hpp"
#include "config/syntax_text.hpp"

namespace parser_own_test {

using namespace healer::config;
using namespace healer::config::syntax_text;

TEST_CASE("what people write from habit is told in the words of the language", "[config]") {
  CHECK(rule_errors("if cpu <> 5% then alert") ==
        "2:8: unexpected '<>', expected a number or an operator such as '!=' (did you mean '!='?)\n");
  CHECK(rule_errors("if status => 5 then alert") ==
        "2:11: unexpected '=>', expected an operator such as '!=' or a number (did you mean '>='?)\n");
  CHECK(rule_errors("if cpu =< 5% then alert") ==
        "2:8: unexpected '=<', expected a number or an operator such as '!=' (did you mean '<='?)\n");
  CHECK(rule_errors("if cpu<>5% then alert") ==
        "2:4: unexpected 'cpu<>5', expected a test such as 'status != 0' or 'cpu > 80%' (did you mean '!='?)\n");
  CHECK(rule_errors("if cpu =>5% then alert") ==
        "2:8: unexpected '=>5', expected a number or an operator such as '!=' (did you mean '>='?)\n");
  CHECK(rule_errors("if cpu(idle) < 5% then alert") ==
        "2:8: unexpected 'idle', expected a number or an operator such as '!=' (the parts are user, system, wait, "
        "nice, hardirq, softirq, steal, guest and guestnice; 'cpu' alone is all but idle and wait)\n");
  CHECK(rule_errors("if loadavg (10min) > 5 then alert") ==
        "2:13: unexpected '10min', expected a number, an operator such as '!=' or 'core' (there are loadavg(1min), "
        "loadavg(5min) and loadavg(15min))\n");
  CHECK(rule_errors("if load > 5 then alert") ==
        "2:4: unexpected 'load', expected a test such as 'status != 0' or 'cpu > 80%' (did you mean 'loadavg'?)\n");
  CHECK(rule_errors("if load(5min) > 5 then alert") ==
        "2:4: unexpected 'load', expected a test such as 'status != 0' or 'cpu > 80%' (did you mean 'loadavg'?)\n");
  CHECK(rule_errors("if file descriptors > 5 then alert") ==
        "2:4: unexpected 'file', expected a test such as 'status != 0' or 'cpu > 80%' (did you mean "
        "'filedescriptors'?)\n");
  CHECK(errors("check process x with pid file /tmp/x\n if cpu > 5% then alert") ==
        "1:22: unexpected 'pid', expected 'program \"...\"', 'pidfile', 'match' or 'path' (did you mean 'pidfile'?)\n");
  CHECK(errors("set pid file /tmp/x") ==
        "1:5: unexpected 'pid', expected 'alert', 'onreboot', 'cycles', 'daemon', 'init', 'terminal', 'log' or "
        "something else (did you mean 'pidfile'?)\n");
  CHECK(errors("set mail server localhost") ==
        "1:10: unexpected 'server', expected 'limit' (did you mean 'mailserver'?)\n");
  const std::string settings =
      ", expected 'alert', 'onreboot', 'cycles', 'daemon', 'init', 'terminal', 'log' or something else (did you mean '";
  CHECK(errors("set maillimit 5 within 1 hour\nset mail-limit 5 within 1 hour\nset dry-run\nset accept_dormant\nset "
               "controlsocket /x") ==
        "1:5: unexpected 'maillimit'" + settings + "mail limit'?)\n2:5: unexpected 'mail-limit'" + settings +
            "mail limit'?)\n3:5: unexpected 'dry-run'" + settings + "dry run'?)\n4:5: unexpected 'accept_dormant'" +
            settings + "accept dormant'?)\n5:5: unexpected 'controlsocket'" + settings + "control socket'?)\n");
  CHECK(errors("check program x with program \"/bin/x\"") ==
        "1:30: unexpected '\"/bin/x\"', expected 'path' ('check program' takes 'path \"...\"'; a foreground process is "
        "'check process NAME with program \"...\"')\n");
  CHECK(errors("check program x with \"/bin/x\"") == "1:22: unexpected '\"/bin/x\"', expected 'path'\n");
}

TEST_CASE("a program that is not quoted is told of where its argument begins", "[config]") {
  CHECK(rule_errors("start program = /etc/init.d/x start\nstop program = /etc/init.d/x stop\nif status 1 then alrt") ==
        "2:17: unexpected '/etc/init.d/x', expected a program in double quotes (put the command in double quotes: "
        "\"/etc/init.d/x start\")\n"
        "3:16: unexpected '/etc/init.d/x', expected a program in double quotes (put the command in double quotes: "
        "\"/etc/init.d/x stop\")\n"
        "4:18: unexpected 'alrt', expected 'alert', 'ignore', 'exec', 'start', 'stop', 'restart', 'unmonitor' or "
        "'heal' (did you "
        "mean "
        "'alert'?)\n");
  CHECK(rule_errors("restart program /etc/init.d/x restart") ==
        "2:31: unexpected 'restart', expected another statement (put the command in double quotes: "
        "\"/etc/init.d/x restart\")\n");
  CHECK(rule_errors("start program = /bin/x stop program = /bin/y").empty());
}

TEST_CASE("a program without quotes is what is written, or an error", "[config]") {
  const auto error_of = [](const std::string& program, const std::string& command) {
    return "2:17: unexpected '" + program +
           "', expected a program in double quotes (put the command in double quotes: \"" + command + "\")\n";
  };
  CHECK(rule_errors("start program = /usr/bin/systemctl start x") ==
        error_of("/usr/bin/systemctl", "/usr/bin/systemctl start x"));
  CHECK(rule_errors("start program = systemctl start x") == error_of("systemctl", "systemctl start x"));
  CHECK(rule_errors("start program = /bin/x a with timeout 5 seconds") == error_of("/bin/x", "/bin/x a"));
  CHECK(rule_errors("start program = /bin/x with the rest # so it is") == error_of("/bin/x", "/bin/x with the rest"));
  CHECK(rule_errors("start program = /bin/x a; b\nif status 1 then alert") == error_of("/bin/x", "/bin/x a; b"));
  for (const char* right : {"", " # why", " as uid root and gid root with timeout 5 seconds",
                            "\n with timeout 5 seconds", "\nif status 1 then alert", " stop program = \"/bin/y\""})
    CHECK(rule_errors(std::string("start program = /bin/x") + right).empty());
  CHECK(errors("check process x with program /bin/x serve a").empty());
  CHECK(errors("check process x with program /bin/x serve with a") ==
        "1:48: unexpected 'a', expected another statement, 'timeout', 'uid' or 'gid' (put the command in double "
        "quotes)\n");
}

TEST_CASE("a foreground process has statements of its own", "[config]") {
  const std::string program = "check process x with program ";
  CHECK(tree(program + "\"/bin/x a 'b c'\" as uid u and gid g") ==
        "process 'x' runs [/bin/x][a][b c] uid='u' gid='g'\n");
  CHECK(tree(program + "/bin/x a \"b\" ready after 5 seconds") ==
        "process 'x' runs [/bin/x][a][b]\n"
        "  ready after time=5000ms\n");
  CHECK(tree(program +
             "'/bin/x a'\nstop signal TERM within 5 seconds stop signal 9 stop signal \"INT\" within 2minutes") ==
        "process 'x' runs [/bin/x][a]\n"
        "  stop signal 'TERM' within=5000ms\n"
        "  stop signal '9'\n"
        "  stop signal 'INT' within=120000ms\n");
  CHECK(tree(program + "\"/bin/x\" ready on notify") ==
        "process 'x' runs [/bin/x]\n"
        "  ready on notify\n");
  CHECK(tree(program + "\"/bin/x\" ready on notify within 1 minute") ==
        "process 'x' runs [/bin/x]\n"
        "  ready on notify time=60000ms\n");
  CHECK(tree(program + "\"/bin/x\" if cpu > 5% then exec \"/a\" c ready on notify") ==
        "process 'x' runs [/bin/x]\n"
        "  if cpu > 5 '%' then exec [/a][c]\n"
        "  ready on notify\n");
  CHECK(tree(program + "\"/bin/x\" if cpu > 5% then exec \"/a\" ready c \"ready\" after") ==
        "process 'x' runs [/bin/x]\n"
        "  if cpu > 5 '%' then exec [/a][ready][c][ready][after]\n");
  CHECK(tree(program + "\"/bin/x\"\ninclude /y\nstop signal INT") ==
        "process 'x' runs [/bin/x]\n"
        "include '/y'\n"
        "continued\n"
        "  stop signal 'INT'\n");
  CHECK(tree("check process ready pidfile /x if cpu > 5% then exec \"/a\" ready on notify") ==
        "process 'ready' pidfile='/x'\n"
        "  if cpu > 5 '%' then exec [/a][ready][notify]\n");
  CHECK(tree("check process ready pidfile /x stop signal TERM") ==
        "process 'ready' pidfile='/x'\n"
        "  stop [signal][TERM]\n");
  CHECK(tree("check process ready pidfile /x stop signal TERM within 5 seconds") ==
        "process 'ready' pidfile='/x'\n"
        "  stop signal 'TERM' within=5000ms\n");
  CHECK(tree("check process ready pidfile /x if cpu > 5% then exec \"/a\" ready after 5 seconds") ==
        "process 'ready' pidfile='/x'\n"
        "  if cpu > 5 '%' then exec [/a]\n"
        "  ready after time=5000ms\n");
  CHECK(tree("check process program matching program \"a b\"") == "process 'program' matching='a b'\n");
  CHECK(errors("check process x with \"/bin/x\"") ==
        "1:22: unexpected '\"/bin/x\"', expected 'program \"...\"', 'pidfile', 'match' or 'path'\n");
  CHECK(errors("check process x with program \"/bin/x a\nif cpu > 5% then alert") ==
        "1:30: unbalanced quotes: the text that begins here is not closed (close it with \")\n");
  CHECK(errors(program + "\"/bin/x\"\nredy after 5 seconds") ==
        "2:1: unexpected 'redy', expected another statement, 'timeout', 'uid' or 'gid' (did you mean 'ready'?)\n");
  CHECK(errors(program + "\"/bin/x\"\nready 5 seconds") == "2:7: unexpected '5', expected 'after' or 'notify'\n");
  CHECK(errors(program + "/bin/x a\n b") ==
        "2:2: unexpected 'b', expected another statement, 'timeout', 'uid' or 'gid'\n");
  CHECK(errors(program + "\"/bin/x\"\nstop signal { TERM }") ==
        "2:13: unexpected '{', expected a signal such as TERM ('{' is a keyword; put it in double quotes to use it as "
        "text)\n");
  CHECK(tree("check x with program \"/bin/x\"") == "process 'x' runs [/bin/x]\n");
  CHECK(errors("check process x with program pidfile /x").empty());
  CHECK(errors(program + "\"/bin/x\"\nready after 5") ==
        "2:14: the file ends here, expected a unit such as 'seconds'\n");
  CHECK(errors(program + "\"/bin/x\"\nstop signal") == "2:12: the file ends here, expected a signal such as TERM\n");
  CHECK(errors(program + "\"/bin/x\"\nstop signal TERM within 5") ==
        "2:26: the file ends here, expected a unit such as 'seconds'\n");
}

TEST_CASE("each error of a foreground process is told", "[config]") {
  const std::string program = "check process x with program \"/bin/x\"\n";
  CHECK(errors(program + "ready aftr 5 seconds\nready on notfy\nstop signals TERM\nstop sgnal TERM") ==
        "2:7: unexpected 'aftr', expected 'after' or 'notify' (did you mean 'after'?)\n"
        "3:10: unexpected 'notfy', expected 'after' or 'notify' (did you mean 'notify'?)\n"
        "4:6: unexpected 'signals', expected 'signal' (did you mean 'signal'?)\n"
        "5:6: unexpected 'sgnal', expected 'signal' (did you mean 'signal'?)\n");
  CHECK(errors("set init\nready on notify") ==
        "2:1: 'ready' belongs to no service (it must follow a 'check', before any 'set')\n");
  // Of another service it is the name of a program, as in Monit.
  CHECK(tree("check process x pidfile /x stop signals TERM") == "process 'x' pidfile='/x'\n  stop [signals][TERM]\n");
}

TEST_CASE("what only healer understands of a foreground process is marked", "[config]") {
  CHECK(extensions("check process x with program \"/bin/x\" as uid u\nstop signal TERM within 5 seconds\nready after 5 "
                   "seconds\nalert a@b digest") ==
        "a program in place of a pid file: \"/bin/x\" as uid u\n"
        "'stop signal': stop signal TERM within 5 seconds\n"
        "'ready': ready after 5 seconds\n"
        "'digest': digest\n");
  CHECK(extensions("set alert a@b digest { pid }\nset mail limit 5 within 1 hour\nset eventqueue slots 5") ==
        "'digest': digest\n"
        "set mail limit: mail limit 5 within 1 hour\n");
  CHECK(extensions("set alert a@b digest digest") ==
        "1:22: 'digest' is given twice (keep one of them)\n"
        "'digest': digest\n");
}

TEST_CASE("the event queue and the limit of mails are settings", "[config]") {
  CHECK(tree("set eventqueue basedir /x set eventqueue with basedir \"/a b\" with slots 5 set eventqueue slot 7") ==
        "set eventqueue directory='/x'\n"
        "set eventqueue directory='/a b' slots=5\n"
        "set eventqueue slots=7\n");
  CHECK(tree("set mail limit 20 mails within 1 hour set mail limit 3 within 5minutes") ==
        "set mail limit 20 within 3600000ms\n"
        "set mail limit 3 within 300000ms\n");
  CHECK(tree("set alert a@b digest with reminder on 3 cycles set alert c@d { pid } digest") ==
        "set alert 'a@b' reminder=3 digest\n"
        "set alert 'c@d' pid digest\n");
  CHECK(errors("set eventqueue /x") == "1:16: unexpected '/x', expected 'basedir' or 'slot'\n");
  CHECK(errors("set mail limit many") == "1:16: unexpected 'many', expected a number\n");
  CHECK(errors("set mail limit 5 mails") == "1:23: the file ends here, expected a time such as 'within 1 hour'\n");
  CHECK(errors("set mail limit 5 mails within 1") == "1:32: the file ends here, expected a unit such as 'seconds'\n");
}

TEST_CASE("what is understood of a service with a broken header is in the tree", "[config]") {
  CHECK(
      tree("check process x with pidfil /x\n if cpu > 5% then alert\n depends on y\ncheck program path\n group "
           "g\ncheck proces z pidfile /z\n group h\ncheck fil a path /a\n group i\ncheck host b path /b\n group j\n") ==
      "1:22: unexpected 'pidfil', expected 'program \"...\"', 'pidfile', 'match' or 'path' (did you mean 'pidfile'?)\n"
      "4:15: the statement ends here, expected 'path'\n"
      "6:7: 'proces' is not a kind of check (did you mean 'process'?)\n"
      "8:7: 'fil' is not a kind of check (did you mean 'file'?)\n"
      "10:14: unexpected 'path', expected 'address'\n"
      "process 'x' broken\n"
      "  if cpu > 5 '%' then alert\n"
      "  depends 'y'\n"
      "check 'path' broken\n"
      "  group 'g'\n"
      "process 'z' broken\n"
      "  group 'h'\n"
      "file 'a' broken\n"
      "  group 'i'\n"
      "host 'b' broken\n"
      "  group 'j'\n");
}

}  // namespace parser_own_test
