// SPDX-License-Identifier: MIT
// healerctl: asks a running healerd over its control socket. Exit status: 0 done, 1 refused or something failed, 2 the
// command line is wrong or healerd cannot be reached.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include "control/wire.hpp"
#include "ctl/ask.hpp"
#include "ctl/compare.hpp"
#include "ctl/doctor.hpp"
#include "ctl/import.hpp"
#include "ctl/output.hpp"
#include "ctl/probe.hpp"
#include "ctl/procmatch.hpp"
#include "ctl/replay.hpp"
#include "ctl/rules.hpp"
#include "ctl/server/server_options.hpp"
#include "ctl/simulate.hpp"
#include "ctl/top.hpp"
#include "ctl/words/beat.hpp"
#include "ctl/words/command_words.hpp"
#include "ctl/words/event.hpp"
#include "ctl/words/heal.hpp"
#include "runtime/clock.hpp"
#include "runtime/home.hpp"
#include "runtime/jq_helper.hpp"
#include "usage.hpp"
#include "util/left_threads.hpp"
#include "util/text.hpp"
#include "util/when.hpp"

namespace healer {
namespace {

using control::Request;
using control::Verb;

constexpr std::uint64_t kAnyNumber = std::numeric_limits<std::uint64_t>::max();

/// That of a daemon of one's own, where there is one, else the one of the machine.
std::string usual_socket() {
  std::string own = own_files() + "sock";
  return geteuid() != 0 && access(own.c_str(), F_OK) == 0 ? own : std::string(control::kDefaultSocket);
}

/// What the command line says.
struct Arguments {
  OutputOptions output;
  std::string socket = usual_socket();
  ServerOptions server;
  ServerAsked asked_server;
  AskOptions ask;
  Request request;
  std::string since;
  std::string timeout;
  std::string overrides;  ///< heal: the words after --override
  BeatOptions beat;
  EventOptions event;
  SimulateOptions simulate;
  std::string procmatch;  ///< the expression; empty: another command
  std::string probe;      ///< the host; empty: another command
  std::vector<std::string> probe_words;
  FormatOptions format;
  LintOptions lint;
  ImportOptions import;
  CompareOptions compare;
  bool dot = false;      ///< graph: said though it is the default
  bool version = false;  ///< the version is asked for
  std::vector<std::string> help_of;
  TopOptions top;
  DoctorOptions doctor;
  ReplayOptions replay;
};

/// A check of a whole number; `what` it is called in the complaint.
auto number_between(const std::string& what, std::uint64_t least, std::uint64_t most) {
  return [what, least, most](const std::string& text) {
    std::uint64_t number = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc{} && rest == text.data() + text.size() && number >= least && number <= most)
      return std::string{};
    return most == kAnyNumber ? fmt::format("{} {}: not a number", what, text)
                              : fmt::format("{} {}: not a number between {} and {}", what, text, least, most);
  };
}

CLI::App* add(CLI::App& app, Arguments& arguments, Verb verb, const std::string& help) {
  CLI::App* command = app.add_subcommand(std::string(to_string(verb)), help);
  command->fallthrough();
  command->callback([&arguments, verb] { arguments.request.verb = verb; });
  return command;
}

void add_selection(CLI::App* command, Request& request, const std::string& names) {
  command->add_option("names", request.names, names)->type_name("NAME");
  command->add_option("-g,--group", request.groups, "All services of the group (may be given again)")
      ->type_name("GROUP")
      ->allow_extra_args(false);
}

void add_jobs(CLI::App& app, Arguments& arguments) {
  CLI::App* jobs =
      app.add_subcommand("jobs", "List what is under way: starts, stops, restarts, healings, programs of actions");
  jobs->fallthrough();
  jobs->require_subcommand(0, 1);
  jobs->callback([&arguments, jobs] {
    if (jobs->get_subcommands().empty()) arguments.request.verb = Verb::Jobs;
  });
  for (const auto& [verb, help] :
       {std::pair(Verb::Follow, "Print the output of its programs until they end"),
        {Verb::Cancel, "End a start, stop, restart or healing, or the program of a rule's action"}}) {
    CLI::App* command = add(*jobs, arguments, verb, help);
    command->add_option("id", arguments.request.id, "The number that `jobs` shows")
        ->type_name("ID")
        ->required()
        ->check(number_between(fmt::format("jobs {}", to_string(verb)), 0, kAnyNumber));
  }
}

void add_top(CLI::App& app, Arguments& arguments) {
  CLI::App* top = app.add_subcommand("top", "Show all services in a live view (press ? for the keys)");
  top->fallthrough();
  top->callback([&arguments] { arguments.top.wanted = true; });
  top->add_option("--interval", arguments.top.interval, "How often to ask healerd")
      ->type_name("DURATION")
      ->take_last()
      ->capture_default_str();
  top->add_flag("--batch", arguments.top.batch, "Print one frame as plain text and exit (default without a terminal)");
}

void add_replay(CLI::App& app, ReplayOptions& replay) {
  CLI::App* command =
      app.add_subcommand("replay", "Show what these rules would have done on a recorded day (no daemon)");
  command->fallthrough();
  command->callback([&replay] { replay.wanted = true; });
  command->add_option("--since", replay.since, "Start time, e.g. yesterday, \"last tuesday\" or 08:00")
      ->type_name("WHEN")
      ->required();
  command->add_option("--until", replay.until, "End time (default: now)")->type_name("WHEN");
  command->add_option("--rules", replay.rules, "The rules to play (default: those of this machine as they are now)")
      ->type_name("PATH");
  command->add_option("--state", replay.state_file, "Use the recording beside this state file")->type_name("PATH");
  command->add_flag("--throughout", replay.throughout,
                    "Play these rules for the whole time, even where they were edited meanwhile");
  command->add_flag("--all", replay.all, "Also print what is the same");
}

/// What works on rules files, without a daemon.
void add_rules_tools(CLI::App& app, Arguments& arguments) {
  const auto not_empty = [](const std::string& text) { return text.empty() ? "PATH must not be empty" : ""; };
  CLI::App* format = app.add_subcommand("fmt", "Format rules files, or list those that are not formatted (no daemon)");
  format->fallthrough();
  format->add_option("paths", arguments.format.paths, "Files, directories of *.rules, - for standard input")
      ->type_name("PATH")
      ->required()
      ->check(not_empty);
  auto* write =
      format->add_flag("-w,--write", arguments.format.write, "Rewrite the files, and list those that changed");
  auto* check = format->add_flag("--check", arguments.format.check,
                                 "Only list files that would change; exit with 1 if there are any");
  check->excludes(write);
  format->add_flag("--diff", arguments.format.diff, "Print what would change")->excludes(write);

  CLI::App* lint = app.add_subcommand("lint", "Report errors, warnings and advice about rules files (no daemon)");
  lint->fallthrough();
  lint->footer("Exit status: 0 nothing to say, 1 warnings or advice, 2 errors.");
  lint->add_option("paths", arguments.lint.paths, "Files, directories of *.rules, - for standard input")
      ->type_name("PATH")
      ->required()
      ->check(not_empty);
  lint->add_flag("--offline", arguments.lint.offline, "Do not look up users, groups, programs or permissions");

  CLI::App* import =
      app.add_subcommand("import", "Convert Monit's control files to rules with the same meaning (no daemon)");
  import->fallthrough();
  import->footer("Monit's own files are only read. Without -o nothing is written.");
  import->add_option("path", arguments.import.path, "Monit's control file, or the directory that holds its monitrc")
      ->type_name("PATH")
      ->required()
      ->check(not_empty);
  import->add_option("-o,--output", arguments.import.directory, "The directory to write; it must be empty or not exist")
      ->type_name("DIR")
      ->check(not_empty);
  import->add_flag("--force", arguments.import.force, "Allow a directory that is not empty");

  CLI::App* compare = app.add_subcommand("compare", "Compare what Monit did with what healer did or would have done");
  compare->fallthrough();
  compare->add_option("--monit", arguments.compare.monit, "Monit's log; - is standard input")
      ->type_name("LOG")
      ->required()
      ->check(not_empty);
  compare
      ->add_option("--state", arguments.compare.state_file,
                   "Read healer's history from this state file, without a daemon")
      ->type_name("PATH");
  compare->add_option("--within", arguments.compare.within, "Match decisions within this time")
      ->type_name("DURATION")
      ->capture_default_str();

  add_replay(app, arguments.replay);
}

/// What looks at this machine, or at a server, without a daemon.
void add_probes(CLI::App& app, Arguments& arguments) {
  CLI::App* procmatch =
      app.add_subcommand("procmatch", "List which processes match, and which one a check takes (no daemon)");
  procmatch->fallthrough();
  procmatch->add_option("regex", arguments.procmatch, "As after `check process NAME matching`")
      ->type_name("REGEX")
      ->required()
      ->check([](const std::string& text) { return text.empty() ? "REGEX must not be empty" : ""; });

  CLI::App* probing =
      app.add_subcommand("probe", "Run a connection test or a ping now, and time its phases (no daemon)");
  probing->footer(
      "healerctl probe shop.example 'port 443 protocol https request \"/health\" and certificate valid > 30 days'");
  probing->fallthrough();
  probing->add_option("host", arguments.probe, "A host, a URL, or the path of a unix socket")
      ->type_name("HOST")
      ->required()
      ->check([](const std::string& text) { return text.empty() ? "HOST must not be empty" : ""; });
  probing->add_option("words", arguments.probe_words, "The test, as after `if failed` (default: a ping)")
      ->type_name("WORDS")
      ->allow_extra_args();
}

/// What holds for all commands.
void describe_itself(CLI::App& app, Arguments& arguments) {
  app.require_subcommand(1);
  app.set_version_flag("--version", "healerctl " HEALER_VERSION);
  app.set_help_flag("-h,--help", "Print this help, or that of a command");
  app.add_option("--socket", arguments.socket, "The control socket of healerd")
      ->type_name("PATH")
      ->envname("HEALER_SOCKET")
      ->capture_default_str();
  add_server(app, arguments.server);
  app.add_option("--timeout", arguments.timeout, "How long to wait for healerd to answer")->type_name("DURATION");
  app.add_flag("--json", arguments.output.json, "Print one JSON document (see healer-json(5))");
  auto* colour = app.add_flag("--color", arguments.output.colour, "Use colours even if the output is not a terminal");
  app.add_flag("--no-color", arguments.output.no_colour, "Use no colours (same as setting NO_COLOR)")->excludes(colour);
  app.footer("Exit status: 0 done, 1 refused or something failed, 2 wrong usage or healerd cannot be reached.");
}

/// Commands that show how services are, and what happened.
void describe_views(CLI::App& app, Arguments& arguments) {
  Request& request = arguments.request;
  for (const auto& [verb, help] :
       {std::pair(Verb::Summary, "Show one line per service"), {Verb::Status, "Show everything about each service"}}) {
    CLI::App* command = add(app, arguments, verb, help);
    add_selection(command, request, "Services (default: all)");
    command->add_flag("--failed", request.failed, "Only services that have failed or were given up");
    command->add_flag("--exit-code", arguments.ask.exit_code, "Exit with 1 if a service has failed or was given up");
  }
  CLI::App* explain =
      add(app, arguments, Verb::Explain, "Explain why each rule is in its state, and what the next run would do");
  add_selection(explain, request, "Services");
  explain->add_flag("--all", arguments.ask.all, "Name also the guards and brakes that block no healing");

  CLI::App* history = add(app, arguments, Verb::History, "Show what happened, newest last");
  history->add_option("name", request.names, "A service or group (default: all)")->type_name("NAME")->expected(0, 1);
  auto* group = history->add_option("-g,--group", request.groups, "All services of the group")->expected(1);
  history->add_option("--since", arguments.since, "Only what happened since then, e.g. \"2 hours\" or yesterday")
      ->type_name("WHEN");
  history
      ->add_option("-n,--lines", request.limit,
                   "Show the newest N records (default: 100; with --since all, at most 10000)")
      ->type_name("N")
      ->check(number_between("--lines", 1, control::kMaxRecords));
  history->add_option("--after", request.after, "Only records after that number; with -n the oldest N")
      ->type_name("ID")
      ->check(number_between("--after", 0, kAnyNumber));
  history->add_flag("--ids", arguments.ask.ids, "Show the number of each record");
  auto* follow = history->add_flag("-f,--follow", request.follow, "Keep printing new records");
  history->add_option("--state", arguments.ask.state_file, "Read this state file instead of asking a daemon")
      ->type_name("PATH")
      ->excludes(follow)
      ->excludes(group);

  CLI::App* output = add(app, arguments, Verb::Output, "Show what the program of a service writes, or wrote last");
  output->add_option("name", request.names, "A service, or the number of a job or program")
      ->type_name("NAME|ID")
      ->required()
      ->expected(1);
  output->add_flag("-f,--follow", request.follow,
                   "Keep printing what it writes, and what the service's next programs write");

  add_top(app, arguments);
  add_jobs(app, arguments);
  CLI::App* report = add(app, arguments, Verb::Report, "Count the services that are up, down, ...");
  report->add_option("type", arguments.ask.report, "Print only this number")
      ->type_name("up|down|unknown|initialising|unmonitored|total")
      ->transform([](const std::string& word) { return word == "initializing" ? "initialising" : word; })
      ->check([](const std::string& word) {
        constexpr std::array<std::string_view, 6> kTypes{"up",           "down",        "unknown",
                                                         "initialising", "unmonitored", "total"};
        if (std::ranges::find(kTypes, word) != kTypes.end()) return std::string{};
        const std::string_view near = nearest_word(word, kTypes);
        return fmt::format("report shows up, down, unknown, initialising, unmonitored and total, not \"{}\"{}", word,
                           near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near));
      });
  CLI::App* names = add(app, arguments, Verb::Names, "List the names of the services, one per line");
  names->add_flag("--groups", arguments.ask.groups, "List the names of the groups instead");
  CLI::App* graph = app.add_subcommand("graph", "Print services, dependencies and rules as a graph");
  graph->fallthrough();
  graph->callback([&arguments] {
    arguments.request.verb = Verb::Status;
    arguments.ask.graph = true;
  });
  add_selection(graph, request, "Services (default: all)");
  graph->add_flag("--dot", arguments.dot, "In the language of Graphviz (default)");
}

