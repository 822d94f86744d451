// SPDX-License-Identifier: MIT
// The only owner of default values: writes into the document what its writer left to healer. As in Monit, `set limits`
// and `set onreboot` hold for the services that are written after them.
#include <algorithm>

#include "config/passes.hpp"
#include "config/vocabulary.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

template <typename Kind>
bool has(const CheckProgramSyntax& check) {
  return std::ranges::any_of(check.statements,
                             [](const ServiceStatement& statement) { return std::holds_alternative<Kind>(statement); });
}

bool is_manual(const CheckProgramSyntax& check) {
  return std::ranges::any_of(check.statements, [](const ServiceStatement& statement) {
    const auto* mode = std::get_if<ModeSyntax>(&statement);
    return mode != nullptr && iequals(mode->mode.value, "manual");
  });
}

class Defaults {
 public:
  void apply(SetSyntax& set) {
    if (const auto* policy = std::get_if<SetOnReboot>(&set.statement)) on_reboot_ = policy->policy.value;
    if (const auto* limits = std::get_if<SetLimits>(&set.statement))
      for (const SetLimits::Item& item : limits->items)
        if (iequals(item.name.value, "programTimeout"))
          if (const auto* timeout = std::get_if<Duration>(&item.value); timeout != nullptr && *timeout > Duration{0})
            program_timeout_ = *timeout;
    if (auto* mail = std::get_if<SetMailServer>(&set.statement))
      for (SetMailServer::Server& server : mail->servers)
        if (!server.port) server.port = Number{.value = kSmtpPort, .range = server.host.range};
  }

  void apply(CheckProgramSyntax& check) const {
    // A timeout of nothing would end every run at once.
    if (!check.command.timeout || check.command.timeout->value <= Duration{0})
      check.command.timeout = Located<Duration>{.value = program_timeout_, .range = check.command.range};
    // Monit's old `mode manual` is: active, but as it was left.
    if (has<OnRebootSyntax>(check)) return;
    check.statements.reserve(check.statements.size() + 1);
    check.statements.emplace_back(
        OnRebootSyntax{{.value = is_manual(check) ? "laststate" : on_reboot_, .range = check.range}});
  }

 private:
  static constexpr std::uint64_t kSmtpPort = 25;

  std::string on_reboot_ = "start";
  Duration program_timeout_ = engine::Limits{}.program_timeout;
};

}  // namespace

void apply_defaults(Document& document) {
  Defaults defaults;
  for (Document::Statement& statement : document.statements)
    std::visit([&](auto& node) { defaults.apply(node); }, statement);
}

}  // namespace healer::config
