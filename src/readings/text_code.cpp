// SPDX-License-Identifier: MIT
#include "readings/text_code.hpp"

#include <utility>

#include "readings/bytes.hpp"
#include "readings/recorded_fields.hpp"
#include "readings/walk.hpp"

namespace healer::readings {

using engine::recorded::RulesText;

namespace {

class ContentsWriter : public FieldWriter<ContentsWriter> {
 public:
  explicit ContentsWriter(TextBytes& all) : FieldWriter(all.contents), parts_(all.parts) {}

  /// What is kept by its hash.
  void part(std::string bytes) {
    parts_.push_back({hash128(bytes), std::move(bytes)});
    (*this)(parts_.back().hash);
  }
  void part(const std::vector<RulesText::Row>& rows) {
    std::string bytes;
    PlainWriter{bytes}(rows);
    part(std::move(bytes));
  }

 private:
  std::vector<TextPart>& parts_;
};

class ContentsReader : public FieldReader<ContentsReader> {
 public:
  ContentsReader(ByteReader& in, const FindPart& find) : FieldReader(in), find_(find) {}

  void part(std::string& text) {
    Hash128 hash;
    (*this)(hash);
    if (!bytes().ok()) return;
    std::optional<std::string> found = find_(hash);
    require(found && hash128(*found) == hash);
    if (bytes().ok()) text = std::move(*found);
  }
  void part(std::vector<RulesText::Row>& rows) {
    std::string text;
    part(text);
    ByteReader in(text);
    PlainReader{in}(rows);
    require(in.ok() && in.at_end());
  }

 private:
  const FindPart& find_;
};

}  // namespace

std::size_t TextBytes::size() const {
  std::size_t all = contents.size();
  for (const TextPart& part : parts) all += part.bytes.size();
  return all;
}

TextBytes bytes_of(const RulesText& text) {
  TextBytes all;
  ContentsWriter{all}(text);
  return all;
}

std::optional<RulesText> text_of(std::string_view contents, const FindPart& find) {
  ByteReader in(contents);
  RulesText text;
  ContentsReader{in, find}(text);
  if (!in.ok() || !in.at_end()) return std::nullopt;
  return text;
}

}  // namespace healer::readings
