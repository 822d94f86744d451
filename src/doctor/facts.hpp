// SPDX-License-Identifier: MIT
// What `healerctl doctor` has seen of a machine. Plain data: gather.cpp fills it, judge.cpp judges it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "util/time.hpp"

namespace healer::doctor {

/// systemd's word on healer.service.
struct Unit {
  std::string loaded;   ///< LoadState: "loaded", "not-found", "masked", ...
  std::string active;   ///< ActiveState: "active", "failed", ...
  std::string enabled;  ///< UnitFileState: "enabled", "disabled", ...
  std::uint64_t restarts = 0;
  std::uint64_t pid = 0;
  bool delegates = false;
};

/// What came of asking the daemon.
struct Daemon {
  enum class Answer : std::uint8_t { Answers, NotRunning, Forbidden, Silent } answer = Answer::NotRunning;
  std::string error;   ///< where it does not answer
  std::string remedy;  ///< the same; may be empty
  std::string version;
  std::uint64_t pid = 0;
  std::vector<std::string> troubles;
  std::string stale;                      ///< why the rules on disk are not loaded; empty: they are
  std::vector<std::string> refused_rows;  ///< of lists
  std::string mail_error;                 ///< what the mail server said last, where it took no mail
  std::uint64_t mails_waiting = 0;
  struct Contact {
    std::string name;
    std::uint64_t waiting = 0;
    std::string error;     ///< why the last try has failed; empty: it is under way
    bool is_gone = false;  ///< the rules have none of that name
  };
  std::vector<Contact> contacts{};  ///< for whom alerts wait
  std::uint64_t services = 0;
};

struct RulesProblem {
  bool error = false;
  std::string place;  ///< "file:line:column", or the file
  std::string message;
  std::string remedy;  ///< may be empty
};

struct Rules {
  std::string path;
  bool unreadable = false;  ///< for whoever asks, who is not root
  bool broken = false;      ///< they have errors: what they would say is not known
  std::uint64_t services = 0;
  std::vector<RulesProblem> problems;  ///< errors and warnings, missing programs and wrong rights among them
};

struct MailServer {
  std::string name;   ///< "host:port"
  std::string error;  ///< empty: it takes connections
};

/// Of the running daemon's process.
struct Limits {
  std::uint64_t descriptors = 0;  ///< that may be open; 0: not known
  std::uint64_t open = 0;
};

struct StateFile {
  std::string path;
  bool exists = false;
  bool unreadable = false;  ///< for whoever asks, who is not root
  std::string error;        ///< why it cannot be read; empty: it can
  bool read_only = false;   ///< its file system
  std::uint64_t free_bytes = 0;
  std::optional<WallTime> newest;        ///< of its records
  std::vector<std::string> set_aside{};  ///< files beside it that were damaged, and are kept
};

/// Another supervisor.
struct Monit {
  std::uint64_t pid = 0;
  std::string file;                 ///< its control file
  bool read = false;                ///< whether that could be read
  std::vector<std::string> shared;  ///< services that both supervise
};

/// A `matching` of the rules that finds more than its service.
struct LoosePattern {
  std::string service;
  std::string pattern;
  std::uint64_t own = 0;  ///< a process that healer runs for something else
  std::string command;    ///< that one's
};

struct Facts {
  bool root = false;
  std::string user;
  bool group_exists = false;
  bool in_group = false;
  std::string own_version;
  std::string socket;
  bool systemd = false;  ///< is process 1
  std::optional<Unit> unit;
  Daemon daemon;
  Rules rules;
  bool alerts_mailed = false;       ///< `set alert` or an alert of a service names a recipient
  bool alerts_to_contacts = false;  ///< the same of a contact
  std::vector<MailServer> mail_servers;
  std::optional<Limits> limits;
  bool cgroup2 = false;
  WallTime now{};
  std::optional<bool> clock_synchronised;  ///< none: the kernel does not say
  StateFile state;
  std::vector<Monit> monits;
  std::vector<LoosePattern> loose_patterns;
};

}  // namespace healer::doctor
