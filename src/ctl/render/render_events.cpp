// SPDX-License-Identifier: MIT
// Events for people.
#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "ctl/render/render.hpp"
#include "ctl/render/render_parts.hpp"
#include "util/text.hpp"

namespace healer::control {
namespace {

std::string about(const EventView& event) {
  return printable(event.state.empty() ? event.id : fmt::format("{}: {}", event.id, event.state));
}

/// "judged: if json ... then heal ..., healing of vm-7 with rebuild requested".
std::string fate(const EventView& event) {
  std::string text = event.status == 202 ? event.stage : fmt::format("{} {}", event.status, event.stage);
  if (!event.outcome.empty())
    text += ": " + event.outcome;
  else if (event.status != 202 && !event.answer.empty())
    text += ": " + event.answer;
  if (!event.remark.empty()) text += fmt::format(" ({})", event.remark);
  if (!event.targets.empty()) text += fmt::format("; stands for {}", fmt::join(event.targets, ", "));
  return printable(text);
}

}  // namespace

std::string render_events(std::span<const EventView> events, const Style& style) {
  if (events.empty()) return "no event has come\n";
  Column id{.title = "ID"}, when{.title = "WHEN"}, service{.title = "CHECK"}, times{.title = "TIMES", .spare = true};
  Column sender{.title = "FROM", .spare = true}, what{.title = "EVENT"},
      became{.title = "WHAT BECAME OF IT", .whole = true};
  service.most = style.width == 0 ? 0 : std::max<std::size_t>(style.width / 5, 12);
  what.most = style.width == 0 ? 0 : std::max<std::size_t>(style.width / 4, 16);
  sender.most = style.width == 0 ? 0 : 16;
  for (const EventView& event : events) {
    id.add(fmt::format("{}", event.event));
    when.add(clock_time(event.first, style));
    service.add(printable(event.service));
    times.add(fmt::format("{}", event.count));
    sender.add(printable(event.sender));
    what.add(about(event));
    became.add(fate(event));
  }
  return table({std::move(id), std::move(when), std::move(service), std::move(what), std::move(times),
                std::move(sender), std::move(became)},
               style);
}

std::string event_fields_text(const EventCheckView& events, const Style& style) {
  std::string text = field("hook", printable(fmt::format("{} ({})", events.hook, events.format)), style);
  if (events.last) {
    text += field("last event", fmt::format("{}: {}", ago(events.last->last, style), about(*events.last)), style);
    text += field("came to", fate(*events.last), style);
  } else {
    text += field("last event", "none yet", style);
  }
  if (events.waiting > 0)
    text +=
        field("waiting", fmt::format("{}{}{}", events.waiting, events.held.empty() ? "" : ": ", events.held), style);
  if (!events.targets.empty())
    text += field("stands for", printable(fmt::format("{}", fmt::join(events.targets, ", "))), style);
  return text;
}

}  // namespace healer::control
