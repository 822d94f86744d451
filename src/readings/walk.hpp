// SPDX-License-Identifier: MIT
// How fields are told in bytes. A struct names its fields once, in order (recorded_fields, evidence_fields), as
// `fields(auto& walk, Is<Struct> auto& value)`; the writer and the reader walk them. Each is told as its type is, or
// as what stands around it in the walk says. What is published never changes.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "readings/bytes.hpp"

namespace healer::readings {

template <typename T, typename Struct>
concept Is = std::same_as<std::remove_const_t<T>, Struct>;

/// For what is asked of a type: `last_of(For<Outcome>)` is the last enumerator that is read.
template <typename T>
struct For {};

/// A text, or texts, of which the first bytes are written, and `most` at most.
template <typename T>
struct Clipped {
  T& text;
  std::size_t most;
};
template <typename T>
[[nodiscard]] Clipped<T> clipped(T& text, std::size_t most) {
  return {text, most};
}

/// What a flag tells of a value that stands behind it, by where(). Where it is read, the flag says so instead.
[[nodiscard]] bool is_there(const auto& value) {
  if constexpr (requires { value.has_value(); })
    return value.has_value();
  else
    return !value.empty();
}

template <typename T>
concept Enum = std::is_enum_v<T>;
template <typename T>
concept Timed = requires {
  typename T::period;
};  // a span or a point of time: told in its units
template <typename T>
concept Numbered = requires(T value) {
  T{value.number()};
};
template <typename T>
concept Maybe = requires(T value) {
  value.has_value();
};
template <typename T>
concept List = requires(T value) {
  value.clear();
};

[[nodiscard]] constexpr std::int64_t units_of(const Timed auto& time) {
  if constexpr (requires { time.count(); })
    return time.count();
  else
    return time.time_since_epoch().count();
}

/// All that a struct consists of, which are numbers, in the order of its walk.
using Numbers = std::array<std::int64_t, 10>;
[[nodiscard]] Numbers numbers_of(const auto& value) {
  Numbers numbers{};
  auto walk = [&numbers](const auto&... all) { numbers = {static_cast<std::int64_t>(all)...}; };
  fields(walk, value);
  return numbers;
}
void set_numbers(auto& value, const Numbers& numbers) {
  auto walk = [next = numbers.begin()]<typename... Ts>(Ts&... all) mutable { ((all = static_cast<Ts>(*next++)), ...); };
  fields(walk, value);
}

/// `Own`: the class that derives from it, which may tell of more.
template <typename Own>
class FieldWriter {
 public:
  explicit FieldWriter(std::string& bytes) : out_(bytes) {}

  /// One after the other.
  void operator()(const auto&... values) { (put(values), ...); }
  /// In the bits of one byte, the first in the lowest.
  void flags(const std::same_as<bool> auto&... values) {
    unsigned all = 0;
    unsigned bit = 0;
    ((all |= unsigned{values} << bit++), ...);
    out_.byte(static_cast<std::uint8_t>(all));
  }
  /// Only where it is there, as a flag before it has told.
  void where(bool there, const auto& value) {
    if (there) put(value);
  }
  void where(bool there, const Maybe auto& value) {
    if (there) put(*value);
  }
  /// The same, told by how it differs from `was`.
  template <Maybe T>
  void where(bool there, const T& value, const T& was) {
    if (there) put_change(was ? *was : typename T::value_type(), *value);
  }
  /// A list; of each `one(walk, element)` says how.
  void each(const auto& list, auto&& one) {
    out_.number(list.size());
    for (const auto& element : list) one(own(), element);
  }
  /// As the text that `to` makes of it, of which `from` makes it again.
  void as_text(const auto& value, auto&& to, auto&& /*from*/) { out_.text(to(value)); }
  /// Not at all: it is `was`.
  void leave(const auto& /*value*/, const auto& /*was*/) {}
  /// What reads fails where this is not so.
  void require(bool /*good*/) {}

  /// For what no walk tells.
  [[nodiscard]] ByteWriter& bytes() { return out_; }

 private:
  static constexpr std::size_t kAll = std::string_view::npos;

  Own& own() { return static_cast<Own&>(*this); }

  void put(bool value) { out_.byte(value ? 1 : 0); }
  void put(double value) { out_.real(value); }
  void put(const std::string& value, std::size_t most = kAll) { out_.text(std::string_view(value).substr(0, most)); }
  void put(const std::shared_ptr<const std::string>& value, std::size_t most = kAll) { put(*value, most); }
  void put(const Enum auto& value) { out_.byte(static_cast<std::uint8_t>(value)); }
  void put(const std::unsigned_integral auto& value) { out_.number(value); }
  void put(const std::signed_integral auto& value) { out_.difference(value); }
  void put(const Timed auto& value) { out_.difference(units_of(value)); }
  void put(const Numbered auto& value) { out_.number(value.number()); }
  void put(const Maybe auto& value, auto... most) {
    put(value.has_value());
    if (value) put(*value, most...);
  }
  void put(const List auto& value, auto... most) {
    each(value, [most...](FieldWriter& walk, const auto& element) { walk.put(element, most...); });
  }
  template <typename First, typename Second>
  void put(const std::pair<First, Second>& value) {
    (*this)(value.first, value.second);
  }
  template <typename T>
  void put(const Clipped<T>& value) {
    put(value.text, value.most);
  }
  void put(const auto& value, auto... /*most*/) { fields(own(), value); }

