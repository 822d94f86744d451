// SPDX-License-Identifier: MIT
// Circles among things that name each other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "config/diagnostic.hpp"
#include "config/passes/expand.hpp"
#include "config/syntax/syntax.hpp"

namespace healer::config {

/// One thing named by another: who is meant, and where it is written.
struct Edge {
  std::size_t to = 0;
  SourceRange range;
};

/// Calls `found(circle, range)` for each circle that a walk along the edges of all nodes meets: its nodes in the order
/// in which they name each other, and where the last names the first. Depth first, with the way kept here: a chain may
/// be long.
template <typename Found>
void for_each_circle(const std::vector<std::vector<Edge>>& edges, Found&& found) {
  enum class State : std::uint8_t { New, Open, Done };
  struct Step {
    std::size_t node = 0;
    std::size_t edge = 0;
  };
  std::vector<State> states(edges.size(), State::New);
  for (std::size_t first = 0; first < edges.size(); ++first) {
    if (states[first] != State::New) continue;
    std::vector<Step> way{{first}};
    states[first] = State::Open;
    while (!way.empty()) {
      const std::size_t node = way.back().node;
      if (way.back().edge == edges[node].size()) {
        states[node] = State::Done;
        way.pop_back();
        continue;
      }
      const Edge& edge = edges[node][way.back().edge++];
      if (states[edge.to] == State::Open) {
        std::vector<std::size_t> circle;
        for (auto step = std::ranges::find(way, edge.to, &Step::node); step != way.end(); ++step)
          circle.push_back(step->node);
        found(circle, edge.range);
      } else if (states[edge.to] == State::New) {
        states[edge.to] = State::Open;
        way.push_back({edge.to});
      }
    }
  }
}

/// By node: which nodes lie on circles together have the same number (Tarjan's strongly connected components).
[[nodiscard]] inline std::vector<std::size_t> circle_groups(const std::vector<std::vector<Edge>>& edges) {
  constexpr std::size_t kNone = ~std::size_t{0};
  struct Step {
    std::size_t node = 0;
    std::size_t edge = 0;
  };
  std::vector<std::size_t> order(edges.size(), kNone);
  std::vector<std::size_t> lowest(edges.size(), kNone);
  std::vector<std::size_t> group(edges.size(), kNone);
  std::vector<std::size_t> open;
  std::size_t next = 0;
  std::size_t groups = 0;
  for (std::size_t first = 0; first < edges.size(); ++first) {
    if (order[first] != kNone) continue;
    std::vector<Step> way;
    const auto enter = [&](std::size_t node) {
      order[node] = lowest[node] = next++;
      open.push_back(node);
      way.push_back({node});
    };
    enter(first);
    while (!way.empty()) {
      const std::size_t node = way.back().node;
      if (way.back().edge < edges[node].size()) {
        const std::size_t to = edges[node][way.back().edge++].to;
        if (order[to] == kNone)
          enter(to);
        else if (group[to] == kNone)
          lowest[node] = std::min(lowest[node], order[to]);
        continue;
      }
      way.pop_back();
      if (!way.empty()) lowest[way.back().node] = std::min(lowest[way.back().node], lowest[node]);
      if (lowest[node] != order[node]) continue;
      for (std::size_t one = kNone; one != node; open.pop_back()) group[one = open.back()] = groups;
      ++groups;
    }
  }
  return group;
}

/// Who is to blame for each circle: by its number of circle_groups(), the rows from outside of its services.
[[nodiscard]] inline std::vector<std::vector<std::uint32_t>> rows_of_circles(
    const std::vector<std::size_t>& groups, const std::vector<const CheckSyntax*>& checks, const Expansion& expansion) {
  std::vector<std::vector<std::uint32_t>> rows(groups.size());
  for (std::size_t node = 0; node < groups.size(); ++node)
    if (const std::uint32_t row = checks[node]->range.row; expansion.origin(row).is_known())
      rows[groups[node]].push_back(row);
  return rows;
}

/// "'a' on 'b' on 'a'", with `link` between the names; a long circle is cut. `name(node)`: what it is called.
template <typename Name>
[[nodiscard]] std::string circle_text(const std::vector<std::size_t>& circle, std::string_view link, Name&& name) {
  constexpr std::size_t kMost = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(circle.size(), kMost); ++i)
    text += fmt::format("{} {} ", in_quotes(name(circle[i])), link);
  if (circle.size() > kMost) text += fmt::format("{} more, {} ", circle.size() - kMost, link);
  return text + in_quotes(name(circle.front()));
}

}  // namespace healer::config
