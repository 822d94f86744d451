// SPDX-License-Identifier: MIT
// Private to the replay: what programs and requests of the recorded time are now. Where other rules are played, other
// things are started, and what was the number of one then may be that of another one now.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "engine/ids.hpp"

namespace healer::engine {

class ActionNumbers {
 public:
  /// It is recorded what was started: earlier versions have not done so.
  void note_launch() { has_launches_ = true; }
  /// Something is started now.
  void begin(ActionId now) { begun_.insert(now); }
  /// It is the same as that one then.
  void match(ActionId then, ActionId now) { now_[then] = now; }
  /// What that one is now; nothing: it was not started again. What an earlier daemon had started keeps its number.
  [[nodiscard]] std::optional<ActionId> now_of(ActionId then) const {
    if (const auto found = now_.find(then); found != now_.end()) return found->second;
    return has_launches_ && begun_.contains(then) ? std::nullopt : std::optional(then);
  }

 private:
  std::map<ActionId, ActionId> now_;
  std::set<ActionId> begun_;
  bool has_launches_ = false;
};

}  // namespace healer::engine
