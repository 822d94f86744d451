// SPDX-License-Identifier: MIT
#include "replay/recorded_day.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace healer::engine {
namespace {

/// How far is looked ahead: a run that takes longer is not known when it begins.
constexpr Duration kAhead = minutes{30};
/// How long a start of a program is remembered that nobody has claimed.
constexpr Duration kRemembered = minutes{10};

/// Whose end an item tells; nothing: it tells none.
std::optional<ActionId> ended_in(const recorded::What& what) {
  if (const auto* ended = std::get_if<event::ActionEnded>(&what)) return ended->action;
  if (const auto* answered = std::get_if<event::Answered>(&what)) return answered->request;
  return std::nullopt;
}

/// Of whose program or request an item tells; nothing: it tells of none.
std::optional<ActionId> action_in(const recorded::What& what) {
  if (const auto* started = std::get_if<event::ActionStarted>(&what)) return started->action;
  if (const auto* ready = std::get_if<event::ActionReady>(&what)) return ready->action;
  return ended_in(what);
}

}  // namespace

std::optional<ServiceId> RecordedDay::service(recorded::Number number) {
  if (services_.size() <= number) services_.resize(number + 1);
  auto& known = services_[number];
  if (!known) {
    known = graph_.find(source_.service(number).name);
    if (!*known) unknown_.insert(source_.service(number).name);
    if (*known) {
      named_.resize(graph_.slots.size());
      named_[(*known)->index()] = true;
    }
  }
  return *known;
}

void RecordedDay::index(Index at, const recorded::Item& item) {
  if (const auto* ran = std::get_if<recorded::Ran>(&item.what)) {
    if (const auto id = service(ran->service)) runs_[id->index()].push_back(at);
  } else if (const auto* woke = std::get_if<recorded::Woke>(&item.what)) {
    wokes_.emplace_back(at, woke->deadline);
  } else if (const auto* launched = std::get_if<recorded::Launched>(&item.what)) {
    launches_.push_back({at, item.mono, *launched});
  }
}

void RecordedDay::read_ahead() {
  while (!ended_ && !barrier_ && (ahead_.size() < 2 || ahead_.back().item.mono - ahead_.front().item.mono < kAhead)) {
    std::optional<recorded::Item> item = source_.next();
    if (!item) {
      ended_ = true;
      break;
    }
    const auto* begun = std::get_if<recorded::Begun>(&item->what);
    if (begun != nullptr && !begun->goes_on && !ahead_.empty()) barrier_ = first_ + ahead_.size();
    index(first_ + ahead_.size(), *item);
    ahead_.push_back({std::move(*item)});
  }
}

const RecordedDay::Entry* RecordedDay::front() {
  read_ahead();
  return ahead_.empty() ? nullptr : &ahead_.front();
}

RecordedDay::Entry RecordedDay::pop() {
  if (const auto* ran = std::get_if<recorded::Ran>(&ahead_.front().item.what)) {
    if (const auto id = service(ran->service)) runs_[id->index()].pop_front();
  } else if (std::holds_alternative<recorded::Woke>(ahead_.front().item.what)) {
    wokes_.pop_front();
  } else if (std::holds_alternative<recorded::Launched>(ahead_.front().item.what)) {
    const Duration now = ahead_.front().item.mono;
    while (!launches_.empty() && launches_.front().when < now - kRemembered) launches_.pop_front();
  }
  Entry entry = std::move(ahead_.front());
  ahead_.pop_front();
  ++first_;
  if (const std::optional<ActionId> action = action_in(entry.item.what)) {
    const auto launch = std::ranges::find(launches_, *action, [](const Launch& one) { return one.what.action; });
    if (launch != launches_.end()) {
      entry.is_past = launch->elsewhen;
      if (ended_in(entry.item.what)) launch->end = entry.item;
    }
  }
  return entry;
}

void RecordedDay::begin_life() {
  if (barrier_ && *barrier_ < first_) barrier_.reset();
  std::erase_if(launches_, [this](const Launch& launch) { return launch.index < first_; });
}

std::optional<Duration> RecordedDay::next_woke() {
  read_ahead();
  return wokes_.empty() ? std::nullopt : wokes_.front().second;
}

bool RecordedDay::claim_run(ServiceId service, Duration begun, Duration apart, RunId run) {
  read_ahead();
  Entry* best = nullptr;
  Duration distance = apart;
  for (const Index index : runs_[service.index()]) {
    Entry& entry = at(index);
    const Duration there = std::get<recorded::Ran>(entry.item.what).begun;
    if (there > begun + apart) break;
    if (entry.claimed || std::chrono::abs(there - begun) > distance) continue;
    best = &entry;
    distance = std::chrono::abs(there - begun);
    if (distance == Duration{0}) break;
  }
  if (best != nullptr) best->claimed = run;
  return best != nullptr;
}

bool RecordedDay::more_runs(ServiceId service, Duration begun) {
  read_ahead();
  const auto& runs = runs_[service.index()];
  return std::ranges::any_of(runs,
                             [&](Index index) { return std::get<recorded::Ran>(at(index).item.what).begun > begun; });
}

std::optional<recorded::Item> RecordedDay::end_ahead(ActionId action) {
  const auto found =
      std::ranges::find_if(ahead_, [&](const Entry& entry) { return ended_in(entry.item.what) == action; });
  return found == ahead_.end() ? std::nullopt : std::optional(found->item);
}

std::optional<RecordedDay::Claimed> RecordedDay::claim_launch(Hash128 what, ActionId action, Duration when,
                                                              Duration near, Duration apart) {
  read_ahead();
  Launch* best = nullptr;
  for (Launch& launch : launches_) {
    if (launch.claimed || launch.what.what != what || std::chrono::abs(launch.when - when) > apart) continue;
    if (launch.what.action == action) {
      best = &launch;
      break;
    }
    if (best == nullptr) best = &launch;
  }
  if (best == nullptr) return std::nullopt;
  best->claimed = true;
  std::optional<recorded::Item> end = best->end;
  if (!end && std::chrono::abs(best->when - when) > near) end = end_ahead(best->what.action);
  if (!end) return Claimed{.action = best->what.action};
  best->elsewhen = true;
  return Claimed{.action = best->what.action, .end = Claimed::End{end->mono - best->when, end->what}};
}

}  // namespace healer::engine
