// SPDX-License-Identifier: MIT
#include "daemon/options.hpp"

#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <spdlog/fmt/fmt.h>

#include "runtime/home.hpp"
#include "usage.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

namespace healer {

namespace {

/// Within: none is healer's own. None: there is no such dialect.
std::optional<std::optional<MonitVersion>> dialect_named(std::string_view word) {
  if (word == "healer") return std::optional<MonitVersion>();
  if (word == "monit" || word == "monit-6") return MonitVersion::V6;
  if (word == "monit-5.34") return MonitVersion::V5_34;
  if (word == "monit-5.33") return MonitVersion::V5_33;
  return std::nullopt;
}

int complain(const std::string& wrong) {
  std::cerr << "healerd: " << printable(wrong) << "\n  `healerd --help` shows how it is used\n";
  return 1;
}

/// What is wrong with the words that go with -t, which takes a file as -c does. Empty where all is well.
std::string of_test(Options& options, bool test, bool has_config) {
  if (!test) {
    if (!options.file.empty()) {
      const std::string command = command_complaint({options.file});
      return command.empty() ? fmt::format("healerd takes no \"{}\"", options.file) : command;
    }
    if (!options.with.empty()) return "--with is for -t";
    if (options.json) return "--json is for -t";
    if (options.config == "-") return "-c - is only for -t: a daemon must be able to read its rules again";
    return {};
  }
  if (!options.with.empty()) {
    if (has_config) return "-c and --with exclude each other";
    return options.file.empty()
               ? "--with needs the FILE that is checked, as in: healerd -t --with /etc/healer/rules.d FILE"
               : std::string();
  }
  if (options.file.empty()) return {};
  if (has_config) return fmt::format("-c and \"{}\" exclude each other", options.file);
  options.config = std::exchange(options.file, {});
  return {};
}

/// What a command line says beside what becomes an option as it is.
struct CommandLine {
  bool test = false, id = false, reset = false, version = false;
  double cycle = 0;
  std::vector<std::string> grace;
  std::string dialect = "healer";
  const CLI::Option* config = nullptr;
  const CLI::Option* interval = nullptr;
  const CLI::Option* hash = nullptr;
};

/// What is shown of these is in the order in which they are added.
void add_places(CLI::App& app, Options& options, CommandLine& words) {
  words.config =
      app.add_option("-c", options.config,
                     "Rules: a file, or a directory whose *.rules are read in the order of their names; with -t also "
                     "- for standard input")
          ->type_name("PATH")
          ->capture_default_str();
  words.interval =
      app.add_option("-d", words.cycle, "The length of a cycle in seconds; overrides `set daemon`")->type_name("N");
  app.add_option("-g", options.group, "Accepted for compatibility with Monit; groups are chosen with healerctl -g")
      ->type_name("NAME");
  app.add_option("-l", options.log, "Log to this file, or to syslog; overrides `set log`")->type_name("FILE|syslog");
  app.add_option("-p", options.pid_file, "Pid and lock file; overrides `set pidfile`")->type_name("FILE");
  app.add_option("-s", options.state_file, "State file; overrides `set statefile`")->type_name("FILE");
  app.add_option("--socket", options.socket, "Control socket for healerctl; overrides `set control socket`")
      ->type_name("PATH");
  app.add_flag("-I", options.foreground, "Stay in the foreground");
  app.add_flag("-B", options.batch, "Use no colours in the output");
}

void add_words_of_test(CLI::App& app, Options& options, CommandLine& words) {
  app.add_flag("-t", words.test, "Check the rules and exit: status 0 accepted, 1 rejected");
  app.add_option("--dialect", words.dialect,
                 "With -t: `monit` gives Monit 6's own verdict, `monit-5.34` and `monit-5.33` that of older ones")
      ->type_name("monit")
      ->check([](const std::string& word) {
        return dialect_named(word)
                   ? ""
                   : fmt::format("--dialect {}: there must be healer, monit, monit-5.34 or monit-5.33", word);
      });
  app.add_option("--with", options.with, "With -t: check FILE as one of these rules files, a directory or a main file")
      ->type_name("PATH");
  app.add_option("file", options.file, "With -t: the rules to check, as with -c")->type_name("FILE");
  app.add_flag("--json", options.json, "With -t: print one JSON document (see healerd(8))");
  app.add_flag("--offline", options.offline,
               "With -t: do not look up users, groups or programs, nor check permissions");
  app.add_flag("--strict", options.strict, "With -t: treat warnings as errors");
}

void add_rest(CLI::App& app, Options& options, CommandLine& words) {
  app.add_option("--grace", words.grace,
                 "How long a shutdown waits for answers to requests of healings (default: 20 seconds)")
      ->type_name("DURATION")
      ->expected(1, 2)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("--shadow", options.shadow, "Check and record everything, but take no action");
  app.add_flag("-v,--verbose", options.verbose, "Log more; with -t, print how the rules are understood");
  app.add_flag("--id", words.id, "Print the id of this healer and exit");
  app.add_flag("--resetid", words.reset, "Give this healer a new id and exit");
  words.hash = app.add_option("-H", options.hash_file, "Print SHA1 and MD5 of a file, or of standard input, and exit")
                   ->type_name("[FILE]")
                   ->expected(0, 1);
  app.add_flag("-V,--version", words.version, "Print the version and exit");
}

Options::Task task_of(const CommandLine& words) {
  return words.version             ? Options::Task::Version
         : words.hash->count() > 0 ? Options::Task::Hash
         : words.test              ? Options::Task::Test
         : words.reset             ? Options::Task::ResetId
         : words.id                ? Options::Task::Id
                                   : Options::Task::Run;
}

}  // namespace

std::variant<Options, int> parse_options(int argc, char** argv) {
  Options options{.config = usual_rules()};
  CLI::App app{"Supervises services according to rules files and heals what fails. It is controlled with healerctl.",
               "healerd"};
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);

