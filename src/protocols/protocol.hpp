// SPDX-License-Identifier: MIT
// What there is to know of a protocol: one constant descriptor each, listed in registry.cpp. From it come what may be
// written after the protocol's name, how it is checked, and the conversations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "protocols/conversation.hpp"
#include "util/time.hpp"

namespace healer::protocols {

/// What follows an option's word.
enum class OptionType : std::uint8_t {
  Flag,      ///< nothing
  Text,      ///< a text
  Secret,    ///< a text that is never shown
  Choice,    ///< one of Option::choices
  Number,    ///< a whole number
  Compared,  ///< an operator (none: equal) and a whole number
  Lag,       ///< an operator (none: equal) and a number of milliseconds
  Share,     ///< an operator (none: equal) and a percentage
  Matched,   ///< `=` or `!=` and a regular expression
  Pattern,   ///< a regular expression
  Checksum,  ///< 32 or 40 hexadecimal digits (MD5, SHA-1); 64 and 128 (SHA-256, SHA-512) are healer's own
  Headers,   ///< `[name: value, ...]`; each header is a Setting of its own
  Json,      ///< a filter of jq, an operator and a value
  Object,    ///< the number of an object, and, where it is compared, an operator and a number or a text
  Body,      ///< a text, or `file` and a path
};

struct Option {
  std::string_view word;
  OptionType type = OptionType::Text;
  bool repeats = false;           ///< may be given more than once; the order counts
  std::string_view choices = {};  ///< of a Choice: "get|head"
};

enum class Operator : std::uint8_t { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual };

/// Whether `left` OP `right`.
[[nodiscard]] bool holds(Operator op, std::int64_t left, std::int64_t right);
/// "=", "!=", "<", ...
[[nodiscard]] std::string_view to_string(Operator op);

/// An option as it was given.
struct Setting {
  std::string_view word;  ///< Option::word
  Operator op = Operator::Equal;
  std::int64_t number = 0;
  std::string text;   ///< of a header: "Name: value"; of a Json: its filter; of an Object: its number
  std::string value;  ///< of a Json, an Object: what is compared with, as JSON (empty: nothing); of a Body: "file",
                      ///< where the text is a path

  bool operator==(const Setting&) const = default;
};

/// How much of what servers send is kept, as in `set limits`.
struct Limits {
  std::size_t send_expect = 256;
  std::size_t http_content = std::size_t{1} << 20;

  bool operator==(const Limits&) const = default;
};

/// What a conversation is made for.
struct Order {
  std::string host;  ///< as it was written
  std::uint16_t port = 0;
  bool tls = false;        ///< TLS stands when the conversation begins
  bool datagrams = false;  ///< over UDP
  std::span<const Setting> settings;
  Limits limits;
  std::uint64_t nonce = 0;      ///< another one for each conversation, and not to be guessed: answers are known by it
  WallTime (*now)() = nullptr;  ///< what time it is, for protocols that tell the time; null: nobody knows

  /// The setting of that word; null: it was not given.
  [[nodiscard]] const Setting* find(std::string_view word) const;
  /// Its text; empty where it was not given.
  [[nodiscard]] std::string_view text(std::string_view word) const;
};

/// When TLS begins.
enum class TlsStart : std::uint8_t {
  Asked,   ///< before the first word, where it is asked for
  Always,  ///< before the first word
};

struct Protocol {
  std::string_view name;   ///< after `protocol`, in lower case
  std::string_view title;  ///< for people: "HTTP"
  std::uint16_t port = 0;  ///< the usual one; 0: there is none
  TlsStart tls = TlsStart::Asked;
  bool within = false;          ///< TLS that is asked for begins within the conversation, by StartTls
  bool datagrams = false;       ///< may be spoken over UDP, too
  bool only_datagrams = false;  ///< is spoken over UDP alone, whether that is written or not
  std::span<const Option> options;
  /// What is wrong with the settings together, each of which is right; empty: nothing. Null: nothing ever is.
  std::string (*fault)(std::span<const Setting> settings) = nullptr;
  /// What of the settings has no effect, or hardly one that is meant, though it can be tested; empty, or null: nothing.
  std::string (*warning)(std::span<const Setting> settings) = nullptr;
  /// Whether a setting makes the conversation ask for TLS in its midst. Null: none does.
  bool (*upgrades)(std::span<const Setting> settings) = nullptr;
  /// What TLS must agree to be spoken within it (ALPN), where the settings want that; empty: nothing. Null: never.
  std::string_view (*within_tls)(std::span<const Setting> settings) = nullptr;
  std::unique_ptr<Conversation> (*make)(const Order& order) = nullptr;

  [[nodiscard]] const Option* find(std::string_view word) const;
};

/// All protocols, in the order of their names.
[[nodiscard]] std::span<const Protocol* const> registry();
/// The one of that name, without regard to case; null: there is none.
[[nodiscard]] const Protocol* find_protocol(std::string_view name);

}  // namespace healer::protocols
