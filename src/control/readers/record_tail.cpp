// SPDX-License-Identifier: MIT
#include "control/readers/record_tail.hpp"

#include <algorithm>
#include <iterator>

#include <nlohmann/json.hpp>

#include "control/views.hpp"

namespace healer::control {

std::size_t RecordTail::size_of(const Entry& entry) {
  const engine::Record& record = entry.record;
  return sizeof entry + record.service.size() + record.text.size() + record.output.size() + entry.line.size();
}

void RecordTail::add(std::span<const engine::Record> records) {
  for (const engine::Record& record : records) {
    if (record.id != first_ + entries_.size()) {  // the first of all
      entries_.clear();
      bytes_ = 0;
      first_ = record.id;
    }
    entries_.push_back({.record = record, .line = {}});
    bytes_ += size_of(entries_.back());
  }
  while (!entries_.empty() && overflows()) drop_first();
}

void RecordTail::drop_first() {
  bytes_ -= size_of(entries_.front());
  entries_.pop_front();
  ++first_;
}

const RecordTail::Entry* RecordTail::next(engine::RecordNumber after) {
  const engine::RecordNumber place = std::max(after + 1, first_) - first_;
  if (place >= entries_.size()) return nullptr;
  Entry& entry = entries_[place];
  if (entry.record.sequence > released_) return nullptr;
  if (entry.line.empty()) {
    bytes_ -= size_of(entry);
    entry.line = item_line(view_record(entry.record));
    bytes_ += size_of(entry);
  }
  while (&entries_.front() != &entry && overflows()) drop_first();
  return &entry;
}

engine::RecordNumber RecordTail::newest() const {
  const auto beyond =
      std::ranges::partition_point(entries_, [this](const Entry& entry) { return entry.record.sequence <= released_; });
  return beyond == entries_.begin() ? before() : std::prev(beyond)->record.id;
}

}  // namespace healer::control
