// SPDX-License-Identifier: MIT
// The name of a secret, as `${secret:NAME}` has it: of all that its file holds, or of a part of it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace healer {

/// `cloudify[2]`: the second of the parts that commas separate in the file `cloudify`.
struct SecretName {
  std::string file;
  std::size_t part = 0;  ///< counted from 1; 0: all of it
};

/// Nothing: there are brackets in it that say no part.
[[nodiscard]] std::optional<SecretName> secret_name(std::string_view written);

/// The part `number` of a text in which commas separate the parts; 0 is all of it. Nothing: it has fewer.
[[nodiscard]] std::optional<std::string_view> part_of(std::string_view text, std::size_t number);

/// How many parts it has.
[[nodiscard]] std::size_t count_of_parts(std::string_view text);

}  // namespace healer
