// SPDX-License-Identifier: MIT
// `${NAME}` in what a contact is sent: which names there are, and how a value is written where it stands, so that no
// value of an alert can become anything but text. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/events/act.hpp"
#include "engine/healing/healing.hpp"

namespace healer::delivery {

using engine::effect::Place;
/// A text whose values were filled in; secrets are read when it is sent.
using Text = std::vector<Place::Part>;
/// What the names of a template stand for.
using Values = engine::Variables;

/// How a value is written.
enum class Format : std::uint8_t {
  Json,    ///< as what stands in a string of JSON
  Form,    ///< percent-encoded
  Raw,     ///< as it is
  Url,     ///< percent-encoded
  Header,  ///< as it is, line breaks and other control characters as blanks
};

/// EVENT, SERVICE, ...: every name that a template may have, beside `secret:NAME`.
[[nodiscard]] std::span<const std::string_view> template_names();

/// That of a body, by its Content-Type header; without one it is JSON.
[[nodiscard]] Format body_format(const std::vector<std::string>& headers);

/// The text with its values; names without a value become nothing. `$${` stands for `${`.
[[nodiscard]] Text render(std::string_view text, const Values& values, Format format);

/// How a secret is written there; nothing: it cannot be, as it holds control characters. `begins`: nothing stands
/// before it; a URL that begins with a secret is one already.
[[nodiscard]] std::optional<std::string> written_secret(Format format, const std::string& secret, bool begins);

/// The text with sample values in all places, secrets among them, as what is checked when rules are loaded.
[[nodiscard]] std::string with_samples(std::string_view text, Format format);

}  // namespace healer::delivery
