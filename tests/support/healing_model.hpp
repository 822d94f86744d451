// SPDX-License-Identifier: MIT
// A model of what healing may do: an account, kept from what happens in the world (answers of targets, programs,
// people's words, lists, what was recorded), that is asked of each program that is released. It is written in another
// way than the engine on purpose: it keeps no queue and decides nothing; it only knows what must not be.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "support/fleet_world.hpp"

namespace healer::test {

class HealingModel {
 public:
  explicit HealingModel(Fleet fleet) : fleet_(std::move(fleet)) {}

  // ---- what happens ------------------------------------------------------------------------------------------------

  void daemon_started(Instant now) {
    started_ = now.mono;
    sentinel_.reset();
    for (auto& [id, its] : accounts_) its.claimed.reset();  // it asks again
  }
  void judged(const std::string& service, bool well, Instant now) {
    if (service == kSentinel) {
      sentinel_ = well;
      return;
    }
    well_[service] = well;
    if (well) {
      ill_.erase(service);
      failing_.erase(service);
    } else {
      failing_.try_emplace(service, now.mono);
    }
  }
  /// The rules have these targets, and this mode over all.
  void rules(const Fleet& fleet) {
    const std::set<int> before = std::exchange(fleet_, fleet).absent;
    for (const int absent : fleet.absent) {
      const std::string name = "n" + std::to_string(absent);
      if (!before.contains(absent) && (!fleet.listed || fleet.written)) taken_away(name);
      unmonitored_.erase(name);
      paused_.erase(name);
      ill_.erase(name);
      well_.erase(name);
      failing_.erase(name);
    }
  }
  void unmonitor(const std::string& service) {
    taken_away(service);
    unmonitored_.insert(service);
    ill_.erase(service);
    failing_.erase(service);
  }
  /// It begins afresh.
  void monitor(const std::string& service) {
    if (unmonitored_.erase(service) > 0) well_.erase(service);
  }
  void pause(const std::string& service) { paused_.insert(service); }
  void resume(const std::string& service) { paused_.erase(service); }
  void pause_everything(bool on) {
    everything_ = on;
    if (!on) paused_.clear();
  }
  void lists(bool doubted, std::set<std::string> missing) {
    doubted_ = doubted;
    missing_ = std::move(missing);
  }
  /// A person asks for a healing, or for one that waits already.
  void wanted(HealingId healing, const Overrides& overrides) {
    Account& its = accounts_[healing];
    its.by_person = true;
    its.overrides = {.limit = its.overrides.limit || overrides.limit,
                     .cooldown = its.overrides.cooldown || overrides.cooldown,
                     .pause = its.overrides.pause || overrides.pause};
  }
  /// The same of one that may come of it.
  void wants(const std::string& target, const Overrides& overrides) { wants_ = std::pair(target, overrides); }
  void approved(HealingId healing) { accounts_[healing].approved = true; }
  void breaker_reset() {
    failures_.clear();
    opened_.reset();
  }

  void recorded(const Record& record) {
    using Kind = RecordKind;
    if (record.subject == 0 || record.kind < Kind::HealingAsked || record.kind > Kind::HealingFailed) return;
    const HealingId id{record.subject};
    Account& its = accounts_[id];
    const auto says = [&](std::string_view words) { return record.text.find(words) != std::string::npos; };
    switch (record.kind) {
      case Kind::HealingAsked:
        its.target = record.service;
        its.plan = "rebuild";
        if (wants_ && wants_->first == its.target && says("requested by anna")) wanted(id, wants_->second);
        break;
      case Kind::HealingHeld:
        if (!says("; requested by")) {
          its.place = false;
          its.claimed.reset();
        }
        break;
      case Kind::HealingBegun:
        its.place = true;
        if (says(" begins")) {
          its.let_go = true;
          begun_.emplace_back(its.plan, record.when);
          its.begun = true;
        }
        break;
      case Kind::HealingStep:
        if (says(": the approval by anna is void: ")) its.approved = false;
        if (says(": try ") && says(" failed: ")) its.place = false;
        if (says(" goes on with redeploy")) {
          its.place = its.approved = its.let_go = false;
          its.plan = "redeploy";
          its.begun = true;
          failed(record.when);
        }
        break;
      case Kind::HealingFailed:
        if (its.plan == "rebuild") failed(record.when);
        ended(id, record);
        break;
      case Kind::HealingEnded: ended(id, record); break;
      default: break;
    }
  }

  // ---- what is released --------------------------------------------------------------------------------------------

  /// Whether its target was taken away while it was under way: it ends as abandoned.
  [[nodiscard]] bool is_taken(HealingId healing) const {
    const auto its = accounts_.find(healing);
    return its != accounts_.end() && its->second.taken;
  }

