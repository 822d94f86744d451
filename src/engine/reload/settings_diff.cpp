// SPDX-License-Identifier: MIT
#include "engine/reload/settings_diff.hpp"

#include <array>
#include <string_view>
#include <vector>

#include "engine/rules/settings.hpp"

namespace healer::engine {
namespace {

struct Statement {
  std::string_view words;
  bool (*same)(const Settings&, const Settings&);
};

template <auto... members>
bool same(const Settings& one, const Settings& other) {
  return ((one.*members == other.*members) && ...);
}

template <auto... members>
bool same_mail(const Settings& one, const Settings& other) {
  return ((one.mail.*members == other.mail.*members) && ...);
}

template <auto... members>
bool same_healing(const Settings& one, const Settings& other) {
  return ((one.healing.*members == other.healing.*members) && ...);
}

/// Every member of Settings is in one row.
constexpr std::array kStatements{
    Statement{"set daemon", same<&Settings::cycle, &Settings::start_delay>},
    Statement{"set init", same<&Settings::foreground>},
    Statement{"set terminal", same<&Settings::terminal_batch>},
    Statement{"set log", same<&Settings::log>},
    Statement{"set pidfile", same<&Settings::pid_file>},
    Statement{"set idfile", same<&Settings::id_file>},
    Statement{"set statefile", same<&Settings::state_file>},
    Statement{"set control socket", same<&Settings::control_socket>},
    Statement{"set operators", same<&Settings::operators>},
    Statement{"set limits", same<&Settings::limits>},
    Statement{"set mailserver", same_mail<&MailSettings::servers, &MailSettings::timeout, &MailSettings::hostname>},
    Statement{"set mail-format", same_mail<&MailSettings::format>},
    Statement{"set alert", same_mail<&MailSettings::recipients>},
    Statement{"set eventqueue", same_mail<&MailSettings::queue_directory, &MailSettings::queue_slots>},
    Statement{"set mail limit", same_mail<&MailSettings::limit>},
    Statement{"set contact", same<&Settings::contacts>},
    Statement{"set httpd", same<&Settings::httpd>},
    Statement{"set url", same<&Settings::url>},
    Statement{"set mmonit", same<&Settings::mmonit>},
    Statement{"set ssl", same<&Settings::tls_options>},
    Statement{"set fips", same<&Settings::fips>},
    Statement{"set monit", same<&Settings::monit>},
    Statement{"set settle", same<&Settings::settle>},
    Statement{"set cycles", same<&Settings::count_polls>},
    Statement{"set environment", same<&Settings::environment>},
    Statement{"set healing limit", same_healing<&HealingSettings::limits>},
    Statement{"set healing mode", same_healing<&HealingSettings::mode>},
    Statement{"set healing only while", same_healing<&HealingSettings::only_while>},
    Statement{"set secrets", same<&Settings::secrets>},
    Statement{"set maintenance", same<&Settings::maintenance>},
    Statement{"set shadow", same<&Settings::shadow>},
    Statement{"set dry run", same<&Settings::dry_run>},
    Statement{"set accept dormant", same<&Settings::accept_dormant>},
    Statement{"set leftovers", same<&Settings::end_leftovers>},
    Statement{"set onreboot", same<&Settings::on_reboot>},
};

}  // namespace

std::vector<std::string_view> changed_settings(const Settings& before, const Settings& after) {
  std::vector<std::string_view> changed;
  for (const Statement& statement : kStatements)
    if (!statement.same(before, after)) changed.push_back(statement.words);
  if (changed.empty() && !(before == after)) changed.emplace_back("set ...");
  return changed;
}

}  // namespace healer::engine
