// SPDX-License-Identifier: MIT
// The part of control/wire_fields, which includes it, that is about alerts on their way.
#pragma once

#include "control/wire.hpp"

namespace healer::control::wiring {

template <typename Walk, Same<MailView> T>
void fields(Walk walk, T& v) {
  walk("waiting", v.waiting);
  walk("since", v.since);
  walk("error", v.error);
  walk("error_since", v.error_since);
  walk("held", v.held);
  walk("held_until", v.held_until);
  walk("limit", v.limit);
  walk("gathered", v.gathered);
  walk("digest_until", v.digest_until);
}

template <typename Walk, Same<ContactView> T>
void fields(Walk walk, T& v) {
  walk("name", v.name);
  walk("waiting", v.waiting);
  walk("since", v.since);
  walk("error", v.error);
  walk("error_since", v.error_since);
  walk("next", v.next);
}

}  // namespace healer::control::wiring
