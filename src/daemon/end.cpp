// SPDX-License-Identifier: MIT
// How the daemon ends, and how it tells systemd that it lives.
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "daemon/daemon_impl.hpp"

namespace healer {

using namespace engine;

/// Tells systemd that the loop lives, as often as its watchdog wants.
void Daemon::beat() {
  const auto interval = notify_.watchdog_interval();
  if (!interval) return;
  const Instant now = runtime::now();
  notify_.beat(now);
  if (!beat_) beat_.emplace(loop_.timer([this] { beat(); }));
  beat_->set_deadline(now.mono + *interval / 4);
}

/// What the end waits for, a sentence each.
std::vector<std::string> Daemon::awaited() const {
  std::vector<std::string> texts;
  for (const std::string& what : engine_->healings().askers().awaited())
    texts.push_back(fmt::format("waits, for {} at most, for {}", format_duration(options_.grace), what));
  return texts;
}

/// Checks are ended in good order, actions run on without us, requests of healings are answered or in doubt, what was
/// decided is on disk. A second signal ends the waiting for answers. Where nobody waits for any, it, or a disk that
/// does not answer, ends the daemon at once: the state is that of a crash, which loses nothing that was committed.
void Daemon::stop() {
  if (std::exchange(stopping_, true)) return waits_for_answers_ ? end_waiting("it was told to end now") : loop_.stop();
  notify_.stopping();
  status_->stop();
  handle(event::Stopping{.waits = true});
  runs_->stop([this] {
    runs_ended_ = true;
    end_if_done();
  });
  const std::vector<std::string> waits = awaited();
  if (waits.empty()) return end_waiting({});
  waits_for_answers_ = true;
  for (const std::string& what : waits) write_log(Severity::Info, "healer is to end, and " + what);
  notify_.status(waits.front());
  last_moment_ =
      loop_.timer([this] { end_waiting(fmt::format("it was awaited for {}", format_duration(options_.grace))); });
  last_moment_.set_deadline(runtime::now().mono + options_.grace);
}

/// What has no answer by now is in doubt, for the daemon to come. `why` it is not waited for.
void Daemon::end_waiting(const std::string& why) {
  waits_for_answers_ = false;
  for (const std::string& what : engine_->healings().askers().awaited())
    write_log(Severity::Warning, fmt::format("healer ends without {}: {}", what, why));
  last_moment_ = loop_.timer([this] { loop_.stop(); });
  last_moment_.set_deadline(runtime::now().mono + seconds{10});
  handle(event::Stopping{});
  end_if_done();
}

void Daemon::end_if_done() {
  if (waits_for_answers_ && engine_->healings().askers().awaited().empty()) return end_waiting({});
  if (!stopping_ || waits_for_answers_ || !runs_ended_ || journal_.acknowledged < journal_.submitted ||
      std::exchange(ending_, true))
    return;
  // Whoever follows the history sees its end, and whoever has asked over HTTP his answer, for which a disk may be
  // waited for; one that does not read is not waited for.
  last_moment_.set_deadline(runtime::now().mono + seconds{1});
  commands_->end_followers([this] {
    loop_.post([this] {
      last_moment_.set_deadline(runtime::now().mono + seconds{3});
      http_ ? http_->when_quiet([this] { loop_.stop(); }) : loop_.stop();
    });
  });
}

void Daemon::finish() {
  deliver_last();
  store_->flush();
  recorder_.reset();
  http_.reset();
  log_.stop();
  server_.reset();  // the clients of `quit` see the end now
  // What waits for a dead disk or mount must not keep the process, nor its locks: everything is safe by now.
  std::thread([] {
    std::this_thread::sleep_for(seconds{10});
    std::_Exit(0);
  }).detach();
}

}  // namespace healer
