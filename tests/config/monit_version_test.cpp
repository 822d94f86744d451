// SPDX-License-Identifier: MIT
// What depends on the version of Monit: `set monit`, the dialects, and what newer ones warn of.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "config/check.hpp"
#include "config/load.hpp"
#include "config/text/print.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "protocols/probe.hpp"
#include "support/fake_environment.hpp"

namespace config_monit_version_test {

using namespace healer;
using namespace healer::config;

namespace {

const std::string kMain = "/etc/main";
const std::string kFile = "check file f with path /etc/passwd\n";
const std::string kProgram = "check program p with path \"/bin/true\"\n";
const std::string kProcess = "check process x with pidfile /run/x.pid start \"/bin/true\" stop \"/bin/true\"\n";

LoadResult load_text(const std::string& text, const LoadOptions& options = {}) {
  test::FakeEnvironment machine;
  machine.programs = {"/bin/true"};
  machine.files[kMain] = text;
  return load(kMain, options, machine);
}

engine::RuleSet rules(const std::string& text) {
  LoadResult result = load_text(text);
  INFO(format_all(result.diagnostics, result.sources, false));
  REQUIRE(result.ok());
  return std::move(*result.rules);
}

const engine::Rule& first(const engine::RuleSet& set) { return set.services.front()->rules.front(); }

std::string first_error(const std::string& text, MonitVersion version) {
  const LoadResult result = load_text("set daemon 5\n" + text, {.monit_dialect = version});
  for (const Diagnostic& one : result.diagnostics)
    if (one.severity == DiagnosticSeverity::Error)
      return one.message + "; " + one.remedy + " (" + std::string(to_string(one.code)) + ")";
  return "";
}

}  // namespace

TEST_CASE("set monit chooses how rules are counted", "[monit-version]") {
  const std::string text = kProgram + "if status != 0 then alert\n";
  CHECK_FALSE(first(rules(text))->newer_counting);
  CHECK_FALSE(first(rules("set monit 5.34\n" + text))->newer_counting);
  CHECK(first(rules("set monit 6\n" + text))->newer_counting);
  CHECK(first(rules(text + "set monit 6.0.0\n"))->newer_counting);  // wherever it stands
  CHECK_FALSE(first(rules("set monit 6\n" + text + "set monit 5.33\n"))->newer_counting);
}

TEST_CASE("set monit chooses what memory and a checksum without a kind are", "[monit-version]") {
  CHECK_FALSE(rules(kProcess).services.front()->shares_memory);
  CHECK(rules("set monit 6\n" + kProcess).services.front()->shares_memory);
  for (const char* test : {"failed checksum", "changed checksum"}) {
    const std::string text = kFile + "if " + test + " then alert\n";
    CHECK(first(rules(text))->text.find(" md5 checksum") != std::string::npos);
    CHECK(first(rules("set monit 6\n" + text))->text.find(" sha256 checksum") != std::string::npos);
  }
  // What is written, or told by its length, stays what it is.
  CHECK(first(rules("set monit 6\n" + kFile + "if failed md5 checksum then alert\n"))->text.find("md5") !=
        std::string::npos);
  CHECK(
      first(rules("set monit 6\n" + kFile + "if failed checksum expect d41d8cd98f00b204e9800998ecf8427e then alert\n"))
          ->text.find("md5") != std::string::npos);
}

TEST_CASE("from set monit 6.1 on certificates are verified unless it is said that they are not", "[monit-version]") {
  const auto verifies = [](const std::string& version, const std::string& test) {
    const auto set =
        rules("set monit " + version + "\ncheck host h with address 127.0.0.1\nif failed " + test + " then alert\n");
    return set.services.front()->probes.front()->tls->verify;
  };
  const std::string open = "port 443 using ssl with options { verify: disable } protocol http";
  CHECK_FALSE(verifies("5.33", "port 443 protocol https"));
  CHECK_FALSE(verifies("6", "port 443 protocol https"));
  CHECK(verifies("6.1", "port 443 protocol https"));
  CHECK(verifies("6.1", "url https://a.b/"));
  CHECK(verifies("6.1", "port 443 using ssl with options { selfsigned: allow } protocol http"));
  CHECK_FALSE(verifies("6.1", open));
  const std::string servers =
      "set mailserver one port 465 using tls, two port 465 using tls with options { verify: disable }\n";
  const auto mail = [&](const std::string& before) {
    std::string marks;
    for (const engine::MailServer& one :
         rules(before + servers + kProgram + "if status != 0 then alert\n").settings.mail.servers)
      marks += one.verify ? 'v' : '-';
    return marks;
  };
  CHECK(mail("") == "--");
  CHECK(mail("set monit 6.1\n") == "v-");
  // What is printed means the same again.
  const engine::RuleSet newest = rules("set monit 6.1\n" + servers + kProgram + "if status != 0 then alert\n");
  CHECK(rules(print(newest)).settings.mail == newest.settings.mail);
}

TEST_CASE("a limit bounds the program of an exec that has no timeout of its own", "[monit-version]") {
  const auto timeout = [](const std::string& option) {
    return first(rules("set limits { execTimeout: 20 s }\n" + kProgram + "if status != 0 then exec \"/bin/true\" " +
                       option))
        ->action.command->timeout;
  };
  CHECK(timeout("") == seconds{20});
  CHECK(timeout("timeout 5 seconds") == seconds{5});
  CHECK(timeout("timeout 0 seconds") == Duration{0});
  CHECK(first(rules(kProgram + "if status != 0 then exec \"/bin/true\""))->action.command->timeout == Duration{0});
}

TEST_CASE("A person who was not told of a failure is not told of its recovery", "[monit-version]") {
  using engine::ActionKind;
  CHECK(first(rules(kProgram + "if status != 0 then ignore"))->recovery->action.kind == ActionKind::Ignore);
  CHECK(first(rules(kProgram + "if status != 0 then ignore else alert"))->recovery->action.kind == ActionKind::Alert);
  CHECK(first(rules(kProgram + "if status != 0 then alert else ignore"))->recovery->action.kind == ActionKind::Ignore);
}

TEST_CASE("the dialects say which version a statement needs", "[monit-version]") {
  const std::string link = kFile + "if hardlink > 1 then alert\n";
  CHECK(first_error(link, MonitVersion::V5_33) ==
        "Monit 5.33 does not understand a test of hard links; Monit 5.34 and later ones do (other-monit)");
  CHECK(first_error(link, MonitVersion::V5_34).empty());
  CHECK(first_error(kFile + "if failed sha256 checksum then alert\n", MonitVersion::V5_34) ==
        "Monit 5.34 does not understand sha256; Monit 6 and later ones do (other-monit)");
  CHECK(first_error("set limits { networkTimeout: 0 s }\n", MonitVersion::V6) ==
        "Monit 6 refuses a limit of 0; older ones than 5.34 do not (other-monit)");
  CHECK(first_error("set monit 6\n", MonitVersion::V6) == "only healer understands set monit;  (only-healer)");
}

TEST_CASE("what Monit 6 warns of is a note of lint, once of each kind", "[monit-version]") {
  const std::string text =
      "set daemon 5\nset logfile /var/log/x\nset expectbuffer 1 kB\n" + kProgram +
      "every 2 cycles\nif status != 0 then alert every 3 cycles\n" + kFile +
      "if match \"x\" then alert\nignore match \"y\"\nmode manual\ncheck network n with interface lo\nif failed link "
      "then "
      "alert\ncheck host h with address 127.0.0.1\nif failed port 443 type tcpssl protocol https then alert\n";
  const auto notes = [&](const LoadOptions& options) {
    std::vector<std::string> found;
    for (const Diagnostic& one : load_text(text, options).diagnostics)
      if (one.code == Code::Deprecated) found.push_back(one.message);
    std::ranges::sort(found);
    return found;
  };
  CHECK(notes({}).empty());
  CHECK(notes({.advice = true}) ==
        std::vector<std::string>{
            "Monit 6 warns of 'every N cycles', here and in 1 more place", "Monit 6 warns of 'if failed link'",
            "Monit 6 warns of 'if match'", "Monit 6 warns of 'ignore match'", "Monit 6 warns of 'mode manual'",
            "Monit 6 warns of 'set expectbuffer'", "Monit 6 warns of 'set logfile'", "Monit 6 warns of 'type tcpssl'"});
}

}  // namespace config_monit_version_test
