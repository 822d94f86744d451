// SPDX-License-Identifier: MIT
// Metrics as text: Prometheus' own format 0.0.4, and OpenMetrics 1.0. A family is written as a whole, all its samples
// one after another. Written for many lines: straight into the text, nothing is made on the way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace healer::web {

enum class Format : std::uint8_t { Text, OpenMetrics };

/// The format that who accepts this (the header Accept) is answered in: OpenMetrics where he names it and prefers it.
/// Text where he takes neither, too, for that is of more use than a refusal.
[[nodiscard]] Format format_for(std::optional<std::string_view> accept);
/// The Content-Type of a text in it.
[[nodiscard]] std::string_view content_type(Format format);

enum class FamilyType : std::uint8_t { Gauge, Counter, Histogram, Info };
inline constexpr FamilyType kGauge = FamilyType::Gauge;  ///< of most families

/// What the samples of one name have in common.
struct Family {
  std::string_view name;  ///< with its unit, without the suffixes "_total" and "_info"
  FamilyType type = FamilyType::Gauge;
  std::string_view help;  ///< one line without quotation marks and backslashes
  std::string_view unit{};
};

class Exposition {
 public:
  explicit Exposition(Format format) : format_(format) {}

  /// Everything that follows goes there. Requires: it lives as long.
  void write_to(std::string& out) { out_ = &out; }
  /// Begins a family, whose header is written with its first sample. Requires: the texts of it outlive that.
  void begin(const Family& family);
  /// Begins a sample of the family; `suffix` of a histogram.
  Exposition& sample(std::string_view suffix = {});
  /// Of this sample. Requires: `name` needs no escaping.
  Exposition& label(std::string_view name, std::string_view value);
  /// Ends the sample.
  void value(double number);
  void value(std::uint64_t number);
  void value(bool is) { value(std::uint64_t{is ? 1U : 0U}); }
  /// A number as a label: "30", and in OpenMetrics "30.0".
  [[nodiscard]] std::string bound(std::uint32_t number) const;
  /// A sample without labels.
  template <typename Number>
  void only(const Family& family, Number number) {
    begin(family);
    sample().value(number);
  }
  /// The end of the text.
  void end();

 private:
  void header();
  void close_labels();

  Format format_;
  std::string* out_ = nullptr;
  Family family_{};
  bool announced_ = false;  ///< the header of the family is written
  bool labelled_ = false;   ///< the sample under way has labels
};

}  // namespace healer::web
