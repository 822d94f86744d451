// SPDX-License-Identifier: MIT
#include "web/monit/collector_queue.hpp"

#include <utility>

namespace healer::web::monit {

void CollectorQueue::add(std::uint64_t number, Event event) {
  events_.push_back({number, std::move(event)});
  if (events_.size() <= most_) return;
  const bool first_is_under_way = sending_ && sending_->number == events_.front().number;
  events_.erase(events_.begin() + (first_is_under_way ? 1 : 0));
  if (!first_is_under_way) {
    refusals_ = 0;
    refused_ = false;
  }
  ++dropped_;
}

void CollectorQueue::cycle(std::uint64_t number) {
  status_due_ = number;
  resting_ = refused_ = false;
}

std::optional<CollectorQueue::Message> CollectorQueue::next() {
  if (sending_) return std::nullopt;
  if (!events_.empty() && !resting_)
    sending_ = events_.front();
  else if (status_due_ != 0)
    sending_ = Message{.number = std::exchange(status_due_, 0)};
  return sending_;
}

void CollectorQueue::ended(End how) {
  const std::optional<Message> ended = std::exchange(sending_, std::nullopt);
  if (!ended) return;
  if (ended->event == nullptr) {
    if (how != End::Taken || !refused_ || ++refusals_ < kMostRefusals) return;
    events_.pop_front();
    ++dropped_;
    refused_ = false;
    refusals_ = 0;
    return;
  }
  if (how == End::Taken) {
    events_.pop_front();
    refusals_ = 0;
    return;
  }
  resting_ = true;
  refused_ = how == End::Refused;
}

}  // namespace healer::web::monit