  void put_change(const Timed auto& was, const Timed auto& now) {
    out_.difference(difference(units_of(now), units_of(was)));
  }
  /// Most numbers stay as they are from run to run: a bit for each tells which do not.
  void put_change(const auto& was, const auto& now) {
    const Numbers before = numbers_of(was);
    const Numbers after = numbers_of(now);
    std::uint64_t changed = 0;
    for (std::size_t i = 0; i < after.size(); ++i) changed |= std::uint64_t{before[i] != after[i]} << i;
    out_.number(changed);
    for (std::size_t i = 0; i < after.size(); ++i)
      if (before[i] != after[i]) out_.difference(difference(after[i], before[i]));
  }

  ByteWriter out_;
};

/// Its functions are those of FieldWriter, the other way round. What is read is as it may be, whatever the bytes are;
/// it counts where they are still ok().
template <typename Own>
class FieldReader {
 public:
  explicit FieldReader(ByteReader& in) : in_(in) {}

  void operator()(auto&&... values) { (get(values), ...); }
  void flags(std::same_as<bool> auto&... values) {
    unsigned all = in_.byte();
    ((values = (all & 1) != 0, all >>= 1), ...);
  }
  template <typename T>
  void where(bool there, T& value) {
    value = T();
    if (there) get(value);
  }
  template <Maybe T>
  void where(bool there, T& value) {
    value = T();
    if (there) get(value.emplace());
  }
  template <Maybe T>
  void where(bool there, T& value, const T& was) {
    value = T();
    if (there) get_change(was ? *was : typename T::value_type(), value.emplace());
  }
  template <typename T>
  void each(T& list, auto&& one) {
    list.clear();
    for (std::size_t left = in_.count(); left > 0 && in_.ok(); --left) {
      typename T::value_type element{};
      one(own(), element);
      list.push_back(std::move(element));
    }
  }
  void as_text(auto& value, auto&& /*to*/, auto&& from) { value = from(in_.text()); }
  void leave(auto& value, const auto& was) { value = was; }
  void require(bool good) {
    if (!good) in_.fail();
  }

  [[nodiscard]] ByteReader& bytes() { return in_; }

 private:
  Own& own() { return static_cast<Own&>(*this); }

  void get(bool& value) { value = in_.byte() != 0; }
  void get(double& value) { value = in_.real(); }
  void get(std::string& value) { value = in_.text(); }
  void get(std::shared_ptr<const std::string>& value) { value = std::make_shared<const std::string>(in_.text()); }
  template <Enum T>
  void get(T& value) {
    const std::uint8_t told = in_.byte();
    require(told <= static_cast<std::uint8_t>(last_of(For<T>{})));
    if (in_.ok()) value = static_cast<T>(told);
  }
  template <std::unsigned_integral T>
  void get(T& value) {
    value = static_cast<T>(in_.number());
  }
  template <std::signed_integral T>
  void get(T& value) {
    value = static_cast<T>(in_.difference());
  }
  template <Timed T>
  void get(T& value) {
    value = of_units<T>(in_.difference());
  }
  template <Numbered T>
  void get(T& value) {
    value = T{in_.number()};
  }
  void get(Maybe auto& value) { where(in_.byte() != 0, value); }
  void get(List auto& value) {
    each(value, [](FieldReader& walk, auto& element) { walk.get(element); });
  }
  template <typename First, typename Second>
  void get(std::pair<First, Second>& value) {
    (*this)(value.first, value.second);
  }
  template <typename T>
  void get(Clipped<T>& value) {
    get(value.text);
  }
  void get(auto& value) { fields(own(), value); }

  template <Timed T>
  void get_change(const T& was, T& now) {
    now = of_units<T>(sum(units_of(was), in_.difference()));
  }
  void get_change(const auto& was, auto& now) {
    Numbers numbers = numbers_of(was);
    const std::uint64_t changed = in_.number();
    for (std::size_t i = 0; i < numbers.size(); ++i)
      if ((changed >> i & 1) != 0) numbers[i] = sum(numbers[i], in_.difference());
    set_numbers(now, numbers);
  }
  template <Timed T>
  static T of_units(std::int64_t units) {
    if constexpr (requires(T time) { time.count(); })
      return T{units};
    else
      return T{typename T::duration{units}};
  }

  ByteReader& in_;
};

/// Those that tell no more than this.
struct PlainWriter : FieldWriter<PlainWriter> {
  using FieldWriter::FieldWriter;
};
struct PlainReader : FieldReader<PlainReader> {
  using FieldReader::FieldReader;
};

}  // namespace healer::readings
