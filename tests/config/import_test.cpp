// SPDX-License-Identifier: MIT
// `healerctl import`: Monit's files as healer's, with the same meaning.
#include "config/text/import.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "config/check.hpp"
#include "engine/rules/service.hpp"
#include "support/fake_environment.hpp"

namespace import_test {

using namespace healer;
using namespace healer::config;
namespace fs = std::filesystem;

namespace {

const std::string kMain = "/etc/monit/monitrc";
const std::string kCheck = "check program {} path \"/bin/true\"\n  if status != 0 then alert\n";

std::string service(const std::string& name) {
  std::string text = kCheck;
  return text.replace(text.find("{}"), 2, name);
}

Import imported(const std::map<std::string, std::string>& files) {
  test::FakeEnvironment machine;
  machine.files = files;
  return import_rules(kMain, "/etc/healer/rules.d", machine);
}

std::string names(const Import& import) {
  std::string result;
  for (const ImportedFile& file : import.files) result += file.path + "\n";
  return result;
}

std::string topics(const Import& import) {
  std::string result;
  for (const ImportRemark& remark : import.report) result += remark.topic + " ";
  return result;
}

}  // namespace

TEST_CASE("includes become files of the directory, and comments stay", "[import]") {
  const Import import =
      imported({{kMain, "# mine\nset daemon 30\n" + service("a") + "include /etc/monit/conf.d/*  # all\n"},
                {"/etc/monit/conf.d/b", "# of b\n" + service("b")},
                {"/etc/monit/conf.d/c.conf", service("c")}});
  CHECK(import.difference.empty());
  CHECK(names(import) == "00-monitrc.rules\n01-b.rules\n02-c.rules\n");
  REQUIRE(import.files.size() == 3);
  CHECK(import.files[0].text == "# From /etc/monit/monitrc\nset monit 5.33\n# mine\nset daemon 30\n" + service("a") +
                                    "# include /etc/monit/conf.d/*\n# all\n");
  CHECK(import.files[1].text == "# From /etc/monit/conf.d/b\n# of b\n" + service("b"));
}

TEST_CASE("where their order matters includes stay includes", "[import]") {
  const Import import = imported({{kMain, "include /etc/monit/a include /etc/monit/b\n" + service("z")},
                                  {"/etc/monit/a", service("a")},
                                  {"/etc/monit/b", service("b")}});
  CHECK(import.difference.empty());
  CHECK(names(import) == "00-monitrc.rules\nincluded/01-a\nincluded/02-b\n");
  REQUIRE(import.files.size() == 3);
  CHECK(import.files[0].text.find("\ninclude \"/etc/healer/rules.d/included/01-a\"\n") != std::string::npos);
  CHECK(topics(import).find("includes") != std::string::npos);
  // Statements of a service in a file of their own.
  const Import more = imported({{kMain, service("a") + "include /etc/monit/more\n"}, {"/etc/monit/more", "group g\n"}});
  CHECK(more.difference.empty());
  CHECK(names(more) == "00-monitrc.rules\nincluded/01-more\n");
}

TEST_CASE("Statements only of Monit are left out and reported", "[import]") {
  const Import import =
      imported({{kMain,
                 "set pidfile /run/monit.pid set idfile /var/lib/monit/id\nset log /var/log/monit.log\n"
                 "set eventqueue\n  basedir /var/lib/monit/events\n  slots 5\nset statefile /x\n" +
                     service("a")}});
  CHECK(import.difference.empty());
  REQUIRE(import.files.size() == 1);
  CHECK(
      import.files[0].text ==
      "# From /etc/monit/monitrc\nset monit 5.33\n# set pidfile /run/monit.pid\n# set idfile /var/lib/monit/id\n"
      "# set log /var/log/monit.log\nset log syslog\n# set eventqueue\n#   basedir /var/lib/monit/events\n#   slots 5\n"
      "# set statefile /x\n" +
          service("a"));
  REQUIRE(topics(import).starts_with("monit left-out "));
  CHECK(import.report[1].places.size() == 5);
  CHECK(import.report[1].places[1] == "/etc/monit/monitrc:1: set idfile /var/lib/monit/id");
}

TEST_CASE("Differences from Monit are in the report", "[import]") {
  const Import import = imported(
      {{kMain,
        "set httpd port 2812 allow localhost\ncheck process p with pidfile /run/p\n  start program = \"/bin/true\"\n"
        "  stop program = '/bin/true stop'\n  if cpu > 5% and memory > 5% for 3 cycles then restart\n  every 2 cycles\n"
        "include /etc/none/*\n"}});
  INFO(format_all(import.source.diagnostics, import.source.sources, false));
  CHECK(import.difference.empty());
  CHECK(topics(import) == "monit includes dormant counting restarts settle doubtful ");
}

TEST_CASE("the files say which Monit they mean, and the report where healer differs from it", "[import]") {
  const auto of = [](const std::string& text, const std::string& installed) {
    test::FakeEnvironment machine;
    machine.files = {{kMain, text}};
    return import_rules(kMain, "/etc/healer/rules.d", machine, installed);
  };
  const std::string file = "check file f with path /etc/passwd\n  if failed checksum then alert\n";
  const auto begins = [](const Import& import) {
    REQUIRE(import.difference.empty());
    const std::string& text = import.files[0].text;
    return text.substr(0, text.find("check"));
  };
  const std::string from = "# From /etc/monit/monitrc\n";
  CHECK(begins(of(file, "")) == from + "set monit 5.33\n");
  CHECK(begins(of(file, "5.27.2")) == from + "set monit 5.33\n");
  CHECK(begins(of(file, "5.34.3")) == from + "set monit 5.34\n");
  const Import six = of(file, "6.0.0");
  CHECK(begins(six) == from + "set monit 6\n");
  CHECK(six.source.rules->services[0]->rules[0]->text == "if failed sha256 checksum then alert");
  CHECK(six.report[0].text == "Monit 6.0.0 was found: 'set monit 6' keeps the meaning.");
  // What the files say beats what is installed.
  const Import newer = of(service("p") + "  if content changed then exec \"/bin/true\" timeout 3 seconds\n", "5.33.0");
  CHECK(begins(newer) == from + "set monit 5.34\n");
  CHECK(newer.report[0].text == "Monit 5.33.0 was found, but its files need 5.34: 'set monit 5.34' keeps the meaning.");
  REQUIRE(newer.report[0].places.size() == 1);
  CHECK(newer.report[0].places[0].starts_with("timeouts of 'exec': Monit 5.34 checks nothing"));
  CHECK(begins(of(service("p") + "  every \"*/5 * * * *\"\n", "")) == from + "set monit 6\n");
}

TEST_CASE("files with errors are not imported", "[import]") {
  const Import import = imported({{kMain, "check progam x\n"}});
  CHECK(import.files.empty());
  CHECK(!import.difference.empty());
  CHECK(!import.source.ok());
}

TEST_CASE("all of the corpus that is accepted is imported with its meaning", "[import]") {
  const char* shared = std::getenv("HEALER_SHARED");
  if (shared == nullptr || !fs::exists(fs::path(shared) / "monit/corpus/files")) {
    WARN("SKIPPED: HEALER_SHARED names no corpus");
    return;
  }
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(shared) / "monit/corpus/files")) {
    std::ifstream in(entry.path(), std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    const Import import = imported({{kMain, text.str()}});
    INFO(entry.path().string());
    INFO(import.difference);
    CHECK(import.source.ok() == !import.files.empty());
    count += import.files.empty() ? 0 : 1;
  }
  CHECK(count > 240);
}

}  // namespace import_test
