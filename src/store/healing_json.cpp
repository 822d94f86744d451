// SPDX-License-Identifier: MIT
#include "store/healing_json.hpp"

#include <spdlog/fmt/fmt.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "engine/healing/soundness.hpp"
#include "engine/healing/variables.hpp"
#include "store/healing_fields.hpp"
#include "util/text.hpp"

namespace healer::store {

using namespace engine;
namespace {

using namespace healing_fields;

using Json = nlohmann::ordered_json;

constexpr std::int64_t kFarthest = 700'000'000'000'000;  // ms of a time or a duration: 22 000 years
constexpr int kDeepest = 32;                             // objects within each other
constexpr const char* kBytes = "bytes";                  // of a text that is no UTF-8, in hexadecimal
constexpr const char* kKind = "kind";                    // of a step

// ---- writing --------------------------------------------------------------------------------------------------------

/// Appends the object of a struct to a text: called with names and values, in turn. It is written at each turn of a
/// healing, and so without a tree of nodes in between.
class ToText {
 public:
  template <typename Value, typename... Rest>
  void operator()(const char* name, const Value& value, const Rest&... rest) {
    add(name, value);
    if constexpr (sizeof...(rest) > 0) (*this)(rest...);
  }

  template <typename Struct>
  static std::string text_of(const Struct& value) {
    std::string text;
    ToText(text).write(value);
    return text;
  }

 private:
  explicit ToText(std::string& text) : text_(text) {}

  template <typename T>
  void add(const char* name, const T& value) {
    separate();
    text_ += '"';
    text_ += name;
    text_ += "\":";
    write(value);
  }
  template <typename T>
  void add(const char* name, const std::optional<T>& value) {
    if (value) add(name, *value);
  }
  template <typename T>
  void add(const char* name, const std::shared_ptr<const T>& value) {
    if (value) add(name, *value);
  }

  void write(const Sparse<Identity>& value) { write(*value); }
  void write(bool value) { text_ += value ? "true" : "false"; }
  template <std::integral Number>
  void write(Number value) {
    fmt::format_to(std::back_inserter(text_), "{}", value);
  }
  void write(double value) {
    if (std::isfinite(value)) {
      fmt::format_to(std::back_inserter(text_), "{}", value);
    } else {
      text_ += "null";
    }
  }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void write(Enum value) { write_word(words_of(For<Enum>{}).at(static_cast<std::size_t>(value))); }
  template <typename Tag, typename Number>
  void write(Id<Tag, Number> id) {
    write(id.number());
  }
  void write(Duration value) { write(value.count()); }
  void write(WallTime value) { write(value.time_since_epoch()); }
  void write(const Hash128& value) { write_word(to_string(value)); }
  void write(const Origin& by) { write(saved_text(by)); }
  void write(const std::string& text) {
    const std::size_t begin = text_.size();
    text_ += '"';
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t length = utf8_length(rest);
      if (length == 0) {
        text_.resize(begin);
        write_bytes(text);
        return;
      }
      const char c = rest.front();
      if (c == '"' || c == '\\') text_ += '\\';
      if (static_cast<unsigned char>(c) < 0x20) {
        fmt::format_to(std::back_inserter(text_), "\\u{:04x}", c);
      } else {
        text_ += rest.substr(0, length);
      }
      rest.remove_prefix(length);
    }
    text_ += '"';
  }
  template <typename A, typename B>
  void write(const std::pair<A, B>& pair) {
    text_ += '[';
    write(pair.first);
    text_ += ',';
    write(pair.second);
    text_ += ']';
  }
  void write(const Variables& variables) { write_list(variables); }
  template <typename T>
  void write(const std::vector<T>& values) {
    write_list(values);
  }
  void write(const StepWhat& what) {
    text_ += '{';
    separate();
    text_ += fmt::format("\"{}\":", kKind);
    write_word(kStepKinds.at(what.index()));
    std::visit([this](const auto& kind) { fields(*this, kind); }, what);
    text_ += '}';
  }
  template <typename Struct>
  requires std::is_aggregate_v<Struct>
  void write(const Struct& value) {
    text_ += '{';
    fields(*this, value);
    text_ += '}';
  }

  void write_list(const auto& values) {
    text_ += '[';
    for (const auto& value : values) {
      separate();
      write(value);
    }
    text_ += ']';
  }
  void write_word(std::string_view word) {
    text_ += '"';
    text_ += word;
    text_ += '"';
  }
  void write_bytes(std::string_view text) {
    text_ += fmt::format("{{\"{}\":\"", kBytes);
    for (const char c : text) fmt::format_to(std::back_inserter(text_), "{:02x}", static_cast<unsigned char>(c));
    text_ += "\"}";
  }
  void separate() {
    if (text_.back() != '{' && text_.back() != '[') text_ += ',';
  }

