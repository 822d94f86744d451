// SPDX-License-Identifier: MIT
#include "store/sqlite_store.hpp"

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <thread>
#include <utility>

#include "store/batch.hpp"
#include "store/sqlite_db.hpp"
#include "store/sqlite_file.hpp"
#include "store/sqlite_writer.hpp"
#include "store/unending.hpp"
#include "util/left_threads.hpp"

namespace healer::store {

using namespace engine;

namespace {

// A long log is moved into the file in a quiet moment, for that waits for the disk, and somebody may wait for a commit.
constexpr int kLongLog = 1000;     // pages
constexpr int kLongestLog = 8000;  // then it is, quiet or not
// What is in the log needs room in the file, too: so it is long, as well, where it has this part of what is free.
constexpr int kShareOfRoom = 4;
constexpr Duration kQuiet{50};
constexpr std::string_view kIndexRebuilt = "the index of the history was damaged and has been rebuilt";

std::uint64_t wall_milliseconds() {
  const auto now = std::chrono::floor<milliseconds>(std::chrono::system_clock::now());
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, now.time_since_epoch().count()));
}

}  // namespace

// ---- Writer -------------------------------------------------------------------------------------------------------

Result<void> SqliteStore::Writer::open() {
  auto connected = connect();
  if (connected) return {};
  if (is_refused(connected.error())) return connected;
  first_error_ = connected.error();
  return {};
}

void SqliteStore::Writer::start(const std::shared_ptr<Writer>& self) {
  self->writer_thread_ = std::thread([self] { unending([&] { self->write_loop(); }); });
  self->watchdog_thread_ = std::thread([writer = self.get()] { unending([&] { writer->watch_loop(); }); });
}

void SqliteStore::Writer::stop() {
  bool finished = false;
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    writer_wake_.notify_all();
    watchdog_wake_.notify_all();
    done_.wait(lock, [this] { return finished_ || stalled_; });
    finished = finished_;
    watchdog_stops_ = true;
    watchdog_wake_.notify_all();
  }
  watchdog_thread_.join();
  end_thread(writer_thread_, finished);
  const std::scoped_lock lock(callback_mutex_);
  callbacks_ = {};
}

void SqliteStore::Writer::work_came() {
  if (!waiting_since_ && !retry_at_) waiting_since_ = Clock::now();
  if (!writing_ && !retry_at_ && (!gathering_ || hurries())) writer_wake_.notify_one();
  if (watchdog_sleeps_ && !gathering_) watchdog_wake_.notify_one();
}

void SqliteStore::Writer::submit(effect::Commit commit) {
  const std::scoped_lock lock(mutex_);
  drop_damaged(std::exchange(damaged_journal_, {}), commit);
  queue_.add(std::move(commit));
  if (queue_.bytes() > options_.keep_bytes && queue_.trim(options_.keep_bytes)) {
    overflowed_ = true;  // the watchdog says so: the caller must not be called back in here
    if (!sick_) watchdog_wake_.notify_one();
  }
  work_came();
}

void SqliteStore::Writer::save_sources(std::vector<SavedSource> sources) {
  const std::scoped_lock lock(mutex_);
  queue_.set_sources(std::move(sources));
  work_came();
}

void SqliteStore::Writer::flush() {
  std::unique_lock lock(mutex_);
  const auto failures = failures_;
  hurry_ = retry_at_ || !idle();
  writer_wake_.notify_one();
  done_.wait(lock, [&] { return idle() || stalled_ || failures_ != failures; });
}

