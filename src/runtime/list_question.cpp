// SPDX-License-Identifier: MIT
#include "runtime/list_question.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include <spdlog/fmt/fmt.h>

namespace healer::runtime {
namespace {

constexpr std::size_t kMostRowsOfList = 100'000;
constexpr std::size_t kMostOfValue = std::size_t{1} << 12;   // what rules compare is short
constexpr std::size_t kMostOfField = std::size_t{64} << 10;  // what is longer is refused
constexpr std::size_t kMostOfName = 1024;                    // likewise
constexpr std::size_t kMostOfPlace = std::size_t{8} << 10;   // of the next page

// ---- bytes --------------------------------------------------------------------------------------------------------

class Packer {
 public:
  void number(std::size_t value) {
    const auto number = static_cast<std::uint32_t>(value);
    char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    bytes_.append(bytes, sizeof number);
  }
  void text(std::string_view text) {
    number(text.size());
    bytes_.append(text);
  }
  void texts(const std::vector<std::string>& all) {
    number(all.size());
    for (const std::string& one : all) text(one);
  }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}

  std::uint32_t number() {
    std::uint32_t number = 0;
    if (bytes_.size() < sizeof number) return fail();
    std::memcpy(&number, bytes_.data(), sizeof number);
    bytes_.remove_prefix(sizeof number);
    return number;
  }
  std::string text() {
    const std::size_t size = number();
    if (size > bytes_.size()) return fail(), std::string();
    std::string text(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return text;
  }
  /// How many things follow, each of which takes four bytes at least.
  std::size_t count() {
    const std::size_t count = number();
    return count > bytes_.size() / sizeof(std::uint32_t) ? fail() : count;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> all(count());
    for (std::string& one : all) one = text();
    return all;
  }
  [[nodiscard]] bool ended_well() const { return ok_ && bytes_.empty(); }

 private:
  std::uint32_t fail() {
    ok_ = false;
    bytes_ = {};
    return 0;
  }

  std::string_view bytes_;
  bool ok_ = true;
};

// ---- answers ------------------------------------------------------------------------------------------------------

Result<JqFilter>& compiled(const std::string& text, CompiledFilters& known) {
  const auto found = known.find(text);
  return found != known.end() ? found->second : known.emplace(text, JqFilter::compile(text)).first->second;
}

ListAnswer::Value value_of(Result<JqFilter>& filter, const JqDocument& row) {
  if (!filter) return {.is_known = false, .text = filter.error().what};
  const Result<std::string> value = filter->first(row);
  if (!value) return {.is_known = false, .text = value.error().what.substr(0, kMostOfValue)};
  if (value->size() > kMostOfValue)
    return {.is_known = false, .text = fmt::format("its value has over {} bytes", kMostOfValue)};
  return {.is_known = true, .text = *value};
}

ListAnswer::Row row_of(const JqDocument& row, const ListQuestion::Part& part, Result<JqFilter>* name,
                       std::vector<Result<JqFilter>*>& filters) {
  ListAnswer::Row made;
  if (name != nullptr) {
    const Result<std::string> found = *name ? (*name)->first(row) : Result<std::string>((*name).error());
    if (!found)
      made.wrong = found.error().what.substr(0, kMostOfName);
    else if (const auto text = json_string_of(*found))
      made.name = text->substr(0, kMostOfName);
    else
      made.wrong = fmt::format("its name is no text: {}", found->substr(0, 60));
  }
  for (const std::string& field : part.fields) {
    std::optional<std::string> value = row.field(field);
    if (value && value->size() > kMostOfField) {
      made.wrong = fmt::format("the value of '{}' is too long", field);
      value.reset();
    }
    made.fields.push_back(std::move(value));
  }
  for (Result<JqFilter>* const filter : filters) made.values.push_back(value_of(*filter, row));
  return made;
}

}  // namespace

std::string to_bytes(const ListQuestion& question) {
  Packer out;
  out.number(question.parts.size());
  for (const auto& [rows, name, fields, filters] : question.parts) {
    out.text(rows);
    out.text(name);
    out.texts(fields);
    out.texts(filters);
  }
  out.text(question.next);
  out.number(question.lines ? 1 : 0);
  out.text(question.text);
  return out.take();
}

std::optional<ListQuestion> question_of(std::string_view bytes) {
  Unpacker in(bytes);
  ListQuestion question;
  question.parts.resize(in.count());
  for (auto& [rows, name, fields, filters] : question.parts) {
    rows = in.text();
    name = in.text();
    fields = in.texts();
    filters = in.texts();
  }
  question.next = in.text();
  question.lines = in.number() != 0;
  question.text = in.text();
  return in.ended_well() ? std::optional(std::move(question)) : std::nullopt;
}

std::string to_bytes(const ListAnswer& answer) {
  Packer out;
  out.number(answer.parts.size());
  for (const std::vector<ListAnswer::Row>& rows : answer.parts) {
    out.number(rows.size());
    for (const auto& [name, wrong, fields, values] : rows) {
      out.text(name);
      out.text(wrong);
      out.number(fields.size());
      for (const std::optional<std::string>& field : fields) {
        out.number(field ? 1 : 0);
        if (field) out.text(*field);
      }
      out.number(values.size());
      for (const auto& [is_known, text] : values) {
        out.number(is_known ? 1 : 0);
        out.text(text);
      }
    }
  }
  out.text(answer.next);
  return out.take();
}

std::optional<ListAnswer> answer_of(std::string_view bytes) {
  Unpacker in(bytes);
  ListAnswer answer;
  answer.parts.resize(in.count());
  for (std::vector<ListAnswer::Row>& rows : answer.parts) {
    rows.resize(in.count());
    for (auto& [name, wrong, fields, values] : rows) {
      name = in.text();
      wrong = in.text();
      fields.resize(in.count());
      for (std::optional<std::string>& field : fields)
        if (in.number() != 0) field = in.text();
      values.resize(in.count());
      for (auto& [is_known, text] : values) {
        is_known = in.number() != 0;
        text = in.text();
      }
    }
  }
  answer.next = in.text();
  return in.ended_well() ? std::optional(std::move(answer)) : std::nullopt;
}

Result<ListAnswer> answer(const ListQuestion& question, CompiledFilters& known) {
  ListAnswer made;
  made.parts.resize(question.parts.size());
  struct Prepared {
    Result<JqFilter>* name = nullptr;
    std::vector<Result<JqFilter>*> filters;
  };
  std::vector<Prepared> prepared;
  for (const ListQuestion::Part& part : question.parts) {
    Prepared one;
    if (!question.lines) one.name = &compiled(part.name, known);
    for (const std::string& filter : part.filters) one.filters.push_back(&compiled(filter, known));
    prepared.push_back(std::move(one));
  }
  if (question.lines) {
    for (std::string_view text = question.text; !text.empty();) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const JqDocument row = JqDocument::parse(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      for (std::size_t i = 0; i < question.parts.size(); ++i)
        made.parts[i].push_back(row_of(row, question.parts[i], nullptr, prepared[i].filters));
    }
    return made;
  }
  const JqDocument document = JqDocument::parse(question.text);
  if (!document.is_valid()) return Error{0, "this is not JSON"};
  for (std::size_t i = 0; i < question.parts.size(); ++i) {
    Result<JqFilter>& rows = compiled(question.parts[i].rows, known);
    if (!rows) return rows.error();
    bool is_full = false;
    const Result<void> done = rows->each(document, [&](const JqDocument& row) {
      is_full = made.parts[i].size() >= kMostRowsOfList;
      if (!is_full) made.parts[i].push_back(row_of(row, question.parts[i], prepared[i].name, prepared[i].filters));
      return !is_full;
    });
    if (is_full) return Error{0, fmt::format("it has more than {} rows", kMostRowsOfList)};
    if (!done) return Error{0, fmt::format("the rows: {}", done.error().what)};
  }
  if (question.next.empty()) return made;
  Result<JqFilter>& next = compiled(question.next, known);
  if (!next) return next.error();
  // That it finds nothing means that this was the last page; that it fails, that nobody knows.
  std::string failure;
  const Result<void> done = next->each(document, [&](const JqDocument& place) {
    const auto text = place.text();
    if (!text && !place.is_null()) failure = "the place of its next page is no text";
    if (text && text->size() > kMostOfPlace) failure = "the place of its next page is too long";
    if (text && failure.empty()) made.next = *text;
    return false;
  });
  if (!done) failure = done.error().what;
  if (!failure.empty()) return Error{0, fmt::format("the next page: {}", failure)};
  return made;
}

}  // namespace healer::runtime
