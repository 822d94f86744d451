// SPDX-License-Identifier: MIT
// Asks the real Monit: what it mails and what it gives to programs must be what healer composes from the same run.
#include <sys/stat.h>
#include <unistd.h>

#include <iostream>
#include <map>

#include <catch2/catch.hpp>

#include "actions/environment.hpp"
#include "delivery/contacts/mail.hpp"
#include "engine/rules/service.hpp"
#include "engine/words/cause.hpp"
#include "support/smtp_sink.hpp"

namespace mail_monit_test {

using namespace healer;
using State = engine::effect::Cause::State;

namespace {

constexpr const char* kMonit = "/usr/bin/monit";

std::string header(const std::string& text, const std::string& name) {
  const std::size_t start = text.find(name + ": ");
  if (start == std::string::npos) return "";
  return text.substr(start + name.size() + 2, text.find("\r\n", start) - start - name.size() - 2);
}

/// The body up to the signature, without the date.
std::string comparable(const std::string& text) {
  std::string body = text.substr(text.find("\r\n\r\n") + 4);
  body = body.substr(0, body.find("Your faithful employee"));
  const std::size_t date = body.find("\tDate:");
  return date == std::string::npos ? body : body.erase(date, body.find("\r\n", date) - date);
}

struct Expected {
  std::string script;
  std::string rule;
  engine::EventKind event = engine::EventKind::Status;
  State state = State::Failed;
  std::string action = "alert";
  std::string description;
  std::int64_t status = 1;
};

}  // namespace

TEST_CASE("The real Monit sends the same subjects and bodies and gives programs the same variables") {
  if (access(kMonit, X_OK) != 0) {
    std::cout << "SKIPPED: no " << kMonit << "\n";
    return;
  }
  test::TemporaryDirectory directory;
  const std::string base = directory.path().string();
  test::SmtpSink sink;
  const std::string handler = base + "/handler";
  test::write_file(handler, "#!/bin/sh\nenv -0 | grep -z ^MONIT_ | sort -z > " + base + "/new.$$ && mv " + base +
                                "/new.$$ " + base + "/env.$MONIT_SERVICE\n");
  chmod(handler.c_str(), 0700);
  const std::string exec = "exec \"" + handler + "\"";

  const std::string output = "gr\xc3\xbc\xc3\x9f\x65 out\nsecond: \"x\" $HOST 100%\n";
  const std::string print = "printf 'gr\\303\\274\\303\\237e out\\nsecond: \"x\" $HOST 100%%\\n'; ";
  std::map<std::string, Expected> services;
  services["failing"] = {print + "exit 1",
                         "if status != 0 then alert",
                         engine::EventKind::Status,
                         State::Failed,
                         "alert",
                         engine::describe_status(1, true, output),
                         1};
  services["acting"] = {print + "exit 3",
                        "if status > 2 then " + exec,
                        engine::EventKind::Status,
                        State::Failed,
                        "exec",
                        engine::describe_status(3, true, output),
                        3};
  services["silent"] = {"exit 4",
                        "if status = 4 then " + exec,
                        engine::EventKind::Status,
                        State::Failed,
                        "exec",
                        engine::describe_status(4, true, ""),
                        4};
  services["leaving"] = {print + "exit 2",
                         "if status = 2 then unmonitor",
                         engine::EventKind::Status,
                         State::Failed,
                         "unmonitor",
                         engine::describe_status(2, true, output),
                         2};
  services["matching"] = {print + "exit 0",
                          "if content = \"second\" then " + exec,
                          engine::EventKind::Content,
                          State::Changed,
                          "exec",
                          engine::describe_content(true, output),
                          0};
  services["lacking"] = {"exit 0",
                         "if content != \"second\" then alert",
                         engine::EventKind::Content,
                         State::Changed,
                         "alert",
                         engine::describe_content(true, ""),
                         0};
  services["changing"] = {"if [ -e " + base + "/ran ]; then exit 7; fi; touch " + base + "/ran; exit 6",
                          "if changed status then " + exec,
                          engine::EventKind::Status,
                          State::Changed,
                          "exec",
                          engine::describe_changed(6, 7, ""),
                          7};
  services["recovering"] = {
      "if [ -e " + base + "/sick ]; then " + print + "exit 0; fi; touch " + base + "/sick; exit 6",
      "if status != 0 then alert else if succeeded then " + exec,
      engine::EventKind::Status,
      State::Succeeded,
      "exec",
      engine::describe_status(0, false, output),
      0};

  std::string rules = "set daemon 1\nset logfile " + base + "/log\nset pidfile " + base + "/pid\nset statefile " +
                      base + "/state\nset idfile " + base + "/id\nset mailserver 127.0.0.1 port " +
                      std::to_string(sink.port()) + "\nset alert root@localhost\n";
  for (const auto& [name, expected] : services) {
    const std::string program = base + "/" + name;
    test::write_file(program, "#!/bin/sh\n" + expected.script + "\n");
    chmod(program.c_str(), 0700);
    rules += "check program " + name + " with path \"" + program + "\"\n  " + expected.rule + "\n";
  }
  test::write_file(base + "/monitrc", rules);
  chmod((base + "/monitrc").c_str(), 0600);

  std::map<std::string, std::string> mails;  // by subject, the first of each
  {
    test::Child monit({kMonit, "-c", base + "/monitrc", "-I"}, base + "/output");
    const auto complete = [&] {
      for (const std::string& mail : sink.mails()) mails.try_emplace(header(mail, "Subject"), mail);
      return mails.size() >= services.size() + 2 && std::ranges::all_of(services, [&](const auto& service) {
               return service.second.action != "exec" || std::filesystem::exists(base + "/env." + service.first);
             });
    };
    CHECK(test::eventually(complete, std::chrono::seconds{90}));
    monit.send(SIGTERM);
    monit.wait();
  }
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  const MailWriter world{host, "1", utc_civil};
  for (const auto& [name, expected] : services) {
    CAPTURE(name, expected.rule);
    auto cause = std::make_shared<engine::effect::Cause>();
    cause->service = name;
    cause->event_text = engine::event_text(expected.event, expected.state);
    cause->action_text = expected.action;
    cause->description = expected.description;
    cause->program_status = expected.status;
    const engine::effect::Alert alert{engine::AlertId{1}, {{.address = "root@localhost", .format = {}}}, cause};
    const std::string ours = compose_mails(alert, {}, world).front().text;
    REQUIRE(mails.contains(header(ours, "Subject")));
    const std::string& theirs = mails.at(header(ours, "Subject"));
    CHECK(header(theirs, "From") == header(ours, "From"));
    CHECK(header(theirs, "Content-Type") == header(ours, "Content-Type"));
    CHECK(header(theirs, "Content-Transfer-Encoding") == header(ours, "Content-Transfer-Encoding"));
    CHECK(comparable(theirs) == comparable(ours));

    if (expected.action != "exec") continue;
    std::string given = test::read_file(base + "/env." + name);
    std::string wanted;
    auto environment = actions::action_environment({.host = host}, {}, *cause, utc_civil);
    std::ranges::sort(environment);
    for (const std::string& entry : environment)
      if (entry.starts_with("MONIT_") && !entry.starts_with("MONIT_DATE=")) wanted += entry + '\0';
    REQUIRE(given.starts_with("MONIT_DATE="));
    given.erase(0, given.find('\0') + 1);
    CHECK(given == wanted);
  }
  REQUIRE(mails.contains("monit alert --  Monit instance changed " + std::string(host)));
  const std::string& theirs = mails.at("monit alert --  Monit instance changed " + std::string(host));
  auto cause = std::make_shared<engine::effect::Cause>();
  cause->service = "healer";
  cause->event = engine::EventKind::Instance;
  cause->state = State::Changed;
  cause->event_text = engine::event_text(cause->event, cause->state);
  cause->action_text = "start";
  const std::size_t description = theirs.find("Description: ") + 13;
  cause->description = theirs.substr(description, theirs.find("\r\n", description) - description);
  CHECK(cause->description.ends_with(" started"));
  const engine::effect::Alert alert{engine::AlertId{1}, {{.address = "root@localhost", .format = {}}}, cause};
  const std::string ours = compose_mails(alert, {}, world).front().text;
  // What has happened follows.
  CHECK(header(ours, "Subject") == header(theirs, "Subject") + ": " + cause->description);
  CHECK(comparable(theirs) == comparable(ours));
}

}  // namespace mail_monit_test
