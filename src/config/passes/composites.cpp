// SPDX-License-Identifier: MIT
// What composites are made of: of which nothing may be unknown, and none may come round to itself.
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

class Composites {
 public:
  Composites(const Document& document, Diagnostics& diagnostics)
      : diagnostics_(diagnostics),
        expansion_(document.expansion),
        is_whole_(document.is_whole),
        has_lists_(!document.expansion.lists.empty()) {
    for (const std::string& name : document.unknown) unknown_.insert(to_lower(name));
    for_each_check(document, [&](const CheckSyntax& check) {
      const std::size_t node = checks_.size();
      if (!check.name.value.empty()) by_name_.emplace(to_lower(check.name.value), node);
      for (const ServiceStatement& statement : check.statements)
        if (const auto* group = std::get_if<GroupSyntax>(&statement))
          if (std::vector<std::size_t>& of = groups_[to_lower(group->name.value)]; of.empty() || of.back() != node)
            of.push_back(node);
      checks_.push_back(&check);
    });
    edges_.resize(checks_.size());
  }

  void run() {
    for (std::size_t node = 0; node < checks_.size(); ++node) {
      if (!checks_[node]->kind->traits.has_members) continue;
      std::set<std::size_t> members;
      for (const Word& name : checks_[node]->members) add(node, name, members);
      for (const Word& group : checks_[node]->member_groups) add_group(node, group, members);
      if (is_whole_ && !checks_[node]->broken) judge(*checks_[node], members.size());
    }
    const std::vector<std::size_t> groups = circle_groups(edges_);
    const std::vector<std::vector<std::uint32_t>> rows = rows_of_circles(groups, checks_, expansion_);
    for_each_circle(edges_, [&](const std::vector<std::size_t>& circle, const SourceRange& range) {
      const auto name = [this](std::size_t node) { return name_of(node); };
      report(diagnostics_, DiagnosticSeverity::Error, Code::Circle, range,
             "circular composites: " + circle_text(circle, "of", name), "one of them must not be made of the next",
             rows[groups[circle.front()]]);
    });
  }

 private:
  void error(Code code, const SourceRange& range, std::string message, std::string remedy) {
    report(diagnostics_, DiagnosticSeverity::Error, code, range, std::move(message), std::move(remedy));
  }
  void warn(Code code, const SourceRange& range, std::string message, std::string remedy) {
    report(diagnostics_, DiagnosticSeverity::Warning, code, range, std::move(message), std::move(remedy));
  }

  [[nodiscard]] const std::string& name_of(std::size_t node) const { return checks_[node]->name.value; }

  void add(std::size_t node, const Word& name, std::set<std::size_t>& members) {
    const auto found = by_name_.find(to_lower(name.value));
    if (found == by_name_.end()) return unknown(name);
    if (found->second == node)
      return error(Code::Circle, name.range, fmt::format("{} is made of itself", in_quotes(name_of(node))),
                   "remove this");
    if (!members.insert(found->second).second)
      return warn(Code::NoEffect, name.range,
                  fmt::format("{} is named twice, and is one member", in_quotes(name_of(found->second))),
                  "remove one of them");
    edges_[node].push_back({found->second, name.range});
  }

  void unknown(const Word& name) {
    if (!is_whole_ || unknown_.contains(to_lower(name.value))) return;
    if (has_lists_)
      return warn(Code::UnknownService, name.range,
                  fmt::format("there is no service {} now to be a member", in_quotes(name.value)),
                  "this changes as soon as a list contains it");
    std::vector<std::string_view> known;
    for (const auto& [other, index] : by_name_) known.push_back(other);
    const std::string_view near = nearest_word(name.value, known);
    std::string remedy;
    if (!near.empty())
      remedy = fmt::format("did you mean {}?", in_quotes(name_of(by_name_.at(std::string(near)))));
    else if (groups_.contains(to_lower(name.value)))
      remedy = fmt::format("there is a group of that name: write 'of group {}'", printable(name.value));
    error(Code::UnknownService, name.range, fmt::format("there is no service {} to be a member", in_quotes(name.value)),
          std::move(remedy));
  }

  /// A group may be empty: its services may come and go.
  void add_group(std::size_t node, const Word& group, std::set<std::size_t>& members) {
    const auto found = groups_.find(to_lower(group.value));
    if (found == groups_.end()) {
      if (!is_whole_) return;
      std::vector<std::string_view> known;
      for (const auto& [other, of] : groups_) known.push_back(other);
      const std::string_view near = nearest_word(group.value, known);
      return warn(Code::UnknownName, group.range, fmt::format("no service is in a group {}", in_quotes(group.value)),
                  near.empty() ? "" : fmt::format("did you mean {}?", in_quotes(near)));
    }
    for (const std::size_t member : found->second) {
      if (member == node) {
        error(
            Code::Circle, group.range,
            fmt::format("{} is in the group {} of which it is made", in_quotes(name_of(node)), in_quotes(group.value)),
            "take it out of the group, or name its members");
        continue;
      }
      members.insert(member);
      edges_[node].push_back({member, group.range});
    }
  }

  /// What no number of its members can fulfil.
  void judge(const CheckSyntax& check, std::size_t members) {
    for (const ServiceStatement& statement : check.statements) {
      const auto* rule = std::get_if<IfSyntax>(&statement);
      if (rule == nullptr) continue;
      for (const TermSyntax& term : rule->condition.terms)
        if (const auto* test = std::get_if<MembersSyntax>(&term.test))
          if (test->quota.kind == engine::Quota::Kind::AtLeast && test->quota.number > static_cast<double>(members))
            warn(Code::NeverTrue, term.range,
                 fmt::format("{} has {} member{}: this never holds", in_quotes(check.name.value), members,
                             members == 1 ? "" : "s"),
                 "ask for fewer, or for 'all members'");
    }
  }

  Diagnostics& diagnostics_;
  const Expansion& expansion_;
  std::vector<const CheckSyntax*> checks_;
  std::vector<std::vector<Edge>> edges_;
  std::map<std::string, std::size_t> by_name_;
  std::map<std::string, std::vector<std::size_t>> groups_;  ///< who is in each, by its name in lower case
  std::set<std::string> unknown_;                           ///< names of services that healer does not know
  bool is_whole_ = true;                                    ///< no other service is missing
  bool has_lists_ = false;                                  ///< there are others at another time
};

}  // namespace

void check_composites(const Document& document, Diagnostics& diagnostics) { Composites(document, diagnostics).run(); }

}  // namespace healer::config
