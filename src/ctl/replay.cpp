// SPDX-License-Identifier: MIT
#include "ctl/replay.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include "config/check.hpp"
#include "config/environments.hpp"
#include "config/load.hpp"
#include "config/rules_text.hpp"
#include "control/wire.hpp"
#include "readings/recording.hpp"
#include "replay/replay.hpp"
#include "runtime/clock.hpp"
#include "runtime/home.hpp"
#include "runtime/host.hpp"
#include "util/text.hpp"
#include "util/when.hpp"

namespace healer {
namespace {

using control::Json;
using engine::Replay;
using engine::ReplayLine;

constexpr std::size_t kMostNamed = 8;

std::string sign(ReplayLine::Who who) {
  switch (who) {
    case ReplayLine::Who::Both: return " ";
    case ReplayLine::Who::Then: return "-";
    case ReplayLine::Who::Now: return "+";
  }
  return " ";
}

std::string civil(WallTime when) { return format_civil(runtime::local_civil(when), subsecond_ms(when)); }

std::string row(const ReplayLine& line) {
  const engine::ActionRecord& action_record = line.action_record;
  return fmt::format("{} {}  {}  {}  {}{}\n", sign(line.who), civil(action_record.when),
                     printable(action_record.service), to_string(action_record.kind), printable(action_record.text),
                     line.may_differ ? "  [may differ]" : "");
}

Json to_json(const ReplayLine& line) {
  return {{"when", format_iso(line.action_record.when)},
          {"service", line.action_record.service},
          {"kind", to_string(line.action_record.kind)},
          {"text", line.action_record.text},
          {"who", to_string(line.who)},
          {"may_differ", line.may_differ}};
}

std::string named(const std::vector<std::string>& names) {
  std::vector<std::string> listed(names.begin(),
                                  names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMostNamed)));
  if (listed.size() < names.size()) listed.push_back(fmt::format("{} more", names.size() - listed.size()));
  return join_words(listed, "and");
}

/// What the reader of the comparison must know of it, a line each.
std::vector<std::string> remarks(const Replay& replay, const std::string& trouble, bool throughout) {
  std::vector<std::string> lines;
  for (const engine::ReplayNote& note : replay.notes)
    lines.push_back(fmt::format("{}: {}", civil(note.when), note.text));
  if (!trouble.empty()) lines.push_back(fmt::format("the recording ends early: {}", trouble));
  if (!replay.unknown.empty())
    lines.push_back(fmt::format("recorded, but not in these rules: {}", named(replay.unknown)));
  if (!replay.edited.empty())
    lines.push_back(fmt::format("edited in that time, and played {}: {}",
                                throughout ? "as they are in these rules, all the time"
                                           : "as they were at each moment (--throughout: all the time as they are)",
                                named(replay.edited)));
  if (!replay.unmonitored.empty())
    lines.push_back(fmt::format("not monitored in that time: {}", named(replay.unmonitored)));
  if (!replay.unseen.empty())
    lines.push_back(
        fmt::format("no recorded data; excluded from groups and percentages: {}; "
                    "what they could have touched is marked [may differ]",
                    named(replay.unseen)));
  if (!replay.unasked.empty())
    lines.push_back(
        fmt::format("these rules ask for a content or a connection that was not recorded, and is taken as not "
                    "seen: {}",
                    named(replay.unasked)));
  return lines;
}

std::string summary(const Replay& replay) {
  const std::size_t both = replay.count(ReplayLine::Who::Both);
  const std::size_t then = replay.count(ReplayLine::Who::Then);
  const std::size_t now = replay.count(ReplayLine::Who::Now);
  const std::string span =
      fmt::format("{} to {}, {} run{}", civil(replay.from), civil(replay.to), replay.runs, replay.runs == 1 ? "" : "s");
  if (then + now == 0)
    return fmt::format("{}: these rules do exactly what was done{}: {} action{}\n", span,
                       replay.unseen.empty() ? "" : ", as far as there are readings", both, both == 1 ? "" : "s");
  return fmt::format("{}: {} the same, {} only then (-), {} only with these rules (+)\n", span, both, then, now);
}

