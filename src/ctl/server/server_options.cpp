// SPDX-License-Identifier: MIT
#include "ctl/server/server_options.hpp"

#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include <spdlog/fmt/fmt.h>

#include "runtime/files/read_input.hpp"
#include "util/text.hpp"

namespace healer {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

/// The first line of a file that nobody else can read.
std::string password_in(const std::string& path, std::string& password) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) && (facts.st_mode & 077U) != 0)
    return fmt::format("--password-file: others may read or write {}: chmod 600 it", path);
  const auto text = read_input(path);
  if (!text) return fmt::format("--password-file: {}", text.error().what);
  password = text->substr(0, text->find('\n'));
  if (password.ends_with('\r')) password.pop_back();
  return password.empty() ? fmt::format("--password-file: the first line of {} is empty", path) : "";
}

}  // namespace

void add_server(CLI::App& app, ServerOptions& options) {
  app.add_option("--server", options.url, "Ask over HTTP: what 'set httpd' or 'set url' of healerd says")
      ->type_name("URL");
  app.add_option("--user", options.user, "With --server: who asks (default: HEALER_USER)")->type_name("NAME");
  app.add_option("--password-file", options.password_file,
                 "With --server: the password is the first line of this file (default: HEALER_PASSWORD)")
      ->type_name("FILE");
  app.add_option("--cacert", options.authority, "With --server: the certificates that vouch for its own")
      ->type_name("FILE");
}

std::string take_server(const ServerOptions& options, ServerAsked& server) {
  if (options.url.empty()) return {};
  if (const std::string wrong = wrong_server(options.url); !wrong.empty())
    return fmt::format("--server {}: {}", wrong.starts_with("everybody") ? "URL" : options.url, wrong);
  server.url = options.url.substr(0, options.url.find_last_not_of('/') + 1);
  server.authority = options.authority;
  server.user = options.user.empty() ? variable("HEALER_USER") : options.user;
  if (server.user.empty()) {
    if (!options.password_file.empty()) return "--password-file: whose password? --user or HEALER_USER says it";
    server.token = variable("HEALER_TOKEN");
    return {};
  }
  if (!options.password_file.empty()) return password_in(options.password_file, server.password);
  server.password = variable("HEALER_PASSWORD");
  if (server.password.empty())
    return fmt::format("the password of {} is not known: --password-file or HEALER_PASSWORD says it",
                       printable(server.user));
  return {};
}

}  // namespace healer
