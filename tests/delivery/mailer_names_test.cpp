// SPDX-License-Identifier: MIT
// Names of mail servers: looked up elsewhere, so that no name server holds the mailer's thread.
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

#include "delivery/mailer_world.hpp"
#include "runtime/net/server_names.hpp"

namespace mailer_names_test {

using namespace healer;
using namespace healer::delivery;
using namespace healer::runtime;
using namespace healer::test;

namespace {

/// Answers a question for a name, at once or when told.
class Names {
 public:
  using Done = std::function<void(Result<std::string>)>;

  void ask(const std::string& host, Done done) {
    const std::lock_guard lock(mutex_);
    asked_ += host + "\n";
    if (answer_)
      done(*answer_);
    else
      waiting_.push_back(std::move(done));
  }
  void answer(const Result<std::string>& text) {
    const std::lock_guard lock(mutex_);
    answer_ = text;
    for (const Done& done : std::exchange(waiting_, {})) done(text);
  }
  std::string asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  std::mutex mutex_;
  std::optional<Result<std::string>> answer_;
  std::vector<Done> waiting_;
  std::string asked_;
};

engine::MailServer named(const SmtpSink& sink) {
  engine::MailServer result = server(sink);
  result.host = "mail.invalid";
  return result;
}

}  // namespace

TEST_CASE("a mail goes to the address of the server's name that it was given") {
  SmtpSink sink;
  MailWorld world({named(sink)});
  Names names;
  world.options.look_up = [&](const std::string& host, Names::Done done) { names.ask(host, std::move(done)); };
  names.answer(std::string("127.0.0.1"));
  const auto mailer = world.start();
  mailer->submit(alert(1));
  CHECK(eventually([&] { return world.mail_events.count(Kinds::Sent) == 1; }));
  CHECK(names.asked().starts_with("mail.invalid\n"));
}

TEST_CASE("a name that is not answered holds neither the disk nor another server") {
  SmtpSink sink;
  MailWorld world({named(sink), server(sink)});
  world.settings.timeout = milliseconds{500};
  Names names;
  world.options.look_up = [&](const std::string& host, Names::Done done) { names.ask(host, std::move(done)); };
  const auto mailer = world.start();
  mailer->submit(alert(1));
  CHECK(eventually([&] { return world.mail_events.taken().size() == 1; }));  // while the name is asked for
  mailer->submit(alert(2));
  CHECK(eventually([&] { return world.mail_events.taken().size() == 2; }));
  CHECK(eventually([&] { return world.mail_events.count(Kinds::Sent) == 2; }));
  CHECK(contains(world.mail_events.everything(), "cannot resolve mail.invalid: no answer within 500 ms"));
}

TEST_CASE("a server whose name is not known is tried again, and the last mails go to where it was") {
  SmtpSink sink;
  MailWorld world({named(sink)});
  Names names;
  world.options.look_up = [&](const std::string& host, Names::Done done) { names.ask(host, std::move(done)); };
  names.answer(Error{0, "cannot resolve mail.invalid: no such name"});
  auto mailer = world.start();
  mailer->submit(alert(1));
  CHECK(eventually([&] { return contains(world.mail_events.everything(), "no such name"); }));
  names.answer(std::string("127.0.0.1"));
  CHECK(eventually([&] { return world.mail_events.count(Kinds::Sent) == 1; }));
  world.options.look_up = [asked = false, &names](const std::string& host, Names::Done done) mutable {
    if (!std::exchange(asked, true)) names.ask(host, std::move(done));  // nobody answers any more
  };
  mailer = world.start();
  CHECK(eventually([&] { return occurrences(names.asked(), "mail.invalid") >= 3; }));
  mailer->submit(alert(2));
  CHECK(world.stops(*mailer, sink, 2));
}

TEST_CASE("names are looked up on the loop, for any thread") {
  Loop loop;
  ServerNames names(loop, {});
  std::string found;
  std::thread asker([&] {
    names.look_up("127.0.0.1", [&](const Result<std::string>& addresses) {
      found = addresses ? *addresses : addresses.error().what;
      loop.stop();
    });
  });
  loop.run();
  asker.join();
  CHECK(found == "127.0.0.1");
}

}  // namespace mailer_names_test
