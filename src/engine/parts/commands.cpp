// SPDX-License-Identifier: MIT
#include "engine/parts/commands.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/job.hpp"
#include "engine/parts/leftovers.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/service.hpp"
#include "engine/turn.hpp"

namespace healer::engine {
namespace {

constexpr std::size_t kMostNamed = 20;

std::string_view done(ActionKind kind) {
  return kind == ActionKind::Stop ? "stopped" : kind == ActionKind::Start ? "started" : "restarted";
}

}  // namespace

const PendingCommand* PendingCommands::find(const Requester& requester) const {
  const auto found = commands_.find(requester);
  return found == commands_.end() ? nullptr : &found->second;
}

void PendingCommands::begin(PendingCommand command) {
  const Requester requester = command.order.requester;
  commands_.emplace(requester, std::move(command));
}

void PendingCommands::begin_validate(PendingCommand command, Turn& turn) {
  if (command.outstanding == 0)
    turn.answer(command.order.requester, command.asked == 0 && command.unmonitored.empty(), validated_text(command));
  else
    begin(std::move(command));
}

void PendingCommands::await_jobs(const Requester& requester, std::int64_t more) {
  PendingCommand& command = commands_.at(requester);
  command.outstanding = static_cast<std::uint32_t>(command.outstanding + more);
}

void PendingCommands::note_ended(const Requester& requester, const std::vector<std::string>& healings) {
  if (const auto found = commands_.find(requester); found != commands_.end())
    found->second.ended.insert(found->second.ended.end(), healings.begin(), healings.end());
}

void PendingCommands::answer_idle(const PendingCommand& command, Turn& turn) const {
  turn.answer(command.order.requester, true, done_text(command));
}

/// "2 of 5 services failed: a, b; not monitored: c", "web is in order".
std::string PendingCommands::validated_text(const PendingCommand& command) const {
  std::string text = "nothing was checked";
  if (!command.failed.empty()) {
    std::vector<std::string> failed;
    for (const auto& [id, name] : command.failed) failed.push_back(name);
    text = command.asked == 1
               ? fmt::format("{} failed", failed.front())
               : fmt::format("{} of {} services failed: {}", failed.size(), command.asked, listed(failed));
  } else if (command.asked > 1 && command.order.services.size() == graph_->order.size()) {
    text = fmt::format("all {} services are in order", command.asked);
  } else if (command.asked > 0) {
    std::vector<std::string> good = names_of(command.order.services);
    std::erase_if(good, [&](const std::string& name) {
      return std::ranges::find(command.unmonitored, name) != command.unmonitored.end();
    });
    text = fmt::format("{} {} in order", listed(good), good.size() == 1 ? "is" : "are");
  }
  return command.unmonitored.empty() ? text : text + "; not monitored: " + listed(command.unmonitored);
}

std::vector<std::string> PendingCommands::names_of(const std::vector<ServiceId>& services) const {
  std::vector<std::string> names;
  for (const ServiceId id : services)
    if (id.index() < graph_->slots.size() && graph_->slots[id.index()]) names.push_back(graph_->at(id).name);
  return names;
}

void PendingCommands::note_touched(const Job& job, bool good) {
  const auto steps = std::span(job.steps).first(good ? job.steps.size() : job.position);
  for (const Requester& requester : job.asked_by) {
    const auto found = commands_.find(requester);
    if (found == commands_.end()) continue;
    for (const JobStep& step : steps) {
      PendingCommand::Touched& touched = found->second.touched[step.service];
      touched.stopped = touched.stopped || (step.acted && step.kind != Bringing::Start);
      touched.started = touched.started || (step.acted && step.kind != Bringing::Stop);
    }
  }
}

/// What was done to whom: "web, db restarted; app started, too". Where some have failed, only what was done to others
/// of those that were named.
std::string PendingCommands::done_text(const PendingCommand& command) const {
  const bool stop = command.order.kind == ActionKind::Stop;
  std::map<ActionKind, std::vector<ServiceId>> done_to, done_too;
  std::vector<ServiceId> as_wanted, without, unmonitored;
  const auto verb_of = [](const PendingCommand::Touched& touched) -> std::optional<ActionKind> {
    if (touched.stopped && touched.started) return ActionKind::Restart;
    if (touched.started) return ActionKind::Start;
    return touched.stopped ? std::optional(ActionKind::Stop) : std::nullopt;
  };
  for (const ServiceId id : command.order.services) {
    if (id.index() >= graph_->slots.size() || !graph_->slots[id.index()]) continue;
    const ServiceBlock& block = graph_->at(id);
    const auto touched = command.touched.find(id);
    const bool programs = !block.has_process() ? (stop ? block.programs->stop : block.programs->start).has_value()
                                               : block.can_start() || (stop && block.programs->stop);
    if (const auto verb = touched == command.touched.end() ? std::nullopt : verb_of(touched->second))
      done_to[*verb].push_back(id);
    else if (command.failed.empty())
      (programs ? as_wanted : stop && !block.has_process() ? unmonitored : without).push_back(id);
  }
  for (const auto& [id, touched] : command.touched)
    if (const auto verb = verb_of(touched);
        verb && command.failed.empty() && std::ranges::find(command.order.services, id) == command.order.services.end())
      done_too[*verb].push_back(id);
  std::vector<std::string> parts;
  const auto add = [&](const std::vector<ServiceId>& services, std::string_view one, std::string_view several) {
    const std::vector<std::string> names = names_of(services);
    if (!names.empty()) parts.push_back(fmt::format("{} {}", listed(names), names.size() == 1 ? one : several));
  };
  for (const auto& [verb, services] : done_to) add(services, done(verb), done(verb));
  if (stop) {
    add(as_wanted, "did not run", "did not run");
    // What a start has left is not the service's process, and is not ended by its stop.
    for (const ServiceId id : std::span(as_wanted).first(std::min(as_wanted.size(), kMostNamed))) {
      std::string left = leftovers_.behind(id);
      if (left.empty()) left = leftovers_.over(id);
      if (!left.empty()) parts.push_back(fmt::format("{}: {}", graph_->at(id).name, left));
    }
    add(unmonitored, "is no longer monitored", "are no longer monitored");
    add(without, "is no longer monitored; it has no start and no stop program, and is left alone",
        "are no longer monitored; they have no start and no stop program, and are left alone");
  } else {
    add(as_wanted, "runs already", "run already");
    add(without, "is monitored; it has no start program", "are monitored; they have no start program");
  }
  for (const auto& [verb, services] : done_too) {
    const std::string too = fmt::format("{}, too", done(verb));
    add(services, too, too);
  }
  if (parts.empty() && command.failed.empty()) return fmt::format("no service {}", done(command.order.kind));
  return fmt::format("{}", fmt::join(parts, "; "));
}

void PendingCommands::job_ended(const Requester& requester, ServiceId service, const std::string& failure, Turn& turn) {
  const auto found = commands_.find(requester);
  if (found == commands_.end()) return;
  PendingCommand& pending = found->second;
  if (!failure.empty()) pending.failed.emplace(service, failure);
  if (--pending.outstanding > 0) return;
  std::string text;
  if (pending.failed.empty()) {
    text = done_text(pending);
  } else {
    std::size_t left = kMostNamed;
    for (const auto& [failed, why] : pending.failed) {
      if (left-- == 0) break;
      text += (text.empty() ? "" : "\n") + why;
    }
    if (pending.failed.size() > kMostNamed) text += fmt::format("\nand {} more", pending.failed.size() - kMostNamed);
    if (const std::string also = done_text(pending); !also.empty()) text += "\n" + also;
  }
  for (const std::string& ended : pending.ended) text += "\n" + ended;
  const bool good = pending.failed.empty();
  turn.answer(requester, good, std::move(text));
  commands_.erase(found);
}

void PendingCommands::run_ended(ServiceId id, bool failed, Turn& turn) {
  if (validating_.empty()) return;
  const auto waiting = validating_.extract(id.number());
  if (waiting.empty()) return;
  std::string name;  // of one that has failed; the others may be gone
  if (failed) {
    name = graph_->at(id).name;
    if (const auto& unknown = services_[id.index()].trouble->unknown)
      name += fmt::format(" (not known for {}: {})", format_duration(turn.now.wall - unknown->since), unknown->why);
  }
  for (const CommandId command : waiting.mapped()) {
    const auto found = commands_.find(command);
    if (found == commands_.end()) continue;
    PendingCommand& pending = found->second;
    if (failed) pending.failed.emplace(id, name);
    if (--pending.outstanding > 0) continue;
    turn.replies.push_back({command, pending.failed.empty(), validated_text(pending)});
    commands_.erase(found);
  }
}

}  // namespace healer::engine
