// SPDX-License-Identifier: MIT
// Environments that stand before another one: what `--offline` sees, rules files of which one is to become another, and
// the rules that were last good. The machine itself is in runtime/host.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/environment.hpp"
#include "config/source.hpp"

namespace healer::config {

/// `--offline`: reads the rules files through `machine`, looks nothing else up. Requires: `machine` outlives it.
class OfflineEnvironment final : public Environment {
 public:
  /// What $HOST stands for where the machine is not asked: no service of a file can have this name.
  static constexpr std::string_view kNoHost = "/$HOST";

  explicit OfflineEnvironment(const Environment& machine, std::string_view host = kNoHost)
      : machine_(machine), host_(host) {}

  [[nodiscard]] Result<std::string> read(const std::string& path) const override;
  [[nodiscard]] Result<FileFacts> stat(const std::string& path) const override;
  [[nodiscard]] Result<std::vector<std::string>> glob(const std::string& pattern) const override;
  [[nodiscard]] std::string canonical(const std::string& path) const override;
  [[nodiscard]] bool looks_up() const override { return false; }
  [[nodiscard]] std::optional<UserEntry> user(const std::string&) const override { return std::nullopt; }
  [[nodiscard]] std::optional<std::uint32_t> group(const std::string&) const override { return std::nullopt; }
  [[nodiscard]] bool executable(const std::string&) const override { return true; }
  [[nodiscard]] std::string host_name() const override { return host_; }
  [[nodiscard]] std::uint32_t effective_uid() const override { return machine_.effective_uid(); }
  [[nodiscard]] std::optional<SecretFault> secret_fault(const std::string& name,
                                                        const std::string& folder) const override {
    return machine_.secret_fault(name, folder);
  }

 private:
  const Environment& machine_;
  std::string host_;
};

/// A file that is to become a rules file: `healerd -t --with`, and standard input.
struct NewFile {
  std::string path;                 ///< where it is now, and what messages call it
  std::optional<std::string> text;  ///< what it says; absent: it is read
  std::string replaces;             ///< the rules file in whose place it is read; empty: it is one more
  std::string directory;            ///< where it is one more: of this directory of rules files
};

/// The rules files as they will be with that file among them. Requires: `machine` outlives it.
class NewFileEnvironment final : public Environment {
 public:
  NewFileEnvironment(NewFile file, const Environment& machine) : file_(std::move(file)), machine_(machine) {}

  [[nodiscard]] Result<std::string> read(const std::string& path) const override;
  [[nodiscard]] Result<FileFacts> stat(const std::string& path) const override;
  [[nodiscard]] Result<std::vector<std::string>> glob(const std::string& pattern) const override;
  [[nodiscard]] std::string canonical(const std::string& path) const override;
  [[nodiscard]] bool looks_up() const override { return machine_.looks_up(); }
  [[nodiscard]] bool demands_files() const override { return machine_.demands_files(); }
  [[nodiscard]] bool demands_operators() const override { return machine_.demands_operators(); }
  [[nodiscard]] Result<std::string> read_named(const std::string& path) const override {
    return machine_.read_named(path);
  }
  [[nodiscard]] std::optional<UserEntry> user(const std::string& name) const override { return machine_.user(name); }
  [[nodiscard]] std::optional<std::uint32_t> group(const std::string& name) const override {
    return machine_.group(name);
  }
  [[nodiscard]] bool executable(const std::string& path) const override { return machine_.executable(path); }
  [[nodiscard]] std::string host_name() const override { return machine_.host_name(); }
  [[nodiscard]] std::uint32_t effective_uid() const override { return machine_.effective_uid(); }
  [[nodiscard]] std::optional<SecretFault> secret_fault(const std::string& name,
                                                        const std::string& folder) const override {
    return machine_.secret_fault(name, folder);
  }
  [[nodiscard]] std::optional<std::vector<ListRow>> list(const ListSource& source) const override {
    return machine_.list(source);
  }

 private:
  [[nodiscard]] bool is_given(const std::string& path) const { return file_.text && path == file_.path; }

  NewFile file_;
  const Environment& machine_;
};

/// What another environment sees, but for lists. Requires: `machine` outlives it.
class OtherLists : public Environment {
 public:
  explicit OtherLists(const Environment& machine) : machine_(machine) {}

