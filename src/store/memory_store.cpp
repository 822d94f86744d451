// SPDX-License-Identifier: MIT
#include "store/memory_store.hpp"

#include <algorithm>
#include <utility>

namespace healer::store {

using namespace engine;

MemoryStore::MemoryStore(Callbacks callbacks, std::size_t max_records)
    : callbacks_(std::move(callbacks)), max_records_(max_records) {
  state_.word = kWord;
}

Result<SavedState> MemoryStore::load() {
  const std::scoped_lock lock(mutex_);
  return state_;
}

void MemoryStore::submit(effect::Commit commit) {
  const Sequence sequence = commit.sequence;
  {
    const std::scoped_lock lock(mutex_);
    if (holding_ || sick_) {
      waiting_.push_back(std::move(commit));
      return;
    }
    write(std::move(commit));
  }
  if (callbacks_.committed) callbacks_.committed(sequence);
}

Result<HistoryPage> MemoryStore::page(const HistoryQuery& asked) const {
  const std::scoped_lock lock(mutex_);
  HistoryPage page{.records = {}, .up_to = records_.empty() ? 0 : records_.back().id};
  HistoryQuery query = asked;
  if (query.after > page.up_to) {
    page.anew = true;
    query.after = 0;
  }
  for (const Record& record : records_)
    if (matches(query, record)) page.records.push_back(record);
  cut(page.records, query);
  if (!query.oldest) return page;
  if (page.records.size() == query.limit && !page.records.empty()) page.up_to = page.records.back().id;
  const auto kept = std::ranges::count_if(
      records_, [&](const Record& record) { return record.id > query.after && record.id <= page.up_to; });
  page.missing = page.up_to - query.after - static_cast<std::uint64_t>(kept);
  return page;
}

void MemoryStore::save_sources(std::vector<SavedSource> sources) {
  const std::scoped_lock lock(mutex_);
  sources_ = std::move(sources);
}

Result<std::vector<SavedSource>> MemoryStore::load_sources() {
  const std::scoped_lock lock(mutex_);
  return sources_;
}

void MemoryStore::flush() { release(); }

void MemoryStore::hold() {
  const std::scoped_lock lock(mutex_);
  holding_ = true;
}

std::size_t MemoryStore::release(std::size_t count) {
  std::size_t written = 0;
  Sequence up_to = 0;
  {
    const std::scoped_lock lock(mutex_);
    for (; !sick_ && written < count && !waiting_.empty(); ++written) {
      up_to = waiting_.front().sequence;
      write(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    if (waiting_.empty() && written < count) holding_ = false;
  }
  if (written > 0 && callbacks_.committed) callbacks_.committed(up_to);
  return written;
}

std::size_t MemoryStore::held() const {
  const std::scoped_lock lock(mutex_);
  return waiting_.size();
}

void MemoryStore::fall_sick(std::string reason) {
  {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(sick_, true)) return;
  }
  if (callbacks_.sick) callbacks_.sick(std::move(reason));
}

void MemoryStore::get_well() {
  {
    const std::scoped_lock lock(mutex_);
    if (!std::exchange(sick_, false)) return;
  }
  release();
  if (callbacks_.well) callbacks_.well();
}

void MemoryStore::restart(Callbacks callbacks) {
  const std::scoped_lock lock(mutex_);
  callbacks_ = std::move(callbacks);
  waiting_.clear();
  holding_ = false;
  sick_ = false;
}

void MemoryStore::write(effect::Commit commit) {
  for (RecordNumber next = state_.last_record + 1; Record & record : commit.records) {
    if (record.id == 0) record.id = next;
    next = record.id + 1;
  }
  keep(state_, commit);
  for (Record& record : commit.records) records_.push_back(std::move(record));
  while (records_.size() > max_records_) records_.pop_front();
}

}  // namespace healer::store
