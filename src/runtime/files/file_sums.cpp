// SPDX-License-Identifier: MIT
#include "runtime/files/file_sums.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>

#include <spdlog/fmt/fmt.h>

#include "protocols/digest.hpp"
#include "runtime/clock.hpp"
#include "runtime/files/open_regular.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

namespace healer::runtime {
namespace {

using engine::Attribute;
using engine::measure::Checksums;

constexpr Duration kSlice{200};
constexpr std::size_t kMostOpen = 32;              // files that are read in turn
constexpr std::int64_t kSettled = 60'000'000'000;  // nanoseconds after which a change shows in the times of a file
constexpr std::int64_t kMostOfNothing = 64 * 1024 * 1024;  // bytes of a file that says it is empty, as the kernel's do

struct Sum {
  bool Checksums::*asked;
  Attribute attribute;
  std::size_t digits;
};
constexpr std::array kSums{Sum{&Checksums::md5, Attribute::Md5, 32}, Sum{&Checksums::sha1, Attribute::Sha1, 40},
                           Sum{&Checksums::sha256, Attribute::Sha256, 64},
                           Sum{&Checksums::sha512, Attribute::Sha512, 128}};

/// As many as cores, where nothing else is said.
FileSummer::Options completed(FileSummer::Options options) {
  if (options.at_once == 0) options.at_once = std::max(1U, std::thread::hardware_concurrency());
  return options;
}

}  // namespace

/// What a thread works on: one at a time.
class FileSummer::Reading {
 public:
  Reading(std::string path, const engine::measure::Checksums& wanted) : path_(std::move(path)) {
    sums_.wanted = wanted;
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  FileSums take() { return std::move(sums_); }

  /// Reads for a while; true: to the end.
  Result<bool> step() {
    if (!file_) {
      if (auto begun = begin(); !begun) return begun.error();
    }
    const Duration until = mono_now() + kSlice;
    do {
      const ssize_t count = ::read(file_.get(), buffer_.data(), buffer_.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return system_error(errno, "cannot read " + printable(path_));
      for (auto& [attribute, digest] : digests_) digest.add({buffer_.data(), static_cast<std::size_t>(count)});
      read_ += count;
      const std::int64_t most = sums_.state.size > 0 ? sums_.state.size : kMostOfNothing;
      if (count == 0 || read_ >= most) return finish();
    } while (mono_now() < until);
    return false;
  }

 private:
  Result<void> begin() {
    auto opened = open_regular(path_);
    if (!opened) return opened.error();
    file_ = std::move(*opened);
    struct ::stat seen {};
    if (::fstat(file_.get(), &seen) != 0) return system_error(errno, "cannot read " + printable(path_));
    sums_.state = state_of(seen);
    const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(runtime::now().wall.time_since_epoch());
    sums_.lasting = std::max(sums_.state.modified, sums_.state.changed) + kSettled <= now.count();
    for (const auto& [asked, attribute, digits] : kSums) {
      if (!(sums_.wanted.*asked)) continue;
      digests_.emplace_back(attribute, protocols::Digest(digits));
      if (!digests_.back().second.works())
        return Error{ENOTSUP, fmt::format("checksums of {} digits are not available on this machine (FIPS?)", digits)};
    }
    buffer_.resize(256 * 1024);
    return {};
  }

  Result<bool> finish() {
    for (auto& [attribute, digest] : digests_) sums_.sums.emplace_back(attribute, digest.finish());
    struct ::stat seen {};
    const bool same = ::fstat(file_.get(), &seen) == 0 && state_of(seen) == sums_.state;
    sums_.lasting = sums_.lasting && same && read_ > 0 && read_ == sums_.state.size;
    file_ = {};
    return true;
  }

  std::string path_;
  Descriptor file_;
  FileSums sums_;
  std::vector<std::pair<Attribute, protocols::Digest>> digests_;
  std::vector<char> buffer_;
  std::int64_t read_ = 0;
};

struct FileSummer::Job {
  std::shared_ptr<Reading> reading;
  Done done;
  Loop::Timer patience;
  Duration spent{0};
  bool active = false;  // a thread reads
};

FileSummer::FileSummer(Loop& loop, const Options& options, std::shared_ptr<MountGuard> guard)
    : loop_(loop),
      options_(completed(options)),
      guard_(std::move(guard)),
      pool_(loop, {"healer-sum", options_.at_once, 4, options_.stuck}) {}

FileSummer::~FileSummer() = default;

void FileSummer::sum(std::uint64_t id, const std::string& path, const engine::measure::Checksums& wanted, Done done) {
  auto job = std::make_unique<Job>();
  job->reading = std::make_shared<Reading>(path, wanted);
  job->done = std::move(done);
  job->patience = loop_.timer([this, id] {
    end(id, Error{ETIMEDOUT, fmt::format("{} did not answer within {}", printable(jobs_.at(id)->reading->path()),
                                         format_duration(options_.patience))});
  });
  jobs_.insert_or_assign(id, std::move(job));
  waiting_.push_back(id);
  go_on();
}

void FileSummer::cancel(std::uint64_t id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return;
  if (found->second->active) --active_;
  jobs_.erase(found);
  std::erase(begun_, id);
  std::erase(waiting_, id);
  go_on();
}

/// Begins slices, of the files in turn.
void FileSummer::go_on() {
  while (active_ < options_.at_once && !(begun_.empty() && waiting_.empty())) {
    const bool fresh = !waiting_.empty() && begun_.size() + active_ < kMostOpen;
    std::deque<std::uint64_t>& from = fresh ? waiting_ : begun_;
    if (from.empty()) return;
    const std::uint64_t id = from.front();
    from.pop_front();
    submit(id, *jobs_.at(id));
  }
}

void FileSummer::submit(std::uint64_t id, Job& job) {
  ++active_;
  job.active = true;
  job.patience.set_deadline(mono_now() + options_.patience);
  pool_.submit(
      [this, id, reading = job.reading, guard = guard_, patience = options_.stuck]() -> Loop::Callback {
        const Duration begun = mono_now();
        const Result<bool> ended =
            guard->guarded({id, reading->path(), patience, "read"}, [&] { return reading->step(); });
        return [this, id, ended, spent = mono_now() - begun] { stepped(id, ended, spent); };
      },
      [this, id](const Error& error) { end(id, error); });
}

void FileSummer::stepped(std::uint64_t id, const Result<bool>& ended, Duration spent) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return;  // cancelled, or given up
  Job& job = *found->second;
  if (!ended) return end(id, ended.error());
  if (*ended) return end(id, job.reading->take());
  job.spent += spent;
  if (job.spent >= options_.longest)
    return end(id, Error{ETIMEDOUT, fmt::format("{} is too big: its checksum takes longer than {}",
                                                printable(job.reading->path()), format_duration(options_.longest))});
  job.active = false;
  job.patience.set_deadline(std::nullopt);
  --active_;
  begun_.push_back(id);
  go_on();
}

void FileSummer::end(std::uint64_t id, Result<FileSums> result) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return;
  const std::unique_ptr<Job> job = std::move(found->second);
  jobs_.erase(found);
  if (job->active) --active_;
  go_on();
  job->done(std::move(result));
}

}  // namespace healer::runtime
