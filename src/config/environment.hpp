// SPDX-License-Identifier: MIT
// The machine, as the language needs it. A verdict on a rules file depends on the machine exactly here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/lists/list_rows.hpp"
#include "config/lists/list_source.hpp"
#include "util/result.hpp"

namespace healer::config {

struct UserEntry {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::string name;
  std::string home;
};

struct FileFacts {
  bool is_directory = false;
  bool is_regular = false;
  std::uint32_t mode = 0;  ///< permission bits, 07777
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
};

/// Why a secret cannot be read.
struct SecretFault {
  std::string why;
  std::string path;        ///< where it is looked for
  bool is_certain = true;  ///< else the daemon may be given another folder
};

/// One seam for all look-ups. Implementations: runtime/host (the real machine), OfflineEnvironment (reads rules files,
/// looks nothing else up), a fake in tests, and the saved last good rules.
class Environment {
 public:
  virtual ~Environment() = default;

  /// The text of a rules file. Refuses what is not a regular file and what is larger than 64 MiB.
  [[nodiscard]] virtual Result<std::string> read(const std::string& path) const = 0;
  /// Facts of a path, following links; an Error with code ENOENT where there is nothing.
  [[nodiscard]] virtual Result<FileFacts> stat(const std::string& path) const = 0;
  /// Paths that match a glob, in the order of their names; empty where none does. Errors: a folder on the way that
  /// cannot be read, so that nobody knows.
  [[nodiscard]] virtual Result<std::vector<std::string>> glob(const std::string& pattern) const = 0;
  /// The canonical form of a path (links resolved), or the path itself where that fails: to know a file again.
  [[nodiscard]] virtual std::string canonical(const std::string& path) const = 0;

  /// Whether users, groups and programs can be looked up at all; false: everything named is taken to exist.
  [[nodiscard]] virtual bool looks_up() const = 0;
  [[nodiscard]] virtual std::optional<UserEntry> user(const std::string& name_or_uid) const = 0;
  [[nodiscard]] virtual std::optional<std::uint32_t> group(const std::string& name_or_gid) const = 0;
  /// Whether there is an executable file of that path.
  [[nodiscard]] virtual bool executable(const std::string& path) const = 0;
  /// The machine's host name, for $HOST.
  [[nodiscard]] virtual std::string host_name() const = 0;
  /// The rows of a list as they are known; nothing: it was not read yet. No load runs a program: whoever supervises
  /// reads lists beside it, and loads the rules with what was read.
  [[nodiscard]] virtual std::optional<std::vector<ListRow>> list(const ListSource&) const { return std::nullopt; }
  /// Why the secret of that name cannot be read in a folder (empty: the usual one), as the daemon would; none: it can
  /// be, or that is not known.
  [[nodiscard]] virtual std::optional<SecretFault> secret_fault(const std::string& /*name*/,
                                                                const std::string& /*folder*/) const {
    return std::nullopt;
  }
  /// The keys, passwords and patterns that rules name must be in place; false: they were when the rules were good, and
  /// nobody is helped by rules that do not load.
  [[nodiscard]] virtual bool demands_files() const { return looks_up(); }
  /// Whoever `set operators` names must be known; false: who is not has no right, and the rules load all the same.
  [[nodiscard]] virtual bool demands_operators() const { return looks_up(); }
  /// The text of such a file.
  [[nodiscard]] virtual Result<std::string> read_named(const std::string& path) const { return read(path); }
  /// The user id the daemon runs as (owner of its rules files).
  [[nodiscard]] virtual std::uint32_t effective_uid() const = 0;
};

}  // namespace healer::config
