// SPDX-License-Identifier: MIT
// The one place that knows all protocols. A further one is a line here, a file beside this one and a line of CMake.
#include "protocols/protocol.hpp"
#include "util/text.hpp"

// clang-format off
#define HEALER_PROTOCOLS(PROTOCOL) \
  PROTOCOL(amqp)                   \
  PROTOCOL(apache_status)          \
  PROTOCOL(clamav)                 \
  PROTOCOL(default_protocol)       \
  PROTOCOL(dns)                    \
  PROTOCOL(docker)                 \
  PROTOCOL(dwp)                    \
  PROTOCOL(fail2ban)               \
  PROTOCOL(ftp)                    \
  PROTOCOL(generic)                \
  PROTOCOL(gps)                    \
  PROTOCOL(grpc)                   \
  PROTOCOL(http)                   \
  PROTOCOL(https)                  \
  PROTOCOL(imap)                   \
  PROTOCOL(imaps)                  \
  PROTOCOL(ldap2)                  \
  PROTOCOL(ldap3)                  \
  PROTOCOL(lmtp)                   \
  PROTOCOL(memcache)               \
  PROTOCOL(mongodb)                \
  PROTOCOL(mqtt)                   \
  PROTOCOL(mysql)                  \
  PROTOCOL(mysqls)                 \
  PROTOCOL(nntp)                   \
  PROTOCOL(ntp3)                   \
  PROTOCOL(pgsql)                  \
  PROTOCOL(pop)                    \
  PROTOCOL(pops)                   \
  PROTOCOL(postfix_policy)         \
  PROTOCOL(radius)                 \
  PROTOCOL(rdate)                  \
  PROTOCOL(redis)                  \
  PROTOCOL(rsync)                  \
  PROTOCOL(sieve)                  \
  PROTOCOL(sip)                    \
  PROTOCOL(smtp)                   \
  PROTOCOL(smtps)                  \
  PROTOCOL(snmp)                   \
  PROTOCOL(spamassassin)           \
  PROTOCOL(ssh)                    \
  PROTOCOL(tns)                    \
  PROTOCOL(websocket)
// clang-format on

namespace healer::protocols {

#define HEALER_DECLARE(name) const Protocol& name();
HEALER_PROTOCOLS(HEALER_DECLARE)
#undef HEALER_DECLARE

std::span<const Protocol* const> registry() {
#define HEALER_ADDRESS(name) &name(),
  static const Protocol* const all[] = {HEALER_PROTOCOLS(HEALER_ADDRESS)};
#undef HEALER_ADDRESS
  return all;
}

const Protocol* find_protocol(std::string_view name) {
  for (const Protocol* protocol : registry())
    if (iequals(protocol->name, name)) return protocol;
  return nullptr;
}

}  // namespace healer::protocols
