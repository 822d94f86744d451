// SPDX-License-Identifier: MIT
#include "ctl/rules.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include "config/check.hpp"
#include "config/environments.hpp"
#include "config/load.hpp"
#include "config/text/format.hpp"
#include "control/diagnostic_json.hpp"
#include "runtime/files/read_input.hpp"
#include "runtime/files/write_file.hpp"
#include "runtime/host.hpp"
#include "util/line_diff.hpp"
#include "util/text.hpp"

namespace healer {
namespace {

using config::Diagnostic;
using config::DiagnosticSeverity;
using control::Json;

constexpr int kExitErrors = 2;
constexpr const char* kStandardInput = "<stdin>";

/// The files that a command line names.
Result<std::vector<std::string>> files_of(const std::vector<std::string>& paths) {
  const runtime::Host host;
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    const Result<config::FileFacts> facts = path == "-" ? config::FileFacts{} : host.stat(path);
    if (!facts) return facts.error();
    if (!facts->is_directory) {
      files.push_back(path);
      continue;
    }
    const auto found = host.glob((std::filesystem::path(path) / "*.rules").string());
    if (!found) return found.error();
    std::ranges::copy_if(*found, std::back_inserter(files), [&](const std::string& file) {
      const auto of = host.stat(file);
      return of && of->is_regular;
    });
  }
  return files;
}

/// Loads `path` with that text in its place: alone, or where `context` is named, with the other files of it.
config::LoadResult loaded(const std::string& file, const std::string& text, const std::string& context) {
  const runtime::Host host;
  // As the directory's files are called when they are found there.
  const std::string path =
      context.empty() ? file : (std::filesystem::path(context) / std::filesystem::path(file).filename()).string();
  const config::NewFileEnvironment machine(
      {.path = path, .text = text, .replaces = context.empty() ? "" : path, .directory = {}}, host);
  const config::OfflineEnvironment offline(machine);
  return config::load(context.empty() ? path : context, {}, offline);
}

/// Whether the two texts of a file mean the same; else why they may not. Some files mean something only beside the
/// others of their directory, or within the file that includes them.
std::string changed_meaning(const std::string& path, const std::string& before, const std::string& after) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  std::string error;
  for (const std::string& context : {std::string{}, folder.empty() ? std::string(".") : folder}) {
    if (!context.empty() && !path.ends_with(".rules")) break;
    const config::LoadResult old = loaded(path, before, context);
    if (error.empty()) error = first_error(old.diagnostics, old.sources);
    if (!old.ok()) continue;
    const config::LoadResult fresh = loaded(path, after, context);
    if (!fresh.ok()) return first_error(fresh.diagnostics, fresh.sources);
    return config::difference(*old.rules, *fresh.rules);
  }
  return fmt::format("it has an error, so that what it means is not known: {}", error);
}

/// What became of one file.
struct Formatted {
  std::string path;
  std::string before, after;
  std::string error;
  bool written = false;

  [[nodiscard]] bool changes() const { return error.empty() && before != after; }
};

Formatted formatted(const std::string& path, const FormatOptions& options) {
  Formatted one{.path = path == "-" ? kStandardInput : path, .before = {}, .after = {}, .error = {}};
  auto text = read_input(path);
  if (!text) {
    one.error = text.error().what;
    return one;
  }
  one.before = std::move(*text);
  auto after = config::format_rules(one.before);
  if (!after) {
    one.error = fmt::format("{}:{}", one.path, after.error().what);
    return one;
  }
  one.after = std::move(*after);
  if (one.before == one.after) return one;
  if (const std::string why = changed_meaning(one.path, one.before, one.after); !why.empty()) {
    one.error = fmt::format("{} is left as it is: {}", one.path, why);
    return one;
  }
  if (!options.write || path == "-") return one;
  const Result<void> done = replace_file(path, one.after);
  if (done)
    one.written = true;
  else
    one.error = done.error().what;
  return one;
}

