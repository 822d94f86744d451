// SPDX-License-Identifier: MIT
// Letters on disk until a contact's server has taken them: a folder a contact (delivery/outbox/queue_folder) in one of
// healer's own, in it one file a letter.
//
//     team/00000000000000000042-0000019c8d2f1a3b.letter    alert and time of the cause: sorts in sending order
//
// Nothing is kept here but the place. Disks may not answer: every call belongs on a thread that may be lost.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "delivery/letter.hpp"
#include "util/result.hpp"

namespace healer::delivery {

/// What an earlier daemon has left of one contact.
struct FoundLetters {
  std::vector<Letter> waiting;  ///< in sending order
  std::vector<LetterKey> sent;  ///< in the order in which they were over
};

class LetterQueue {
 public:
  using Warn = std::function<void(std::string)>;

  explicit LetterQueue(std::string directory) : directory_(std::move(directory)) {}

  /// What there is, by contacts' names in lower case; nothing where there is no folder. Damaged letters are set aside.
  /// Of these, and of letters and contacts' folders that cannot be read, `warn` is told. Errors: the folder of all
  /// cannot be read, or is not ours alone.
  [[nodiscard]] Result<std::map<std::string, FoundLetters>> check(const Warn& warn) const;
  /// Puts letters to a contact on disk, to stay. Error: none of them need be there.
  [[nodiscard]] Result<void> put(const std::string& contact, std::span<const Letter> letters) const;
  /// A letter that waits. One that is damaged is set aside, and its Error has no code.
  [[nodiscard]] Result<Letter> read(const std::string& contact, const LetterKey& key) const;
  /// It is over, and will not be sent again. Also what never was here.
  [[nodiscard]] Result<void> bury(const std::string& contact, const LetterKey& key) const;
  /// That it was there need not be known any more.
  void forget(const std::string& contact, const LetterKey& key) const;

 private:
  std::string directory_;
};

}  // namespace healer::delivery
