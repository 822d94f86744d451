// SPDX-License-Identifier: MIT
// A POSIX extended regular expression. Its languages can make matching take for ever: not for the loop thread. Most
// that is looked at matches none: where the text is missing that it cannot do without, it is neither matched nor
// compiled.
#pragma once

#include <regex.h>

#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "util/regex.hpp"

namespace healer::runtime {

class Pattern {
 public:
  explicit Pattern(std::string text) : text_(std::move(text)), literal_(required_literal(text_)) {}
  ~Pattern() {
    if (error_ == 0) ::regfree(&compiled_);
  }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  [[nodiscard]] const std::string& text() const { return text_; }
  /// Not 0 where it does not compile; it may not be matched then. Compiles it.
  [[nodiscard]] int error() const {
    if (!error_)
      error_ =
          regex_problem(text_).empty() ? ::regcomp(&compiled_, text_.c_str(), REG_EXTENDED | REG_NOSUB) : REG_ESPACE;
    return *error_;
  }
  /// False where neither `text` nor any part of it matches. At once, and whether it compiles or not.
  [[nodiscard]] bool may_match(std::string_view text) const {
    return literal_.empty() || ::memmem(text.data(), text.size(), literal_.data(), literal_.size()) != nullptr;
  }
  /// Requires: error() is 0, or may_match(text) is false.
  [[nodiscard]] bool matches(std::string_view text) const {
    if (!may_match(text) || error() != 0) return false;
    regmatch_t whole[1] = {{0, static_cast<regoff_t>(text.size())}};  // zero bytes and all
    return ::regexec(&compiled_, text.empty() ? "" : text.data(), 0, whole, REG_STARTEND) == 0;
  }

 private:
  std::string text_;
  std::string literal_;  // that is a part of all that matches
  mutable regex_t compiled_{};
  mutable std::optional<int> error_;  // of compiling; none: it was not needed yet
};

}  // namespace healer::runtime