  std::string& text_;
};

// ---- reading --------------------------------------------------------------------------------------------------------

[[noreturn]] void damaged(const std::string& what) { throw std::invalid_argument(what); }

/// Fills a struct from its object: called with names and values, in turn. Throws std::invalid_argument where something
/// is not as ToText writes it.
class FromObject {
 public:
  template <typename Value, typename... Rest>
  void operator()(const char* name, Value& value, Rest&&... rest) {
    if (const auto found = json_.find(name); found != json_.end()) {
      try {
        read(*found, value);
      } catch (const std::invalid_argument& error) {
        damaged(fmt::format("{}: {}", name, error.what()));
      }
    }
    if constexpr (sizeof...(rest) > 0) (*this)(rest...);
  }

  template <typename Struct>
  static void fill(Struct& value, const Json& json, int depth = 0) {
    if (!json.is_object()) damaged("it is not an object");
    if (depth > kDeepest) damaged("it is too deep");
    FromObject object(json, depth);
    fields(object, value);
  }

 private:
  FromObject(const Json& json, int depth) : json_(json), depth_(depth) {}

  void read(const Json& json, bool& value) const {
    if (!json.is_boolean()) damaged("it is neither true nor false");
    value = json.get<bool>();
  }
  template <std::integral Number>
  void read(const Json& json, Number& value) const {
    if (json.is_number_unsigned() && std::in_range<Number>(json.get<std::uint64_t>())) {
      value = static_cast<Number>(json.get<std::uint64_t>());
    } else if (json.is_number_integer() && !json.is_number_unsigned() &&
               std::in_range<Number>(json.get<std::int64_t>())) {
      value = static_cast<Number>(json.get<std::int64_t>());
    } else {
      damaged("it is not a number of that kind");
    }
  }
  void read(const Json& json, double& value) const {
    if (json.is_null()) {
      value = std::nan("");  // or infinite: JSON has no word for either
    } else if (json.is_number()) {
      value = json.get<double>();
    } else {
      damaged("it is not a number");
    }
  }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void read(const Json& json, Enum& value) const { value = static_cast<Enum>(index_of(json, words_of(For<Enum>{}))); }
  template <typename Tag, typename Number>
  void read(const Json& json, Id<Tag, Number>& id) const {
    Number number = 0;
    read(json, number);
    id = Id<Tag, Number>(number);
  }
  void read(const Json& json, Duration& value) const {
    std::int64_t count = 0;
    read(json, count);
    if (count < -kFarthest || count > kFarthest) damaged("it is too far");
    value = Duration{count};
  }
  void read(const Json& json, WallTime& value) const {
    Duration since{0};
    read(json, since);
    value = WallTime{since};
  }
  void read(const Json& json, Hash128& value) const {
    const auto hash = parse_hash128(text_of(json));
    if (!hash) damaged("it is not a hash");
    value = *hash;
  }
  void read(const Json& json, std::string& text) const {
    if (!json.is_object()) {
      text = text_of(json);
      return;
    }
    const auto bytes = json.find(kBytes);
    if (bytes == json.end()) damaged("it is not a text");
    const std::string& digits = text_of(*bytes);
    if (digits.size() % 2 != 0) damaged("its bytes are not valid");
    text.clear();
    for (std::size_t i = 0; i < digits.size(); i += 2) {
      unsigned char byte = 0;
      const char* const end = digits.data() + i + 2;
      if (std::from_chars(digits.data() + i, end, byte, 16).ptr != end) damaged("its bytes are not valid");
      text += static_cast<char>(byte);
    }
  }
  void read(const Json& json, Origin& by) const {
    std::string text;
    read(json, text);
    by = origin_of(text);
  }
  void read(const Json& json, std::pair<std::string, std::string>& pair) const {
    if (!json.is_array() || json.size() != 2) damaged("it is not a pair");
    read(json[0], pair.first);
    read(json[1], pair.second);
  }
  void read(const Json& json, Variables& variables) const {
    std::vector<std::pair<std::string, std::string>> pairs;
    read(json, pairs);
    variables.clear();
    for (auto& [name, value] : pairs) variables.insert_or_assign(std::move(name), std::move(value));
  }
  /// A brake of a later version is found again by the reason.
  void read(const Json& json, std::optional<Brake>& brake) const {
    const auto& words = words_of(For<Brake>{});
    const auto found = std::ranges::find(words, std::string_view(text_of(json)));
    brake.reset();
    if (found != words.end()) brake = static_cast<Brake>(found - words.begin());
  }
  template <typename T>
  void read(const Json& json, std::optional<T>& value) const {
    T made{};
    read(json, made);
    value = std::move(made);
  }
  void read(const Json& json, Sparse<Identity>& value) const { read(json, value.edit()); }
  template <typename T>
  void read(const Json& json, std::shared_ptr<const T>& value) const {
    auto made = std::make_shared<T>();
    read(json, *made);
    value = std::move(made);
  }
  template <typename T>
  void read(const Json& json, std::vector<T>& values) const {
    if (!json.is_array()) damaged("it is not a list");
    values.clear();
    for (const Json& one : json) read(one, values.emplace_back());
  }
  void read(const Json& json, StepWhat& what) const {
    const auto kind = json.is_object() ? json.find(kKind) : json.end();
    if (!json.is_object() || kind == json.end()) damaged("it has no kind");
    read_kind(json, index_of(*kind, kStepKinds), what, std::make_index_sequence<kStepKinds.size()>());
  }
  template <typename Struct>
  requires std::is_aggregate_v<Struct>
  void read(const Json& json, Struct& value) const { fill(value, json, depth_ + 1); }

