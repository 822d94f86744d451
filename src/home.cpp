// SPDX-License-Identifier: MIT
#include "home.hpp"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

namespace healer {
namespace {

/// HOME, else what the user's entry says.
std::string home_of_user() {
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') return home;
  const passwd* user = getpwuid(geteuid());
  return user != nullptr && user->pw_dir != nullptr && *user->pw_dir == '/' ? user->pw_dir : "/nonexistent";
}

}  // namespace

std::string own_files() { return home_of_user() + "/.healer."; }

}  // namespace healer
