// SPDX-License-Identifier: MIT
// Dependencies between services: of which nothing may be unknown, and none may come round to itself.
#include <map>
#include <set>
#include <string>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "config/passes/circles.hpp"
#include "config/passes/passes.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

class Dependencies {
 public:
  Dependencies(const Document& document, Diagnostics& diagnostics)
      : diagnostics_(diagnostics),
        expansion_(document.expansion),
        is_whole_(document.is_whole),
        has_lists_(!document.expansion.lists.empty()) {
    for (const std::string& name : document.unknown) unknown_.insert(to_lower(name));
    for_each_check(document, [&](const CheckSyntax& check) {
      if (!check.name.value.empty()) by_name_.emplace(to_lower(check.name.value), checks_.size());
      checks_.push_back(&check);
    });
    edges_.resize(checks_.size());
  }

  void run() {
    for (std::size_t node = 0; node < checks_.size(); ++node)
      for (const ServiceStatement& statement : checks_[node]->statements)
        if (const auto* depends = std::get_if<DependsSyntax>(&statement))
          for (const Word& name : depends->names) add(node, name);
    const std::vector<std::size_t> groups = circle_groups(edges_);
    const std::vector<std::vector<std::uint32_t>> rows = rows_of_circles(groups, checks_, expansion_);
    for_each_circle(edges_, [&](const std::vector<std::size_t>& circle, const SourceRange& range) {
      const auto name = [this](std::size_t node) { return name_of(node); };
      report(diagnostics_, DiagnosticSeverity::Error, Code::Circle, range,
             "circular dependency: " + circle_text(circle, "on", name), "one of them must not depend on the next",
             rows[groups[circle.front()]]);
    });
  }

 private:
  void error(Code code, const SourceRange& range, std::string message, std::string remedy) {
    report(diagnostics_, DiagnosticSeverity::Error, code, range, std::move(message), std::move(remedy));
  }

  [[nodiscard]] const std::string& name_of(std::size_t node) const { return checks_[node]->name.value; }

  void add(std::size_t node, const Word& name) {
    const auto found = by_name_.find(to_lower(name.value));
    if (found != by_name_.end()) {
      if (found->second == node)
        return error(Code::Circle, name.range, fmt::format("{} depends on itself", in_quotes(name_of(node))),
                     "remove this");
      return edges_[node].push_back({found->second, name.range});
    }
    if (!is_whole_ || unknown_.contains(to_lower(name.value))) return;
    if (has_lists_)
      return report(diagnostics_, DiagnosticSeverity::Warning, Code::UnknownService, name.range,
                    fmt::format("there is no service {} now: nothing waits for it", in_quotes(name.value)),
                    "this changes as soon as a list contains it");
    std::vector<std::string_view> known;
    for (const auto& [other, index] : by_name_) known.push_back(other);
    const std::string_view near = nearest_word(name.value, known);
    error(Code::UnknownService, name.range, fmt::format("there is no service {} to depend on", in_quotes(name.value)),
          near.empty() ? "" : fmt::format("did you mean {}?", in_quotes(name_of(by_name_.at(std::string(near))))));
  }

  Diagnostics& diagnostics_;
  const Expansion& expansion_;
  std::vector<const CheckSyntax*> checks_;
  std::vector<std::vector<Edge>> edges_;
  std::map<std::string, std::size_t> by_name_;
  std::set<std::string> unknown_;  ///< names of services that healer does not know
  bool is_whole_ = true;           ///< no other service is missing
  bool has_lists_ = false;         ///< there are others at another time
};

}  // namespace

void check_depends(const Document& document, Diagnostics& diagnostics) { Dependencies(document, diagnostics).run(); }

}  // namespace healer::config
