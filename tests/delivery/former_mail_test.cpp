// SPDX-License-Identifier: MIT
// What healer had on disk when mail had a queue of its own: tests/delivery/former_mail, as healerd left it when it was
// killed with mails that were sent, begun, held back by a limit, gathered for a digest, and dropped.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "delivery/mailer_world.hpp"
#include "support/paths.hpp"

namespace former_mail_test {

using namespace healer;
using namespace healer::delivery;
using namespace healer::test;

TEST_CASE("a queue of a former healer is taken over, and nothing of it is lost or sent twice") {
  SmtpSink sink;
  MailWorld world({server(sink)});
  const bool is_elsewhere = GENERATE(false, true);  // `set eventqueue` names another place now
  const std::string former = is_elsewhere ? (world.directory.path() / "former").string() : world.options.directory;
  std::filesystem::copy(source_folder() + "/tests/delivery/former_mail", former);
  if (is_elsewhere) world.options.former = former;
  const auto mailer = world.start();
  // Known to have been sent: once more it is taken, and not sent.
  engine::effect::Alert again = alert(1'795'848'594'637, {"you@x.org"});
  auto cause = std::make_shared<engine::effect::Cause>(*again.cause);
  cause->when = WallTime{milliseconds{0x1a220eae4e9}};
  again.cause = std::move(cause);
  mailer->submit(again);
  // The ledger goes where a queue moves: what was dropped, or held back, is known only where it stays.
  const std::string one = "you: monit alert --  Status failed ";
  const std::vector<std::string> wanted =
      is_elsewhere
          ? std::vector<std::string>{"night: healer: 4 alerts on vm:", "third: monit alert --  Healer died vm", one,
                                     one}
          : std::vector<std::string>{"fourth: healer: 1 alert dropped on vm:", "night: healer: 4 alerts on vm:",
                                     "third: monit alert --  Healer died vm", "you: healer: 2 alerts held back on vm:"};
  CHECK(eventually([&] { return sink.count() >= wanted.size() && mailer->waiting() == 0; }));
  CHECK(world.mail_events.taken() == std::vector<std::uint64_t>{1'795'848'594'637});
  std::vector<std::string> got;
  for (std::size_t i = 0; i < sink.count(); ++i) {
    const std::string envelope = sink.envelopes()[i], mail = sink.mails()[i];
    const std::size_t to = envelope.find("@x.org");
    const std::size_t from = envelope.rfind('"', to) + 1;
    const std::size_t subject = mail.find("Subject: ") + 9;
    got.push_back(envelope.substr(from, to - from) + ": " + mail.substr(subject, 60));
  }
  std::ranges::sort(got);
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(got[i]);
    CHECK(got[i].starts_with(wanted[i]));
  }
  CHECK(world.mail_events.count(Kinds::Dropped) == 0);
}

}  // namespace former_mail_test
