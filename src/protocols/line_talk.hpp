// SPDX-License-Identifier: MIT
// Conversations in lines: what they share, so that each protocol says no more than what its lines mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocols/conversation.hpp"
#include "protocols/line_reader.hpp"

namespace healer::protocols {

/// How much one who speaks in lines may send.
struct LineLimits {
  std::size_t longest = 1000;  ///< bytes of a line
  std::size_t lines = 200;     ///< between two things that are said to it
};

/// Cuts what comes into lines, and ends a server that has no end.
class LineTalk : public Conversation {
 public:
  Want receive(std::string_view bytes) final;
  Want closed() override;

 protected:
  /// `strict`: one that says more than it was asked has failed.
  explicit LineTalk(LineLimits limits, bool strict = false)
      : limits_(limits), strict_(strict), reader_(limits.longest) {}

  /// What a line means. Receive with nothing to send: more lines are to come.
  [[nodiscard]] virtual Want line(std::string_view line) = 0;
  /// "the server closed the connection before its greeting".
  [[nodiscard]] Want broken_off() const;

 private:
  LineLimits limits_;
  bool strict_;
  LineReader reader_;
  std::size_t lines_ = 0;
};

/// What a line is to the question before it.
enum class LineVerdict : std::uint8_t {
  More,        ///< a further line follows
  Good,        ///< the answer that was hoped for
  Refused,     ///< an answer of the protocol, but not that
  Unexpected,  ///< none of the protocol
};

/// A question and its answer.
struct LineStep {
  std::string say;           ///< what is said first; empty: it is the server's turn
  std::string_view awaited;  ///< "greeting", "answer to QUIT"
  std::function<LineVerdict(std::string_view line)> judge;
  bool begins_tls = false;  ///< TLS begins after it
};

/// What is spoken in questions and answers, each of which must be good before the next.
struct LineScript {
  std::string_view server;  ///< what it is: "an IMAP server"
  std::vector<LineStep> steps;
  std::string passed;                ///< what is told of one that answered all; empty: "it is an IMAP server"
  std::vector<std::string> secrets;  ///< struck out of what it says
  LineLimits limits = {};
};

[[nodiscard]] std::unique_ptr<Conversation> line_session(LineScript script);

/// Whether a line begins with a text, without regard to case, and that text ends there or before a blank.
[[nodiscard]] bool begins_with_word(std::string_view line, std::string_view word);
/// The three digits at its beginning; 0: there are none.
[[nodiscard]] int reply_code(std::string_view line);
/// Judges replies of three digits: the good one, or any where none is; lines between "220-" and "220 " are skipped.
[[nodiscard]] std::function<LineVerdict(std::string_view line)> replies(std::vector<int> good);

}  // namespace healer::protocols
