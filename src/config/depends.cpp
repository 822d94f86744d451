// SPDX-License-Identifier: MIT
// Dependencies between services: of which nothing may be unknown, and none may come round to itself.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "config/passes.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

constexpr std::size_t kMostOfCircle = 12;

/// One `depends on`, found: who is meant, and where it is written.
struct Edge {
  std::size_t to = 0;
  SourceRange range;
};

struct Node {
  const CheckSyntax* check = nullptr;
  std::vector<Edge> edges;
  enum class State : std::uint8_t { New, Open, Done } state = State::New;
};

class Dependencies {
 public:
  Dependencies(const Document& document, Diagnostics& said)
      : said_(said), is_whole_(document.is_whole), has_lists_(!document.expansion.lists.empty()) {
    for (const std::string& name : document.unknown) unknown_.insert(to_lower(name));
    for_each_check(document, [&](const CheckSyntax& check) {
      if (!check.name.value.empty()) by_name_.emplace(to_lower(check.name.value), nodes_.size());
      nodes_.push_back({.check = &check, .edges = {}});
    });
  }

  void run() {
    for (Node& node : nodes_)
      for (const ServiceStatement& statement : node.check->statements)
        if (const auto* depends = std::get_if<DependsSyntax>(&statement))
          for (const Word& name : depends->names) add(node, name);
    for (std::size_t node = 0; node < nodes_.size(); ++node)
      if (nodes_[node].state == Node::State::New) visit(node);
  }

 private:
  void error(Code code, const SourceRange& range, std::string message, std::string remedy) {
    report(said_, DiagnosticSeverity::Error, code, range, std::move(message), std::move(remedy));
  }

  void add(Node& node, const Word& name) {
    const auto found = by_name_.find(to_lower(name.value));
    if (found != by_name_.end()) {
      if (nodes_[found->second].check == node.check)
        return error(Code::Circle, name.range, fmt::format("{} depends on itself", in_quotes(node.check->name.value)),
                     "take this away");
      return node.edges.push_back({found->second, name.range});
    }
    if (!is_whole_ || unknown_.contains(to_lower(name.value))) return;
    if (has_lists_)
      return report(said_, DiagnosticSeverity::Warning, Code::UnknownService, name.range,
                    fmt::format("there is no service {} now: nothing waits for it", in_quotes(name.value)),
                    "it counts from when a list has it");
    std::vector<std::string_view> known;
    for (const auto& [other, index] : by_name_) known.push_back(other);
    const std::string_view near = nearest_word(name.value, known);
    error(Code::UnknownService, name.range, fmt::format("there is no service {} to depend on", in_quotes(name.value)),
          near.empty()
              ? ""
              : fmt::format("did you mean {}?", in_quotes(nodes_[by_name_.at(std::string(near))].check->name.value)));
  }

  /// Depth first, with the way kept here: a chain of services may be long.
  void visit(std::size_t first) {
    struct Step {
      std::size_t node = 0;
      std::size_t edge = 0;
    };
    std::vector<Step> way{{first}};
    nodes_[first].state = Node::State::Open;
    while (!way.empty()) {
      Node& node = nodes_[way.back().node];
      if (way.back().edge == node.edges.size()) {
        node.state = Node::State::Done;
        way.pop_back();
        continue;
      }
      const Edge& edge = node.edges[way.back().edge++];
      Node& next = nodes_[edge.to];
      if (next.state == Node::State::Open) {
        const auto begin = std::ranges::find(way, edge.to, &Step::node);
        std::vector<std::size_t> circle;
        for (auto step = begin; step != way.end(); ++step) circle.push_back(step->node);
        report_circle(circle, edge.range);
      } else if (next.state == Node::State::New) {
        next.state = Node::State::Open;
        way.push_back({edge.to});
      }
    }
  }

  void report_circle(const std::vector<std::size_t>& circle, const SourceRange& range) {
    std::string text;
    for (std::size_t i = 0; i < std::min(circle.size(), kMostOfCircle); ++i)
      text += fmt::format("{} on ", in_quotes(nodes_[circle[i]].check->name.value));
    if (circle.size() > kMostOfCircle) text += fmt::format("{} more, on ", circle.size() - kMostOfCircle);
    error(Code::Circle, range,
          fmt::format("a circle of dependencies: {}{}", text, in_quotes(nodes_[circle.front()].check->name.value)),
          "one of them must not depend on the next");
  }

  Diagnostics& said_;
  std::vector<Node> nodes_;
  std::map<std::string, std::size_t> by_name_;
  std::set<std::string> unknown_;  ///< names of services that healer does not know
  bool is_whole_ = true;           ///< no other service is missing
  bool has_lists_ = false;         ///< there are others at another time
};

}  // namespace

void check_depends(const Document& document, Diagnostics& said) { Dependencies(document, said).run(); }

}  // namespace healer::config
