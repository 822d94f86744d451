// SPDX-License-Identifier: MIT
// An HTTP/1 response out of bytes that come in any pieces: its status, and its body with the transfer's coding taken
// off. Strict where a server could mean two things (lengths), generous about line ends. Keeps one line at most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "protocols/line_reader.hpp"

namespace healer::protocols {

class HttpResponse {
 public:
  enum class State : std::uint8_t { StatusLine, Headers, Body, Whole, Wrong };
  static constexpr std::size_t kLongestLine = 8 * 1024;     ///< what is kept of a header
  static constexpr std::size_t kMostHeaders = 1024 * 1024;  ///< bytes of headers; more are a fault
  using Body = std::function<void(std::string_view)>;

  /// `bodiless`: the answer to HEAD, which has no body whatever its headers say. `body` gets the body in pieces.
  HttpResponse(bool bodiless, Body body) : bodiless_(bodiless), body_(std::move(body)) {}

  /// Takes from the front of `bytes` a line or a piece of the body: what is known then can be judged before the rest is
  /// looked at, so that the verdict does not hang on how the bytes came. What is behind the end is ignored.
  void add(std::string_view& bytes);
  /// The server sends no more: the end of a body without a length, else a fault.
  void close();

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] int status() const { return status_; }  ///< from State::Headers on
  [[nodiscard]] bool has_headers() const { return state_ == State::Body || state_ == State::Whole; }
  /// Why it is Wrong, for people.
  [[nodiscard]] const std::string& fault() const { return fault_; }
  /// Where it sends its client; empty: nowhere.
  [[nodiscard]] const std::string& location() const { return location_; }
  /// Bytes of the body so far.
  [[nodiscard]] std::uint64_t body_size() const { return received_; }

 private:
  enum class Framing : std::uint8_t { Length, Chunked, ToClose };
  enum class Chunk : std::uint8_t { Size, Data, End, Trailer };

  void wrong(std::string why);
  void status_line(std::string_view line);
  void header(std::string_view line);
  void length(std::string_view value);
  void end_of_headers();
  void chunk_line(std::string_view line);
  /// Hands on what belongs to the body and can be had now; false where there is nothing of it in `bytes`.
  bool data(std::string_view& bytes);

  bool bodiless_;
  Body body_;
  LineReader line_{kLongestLine};
  State state_ = State::StatusLine;
  Framing framing_ = Framing::ToClose;
  Chunk chunk_ = Chunk::Size;
  int status_ = 0;
  std::size_t header_bytes_ = 0;
  bool has_length_ = false;
  bool has_coding_ = false;
  std::uint64_t length_ = 0;  // that the headers tell
  std::uint64_t left_ = 0;    // of the body or of its chunk
  std::uint64_t received_ = 0;
  std::string location_;
  std::string fault_;
};

}  // namespace healer::protocols
