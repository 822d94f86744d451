// SPDX-License-Identifier: MIT
// What waits for its commit to be on disk, and is let go by that; or held back where the journal cannot be written.
//
// Owns    the numbers of commits and records; acts and replies that wait, in the order of their commits; apart from
//         them the acts of healings that wait for the journal to be well again, so that alerts never wait behind them.
// Hears   what a turn has decided; that a commit is on disk, or that the journal is sick.
// Tells   JournalTurned; NeverBegun, of a program that was to end before it was let go: so none leaves after its end.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "engine/events/effect.hpp"
#include "engine/events/event.hpp"
#include "engine/ids.hpp"

namespace healer::engine {

struct SavedState;
struct Turn;
class Healings;
class Jobs;

class Releases {
 public:
  /// `found`: what an earlier engine has left. Requires: the others outlive it.
  Releases(const SavedState& found, const Jobs& jobs, const Healings& healings);

  // ---- view
  /// Whether the state cannot be written now, so that what is done is forgotten when healerd ends.
  [[nodiscard]] bool is_sick() const { return sick_; }

  // ---- what it hears
  /// What is to end something waits for nothing: it goes to pass_ends(). What still waits itself never leaves then,
  /// which is told. Whether there was such an act.
  bool end_now(Turn& turn);
  /// At the end of the turn, behind its commit.
  static void pass_ends(Turn& turn);
  /// A turn is to be committed: its commit and its records get the numbers that are next.
  void number(effect::Commit& commit);
  /// The acts and replies of a turn wait for its commit.
  void hold(Sequence commit, Turn& turn);
  /// An act that has no gate to wait at: a question that may be asked as often as one likes, what ends one, a claim,
  /// and what the journal of an earlier daemon holds already.
  void pass(Effect act, Turn& turn) const;
  /// Whether the journal is sick, as it was told with a commit.
  void hear_journal(const event::Committed& event, Turn& turn);
  /// Lets go what these commits have waited for.
  void release(const event::Committed& event, Turn& turn);
  /// After that, and what it has told: also what was held back while the journal was sick, where it is well.
  void release_journalled(const event::Committed& event, Turn& turn);

 private:
  [[nodiscard]] bool heals(const Effect& act) const;
  void let_go(Effect act, Turn& turn) const;

  const Jobs& jobs_;
  const Healings& healings_;
  Sequence next_sequence_;
  RecordNumber next_record_;
  std::deque<std::pair<Sequence, Effect>> waiting_;
  std::vector<std::pair<Sequence, Effect>> unjournalled_;  // acts of healings
  bool sick_ = false;
};

}  // namespace healer::engine
