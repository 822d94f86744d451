// SPDX-License-Identifier: MIT
// The protocols of Monit 5.33 that rules may name, and with which options, though nobody here speaks them yet. One that
// comes to be spoken leaves this list for a file of its own.
#include "protocols/protocol.hpp"
#include "util/text.hpp"

namespace healer::protocols {
namespace {

constexpr Option kCredentials[] = {{.word = "username"}, {.word = "password", .type = OptionType::Secret}};
constexpr Option kMysql[] = {{.word = "username"},
                             {.word = "password", .type = OptionType::Secret},
                             {.word = "rsakey checksum", .type = OptionType::Checksum}};
constexpr Option kPgsql[] = {
    {.word = "username"}, {.word = "password", .type = OptionType::Secret}, {.word = "database"}};
constexpr Option kRadius[] = {{.word = "secret", .type = OptionType::Secret}};
constexpr Option kSip[] = {{.word = "target"}, {.word = "maxforward", .type = OptionType::Number}};
constexpr Option kWebsocket[] = {
    {.word = "host"}, {.word = "request"}, {.word = "origin"}, {.word = "version", .type = OptionType::Number}};
constexpr Option kApache[] = {{.word = "username"},
                              {.word = "password", .type = OptionType::Secret},
                              {.word = "path"},
                              {.word = "loglimit", .type = OptionType::Share},
                              {.word = "closelimit", .type = OptionType::Share},
                              {.word = "dnslimit", .type = OptionType::Share},
                              {.word = "keepalivelimit", .type = OptionType::Share},
                              {.word = "replylimit", .type = OptionType::Share},
                              {.word = "requestlimit", .type = OptionType::Share},
                              {.word = "startlimit", .type = OptionType::Share},
                              {.word = "waitlimit", .type = OptionType::Share},
                              {.word = "gracefullimit", .type = OptionType::Share},
                              {.word = "cleanuplimit", .type = OptionType::Share}};

constexpr Protocol kUnspoken[] = {
    {.name = "apache-status", .title = "Apache status", .port = 80, .options = kApache},
    {.name = "clamav", .title = "ClamAV", .port = 3310},
    {.name = "dns", .title = "DNS", .port = 53, .datagrams = true},
    {.name = "dwp", .title = "DWP", .port = 80},
    {.name = "fail2ban", .title = "Fail2ban"},
    {.name = "ftp", .title = "FTP", .port = 21},
    {.name = "gps", .title = "GPS", .port = 2947},
    {.name = "imap", .title = "IMAP", .port = 143},
    {.name = "imaps", .title = "IMAPS", .port = 993, .tls = TlsStart::Always},
    {.name = "ldap2", .title = "LDAP 2", .port = 389},
    {.name = "ldap3", .title = "LDAP 3", .port = 389},
    {.name = "lmtp", .title = "LMTP", .port = 24},
    {.name = "memcache", .title = "Memcache", .port = 11211},
    {.name = "mongodb", .title = "MongoDB", .port = 27017},
    {.name = "mqtt", .title = "MQTT", .port = 1883, .options = kCredentials},
    {.name = "mysql", .title = "MySQL", .port = 3306, .options = kMysql},
    {.name = "mysqls", .title = "MySQL with TLS", .port = 3306, .tls = TlsStart::Always, .options = kMysql},
    {.name = "nntp", .title = "NNTP", .port = 119},
    {.name = "ntp3", .title = "NTP", .port = 123, .datagrams = true},
    {.name = "pgsql", .title = "PostgreSQL", .port = 5432, .options = kPgsql},
    {.name = "pop", .title = "POP", .port = 110},
    {.name = "pops", .title = "POPS", .port = 995, .tls = TlsStart::Always},
    {.name = "postfix-policy", .title = "Postfix policy", .port = 10023},
    {.name = "radius", .title = "RADIUS", .port = 1812, .datagrams = true, .options = kRadius},
    {.name = "rdate", .title = "RDATE", .port = 37},
    {.name = "rsync", .title = "rsync", .port = 873},
    {.name = "sieve", .title = "Sieve", .port = 4190},
    {.name = "sip", .title = "SIP", .port = 5060, .datagrams = true, .options = kSip},
    {.name = "spamassassin", .title = "SpamAssassin", .port = 783},
    {.name = "tns", .title = "TNS", .port = 1521},
    {.name = "websocket", .title = "WebSocket", .port = 80, .options = kWebsocket},
};

}  // namespace

const Protocol* find_unspoken(std::string_view name) {
  for (const Protocol& protocol : kUnspoken)
    if (iequals(protocol.name, name)) return &protocol;
  return nullptr;
}

}  // namespace healer::protocols
