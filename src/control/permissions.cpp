// SPDX-License-Identifier: MIT
#include "control/permissions.hpp"

#include <algorithm>
#include <array>

#include <spdlog/fmt/fmt.h>

namespace healer::control {
namespace {

using engine::Role;

struct Row {
  Verb verb = Verb::Count_;
  Least least = Least::Admin;
};

/// Every verb, in the order of the enumeration.
constexpr std::array<Row, static_cast<std::size_t>(Verb::Count_)> kTable{{
    {Verb::Ping, Least::Anybody},
    {Verb::Status, Least::ReadOnly},
    {Verb::Summary, Least::ReadOnly},
    {Verb::Explain, Least::ReadOnly},
    {Verb::History, Least::ReadOnly},
    {Verb::Report, Least::ReadOnly},
    {Verb::Names, Least::ReadOnly},
    {Verb::Jobs, Least::ReadOnly},
    {Verb::Follow, Least::Operator},  // what programs write may be anything
    {Verb::Output, Least::Operator},
    {Verb::Diff, Least::ReadOnly},
    {Verb::HealingStatus, Least::ReadOnly},
    {Verb::HealingReport, Least::ReadOnly},
    {Verb::Lists, Least::ReadOnly},
    {Verb::Open, Least::ReadOnly},  // what the browser may then is up to the role of whoever asked
    {Verb::Events, Least::ReadOnly},
    {Verb::Monitor, Least::Admin},
    {Verb::Unmonitor, Least::Admin},
    {Verb::Validate, Least::Admin},
    {Verb::Accept, Least::Admin},
    {Verb::Start, Least::Admin},
    {Verb::Stop, Least::Admin},
    {Verb::Restart, Least::Admin},
    {Verb::Pause, Least::Operator},
    {Verb::Resume, Least::Operator},
    {Verb::Cancel, Least::Operator},
    {Verb::Heal, Least::Operator},
    {Verb::Approve, Least::Operator},
    {Verb::Reject, Least::Operator},
    {Verb::HealingReset, Least::Admin},
    {Verb::Ack, Least::Operator},
    {Verb::Forget, Least::Admin},
    {Verb::Beat, Least::Operator},
    {Verb::Event, Least::Operator},  // a hook asks as an operator, when it has let its sender in
    {Verb::Reload, Least::Admin},
    {Verb::Quit, Least::Admin},
}};

constexpr bool has_a_row_for_each() {
  for (std::size_t at = 0; at < kTable.size(); ++at)
    if (kTable[at].verb != static_cast<Verb>(at)) return false;
  return true;
}
static_assert(has_a_row_for_each(), "a verb has no row, or stands in another place than in the enumeration");

constexpr std::array<std::string_view, 3> kRoles{"read-only", "operator", "admin"};

Least rank_of(const std::optional<Role>& role) {
  return role ? static_cast<Least>(static_cast<std::uint8_t>(*role) + 1) : Least::Anybody;
}
static_assert(static_cast<std::uint8_t>(Role::Admin) + 1 == static_cast<std::uint8_t>(Least::Admin));

/// Who could do it.
std::string remedy_for(Least least) {
  const std::string admins = fmt::format("run healerctl as root, or join the group \"{}\"", kControlGroup);
  return least == Least::Admin ? admins : admins + ", or be named in 'set operators'";
}

}  // namespace

std::string_view to_string(Role role) { return kRoles[static_cast<std::size_t>(role)]; }

Least least_for(Verb verb) {
  const auto at = static_cast<std::size_t>(verb);
  return at < kTable.size() ? kTable[at].least : Least::Admin;
}

Least least_for(const Request& request) {
  const Least of_verb = least_for(request.verb);
  if (request.verb == Verb::Beat && request.beat && !request.beat->token.empty()) return Least::Anybody;
  return request.overrides.empty() ? of_verb : std::max(of_verb, Least::Admin);
}

Asker asker_of(const Credentials& who, const SocketAccess& access, uid_t own) {
  if (who.uid == 0) return {.name = "root", .role = Role::Admin};
  std::string number = fmt::format("uid {}", who.uid);
  if (who.uid == own) return {.name = std::move(number), .role = Role::Admin};
  // Before the group: the rules give one of its members less by naming him.
  const auto named = std::ranges::find(access.operators, who.uid, &NamedOperator::uid);
  if (named != access.operators.end()) return {.name = named->name, .role = Role::Operator};
  if (access.group && std::ranges::find(who.groups, *access.group) != who.groups.end())
    return {.name = std::move(number), .role = Role::Admin};
  return {.name = std::move(number), .role = std::nullopt};
}

bool is_at_least(const Asker& who, Least least) { return rank_of(who.role) >= least; }

std::optional<Failure> forbidden(const Request& request, const Asker& who) {
  const Least least = least_for(request);
  if (is_at_least(who, least)) return std::nullopt;
  const std::string_view needed = kRoles[static_cast<std::size_t>(least) - 1];
  if (!who.role)
    return Failure{"denied",
                   fmt::format("{} may not control healerd: it is neither root nor in the group that may; '{}' needs "
                               "the role {}",
                               who.name, to_string(request.verb), needed),
                   request.verb == Verb::Beat
                       ? remedy_for(least) + ", or set HEALER_TOKEN to the token of the heartbeat"
                       : remedy_for(least)};
  const bool overrides = least_for(request.verb) < least;
  return Failure{"forbidden",
                 fmt::format("'{}'{} needs the role {}, and the user '{}' has the role {}", to_string(request.verb),
                             overrides ? " with overrides" : "", needed, who.name, to_string(*who.role)),
                 who.role == Role::Operator
                     ? "run healerctl as root; who is named in 'set operators' is an operator, whatever his groups"
                     : remedy_for(least)};
}

}  // namespace healer::control
