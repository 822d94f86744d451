// SPDX-License-Identifier: MIT
// Reloads as they are asked for, one after the other, and what comes of them.
#include "daemon/reload/reload.hpp"

#include <iostream>
#include <memory>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/rules/graph.hpp"
#include "runtime/clock.hpp"

namespace healer {

using namespace engine;

void Reload::started_with(const LoadedRules& loaded, const std::string& broken) {
  if (!broken.empty()) {
    note_stale(broken);
    calls_.handle(event::ReloadFailed{broken});
    std::cerr << "healerd: started with the last good rules; fix the files, then: healerctl reload\n";
  }
  declare_lists(loaded);
  parts_.lists.in_force(loaded.result, true, *parts_.engine.graph());
  if (!loaded.result.lists_left_out.empty()) report_no_lists(loaded.result.lists_left_out);
}

void Reload::reload(bool confirmed, Answer answer) {
  if (answer) (reloading_ ? next_reloads_ : reloads_).push_back(std::move(answer));
  if (std::exchange(reloading_, true)) {
    reload_again_ = true;
    next_confirmed_ = next_confirmed_ || confirmed;
    return;
  }
  confirmed_ = confirmed;
  parts_.notify.reloading();
  lists_read_ = false;
  compile_rules();
}

/// The rules in force are not those on disk from now on, or still.
void Reload::note_stale(const std::string& error) {
  stale_ = control::StaleView{.since = stale_ ? stale_->since : runtime::now().wall, .error = error};
}

void Reload::compile_rules() {
  lists_changed_ = false;
  compiler_.compile(calls_.options(), parts_.engine.graph(), RulesCompiler::Purpose::Reload,
                    {.lists = parts_.lists.offered_rows()}, [this](RulesCompiler::Outcome outcome) {
                      auto shared = std::make_shared<RulesCompiler::Outcome>(std::move(outcome));
                      parts_.loop.post([this, shared] { reloaded(std::move(*shared)); });
                    });
}

/// Whether a reload waits for a person's word, since processes of healer's own would end by it. It is given by
/// `--confirm`, or by the same reload once more within the hour.
bool Reload::held_back(const Vanished& loss) {
  constexpr Duration kRemembered = hours{1};
  const auto before = std::exchange(held_back_, std::nullopt);
  if (loss.ended.empty() || confirmed_) return false;
  const Duration now = runtime::now().mono;
  if (before && before->first == loss && now - before->second < kRemembered) return false;
  held_back_.emplace(loss, now);
  return true;
}

void Reload::reloaded(RulesCompiler::Outcome outcome) {
  bool good = outcome.plan != nullptr;
  // The rows of a new list are known when its rules come into force: their services may be there already.
  if (good && !calls_.is_stopping() && !std::exchange(lists_read_, true) &&
      parts_.lists.read_new(outcome.loaded.result.lists, [this] { compile_rules(); }))
    return;
  // Without the lines of the files: whoever may give commands need not be allowed to read passwords.
  std::string text = outcome.loaded.messages();
  if (good) {
    const Vanished loss = vanished(parts_.engine, outcome.loaded.result, *outcome.plan);
    if (held_back(loss)) {
      good = false;
      const std::string why = fmt::format(
          "nothing was reloaded: {}. To do it anyway: healerctl reload --confirm, or the same reload once more",
          loss.text());
      calls_.log(Severity::Warning, why);
      note_stale(why);
      text += why;
    } else if (!calls_.is_stopping() && parts_.lists.offered_compiled(outcome.loaded.result.rows_left_out)) {
      return compile_rules();
    } else {
      text += take_over(outcome, loss);
    }
  } else {
    note_stale(outcome.loaded.summary);
    calls_.handle(event::ReloadFailed{outcome.loaded.summary});
  }
  if (!good) lists_changed_ = parts_.lists.keep_offered() || lists_changed_;
  parts_.status.ready();
  reloading_ = false;
  const control::ReloadOutcome report{
      .ok = good, .text = text, .diagnostics = outcome.loaded.views(), .changes = std::move(outcome.changes)};
  for (Answer& answer : std::exchange(reloads_, std::exchange(next_reloads_, {}))) answer(report);
  next_reload();
}

/// What was asked for while a load was under way.
void Reload::next_reload() {
  if (std::exchange(reload_again_, false)) return reload(std::exchange(next_confirmed_, false), {});
  if (lists_changed_) reload_lists();
}

}  // namespace healer
