// SPDX-License-Identifier: MIT
#include "engine/parts/hearing/arrivals.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <variant>

#include <spdlog/fmt/fmt.h>

#include "engine/rules/graph.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/turn.hpp"
#include "engine/words/heartbeat.hpp"

namespace healer::engine {
namespace {

const HeartbeatSpec& spec_of(const Graph& graph, ServiceId id) { return graph.at(id).other->heartbeat; }

/// From a beat until the next is missed.
Duration span_of(const HeartbeatSpec& spec) { return spec.every + spec.within; }

/// The mono time of a wall time that has gone by. A clock that was set back since makes it now.
Duration mono_of(WallTime then, Instant now) { return now.mono - std::max(now.wall - then, Duration{0}); }

/// The first of the times `step` apart that lies after `now`.
Duration after(Duration first, Duration step, Duration now) {
  if (now < first) return first;
  return first + ((now - first) / step + 1) * step;
}

/// Who looks later than this was away: a beat may have come meanwhile, and wait to be read.
constexpr Duration kLateLook = seconds{1};

/// A step of the wall clock by more than this is one.
constexpr Duration kStepOfClock = seconds{1};

/// The wall times of all go by the clock as it is: where it was set, they are what that would have shown.
template <typename Known>
void follow_clock(std::map<ServiceId, Known>& heartbeats, Turn& turn) {
  const auto step = [&turn](const Known& known) {
    return (turn.now.wall - known.heartbeat.since) - (turn.now.mono - known.since);
  };
  const auto has_begun = [](const auto& entry) { return entry.second.since != Duration{0}; };  // else it is wall alone
  // They are set together, here, so that one of them tells it of all.
  const auto any = std::ranges::find_if(heartbeats, has_begun);
  if (any == heartbeats.end() || std::chrono::abs(step(any->second)) <= kStepOfClock) return;
  for (auto& [id, known] : heartbeats) {
    if (known.since == Duration{0}) continue;
    const Duration by = step(known);
    Heartbeat& heartbeat = known.heartbeat;
    heartbeat.since += by;
    if (heartbeat.started) *heartbeat.started += by;
    if (heartbeat.missed) *heartbeat.missed += by;
    turn.save(id);
  }
}

}  // namespace

// ---- view -----------------------------------------------------------------------------------------------------------

const Heartbeat* Arrivals::find(ServiceId id) const {
  const auto known = heartbeats_.find(id);
  return known == heartbeats_.end() ? nullptr : &known->second.heartbeat;
}

std::optional<Duration> Arrivals::deadline(ServiceId id) const {
  const auto known = heartbeats_.find(id);
  return known == heartbeats_.end() ? std::nullopt : std::optional<Duration>(known->second.deadline);
}

Evidence Arrivals::see(ServiceId id, Instant now) const {
  const Known& known = heartbeats_.at(id);
  const Heartbeat& heartbeat = known.heartbeat;
  auto facts = std::make_shared<Facts>();
  facts->further.edit().beat = BeatSeen{heartbeat, now.mono - known.since};
  std::optional<Duration> time = heartbeat.ran;
  if (known.started) time = now.mono - *known.started;
  if (time) facts->metrics.set(Metric::RunTime, static_cast<double>(time->count()) / 1000);
  Evidence seen;
  seen.status = heartbeat.word == BeatWord::Fail ? 1 : heartbeat.status;
  seen.output = std::make_shared<const std::string>(heartbeat.text);
  seen.facts = std::move(facts);
  return seen;
}

std::optional<Duration> Arrivals::next() const {
  return due_.empty() ? std::nullopt : std::optional(due_.begin()->first);
}

/// Whether a rule asks what its runs take.
bool Arrivals::times_runs(ServiceId id) const {
  return std::ranges::any_of(graph_->at(id).rules, [](const Rule& rule) {
    return std::ranges::any_of(rule->condition->tests,
                               [](const Test& test) { return std::holds_alternative<Compare>(test); });
  });
}

// ---- what it hears --------------------------------------------------------------------------------------------------

void Arrivals::plan(ServiceId id, Known& known) {
  if (known.planned) due_.erase({*known.planned, id});
  known.planned.reset();
  if (known.deadline) known.planned = known.look ? std::min(*known.look, *known.deadline) : *known.deadline;
  if (known.planned) due_.emplace(*known.planned, id);
}

void Arrivals::take(const event::Arrived& arrived, Turn& turn) {
  if (arrived.document != nullptr) return events_.take(arrived, turn);
  follow_clock(heartbeats_, turn);
  const ServiceId id = arrived.service;
  const ServiceBlock* const block = graph_->block(id);
  const auto found = heartbeats_.find(id);
  if (block == nullptr || found == heartbeats_.end()) {
    turn.replies.push_back({arrived.command, false, "there is no such heartbeat any more"});
    return;
  }
  Known& known = found->second;
  if (beat_word_of(arrived.state) == BeatWord::Start) {
    known.heartbeat.started = turn.now.wall;
    known.started = turn.now.mono;
    known.look.reset();
    if (known.deadline && times_runs(id)) known.look = turn.now.mono + graph_->settings->cycle_length();
  } else {
    take_word(id, arrived, turn);
    if (known.deadline) turn.tell(fact::RunDue{id});
  }
  plan(id, known);
  turn.heard.push_back(id);
  turn.commit().by_person = true;
  turn.replies.push_back({arrived.command, true, fmt::format("{} was heard", block->name)});
}

/// A beat that ends a run, known or not.
void Arrivals::take_word(ServiceId id, const event::Arrived& arrived, Turn& turn) {
  Known& known = heartbeats_.at(id);
  Heartbeat& heartbeat = known.heartbeat;
  const std::string before = describe_beat(heartbeat);
  const bool is_first = heartbeat.word == BeatWord::None;
  heartbeat.word = beat_word_of(arrived.state);
  heartbeat.status = heartbeat.word == BeatWord::Exit ? arrived.evidence->status : 0;
  heartbeat.text = arrived.evidence->output ? arrived.evidence->output->substr(0, kLongestBeatText) : std::string();
  heartbeat.since = turn.now.wall;
  known.since = turn.now.mono;
  heartbeat.ran.reset();
  if (known.started) heartbeat.ran = turn.now.mono - *known.started;
  heartbeat.started.reset();
  known.started.reset();
  known.look.reset();
  heartbeat.missed.reset();
  const HeartbeatSpec& spec = spec_of(*graph_, id);
  if (known.deadline) known.deadline = turn.now.mono + span_of(spec);
  const std::string now = describe_beat(heartbeat);
  if (now == before) return;
  turn.record(RecordKind::Beat, heartbeat.failed() ? Severity::Warning : Severity::Info, graph_->at(id).name,
              is_first ? fmt::format("its first beat: {}", now) : fmt::format("{}; before: {}", now, before))
      .output = heartbeat.text;
}

void Arrivals::hear_time(Turn& turn) {
  follow_clock(heartbeats_, turn);
  const Duration now = turn.now.mono;
  while (!due_.empty() && due_.begin()->first <= now) {
    const ServiceId id = due_.begin()->second;
    Known& known = heartbeats_.at(id);
    const HeartbeatSpec& spec = spec_of(*graph_, id);
    const bool is_first = known.deadline && !known.heartbeat.missed && *known.deadline == known.since + span_of(spec);
    if (is_first && now - *known.deadline > kLateLook) {
      known.deadline = now + spec.within;
      turn.save(id);
    }
    const bool is_missed = known.deadline && *known.deadline <= now;
    if (is_missed) {
      if (!known.heartbeat.missed) {
        known.heartbeat.missed = turn.now.wall;
        turn.heard.push_back(id);
      }
      known.deadline = after(*known.deadline, spec.every, now);
    }
    const bool is_look = known.look && *known.look <= now;
    if (is_look) known.look = after(*known.look, graph_->settings->cycle_length(), now);
    plan(id, known);
    if (is_missed || is_look) turn.tell(fact::RunDue{id, is_missed});
  }
}

void Arrivals::begin(ServiceId id, Turn& turn) {
  const HeartbeatSpec& spec = spec_of(*graph_, id);
  const Duration now = turn.now.mono;
  Known& known = heartbeats_[id];
  if (known.since != Duration{0}) follow_clock(heartbeats_, turn);  // it is not the first time that it begins
  Heartbeat& heartbeat = known.heartbeat;
  if (heartbeat.since == WallTime{} || heartbeat.since > turn.now.wall) {  // none, or the clock was set back
    heartbeat.since = turn.now.wall;
    turn.save(id);
  }
  known.since = mono_of(heartbeat.since, turn.now);
  known.started.reset();
  if (heartbeat.started) known.started = mono_of(*heartbeat.started, turn.now);
  const std::optional<Duration> granted = std::exchange(known.deadline, std::nullopt);  // by `restore`
  known.look.reset();
  if (services_[id.index()].monitored) {
    const Duration first = known.since + span_of(spec);
    const Duration again = std::max(first, now + spec.within);
    if (heartbeat.missed && first > now) {  // by other rules, but not by these
      heartbeat.missed.reset();
      turn.heard.push_back(id);
      turn.tell(fact::RunDue{id, false});
    }
    if (!heartbeat.missed)
      known.deadline = std::clamp(granted.value_or(again), first, again);
    else if (granted && *granted > now)
      known.deadline = std::min(*granted, now + span_of(spec));
    else
      known.deadline = std::max(after(first, spec.every, now), now + spec.within);
    if (*known.deadline != first) turn.save(id);
    if (known.started && times_runs(id)) known.look = now + graph_->settings->cycle_length();
    if (heartbeat.word != BeatWord::None) turn.tell(fact::RunDue{id, false});  // its last beat stands
  } else if (heartbeat.missed) {
    heartbeat.missed.reset();
    turn.heard.push_back(id);
  }
  plan(id, known);
}

void Arrivals::stop(ServiceId id) {
  const auto found = heartbeats_.find(id);
  if (found == heartbeats_.end()) return;
  found->second.heartbeat.missed.reset();  // when it is judged again, that is told anew
  found->second.deadline.reset();
  found->second.look.reset();
  plan(id, found->second);
}

void Arrivals::replace(ServiceId id, const ServiceBlock& before, Turn& turn) {
  const HeartbeatSpec& spec = spec_of(*graph_, id);
  const HeartbeatSpec& former = before.other->heartbeat;
  Known& known = heartbeats_[id];
  if (!before.is_heartbeat() || spec.every != former.every || spec.within != former.within) {
    known.deadline.reset();  // it was another rule's
    return begin(id, turn);
  }
  if (!known.deadline) return;
  if (!known.started || !times_runs(id))
    known.look.reset();
  else if (!known.look)
    known.look = turn.now.mono + graph_->settings->cycle_length();
  plan(id, known);
  // A rule that is new has not seen its last beat, which stands.
  if (known.heartbeat.word != BeatWord::None || known.heartbeat.missed) turn.tell(fact::RunDue{id, false});
}

void Arrivals::restore(ServiceId id, const SavedService& saved) {
  if (!saved.heartbeat || !graph_->at(id).is_heartbeat()) return;
  heartbeats_[id].heartbeat = *saved.heartbeat;
  heartbeats_[id].deadline = saved.first;  // until it begins
}

void Arrivals::save(ServiceId id, SavedService& saved) const {
  const auto known = heartbeats_.find(id);
  if (known == heartbeats_.end()) return;
  saved.heartbeat = known->second.heartbeat;
  if (saved.first && known->second.deadline)
    saved.starts.set(&StartHistory::not_before, saved.saved + (*known->second.deadline - *saved.first));
}

void Arrivals::remove(ServiceId id) {
  const auto found = heartbeats_.find(id);
  if (found == heartbeats_.end()) return;
  if (found->second.planned) due_.erase({*found->second.planned, id});
  heartbeats_.erase(found);
}

}  // namespace healer::engine
