// SPDX-License-Identifier: MIT
// What a look has measured, as a person reads it: what belongs together on one line.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "ctl/render/render_parts.hpp"
#include "ctl/render/render_text.hpp"
#include "util/text.hpp"

namespace healer::control {
namespace {

enum class Topic : std::uint8_t { Processor, Load, Memory, Counts, Calls, Disk, Other };

constexpr std::array<std::pair<std::string_view, Topic>, 13> kTopics{{{"cpu", Topic::Processor},
                                                                      {"loadavg", Topic::Load},
                                                                      {"memory", Topic::Memory},
                                                                      {"swap", Topic::Memory},
                                                                      {"pagein", Topic::Memory},
                                                                      {"pageout", Topic::Memory},
                                                                      {"children", Topic::Counts},
                                                                      {"threads", Topic::Counts},
                                                                      {"filedescriptors", Topic::Counts},
                                                                      {"read", Topic::Calls},
                                                                      {"write", Topic::Calls},
                                                                      {"disk read", Topic::Disk},
                                                                      {"disk write", Topic::Disk}}};

/// "cpu" of "cpu(user)" and of "total cpu".
std::string_view subject_of(std::string_view name) {
  if (name.starts_with("total ")) name.remove_prefix(6);
  return name.substr(0, name.find('('));
}

Topic topic_of(std::string_view name) {
  const auto found = std::ranges::find(kTopics, subject_of(name), [](const auto& entry) { return entry.first; });
  return found == kTopics.end() ? Topic::Other : found->second;
}

/// What is said of one topic: "cpu 21.0%", "(user) 20.1%", "(system) 0.9%".
struct Line {
  Topic topic;
  std::vector<std::string> values{};
  std::string_view subject{};

  void add(std::string_view name, const std::string& value) {
    const std::string_view its = subject_of(name);
    // A part needs no name where it follows what it is a part of.
    const std::string_view words = its == subject && name.starts_with(its) ? name.substr(its.size()) : name;
    values.push_back(printable(fmt::format("{} {}", words, value)));
    subject = its;
  }
};

/// The values with commas between them, in lines that are broken between values only.
std::vector<std::string> fill_lines(const std::vector<std::string>& values, std::size_t room) {
  std::vector<std::string> lines;
  for (const std::string& value : values) {
    if (lines.empty()) {
      lines.push_back(value);
    } else if (room != 0 && display_width(lines.back()) + display_width(value) + 3 > room) {  // ", " and a comma
      lines.back() += ',';
      lines.push_back(value);
    } else {
      lines.back() += ", " + value;
    }
  }
  return lines;
}

}  // namespace

std::string measured_field(std::span<const MeasureView> measured, const Style& style) {
  std::vector<Line> lines;
  for (auto one = measured.begin(); one != measured.end(); ++one) {
    const auto of_it = [&](const MeasureView& other) { return other.name == one->name; };
    if (std::any_of(measured.begin(), one, of_it)) continue;
    std::string value = one->text;
    // One quantity in two units: a share of something comes last.
    if (const auto other = std::find_if(one + 1, measured.end(), of_it); other != measured.end())
      value = one->unit == "percent" ? fmt::format("{} ({})", other->text, one->text)
                                     : fmt::format("{} ({})", one->text, other->text);
    const Topic topic = topic_of(one->name);
    auto line = std::ranges::find(lines, topic, &Line::topic);
    if (line == lines.end()) line = lines.insert(line, Line{.topic = topic});
    line->add(one->name, value);
  }
  const std::size_t indent = kLabel + 2;
  const std::size_t room = style.width > indent ? style.width - indent : 0;
  std::string text;
  for (const Line& line : lines)
    for (const std::string& part : fill_lines(line.values, room))
      text += field(text.empty() ? "measured" : "", part, style);
  return text;
}

}  // namespace healer::control
