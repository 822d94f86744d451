// SPDX-License-Identifier: MIT
// Private to SqliteStore: its writer thread, the watchdog beside it, and what they share with those who submit.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "store/batch.hpp"
#include "store/sqlite_store.hpp"
#include "store/steps_file.hpp"
#include "util/hash.hpp"

namespace healer::store {

/// What the threads share. The writer thread holds it too, so that one that hangs in the kernel may be left behind.
class SqliteStore::Writer {
 public:
  Writer(std::string path, Callbacks callbacks, Options options)
      : path_(std::move(path)), options_(options), steps_(path_), callbacks_(std::move(callbacks)) {}

  /// The first opening, on the caller's thread. An error is that of a file that is refused.
  Result<void> open();
  static void start(const std::shared_ptr<Writer>& self);
  void stop();

  void submit(engine::effect::Commit commit);
  void save_sources(std::vector<SavedSource> sources);
  void flush();
  engine::SavedState load();
  Result<HistoryPage> page(const HistoryQuery& query);
  Result<std::vector<SavedSource>> load_sources() const;
  void note(std::string text);
  std::vector<std::string> notes() const;
  std::vector<std::string> damages() const;
  const std::string& path() const { return path_; }

 private:
  using Clock = std::chrono::steady_clock;

  void write_loop();
  void watch_loop();
  Result<void> attempt(const Batch& batch);
  Result<void> connect();
  Result<void> find_again();
  Result<void> repair();
  struct Found;
  Result<void> read_from_file(const HistoryQuery& query, Found& found) const;
  bool wait_for_mending(std::uint64_t before);
  void report_notes();
  bool wait_for_work(std::unique_lock<std::mutex>& lock);
  void close(std::unique_lock<std::mutex>& lock);
  void gather(std::unique_lock<std::mutex>& lock);
  void become_sick(std::string reason, bool Writer::*only_while = nullptr);
  void become_well();
  void work_came();
  bool idle() const { return queue_.empty() && !writing_; }
  /// Also where what is gathered is so much that something might have to be dropped for it.
  bool hurries() const {
    return stopping_ || repair_ || hurry_ || queue_.durability() > engine::effect::Durability::Gathered ||
           queue_.bytes() > options_.keep_bytes / 4;
  }
  void touch() { progress_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed); }
  Clock::time_point progress() const {
    return Clock::time_point(Clock::duration(progress_.load(std::memory_order_relaxed)));
  }

  const std::string path_;
  const Options options_;
  StepsFile steps_;

  // Held while a callback runs, so that sick and well are told in the order in which they were. Before mutex_.
  std::mutex callback_mutex_;
  Callbacks callbacks_;

  mutable std::mutex mutex_;
  std::condition_variable writer_wake_;
  std::condition_variable watchdog_wake_;
  std::condition_variable done_;
  Batch queue_;
  std::shared_ptr<const Batch> writing_;            ///< until its callbacks have been called
  std::optional<Clock::time_point> waiting_since_;  ///< since then the writer has had something to do
  std::optional<Clock::time_point> retry_at_;       ///< the last attempt failed
  bool sick_ = false;
  bool stalled_ = false;  ///< the attempt under way hangs
  bool overflowed_ = false;
  bool forget_acts_ = false;  ///< nobody could read the open acts in the file
  DamagedJournal damaged_journal_;
  Hash128 word_{};              ///< SavedState::word: what was told, or else that of the file; zero: there was no file
  bool repair_ = false;         ///< a reader has found the file damaged
  std::uint64_t repaired_ = 0;  ///< how often that was seen to
  bool watchdog_sleeps_ = false;
  bool gathering_ = false;
  bool hurry_ = false;  ///< somebody waits for all that is queued
  bool stopping_ = false;
  bool finished_ = false;
  bool watchdog_stops_ = false;
  std::uint64_t failures_ = 0;
  std::vector<std::string> notes_;
  std::size_t reported_notes_ = 0;
  std::vector<std::string> damages_;

  /// Held, beside others, by whoever of this process reads the file, and alone by the writer while it puts another file
  /// in its place: a reader would find the log of the one beside the other. Before mutex_.
  mutable std::shared_mutex file_mutex_;

  std::atomic<Clock::rep> progress_{0};
  // The writer thread's, from start() on.
  std::unique_ptr<Database> database_;
  std::unique_ptr<TableWriter> tables_;
  std::optional<Error> first_error_;
  int room_ = 0;          // on the disk after the last write, in pages
  bool damaged_ = false;  // the last attempt found the file so

  std::thread writer_thread_;
  std::thread watchdog_thread_;
};

}  // namespace healer::store
