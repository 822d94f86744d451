// SPDX-License-Identifier: MIT
#include "daemon/rules_loader.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/settings.hpp"

#include <exception>
#include <string_view>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "config/environments.hpp"
#include "config/lists/changed_rows.hpp"
#include "config/rules_text.hpp"
#include "control/changes.hpp"
#include "runtime/host.hpp"
#include "runtime/log/log.hpp"

namespace healer {
namespace {

LoadedRules finish(const Options& options, config::LoadResult result) {
  LoadedRules loaded{.result = std::move(result), .summary = {}};
  if (loaded.result.ok()) {
    apply(options, loaded.result.rules->settings);
    return loaded;
  }
  for (const config::Diagnostic& diagnostic : loaded.result.diagnostics) {
    if (diagnostic.severity != config::DiagnosticSeverity::Error) continue;
    const std::string text = config::format(diagnostic, loaded.result.sources, false);
    loaded.summary = text.substr(0, text.find('\n'));
    break;
  }
  return loaded;
}

std::string on_one_line(const config::Diagnostic& diagnostic, const config::Sources& sources) {
  const std::string whole = config::format(diagnostic, sources, false);
  std::string line = whole.substr(0, whole.find('\n'));
  if (!diagnostic.remedy.empty()) line += " (" + diagnostic.remedy + ")";
  return line;
}

std::vector<config::Source> files_of(std::vector<store::SavedSource> sources) {
  std::vector<config::Source> files;
  for (auto& [path, text] : sources) files.push_back({std::move(path), std::move(text)});
  return files;
}

/// Rules of the files of which `current` was made, with other rows: only these are compiled, where that is possible.
std::optional<LoadedRules> of_changed_rows(const Options& options, const engine::Graph& current, const MadeOf& made,
                                           const engine::recorded::RulesText& saved,
                                           const config::ListsEnvironment::Lists& lists) {
  if (made.generation != current.generation || made.text == nullptr || made.text->files != saved.files)
    return std::nullopt;
  const runtime::Host host;
  const config::SavedEnvironment machine{files_of(sources_of(saved)), host};
  auto result = config::load_changed_rows(options.config, {}, machine, lists, made.lists, current);
  if (!result) return std::nullopt;
  LoadedRules loaded = finish(options, std::move(*result));
  if (loaded.result.rules->settings != *current.settings) return std::nullopt;
  return loaded;
}

LoadedRules of_input(const Options& options, const engine::Graph& current, const MadeOf& made,
                     const RulesCompiler::Input& input, const config::ListsEnvironment::Lists& lists) {
  if (!input.saved) {
    const runtime::Host host;
    return finish(options, config::load(options.config, {}, config::ListsEnvironment{lists, host}));
  }
  if (auto loaded = of_changed_rows(options, current, made, *input.saved, lists)) return std::move(*loaded);
  return load_saved_rules(options, sources_of(*input.saved), lists);
}

RulesCompiler::Outcome compiled(const Options& options, const engine::Graph& current, RulesCompiler::Purpose purpose,
                                const RulesCompiler::Input& input, MadeOf& last) {
  config::ListsEnvironment::Lists lists = input.lists();
  RulesCompiler::Outcome outcome{.loaded = of_input(options, current, last, input, lists)};
  if (!outcome.loaded.result.ok()) return outcome;
  const std::string& none = outcome.loaded.result.lists_left_out;
  if (!none.empty() && current.left_out.lists.empty()) {  // what is in force has its lists, and is better
    outcome.loaded.summary = "the rules cannot be loaded with the rows of their lists: " + none;
    return outcome;
  }
  outcome.plan = engine::plan_swap(current, std::move(*outcome.loaded.result.rules));
  outcome.changes = control::view_changes(current, *outcome.plan);
  if (purpose == RulesCompiler::Purpose::Compare) return outcome;
  outcome.text = text_of(options.config, outcome.loaded.result, lists);
  const engine::Settings& settings = *outcome.plan->graph->settings;
  const auto log = runtime::LogOptions::of(settings.log, settings.foreground, {});
  if (auto writable = runtime::Log::check(log); !writable) outcome.log_trouble = writable.error().what;
  last = {.generation = outcome.plan->graph->generation, .text = outcome.text, .lists = std::move(lists)};
  return outcome;
}

RulesCompiler::Outcome not_loaded(const Options& options, const std::exception& error) {
  RulesCompiler::Outcome outcome;
  outcome.loaded.summary = fmt::format("{}: the rules cannot be loaded: {}", options.config, error.what());
  config::report(outcome.loaded.result.diagnostics, config::DiagnosticSeverity::Error, config::Code::Unreadable,
                 options.config, fmt::format("the rules cannot be loaded: {}", error.what()));
  return outcome;
}

}  // namespace

std::string LoadedRules::text(bool color) const {
  std::string text;
  for (const config::Diagnostic& diagnostic : result.diagnostics)
    if (!diagnostic.on_request) text += config::format(diagnostic, result.sources, color);
  return text;
}

std::string LoadedRules::messages() const {
  std::string text;
  for (const config::Diagnostic& diagnostic : result.diagnostics)
    if (!diagnostic.on_request) text += on_one_line(diagnostic, result.sources) + '\n';
  return text;
}

std::vector<std::string> LoadedRules::notes() const {
  std::vector<std::string> lines;
  for (const config::Diagnostic& diagnostic : result.diagnostics)
    if (diagnostic.on_request) lines.push_back(on_one_line(diagnostic, result.sources));
  return lines;
}

std::vector<control::DiagnosticView> LoadedRules::views() const {
  std::vector<control::DiagnosticView> views;
  views.reserve(result.diagnostics.size());
  for (const config::Diagnostic& diagnostic : result.diagnostics) {
    if (diagnostic.on_request) continue;
    const bool error = diagnostic.severity == config::DiagnosticSeverity::Error;
    const std::string_view severity = error                                                        ? "error"
                                      : diagnostic.severity == config::DiagnosticSeverity::Warning ? "warning"
                                                                                                   : "note";
    // "path:line:column: error: message": what stands before the severity is the place.
    const std::string whole = config::format(diagnostic, result.sources, false);
    const std::size_t place = whole.find(fmt::format("{}: {}", severity, diagnostic.message));
    views.push_back({.severity = std::string(severity),
                     .place = place == std::string::npos || place < 2 ? "" : whole.substr(0, place - 2),
                     .message = diagnostic.message,
                     .remedy = diagnostic.remedy,
                     .code = std::string(config::to_string(diagnostic.code)),
                     .length = diagnostic.range ? diagnostic.range->end - diagnostic.range->begin : 0});
  }
  return views;
}

LoadedRules load_rules(const Options& options, config::ListsEnvironment::Lists lists) {
  const runtime::Host host;
  const config::StartEnvironment machine{host};
  return finish(options, config::load(options.config, {}, config::ListsEnvironment{std::move(lists), machine}));
}

LoadedRules load_rules_without_lists(const Options& options, std::string why) {
  const runtime::Host host;
  const config::StartEnvironment machine{host};
  return finish(options, config::load_without_lists(options.config, {}, machine, std::move(why)));
}

LoadedRules load_saved_rules(const Options& options, std::vector<store::SavedSource> sources,
                             config::ListsEnvironment::Lists lists) {
  const runtime::Host host;
  const config::SavedEnvironment saved{files_of(std::move(sources)), host};
  return finish(options, config::load(options.config, {}, config::ListsEnvironment{std::move(lists), saved}));
}

LoadedRules load_saved_rules_without_lists(const Options& options, std::vector<store::SavedSource> sources,
                                           std::string why) {
  const runtime::Host host;
  const config::SavedEnvironment saved{files_of(std::move(sources)), host};
  return finish(options, config::load_without_lists(options.config, {}, saved, std::move(why)));
}

std::vector<store::SavedSource> sources_of(const engine::recorded::RulesText& text) {
  std::vector<store::SavedSource> sources;
  for (const auto& [path, contents] : text.files) sources.push_back({path, contents});
  return sources;
}

RulesCompiler::RulesCompiler() : thread_([this] { work(); }) {}

RulesCompiler::~RulesCompiler() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void RulesCompiler::compile(Options options, std::shared_ptr<const engine::Graph> current, Purpose purpose, Input input,
                            Done done) {
  add([this, options = std::move(options), current = std::move(current), purpose, input = std::move(input),
       done = std::move(done)] {
    try {
      done(compiled(options, *current, purpose, input, last_));
    } catch (const std::exception& error) {  // for want of memory nothing may end but this load
      done(not_loaded(options, error));
    }
  });
}

void RulesCompiler::release(std::shared_ptr<const void> graph) {
  add([graph = std::move(graph)]() mutable { graph.reset(); });
}

void RulesCompiler::add(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  wake_.notify_one();
}

void RulesCompiler::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    job = nullptr;
    lock.lock();
  }
}

}  // namespace healer
