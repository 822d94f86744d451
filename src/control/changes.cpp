// SPDX-License-Identifier: MIT
#include "control/changes.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "engine/reload/settings_diff.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "util/monit_version.hpp"
#include "util/text.hpp"

namespace healer::control {
namespace {

using engine::ServiceBlock;
using engine::SlotChange;

constexpr std::size_t kMostListed = 100;  // services in the text; the view has all of them

std::string place_of(const engine::Graph& graph, const engine::SourcePlace& place) {
  if (place.line == 0 || place.file >= graph.files.size()) return {};
  return fmt::format("{}:{}", graph.files[place.file], place.line);
}

ChangeView changed(const ServiceBlock& before, const ServiceBlock& after, const SlotChange& change) {
  ChangeView view{.service = after.name, .change = "changed", .place = {}};
  std::vector<bool> stays(before.rules.size());
  for (std::size_t i = 0; i < after.rules.size(); ++i) {
    const std::int32_t from = change.rules_from[i];
    (from < 0 ? view.begun : view.kept).push_back(after.rules[i]->text);
    if (from >= 0) stays[static_cast<std::size_t>(from)] = true;
  }
  for (std::size_t i = 0; i < before.rules.size(); ++i)
    if (!stays[i]) view.gone.push_back(before.rules[i]->text);
  if (before.foreground() && after.foreground() &&
      !(before.process->foreground->command == after.process->foreground->command))
    view.note = fmt::format("a process that runs keeps its former program until `healerctl restart {}`", after.name);
  return view;
}

std::string text_of(const ChangeView& change) {
  std::string text = fmt::format("{:<8} {}", change.change, printable(change.service));
  if (!change.place.empty()) text += fmt::format(" ({})", printable(change.place));
  if (change.change == "changed" && change.begun.empty() && change.gone.empty() && !change.kept.empty())
    text += ": its rules keep what they have counted";
  text += '\n';
  const bool all_kept = change.begun.empty() && change.gone.empty();
  const auto rules = [&](std::string_view word, const std::vector<std::string>& changed_rules) {
    for (const std::string& rule : changed_rules) text += fmt::format("           {:<12} {}\n", word, printable(rule));
  };
  if (!all_kept) rules("keeps", change.kept);
  rules("starts over", change.begun);
  rules("is gone", change.gone);
  if (!change.note.empty()) text += fmt::format("           {}\n", printable(change.note));
  return text;
}

/// What another version of Monit means by the same words.
std::vector<std::string> meaning_of(MonitVersion before, MonitVersion after) {
  std::vector<std::string> changes_of_settings;
  if (before == after) return changes_of_settings;
  changes_of_settings.push_back(fmt::format("set monit {} -> {}", to_string(before), to_string(after)));
  const bool newer = after >= MonitVersion::V6;
  if (newer != (before >= MonitVersion::V6)) {
    changes_of_settings.push_back(newer ? "recovery within a window: only runs after the failure count as clear"
                                        : "recovery within a window: what was before the failure counts as clear");
    changes_of_settings.push_back(newer ? "'repeat': also in clear runs before the recovery"
                                        : "'repeat': only in failing runs");
    changes_of_settings.push_back(newer ? "memory of processes: their share (PSS), which is less than what is resident"
                                        : "memory of processes: all that is resident (RSS)");
    changes_of_settings.push_back(newer ? "checksums without a kind: SHA256; what they were is taken anew"
                                        : "checksums without a kind: MD5; what they were is taken anew");
  }
  const bool verifies = after >= MonitVersion::V6_1;
  if (verifies != (before >= MonitVersion::V6_1))
    changes_of_settings.push_back(
        verifies ? "certificates and the names of hosts in them are verified, unless 'verify: disable' is said"
                 : "certificates are verified only where 'verify: enable' is said");
  return changes_of_settings;
}

}  // namespace

ChangesView view_changes(const engine::Graph& before, const engine::SwapPlan& plan) {
  const engine::Graph& after = *plan.graph;
  ChangesView view;
  view.settings = plan.settings_changed;
  if (plan.settings_changed)
    for (const std::string_view words : engine::changed_settings(*before.settings, *after.settings))
      view.changed_settings.emplace_back(words);
  view.meaning = meaning_of(before.settings->monit, after.settings->monit);
  view.workflows = plan.workflows_changed;
  std::uint64_t touched = 0;
  for (const SlotChange& change : plan.changes) {
    const std::size_t slot = change.service.index();
    switch (change.kind) {
      case SlotChange::Kind::Moved: continue;
      case SlotChange::Kind::Added:
        view.services.push_back({.service = after.slots[slot]->name,
                                 .change = "added",
                                 .place = place_of(after, after.slots[slot]->place)});
        break;
      case SlotChange::Kind::Removed:
        view.services.push_back({.service = before.slots[slot]->name,
                                 .change = "removed",
                                 .place = place_of(before, before.slots[slot]->place)});
        continue;
      case SlotChange::Kind::Replaced:
        view.services.push_back(changed(*before.slots[slot], *after.slots[slot], change));
        view.services.back().place = place_of(after, after.slots[slot]->place);
        break;
    }
    ++touched;
  }
  view.kept = after.order.size() - touched;
  std::ranges::stable_sort(view.services, {}, [](const ChangeView& one) { return to_lower(one.service); });
  return view;
}

bool changes_rules(const ChangesView& changes) {
  return !changes.services.empty() || changes.settings || changes.workflows;
}

std::string changes_text(const ChangesView& changes) {
  if (!changes_rules(changes)) return "nothing has changed";
  std::string text;
  std::size_t listed = 0;
  for (const ChangeView& change : changes.services) {
    if (listed++ == kMostListed) {
      text += fmt::format("and {} more services\n", changes.services.size() - kMostListed);
      break;
    }
    text += text_of(change);
  }
  if (changes.settings) text += fmt::format("changed settings: {}\n", fmt::join(changes.changed_settings, ", "));
  for (const std::string& one : changes.meaning) text += fmt::format("  {}\n", printable(one));
  if (changes.workflows)
    text += "the workflows have changed: a healing that is under way keeps its original workflow\n";
  for (const std::string& healing : changes.healings) text += fmt::format("{:<8} {}\n", "ends", printable(healing));
  const auto count = [&](std::string_view word) {
    return std::ranges::count(changes.services, word, &ChangeView::change);
  };
  return text + fmt::format("{} added, {} removed, {} changed, {} kept", count("added"), count("removed"),
                            count("changed"), changes.kept);
}

}  // namespace healer::control
