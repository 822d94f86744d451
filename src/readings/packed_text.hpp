// SPDX-License-Identifier: MIT
// The text of rules as it is kept while nobody reads it: it is as long as its files, and says most things many times.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "readings/text_code.hpp"
#include "util/hash.hpp"

namespace healer::readings {

class PackedText {
 public:
  explicit PackedText(TextBytes text);

  /// What it was made of.
  [[nodiscard]] TextBytes bytes() const;
  [[nodiscard]] const std::string& contents() const { return contents_; }
  /// The bytes that it takes, about.
  [[nodiscard]] std::size_t size() const;

 private:
  struct Part {
    Hash128 hash;
    std::string packed;
    std::size_t size = 0;  ///< not packed
  };

  std::string contents_;
  std::vector<Part> parts_;
};

}  // namespace healer::readings