/// Commands that have healerd do something.
void describe_orders(CLI::App& app, Arguments& arguments) {
  Request& request = arguments.request;
  for (const auto& [verb, help] : {std::pair(Verb::Start, "Start services, after what they depend on"),
                                   {Verb::Stop, "Stop services, after what depends on them"},
                                   {Verb::Restart, "Restart services, with what depends on them"}})
    add_selection(add(app, arguments, verb, help), request, "Services, or all");
  CLI::App* pause = add(app, arguments, Verb::Pause, "Send alerts but do nothing else: [NAME... | all] [for DURATION]");
  add_selection(pause, request, "Services (default: all), and for how long, e.g.: for 2 hours");
  pause->add_option("--reason", request.reason, "The reason, for the history")->type_name("TEXT");
  add_selection(add(app, arguments, Verb::Resume, "End a pause"), request, "Services (default: all)");
  CLI::App* ack = add(app, arguments, Verb::Ack, "Acknowledge failed services, so that no more reminders are sent");
  add_selection(ack, request, "Services, or all");
  ack->add_option("--reason", request.reason, "The reason, or who takes care of it, for the history")
      ->type_name("TEXT");
  add_healing(app, request, arguments.overrides);
  add_beat(app, request, arguments.beat);
  add_event(app, request, arguments.event);

  add_selection(add(app, arguments, Verb::Monitor, "Start checking services again"), request, "Services, or all");
  add_selection(add(app, arguments, Verb::Unmonitor, "Stop checking services: NAME... | all [for DURATION]"), request,
                "Services, or all, and for how long, such as: for 2 hours");
  add_selection(add(app, arguments, Verb::Validate, "Check services now; exit with 1 if one of them has failed"),
                request, "Services (default: all)");
  CLI::App* accept =
      add(app, arguments, Verb::Accept, "Let dormant rules of services act, or accept a list: accept list NODE");
  add_selection(accept, request, "Services, or all, or: list NAME");
  // From 2.4 on CLI11 sets the variable of a flag that is not given to 0, and `id` is other commands', too.
  accept->add_flag_function(
      "--pid", [&request](std::int64_t pid) { request.id = static_cast<std::uint64_t>(pid); },
      "Accept the process that the pid file of a service names, though it is in doubt (--pid=N: only N)");
  add(app, arguments, Verb::Lists,
      "Show the lists of `for each`: how many rows, when read, whether accepted, what is missing");
  add(app, arguments, Verb::Forget, "Remove at once the services of a row that is missing from its list")
      ->add_option("row", request.names, "The name of the row")
      ->required()
      ->expected(1)
      ->type_name("NAME");
  add(app, arguments, Verb::Reload, "Read the rules files again")
      ->add_flag("--confirm", request.confirmed,
                 "Reload even if services that healer runs would end because their files are gone");
  add(app, arguments, Verb::Diff, "Show what a reload would change: services and rules added, removed, changed, kept");
  add(app, arguments, Verb::Open, "Log a browser in: print an address that is good once, for 5 minutes, and open it")
      ->add_flag("--print", arguments.ask.print, "Only print the address");
  add(app, arguments, Verb::Quit, "Stop healerd and wait until it has ended");
  add(app, arguments, Verb::Ping, "Check that healerd answers, and show its version");
}

