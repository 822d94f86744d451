// SPDX-License-Identifier: MIT
// Private to the driver: what healings see of the engine, and do to it, within one turn.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/driver.hpp"
#include "engine/healing/variables.hpp"
#include "engine/judging/evaluate.hpp"
#include "engine/parts/absent.hpp"
#include "engine/parts/alerts.hpp"
#include "engine/parts/bringing/jobs.hpp"
#include "engine/parts/bringing/starts.hpp"
#include "engine/parts/composites.hpp"
#include "engine/parts/doubts.hpp"
#include "engine/parts/hearing/arrivals.hpp"
#include "engine/parts/maintenance.hpp"
#include "engine/parts/monitoring.hpp"
#include "engine/parts/pauses.hpp"
#include "engine/parts/programs.hpp"
#include "engine/parts/releases.hpp"
#include "engine/parts/rule_states.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/turn.hpp"
#include "engine/words/cause.hpp"
#include "util/text.hpp"

namespace healer::engine {

class HealingDriver::Context final : public HealingWorld {
 public:
  Context(const HealingDriver& driver, Turn& turn) : driver_(driver), views_(driver.views_), turn_(turn) {}

  [[nodiscard]] Instant now() const override { return turn_.now; }
  [[nodiscard]] const Graph& graph() const override { return *views_.graph; }
  [[nodiscard]] const std::string& host() const override { return views_.host; }
  [[nodiscard]] const Hash128& state_word() const override { return views_.state_word; }
  [[nodiscard]] Health health(ServiceId service) const override {
    const Health health = views_.composites.health(service);
    return health == Health::GivenUp ? Health::Unmonitored : health;
  }
  [[nodiscard]] bool stands(ServiceId service, Hash128 rule, std::string_view target) const override {
    const auto found = driver_.rule_of(service, rule);
    if (found && graph().at(service).is_event() && (*found->second)->mode == Mode::EachMatch)
      return views_.arrivals.events().stands(service, rule, target);
    return found && ((*found->second)->mode != Mode::Latched ||
                     views_.rules.of(service)[found->first].status == RuleStatus::Failed);
  }
  [[nodiscard]] std::optional<bool> holds_now(ServiceId service, Hash128 rule) const override {
    const auto found = driver_.rule_of(service, rule);
    if (!found) return false;
    const ServiceState& state = views_.services[service.index()];
    // What is over when it has happened cannot be seen once more.
    if ((*found->second)->mode != Mode::Latched || (*found->second)->counts_restarts()) return true;
    if (graph().at(service).has_members()) {
      const Evidence members = views_.composites.check(service);
      return holds(*(*found->second)->condition, Seen{members, state.memory, state.starts->restarted});
    }
    if (state.trouble->unknown || !state.last) return std::nullopt;
    return holds(*(*found->second)->condition, Seen{*state.last, state.memory, state.starts->restarted});
  }
  [[nodiscard]] bool holds_nameless(ServiceId service, Hash128 rule) const override {
    const auto found = driver_.rule_of(service, rule);
    return found && views_.composites.holds_nameless(service, *found->second);
  }
  [[nodiscard]] std::string paused(ServiceId service) const override {
    if (const auto by = views_.pauses.of(service, turn_.now))
      return graph().at(service).name + paused_by(*by->pause, by->with());
    return views_.maintenance.in_force(service, turn_.now) ? "maintenance of " + graph().at(service).name : "";
  }
  [[nodiscard]] std::string all_paused() const override {
    const WidePause* const everything = views_.pauses.of_everything(turn_.now);
    if (everything != nullptr) return "everything" + paused_by(everything->pause, {});
    return views_.maintenance.of_everything(turn_.now) ? "maintenance of everything" : "";
  }
  [[nodiscard]] std::vector<ServiceId> seen_by(ServiceId service) const override {
    std::vector<ServiceId> seen;
    if (graph().at(service).has_members()) {
      for (const ServiceId member : graph().members[service.index()])
        for (const ServiceId one : seen_by(member))
          if (std::ranges::find(seen, one) == seen.end()) seen.push_back(one);
    } else if (views_.services[service.index()].monitored && !graph().at(service).rules.empty() &&
               !graph().at(service).is_event()) {
      seen.push_back(service);
    }
    return seen;
  }
  [[nodiscard]] bool given_up(ServiceId service) const override {
    return views_.monitoring.given_up(service) != nullptr;
  }
  [[nodiscard]] std::string busy(ServiceId service) const override {
    for (const ActionId action : views_.programs.of(graph().at(service).name)) {
      const effect::Exec& exec = views_.programs.find(action)->exec;
      if (exec.healing != HealingId{} && !driver_.healings_.all().contains(exec.healing))
        return fmt::format("program {} of an earlier healing ({})", exec.command.arguments.front(),
                           exec.healing.number());
    }
    const Job* const job = views_.jobs.of(service);
    if (job == nullptr) return {};
    return fmt::format("{} of {} (job {})", to_string(job->kind), graph().at(service).name, job->id.number());
  }
  [[nodiscard]] std::vector<ServiceId> failed_requirements(ServiceId service) const override {
    std::vector<ServiceId> failed;
    if (graph().requirements[service.index()].empty()) return failed;
    for (const ServiceId needed : requirements_of(graph(), service))
      if (const Health its = views_.composites.health(needed); its == Health::Failed || its == Health::GivenUp)
        failed.push_back(needed);
    return failed;
  }
  [[nodiscard]] std::string list_doubt(ServiceId service) const override {
    const auto& row = graph().at(service).row;
    if (row == nullptr) return {};
    for (const std::string& list : row->lists)
      if (views_.doubts.of_list(to_lower(list))) return not_known_to_be_right(list);
    for (const std::string& list : row->lists) {
      const auto value = std::ranges::find(row->variables, list, &std::pair<std::string, std::string>::first);
      if (value != row->variables.end() && views_.doubts.is_missing(to_lower(list), to_lower(value->second)))
        return fmt::format("{} is missing from the list {}, and was so before it failed", value->second, list);
    }
    return {};
  }
  [[nodiscard]] std::string lists_doubt() const override {
    const std::string list = views_.doubts.first_list();
    if (list.empty()) return {};
    const auto written =
        std::ranges::find_if(graph().lists, [&](const std::string& one) { return iequals(one, list); });
    return not_known_to_be_right(written == graph().lists.end() ? list : *written);
  }
  [[nodiscard]] std::string left_out(const Healing& healing) const override {
    if (!views_.absent.contains(healing.service) && !graph().left_out.holds(healing.row)) return {};
    if (graph().find(healing.service)) return {};
    return fmt::format("{} is left out of the rules for now; `healerctl lists` shows why", healing.service);
  }
  [[nodiscard]] std::string doubt() const override { return driver_.doubt(turn_.now); }
  [[nodiscard]] std::optional<Duration> time_releases() const override { return driver_.time_releases(turn_.now); }

