// SPDX-License-Identifier: MIT
// A daemon in virtual time that is recorded: an engine with an observer, in a world of programs that fail by chance,
// take their time, and are told late. Wakings come late, commits later; people give commands; the daemon dies.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.hpp"
#include "engine/granting.hpp"
#include "engine/reload/diff.hpp"
#include "replay/day_recorder.hpp"
#include "support/engine_world.hpp"

namespace healer::test {

class RecordedShell final : public EffectSink {
 public:
  /// What a run of the service sees that ends now.
  using See = std::function<Evidence(ServiceId)>;

  RecordedShell(RuleSet rules, std::uint32_t seed, DayRecorder::Take take, See see)
      : graph_(make_graph(std::move(rules))), random_(seed), observer_(std::move(take)), see_(std::move(see)) {
    saved.word = {.high = 5, .low = 6};
    begin();
  }

  Instant now = World::kStart;
  std::vector<ActionRecord> action_records;  ///< all that were done
  std::uint64_t runs = 0;                    ///< that have ended
  Duration latest{20};                       ///< of a waking, or the answer to a commit
  Duration longest_run{700};
  SavedState saved;

  [[nodiscard]] Engine& engine() { return *engine_; }
  [[nodiscard]] const Graph& graph() const { return *graph_; }
  void emit(Effect effect) override { effects_.push_back(std::move(effect)); }

  int pick(int most) { return static_cast<int>(random_() % static_cast<std::uint32_t>(most)); }
  bool chance(int percent) { return pick(100) < percent; }
  Duration some(Duration most) { return Duration{pick(static_cast<int>(most.count()) + 1)}; }

  void handle(const Event& event) {
    const std::optional<Event> shown = engine_->healing().without_secrets(event);
    observer_.goes_in(shown ? *shown : event, engine_->next_deadline(), now);
    engine::handle(*engine_, event, now, *this);
    for (const Effect& effect : std::exchange(effects_, {})) {
      observer_.comes_out(effect, now);
      for (ActionRecord& action_record : action_records_of(effect)) action_records.push_back(std::move(action_record));
      perform(effect);
    }
  }

  void advance(Duration span) {
    const Duration end = now.mono + span;
    for (;;) {
      if (!woken_) {
        if (const auto deadline = engine_->next_deadline(); deadline && *deadline <= end)
          woken_ = std::max(*deadline, now.mono) + (chance(50) ? Duration{0} : some(latest));
      } else if (const auto deadline = engine_->next_deadline();
                 deadline && (*deadline > *woken_ || *deadline + latest < *woken_)) {
        woken_.reset();  // the timer was set anew
        continue;
      }
      const bool happens = !coming_.empty() && coming_.begin()->first <= end;
      if (woken_ && *woken_ <= end && (!happens || *woken_ <= coming_.begin()->first)) {
        move_to(*woken_);
        woken_.reset();
        handle(event::Wake{});
      } else if (happens) {
        auto what = coming_.extract(coming_.begin());
        move_to(what.key());
        what.mapped()();
      } else {
        break;
      }
    }
    move_to(end);
  }

  void command(event::Command::Kind kind, ServiceId service) {
    handle(event::Command{.id = CommandId{++commands_}, .kind = kind, .services = {service}, .by = ByPerson{"anna"}});
  }

  void reload(RuleSet rules) {
    const auto plan = plan_swap(*engine_->graph(), std::move(rules));
    graph_ = plan->graph;
    handle(event::Swap{plan});
  }

  /// The daemon ends, by its own will or not, and another begins a while later.
  void restart(bool in_order) {
    if (in_order) handle(event::Stopping{});
    coming_.clear();
    woken_.reset();
    move_to(now.mono + some(Duration{3000}));
    begin();
  }

 private:
  void begin() {
    const Instant made = now;
    observer_.made({.made = made, .state = std::make_shared<const SavedState>(saved), .rules = graph_});
    engine_ = std::make_unique<Engine>(graph_, utc_civil, saved, made);
    move_to(now.mono + some(Duration{9}));
    handle(event::Started{"test", {}, saved.word});
  }

  void move_to(Duration mono) {
    if (mono <= now.mono) return;
    now.wall += mono - now.mono;
    now.mono = mono;
  }

  void later(Duration delay, std::function<void()> what) { coming_.emplace(now.mono + delay, std::move(what)); }

  void perform(const Effect& effect) {
    if (const auto* measure = std::get_if<effect::Measure>(&effect)) {
      later(some(longest_run), [this, start = *measure] {
        ++runs;
        handle(event::measured(start.service, start.run, see_(start.service)));
      });
    } else if (const auto* exec = std::get_if<effect::Exec>(&effect)) {
      const Duration starts = some(Duration{40});
      later(starts, [this, action = exec->action] { handle(event::ActionStarted{action, 99, 1}); });
      later(starts + some(Duration{5000}), [this, action = exec->action, status = chance(20) ? 1 : 0] {
        handle(event::ActionEnded{.action = action, .status = status, .elapsed = Duration{3}, .output = {}});
      });
    } else if (const auto* alert = std::get_if<effect::Alert>(&effect)) {
      later(some(latest), [this, id = alert->alert] { handle(event::AlertTaken{id}); });
    } else if (const auto* commit = std::get_if<effect::Commit>(&effect)) {
      keep(saved, *commit);
      later(some(latest), [this, sequence = commit->sequence] {
        if (sequence <= acknowledged_) return;
        acknowledged_ = sequence;
        handle(event::Committed{.up_to = sequence});
      });
    }
  }

  std::shared_ptr<const Graph> graph_;
  std::mt19937 random_;
  DayRecorder observer_;
  See see_;
  std::unique_ptr<Engine> engine_;
  std::vector<Effect> effects_;
  std::multimap<Duration, std::function<void()>> coming_;
  std::optional<Duration> woken_;
  std::uint64_t commands_ = 0;
  Sequence acknowledged_ = 0;
};

/// What a check program has told: its status.
inline Evidence program_status(std::int64_t status) {
  static const auto output = std::make_shared<const std::string>("words");
  return {.status = status, .output = output};
}

}  // namespace healer::test
