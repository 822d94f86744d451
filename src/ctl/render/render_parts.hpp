// SPDX-License-Identifier: MIT
// What all renderings are made of: colours, times for people, labelled lines, tables. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ctl/render/render.hpp"

namespace healer::control {

inline constexpr std::size_t kLabel = 11;   ///< columns of the labels of a block
inline constexpr std::size_t kNarrow = 60;  ///< on fewer columns: only what matters

[[nodiscard]] std::string_view ellipsis(const Style& style);
/// The escape of a state or a severity; empty where it needs none.
[[nodiscard]] std::string_view colour_of(std::string_view word);
/// The colour of a state in a picture.
[[nodiscard]] std::string_view fill_of(std::string_view state);
[[nodiscard]] std::string paint(std::string text, std::string_view code, const Style& style);

[[nodiscard]] std::string clock_time(WallTime when, const Style& style);
/// "3 s ago".
[[nodiscard]] std::string ago(WallTime when, const Style& style);
/// In whole seconds, those begun left out: "0 s", "3 s".
[[nodiscard]] std::string full_seconds(Duration duration);
/// For how long since then, in whole seconds.
[[nodiscard]] std::string lasting(WallTime since, const Style& style);
[[nodiscard]] std::string whole_seconds(Duration duration);

/// `text` broken to the style's width, each line after `first` or, from the second on, after as many blanks.
[[nodiscard]] std::string hanging(std::string_view first, std::string_view text, const Style& style);
/// The same of a text of several lines, which is made printable and broken where they end.
[[nodiscard]] std::string hanging_lines(std::string_view first, std::string_view text, const Style& style);
/// A labelled line of a block.
[[nodiscard]] std::string field(std::string_view label, std::string_view text, const Style& style);
/// What a look has measured, a line for each topic, one quantity in two units told once: "memory 12.5 MB (0.3%)".
[[nodiscard]] std::string measured_field(std::span<const MeasureView> measured, const Style& style);
/// Lines of a heartbeat: its last beat, when it is due, since when it is missed, its runs.
[[nodiscard]] std::string heartbeat_fields(const HeartbeatView& heartbeat, const Style& style);
/// Lines of a check of events: its hook, the last event, what waits, and for whom a condition stands.
[[nodiscard]] std::string event_fields_text(const EventCheckView& events, const Style& style);
/// "until 12:00, by anna: new disks", "with group webs until it is resumed, by anna".
[[nodiscard]] std::string pause_text(const PauseView& pause, const Style& style);
/// "step 2 of 5, start db, waits for its program to end (pid 4242), for 3 s, by root".
[[nodiscard]] std::string job_text(const JobView& job);

/// "under way with rebuild, step 2 of 3, for 3 s: drain, waits for its program to end (healing 7, ...)".
[[nodiscard]] std::string healing_text(const HealingView& healing, const Style& style);
/// How a target rests after a healing: "rests for another 9 m (healing 7: failed 1 m ago)".
[[nodiscard]] std::string rest_text(const CooldownView& one, const Style& style);
/// Of `explain`: how a rule heals, and what guards and brakes say.
[[nodiscard]] std::string heal_lines(const HealExplanation& heals, const Style& style, bool all);

struct Column {
  std::string_view title;
  std::size_t most = 0;  ///< columns; what is wider is cut; 0: no limit
  bool spare = false;    ///< left out where there is no room
  bool whole = false;    ///< of the last column: broken into lines, not cut
  std::vector<std::string> cells{};
  std::vector<std::string_view> colours{};
  std::vector<bool> broken{};  ///< of the last column: which cells are broken into lines where `whole` is false
  std::size_t width = 0;

  /// Requires: printable text.
  void add(std::string cell, std::string_view colour = {}, bool is_broken = false) {
    cells.push_back(std::move(cell));
    colours.push_back(colour);
    broken.push_back(is_broken);
  }
};

/// The columns side by side under their titles. Spare ones are left out where the last would get too little; the last
/// one is cut to the terminal, or left out where there is still no room for it. Cells of it that are broken into lines
/// begin under their row where there is little room beside it.
[[nodiscard]] std::string table(std::vector<Column> columns, const Style& style);

}  // namespace healer::control
