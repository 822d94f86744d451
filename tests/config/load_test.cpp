// SPDX-License-Identifier: MIT
// Loading as a whole: what a single file of the corpus cannot show.
#include "config/load.hpp"

#include <catch2/catch.hpp>
#include <set>

#include "config/check.hpp"
#include "config/environments.hpp"
#include "config/text/print.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "support/fake_environment.hpp"

namespace load_test {

using namespace healer;
using namespace healer::config;

namespace {

const std::string kMain = "/etc/main";

std::string messages_of(const LoadResult& result) { return format_all(result.diagnostics, result.sources, false); }

LoadResult load_text(const std::string& text, test::FakeEnvironment machine = {}, const LoadOptions& options = {}) {
  machine.files[kMain] = text;
  return load(kMain, options, machine);
}

std::string service(const std::string& name, const std::string& rest = "if status != 0 then alert") {
  return "check program " + name + " with path \"/bin/true\" " + rest + "\n";
}

}  // namespace

TEST_CASE("a file that is not there is named", "[load]") {
  const test::FakeEnvironment machine;
  const LoadResult result = load("/etc/none", {}, machine);
  CHECK_FALSE(result.ok());
  CHECK(messages_of(result) == "/etc/none: error: there is no such file\n");
}

TEST_CASE("a file that cannot be read is an error, an included one too", "[load]") {
  test::FakeEnvironment machine;
  machine.unreadable = {"/etc/secret"};
  machine.files["/etc/secret"] = "";
  CHECK(messages_of(load("/etc/secret", {}, machine)) == "/etc/secret: error: cannot be read: Permission denied\n");

  const LoadResult result = load_text("set daemon 5\ninclude /etc/secret\n", machine);
  CHECK_FALSE(result.ok());
  CHECK(messages_of(result) ==
        "/etc/main:2:9: error: '/etc/secret' cannot be read: Permission denied\n"
        "  include /etc/secret\n"
        "          ^~~~~~~~~~~\n");

  machine.unreadable = {"/etc/closed"};
  CHECK(messages_of(load_text("set daemon 5\ninclude /etc/closed/*.rules\n", machine)) ==
        "/etc/main:2:9: error: '/etc/closed/*.rules' cannot be read: /etc/closed: Permission denied\n"
        "  include /etc/closed/*.rules\n"
        "          ^~~~~~~~~~~~~~~~~~~\n");
}

TEST_CASE("what -v prints is read back as the same, words of the language as names, too", "[load]") {
  test::FakeEnvironment machine;
  for (const char* name : {"username", "mail", "if"}) machine.users[name] = {.uid = 7, .gid = 7, .name = name};
  for (const char* name : {"password", "mail"}) machine.groups[name] = 8;
  const LoadResult first = load_text(
      "set mailserver \"port\" port 25 username 'username' password \"the\", mail.example.org username \"a b\" "
      "password 'x', \"using\" using tls with options { ciphers: \"HIGH:!MD5\" }\n"
      "check program status with path \"/bin/true\" as uid \"username\" and gid 'password'\n"
      "  if status != 0 then exec \"/bin/true\" as uid 'if' and gid \"mail\"\n"
      "check process timeout with pidfile /run/x.pid\n"
      "  if failed uid \"mail\" then alert\n"
      "  depends on status\n",
      machine);
  INFO(messages_of(first));
  REQUIRE(first.ok());
  const std::string printed = print(*first.rules);
  const LoadResult again = load_text(printed, machine);
  INFO(printed << messages_of(again));
  REQUIRE(again.ok());
  const auto without_password = [](const std::string& text) {  // a password is not printed, and so not read back
    return text.substr(0, text.find("set mailserver")) + text.substr(text.find("check program"));
  };
  CHECK(without_password(print(*again.rules)) == without_password(printed));
  REQUIRE(again.rules->settings.mail.servers.size() == 3);
  CHECK(again.rules->settings.mail.servers[0].username == "username");
  CHECK(again.rules->settings.mail.servers[0].host == "port");
  CHECK(again.rules->settings.mail.servers[2].ciphers == "HIGH:!MD5");
}

TEST_CASE("the name that mail servers are greeted with is that of the last statement", "[load]") {
  const std::string first = "set mailserver a.b using hostname \"h\"\n";
  const test::FakeEnvironment machine;
  CHECK(load_text(first, machine).rules->settings.mail.hostname == "h");
  CHECK(load_text(first + "set mailserver c.d\n", machine).rules->settings.mail.hostname.empty());
}

TEST_CASE("Those who can write a directory above a program are reported", "[load]") {
  test::FakeEnvironment machine;
  machine.programs.insert("/srv/tools/bin/heal");
  machine.facts["/srv"] = {.is_directory = true, .mode = 0755, .uid = 1000, .gid = 1000};
  machine.facts["/srv/tools"] = {.is_directory = true, .mode = 01777};
  machine.facts["/srv/tools/bin"] = {.is_directory = true, .mode = 0755};
  const std::string rules = service("x", "if status != 0 then exec \"/srv/tools/bin/heal\"");
  const LoadResult result =
      load_text(rules + service("y", "if status != 0 then exec \"/srv/tools/bin/heal\""), machine);
  CHECK(result.ok());
  CHECK(messages_of(result) ==
        "/etc/main:1:64: warning: uid 1000 can write the directory '/srv', which healer relies on\n"
        "  check program x with path \"/bin/true\" if status != 0 then exec \"/srv/tools/bin/heal\"\n"
        "                                                                 ^~~~~~~~~~~~~~~~~~~~~\n");
}

TEST_CASE("patterns that match no file are told of", "[load]") {
  test::FakeEnvironment machine;
  machine.files["/etc/d/a.rules"] =
      "include /etc/none/*.rules\ninclude more/one\ninclude /etc/d/notes\n" + service("a");
  machine.files["/etc/d/notes"] = "";
  CHECK(load("/etc/d", {}, machine).unmatched == std::vector<std::string>{"/etc/none/*.rules", "/etc/d/more/one"});
  machine.files.erase("/etc/d/a.rules");
  CHECK(load("/etc/d", {}, machine).unmatched == std::vector<std::string>{"/etc/d/*.rules"});
}

TEST_CASE("a password that others can read is told of", "[load]") {
  const std::string mail = "set mailserver a username b password c\n";
  test::FakeEnvironment machine;
  machine.files["/etc/d/a.rules"] = mail;
  machine.files["/etc/d/b.rules"] = service("b");
  for (const char* path : {"/etc/d/a.rules", "/etc/d/b.rules"})
    machine.facts[path] = {.is_regular = true, .mode = 0644, .uid = 0, .gid = 0};
  CHECK(messages_of(load("/etc/d", {}, machine)) ==
        "/etc/d/a.rules: warning: everybody can read the password of a mail server in '/etc/d/a.rules'\n"
        "  note: chmod 600 /etc/d/a.rules\n");
  machine.facts["/etc/d/a.rules"].mode = 0662;
  machine.facts["/etc/d/a.rules"].gid = 5;
  CHECK(messages_of(load_text("include /etc/d/a.rules\n", machine)) ==
        "/etc/main:1:9: warning: group 5 can read the password of a mail server in '/etc/d/a.rules'\n"
        "  include /etc/d/a.rules\n"
        "          ^~~~~~~~~~~~~~\n"
        "  note: chmod 600 /etc/d/a.rules\n"
        "/etc/main:1:9: warning: everybody can write '/etc/d/a.rules', which healer relies on\n"
        "  include /etc/d/a.rules\n"
        "          ^~~~~~~~~~~~~~\n"
        "  note: chmod go-w /etc/d/a.rules\n");
  machine.online = false;
  CHECK(messages_of(load("/etc/d", {}, machine)).empty());
  CHECK(messages_of(load("/etc/d/a.rules", {}, machine)).empty());
}

TEST_CASE("names that healerctl takes for something else are warned of", "[load]") {
  for (const auto& [name, warning] :
       {std::pair<std::string, std::string>{"all", "healerctl takes 'all' for all services"},
        {"ALL", "healerctl takes 'all' for all services"},
        {"healer", "'healerctl history healer' shows this service"},
        {"-x", "healerctl would take '-x' for an option"}}) {
    INFO(name);
    CHECK(load_text(service(name)).ok());
    CHECK(messages_of(load_text(service(name))).find("/etc/main:1:15: warning: " + warning) == 0);
  }
  CHECK(messages_of(load_text(service("alle") + service("healers") + service("x-"))).empty());
}

TEST_CASE("Missing statements of a service with an error are not reported", "[load]") {
  const std::string header = "check process x with pidfile /run/x.pid\n";
  const auto text = [&](const std::string& rest) { return messages_of(load_text(header + rest)); };
  CHECK(text("if does not exist then restart\n").find("has no start program") != std::string::npos);
  CHECK(text("start progam \"/bin/true\"\nif does not exist then restart\n").find("has no start program") ==
        std::string::npos);
  CHECK(text("strat program \"/bin/true\"\n").find("has no start program") == std::string::npos);
}

TEST_CASE("a command without quotes that ends before a word of the language is told of", "[load]") {
  const std::string header = "check process x with pidfile /run/x.pid\n";
  const std::string warning = " warning: as in Monit, this is a separate statement here, not an argument of '/bin/x'\n";
  const auto text = [&](const std::string& rest) { return messages_of(load_text(header + rest)); };
  CHECK(text("start program /bin/x start x\n").find("/etc/main:2:22:" + warning) != std::string::npos);
  CHECK(text("if does not exist then exec /bin/x restart x\n").find("/etc/main:2:36:" + warning) != std::string::npos);
  CHECK(text("start program /bin/x\nstop program x\n").find("separate statement") == std::string::npos);
  CHECK(text("start program \"/bin/x\" stop program /bin/true\n").empty());
}

TEST_CASE("a file is judged among those of which it is to become one", "[load]") {
  test::FakeEnvironment machine;
  machine.files["/etc/d/a.rules"] = service("a");
  machine.files["/etc/d/b.rules"] = service("b", "depends on a if status 1 then alert");
  machine.files["/etc/d/c.rules"] = "set deamon 5\n";
  const auto with = [&](const std::string& path, const std::string& text) {
    machine.files[path] = text;
    return messages_of(load_with("/etc/d", {.path = path, .text = {}, .replaces = {}, .directory = {}}, {}, machine));
  };
  const std::string b = service("b", "depends on a if status 1 then alert");
  CHECK(with("/tmp/new", service("n", "depends on a if status 1 then alert")).empty());  // one more
  CHECK(with("/tmp/new", b).empty());                                                    // in the place of b
  CHECK(with("/tmp/c.rules", "").empty());                                               // in the place of c
  CHECK(with("/etc/d/b.rules", b).empty());                                              // already there
  CHECK(with("/tmp/a.rules", service("other")).find("/etc/d/b.rules:1:50: error: ") == 0);
  CHECK(with("/tmp/new", service("a") + b).find("/etc/d/b.rules:1:15: error: there is a service 'b' already") !=
        std::string::npos);
  CHECK(with("/tmp/new", "set deamon 5\n").find("/tmp/new:1:5: error: ") == 0);

  machine.files[kMain] = "include /etc/d/a.rules\n" + service("m", "depends on a if status 1 then alert");
  const auto in_main = [&](const std::string& text) {
    NewFile file{.path = "<stdin>", .text = text, .replaces = {}, .directory = {}};
    return messages_of(load_with(kMain, std::move(file), {}, machine));
  };
  CHECK(in_main(service("a")).empty());
  CHECK(in_main(service("z")) ==
        "<stdin>: error: '/etc/main' has no such file, nor one that defines its services\n"
        "  note: name a directory of rules files, or check the file alone with -c\n");
}

TEST_CASE("a directory without rules files is warned of", "[load]") {
  test::FakeEnvironment machine;
  machine.files["/etc/d/notes"] = "";
  const LoadResult result = load("/etc/d", {}, machine);
  CHECK(result.ok());
  CHECK(messages_of(result) ==
        "/etc/d: warning: the directory contains no rules files\n"
        "  note: the files whose names end in .rules are read, in the order of their names\n");
}

TEST_CASE("Monit takes no directory of rules files", "[load]") {
  test::FakeEnvironment machine;
  machine.files["/etc/d/a.rules"] = service("a");
  CHECK(load("/etc/d", {}, machine).ok());
  CHECK(messages_of(load("/etc/d", {.monit_dialect = MonitVersion::V5_33}, machine)) ==
        "/etc/d: error: only healer understands a directory of rules files\n");
}

TEST_CASE("a file of a directory does not go on with the service of the one before", "[load]") {
  test::FakeEnvironment machine;
  machine.files["/etc/d/a.rules"] = service("a");
  machine.files["/etc/d/b.rules"] = "group x\n";
  const LoadResult result = load("/etc/d", {}, machine);
  CHECK(messages_of(result) ==
        "/etc/d/b.rules:1:1: error: this belongs to a service, but none was begun before it\n"
        "  group x\n"
        "  ^~~~~~~\n"
        "  note: begin one with 'check program NAME with path \"/path/of/program\"'\n");
}

TEST_CASE("a file is known again behind a link, so that a loop has an end", "[load]") {
  test::FakeEnvironment machine;
  machine.files["/etc/link"] = service("a") + "include /etc/link2\n";
  machine.files["/etc/link2"] = machine.files["/etc/link"];
  machine.links = {{"/etc/link", "/etc/real"}, {"/etc/link2", "/etc/real"}};
  const LoadResult result = load_text("include /etc/link\n", machine);
  CHECK(result.ok());
  CHECK(messages_of(result) ==
        "/etc/link:2:9: warning: '/etc/link2' includes itself: it is not read a second time\n"
        "  include /etc/link2\n"
        "          ^~~~~~~~~~\n");
}

TEST_CASE("an include may stand anywhere in a statement, as if its text stood there", "[load]") {
  struct Row {
    std::string main, included, rules;
  };
  const std::string plain = "  if status = 1 then alert\n";
  const Row rows[] = {
      {service("a", "if status 1 include /etc/i then alert"), "for 2 cycles",
       "  if status = 1 for 2 cycles then alert\n"},
      {service("a", "if status 1 then include /etc/i"), "alert", plain},
      {service("a", "if status 1 then alert\ninclude /etc/i"), "else if succeeded then restart",
       "  if status = 1 then alert else if succeeded then restart\n"},
      {service("a", "include /etc/i then alert"), "if status 1", plain},
      {service("a", "include /etc/i else alert"), "if status 1 then alert",
       "  if status = 1 then alert else if succeeded then alert\n"},
      {"check system a if (cpu > 1% include /etc/i and swap > 3% then alert\n", "or memory > 2%)",
       "  if (cpu > 1% or memory > 2%) and swap > 3% then alert\n"},
      {service("a", "if status 1 include \"/etc/i\" then alert"), "# nothing", plain},
      {service("a", "if status 1 then exec \"/bin/x\" include /etc/i"), "bb \"c d\"",
       "  if status = 1 then exec \"/bin/x bb 'c d'\"\n"},
      {"check program a\ninclude /etc/i if status 1 then alert\n", "path \"/bin/x b\"", plain},
      {"check include include /etc/i\ncheck program a path \"/bin/true\" if status 1 then alert\n",
       "with pidfile /run/x", plain},
  };
  for (const Row& row : rows) {
    test::FakeEnvironment machine;
    machine.files["/etc/i"] = row.included;
    const LoadResult result = load_text("set daemon 5\n" + row.main, machine);
    INFO(row.main << "\n" << messages_of(result));
    REQUIRE(result.ok());
    const std::string all = print(*result.rules);
    CHECK(all.substr(all.rfind("onreboot start\n") + 15).starts_with(row.rules));
    CHECK(load_text("set daemon 5\n" + row.main, machine, {.monit_dialect = MonitVersion::V5_33}).ok());
  }
}

TEST_CASE("an include in the middle of a statement leaves every place where it is", "[load]") {
  test::FakeEnvironment machine;
  machine.files["/etc/i"] = "# of the operator\n  for 99 cycles\n";
  CHECK(messages_of(load_text(service("a", "if status 1\ninclude /etc/i\nthen alert"), machine)) ==
        "/etc/i:2:7: error: the number of cycles must be between 1 and 64, not 99\n"
        "    for 99 cycles\n"
        "        ^~\n");
  // Of the rule itself that is shown which stands in the file that it begins in.
  machine.files["/etc/i"] = "for 9 cycles";
  const LoadResult result =
      load_text("set daemon 5\n" + service("a", "if status 1\ninclude /etc/i\nthen alert"), machine);
  REQUIRE(result.ok());
  CHECK(result.rules->files.at(result.rules->services[0]->rules[0].place.file) == kMain);
  CHECK(result.rules->services[0]->rules[0].place.line == 2);
}

TEST_CASE("includes in the middle of statements are bounded, too", "[load]") {
  test::FakeEnvironment machine;
  machine.files["/etc/i"] = "include /etc/j";
  machine.files["/etc/j"] = "alert include /etc/i";
  const LoadResult circle = load_text(service("a", "if status 1 then include /etc/i"), machine);
  INFO(messages_of(circle));
  CHECK(circle.ok());
  CHECK(messages_of(circle).find("'/etc/i' includes itself: it is not read a second time") != std::string::npos);
  // A text in quotes does not go on in the other file.
  machine.files["/etc/i"] = "exec \"/bin/x";
  CHECK_FALSE(load_text(service("a", "if status 1 then include /etc/i b\" alert"), machine).ok());
  for (int i = 0; i < 70; ++i) machine.files["/etc/f" + std::to_string(i)] = "include /etc/f" + std::to_string(i + 1);
  machine.files["/etc/f70"] = "alert";
  CHECK_FALSE(load_text(service("a", "if status 1 then include /etc/f0"), machine).ok());
  machine.files["/etc/f40"] = "alert";
  CHECK(load_text(service("a", "if status 1 then include /etc/f0"), machine).ok());
}

TEST_CASE("a statement of foreground processes that belongs to no service is told how to begin one", "[load]") {
  for (const std::string statement : {"stop signal TERM", "stop signal TERM within 5 seconds", "ready on notify"})
    CHECK(messages_of(load_text(statement + "\n" + service("a"))) ==
          "/etc/main:1:1: error: this belongs to a service, but none was begun before it\n  " + statement + "\n  ^" +
              std::string(statement.size() - 1, '~') +
              "\n  note: begin one with 'check process NAME with program \"/path/of/program\"'\n");
}

TEST_CASE("depth, number and size of files are bounded", "[load]") {
  SECTION("depth") {
    test::FakeEnvironment machine;
    for (int i = 0; i < 70; ++i)
      machine.files["/etc/f" + std::to_string(i)] = "include /etc/f" + std::to_string(i + 1) + "\n";
    const LoadResult result = load("/etc/f0", {}, machine);
    CHECK_FALSE(result.ok());
    CHECK(messages_of(result).find("/etc/f63:1:9: error: includes are nested more than 64 deep\n") == 0);
  }
  SECTION("number") {
    test::FakeEnvironment machine;
    for (int i = 0; i < 4100; ++i) machine.files["/etc/many/" + std::to_string(i)] = "";
    const LoadResult result = load_text("include /etc/many/*\n", machine);
    CHECK_FALSE(result.ok());
    CHECK(result.sources.size() == 4096);
    CHECK(messages_of(result).find("exceeds the limit of 4096 files") != std::string::npos);
  }
  SECTION("size") {
    test::FakeEnvironment machine;
    for (int i = 0; i < 5; ++i) machine.files["/etc/big/" + std::to_string(i)] = "#" + std::string(15U << 20, 'x');
    const LoadResult result = load_text("include /etc/big/*\n", machine);
    CHECK_FALSE(result.ok());
    CHECK(result.sources.size() == 5);
    CHECK(messages_of(result) ==
          "/etc/main:1:9: error: '/etc/big/4' is too much: the rules files may hold 64 MiB together\n"
          "  include /etc/big/*\n"
          "          ^~~~~~~~~~\n");
  }
}

TEST_CASE("a group that may write, and a directory that others may write, are warned of", "[load]") {
  test::FakeEnvironment machine;
  machine.files["/srv/a/open"] = service("a", "if status != 0 then exec \"/srv/a/tool\"");
  machine.facts["/srv/a/open"] = {.is_regular = true, .mode = 0660, .uid = 0, .gid = 5};
  machine.facts["/srv/a"] = {.is_directory = true, .mode = 0777};
  machine.facts["/srv/a/tool"] = {.is_regular = true, .mode = 0775, .uid = 0, .gid = 0};
  machine.programs.insert("/srv/a/tool");
  CHECK(messages_of(load_text("include /srv/a/open\n", machine)) ==
        "/etc/main:1:9: warning: group 5 can write '/srv/a/open', which healer relies on\n"
        "  include /srv/a/open\n"
        "          ^~~~~~~~~~~\n"
        "  note: chmod go-w /srv/a/open\n"
        "/etc/main:1:9: warning: everybody can write the directory '/srv/a', which healer relies on\n"
        "  include /srv/a/open\n"
        "          ^~~~~~~~~~~\n"
        "  note: chmod go-w /srv/a\n");
}

TEST_CASE("what belongs to another user is warned of", "[load]") {
  test::FakeEnvironment machine;
  const FileFacts foreign{.is_directory = true, .mode = 0755, .uid = 1000};
  const FileFacts tool{.is_regular = true, .mode = 0755};
  machine.facts["/srv/d"] = foreign;
  SECTION("a directory of rules") {
    machine.files["/srv/d/a.rules"] = service("a");
    machine.facts["/srv/d/"] = foreign;
    for (const char* path : {"/srv/d", "/srv/d/"})
      CHECK(messages_of(load(path, {}, machine)) ==
            "/srv/d: warning: uid 1000 can write the directory '/srv/d', which healer relies on\n");
    machine.uid = 1000;
    CHECK(messages_of(load("/srv/d", {}, machine)).empty());
  }
  SECTION("a directory without rules yet") {
    CHECK(messages_of(load("/srv/d", {}, machine)) ==
          "/srv/d: warning: the directory contains no rules files\n"
          "  note: the files whose names end in .rules are read, in the order of their names\n"
          "/srv/d: warning: uid 1000 can write the directory '/srv/d', which healer relies on\n");
  }
  SECTION("an included file and its directory") {
    machine.files["/srv/d/more"] = "";
    machine.facts["/srv/d/more"] = {.is_regular = true, .mode = 0600, .uid = 1001};
    CHECK(messages_of(load_text("include /srv/d/more\n" + service("a"), machine)) ==
          "/etc/main:1:9: warning: uid 1001 can write '/srv/d/more', which healer relies on\n"
          "  include /srv/d/more\n"
          "          ^~~~~~~~~~~\n"
          "/etc/main:1:9: warning: uid 1000 can write the directory '/srv/d', which healer relies on\n"
          "  include /srv/d/more\n"
          "          ^~~~~~~~~~~\n");
  }
  SECTION("the directory of a program behind a link") {
    machine.programs.insert("/opt/tool");
    machine.facts["/opt/tool"] = tool;
    machine.links["/opt/tool"] = "/srv/d/tool";
    CHECK(messages_of(
              load_text("check program a with path \"/opt/tool\" if status != 0 then exec \"/opt/tool\"\n", machine)) ==
          "/etc/main:1:27: warning: uid 1000 can write the directory '/srv/d', which healer relies on\n"
          "  check program a with path \"/opt/tool\" if status != 0 then exec \"/opt/tool\"\n"
          "                            ^~~~~~~~~~~\n");
  }
  SECTION("the directory of rules that is the present one") {
    machine.files["main"] = "include more\n" + service("a");
    machine.files["more"] = "";
    machine.facts["."] = foreign;
    CHECK(messages_of(load("main", {}, machine)).find("uid 1000 can write the directory '.'") != std::string::npos);
  }
}

TEST_CASE("a pid file by which others can say whom healer signals is warned of", "[load]") {
  test::FakeEnvironment machine;
  const auto warned = [&](const std::string& more, const std::string& path = "/run/a/x.pid") {
    return messages_of(load_text("check process x with pidfile " + path + "\n" + more + "\n", machine));
  };
  const std::string start = "start program \"/bin/start\"";
  machine.programs.insert("/bin/start");
  machine.facts["/run/a"] = {.is_directory = true, .mode = 0755};
  machine.facts["/run/a/x.pid"] = {.is_regular = true, .mode = 0644};
  CHECK(warned(start).empty());
  SECTION("its owner") {
    machine.facts["/run/a/x.pid"].uid = 33;
    CHECK(warned(start) ==
          "/etc/main:1:30: warning: uid 33 can write '/run/a/x.pid', and so decide which process healer signals to "
          "stop 'x'\n"
          "  check process x with pidfile /run/a/x.pid\n"
          "                               ^~~~~~~~~~~~\n"
          "  note: no process is signalled but one of the file's own user; for any other write a stop program\n");
    CHECK(warned(start + " stop program \"/bin/start\"").empty());
    CHECK(warned("if does not exist then alert").empty());
    CHECK(warned("if cpu > 90% then stop").find("uid 33 can write") != std::string::npos);
  }
  SECTION("the owner of its directory") {
    machine.facts["/run/a"].uid = 33;
    CHECK(warned(start).find("uid 33 can write the directory '/run/a', and so decide") != std::string::npos);
  }
  SECTION("everybody") {
    machine.facts["/run/a"].mode = 0777;
    CHECK(warned(start).find("everybody can write the directory '/run/a', and so decide") != std::string::npos);
    machine.facts["/run/a"].mode = 01777;
    CHECK(warned(start).empty());
  }
}

TEST_CASE("a program that gives up root's user but keeps its group is warned of", "[load]") {
  const auto warned = [](const std::string& owner, bool online = true) {
    test::FakeEnvironment machine;
    machine.users["toor"] = {.uid = 0, .gid = 0, .name = "toor", .home = "/"};
    machine.users["games"] = {.uid = 5, .gid = 60, .name = "games", .home = "/"};
    machine.online = online;
    const LoadResult result =
        load_text("check program a with path \"/bin/true\" as uid " + owner + " if status != 0 then alert\n", machine);
    CHECK(result.ok());
    return result.diagnostics.empty() ? std::string{} : result.diagnostics.front().remedy;
  };
  CHECK(warned("www") == "write 'as uid www and gid www'");
  CHECK(warned("33") == "write 'as uid 33 and gid www'");
  CHECK(warned("games") == "write 'as uid games and gid 60'");
  CHECK(warned("www", false) == "write 'as uid www and gid GROUP'");
  for (const char* owner : {"root", "0", "toor", "www and gid www"}) CHECK(warned(owner).empty());
  for (const char* owner : {"root", "0"}) CHECK(warned(owner, false).empty());

  const std::string text = service("a", "if status != 0 then exec \"/bin/x\" as uid www");
  CHECK(messages_of(load_text(text)) ==
        "/etc/main:1:80: warning: as in Monit, a program that runs as 'www' keeps healer's group, usually root's\n"
        "  check program a with path \"/bin/true\" if status != 0 then exec \"/bin/x\" as uid www\n"
        "                                                                                 ^~~\n"
        "  note: write 'as uid www and gid www'\n");
  CHECK(load_text(text, {}, {.monit_dialect = MonitVersion::V5_33}).ok());
  CHECK_FALSE(load_text(text, {}, {.strict = true}).ok());
}

TEST_CASE("a sticky directory may be everybody's", "[load]") {
  test::FakeEnvironment machine;
  machine.files["/tmp/a"] = service("a");
  machine.facts["/tmp"] = {.is_directory = true, .mode = 01777};
  CHECK(messages_of(load_text("include /tmp/a\n", machine)).empty());
}

TEST_CASE("a service has at most 64 different patterns", "[load]") {
  std::string tests;
  for (int i = 0; i < 64; ++i) tests += "if content = \"p" + std::to_string(i) + "\" then alert\n";
  const LoadResult most = load_text(service("a", tests + tests));
  REQUIRE(most.ok());
  CHECK(most.rules->services.front()->program->patterns.size() == 64);
  CHECK(most.rules->services.front()->rules.size() == 128);
  CHECK(messages_of(load_text(service("a", tests + "if content = \"one more\" then alert"))) ==
        "/etc/main:1:1: error: 'a' has 65 different content tests: at most 64 are possible\n"
        "  check program a with path \"/bin/true\" if content = \"p0\" then alert\n"
        "  ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\n");
}

TEST_CASE("a name with control characters is warned of and shown safely", "[load]") {
  CHECK(messages_of(load_text(service("\"a\x1b[2J\""))) ==
        "/etc/main:1:15: warning: the name contains control characters\n"
        "  check program \"a\\x1b[2J\" with path \"/bin/true\" if status != 0 then alert\n"
        "                ^~~~~~~~~~\n");
}

TEST_CASE("a cycle count or a duration that would overflow is bounded", "[load]") {
  const LoadResult result =
      load_text("set daemon 99999999999\n" +
                service("a", "every 99999999999 cycles if status != 0 for 99999999 weeks then alert"));
  INFO(messages_of(result));
  REQUIRE(result.ok());
  const engine::ServiceBlock& block = *result.rules->services.front();
  CHECK(block.schedule->cycles == 1'000'000);
  CHECK(result.rules->settings.cycle_length() == days{3650});
  CHECK(block.rules.front()->tolerance.held == days{3650});
}

TEST_CASE("strict makes errors of warnings, but not of notes", "[load]") {
  const std::string warned = "set daemon 5\n" + service("a", "every 0 cycles if status != 0 then alert");
  const std::string noted = "set daemon 5\n" + service("a", "every 2 cycles if status != 0 for 2 cycles then alert");
  CHECK(load_text(warned).ok());
  CHECK_FALSE(load_text(warned, {}, {.strict = true}).ok());
  CHECK(load_text(noted, {}, {.strict = true}).diagnostics.size() == 1);
  CHECK(load_text(noted, {}, {.strict = true}).ok());
}

TEST_CASE("an unknown dependency is told of beside other errors, unless a service may hide behind them", "[load]") {
  const auto tells = [](const std::string& more) {
    return messages_of(load_text(service("a", "if status != 0 then alert depends on b") + more))
               .find("there is no service 'b' to depend on") != std::string::npos;
  };
  CHECK(tells(""));
  CHECK(tells("set daemon x\n"));
  CHECK(tells("check program c with path\n"));
  CHECK(tells("check host c with address c\n"));
  CHECK(tells("check foo c with path /c\n"));
  CHECK(tells(service("c", "if staus != 0 then alert")));
  CHECK_FALSE(tells("check program b with path\n"));
  CHECK_FALSE(tells("check host B with address c\n"));
  CHECK_FALSE(tells("check proces b with pidfile /c\n"));
  CHECK_FALSE(tells("check foo b with path /c\n"));
  CHECK_FALSE(tells("check b with pid file /c\n"));
  // Whose name is not known may be anybody.
  CHECK_FALSE(tells("check process\n"));
  CHECK_FALSE(tells("check \n"));
  std::string errors;
  for (int i = 0; i < 300; ++i) errors += "set daemon x\n";
  CHECK_FALSE(tells(errors));
  CHECK_FALSE(tells("check \"\n" + std::string(40, '"') + "'\n"));
}

TEST_CASE("what stands in a service with a broken header is looked at, but for what the header would say", "[load]") {
  CHECK(messages_of(load_text("check process a with pidfle /a\n"
                              "  stop signal TERM within 0 seconds\n  ready after 5 seconds\n"
                              "  if status > 1 then stop\n  if memory > 5 MB then restart\n"
                              "  start program = \"/no/such\"\n")) ==
        "/etc/main:1:22: error: unexpected 'pidfle', expected 'program \"...\"', 'pidfile', 'match' or 'path'\n"
        "  check process a with pidfle /a\n                       ^~~~~~\n  note: did you mean 'pidfile'?\n"
        "/etc/main:2:27: error: the duration must be longer than 0\n"
        "    stop signal TERM within 0 seconds\n                            ^~~~~~~~~\n"
        "/etc/main:6:19: warning: there is no program '/no/such'\n"
        "    start program = \"/no/such\"\n                    ^~~~~~~~~~\n"
        "  note: until it is in place the action fails\n");
  test::FakeEnvironment machine;
  machine.files["/etc/more"] = "group g\nif cpu > 80 then alert\n";
  CHECK(messages_of(load_text("check process a with pidfle /a\ninclude /etc/more\n", machine)) ==
        "/etc/main:1:22: error: unexpected 'pidfle', expected 'program \"...\"', 'pidfile', 'match' or 'path'\n"
        "  check process a with pidfle /a\n                       ^~~~~~\n  note: did you mean 'pidfile'?\n"
        "/etc/more:2:10: error: this number of 'cpu' needs a unit\n"
        "  if cpu > 80 then alert\n           ^~\n  note: write '%' after it\n");
  CHECK(messages_of(
            load_text("check host a with address /a\ninclude /etc/more\nset daemon 5\ninclude /etc/more\n", machine)) ==
        "/etc/main:1:27: error: unexpected '/a', expected the name or address of a host\n"
        "  check host a with address /a\n                            ^~\n"
        "/etc/more:2:4: error: 'check host' has no test of 'cpu'\n"
        "  if cpu > 80 then alert\n     ^~~\n  note: it is a test of 'check process', 'check system' and 'check unit'\n"
        "/etc/more:1:1: error: this belongs to a service, but none was begun before it\n"
        "  group g\n  ^~~~~~~\n"
        "  note: begin one with 'check program NAME with path \"/path/of/program\"'\n");
}

TEST_CASE("every error of every file is told, in the order of the files", "[load]") {
  test::FakeEnvironment machine;
  machine.files["/etc/more"] = service("b", "if status != 0 for 66 cycles then alert");
  const LoadResult result = load_text(service("a", "if status != 0 for 65 cycles then alert") + "include /etc/more\n" +
                                          service("c", "if status != 0 for 67 cycles then alert"),
                                      machine);
  std::vector<std::string> messages;
  for (const Diagnostic& diagnostic : result.diagnostics) messages.push_back(diagnostic.message);
  CHECK(messages == std::vector<std::string>{"the number of cycles must be between 1 and 64, not 65",
                                             "the number of cycles must be between 1 and 64, not 67",
                                             "the number of cycles must be between 1 and 64, not 66"});
}

TEST_CASE("the last good rules load from memory as they did from the files", "[load]") {
  test::FakeEnvironment machine;
  machine.files["/etc/h/b.rules"] = service("b", "if status != 0 then exec \"/bin/x\" as uid www");
  machine.files["/etc/h/a.rules"] = "set daemon 5\ninclude /etc/more/*.conf\n" + service("a");
  machine.files["/etc/more/c.conf"] = service("c");
  const LoadResult fresh = load("/etc/h", {}, machine);
  REQUIRE(fresh.ok());
  std::vector<Source> files;
  for (std::uint32_t i = 0; i < fresh.sources.size(); ++i) files.push_back(fresh.sources.at(i));

  machine.files = {{"/etc/h/a.rules", "broken"}};
  machine.programs.clear();
  const SavedEnvironment saved(files, machine);
  const LoadResult again = load("/etc/h", {}, saved);
  INFO(messages_of(again));
  REQUIRE(again.ok());
  CHECK(print(*again.rules) == print(*fresh.rules));
  REQUIRE(again.rules->services.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(again.rules->services[i]->key == fresh.rules->services[i]->key);
}

TEST_CASE("a rule keeps its key whatever is written around it", "[load]") {
  const auto key = [](const std::string& text, std::size_t rule = 0) {
    const LoadResult result = load_text(text);
    REQUIRE(result.ok());
    return to_string(result.rules->services.front()->rules.at(rule).key);
  };
  const std::string first = key("set daemon 5\n" + service("web"));
  CHECK(first == "83907f83ff3f84be5eb4de83966fdcbe");
  // Another place, case, layout and other statements do not change it.
  CHECK(key("set daemon 7\n\n# x\nCHECK PROGRAM Web path \"/bin/true\"\n every 3 cycles group g if the status is != 0\n"
            "then alert\n") == first);
  CHECK(key(service("web", "if status = 7 then alert if status != 0 then alert"), 1) == first);
  CHECK(key(service("web", "if status != 0 for 1 cycle then alert")) == first);
  // Another meaning does.
  std::set<std::string> keys{first};
  CHECK(keys.insert(key(service("web2"))).second);
  CHECK(keys.insert(key(service("web", "if status != 1 then alert"))).second);
  CHECK(keys.insert(key(service("web", "if status != 0 for 2 cycles then alert"))).second);
  CHECK(keys.insert(key(service("web", "if status != 0 then unmonitor"))).second);
  CHECK(keys.insert(key(service("web", "if status != 0 then alert else unmonitor"))).second);
  // Equal rules are told apart by their order.
  CHECK(key(service("web", "if status != 0 then alert if status != 0 then alert"), 0) == first);
  CHECK(keys.insert(key(service("web", "if status != 0 then alert if status != 0 then alert"), 1)).second);
}

TEST_CASE("a block keeps its key when only its place changes", "[load]") {
  const auto block = [](const std::string& text) { return load_text(text).rules.value().services.front(); };
  const auto before = block(service("web"));
  const auto moved = block("set daemon 9\n\n\n" + service("web"));
  const auto changed = block(service("web", "group g if status != 0 then alert"));
  CHECK(moved->key == before->key);
  CHECK(moved->place.line == 4);
  CHECK(before->place.line == 1);
  CHECK(changed->key != before->key);
}

TEST_CASE("Rules are compiled as written", "[load]") {
  const LoadResult result = load_text(
      "set daemon 5\n"
      "check program x with path \"/bin/x 'a b' c\" as uid www and gid root with timeout 20 seconds\n"
      "  every 3 cycles\n"
      "  if content = \"re\" then alert\n"
      "  if content != \"re\" 2 times within 5 cycles then alert\n"
      "  if status != 0 for 3 cycles then exec \"/bin/true\" repeat every 4 cycles else if succeeded for 2 cycles then "
      "unmonitor\n"
      "  if changed status then alert\n");
  INFO(messages_of(result));
  REQUIRE(result.ok());
  const engine::ServiceBlock& block = *result.rules->services.front();
  CHECK(block.program->command.arguments == std::vector<std::string>{"/bin/x", "a b", "c"});
  CHECK(block.program->command.identity == engine::Identity{.uid = 33, .gid = 0, .user = "www", .home = "/var/www"});
  CHECK(block.program->command.timeout == seconds{20});
  CHECK(block.program->patterns == std::vector<std::string>{"re"});
  CHECK(block.schedule->cycles == 3);
  REQUIRE(block.rules.size() == 4);
  CHECK(block.rules[0]->mode == engine::Mode::EachMatch);
  CHECK(block.rules[0]->event == engine::EventKind::Content);
  CHECK(block.rules[0]->tolerance.immediate());
  CHECK(std::get<engine::Matches>(block.rules[1]->condition->tests[0]).negated);
  CHECK(block.rules[1]->tolerance == engine::Tolerance{.count = 2, .window = 5});
  const engine::Rule& status = block.rules[2];
  CHECK(status->mode == engine::Mode::Latched);
  CHECK(status->event == engine::EventKind::Status);
  CHECK(std::get<engine::Compare>(status->condition->tests[0]).comparison == engine::Comparison::NotEqual);
  CHECK(status->tolerance == engine::Tolerance{.count = 3, .window = 3});
  CHECK(status->action.kind == engine::ActionKind::Exec);
  CHECK(status->action.repeat == 4);
  CHECK(status->recovery->tolerance == engine::Tolerance{.count = 2, .window = 2});
  CHECK(status->recovery->action.kind == engine::ActionKind::Unmonitor);
  CHECK_FALSE(status->recovery->action.implied);
  CHECK(status.place == engine::SourcePlace{.file = 0, .column = 3, .line = 6});
  CHECK(block.rules[3]->mode == engine::Mode::EachChange);
  CHECK(block.rules[3]->recovery->action.implied);
}

TEST_CASE("a check that is accepted says so on stdout, and prints the rules only with -v", "[check]") {
  test::FakeEnvironment machine;
  machine.files[kMain] = "set daemon 5\n" + service("a");
  const CheckOutcome quiet = check(kMain, {}, machine);
  CHECK(quiet.status == 0);
  CHECK(quiet.out == "Control file syntax OK\n");
  CHECK(quiet.err.empty());
  const CheckOutcome verbose = check(kMain, {.load = {}, .verbose = true}, machine);
  CHECK(verbose.out.find("check program a") != std::string::npos);
  CHECK(verbose.out.find("\nControl file syntax OK\n") != std::string::npos);
}

TEST_CASE("a check that is rejected says nothing on stdout and counts", "[check]") {
  test::FakeEnvironment machine;
  machine.files[kMain] = "set daemon 5\n" + service("a", "every 0 cycles if status != 0 for 65 cycles then alert");
  const CheckOutcome outcome = check(kMain, {.load = {}, .verbose = true}, machine);
  CHECK(outcome.status == 1);
  CHECK(outcome.out.empty());
  CHECK(outcome.err.ends_with("\n1 error, 1 warning\n"));
}

TEST_CASE("a socket may be read-only again, and TLS that is on stays on, as in Monit", "[load]") {
  CHECK(load_text("set httpd unixsocket /tmp/u read-only uid root read-only allow localhost\n" + service("a")).ok());
  CHECK(load_text("set httpd port 1 ssl disable allow localhost\n" + service("a")).ok());
  CHECK(!load_text("set httpd port 1 ssl ssl disable allow localhost\n" + service("a")).ok());
}

TEST_CASE("of very many messages the first are shown", "[check]") {
  test::FakeEnvironment machine;
  for (int i = 0; i < 500; ++i)
    machine.files[kMain] += service("s" + std::to_string(i), "if status != 0 for 65 cycles then alert");
  const CheckOutcome outcome = check(kMain, {}, machine);
  CHECK(outcome.err.find("/etc/main:20:") != std::string::npos);
  CHECK(outcome.err.find("/etc/main:21:") == std::string::npos);
  CHECK(outcome.err.ends_with("and 480 more messages\n500 errors\n"));
}

TEST_CASE("no password and no value of the environment is ever printed", "[print]") {
  const LoadResult result = load_text(
      "set daemon 5\n"
      "set mailserver m.example.org username \"u\" password \"hunter2\"\n"
      "set environment TOKEN \"hunter3\"\n" +
      service("a"));
  INFO(messages_of(result));
  REQUIRE(result.ok());
  const std::string printed = print(*result.rules);
  CHECK(printed.find("hunter") == std::string::npos);
  CHECK(printed.find("set mailserver m.example.org port 25 username \"u\"\n  # with a password that is not shown\n") !=
        std::string::npos);
  CHECK(printed.find("# set environment TOKEN \"...\" (the value is not shown)\n") != std::string::npos);
  REQUIRE(result.rules->settings.environment.size() == 1);
  CHECK(result.rules->settings.environment[0].second == "hunter3");
  CHECK(result.rules->settings.mail.servers[0].password == "hunter2");
}

}  // namespace load_test
