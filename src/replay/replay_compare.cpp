// SPDX-License-Identifier: MIT
// What was done beside what is done.
#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <tuple>
#include <utility>

#include "replay/replay.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

constexpr std::array<std::string_view, 3> kWho{"both", "then", "now"};
constexpr Duration kSameTime{250};

}  // namespace

std::string_view to_string(ReplayLine::Who who) { return kWho[static_cast<std::size_t>(who)]; }

std::size_t Replay::count(ReplayLine::Who who) const {
  return static_cast<std::size_t>(std::ranges::count(lines, who, &ReplayLine::who));
}

std::vector<ReplayLine> compare_actions(std::vector<ActionRecord> then, std::vector<ActionRecord> now,
                                        const Doubts& doubts) {
  const auto order = [](const ActionRecord& a) { return std::tie(a.when, a.service, a.kind, a.text); };
  const auto settle = [&](std::vector<ActionRecord>& action_records) {
    std::ranges::sort(action_records, {}, order);
    action_records.erase(std::unique(action_records.begin(), action_records.end()), action_records.end());
  };
  settle(then);
  settle(now);
  // Each of `then` with the first of `now` that is like it and in time.
  std::vector<ReplayLine> lines;
  std::map<std::tuple<std::string, ActionRecord::Kind, std::string>, std::deque<const ActionRecord*>> open;
  for (const ActionRecord& action_record : now)
    open[{to_lower(action_record.service), action_record.kind, action_record.text}].push_back(&action_record);
  std::set<const ActionRecord*> paired;
  for (const ActionRecord& action_record : then) {
    auto& alike = open[{to_lower(action_record.service), action_record.kind, action_record.text}];
    while (!alike.empty() && alike.front()->when < action_record.when - kSameTime) alike.pop_front();
    const bool both = !alike.empty() && alike.front()->when <= action_record.when + kSameTime;
    if (both) {
      paired.insert(alike.front());
      alike.pop_front();
    }
    lines.push_back({both ? ReplayLine::Who::Both : ReplayLine::Who::Then, action_record});
  }
  for (const ActionRecord& action_record : now)
    if (!paired.contains(&action_record)) lines.push_back({ReplayLine::Who::Now, action_record});
  std::ranges::stable_sort(lines, {}, [&](const ReplayLine& line) { return order(line.action_record); });
  std::set<std::string> guessed = doubts.wholly;
  for (ReplayLine& line : lines) {
    const std::string name = to_lower(line.action_record.service);
    const bool healing = line.action_record.kind == ActionRecord::Kind::Heal && doubts.healing.contains(name);
    line.may_differ = healing || guessed.contains(name) || line.action_record.when < doubts.before;
    if (healing || line.who != ReplayLine::Who::Both) guessed.insert(name);
  }
  return lines;
}

}  // namespace healer::engine
