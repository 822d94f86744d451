// SPDX-License-Identifier: MIT
#include "grammar/lexer.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "grammar/tight.hpp"
#include "util/text.hpp"

namespace lexer_test {

using namespace healer::grammar;

namespace {

const char* value_name(Kind kind) {
  switch (kind) {
    case Kind::End: return "end";
    case Kind::Broken: return "broken";
    case Kind::String: return "string";
    case Kind::Quoted: return "quoted";
    case Kind::Path: return "path";
    case Kind::Number: return "number";
    case Kind::Real: return "real";
    case Kind::Mail: return "mail";
    case Kind::Url: return "url";
    case Kind::Address: return "address";
    case Kind::Name: return "name";
    case Kind::Schedule: return "schedule";
    case Kind::Command: return "command";
    case Kind::Pattern: return "pattern";
    case Kind::RawLine: return "line";
    case Kind::RawText: return "text";
    default: return nullptr;
  }
}

/// The tokens of a text: words and signs of the language as they are written, others as kind(text).
std::string lexed(std::string_view text) {
  const auto stream = lex(text);
  REQUIRE(stream.tokens.size() == stream.kinds.size() + 1);
  std::string out;
  for (std::size_t i = 0; i < stream.kinds.size(); ++i) {
    if (!out.empty()) out += ' ';
    const char* name = value_name(stream.tokens[i].kind);
    const auto written = healer::printable(stream.text_of(i));
    out += name == nullptr ? "<" + written + ">" : std::string(name) + "(" + written + ")";
  }
  return out;
}

std::string fault(std::string_view text) {
  const auto stream = lex(text);
  return stream.faults.empty()
             ? ""
             : std::to_string(stream.tokens[stream.faults[0].token].offset) + ": " + stream.faults[0].message;
}

std::string split(std::string_view written) {
  std::string out;
  for (const auto& argument : split_command(written)) out += "[" + healer::printable(argument) + "]";
  return out;
}

}  // namespace

TEST_CASE("words are known in any case, and only whole", "[grammar]") {
  CHECK(lexed("SET Daemon 5") == "<SET> <Daemon> number(5)");
  CHECK(lexed("setx daemons if-then") == "string(setx) string(daemons) string(if-then)");
  CHECK(lexed("status!=0") == "<status> <!=> number(0)");
  CHECK(lexed("path\"/x\"") == "<path> path(\"/x\")");
}

TEST_CASE("noise words, separators, parentheses and comments become no tokens", "[grammar]") {
  CHECK(lexed("if (status is greater than 1), then; alert # then stop") ==
        "<if> <status> <greater> number(1) <then> <alert>");
  CHECK(lexed("of for with within without the is are was has to in and or on only but than use using usage via program "
              "programs option options sum activity per as does times rate capacity last")
            .empty());
  CHECK(lexed("x \\ y \\\n z") == "string(x) string(y) string(z)");
  CHECK(lexed("# only this").empty());
}

TEST_CASE("what is no noise word stays a text", "[grammar]") {
  CHECK(lexed("an at from by current them server following") ==
        "string(an) string(at) string(from) string(by) string(current) string(them) string(server) string(following)");
}

TEST_CASE("a bare word holds every sign but a few", "[grammar]") {
  CHECK(lexed("a=b x<y 5a /a@b@c#d $HOST ~/x ./x a\\b `a` +1 -5") ==
        "string(a=b) string(x<y) string(5a) path(/a@b@c#d) string($HOST) string(~/x) string(./x) string(a\\b) "
        "string(`a`) "
        "string(+1) string(-5)");
  CHECK(lexed("a{b}c%d:e") == "string(a) <{> <b> <}> string(c) <%> string(d) <:> string(e)");
  CHECK(lexed("// x /* c */") == "path(//) string(x) path(/*) string(c) string(*/)");
  CHECK(lexed("gr\xc3\xbc\xc3\x9f") == "string(gr\xc3\xbc\xc3\x9f)");
}

TEST_CASE("a program right after the name of a process is split into arguments, as Monit splits programs",
          "[grammar]") {
  CHECK(lexed("check process x with program \"/a 'b \"c\"' d\" e") ==
        "<check process> name(x) command(\"/a 'b \"c\"' d\") string(e)");
  CHECK(lexed("check x program \"a\"") == "<check > name(x) command(\"a\")");
  // Where Monit takes what follows the noise word nothing changes.
  CHECK(lexed("check process program matching program \"a b\"") ==
        "<check process> name(program) <matching> quoted(\"a b\")");
  CHECK(lexed("check process x programs \"a\"") == "<check process> name(x) quoted(\"a\")");
  CHECK(lexed("check process x pidfile program \"/a\"") == "<check process> name(x) <pidfile> path(\"/a\")");
  CHECK(lexed("check file x program \"/a\"") == "<check file> name(x) path(\"/a\")");
  const auto stream = lex("check process x with program /a /b check process y /c");
  for (std::size_t i = 0; i < stream.tokens.size(); ++i)
    CHECK(((stream.tokens[i].flags & kAfterProgram) != 0) == (i == 2));
}

TEST_CASE("the arguments of a command are found as they are written", "[grammar]") {
  const auto arguments = command_arguments("\"/a 'b c' 'd'e\"");
  CHECK(arguments == std::vector<std::string_view>{"/a", "'b c'", "'d'e"});
  CHECK(command_arguments("").empty());
}

TEST_CASE("numbers are unsigned and decimal", "[grammar]") {
  CHECK(lexed("5 50.5 .5 5. 1.2.3 0x10 1e1 1,000") ==
        "number(5) real(50.5) string(.5) string(5.) string(1.2.3) string(0x10) string(1e1) number(1) number(000)");
  CHECK(lexed("5% 10 MB 10MB 3cycles") == "number(5) <%> number(10) <MB> string(10MB) string(3cycles)");
}

TEST_CASE("operators need blanks around them, but != does not", "[grammar]") {
  CHECK(lexed("> >= < <= == = !=5") == "<>> <>=> <<> <<=> <==> <=> <!=> number(5)");
  CHECK(lexed(">5 cpu>5 status=1 => <>") == "string(>5) string(cpu>5) string(status=1) string(=>) string(<>)");
}

TEST_CASE("words of several words are joined by blanks only", "[grammar]") {
  CHECK(lexed("total cpu total memory access time service time not every \"1 2 3 4 5\"") ==
        "<total cpu> <total memory> <access time> <service time> <not every> schedule(\"1 2 3 4 5\")");
  CHECK(lexed("total\ncpu") == "<total> <cpu>");
  CHECK(lexed("total  cpu") == "<total> <cpu>");
  CHECK(lexed("not\nevery 2 cycles") == "<not> <every> number(2) <cycles>");
  CHECK(lexed("not   every '1 2 3 4 5'") == "<not   every> schedule('1 2 3 4 5')");
  CHECK(lexed("check the program x") == "<check > name(the) string(x)");
  CHECK(lexed("check \t program x") == "<check \\t program> name(x)");
  CHECK(lexed("check\nprogram x") == "string(check) string(x)");
  CHECK(lexed("cpu  usage(  user )") == "<cpu  usage(  user )>");
  CHECK(lexed("cpu (user\t)") == "<cpu> string(user)");  // spaces only
  CHECK(lexed("loadavg\t(5min)") == "<loadavg> string(5min)");
}

TEST_CASE("after a check the name is taken raw", "[grammar]") {
  CHECK(lexed("check program if path") == "<check program> name(if) <path>");
  CHECK(lexed("check program\n\n with path") == "<check program> name(with) <path>");
  CHECK(lexed("check programx path") == "<check program> name(x) <path>");
  CHECK(lexed("check x with pidfile /x") == "<check > name(x) <pidfile> path(/x)");
  CHECK(lexed("check program \"x y\" path") == "<check program> name(\"x y\") <path>");
  CHECK(lexed("check program x@y") == "<check program> name(x) broken(@) string(y)");
  CHECK(lexed("check program x{") == "<check program> name(x) <{>");
  CHECK(lexed("check program #x\npath") == "<check program> name(#x) <path>");
  CHECK(fault("check program \"\" path") == "14: an empty name");
  CHECK(fault("check program \"x\ny\" path") == "14: unbalanced quotes: the text that begins here is not closed");
}

TEST_CASE("names of groups and dependencies are raw words", "[grammar]") {
  CHECK(lexed("group http group\tif") == "<group> name(http) <group> name(if)");
  CHECK(lexed("group\nz") == "string(group) string(z)");
  CHECK(lexed("group \nz") == "<group> name(z)");
  CHECK(lexed("depends on a, with ,c every 2 cycles") ==
        "<depends on> name(a) name(with) name(c) <every> number(2) <cycles>");
  CHECK(lexed("depend x2 group y") == "<depend> name(x2) <group> name(y)");
  CHECK(lexed("depends onion, b") == "<depends on> name(ion) name(b)");
  CHECK(lexed("depend on\"y\"") == "<depend on> name(\"y\")");
  CHECK(lexed("depends on y; (z) alert") == "<depends on> name(y) name(z) name(alert)");
  CHECK(lexed("depends on \"a b\",\n'c d' every") == "<depends on> name(\"a b\") name('c d') <every>");
  const auto generous = [](const char* text) { return (lex(text).tokens[1].flags & kGenerous) != 0; };
  CHECK_FALSE(generous("depends on y, z"));
  CHECK_FALSE(generous("depends on 'y'"));
  CHECK(generous("depends on 'y', 'z'"));
  CHECK(generous("depends on \ny"));
  CHECK(fault("group \"my group\"") ==
        "6: unbalanced quotes: a name without quotes cannot contain spaces or special characters");
}

TEST_CASE("a composite and its members are raw words, where Monit has an error", "[grammar]") {
  CHECK(
      lexed("check composite if with members ping, \"a b\"; of group host, GROUP x,\n  y\ngroup z") ==
      "<check > string(composite) name(if) string(members) name(ping) name(\"a b\") <group> name(host) <GROUP> name(x) "
      "name(y) <group> name(z)");
  CHECK(lexed("check composite x members a,\nif any") ==
        "<check > string(composite) name(x) string(members) name(a) <if> string(any)");
  CHECK(lexed("check composite x with members\nping") == "<check > string(composite) name(x) string(members) <ping>");
  CHECK(lexed("check composite x\nmembers a") == "<check > string(composite) name(x) string(members) name(a)");
  // A process check of that name.
  CHECK(lexed("check composite with pidfile /x") == "<check > name(composite) <pidfile> path(/x)");
  CHECK(lexed("check composite # a comment\n is\n  matching members") ==
        "<check > name(composite) <matching> string(members)");
  CHECK(lexed("check process composite members a") == "<check process> name(composite) string(members) string(a)");
  CHECK(lexed("check \"composite\" x") == "<check > name(\"composite\") string(x)");
  CHECK(lexed("check heartbeat every every 1 day within 30 minutes token x") ==
        "<check > string(heartbeat) name(every) <every> number(1) <day> number(30) <minutes> string(token) string(x)");
  CHECK(lexed("check heartbeat members members") == "<check > string(heartbeat) name(members) string(members)");
  CHECK(lexed("check heartbeat with pidfile /x") == "<check > name(heartbeat) <pidfile> path(/x)");
  CHECK(lexed("check heartbeat matching x") == "<check > name(heartbeat) <matching> string(x)");
  CHECK(lexed("check event with pidfile /x") == "<check > name(event) <pidfile> path(/x)");
  CHECK(lexed("check event matching x") == "<check > name(event) <matching> string(x)");
  CHECK(lexed("check unit nginx with name \"nginx.service\"") ==
        "<check > string(unit) name(nginx) string(name) quoted(\"nginx.service\")");
  CHECK(lexed("check unit with pidfile /x") == "<check > name(unit) <pidfile> path(/x)");
  CHECK(lexed("check unit matching x") == "<check > name(unit) <matching> string(x)");
  CHECK(lexed("check composite") == "<check > string(composite)");
  CHECK(lexed("check composite\nx") == "<check > string(composite) string(x)");
  CHECK(lexed("check process x\n members a") == "<check process> name(x) string(members) string(a)");
}

TEST_CASE("names that Monit would cut otherwise are marked", "[grammar]") {
  const auto flags = [](std::string_view text) { return lex(text).tokens[1].flags & kGenerous; };
  CHECK(flags("check program 'x' path '/bin/true'") != 0);
  CHECK(flags("check program 'x\"y' path /bin/true") != 0);
  CHECK(flags("check program 'x' path \"/bin/true\" 'a'") == 0);
  CHECK(flags("check program 'x'\npath '/bin/true'") == 0);
  CHECK(flags("group \n z") != 0);
  CHECK(flags("group \nz") == 0);
}

TEST_CASE("after every comes a number or a schedule", "[grammar]") {
  CHECK(lexed("every 2cycles") == "<every> number(2) <cycles>");
  CHECK(lexed("every\"* * * * *\"group z") == "<every> schedule(\"* * * * *\") <group> name(z)");
  CHECK(lexed("every \" 1,2-5  *\t* , 5- '") == "<every> schedule(\" 1,2-5  *\\t* , 5- ')");
  CHECK(lexed("every \"*/5 * * * *\" mode") == "<every> schedule(\"*/5 * * * *\") <mode>");
  CHECK(lexed("every ''") == "<every> schedule('')");
  CHECK(fault("every \"* * * * *") == "6: unbalanced quotes: the text that begins here is not closed");
  CHECK(fault("every x 2 cycles") == "6: a schedule is needed here");
  CHECK(fault("every the 2 cycles") == "6: a schedule is needed here");
}

TEST_CASE("include takes any text up to a blank", "[grammar]") {
  CHECK(lexed("include /etc/monit/conf.d/*;x set") == "<include> pattern(/etc/monit/conf.d/*;x) <set>");
  CHECK(lexed("include \"/a b\" set") == "<include> pattern(\"/a b\") <set>");
  CHECK(lexed("include \n the /x") == "<include> pattern(the) path(/x)");
  CHECK(lexed("include") == "<include>");
}

TEST_CASE("quoted text runs to the next quote of its kind, over lines", "[grammar]") {
  CHECK(lexed("\"a 'b' c\" 'd \"e\"' \"/x y\" \"\"") ==
        "quoted(\"a 'b' c\") quoted('d \"e\"') path(\"/x y\") quoted(\"\")");
  CHECK(lexed("\"a\\\"b\" c") == "quoted(\"a\\\") <b> broken(\") string(c)");
  CHECK(lexed("match \"a\nb\"") == "<match> quoted(\"a\\nb\")");
  CHECK((lex("\"a\nb\"").tokens[0].flags & kManyLines) != 0);
  CHECK(fault("set log \"/x\nset init") == "8: unbalanced quotes: the text that begins here is not closed");
}

TEST_CASE("mail addresses, URLs and IPv6 addresses are words of their own", "[grammar]") {
  CHECK(lexed("a@b /a@b 5@b <a@b> if@b a@b@c @b a@") ==
        "mail(a@b) mail(/a@b) mail(5@b) mail(<a@b>) mail(if@b) mail(a@b) broken(@) string(c) broken(@) <b> string(a) "
        "broken(@)");
  CHECK(lexed("http://u:p@h:80/x?y=z if") == "url(http://u:p@h:80/x?y=z) <if>");
  CHECK(lexed("http://a,b") == "url(http://a) <b>");
  CHECK(lexed("http://a/b,c;d{e}\"f\" http://u,v:p;q@h/x") == "url(http://a/b,c;d{e}\"f\") url(http://u,v:p;q@h/x)");
  CHECK(lexed("fe80::1 ::1 :: a:b") == "address(fe80::1) address(::1) address(::) string(a) <:> <b>");
  CHECK(lexed("/a::1") == "path(/a) address(::1)");
}

TEST_CASE("commands are one token where double quotes follow after blanks only", "[grammar]") {
  CHECK(lexed("exec \"/bin/x 'a\"b' c\" d") == "<exec> command(\"/bin/x 'a\"b' c\") string(d)");
  CHECK(lexed("exec\n\"/bin/x a\"") == "<exec> path(\"/bin/x a\")");
  CHECK(lexed("exec the \"/bin/x a\"") == "<exec> path(\"/bin/x a\")");
  CHECK(lexed("exec '/bin/x a'") == "<exec> path('/bin/x a')");
  CHECK(lexed("check program x path \"/bin/x a\"") == "<check program> name(x) <path> command(\"/bin/x a\")");
  CHECK(lexed("check file x path \"/tmp/a b\"") == "<check file> name(x) <path> path(\"/tmp/a b\")");
  CHECK(lexed("start program = \"/bin/x\"") == "<start> <=> command(\"/bin/x\")");
  CHECK(lexed("start=\"/bin/x\"") == "<start> <=> command(\"/bin/x\")");
  CHECK(lexed("stopprogram= \"/bin/x\"") == "<stopprogram> <=> command(\"/bin/x\")");
  CHECK(lexed("restartprogram \"/bin/x\"") == "<restartprogram> command(\"/bin/x\")");
  CHECK(lexed("start=\n\"/bin/x\"") == "string(start=) path(\"/bin/x\")");
  CHECK(lexed("start \"/bin/x\"") == "<start> command(\"/bin/x\")");
  CHECK(lexed("start program = '/bin/x'") == "<start> <=> path('/bin/x')");
  CHECK(lexed("start the program = \"/bin/x\"") == "<start> <=> path(\"/bin/x\")");
  CHECK(lexed("exec \" \" start \"\" delay") == "<exec> command(\" \") <start> <delay>");
  // To Monit the last text of a file needs no end.
  CHECK(lexed("exec \"/bin/x 'a\nnext\n") == "<exec> command(\"/bin/x 'a\\nnext)");
  CHECK(fault("exec \" \n") == "5: unbalanced quotes: the text that begins here is not closed");
}

TEST_CASE("the text of mail formats is raw", "[grammar]") {
  CHECK(lexed("{ from: A, B <a@b> # x\n reply-to:c@d }") ==
        "<{> <from:> line(A, B <a@b> # x) <reply-to:> line(c@d) <}>");
  CHECK(lexed("{ subject:  $SERVICE: set \"x\nmessage: one\n  two { # three }") ==
        "<{> <subject:> line($SERVICE: set \"x) <message:> text(one\\n  two { # three) <}>");
  CHECK(lexed("{ subject: }") == "<{> <subject:> line() <}>");
  CHECK(lexed("from : a") == "string(from) <:> string(a)");
}

TEST_CASE("words of all statements of Monit's language are known", "[grammar]") {
  CHECK(
      lexed("if failed port 443 protocol https and certificate valid > 30 days then alert") ==
      "<if> <failed> <port> number(443) <protocol> <https> <certificate> <valid> <>> number(30) <days> <then> <alert>");
  CHECK(lexed("if disk read > 10 MB/s") == "<if> <disk> <read> <>> number(10) <MB/s>");
  CHECK(lexed("if total downloaded > 10 GB in last day") == "<if> <total> <downloaded> <>> number(10) <GB> <day>");
  CHECK(lexed("set httpd port 2812 allow admin:\"x\"") ==
        "<set> <httpd> <port> number(2812) <allow> string(admin) <:> quoted(\"x\")");
  CHECK(lexed("set ssl { verify : enable, pemfile: /x }") ==
        "<set> <ssl> <{> <verify> <:> <enable> <pemfile> <:> path(/x) <}>");
}

TEST_CASE("a file that is no text is told of at its place", "[grammar]") {
  CHECK(fault("\xEF\xBB\xBFset init") == "0: the file begins with a byte order mark");
  CHECK(lexed("\xEF\xBB\xBFset init") == "broken(\xEF\xBB\xBF) <set> <init>");
  CHECK(fault(std::string_view("set\0init", 8)) == "3: a zero byte");
  CHECK(lexed(std::string_view("set\0\0\0init", 10)) == "<set> broken(\\x00) <init>");
  CHECK(fault("set !x") == "4: '!' cannot be used here");
  CHECK(fault("set\x01x") == "3: '\\x01' cannot be used here");
}

TEST_CASE("texts have a largest length", "[grammar]") {
  const std::string most = "\"" + std::string(65533, 'x') + "\"";
  CHECK(fault("set log " + most).empty());
  CHECK(fault("set log " + most + "x").empty());
  CHECK(fault("set log \"x" + most.substr(1)) == "8: a text of 65536 bytes is too long");
  CHECK(fault("set log " + std::string(70000, 'x')) == "8: a text of 70000 bytes is too long");
  CHECK(lex("set log " + std::string(70000, 'x') + " set").kinds.size() == 4);
}

TEST_CASE("tokens know whether they are the first of a line", "[grammar]") {
  const auto stream = lex("set init\n  if (a\n, b # c\n#d\n else");
  std::string first;
  for (std::size_t i = 0; i < stream.kinds.size(); ++i)
    if ((stream.tokens[i].flags & kFirstOfLine) != 0) first += std::string(stream.text_of(i)) + " ";
  CHECK(first == "set if b else ");
}

TEST_CASE("very many unclosed quotes are not each looked for to the end of the file", "[grammar]") {
  // Each `exec "` would read all the rest: the single quotes hide the double ones from it.
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "exec \" 'x\"\ny' # '\n";
  text += "exec \" '";
  CHECK(lex(text).faults.size() <= 16);
}

// Measured with the real Monit: a program that prints its arguments.
TEST_CASE("commands are split as Monit splits them", "[grammar]") {
  CHECK(split("\"/bin/x a b\"") == "[/bin/x][a][b]");
  CHECK(split("\"  /bin/x   a   \"") == "[/bin/x][a]");
  CHECK(split("\"x 'a b' c\"") == "[x][a b][c]");
  CHECK(split("\"x '' c\"") == "[x][][c]");
  CHECK(split("\"x x'y z'w\"") == "[x][x'y][z'w]");
  CHECK(split("\"x a\\ b\"") == "[x][a\\][b]");
  CHECK(split("\"x 'a\\tb\\\\n' c\\td\"") == "[x][a\\tb\\n][c\\td]");
  CHECK(split("\"x '\\0x41\\x41\\q'\"") == "[x][A\\x41\\q]");
  CHECK(split("\"x 'a b\"") == "[x]['a][b]");
  CHECK(split("\"x a b'\"") == "[x][a][b']");
  CHECK(split("\"x $HOME ~ * ; | > # , { }\"") == "[x][$HOME][~][*][;][|][>][#][,][{][}]");
  CHECK(split("\"x a\nb\tc\r\nd\"") == "[x][a][b][c\\r][d]");
  CHECK(split("\"x 'a'b' c\"") == "[x]['a'b'][c]");
  CHECK(split("\"x 'x y'z w\"") == "[x][x y][z][w]");
  CHECK(split("\"x 'a''b'\"") == "[x]['a''b']");
  CHECK(split("\"x 'a\nb' c\"") == "[x][a\\nb][c]");
  CHECK(split("\"'/bin/x' a\"") == "[/bin/x][a]");
  CHECK(split("\"\"").empty());
  CHECK(split("\"   \"").empty());
}

TEST_CASE("quoted arguments keep their quotes within", "[grammar]") {
  CHECK(split("\"x 'echo \"a b\"'\"") == "[x][echo \"a b\"]");  // Monit loses the last quote
}

TEST_CASE("quotes and escapes are taken from quoted text only", "[grammar]") {
  CHECK(unquote("\"a\\tb\"") == "a\tb");
  CHECK(unquote("'a\\\\b'") == "a\\b");
  CHECK(unquote("\"a\\.b\\0x00\\0x4\"") == "a\\.b\\0x00\\0x4");
  CHECK(unquote("a\\tb") == "a\\tb");
  CHECK(unquote("\"\"").empty());
  CHECK(unquote("\"") == "\"");
}

TEST_CASE("texts without their blanks are understood", "[grammar]") {
  CHECK(is_tight_duration("5minutes"));
  CHECK(is_tight_duration("2weeks"));
  CHECK_FALSE(is_tight_duration("5cycles"));
  CHECK_FALSE(is_tight_duration("5"));
  CHECK_FALSE(is_tight_duration("minutes"));
  CHECK(is_tight_cycles("3cycles"));
  CHECK(is_tight_size("10MB"));
  CHECK(is_tight_status("status>=0"));
  CHECK_FALSE(is_tight_status("status=>0"));
  CHECK_FALSE(is_tight_status("status>0x"));
  CHECK(is_tight_status_operator("Status>"));
  CHECK(is_tight_operand(">5"));
  CHECK_FALSE(is_tight_operand("5"));
  CHECK(tight_number("99999999999999999999999x")->number == 18446744073709551615U);
}

TEST_CASE("a part in parentheses belongs to its word", "[grammar]") {
  CHECK(lexed("cpu(user) CPU usage ( wait ) cpu  (guestnice)") ==
        "<cpu(user)> <CPU usage ( wait )> <cpu  (guestnice)>");
  CHECK(lexed("loadavg(5min) loadavg ( 1min) loadavg") == "<loadavg(5min)> <loadavg ( 1min)> <loadavg>");
  CHECK(lexed("cpu\n(user) cpu is (user) cpu (foo)") == "<cpu> string(user) <cpu> string(user) <cpu> string(foo)");
  CHECK(lex("cpu usage ( wait )>5").text_of(0) == "cpu usage ( wait )");
  CHECK(lexed("50 percent") == "number(50) <percent>");
}

TEST_CASE("only the singular of restart names a program", "[grammar]") {
  CHECK(lexed("restart program = \"/x a\"") == "<restart> <=> command(\"/x a\")");
  CHECK(lexed("restarts program = \"/x a\"") == "<restarts> <=> path(\"/x a\")");
}

TEST_CASE("in healer's own statements no word is noise or reserved", "[grammar]") {
  CHECK(lexed("workflow with { step \"a\" program \"/x 'b c'\" timeout 5 seconds on failure alert \"for\" } set for "
              "daemon 5") ==
        "<workflow> string(with) <{> string(step) quoted(\"a\") string(program) command(\"/x 'b c'\") string(timeout) "
        "number(5) string(seconds) string(on) string(failure) string(alert) quoted(\"for\") <}> <set> <daemon> "
        "number(5)");
  CHECK(lexed("set healing only while is, the\nset daemon 5") ==
        "<set> string(healing) string(only) string(while) string(is) string(the) <set> <daemon> number(5)");
  CHECK(lexed("set healing only while set, check set daemon 5") ==
        "<set> string(healing) string(only) string(while) string(set) string(check) <set> <daemon> number(5)");
  CHECK(
      lexed("set maintenance \"0 2 * * *\" for 2 hours group every define X \"y\"") ==
      "<set> string(maintenance) quoted(\"0 2 * * *\") string(for) number(2) string(hours) string(group) string(every) "
      "string(define) string(X) quoted(\"y\")");
  CHECK(lexed("then heal with restart if then heal is with has dry run alert") ==
        "<then> string(heal) string(with) string(restart) <if> <then> string(heal) string(is) string(with) string(has) "
        "string(dry) string(run) <alert>");
  CHECK(lexed("else heal \"a b\" with 'c d' alert") ==
        "<else> string(heal) quoted(\"a b\") string(with) quoted('c d') <alert>");
  CHECK(
      lexed("workflow a { x != \"1\" 20% ${Y} }").starts_with("<workflow> string(a) <{> string(x) <!=> quoted(\"1\")"));
}

TEST_CASE("an own statement begins only where Monit has an error", "[grammar]") {
  CHECK(lexed("check process workflow with pidfile /x") == "<check process> name(workflow) <pidfile> path(/x)");
  CHECK(lexed("workflow for a") == "string(workflow) string(a)");
  CHECK(lexed("mailserver workflow ssl { verify: enable }") ==
        "<mailserver> string(workflow) <ssl> <{> <verify> <:> <enable> <}>");
  CHECK(lexed("exec /x heal with a") == "<exec> path(/x) string(heal) string(a)");
  CHECK(lexed("healing for a maintenance") == "string(healing) string(a) string(maintenance)");
}

TEST_CASE("a workflow that is not closed ends where another statement begins", "[grammar]") {
  CHECK(lexed("workflow a { parallel {\nset daemon 5") ==
        "<workflow> string(a) <{> string(parallel) <{> <set> <daemon> number(5)");
  CHECK(lexed("workflow a {\nstep restart\ncheck\n}\nif") ==
        "<workflow> string(a) <{> string(step) string(restart) string(check) <}> <if>");
}

}  // namespace lexer_test
