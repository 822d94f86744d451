// SPDX-License-Identifier: MIT
#include "runtime/home.hpp"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace healer {
namespace {

/// HOME, else what the user's entry says.
std::string home_of_user() {
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') return home;
  const passwd* user = getpwuid(geteuid());
  return user != nullptr && user->pw_dir != nullptr && *user->pw_dir == '/' ? user->pw_dir : "/nonexistent";
}

}  // namespace

std::string usual_state(bool of_root) { return of_root ? "/var/lib/healer/state" : own_files() + "state"; }

std::string usual_rules() {
#ifdef HEALER_SYSCONFDIR
  return HEALER_SYSCONFDIR "/healer/rules.d";
#else
  std::error_code failed;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", failed).parent_path();
  const std::filesystem::path prefix = folder.parent_path();
  const bool installed = folder.filename() == "sbin" || folder.filename() == "bin";
  const bool elsewhere = !failed && installed && prefix != "/" && prefix != "/usr";
  return elsewhere ? (prefix / "etc/healer/rules.d").string() : "/etc/healer/rules.d";
#endif
}

std::string own_files() { return home_of_user() + "/.healer."; }

}  // namespace healer
