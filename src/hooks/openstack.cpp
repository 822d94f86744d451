// SPDX-License-Identifier: MIT
// Alarms of Aodh, and messages of Zaqar, in which there may be such an alarm.
#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "hooks/parse.hpp"

namespace healer::hooks {
namespace {

const Json* member(const Json* object, std::string_view field) {
  if (object == nullptr || !object->is_object()) return nullptr;
  const auto found = object->find(field);
  return found == object->end() ? nullptr : &*found;
}

/// Adds each trait of the event by which the alarm was raised, `[name, type, value]`, as a field of its name. A field
/// that the alarm itself has stays, and of several traits of a name the first.
void add_traits(Json& value) {
  const Json* const traits = member(member(member(&value, "reason_data"), "event"), "traits");
  if (traits == nullptr || !traits->is_array()) return;
  const Json listed = *traits;
  for (const Json& trait : listed) {
    if (!trait.is_array() || trait.size() != 3 || !trait[0].is_string()) continue;
    const auto& name = trait[0].get_ref<const std::string&>();
    if (!name.empty() && !value.contains(name)) value[name] = trait[2];
  }
}

/// A text within a command for a shell, which whoever reads it may run.
bool is_harmless(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    constexpr std::string_view kOthers = "-._~:/?&=%+@,";
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kOthers.find(c) != std::string_view::npos;
  });
}

/// Zaqar asks whether its messages are wanted here. Whether they are is for a person to say: no address that a body
/// names is called.
Reading read_confirmation(const Json& message) {
  constexpr std::array<std::string_view, 5> kHeaders{"URL-Signature", "URL-Methods", "URL-Paths", "URL-Expires",
                                                     "X-Project-ID"};
  std::string headers;
  for (const std::string_view name : kHeaders) {
    const auto value = text_of(message, name);
    if (!value && name == "X-Project-ID") continue;  // of a Zaqar without Keystone
    if (!value) return lacks("a confirmation of Zaqar", name);
    if (!is_harmless(*value)) return Refusal{400, fmt::format("the \"{}\" of a confirmation of Zaqar is odd", name)};
    headers += fmt::format(" -H '{}: {}'", name, *value);
  }
  const std::string path = *text_of(message, "URL-Paths");
  if (!path.starts_with('/')) return Refusal{400, "the \"URL-Paths\" of a confirmation of Zaqar is no path"};
  const std::string url = text_of(message, "WSGISubscribeURL").value_or("http://ZAQAR:8888" + path);
  if (!is_harmless(url)) return Refusal{400, "the \"WSGISubscribeURL\" of a confirmation of Zaqar is odd"};
  return Notice{fmt::format(
      "Zaqar asks whether this subscription is wanted; who wants it confirms it: curl -X PUT -H 'Content-Type: "
      "application/json' -H \"Client-ID: $(uuidgen)\"{} -d '{{\"confirmed\": true}}' '{}'",
      headers, url)};
}

}  // namespace

bool is_alarm(const Json& value) { return text_of(value, "alarm_id") && text_of(value, "current"); }

Occurrence alarm(Json value) {
  Occurrence occurrence{.id = *text_of(value, "alarm_id"), .state = *text_of(value, "current"), .document = ""};
  add_traits(value);
  occurrence.document = write(value);
  return occurrence;
}

Reading read_aodh(const Message& message) {
  auto parsed = parse(message.body);
  if (const auto* const refusal = std::get_if<Refusal>(&parsed)) return *refusal;
  Json& body = std::get<Json>(parsed);
  for (const std::string_view field : {"alarm_id", "current"})
    if (!text_of(body, field)) return lacks("an alarm of Aodh", field);
  return std::vector{alarm(std::move(body))};
}

Reading read_zaqar(const Message& message) {
  auto parsed = parse(message.body);
  if (const auto* const refusal = std::get_if<Refusal>(&parsed)) return *refusal;
  Json& sent = std::get<Json>(parsed);
  const std::string type = text_of(sent, "Message_Type").value_or("");
  if (type == "SubscriptionConfirmation") return read_confirmation(sent);
  if (type == "UnsubscribeConfirmation") return Notice{"Zaqar says that this subscription has ended"};
  const auto body = sent.is_object() ? sent.find("body") : sent.end();
  if (!sent.is_object() || body == sent.end() || body->is_null())
    return Refusal{400, "a message of Zaqar has no \"body\""};
  if (is_alarm(*body)) return std::vector{alarm(std::move(*body))};
  const std::string document = write(*body);
  return std::vector{Occurrence{.id = hash_of(document), .state = "", .document = document}};
}

}  // namespace healer::hooks
