// SPDX-License-Identifier: MIT
// verdict [--dialect monit] FILE...: what a daemon's `-t` would say of each file, as "ok" or "reject MESSAGE", a line
// each. One process for thousands of files, for monit_diff.py. Users, groups and programs are looked up on this
// machine.
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "config/environment.hpp"
#include "config/load.hpp"

namespace {

using healer::Result;
namespace config = healer::config;

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
  [[nodiscard]] std::string host_name() const override { return "localhost"; }
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

}  // namespace

int main(int argc, char** argv) {
  const Machine machine;
  config::LoadOptions options;
  int first = 1;
  if (argc > 2 && std::string_view(argv[1]) == "--dialect" && std::string_view(argv[2]) == "monit") {
    options.monit_dialect = true;
    first = 3;
  }
  for (int i = first; i < argc; ++i) {
    const auto loaded = config::load(argv[i], options, machine);
    if (loaded.ok()) {
      std::puts("ok");
      continue;
    }
    std::string why;
    for (const auto& one : loaded.diagnostics)
      if (one.severity == config::DiagnosticSeverity::Error && why.empty()) why = one.message;
    std::printf("reject %s\n", why.c_str());
    std::fflush(stdout);
  }
  return 0;
}
