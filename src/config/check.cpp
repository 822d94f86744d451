// SPDX-License-Identifier: MIT
#include "config/check.hpp"

#include <algorithm>
#include <set>

#include <spdlog/fmt/fmt.h>

#include "config/passes/passes.hpp"
#include "config/text/print.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

constexpr std::size_t kMostShown = 200;

std::string counted(std::ptrdiff_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

/// The services of a file of a document, in lower case.
std::set<std::string> services_of(const Document& document, std::uint32_t file) {
  std::set<std::string> names;
  for_each_check(document, [&](const CheckSyntax& check) {
    if (check.name.range.file == file) names.insert(to_lower(check.name.value));
  });
  return names;
}

/// The one of these files that a new one is to replace; empty where it is one more.
std::string place_among(const Document& document, const Sources& files, const NewFile& file,
                        const Environment& environment) {
  const auto name = [](const std::string& path) { return std::filesystem::path(path).filename(); };
  const std::string real = environment.canonical(file.path);
  for (std::uint32_t i = 0; i < files.size(); ++i)
    if (environment.canonical(files.at(i).path) == real) return files.at(i).path;
  for (std::uint32_t i = 0; i < files.size(); ++i)
    if (name(files.at(i).path) == name(file.path)) return files.at(i).path;

  Sources alone;
  Diagnostics discarded;
  const NewFileEnvironment machine(file, environment);
  const std::set<std::string> own = services_of(read_documents(file.path, machine, alone, discarded), 0);
  std::string nearest;
  std::size_t most = 0;
  for (std::uint32_t i = 0; i < files.size(); ++i) {
    const std::set<std::string> others = services_of(document, i);
    const auto shared = static_cast<std::size_t>(
        std::ranges::count_if(own, [&](const std::string& service) { return others.contains(service); }));
    if (shared > most) most = shared, nearest = files.at(i).path;
  }
  return nearest;
}

}  // namespace

std::string format_all(const Diagnostics& diagnostics, const Sources& sources, bool color, std::size_t most_errors) {
  std::string text;
  std::size_t shown = 0;
  std::size_t errors = 0;
  for (const Diagnostic& diagnostic : diagnostics) {
    const bool is_error = diagnostic.severity == DiagnosticSeverity::Error;
    if (shown == kMostShown || (is_error && errors == most_errors)) continue;
    text += format(diagnostic, sources, color);
    errors += is_error ? 1 : 0;
    ++shown;
  }
  if (shown < diagnostics.size()) text += fmt::format("and {} more messages\n", diagnostics.size() - shown);
  return text;
}

CheckOutcome outcome_of(const LoadResult& result, const CheckOptions& options) {
  Diagnostics selected = result.diagnostics;
  if (!options.verbose) std::erase_if(selected, [](const Diagnostic& one) { return one.on_request; });
  CheckOutcome outcome;
  outcome.err = format_all(selected, result.sources, options.color, options.verbose ? kMostShown : kMostErrors);
  const auto count = [&](DiagnosticSeverity severity) {
    return std::ranges::count(selected, severity, &Diagnostic::severity);
  };
  if (has_errors(selected)) {
    outcome.status = 1;
    outcome.err += counted(count(DiagnosticSeverity::Error), "error");
    if (const auto warnings = count(DiagnosticSeverity::Warning); warnings > 0)
      outcome.err += ", " + counted(warnings, "warning");
    outcome.err += '\n';
    return outcome;
  }
  if (options.verbose && result.ok()) outcome.out = print(*result.rules) + '\n';
  outcome.out += "Control file syntax OK\n";
  return outcome;
}

CheckOutcome check(const std::filesystem::path& path, const CheckOptions& options, const Environment& environment) {
  return outcome_of(load(path, options.load, environment), options);
}

LoadResult load_with(const std::filesystem::path& context, NewFile file, const LoadOptions& options,
                     const Environment& environment) {
  Sources files;
  Diagnostics discarded;
  const Document document = read_documents(context.string(), environment, files, discarded);
  file.replaces = place_among(document, files, file, environment);
  file.directory = document.directory;
  if (file.replaces.empty() && file.directory.empty()) {
    LoadResult result;
    report(result.diagnostics, DiagnosticSeverity::Error, Code::MissingFile, file.path,
           fmt::format("{} has no such file, nor one that defines its services", in_quotes(context.string())),
           "name a directory of rules files, or check the file alone with -c");
    return result;
  }
  const LoadResult before = load(context, options, environment);
  std::set<std::string> known;
  for (const Diagnostic& diagnostic : before.diagnostics) known.insert(format(diagnostic, before.sources, false));
  const std::string path = file.path;
  LoadResult result = load(context, options, NewFileEnvironment(std::move(file), environment));
  std::erase_if(result.diagnostics, [&](const Diagnostic& diagnostic) {
    const std::string& of = diagnostic.range ? result.sources.at(diagnostic.range->file).path : diagnostic.path;
    return of != path && known.contains(format(diagnostic, result.sources, false));
  });
  return result;
}

}  // namespace healer::config
