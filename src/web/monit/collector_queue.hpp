// SPDX-License-Identifier: MIT
// What one collector is to be told, and when: events at once and in their order, a status once a cycle. An event that
// it did not take, and all behind it, wait for the next cycle. They are so many at most; the oldest is dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "web/monit/collector.hpp"

namespace healer::web::monit {

class CollectorQueue {
 public:
  using Event = std::shared_ptr<const CollectorEvent>;
  static constexpr std::size_t kMostEvents = 1000;
  /// An event that was refused in so many cycles in which a status was taken is dropped: it would hold up all others.
  static constexpr std::uint32_t kMostRefusals = 10;

  explicit CollectorQueue(std::size_t most = kMostEvents) : most_(most) {}

  /// `number`: one that is higher each time, in cycle() too; 0 is none.
  void add(std::uint64_t number, Event event);
  /// Another cycle begins: a status is due, and what has failed is tried again.
  void cycle(std::uint64_t number);

  struct Message {
    std::uint64_t number = 0;  ///< of what has asked for it
    Event event{};             ///< null: a status
  };
  /// What is to be sent now; none: nothing, or something is under way. It is under way until ended().
  [[nodiscard]] std::optional<Message> next();

  enum class End : std::uint8_t { Taken, Refused, Lost };
  /// How what is under way has ended. Lost: there was no answer.
  void ended(End how);

  [[nodiscard]] bool under_way() const { return sending_.has_value(); }
  /// Whether another event will be sent as soon as what is under way has ended.
  [[nodiscard]] bool has_more() const {
    return !resting_ && events_.size() > (sending_ && sending_->event != nullptr ? 1U : 0U);
  }
  [[nodiscard]] std::size_t waiting() const { return events_.size(); }
  /// Events that were dropped so far.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  const std::size_t most_;
  std::deque<Message> events_;
  std::optional<Message> sending_;
  std::uint64_t status_due_ = 0;  ///< its number; 0: none is
  std::uint64_t dropped_ = 0;
  std::uint32_t refusals_ = 0;  ///< of the first event, each in another cycle
  bool resting_ = false;        ///< an event has failed in this cycle
  bool refused_ = false;        ///< the first one was refused in this cycle
};

}  // namespace healer::web::monit
