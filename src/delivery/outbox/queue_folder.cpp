// SPDX-License-Identifier: MIT
#include "delivery/outbox/queue_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <tuple>

#include <spdlog/fmt/fmt.h>

#include "runtime/files/safe_path.hpp"

namespace healer::delivery {

using runtime::Descriptor;

namespace {

constexpr std::string_view kSentSuffix = ".sent";
constexpr std::string_view kDamagedSuffix = ".bad";
constexpr std::string_view kUnfinishedSuffix = ".new";

std::string sent_name(const std::string& name) { return name + std::string(kSentSuffix); }

Result<void> write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error(errno, "cannot write it");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

/// Makes a file that has its name only when what `write` has written to it is on disk.
template <typename Write>
Result<void> make_file(int folder, const std::string& stem, const std::string& name, Write write) {
  const std::string unfinished = stem + std::string(kUnfinishedSuffix);
  ::unlinkat(folder, unfinished.c_str(), 0);
  const Descriptor file(
      ::openat(folder, unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return system_error(errno, "cannot make it");
  Result<void> written = write(file.get());
  if (written && (::fsync(file.get()) != 0 || ::renameat(folder, unfinished.c_str(), folder, name.c_str()) != 0))
    written = system_error(errno, "cannot write it to the disk");
  if (!written) ::unlinkat(folder, unfinished.c_str(), 0);
  return written;
}

/// The name without that suffix; empty: it has another.
std::string stem_of(std::string_view name, std::string_view suffix) {
  return name.ends_with(suffix) ? std::string(name.substr(0, name.size() - suffix.size())) : std::string();
}

}  // namespace

// ---- the folder ---------------------------------------------------------------------------------------------------

Result<QueueFolder> QueueFolder::open_at(int at, const std::string& name, const std::string& path,
                                         const QueueForm& form) {
  if (::mkdirat(at, name.c_str(), 0700) != 0 && errno != EEXIST) return system_error(errno, "cannot make " + path);
  Descriptor folder(::openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return system_error(errno, "cannot open " + path);
  const Result<struct stat> facts = runtime::stat_of_own(folder.get(), path);
  if (!facts) return facts.error();
  if ((facts->st_mode & 07777) != 0700 && ::fchmod(folder.get(), 0700) != 0)
    return system_error(errno, "cannot close " + path + " to others");
  return QueueFolder(std::move(folder), path, form);
}

Result<QueueFolder> QueueFolder::open(const std::string& path, const QueueForm& form) {
  if (const auto safe = runtime::safe_path(form.place, path); !safe) return safe.error();
  return open_at(AT_FDCWD, path, path, form);
}

Result<QueueFolder> QueueFolder::open_in(const QueueFolder& above, const std::string& name, const QueueForm& form) {
  return open_at(above.folder_.get(), name, above.path_ + "/" + name, form);
}

Result<std::vector<std::string>> QueueFolder::names() const {
  const auto failed = [this](int code) { return system_error(code, "cannot list " + path_); };
  // A second descriptor: closedir() closes the one it reads.
  Descriptor reading(::openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!reading) return failed(errno);
  const runtime::Directory entries(::fdopendir(reading.get()));
  if (!entries) return failed(errno);
  (void)reading.release();
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) return failed(errno);
  std::ranges::sort(names);
  return names;
}

Result<FoundFiles> QueueFolder::list() const {
  struct Sent {
    timespec since;
    std::string name;
  };
  const Result<std::vector<std::string>> all = names();
  if (!all) return all.error();
  FoundFiles found;
  std::vector<Sent> sent;
  for (const std::string& name : *all) {
    struct stat facts {};
    if (name.ends_with(kUnfinishedSuffix)) {
      ::unlinkat(folder_.get(), name.c_str(), 0);
    } else if (const std::string stem = stem_of(name, form_->suffix); !stem.empty()) {
      if (!form_->is_name(stem))
        found.foreign.push_back(stem);
      else if (::fstatat(folder_.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0)
        found.waiting.push_back({stem, static_cast<std::uint64_t>(facts.st_size)});
    } else if (const std::string over = stem_of(name, kSentSuffix); form_->is_name(over)) {
      if (::fstatat(folder_.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0)
        sent.push_back({facts.st_mtim, over});
    }
  }
  std::ranges::sort(sent, [](const Sent& a, const Sent& b) {
    return std::tie(a.since.tv_sec, a.since.tv_nsec, a.name) < std::tie(b.since.tv_sec, b.since.tv_nsec, b.name);
  });
  for (Sent& one : sent) found.sent.push_back(std::move(one.name));
  return found;
}

// ---- one of its files ---------------------------------------------------------------------------------------------

Result<void> QueueFolder::put(const std::string& name, std::string_view text) const {
  const Result<void> made =
      make_file(folder_.get(), name, waiting_name(name), [text](int file) { return write_all(file, text); });
  return made ? made
              : Result<void>(system_error(made.error().code, fmt::format("cannot write {} {}", form_->what, name)));
}

Result<void> QueueFolder::sync() const {
  if (::fsync(folder_.get()) != 0) return system_error(errno, fmt::format("cannot write {} to the disk", form_->place));
  return {};
}

Result<std::string> QueueFolder::read(const std::string& name) const {
  const std::string file_name = waiting_name(name);
  const auto failed = [&](int code) {
    return system_error(code, fmt::format("cannot read {} {}", form_->what, file_name));
  };
  const Descriptor file(::openat(folder_.get(), file_name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat facts {};
  const bool is_link = !file && errno == ELOOP;
  if (!is_link && (!file || ::fstat(file.get(), &facts) != 0)) return failed(errno);
  if (is_link || !S_ISREG(facts.st_mode) || static_cast<std::uint64_t>(facts.st_size) > form_->most_of_file)
    return Error{0, file_name + " is no file of this queue"};
  std::string text(static_cast<std::size_t>(facts.st_size), '\0');
  std::size_t length = 0;
  while (length < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + length, text.size() - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(errno);
    if (got == 0) break;
    length += static_cast<std::size_t>(got);
  }
  text.resize(length);
  return text;
}

Result<void> QueueFolder::bury(const std::string& name) const {
  const std::string over = sent_name(name);
  const auto failed = [&] {
    return system_error(errno, fmt::format("cannot note that {} {} is over", form_->what, name));
  };
  if (::renameat(folder_.get(), waiting_name(name).c_str(), folder_.get(), over.c_str()) != 0 && errno != ENOENT)
    return failed();
  // Its text is needed no more; the new time of its change orders the tombstones.
  const Descriptor emptied(
      ::openat(folder_.get(), over.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!emptied && ::faccessat(folder_.get(), over.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0) return failed();
  return {};
}

void QueueFolder::forget(const std::string& name) const { ::unlinkat(folder_.get(), sent_name(name).c_str(), 0); }

std::string QueueFolder::set_aside(const std::string& name, std::size_t most) const {
  const std::string aside = name + std::string(kDamagedSuffix);
  ::renameat(folder_.get(), waiting_name(name).c_str(), folder_.get(), aside.c_str());
  Result<std::vector<std::string>> damaged = names();
  if (!damaged) return aside;
  std::erase_if(*damaged, [&](const std::string& one) { return !one.ends_with(kDamagedSuffix) || one == aside; });
  for (std::size_t i = 0; damaged->size() - i >= std::max<std::size_t>(most, 1); ++i)
    ::unlinkat(folder_.get(), (*damaged)[i].c_str(), 0);
  return aside;
}

// ---- to another place ---------------------------------------------------------------------------------------------

namespace {

/// Copies a file of one queue to another file system. The times are kept: they order the tombstones.
Result<void> copy_file(int from, int to, const std::string& stem, const std::string& name) {
  const Descriptor source(::openat(from, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat facts {};
  if (!source || ::fstat(source.get(), &facts) != 0) return system_error(errno, "cannot open it");
  return make_file(to, stem, name, [&](int target) -> Result<void> {
    std::array<char, 65'536> piece;
    while (const ssize_t size = ::read(source.get(), piece.data(), piece.size())) {
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) return system_error(errno, "cannot read it");
      const std::string_view text(piece.data(), static_cast<std::size_t>(size));
      if (Result<void> written = write_all(target, text); !written) return written;
    }
    const timespec times[] = {facts.st_atim, facts.st_mtim};
    if (::futimens(target, times) != 0) return system_error(errno, "cannot set its times");
    return {};
  });
}

}  // namespace

/// Moves a file to another queue. One that was copied is noted in `copied`, to go when the copy is there to stay.
Result<void> QueueFolder::move_file(const QueueFolder& to, const std::string& stem, const std::string& name,
                                    std::vector<std::string>& copied) const {
  if (::renameat(folder_.get(), name.c_str(), to.folder_.get(), name.c_str()) == 0) return {};
  if (errno != EXDEV) return system_error(errno, fmt::format("cannot move {} {}", form_->what, name));
  // It may have been copied, and sent, by a daemon that could not remove it here.
  if (::faccessat(to.folder_.get(), sent_name(stem).c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
    if (const Result<void> done = copy_file(folder_.get(), to.folder_.get(), stem, name); !done)
      return system_error(done.error().code, fmt::format("cannot copy {} {}", form_->what, name));
  }
  copied.push_back(name);
  return {};
}

Result<bool> QueueFolder::take_over(const std::string& former, const std::string& path, const QueueForm& form,
                                    const std::string& beside) {
  struct stat facts {};
  if (::lstat(former.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode)) return false;
  QueueFolder from(Descriptor(::open(former.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)), former, form);
  if (!from.folder_) return system_error(errno, "cannot open " + former);
  if (const auto own = runtime::stat_of_own(from.folder_.get(), former); !own) return own.error();
  const Result<QueueFolder> to = open(path, form);
  if (!to) return to.error();
  const Result<std::vector<std::string>> all = from.names();
  if (!all) return all.error();
  std::vector<std::string> copied;
  std::optional<Error> failed;
  for (const std::string& name : *all) {
    std::string stem = stem_of(name, form.suffix);
    if (stem.empty()) stem = stem_of(name, kSentSuffix);
    if (!form.is_name(stem)) continue;
    if (Result<void> moved = from.move_file(*to, stem, name, copied); !moved && !failed) failed = moved.error();
  }
  // What is there twice must not stay so, whatever became of the rest: here it would not be known that it was sent.
  if (Result<void> synced = to->sync(); !synced) return synced.error();
  for (const std::string& name : copied) {
    if (::unlinkat(from.folder_.get(), name.c_str(), 0) != 0)
      failed = system_error(errno, fmt::format("cannot remove {} {}", form.what, name));
  }
  if (failed) return Error{failed->code, former + ": " + failed->what};
  ::unlinkat(from.folder_.get(), beside.c_str(), 0);
  ::rmdir(former.c_str());  // where there are damaged ones in it, it stays for whom they are set aside
  return true;
}

}  // namespace healer::delivery
