// SPDX-License-Identifier: MIT
// The states of all rules: what each has counted, and whether it stands failed. What a run means for them is
// parts/judge's.
//
// Owns    a state a rule, in one flat array, and beside it the test of each that is no more than one test of a figure.
// Hears   that a run is to be judged; a person's words; a restart, a reload.
// Tells   nothing: what a run has decided is its answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "engine/events/evidence.hpp"
#include "engine/ids.hpp"
#include "engine/parts/judge.hpp"
#include "engine/rules/comparison.hpp"
#include "engine/rules/metric.hpp"
#include "engine/state.hpp"
#include "util/time.hpp"

namespace healer::engine {

struct Graph;
struct Rule;
struct ServiceBlock;
struct Turn;

class RuleStates {
 public:
  /// Requires: `graph`, the rules in force, outlives it.
  explicit RuleStates(const std::shared_ptr<const Graph>& graph) : graph_(graph) {}

  // ---- view
  /// Of the rules of a service, in their order. Valid until the next change.
  [[nodiscard]] std::span<const RuleState> of(ServiceId id) const {
    return std::span(states_).subspan(places_[id.index()].first, places_[id.index()].count);
  }
  [[nodiscard]] bool any_failed(ServiceId id) const;
  /// The common run, in which nothing happens: no rule counts or stands failed, and no condition holds. Requires:
  /// nothing of the service's memory is asked for.
  [[nodiscard]] bool passes(ServiceId id, const Evidence& seen) const;

  // ---- runs
  /// Judges all rules of a service.
  [[nodiscard]] Judgement judge(ServiceId id, const JudgedRun& run);
  /// They count as recovered, and their windows are emptied: the service was seen to be well. What that decides for
  /// those that stood failed until now; nothing where nobody has seen the service, `seen` being null.
  [[nodiscard]] std::vector<RuleDecision> recover(ServiceId id, const Seen* seen, WallTime now);
  /// People have been told now of what was kept from them.
  void notified(ServiceId id, std::uint32_t rule);
  /// A job for the service is done: for its rules that want one the count begins again.
  void job_done(ServiceId id);

  // ---- people
  /// Those that stand failed now are known; whether any is.
  bool acknowledge(ServiceId id);
  /// Its dormant rules act from now on. One that stood failed while it slept fires at its next failing run.
  void accept(ServiceId id, const Origin& by, Turn& turn);
  /// As if they had seen nothing; what a person accepted stays accepted.
  void forget(ServiceId id);

  // ---- life
  void resize(std::size_t services) { places_.resize(services); }
  void reserve(std::size_t rules);
  /// Makes room for the rules that the service has now, which have seen nothing: `born` is higher than the number of
  /// any action yet. Those that it had before are left behind.
  void adopt(ServiceId id, std::uint64_t born);
  /// As adopt(), where rules are what others were before: `from` has the place of each, or -1. `before` is the service
  /// as it was.
  void replace(ServiceId id, const ServiceBlock& before, std::span<const std::int32_t> from, std::uint64_t born);
  void remove(ServiceId id);
  /// `go_on`: counts go on where they were. Whether a rule was judged.
  bool restore(ServiceId id, const SavedService& saved, bool go_on);
  void save(ServiceId id, const ServiceBlock& block, SavedService& out) const;
  /// Ranges of replaced and removed services stay behind in the flat array; it is laid out again when they are the
  /// larger part.
  void compact();

 private:
  /// The condition of a rule where it is one test of a figure, or whether it is gone: flat, for the common run.
  struct PlainTest {
    enum class Kind : std::uint8_t { Other, Figure, Gone };
    double value = 0;
    Comparison comparison = Comparison::NotEqual;
    Metric what = Metric::Status;
    Kind kind = Kind::Other;

    auto operator<=>(const PlainTest&) const = default;
  };
  struct Place {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    bool resting = false;  // no rule counts or stands failed
  };
  static PlainTest plain_test(const Rule& rule);
  void add_tests(const ServiceBlock& block);
  [[nodiscard]] std::span<RuleState> edit(ServiceId id) {
    return std::span(states_).subspan(places_[id.index()].first, places_[id.index()].count);
  }

  const std::shared_ptr<const Graph>& graph_;
  std::vector<Place> places_;  // by service
  std::vector<RuleState> states_;
  std::set<PlainTest> plain_tests_;      // each once: many rules ask for the same
  std::vector<const PlainTest*> tests_;  // of the same rules: in plain_tests_
  std::size_t live_ = 0;                 // of states_; the others are left over
};

/// Whether an edit has changed what a rule does: what a person has accepted of it is another thing then.
[[nodiscard]] bool other_actions(const RuleIdentity& before, const RuleIdentity& now);

}  // namespace healer::engine
