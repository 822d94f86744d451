// SPDX-License-Identifier: MIT
// --server and who asks there. Passwords and tokens come by files and the environment, never by arguments.
#pragma once

#include <string>

#include "ctl/server/server_door.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace healer {

struct ServerOptions {
  std::string url;            ///< empty: the socket of this machine
  std::string user;           ///< empty: HEALER_USER
  std::string password_file;  ///< empty: HEALER_PASSWORD
  std::string authority;
};

/// The options --server, --user, --password-file and --cacert.
void add_server(CLI::App& app, ServerOptions& options);

/// Whom the options name, with the password or token that goes with it. What is wrong with them; empty: nothing.
[[nodiscard]] std::string take_server(const ServerOptions& options, ServerAsked& server);

}  // namespace healer
