// SPDX-License-Identifier: MIT
#include "util/jq.hpp"

extern "C" {
#include <jq.h>
#include <jv.h>
}

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace healer {
namespace {

/// Owns a value of libjq, whose functions take what they are given.
class Value {
 public:
  explicit Value(jv value) : value_(value) {}
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
  ~Value() { jv_free(value_); }

  [[nodiscard]] jv copy() const { return jv_copy(value_); }
  [[nodiscard]] bool is_valid() const { return jv_get_kind(value_) != JV_KIND_INVALID; }
  [[nodiscard]] jv_kind kind() const { return jv_get_kind(value_); }
  [[nodiscard]] bool is_scalar() const { return kind() != JV_KIND_ARRAY && kind() != JV_KIND_OBJECT; }
  [[nodiscard]] double number() const { return jv_number_value(value_); }
  [[nodiscard]] std::string json() const { return text_of(jv_dump_string(copy(), 0)); }
  /// Of a string what it says, of all else its JSON.
  [[nodiscard]] std::string text() const { return kind() == JV_KIND_STRING ? text_of(copy()) : json(); }
  /// Of one that is not valid: why, in words.
  [[nodiscard]] std::string message() const {
    jv message = jv_invalid_get_msg(copy());
    if (jv_get_kind(message) == JV_KIND_STRING) return text_of(message);
    jv_free(message);
    return {};
  }

  static std::string text_of(jv string) {
    std::string text(jv_string_value(string), static_cast<std::size_t>(jv_string_length_bytes(jv_copy(string))));
    jv_free(string);
    return text;
  }

 private:
  jv value_;
};

/// The one value of a text; not valid where it is none, or more. (jv_parse_sized() reads on to a zero byte to say what
/// is wrong.)
jv parse(std::string_view json) {
  jv_parser* parser = jv_parser_new(0);
  jv_parser_set_buf(parser, json.data(), static_cast<int>(json.size()), 0);
  jv value = jv_parser_next(parser);
  if (jv_is_valid(value)) {
    jv more = jv_parser_next(parser);
    const bool is_all = !jv_is_valid(more) && jv_invalid_has_msg(jv_copy(more)) == 0;
    jv_free(more);
    if (!is_all) {
      jv_free(value);
      value = jv_invalid();
    }
  }
  jv_parser_free(parser);
  return value;
}

}  // namespace

struct JqDocument::State {
  explicit State(jv of) : value(of) {}
  Value value;
};

JqDocument::JqDocument(std::unique_ptr<State> state) : state_(std::move(state)) {}
JqDocument::JqDocument(JqDocument&&) noexcept = default;
JqDocument& JqDocument::operator=(JqDocument&&) noexcept = default;
JqDocument::~JqDocument() = default;

JqDocument JqDocument::parse(std::string_view json) { return JqDocument(std::make_unique<State>(healer::parse(json))); }

bool JqDocument::is_valid() const { return state_->value.is_valid(); }

bool JqDocument::is_null() const { return state_->value.kind() == JV_KIND_NULL; }

std::optional<std::string> JqDocument::text() const {
  return state_->value.kind() == JV_KIND_STRING ? std::optional(state_->value.text()) : std::nullopt;
}

std::optional<std::string> JqDocument::field(std::string_view path) const {
  jv at = state_->value.copy();
  while (jv_get_kind(at) == JV_KIND_OBJECT) {
    const std::size_t end = std::min(path.find('.'), path.size());
    at = jv_object_get(at, jv_string_sized(path.data(), static_cast<int>(end)));
    if (end == path.size()) {
      const Value found(at);
      const bool is_there = found.is_valid() && found.kind() != JV_KIND_NULL;
      return is_there ? std::optional(found.text()) : std::nullopt;
    }
    path.remove_prefix(end + 1);
  }
  jv_free(at);
  return std::nullopt;
}

struct JqFilter::State {
  State() : jq(jq_init()) {
    if (jq == nullptr) return;
    jq_set_error_cb(
        jq,
        [](void* self, jv message) {
          auto* state = static_cast<State*>(self);
          const bool is_text = jv_get_kind(message) == JV_KIND_STRING;
          if (is_text && state->complaint.empty()) state->complaint = Value::text_of(jv_copy(message));
          jv_free(message);
        },
        this);
  }
  ~State() {
    if (jq != nullptr) jq_teardown(&jq);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  jq_state* jq;
  std::string complaint;  // what it complained of first
};

JqFilter::JqFilter(std::unique_ptr<State> state) : state_(std::move(state)) {}
JqFilter::JqFilter(JqFilter&&) noexcept = default;
JqFilter& JqFilter::operator=(JqFilter&&) noexcept = default;
JqFilter::~JqFilter() = default;

Result<JqFilter> JqFilter::compile(const std::string& text) {
  auto state = std::make_unique<State>();
  if (state->jq == nullptr) return Error{0, "libjq cannot begin"};
  if (text.find('\0') == std::string::npos && jq_compile(state->jq, text.c_str()) != 0)
    return JqFilter(std::move(state));
  // "jq: error: x/0 is not defined at <top-level>, line 1:\n.a | x"
  std::string why = state->complaint.substr(0, state->complaint.find('\n'));
  if (why.starts_with("jq: ")) why.erase(0, 4);
  if (why.starts_with("error: ")) why.erase(0, 7);
  if (const std::size_t place = why.find(" at <top-level>"); place != std::string::npos) why.erase(place);
  if (const std::size_t shell = why.find(" (Unix shell"); shell != std::string::npos) why.erase(shell);
  // What it would have understood there differs between versions, and is told in words of its grammar.
  if (const std::size_t expected = why.find(", expecting "); expected != std::string::npos) why.erase(expected);
  // As jq 1.6 calls it; from 1.7 on it says what people understand.
  constexpr std::string_view kEnd = "$end";
  if (why.ends_with(kEnd)) why.replace(why.size() - kEnd.size(), kEnd.size(), "end of file");
  return Error{0, why.empty() ? "jq does not understand it" : why};
}

Result<std::string> JqFilter::first(std::string_view json) { return first(JqDocument::parse(json)); }

Result<std::string> JqFilter::first(const JqDocument& document) {
  if (!document.is_valid()) return Error{0, "this is not JSON"};
  jq_start(state_->jq, document.state_->value.copy(), 0);
  const Value value(jq_next(state_->jq));
  jq_start(state_->jq, jv_null(), 0);  // what is left of the text is not kept until the next
  if (value.is_valid()) return value.json();
  const std::string why = value.message();
  return Error{0, why.empty() ? "the filter finds no value" : "the filter has failed: " + why};
}

Result<void> JqFilter::each(const JqDocument& document, const std::function<bool(const JqDocument&)>& visit) {
  if (!document.is_valid()) return Error{0, "this is not JSON"};
  jq_start(state_->jq, document.state_->value.copy(), 0);
  std::string why;
  for (;;) {
    const JqDocument value(std::make_unique<JqDocument::State>(jq_next(state_->jq)));
    if (!value.is_valid()) {
      why = value.state_->value.message();
      break;
    }
    if (!visit(value)) break;
  }
  jq_start(state_->jq, jv_null(), 0);
  if (!why.empty()) return Error{0, "the filter has failed: " + why};
  return {};
}

namespace {

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

/// Calls `visit(word, before)` for each word of a filter, until that gives true; `before`: the sign that it follows.
/// Texts in quotes are passed over, but for what stands in \( ).
template <typename Visit>
void for_each_word(std::string_view text, Visit&& visit) {
  std::vector<int> depths;  // of the parentheses, in each \( ) that is open
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      if (c == '"') quoted = false;
      if (c != '\\') continue;
      if (++at < text.size() && text[at] == '(') {
        depths.push_back(0);
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '(' && !depths.empty()) {
      ++depths.back();
    } else if (c == ')' && !depths.empty() && depths.back()-- == 0) {
      depths.pop_back();
      quoted = true;
    } else if (is_word(c)) {
      const std::size_t begin = at;
      while (at + 1 < text.size() && is_word(text[at + 1])) ++at;
      if (visit(text.substr(begin, at + 1 - begin), begin > 0 ? text[begin - 1] : ' ')) return;
    }
  }
}

/// What a filter asks of the machine, of others' texts or of its process, which it must not; empty: nothing.
std::string forbidden_word(std::string_view text) {
  constexpr std::array<std::string_view, 12> kWords{"env",     "input",          "inputs",     "import",
                                                    "include", "halt",           "modulemeta", "halt_error",
                                                    "debug",   "input_filename", "stderr",     "get_search_list"};
  std::string found;
  for_each_word(text, [&](std::string_view word, char before) {
    if (before == '$' ? word == "ENV" || word == "__prog_args"
                      : before != '.' && std::ranges::find(kWords, word) != kWords.end())
      found = (before == '$' ? "$" : "") + std::string(word);
    return !found.empty();
  });
  return found;
}

}  // namespace

std::vector<std::string> jq_variables(std::string_view text) {
  std::vector<std::string> names;
  for_each_word(text, [&](std::string_view word, char before) {
    if (before == '$' && std::ranges::find(names, word) == names.end()) names.emplace_back(word);
    return false;
  });
  return names;
}

std::string jq_problem(const std::string& text) {
  if (const std::string word = forbidden_word(text); !word.empty())
    return word + " is not allowed: a filter sees nothing but its input";
  static std::mutex mutex;
  static std::map<std::string, std::string> known;  // guarded by mutex
  constexpr std::size_t kMostKnown = 10'000;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(text); found != known.end()) return found->second;
  const auto filter = JqFilter::compile(text);
  if (known.size() >= kMostKnown) known.clear();
  return known[text] = filter ? std::string{} : filter.error().what;
}

JsonOrder json_order(std::string_view value, std::string_view wanted) {
  const Value left(parse(value));
  const Value right(parse(wanted));
  if (!left.is_valid() || !right.is_valid()) return JsonOrder::Unordered;
  if (right.kind() == JV_KIND_STRING && left.is_scalar()) {
    const int order = left.text().compare(right.text());
    return order < 0 ? JsonOrder::Less : order > 0 ? JsonOrder::Greater : JsonOrder::Equal;
  }
  if (left.kind() == JV_KIND_NUMBER && right.kind() == JV_KIND_NUMBER) {
    const double a = left.number(), b = right.number();
    return a < b ? JsonOrder::Less : a > b ? JsonOrder::Greater : a == b ? JsonOrder::Equal : JsonOrder::Unordered;
  }
  return jv_equal(left.copy(), right.copy()) != 0 ? JsonOrder::Equal : JsonOrder::Unordered;
}

std::string json_string(std::string_view text) {
  return Value(jv_string_sized(text.data(), static_cast<int>(text.size()))).json();
}

std::optional<std::string> json_string_of(std::string_view value) {
  const Value parsed(parse(value));
  return parsed.kind() == JV_KIND_STRING ? std::optional(parsed.text()) : std::nullopt;
}

std::string json_text(std::string_view value) {
  const Value parsed(parse(value));
  return parsed.is_valid() ? parsed.text() : std::string(value);
}

bool is_json_literal(std::string_view text) {
  // libjq takes more than JSON has, as "nan".
  constexpr std::string_view kOfNumbers = "0123456789+-.eE";
  if (text == "true" || text == "false" || text == "null") return true;
  if (text.empty() || text.find_first_not_of(kOfNumbers) != std::string_view::npos) return false;
  const Value value(parse(text));
  return value.kind() == JV_KIND_NUMBER;
}

}  // namespace healer
