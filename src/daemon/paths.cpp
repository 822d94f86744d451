// SPDX-License-Identifier: MIT
#include "daemon/paths.hpp"

#include <unistd.h>

#include <spdlog/fmt/fmt.h>

#include "control/wire.hpp"
#include "runtime/home.hpp"
#include "runtime/process/ready_socket.hpp"
#include "util/hash.hpp"

namespace healer {

Paths paths_of(const engine::Settings& settings) {
  Paths paths;
  const bool root = geteuid() == 0;
  const std::string own = own_files();
  const auto pick = [](const std::string& chosen, std::string otherwise) {
    return chosen.empty() ? std::move(otherwise) : chosen;
  };
  paths.pid_file = pick(settings.pid_file, root ? "/run/healer/healer.pid" : own + "pid");
  paths.notify = runtime::ReadySocket::place_for(
      settings.pid_file.empty() ? root ? "/run/healer/notify" : own + "notify" : paths.pid_file + ".notify");
  paths.id_file = pick(settings.id_file, root ? "/var/lib/healer/id" : own + "id");
  paths.state_file = pick(settings.state_file, usual_state(root));
  paths.socket = pick(settings.control_socket, root ? std::string(control::kDefaultSocket) : own + "sock");
  paths.socket_chosen = !settings.control_socket.empty();
  paths.action_dir = paths.state_file + ".actions";
  const std::string memory = root ? "/run/healer" : fmt::format("/run/user/{}", geteuid());
  if (root || access(memory.c_str(), W_OK) == 0)
    paths.spare_action_dir =
        fmt::format("{}/{}actions-{}", memory, root ? "" : "healer-", to_string(hash128(paths.state_file)));
  std::string queue = settings.mail.queue_directory;
  while (queue.size() > 1 && queue.ends_with('/')) queue.pop_back();
  paths.mail_dir = queue.empty() ? paths.state_file + ".mail" : queue + ".healer";  // a queue of Monit's stays its own
  paths.contacts_dir = paths.state_file + ".contacts";
  paths.lists_file = paths.state_file + ".lists";
  return paths;
}

}  // namespace healer
