// SPDX-License-Identifier: MIT
// set contact NAME url "https://wall.example/api" [method M] [header "X: y"] body '{"text": "${EVENT} ${SERVICE}"}'
#include "delivery/contact.hpp"

namespace healer::delivery {
namespace {

Parcel compose_url(const engine::Contact& contact, const Letter&, const Values& values) {
  const Format format = body_format(contact.headers);
  return {.method = contact.method.empty() ? "POST" : contact.method,
          .url = render(contact.place, values, Format::Url),
          .body = render(contact.body, values, format),
          .body_format = format};
}

}  // namespace

extern const Kind url_contact;
const Kind url_contact{
    .name = "url", .place = "a URL", .is_place_needed = true, .is_template = true, .compose = compose_url};

}  // namespace healer::delivery
