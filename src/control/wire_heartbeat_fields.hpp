// SPDX-License-Identifier: MIT
// The part of control/wire_fields, which includes it, that is about heartbeats and units.
#pragma once

#include "control/wire.hpp"

namespace healer::control::wiring {

template <typename Walk, Same<BeatSent> T>
void fields(Walk walk, T& v) {
  walk("word", v.word);
  walk("status", v.status);
  walk("text", v.text);
  walk("token", v.token);
}

template <typename Walk, Same<HeartbeatView> T>
void fields(Walk walk, T& v) {
  walk("last", v.last);
  walk("word", v.word);
  walk("status", v.status);
  walk("text", v.text);
  walk("beat", v.beat);
  walk("every_ms", v.every);
  walk("within_ms", v.within);
  walk("due", v.due);
  walk("missed_at", v.missed_at);
  walk("missed", v.missed);
  walk("started", v.started);
  walk("ran_ms", v.ran);
}

template <typename Walk, Same<UnitView> T>
void fields(Walk walk, T& v) {
  walk("name", v.name);
  walk("state", v.state);
  walk("substate", v.substate);
  walk("standing", v.standing);
}

}  // namespace healer::control::wiring
