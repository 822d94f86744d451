// SPDX-License-Identifier: MIT
// Events as CloudEvents 1.0 has them over HTTP: structured, all of it a document, or binary, its attributes as headers
// and its payload as the body.
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "hooks/parse.hpp"
#include "util/base64.hpp"
#include "util/text.hpp"

namespace healer::hooks {
namespace {

constexpr std::string_view kPrefix = "ce-";

/// "application/json" of "application/json; charset=utf-8".
std::string media_type(std::string_view content_type) {
  return to_lower(trim(content_type.substr(0, content_type.find(';'))));
}

bool is_json(std::string_view type) {
  return type == "application/json" || type == "text/json" || type.ends_with("+json");
}

bool is_text(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

/// A header's value, in which bytes may be written as %XX.
std::string decoded(std::string_view value) {
  std::string text;
  while (!value.empty()) {
    unsigned byte = 0;
    const std::string_view digits = value.substr(1, 2);
    if (value.front() == '%' && digits.size() == 2 &&
        std::from_chars(digits.data(), digits.data() + 2, byte, 16).ptr == digits.data() + 2) {
      text += static_cast<char>(byte);
      value.remove_prefix(3);
    } else {
      text += value.front();
      value.remove_prefix(1);
    }
  }
  return text;
}

/// The same in UTF-8, of a header that may be ISO 8859-1: some libraries write it as it is, which HTTP once allowed.
std::string as_utf8(std::string text) {
  if (is_text(text)) return text;
  std::string converted;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      converted += c;
    } else {
      converted += static_cast<char>(0xC0U | byte >> 6U);
      converted += static_cast<char>(0x80U | (byte & 0x3FU));
    }
  }
  return converted;
}

/// Puts a payload in that came as bytes. Nothing: it is not what its type says.
bool add_payload(Json& event, std::string_view bytes, std::string_view type) {
  if (is_json(type)) {
    auto parsed = parse(bytes);
    auto* const value = std::get_if<Json>(&parsed);
    if (value == nullptr) return false;
    event["data"] = std::move(*value);
  } else if (is_text(bytes)) {
    event["data"] = bytes;
  } else {
    event["data_base64"] = base64_encoded(bytes);
  }
  return true;
}

/// The event of all its attributes and its payload.
Reading finish(Json event) {
  for (const std::string_view field : {"specversion", "id", "source", "type"})
    if (!text_of(event, field)) return lacks("a CloudEvent", field);
  if (const auto version = *text_of(event, "specversion"); version != "1.0")
    return Refusal{400,
                   fmt::format("a CloudEvent of the version {} is not understood, only of 1.0", printable(version))};
  const auto source = *text_of(event, "source");
  // A reference to something on the web has none; and so the id is not mistaken for another one's.
  if (source.find_first_of(" \t\r\n") != std::string::npos)
    return Refusal{400, "the \"source\" of a CloudEvent contains blanks"};
  return std::vector{Occurrence{.id = source + ' ' + *text_of(event, "id"), .state = "", .document = write(event)}};
}

Reading read_structured(std::string_view body) {
  auto parsed = parse(body);
  if (const auto* const refusal = std::get_if<Refusal>(&parsed)) return *refusal;
  Json& event = std::get<Json>(parsed);
  if (!event.is_object()) return Refusal{400, "a structured CloudEvent is a JSON object"};
  if (const auto coded = event.find("data_base64"); coded != event.end()) {
    const auto bytes = coded->is_string() ? base64_decoded(coded->get_ref<const std::string&>()) : std::nullopt;
    if (!bytes || event.contains("data"))
      return Refusal{400, "the \"data_base64\" of a CloudEvent is base64, and stands in place of \"data\""};
    event.erase(coded);
    if (!add_payload(event, *bytes, media_type(text_of(event, "datacontenttype").value_or(""))))
      return Refusal{400, "the payload of a CloudEvent is not JSON, although it says so"};
  }
  return finish(std::move(event));
}

Reading read_binary(const Message& message) {
  Json event = Json::object();
  for (const auto& [name, value] : message.headers) {
    if (name.size() <= kPrefix.size() || !iequals(std::string_view(name).substr(0, kPrefix.size()), kPrefix)) continue;
    const std::string attribute = to_lower(std::string_view(name).substr(kPrefix.size()));
    const std::string text = decoded(value);
    if (attribute == "data" || attribute == "data_base64" || attribute == "datacontenttype")
      return Refusal{400,
                     fmt::format("the header ce-{} stands for no attribute of a CloudEvent", printable(attribute))};
    if (!is_text(attribute)) return Refusal{400, "the name of a header of a CloudEvent is not UTF-8"};
    event[attribute] = as_utf8(text);
  }
  const std::string_view content_type = message.header("content-type").value_or("");
  if (!content_type.empty() && is_text(content_type)) event["datacontenttype"] = content_type;
  const std::string type = media_type(content_type);
  if (!message.body.empty() && !add_payload(event, message.body, type))
    return Refusal{400, "the payload of a CloudEvent is not JSON, although it says so"};
  return finish(std::move(event));
}

}  // namespace

Reading read_cloud_event(const Message& message) {
  const auto content_type = message.header("content-type");
  const std::string type = media_type(content_type.value_or(""));
  // A file that a person sends has no headers: all of the event is in it.
  if (type == "application/cloudevents+json" || (!content_type && !message.header("ce-specversion")))
    return read_structured(message.body);
  if (type.starts_with("application/cloudevents"))
    return Refusal{400, fmt::format("CloudEvents as {} are not understood: one at a time, binary or as "
                                    "application/cloudevents+json",
                                    printable(type))};
  return read_binary(message);
}

}  // namespace healer::hooks