void SqliteStore::Writer::write_loop() {
  auto backoff = options_.first_retry;
  bool recovering = false;
  if (first_error_) become_sick(first_error_->what);
  std::unique_lock lock(mutex_);
  if (first_error_) retry_at_ = Clock::now() + backoff;
  if (writing_) {  // the last attempt has thrown
    tables_.reset();
    database_.reset();
    Batch kept = *writing_;
    kept.merge(std::exchange(queue_, {}));
    queue_ = std::move(kept);
    writing_.reset();
  }
  while (true) {
    if (retry_at_) {
      writer_wake_.wait_until(lock, *retry_at_, [this] { return stopping_ || hurry_; });
    } else if (!wait_for_work(lock)) {
      continue;
    }
    gather(lock);
    if (stopping_ && queue_.empty()) break;
    hurry_ = false;
    retry_at_.reset();
    auto batch = std::make_shared<const Batch>(std::exchange(queue_, {}));
    writing_ = batch;
    overflowed_ = false;
    if (!waiting_since_) waiting_since_ = Clock::now();
    if (watchdog_sleeps_) watchdog_wake_.notify_one();
    lock.unlock();

    const auto written = attempt(*batch);
    report_notes();
    if (written) {
      steps_.written(*batch);
      if (batch->up_to() > 0) {
        const std::scoped_lock callback_lock(callback_mutex_);
        if (callbacks_.committed) callbacks_.committed(batch->up_to());
      }
      backoff = options_.first_retry;
      lock.lock();
      // What was kept before the disk worked again is written by this batch or the next.
      const bool well = sick_ && (recovering || queue_.empty());
      recovering = sick_ && !well;
      // Together: the watchdog must not find the one without the other, for nobody would mend what it says then.
      stalled_ = false;
      waiting_since_.reset();
      lock.unlock();
      if (well) become_well();
      lock.lock();
      writing_.reset();
      if (!queue_.empty()) waiting_since_ = Clock::now();
    } else {
      become_sick(written.error().what);
      Batch kept = *batch;  // copied: a reader of the history may hold it
      lock.lock();
      kept.merge(std::exchange(queue_, {}));
      kept.trim(options_.keep_bytes);
      recovering = false;
      hurry_ = false;  // whoever waits is told that it has failed
      queue_ = std::move(kept);
      writing_.reset();
      waiting_since_.reset();
      stalled_ = false;
      ++failures_;
      retry_at_ = Clock::now() + backoff;
      backoff = std::min(2 * backoff, options_.last_retry);
      if (stopping_) break;
    }
    done_.notify_all();
    lock.unlock();
    batch.reset();  // it may be large, and whoever submits does not wait
    lock.lock();
  }
  close(lock);
}

void SqliteStore::Writer::close(std::unique_lock<std::mutex>& lock) {
  waiting_since_ = Clock::now();  // closing writes, too
  if (watchdog_sleeps_) watchdog_wake_.notify_one();
  lock.unlock();
  touch();
  tables_.reset();
  database_.reset();
  lock.lock();
  finished_ = true;
  done_.notify_all();
}

/// False: there was none, and a long log has been moved into the file.
bool SqliteStore::Writer::wait_for_work(std::unique_lock<std::mutex>& lock) {
  const auto work = [this] { return stopping_ || repair_ || !queue_.empty(); };
  const int log = database_ ? database_->log_pages() : 0;
  const int share = room_ / kShareOfRoom;
  if (log == 0 || log < std::min(kLongLog, share)) {
    writer_wake_.wait(lock, work);
    return true;
  }
  if (stopping_ || (log < std::min(kLongestLog, 2 * share) && writer_wake_.wait_for(lock, kQuiet, work))) return true;
  lock.unlock();
  touch();
  if (!database_->checkpoint()) {  // the next write tells what is wrong
    tables_.reset();
    database_.reset();
  }
  lock.lock();
  return false;
}

/// Each transaction costs as much as writing some ten services. Counted from the first that came.
void SqliteStore::Writer::gather(std::unique_lock<std::mutex>& lock) {
  if (retry_at_ || queue_.empty()) return;
  gathering_ = true;
  writer_wake_.wait_until(lock, waiting_since_.value_or(Clock::now()) + options_.gather, [this] { return hurries(); });
  gathering_ = false;
  waiting_since_ = Clock::now();
}

void SqliteStore::Writer::watch_loop() {
  std::unique_lock lock(mutex_);
  while (!watchdog_stops_) {
    if (overflowed_ && !sick_) {
      lock.unlock();
      become_sick("state file " + path_ + ": the disk cannot keep up with what is to be written", &Writer::overflowed_);
      lock.lock();
      continue;
    }
    if (!waiting_since_ || gathering_ || stalled_) {
      watchdog_sleeps_ = true;
      watchdog_wake_.wait(lock);
      watchdog_sleeps_ = false;
      continue;
    }
    const auto deadline = std::max(*waiting_since_, progress()) + options_.stall;
    if (Clock::now() < deadline) {
      watchdog_wake_.wait_until(lock, deadline);
      continue;
    }
    stalled_ = true;
    done_.notify_all();
    lock.unlock();
    become_sick(
        fmt::format("state file {}: a write has made no progress for over {}", path_, format_duration(options_.stall)),
        &Writer::stalled_);
    lock.lock();
  }
}