/// All rows that the lists have had, as they were last.
config::ListsEnvironment::Lists rows_of(const readings::Recording& recording) {
  config::ListsEnvironment::Lists all;
  std::map<config::ListSource, std::unordered_set<std::string>> names;
  const auto& texts = recording.texts();
  for (auto text = texts.rbegin(); text != texts.rend(); ++text)
    for (auto& [source, rows] : lists_of(*text->text))
      for (config::ListRow& row : rows)
        if (names[source].insert(to_lower(row.name)).second) all[source].push_back(std::move(row));
  return all;
}

/// The rules of that time. A text that cannot be loaded any more is played as what came before it, and told.
std::vector<engine::DayRules> rules_of(const readings::Recording& recording, const config::Environment& machine,
                                       std::vector<std::string>& notes) {
  std::vector<engine::DayRules> day;
  for (const readings::Recording::Text& text : recording.texts()) {
    config::LoadResult loaded = load_text(*text.text, machine);
    if (!loaded.ok()) {
      notes.push_back(fmt::format("{}: the rules of that time cannot be loaded any more", civil(text.since)));
      if (day.empty()) return {};
      day.push_back({text.since, day.back().rules});
      continue;
    }
    day.push_back({text.since, std::move(*loaded.rules)});
  }
  return day;
}

}  // namespace

int replay_day(const ReplayOptions& options, Output& output) {
  const WallTime now = runtime::now().wall;
  const auto since = parse_when(options.since, now, runtime::local_civil);
  const auto until = options.until.empty() ? std::optional(now) : parse_when(options.until, now, runtime::local_civil);
  if (!since || !until) return output.fail({"usage", "the times are not valid", ""});
  const runtime::Host machine;
  const std::string path = options.rules.empty() ? usual_rules() : options.rules;
  const config::OfflineEnvironment environment(machine);
  config::LoadResult loaded = config::load(path, {}, environment);
  std::string state = options.state_file;
  if (state.empty()) state = loaded.named.state_file;
  if (state.empty()) state = usual_state(geteuid() == 0);
  auto recording = readings::Recording::open(readings::readings_path(state), *since, *until);
  // What lists say is what they said then.
  if (recording && !loaded.lists.empty())
    loaded = config::load(path, {}, config::ListsEnvironment(rows_of(**recording), environment));
  std::erase_if(loaded.diagnostics, [](const config::Diagnostic& one) { return one.on_request; });
  std::fputs(config::format_all(loaded.diagnostics, loaded.sources, false).c_str(), stderr);
  if (!loaded.ok())
    return output.fail({"rules", fmt::format("the rules {} have errors: nothing was replayed", path), ""});
  if (!recording) return output.fail({"readings", recording.error().what, ""});
  std::vector<std::string> notes;
  std::vector<engine::DayRules> day = rules_of(**recording, machine, notes);
  const Replay replay = engine::replay(*loaded.rules, **recording, {*since, *until}, runtime::local_civil,
                                       std::move(day), options.throughout);

  const std::vector<std::string> remarked = remarks(replay, (*recording)->trouble(), options.throughout);
  notes.insert(notes.end(), remarked.begin(), remarked.end());
  const bool same = replay.count(ReplayLine::Who::Both) == replay.lines.size();
  const int status = same && (*recording)->trouble().empty() ? kExitDone : kExitFailed;
  if (output.json()) {
    output.open_list({{"version", control::kWireVersion}, {"command", "replay"}}, "actions");
    for (const ReplayLine& line : replay.lines) output.item(to_json(line));
    output.close_list({{"from", format_iso(replay.from)},
                       {"to", format_iso(replay.to)},
                       {"runs", replay.runs},
                       {"both", replay.count(ReplayLine::Who::Both)},
                       {"only_then", replay.count(ReplayLine::Who::Then)},
                       {"only_now", replay.count(ReplayLine::Who::Now)},
                       {"without_readings", replay.unseen},
                       {"not_in_rules", replay.unknown},
                       {"not_monitored", replay.unmonitored},
                       {"edited", replay.edited},
                       {"notes", notes}});
    return output.finish(status);
  }
  for (const ReplayLine& line : replay.lines)
    if (options.all || line.who != ReplayLine::Who::Both) output.print(row(line));
  for (const std::string& note : notes) output.print(fmt::format("note: {}\n", printable(note)));
  output.print(summary(replay));
  return output.finish(status);
}

}  // namespace healer
