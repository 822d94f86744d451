// SPDX-License-Identifier: MIT
#include "web/monit_status.hpp"

#include <cstddef>
#include <span>

#include "engine/engine.hpp"
#include "engine/rules/service.hpp"

namespace healer::web {

std::uint32_t status_bit(engine::EventKind kind) {
  using engine::EventKind;
  switch (kind) {
    case EventKind::Checksum: return 1U << 0U;
    case EventKind::Resource: return 1U << 1U;
    case EventKind::Timeout: return 1U << 2U;
    case EventKind::Timestamp: return 1U << 3U;
    case EventKind::Size: return 1U << 4U;
    case EventKind::Connection: return 1U << 5U;
    case EventKind::Permission: return 1U << 6U;
    case EventKind::Uid: return 1U << 7U;
    case EventKind::Gid: return 1U << 8U;
    case EventKind::NonExist: return 1U << 9U;
    case EventKind::Invalid: return 1U << 10U;
    case EventKind::Data: return 1U << 11U;
    case EventKind::Exec: return 1U << 12U;
    case EventKind::FsFlags: return 1U << 13U;
    case EventKind::Icmp: return 1U << 14U;
    case EventKind::Content: return 1U << 15U;
    case EventKind::Instance: return 1U << 16U;
    case EventKind::Action: return 1U << 17U;
    case EventKind::Pid: return 1U << 18U;
    case EventKind::Ppid: return 1U << 19U;
    case EventKind::Status: return 1U << 21U;
    case EventKind::Uptime: return 1U << 22U;
    case EventKind::Link: return 1U << 23U;
    case EventKind::Speed: return 1U << 24U;
    case EventKind::Saturation: return 1U << 25U;
    case EventKind::ByteIn: return 1U << 26U;
    case EventKind::ByteOut: return 1U << 27U;
    case EventKind::PacketIn: return 1U << 28U;
    case EventKind::PacketOut: return 1U << 29U;
    case EventKind::Exist: return 1U << 30U;
  }
  return 0;
}

std::uint32_t status_mask(const engine::Engine& engine, engine::ServiceId service) {
  const std::span<const engine::RuleState> states = engine.rules(service);
  const auto& rules = engine.graph()->at(service).rules;
  std::uint32_t mask = 0;
  for (std::size_t i = 0; i < states.size(); ++i)
    if (states[i].status == engine::RuleStatus::Failed)
      mask |= status_bit(states[i].past->event.value_or(rules[i]->event));
  return mask;
}

}  // namespace healer::web
