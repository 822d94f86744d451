// SPDX-License-Identifier: MIT
#include "config/source.hpp"

#include <algorithm>
#include <utility>

namespace healer::config {
namespace {

/// Whether a byte begins a character; stray bytes that are no UTF-8 count as one with the character before.
bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

}  // namespace

void Sources::advance(Mark& mark, std::string_view text, std::uint32_t from, std::uint32_t to) {
  const std::string_view part = text.substr(0, to);
  for (std::size_t end = 0; (end = part.find('\n', from)) != std::string_view::npos;) {
    ++mark.line;
    mark.line_start = from = static_cast<std::uint32_t>(end + 1);
    mark.characters = 0;
  }
  mark.characters += static_cast<std::uint32_t>(std::ranges::count_if(part.substr(from), begins_character));
}

std::uint32_t Sources::add(std::string path, std::string text) {
  std::vector<Mark> marks(1);
  const auto size = static_cast<std::uint32_t>(text.size());
  for (std::uint32_t block = 0; size - block > kBlock; block += kBlock) {
    Mark next = marks.back();
    advance(next, text, block, block + kBlock);
    marks.push_back(next);
  }
  marks_.push_back(std::move(marks));
  sources_.push_back({std::move(path), std::move(text)});
  return static_cast<std::uint32_t>(sources_.size() - 1);
}

Sources::Mark Sources::mark_at(std::uint32_t file, std::uint32_t offset) const {
  const std::string_view text = sources_[file].text;
  offset = std::min(offset, static_cast<std::uint32_t>(text.size()));
  const std::uint32_t block = std::min(offset / kBlock, static_cast<std::uint32_t>(marks_[file].size() - 1));
  Mark mark = marks_[file][block];
  advance(mark, text, block * kBlock, offset);
  return mark;
}

Position Sources::position(std::uint32_t file, std::uint32_t offset) const {
  const Mark mark = mark_at(file, offset);
  return {.line = mark.line, .column = mark.characters + 1};
}

std::string_view Sources::line_at(std::uint32_t file, std::uint32_t offset) const {
  const std::string_view text = sources_[file].text;
  std::string_view line = text.substr(mark_at(file, offset).line_start);
  line = line.substr(0, line.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view Sources::text(const SourceRange& range) const {
  const std::string_view text = sources_[range.file].text;
  const std::size_t begin = std::min<std::size_t>(range.begin, text.size());
  return text.substr(begin, range.end > begin ? range.end - begin : 0);
}

}  // namespace healer::config
