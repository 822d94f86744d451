// SPDX-License-Identifier: MIT
#include "ctl/simulate.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include "config/check.hpp"
#include "config/environments.hpp"
#include "config/lists/list_rows.hpp"
#include "config/lists/scripted_lists.hpp"
#include "config/load.hpp"
#include "control/wire.hpp"
#include "engine/rules/rule_set.hpp"
#include "runtime/clock.hpp"
#include "runtime/files/read_input.hpp"
#include "runtime/host.hpp"
#include "simulation/script.hpp"
#include "simulation/simulator.hpp"
#include "util/text.hpp"

namespace healer {
namespace {

using control::Json;

Json to_json(const engine::TimelineEntry& entry) {
  return {{"at_ms", entry.at.count()}, {"when", format_iso(entry.when)}, {"cycle", entry.cycle},
          {"kind", entry.kind},        {"service", entry.service},       {"run", entry.run},
          {"rule", entry.rule},        {"place", entry.place},           {"counters", entry.counters},
          {"text", entry.text},        {"program", entry.program},       {"recipients", entry.recipients},
          {"target", entry.target},    {"workflow", entry.workflow},     {"step", entry.step},
          {"turn", entry.turn}};
}

int complain(const std::string& messages, std::string_view what, const std::string& path, Output& output) {
  std::fputs(messages.c_str(), stderr);
  return output.fail({"script", fmt::format("{} {} has errors: nothing was simulated", what, path), ""});
}

/// A file that the script names: from beside it.
std::string beside(const std::string& script, const std::string& file) {
  return (std::filesystem::path(script).parent_path() / file).string();
}

/// The rows of a list as healer reads them; `why` is filled where they cannot be read.
std::vector<config::ListRow> rows_of(const std::string& file, std::string& why) {
  const auto text = read_input(file);
  const Result<config::ListReading> read = text ? config::read_rows(*text) : Result<config::ListReading>(text.error());
  if (!read) {
    why = read.error().what;
    return {};
  }
  if (!read->refused.empty()) why = fmt::format("{}: {}", file, read->refused.front().why);
  return read->rows;
}

using Declarations = std::vector<config::ListDeclaration>;
using Errors = std::vector<engine::ScriptError>;

using Statement = config::ScriptedLists::Statement;

/// What the script says of a list, read; `errors` where it cannot be.
Statement read_statement(const engine::ScriptedList& list, const std::string& script, Errors& errors) {
  using What = engine::ScriptedList::What;
  Statement read{.list = list.name};
  read.what = list.what == What::Gains   ? Statement::What::Gains
              : list.what == What::Loses ? Statement::What::Loses
              : list.what == What::Fails ? Statement::What::Fails
                                         : Statement::What::Says;
  std::string why;
  if (list.file.empty()) {
    std::string text;
    for (const std::string& row : list.rows) text += row + "\n";
    const auto rows = config::read_rows(text);
    if (!rows || !rows->refused.empty()) why = rows ? rows->refused.front().why : rows.error().what;
    if (rows) read.reading = *rows;
  } else {
    read.reading.rows = rows_of(beside(script, list.file), why);
  }
  if (!why.empty()) errors.push_back({list.line, list.column, fmt::format("list {}: {}", list.name, why), {}});
  return read;
}

struct ReadLists {
  config::ListsEnvironment::Lists begin;  ///< at the beginning
  config::ListsEnvironment::Lists ever;   ///< with all rows that come later
  std::vector<Statement> statements;      ///< of the script, in its order
};

/// The rows of the lists of the rules: as the script has them, else, of a file that can be read, those in it.
ReadLists read_lists(const Declarations& declared, const std::vector<engine::ScriptedList>& scripted,
                     const std::string& script, Errors& errors) {
  ReadLists lists;
  for (const engine::ScriptedList& list : scripted) lists.statements.push_back(read_statement(list, script, errors));
  for (const config::ListDeclaration& list : declared) {
    std::optional<std::vector<config::ListRow>> begin;
    std::vector<config::ListRow> ever;
    for (std::size_t i = 0; i < scripted.size(); ++i) {
      if (!iequals(scripted[i].name, list.name)) continue;
      const std::vector<config::ListRow>& rows = lists.statements[i].reading.rows;
      if (!scripted[i].later && !begin) begin = rows;
      for (const config::ListRow& row : rows)
        if (std::ranges::none_of(ever, [&](const config::ListRow& known) { return iequals(known.name, row.name); }))
          ever.push_back(row);
    }
    if (!begin && list.source.command.empty()) {
      std::string why;
      if (auto rows = rows_of(list.source.file, why); why.empty()) {
        ever.insert(ever.begin(), rows.begin(), rows.end());
        begin = std::move(rows);
      }
    }
    if (begin) lists.begin.emplace(list.source, std::move(*begin));
    if (!ever.empty()) lists.ever.emplace(list.source, std::move(ever));
  }
  return lists;
}

/// Lists of a script that the rules do not have.
void find_unknown(const Declarations& declared, const std::vector<engine::ScriptedList>& scripted, Errors& errors) {
  for (const engine::ScriptedList& one : scripted) {
    std::vector<std::string_view> known;
    for (const config::ListDeclaration& list : declared) known.push_back(list.name);
    if (std::ranges::any_of(known, [&](std::string_view name) { return iequals(name, one.name); })) continue;
    const std::string_view near = nearest_word(one.name, known);
    errors.push_back({one.line, one.column, fmt::format("the rules have no list '{}'", printable(one.name)),
                      near.empty() ? std::string{} : fmt::format("did you mean '{}'?", near)});
  }
}

/// Whether a service is called `list`: lines of it begin as those of lists.
bool has_service_list(const config::LoadResult& loaded) {
  return loaded.ok() &&
         std::ranges::any_of(loaded.rules->services, [](const auto& block) { return iequals(block->name, "list"); });
}

/// Whether it matters when lists are read: they change while it is played, or services judge their rows.
bool reads_lists(const engine::Script& script, const engine::RuleSet& rules) {
  if (std::ranges::any_of(rules.services, [](const auto& block) { return block->is_listed(); })) return true;
  using Kind = engine::ScriptedCommand::Kind;
  return std::ranges::any_of(script.commands, [](const engine::ScriptedCommand& command) {
    return command.kind == Kind::ListSays || command.kind == Kind::AcceptList || command.kind == Kind::ForgetRow;
  });
}

}  // namespace

void add_simulate(CLI::App& app, SimulateOptions& options) {
  CLI::App* simulate = app.add_subcommand("simulate", "Play rules against a script in virtual time (no daemon)");
  simulate->footer(
      "Without `run for` in the script, it ends three cycles after its last command, once all scripted outcomes\n"
      "have been used and what began by then is over. healerctl(1) has the language of scripts.");
  simulate->fallthrough();
  simulate->callback([&options] { options.wanted = true; });
  simulate->add_option("rules", options.rules, "The rules: a file, or a directory of *.rules")
      ->type_name("RULES")
      ->required();
  simulate->add_flag("--actions", options.actions, "Print only what healer does: execs, alerts, starts, stops");
  simulate->add_option("--script", options.script, "What programs return and operators do; - is standard input")
      ->type_name("SCRIPT")
      ->required();
}

int simulate(const SimulateOptions& options, Output& output) {
  const auto text = read_input(options.script);
  if (!text) return output.fail({"script", text.error().what, ""});
  const std::string script = options.script == "-" ? "<stdin>" : options.script;

  const auto complain_of_script = [&](const Errors& errors) {
    std::string messages;
    for (const engine::ScriptError& error : errors) messages += engine::format(error, script, *text);
    return complain(messages, "the script", script, output);
  };

  const runtime::Host machine;
  const config::OfflineEnvironment environment(machine);
  const auto load = [&](config::ListsEnvironment::Lists lists) {
    return config::load(options.rules, {}, config::ListsEnvironment(std::move(lists), environment));
  };
  config::LoadResult loaded = config::load(options.rules, {}, environment);
  const Declarations declared = loaded.lists;
  ReadLists lists;
  const std::vector<engine::ScriptedList> scripted = engine::read_lists(*text);
  if (!loaded.lists.empty() || !scripted.empty()) {
    // Rules without the rows that they are for may have other errors: those of the lists come first.
    Errors errors;
    lists = read_lists(loaded.lists, scripted, options.script, errors);
    if (!has_service_list(loaded)) find_unknown(loaded.lists, scripted, errors);
    if (!errors.empty()) return complain_of_script(errors);
    loaded = load(lists.begin);
  }
  std::erase_if(loaded.diagnostics, [](const config::Diagnostic& one) { return one.on_request; });
  const std::string messages = config::format_all(loaded.diagnostics, loaded.sources, false);
  if (!loaded.ok()) return complain(messages, "the rules", options.rules, output);
  std::fputs(messages.c_str(), stderr);

  // The script names what comes later, too.
  const bool changes = std::ranges::any_of(scripted, &engine::ScriptedList::later);
  const config::LoadResult ever = changes ? load(lists.ever) : config::LoadResult{};
  if (changes && !ever.ok())
    return complain(config::format_all(ever.diagnostics, ever.sources, false), "the rules", options.rules, output);
  std::vector<std::string> names;
  for (const config::ListDeclaration& list : declared) names.push_back(list.name);
  const engine::ScriptReading reading = engine::read_script(*text, changes ? *ever.rules : *loaded.rules, names);
  if (!reading.errors.empty()) return complain_of_script(reading.errors);

  config::ScriptedLists keeper(declared, lists.begin, std::move(lists.statements), load);
  const engine::Timeline timeline = engine::simulate(*loaded.rules, reading.script, runtime::local_civil,
                                                     reads_lists(reading.script, *loaded.rules) ? &keeper : nullptr);
  const std::size_t expected = reading.script.expectations.size();
  if (output.json()) {
    output.open_list({{"version", control::kWireVersion}, {"command", "simulate"}}, "events");
    for (const engine::TimelineEntry& entry : timeline.entries)
      if (!options.actions || engine::is_action(entry)) output.item(to_json(entry));
    Json unmet = Json::array();
    for (const engine::ScriptError& one : timeline.unmet)
      unmet.push_back({{"place", fmt::format("{}:{}", options.script, one.line)}, {"text", one.message}});
    output.close_list({{"length_ms", timeline.length.count()},
                       {"runs", timeline.runs},
                       {"stopped", timeline.stopped},
                       {"expectations", expected},
                       {"unmet", unmet}});
    return output.finish(timeline.unmet.empty() ? kExitDone : kExitFailed);
  }
  for (const engine::TimelineEntry& entry : timeline.entries)
    if (!options.actions || engine::is_action(entry)) output.print(engine::to_string(entry) + "\n");
  output.print(fmt::format("{} of virtual time, {} runs\n", format_duration(timeline.length), timeline.runs));
  if (!timeline.stopped.empty()) output.print(timeline.stopped + "\n");
  if (expected == 0) return output.finish(kExitDone);
  output.print(fmt::format("{} of {} expectation{} met\n", expected - timeline.unmet.size(), expected,
                           expected == 1 ? " is" : "s are"));
  output.flush();
  for (const engine::ScriptError& one : timeline.unmet)
    std::fputs(engine::format(one, options.script, *text).c_str(), stderr);
  return output.finish(timeline.unmet.empty() ? kExitDone : kExitFailed);
}

}  // namespace healer