  /// What is wrong with a place that is asked for now; empty: nothing. It has it from now on, unless it is denied.
  std::string claims(HealingId healing) {
    Account& its = accounts_[healing];
    const bool is_one_too_many = !its.place && all_places_are_taken(healing);
    its.claimed = begun_.size();
    return is_one_too_many ? fmt::format("healing {} of {} asks for a place, but as many as may are under way",
                                         healing.number(), its.target)
                           : "";
  }
  void denied(HealingId healing) { accounts_[healing].claimed.reset(); }

  /// What is wrong with a program that is released now; empty: nothing.
  std::string begins(HealingId healing, ActionId action, const std::string& program, const std::string& target,
                     Instant now) {
    Account& its = accounts_[healing];
    its.target = target;
    if (its.taken)
      return fmt::format("{} of healing {} begins, and its target {} was taken away", program, healing.number(),
                         target);
    running_.insert_or_assign(action, std::pair(healing, target));
    for (const auto& [other, whose] : running_)
      if (whose.first != healing && whose.second == target)
        return fmt::format("{} of healing {} begins, and a program of healing {} still runs", program, healing.number(),
                           whose.first.number());
    for (const auto& [id, account] : accounts_)
      if (id != healing && account.target == target && account.place)
        return fmt::format("{} of healing {} begins while healing {} of {} is under way", program, healing.number(),
                           id.number(), target);
    if (program.ends_with("guard")) {
      const std::string why = its.place ? std::string() : may_start(healing, now);
      its.place = true;
      its.claimed.reset();
      return why.empty() ? "" : fmt::format("healing {} of {} starts, but {}", healing.number(), target, why);
    }
    if (program == "undo") {
      if (!its.place && !its.claimed && all_places_are_taken(healing))
        return fmt::format("healing {} of {} is undone without a place", healing.number(), target);
      its.place = true;
      return {};
    }
    return its.let_go ? "" : fmt::format("{} of healing {} begins without a try", program, healing.number());
  }
  void program_over(ActionId action) { running_.erase(action); }
  /// The guard has said no: it is asked anew, and so are people.
  void refused(HealingId healing) {
    Account& its = accounts_[healing];
    if (!its.begun) its.approved = false;
  }
  /// What is wrong with a try that begins now: its guard has let it go.
  [[nodiscard]] std::string try_begins(HealingId healing, Instant now) {
    return held_by_people(accounts_[healing], now);
  }

 private:
  struct Account {
    std::string target{};
    std::string plan = "rebuild";
    bool place = false;
    std::optional<std::size_t> claimed{};  ///< it has asked for its place: when so many tries had begun
    bool let_go = false;                   ///< a try of its plan has begun
    bool approved = false;
    bool by_person = false;
    bool begun = false;  ///< a try of any plan has, or another plan has taken over
    bool taken = false;  ///< its target was taken away while it was under way
    Overrides overrides{};
  };

  void taken_away(const std::string& target) {
    for (auto& [id, its] : accounts_)
      if (its.target == target && (its.begun || its.place)) its.taken = true;
  }

  [[nodiscard]] bool is_present(const std::string& target) const {
    return !fleet_.absent.contains(std::stoi(target.substr(1)));
  }

  [[nodiscard]] std::string held_by_people(const Account& its, Instant now) const {
    if (!its.overrides.pause && (everything_ || paused_.contains(its.target))) return "it is paused";
    const auto minute = std::chrono::floor<minutes>(now.wall).time_since_epoch().count() % 60;
    if (!its.overrides.pause && fleet_.maintenance && minute >= 30 && minute < 40) return "there is maintenance";
    if (fleet_.listed && doubted_) return "its list is doubted";
    if (fleet_.listed && is_present(its.target) && missing_.contains(its.target))
      return "it was missing before it failed";
    if (now.mono - started_ < kCycle) return "healer has just started";
    if (fleet_.sentinel && sentinel_ != true) return "the sentinel is not known to be well";
    return {};
  }

