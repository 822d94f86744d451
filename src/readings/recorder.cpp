// SPDX-License-Identifier: MIT
#include "readings/recorder.hpp"

#include <sys/statvfs.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "engine/events/commit.hpp"
#include "engine/rules/metric.hpp"
#include "readings/item_code.hpp"
#include "readings/packed_text.hpp"
#include "readings/readings_file.hpp"
#include "readings/text_code.hpp"
#include "store/state_image.hpp"
#include "store/unending.hpp"
#include "util/left_threads.hpp"

namespace healer::readings {

using namespace engine;
using engine::recorded::Item;

namespace {

constexpr Duration kPruneEvery{60'000};                       // by the clock of what is recorded
constexpr std::size_t kMostRuleText = std::size_t{32} << 20;  // of rules; longer ones are not recorded
constexpr std::size_t kMostRoom = 1024;                       // items, of which the room is kept
constexpr std::uint64_t kRoom = std::uint64_t{4} << 20;       // for what is written at once

}  // namespace

/// What the loop and the thread share. The thread holds it, too, so that one that hangs may be left behind.
class Recorder::Worker {
 public:
  Worker(std::string path, ReadState read_state, Noted noted, RecorderOptions options)
      : path_(std::move(path)), read_state_(std::move(read_state)), noted_(std::move(noted)), options_(options) {}

  void take(Item&& item) {
    const std::scoped_lock lock(mutex_);
    if (waiting_.size() >= options_.most_waiting && !std::holds_alternative<recorded::Begun>(item.what) &&
        !std::holds_alternative<recorded::Reloaded>(item.what)) {
      ++left_out_;
      return;
    }
    const bool idle = waiting_.empty();
    if (std::exchange(left_out_, 0) != 0)
      waiting_.push_back({item.mono, item.wall, recorded::Gap{"the disk was too slow"}});
    waiting_.push_back(std::move(item));
    if (idle) wake_.notify_one();
  }

  void run() {
    for (std::vector<Item> items;;) {
      items.clear();  // its room is used again
      if (items.capacity() > kMostRoom) items.shrink_to_fit();
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
        wake_.wait_for(lock, options_.gather, [this] { return stopping_; });
        if (waiting_.empty() && stopping_) break;
        items.swap(waiting_);
      }
      record(items);
    }
    const std::scoped_lock lock(mutex_);
    finished_ = true;
    done_.notify_all();
  }

  /// True: the thread has ended, or is about to.
  bool stop() {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
    // A disk that hangs is left behind; one that is slow, or a busy machine, is waited for.
    for (bool goes_on = true; goes_on && !finished_;) {
      const std::uint64_t before = progress_;
      done_.wait_for(lock, options_.patience, [this] { return finished_; });
      goes_on = progress_ != before;
    }
    noted_ = {};
    return finished_;
  }

 private:
  void note(const std::string& text) {
    const std::scoped_lock lock(mutex_);
    if (noted_) noted_(text);
  }

  // ---- on the thread -----------------------------------------------------------------------------------------------

  void record(std::vector<Item>& items) {
    std::size_t met = 0;
    const auto remember_the_rest = [&] {
      for (; met < items.size(); ++met) remember(items[met]);
    };
    if (retry_at_ && std::chrono::steady_clock::now() < *retry_at_) {
      remember_the_rest();
      lost_ = true;
      return;
    }
    const auto done = write(items, met);
    remember_the_rest();
    if (done) {
      if (std::exchange(reported_, false)) note("what is seen is recorded again");
      retry_at_.reset();
      return;
    }
    lost_ = true;
    chunk_.reset();
    file_.reset();
    retry_at_ = std::chrono::steady_clock::now() + options_.retry;
    if (!std::exchange(reported_, true))
      note(fmt::format("what is seen is not recorded for replays: {}", done.error().what));
  }

  /// What a chunk must be begun with.
  void remember(const Item& item) {
    if (const auto* begun = std::get_if<recorded::Begun>(&item.what)) {
      life_ = *begun;
      life_.state.reset();
      life_.text.reset();
      rules_ = begun->rules;
      keep(begun->text.get());
      doubted_ = {};
      sick_.clear();
    } else if (const auto* reloaded = std::get_if<recorded::Reloaded>(&item.what)) {
      rules_ = reloaded->rules;
      keep(reloaded->text.get());
    } else if (const auto* doubted = std::get_if<event::ListsDoubted>(&item.what)) {
      doubted_ = *doubted;
    } else if (const auto* sick = std::get_if<recorded::Sick>(&item.what)) {
      sick_ = sick->why;
    }
  }

  void keep(const recorded::RulesText* text) {
    text_.reset();
    if (text == nullptr) return;
    TextBytes bytes = bytes_of(*text);
    if (bytes.size() <= kMostRuleText) text_.emplace(std::move(bytes));
  }

  /// `met`: how many of them it has taken note of; a chunk begins with the rules of its place, not with later ones.
  Result<void> write(std::vector<Item>& items, std::size_t& met) {
    if (!file_) {
      auto opened = ReadingsFile::open(path_);
      if (!opened) return opened.error();
      file_ = std::move(opened->file);
      if (!opened->note.empty()) note(opened->note);
    }
    if (auto room = find_room(); !room) return room;
    std::string bytes;
    for (const Item& item : items) {
      const auto* begun = std::get_if<recorded::Begun>(&item.what);
      const bool full = chunk_ && (bytes.size() + chunk_size_ >= options_.chunk_bytes ||
                                   item.mono - chunk_begun_ >= options_.chunk || item.mono < chunk_begun_);
      if (begun != nullptr || !chunk_ || full) {
        if (auto added = add_part(bytes, item.wall); !added) return added;
        bytes.clear();
        if (begun != nullptr) remember(item);
        if (auto started = begin_chunk(item, begun, bytes); !started) return started;
      }
      ++met;
      ++progress_;
      if (begun != nullptr) continue;
      remember(item);
      if (std::exchange(lost_, false))
        chunk_->write({item.mono, item.wall, recorded::Gap{"it could not be written"}}, bytes);
      if (const auto* reloaded = std::get_if<recorded::Reloaded>(&item.what)) {
        recorded::Reloaded known = *reloaded;
        const auto number = keep_text(item.wall, true);
        if (!number) return number.error();
        known.number = *number;
        chunk_->write({item.mono, item.wall, std::move(known)}, bytes);
        continue;
      }
      chunk_->write(item, bytes);
    }
    if (auto added = add_part(bytes, items.back().wall); !added) return added;
    ++progress_;
    return prune(items.back());
  }