Result<void> SqliteStore::Writer::attempt(const Batch& batch) {
  touch();
  if (database_ && database_->moved()) {
    if (auto found = find_again(); !found) return found;
  }
  if (!database_) {
    if (auto connected = connect(); !connected) return connected;
  }
  if (!tables_) tables_ = std::make_unique<TableWriter>(*database_, options_.retention);
  bool forget_acts = false;
  bool repairs = false;
  {
    const std::scoped_lock lock(mutex_);
    forget_acts = std::exchange(forget_acts_, false);
    repairs = repair_;
  }
  if (repairs) {
    const auto repaired = repair();
    {
      const std::scoped_lock lock(mutex_);
      if (std::exchange(repair_, false)) ++repaired_;
      if (!repaired && forget_acts) forget_acts_ = true;
    }
    done_.notify_all();
    if (!repaired) return repaired;
  }
  // Whether those acts are over is not known, and a program is started at most once.
  if (forget_acts) forget_open(*database_);
  if (database_->ok() && (batch.empty() || tables_->write(batch))) {
    room_ = database_->room_pages();
    return {};
  }
  if (forget_acts) {
    const std::scoped_lock lock(mutex_);
    forget_acts_ = true;
  }
  const Error error = database_->error();
  damaged_ = is_damage(error);
  tables_.reset();
  database_.reset();
  return error;
}

/// A reader has found the file damaged. Most often its tables are whole, and only an index of them says something else,
/// which the look at the start sees with a newer SQLite only: that is rewritten, in place, in one transaction. Else the
/// file is moved aside.
Result<void> SqliteStore::Writer::repair() {
  tables_.reset();
  if (!database_->execute("REINDEX")) {
    if (!is_damage(database_->error())) {
      database_->clear_error();  // there is no room for it now: nothing is worse than before
    } else {
      database_.reset();
      damaged_ = true;
      if (auto connected = connect(); !connected) return connected;
    }
  } else {
    note(std::string(kIndexRebuilt));
  }
  tables_ = std::make_unique<TableWriter>(*database_, options_.retention);
  return {};
}

Result<void> SqliteStore::Writer::find_again() {
  const std::unique_lock replaces(file_mutex_);
  tables_.reset();
  const bool replaced = ::access(path_.c_str(), F_OK) == 0;
  if (replaced) {
    database_.reset();
  } else if (auto restored = restore_state_file(database_, path_); !restored) {
    return restored;
  }
  const std::scoped_lock lock(mutex_);
  if (replaced) forget_acts_ = true;
  notes_.push_back(replaced ? "the state file was replaced by another: what was under way in it is not resumed"
                            : "the state file was removed: it was written again");
  return {};
}

Result<void> SqliteStore::Writer::connect() {
  if (resolve_state_path(path_) != path_) return Error{0, "a file of another program is at " + path_};
  const std::unique_lock replaces(file_mutex_);
  Hash128 word;
  {
    const std::scoped_lock lock(mutex_);
    word = word_;
  }
  auto opened = open_state_file(path_, options_.busy, damaged_, word);
  if (!opened) return opened.error();
  damaged_ = false;
  opened->database->on_progress([this] { touch(); });
  if (!opened->database->ok()) return opened->database->error();
  database_ = std::move(opened->database);
  const std::scoped_lock lock(mutex_);
  if (opened->index_rebuilt) notes_.emplace_back(kIndexRebuilt);
  if (!opened->notes.empty()) damages_.push_back(fmt::format("{}", fmt::join(opened->notes, "; ")));
  if (!opened->notes.empty() && std::exchange(repair_, false)) ++repaired_;  // another file is in its place
  if (word_ == Hash128{})
    word_ = opened->word;
  else if (opened->word_is_new && opened->word != word_ && !keep_word(*database_, word_))  // told while that was made
    return std::exchange(database_, nullptr)->error();
  return {};
}

