// SPDX-License-Identifier: MIT
#include "readings/text_code.hpp"

#include <utility>

#include "readings/bytes.hpp"

namespace healer::readings {

using engine::recorded::RulesText;

namespace {

void put(const Hash128& hash, ByteWriter& out) {
  out.number(hash.high);
  out.number(hash.low);
}

Hash128 read_hash(ByteReader& in) {
  const std::uint64_t high = in.number();
  return {.high = high, .low = in.number()};
}

std::string bytes_of(const std::vector<RulesText::Row>& rows) {
  std::string bytes;
  ByteWriter out(bytes);
  out.number(rows.size());
  for (const RulesText::Row& row : rows) {
    out.text(row.name);
    out.number(row.fields.size());
    for (const auto& [name, value] : row.fields) {
      out.text(name);
      out.text(value);
    }
  }
  return bytes;
}

bool read_rows(const std::string& bytes, std::vector<RulesText::Row>& rows) {
  ByteReader in(bytes);
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
    RulesText::Row row{.name = in.text(), .fields = {}};
    for (std::size_t fields = in.count(); fields > 0 && in.ok(); --fields) {
      std::string name = in.text();
      row.fields.emplace_back(std::move(name), in.text());
    }
    rows.push_back(std::move(row));
  }
  return in.ok() && in.at_end();
}

}  // namespace

std::size_t TextBytes::size() const {
  std::size_t all = contents.size();
  for (const TextPart& part : parts) all += part.bytes.size();
  return all;
}

TextBytes bytes_of(const RulesText& text) {
  TextBytes all;
  ByteWriter out(all.contents);
  const auto add = [&](std::string bytes) {
    TextPart part{hash128(bytes), std::move(bytes)};
    put(part.hash, out);
    all.parts.push_back(std::move(part));
  };
  out.text(text.path);
  out.number(text.files.size());
  for (const RulesText::File& file : text.files) {
    out.text(file.path);
    add(file.text);
  }
  out.number(text.lists.size());
  for (const RulesText::List& list : text.lists) {
    out.text(list.name);
    out.number(list.command.size());
    for (const std::string& word : list.command) out.text(word);
    out.text(list.file);
    add(bytes_of(list.rows));
  }
  return all;
}

std::optional<RulesText> text_of(std::string_view contents, const FindPart& find) {
  ByteReader in(contents);
  RulesText text{.path = in.text(), .files = {}, .lists = {}};
  const auto part = [&]() -> std::string {
    const Hash128 hash = read_hash(in);
    if (!in.ok()) return {};
    std::optional<std::string> bytes = find(hash);
    if (!bytes || hash128(*bytes) != hash) in.fail();
    return in.ok() ? std::move(*bytes) : std::string();
  };
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
    std::string path = in.text();
    text.files.push_back({std::move(path), part()});
  }
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
    RulesText::List list{.name = in.text(), .command = {}, .file = {}, .rows = {}};
    for (std::size_t words = in.count(); words > 0 && in.ok(); --words) list.command.push_back(in.text());
    list.file = in.text();
    if (!read_rows(part(), list.rows)) in.fail();
    text.lists.push_back(std::move(list));
  }
  if (!in.ok() || !in.at_end()) return std::nullopt;
  return text;
}

}  // namespace healer::readings
