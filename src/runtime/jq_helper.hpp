// SPDX-License-Identifier: MIT
// Filters of jq in a process of their own: what servers send is parsed by libjq, which ends its process where memory
// is short or something in it is odd, and a filter may run for ever. The process has no privileges, no environment, no
// files and little memory; one that dies or takes too long is replaced, and what it was asked is not known.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "runtime/descriptor.hpp"
#include "runtime/list_question.hpp"
#include "util/result.hpp"
#include "util/time.hpp"

namespace healer::runtime {

/// The parent's side. For one thread at a time, which it blocks.
class JqHelper {
 public:
  static constexpr Duration kPatience{2'000};  ///< for an answer

  /// `program`: an executable whose main() begins with is_jq_helper().
  explicit JqHelper(std::string program) : program_(std::move(program)) {}
  ~JqHelper() { end(); }
  JqHelper(const JqHelper&) = delete;
  JqHelper& operator=(const JqHelper&) = delete;

  /// The first value that a filter makes of a text, as JSON. Errors: there is none, and why; the helper has died, or
  /// has not answered in time.
  [[nodiscard]] Result<std::string> first(const std::string& filter, const std::string& json);

  /// What the rows of a list are. Errors: likewise, and nobody knows all rows. May take kPatience and a second more for
  /// each MB of the text.
  [[nodiscard]] Result<ListAnswer> rows(const ListQuestion& question);
  /// The longest time that rows() may take.
  static constexpr Duration kListPatience{2'000 + 64 * 1'000};

 private:
  struct Said {
    bool is_good = false;
    std::string text;
  };
  [[nodiscard]] Result<Said> ask(const std::string& question, Duration patience, std::size_t most);
  [[nodiscard]] Result<void> start();
  void end();

  std::string program_;
  Descriptor socket_;
  pid_t pid_ = 0;
};

/// Whether this process was started by a JqHelper, to be its other side.
[[nodiscard]] bool is_jq_helper(int argc, char** argv);
/// Serves the parent until it hangs up. Returns the exit status.
int run_jq_helper();

}  // namespace healer::runtime
