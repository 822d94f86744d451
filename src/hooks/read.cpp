// SPDX-License-Identifier: MIT
#include "hooks/read.hpp"

#include <algorithm>
#include <array>

#include <spdlog/fmt/fmt.h>

#include "hooks/parse.hpp"
#include "util/hash.hpp"
#include "util/text.hpp"

namespace healer::hooks {
namespace {

constexpr std::array<std::string_view, 5> kFormats{"json", "aodh", "zaqar", "alertmanager", "cloudevents"};

/// Whether brackets nest deeper than kDeepest, of a text that may be anything.
bool is_too_deep(std::string_view text) {
  std::size_t depth = 0;
  bool is_quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (is_quoted) {
      if (c == '\\')
        ++at;
      else if (c == '"')
        is_quoted = false;
    } else if (c == '"') {
      is_quoted = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kDeepest) return true;
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return false;
}

/// The text of a string, a number, true or false, which is not empty and not too long for an id.
std::optional<std::string> plain_text(const std::string& json) {
  const Json value = Json::parse(json, nullptr, false);
  if (value.is_discarded() || value.is_null() || value.is_structured()) return std::nullopt;
  std::string text = value.is_string() ? value.get<std::string>() : write(value);
  return text.empty() || text.size() > kLongestId ? std::nullopt : std::optional(std::move(text));
}

Refusal not_found(std::string_view what, const Result<std::string>& found) {
  if (!found) return {422, fmt::format("the filter of its {} has failed: {}", what, printable(found.error().what))};
  return {422, fmt::format("its {} must be a text, a number, true or false, of at most {} bytes", what, kLongestId)};
}

Reading read_json(const Message& message) {
  std::string_view body = message.body;
  if (body.starts_with("\xEF\xBB\xBF")) body.remove_prefix(3);  // a mark that is no JSON
  const auto parsed = parse(body);
  if (const auto* const refusal = std::get_if<Refusal>(&parsed)) return *refusal;
  Occurrence occurrence{
      .id = std::string(message.header("webhook-id").value_or("")), .state = "", .document = std::string(trim(body))};
  if (occurrence.id.size() > kLongestId) return Refusal{400, "its header webhook-id is too long"};
  if (occurrence.id.empty()) occurrence.id = hash_of(message.body);
  return std::vector{std::move(occurrence)};
}

}  // namespace

std::string_view to_string(Format format) { return kFormats.at(static_cast<std::size_t>(format)); }

std::optional<Format> format_of(std::string_view name) {
  for (std::size_t at = 0; at < kFormats.size(); ++at)
    if (iequals(kFormats.at(at), name)) return static_cast<Format>(at);
  return std::nullopt;
}

std::optional<std::string_view> Message::header(std::string_view name) const {
  const auto found = std::ranges::find_if(headers, [&](const auto& one) { return iequals(one.first, name); });
  if (found == headers.end()) return std::nullopt;
  return found->second;
}

std::variant<Json, Refusal> parse(std::string_view text) {
  if (is_too_deep(text)) return Refusal{400, fmt::format("its values nest deeper than {} levels", kDeepest)};
  Json value = Json::parse(text, nullptr, false);
  if (!value.is_discarded()) return value;
  return Refusal{400, trim(text).empty() ? "it has no body" : "its body is not JSON"};
}

std::string write(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::optional<std::string> text_of(const Json& object, std::string_view field) {
  if (!object.is_object()) return std::nullopt;
  const auto found = object.find(field);
  if (found == object.end() || !found->is_string()) return std::nullopt;
  auto text = found->get<std::string>();
  return text.empty() || text.size() > kLongestId ? std::nullopt : std::optional(std::move(text));
}

std::string hash_of(std::string_view text) { return to_string(hash128(text)); }

Refusal lacks(std::string_view what, std::string_view field) {
  return {400, fmt::format("{} has no \"{}\" that is a text of at most {} bytes", what, field, kLongestId)};
}

Reading read(Format format, const Message& message) {
  switch (format) {
    case Format::Json: return read_json(message);
    case Format::Aodh: return read_aodh(message);
    case Format::Zaqar: return read_zaqar(message);
    case Format::Alertmanager: return read_alertmanager(message);
    case Format::CloudEvents: return read_cloud_event(message);
  }
  return Refusal{400, "its format is unknown"};
}

std::variant<Occurrence, Refusal> with_key(Occurrence occurrence, const Result<std::string>& key,
                                           const std::optional<Result<std::string>>& state) {
  auto id = key ? plain_text(*key) : std::nullopt;
  if (!id) return not_found("key", key);
  occurrence.id = std::move(*id);
  if (!state) return occurrence;
  auto now = *state ? plain_text(**state) : std::nullopt;
  if (!now) return not_found("state", *state);
  occurrence.state = std::move(*now);
  return occurrence;
}

}  // namespace healer::hooks
