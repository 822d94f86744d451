// SPDX-License-Identifier: MIT
// The command line of healerd. Monit's options keep their letters and their meaning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "engine/rules/settings.hpp"
#include "util/monit_version.hpp"
#include "util/time.hpp"

namespace healer {

struct Options {
  enum class Task : std::uint8_t { Run, Test, Id, ResetId, Hash, Version } task = Task::Run;
  std::string config;                           ///< -c: a file, a directory of *.rules, or "-" with -t
  std::optional<Duration> cycle;                ///< -d
  std::string log;                              ///< -l: a path or "syslog"
  std::string pid_file;                         ///< -p
  std::string state_file;                       ///< -s
  std::string socket;                           ///< --socket
  std::string group;                            ///< -g: taken for Monit's sake; commands are healerctl's
  std::string hash_file;                        ///< -H FILE; empty: standard input
  bool foreground = false;                      ///< -I
  bool batch = false;                           ///< -B
  bool shadow = false;                          ///< --shadow
  std::optional<MonitVersion> monit_dialect{};  ///< --dialect monit
  std::string with;                             ///< --with: the rules files among which `file` is checked
  std::string file;                             ///< what --with is about
  bool json = false;                            ///< --json
  bool offline = false;                         ///< --offline
  bool strict = false;                          ///< --strict
  Duration grace{20'000};                       ///< --grace: how long an orderly end waits for answers
  int verbose = 0;                              ///< -v, -vv
};

/// What a command line means: options, or an exit status with what was to be said already said.
[[nodiscard]] std::variant<Options, int> parse_options(int argc, char** argv);

/// The command line overrides the rules files.
void apply(const Options& options, engine::Settings& settings);

}  // namespace healer
