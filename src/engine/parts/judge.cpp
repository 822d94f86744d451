// SPDX-License-Identifier: MIT
#include "engine/parts/judge.hpp"

#include <optional>

#include <spdlog/fmt/fmt.h>

#include "engine/judging/counting.hpp"
#include "engine/rules/service.hpp"
#include "engine/words/cause.hpp"

namespace healer::engine {
namespace {

/// Judges one rule after the other.
class Judge {
 public:
  Judge(const JudgedRun& run, std::span<RuleState> states) : run_(run), states_(states) {}

  Judgement all() {
    for (std::uint32_t i = 0; i < states_.size(); ++i)
      if (const std::optional<bool> bad = is_bad(i)) one(i, *bad);
    // One cause a rule; repeats and reminders of it share the text.
    for (RuleDecision& decision : done_.decisions) decision.cause = cause(decision);
    return std::move(done_);
  }

 private:
  using What = RuleDecision::What;

  [[nodiscard]] const Rule& rule(std::uint32_t i) const { return run_.block.rules[i]; }

  void decide(std::uint32_t i, What what) {
    done_.decisions.push_back({.rule = i,
                               .what = what,
                               .count = what == What::Fire ? 1 : states_[i].since_fired,
                               .fired = rule(i)->mode == Mode::Latched ? fired(i) : run_.now.wall});
  }

  /// Requires: it stands failed.
  [[nodiscard]] WallTime fired(std::uint32_t i) const { return states_[i].past->changed.value_or(WallTime{}); }

  /// Whether the condition of a rule holds; none: it says nothing of this run.
  [[nodiscard]] std::optional<bool> is_bad(std::uint32_t i) const {
    const std::optional<bool> result = holds(*rule(i)->condition, run_.seen);
    // A process that is still down has not recovered from its restart limit, whatever this run counts.
    const bool still_down = result == false && rule(i)->counts_restarts() && states_[i].status == RuleStatus::Failed &&
                            run_.block.has_process() && process_of(run_.seen.run) == nullptr;
    return still_down ? std::nullopt : result;
  }

  void one(std::uint32_t i, bool bad) {
    const RuleState before = states_[i];
    RuleState& now = states_[i];
    if (rule(i)->mode == Mode::Latched)
      latched(i, bad);
    else if (run_.counted ? count_each(rule(i), now, bad, run_.now.mono)
                          : bad && rule(i)->mode == Mode::EachMatch && rule(i)->tolerance.immediate())
      decide(i, What::Fire);
    now.judged = now.judged || run_.counted || now.status != before.status;
    done_.failed = done_.failed || (bad && !rule(i)->counts_restarts());  // that it was restarted is no failure now
    done_.changed = done_.changed || now != before || (run_.counted && now.counting());
  }

  void latched(std::uint32_t i, bool bad) {
    RuleState& now = states_[i];
    switch (run_.counted ? count_latched(rule(i), now, bad, run_.now.mono) : peek_latched(rule(i), now, bad)) {
      case Verdict::Fire: return fire(i);
      case Verdict::Recover: return recover(i);
      case Verdict::Failing: return stay_failed(i, bad);
      case Verdict::Nothing:
        if (bad && !run_.counted) return try_again(i);
        if (bad && !rule(i)->counts_restarts())
          done_.tolerated.push_back(fmt::format("{} (tolerance not met yet: {})",
                                                describe(run_.block, rule(i), run_.seen, true), rule(i)->text));
    }
  }

  void fire(std::uint32_t i) {
    RuleState& now = states_[i];
    now.status = RuleStatus::Failed;
    now.window = {1};
    now.since_fired = 1;
    now.past.set(&RulePast::again, rule(i)->action.is_job() ? Window{~std::uint64_t{0}} : Window{});
    now.past.set(&RulePast::changed, run_.now.wall);
    now.notified = run_.in_maintenance ? Notified::Kept : Notified::Alerted;
    decide(i, What::Fire);
  }

  void recover(std::uint32_t i) {
    RuleState& now = states_[i];
    done_.decisions.push_back({.rule = i, .what = What::Recover, .notified = now.notified, .fired = fired(i)});
    now.status = RuleStatus::Ok;
    now.notified = Notified::Alerted;
    now.window = {};
    now.since_fired = 0;
    now.past.set(&RulePast::again, {});
    now.past.set(&RulePast::clear_since, {});
    now.past.set(&RulePast::changed, run_.now.wall);
  }

  void stay_failed(std::uint32_t i, bool bad) {
    RuleState& now = states_[i];
    const Action& action = rule(i)->action;
    ++now.since_fired;
    if (action.is_job()) now.past.edit().again.push(bad, 64);
    const bool repeats = action.repeat != 0 && now.since_fired % action.repeat == 0;
    if (!bad) {
      if (repeats && rule(i)->newer_counting) decide(i, What::Repeat);
      return;
    }
    if (rule(i)->each_run) return decide(i, What::Fire);
    if (action.is_job() && due_again(rule(i), now, run_.now.mono)) decide(i, What::Again);
    if (action.kind == ActionKind::Unmonitor) decide(i, What::Again);  // held back while its target was healed
    if (now.notified == Notified::Kept && !run_.in_maintenance) decide(i, What::Tell);
    if (repeats) decide(i, What::Repeat);
    decide(i, What::Remind);
  }

  /// A run that does not count moves nothing; but what is down is not left down until the next that does, nor what has
  /// died before anybody had seen that its start had done good; nor is it kept from people any longer than it must.
  void try_again(std::uint32_t i) {
    const RuleState& now = states_[i];
    const Reason reason = run_.reason;
    if (now.status == RuleStatus::Failed && now.notified == Notified::Kept && !run_.in_maintenance)
      decide(i, What::Tell);
    if (reason == Reason::Asked || reason == Reason::Member || reason == Reason::Healing) return;
    if (now.status != RuleStatus::Failed || !rule(i)->action.is_job()) return;
    if (due_again(rule(i), now, run_.now.mono) || (reason == Reason::Death && rule(i)->tolerance.immediate()))
      decide(i, What::Again);
  }

  [[nodiscard]] std::shared_ptr<const effect::Cause> cause(const RuleDecision& decision) {
    const Rule& its = rule(decision.rule);
    const bool recovered = decision.what == What::Recover;
    Sparse<RulePast>& past = states_[decision.rule].past;
    if (decision.what == What::Fire) {
      const EventKind event = event_of(its, run_.seen);
      past.set(&RulePast::event, event == its->event ? std::nullopt : std::optional(event));
    }
    auto why = cause_of(run_.block, its, run_.seen, past->event.value_or(its->event), recovered, run_.now.wall);
    if (recovered) past.set(&RulePast::event, {});
    return why;
  }

  const JudgedRun& run_;
  std::span<RuleState> states_;
  Judgement done_;
};

}  // namespace

Judgement judge(const JudgedRun& run, std::span<RuleState> states) { return Judge(run, states).all(); }

}  // namespace healer::engine
