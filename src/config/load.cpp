// SPDX-License-Identifier: MIT
#include "config/load.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "config/passes.hpp"

namespace healer::config {
namespace {

/// In the order of the files; what concerns no place of a file comes first.
void sort_by_place(Diagnostics& said) {
  std::ranges::stable_sort(said, {}, [](const Diagnostic& diagnostic) {
    const SourceRange range = diagnostic.range.value_or(SourceRange{});
    return std::tuple(diagnostic.range.has_value(), range.file, range.begin);
  });
}

/// The paths of the daemon's own files, and whether it stays in the foreground, as far as they can be told.
engine::Settings named_settings(const Document& document) {
  engine::Settings named;
  for_each_set<SetPath>(document, [&](const SetPath& set, const SourceRange&) {
    switch (set.kind) {
      case SetPath::Kind::PidFile: named.pid_file = set.path.value; break;
      case SetPath::Kind::IdFile: named.id_file = set.path.value; break;
      case SetPath::Kind::StateFile: named.state_file = set.path.value; break;
      case SetPath::Kind::ControlSocket: named.control_socket = set.path.value; break;
      case SetPath::Kind::Secrets: break;
    }
  });
  for_each_set<SetSwitch>(document, [&](const SetSwitch& set, const SourceRange&) {
    named.foreground = named.foreground || set.kind == SetSwitch::Kind::Init;
  });
  return named;
}

}  // namespace

LoadResult load(const std::filesystem::path& path, const LoadOptions& options, const Environment& environment) {
  LoadResult result;
  Diagnostics& said = result.diagnostics;
  Document document = read_documents(path.string(), environment, result.sources, said);
  result.unmatched = std::move(document.unmatched);
  result.lists = document.expansion.lists;
  result.named = named_settings(document);
  check_trust(document, path.string(), environment, result.sources, said);
  if (options.secrets) check_secrets(document, environment, said);
  check_dialect(document, options, said);
  validate(document, result.sources, said);
  check_depends(document, said);
  check_workflows(document, result.sources, said);
  check_composites(document, said);
  lint(document, result.sources, said);
  if (options.advice) advise(document, result.sources, said);
  apply_defaults(document);
  const Lookups lookups = resolve(document, environment, said);
  sort_by_place(said);
  join_rows(said, document.expansion);
  if (options.strict)
    for (Diagnostic& diagnostic : said)
      if (diagnostic.severity == DiagnosticSeverity::Warning) diagnostic.severity = DiagnosticSeverity::Error;
  if (!has_errors(said)) result.rules = compile(document, lookups, result.sources);
  return result;
}

}  // namespace healer::config
