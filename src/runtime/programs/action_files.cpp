// SPDX-License-Identifier: MIT
#include "runtime/programs/action_files.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <functional>
#include <sstream>
#include <string_view>
#include <system_error>

#include "runtime/files/pid_file.hpp"
#include "runtime/files/safe_path.hpp"
#include "runtime/inspection/proc_stat.hpp"
#include "util/hash.hpp"
#include "util/secrets/strike_out.hpp"

namespace healer::runtime {
namespace {

constexpr std::size_t kMostOfTrace = 64 * 1024;
constexpr std::size_t kMostOfRecord = 4096;
constexpr std::size_t kMostOfReason = 1000;
constexpr std::string_view kRecordSuffix = ".end";
constexpr std::string_view kUnfinishedSuffix = ".new";  // what a record is called until it is whole
constexpr std::size_t kRoom = 1280;                     // for the lines of the child and of the end
constexpr std::size_t kLargestBlock = 64 * 1024;  // of file systems: what is taken out of a file is so many of these
constexpr std::size_t kIdentityDigits = 16;       // hexadecimal digits
constexpr std::string_view kSecret = "[its output held a secret, and is not kept]\n";
constexpr std::string_view kCut = "\n[... output left out ...]\n";
constexpr std::size_t kStart = ActionFiles::kExcerpt / 4;  // of the output that is in an excerpt; and its end:
constexpr std::size_t kEnd = ActionFiles::kExcerpt - kStart - kCut.size();

constexpr std::string_view kHex = "0123456789abcdef";

/// One word of printable characters, whatever the text.
std::string encode(std::string_view text) {
  std::string word;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte > ' ' && byte < 0x7f && byte != '%') {
      word += letter;
    } else {
      word += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return word;
}

std::string decode(std::string_view word) {
  std::string text;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const std::size_t high = word[i] == '%' && i + 2 < word.size() ? kHex.find(word[i + 1]) : std::string_view::npos;
    const std::size_t low = high != std::string_view::npos ? kHex.find(word[i + 2]) : std::string_view::npos;
    if (low == std::string_view::npos) {
      text += word[i];
    } else {
      text += static_cast<char>(high << 4 | low);
      i += 2;
    }
  }
  return text;
}

std::string read_at(int file, std::size_t offset, std::size_t size) {
  std::string text(size, '\0');
  const ssize_t got = ::pread(file, text.data(), size, static_cast<off_t>(offset));
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

/// What a record says; nothing where it is not one, whole and as it was written.
std::optional<ActionFiles::End> parse_record(const std::string& text) {
  if (text.empty() || text.back() != '\n' || text.find('\n') != text.size() - 1) return std::nullopt;
  std::istringstream fields(text);
  std::string word, reason, more;
  int outcome = 0;
  std::int64_t elapsed = 0, when = 0;
  ActionFiles::End end;
  if (!(fields >> word >> outcome >> end.status >> elapsed >> when) || word != "ended" || outcome < 0 ||
      outcome > static_cast<int>(engine::Outcome::NotStarted) || elapsed < 0)
    return std::nullopt;
  fields >> reason;
  if (fields >> more) return std::nullopt;
  end.outcome = static_cast<engine::Outcome>(outcome);
  end.elapsed = Duration{elapsed};
  end.when = WallTime{Duration{when}};
  end.reason = decode(reason);
  return end;
}

std::optional<ActionFiles::End> read_record(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat facts {};
  if (!file || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_uid != ::geteuid() ||
      static_cast<std::size_t>(facts.st_size) > kMostOfRecord)
    return std::nullopt;
  return parse_record(read_at(file.get(), 0, kMostOfRecord));
}

/// Begins ID.pid and takes the room of the lines that follow, which go where the blanks begin.
bool begin_trace(int file, const ActionFiles::Start& start) {
  std::string text = fmt::format("boot {}\ndeadline {}\n", start.boot, start.deadline.count());
  if (start.locked) text += "locked\n";
  if (start.output == ActionFiles::Shown::Nothing) text += "secret\n";
  if (start.output == ActionFiles::Shown::Struck) text += "given\n";
  if (!start.service.empty()) text += fmt::format("service {}\n", encode(start.service));
  if (const auto& purpose = start.purpose; purpose && purpose->job)
    text += fmt::format("step {} {}\n", encode(purpose->service), to_string(purpose->program));
  else if (purpose)
    text += fmt::format("for {} {} {:d} {} {}\n", purpose->healing.number(), to_string(purpose->rule),
                        purpose->recovery, encode(purpose->service), encode(purpose->target));
  return ::ftruncate(file, 0) == 0 && write_whole(file, text + std::string(kRoom, ' ') + '\n') &&
         ::lseek(file, static_cast<off_t>(text.size()), SEEK_SET) >= 0;
}

std::size_t size_of(int file) {
  struct stat facts {};
  return ::fstat(file, &facts) == 0 ? static_cast<std::size_t>(facts.st_size) : 0;
}

/// Makes one, and looks whether it is ours alone.
Result<void> prepare(const std::string& path) {
  if (const auto safe = safe_path("the folder of actions", path); !safe) return safe.error();
  if (::mkdir(path.c_str(), 0700) == 0) return {};
  if (errno != EEXIST) return system_error(errno, "cannot make the directory " + path);
  const Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat facts {};
  if (!directory || ::fstat(directory.get(), &facts) != 0)
    return system_error(errno, "cannot open the directory " + path);
  // What is in it may be another's: it is not enough to close it now.
  if (facts.st_uid != ::geteuid() || (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return Error{EPERM, fmt::format("the folder of actions {} is not safe: others can write to it, and programs are "
                                    "taken to run by what is in it; remove it",
                                    path)};
  if ((facts.st_mode & 07777) != 0700) ::fchmod(directory.get(), 0700);
  return {};
}

}  // namespace

Hash128 ActionFiles::Purpose::name_of(const std::vector<std::string>& command) {
  std::string words;
  for (const std::string& word : command) words.append(word).push_back('\0');
  return hash128(words);
}

Result<void> ActionFiles::prepare_directory() const {
  if (!spare_.empty() && ::access(spare_.c_str(), F_OK) == 0)
    if (const auto safe = prepare(spare_); !safe) return safe;
  const auto made = prepare(directory_);
  if (made || spare_.empty() || !is_sick_disk(made.error())) return made;
  return prepare_spare();
}

Result<void> ActionFiles::prepare_spare() const {
  ::mkdir(std::filesystem::path(spare_).parent_path().c_str(), 0755);
  return prepare(spare_);
}

Result<std::string> ActionFiles::identity() const {
  struct statx facts {};
  if (::statx(AT_FDCWD, directory_.c_str(), 0, STATX_INO | STATX_BTIME, &facts) != 0 &&
      (spare_.empty() || ::statx(AT_FDCWD, spare_.c_str(), 0, STATX_INO | STATX_BTIME, &facts) != 0)) {
    return system_error(errno, "cannot look at the directory " + directory_);
  }
  // The number of a directory that has gone is given to the next one, hence the time as well.
  const std::string all = fmt::format("{}:{} {} {}.{}", facts.stx_dev_major, facts.stx_dev_minor, facts.stx_ino,
                                      facts.stx_btime.tv_sec, facts.stx_btime.tv_nsec);
  return to_string(hash128(all)).substr(0, kIdentityDigits);
}

/// In the spare directory only what is there.
std::string ActionFiles::path(engine::ActionId action, std::string_view suffix) const {
  if (!spare_.empty()) {
    std::string spare = fmt::format("{}/{}", spare_, action.number());
    if (::access((spare + ".out").c_str(), F_OK) == 0) return spare.append(suffix);
  }
  return fmt::format("{}/{}{}", directory_, action.number(), suffix);
}

std::string ActionFiles::output_path(engine::ActionId action) const { return path(action, ".out"); }

std::string ActionFiles::pid_path(engine::ActionId action) const { return path(action, ".pid"); }

bool ActionFiles::was_begun(engine::ActionId action) const { return ::access(output_path(action).c_str(), F_OK) == 0; }

Result<ActionFiles::Opened> ActionFiles::create(engine::ActionId action, const Start& start,
                                                std::optional<std::uint32_t> uid, bool durable) const {
  if (was_begun(action)) return system_error(EEXIST, "cannot make " + output_path(action));
  auto made = create_in(directory_, action, start, uid, durable);
  if (made || spare_.empty()) return made;
  if (made.error().code == ENOENT) {  // the directory could not be made when healer started
    const auto prepared = prepare(directory_);
    if (prepared) return create_in(directory_, action, start, uid, durable);
    made = prepared.error();
  }
  if (!is_sick_disk(made.error())) return made;
  if (const auto prepared = prepare_spare(); !prepared) return made;
  auto spare = create_in(spare_, action, start, uid, durable);
  return spare ? std::move(spare) : std::move(made);
}

Result<ActionFiles::Opened> ActionFiles::create_in(const std::string& directory_path, engine::ActionId action,
                                                   const Start& start, std::optional<std::uint32_t> uid,
                                                   bool durable) const {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
  Opened opened;
  const std::string path = fmt::format("{}/{}.out", directory_path, action.number());
  const std::string pid = fmt::format("{}/{}.pid", directory_path, action.number());
  if (struct stat facts{}; ::lstat(path.c_str(), &facts) == 0) return system_error(EEXIST, "cannot make " + path);
  opened.proof = Descriptor(::open(pid.c_str(), kFlags, 0600));
  Descriptor directory(::open(directory_path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto failed = [&](const std::string& what, const std::string& which) -> Error {
    const int code = errno;
    ::unlink(path.c_str());
    ::unlink(pid.c_str());
    return system_error(code, what + which);
  };
  if (!opened.proof || !directory) return failed("cannot make ", pid);
  // Some file systems know no locks.
  const bool locked = ::flock(opened.proof.get(), LOCK_EX | LOCK_NB) == 0;
  if (!locked && errno == EWOULDBLOCK) return system_error(EAGAIN, "cannot lock " + pid);
  Start begun = start;
  begun.locked = locked;
  if (!begin_trace(opened.proof.get(), begun)) {
    if (!start.service.empty() || (!spare_.empty() && directory_path != spare_)) return failed("cannot write ", pid);
    if (::ftruncate(opened.proof.get(), 0) == 0) ::lseek(opened.proof.get(), 0, SEEK_SET);
  }
  opened.output = Descriptor(::open(path.c_str(), kFlags | O_APPEND | O_EXCL, 0600));
  if (!opened.output && errno == EEXIST) return system_error(EEXIST, "cannot make " + path);
  if (!opened.output) return failed("cannot make ", path);
  // The program may reopen /dev/stdout; the directory keeps other users out.
  if (uid && ::fchown(opened.output.get(), *uid, static_cast<gid_t>(-1)) != 0) return failed("cannot give away ", path);
  if (durable && (::fsync(opened.output.get()) != 0 || ::fsync(directory.get()) != 0))
    return failed("cannot write ", path);
  opened.folder = std::move(directory);
  return opened;
}

void ActionFiles::forget(engine::ActionId action) const {
  remove_record(action);
  const std::string pid = pid_path(action);  // before the other has gone
  ::unlink(output_path(action).c_str());
  ::unlink(pid.c_str());
}

Result<ActionFiles::Trace> ActionFiles::read(engine::ActionId action) const {
  const std::string path = pid_path(action);
  Trace trace;
  const Descriptor lock(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!lock && errno == ENOENT) return trace;
  if (!lock) return system_error(errno, "cannot read " + path);
  struct stat facts {};
  if (::fstat(lock.get(), &facts) != 0 || facts.st_uid != ::geteuid())
    return Error{EPERM, path + " belongs to another user"};
  // Before the look: what is not there then comes no more.
  const bool locked = ::flock(lock.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  const auto text = read_head(AT_FDCWD, path.c_str(), kMostOfTrace);
  if (!text) return text.error();
  std::istringstream file(*text);
  for (std::string line; std::getline(file, line) && !file.eof();) {  // one without its end was cut
    std::istringstream fields(line);
    std::string word;
    fields >> word;
    if (word == "boot") {
      fields >> trace.start.boot;
    } else if (word == "deadline") {
      std::int64_t milliseconds_since_boot = 0;
      fields >> milliseconds_since_boot;
      trace.start.deadline = Duration{milliseconds_since_boot};
    } else if (word == "waiter") {
      ProcessIdentity waiter;
      if (fields >> waiter.pid >> waiter.start_ticks && waiter.pid > 0) trace.waiter = waiter;
    } else if (word == "locked") {
      trace.start.locked = true;
    } else if (word == "secret") {
      trace.start.output = Shown::Nothing;
    } else if (word == "given") {
      trace.start.output = Shown::Struck;
    } else if (word == "service") {
      fields >> word;
      trace.start.service = decode(word);
    } else if (word == "step") {
      std::string program;
      if (fields >> word >> program)
        trace.start.purpose = Purpose{
            .job = true, .program = parse_hash128(program).value_or(Hash128{}), .rule = {}, .service = decode(word)};
    } else if (word == "for") {
      std::uint64_t healing = 0;
      Purpose purpose;
      std::string rule, target;
      if (fields >> healing >> rule >> purpose.recovery >> word) {
        fields >> target;  // a rule's has none
        purpose.healing = engine::HealingId{healing};
        purpose.rule = parse_hash128(rule).value_or(Hash128{});
        purpose.service = decode(word);
        purpose.target = decode(target);
        trace.start.purpose = std::move(purpose);
      }
    } else if (word == "ended") {
      int outcome = 0;
      std::int64_t elapsed = 0;
      End end;
      if (fields >> outcome >> end.status >> elapsed && outcome >= 0 &&
          outcome <= static_cast<int>(engine::Outcome::NotStarted)) {
        end.outcome = static_cast<engine::Outcome>(outcome);
        end.elapsed = Duration{elapsed};
        trace.end = std::move(end);
      }
    } else if (const auto stat = parse_proc_stat(line)) {
      trace.pid = stat->pid;
      trace.start_ticks = stat->start_ticks;
    }
  }
  if (::lstat(output_path(action).c_str(), &facts) == 0 && facts.st_uid != ::geteuid()) trace.owner = facts.st_uid;
  if (auto record = read_record(this->path(action, kRecordSuffix))) trace.end = std::move(record);
  trace.starting = locked && trace.pid < 0 && !trace.end;
  return trace;
}

bool ActionFiles::write_end(engine::ActionId action, const End& end, bool durable) const {
  const Descriptor file(::open(pid_path(action).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return false;
  // Over the blanks after the last line, in the place of its end.
  const std::size_t last = read_at(file.get(), 0, kMostOfTrace).find_last_not_of(" \n");
  ::lseek(file.get(), last == std::string::npos ? 0 : static_cast<off_t>(last + 1), SEEK_SET);
  return write_whole(file.get(), fmt::format("\nended {} {} {}\n", static_cast<int>(end.outcome), end.status,
                                             end.elapsed.count())) &&
         (!durable || ::fdatasync(file.get()) == 0);
}

Result<void> ActionFiles::write_record(int folder, engine::ActionId action, const End& end) {
  const std::string name = fmt::format("{}{}", action.number(), kRecordSuffix);
  const std::string unfinished = name + std::string(kUnfinishedSuffix);
  const std::string text =
      fmt::format("ended {} {} {} {} {}\n", static_cast<int>(end.outcome), end.status, end.elapsed.count(),
                  end.when.time_since_epoch().count(), encode(std::string_view(end.reason).substr(0, kMostOfReason)));
  ::unlinkat(folder, unfinished.c_str(), 0);
  const Descriptor file(
      ::openat(folder, unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file || !write_whole(file.get(), text) || ::fsync(file.get()) != 0 ||
      ::renameat(folder, unfinished.c_str(), folder, name.c_str()) != 0 || ::fsync(folder) != 0) {
    const Error error = system_error(errno, "cannot write " + name);
    ::unlinkat(folder, unfinished.c_str(), 0);
    return error;
  }
  return {};
}

void ActionFiles::remove_record(engine::ActionId action) const {
  const std::string record = path(action, kRecordSuffix);
  ::unlink(record.c_str());
  ::unlink((record + std::string(kUnfinishedSuffix)).c_str());
}

void ActionFiles::remove_records(const std::unordered_set<std::uint64_t>& keep) const {
  std::error_code ignored;
  for (const std::string* directory : {&directory_, &spare_}) {
    if (directory->empty()) continue;
    for (const auto& entry : std::filesystem::directory_iterator(*directory, ignored)) {
      const std::string name = entry.path().filename();
      std::uint64_t id = 0;
      const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), id);
      // What a waiter of one in `keep` has begun it may be about to end.
      if (error != std::errc{} || !std::string_view(rest).starts_with(kRecordSuffix) || keep.contains(id)) continue;
      if (const auto trace = read(engine::ActionId{id}); trace && trace->start.output != Shown::All)
        forget_output(engine::ActionId{id});
      ::unlink(entry.path().c_str());
    }
  }
}

void ActionFiles::write_reason(engine::ActionId action, const std::string& reason) const {
  const Descriptor file(::open(output_path(action).c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
  if (file) write_whole(file.get(), reason + "\n");
}

ActionFiles::Size ActionFiles::thin(engine::ActionId action) const {
  const std::string path = output_path(action);
  struct stat facts {};
  // One call is all that most files need.
  if (::lstat(path.c_str(), &facts) != 0) return {};
  const auto size = static_cast<std::size_t>(facts.st_size);
  if (static_cast<std::size_t>(facts.st_blocks) * 512 <= 2 * (kHead + kTail) || size <= kHead + kTail) return {size};
  const Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return {size};
  const auto middle = static_cast<off_t>(size - kHead - kTail);
  if (::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, kHead, middle) != 0) cut(action);
  if (size > kLongest) {  // what is left of the hole shows that something is missing
    const std::size_t surplus = (size - kHead - kTail) / kLargestBlock * kLargestBlock - 2 * kLargestBlock;
    ::fallocate(file.get(), FALLOC_FL_COLLAPSE_RANGE, kLargestBlock, static_cast<off_t>(surplus));
  }
  return {size, true};
}

void ActionFiles::cut(engine::ActionId action) const {
  const Descriptor file(::open(output_path(action).c_str(), O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return;
  const std::size_t size = size_of(file.get());
  if (size <= kHead + kTail + kCut.size()) return;
  const std::string tail = read_at(file.get(), size - kTail, kTail);
  if (::ftruncate(file.get(), kHead) == 0) write_whole(file.get(), std::string(kCut) + tail);
}

std::string ActionFiles::excerpt(engine::ActionId action) const {
  const Descriptor file(::open(output_path(action).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return {};
  const std::size_t size = size_of(file.get());
  if (size <= kExcerpt) return read_at(file.get(), 0, size);
  return read_at(file.get(), 0, kStart) + std::string(kCut) + read_at(file.get(), size - kEnd, kEnd);
}

std::string ActionFiles::excerpt(const std::string& output) {
  if (output.size() <= kExcerpt) return output;
  return output.substr(0, kStart) + std::string(kCut) + output.substr(output.size() - kEnd);
}

std::string ActionFiles::kept(engine::ActionId action) const {
  const Descriptor file(::open(output_path(action).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return file ? read_at(file.get(), 0, kHead + kTail + kCut.size()) : std::string();
}

void ActionFiles::forget_output(engine::ActionId action) const {
  const Descriptor file(::open(output_path(action).c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
  if (file && ::ftruncate(file.get(), 0) == 0) write_whole(file.get(), kSecret);
}

void ActionFiles::strike_output(engine::ActionId action, const std::vector<std::string>& secrets) const {
  const std::string output = kept(action);
  const std::string rest = strike_out(output, secrets);
  if (rest == output) return;
  const Descriptor file(::open(output_path(action).c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
  if (file && ::ftruncate(file.get(), 0) == 0) write_whole(file.get(), rest);
}

std::string ActionFiles::true_path(engine::ActionId action) const {
  std::error_code absent;
  const auto path = std::filesystem::canonical(output_path(action), absent);
  return absent ? std::string() : path.string();
}

std::vector<engine::ActionId> ActionFiles::actions() const {
  std::vector<engine::ActionId> ids;
  std::error_code ignored;
  for (const std::string* directory : {&directory_, &spare_}) {
    if (directory->empty()) continue;
    for (const auto& entry : std::filesystem::directory_iterator(*directory, ignored)) {
      const std::string name = entry.path().filename();
      std::uint64_t id = 0;
      const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), id);
      if (error == std::errc{} && std::string_view(rest) == ".out") ids.emplace_back(id);
    }
  }
  std::ranges::sort(ids, std::greater<>());
  return ids;
}

void ActionFiles::remove_old(std::size_t count, const std::unordered_set<std::uint64_t>& keep,
                             engine::ActionId newest) const {
  const std::vector<engine::ActionId> ids = actions();
  for (std::size_t i = count; i < ids.size(); ++i) {
    if (ids[i] <= newest && keep.count(ids[i].number()) == 0) forget(ids[i]);
  }
}

}  // namespace healer::runtime
