// SPDX-License-Identifier: MIT
// The part of control/wire_fields, which includes it, that is about events.
#pragma once

#include "control/wire.hpp"

namespace healer::control::wiring {

template <typename Walk, Same<OccurrenceSent> T>
void fields(Walk walk, T& v) {
  walk("id", v.id);
  walk("state", v.state);
  walk("document", v.document);
  walk("remark", v.remark);
}

template <typename Walk, Same<EventSent> T>
void fields(Walk walk, T& v) {
  walk("occurrences", v.occurrences);
  walk("body", v.body);
  walk("again", v.again);
  walk("dry_run", v.dry_run);
  walk("sender", v.sender);
  walk("refused", v.refused);
  walk("why", v.why);
}

template <typename Walk, Same<EventAnswer> T>
void fields(Walk walk, T& v) {
  walk("event", v.event);
  walk("id", v.id);
  walk("state", v.state);
  walk("status", v.status);
  walk("text", v.text);
}

template <typename Walk, Same<EventView> T>
void fields(Walk walk, T& v) {
  walk("event", v.event);
  walk("service", v.service);
  walk("id", v.id);
  walk("state", v.state);
  walk("sender", v.sender);
  walk("remark", v.remark);
  walk("first", v.first);
  walk("last", v.last);
  walk("count", v.count);
  walk("status", v.status);
  walk("answer", v.answer);
  walk("stage", v.stage);
  walk("outcome", v.outcome);
  walk("targets", v.targets);
  walk("again", v.again);
  walk("has_document", v.has_document);
}

template <typename Walk, Same<EventCheckView> T>
void fields(Walk walk, T& v) {
  walk("hook", v.hook);
  walk("format", v.format);
  walk("within_ms", v.within);
  walk("valid_ms", v.valid);
  walk("waiting", v.waiting);
  walk("held", v.held);
  walk("targets", v.targets);
  walk("last", v.last);
}

}  // namespace healer::control::wiring
