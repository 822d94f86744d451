// SPDX-License-Identifier: MIT
// What is said of `set httpd`, and of ports.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "config/load.hpp"
#include "support/fake_environment.hpp"

namespace config_httpd_test {

using namespace healer;
using namespace healer::config;

namespace {

const std::string kHttpdMain = "/etc/main";

/// "line:column severity: message | remedy" of each message but those of the whole file.
std::vector<std::string> said_of(const std::string& text, const LoadOptions& options = {}) {
  test::FakeEnvironment machine;
  machine.programs = {"/bin/true"};
  machine.groups["staff"] = 50;
  machine.files[kHttpdMain] = text;
  const LoadResult result = load(kHttpdMain, options, machine);
  std::vector<std::string> all;
  for (const Diagnostic& one : result.diagnostics) {
    if (!one.range) continue;
    const auto at = result.sources.position(one.range->file, one.range->begin);
    all.push_back(std::to_string(at.line) + ":" + std::to_string(at.column) + " " +
                  std::string(to_string(one.severity)) + ": " + one.message +
                  (one.remedy.empty() ? "" : " | " + one.remedy));
  }
  return all;
}

using Said = std::vector<std::string>;

}  // namespace

TEST_CASE("a port that cannot be is refused where it is written", "[httpd]") {
  const std::string rest = " address 127.0.0.1 allow a:bcd\n";
  for (const std::string port : {"0", "65536", "99999"}) {
    CHECK(said_of("set httpd port " + port + rest) ==
          Said{"1:16 error: there is no port " + port + " | ports go from 1 to 65535; that of Monit is 2812"});
    CHECK(said_of("set daemon 5\nset httpd port " + port + rest, {.monit_dialect = MonitVersion::V5_33}).empty());
  }
  CHECK(said_of("set httpd port 65535" + rest).empty());
  CHECK(said_of("set url \"https://a.example:99999/ops\"\n") ==
        Said{"1:9 error: there is no port '99999': nobody will ever answer there | ports go from 1 to 65535"});
  CHECK(said_of("set httpd port 2812" + rest + "set mmonit http://a:b@c:99999/collector\n") ==
        Said{"2:12 warning: there is no port '99999': nobody will ever answer there | ports go from 1 to 65535"});
  const std::string contact = "set contact c url \"https://a.example:70000/\" body '{}'\nset alert to c\n";
  CHECK(said_of(contact) == Said{"1:19 error: there is no port 70000 | ports go from 1 to 65535"});
}

TEST_CASE("several set httpd count as one, of which is warned", "[httpd]") {
  CHECK(said_of("set httpd port 2812 address 127.0.0.1 allow a:bcd\nset httpd port 2813\n") ==
        Said{"2:5 warning: there is a 'set httpd' already: both count as one | the first one is at /etc/main:1; of two "
             "ports, or two lists of addresses, the last one counts"});
}

TEST_CASE("who is allowed twice is told, and that the first one counts", "[httpd]") {
  CHECK(said_of("set httpd port 2812 address 127.0.0.1\n allow a:bcd\n allow a:xyz read-only\n allow @staff\n "
                "allow @staff operator\n") ==
        Said{"3:8 warning: the user 'a' is allowed already: this is ignored | the first one, at /etc/main:2, counts",
             "5:9 warning: the group 'staff' is allowed already: this is ignored | the first one, at /etc/main:4, "
             "counts"});
}

TEST_CASE("whom allow can never let in is told at load", "[httpd]") {
  const auto of = [](const std::string& who) { return said_of("set httpd port 2812 address 127.0.0.1 allow " + who); };
  for (const std::string who : {"300.1.2.3", "10.0.0.0/33", "10.0.0.0/255.0.255.0", "2001:db8::/129"})
    CHECK(of(who) == Said{"1:45 warning: '" + who +
                          "' is neither an address nor a network: nobody is let in by it | write an address, a network "
                          "as in 192.0.2.0/24 or 2001:db8::/32, or the name of a host"});
  for (const std::string who : {"10.0.0.1/24", "10.0.0.0/255.255.0.0", "2001:db8::/32", "a-host.example"})
    CHECK(of(who).empty());
  CHECK(of("@nobody-there") ==
        Said{"1:46 warning: there is no group 'nobody-there' on this machine: nobody is let in by it | name a group of "
             "the system, which `getent group` lists"});
  CHECK(of("localhost trust proxy a.example") ==
        Said{"1:67 error: 'a.example' is not an address | a proxy is named by its address or network, as in 192.0.2.7 "
             "or 192.0.2.0/24"});
}

TEST_CASE("nothing is missed in a set httpd that is not understood", "[httpd]") {
  for (const std::string text :
       {"set httpd port 2812 alow a:bcd\n", "set httpd prt 2812 allow a:bcd\n",
        "set mmonit http://a:b@c/collector\nset httpd port 2812 address localhost alow a:bcd\n"}) {
    const Said said = said_of(text);
    INFO(text);
    CHECK(said.size() == 1);
    CHECK(said.front().find("error: unexpected") != std::string::npos);
  }
}

}  // namespace config_httpd_test
