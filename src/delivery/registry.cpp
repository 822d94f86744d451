// SPDX-License-Identifier: MIT
// The one place that knows all kinds of contacts. A further one is a line here, a file in contacts/ and a line of
// CMake.
#include <algorithm>
#include <array>

#include "delivery/contact.hpp"
#include "util/text.hpp"

// clang-format off
#define HEALER_CONTACTS(CONTACT) \
  CONTACT(mail)                  \
  CONTACT(ntfy)                  \
  CONTACT(url)
// clang-format on

namespace healer::delivery {

#define HEALER_DECLARE(name) extern const Kind name##_contact;
HEALER_CONTACTS(HEALER_DECLARE)
#undef HEALER_DECLARE

std::span<const Kind* const> kinds() {
#define HEALER_ADDRESS(name) &name##_contact,
  static constexpr std::array kAll{HEALER_CONTACTS(HEALER_ADDRESS)};
#undef HEALER_ADDRESS
  return kAll;
}

const Kind* find_kind(std::string_view name) {
  const auto found = std::ranges::find(kinds(), name, &Kind::name);
  return found == kinds().end() || (*found)->compose == nullptr ? nullptr : *found;
}

std::vector<std::string_view> kind_names() {
  std::vector<std::string_view> names;
  for (const Kind* const kind : kinds())
    if (kind->compose != nullptr) names.push_back(kind->name);
  return names;
}

const Kind& mail_kind() { return mail_contact; }

Parcel compose(const engine::Contact& contact, const Letter& letter, const std::string& host) {
  const Values values = values_of(letter, host);
  Parcel parcel = find_kind(contact.kind)->compose(contact, letter, values);
  for (const std::string& header : contact.headers) parcel.headers.push_back(render(header, values, Format::Header));
  parcel.headers.push_back({{.text = "Idempotency-Key: " + idempotency_key(letter, to_lower(contact.name))}});
  return parcel;
}

std::string_view setting_of(const engine::Contact& contact, std::string_view name) {
  const auto found = std::ranges::find(contact.settings, name, &std::pair<std::string, std::string>::first);
  return found == contact.settings.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace healer::delivery
