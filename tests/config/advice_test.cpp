// SPDX-License-Identifier: MIT
// `healerctl lint`: each advice, and that what is right gets none.
#include <catch2/catch.hpp>
#include <set>

#include "config/check.hpp"
#include "config/load.hpp"
#include "support/fake_environment.hpp"

namespace advice_test {

using namespace healer;
using namespace healer::config;

namespace {

const std::string kMain = "/etc/main";
const std::string kAlert = "set mailserver localhost\nset alert root@localhost\n";
const std::string kPrograms = "start program = \"/bin/true start\"\nstop program = \"/bin/true stop\"\n";

/// The advice about a text, "code line" each, without what loading says anyway.
std::set<std::string> advice(const std::string& text) {
  test::FakeEnvironment machine;
  machine.files[kMain] = text;
  machine.online = false;
  const LoadResult plain = load(kMain, {}, machine);
  const LoadResult result = load(kMain, {.advice = true}, machine);
  INFO(format_all(result.diagnostics, result.sources, false));
  CHECK(result.ok());
  CHECK(result.diagnostics.size() >= plain.diagnostics.size());
  std::set<std::string> found;
  for (const Diagnostic& one : result.diagnostics)
    if (one.code > Code::NotYet || one.code == Code::NeverTrue || one.message.starts_with("no rule heals") ||
        one.message.starts_with("a ping of no")) {
      CHECK(!one.message.empty());
      CHECK(!one.remedy.empty());
      found.insert(std::string(to_string(one.code)) + " " +
                   std::to_string(result.sources.position(one.range->file, one.range->begin).line));
    }
  return found;
}

using Set = std::set<std::string>;

std::string process(const std::string& rules) {
  return kAlert + "check process x with pidfile /run/x.pid\n" + kPrograms + rules + "\n";
}

}  // namespace

TEST_CASE("rules that are right get no advice", "[advice]") {
  CHECK(advice(process("if cpu > 90% for 5 cycles then restart\nif cpu > 50% then alert\n"
                       "if 5 restarts within 10 cycles then unmonitor\n"
                       "if failed port 443 protocol https certificate valid > 9 days for 2 cycles then restart")) ==
        Set{});
  CHECK(advice(kAlert + "check host a with address localhost\nif failed port 443 using ssl with options { verify: "
                        "enable } protocol http then alert\n"
                        "if failed ping count 3 responsetime < 1 s then alert") == Set{});
}

TEST_CASE("a rule that is there twice, and rules against each other", "[advice]") {
  CHECK(advice(process("if cpu > 90% then alert\nif CPU usage > 90 % then alert")) == Set{"duplicate-rule 7"});
  CHECK(advice(process("if cpu > 90% then stop\nif cpu > 90% then start")) == Set{"contradiction 7"});
  CHECK(advice(process("if cpu > 90% for 3 cycles then unmonitor\nif cpu > 90% for 5 cycles then alert")) ==
        Set{"unreachable 7"});
  CHECK(advice(process("if cpu > 90% for 5 cycles then unmonitor\nif cpu > 90% for 3 cycles then alert")) == Set{});
  CHECK(advice(process("if cpu > 90% and cpu < 10% then alert\nif cpu > 90% or cpu < 10% then alert")) ==
        Set{"never-true 6"});
  const auto of = [](const std::string& condition) { return advice(process("if " + condition + " then alert")); };
  CHECK(of("(cpu > 90% or threads > 5) and cpu < 10%") == Set{});
  CHECK(of("(cpu > 90% or cpu > 95%) and cpu < 10%") == Set{"never-true 6"});
  CHECK(of("not (cpu < 90% or cpu > 10%)") == Set{"never-true 6"});
  CHECK(of("not (cpu < 90% and cpu > 10%)") == Set{});
  CHECK(of("cpu > 90% and not cpu >= 20%") == Set{"never-true 6"});
}

TEST_CASE("programs that are missing, the same, or too slow", "[advice]") {
  CHECK(advice(kAlert + "check process x with pidfile /run/x.pid\nstart program = \"/bin/x\"\n"
                        "if cpu > 5% then restart\nif 3 restarts within 5 cycles then unmonitor") ==
        Set{"no-stop-program 5"});
  CHECK(advice(kAlert + "check process x with pidfile /run/x.pid\nstart program = \"/bin/x\"\n"
                        "if not exist then restart\nif 3 restarts within 5 cycles then unmonitor") == Set{});
  CHECK(advice(kAlert + "check process x with pidfile /tmp/x.pid\nstart program = \"/bin/x\"\n"
                        "stop program = \"/bin/x\"\n") == Set{"same-program 5", "shared-folder 3"});
  CHECK(advice(kAlert + "check program x with path /bin/x with timeout 90 seconds\nif status > 0 then alert") ==
        Set{"slow-check 3"});
  CHECK(advice(kAlert + "check program x with path /bin/x with timeout 90 seconds\nevery 3 cycles\n"
                        "if status > 0 then alert") == Set{"deprecated 4"});
  CHECK(advice(kAlert + "check program x with path /bin/x with timeout 90 seconds\nevery \"30 5 * * *\"\n"
                        "if status > 0 then alert") == Set{});
  CHECK(advice(process("if cpu > 5% then restart")) == Set{"endless-restarts 3"});
}

TEST_CASE("alerts that reach nobody, and rules that fire too late", "[advice]") {
  CHECK(advice("check system x\nif cpu > 5% then alert\nif cpu > 7% then alert") == Set{"no-recipient 2"});
  CHECK(advice("set mailserver a.b\ncheck system x\nalert a@b\nif cpu > 5% then alert") == Set{});
  CHECK(advice("set daemon 60\n" + kAlert +
               "check program x with path /bin/x\nevery 60 cycles\nif status > 0 for 30 cycles then alert") ==
        Set{"deprecated 5", "slow-to-notice 6"});
}

TEST_CASE("workflows that nothing heals with, and that tell nobody", "[advice]") {
  const auto with = [](const std::string& before, const std::string& in_service, const std::string& workflows) {
    return before + "set mailserver localhost\ncheck program x with path /bin/true\n" + in_service +
           "if status != 0 then heal with w\n" + workflows;
  };
  const std::string tells = "workflow w { step alert \"x\" }\n";
  CHECK(advice(with("", "", tells)) == Set{"no-recipient 4"});
  CHECK(advice(with("set alert a@b\n", "", tells)) == Set{});
  CHECK(advice(with("set alert a@b { action }\n", "", tells)) == Set{});
  CHECK(advice(with("set alert a@b { nonexist }\n", "", tells)) == Set{"no-recipient 5"});
  CHECK(advice(with("set alert a@b\n", "alert a@b not on { action }\n", tells)) == Set{"no-recipient 6"});
  CHECK(advice(with("set alert a@b\n", "noalert a@b\n", tells)) == Set{"no-recipient 6"});
  CHECK(advice(with("", "alert a@b\n", tells)) == Set{});
  // Also where another goes on to it; and one that nothing comes to.
  const std::string chain =
      "workflow w { guard program \"/bin/true\" step program \"/bin/true\" on failure heal with call }\n"
      "workflow call { step alert \"x\" }\n";
  CHECK(advice(with("", "", chain)) == Set{"no-recipient 5"});
  CHECK(advice(with("", "alert a@b\n", chain + "workflow lost { step alert \"x\" }")) == Set{"no-effect 7"});
}

TEST_CASE("tests of connections that cannot be meant", "[advice]") {
  const std::string host = kAlert + "check host x with address localhost\nif failed ";
  CHECK(advice(host + "port 80 protocol https then alert") == Set{"unverified-certificate 4", "wrong-port 4"});
  CHECK(advice(host + "url https://x/ then alert") == Set{"unverified-certificate 4"});
  CHECK(advice(host + "port 443 protocol https certificate checksum \"0123456789abcdef0123456789abcdef\" then alert") ==
        Set{});
  CHECK(advice(host + "port 443 protocol http then alert") == Set{"wrong-port 4"});
  CHECK(advice(host + "ping count 0 then alert") == Set{"clamped 4"});
  CHECK(advice(host + "port 80 timeout 3 seconds responsetime > 5 s then alert") == Set{"never-true 4"});
  CHECK(advice(host + "port 443 protocol https certificate valid > 900 days then alert") == Set{"never-true 4"});
}

TEST_CASE("each code has a word of its own", "[diagnostic]") {
  Set words;
  for (std::size_t i = 0; i < kCodes; ++i) {
    const std::string word(to_string(static_cast<Code>(i)));
    CHECK(word.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string::npos);
    CHECK(!word.empty());
    words.insert(word);
  }
  CHECK(words.size() == kCodes);
}

}  // namespace advice_test