  IdSource& ids() override { return driver_.ids_; }
  void check(ServiceId service) override { turn_.tell(fact::LookWanted{service, Reason::Healing, turn_.now.mono}); }
  ActionId run(const Healing& healing, const step::Program& program, Duration timeout,
               std::shared_ptr<const effect::Place> place, std::string_view step) override {
    auto cause = std::make_shared<effect::Cause>(*healing.cause);
    cause->action_text = "heal";
    effect::Exec exec{.action = driver_.ids_.action(),
                      .service = graph().find(healing.service).value_or(ServiceId{}),
                      .rule = healing.rule,
                      .command = program.command,
                      .cause = std::move(cause),
                      .healing = healing.id,
                      .place = std::move(place)};
    if (timeout > Duration{0}) exec.command.timeout = timeout;
    turn_
        .record(RecordKind::HealingStep, Severity::Info, healing.service,
                fmt::format("healing of {} with {}, {}: {}", healing.target, healing.plan->name,
                            step == "guard" ? std::string(step) : fmt::format("step \"{}\"", step),
                            program.command.arguments.front()))
        .subject = healing.id.number();
    turn_.commit().pending.emplace_back(exec);
    turn_.programs.add(exec, turn_.now);
    const ActionId action = exec.action;
    turn_.acts.emplace_back(std::move(exec));
    return action;
  }
  void end_program(ActionId action) override { turn_.programs.end(action, {}, turn_); }
  void request(effect::Request request) override { turn_.acts.emplace_back(std::move(request)); }
  void claim(effect::Claim claim) override { turn_.releases.pass(std::move(claim), turn_); }
  void ask(effect::Request request) override { turn_.releases.pass(std::move(request), turn_); }
  void end_request(ActionId request) override { turn_.releases.pass(effect::EndRequest{request}, turn_); }
  [[nodiscard]] std::string left_alone(const Healing& healing, Bringing what, ServiceId service, bool of_target,
                                       const std::set<ServiceId>& stopped) const override {
    const ServiceBlock& block = graph().at(service);
    const ServiceState& state = views_.services[service.index()];
    if (const Job* const job = views_.jobs.of(service); job != nullptr && is_healing(job->by, healing.id))
      return {};  // it is under way
    if (block.activity == ServiceBlock::Activity::Passive) return block.name + " is passive";
    if (const std::string why = of_target ? std::string() : paused(service); !why.empty()) return why;
    if (!state.monitored && !stopped.contains(service) && !given_up(service)) return block.name + " is not monitored";
    if (what == Bringing::Stop) return {};
    for (const ServiceId needed : requirements_of(graph(), service)) {
      if (stopped.contains(needed)) continue;
      const ServiceState& its = views_.services[needed.index()];
      const ServiceBlock& other = graph().at(needed);
      const bool seen = its.last != nullptr || other.foreground();
      // A start looks first at what was not seen yet, and would start it.
      const bool held = other.activity == ServiceBlock::Activity::Passive || !paused(needed).empty();
      const bool down = its.monitored && other.has_process() && (seen ? !views_.starts.is_up(needed) : held);
      if (!its.monitored || down)
        return fmt::format("{} depends on {}, which is not {}", block.name, other.name,
                           !down  ? "monitored"
                           : seen ? "running"
                                  : "known to run yet");
    }
    return {};
  }
  void bring(const Healing& healing, std::size_t run, Bringing what, ServiceId service) override {
    const auto number = static_cast<std::uint32_t>(run);
    // After this turn's other work, for what it says comes back to the healing.
    turn_.orders.push_back({.requester = HealingRun{healing.id, number},
                            .kind = what == Bringing::Start  ? ActionKind::Start
                                    : what == Bringing::Stop ? ActionKind::Stop
                                                             : ActionKind::Restart,
                            .services = {service},
                            .by = ByHealing{.id = healing.id, .run = number}});
  }
  void leave(const Healing& healing) override {
    std::erase_if(turn_.orders, [&](const BringOrder& order) {
      if (!is_healing(order.by, healing.id)) return false;
      turn_.answer(order.requester, false, "was ended");
      return true;
    });
    for (const auto& [id, job] : views_.jobs.all())
      if (is_healing(job.by, healing.id)) turn_.tell(fact::JobLeft{job.id});
  }
  void recover(ServiceId service) override { turn_.tell(fact::ServiceWell{service}); }
  void tell(const Healing& healing, std::string_view event, effect::Cause::State state,
            const std::string& text) override {
    const std::optional<ServiceId> service = graph().find(healing.service);
    mail(service ? *graph().at(*service).recipients : graph().settings->mail.recipients, *healing.cause,
         healing.service, event, state, text, uuid_of(healing.identity));
  }
  void notify_everyone(std::string_view event, effect::Cause::State state, const std::string& text) override {
    mail(graph().settings->mail.recipients, {}, "healer", event, state, text);
  }
  Record& record(RecordKind kind, Severity severity, std::string service, std::string text) override {
    return turn_.record(kind, severity, std::move(service), std::move(text));
  }
  void save(const Healing& healing) override { turn_.changed_healings.push_back(healing.id); }
  void forget(HealingId healing) override { turn_.commit().ended_healings.push_back(healing); }
  void save(const TargetMemory& target) override {
    std::erase_if(turn_.commit().targets, [&](const TargetMemory& other) {
      return other.rehearsed == target.rehearsed && to_lower(other.target) == to_lower(target.target);
    });
    turn_.commit().targets.push_back(target);
  }
  void forget(const TargetMemory& target) override {
    turn_.commit().forgotten_targets.emplace_back(to_lower(target.target), target.rehearsed);
  }
  void save(const WorkflowMemory& workflow) override {
    std::erase_if(turn_.commit().workflows,
                  [&](const WorkflowMemory& other) { return to_lower(other.workflow) == to_lower(workflow.workflow); });
    turn_.commit().workflows.push_back(workflow);
  }
  void save(const std::vector<ClosedBrake>& closed) override { turn_.commit().closed_brakes = closed; }

