// SPDX-License-Identifier: MIT
#include "web/monit/text.hpp"

#include <algorithm>
#include <array>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "engine/rules/service.hpp"
#include "web/monit/details.hpp"

namespace healer::web::monit {
namespace {

constexpr std::string_view kTitle = "\033[1;36m";
constexpr std::string_view kFrame = "\033[0;90m";
constexpr std::string_view kEnd = "\033[0m";
constexpr std::size_t kValueColumn = 31;
constexpr std::array<std::size_t, 3> kWidths{31, 26, 13};

void write_line(std::string& out, std::string_view label, std::string_view value, Tone tone) {
  const std::string begin = fmt::format("  {:<28} {}", label, colour_of(tone));
  out += begin;
  for (const char c : value) {
    out += c;
    if (c == '\n') out.append(kValueColumn, ' ');
  }
  out += tone == Tone::None ? "\n" : "\033[0m\n";
}

bool begins_letter(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; }

std::size_t letters_in(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_letter));
}

/// Cut to a column, and filled up to it.
std::string cell(std::string_view text, std::size_t width) {
  std::string shown(text);
  if (letters_in(shown) > width) {
    std::size_t end = 0;
    for (std::size_t letters = 0; end < shown.size(); ++end)
      if (begins_letter(shown[end]) && letters++ == width - 3) break;
    shown = shown.substr(0, end) + "...";
  }
  return shown + std::string(width - std::min(width, letters_in(shown)), ' ');
}

std::string rule(std::string_view left, std::string_view middle, std::string_view right) {
  std::string line = std::string(kFrame) + std::string(left);
  for (std::size_t i = 0; i < kWidths.size(); ++i) {
    for (std::size_t j = 0; j < kWidths[i] + 2; ++j) line += "─";
    line += i + 1 < kWidths.size() ? middle : right;
  }
  return line + std::string(kEnd) + "\n";
}

std::string bar() { return fmt::format("{}│{}", kFrame, kEnd); }

}  // namespace

std::string banner(const Scene& scene) {
  const Duration up = std::max(scene.now.mono - scene.engine.started_at().mono, Duration{0});
  return fmt::format("Monit {} uptime: {}", version_of(scene), uptime_text(up / seconds{1}));
}

void write_status(std::string& out, const Scene& scene, engine::ServiceId id) {
  const engine::ServiceBlock& block = scene.engine.graph()->at(id);
  const Standing standing = standing_of(scene, id);
  out += fmt::format("{}{} '{}'{}\n", kTitle, kind_of(*block.kind).title, block.name, kEnd);
  std::string status;
  for (const Word& word : standing.words) status += (status.empty() ? "" : " | ") + coloured(word.text, word.tone);
  if (standing.pending != 0) status += fmt::format(" - {} pending", standing.action);
  out += fmt::format("  {:<28} {}\n", "status", status);
  const Word monitoring = monitoring_of(standing);
  write_line(out, "monitoring status", monitoring.text, monitoring.tone);
  const bool passive = block.activity == engine::ServiceBlock::Activity::Passive;
  write_line(out, "monitoring mode", passive ? "passive" : "active", Tone::None);
  constexpr std::array<std::string_view, 3> kOnReboot{"start", "nostart", "laststate"};
  write_line(out, "on reboot", kOnReboot[static_cast<std::size_t>(block.on_reboot)], Tone::None);
  for (const Line& line : details_of(scene, id, standing)) write_line(out, line.label, line.value, line.tone);
  write_line(out, "data collected", collected_text(scene, id), Tone::Plain);
  out += "\n";
}

std::string summary_head() {
  const auto name = [](std::string_view text, std::size_t column) {
    return fmt::format(" {}{}{} ", kTitle, cell(text, kWidths[column]), kEnd);
  };
  return rule("┌", "┬", "┐") + bar() + name("Service Name", 0) + bar() + name("Status", 1) + bar() + name("Type", 2) +
         bar() + "\n";
}

void write_summary(std::string& out, const Scene& scene, engine::ServiceId id) {
  const engine::ServiceBlock& block = scene.engine.graph()->at(id);
  const Standing standing = standing_of(scene, id);
  out += rule("├", "┼", "┤");
  out += fmt::format("{} {} {} {}{} {}{} {} {}\n", bar(), cell(block.name, kWidths[0]), bar(),
                     colour_of(standing.words.front().tone), cell(status_text(standing), kWidths[1]), kEnd, bar(),
                     cell(kind_of(*block.kind).title, kWidths[2]), bar());
}

std::string summary_foot() { return rule("└", "┴", "┘"); }

std::optional<std::string> report(const Scene& scene, std::string_view type) {
  constexpr std::array<std::string_view, 4> kNames{"up", "down", "initialising", "unmonitored"};
  std::array<std::size_t, kNames.size()> counts{};
  const auto& order = scene.engine.graph()->order;
  for (const engine::ServiceId id : order) ++counts[static_cast<std::size_t>(count_of(standing_of(scene, id)))];
  if (type == "total") return fmt::format("{}\n", order.size());
  std::string text;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (type == kNames[i]) return fmt::format("{}\n", counts[i]);
    const double share = order.empty() ? 0 : 100.0 * static_cast<double>(counts[i]) / static_cast<double>(order.size());
    text += fmt::format("{:<14}{:>3} ({:.1f}%)\n", std::string(kNames[i]) + ":", counts[i], share);
  }
  if (!type.empty()) return std::nullopt;
  return text + fmt::format("{:<14}{:>3} services\n", "total:", order.size());
}

}  // namespace healer::web::monit
