// SPDX-License-Identifier: MIT
// The text of rules as bytes: a table of contents, and the texts themselves, each of which is kept once by its hash
// however many reloads leave it as it was.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/recorded.hpp"
#include "util/hash.hpp"

namespace healer::readings {

/// A file of rules, or the rows of a list.
struct TextPart {
  Hash128 hash;
  std::string bytes;
};

struct TextBytes {
  std::string contents;
  std::vector<TextPart> parts;

  [[nodiscard]] std::size_t size() const;
};
[[nodiscard]] TextBytes bytes_of(const engine::recorded::RulesText& text);

/// Gives the part of that hash; nothing: it is not there.
using FindPart = std::function<std::optional<std::string>(const Hash128&)>;
/// Nothing: these are no such bytes, or a part is missing.
[[nodiscard]] std::optional<engine::recorded::RulesText> text_of(std::string_view contents, const FindPart& find);

}  // namespace healer::readings