/// Commands that need no daemon.
void describe_tools(CLI::App& app, Arguments& arguments) {
  CLI::App* doctor = app.add_subcommand("doctor", "List what is wrong on this machine, each with its remedy");
  doctor->fallthrough();
  doctor->callback([&arguments] { arguments.doctor.wanted = true; });
  doctor->add_option("--rules", arguments.doctor.rules, "The rules, if they are not " + usual_rules())
      ->type_name("PATH");

  CLI::App* help = app.add_subcommand("help", "Print this help, or that of a command");
  help->fallthrough();
  help->add_option("command", arguments.help_of, "A command")->type_name("COMMAND");
  CLI::App* version = app.add_subcommand("version", "Print the version of healerctl; `ping` shows that of healerd");
  version->fallthrough();
  version->callback([&arguments] { arguments.version = true; });

  add_probes(app, arguments);
  add_rules_tools(app, arguments);

  add_simulate(app, arguments.simulate);
}

void describe(CLI::App& app, Arguments& arguments) {
  describe_itself(app, arguments);
  describe_views(app, arguments);
  describe_orders(app, arguments);
  describe_tools(app, arguments);
}

/// Takes "for 2 hours" off the end of the names. Empty where all is well.
std::string take_span(Request& request) {
  const auto word = std::find(request.names.rbegin(), request.names.rend(), "for");
  if (word == request.names.rend()) return {};
  std::string text;
  for (auto part = word.base(); part != request.names.end(); ++part) text += (text.empty() ? "" : " ") + *part;
  request.span = parse_duration(text);
  if (!request.span || *request.span == Duration{0})
    return fmt::format("for {}: not a duration (such as \"2 hours\" or 90m)", text);
  request.names.erase(word.base() - 1, request.names.end());
  return {};
}

