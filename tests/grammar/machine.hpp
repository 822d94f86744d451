// SPDX-License-Identifier: MIT
// The real machine, for the programs that are compared with the real Monit.
#pragma once

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "config/environment.hpp"

namespace healer::test {

/// The real machine, as far as a verdict depends on it.
class Machine final : public config::Environment {
 public:
  [[nodiscard]] Result<std::string> read(const std::string& path) const override {
    std::ifstream in(path, std::ios::binary);
    if (!in) return healer::system_error(errno, path);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }

  [[nodiscard]] Result<config::FileFacts> stat(const std::string& path) const override {
    struct stat facts {};
    if (::stat(path.c_str(), &facts) != 0) return healer::system_error(errno, path);
    return config::FileFacts{S_ISDIR(facts.st_mode), S_ISREG(facts.st_mode), facts.st_mode & 07777U, facts.st_uid,
                             facts.st_gid};
  }

  [[nodiscard]] Result<std::vector<std::string>> glob(const std::string& pattern) const override {
    if (access(pattern.c_str(), R_OK) == 0) return std::vector{pattern};
    return std::vector<std::string>{};
  }

  [[nodiscard]] std::string canonical(const std::string& path) const override { return path; }
  [[nodiscard]] std::string host_name() const override {
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
  }
  [[nodiscard]] std::uint32_t effective_uid() const override { return geteuid(); }
  [[nodiscard]] bool looks_up() const override { return true; }

  [[nodiscard]] std::optional<config::UserEntry> user(const std::string& name_or_uid) const override {
    const auto id = number(name_or_uid);
    const passwd* entry = id ? getpwuid(*id) : getpwnam(name_or_uid.c_str());
    if (entry == nullptr) return std::nullopt;
    return config::UserEntry{entry->pw_uid, entry->pw_gid, entry->pw_name, entry->pw_dir};
  }

  [[nodiscard]] std::optional<std::uint32_t> group(const std::string& name_or_gid) const override {
    const auto id = number(name_or_gid);
    const ::group* entry = id ? getgrgid(*id) : getgrnam(name_or_gid.c_str());
    if (entry == nullptr) return std::nullopt;
    return entry->gr_gid;
  }

  [[nodiscard]] bool executable(const std::string& path) const override { return access(path.c_str(), X_OK) == 0; }

 private:
  static std::optional<std::uint32_t> number(const std::string& text) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
  }
};

}  // namespace healer::test
