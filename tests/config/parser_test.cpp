// SPDX-License-Identifier: MIT
// Text to tree, and what of it only healer understands.
#include "config/syntax/parser.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "config/syntax_text.hpp"

namespace parser_test {

using namespace healer::config;
using namespace healer::config::syntax_text;

// ---- trees ----------------------------------------------------------------------------------------------------------

TEST_CASE("the header of check program is parsed", "[config]") {
  CHECK(tree("check program x with path \"/bin/x 'a b' c\" as uid www and gid 33 with timeout 15 seconds") ==
        "check 'x' [/bin/x][a b][c] uid='www' gid='33' timeout=15000ms\n");
  CHECK(tree("CHECK PROGRAM \"a b\" PATH /bin/x d '/e f' \"g\"") == "check 'a b' [/bin/x][d][/e f][g]\n");
  CHECK(tree("check program x path '/bin/x'") == "check 'x' [/bin/x]\n");
  CHECK(tree("check program x path '/bin/sh -c \"a b\"'") == "check 'x' [/bin/sh][-c][a b] single-quoted\n");
  CHECK(tree("check program x path\n\"/bin/x a\"") == "check 'x' [/bin/x][a] single-quoted\n");
  CHECK(tree("check program x path \"\" /bin/x") == "check 'x' [/bin/x]\n");
}

TEST_CASE("conditions are parsed whole", "[config]") {
  CHECK(rule("if status 1 then alert") == "check 'x' [/bin/x]\n  if status = 1 then alert\n");
  for (const auto& [written, meant] : std::vector<std::pair<std::string, std::string>>{{"!=", "!="},
                                                                                       {"==", "="},
                                                                                       {"<", "<"},
                                                                                       {"<=", "<="},
                                                                                       {">", ">"},
                                                                                       {">=", ">="},
                                                                                       {"eq", "="},
                                                                                       {"ne", "!="},
                                                                                       {"lt", "<"},
                                                                                       {"le", "<="},
                                                                                       {"gt", ">"},
                                                                                       {"ge", ">="},
                                                                                       {"equal to", "="},
                                                                                       {"notequal", "!="},
                                                                                       {"less than", "<"},
                                                                                       {"greater than", ">"},
                                                                                       {"more than", ">"},
                                                                                       {"older", ">"},
                                                                                       {"newer", "<"}})
    CHECK(rule("if status is " + written + " 3 then alert") ==
          "check 'x' [/bin/x]\n  if status " + meant + " 3 then alert\n");
  CHECK(rule("if content = foo then alert") == "check 'x' [/bin/x]\n  if content = 'foo' then alert\n");
  CHECK(rule("if content != 'a \"b\"' then alert") == "check 'x' [/bin/x]\n  if content != 'a \"b\"' then alert\n");
  CHECK(rule("if changed the status then alert") == "check 'x' [/bin/x]\n  if changed status then alert\n");
  CHECK(rule("if status changed 1 then alert") == "check 'x' [/bin/x]\n  if changed status then alert\n");
  CHECK(rule("if status 99999999999999999999 then alert") ==
        "check 'x' [/bin/x]\n  if status = 18446744073709551615 then alert\n");
}

TEST_CASE("the headers of check process and check system are parsed", "[config]") {
  CHECK(tree("check process x with pidfile /run/x.pid") == "process 'x' pidfile='/run/x.pid'\n");
  CHECK(tree("check x pidfile '/run/a b'") == "process 'x' pidfile='/run/a b'\n");
  CHECK(tree("check process \"a b\" matching \"^/bin/x -d\"") == "process 'a b' matching='^/bin/x -d'\n");
  CHECK(tree("check process x match /bin/x check system $HOST") == "process 'x' matching='/bin/x'\nsystem '$HOST'\n");
  CHECK(tree("check system start mode passive") == "system 'start'\n  mode 'passive'\n");
}

TEST_CASE("programs of a service and dependencies are parsed", "[config]") {
  CHECK(rule("start program = \"/a b\" stop \"/b\" as uid u and gid g with timeout 5 seconds restart program /c d") ==
        "check 'x' [/bin/x]\n  start [/a][b]\n  stop [/b] uid='u' gid='g' timeout=5000ms\n  restart [/c][d]\n");
  CHECK(rule("start program '/a b' stop program = '/a b'") ==
        "check 'x' [/bin/x]\n  start [/a][b] single-quoted\n  stop [/a][b]\n");
  CHECK(rule("depends on a, \"b c\", with depend d") ==
        "check 'x' [/bin/x]\n  depends 'a' 'b c' 'with'\n  depends 'd'\n");
}

TEST_CASE("tests of processes and systems are parsed", "[config]") {
  const auto test = [](const std::string& text) {
    const std::string all = tree("check process x pidfile /x if " + text + " then alert");
    const std::string begin = "process 'x' pidfile='/x'\n  if ";
    const std::string end = " then alert\n";
    return all.starts_with(begin) && all.ends_with(end)
               ? all.substr(begin.size(), all.size() - begin.size() - end.size())
               : all;
  };
  CHECK(test("cpu usage is greater than 5%") == "cpu > 5 '%'");
  CHECK(test("cpu 5 percent") == "cpu = 5 'percent'");
  CHECK(test("total memory 10.5 MB") == "total memory = 10.5 'MB'");
  CHECK(test("cpu changed 5%") == "cpu != 5 '%'");
  CHECK(test("loadavg ( 15MIN ) per core 1") == "loadavg(15min) per core = 1");
  CHECK(test("cpu usage ( User ) > 5%") == "cpu(user) > 5 '%'");
  CHECK(test("disk read rate > 5 operations/s") == "disk read > 5 'operations/s'");
  CHECK(test("write < 5") == "write < 5");
  CHECK(test("total filedescriptors != 5") == "total filedescriptors != 5");
  CHECK(test("uptime 90 seconds for 2 cycles") == "uptime = 90 'seconds' for count=2");
  CHECK(test("memory > 5 for 90 seconds") == "memory > 5 for held=90000ms");
  CHECK(test("cpu > 5% or children > 3 threads 4 and swap>5%") ==
        "cpu > 5 '%' or children > 3 and threads = 4 and swap > 5 '%'");
  CHECK(test("does not exist") == "not exist");
  CHECK(test("does exists") == "exist");
  CHECK(test("failed uid 0 or failed euid \"a b\" or failed gid g") ==
        "failed uid '0' or failed euid 'a b' or failed gid 'g'");
  CHECK(test("changed the pid or changed ppid") == "changed pid or changed ppid");
  CHECK(test("failed security attribute /a") == "attribute '/a'");
  CHECK(test("3 restarts within 5 cycles") == "restarts for count=3 window=5");
  CHECK(test("cpu>5") == "cpu > 5");
  CHECK(test("memory>=10.5MB") == "memory >= 10.5 'MB'");
  CHECK(test("disk read>5 kB/s") == "disk read > 5 'kB/s'");
  CHECK(test("loadavg(5min)>1.5") == "loadavg(5min) > 1.5");
  CHECK(test("uptime <3days") == "uptime < 3 'days'");
  CHECK(tree("check process x pidfile /x if 1 restart 2 cycles then timeout") ==
        "process 'x' pidfile='/x'\n  if restarts for count=1 window=2 then unmonitor\n");
}

TEST_CASE("joined conditions keep what joins them", "[config]") {
  CHECK(rule("if status 1 and content = \"and\" or # and\n changed status, status > 5 for 2 cycles then alert") ==
        "check 'x' [/bin/x]\n  if status = 1 and content = 'and' or changed status and status > 5 for count=2 then "
        "alert\n");
  CHECK(rule("if (status 1 or status 2) then alert") ==
        "check 'x' [/bin/x]\n  if status = 1 or status = 2 then alert\n");
}

TEST_CASE("tolerances are parsed in every form", "[config]") {
  const auto tolerance = [](const std::string& text) {
    const auto whole = rule("if status 1 " + text + " then alert");
    return whole.substr(whole.find("= 1") + 4);
  };
  CHECK(tolerance("for 3 cycles") == "for count=3 then alert\n");
  CHECK(tolerance("3 cycle") == "for count=3 then alert\n");
  CHECK(tolerance("for 2 times within 5 cycles") == "for count=2 window=5 then alert\n");
  CHECK(tolerance("times 2 5 cycles") == "for count=2 window=5 then alert\n");
  CHECK(tolerance("3 times within cycles") == "for count=3 then alert\n");
  CHECK(tolerance("times") == "then alert\n");
  CHECK(tolerance("for 90 seconds") == "for held=90000ms then alert\n");
  CHECK(tolerance("for 2minutes") == "for held=120000ms then alert\n");
  CHECK(tolerance("for 1 week") == "for held=604800000ms then alert\n");
  CHECK(tolerance("for 500 ms") == "for held=500ms then alert\n");
  CHECK(tolerance("for 3cycles") == "for count=3 then alert\n");
  CHECK(tolerance("for 2 5cycles") == "for count=2 window=5 then alert\n");
}

TEST_CASE("actions and recoveries are parsed", "[config]") {
  const auto actions = [](const std::string& text) {
    const auto whole = rule("if status 1 then " + text);
    return whole.substr(whole.find("then") + 5);
  };
  CHECK(actions("unmonitor") == "unmonitor\n");
  CHECK(actions("restarts") == "restart\n");
  CHECK(actions("start") == "start\n");
  CHECK(actions("stop") == "stop\n");
  CHECK(actions("exec \"/a 'b c'\" as uid root and gid wheel repeat every 5 cycles") ==
        "exec [/a][b c] uid='root' gid='wheel' repeat=5\n");
  CHECK(actions("exec '/a b \"c d\"'") == "exec [/a][b][c d] single-quoted\n");
  CHECK(actions("exec \"/a\" timeout 10 minutes overlapping") == "exec [/a] timeout=600000ms overlapping\n");
  CHECK(actions("exec \"/a\" overlapping") == "exec [/a] overlapping\n");
  CHECK(actions("exec \"/a\" \"overlapping\"") == "exec [/a][overlapping]\n");
  CHECK(actions("exec \"/a\" every 2 cycles") == "exec [/a]\n  every cycles=2\n");
  CHECK(actions("alert else exec /b") == "alert else exec [/b]\n");
  CHECK(actions(
            "exec \"/a\" repeat every 2 cycles else if recovered 2 times within 3 cycles then exec \"/b\" as uid u") ==
        "exec [/a] repeat=2 else for count=2 window=3 exec [/b] uid='u'\n");
  CHECK(actions("alert else if passed for 2 minutes then unmonitor") == "alert else for held=120000ms unmonitor\n");
}

TEST_CASE("a quote at the end of a quoted argument is kept, with a warning", "[config]") {
  CHECK(rule("if status 1 then exec \"/bin/sh -c 'echo \"a b\"'\"") ==
        "1:53: warning: Monit takes the quotes at the ends of an argument away; healer keeps them\n"
        "check 'x' [/bin/x]\n  if status = 1 then exec [/bin/sh][-c][echo \"a b\"]\n");
}

TEST_CASE("the other statements of a service are parsed", "[config]") {
  CHECK(
      rule("every 2 cycles every \"0 8 * * 1-5\" not every '* 0-5 * * *' every 30 seconds group a group \"b\" mode "
           "passive "
           "onreboot nostart noalert a@b") ==
      "check 'x' [/bin/x]\n  every cycles=2\n  every cron='0 8 * * 1-5'\n  not every cron='* 0-5 * * *'\n"
      "  every interval=30000ms\n  group 'a'\n  group 'b'\n  mode 'passive'\n  onreboot 'nostart'\n  noalert 'a@b'\n");
  CHECK(rule("alert a@b alert c@d but not on { status, timeout } with mail-format { from: A <a@b>\nsubject: s } with "
             "reminder on 3 cycles") ==
        "check 'x' [/bin/x]\n  alert 'a@b'\n  alert 'c@d' not status not timeout reminder=3 from='A <a@b>' "
        "subject='s'\n");
}

TEST_CASE("set statements are parsed", "[config]") {
  CHECK(tree("set daemon 5") == "set daemon 5000ms\n");
  CHECK(tree("set the daemon to 30 with start delay 60") == "set daemon 30000ms delay=60000ms\n");
  CHECK(tree("set daemon 2 minutes start delay 500ms") == "set daemon 120000ms delay=500ms\n");
  CHECK(tree("set daemon 30s") == "set daemon 30000ms\n");
  CHECK(tree("set init set terminal batch set shadow set dry run set accept dormant set cycles count polls set cycles "
             "count runs") ==
        "set init\nset terminal batch\nset shadow\nset dry run\nset accept dormant\nset cycles: polls\nset cycles: "
        "runs\n");
  CHECK(tree("set log /a set logfile \"/b c\" set log syslog set log syslog facility log_local0") ==
        "set log '/a'\nset log '/b c'\nset log syslog\nset log syslog facility='log_local0'\n");
  CHECK(tree("set pidfile /p set idfile '/i' set statefile /s set control socket /c") ==
        "set pidfile '/p'\nset idfile '/i'\nset statefile '/s'\nset control socket '/c'\n");
  CHECK(tree("set onreboot laststate") == "set onreboot 'laststate'\n");
  CHECK(tree("set limits { programOutput: 1 kB, sendexpectbuffer: 512 stopTimeout : 30 s; networktimeout: 5 minutes "
             "filecontentbuffer: 10MB }") ==
        "set limits programoutput=1024B sendexpectbuffer=512B stoptimeout=30000ms networktimeout=300000ms "
        "filecontentbuffer=10485760B\n");
  CHECK(tree("set limits {}") == "set limits\n");
  CHECK(tree("set limits { programoutput: 99999999999 GB }") == "set limits programoutput=18446744073709551615B\n");
  CHECK(tree("set environment PATH \"/usr/bin:/bin\" set environment EMPTY '' set environment LANG C") ==
        "set environment 'PATH'='/usr/bin:/bin'\nset environment 'EMPTY'=''\nset environment 'LANG'='C'\n");
  CHECK(tree("set settle 0 seconds") == "set settle 0ms\n");
}

TEST_CASE("mail servers are parsed", "[config]") {
  CHECK(tree("set mailserver a.b port 25 username \"u\" password p@q using tls with options { verify: enable, version: "
             "tlsv12 -tlsv13 "
             "selfsigned: reject ciphers: \"A:B\" pemfile: /p cacertificatepath: /c } certificate checksum md5 = "
             "\"8f\", ::1, 'c d' using hostname hh") ==
        "set mailserver ('a.b' port=25 user='u' password='p@q' tls='tls' verify:'enable' version:'tlsv12' "
        "version:'-tlsv13' "
        "selfsigned:'reject' ciphers:'A:B' pemfile:'/p' cacertificatepath:'/c' type='md5' checksum='8f') ('::1') ('c "
        "d') hostname='hh'\n");
  CHECK(tree("set mailserver a certmd5 8f tlsv12 timeout 5 seconds hostname \"h\"") ==
        "set mailserver ('a' tls='tlsv12' type='md5' checksum='8f') timeout=5000ms hostname='h'\n");
}

TEST_CASE("mail formats keep the text as it is written", "[config]") {
  CHECK(
      tree("set mail-format { from: \"A B\" <a@$HOST>\n reply-to: c@d\n subject: $SERVICE: $EVENT, x\n message:  one\n "
           " two\n }") ==
      "set mail-format from='\"A B\" <a@$HOST>' reply-to='c@d' subject='$SERVICE: $EVENT, x' message='one\\n  two'\n");
  CHECK(tree("set mail-format { message: }") == "set mail-format message=''\n");
  CHECK(tree("set alert a@b") == "set alert 'a@b'\n");
  CHECK(tree("set alert a@b only on { nonexist } reminder 0") == "set alert 'a@b' nonexist reminder=0\n");
}

TEST_CASE("includes may stand anywhere between statements", "[config]") {
  CHECK(tree("include /etc/x/*") == "include '/etc/x/*'\n");
  CHECK(tree("if status 1 then alert\nset init") == "continued\n  if status = 1 then alert\nset init\n");
  CHECK(tree(kCheck + "if status 1 then alert\ninclude \"/a b\"\ngroup z if status 2 then alert") ==
        "check 'x' [/bin/x]\n  if status = 1 then alert\ninclude '/a b'\ncontinued\n  group 'z'\n  if status = 2 then "
        "alert\n");
  CHECK(tree("include") == "1:1: warning: 'include' names no file (write include /etc/healer/rules.d/*.rules)\n");
}

TEST_CASE("ranges cover what is written", "[config]") {
  const auto result = parsed(
      "check program x path \"/a b\" c\n if status != 0 for 2 cycles then exec \"/b\" as uid u else alert every 3 "
      "cycles");
  const auto text = [&](const SourceRange& range) { return std::string(result.sources.text(range)); };
  const auto& check = std::get<CheckSyntax>(result.file.statements.at(0));
  CHECK(text(check.range) == "check program x path \"/a b\" c");
  CHECK(text(check.name.range) == "x");
  CHECK(text(check.command->range) == "\"/a b\" c");
  const auto& statement = std::get<IfSyntax>(check.statements.at(0));
  CHECK(text(statement.range) == "if status != 0 for 2 cycles then exec \"/b\" as uid u else alert");
  CHECK(text(statement.condition.terms.at(0).range) == "status != 0");
  CHECK(text(statement.tolerance->range) == "2 cycles");
  CHECK(text(statement.action.range) == "exec \"/b\" as uid u");
  CHECK(text(statement.recovery->action.range) == "alert");
  CHECK(text(std::get<EverySyntax>(check.statements.at(1)).range) == "every 3 cycles");
}

// ---- what only healer understands
// -------------------------------------------------------------------------------------

TEST_CASE("what Monit understands is no extension", "[config]") {
  CHECK(extensions(
            "set daemon 5 with start delay 3 set limits { programoutput: 1 kB networktimeout: 5 ms } "
            "set mailserver a port 25 username u, bb using tls {} certmd5 8f timeout 5 s hostname hh "
            "set alert a@b on { pid } mail-format { from: a@b } reminder 2 " +
            kCheck +
            "a \"b c\" uid u gid g timeout 5 seconds if (status != 0) 2 times 5 cycles then exec '/x' uid u repeat "
            "every 2 cycles else if passed then alert if content = \"x\" then unmonitor every \"* * * * *\"")
            .empty());
}

TEST_CASE("a colon in a list of headers begins a value, which is not empty to Monit", "[config]") {
  const auto of = [](const std::string& list) {
    return extensions("check host x with address a if failed port 80 protocol http http headers [" + list +
                      "] then alert");
  };
  for (const std::string list : {"A: b", ": b", "A: b:c", "A b: c, D:e,, F: g,", ""}) CHECK(of(list).empty());
  for (const std::string list : {"A: b:", "A::1", "A: b:, C: d", "A: [::1"}) {
    INFO(list);
    CHECK(of(list) == "a header's value with such a colon: http headers [" + list + "]\n");
  }
}

TEST_CASE("every generosity is an extension with its place", "[config]") {
  CHECK(extensions("set daemon 30 seconds") == "a unit of the poll time: seconds\n");
  CHECK(extensions("set daemon 30s start delay 1 minute") ==
        "a unit of the poll time: 30s\na unit of the start delay: minute\n");
  CHECK(extensions("set limits { stoptimeout: 1 minute starttimeout: 5s programoutput: 1kB }") ==
        "a limit in other units than seconds: minute\na duration without a blank before its unit: 5s\n"
        "a size without a blank before its unit: 1kB\n");
  CHECK(extensions("set mailserver a username http password \"x\" port 25") ==
        "a word of the language as a credential: http\noptions in another order: port 25\n");
  CHECK(extensions("set mailserver a using tlsv12 with options {} hostname hh timeout 1 minute, bb") ==
        "options after a version: {}\na timeout in other units than seconds: minute\noptions in another order: timeout "
        "1 minute\n"
        "options in another order: bb\n");
  CHECK(extensions("set alert a@b reminder 3 on { pid }") == "options in another order: { pid }\n");
  CHECK(extensions("check program x path \"/x\" timeout 2 minutes uid u") ==
        "a timeout in other units than seconds: minutes\noptions in another order: uid u\n");
  CHECK(extensions("check program 'x' path '/x'") == "a name in quotes or on a line of its own as this one: 'x'\n");
  CHECK(rule_extensions("if status>0 then alert") == "an operator without blanks around it: status>0\n");
  CHECK(rule_extensions("if status> 0 then alert") == "an operator without blanks around it: status> 0\n");
  CHECK(rule_extensions("if status >0 then alert") == "an operator without blanks around it: >0\n");
  CHECK(rule_extensions("if status 1 or status 2 then alert") == "more than one condition: status 2\n");
  CHECK(rule_extensions("if status 1 for 3cycles then alert") ==
        "a count of cycles without a blank before 'cycles': 3cycles\n");
  CHECK(rule_extensions("if status 1 for 90 seconds then alert") == "a duration in place of cycles: seconds\n");
  CHECK(rule_extensions("if content = \"/a\" then alert") == "a pattern that begins with '/': \"/a\"\n");
  CHECK(rule_extensions("if status 1 then exec \"/a\" timeout 5 minutes") ==
        "a timeout in other units than seconds: minutes\na timeout of an exec: timeout 5 minutes\n");
  CHECK(rule_extensions("if status 1 then exec \"/a\" uid u overlapping") == "'overlapping': overlapping\n");
  CHECK(rule_extensions("if status 1 then exec \"/a\" repeat every 2 cycles uid u") ==
        "options in another order: uid u\n");
  CHECK(rule_extensions("if status 1 then exec /a http://b") == "a URL without quotes as an argument: http://b\n");
  CHECK(rule_extensions("if cpu>5% then alert") == "an operator without blanks around it: cpu>5%\n");
  CHECK(rule_extensions("if disk read> 5 then alert") == "an operator without blanks around it: read> 5\n");
  CHECK(rule_extensions("if memory >5MB then alert") == "an operator without blanks around it: >5MB\n");
  CHECK(rule_extensions("if memory > 5MB then alert") == "a number without a blank before its unit: 5MB\n");
  CHECK(rule_extensions("if uptime > 5 weeks then alert") == "'weeks' as a unit: weeks\n");
  CHECK(rule_extensions("if read > 5 operations/s then alert") ==
        "operations without the word 'disk': read > 5 operations/s\n");
  CHECK(rule_extensions("if cpu > 5% and memory > 5 and uptime > 5 and threads > 5 then alert") ==
        "more than one condition: uptime > 5\nmore than one condition: threads > 5\n");
  CHECK(rule_extensions("if 3 restarts within 5cycles then alert") ==
        "a count of cycles without a blank before 'cycles': 5cycles\n");
  CHECK(rule_extensions("start program = '/x'") == "a program after '=' that is not in double quotes: '/x'\n");
  CHECK(rule_extensions("start program \"/x\" timeout 5 minutes uid u") ==
        "a timeout in other units than seconds: minutes\noptions in another order: uid u\n");
  CHECK(rule_extensions("depends on 'y', 'z'") == "a name in quotes or on a line of its own as this one: 'y'\n");
  CHECK(rule_extensions("every 30 seconds") == "an interval in place of cycles: seconds\n");
  CHECK(extensions("set shadow set dry run set accept dormant set cycles count runs") ==
        "set shadow: shadow\nset dry run: dry run\nset accept dormant: accept dormant\nset cycles count: cycles count "
        "runs\n");
  CHECK(extensions("set settle 1 s set environment A b set control socket /c") ==
        "set settle: settle 1 s\nset environment: environment A b\nset control socket: control socket /c\n");
  CHECK(extensions("set mail-format { from: a@b\r\n}") == "a carriage return after a mail address: from: a@b\n");
}

TEST_CASE("healer's own words are not reserved", "[config]") {
  CHECK(tree("check program shadow path /bin/settle overlapping group dormant") ==
        "check 'shadow' [/bin/settle][overlapping]\n  group 'dormant'\n");
  CHECK(tree("set mailserver environment username control password socket") ==
        "set mailserver ('environment' user='control' password='socket')\n");
}

}  // namespace parser_test