/// `only_while`: what the watchdog saw, and what the writer may have repaired meanwhile. Told after that, it would stay
/// sick until there is something to write again.
void SqliteStore::Writer::become_sick(std::string reason, bool Writer::*only_while) {
  const std::scoped_lock callback_lock(callback_mutex_);
  {
    const std::scoped_lock lock(mutex_);
    if (only_while != nullptr && !(this->*only_while)) return;
    if (std::exchange(sick_, true)) return;
  }
  if (callbacks_.sick) callbacks_.sick(std::move(reason));
}

void SqliteStore::Writer::become_well() {
  const std::scoped_lock callback_lock(callback_mutex_);
  {
    const std::scoped_lock lock(mutex_);
    if (!std::exchange(sick_, false)) return;
  }
  if (callbacks_.well) callbacks_.well();
}

void SqliteStore::Writer::report_notes() {
  const std::scoped_lock callback_lock(callback_mutex_);
  {
    const std::scoped_lock lock(mutex_);
    const std::size_t noted = notes_.size() + damages_.size();
    if (std::exchange(reported_notes_, noted) == noted) return;
  }
  if (callbacks_.noted) callbacks_.noted();
}

SavedState SqliteStore::Writer::load() {
  SavedState state;
  std::optional<Error> error;
  const std::shared_lock reads(file_mutex_);
  auto opened = open_state_file_to_read(path_);
  if (opened) {
    (*opened)->execute("BEGIN");
    DamagedJournal damaged;
    state = read_state(**opened, damaged);
    if (!(*opened)->ok()) error = (*opened)->error();
    const std::scoped_lock lock(mutex_);
    if (!error) notes_.insert(notes_.end(), damaged.notes.begin(), damaged.notes.end());
    if (!error) damaged_journal_ = std::move(damaged);
  } else if (opened.error().code != ENOENT) {
    error = opened.error();
  }
  const auto now = wall_milliseconds();
  if (!error) {
    if (std::string note_text = steps_.reconcile(state); !note_text.empty()) note(std::move(note_text));
  }
  if (error) {
    state = {};
    state.last_sequence = now;  // beyond what the file may hold
    const std::scoped_lock lock(mutex_);
    notes_.push_back("what was saved cannot be read, and every rule starts afresh: " + error->what);
    forget_acts_ = true;
  }
  state.last_id = std::max(state.last_id, now);
  const std::scoped_lock lock(mutex_);
  // A file that could not be read gets this one, if it has none.
  if (state.word == Hash128{}) state.word = word_ == Hash128{} ? random_word() : word_;
  word_ = state.word;
  return state;
}

/// What the file has of a history.
struct SqliteStore::Writer::Found {
  HistoryPage page;
  Sequence last = 0;    ///< up to where the file has anything
  bool opened = false;  ///< there is a file that can be read
};

Result<void> SqliteStore::Writer::read_from_file(const HistoryQuery& query, Found& found) const {
  const std::shared_lock reads(file_mutex_);
  auto opened = open_state_file_to_read(path_);
  found.opened = static_cast<bool>(opened);
  if (!opened) return opened.error();
  Database& database = **opened;
  SavedState numbers;
  database.execute("BEGIN");
  read_numbers(database, numbers);
  found.page = read_page(database, query);
  if (!database.ok()) return database.error();
  found.last = numbers.last_sequence;
  return {};
}

/// A reader has found the file damaged: the writer, who alone changes it, sees to that. `before`: how often it had when
/// the reader began. False: it does not now.
bool SqliteStore::Writer::wait_for_mending(std::uint64_t before) {
  std::unique_lock lock(mutex_);
  if (repaired_ != before) return true;
  repair_ = true;
  work_came();
  done_.wait(lock, [&] { return repaired_ != before || stopping_ || stalled_ || retry_at_; });
  return repaired_ != before;
}

