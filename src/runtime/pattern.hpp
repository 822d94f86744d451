// SPDX-License-Identifier: MIT
// A POSIX extended regular expression, compiled. Its languages can make matching take for ever: not for the loop
// thread.
#pragma once

#include <regex.h>

#include <string>

#include "util/regex.hpp"

namespace healer::runtime {

class Pattern {
 public:
  explicit Pattern(const std::string& text)
      : error_(regex_problem(text).empty() ? ::regcomp(&compiled_, text.c_str(), REG_EXTENDED | REG_NOSUB)
                                           : REG_ESPACE) {}
  ~Pattern() {
    if (error_ == 0) ::regfree(&compiled_);
  }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  /// Not 0 where it does not compile; it may not be matched then.
  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] bool matches(const std::string& text) const {
    regmatch_t whole[1] = {{0, static_cast<regoff_t>(text.size())}};  // zero bytes and all
    return ::regexec(&compiled_, text.c_str(), 0, whole, REG_STARTEND) == 0;
  }

 private:
  regex_t compiled_{};
  int error_;
};

}  // namespace healer::runtime
