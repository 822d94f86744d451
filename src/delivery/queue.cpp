// SPDX-License-Identifier: MIT
#include "delivery/queue.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>

#include "runtime/descriptor.hpp"
#include "runtime/files/safe_path.hpp"
#include "util/text.hpp"

namespace healer::delivery {

using runtime::Descriptor;

namespace {

constexpr std::string_view kWaiting = ".letter";
constexpr std::string_view kSent = ".sent";
constexpr std::string_view kDamaged = ".bad";
constexpr std::string_view kUnfinished = ".new";
constexpr std::size_t kMostOfFile = std::size_t{4} << 20;

std::string name_with(const LetterKey& key, std::string_view suffix) { return file_name(key) + std::string(suffix); }

/// Opens a folder of ours, made where it is missing, and closes it to others. `at`: the folder in which it is.
Result<Descriptor> open_folder(int at, const std::string& name, const std::string& path) {
  if (::mkdirat(at, name.c_str(), 0700) != 0 && errno != EEXIST) return system_error(errno, "cannot make " + path);
  Descriptor folder(::openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return system_error(errno, "cannot open " + path);
  const Result<struct stat> facts = runtime::stat_of_own(folder.get(), path);
  if (!facts) return facts.error();
  if ((facts.value().st_mode & 07777) != 0700 && ::fchmod(folder.get(), 0700) != 0)
    return system_error(errno, "cannot close " + path + " to others");
  return folder;
}

Result<Descriptor> open_top(const std::string& directory) {
  if (const auto safe = runtime::safe_path("the queue of contacts", directory); !safe) return safe.error();
  return open_folder(AT_FDCWD, directory, directory);
}

Result<Descriptor> open_contact(const std::string& directory, const std::string& contact) {
  const Result<Descriptor> top = open_top(directory);
  if (!top) return top.error();
  return open_folder(top->get(), contact, directory + "/" + contact);
}

Result<void> write_whole(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error(errno, "cannot write an alert");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> put_one(int folder, const Letter& letter) {
  const std::string unfinished = name_with(letter.key, kUnfinished);
  ::unlinkat(folder, unfinished.c_str(), 0);
  const Descriptor file(::openat(folder, unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return system_error(errno, "cannot write an alert");
  Result<void> written = write_whole(file.get(), serialise(letter));
  if (written && ::fsync(file.get()) != 0) written = system_error(errno, "cannot write an alert");
  if (written && ::renameat(folder, unfinished.c_str(), folder, name_with(letter.key, kWaiting).c_str()) != 0)
    written = system_error(errno, "cannot write an alert");
  if (!written) ::unlinkat(folder, unfinished.c_str(), 0);
  return written;
}

Result<std::string> text_of_file(int folder, const std::string& name) {
  const Descriptor file(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) return system_error(errno, "cannot read alert " + name);
  std::string text;
  std::array<char, 65'536> piece;
  while (text.size() <= kMostOfFile) {
    const ssize_t size = ::read(file.get(), piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return system_error(errno, "cannot read alert " + name);
    if (size == 0) break;
    text.append(piece.data(), static_cast<std::size_t>(size));
  }
  return text;
}

Result<Letter> read_one(int folder, const std::string& path, const LetterKey& key) {
  const std::string name = name_with(key, kWaiting);
  const Result<std::string> text = text_of_file(folder, name);
  if (!text) return text.error();
  if (std::optional<Letter> letter = parse_letter(*text); letter && letter->key == key) return std::move(*letter);
  const std::string aside = name_with(key, kDamaged);
  ::renameat(folder, name.c_str(), folder, aside.c_str());
  return Error{0, "an alert is damaged, and was set aside: " + path + "/" + aside};
}

/// The names in a folder.
Result<std::vector<std::string>> names_in(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename());
  if (error) return system_error(error.value(), "cannot list " + path);
  std::ranges::sort(names);
  return names;
}

}  // namespace

Result<std::map<std::string, FoundLetters>> Queue::check(const Warn& warn) const {
  std::map<std::string, FoundLetters> all;
  struct stat facts {};
  if (::lstat(directory_.c_str(), &facts) != 0 && errno == ENOENT) return all;
  const Result<Descriptor> top = open_top(directory_);
  if (!top) return top.error();
  const Result<std::vector<std::string>> contacts = names_in(directory_);
  if (!contacts) return contacts.error();
  for (const std::string& contact : *contacts) {
    if (contact != to_lower(contact)) continue;  // none of ours
    const std::string path = directory_ + "/" + contact;
    const Result<Descriptor> folder = open_folder(top->get(), contact, path);
    if (!folder) {
      warn(folder.error().what);
      continue;
    }
    const Result<std::vector<std::string>> names = names_in(path);
    if (!names) {
      warn(names.error().what);
      continue;
    }
    FoundLetters& found = all[contact];
    for (const std::string& name : *names) {
      const std::size_t dot = name.find('.');
      const std::string_view suffix = std::string_view(name).substr(std::min(dot, name.size()));
      const std::optional<LetterKey> key = parse_file_name(std::string_view(name).substr(0, dot));
      if (!key) continue;
      if (suffix == kUnfinished) ::unlinkat(folder->get(), name.c_str(), 0);
      if (suffix == kSent) found.sent.push_back(*key);
      if (suffix != kWaiting) continue;
      Result<Letter> letter = read_one(folder->get(), path, *key);
      if (letter)
        found.waiting.push_back(std::move(*letter));
      else
        warn(letter.error().what);
    }
  }
  return all;
}

Result<void> Queue::put(const std::string& contact, std::span<const Letter> letters) const {
  const Result<Descriptor> folder = open_contact(directory_, contact);
  if (!folder) return folder.error();
  for (const Letter& letter : letters)
    if (Result<void> written = put_one(folder->get(), letter); !written) return written;
  // Whose folder is new is known only where the one above it was written.
  const Result<Descriptor> top = open_top(directory_);
  if (!top) return top.error();
  if (::fsync(folder->get()) != 0 || ::fsync(top->get()) != 0) return system_error(errno, "cannot write an alert");
  return {};
}

Result<Letter> Queue::read(const std::string& contact, const LetterKey& key) const {
  const Result<Descriptor> folder = open_contact(directory_, contact);
  if (!folder) return folder.error();
  return read_one(folder->get(), directory_ + "/" + contact, key);
}

Result<void> Queue::bury(const std::string& contact, const LetterKey& key) const {
  const Result<Descriptor> folder = open_contact(directory_, contact);
  if (!folder) return folder.error();
  if (::renameat(folder->get(), name_with(key, kWaiting).c_str(), folder->get(), name_with(key, kSent).c_str()) != 0) {
    const Descriptor made(errno != ENOENT ? -1
                                          : ::openat(folder->get(), name_with(key, kSent).c_str(),
                                                     O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!made) return system_error(errno, "cannot note that an alert is over");
  }
  if (::fsync(folder->get()) != 0) return system_error(errno, "cannot note that an alert is over");
  return {};
}

void Queue::forget(const std::string& contact, const LetterKey& key) const {
  if (const Result<Descriptor> folder = open_contact(directory_, contact))
    ::unlinkat(folder->get(), name_with(key, kSent).c_str(), 0);
}

}  // namespace healer::delivery
