// SPDX-License-Identifier: MIT
// What was loaded comes into force, or is only compared with what is.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "control/changes.hpp"
#include "daemon/reload/reload.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"

namespace healer {

using namespace engine;

namespace {

/// The changes, with `head` before the last line, which counts them.
std::string changes_line(std::string_view head, const control::ChangesView& changes) {
  std::string text = control::changes_text(changes);
  const std::size_t last = text.rfind('\n');
  text.insert(last == std::string::npos ? 0 : last + 1, head);
  return text;
}

}  // namespace

void log_notes_of(const LoadedRules& loaded, const std::function<void(Severity, std::string_view)>& log) {
  for (const std::string& note : loaded.notes()) log(Severity::Info, note);
}

/// Loads the rules files and tells what a reload would change. Nothing of it is kept. All who ask while it is found out
/// for another are answered together, by the next look.
void Reload::diff(Answer answer) {
  diffs_.push_back(std::move(answer));
  if (!std::exchange(comparing_, true)) compare();
}

void Reload::compare() {
  using Purpose = RulesCompiler::Purpose;
  auto answers = std::make_shared<const std::vector<Answer>>(std::exchange(diffs_, {}));
  RulesCompiler::Input input{.lists = parts_.lists.rows()};
  compiler_.compile(
      calls_.options(), parts_.engine.graph(), Purpose::Compare, std::move(input),
      [this, answers](RulesCompiler::Outcome found) {
        const auto outcome = std::make_shared<RulesCompiler::Outcome>(std::move(found));
        control::ReloadOutcome report{.ok = outcome->loaded.result.ok(),
                                      .text = outcome->loaded.messages(),
                                      .diagnostics = outcome->loaded.views(),
                                      .changes = std::move(outcome->changes)};
        parts_.loop.post([this, answers, outcome, report = std::move(report)]() mutable {
          if (report.changes) {
            if (outcome->plan) report.changes->healings = parts_.engine.healing().lost_to(*outcome->plan->graph);
            report.text += control::changes_rules(*report.changes) || !report.changes->healings.empty()
                               ? changes_line("a reload would give: ", *report.changes)
                               : "a reload would change nothing";
          }
          for (const config::ListDeclaration& list : outcome->loaded.result.lists)
            if (!list.is_read)
              report.text += fmt::format(
                  "\nthe list {} was never read: a reload reads it first, and keeps what is known of its services",
                  list.name);
          if (outcome->plan) {
            const Vanished loss = vanished(parts_.engine, outcome->loaded.result, *outcome->plan);
            if (!loss.ended.empty())
              report.text +=
                  fmt::format("\nit would be refused: {}. To do it anyway: healerctl reload --confirm", loss.text());
          }
          compiler_.release(std::move(outcome));
          for (const Answer& answer : *answers) answer(report);
          comparing_ = !diffs_.empty();
          if (comparing_) compare();
        });
      });
}

/// Files that a running daemon keeps: says so, and returns what it said, a line each.
std::string Reload::warn_of_restart(const Settings& settings) {
  const Paths now = paths_of(settings);
  std::string warnings;
  const auto compare = [&](std::string_view what, const std::string& old, const std::string& wanted,
                           std::string_view remedy = {}) {
    if (old == wanted || old == wanted + ".healer" || (old.empty() && what == "control socket")) return;
    const std::string text =
        fmt::format("the {} is {} until healerd is restarted, then {}{}", what, old, wanted, remedy);
    calls_.log(Severity::Warning, text);
    warnings += fmt::format("warning: {}\n", text);
  };
  const Graph& graph = *parts_.engine.graph();
  const bool has_children = std::ranges::any_of(graph.order, [&](ServiceId id) { return graph.at(id).foreground(); });
  compare("pid file", parts_.paths.pid_file, now.pid_file);
  compare(
      "state file", parts_.paths.state_file, now.state_file,
      has_children
          ? ", which does not contain the running foreground processes: stop them before the restart, or they will be "
            "started a second time"
          : "");
  compare("control socket", parts_.paths.socket, now.socket);
  compare("mail queue", parts_.paths.mail_dir, now.mail_dir);
  return warnings;
}

/// Makes what was loaded the rules in force. Returns what is to be said of it, a line each.
std::string Reload::take_over(RulesCompiler::Outcome& outcome, const Vanished& loss) {
  stale_.reset();
  std::string text;
  const auto warn = [&](const std::string& what) {
    calls_.log(Severity::Warning, what);
    text += fmt::format("warning: {}\n", what);
  };
  if (!loss.patterns.empty()) warn(loss.text());
  std::shared_ptr<const Graph> before = parts_.engine.graph();
  declare_lists(outcome.loaded);  // what is doubted of them is known before their services come
  parts_.recording.observer().loaded_from(outcome.text);
  outcome.changes->healings = parts_.engine.healing().lost_to(*outcome.plan->graph);
  calls_.handle(event::Swap{outcome.plan});
  for (const SlotChange& change : outcome.plan->changes)
    parts_.measurer.forget(change.service, parts_.engine.graph()->slots[change.service.index()].get());
  const Settings& settings = *parts_.engine.graph()->settings;
  calls_.use(*parts_.engine.graph());
  if (outcome.log_trouble.empty())
    calls_.configure_log(settings);
  else
    warn(fmt::format("{}; the log stays where it was", outcome.log_trouble));
  if (!outcome.plan->empty()) log_notes_of(outcome.loaded, calls_.log);
  text += warn_of_restart(settings);
  const auto was = std::exchange(in_force_, outcome.loaded.result.lists.empty() ? nullptr : outcome.text);
  if (was == nullptr || was->files != outcome.text->files) parts_.store.save_sources(sources_of(*outcome.text));
  compiler_.release(was);
  parts_.lists.in_force(outcome.loaded.result, !outcome.plan->empty(), *parts_.engine.graph());
  compiler_.release(std::move(before));
  text += changes_line("rules reloaded: ", *outcome.changes);
  if (outcome.plan->empty()) calls_.log(Severity::Info, "rules reloaded: nothing has changed");
  return text;
}

}  // namespace healer