bool colours_errors() {
  const char* no_colour = std::getenv("NO_COLOR");
  return isatty(STDERR_FILENO) != 0 && (no_colour == nullptr || *no_colour == '\0');
}

}  // namespace

int format_files(const FormatOptions& options, Output& output) {
  const auto files = files_of(options.paths);
  if (!files) return output.fail({"rules", files.error().what, ""});
  std::size_t changed = 0;
  std::size_t errors = 0;
  if (output.json()) output.open_list({{"version", control::kWireVersion}, {"command", "fmt"}}, "files");
  for (const std::string& path : *files) {
    const Formatted one = formatted(path, options);
    changed += one.changes() ? 1 : 0;
    errors += one.error.empty() ? 0 : 1;
    const std::string diff =
        options.diff && one.changes() ? line_diff(one.before, one.after, one.path, one.path) : std::string{};
    if (output.json()) {
      Json item{{"file", one.path}, {"changes", one.changes()}, {"written", one.written}, {"error", one.error}};
      if (options.diff) item["diff"] = diff;
      if (!options.check && !options.write && !options.diff && one.error.empty()) item["text"] = one.after;
      output.item(item);
      continue;
    }
    if (!one.error.empty()) {
      output.flush();
      std::fputs(fmt::format("healerctl: {}\n", printable(one.error)).c_str(), stderr);
      continue;
    }
    if (options.diff)
      output.print(diff);
    else if (options.check || (options.write && path != "-"))
      output.print(one.changes() ? printable(one.path) + "\n" : "");
    else
      output.print(one.after);
  }
  if (output.json()) output.close_list({{"changed", changed}, {"errors", errors}});
  return output.finish(errors > 0 ? kExitErrors : options.check && changed > 0 ? kExitFailed : kExitDone);
}

int lint_files(const LintOptions& options, Output& output) {
  const runtime::Host host;
  const config::OfflineEnvironment offline(host);
  std::size_t counts[3] = {0, 0, 0};
  if (output.json()) output.open_list({{"version", control::kWireVersion}, {"command", "lint"}}, "findings");
  for (const std::string& path : options.paths) {
    const config::LoadOptions how{.advice = true, .secrets = true};
    config::LoadResult result;
    if (path == "-") {
      auto text = read_input(path);
      if (!text) return output.fail({"rules", text.error().what, ""});
      const config::NewFileEnvironment machine(
          {.path = kStandardInput, .text = std::move(*text), .replaces = {}, .directory = {}}, host);
      const config::OfflineEnvironment aside(machine);
      result = options.offline ? config::load(kStandardInput, how, aside) : config::load(kStandardInput, how, machine);
    } else {
      result = options.offline ? config::load(path, how, offline) : config::load(path, how, host);
    }
    std::erase_if(result.diagnostics, [](const Diagnostic& one) { return one.on_request; });
    for (const Diagnostic& one : result.diagnostics) ++counts[static_cast<std::size_t>(one.severity)];
    if (output.json()) {
      for (const Diagnostic& one : result.diagnostics) output.item(diagnostic_json(one, result.sources));
    } else {
      output.flush();
      std::fputs(config::format_all(result.diagnostics, result.sources, colours_errors()).c_str(), stderr);
    }
  }
  const auto [notes, warnings, errors] = counts;
  const int status = errors > 0 ? kExitErrors : notes + warnings > 0 ? kExitFailed : kExitDone;
  if (output.json()) {
    output.close_list({{"errors", errors}, {"warnings", warnings}, {"notes", notes}});
    return output.finish(status);
  }
  const auto counted = [](std::size_t number, std::string_view what) {
    return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
  };
  output.print(status == kExitDone ? "no problems found\n"
                                   : fmt::format("{}, {}, {}\n", counted(errors, "error"), counted(warnings, "warning"),
                                                 counted(notes, "note")));
  return output.finish(status);
}

}  // namespace healer
