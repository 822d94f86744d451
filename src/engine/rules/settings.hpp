// SPDX-License-Identifier: MIT
// What the `set` statements say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/events/origin.hpp"
#include "engine/rules/contact.hpp"
#include "engine/rules/healing_limits.hpp"
#include "engine/rules/recipient.hpp"
#include "engine/rules/schedule.hpp"
#include "util/monit_version.hpp"
#include "util/time.hpp"

namespace healer::engine {

struct MailServer {
  std::string host;
  std::uint16_t port = 25;
  std::string username;
  std::string password;
  enum class Security : std::uint8_t { None, StartTls, Tls } security = Security::None;
  std::string tls_version;  ///< lower-case word as written ("tlsv12", "auto"); empty: the library's choice
  bool verify = false;      ///< verify the certificate (Monit's default: no)
  bool allow_self_signed = false;
  std::string ciphers;               ///< OpenSSL's list, of TLS 1.2 and before; empty: the usual ones
  std::string certificate_checksum;  ///< hex of MD5 (32), SHA-1 (40) or SHA-256 (64) of the certificate; empty: none
  std::string ca_file;
  std::string ca_path;
  std::string client_certificate;  ///< PEM with certificate and key

  bool operator==(const MailServer&) const = default;
};

/// `set mail limit 20 within 1 hour`: how many mails one recipient gets in how long. What is held back is told in one
/// mail, when there is room again.
struct MailLimit {
  std::uint32_t mails = 0;
  Duration within{0};

  bool operator==(const MailLimit&) const = default;
};

struct MailSettings {
  std::vector<MailServer> servers;  ///< tried in turn
  Duration timeout{5000};
  std::string hostname;               ///< for EHLO; empty: the machine's
  MailFormat format;                  ///< set mail-format
  std::vector<Recipient> recipients;  ///< set alert
  std::string queue_directory;        ///< set eventqueue basedir; empty: beside the state file
  std::uint32_t queue_slots = 0;      ///< set eventqueue ... slots: most that wait which no server took; 0: any
  std::optional<MailLimit> limit;

  bool operator==(const MailSettings&) const = default;
};

/// `name: value`, as they are written in `using tls with options { ... }`.
using TlsOptions = std::vector<std::pair<std::string, std::string>>;

/// `set httpd`: what may be asked over HTTP, and by whom.
struct HttpdSettings {
  struct Allow {
    enum class Kind : std::uint8_t { Host, Login, Group, File, Token } kind = Kind::Host;
    std::string who;       ///< host or network, user, group, file; of a token nothing
    std::string password;  ///< of a login; the token: secrets in it are not filled in
    std::string how;       ///< of a file: cleartext, crypt, md5; empty: not written
    std::vector<std::string> users;
    Role role = Role::Admin;

    bool operator==(const Allow&) const = default;
  };
  std::optional<std::uint16_t> port;
  bool port_read_only = false;
  std::vector<std::string> addresses;  ///< empty: whichever there are
  std::string unix_socket, uid, gid, permission;
  bool socket_read_only = false;
  bool signature = true;  ///< says which program answers
  bool tls = false;
  TlsOptions tls_options;
  std::vector<Allow> allow;
  std::vector<std::string> proxies;  ///< whose word is taken for whom they speak

  bool operator==(const HttpdSettings&) const = default;
};

/// `set mmonit`: who is told about everything.
struct MmonitSettings {
  std::vector<std::string> urls;
  Duration timeout{5000};
  bool tls = false;
  TlsOptions tls_options;
  std::string certificate_checksum;
  bool register_credentials = true;
  std::vector<std::string> host_groups;

  bool operator==(const MmonitSettings&) const = default;
};

struct LogSettings {
  enum class Target : std::uint8_t { None, File, Syslog } target = Target::None;
  std::string path;
  std::string facility;  ///< "log_daemon", "log_local0", ...; empty: user

  bool operator==(const LogSettings&) const = default;
};

struct Limits {
  std::uint32_t program_output = 512;
  std::uint32_t send_expect_buffer = 256;
  std::uint32_t file_content_buffer = 512;
  std::uint32_t http_content_buffer = 1U << 20;
  Duration network_timeout{5'000};
  Duration program_timeout{300'000};
  Duration stop_timeout{30'000};
  Duration start_timeout{30'000};
  Duration restart_timeout{30'000};
  Duration exec_timeout{0};  ///< of the programs of `exec`; 0: none

  bool operator==(const Limits&) const = default;
};

/// `set maintenance "0 2 * * sun" for 2 hours group webboxes`: a pause that comes by itself.
struct Maintenance {
  CronSpec begin;
  std::string text;  ///< of the cron fields, as written
  Duration length{0};
  std::string group;  ///< empty: all services

  bool operator==(const Maintenance&) const = default;
};

/// One of `set operators john, mary`: who may say on the control socket what operators may.
struct OperatorUser {
  std::string name;
  std::optional<std::uint32_t> uid;  ///< none: not looked up

  bool operator==(const OperatorUser&) const = default;
};

/// All `set` statements. Paths that are empty were not set; the daemon knows the defaults.
struct Settings {
  std::optional<Duration> cycle;  ///< set daemon
  Duration start_delay{0};
  bool foreground = false;  ///< set init
  bool terminal_batch = false;
  LogSettings log;
  std::string pid_file;
  std::string id_file;
  std::string state_file;
  std::string control_socket;
  std::vector<OperatorUser> operators;  ///< set operators
  Limits limits;
  MailSettings mail;
  std::vector<Contact> contacts;  ///< set contact, in the order of writing
  std::optional<HttpdSettings> httpd;
  std::string url;  ///< set url: where people reach healer; empty: not said
  std::optional<MmonitSettings> mmonit;
  TlsOptions tls_options;  ///< set ssl
  bool fips = false;
  Duration settle{1000};
  bool count_polls = false;                  ///< set cycles count polls
  MonitVersion monit = MonitVersion::V5_33;  ///< set monit: whose meaning counts where versions of it differ
  std::vector<std::pair<std::string, std::string>> environment;
  HealingSettings healing;
  std::string secrets;  ///< set secrets: the directory of `${secret:NAME}`; empty: the default one
  std::vector<Maintenance> maintenance;
  bool shadow = false;
  bool dry_run = false;
  bool accept_dormant = false;
  bool end_leftovers = false;  ///< `set leftovers end`: of all services
  OnReboot on_reboot = OnReboot::Start;

  bool operator==(const Settings&) const = default;

  [[nodiscard]] Duration cycle_length() const { return cycle.value_or(seconds{30}); }
};

}  // namespace healer::engine
