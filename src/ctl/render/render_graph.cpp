// SPDX-License-Identifier: MIT
// Services, dependencies and rules as a graph for graphviz.
#include <map>

#include <spdlog/fmt/fmt.h>

#include "ctl/render/render.hpp"
#include "ctl/render/render_parts.hpp"
#include "util/text.hpp"

namespace healer::control {
namespace {

constexpr std::size_t kLabelWidth = 40;  // of a rule's text: longer lines are broken

/// A quoted string of DOT, in which a label's backslashes stand for themselves.
std::string dot_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n') {
      result += "\\n";
    } else {
      result += c;
    }
  }
  return result + "\"";
}

/// Text that came from elsewhere, without what a viewer might obey.
std::string plain(std::string_view text) { return printable(text); }

std::string broken(std::string_view text) {
  std::string result;
  std::size_t column = 0;
  for (const char c : text) {
    const bool end = c == ' ' && column >= kLabelWidth;
    result += end ? '\n' : c;
    column = end ? 0 : column + 1;
  }
  return result;
}

std::string service_label(const ServiceStatus& service) {
  std::string label = plain(service.name) + "\n" + plain(service.kind) + ", " + plain(service.state);
  if (service.job) label += "\n" + plain(service.job->kind) + ": " + plain(service.job->doing);
  if (service.pause) label += "\npaused";
  return label;
}

}  // namespace

std::string render_dot(std::span<const ServiceStatus> services) {
  std::string text =
      "digraph healer {\n"
      "  rankdir=LR;\n"
      "  node [shape=box, style=filled, fontname=\"sans-serif\", fontsize=11];\n"
      "  edge [fontname=\"sans-serif\", fontsize=9];\n";
  std::map<std::string, std::string> nodes;  // by name in lower case
  for (const ServiceStatus& service : services)
    nodes.emplace(to_lower(service.name), fmt::format("s{}", nodes.size() + 1));
  std::string edges;
  for (const ServiceStatus& service : services) {
    const std::string node = nodes.at(to_lower(service.name));
    text += fmt::format("  {} [label={}, fillcolor={}];\n", node, dot_string(service_label(service)),
                        dot_string(fill_of(service.state)));
    int number = 0;
    for (const RuleView& rule : service.rules) {
      const std::string own = fmt::format("{}r{}", node, ++number);
      text += fmt::format("  {} [label={}, shape=note, fontsize=9, fillcolor={}];\n", own,
                          dot_string(broken(plain(rule.text))), dot_string(fill_of(rule.state)));
      edges += fmt::format("  {} -> {} [style=dotted, arrowhead=none];\n", node, own);
    }
    const auto draw = [&](const std::string& name, std::string_view how) {
      // One that was not chosen is drawn without its state.
      const auto [other, added] = nodes.emplace(to_lower(name), fmt::format("s{}", nodes.size() + 1));
      if (added) text += fmt::format("  {} [label={}, style=dashed];\n", other->second, dot_string(plain(name)));
      edges += fmt::format("  {} -> {} [{}];\n", node, other->second, how);
    };
    for (const std::string& name : service.depends) draw(name, "label=\"needs\"");
    for (const MemberView& member : service.members) draw(member.name, "label=\"has\", style=dashed");
  }
  return text + edges + "}\n";
}

}  // namespace healer::control
