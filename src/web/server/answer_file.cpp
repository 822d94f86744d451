// SPDX-License-Identifier: MIT
#include "web/server/answer_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "runtime/descriptor.hpp"
#include "runtime/files/open_regular.hpp"
#include "runtime/files/safe_path.hpp"
#include "runtime/files/write_file.hpp"
#include "util/left_threads.hpp"

namespace healer::web {
namespace {

constexpr std::size_t kMostRead = 128U << 20;
constexpr mode_t kMode = 0600;
constexpr std::chrono::seconds kEnd{2};  ///< for the disk at the end

/// Makes it last that there is a file of that name, and which one it is.
bool sync_folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const runtime::Descriptor file(open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return file && (fsync(file.get()) == 0 || errno == EINVAL);  // some file systems know no such thing
}

}  // namespace

class AnswerFile::Writer {
 public:
  Writer(std::string path, Post post, Failed failed, std::size_t most_queued)
      : path_(std::move(path)), post_(std::move(post)), failed_(std::move(failed)), most_queued_(most_queued) {}

  void append(std::string line, Written done) {
    const std::scoped_lock lock(mutex_);
    if (queued_ + line.size() > most_queued_) return refuse(std::move(done));
    queued_ += line.size();
    Part& part = queue_.emplace_back(Part{.text = std::move(line)});
    part.done.push_back(std::move(done));
    changed_.notify_all();
  }

  /// What is in place of the queue has its lines, too.
  void replace(std::string lines) {
    const std::scoped_lock lock(mutex_);
    if (lines.size() > most_queued_) return refuse({});
    Part whole{.text = std::move(lines), .whole = true};
    for (Part& part : queue_) std::ranges::move(part.done, std::back_inserter(whole.done));
    queue_.clear();
    queued_ = whole.text.size();
    queue_.push_back(std::move(whole));
    changed_.notify_all();
  }

  /// True: the thread has ended, or is about to.
  bool stop() {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
    return changed_.wait_for(lock, kEnd, [&] { return ended_; });
  }

  void flush() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return queue_.empty() && !writing_; });
  }

  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) break;
      std::deque<Part> parts = std::exchange(queue_, {});
      queued_ = 0;
      writing_ = true;
      lock.unlock();
      const Result<void> written = write(parts);
      lock.lock();
      if (written)
        told_ = false;
      else
        fail(written.error().what);
      for (Part& part : parts)
        for (Written& done : part.done) tell(std::move(done), bool(written));
      writing_ = false;
      changed_.notify_all();
    }
    ended_ = true;
    changed_.notify_all();
  }

 private:
  struct Part {
    std::string text;
    bool whole = false;
    std::vector<Written> done{};
  };

  // ---- with the mutex locked

  void post(std::function<void()> what) {
    if (stopping_) return;  // nobody is there
    post_ ? post_(std::move(what)) : what();
  }
  void fail(const std::string& why) {
    if (std::exchange(told_, true) || !failed_) return;
    post([failed = failed_, text = fmt::format("{}; {}", why, kMeanwhile)] { failed(text); });
  }
  void tell(Written done, bool written) {
    if (done) post([done = std::move(done), written] { done(written); });
  }
  void refuse(Written done) {
    fail(fmt::format("cannot write {}: too much waits for the disk", path_));
    tell(std::move(done), false);
  }

  // ---- on the thread

  Result<void> write(const std::deque<Part>& parts) {
    std::string lines;
    Result<void> done;
    for (const Part& part : parts) {
      if (part.whole) {
        file_ = {};
        done = make_file(path_, part.text, kMode, true);
        if (done && !sync_folder_of(path_)) done = system_error(errno, fmt::format("cannot write {}", path_));
        broken_ = !done;
      } else {
        lines += part.text;
      }
    }
    if (done && !lines.empty()) done = add(lines);
    return done;
  }

  Result<void> add(const std::string& lines) {
    const auto failed = [&](int code) { return system_error(code, fmt::format("cannot write {}", path_)); };
    if (!file_) {
      file_ = runtime::Descriptor(open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kMode));
      if (!file_) return failed(errno);
      if (const auto facts = runtime::stat_of_own(file_.get(), path_); !facts) {
        file_ = {};
        return facts.error();
      }
      if (!sync_folder_of(path_)) {
        const int code = errno;
        file_ = {};
        return failed(code);
      }
    }
    // A line that was written in part only is one of its own.
    if (runtime::write_whole(file_.get(), broken_ ? "\n" + lines : lines) && fdatasync(file_.get()) == 0) {
      broken_ = false;
      return {};
    }
    const int code = errno;
    broken_ = true;
    file_ = {};
    return failed(code);
  }

  const std::string path_;
  const Post post_;
  const Failed failed_;
  const std::size_t most_queued_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Part> queue_;
  std::size_t queued_ = 0;
  bool stopping_ = false;
  bool writing_ = false;
  bool ended_ = false;
  bool told_ = false;  // that it cannot be written
  // of the thread
  runtime::Descriptor file_;
  bool broken_ = true;  // the file may not end with a line
};

AnswerFile::AnswerFile(std::string path, Post post, Failed failed, std::size_t most_queued)
    : writer_(std::make_shared<Writer>(std::move(path), std::move(post), std::move(failed), most_queued)),
      thread_([writer = writer_] { writer->run(); }) {}

AnswerFile::~AnswerFile() { end_thread(thread_, writer_->stop()); }

Result<std::string> AnswerFile::read(const std::string& path) {
  const auto file = runtime::open_regular(path, runtime::Links::Refused);
  if (!file) {
    if (file.error().code == ENOENT) return std::string{};
    return file.error();
  }
  if (const auto facts = runtime::stat_of_own(file->get(), path); !facts) return facts.error();
  std::string text;
  std::array<char, 64 * 1024> part{};
  while (text.size() < kMostRead) {
    const ssize_t got = ::read(file->get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(errno, fmt::format("cannot read {}", path));
    if (got == 0) break;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return text;
}

void AnswerFile::append(std::string line, Written done) { writer_->append(std::move(line), std::move(done)); }
void AnswerFile::replace(std::string lines) { writer_->replace(std::move(lines)); }
void AnswerFile::flush() { writer_->flush(); }

}  // namespace healer::web
