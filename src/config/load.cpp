// SPDX-License-Identifier: MIT
#include "config/load.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "config/environments.hpp"
#include "config/passes/passes.hpp"
#include "config/passes/row_fields.hpp"
#include "config/passes/workflow_variables.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

/// In the order of the files; what concerns no place of a file comes first.
void sort_by_place(Diagnostics& diagnostics) {
  std::ranges::stable_sort(diagnostics, {}, [](const Diagnostic& diagnostic) {
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

/// The fields of rows that workflows name.
void note_fields_of_workflows(Document& document) {
  for (ListDeclaration& list : document.expansion.lists) {
    const auto visit = [&](const std::string& text, const SourceRange&, TextPlace) {
      collect_fields(text, list.source.name, list.fields);
    };
    for_each_workflow(document, [&](const WorkflowSyntax& workflow) {
      if (workflow.guard) for_each_program_text(workflow.guard->program, visit);
      for_each_step_of(workflow, [&](const StepSyntax& step) { for_each_text(step, visit); });
    });
  }
}

/// What one load has found, and whose errors these are.
struct Found {
  LoadResult result;
  Expansion expansion;
};

Found load_once(const std::filesystem::path& path, const LoadOptions& options, const Environment& environment) {
  Found found;
  LoadResult& result = found.result;
  Diagnostics& diagnostics = result.diagnostics;
  Document document = read_documents(path.string(), environment, result.sources, diagnostics, options.monit);
  result.unmatched = std::move(document.unmatched);
  note_fields_of_workflows(document);
  result.lists = document.expansion.lists;
  result.rows_left_out = document.expansion.left_out;
  result.named = named_settings(document);
  check_trust(document, path.string(), environment, result.sources, diagnostics);
  if (options.secrets) check_secrets(document, environment, diagnostics);
  check_dialect(document, options, diagnostics);
  validate(document, result.sources, diagnostics);
  check_depends(document, diagnostics);
  check_workflows(document, result.sources, diagnostics);
  check_contacts(document, result.sources, diagnostics);
  check_composites(document, diagnostics);
  check_heartbeats(document, diagnostics);
  check_events(document, diagnostics);
  check_rows(document, diagnostics);
  lint(document, result.sources, diagnostics);
  lint_versions(document, diagnostics);
  if (options.advice) advise(document, result.sources, diagnostics);
  if (options.advice) advise_newer_monit(document, diagnostics);
  apply_defaults(document);
  const Lookups lookups = resolve(document, environment, diagnostics);
  drop_unknown(diagnostics, document.expansion);
  sort_by_place(diagnostics);
  if (!has_errors(diagnostics)) result.rules = compile(document, lookups, result.sources);
  found.expansion = std::move(document.expansion);
  return found;
}

/// A list by its variable, and one of its rows by its name.
using RowKey = std::pair<ListSource, std::string>;

/// Without some rows of lists.
class WithoutRows final : public OtherLists {
 public:
  WithoutRows(const std::map<RowKey, std::string>& rows, const Environment& machine)
      : OtherLists(machine), rows_(rows) {}

  [[nodiscard]] std::optional<std::vector<ListRow>> list(const ListSource& source) const override {
    std::optional<std::vector<ListRow>> rows = machine_.list(source);
    if (rows && !rows_.empty())
      std::erase_if(*rows, [&](const ListRow& row) { return rows_.contains({source, row.name}); });
    return rows;
  }

 private:
  const std::map<RowKey, std::string>& rows_;
};

/// Lists of which nothing is known: as where none was read yet.
class UnreadLists final : public OtherLists {
 public:
  using OtherLists::OtherLists;
};

/// Lists that have no rows.
class NoRows final : public OtherLists {
 public:
  using OtherLists::OtherLists;
  [[nodiscard]] std::optional<std::vector<ListRow>> list(const ListSource&) const override {
    return std::vector<ListRow>{};
  }
};

bool is_error(const Diagnostic& one) { return one.severity == DiagnosticSeverity::Error; }

/// What is the same of two messages about several rows.
std::tuple<std::uint32_t, std::uint32_t, Code, std::string> place_of(const Diagnostic& one) {
  const SourceRange range = one.range.value_or(SourceRange{});
  return {range.file, range.begin, one.code, one.range ? std::string() : one.path + one.message};
}

/// The rows that errors lie at, each with what is wrong with it.
std::map<RowKey, std::string> rows_at_fault(const Found& found) {
  std::map<RowKey, std::string> rows;
  for (const Diagnostic& one : found.result.diagnostics) {
    if (!is_error(one)) continue;
    std::vector<std::uint32_t> causing_rows = one.causing_rows;
    if (causing_rows.empty() && one.range) causing_rows.push_back(one.range->row);
    for (const std::uint32_t row : causing_rows) {
      const RowOrigin origin = found.expansion.origin(row);
      if (!origin.is_known()) continue;
      std::string why = one.message;
      if (!one.remedy.empty()) why += " (" + one.remedy + ")";
      rows.emplace(RowKey{found.expansion.lists[origin.list].source, origin.row}, std::move(why));
    }
  }
  return rows;
}

/// Finds out which row makes an error that lies at none, such as one of what a workflow is for: by leaving out others.
struct Trials {
  const std::filesystem::path& path;
  const LoadOptions& options;
  const Environment& machine;
  int left = 300;  ///< loads: there may be very many rows

  /// The first row with which those before it do not compile any more, beside `left_out`. Nothing: even without any row
  /// the rules have errors, or it would take too long.
  std::map<RowKey, std::string> row_at_fault(const LoadResult& found, const std::map<RowKey, std::string>& left_out) {
    std::vector<RowKey> rows;
    for (const ListDeclaration& list : found.lists)
      for (const ListRow& row : machine.list(list.source).value_or(std::vector<ListRow>{}))
        if (!left_out.contains({list.source, row.name})) rows.emplace_back(list.source, row.name);
    std::string why;
    const auto compiles = [&](std::size_t count) {
      std::map<RowKey, std::string> without = left_out;
      for (std::size_t i = count; i < rows.size(); ++i) without.emplace(rows[i], std::string());
      --left;
      const LoadResult result = load_once(path, options, WithoutRows(without, machine)).result;
      if (!result.rules) why = first_error(result.diagnostics, result.sources);
      return result.rules.has_value();
    };
    if (left <= 0 || !compiles(0)) return {};
    std::size_t good = 0;
    std::size_t bad = rows.size();
    while (bad - good > 1 && left > 0) {
      const std::size_t middle = good + (bad - good) / 2;
      (compiles(middle) ? good : bad) = middle;
    }
    if (left <= 0 || bad == 0) return {};
    if (compiles(bad)) return {};  // for `why`: of this row
    return {{rows[bad - 1], std::move(why)}};
  }
};

/// Errors that are there while no list is known lie at the rules, and not at rows: only they stay.
bool keep_errors_of_rules(Found& found, const LoadResult& alone) {
  std::set<std::tuple<std::uint32_t, std::uint32_t, Code, std::string>> of_rules;
  for (const Diagnostic& one : alone.diagnostics)
    if (is_error(one)) of_rules.insert(place_of(one));
  const auto is_of_rules = [&](const Diagnostic& one) { return of_rules.contains(place_of(one)); };
  const auto is_left = [&](const Diagnostic& one) { return is_error(one) && is_of_rules(one); };
  if (std::ranges::none_of(found.result.diagnostics, is_left)) return false;
  std::erase_if(found.result.diagnostics, [&](const Diagnostic& one) { return is_error(one) && !is_of_rules(one); });
  return true;
}

/// What is told of rows that are left out: a few of each list by their names.
void report_left_out(const LoadResult& result, Diagnostics& diagnostics) {
  constexpr std::size_t kMostNamed = 5;
  for (const ListDeclaration& list : result.lists) {
    std::size_t count = 0;
    for (const RowLeftOut& one : result.rows_left_out)
      if (one.source == list.source && ++count <= kMostNamed)
        report(diagnostics, DiagnosticSeverity::Warning, Code::RefusedRow, list.range, left_out_text(one));
    if (count > kMostNamed)
      report(diagnostics, DiagnosticSeverity::Warning, Code::RefusedRow, list.range,
             fmt::format("{} more rows of the list {} are refused", count - kMostNamed, list.source.name));
  }
}

LoadResult finished(Found found, const LoadOptions& options) {
  LoadResult& result = found.result;
  report_left_out(result, result.diagnostics);
  sort_by_place(result.diagnostics);
  join_rows(result.diagnostics, found.expansion);
  if (options.strict)
    for (Diagnostic& diagnostic : result.diagnostics)
      if (diagnostic.severity == DiagnosticSeverity::Warning) diagnostic.severity = DiagnosticSeverity::Error;
  if (has_errors(result.diagnostics)) result.rules.reset();
  if (!result.rules) return std::move(result);
  for (const RowLeftOut& row : result.rows_left_out)
    result.rules->left_out.rows.emplace(to_lower(row.source.name), to_lower(row.row));
  for (const ListDeclaration& list : result.lists)
    if (!result.lists_left_out.empty() || !list.is_read)
      result.rules->left_out.lists.insert(to_lower(list.source.name));
  return std::move(result);
}

}  // namespace

std::string left_out_text(const RowLeftOut& row) {
  return fmt::format("the row {} of the list {} is refused: {}", in_quotes(row.row), row.source.name, row.why);
}

LoadResult load(const std::filesystem::path& path, const LoadOptions& options, const Environment& environment) {
  constexpr int kMostRounds = 100;
  Found found = load_once(path, options, environment);
  if (found.result.rules || std::ranges::none_of(found.result.lists, &ListDeclaration::is_read))
    return finished(std::move(found), options);
  const Found alone = load_once(path, options, UnreadLists(environment));
  std::map<RowKey, std::string> left_out;
  Trials trials{.path = path, .options = options, .machine = environment};
  for (int round = 0; round < kMostRounds && !found.result.rules; ++round) {
    if (keep_errors_of_rules(found, alone.result)) return finished(std::move(found), options);
    std::map<RowKey, std::string> more = rows_at_fault(found);
    std::erase_if(more, [&](const auto& row) { return left_out.contains(row.first); });
    if (more.empty()) more = trials.row_at_fault(found.result, left_out);
    if (more.empty()) break;
    left_out.merge(more);
    found = load_once(path, options, WithoutRows(left_out, environment));
    for (const auto& [row, why] : left_out)
      found.result.rows_left_out.push_back({.source = row.first, .row = row.second, .why = why});
  }
  if (found.result.rules) return finished(std::move(found), options);
  // Rows make an error that lies at none of them. What is wrong is told, and that none is in the rules.
  const std::string why = first_error(found.result.diagnostics, found.result.sources);
  LoadResult without = load_without_lists(path, options, environment, why);
  return without.ok() ? std::move(without) : finished(std::move(found), options);
}

LoadResult load_without_lists(const std::filesystem::path& path, const LoadOptions& options,
                              const Environment& environment, std::string why) {
  Found found = load_once(path, options, NoRows(environment));
  found.result.lists_left_out = std::move(why);
  if (!found.result.lists.empty())
    report(found.result.diagnostics, DiagnosticSeverity::Warning, Code::RefusedRow, path.string(),
           "the rules are loaded without the rows of their lists: " + found.result.lists_left_out);
  return finished(std::move(found), options);
}

}  // namespace healer::config
