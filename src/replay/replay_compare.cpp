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

std::vector<ReplayLine> compare_deeds(std::vector<Deed> then, std::vector<Deed> now, const Doubts& doubts) {
  const auto order = [](const Deed& a) { return std::tie(a.when, a.service, a.kind, a.text); };
  const auto settle = [&](std::vector<Deed>& deeds) {
    std::ranges::sort(deeds, {}, order);
    deeds.erase(std::unique(deeds.begin(), deeds.end()), deeds.end());
  };
  settle(then);
  settle(now);
  // Each of `then` with the first of `now` that is like it and in time.
  std::vector<ReplayLine> lines;
  std::map<std::tuple<std::string, Deed::Kind, std::string>, std::deque<const Deed*>> open;
  for (const Deed& deed : now) open[{to_lower(deed.service), deed.kind, deed.text}].push_back(&deed);
  std::set<const Deed*> paired;
  for (const Deed& deed : then) {
    auto& alike = open[{to_lower(deed.service), deed.kind, deed.text}];
    while (!alike.empty() && alike.front()->when < deed.when - kSameTime) alike.pop_front();
    const bool both = !alike.empty() && alike.front()->when <= deed.when + kSameTime;
    if (both) {
      paired.insert(alike.front());
      alike.pop_front();
    }
    lines.push_back({both ? ReplayLine::Who::Both : ReplayLine::Who::Then, deed});
  }
  for (const Deed& deed : now)
    if (!paired.contains(&deed)) lines.push_back({ReplayLine::Who::Now, deed});
  std::ranges::stable_sort(lines, {}, [&](const ReplayLine& line) { return order(line.deed); });
  std::set<std::string> guessed = doubts.wholly;
  for (ReplayLine& line : lines) {
    const std::string name = to_lower(line.deed.service);
    const bool healing = line.deed.kind == Deed::Kind::Heal && doubts.healing.contains(name);
    line.may_differ = healing || guessed.contains(name) || line.deed.when < doubts.before;
    if (healing || line.who != ReplayLine::Who::Both) guessed.insert(name);
  }
  return lines;
}

}  // namespace healer::engine
