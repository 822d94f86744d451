// SPDX-License-Identifier: MIT
#include "daemon/ending.hpp"

#include <utility>

#include <spdlog/fmt/fmt.h>

#include "runtime/clock.hpp"

namespace healer {

using namespace engine;

std::vector<std::string> Ending::awaited() const {
  std::vector<std::string> texts;
  for (const std::string& what : calls_.unanswered())
    texts.push_back(fmt::format("waits, for {} at most, for {}", format_duration(grace_), what));
  return texts;
}

std::vector<std::string> Ending::awaited_now() const {
  return waits_for_answers_ ? awaited() : std::vector<std::string>();
}

void Ending::stop() {
  if (std::exchange(begun_, true)) return waits_for_answers_ ? end_waiting("it was told to end now") : loop_.stop();
  notify_.stopping();
  calls_.stop_status();
  calls_.handle(event::Stopping{.waits = true});
  calls_.stop_runs([this] {
    runs_ended_ = true;
    end_if_done();
  });
  const std::vector<std::string> waits = awaited();
  if (waits.empty()) return end_waiting({});
  waits_for_answers_ = true;
  for (const std::string& what : waits) calls_.log(Severity::Info, "healer is to end, and " + what);
  notify_.status(waits.front());
  last_moment_ = loop_.timer([this] { end_waiting(fmt::format("it was awaited for {}", format_duration(grace_))); });
  last_moment_.set_deadline(runtime::now().mono + grace_);
}

/// What has no answer by now is in doubt, for the daemon to come. `why` it is not waited for.
void Ending::end_waiting(const std::string& why) {
  waits_for_answers_ = false;
  for (const std::string& what : calls_.unanswered())
    calls_.log(Severity::Warning, fmt::format("healer ends without {}: {}", what, why));
  last_moment_ = loop_.timer([this] { loop_.stop(); });
  last_moment_.set_deadline(runtime::now().mono + seconds{10});
  calls_.handle(event::Stopping{});
  end_if_done();
}

void Ending::end_if_done() {
  if (waits_for_answers_ && calls_.unanswered().empty()) return end_waiting({});
  if (!begun_ || waits_for_answers_ || !runs_ended_ || !calls_.is_settled() || std::exchange(ending_, true)) return;
  // Whoever follows the history sees its end, and whoever has asked over HTTP his answer, for which a disk may be
  // waited for; one that does not read is not waited for.
  last_moment_.set_deadline(runtime::now().mono + seconds{1});
  calls_.end_followers([this] {
    loop_.post([this] {
      last_moment_.set_deadline(runtime::now().mono + seconds{3});
      calls_.when_quiet([this] { loop_.stop(); });
    });
  });
}

}  // namespace healer
