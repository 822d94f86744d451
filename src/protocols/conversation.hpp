// SPDX-License-Identifier: MIT
// The seam between a protocol and the wire. A conversation is told what happened on a connection (it stands, bytes
// came, the server closed) and answers with what it wants next. It has no socket and no clock, never waits, and keeps
// no more than its limits say, whatever a server sends: whoever drives it (runtime/net/connection) reads in small
// pieces and bounds the time.
//
//     begin() -> Want      Receive    more bytes; receive() or closed() is called next
//                          StartTls   TLS from here on; secured() is called when it stands
//                          Search     a regular expression is to be looked for; found() is called next. Not done by the
//                                     conversation itself, because an expression may backtrack for ever
//                          Query      a filter of jq is to be run over a text; answered() is called next. Likewise
//                          Elsewhere  what is asked for is at another address; nothing is called any more
//                          Pass, Fail, Unknown
//                                     the verdict; nothing is called any more
//
// What a Want has to send goes out first, whatever follows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "util/result.hpp"

namespace healer::protocols {

/// What a conversation wants next.
struct Want {
  enum class Kind : std::uint8_t { Receive, StartTls, Search, Query, Elsewhere, Pass, Fail, Unknown };
  /// An expression (POSIX extended) and the text in which it is looked for.
  struct Search {
    std::string pattern;
    std::string text;
  };

  /// A filter of jq and the JSON that it is run over.
  struct Query {
    std::string filter;
    std::string text;
  };
  /// Where a server sends its client.
  struct Elsewhere {
    std::string url;           ///< as the server wrote it: whole, or a path
    bool keeps_method = true;  ///< else it is requested by GET, without a body
  };

  Kind kind = Kind::Receive;
  std::string send;  ///< bytes to send first; with Pass and Fail a farewell, whose fate does not count
  std::string text;  ///< Pass: what was found, for people; Fail and Unknown: why. Nothing unprintable of the server's
  std::unique_ptr<const Search> search = nullptr;        ///< with Search only
  std::unique_ptr<const Query> query = nullptr;          ///< with Query only
  std::unique_ptr<const Elsewhere> elsewhere = nullptr;  ///< with Elsewhere only

  [[nodiscard]] static Want receive(std::string send = {}) { return {Kind::Receive, std::move(send), {}}; }
  [[nodiscard]] static Want start_tls() { return {Kind::StartTls, {}, {}}; }
  [[nodiscard]] static Want pass(std::string text, std::string farewell = {}) {
    return {Kind::Pass, std::move(farewell), std::move(text)};
  }
  [[nodiscard]] static Want fail(std::string text, std::string farewell = {}) {
    return {Kind::Fail, std::move(farewell), std::move(text)};
  }
  [[nodiscard]] static Want unknown(std::string text) { return {Kind::Unknown, {}, std::move(text)}; }
  [[nodiscard]] static Want search_for(std::string pattern, std::string text) {
    return {Kind::Search, {}, {}, std::make_unique<const Search>(Search{std::move(pattern), std::move(text)})};
  }
  [[nodiscard]] static Want ask(std::string filter, std::string text) {
    Want want{Kind::Query, {}, {}};
    want.query = std::make_unique<const Query>(Query{std::move(filter), std::move(text)});
    return want;
  }
  [[nodiscard]] static Want go_elsewhere(Elsewhere place) {
    Want want{Kind::Elsewhere, {}, {}};
    want.elsewhere = std::make_unique<const Elsewhere>(std::move(place));
    return want;
  }
};

/// What is spoken on one connection. Made by Protocol::make, used once.
class Conversation {
 public:
  Conversation() = default;
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;
  virtual ~Conversation() = default;

  /// The connection stands, and its TLS where that comes first.
  [[nodiscard]] virtual Want begin() = 0;
  /// Bytes from the server, never none; over UDP one datagram.
  [[nodiscard]] virtual Want receive(std::string_view bytes) = 0;
  /// The server sends no more.
  [[nodiscard]] virtual Want closed() = 0;
  /// The TLS that was wanted stands. Only after StartTls.
  [[nodiscard]] virtual Want secured() { return Want::fail("TLS was started unexpectedly"); }
  /// Where the first match ends in the text of the Search, or that there is none. Only after Search.
  [[nodiscard]] virtual Want found(std::optional<std::size_t> end) {
    (void)end;
    return Want::fail("an expression was searched for unexpectedly");
  }
  /// The first value that the filter of the Query makes, as JSON, or why there is none. Only after Query.
  [[nodiscard]] virtual Want answered(const Result<std::string>& value) {
    (void)value;
    return Want::fail("a filter was run unexpectedly");
  }
  /// Whether a server that stays silent to the end is no failure: over UDP it is not obliged to answer.
  [[nodiscard]] virtual bool silence_passes() const { return false; }
  /// What the server owes now, for "no ... within 5 s": "greeting", "answer to PING".
  [[nodiscard]] virtual std::string_view awaited() const = 0;
};

}  // namespace healer::protocols
