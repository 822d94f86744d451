// SPDX-License-Identifier: MIT
// Frames of an HTTP/2 server, written by hand.
#pragma once

#include <string>

#include "conversations.hpp"

namespace healer::test::http2 {

using namespace std::string_literals;

enum Type : char {
  kData = 0,
  kHeaders = 1,
  kReset = 3,
  kSettings = 4,
  kPush = 5,
  kPing = 6,
  kGoAway = 7,
  kContinuation = 9
};
constexpr char kEndStream = 1;
constexpr char kEndHeaders = 4;

inline std::string frame(Type type, char flags, char stream, const std::string& payload) {
  const auto size = payload.size();
  return std::string{static_cast<char>(size >> 16),
                     static_cast<char>(size >> 8),
                     static_cast<char>(size),
                     type,
                     flags,
                     0,
                     0,
                     0,
                     stream} +
         payload;
}

inline std::string field(const std::string& name, const std::string& value) {
  return "\0"s + static_cast<char>(name.size()) + name + static_cast<char>(value.size()) + value;
}

inline std::string status(const std::string& code) { return field(":status", code); }

inline const std::string kHello = frame(kSettings, 0, 0, "") + frame(kSettings, 1, 0, "");

}  // namespace healer::test::http2
