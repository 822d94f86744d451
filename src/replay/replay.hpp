// SPDX-License-Identifier: MIT
// The replay: an engine with today's rules, or others, is given the events of a recorded day, and its actions are
// compared with what was actually done. It is the same engine that supervises machines; with the rules of that day it
// does what was done then, to the millisecond, since it is told the same at the same instants.
//
// If the rules differ, it asks for runs at other times, and for programs that were not started then. A run that was not
// made is answered with the last known evidence; a program that did not run then takes a second and succeeds. So what a
// service does after its first difference is a guess, and is marked as one.
//
// The rules of each time are recorded, too. Where the rules of the replay are the same as those at the end of the day,
// the rules in force at each time are used, so that a day with edits is replayed exactly. Where they are different,
// they are used from the beginning.
//
// A service exists from the moment at which it appears in the recording. A service that only these rules have, without
// any recording, is left out of everything; what it could have affected is marked as a guess.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/rules/graph.hpp"
#include "engine/rules/rule_set.hpp"
#include "replay/action_record.hpp"
#include "replay/recorded.hpp"
#include "util/time.hpp"

namespace healer::engine {

/// What is compared.
struct Span {
  WallTime since{};
  WallTime until{};
  [[nodiscard]] bool holds(WallTime when) const { return since <= when && when < until; }
};

/// A deed of one of the two, or of both.
struct ReplayLine {
  enum class Who : std::uint8_t { Both, Then, Now } who = Who::Both;
  ActionRecord action_record;
  bool may_differ = false;  ///< it comes after a difference of its service, or what it depends on was not recorded
};
[[nodiscard]] std::string_view to_string(ReplayLine::Who who);  ///< "both", "then", "now"

/// Something about the recording that the reader of the comparison has to know.
struct ReplayNote {
  WallTime when{};
  std::string text;
};

/// Rules of the recorded time, from their text.
struct DayRules {
  WallTime since{};
  RuleSet rules;
};

struct Replay {
  std::vector<ReplayLine> lines;  ///< by time
  std::vector<ReplayNote> notes;  ///< by time
  WallTime from{};                ///< of what is compared, as far as it is recorded
  WallTime to{};
  std::uint64_t runs = 0;              ///< judged in that time
  std::vector<std::string> unknown{};  ///< services of that day that the rules do not have
  std::vector<std::string> unseen{};   ///< services of the rules, but composites, of which nothing was recorded
  std::vector<std::string>
      unmonitored{};                   ///< that were there, but were not monitored, so that nothing was seen of them
  std::vector<std::string> edited{};   ///< that a reload has edited, and that are played as they were at each time
  std::vector<std::string> unasked{};  ///< services whose rules ask for what was not recorded: a content, a connection
  [[nodiscard]] std::size_t count(ReplayLine::Who who) const;
};

/// Plays the whole recording, again where only its end says which services there were, and compares what lies within
/// `span`. `day`: the rules of that time, by recorded::TextNumber; `throughout`: `rules` are played all the time, also
/// where they were edited.
[[nodiscard]] Replay replay(const RuleSet& rules, recorded::Source& recording, const Span& span,
                            const CivilClock& civil = utc_civil, std::vector<DayRules> day = {},
                            bool throughout = false);

/// What cannot be known, by names of services in lower case.
struct Doubts {
  std::set<std::string> wholly;   ///< all that these do
  std::set<std::string> healing;  ///< their healings, and what they do after one
  WallTime before{};              ///< all that was done before: the rules of that time are not known
};

/// Both sides beside each other. Deeds are the same where service, kind and text are, and the times no more than a
/// quarter of a second apart; several that are alike at the same time count as one.
[[nodiscard]] std::vector<ReplayLine> compare_actions(std::vector<ActionRecord> then, std::vector<ActionRecord> now,
                                                      const Doubts& doubts = {});

}  // namespace healer::engine
