// SPDX-License-Identifier: MIT
#include "delivery/mailer_world.hpp"

namespace healer::test {

delivery::MailerCallbacks MailEvents::callbacks() {
  return {[this](engine::Event event) {
            const std::lock_guard lock(mutex_);
            if (const auto* taken = std::get_if<engine::event::AlertTaken>(&event))
              taken_.push_back(taken->alert.number());
            if (const auto* outcome = std::get_if<MailOutcome>(&event)) outcomes_.push_back(*outcome);
          },
          [this](engine::Severity, std::string text) {
            const std::lock_guard lock(mutex_);
            log_ += text + "\n";
          }};
}

std::vector<std::uint64_t> MailEvents::taken() const {
  const std::lock_guard lock(mutex_);
  return taken_;
}

std::size_t MailEvents::count(Kinds kind) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::ranges::count_if(outcomes_, [kind](const MailOutcome& outcome) { return outcome.kind == kind; }));
}

std::string MailEvents::everything() const {
  const std::lock_guard lock(mutex_);
  std::string text = log_;
  for (const MailOutcome& outcome : outcomes_) text += outcome.text + "\n";
  return text;
}

engine::effect::Alert alert(std::uint64_t number, std::vector<std::string> addresses) {
  auto cause = std::make_shared<engine::effect::Cause>();
  cause->service = "service-" + std::to_string(number);
  cause->event_text = "Status failed";
  cause->action_text = "alert";
  cause->description = "status failed (1) -- no output";
  cause->when = WallTime{seconds{1'795'234'764}};
  engine::effect::Alert result;
  result.alert = engine::AlertId{number};
  for (std::string& address : addresses) result.recipients.push_back({.address = std::move(address), .format = {}});
  result.cause = std::move(cause);
  return result;
}

engine::MailServer server(const SmtpSink& sink) {
  engine::MailServer result;
  result.host = "127.0.0.1";
  result.port = sink.port();
  return result;
}

std::unique_ptr<delivery::Mailer> MailWorld::start() {
  return std::make_unique<delivery::Mailer>(options, settings, cycle, mail_events.callbacks());
}

bool MailWorld::stops(delivery::Mailer& mailer, const SmtpSink& sink, std::size_t count) {
  mailer.stop();
  if (sink.count() == count) return true;
  const auto next = start();
  return eventually([&] { return sink.count() == count; });
}

void KilledMailers::run(const MailWorld& world, const std::function<engine::effect::Alert(std::uint64_t)>& make,
                        unsigned seed) {
  std::mt19937 random(seed);
  while (taken < total && kills < 200) {
    int ends[2];
    if (pipe(ends) != 0) return;
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      tell_and_wait(world, make, ends[1]);
    }
    close(ends[1]);
    std::uint64_t word = 0;
    const std::uint64_t until = random() % (handed + 1);
    for (std::uint64_t i = 0; i < until && taken < total && read(ends[0], &word, sizeof word) == sizeof word; ++i)
      taken = std::max(taken, word);
    usleep(static_cast<useconds_t>(random() % longest));
    kill(child, SIGKILL);
    ++kills;
    while (read(ends[0], &word, sizeof word) == sizeof word) taken = std::max(taken, word);
    close(ends[0]);
    waitpid(child, nullptr, 0);
  }
}

[[noreturn]] void KilledMailers::tell_and_wait(const MailWorld& world,
                                               const std::function<engine::effect::Alert(std::uint64_t)>& make,
                                               int end) const {
  delivery::MailerCallbacks callbacks{[end](const engine::Event& event) {
                                        const auto* it = std::get_if<engine::event::AlertTaken>(&event);
                                        if (it == nullptr) return;
                                        const std::uint64_t word = it->alert.number();
                                        if (write(end, &word, sizeof word) < 0) _exit(1);
                                      },
                                      [](engine::Severity, const std::string&) {}};
  delivery::Mailer mailer(world.options, world.settings, world.cycle, callbacks);
  for (std::uint64_t i = taken + 1; i <= std::min(taken + handed, total); ++i) mailer.submit(make(i));
  for (;;) pause();
}

std::vector<int> received(const SmtpSink& sink) {
  std::vector<int> result;
  for (const std::string& mail : sink.mails()) {
    const std::size_t at = mail.find("service-");
    result.push_back(at == std::string::npos ? -1 : std::stoi(mail.substr(at + 8)));
  }
  return result;
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

}  // namespace healer::test
