// SPDX-License-Identifier: MIT
#include "engine/timing/wheel.hpp"

#include <algorithm>
#include <bit>

namespace healer::engine {

std::int64_t Wheel::occupied(std::int64_t from, std::int64_t to) const {
  while (from < to) {
    const std::size_t index = static_cast<std::size_t>(from) % kSlots;
    const std::uint64_t left = bits_[index / 64] >> index % 64;
    if (left != 0) return std::min(from + std::countr_zero(left), to);
    from += static_cast<std::int64_t>(64 - index % 64);
  }
  return to;
}

void Wheel::add(ServiceId service, Duration due) {
  // What is due in the past goes into the present slot, which the next take_due() visits.
  const std::int64_t tick = std::max(tick_of(due), position_);
  slot(tick).push_back({service, due});
  const std::size_t index = static_cast<std::size_t>(tick) % kSlots;
  bits_[index / 64] |= std::uint64_t{1} << index % 64;
  ++size_;
  if (!stale_ && (!next_ || due < *next_)) next_ = due;
}

void Wheel::take_due(Duration now, std::vector<Entry>& out) {
  const std::int64_t last = tick_of(now);
  if (size_ == 0) {
    position_ = std::max(position_, last);
    return;
  }
  // One round visits every slot: a longer jump needs no more.
  const std::int64_t first = std::max(position_, last - static_cast<std::int64_t>(kSlots) + 1);
  const std::size_t before = out.size();
  for (std::int64_t tick = occupied(first, last + 1); tick <= last; tick = occupied(tick + 1, last + 1)) {
    auto& entries = slot(tick);
    std::erase_if(entries, [&](const Entry& entry) {
      if (entry.due > now) return false;
      out.push_back(entry);
      return true;
    });
    const std::size_t index = static_cast<std::size_t>(tick) % kSlots;
    if (!entries.empty()) continue;
    bits_[index / 64] &= ~(std::uint64_t{1} << index % 64);
    // Another slot is next for those that are due at once: in the end each would keep room for all of them.
    if (entries.capacity() > kSpare) entries.shrink_to_fit();
  }
  position_ = std::max(position_, last);
  size_ -= out.size() - before;
  if (out.size() != before) stale_ = true;
}

std::optional<Duration> Wheel::next() const {
  if (!stale_) return next_;
  next_.reset();
  stale_ = false;
  if (size_ == 0) return next_;
  // The first slot that holds an entry of its own round has the earliest; entries of later rounds lie among them.
  const std::int64_t end = position_ + static_cast<std::int64_t>(kSlots);
  for (std::int64_t tick = occupied(position_, end); tick < end; tick = occupied(tick + 1, end)) {
    for (const Entry& entry : slots_[static_cast<std::size_t>(tick) % kSlots])
      if (tick_of(entry.due) <= tick && (!next_ || entry.due < *next_)) next_ = entry.due;
    if (next_) return next_;
  }
  for (std::int64_t tick = occupied(position_, end); tick < end; tick = occupied(tick + 1, end))
    for (const Entry& entry : slots_[static_cast<std::size_t>(tick) % kSlots])
      if (!next_ || entry.due < *next_) next_ = entry.due;
  return next_;
}

}  // namespace healer::engine
