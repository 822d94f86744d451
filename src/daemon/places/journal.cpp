// SPDX-License-Identifier: MIT
#include "daemon/places/journal.hpp"

#include <memory>
#include <utility>

namespace healer {

using namespace engine;

Result<void> Journal::open(const std::string& state_file) {
  store::Callbacks callbacks;
  callbacks.committed = [this](Sequence up_to) { loop_.post([this, up_to] { committed(up_to); }); };
  callbacks.sick = [this](std::string why) { loop_.post([this, why = std::move(why)] { become_sick(why); }); };
  callbacks.well = [this] {
    loop_.post([this] {
      sick_.reset();
      calls_.handle(event::Committed{.up_to = durable_});  // what was written while it counted as sick
      hold_state();
    });
  };
  callbacks.noted = [this] {
    loop_.post([this] {
      log_notes();
      if (reports_) report_damages();
      hold_state();
    });
  };
  auto store = store::SqliteStore::open(state_file, std::move(callbacks));
  if (!store) return store.error();
  // It may have been created only now, and be known by another name to another daemon that has just done the same.
  if (auto held = places_.hold_state((*store)->path()); !held) return held.error();
  store_ = std::move(*store);
  return {};
}

/// The state file may have been written anew while this daemon runs: then it is another one.
void Journal::hold_state() {
  if (const auto held = places_.hold_state(store_->path()); !held) calls_.log(Severity::Error, held.error().what);
}

void Journal::submit(effect::Commit commit) {
  submitted_ = commit.sequence;
  for (const ActionId action : commit.ended)
    if (calls_.is_kept(action)) unsettled_.emplace_back(commit.sequence, action);
  store_->submit(std::move(commit));
  if (sick_) {
    loop_.post([this] {
      if (sick_) become_sick(std::string(*sick_));  // it may be well by now
    });
  }
}

void Journal::committed(Sequence up_to) {
  if (!sick_) calls_.handle(event::Committed{.up_to = up_to});
  acknowledged_ = durable_ = up_to;
  std::vector<ActionId> settled;
  for (; !unsettled_.empty() && unsettled_.front().first <= up_to; unsettled_.pop_front())
    settled.push_back(unsettled_.front().second);
  calls_.settle(settled);
  calls_.settled(up_to);
}

void Journal::become_sick(const std::string& reason) {
  sick_ = reason;
  calls_.handle(event::Committed{.up_to = submitted_, .unjournalled = true, .reason = reason});
  acknowledged_ = submitted_;
  calls_.settled(submitted_);
}

void Journal::log_notes() {
  const std::vector<std::string> notes = store_->notes();
  for (; logged_notes_ < notes.size(); ++logged_notes_) calls_.log(Severity::Warning, notes[logged_notes_]);
}

void Journal::begin_reports() {
  reports_ = true;
  report_damages();
}

void Journal::report_damages() {
  const std::vector<std::string> damages = store_->damages();
  while (reported_damages_ < damages.size()) calls_.handle(event::StateDamaged{damages[reported_damages_++]});
}

}  // namespace healer
