// SPDX-License-Identifier: MIT
#include "daemon/places/own_places.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "runtime/clock.hpp"
#include "runtime/files/safe_path.hpp"

namespace healer {

using engine::Severity;

namespace {

/// Makes the last folder of `path` where it is missing; whoever uses the file says what is wrong.
void make_folder(const std::string& path, mode_t mode) {
  const std::string folder = std::filesystem::path(path).parent_path();
  if (!folder.empty() && mkdir(folder.c_str(), mode) == 0) chmod(folder.c_str(), mode);
}

}  // namespace

Result<void> OwnPlaces::lock_state() {
  if (const auto safe = runtime::safe_path("the state file", paths_.state_file); !safe) return safe.error();
  make_folder(paths_.state_file, 0700);
  auto locks = runtime::InstanceLocks::take("", "", paths_.state_file);
  if (!locks) return locks.error();
  locks_ = std::move(*locks);
  return {};
}

Result<void> OwnPlaces::check() const {
  const std::pair<std::string_view, const std::string*> places[] = {{"the pid file", &paths_.pid_file},
                                                                    {"the id file", &paths_.id_file}};
  for (const auto& [what, path] : places)
    if (const auto safe = runtime::safe_path(what, *path); !safe) return safe.error();
  if (!paths_.socket_chosen) return {};
  if (const auto safe = runtime::safe_path("the control socket", paths_.socket); !safe) return safe.error();
  return {};
}

Result<void> OwnPlaces::lock() {
  make_folder(paths_.pid_file, 0755);
  auto locks = runtime::InstanceLocks::take(paths_.pid_file, paths_.socket_chosen ? paths_.socket : "", "");
  if (!locks) return locks.error();
  locks_.pid_file = std::move(locks->pid_file);
  locks_.control_socket = std::move(locks->control_socket);
  std::ranges::move(locks->lacks, std::back_inserter(locks_.lacks));
  if (!paths_.socket_chosen) lock_usual_socket();
  repair();
  return {};
}

void OwnPlaces::lock_usual_socket() {
  Result<void> allowed;
  if (const auto safe = runtime::safe_path("the control socket", paths_.socket); !safe) allowed = safe.error();
  auto socket =
      allowed ? runtime::InstanceLocks::take("", paths_.socket, "") : Result<runtime::InstanceLocks>(allowed.error());
  if (!socket) {
    log_(Severity::Warning, fmt::format("healerctl cannot reach this daemon: {}; choose a socket of its own "
                                        "with `set control socket`",
                                        socket.error().what));
    paths_.socket.clear();
    return;
  }
  locks_.control_socket = std::move(socket->control_socket);
  std::ranges::move(socket->lacks, std::back_inserter(locks_.lacks));
}

/// Says what a full or read-only disk has denied, and tries it again until it is there.
void OwnPlaces::repair() {
  const std::vector<std::string> lacking = locks_.complaints();
  if (lacking.empty()) return;
  for (const std::string& text : lacking) log_(Severity::Error, fmt::format("{}; healer supervises anyway", text));
  retry_ = loop_.timer([this, logged = false]() mutable {
    const auto held = locks_.try_again();
    if (!held && !std::exchange(logged, true)) log_(Severity::Error, held.error().what);
    if (locks_.complaints().empty()) return log_(Severity::Info, "the pid file and the locks are written");
    retry_->set_deadline(runtime::now().mono + seconds{10});
  });
  retry_->set_deadline(runtime::now().mono + seconds{10});
}

}  // namespace healer