std::string not_a_time(std::string_view option, const std::string& text) {
  return fmt::format("{} {}: not a time (such as \"2 hours\", \"last tuesday\", 08:00 or 2026-11-20)", option, text);
}

/// Whether the times of a replay are none, and why. Empty where all is well.
std::string wrong_span(const ReplayOptions& replay) {
  const WallTime now = runtime::now().wall;
  const auto since = parse_when(replay.since, now, runtime::local_civil);
  if (!since) return not_a_time("--since", replay.since);
  if (replay.until.empty()) return {};
  const auto until = parse_when(replay.until, now, runtime::local_civil);
  if (!until) return not_a_time("--until", replay.until);
  if (*until > *since) return {};
  return fmt::format("--until {} is not after --since {}", replay.until, replay.since);
}

/// What CLI11 cannot say by itself. Empty where all is well.
std::string complaint(Arguments& arguments) {
  Request& request = arguments.request;
  if (request.verb == Verb::Pause || request.verb == Verb::Unmonitor)
    if (std::string wrong = take_span(request); !wrong.empty()) return wrong;
  if (std::string wrong = take_overrides(arguments.overrides, request); !wrong.empty()) return wrong;
  if (std::string wrong = take_beat(arguments.beat, request); !wrong.empty()) return wrong;
  if (std::string wrong = take_event(arguments.event, request); !wrong.empty()) return wrong;
  if (std::string wrong = take_server(arguments.server, arguments.asked_server); !wrong.empty()) return wrong;
  if (arguments.doctor.wanted && !arguments.server.url.empty())
    return "doctor looks at the machine that it runs on: run it there, without --server";
  take_number(request);
  const bool explicit_selection = !request.names.empty() || !request.groups.empty();
  if (!arguments.since.empty()) {
    const WallTime now = runtime::now().wall;
    const auto since = parse_when(arguments.since, now, runtime::local_civil);
    if (!since) return not_a_time("--since", arguments.since);
    request.since = std::max(now - *since, Duration{0});
  }
  if (!arguments.timeout.empty()) {
    const std::optional<Duration> timeout = parse_duration(arguments.timeout);
    if (!timeout || *timeout == Duration{0})
      return fmt::format("--timeout {}: not a duration (such as 10s or \"2 minutes\")", arguments.timeout);
    arguments.ask.timeout = arguments.top.timeout = arguments.doctor.timeout = arguments.compare.timeout = timeout;
  }
  if (arguments.replay.wanted)
    if (std::string wrong = wrong_span(arguments.replay); !wrong.empty()) return wrong;
  if (!arguments.compare.monit.empty()) {
    const std::optional<Duration> apart = parse_duration(arguments.compare.within);
    if (!apart)
      return fmt::format("--within {}: not a duration (such as 30s or \"5 minutes\")", arguments.compare.within);
    arguments.compare.apart = *apart;
  }
  if (arguments.top.wanted) {
    if (arguments.output.json) return "top has no JSON output: `summary --json` has what is in it";
    arguments.top.every = parse_duration(arguments.top.interval).value_or(Duration{0});
    if (arguments.top.every < milliseconds{100} || arguments.top.every > hours{1})
      return fmt::format("--interval {}: not a duration between 100 ms and 1 h (such as 2s)", arguments.top.interval);
    return {};
  }
  if (request.verb == Verb::Explain && !explicit_selection) return "explain which service?";
  if (request.verb != Verb::History && std::ranges::find(request.names, "all") != request.names.end()) {
    request.all = true;
    request.names.clear();
  }
  if (control::acts(request.verb)) {
    const bool broad = request.verb == Verb::Validate || request.verb == Verb::Pause || request.verb == Verb::Resume;
    if (broad && !explicit_selection) request.all = true;
    const bool selective = request.verb == Verb::Monitor || request.verb == Verb::Unmonitor ||
                           request.verb == Verb::Accept || request.verb == Verb::Start || request.verb == Verb::Stop ||
                           request.verb == Verb::Restart || request.verb == Verb::Heal || request.verb == Verb::Ack;
    if (selective && !explicit_selection)
      return fmt::format("{} which services? Name them or a group (-g), or say \"all\"", to_string(request.verb));
  }
  if (arguments.ask.graph && arguments.output.json)
    return "graph has no JSON output: `status --json` has all that is in it";
  return {};
}

