// SPDX-License-Identifier: MIT
// Filters of jq on texts of JSON, and how what they give compares. A thin layer over libjq.
//
// A filter may run for ever and cannot be stopped, and to compile one takes milliseconds: both belong on a thread that
// may be lost (runtime/worker_pool), with texts that are not large. A filter belongs to one thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "util/result.hpp"

namespace healer {

/// A value, parsed. It belongs to one thread at a time.
class JqDocument {
 public:
  /// One that is not valid where the text is no JSON, or more than one.
  [[nodiscard]] static JqDocument parse(std::string_view json);
  JqDocument(JqDocument&&) noexcept;
  JqDocument& operator=(JqDocument&&) noexcept;
  ~JqDocument();

  [[nodiscard]] bool is_valid() const;
  [[nodiscard]] bool is_null() const;
  /// What a string says; nothing: it is none.
  [[nodiscard]] std::optional<std::string> text() const;
  /// What is at `spec.zone`: of a string what it says, of all else its JSON. Nothing: it is null, or not there.
  [[nodiscard]] std::optional<std::string> field(std::string_view path) const;

 private:
  friend class JqFilter;
  struct State;
  explicit JqDocument(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

class JqFilter {
 public:
  /// Errors: the text is no filter, and why.
  [[nodiscard]] static Result<JqFilter> compile(const std::string& text);
  JqFilter(JqFilter&&) noexcept;
  JqFilter& operator=(JqFilter&&) noexcept;
  ~JqFilter();

  /// The first value that the filter makes of a text, as JSON. Errors: the text is no JSON, or more than one; the
  /// filter has failed, or makes no value.
  [[nodiscard]] Result<std::string> first(std::string_view json);
  /// The same of a value that was parsed.
  [[nodiscard]] Result<std::string> first(const JqDocument& document);
  /// Calls `visit` for each value that it makes, until that gives false. Errors: it has failed, behind the last of
  /// them.
  [[nodiscard]] Result<void> each(const JqDocument& document, const std::function<bool(const JqDocument&)>& visit);

 private:
  struct State;
  explicit JqFilter(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

/// Why a text is no filter; empty: it is one. What was once found is remembered.
[[nodiscard]] std::string jq_problem(const std::string& text);

enum class JsonOrder { Less, Equal, Greater, Unordered };

/// The variables that stand in a filter, `$NAME` without the sign, each once. Those that the filter binds itself are
/// among them.
[[nodiscard]] std::vector<std::string> jq_variables(std::string_view text);

/// How `value` stands to `wanted`, both JSON. With a string all scalars compare as texts; else numbers with numbers,
/// and what is of two kinds, or has no order, is Unordered where it is not Equal.
[[nodiscard]] JsonOrder json_order(std::string_view value, std::string_view wanted);

/// `text` as a string of JSON, with its quotes.
[[nodiscard]] std::string json_string(std::string_view text);
/// What a string of JSON says; nothing: it is none.
[[nodiscard]] std::optional<std::string> json_string_of(std::string_view value);
/// What a value says: of a string its text, of all else its JSON.
[[nodiscard]] std::string json_text(std::string_view value);
/// Whether it is a number, `true`, `false` or `null` as JSON writes them.
[[nodiscard]] bool is_json_literal(std::string_view text);

}  // namespace healer