Result<HistoryPage> SqliteStore::Writer::page(const HistoryQuery& query) {
  // Memory first: what is written in between is then in the file, and left out here by its sequence.
  std::vector<Record> kept;
  std::vector<std::pair<Sequence, RecordNumber>> numbers;  // of all that is kept, asked for or not
  bool sick = false;
  std::uint64_t repaired = 0;
  HistoryQuery from_begin = query;
  from_begin.after = 0;  // numbers may have begun anew
  {
    const std::scoped_lock lock(mutex_);
    sick = sick_;
    repaired = repaired_;
    const auto add = [&](const Batch& batch) {
      for (const Record& record : batch.records()) {
        numbers.emplace_back(record.sequence, record.id);
        if (matches(from_begin, record)) kept.push_back(record);
      }
    };
    if (writing_) add(*writing_);
    add(queue_);
  }
  // Where memory has a number as high, that of the file alone says nothing.
  const bool known = std::ranges::any_of(numbers, [&](const auto& one) { return one.second >= query.after; });
  Found found;
  auto read = read_from_file(query, found);
  if (!read && is_damage(read.error()) && wait_for_mending(repaired)) {
    found = {};
    read = read_from_file(query, found);
  }
  if (!read && (found.opened || !sick)) return read.error();
  HistoryPage& page = found.page;
  if (!read || (known && page.anew)) page = {.records = {}, .up_to = known ? query.after : 0};
  const RecordNumber after = page.anew ? 0 : query.after;
  std::erase_if(
      kept, [&](const Record& record) { return record.sequence <= found.last || (after != 0 && record.id <= after); });
  std::erase_if(numbers, [&](const auto& one) { return one.first <= found.last; });
  const bool goes_on = !query.oldest || page.records.size() < query.limit;  // with what memory has
  page.records.insert(page.records.end(), std::make_move_iterator(kept.begin()), std::make_move_iterator(kept.end()));
  cut(page.records, query);
  if (!goes_on) return std::move(page);
  const RecordNumber from = page.up_to;
  if (!numbers.empty()) page.up_to = std::max(page.up_to, numbers.back().second);
  if (!query.oldest) return std::move(page);
  if (page.records.size() == query.limit && !page.records.empty()) page.up_to = page.records.back().id;
  const auto there =
      std::ranges::count_if(numbers, [&](const auto& one) { return one.second > from && one.second <= page.up_to; });
  if (page.up_to > from) page.missing += page.up_to - from - static_cast<std::uint64_t>(there);
  return std::move(page);
}

Result<std::vector<SavedSource>> SqliteStore::Writer::load_sources() const {
  {
    const std::scoped_lock lock(mutex_);
    if (queue_.sources()) return *queue_.sources();
    if (writing_ && writing_->sources()) return *writing_->sources();
  }
  const std::shared_lock reads(file_mutex_);
  auto opened = open_state_file_to_read(path_);
  if (!opened) return opened.error();
  auto sources = read_sources(**opened);
  if (!(*opened)->ok()) return (*opened)->error();
  return sources;
}

void SqliteStore::Writer::note(std::string text) {
  const std::scoped_lock lock(mutex_);
  notes_.push_back(std::move(text));
}

std::vector<std::string> SqliteStore::Writer::notes() const {
  const std::scoped_lock lock(mutex_);
  return notes_;
}

std::vector<std::string> SqliteStore::Writer::damages() const {
  const std::scoped_lock lock(mutex_);
  return damages_;
}

// ---- SqliteStore --------------------------------------------------------------------------------------------------

SqliteStore::SqliteStore(std::shared_ptr<Writer> writer) : writer_(std::move(writer)) {}

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const std::string& path, Callbacks callbacks, Options options) {
  const std::string used = resolve_state_path(path);
  auto writer = std::make_shared<Writer>(used, std::move(callbacks), options);
  if (used != path)
    writer->note(
        fmt::format("{} is not a state file of healer, and is left alone: the state is kept in {}", path, used));
  if (auto opened = writer->open(); !opened) return opened.error();
  Writer::start(writer);
  return std::unique_ptr<SqliteStore>(new SqliteStore(std::move(writer)));
}

SqliteStore::~SqliteStore() { writer_->stop(); }

Result<SavedState> SqliteStore::load() { return writer_->load(); }
void SqliteStore::submit(effect::Commit commit) { writer_->submit(std::move(commit)); }
Result<HistoryPage> SqliteStore::page(const HistoryQuery& query) const { return writer_->page(query); }
void SqliteStore::save_sources(std::vector<SavedSource> sources) { writer_->save_sources(std::move(sources)); }
Result<std::vector<SavedSource>> SqliteStore::load_sources() { return writer_->load_sources(); }
void SqliteStore::flush() { writer_->flush(); }
const std::string& SqliteStore::path() const { return writer_->path(); }
std::vector<std::string> SqliteStore::notes() const { return writer_->notes(); }
std::vector<std::string> SqliteStore::damages() const { return writer_->damages(); }

}  // namespace healer::store
