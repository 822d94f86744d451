// SPDX-License-Identifier: MIT
// The body of what the API is asked to do: a JSON object whose fields are those of a request of the control protocol.
// Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <variant>

#include "control/wire.hpp"

namespace healer::web {

inline constexpr std::size_t kMostBody = 1U << 20;

/// A field that a body may have.
struct BodyField {
  std::string_view name;
  std::string_view what;  ///< for people
};

/// The field of that name. Requires: there is one.
[[nodiscard]] const BodyField& body_field(std::string_view name);

/// The request that `body` makes, its verb and what the path says left out; `taken`: the fields that it may have. An
/// empty body has none of them. What is wrong with it, where something is.
[[nodiscard]] std::variant<control::Request, control::Failure> read_body(std::string_view body,
                                                                         std::span<const std::string_view> taken);

}  // namespace healer::web
