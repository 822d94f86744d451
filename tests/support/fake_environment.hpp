// SPDX-License-Identifier: MIT
// A machine made of maps, for tests of the language. Files are there with mode 0600 and the daemon's uid unless a test
// says otherwise; a path's directories exist of themselves.
#pragma once

#include <fnmatch.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "config/environment.hpp"

namespace healer::test {

class FakeEnvironment final : public config::Environment {
 public:
  std::map<std::string, std::string> files;        ///< rules files by path
  std::map<std::string, config::FileFacts> facts;  ///< of paths where the usual ones will not do
  std::map<std::string, std::string> links;        ///< path -> canonical path
  std::set<std::string> unreadable;                ///< files and folders that are there but cannot be read
  std::map<std::string, config::UserEntry> users{{"root", {.uid = 0, .gid = 0, .name = "root", .home = "/root"}},
                                                 {"www", {.uid = 33, .gid = 33, .name = "www", .home = "/var/www"}}};
  std::map<std::string, std::uint32_t> groups{{"root", 0}, {"www", 33}};
  std::set<std::string> programs{"/bin/true", "/bin/false", "/bin/x"};
  std::map<config::ListSource, std::vector<config::ListRow>> lists;  ///< that were read
  bool online = true;
  std::uint32_t uid = 0;

  [[nodiscard]] Result<std::string> read(const std::string& path) const override {
    const auto found = files.find(path);
    if (found == files.end()) return system_error(ENOENT, path);
    if (unreadable.contains(path)) return system_error(EACCES, path);
    return found->second;
  }
  [[nodiscard]] Result<config::FileFacts> stat(const std::string& path) const override {
    if (const auto found = facts.find(path); found != facts.end()) return found->second;
    if (files.contains(path)) return config::FileFacts{.is_regular = true, .mode = 0600, .uid = uid};
    if (programs.contains(path)) return config::FileFacts{.is_regular = true, .mode = 0755};
    const auto inside = [&](const std::string& file) { return file.starts_with(path + "/"); };
    const bool is_directory = std::ranges::any_of(files, [&](const auto& file) { return inside(file.first); }) ||
                              std::ranges::any_of(programs, inside);
    if (is_directory) return config::FileFacts{.is_directory = true, .mode = 0755};
    return system_error(ENOENT, path);
  }
  [[nodiscard]] Result<std::vector<std::string>> glob(const std::string& pattern) const override {
    for (const std::string& folder : unreadable)
      if (pattern.starts_with(folder + "/")) return system_error(EACCES, folder);
    std::set<std::string> paths;
    for (const auto& [path, text] : files) paths.insert(path);
    for (const auto& [path, fact] : facts) paths.insert(path);
    std::vector<std::string> matches;
    for (const std::string& path : paths)
      if (fnmatch(pattern.c_str(), path.c_str(), FNM_PATHNAME | FNM_PERIOD) == 0) matches.push_back(path);
    return matches;
  }
  [[nodiscard]] std::string canonical(const std::string& path) const override {
    const auto found = links.find(path);
    return found == links.end() ? path : found->second;
  }
  [[nodiscard]] bool looks_up() const override { return online; }
  [[nodiscard]] std::optional<config::UserEntry> user(const std::string& name_or_uid) const override {
    for (const auto& [name, entry] : users)
      if (name == name_or_uid || std::to_string(entry.uid) == name_or_uid) return entry;
    return std::nullopt;
  }
  [[nodiscard]] std::optional<std::uint32_t> group(const std::string& name_or_gid) const override {
    for (const auto& [name, gid] : groups)
      if (name == name_or_gid || std::to_string(gid) == name_or_gid) return gid;
    return std::nullopt;
  }
  [[nodiscard]] bool executable(const std::string& path) const override { return programs.contains(path); }
  [[nodiscard]] std::string host_name() const override { return "testhost"; }
  [[nodiscard]] std::uint32_t effective_uid() const override { return uid; }
  [[nodiscard]] std::optional<std::vector<config::ListRow>> list(const config::ListSource& source) const override {
    const auto found = lists.find(source);
    return found == lists.end() ? std::nullopt : std::optional(found->second);
  }
};

}  // namespace healer::test
