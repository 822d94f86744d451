// SPDX-License-Identifier: MIT
// What a kind of step says of itself, in its own file of this folder: functions that are found by its type. Here is
// what holds for those that have nothing of their own to say.
//
//   kWord, kSign   its name in journals; what it adds to fingerprints. Neither is ever changed
//   fields()       its members, by name: what is written of it and read again, and what plans are told apart by
//   in_plan()      what it does, for people who read a plan. Program, http and parallel: healing/plan_text
//   begin()        how it begins. Those that wait for somebody's answer: healing/healings_steps
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "engine/steps/step_work.hpp"
#include "util/time.hpp"

namespace healer::engine {

struct Saving;

namespace step {

/// That struct, or a const one.
template <typename T, typename Struct>
concept Is = std::same_as<std::remove_const_t<T>, Struct>;

/// A kind of step.
template <typename T>
concept Kind = requires {
  T::kWord;
  T::kSign;
};

/// Services of the target were looked at, or have changed, while it waits for its recovery. Whether that was its end.
inline bool looked_at(const Kind auto& /*kind*/, StepWork& /*work*/) { return false; }
/// What has become of it when its time, which was so long, is over.
inline std::string when_over(const Kind auto& /*kind*/, Duration /*length*/) { return {}; }
/// Whether the text of its end says how long it took, or that does not matter.
inline bool says_time(const Kind auto& /*kind*/, bool /*good*/, std::string_view /*text*/) { return false; }
/// Whether it may be begun again where whether it was done is unknown, though nobody says so.
inline bool is_safe(const Kind auto& /*kind*/) { return false; }
/// Whether its end says that the target has recovered.
inline bool verifies(const Kind auto& /*kind*/) { return false; }
/// Whether a target that leaves the rules is its end as well as one that is well.
inline bool lets_leave(const Kind auto& /*kind*/) { return false; }
/// Whether all it does is to tell people.
inline bool tells_people(const Kind auto& /*kind*/) { return false; }
/// What it saves; null: it cannot.
inline const std::vector<Saving>* saves_of(const Kind auto& /*kind*/) { return nullptr; }
/// What the script of a simulation says instead of how it ends.
inline std::string in_script(const Kind auto& /*kind*/) { return "it always ends well"; }

}  // namespace step

}  // namespace healer::engine
