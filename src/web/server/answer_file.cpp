// SPDX-License-Identifier: MIT
#include "web/server/answer_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "runtime/descriptor.hpp"
#include "runtime/files/open_regular.hpp"
#include "runtime/files/safe_path.hpp"
#include "runtime/files/write_file.hpp"

namespace healer::web {
namespace {

constexpr std::size_t kMostQueued = 64U << 20;  ///< bytes; what comes then is kept in memory only
constexpr std::size_t kMostRead = 128U << 20;
constexpr mode_t kMode = 0600;
constexpr std::chrono::seconds kEnd{2};  ///< for the disk at the end

}  // namespace

class AnswerFile::Writer {
 public:
  Writer(std::string path, Failed failed) : path_(std::move(path)), failed_(std::move(failed)) {}

  void add(std::string text, bool whole) {
    const std::scoped_lock lock(mutex_);
    if (whole) {
      queue_.clear();
      queued_ = 0;
    }
    if (queued_ + text.size() > kMostQueued) return;
    queued_ += text.size();
    queue_.push_back({std::move(text), whole});
    changed_.notify_all();
  }

  void stop() {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
    changed_.wait_for(lock, kEnd, [&] { return ended_; });
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
      const std::deque<Part> parts = std::exchange(queue_, {});
      queued_ = 0;
      writing_ = true;
      lock.unlock();
      write(parts);
      lock.lock();
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
  };

  void write(const std::deque<Part>& parts) {
    std::string lines;
    Result<void> done;
    for (const Part& part : parts) {
      if (part.whole) {
        file_ = {};
        done = make_file(path_, part.text, kMode, true);
        broken_ = false;
      } else {
        lines += part.text;
      }
    }
    if (done && !lines.empty()) done = append(lines);
    const std::scoped_lock lock(mutex_);
    if (done)
      told_ = false;
    else if (!std::exchange(told_, true) && failed_ && !stopping_)  // afterwards nobody is there
      failed_(done.error().what);
  }

  Result<void> append(const std::string& lines) {
    const auto failed = [&](int code) { return system_error(code, fmt::format("cannot write {}", path_)); };
    if (!file_) {
      file_ = runtime::Descriptor(open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kMode));
      if (!file_) return failed(errno);
      if (const auto facts = runtime::stat_of_own(file_.get(), path_); !facts) {
        file_ = {};
        return facts.error();
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
  const Failed failed_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Part> queue_;
  std::size_t queued_ = 0;
  bool stopping_ = false;
  bool writing_ = false;
  bool ended_ = false;
  // of the thread
  runtime::Descriptor file_;
  bool broken_ = true;  // the file may not end with a line
  bool told_ = false;
};

AnswerFile::AnswerFile(std::string path, Failed failed)
    : writer_(std::make_shared<Writer>(std::move(path), std::move(failed))) {
  std::thread([writer = writer_] { writer->run(); }).detach();
}

AnswerFile::~AnswerFile() { writer_->stop(); }

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

void AnswerFile::append(std::string line) { writer_->add(std::move(line), false); }
void AnswerFile::replace(std::string lines) { writer_->add(std::move(lines), true); }
void AnswerFile::flush() { writer_->flush(); }

}  // namespace healer::web
