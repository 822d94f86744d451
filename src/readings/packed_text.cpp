// SPDX-License-Identifier: MIT
#include "readings/packed_text.hpp"

#include <zlib.h>

#include <new>
#include <utility>

namespace healer::readings {
namespace {

std::string pack(const std::string& text) {
  uLongf size = ::compressBound(text.size());
  std::string packed(size, '\0');
  const auto* from = reinterpret_cast<const Bytef*>(text.data());
  if (::compress2(reinterpret_cast<Bytef*>(packed.data()), &size, from, text.size(), Z_BEST_SPEED) != Z_OK)
    throw std::bad_alloc();  // there is room enough, and no other fault
  return {packed, 0, size};
}

std::string unpack(const std::string& packed, std::size_t expected) {
  uLongf size = expected;
  std::string text(expected, '\0');
  const auto* from = reinterpret_cast<const Bytef*>(packed.data());
  if (::uncompress(reinterpret_cast<Bytef*>(text.data()), &size, from, packed.size()) != Z_OK) throw std::bad_alloc();
  return text;
}

}  // namespace

PackedText::PackedText(TextBytes text) : contents_(std::move(text.contents)) {
  parts_.reserve(text.parts.size());
  for (TextPart& part : text.parts) {
    const std::string bytes = std::exchange(part.bytes, std::string());
    parts_.push_back({part.hash, pack(bytes), bytes.size()});
  }
}

TextBytes PackedText::bytes() const {
  TextBytes text{.contents = contents_, .parts = {}};
  text.parts.reserve(parts_.size());
  for (const Part& part : parts_) text.parts.push_back({part.hash, unpack(part.packed, part.size)});
  return text;
}

std::size_t PackedText::size() const {
  std::size_t all = contents_.size();
  for (const Part& part : parts_) all += sizeof part + part.packed.size();
  return all;
}

}  // namespace healer::readings