  CommandLine words;
  add_places(app, options, words);
  add_words_of_test(app, options, words);
  add_rest(app, options, words);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    std::vector<std::string> left = app.remaining();
    if (!options.file.empty()) left.insert(left.begin(), options.file);
    std::string wrong = command_complaint(left);
    if (wrong.empty()) wrong = usage_complaint(app, error);
    return complain(wrong);
  }
  if (const std::string wrong = of_test(options, words.test, words.config->count() > 0); !wrong.empty())
    return complain(wrong);
  if (words.interval->count() > 0) {
    if (!(words.cycle >= 0.001 && words.cycle <= 365.0 * 86'400)) {
      std::cerr << "healerd: -d needs a number of seconds greater than 0, such as: -d 30\n";
      return 1;
    }
    options.cycle = Duration{static_cast<std::int64_t>(words.cycle * 1000)};
  }
  if (!words.grace.empty()) {
    const std::string text = fmt::format("{}", fmt::join(words.grace, " "));
    const auto read = parse_duration(text);
    if (!read) return complain(fmt::format("--grace {}: not a duration (such as 8s or \"8 seconds\")", text));
    options.grace = *read;
  }
  options.monit_dialect = *dialect_named(words.dialect);
  options.task = task_of(words);
  // The daemon changes to /, so what was given relative to here must not be relative any more.
  for (std::string* path : {&options.config, &options.pid_file, &options.state_file, &options.socket, &options.log}) {
    if (path->empty() || (path == &options.log && *path == "syslog")) continue;
    if (path != &options.config || options.task != Options::Task::Test) *path = std::filesystem::absolute(*path);
  }
  return options;
}

void apply(const Options& options, engine::Settings& settings) {
  if (options.cycle) settings.cycle = options.cycle;
  if (!options.pid_file.empty()) settings.pid_file = options.pid_file;
  if (!options.state_file.empty()) settings.state_file = options.state_file;
  if (!options.socket.empty()) settings.control_socket = options.socket;
  if (options.log == "syslog") {
    settings.log = {.target = engine::LogSettings::Target::Syslog, .path = {}, .facility = settings.log.facility};
  } else if (!options.log.empty()) {
    settings.log = {.target = engine::LogSettings::Target::File, .path = options.log, .facility = {}};
  }
  settings.foreground = settings.foreground || options.foreground;
  settings.terminal_batch = settings.terminal_batch || options.batch;
  settings.shadow = settings.shadow || options.shadow;
}

}  // namespace healer
