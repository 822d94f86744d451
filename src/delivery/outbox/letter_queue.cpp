// SPDX-License-Identifier: MIT
#include "delivery/outbox/letter_queue.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <optional>

#include "delivery/backlog.hpp"
#include "delivery/outbox/queue_folder.hpp"
#include "util/text.hpp"

namespace healer::delivery {
namespace {

constexpr QueueForm kLetters{.suffix = ".letter",
                             .place = "the queue of contacts",
                             .what = "alert",
                             .is_name = [](std::string_view name) { return parse_file_name(name).has_value(); },
                             .most_of_file = std::uint64_t{4} << 20};

Result<QueueFolder> open_top(const std::string& directory) { return QueueFolder::open(directory, kLetters); }

Result<QueueFolder> open_contact(const std::string& directory, const std::string& contact) {
  const Result<QueueFolder> top = open_top(directory);
  if (!top) return top.error();
  return QueueFolder::open_in(*top, contact, kLetters);
}

Result<Letter> read_letter(const QueueFolder& folder, const LetterKey& key) {
  const Result<std::string> text = folder.read(file_name(key));
  if (!text && text.error().code == ENOENT)
    return Error{0, "an alert has vanished: " + folder.path() + "/" + file_name(key)};
  if (!text && text.error().code != 0) return text.error();
  std::optional<Letter> letter = text ? parse_letter(*text) : std::nullopt;
  if (letter && letter->key == key) return std::move(*letter);
  const std::string aside = folder.set_aside(file_name(key), Limits{}.damaged);
  return Error{0, "an alert is damaged, and was set aside: " + folder.path() + "/" + aside};
}

Result<FoundLetters> look_into(const QueueFolder& folder, const LetterQueue::Warn& warn) {
  const Result<FoundFiles> files = folder.list();
  if (!files) return files.error();
  FoundLetters found;
  for (const std::string& name : files->sent) found.sent.push_back(*parse_file_name(name));
  for (const FoundFiles::Waiting& one : files->waiting) {
    Result<Letter> letter = read_letter(folder, *parse_file_name(one.name));
    if (letter)
      found.waiting.push_back(std::move(*letter));
    else
      warn(letter.error().what);
  }
  return found;
}

}  // namespace

Result<std::map<std::string, FoundLetters>> LetterQueue::check(const Warn& warn) const {
  std::map<std::string, FoundLetters> all;
  struct stat facts {};
  if (::lstat(directory_.c_str(), &facts) != 0 && errno == ENOENT) return all;
  const Result<QueueFolder> top = open_top(directory_);
  if (!top) return top.error();
  const Result<std::vector<std::string>> contacts = top->names();
  if (!contacts) return contacts.error();
  for (const std::string& contact : *contacts) {
    if (contact != to_lower(contact)) continue;  // none of ours
    const Result<QueueFolder> folder = QueueFolder::open_in(*top, contact, kLetters);
    Result<FoundLetters> found = folder ? look_into(*folder, warn) : Result<FoundLetters>(folder.error());
    if (found)
      all.emplace(contact, std::move(*found));
    else
      warn(found.error().what);
  }
  return all;
}

Result<void> LetterQueue::put(const std::string& contact, std::span<const Letter> letters) const {
  const Result<QueueFolder> folder = open_contact(directory_, contact);
  if (!folder) return folder.error();
  for (const Letter& letter : letters)
    if (Result<void> written = folder->put(file_name(letter.key), serialise(letter)); !written) return written;
  if (Result<void> synced = folder->sync(); !synced) return synced;
  // Whose folder is new is known only where the one above it was written.
  const Result<QueueFolder> top = open_top(directory_);
  return top ? top->sync() : Result<void>(top.error());
}

Result<Letter> LetterQueue::read(const std::string& contact, const LetterKey& key) const {
  const Result<QueueFolder> folder = open_contact(directory_, contact);
  if (!folder) return folder.error();
  return read_letter(*folder, key);
}

Result<void> LetterQueue::bury(const std::string& contact, const LetterKey& key) const {
  const Result<QueueFolder> folder = open_contact(directory_, contact);
  if (!folder) return folder.error();
  if (Result<void> buried = folder->bury(file_name(key)); !buried) return buried;
  return folder->sync();
}

void LetterQueue::forget(const std::string& contact, const LetterKey& key) const {
  if (const Result<QueueFolder> folder = open_contact(directory_, contact)) folder->forget(file_name(key));
}

}  // namespace healer::delivery