  [[nodiscard]] std::string may_start(HealingId healing, Instant now) const {
    const Account& its = accounts_.at(healing);
    if (std::string why = held_by_people(its, now); !why.empty()) return why;
    const bool wants_approval = fleet_.over_all == HealingMode::Approval ||
                                (its.plan == "rebuild" && (fleet_.mode == HealingMode::Approval || fleet_.approval));
    if (wants_approval && !its.approved) return "nobody has approved it";
    const auto last = well_.find(its.target);
    if (!its.begun && !its.by_person && (last == well_.end() || last->second)) return "its target does not fail";
    // In the turn in which it opens a guard may have been begun just before, which is seen when it is released.
    if (its.plan == "rebuild" && opened_ && *opened_ < now.wall) return "the breaker is open";
    if (!its.overrides.limit) {
      if (!its.claimed && all_places_are_taken(healing)) return "as many as may are under way";
      if (const auto limit = within(its.plan)) {
        const auto before = std::span(begun_).first(its.claimed.value_or(begun_.size()));
        const auto begun = std::ranges::count_if(
            before, [&](const auto& one) { return one.first == its.plan && one.second > now.wall - limit->within; });
        if (static_cast<std::uint32_t>(begun) >= limit->number) return "as many as may have begun in this time";
      }
    }
    if (!its.begun && !its.by_person) {
      if (const auto ill = ill_.find(its.target); ill != ill_.end()) return "it was healed in vain";
    }
    if (const auto ended = ended_.find(its.target);
        !its.begun && !its.overrides.cooldown && ended != ended_.end() && now.wall - ended->second < kCooldown)
      return "its cooldown is not over";
    // Who is no longer in the rules is in no group.
    return its.plan == "rebuild" && !its.overrides.pause && is_present(its.target) ? storm(now) : "";
  }

  /// Those that are surely not well: they fail for longer than a look lasts that counts for no rule, or are paused.
  [[nodiscard]] std::string storm(Instant now) const {
    int whole = 0;
    int unwell = 0;
    for (int i = 0; i < fleet_.targets; ++i) {
      const std::string name = "n" + std::to_string(i);
      if (fleet_.absent.contains(i) || unmonitored_.contains(name)) continue;
      ++whole;
      const auto failing = failing_.find(name);
      if (everything_ || paused_.contains(name) ||
          (failing != failing_.end() && now.mono - failing->second > 2 * kCycle))
        ++unwell;
    }
    return whole >= 3 && 2 * unwell > whole ? fmt::format("{} of {} are not well", unwell, whole) : "";
  }

  [[nodiscard]] std::size_t places(const std::string& plan, HealingId but) const {
    return static_cast<std::size_t>(std::ranges::count_if(accounts_, [&](const auto& one) {
      return one.first != but && (one.second.place || one.second.claimed) && one.second.plan == plan;
    }));
  }
  /// By others; false where it needs none.
  [[nodiscard]] bool all_places_are_taken(HealingId healing) const {
    const Account& its = accounts_.at(healing);
    return !its.overrides.limit && places(its.plan, healing) >= at_once(its.plan);
  }
  [[nodiscard]] std::uint32_t at_once(const std::string& plan) const {
    return plan == "rebuild" ? fleet_.limits.front().number : 1;
  }
  [[nodiscard]] std::optional<HealingLimit> within(const std::string& plan) const {
    if (plan != "rebuild" || fleet_.limits.size() < 2) return std::nullopt;
    return fleet_.limits[1];
  }

  void failed(WallTime when) {
    if (!fleet_.breaker) return;
    failures_.push_back(when);
    std::erase_if(failures_, [&](WallTime one) { return one <= when - fleet_.breaker->within; });
    if (!opened_ && failures_.size() >= fleet_.breaker->failed) opened_ = when;
  }
  void ended(HealingId healing, const Record& record) {
    const Account& its = accounts_[healing];
    const bool is_dropped = record.text.find(" dropped: ") != std::string::npos;
    if (its.begun || (its.place && !is_dropped)) {
      ended_[its.target] = record.when;
      ill_.erase(its.target);
      // Who answers well when a person's healing fails stands failed by no rule: if it fails then, that is another
      // failure.
      const auto last = well_.find(its.target);
      const bool is_well = last != well_.end() && last->second;
      const bool is_abandoned = record.text.find(" abandoned: ") != std::string::npos;
      const bool watched = is_present(its.target) && !unmonitored_.contains(its.target);
      if (watched && !is_well && !is_abandoned && !record.text.ends_with(" recovered")) ill_.insert(its.target);
    }
    accounts_.erase(healing);
  }

  const Duration kCooldown = Workflow{}.cooldown;
  static constexpr Duration kCycle = seconds{1};

  Fleet fleet_;
  Duration started_{0};
  std::optional<bool> sentinel_;
  std::map<std::string, bool> well_;         ///< what each has answered last
  std::map<std::string, Duration> failing_;  ///< and since when it was no good, mono
  std::set<std::string> paused_;
  std::set<std::string> unmonitored_;
  bool everything_ = false;
  bool doubted_ = false;
  std::set<std::string> missing_;
  std::optional<std::pair<std::string, Overrides>> wants_;  ///< of whom a person has said so last
  std::map<HealingId, Account> accounts_;
  std::map<ActionId, std::pair<HealingId, std::string>> running_;  ///< whose, and of which target
  std::vector<std::pair<std::string, WallTime>> begun_;
  std::vector<WallTime> failures_;
  std::optional<WallTime> opened_;
  std::map<std::string, WallTime> ended_;
  std::set<std::string> ill_;
};

}  // namespace healer::test
