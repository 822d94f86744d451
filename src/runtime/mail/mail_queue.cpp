// SPDX-License-Identifier: MIT
#include "runtime/mail/mail_queue.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "runtime/files/safe_path.hpp"
#include "util/hash.hpp"
#include "util/text.hpp"

namespace healer::runtime {
namespace {

constexpr std::string_view kWaiting = ".mail";
constexpr std::string_view kSent = ".sent";
constexpr std::string_view kDamaged = ".bad";
constexpr std::string_view kUnfinished = ".new";
constexpr std::string_view kMagic = "healer-mail 2 ";
constexpr std::string_view kPlainMagic = "healer-mail 1 ";  // from before there were digests: without facts
constexpr std::uint64_t kMaxFile = 8U << 20;
constexpr std::size_t kNameLength = 20 + 1 + 6 + 1 + 16;

std::string name_of(const MailKey& key, std::string_view suffix) {
  return fmt::format("{:020}-{:06}-{:016x}{}", key.alert, key.number, static_cast<std::uint64_t>(key.when), suffix);
}

template <typename Number>
bool parse(std::string_view text, Number& number, int base) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc{} && end == text.data() + text.size();
}

std::optional<MailKey> parse_name(std::string_view name) {
  name = name.substr(0, name.rfind('.'));
  if (name.size() != kNameLength || name[20] != '-' || name[27] != '-') return std::nullopt;
  MailKey key;
  std::uint64_t when = 0;
  if (!parse(name.substr(0, 20), key.alert, 10) || !parse(name.substr(21, 6), key.number, 10) ||
      !parse(name.substr(28), when, 16)) {
    return std::nullopt;
  }
  key.when = static_cast<std::int64_t>(when);
  return key;
}

/// What comes before the next `end`; `text` becomes the rest. Nothing where there is no `end`.
std::optional<std::string_view> take(std::string_view& text, char end) {
  const std::size_t length = text.find(end);
  if (length == std::string_view::npos) return std::nullopt;
  const std::string_view taken = text.substr(0, length);
  text.remove_prefix(length + 1);
  return taken;
}

/// The file's text: a line that proves the rest, then the envelope a line each, then facts a line each and an empty
/// line, then the mail.
std::string serialise(const actions::Message& message) {
  std::string facts;
  if (message.digest) facts += fmt::format("digest {}\n", message.hold_until.time_since_epoch().count());
  if (message.urgent) facts += "urgent 1\n";
  if (message.own_subject) facts += "own-subject 1\n";
  if (message.unlisted > 0) facts += fmt::format("unlisted {}\n", message.unlisted);
  for (const actions::MailItem& item : message.items)
    facts += fmt::format("item {} {} {}\t{}\n", item.when.time_since_epoch().count(), item.word,
                         printable(item.service), printable(item.event));
  for (const MailKey& key : message.covers) facts += fmt::format("covers {} {} {}\n", key.alert, key.number, key.when);
  const std::string payload =
      fmt::format("{}\n{}\n{}\n{}\n{}", message.from, message.to, message.subject, facts, message.text);
  return fmt::format("{}{} {}\n{}", kMagic, to_string(hash128(payload)), payload.size(), payload);
}

bool read_fact(std::string_view line, actions::Message& message) {
  const std::string_view word = take(line, ' ').value_or("");
  std::int64_t when = 0;
  if (word == "digest") {
    message.digest = parse(line, when, 10);
    message.hold_until = WallTime{milliseconds{when}};
    return message.digest;
  }
  if (word == "urgent") return message.urgent = true;
  if (word == "own-subject") return message.own_subject = true;
  if (word == "unlisted") return parse(line, message.unlisted, 10);
  if (word == "item") {
    actions::MailItem item;
    if (!parse(take(line, ' ').value_or(""), when, 10)) return false;
    item.when = WallTime{milliseconds{when}};
    item.word = take(line, ' ').value_or("");
    item.service = take(line, '\t').value_or("");
    item.event = line;
    message.items.push_back(std::move(item));
    return true;
  }
  if (word == "covers") {
    MailKey& key = message.covers.emplace_back();
    return parse(take(line, ' ').value_or(""), key.alert, 10) && parse(take(line, ' ').value_or(""), key.number, 10) &&
           parse(line, key.when, 10);
  }
  return false;
}

std::optional<actions::Message> deserialise(std::string_view file, const MailKey& key) {
  const bool plain = file.starts_with(kPlainMagic);
  if (!plain && !file.starts_with(kMagic)) return std::nullopt;
  const std::size_t line = file.find('\n');
  if (line == std::string_view::npos) return std::nullopt;
  std::string_view payload = file.substr(line + 1);
  const std::string proof = fmt::format("{} {}", to_string(hash128(payload)), payload.size());
  if (file.substr(kMagic.size(), line - kMagic.size()) != proof) return std::nullopt;
  actions::Message message;
  message.alert = engine::AlertId{key.alert};
  message.number = key.number;
  message.when = WallTime{milliseconds{key.when}};
  for (std::string* field : {&message.from, &message.to, &message.subject}) {
    const auto value = take(payload, '\n');
    if (!value) return std::nullopt;
    *field = *value;
  }
  if (plain) message.items = {{message.when, "told", message.subject, "mail"}};
  for (bool facts = !plain; facts;) {
    const auto fact = take(payload, '\n');
    if (!fact) return std::nullopt;
    facts = !fact->empty();
    if (facts && !read_fact(*fact, message)) return std::nullopt;
  }
  message.text = payload;
  return message;
}

Result<void> write_mail(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error(errno, "cannot write a mail");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

/// Opens the directory of a queue, made where it is missing, and closes it to others.
Result<Descriptor> open_directory(const std::string& path) {
  if (const auto safe = safe_path("the mail queue", path); !safe) return safe.error();
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return system_error(errno, "cannot make " + path);
  Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory) return system_error(errno, "cannot open " + path);
  const Result<struct stat> facts = stat_of_own(directory.get(), path);
  if (!facts) return facts.error();
  if ((facts.value().st_mode & 07777) != 0700 && ::fchmod(directory.get(), 0700) != 0)
    return system_error(errno, "cannot close " + path + " to others");
  return directory;
}

/// Copies a file of one queue to another file system, where it has its name only when it is there whole. The times are
/// kept: they order the tombstones.
Result<void> copy(int from, int to, const std::string& name) {
  const auto failed = [&](int code) { return system_error(code, "cannot copy mail " + name); };
  const Descriptor source(::openat(from, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat facts {};
  if (!source || ::fstat(source.get(), &facts) != 0) return failed(errno);
  const std::string unfinished = name.substr(0, kNameLength) + std::string(kUnfinished);
  ::unlinkat(to, unfinished.c_str(), 0);
  const Descriptor target(::openat(to, unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!target) return failed(errno);
  const auto undo = [&](Error error) {
    ::unlinkat(to, unfinished.c_str(), 0);
    return error;
  };
  std::array<char, 65'536> piece;
  while (const ssize_t size = ::read(source.get(), piece.data(), piece.size())) {
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return undo(failed(errno));
    const std::string_view text(piece.data(), static_cast<std::size_t>(size));
    if (Result<void> written = write_mail(target.get(), text); !written) return undo(written.error());
  }
  const timespec times[] = {facts.st_atim, facts.st_mtim};
  if (::futimens(target.get(), times) != 0 || ::fsync(target.get()) != 0 ||
      ::renameat(to, unfinished.c_str(), to, name.c_str()) != 0)
    return undo(failed(errno));
  return {};
}

/// Moves a file of one queue to another. One that was copied is noted in `copied`, to go when the copy is there to
/// stay.
Result<void> move(int from, int to, const std::string& name, std::vector<std::string>& copied) {
  if (::renameat(from, name.c_str(), to, name.c_str()) == 0) return {};
  if (errno != EXDEV) return system_error(errno, "cannot move mail " + name);
  // It may have been copied, and sent, by a daemon that could not remove it here.
  const std::string tombstone = name.substr(0, kNameLength) + std::string(kSent);
  if (::faccessat(to, tombstone.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
    if (Result<void> done = copy(from, to, name); !done) return done;
  }
  copied.push_back(name);
  return {};
}

}  // namespace

MailQueue::MailQueue(Descriptor directory, MailQueueLimits limits, Warn warn)
    : directory_(std::move(directory)), limits_(limits), warn_(std::move(warn)) {}

Result<MailQueue> MailQueue::open(const std::string& path, MailQueueLimits limits, Warn warn) {
  Result<Descriptor> directory = open_directory(path);
  if (!directory) return directory.error();
  MailQueue queue(std::move(*directory), limits, std::move(warn));
  if (Result<void> loaded = queue.load(); !loaded) return Error{loaded.error().code, path + ": " + loaded.error().what};
  return queue;
}

Result<bool> MailQueue::take_over(const std::string& former, const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::symlink_status(former, error).type() != fs::file_type::directory) return false;
  const Descriptor from(::open(former.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!from) return system_error(errno, "cannot open " + former);
  if (const auto own = stat_of_own(from.get(), former); !own) return own.error();
  const Result<Descriptor> to = open_directory(path);
  if (!to) return to.error();
  std::vector<std::string> copied;
  std::optional<Error> failed;
  for (fs::directory_iterator entry(former, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (!(name.ends_with(kWaiting) || name.ends_with(kSent)) || !parse_name(name)) continue;
    if (Result<void> moved = move(from.get(), to->get(), name, copied); !moved && !failed) failed = moved.error();
  }
  if (error) failed = system_error(error.value(), "cannot list it");
  // What is there twice must not stay so, whatever became of the rest: here it would not be known that it was sent.
  if (::fsync(to->get()) != 0) return system_error(errno, "cannot write " + path + " to the disk");
  for (const std::string& name : copied) {
    if (::unlinkat(from.get(), name.c_str(), 0) != 0) failed = system_error(errno, "cannot remove mail " + name);
  }
  if (failed) return Error{failed->code, former + ": " + failed->what};
  ::unlinkat(from.get(), "ledger", 0);
  ::rmdir(former.c_str());  // where there are damaged mails in it, it stays for whom they are set aside
  return true;
}

Result<void> MailQueue::load() {
  struct Found {
    timespec modified;
    MailKey key;
  };
  // A second descriptor: closedir() closes the one it reads.
  Descriptor reading(::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!reading) return system_error(errno, "cannot open the mail queue");
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(reading.get()), ::closedir);
  if (!entries) return system_error(errno, "cannot list the mail queue");
  (void)reading.release();
  std::vector<Found> sent;
  std::vector<std::string> foreign;
  errno = 0;
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (name.ends_with(kUnfinished)) {
      ::unlinkat(directory_.get(), entry->d_name, 0);
    } else if (name.ends_with(kDamaged)) {
      damaged_.emplace_back(name);
    } else if (name.ends_with(kWaiting) || name.ends_with(kSent)) {
      const std::optional<MailKey> key = parse_name(name);
      struct stat facts {};
      if (!key) {
        if (name.ends_with(kWaiting)) foreign.emplace_back(name);
      } else if (::fstatat(directory_.get(), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) == 0) {
        if (name.ends_with(kSent)) {
          sent.push_back({facts.st_mtim, *key});
        } else {
          waiting_.emplace(*key, static_cast<std::uint64_t>(facts.st_size));
          bytes_ += static_cast<std::uint64_t>(facts.st_size);
        }
      }
    }
    errno = 0;
  }
  if (errno != 0) return system_error(errno, "cannot list the mail queue");
  for (const std::string& name : foreign) set_aside(name, "its name is not that of a mail");
  std::ranges::sort(sent, [](const Found& a, const Found& b) {
    return std::tie(a.modified.tv_sec, a.modified.tv_nsec, a.key) <
           std::tie(b.modified.tv_sec, b.modified.tv_nsec, b.key);
  });
  for (const Found& found : sent) bury(found.key);
  return {};
}

Result<MailQueue::Taken> MailQueue::put(const actions::Message& message) {
  const MailKey key = key_of(message);
  if (known(key)) return Taken::Known;
  const std::string text = serialise(message);
  if (text.size() > kMaxFile || (message.covers.empty() && full(text.size()))) return Taken::Full;
  const std::string unfinished = name_of(key, kUnfinished);
  const auto undo = [&](Error error) {
    ::unlinkat(directory_.get(), unfinished.c_str(), 0);
    return error;
  };
  Descriptor file(
      ::openat(directory_.get(), unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return system_error(errno, "cannot make a file for a mail");
  if (Result<void> written = write_mail(file.get(), text); !written) return undo(written.error());
  if (::fsync(file.get()) != 0) return undo(system_error(errno, "cannot write a mail to the disk"));
  file.reset();
  if (::renameat(directory_.get(), unfinished.c_str(), directory_.get(), name_of(key, kWaiting).c_str()) != 0)
    return undo(system_error(errno, "cannot name a mail"));
  waiting_.emplace(key, text.size());
  bytes_ += text.size();
  return Taken::Queued;
}

bool MailQueue::full(std::size_t bytes) const {
  return waiting_.size() >= limits_.messages || bytes_ + bytes > limits_.bytes;
}

Result<void> MailQueue::sync() {
  if (::fsync(directory_.get()) != 0) return system_error(errno, "cannot write the mail queue to the disk");
  return {};
}

Result<actions::Message> MailQueue::read(const MailKey& key) {
  const std::string name = name_of(key, kWaiting);
  const auto drop = [&](const std::string& why) {
    if (const auto entry = waiting_.find(key); entry != waiting_.end()) {
      bytes_ -= entry->second;
      waiting_.erase(entry);
    }
    return Error{0, "mail " + name + " " + why};
  };
  Descriptor file(::openat(directory_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file && errno == ENOENT) return drop("has vanished");
  if (!file && errno != ELOOP) return system_error(errno, "cannot open mail " + name);
  struct stat facts {};
  const bool whole = file && ::fstat(file.get(), &facts) == 0 && S_ISREG(facts.st_mode) &&
                     static_cast<std::uint64_t>(facts.st_size) <= kMaxFile;
  std::string text;
  if (whole) {
    text.resize(static_cast<std::size_t>(facts.st_size));
    std::size_t length = 0;
    while (length < text.size()) {
      const ssize_t got = ::read(file.get(), text.data() + length, text.size() - length);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return system_error(errno, "cannot read mail " + name);
      if (got == 0) break;
      length += static_cast<std::size_t>(got);
    }
    text.resize(length);
  }
  std::optional<actions::Message> message = whole ? deserialise(text, key) : std::nullopt;
  if (message) return std::move(*message);
  set_aside(name, "it is damaged");
  return drop("is damaged");
}

Result<void> MailQueue::finish(const MailKey& key) {
  const auto entry = waiting_.find(key);
  if (entry == waiting_.end()) return {};
  bytes_ -= entry->second;
  waiting_.erase(entry);
  const std::string sent = name_of(key, kSent);
  const bool renamed =
      ::renameat(directory_.get(), name_of(key, kWaiting).c_str(), directory_.get(), sent.c_str()) == 0;
  const int code = errno;
  bury(key);
  if (!renamed) return system_error(code, "cannot mark mail " + sent + " as sent");
  // Its text is needed no more; the new modification time orders the tombstones.
  Descriptor(::openat(directory_.get(), sent.c_str(), O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC)).reset();
  return {};
}

void MailQueue::bury(const MailKey& key) {
  if (sent_.insert(key).second) sent_order_.push_back(key);
  while (sent_order_.size() > limits_.tombstones) {
    ::unlinkat(directory_.get(), name_of(sent_order_.front(), kSent).c_str(), 0);
    sent_.erase(sent_order_.front());
    sent_order_.pop_front();
  }
}

void MailQueue::set_aside(const std::string& name, const std::string& why) {
  const std::string aside = name.substr(0, name.rfind('.')) + std::string(kDamaged);
  ::renameat(directory_.get(), name.c_str(), directory_.get(), aside.c_str());
  damaged_.push_back(aside);
  while (damaged_.size() > limits_.damaged) {
    ::unlinkat(directory_.get(), damaged_.front().c_str(), 0);
    damaged_.pop_front();
  }
  warn_("mail queue: " + name + " is set aside as " + aside + ": " + why);
}

}  // namespace healer::runtime
