// SPDX-License-Identifier: MIT
// Letters on disk until a contact's server has taken them: a folder a contact (0700) in one of healer's own, in it one
// file a letter (0600).
//
//     team/00000000000000000042-0000019c8d2f1a3b.letter    alert and time of the cause: sorts in sending order
//     ....sent                                               it was sent or given up, never to be sent again
//     ....bad                                                damaged: set aside for a person to look at
//
// A letter is put under its final name only when it is on disk whole, and becomes its own tombstone by one rename, so a
// crash at any point leaves it waiting or sent. It may be sent twice where the crash comes between the server's answer
// and that rename. Who uses this bounds it.
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
  std::vector<LetterKey> sent;  ///< in their order
};

class Queue {
 public:
  using Warn = std::function<void(std::string)>;

  explicit Queue(std::string directory) : directory_(std::move(directory)) {}

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
