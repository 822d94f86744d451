// SPDX-License-Identifier: MIT
// Healings and what is remembered of them, with every field set at random, the same for the same seed.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "engine/healing/healing.hpp"
#include "engine/healing/step_runs.hpp"
#include "store/healing_fields.hpp"

namespace healer::store::test {

using namespace engine;

class AnyHealing {
 public:
  explicit AnyHealing(std::uint64_t seed) : random_(seed) {}

  Healing healing(std::uint64_t id) {
    Healing healing;
    fill(healing);
    healing.id = HealingId(id);
    // As it may be in its stage.
    if (healing.stage() == Healing::Stage::Guarding && !healing.plan->guard) healing.at = stage::Between{};
    if (auto* const guarding = std::get_if<stage::Guarding>(&healing.at))
      guarding->run.state = pick(2) == 0 ? StepRun::State::Running : StepRun::State::Ending;
    if (stage::Progress* const progress = healing.progress()) {
      auto detour = std::exchange(progress->detour, std::nullopt);
      progress->position = pick(static_cast<std::uint32_t>(healing.steps().size()) + 1);
      settle(healing.steps(), progress->position, progress->under_way);
      if (detour) {
        settle(healing.steps(), detour->position, detour->under_way);
        detour->of_plan = false;
      }
      progress->detour = std::move(detour);
    }
    return healing;
  }
  template <typename Struct>
  Struct any() {
    Struct value;
    fill(value);
    return value;
  }
  /// A step of that alternative of StepWhat.
  Step step(std::size_t kind) {
    Step step;
    fill(step);
    fill_kind(step.what, kind, std::make_index_sequence<kKinds>());
    return step;
  }
  std::uint32_t pick(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }

 private:
  static constexpr std::size_t kKinds = std::variant_size_v<StepWhat>;

  template <typename... Values>
  void all(Values&... values) {
    (fill(values), ...);
  }

