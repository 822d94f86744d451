// SPDX-License-Identifier: MIT
#include "daemon/check_rules.hpp"

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <optional>

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include "config/check.hpp"
#include "config/environments.hpp"
#include "control/diagnostic_json.hpp"
#include "control/wire.hpp"
#include "daemon/lists/lists.hpp"
#include "daemon/paths.hpp"
#include "runtime/clock.hpp"
#include "runtime/files/read_input.hpp"
#include "runtime/host.hpp"
#include "util/time.hpp"

namespace healer {
namespace {

using config::Diagnostic;
using config::DiagnosticSeverity;
using control::Json;

constexpr int kDocumentVersion = 1;  // grows when a field changes its meaning
constexpr const char* kStandardInput = "<stdin>";

bool wants_color(const Options& options) {
  const char* no_color = std::getenv("NO_COLOR");
  return !options.batch && isatty(STDERR_FILENO) != 0 && (no_color == nullptr || *no_color == '\0');
}

/// One document, whatever there is to say.
int print_json(const config::LoadResult& result, bool verbose) {
  Json list = Json::array();
  std::size_t errors = 0;
  std::size_t warnings = 0;
  for (const Diagnostic& diagnostic : result.diagnostics) {
    if (diagnostic.on_request && !verbose) continue;
    errors += diagnostic.severity == DiagnosticSeverity::Error ? 1 : 0;
    warnings += diagnostic.severity == DiagnosticSeverity::Warning ? 1 : 0;
    list.push_back(diagnostic_json(diagnostic, result.sources));
  }
  const Json document{{"version", kDocumentVersion},
                      {"accepted", errors == 0},
                      {"errors", errors},
                      {"warnings", warnings},
                      {"diagnostics", std::move(list)}};
  std::cout << control::to_line(document) << '\n' << std::flush;
  return errors == 0 ? 0 : 1;
}

/// The file that is checked among others, or that comes by standard input.
Result<config::NewFile> new_file(const std::string& path) {
  if (path != "-") return config::NewFile{.path = path, .text = {}, .replaces = {}, .directory = {}};
  auto text = read_input(path);
  if (!text) return text.error();
  return config::NewFile{.path = kStandardInput, .text = std::move(*text), .replaces = {}, .directory = {}};
}

Result<config::LoadResult> load(const Options& options, const config::LoadOptions& how,
                                const config::Environment& machine) {
  const std::string& checked = options.with.empty() ? options.config : options.file;
  if (options.with.empty() && checked != "-") return config::load(checked, how, machine);
  auto file = new_file(checked);
  if (!file) return file.error();
  if (!options.with.empty()) return config::load_with(options.with, std::move(*file), how, machine);
  const std::string path = file->path;
  return config::load(path, how, config::NewFileEnvironment(std::move(*file), machine));
}

/// As a daemon would load them: with the rows that lists had when it last read them. What they are is said.
Result<config::LoadResult> load_with_lists(const Options& options, const config::LoadOptions& how,
                                           const config::Environment& machine) {
  Result<config::LoadResult> loaded = load(options, how, machine);
  if (!loaded || loaded->lists.empty() || how.monit_dialect) return loaded;
  engine::Settings settings = loaded->ok() ? loaded->rules->settings : loaded->named;
  apply(options, settings);
  const DaemonLists remembered(paths_of(settings).lists_file);
  const config::ListsEnvironment::Lists rows = remembered.rows()();
  if (!rows.empty()) loaded = load(options, how, config::ListsEnvironment(rows, machine));
  if (!loaded) return loaded;
  for (const config::ListDeclaration& list : loaded->lists) {
    if (const auto known = rows.find(list.source); known != rows.end()) {
      const auto read = remembered.read_at(list.source);
      config::report(loaded->diagnostics, DiagnosticSeverity::Note, config::Code::UnreadList, list.range,
                     fmt::format("the list {} is not read here: its block is checked with the {} row{} that it had "
                                 "when healerd last read it{}",
                                 list.name, known->second.size(), known->second.size() == 1 ? "" : "s",
                                 read ? ", " + format_monit_date(runtime::local_civil(*read)) : ""));
    } else if (!remembered.unreadable().empty()) {
      config::report(
          loaded->diagnostics, DiagnosticSeverity::Note, config::Code::UnreadList, list.range,
          fmt::format("the rows of the list {} cannot be checked here: {}", list.name, remembered.unreadable()));
    }
  }
  return loaded;
}

}  // namespace

int check_rules(const Options& options) {
  const runtime::Host host;
  const config::OfflineEnvironment offline(host);
  const config::CheckOptions wanted{
      .load = {.monit_dialect = options.monit_dialect, .strict = options.strict, .secrets = true},
      .verbose = options.verbose > 0,
      .color = wants_color(options)};
  const auto loaded =
      options.offline ? load(options, wanted.load, offline) : load_with_lists(options, wanted.load, host);
  if (!loaded) {
    std::cerr << "healerd: " << loaded.error().what << '\n';
    return 1;
  }
  if (options.json) return print_json(*loaded, wanted.verbose);
  const config::CheckOutcome outcome = config::outcome_of(*loaded, wanted);
  std::cerr << outcome.err << std::flush;
  std::cout << outcome.out << std::flush;
  return outcome.status;
}

}  // namespace healer
