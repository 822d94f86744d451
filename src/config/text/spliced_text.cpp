// SPDX-License-Identifier: MIT
#include "config/text/spliced_text.hpp"

#include <algorithm>
#include <iterator>

namespace healer::config {

void SplicedText::add(std::uint32_t file, std::uint32_t from, std::string_view text) {
  pieces_.push_back({static_cast<std::uint32_t>(text_.size()), file, from, static_cast<std::uint32_t>(text.size())});
  text_.append(text);
  text_ += '\n';  // no word goes on in another file
}

SourceRange SplicedText::place(std::uint32_t begin, std::uint32_t end) const {
  const auto behind = std::ranges::upper_bound(pieces_, begin, {}, &Piece::at);
  const Piece& piece = *std::prev(behind);
  const auto in_file = [&](std::uint32_t at) { return piece.from + std::min(at - piece.at, piece.length); };
  return {piece.file, in_file(begin), in_file(std::max(begin, end))};
}

}  // namespace healer::config