  /// The last of the disk is the state's.
  Result<void> find_room() {
    struct statvfs disk {};
    if (::statvfs(path_.c_str(), &disk) != 0) return {};
    const std::uint64_t reserve = std::min(options_.reserve, std::uint64_t{disk.f_blocks} * disk.f_frsize / 20);
    if (std::uint64_t{disk.f_bavail} * disk.f_frsize >= reserve) return {};
    const Result<bool> made = file_->make_room(kRoom);
    if (!made) return made.error();
    if (*made) return {};
    return Error{ENOSPC, fmt::format("less than {} of its disk is free",
                                     format_metric(Unit::Bytes, static_cast<double>(reserve)))};
  }

  Result<void> begin_chunk(const Item& item, const recorded::Begun* begun, std::string& bytes) {
    Result<SavedState> state = begun != nullptr ? Result<SavedState>(*begun->state) : read_state_();
    if (!state) return state.error();
    auto image = store::image_of(*state);
    if (!image) return image.error();
    if (auto made = file_->begin_chunk(item.wall, begun != nullptr, std::move(*image)); !made) return made;
    chunk_.emplace(rules_);  // which are not those that the life began with, after a reload
    chunk_begun_ = item.mono;
    chunk_size_ = 0;
    recorded::Begun head = life_;
    head.goes_on = begun == nullptr;
    head.rules = rules_;
    texts_.clear();
    parts_.clear();
    const auto number = keep_text(item.wall, false);
    if (!number) return number.error();
    head.number = *number;
    chunk_->write({item.mono, item.wall, std::move(head)}, bytes);
    if (!sick_.empty()) chunk_->write({item.mono, item.wall, recorded::Sick{sick_}}, bytes);
    if (!doubted_.names.empty() || !doubted_.missing.empty()) chunk_->write({item.mono, item.wall, doubted_}, bytes);
    return {};
  }

  /// The number of the text of the rules in this chunk, in which it is kept; none: there is none, or it is too long.
  /// `counts`: as a part of what this chunk may hold; not at its beginning, which any chunk would have.
  Result<std::optional<recorded::TextNumber>> keep_text(WallTime since, bool counts) {
    using Number = std::optional<recorded::TextNumber>;
    if (!text_) return Number{};
    const auto [known, is_new] =
        texts_.try_emplace(hash128(text_->contents()), static_cast<recorded::TextNumber>(texts_.size()));
    if (!is_new) return Number{known->second};
    TextBytes text = text_->bytes();
    std::erase_if(text.parts, [&](const TextPart& part) { return !parts_.insert(part.hash).second; });
    if (counts)
      for (const TextPart& part : text.parts) chunk_size_ += part.bytes.size();
    if (auto added = file_->add_text(since, known->second, std::move(text)); !added) return added.error();
    return Number{known->second};
  }

  Result<void> add_part(std::string& bytes, WallTime until) {
    if (bytes.empty()) return {};
    chunk_size_ += bytes.size();
    return file_->add_part(until, std::move(bytes));
  }

  Result<void> prune(const Item& last) {
    if (pruned_ && last.mono - *pruned_ < kPruneEvery && last.mono >= *pruned_) return {};
    pruned_ = last.mono;
    return file_->prune(last.wall - options_.keep, options_.bytes);
  }

  const std::string path_;
  const ReadState read_state_;
  Noted noted_;
  const RecorderOptions options_;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  std::vector<Item> waiting_;
  std::uint64_t left_out_ = 0;
  std::atomic<std::uint64_t> progress_ = 0;  // grows while something is written
  bool stopping_ = false;
  bool finished_ = false;

  // The thread's.
  std::unique_ptr<ReadingsFile> file_;
  std::optional<ChunkWriter> chunk_;
  Duration chunk_begun_{0};
  std::size_t chunk_size_ = 0;
  recorded::Begun life_;
  std::shared_ptr<const Graph> rules_;
  std::optional<PackedText> text_;
  std::unordered_map<Hash128, recorded::TextNumber> texts_;  // of this chunk, by their contents
  std::unordered_set<Hash128> parts_;                        // of these
  event::ListsDoubted doubted_;                              // told last
  std::string sick_;                                         // the same
  bool lost_ = false;                                        // something since the last chunk
  bool reported_ = false;                                    // that it cannot be written
  std::optional<Duration> pruned_;
  std::optional<std::chrono::steady_clock::time_point> retry_at_;
};

Recorder::Recorder(std::string path, ReadState read_state, Noted noted, RecorderOptions options)
    : worker_(std::make_shared<Worker>(std::move(path), std::move(read_state), std::move(noted), options)),
      thread_([worker = worker_] { store::unending([&] { worker->run(); }); }) {}

Recorder::~Recorder() { end_thread(thread_, worker_->stop()); }

void Recorder::take(Item&& item) { worker_->take(std::move(item)); }

}  // namespace healer::readings