  template <std::size_t... indices>
  void read_kind(const Json& json, std::size_t index, StepWhat& what, std::index_sequence<indices...>) const {
    (void)((index == indices && (read(json, what.emplace<indices>()), true)) || ...);
  }
  static const std::string& text_of(const Json& json) {
    if (!json.is_string()) damaged("it is not a text");
    return json.get_ref<const std::string&>();
  }
  template <std::size_t count>
  static std::size_t index_of(const Json& json, const std::array<std::string_view, count>& words) {
    const auto found = std::ranges::find(words, std::string_view(text_of(json)));
    if (found == words.end()) damaged("it is an unknown word");
    return static_cast<std::size_t>(found - words.begin());
  }

  const Json& json_;
  int depth_;
};

template <typename Struct>
Result<Struct> from_text(std::string_view text, void (*check)(Struct&) = nullptr) {
  try {
    Struct value;
    FromObject::fill(value, Json::parse(text));
    if (check != nullptr) check(value);
    return value;
  } catch (const std::invalid_argument& error) {
    return Error{0, error.what()};
  } catch (const Json::parse_error& error) {
    return Error{0, text.empty() ? "it is empty" : fmt::format("it cannot be read from byte {} on", error.byte)};
  } catch (const Json::exception&) {
    return Error{0, "a value in it is of another kind"};
  }
}

/// The brake that a reason begins with: an older healer has saved no other word of it.
std::optional<Brake> brake_in(std::string_view reason) {
  for (std::size_t i = 0; i < kBrakes; ++i)
    if (reason.starts_with(fmt::format("{}:", title_of(static_cast<Brake>(i))))) return static_cast<Brake>(i);
  return std::nullopt;
}

/// What the engine relies on.
void check_healing(Healing& healing) {
  if (const std::string problem = problem_of(healing); !problem.empty()) damaged(problem);
  if (!healing.cause) healing.cause = std::make_shared<const effect::Cause>();
  if (stage::Waiting* const waits = healing.waiting(); waits != nullptr && !waits->held_by)
    waits->held_by = brake_in(waits->reason);
  if (healing.identity == Hash128{}) healing.identity = identity_of(healing, {});  // as an older healer made it
}

}  // namespace

std::string to_json(const Healing& healing) { return ToText::text_of(healing); }
std::string to_json(const TargetMemory& target) { return ToText::text_of(target); }
std::string to_json(const WorkflowMemory& workflow) { return ToText::text_of(workflow); }
std::string to_json(const ClosedBrake& brake) { return ToText::text_of(brake); }
std::string to_json(const Occurrence& event) { return ToText::text_of(event); }
std::string to_json(const EventFields& fields) { return ToText::text_of(SavedFields{fields}); }

Result<Healing> healing_from_json(std::string_view text) { return from_text<Healing>(text, check_healing); }
Result<TargetMemory> target_from_json(std::string_view text) { return from_text<TargetMemory>(text); }
Result<WorkflowMemory> workflow_from_json(std::string_view text) { return from_text<WorkflowMemory>(text); }
Result<ClosedBrake> brake_from_json(std::string_view text) { return from_text<ClosedBrake>(text); }
Result<Occurrence> occurrence_from_json(std::string_view text) { return from_text<Occurrence>(text); }
Result<EventFields> event_fields_from_json(std::string_view text) {
  Result<SavedFields> saved = from_text<SavedFields>(text);
  if (!saved) return saved.error();
  return std::move(saved->of_event);
}

}  // namespace healer::store
