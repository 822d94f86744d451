// SPDX-License-Identifier: MIT
// What is under way, and the counts of `report`.
#include <algorithm>
#include <array>

#include <spdlog/fmt/fmt.h>

#include "ctl/render/render.hpp"
#include "ctl/render/render_parts.hpp"
#include "ctl/render/render_text.hpp"
#include "util/text.hpp"

namespace healer::control {

std::string render_report(const Totals& totals, std::string_view which) {
  const std::array<std::pair<std::string_view, std::uint64_t>, 5> counts{{{"up", totals.running + totals.failing},
                                                                          {"down", totals.down()},
                                                                          {"unknown", totals.unknown},
                                                                          {"initialising", totals.initialising},
                                                                          {"unmonitored", totals.unmonitored}}};
  std::string text;
  for (const auto& [word, count] : counts) {
    if (which == word) return fmt::format("{}\n", count);
    if (word == "unknown" && count == 0) continue;  // which hardly ever is, and which Monit does not tell
    const double share =
        totals.services == 0 ? 0 : 100 * static_cast<double>(count) / static_cast<double>(totals.services);
    text += fmt::format("{:<16}{} ({:.1f}%)\n", fmt::format("{}:", word), count, share);
  }
  if (which == "total") return fmt::format("{}\n", totals.services);
  return text + fmt::format("{:<16}{} services\n", "total:", totals.services);
}

std::string render_jobs(std::span<const JobView> jobs, const Style& style) {
  if (jobs.empty()) return "nothing is under way\n";
  Column id{.title = "ID"}, kind{.title = "KIND"}, service{.title = "SERVICE"}, step{.title = "STEP", .spare = true};
  Column age{.title = "FOR", .spare = true}, by{.title = "BY", .spare = true}, pid{.title = "PID", .spare = true};
  Column doing{.title = "DOING", .whole = true};
  service.most = style.width == 0 ? 0 : std::max<std::size_t>(style.width / 4, 12);
  by.most = style.width == 0 ? 0 : 12;
  for (const JobView& job : jobs) {
    id.add(fmt::format("{}", job.id));
    kind.add(printable(job.kind));
    service.add(printable(job.service));
    step.add(fmt::format("{}/{}", job.step, job.steps));
    age.add(full_seconds(job.age));
    by.add(printable(job.by));
    pid.add(job.pid == 0 ? "" : fmt::format("{}", job.pid));
    std::string text = fmt::format("{}, waits for {}", job.doing, job.waits_for);
    if (job.left) text += fmt::format(" (at most {} more)", whole_seconds(*job.left));
    doing.add(printable(text));
  }
  return table({std::move(id), std::move(kind), std::move(service), std::move(step), std::move(age), std::move(by),
                std::move(pid), std::move(doing)},
               style);
}

std::string render_stage(const OutputView& stage) {
  const std::string left = stage.left ? fmt::format(" (at most {} more)", whole_seconds(*stage.left)) : std::string();
  return printable(fmt::format("==> {}, waits for {}{} <==", stage.doing, stage.waits_for, left)) + "\n";
}

std::string render_output(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\n\t"), text.size());
    result += printable(text.substr(0, end));
    if (end < text.size()) result += text[end];
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

}  // namespace healer::control
