// SPDX-License-Identifier: MIT
// Private to the compiler: which event a test raises.
#pragma once

#include <string_view>

#include "config/compile/quantity.hpp"
#include "config/syntax/syntax.hpp"
#include "engine/rules/event_kind.hpp"
#include "engine/rules/kind.hpp"

namespace healer::config {

/// The event that a test of a kind raises, as Monit names it.
struct EventOf {
  using Event = engine::EventKind;
  const engine::CheckKind& kind;

  Event operator()(const CompareSyntax& test) const {
    const engine::Quantity* row = read_quantity(kind, test).row;
    return row != nullptr ? row->event : Event::Resource;
  }
  Event operator()(const TotalSyntax& test) const { return (*this)(test.amount); }
  Event operator()(const LinkSyntax&) const { return Event::Link; }
  Event operator()(const DiffersSyntax& test) const { return of(test.what); }
  Event operator()(const ChangedSyntax& test) const { return of(test.what); }
  Event operator()(const PresentSyntax& test) const { return test.negated ? Event::NonExist : Event::Exist; }
  Event operator()(const MatchesSyntax&) const { return Event::Content; }
  Event operator()(const ConnectionSyntax& test) const {
    return test.target == ConnectionSyntax::Target::Ping ? Event::Icmp : Event::Connection;
  }
  Event operator()(const RestartsSyntax&) const { return Event::Timeout; }
  Event operator()(const MembersSyntax&) const { return Event::Status; }
  Event operator()(const HeartbeatTestSyntax& test) const { return test.missed ? Event::Timeout : Event::Status; }
  Event operator()(const EventCountSyntax&) const { return Event::Timeout; }
  Event operator()(const ActiveSyntax&) const { return Event::Status; }
  Event operator()(const QueriedSyntax&) const { return Event::Content; }
  Event operator()(const TextSyntax& test) const { return of(test.what); }
  Event operator()(const OutputChangedSyntax&) const { return Event::Content; }

 private:
  [[nodiscard]] Event of(std::string_view attribute) const {
    const engine::AttributeRow* row = kind.find_attribute(attribute);
    return row != nullptr ? row->event : Event::Invalid;
  }
};

}  // namespace healer::config
