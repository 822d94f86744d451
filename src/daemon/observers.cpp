// SPDX-License-Identifier: MIT
#include "daemon/observers.hpp"

#include <cstdlib>
#include <variant>

#include "runtime/clock.hpp"

namespace healer {

using engine::Record;

namespace {

/// The effect of that kind that was asked for; null: something else has happened.
template <typename Effect>
const Effect* asked(const Happening& what) {
  const auto* const one = std::get_if<happening::Asked>(&what);
  return one == nullptr ? nullptr : std::get_if<Effect>(&one->effect);
}

}  // namespace

void CountingObserver::see(const Happening& what) {
  if (const auto* const notified = std::get_if<happening::Notified>(&what)) statistics_.note(notified->event);
  if (const auto* const asked = std::get_if<happening::Asked>(&what)) statistics_.note(asked->effect, *engine_);
}

void RecordingObserver::see(const Happening& what) {
  if (const auto* const notified = std::get_if<happening::Notified>(&what))
    observer_.goes_in(notified->event, notified->due, notified->now);
  if (const auto* const asked = std::get_if<happening::Asked>(&what)) observer_.comes_out(asked->effect, asked->now);
}

void LoggingObserver::see(const Happening& what) {
  if (const auto* const commit = asked<engine::effect::Commit>(what))
    for (const Record& record : commit->records) log_.write(record.severity, record.when, record.service, record.text);
  if (const auto* const note = asked<engine::effect::Note>(what))
    log_.write(note->severity, runtime::now().wall, note->service, note->text);
}

void FollowersObserver::see(const Happening& what) {
  if (const auto* const commit = asked<engine::effect::Commit>(what)) commands_.add(commit->records);
  if (const auto* const settled = std::get_if<happening::Settled>(&what)) commands_.recorded(settled->up_to);
}

StatusObserver::StatusObserver(runtime::Loop& loop, runtime::Notifier& notify, Source source)
    : notify_(notify),
      source_(std::move(source)),
      timer_(loop.timer([this] { tell(); })),
      wanted_(std::getenv("NOTIFY_SOCKET") != nullptr) {}

void StatusObserver::see(const Happening& what) {
  if (asked<engine::effect::Commit>(what) != nullptr) soon();
}

void StatusObserver::soon() {
  if (!wanted_ || std::exchange(due_, true)) return;
  timer_.set_deadline(runtime::now().mono + seconds{1} + source_.services() / 10 * milliseconds{1});
}

void StatusObserver::tell() {
  due_ = false;
  std::string text = source_.text();
  if (stopped_ || text == notified_) return;
  notify_.status(text);
  notified_ = std::move(text);
}

void StatusObserver::ready() {
  notified_ = source_.text();
  notify_.ready(notified_);
}

}  // namespace healer
