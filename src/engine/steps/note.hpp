// SPDX-License-Identifier: MIT
// `note "text"`: a step that writes something into the history.
#pragma once

#include <string>
#include <string_view>

#include "engine/steps/kind.hpp"
#include "engine/steps/step_work.hpp"

namespace healer::engine::step {

struct Note {
  static constexpr std::string_view kWord = "note";
  static constexpr char kSign = 'n';

  std::string text;
  bool operator==(const Note&) const = default;
};

void fields(auto& all, Is<Note> auto& note) {
  auto& [text] = note;
  all("text", text);
}

inline std::string in_plan(const Note& note) { return "note " + note.text; }
/// The record of its end is what it writes.
inline void begin(const Note& note, StepWork& work) { work.end(StepEnd::Done, "noted: " + work.filled(note.text)); }
/// To write takes no time.
inline bool says_time(const Note& /*note*/, bool /*good*/, std::string_view /*text*/) { return true; }

}  // namespace healer::engine::step
