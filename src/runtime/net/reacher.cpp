// SPDX-License-Identifier: MIT
#include "runtime/net/reacher.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "engine/judging/evaluate.hpp"
#include "engine/rules/service.hpp"
#include "protocols/sentence.hpp"
#include "runtime/clock.hpp"
#include "runtime/loop.hpp"
#include "runtime/net/connector.hpp"
#include "util/text.hpp"

namespace healer::runtime {
namespace {

using engine::Answer;
using engine::ConnectionSeen;
using engine::Reach;
using protocols::ProbePlan;
using protocols::ProbeResult;
using protocols::ProbeVerdict;
using protocols::Transport;

Reach reach_of(ProbeVerdict verdict) {
  switch (verdict) {
    case ProbeVerdict::Passed: return Reach::Passed;
    case ProbeVerdict::Failed: return Reach::Failed;
    case ProbeVerdict::Unknown: break;
  }
  return Reach::Unknown;
}

/// What may hold words of the other side: on one line, and nothing that a terminal obeys.
std::string line_of(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return printable(text);
}

ConnectionSeen seen_of(const ProbePlan& plan, const ProbeResult& result) {
  ConnectionSeen seen{.reach = reach_of(result.verdict),
                      .name = protocols::name_of(plan),
                      .text = line_of(describe(plan, result)),
                      .address = result.address,
                      .response = result.response,
                      .nameless = result.nameless};
  if (seen.reach != Reach::Unknown) seen.sentence = line_of(sentence(plan, result, now().wall));
  if (seen.reach == Reach::Passed) seen.in_time = protocols::time_sentence(plan, result);
  if (seen.reach == Reach::Failed && protocols::mistimed(plan, result)) seen.event = engine::EventKind::Speed;
  if (result.certificate) {
    seen.expires = result.certificate->expires;
    if (seen.reach == Reach::Failed && protocols::expires_soon(plan, result, now().wall))
      seen.event = engine::EventKind::Timestamp;
    if (seen.reach == Reach::Passed) seen.text += ", certificate " + protocols::expiry_words(*seen.expires, now().wall);
  }
  return seen;
}

}  // namespace

struct Reacher::Run {
  engine::ServiceId service;
  engine::RunId id;
  engine::Evidence evidence;  // of the look; of a host its own
  Block block;
  Duration rest{0};
  Duration begun{0};  // mono
  std::shared_ptr<engine::Facts> facts;
  std::vector<std::uint64_t> probes;  // by ServiceBlock::probes: the connector's numbers; 0: none
  std::size_t open = 0;
  bool pings = true;  // they are under way, or come next
};

Reacher::Reacher(Loop& loop, Connector& connector, Sink sink)
    : loop_(loop), connector_(connector), sink_(std::move(sink)) {}

Reacher::~Reacher() {
  while (!runs_.empty()) cancel(runs_.begin()->second->id);
}

void Reacher::connect(const engine::effect::Measure& measure, Block block) {
  connect_after_inspection(measure, {}, std::move(block));
  Run& run = *runs_.at(measure.run.number());
  run.facts = std::make_shared<engine::Facts>();
  run.evidence.output = std::make_shared<const std::string>();
  loop_.post([this, alive = std::weak_ptr<bool>(alive_), id = measure.run.number()] {
    if (alive.expired()) return;
    if (const auto found = runs_.find(id); found != runs_.end()) begin(*found->second);
  });
}

void Reacher::connect_after_inspection(const engine::effect::Measure& measure, const engine::measure::Connect& wanted,
                                       Block block) {
  cancel(measure.run);  // it may be asked for again
  auto run = std::make_unique<Run>();
  run->service = measure.service;
  run->id = measure.run;
  run->block = std::move(block);
  run->rest = wanted.rest;
  run->begun = mono_now();
  runs_.insert_or_assign(measure.run.number(), std::move(run));
}

bool Reacher::checked(const engine::event::Measured& check) {
  const auto found = runs_.find(check.run.number());
  if (found == runs_.end()) return false;
  if (engine::process_of(*check.evidence) == nullptr) {
    runs_.erase(found);
    return false;
  }
  Run& run = *found->second;
  run.evidence = *check.evidence;
  run.facts = std::make_shared<engine::Facts>(*check.evidence->facts);
  begin(run);
  return true;
}

void Reacher::cancel(engine::RunId id) {
  const auto found = runs_.find(id.number());
  if (found == runs_.end()) return;
  for (const std::uint64_t probe : found->second->probes)
    if (probe != 0) connector_.cancel(probe);
  runs_.erase(found);
}

void Reacher::begin(Run& run) {
  const std::vector<engine::Probe>& plans = run.block->probes;
  run.probes.assign(plans.size(), 0);
  std::optional<Duration> resting;
  // Monit counts whole seconds, and the last one of the rest is among them.
  const auto uptime = engine::value_of(run.evidence, engine::Metric::Uptime);
  if (run.rest > Duration{0} && uptime) {
    const Duration lived = seconds{static_cast<std::int64_t>(*uptime)};
    if (lived <= run.rest) resting = run.rest - lived;
  }
  for (const engine::Probe& plan : plans) {
    ConnectionSeen& seen = run.facts->further.edit().connections.edit().emplace_back();
    seen.name = protocols::name_of(*plan);
    if (resting)
      seen.text = fmt::format("not tried: its process was started {} ago, and has {} to come up",
                              format_duration(run.rest - *resting), format_duration(run.rest));
  }
  if (resting) run.pings = false;
  const std::uint64_t id = run.id.number();
  for (std::size_t i = 0; i < plans.size(); ++i)
    if (!resting && plans[i]->transport == Transport::Ping) probe(id, i);
  if (run.open == 0) go_on(id);
}

void Reacher::probe(std::uint64_t id, std::size_t index) {
  Run& run = *runs_.at(id);
  ++run.open;
  run.probes[index] = connector_.probe(run.block->probes[index],
                                       [this, id, index](const ProbeResult& result) { probed(id, index, result); });
}

void Reacher::probed(std::uint64_t id, std::size_t index, const ProbeResult& result) {
  Run& run = *runs_.at(id);
  run.probes[index] = 0;
  run.facts->further.edit().connections.edit()[index] = seen_of(*run.block->probes[index], result);
  if (--run.open == 0) go_on(id);
}

/// The pings have ended, or all has.
void Reacher::go_on(std::uint64_t id) {
  Run& run = *runs_.at(id);
  if (!std::exchange(run.pings, false)) return finish(id);
  auto& seen = run.facts->further.edit().connections;
  // One that was late has answered.
  const bool spared =
      std::ranges::any_of(seen, [](const ConnectionSeen& one) { return one.reach == Reach::Failed && !one.response; });
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const ProbePlan& plan = *run.block->probes[i];
    if (plan.transport == Transport::Ping) continue;
    if (spared)
      seen.edit()[i].text = "not tried: the host does not answer pings";
    else
      probe(id, i);
  }
  if (run.open == 0) finish(id);
}

void Reacher::finish(std::uint64_t id) {
  const std::unique_ptr<Run> run = std::move(runs_.at(id));
  runs_.erase(id);
  engine::Evidence& evidence = run->evidence;
  evidence.elapsed = mono_now() - run->begun;
  const auto& seen = run->facts->further->connections;
  // Where nothing else is looked at, and nobody could try, nothing is known.
  const auto is_conclusive = [](const ConnectionSeen& one) {
    return one.reach == Reach::Failed || one.reach == Reach::Passed;
  };
  if (!run->block->has_process() && !seen.empty() && std::ranges::none_of(seen, is_conclusive)) {
    evidence.answer = Answer::Unknown;
    evidence.output = std::make_shared<const std::string>(seen.front().text);
  }
  evidence.facts = std::move(run->facts);
  sink_(engine::event::measured(run->service, run->id, std::move(evidence)));
}

}  // namespace healer::runtime
