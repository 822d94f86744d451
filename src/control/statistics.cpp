// SPDX-License-Identifier: MIT
#include "control/statistics.hpp"

#include <variant>

namespace healer::control {

void Statistics::note(const engine::Event& event) {
  if (std::holds_alternative<engine::event::Measured>(event)) ++counts_.runs;
}

void Statistics::note(const engine::Effect& effect) {
  using engine::RecordKind;
  const auto* commit = std::get_if<engine::effect::Commit>(&effect);
  if (commit == nullptr) return;
  for (const engine::Record& record : commit->records) {
    switch (record.kind) {
      case RecordKind::RuleFailed:
      case RecordKind::RuleRecovered:
      case RecordKind::RuleMatched:
      case RecordKind::RuleChanged: ++counts_.changes; break;
      case RecordKind::ProcessDied: ++counts_.deaths; break;
      case RecordKind::ActionStarted: ++counts_.programs; break;
      case RecordKind::MailSent: ++counts_.mails; break;
      default: break;  // it is in the history; nobody watches its rate
    }
  }
}

}  // namespace healer::control
