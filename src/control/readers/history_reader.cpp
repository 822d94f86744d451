// SPDX-License-Identifier: MIT
#include "control/readers/history_reader.hpp"

#include <exception>
#include <utility>

namespace healer::control {

std::optional<HistoryReader::Page> HistoryReader::Query::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(page_, std::nullopt);
}

HistoryReader::~HistoryReader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<HistoryReader::Query> HistoryReader::ask(store::HistoryQuery what, Wake wake) {
  auto query = std::make_shared<Query>();
  query->what_ = std::move(what);
  query->wake_ = std::move(wake);
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(query);
  }
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  changed_.notify_all();
  return query;
}

void HistoryReader::run() {
  for (;;) {
    std::shared_ptr<Query> query;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (stopping_) return;
      query = queue_.front().lock();
      queue_.pop_front();
    }
    if (!query) continue;
    Page page = Error{};
    try {
      page = store_.page(query->what_);
    } catch (const std::exception& error) {
      page = Error{0, error.what()};
    }
    {
      const std::lock_guard lock(query->mutex_);
      query->page_ = std::move(page);
    }
    query->wake_();
  }
}

}  // namespace healer::control