 private:
  void mail(const std::vector<Recipient>& known, effect::Cause cause, const std::string& service,
            std::string_view event, effect::Cause::State state, const std::string& text, std::string incident = {}) {
    if (graph().settings->shadow) return;
    std::vector<Recipient> recipients;
    for (const Recipient& recipient : known)
      if (recipient.events.test(static_cast<std::size_t>(EventKind::Action))) recipients.push_back(recipient);
    cause.service = service;
    cause.event = EventKind::Action;
    cause.state = state;
    cause.event_text = event;
    cause.action_text = "heal";
    cause.description = text;
    cause.when = turn_.now.wall;
    views_.alerts.send(std::move(recipients), std::make_shared<const effect::Cause>(std::move(cause)), turn_,
                       {.incident = std::move(incident)});
  }

  static std::string paused_by(const Pause& pause, const std::string& with) {
    return fmt::format(" was paused{} by {}{}{}", with, words_of(pause.by), pause.reason.empty() ? "" : ": ",
                       pause.reason);
  }
  static std::string not_known_to_be_right(const std::string& list) {
    return fmt::format("it is not certain yet that the list {} is right; `healerctl accept list {}` confirms it", list,
                       list);
  }

  const HealingDriver& driver_;
  const HealingViews& views_;
  Turn& turn_;
};

}  // namespace healer::engine
