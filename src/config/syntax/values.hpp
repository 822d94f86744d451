// SPDX-License-Identifier: MIT
// The values of names, and how they go into texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace healer::config {

/// A part of a text. A value is kept as pieces, so that where it goes it is known which of them come from a row, and
/// which from outside of the rules files.
struct Piece {
  std::string text;
  bool of_row = false;   ///< it is a value of a row
  bool outside = false;  ///< of one whose list is no part of the rules files
};
using Pieces = std::vector<Piece>;

/// What a text is to be: how a value goes into it.
enum class Into : std::uint8_t { Text, Url, Json };

/// The text that pieces make.
[[nodiscard]] std::string joined(const Pieces& pieces, Into into);

/// Where the script of a shell is among arguments: after its `-c`. Their number: there is none.
[[nodiscard]] std::size_t script_of(const std::vector<std::string>& arguments);

/// The environment variable by which a program is told a value: "$HEALER_NODE_IP" of "NODE.ip".
[[nodiscard]] std::string variable_of(std::string_view name);

/// Names of which programs get HEALER_NAME anyway, or which workflows know.
[[nodiscard]] bool is_own_name(std::string_view name);

}  // namespace healer::config