/// A wrong command line. `json`: an answer as one document was asked for.
int usage(const std::string& message, bool json) {
  static constexpr std::string_view kRemedy = "`healerctl --help` shows how it is used";
  if (json)
    std::fputs(control::error_line({"usage", message, std::string(kRemedy)}).c_str(), stdout);
  else
    std::fputs(fmt::format("healerctl: {}\n  {}\n", printable(message), kRemedy).c_str(), stderr);
  return kExitUsage;
}

/// The version of this program.
int print_version(Output& output) {
  const std::string text = "healerctl " HEALER_VERSION;
  const control::Json document{{"version", control::kWireVersion}, {"command", "version"}, {"text", text}};
  output.print((output.json() ? control::to_line(document) : text) + "\n");
  return output.finish(kExitDone);
}

int run(int count, char** words) {
  Arguments arguments;
  CLI::App app("Queries and controls a running healerd.", "healerctl");
  describe(app, arguments);
  std::vector<std::string> line(words + 1, words + count);
  const bool json = std::ranges::find(line, "--json") != line.end();
  help_first(app, line);
  // The command goes first: CLI11 takes its options only after it.
  if (const std::size_t at = command_at(app, line); at < line.size()) {
    if (const std::string unknown = unknown_command(app, line[at]); !unknown.empty()) return usage(unknown, json);
    std::rotate(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(at),
                line.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
  std::ranges::reverse(line);  // as CLI11 wants it
  try {
    app.parse(std::move(line));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return usage(count == 1 ? "a command is missing" : usage_complaint(app, error), json);
  }
  if (const std::string wrong = complaint(arguments); !wrong.empty()) return usage(wrong, json);
  Output output(arguments.output);
  if (arguments.version) return print_version(output);
  if (!arguments.procmatch.empty()) return procmatch(arguments.procmatch, output);
  if (!arguments.probe.empty()) return probe(arguments.probe, arguments.probe_words, output);
  std::unique_ptr<Door> door = std::make_unique<SocketDoor>(arguments.socket);
  if (!arguments.server.url.empty()) door = std::make_unique<ServerDoor>(arguments.asked_server);
  if (arguments.top.wanted) return top(*door, arguments.top, output);
  if (arguments.doctor.wanted) return examine(arguments.socket, arguments.doctor, output);
  if (!arguments.format.paths.empty()) return format_files(arguments.format, output);
  if (!arguments.import.path.empty()) return import_tree(arguments.import, output);
  if (!arguments.compare.monit.empty()) return compare_logs(*door, arguments.compare, output);
  if (!arguments.lint.paths.empty()) return lint_files(arguments.lint, output);
  if (arguments.simulate.wanted) return simulate(arguments.simulate, output);
  if (arguments.replay.wanted) return replay_day(arguments.replay, output);
  return ask(*door, arguments.request, arguments.ask, output);
}

}  // namespace
}  // namespace healer

int main(int count, char** words) {
  if (healer::runtime::is_jq_helper(count, words)) return healer::runtime::run_jq_helper();
  // Where standard output is closed the socket would take its place; this way what is printed fails, and is told.
  for (int taken = 0; taken >= 0 && taken <= STDERR_FILENO;)
    if ((taken = open("/dev/null", O_RDONLY)) > STDERR_FILENO) close(taken);
  try {
    return healer::end_process(healer::run(count, words));
  } catch (const std::exception& failure) {
    std::fputs(fmt::format("healerctl: {}\n", failure.what()).c_str(), stderr);
    return healer::kExitFailed;
  }
}
