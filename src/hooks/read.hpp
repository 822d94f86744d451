// SPDX-License-Identifier: MIT
// What other systems tell a hook, turned into events: each with what it is about (its id), the state of that, and one
// document of JSON. Pure, and sure of nothing: what comes in was written by whoever can reach the hook.
//
//   body, headers --read()--> Occurrence...  --with_key(): what filters of jq find, of Format::Json-->  Occurrence
//                    '------> Notice: nothing has happened, but somebody should know
//                    '------> Refusal
//
// The same id and state within the window of a hook are the same event: that is not judged here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "util/result.hpp"

namespace healer::hooks {

/// What the body of a request is.
enum class Format : std::uint8_t {
  Json,          ///< any document
  Aodh,          ///< an alarm of OpenStack's Aodh
  Zaqar,         ///< a message of a queue of OpenStack's Zaqar, to a subscriber
  Alertmanager,  ///< the alerts of a group, by the webhook of Prometheus Alertmanager
  CloudEvents    ///< an event as CloudEvents 1.0 has it over HTTP, binary or structured
};

/// "json", "aodh", "zaqar", "alertmanager", "cloudevents".
[[nodiscard]] std::string_view to_string(Format format);
/// By its name, in any case; nothing: there is none of that name.
[[nodiscard]] std::optional<Format> format_of(std::string_view name);

/// A request as it came.
struct Message {
  std::string_view body;
  std::span<const std::pair<std::string, std::string>> headers{};  ///< none of a file that a person sends

  /// The first header of that name, in any case.
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const;
};

/// One event.
struct Occurrence {
  std::string id;        ///< never empty
  std::string state;     ///< empty: the format knows none
  std::string document;  ///< of Format::Json and Zaqar any value, of the others an object
  std::string remark{};  ///< for people; mostly empty

  bool operator==(const Occurrence&) const = default;
};

/// Nothing has happened: the request is answered 202, and is only noted.
struct Notice {
  std::string text;
};

/// Why nothing is made of it, as a sentence.
struct Refusal {
  std::uint16_t status = 400;  ///< in HTTP's numbers; 422: it is of its format, but what the hook asks for is not in it
  std::string why;
};

using Reading = std::variant<std::vector<Occurrence>, Notice, Refusal>;

/// The events of a request, in the order in which they stand there; there may be none. Of Format::Json the id is the
/// header `webhook-id`, or else a hash of the body.
[[nodiscard]] Reading read(Format format, const Message& message);

/// An event whose id, and where it is asked for whose state, are what a filter of jq has found: `key json F state json
/// G`. Both are JSON, a string, a number, or true or false.
[[nodiscard]] std::variant<Occurrence, Refusal> with_key(Occurrence occurrence, const Result<std::string>& key,
                                                         const std::optional<Result<std::string>>& state);

}  // namespace healer::hooks