  void fill(bool& value) { value = pick(2) == 0; }
  template <std::integral Number>
  void fill(Number& value) {
    value = static_cast<Number>(pick(4) == 0 ? std::numeric_limits<Number>::max() - pick(3) : random_());
  }
  void fill(double& value) { value = static_cast<double>(random_() % 100'000) / 7; }
  void fill(Origin& by) {
    ByPerson person;
    fill(person.name);
    HealingId healing;
    fill(healing);
    by = std::array<Origin, 4>{ByDaemon{}, ByRule{}, ByHealing{.id = healing}, std::move(person)}[pick(4)];
  }
  void fill(std::string& text) {
    static const std::array<std::string, 9> kTexts{"",
                                                   "plain",
                                                   "two words",
                                                   "\xc3\xbc \xf0\x9f\x98\x80",
                                                   "quote \" \\ / it's",
                                                   std::string("\0\1\x7f\n", 4),
                                                   "bad \xff\xfe",
                                                   "\xed\xa0\x80",
                                                   "\xc3"};
    text = kTexts[pick(kTexts.size())];
    if (pick(2) == 0) text += std::to_string(pick(1000));
  }
  void fill(Duration& value) { value = Duration{static_cast<std::int64_t>(random_() % 600'000'000'000'000)}; }
  void fill(WallTime& value) {
    value = WallTime{Duration{static_cast<std::int64_t>(random_() % 600'000'000'000'000) - 300'000'000'000'000}};
  }
  void fill(Hash128& value) { value = {random_(), random_()}; }
  template <typename Tag, typename Number>
  void fill(Id<Tag, Number>& id) {
    id = Id<Tag, Number>(static_cast<Number>(random_()));
  }
  template <typename T>
  void fill(std::optional<T>& value) {
    value.reset();
    T made{};
    fill(made);
    if (pick(2) == 0) value = std::move(made);
  }
  template <typename T>
  void fill(Sparse<T>& value) {
    fill(value.edit());
  }
  template <typename T>
  void fill(std::vector<T>& values) {
    values.resize(pick(3));
    for (T& value : values) fill(value);
  }
  template <typename A, typename B>
  void fill(std::pair<A, B>& pair) {
    all(pair.first, pair.second);
  }
  void fill(Variables& variables) {
    for (auto i = pick(4); i > 0; --i) {
      std::pair<std::string, std::string> pair;
      fill(pair);
      variables.insert(pair);
    }
  }
  template <typename T>
  void fill(std::shared_ptr<const T>& value) {
    value = std::make_shared<const T>(any<T>());
  }

  void fill(Saving::From& value) { value = static_cast<Saving::From>(pick(3)); }
  void fill(Bringing& value) { value = static_cast<Bringing>(pick(3)); }
  void fill(Comparison& value) { value = static_cast<Comparison>(pick(6)); }
  void fill(Brake& value) { value = static_cast<Brake>(pick(kBrakes)); }
  void fill(HealingMode& value) { value = static_cast<HealingMode>(pick(4)); }
  void fill(EventKind& value) { value = static_cast<EventKind>(pick(kEventKinds)); }
  void fill(effect::Cause::State& value) { value = static_cast<effect::Cause::State>(pick(3)); }
  /// Runs as they may be under way at that place.
  static void settle(const std::vector<Step>& steps, std::uint32_t& position, std::vector<StepRun>& runs) {
    if (position >= steps.size()) {
      position = static_cast<std::uint32_t>(steps.size());
      runs.clear();
      return;
    }
    runs.resize(runs_of(steps[position]));
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const auto* const http = std::get_if<step::Http>(&step_of(steps[position], i).what);
      StepRun::State& state = runs[i].state;
      if (state == StepRun::State::Polling && (http == nullptr || !http->until || !runs[i].due))
        state = StepRun::State::Done;
      if (state == StepRun::State::Requesting && http == nullptr) state = StepRun::State::Failed;
    }
  }

  void fill(StepRun::State& value) { value = static_cast<StepRun::State>(pick(11)); }
  void fill(HealingEnd& value) { value = static_cast<HealingEnd>(pick(11)); }
  /// Not Claiming: a seed makes what it always made.
  void fill(Healing::Stage& value) {
    const std::uint32_t stage = pick(8);
    value =
        static_cast<Healing::Stage>(stage + (stage >= static_cast<std::uint32_t>(Healing::Stage::Claiming) ? 1 : 0));
  }

  void fill(StepWhat& what) {
    // `parallel` is not within another. What comes behind it is made by step() alone: a seed makes what it always made.
    const auto parallel = static_cast<std::uint32_t>(StepWhat(step::Parallel{}).index());
    fill_kind(what, pick(within_ ? parallel : parallel + 1), std::make_index_sequence<kKinds>());
  }
  template <std::size_t... indices>
  void fill_kind(StepWhat& what, std::size_t kind, std::index_sequence<indices...>) {
    (void)((kind == indices && (fill(what.emplace<indices>()), true)) || ...);
  }
  void fill(step::Parallel& parallel) {
    const bool before = std::exchange(within_, true);
    fill(parallel.steps);
    within_ = before;
  }

  // All fields, by name or number: a struct that gains one does not compile until it is here.
  template <typename Struct>
  requires std::is_aggregate_v<Struct>
  void fill(Struct& value) {
    if constexpr (is<Struct, step::Wait, step::Tell, step::Note, step::Escalate>) {
      auto& [a] = value;
      all(a);
    } else if constexpr (is<Struct, step::Bring, step::Recovered, Breaker, Trigger>) {
      auto& [a, b] = value;
      all(a, b);
    } else if constexpr (is<Struct, Command, Detour, Guard, PauseWhile, Approval, SourcePlace, Overrides,
                            WorkflowMemory::Try>) {
      auto& [a, b, c] = value;
      all(a, b, c);
    } else if constexpr (is<Struct, Saving, JsonTest, step::Program, HealingLimit, Deadline, effect::Cause::Process>) {
      auto& [a, b, c, d] = value;
      all(a, b, c, d);
    } else if constexpr (is<Struct, Identity, step::Until, step::Http, StepOutcome>) {
      auto& [a, b, c, d, e] = value;
      all(a, b, c, d, e);
    } else if constexpr (is<Struct, Step, ClosedBrake>) {
      auto& [a, b, c, d, e, f] = value;
      all(a, b, c, d, e, f);
    } else if constexpr (is<Struct, WorkflowMemory::Counts>) {
      auto& [a, b, c, d, e, f, g, h] = value;
      all(a, b, c, d, e, f, g, h);
    } else if constexpr (is<Struct, StepRun, HttpRequest>) {
      auto& [a, b, c, d, e, f, g, h] = value;
      all(a, b, c, d, e, f, g, h);
    } else if constexpr (is<Struct, TargetMemory, WorkflowMemory>) {
      auto& [a, b, c, d, e, f, g, h, i] = value;
      all(a, b, c, d, e, f, g, h, i);
    } else if constexpr (is<Struct, effect::Cause>) {
      auto& [a, b, c, d, e, f, g, h, i, j, k, l] = value;
      all(a, b, c, d, e, f, g, h, i, j, k, l);
    } else if constexpr (is<Struct, Workflow>) {
      auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = value;
      all(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
    } else {
      static_assert(is<Struct, Healing>);
      auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, at, q, r, s, t, u, v, w, x, y, z, aa, bb, cc, dd, ee, ff, gg,
             hh] = value;
      store::healing_fields::SavedStage stage;
      auto& [reason, held_by, not_before] = stage.waiting;
      auto& [position, under_way, detour] = stage.progress;
      all(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, stage.stage, reason, held_by, not_before, q, r, s, t, u, v, w,
          position, under_way, detour, x, y, z, aa, bb, cc, dd, ee, ff, gg, hh);
      at = stage.restored();
    }
  }
  template <typename T, typename... Ts>
  static constexpr bool is = (std::is_same_v<T, Ts> || ...);

  std::mt19937_64 random_;
  bool within_ = false;
};

/// Whether all fields are equal; operator== of a plan asks for its key alone.
inline bool same(const Workflow& left, const Workflow& right) {
  const auto tied = [](const Workflow& plan) {
    const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = plan;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
  };
  return tied(left) == tied(right);
}

inline bool same(const effect::Cause& left, const effect::Cause& right) {
  const auto tied = [](const effect::Cause& cause) {
    const auto& [a, b, c, d, e, f, g, h, i, j, k, l] = cause;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
  };
  return tied(left) == tied(right);
}

template <typename T>
bool same(const std::shared_ptr<const T>& left, const std::shared_ptr<const T>& right) {
  return left && right ? same(*left, *right) : left == right;
}

inline bool same(const Healing& left, const Healing& right) {
  const auto tied = [](const Healing& healing) {
    const auto& [id, target, service, rule, by, cause, workflow, plan, dry_run, overrides, overridden_by, also, row,
                 asked, mode, at, approved_by, approved_early, seen, refused, notified_long, held_since, round,
                 outcomes, saved, begun, failure, cancelled_by, abandoned, queued, escalated, cleared, in_probation,
                 identity] = healing;
    return std::tie(id, target, service, rule, by, workflow, dry_run, overrides, overridden_by, also, row, asked, mode,
                    at, approved_by, approved_early, seen, refused, notified_long, held_since, round, outcomes, saved,
                    begun, failure, cancelled_by, abandoned, queued, escalated, cleared, in_probation, identity);
  };
  return tied(left) == tied(right) && same(left.cause, right.cause) && same(left.plan, right.plan);
}

inline bool same(const TargetMemory& left, const TargetMemory& right) {
  TargetMemory without = left;
  without.plan = right.plan;
  return without == right && same(left.plan, right.plan);
}

}  // namespace healer::store::test
