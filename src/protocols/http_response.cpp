// SPDX-License-Identifier: MIT
#include "protocols/http_response.hpp"

#include <algorithm>
#include <charconv>

#include <spdlog/fmt/fmt.h>

#include "protocols/quote.hpp"
#include "util/text.hpp"

namespace healer::protocols {
namespace {

/// A whole number of digits in `base`, and nothing else.
bool number(std::string_view text, std::uint64_t& value, int base) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, base);
  return error == std::errc{} && rest == end;
}

}  // namespace

void HttpResponse::wrong(std::string why) {
  state_ = State::Wrong;
  fault_ = std::move(why);
}

void HttpResponse::status_line(std::string_view line) {
  const std::size_t blank = line.find(' ');
  std::uint64_t code = 0;
  const std::string_view digits =
      blank == std::string_view::npos ? std::string_view{} : trim(line.substr(blank)).substr(0, 4);
  // "HTTP/1.1 200 OK"; some leave the reason out.
  const std::string_view three = trim(digits);
  if (!iequals(line.substr(0, 5), "http/") || three.size() != 3 || !number(three, code, 10) || code < 100)
    return wrong("this is not an HTTP server: it said " + quote(line));
  status_ = static_cast<int>(code);
  state_ = State::Headers;
}

void HttpResponse::length(std::string_view value) {
  std::uint64_t stated = 0;
  if (!number(value, stated, 10))
    return wrong(fmt::format("its Content-Length is {}, which is not a length", quote(value)));
  if (has_length_ && stated != length_) return wrong("it states two different content lengths");
  has_length_ = true;
  length_ = stated;
}

void HttpResponse::header(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;  // nothing that we need
  const std::string_view name = trim(line.substr(0, colon));
  const std::string_view value = trim(line.substr(colon + 1));
  if (iequals(name, "content-length")) return length(value);
  if (iequals(name, "location")) location_ = value;
  if (iequals(name, "transfer-encoding") && !iequals(value, "identity")) {
    if (!iequals(value, "chunked")) return wrong(fmt::format("it sends its content coded as {}", quote(value)));
    has_coding_ = true;
  }
}

void HttpResponse::end_of_headers() {
  if (status_ < 200 && status_ != 101) {  // another response follows: 100 Continue, 103 Early Hints
    state_ = State::StatusLine;
    has_length_ = has_coding_ = false;
    return;
  }
  if (has_coding_) {
    framing_ = Framing::Chunked;
  } else if (has_length_) {
    framing_ = Framing::Length;
    left_ = length_;
  }
  const bool none = bodiless_ || status_ == 204 || status_ == 304 || status_ == 101;
  state_ = none || (framing_ == Framing::Length && left_ == 0) ? State::Whole : State::Body;
}

void HttpResponse::chunk_line(std::string_view line) {
  if (chunk_ == Chunk::End) {
    if (!line.empty()) return wrong("a chunk of its content is longer than it said");
    chunk_ = Chunk::Size;
  } else if (chunk_ == Chunk::Trailer) {
    if (line.empty()) state_ = State::Whole;
  } else {
    const std::string_view size = trim(line.substr(0, line.find(';')));
    if (!number(size, left_, 16)) return wrong(fmt::format("{} is not a chunk size", quote(size)));
    chunk_ = left_ == 0 ? Chunk::Trailer : Chunk::Data;
  }
}

bool HttpResponse::data(std::string_view& bytes) {
  if (framing_ == Framing::Chunked && chunk_ != Chunk::Data) return false;
  std::string_view part = bytes;
  if (framing_ != Framing::ToClose) {
    part = bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size())));
    left_ -= part.size();
  }
  bytes.remove_prefix(part.size());
  received_ += part.size();
  body_(part);
  if (framing_ == Framing::Chunked && left_ == 0) chunk_ = Chunk::End;
  if (framing_ == Framing::Length && left_ == 0) state_ = State::Whole;
  return true;
}

void HttpResponse::add(std::string_view& bytes) {
  if (state_ == State::Whole || state_ == State::Wrong) bytes = {};
  if (bytes.empty() || (state_ == State::Body && data(bytes))) return;
  const std::size_t before = bytes.size();
  const auto line = line_.next(bytes);
  header_bytes_ += before - bytes.size();  // those of chunks, too: none of them is for ever
  if (state_ == State::Body && line_.length() > kLongestLine) return wrong("it sends an endless line");
  if (state_ != State::Body && header_bytes_ > kMostHeaders)
    return wrong(fmt::format("its headers are longer than {} MB", kMostHeaders / 1024 / 1024));
  if (!line) {
    // One byte more may be the '\r' of its end.
    if (state_ == State::StatusLine && line_.length() > kQuoted + 1 && !iequals(line_.rest().substr(0, 5), "http/"))
      wrong("this is not an HTTP server: it said " + quote(line_.rest()));
    return;
  }
  if (state_ == State::StatusLine) {
    status_line(*line);
  } else if (state_ == State::Body) {
    chunk_line(*line);
  } else if (line->empty()) {
    end_of_headers();
  } else {
    header(*line);
  }
}

void HttpResponse::close() {
  if (state_ == State::Whole || state_ == State::Wrong) return;
  if (state_ == State::StatusLine && header_bytes_ == 0)
    return wrong("the server closed the connection without an answer");
  if (state_ == State::StatusLine && !iequals(line_.rest().substr(0, 5), "http/"))
    return wrong("this is not an HTTP server: it said " + quote(line_.rest()));
  if (state_ != State::Body) return wrong("the server closed the connection in the middle of its headers");
  if (framing_ == Framing::ToClose) {
    state_ = State::Whole;
    return;
  }
  wrong(framing_ == Framing::Length
            ? fmt::format("the server closed the connection after {} of {} bytes of its content", received_, length_)
            : fmt::format("the server closed the connection in the middle of its content, after {} bytes", received_));
}

}  // namespace healer::protocols
