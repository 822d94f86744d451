// SPDX-License-Identifier: MIT
// The parameters after the question mark of what the API is asked: a table of all that there are, and those that came,
// checked against it. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "control/queries.hpp"
#include "control/wire.hpp"
#include "web/message.hpp"

namespace healer::web {

/// A parameter, as it is checked and described.
struct Parameter {
  enum class Shape : std::uint8_t {
    Text,    ///< any
    Texts,   ///< any, and it may be given again
    Words,   ///< of `words`, with commas between them, or given again
    Word,    ///< of `words`
    Number,  ///< from `least` to `most`
  };
  std::string_view name;
  Shape shape = Shape::Text;
  std::string_view what;  ///< for people
  std::vector<std::string> words{};
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};

/// How many are on a page where nobody says so, and how many may be.
inline constexpr std::uint64_t kUsualPage = 100;
inline constexpr std::uint64_t kLargestPage = 1'000;

/// The parameter of that name. Requires: there is one.
[[nodiscard]] const Parameter& parameter(std::string_view name);

/// What a query says.
class Query {
 public:
  /// `taken`: the parameters that the route has. `fields`: the words of the parameter of that name. What is wrong with
  /// it, where something is.
  [[nodiscard]] static std::variant<Query, control::Failure> read(const Fields& query,
                                                                  std::span<const std::string_view> taken,
                                                                  std::span<const std::string> fields);

  [[nodiscard]] std::vector<std::string> all(std::string_view name) const;
  /// Empty: it was not given.
  [[nodiscard]] std::string text(std::string_view name) const;
  [[nodiscard]] std::optional<std::uint64_t> number(std::string_view name) const;
  [[nodiscard]] std::size_t limit() const { return number("limit").value_or(kUsualPage); }

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
};

}  // namespace healer::web
