// SPDX-License-Identifier: MIT
// Private to the daemon: its lists, and the rules that are loaded with what they say.
#include <memory>
#include <utility>

#include "daemon/daemon_impl.hpp"
#include "daemon/lists/lists.hpp"
#include "engine/judging/rows.hpp"

namespace healer {

void Daemon::begin_lists() {
  lists_->begin(loop_, *spawner_,
                {.failed = [this](const std::string& list) { return engine::failed_rows(*engine_, list); },
                 .in_repair = [this](const std::string& list) { return engine::rows_in_repair(*engine_, list); },
                 .environment = [this] { return actions::check_environment(base_, {}, "healer"); },
                 .tell =
                     [this](const std::string& text, bool alerts) {
                       handle(engine::event::ListReported{text, alerts});
                     },
                 .read = [this] { handle(lists_->doubted()); },
                 .changed = [this] { reload_lists(); },
                 .caller = [this]() -> runtime::HttpCaller& { return caller(); },
                 .settings = [this]() -> const engine::Settings& { return *engine_->graph()->settings; },
                 .found = [this](const engine::Event& event) { handle(event); }});
}

void Daemon::compile_rules() {
  lists_changed_ = false;
  compiler_->compile(options(), engine_->graph(), RulesCompiler::Purpose::Reload, {.lists = lists_->offered_rows()},
                     [this](RulesCompiler::Outcome outcome) {
                       auto shared = std::make_shared<RulesCompiler::Outcome>(std::move(outcome));
                       loop_.post([this, shared] { reloaded(std::move(*shared)); });
                     });
}

/// The rules in force, as they are, with the rows that lists have now: what was edited meanwhile is not taken over.
void Daemon::reload_lists() {
  lists_changed_ = true;
  if (stopping_ || !in_force_ || std::exchange(reloading_, true)) return;
  compile_lists();
}

void Daemon::compile_lists() {
  lists_changed_ = false;
  compiler_->compile(options(), engine_->graph(), RulesCompiler::Purpose::Reload,
                     {.lists = lists_->offered_rows(), .saved = in_force_}, [this](RulesCompiler::Outcome outcome) {
                       auto shared = std::make_shared<RulesCompiler::Outcome>(std::move(outcome));
                       loop_.post([this, shared] { lists_reloaded(std::move(*shared)); });
                     });
}

/// The lists of the rules that come into force.
void Daemon::declare_lists(const LoadedRules& loaded) {
  lists_->declare(loaded.result.lists);
  lists_->adopt_offered();
  handle(lists_->doubted());
}

/// The last resort of a start.
void Daemon::report_no_lists(const std::string& why) {
  handle(engine::event::ListReported{
      "the rules are in force without the rows of their lists, whose states, pauses and healings are kept: " + why,
      true});
}

void Daemon::lists_reloaded(RulesCompiler::Outcome outcome) {
  const config::LoadResult& result = outcome.loaded.result;
  if (!outcome.plan || !result.lists_left_out.empty()) {
    lists_->offered_failed(result.lists_left_out.empty() ? outcome.loaded.summary : result.lists_left_out);
  } else if (!stopping_ && lists_->offered_compiled(result.rows_left_out)) {
    return compile_lists();
  } else {
    const auto stale = stale_;  // what is on disk is as it was
    take_over(outcome, {});
    stale_ = stale;
    status_->soon();
  }
  compiler_->release(std::make_shared<const RulesCompiler::Outcome>(std::move(outcome)));
  reloading_ = false;
  next_reload();
}

}  // namespace healer
