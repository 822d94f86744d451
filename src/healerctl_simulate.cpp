// SPDX-License-Identifier: MIT
#include "healerctl_simulate.hpp"

#include <cstdio>
#include <string>

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include "config/check.hpp"
#include "config/environments.hpp"
#include "config/load.hpp"
#include "control/wire.hpp"
#include "engine/script.hpp"
#include "engine/simulator.hpp"
#include "read_input.hpp"
#include "runtime/clock.hpp"
#include "runtime/host.hpp"

namespace healer {
namespace {

using control::Json;

Json to_json(const engine::TimelineEntry& entry) {
  return {{"at_ms", entry.at.count()}, {"when", format_iso(entry.when)}, {"cycle", entry.cycle},
          {"kind", entry.kind},        {"service", entry.service},       {"run", entry.run},
          {"rule", entry.rule},        {"place", entry.place},           {"counters", entry.counters},
          {"text", entry.text},        {"program", entry.program},       {"recipients", entry.recipients}};
}

int complain(const std::string& messages, std::string_view what, const std::string& path, Output& output) {
  std::fputs(messages.c_str(), stderr);
  return output.fail({"script", fmt::format("{} {} has errors: nothing was simulated", what, path), ""});
}

}  // namespace

int simulate(const SimulateOptions& options, Output& output) {
  const runtime::Host machine;
  const config::OfflineEnvironment environment(machine);
  config::LoadResult loaded = config::load(options.rules, {}, environment);
  std::erase_if(loaded.diagnostics, [](const config::Diagnostic& one) { return one.on_request; });
  const std::string messages = config::format_all(loaded.diagnostics, loaded.sources, false);
  if (!loaded.ok()) return complain(messages, "the rules", options.rules, output);
  std::fputs(messages.c_str(), stderr);

  const auto text = read_input(options.script);
  if (!text) return output.fail({"script", text.error().what, ""});
  const std::string script = options.script == "-" ? "<stdin>" : options.script;
  const engine::ScriptReading reading = engine::read_script(*text, *loaded.rules);
  if (!reading.errors.empty()) {
    std::string errors;
    for (const engine::ScriptError& error : reading.errors) errors += engine::format(error, script, *text);
    return complain(errors, "the script", script, output);
  }

  const engine::Timeline timeline = engine::simulate(*loaded.rules, reading.script, runtime::local_civil);
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
