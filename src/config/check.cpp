// SPDX-License-Identifier: MIT
#include "config/check.hpp"

#include <algorithm>

#include <spdlog/fmt/fmt.h>

#include "config/print.hpp"

namespace healer::config {
namespace {

constexpr std::size_t kMostShown = 200;

std::string counted(std::ptrdiff_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

}  // namespace

std::string format_all(const Diagnostics& diagnostics, const Sources& sources, bool color) {
  std::string text;
  const std::size_t shown = std::min(diagnostics.size(), kMostShown);
  for (std::size_t i = 0; i < shown; ++i) text += format(diagnostics[i], sources, color);
  if (shown < diagnostics.size()) text += fmt::format("and {} more messages\n", diagnostics.size() - shown);
  return text;
}

CheckOutcome check(const std::filesystem::path& path, const CheckOptions& options, const Environment& environment) {
  const LoadResult result = load(path, options.load, environment);
  CheckOutcome outcome;
  outcome.err = format_all(result.diagnostics, result.sources, options.color);
  const auto count = [&](DiagnosticSeverity severity) {
    return std::ranges::count(result.diagnostics, severity, &Diagnostic::severity);
  };
  if (!result.ok()) {
    outcome.status = 1;
    outcome.err += counted(count(DiagnosticSeverity::Error), "error");
    if (const auto warnings = count(DiagnosticSeverity::Warning); warnings > 0)
      outcome.err += ", " + counted(warnings, "warning");
    outcome.err += '\n';
    return outcome;
  }
  if (options.verbose) outcome.out = print(*result.rules) + '\n';
  outcome.out += "Control file syntax OK\n";
  return outcome;
}

}  // namespace healer::config
