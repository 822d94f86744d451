// SPDX-License-Identifier: MIT
#include "web/metrics/exposition.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "util/text.hpp"

namespace healer::web {
namespace {

constexpr std::string_view kOpenMetrics = "application/openmetrics-text";

/// What stands before the next separator, without blanks around it; the rest stays.
std::string_view take_part(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view part = trim(rest.substr(0, end));
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  return part;
}

std::string_view unquoted(std::string_view value) {
  return value.size() >= 2 && value.front() == '"' && value.back() == '"' ? value.substr(1, value.size() - 2) : value;
}

/// How well a media range fits, and how much it is wanted.
struct Weight {
  int fits = 0;  ///< the more exactly it names the type the more; 0: not at all
  double wanted = 0;

  void take(const Weight& other) {
    if (other.fits > fits || (other.fits == fits && other.wanted > wanted)) *this = other;
  }
};

/// One element of Accept, as it applies to a type in that version.
Weight weight_of(std::string_view element, std::string_view type, std::string_view version) {
  const std::string_view range = take_part(element, ';');
  Weight weight{.fits = 0, .wanted = 1};
  const std::string_view family = type.substr(0, type.find('/'));
  if (iequals(range, type))
    weight.fits = 3;
  else if (range.size() == family.size() + 2 && iequals(range.substr(0, family.size()), family) &&
           range.ends_with("/*"))
    weight.fits = 2;
  else if (range == "*/*")
    weight.fits = 1;
  else
    return {};
  while (!element.empty()) {
    std::string_view parameter = take_part(element, ';');
    const std::string_view name = take_part(parameter, '=');
    if (iequals(name, "q")) {
      weight.wanted = 0;
      std::from_chars(parameter.data(), parameter.data() + parameter.size(), weight.wanted);
    } else if (iequals(name, "version")) {
      if (unquoted(trim(parameter)) != version) return {};
      if (weight.fits == 3) weight.fits = 4;
    }
  }
  return weight;
}

template <typename Number>
void append_digits(std::string& out, Number number) {
  std::array<char, 32> digits{};
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  out.append(digits.data(), written.ptr);
}

bool is_simple(char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; }

/// Label values are UTF-8: of other bytes each is shown as one that is none.
void append_escaped(std::string& out, std::string_view value) {
  while (!value.empty()) {
    const auto* const odd = std::ranges::find_if_not(value, is_simple);
    out.append(value.begin(), odd);
    value.remove_prefix(static_cast<std::size_t>(odd - value.begin()));
    if (value.empty()) return;
    const std::size_t length = utf8_length(value);
    switch (value.front()) {
      case '\n': out += "\\n"; break;
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      default: out += length == 0 ? std::string_view("\xEF\xBF\xBD") : value.substr(0, length);
    }
    value.remove_prefix(std::max<std::size_t>(length, 1));
  }
}

std::string_view type_name(FamilyType type, Format format) {
  switch (type) {
    case FamilyType::Gauge: return "gauge";
    case FamilyType::Counter: return "counter";
    case FamilyType::Histogram: return "histogram";
    case FamilyType::Info: return format == Format::OpenMetrics ? "info" : "gauge";
  }
  return "";
}

std::string_view suffix_of(FamilyType type) {
  if (type == FamilyType::Counter) return "_total";
  return type == FamilyType::Info ? "_info" : "";
}

}  // namespace

Format format_for(std::optional<std::string_view> accept) {
  if (!accept) return Format::Text;
  Weight open;
  Weight text;
  for (std::string_view rest = *accept; !rest.empty();) {
    const std::string_view element = take_part(rest, ',');
    if (const Weight weight = weight_of(element, kOpenMetrics, "1.0.0"); weight.fits >= 3) open.take(weight);
    text.take(weight_of(element, "text/plain", "0.0.4"));
  }
  return open.wanted > 0 && open.wanted >= text.wanted ? Format::OpenMetrics : Format::Text;
}

std::string_view content_type(Format format) {
  return format == Format::OpenMetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                       : "text/plain; version=0.0.4; charset=utf-8";
}

void Exposition::begin(const Family& family) {
  family_ = family;
  announced_ = false;
}

void Exposition::header() {
  const std::string_view suffix = format_ == Format::Text ? suffix_of(family_.type) : std::string_view{};
  const auto line = [&](std::string_view what, std::string_view text) {
    *out_ += what;
    *out_ += family_.name;
    *out_ += suffix;
    *out_ += ' ';
    *out_ += text;
    *out_ += '\n';
  };
  line("# HELP ", family_.help);
  line("# TYPE ", type_name(family_.type, format_));
  if (format_ == Format::OpenMetrics && !family_.unit.empty()) line("# UNIT ", family_.unit);
  announced_ = true;
}

Exposition& Exposition::sample(std::string_view suffix) {
  if (!announced_) header();
  *out_ += family_.name;
  *out_ += suffix.empty() ? suffix_of(family_.type) : suffix;
  labelled_ = false;
  return *this;
}

Exposition& Exposition::label(std::string_view name, std::string_view value) {
  *out_ += labelled_ ? ',' : '{';
  labelled_ = true;
  *out_ += name;
  *out_ += "=\"";
  append_escaped(*out_, value);
  *out_ += '"';
  return *this;
}

void Exposition::close_labels() {
  if (labelled_) *out_ += '}';
  *out_ += ' ';
}

void Exposition::value(double number) {
  constexpr double kExact = 9'007'199'254'740'992.0;  // up to there each whole number is one
  close_labels();
  if (std::isnan(number))
    *out_ += "NaN";
  else if (std::isinf(number))
    *out_ += number > 0 ? "+Inf" : "-Inf";
  else if (std::abs(number) < kExact && number == std::trunc(number))
    append_digits(*out_, static_cast<std::int64_t>(number));
  else
    append_digits(*out_, number);
  *out_ += '\n';
}

void Exposition::value(std::uint64_t number) {
  close_labels();
  append_digits(*out_, number);
  *out_ += '\n';
}

std::string Exposition::bound(std::uint32_t number) const {
  return std::to_string(number) + (format_ == Format::OpenMetrics ? ".0" : "");
}

void Exposition::end() {
  if (format_ == Format::OpenMetrics) *out_ += "# EOF\n";
}

}  // namespace healer::web
