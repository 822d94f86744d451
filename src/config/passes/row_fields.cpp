// SPDX-License-Identifier: MIT
#include "config/passes/row_fields.hpp"

#include <algorithm>
#include <variant>
#include <vector>

#include "config/passes/workflow_variables.hpp"
#include "config/syntax/walk.hpp"

namespace healer::config {
namespace {

class FieldCollector {
 public:
  FieldCollector(std::string_view variable, std::set<std::string>& fields) : variable_(variable), fields_(fields) {}

  void text(Word& word) { take(word.value); }
  void path(Word& word) { take(word.value); }
  void url(Word& word) { take(word.value); }
  void json(Word& word) { take(word.value); }
  void filter(Word&) {}
  void port(ConnectionSyntax& test) {
    if (test.port_name) take(test.port_name->value);
  }
  void arguments(CommandSyntax& command) {
    for (const std::string& argument : command.arguments) take(argument);
  }
  void place(SourceRange&) {}

  void take(std::string_view text) {
    for (const VariableUse& use : variables_in(text))
      if (use.closed && use.name.size() > variable_.size() + 1 && use.name.starts_with(variable_) &&
          use.name[variable_.size()] == '.')
        fields_.emplace(use.name.substr(variable_.size() + 1));
  }

 private:
  std::string_view variable_;
  std::set<std::string>& fields_;
};

}  // namespace

void collect_fields(std::string_view text, std::string_view variable, std::set<std::string>& fields) {
  FieldCollector(variable, fields).take(text);
}

namespace {

void collect(Statement& statement, std::string_view variable, std::set<std::string>& fields) {
  FieldCollector collector(variable, fields);
  Walk<FieldCollector> walk(collector);
  if (auto* check = std::get_if<CheckSyntax>(&statement)) {
    walk(*check);
  } else if (auto* more = std::get_if<ContinuationSyntax>(&statement)) {
    for (ServiceStatement& one : more->statements) walk(one);
  } else if (auto* define = std::get_if<DefineSyntax>(&statement)) {
    collector.take(define->value.value);
  } else if (auto* for_each = std::get_if<ForEachSyntax>(&statement)) {
    for (const ForEachSyntax::Item& item : for_each->items) {
      collector.take(item.first.value);
      if (item.last) collector.take(item.last->value);
    }
  }
}

}  // namespace

bool is_of_block(const Statement& statement) {
  return std::holds_alternative<DefineSyntax>(statement) || std::holds_alternative<ForEachSyntax>(statement) ||
         std::holds_alternative<EndSyntax>(statement);
}

bool names_group(const Statement& statement) {
  const auto* const check = std::get_if<CheckSyntax>(&statement);
  return check != nullptr && std::ranges::any_of(check->statements, [](const ServiceStatement& one) {
           const auto* const group = std::get_if<GroupSyntax>(&one);
           return group != nullptr && group->name.value.find("${") != std::string::npos;
         });
}

void note_needs(std::deque<Statement>& statements, std::size_t begin, std::size_t end, std::string_view variable,
                ListDeclaration& list) {
  std::vector<bool> is_read;  // of the blocks within that are open: such a one judges the rows of its own list
  for (std::size_t i = begin; i < end; ++i) {
    collect(statements[i], variable, list.fields);
    if (const auto* block = std::get_if<ForEachSyntax>(&statements[i]))
      is_read.push_back(block->items.empty());
    else if (std::holds_alternative<EndSyntax>(statements[i]) && !is_read.empty())
      is_read.pop_back();
    const auto* const check = std::get_if<CheckSyntax>(&statements[i]);
    if (check != nullptr && check->kind->traits.is_listed && std::ranges::find(is_read, true) == is_read.end())
      list.judges_rows = true;
  }
}

}  // namespace healer::config