  [[nodiscard]] Result<std::string> read(const std::string& path) const override { return machine_.read(path); }
  [[nodiscard]] Result<FileFacts> stat(const std::string& path) const override { return machine_.stat(path); }
  [[nodiscard]] Result<std::vector<std::string>> glob(const std::string& pattern) const override {
    return machine_.glob(pattern);
  }
  [[nodiscard]] std::string canonical(const std::string& path) const override { return machine_.canonical(path); }
  [[nodiscard]] bool looks_up() const override { return machine_.looks_up(); }
  [[nodiscard]] bool demands_files() const override { return machine_.demands_files(); }
  [[nodiscard]] bool demands_operators() const override { return machine_.demands_operators(); }
  [[nodiscard]] Result<std::string> read_named(const std::string& path) const override {
    return machine_.read_named(path);
  }
  [[nodiscard]] std::optional<UserEntry> user(const std::string& name) const override { return machine_.user(name); }
  [[nodiscard]] std::optional<std::uint32_t> group(const std::string& name) const override {
    return machine_.group(name);
  }
  [[nodiscard]] bool executable(const std::string& path) const override { return machine_.executable(path); }
  [[nodiscard]] std::string host_name() const override { return machine_.host_name(); }
  [[nodiscard]] std::uint32_t effective_uid() const override { return machine_.effective_uid(); }
  [[nodiscard]] std::optional<SecretFault> secret_fault(const std::string& name,
                                                        const std::string& folder) const override {
    return machine_.secret_fault(name, folder);
  }

 protected:
  const Environment& machine_;
};

/// The machine when a daemon starts: it supervises rather than that it waits for a directory service which does not
/// know an operator yet. Requires: `machine` outlives it.
class StartEnvironment final : public OtherLists {
 public:
  using OtherLists::OtherLists;
  [[nodiscard]] bool demands_operators() const override { return false; }
};

/// Lists that were read.
class ListsEnvironment final : public OtherLists {
 public:
  using Lists = std::map<ListSource, std::vector<ListRow>>;

  ListsEnvironment(Lists lists, const Environment& machine) : OtherLists(machine), lists_(std::move(lists)) {}

  [[nodiscard]] std::optional<std::vector<ListRow>> list(const ListSource& source) const override {
    const auto found = lists_.find(source);
    return found == lists_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  Lists lists_;
};

/// The last good rules, from memory, as they were loaded: load() is to be given the same path as then. Users and groups
/// are still the machine's; programs are taken to be there, since a check whose program has gone is a failed run and no
/// reason to supervise nothing, and nor is an operator who has gone. Requires: `machine` outlives it.
class SavedEnvironment final : public Environment {
 public:
  SavedEnvironment(std::vector<Source> files, const Environment& machine);

  [[nodiscard]] Result<std::string> read(const std::string& path) const override;
  [[nodiscard]] Result<FileFacts> stat(const std::string& path) const override;
  [[nodiscard]] Result<std::vector<std::string>> glob(const std::string& pattern) const override;
  [[nodiscard]] std::string canonical(const std::string& path) const override { return path; }
  [[nodiscard]] bool looks_up() const override { return true; }
  [[nodiscard]] std::optional<UserEntry> user(const std::string& name) const override { return machine_.user(name); }
  [[nodiscard]] std::optional<std::uint32_t> group(const std::string& name) const override {
    return machine_.group(name);
  }
  [[nodiscard]] bool executable(const std::string&) const override { return true; }
  [[nodiscard]] bool demands_files() const override { return false; }
  [[nodiscard]] bool demands_operators() const override { return false; }
  [[nodiscard]] Result<std::string> read_named(const std::string& path) const override { return machine_.read(path); }
  [[nodiscard]] std::string host_name() const override { return machine_.host_name(); }
  [[nodiscard]] std::uint32_t effective_uid() const override { return machine_.effective_uid(); }

 private:
  [[nodiscard]] const Source* find(const std::string& path) const;
  [[nodiscard]] bool is_directory(const std::string& path) const;

  std::vector<Source> files_;
  const Environment& machine_;
};

}  // namespace healer::config
