// SPDX-License-Identifier: MIT
#include "ctl/procmatch.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <set>

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include "ctl/render/render_text.hpp"
#include "runtime/clock.hpp"
#include "runtime/inspection/proc_table.hpp"
#include "runtime/pattern.hpp"
#include "runtime/process/own_programs.hpp"
#include "util/text.hpp"

namespace healer {
namespace {

using control::Json;
using runtime::ProcCommands;
using runtime::ProcStat;

Json to_json(const ProcStat& process, const std::string& command, Duration up, bool chosen, bool own) {
  return {{"pid", process.pid}, {"ppid", process.parent}, {"up_ms", up.count()},
          {"command", command}, {"chosen", chosen},       {"own", own}};
}

}  // namespace

int procmatch(const std::string& expression, Output& output) {
  const runtime::Pattern pattern(expression);
  if (pattern.error() != 0)
    return output.fail({"pattern", fmt::format("\"{}\" is not a valid regular expression", printable(expression)),
                        "it is a POSIX extended one, as after `matching`"});
  auto snapshot = runtime::ProcSnapshot::take();
  if (!snapshot) return output.fail({"processes", snapshot.error().what, ""});
  std::atomic<pid_t> at{0};
  auto commands = runtime::read_commands(*snapshot, {getpid()}, at);  // whoever asks is not meant
  if (!commands) return output.fail({"processes", commands.error().what, ""});
  std::set<pid_t> own;
  const auto chosen = runtime::find_match(**commands, expression, [&](const ProcStat& process) {
    return runtime::is_run_by_healer(**snapshot, process) && own.insert(process.pid).second;
  });
  if (!chosen) return output.fail({"pattern", chosen.error().what, ""});

  const auto& processes = (*commands)->snapshot->processes();
  const Duration now = runtime::now().mono;
  if (output.json()) output.open_list({{"version", control::kWireVersion}, {"command", "procmatch"}}, "processes");
  std::size_t found = 0;
  std::string table;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const ProcStat& process = processes[i];
    const std::string& line = (*commands)->lines[i];
    if (process.pid == getpid() || !pattern.matches(line)) continue;
    ++found;
    const Duration up = std::max(now - runtime::start_time(process.start_ticks), Duration{0});
    const bool is_chosen = process.pid == chosen->pid;
    const bool is_own = own.contains(process.pid);
    if (output.json()) {
      output.item(to_json(process, line, up, is_chosen, is_own));
      continue;
    }
    const std::string row =
        fmt::format("{} {:>8} {:>8}  {}  {}",
                    is_chosen ? '*'
                    : is_own  ? '-'
                              : ' ',
                    process.pid, process.parent, control::pad(format_duration(up), 8), printable(line));
    const std::size_t width = output.style().width;
    table += (width == 0 ? row : control::cut(row, width, "...")) + "\n";
  }
  if (output.json()) {
    output.close_list(Json::object());
  } else if (found == 0) {
    output.print(fmt::format("no process matches \"{}\"\n", printable(expression)));
  } else {
    output.print(fmt::format("  {:>8} {:>8}  {}  {}\n", "PID", "PPID", control::pad("UP", 8), "COMMAND"));
    output.print(table);
    output.print(fmt::format("\n{} {} \"{}\"; * is the one that a check would take\n", found,
                             found == 1 ? "process matches" : "processes match", printable(expression)));
    if (!own.empty()) output.print("a check never takes those marked -, which healer runs for something else\n");
  }
  return output.finish(found > 0 ? kExitDone : kExitFailed);
}

}  // namespace healer
