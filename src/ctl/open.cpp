// SPDX-License-Identifier: MIT
#include "ctl/open.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include <spdlog/fmt/fmt.h>

#include "runtime/files/write_file.hpp"

namespace healer {
namespace {

std::string of_environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '<')
      out += "&lt;";
    else
      out += c;
  }
  return out;
}

}  // namespace

void open_in_browser(const std::string& address) {
  const std::string folder = of_environment("XDG_RUNTIME_DIR");  // its owner's alone
  const bool has_display = !of_environment("DISPLAY").empty() || !of_environment("WAYLAND_DISPLAY").empty();
  if (isatty(STDOUT_FILENO) != 1 || !has_display || !folder.starts_with('/')) return;
  // Everybody sees the arguments of a program: what logs in goes by a file.
  const std::string page = folder + "/healer-login.html";
  const std::string text = fmt::format(
      "<!DOCTYPE html><html><head><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">"
      "<meta http-equiv=\"refresh\" content=\"0; url={}\"><title>healer</title></head></html>\n",
      escaped(address));
  if (!make_file(page, text, 0600, true)) return;
  posix_spawn_file_actions_t files;
  posix_spawnattr_t how;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&how);
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&files, descriptor, "/dev/null", descriptor == STDIN_FILENO ? O_RDONLY : O_WRONLY,
                                     0);
  // A browser that is started so does not end with the terminal.
  posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSID);
  std::string program = "xdg-open", what = "file://" + page;
  char* const words[] = {program.data(), what.data(), nullptr};
  pid_t child = -1;
  (void)posix_spawnp(&child, program.c_str(), &files, &how, words, environ);
  posix_spawnattr_destroy(&how);
  posix_spawn_file_actions_destroy(&files);
}

}  // namespace healer
