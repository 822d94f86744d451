// SPDX-License-Identifier: MIT
#include "ctl/diagnostics.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "config/diagnostic.hpp"
#include "config/source.hpp"
#include "runtime/host.hpp"

namespace healer {
namespace {

using config::Diagnostic;
using config::DiagnosticSeverity;

/// "path:line:column".
struct Place {
  std::string path;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

/// Takes the number behind the last ':' off a text.
std::optional<std::uint32_t> take_count(std::string_view& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view digits = text.substr(colon + 1);
  std::uint32_t number = 0;
  const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (wrong != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  text = text.substr(0, colon);
  return number;
}

std::optional<Place> place_of(std::string_view written) {
  const auto column = take_count(written);
  const auto line = take_count(written);
  if (!column || !line) return std::nullopt;
  return Place{std::string(written), *line, *column};
}

/// The offset of a place in a text; nothing: the text has changed since and does not have it.
std::optional<std::uint32_t> offset_of(std::string_view text, const Place& place) {
  std::size_t begin = 0;
  for (std::uint32_t line = 1; line < place.line; ++line) {
    begin = text.find('\n', begin);
    if (begin++ == std::string_view::npos) return std::nullopt;
  }
  const std::size_t end = std::min(text.find('\n', begin), text.size());
  // Columns count characters, of which one may have several bytes.
  std::uint32_t column = 1;
  std::size_t at = begin;
  for (; at < end && column < place.column; ++column)
    while (++at < end && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) continue;
  if (column != place.column) return std::nullopt;
  return static_cast<std::uint32_t>(at);
}

/// The files that are told of, as far as they can be read.
class Files {
 public:
  std::optional<config::SourceRange> range(const control::DiagnosticView& diagnostic) {
    const auto place = place_of(diagnostic.place);
    const auto file = place ? find(place->path) : std::nullopt;
    const auto offset = file ? offset_of(sources_.at(*file).text, *place) : std::nullopt;
    if (!offset) return std::nullopt;
    const std::uint64_t end = std::min<std::uint64_t>(*offset + diagnostic.length, sources_.at(*file).text.size());
    return config::SourceRange{*file, *offset, static_cast<std::uint32_t>(end)};
  }
  [[nodiscard]] const config::Sources& sources() const { return sources_; }

 private:
  std::optional<std::uint32_t> find(const std::string& path) {
    const auto [known, is_new] = files_.try_emplace(path);
    if (!is_new) return known->second;
    if (auto text = runtime::Host().read(path)) known->second = sources_.add(path, std::move(*text));
    return known->second;
  }

  config::Sources sources_;
  std::map<std::string, std::optional<std::uint32_t>> files_;
};

DiagnosticSeverity severity_of(std::string_view word) {
  return word == "error"     ? DiagnosticSeverity::Error
         : word == "warning" ? DiagnosticSeverity::Warning
                             : DiagnosticSeverity::Note;
}

}  // namespace

std::string diagnostics_text(const std::vector<control::DiagnosticView>& diagnostics, bool colour) {
  Files files;
  std::string text;
  for (const control::DiagnosticView& diagnostic : diagnostics)
    text += config::format({.severity = severity_of(diagnostic.severity),
                            .range = files.range(diagnostic),
                            .path = diagnostic.place,
                            .message = diagnostic.message,
                            .remedy = diagnostic.remedy},
                           files.sources(), colour);
  return text;
}

std::string_view after_diagnostics(std::string_view text, std::size_t diagnostics) {
  for (; diagnostics > 0; --diagnostics) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text;
}

}  // namespace healer
