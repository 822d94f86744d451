// SPDX-License-Identifier: MIT
#include "daemon/daemon.hpp"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>

#include <spdlog/fmt/fmt.h>

#include "daemon/daemon_impl.hpp"
#include "engine/granting.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/words/explain.hpp"

namespace healer {

using namespace engine;

namespace {

constexpr std::size_t kMostSpare = 256;  // effects, of which the room is kept

}  // namespace

// ---- events and effects -------------------------------------------------------------------------------------------

void Daemon::handle(const Event& event) {
  const Instant now = runtime::now();
  const std::optional<Event> shown = engine_->healing().without_secrets(event);
  const bool woken = std::holds_alternative<event::Wake>(event);
  publisher_.publish(happening::Notified{
      .event = shown ? *shown : event, .due = woken ? engine_->next_deadline() : std::nullopt, .now = now});
  engine::handle(*engine_, event, now, *this);
  // Effects never call back into the engine: what they lead to comes as an event of its own, in a later turn.
  std::vector<Effect> effects = std::exchange(effects_, std::exchange(spare_, {}));
  for (Effect& effect : effects) {
    publisher_.publish(happening::Asked{.effect = effect, .now = now});
    std::visit(
        [this]<typename Known>(Known& known) {
          if constexpr (!std::is_same_v<Known, effect::Claim>) perform(known);  // which is granted already
        },
        effect);
  }
  if (effects.capacity() <= kMostSpare) {
    effects.clear();
    spare_ = std::move(effects);
  }
  if (!std::exchange(deadline_moves_, true)) loop_.at_end_of_turn([this] { set_deadline(); });
}

void Daemon::perform(effect::Measure& effect) {
  const auto& block = engine_->graph()->slots[effect.service.index()];
  if (effect.document == nullptr && block->is_listed()) return lists_->look(effect, *block);
  measuring_->measure(effect, block);
}

void Daemon::perform(effect::CancelRun& effect) {
  measuring_->cancel(effect.run);
  lists_->cancel(effect.run);
}

void Daemon::perform(effect::Exec& effect) { acting_->start(effect); }

void Daemon::perform(effect::EndAction& effect) { acting_->end(effect); }

void Daemon::perform(effect::Watch& effect) { acting_->watch(effect); }

void Daemon::perform(effect::Signal& effect) { measuring_->signal(effect); }

void Daemon::perform(effect::Adopt& effect) { acting_->adopt(effect); }

void Daemon::perform(effect::Request& effect) { acting_->request(std::move(effect)); }

void Daemon::perform(effect::EndRequest& effect) { acting_->end(effect); }

void Daemon::perform(effect::Commit& effect) {
  const bool recovers =
      std::ranges::find(effect.records, RecordKind::RuleRecovered, &Record::kind) != effect.records.end();
  if (recovers && lists_->awaits_recovery()) loop_.post([this] { lists_->see(); });
  journal_.submit(std::move(effect));
}

void Daemon::perform(effect::Reply& effect) { commands_->reply(effect); }

Journal::Calls Daemon::journal_calls() {
  return {.handle = [this](const Event& event) { handle(event); },
          .log = logs(),
          .is_kept = [this](ActionId action) { return acting_->keeps(action); },
          .settle = [this](const std::vector<ActionId>& actions) { acting_->settle(actions); },
          .settled =
              [this](Sequence up_to) {
                publisher_.publish(happening::Settled{.up_to = up_to});
                ending_.end_if_done();
              }};
}

// ---- what people and systemd ask for ------------------------------------------------------------------------------

/// SIGHUP: as `reload`, and the log file is reopened (it may have been rotated).
void Daemon::hang_up() {
  log_.reopen();
  reload_->reload(false, {});
}

/// SIGUSR1, as Monit: everything is checked now. It does not count as a cycle.
void Daemon::wake_all() {
  handle(event::Command{.id = CommandId{0},
                        .kind = event::Command::Kind::Validate,
                        .services = engine_->graph()->order,
                        .by = ByPerson{.name = "SIGUSR1", .via = Via::Signal}});
}

/// What systemd shows of the daemon: "3 services, 1 failed".
std::string Daemon::unit_status() const {
  control::Totals totals;
  for (const ServiceId id : engine_->graph()->order) totals.add(to_string(condition_of(*engine_, id)));
  std::string text = fmt::format("{} service{}", totals.services, totals.services == 1 ? "" : "s");
  for (const auto& [count, word] : {std::pair(totals.failed, "failed"),
                                    {totals.given_up, "given up"},
                                    {totals.failing, "failing"},
                                    {totals.unknown, "unknown"},
                                    {totals.unmonitored, "not monitored"}})
    if (count != 0) text += fmt::format(", {} {}", count, word);
  if (const auto& stale = reload_->stale()) text += fmt::format("; the rules on disk are not loaded: {}", stale->error);
  return text;
}

/// Tells systemd that the loop lives, as often as its watchdog wants.
void Daemon::beat() {
  const auto interval = notify_.watchdog_interval();
  if (!interval) return;
  const Instant now = runtime::now();
  notify_.beat(now);
  if (!beat_) beat_.emplace(loop_.timer([this] { beat(); }));
  beat_->set_deadline(now.mono + *interval / 4);
}

// ---- the end ------------------------------------------------------------------------------------------------------

Ending::Calls Daemon::ending_calls() {
  return {.handle = [this](const Event& event) { handle(event); },
          .log = logs(),
          .stop_status = [this] { status_->stop(); },
          .stop_runs = [this](Ending::Callback done) { measuring_->stop_runs(std::move(done)); },
          .unanswered = [this] { return engine_->healings().askers().awaited(); },
          .is_settled = [this] { return journal_.is_settled(); },
          .end_followers = [this](Ending::Callback done) { commands_->end_followers(std::move(done)); },
          .when_quiet = [this](Ending::Callback done) { http_ ? http_->when_quiet(std::move(done)) : done(); }};
}

void Daemon::finish() {
  deliver_last();
  journal_.store().flush();
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

namespace {

/// Whether the rules that were last good keep the daemon in the foreground (`set init`): in a container its going would
/// be the end of all.
bool stayed_in_foreground(const Options& options, const std::string& state_file) {
  auto reader = store::open_read_only(state_file);
  if (!reader) return false;
  auto sources = (*reader)->load_sources();
  if (!sources || sources->empty()) return false;
  const LoadedRules last_good = load_saved_rules(options, std::move(*sources));
  return last_good.result.ok() && last_good.result.rules->settings.foreground;
}

}  // namespace

int run_daemon(const Options& options) {
  LoadedRules loaded = load_rules(options);
  std::cerr << loaded.text(isatty(STDERR_FILENO) != 0 && !options.batch && std::getenv("NO_COLOR") == nullptr);
  Settings settings = loaded.result.ok() ? loaded.result.rules->settings : loaded.result.named;
  apply(options, settings);
  if (!loaded.result.ok() && !settings.foreground)
    settings.foreground = stayed_in_foreground(options, paths_of(settings).state_file);

  Result<Background> background = settings.foreground ? Background::foreground() : Background::enter();
  if (!background) {
    std::cerr << "healerd: " << background.error().what << '\n';
    return 1;
  }
  Daemon daemon(options, paths_of(settings), std::move(*background));
  if (auto started = daemon.start(std::move(loaded)); !started) {
    daemon.failed(started.error().what);
    return 1;
  }
  // The tree that the rules were made of is gone, and what it took of memory would stay with the daemon for good. Not
  // after a reload: the loop would wait meanwhile.
  malloc_trim(0);
  daemon.run();
  return 0;
}

}  // namespace healer
