// SPDX-License-Identifier: MIT
// The rules in force with the rows that their lists have now.
#include <memory>
#include <utility>

#include "daemon/reload/reload.hpp"

namespace healer {

/// The rules in force, as they are, with the rows that lists have now: what was edited meanwhile is not taken over.
void Reload::reload_lists() {
  lists_changed_ = true;
  if (calls_.is_stopping() || !in_force_ || std::exchange(reloading_, true)) return;
  compile_lists();
}

void Reload::compile_lists() {
  lists_changed_ = false;
  compiler_.compile(calls_.options(), parts_.engine.graph(), RulesCompiler::Purpose::Reload,
                    {.lists = parts_.lists.offered_rows(), .saved = in_force_}, [this](RulesCompiler::Outcome outcome) {
                      auto shared = std::make_shared<RulesCompiler::Outcome>(std::move(outcome));
                      parts_.loop.post([this, shared] { lists_reloaded(std::move(*shared)); });
                    });
}

/// The lists of the rules that come into force.
void Reload::declare_lists(const LoadedRules& loaded) {
  parts_.lists.declare(loaded.result.lists);
  parts_.lists.adopt_offered();
  calls_.handle(parts_.lists.doubted());
}

/// The last resort of a start.
void Reload::report_no_lists(const std::string& why) {
  calls_.handle(engine::event::ListReported{
      "the rules are in force without the rows of their lists, whose states, pauses and healings are kept: " + why,
      true});
}

void Reload::lists_reloaded(RulesCompiler::Outcome outcome) {
  const config::LoadResult& result = outcome.loaded.result;
  if (!outcome.plan || !result.lists_left_out.empty()) {
    parts_.lists.offered_failed(result.lists_left_out.empty() ? outcome.loaded.summary : result.lists_left_out);
  } else if (!calls_.is_stopping() && parts_.lists.offered_compiled(result.rows_left_out)) {
    return compile_lists();
  } else {
    const auto stale = stale_;  // what is on disk is as it was
    take_over(outcome, {});
    stale_ = stale;
    parts_.status.soon();
  }
  compiler_.release(std::make_shared<const RulesCompiler::Outcome>(std::move(outcome)));
  reloading_ = false;
  next_reload();
}

}  // namespace healer
