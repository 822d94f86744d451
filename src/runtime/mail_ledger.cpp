// SPDX-License-Identifier: MIT
#include "runtime/mail_ledger.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <sstream>

#include <spdlog/fmt/fmt.h>

namespace healer::runtime {
namespace {

constexpr std::size_t kMaxSent = 10'000;  // of one address
constexpr std::size_t kRoom = 1'000;      // lines that come before the file is written anew, at least

std::string sent_line(const std::string& address, WallTime when) {
  return fmt::format("sent {} {}\n", when.time_since_epoch().count(), address);
}

std::string key_line(std::string_view word, const actions::MailKey& key) {
  return fmt::format("{} {} {} {}\n", word, key.alert, key.number, key.when);
}

}  // namespace

Result<void> MailLedger::open(const std::string& path, const std::function<bool(const actions::MailKey&)>& waits) {
  path_ = path;
  std::ifstream file(path_);
  for (std::string line; std::getline(file, line);) read(line);
  for (auto& [address, times] : sent_) std::ranges::sort(times);
  std::erase_if(held_, [&](const actions::MailKey& key) { return !waits(key); });
  std::erase_if(begun_, [&](const actions::MailKey& key) { return !waits(key); });
  return rewrite();
}

void MailLedger::read(std::string_view line) {
  std::istringstream words{std::string(line)};
  std::string word, address;
  std::int64_t when = 0;
  actions::MailKey key;
  words >> word;
  if (word == "sent" && words >> when >> address) sent_[address].emplace_back(milliseconds{when});
  if ((word == "held" || word == "begun") && words >> key.alert >> key.number >> key.when)
    (word == "held" ? held_ : begun_).insert(key);
}

/// Writes the file anew, with what still counts.
Result<void> MailLedger::rewrite() {
  const std::string fresh = path_ + ".new";
  file_.reset();
  Descriptor file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_APPEND | O_CLOEXEC, 0600));
  if (!file) return system_error(errno, "cannot make " + fresh);
  std::string text;
  lines_ = held_.size() + begun_.size();
  for (const auto& [address, times] : sent_) {
    lines_ += times.size();
    for (const WallTime when : times) text += sent_line(address, when);
  }
  for (const actions::MailKey& key : held_) text += key_line("held", key);
  for (const actions::MailKey& key : begun_) text += key_line("begun", key);
  most_lines_ = 2 * lines_ + kRoom;
  const bool written = ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (!written || ::fsync(file.get()) != 0 || ::rename(fresh.c_str(), path_.c_str()) != 0) {
    const int code = errno;
    ::unlink(fresh.c_str());
    return system_error(code, "cannot write " + path_);
  }
  file_ = std::move(file);
  return {};
}

/// Appends a line. Where that fails the limit holds for the life of this process alone.
void MailLedger::write(const std::string& line) {
  if (path_.empty()) return;
  if (!file_ || ++lines_ > most_lines_) {
    (void)rewrite();
  } else if (::write(file_.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    file_.reset();
  }
}

void MailLedger::sent(const std::string& address, WallTime now) {
  if (!limit_) return;
  (void)full_until(address, now);  // forgets what is over
  std::deque<WallTime>& times = sent_[address];
  times.push_back(now);
  if (times.size() > kMaxSent) times.pop_front();
  write(sent_line(address, now));
}

std::optional<WallTime> MailLedger::full_until(const std::string& address, WallTime now, std::size_t more) {
  if (!limit_) return std::nullopt;
  const std::size_t most = std::clamp<std::size_t>(limit_->mails, 1, kMaxSent);
  const auto found = sent_.find(address);
  if (found == sent_.end()) return more < most ? std::nullopt : std::optional(now + limit_->within);
  std::deque<WallTime>& times = found->second;
  for (auto late = times.rbegin(); late != times.rend() && *late > now; ++late) *late = now;  // the clock was set back
  while (!times.empty() && times.front() + limit_->within <= now) times.pop_front();
  const std::size_t count = times.size() + more;
  if (count < most) return std::nullopt;
  const std::size_t first = count - most;
  return (first < times.size() ? times[first] : now) + limit_->within;
}

void MailLedger::hold(const actions::MailKey& key) {
  if (held_.insert(key).second) write(key_line("held", key));
}

void MailLedger::begin(const actions::MailKey& key) {
  if (begun_.insert(key).second) write(key_line("begun", key));
}

}  // namespace healer::runtime
