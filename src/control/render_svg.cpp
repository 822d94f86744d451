// SPDX-License-Identifier: MIT
// Services, dependencies and rules as a picture: a column a layer, what is needed right of what needs it.
#include <algorithm>
#include <map>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "control/render.hpp"
#include "control/render_parts.hpp"
#include "control/render_text.hpp"
#include "util/text.hpp"

namespace healer::control {
namespace {

constexpr int kWidth = 270;  // of a box
constexpr int kHead = 44;    // its name and state
constexpr int kLine = 16;    // a rule
constexpr int kBetween = 70;
constexpr int kMargin = 20;

/// A kind of line in a box: how it looks, and how many letters fit into it.
struct SvgLine {
  std::string_view style;
  std::size_t letters;
};
constexpr SvgLine kName{"font-weight=\"bold\"", 28};
constexpr SvgLine kAbout{"font-size=\"12\"", 35};
constexpr SvgLine kRule{"font-size=\"10\"", 42};

struct Box {
  std::string name;
  const ServiceStatus* service = nullptr;  ///< null: needed, but not asked for
  std::vector<std::size_t> needs;
  int layer = -1;  ///< 0: needs nothing
  int x = 0;
  int y = 0;
  int height = kHead + 6;
};

/// Text for XML of so many letters at most, without what a viewer might obey.
std::string text_of(std::string_view text, std::size_t letters) {
  std::string result;
  for (const char c : cut(printable(text), letters, "\u2026")) {
    if (c == '<') {
      result += "&lt;";
    } else if (c == '&') {
      result += "&amp;";
    } else {
      result += c;
    }
  }
  return result;
}

std::vector<Box> boxes_of(std::span<const ServiceStatus> services) {
  std::vector<Box> boxes;
  std::map<std::string, std::size_t> by_name;  // in lower case
  for (const ServiceStatus& service : services) {
    if (!by_name.emplace(to_lower(service.name), boxes.size()).second) continue;
    boxes.push_back({.name = service.name, .service = &service, .needs = {}});
    boxes.back().height += static_cast<int>(service.rules.size()) * kLine;
  }
  for (std::size_t i = 0; i < boxes.size() && boxes[i].service != nullptr; ++i) {
    const auto point_at = [&](const std::string& name) {
      const auto [other, added] = by_name.emplace(to_lower(name), boxes.size());
      if (added) boxes.push_back({.name = name, .needs = {}});
      std::vector<std::size_t>& needs = boxes[i].needs;
      if (std::ranges::find(needs, other->second) == needs.end()) needs.push_back(other->second);
    };
    for (const std::string& name : boxes[i].service->depends) point_at(name);
    for (const MemberView& member : boxes[i].service->members) point_at(member.name);
  }
  return boxes;
}

/// One more than the highest of what it needs. A circle, which no daemon would tell of, is cut where it closes.
int find_layer(std::vector<Box>& boxes, std::size_t at) {
  if (boxes[at].layer >= 0) return boxes[at].layer;
  boxes[at].layer = 0;
  int layer = 0;
  for (const std::size_t needed : boxes[at].needs) layer = std::max(layer, find_layer(boxes, needed) + 1);
  return boxes[at].layer = layer;
}

std::string draw(const Box& box) {
  const std::string_view state = box.service == nullptr ? std::string_view{} : box.service->state;
  std::string text = fmt::format(
      "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"5\" fill=\"{}\" stroke=\"#444444\"{}/>\n", box.x, box.y,
      kWidth, box.height, fill_of(state), box.service == nullptr ? " stroke-dasharray=\"4\"" : "");
  const auto line = [&](int down, const SvgLine& kind, std::string_view what) {
    text += fmt::format("<text x=\"{}\" y=\"{}\" {}>{}</text>\n", box.x + 10, box.y + down, kind.style,
                        text_of(what, kind.letters));
  };
  line(18, kName, box.name);
  if (box.service == nullptr) return text;
  std::string about = fmt::format("{}, {}", box.service->kind, state);
  if (box.service->job) about += fmt::format(", {}: {}", box.service->job->kind, box.service->job->doing);
  if (box.service->pause) about += ", paused";
  line(35, kAbout, about);
  int down = kHead + 8;
  for (const RuleView& rule : box.service->rules) {
    text += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", box.x + 6,
                        box.y + down - kLine + 5, kWidth - 12, kLine - 2, fill_of(rule.state));
    line(down, kRule, rule.text);
    down += kLine;
  }
  return text;
}

}  // namespace

std::string render_svg(std::span<const ServiceStatus> services) {
  std::vector<Box> boxes = boxes_of(services);
  int layers = 0;
  for (std::size_t i = 0; i < boxes.size(); ++i) layers = std::max(layers, find_layer(boxes, i) + 1);
  std::vector<int> bottoms(static_cast<std::size_t>(layers), kMargin);
  int height = 0;
  for (Box& box : boxes) {
    int& bottom = bottoms[static_cast<std::size_t>(box.layer)];
    box.x = kMargin + (layers - 1 - box.layer) * (kWidth + kBetween);
    box.y = bottom;
    bottom += box.height + kMargin;
    height = std::max(height, bottom);
  }
  const int width = 2 * kMargin + std::max(layers * (kWidth + kBetween) - kBetween, 0);
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"14\">\n"
      "<marker id=\"arrow\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"8\" markerHeight=\"8\" "
      "orient=\"auto\"><path d=\"M0,0 L10,5 L0,10 z\"/></marker>\n",
      width, std::max(height, 2 * kMargin));
  for (const Box& box : boxes) {
    for (const std::size_t index : box.needs) {
      const Box& needed = boxes[index];
      const int x = box.x + kWidth, y = box.y + box.height / 2, end = needed.y + needed.height / 2;
      text += fmt::format(
          "<path d=\"M{},{} C{},{} {},{} {},{}\" fill=\"none\" stroke=\"#444444\" marker-end=\"url(#arrow)\"/>\n", x, y,
          x + kBetween / 2, y, needed.x - kBetween / 2, end, needed.x, end);
    }
  }
  for (const Box& box : boxes) text += draw(box);
  return text + "</svg>\n";
}

}  // namespace healer::control
