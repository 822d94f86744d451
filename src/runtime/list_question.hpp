// SPDX-License-Identifier: MIT
// What a helper (runtime/jq_helper) is asked of the rows of a list, and what it answers. Both go over its socket as
// bytes. A document is parsed once, however many lists and rules it is for, and a filter is compiled once for all rows.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "util/jq.hpp"
#include "util/result.hpp"

namespace healer::runtime {

struct ListQuestion {
  /// What one list makes of the document.
  struct Part {
    std::string rows;                  ///< a filter: the rows
    std::string name;                  ///< a filter: the name of a row
    std::vector<std::string> fields;   ///< of rows, that are asked for: "ip", "spec.zone"
    std::vector<std::string> filters;  ///< whose first values are asked for, of each row
  };
  std::vector<Part> parts;
  std::string next;    ///< a filter: where the next page is; empty: nobody asks
  bool lines = false;  ///< each line is a document, and the one row of that
  std::string text;
};

struct ListAnswer {
  struct Value {
    bool is_known = false;
    std::string text;  ///< JSON; or why it is not known

    bool operator==(const Value&) const = default;
  };
  struct Row {
    std::string name;
    std::string wrong{};                             ///< why it has none; empty: it has
    std::vector<std::optional<std::string>> fields;  ///< a text, or of what is none its JSON; nothing: it is null
    std::vector<Value> values;                       ///< by the filters of its part

    bool operator==(const Row&) const = default;
  };
  std::vector<std::vector<Row>> parts;
  std::string next;  ///< empty: there is no further page

  bool operator==(const ListAnswer&) const = default;
};

[[nodiscard]] std::string to_bytes(const ListQuestion& question);
[[nodiscard]] std::string to_bytes(const ListAnswer& answer);
/// Nothing: these are no such bytes.
[[nodiscard]] std::optional<ListQuestion> question_of(std::string_view bytes);
[[nodiscard]] std::optional<ListAnswer> answer_of(std::string_view bytes);

/// Filters by their texts, compiled.
using CompiledFilters = std::map<std::string, Result<JqFilter>>;

/// Errors: the text is no JSON, or a filter for rows or pages has failed: nobody knows all rows then.
[[nodiscard]] Result<ListAnswer> answer(const ListQuestion& question, CompiledFilters& compiled);

}  // namespace healer::runtime
