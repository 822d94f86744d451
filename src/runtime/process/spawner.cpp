// SPDX-License-Identifier: MIT
#include "runtime/process/spawner.hpp"

#include <spdlog/fmt/fmt.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

#include "actions/environment.hpp"
#include "runtime/clock.hpp"
#include "runtime/files/mount_guard.hpp"
#include "runtime/programs/waiter.hpp"
#include "util/text.hpp"

namespace healer::runtime {

namespace {

constexpr Duration kParkInterval{250};
constexpr unsigned kMostLookups = 6;    // that may hang: there are threads for more, which others need
constexpr Duration kLookInterval{100};  // between looks whether a look-up has taken too long

Error cancelled() { return system_error(ECANCELED, "not started"); }

}  // namespace

struct Spawner::Spawn {
  Done done;
  Prepare prepare;
  Prepare before;
  std::string program;
  std::string names;  // that are looked up; empty: none are
  Launch launch;      // the worker's, while it works
  LaunchProgress progress;
  std::mutex mutex;  // guards what follows
  bool given_up = false;
  bool launching = false;
  std::optional<Duration> looking_up;  // since when
  bool looked_up = false;              // or it could not be
};

struct Spawner::Means {
  LaunchDefaults defaults;
  std::shared_ptr<LaunchSlots> slots;
  std::shared_ptr<OwnPrograms> programs;
  Duration patience, mount_patience, lookup_patience;
  std::function<Result<RunsAs>(const engine::Identity&)> look_up;
  std::shared_ptr<MountGuard> launching;   // what the threads start now
  std::shared_ptr<MountGuard> looking_up;  // which of them look names up
};

Spawner::Spawner(Loop& loop, Options options)
    : options_(std::move(options)),
      means_(std::make_shared<const Means>(
          Means{options_.defaults, LaunchSlots::reserve(options_.threads + options_.max_lost), options_.programs,
                options_.patience, options_.mount_patience, options_.lookup_patience, options_.look_up,
                std::make_shared<MountGuard>(), std::make_shared<MountGuard>()})),
      unpark_(loop.timer([this] {
        for (const Ticket ticket : std::exchange(parked_, {})) submit(ticket);
      })),
      lookups_(loop.timer([this] { end_late_lookups(); })),
      pool_(loop, {"healer-spawn", options_.threads, options_.max_lost, options_.patience}),
      sweeper_(loop) {}

/// One that is looked up, or waits, would begin when nobody listens any more. One that is launched has its files by
/// now, in which the next daemon finds it.
Spawner::~Spawner() {
  for (const auto& [ticket, spawn] : spawns_) {
    const std::lock_guard lock(spawn->mutex);
    spawn->given_up = true;
  }
}

Spawner::Ticket Spawner::start(Launch launch, Done done, Prepare prepare, Prepare before) {
  const Ticket ticket = next_ticket_++;
  auto spawn = std::make_shared<Spawn>();
  spawn->done = std::move(done);
  spawn->prepare = std::move(prepare);
  spawn->before = std::move(before);
  spawn->program = launch.arguments.empty() ? std::string() : launch.arguments.front();
  if (launch.looked_up) {
    spawn->names = names_in(*launch.looked_up);
    if (!looks_) lookups_.set_deadline(mono_now() + kLookInterval);
    looks_ = true;
  }
  spawn->launch = std::move(launch);
  spawns_.emplace(ticket, std::move(spawn));
  submit(ticket);
  return ticket;
}

void Spawner::submit(Ticket ticket) {
  pool_.submit(
      [this, ticket, spawn = spawns_.at(ticket), means = means_]() -> Loop::Callback {
        auto result = std::make_shared<Result<Started>>(Error{});
        if (auto ready = spawn->before ? spawn->before(spawn->launch) : Result<void>(); !ready) {
          *result = ready.error();
        } else if (obstacle(*spawn, *means, false)) {
          const std::optional<Error> why = obstacle(*spawn, *means, true);
          const std::lock_guard lock(spawn->mutex);
          if (!why && !spawn->given_up) {
            return [this, ticket] {
              parked_.push_back(ticket);
              unpark_.set_deadline(mono_now() + kParkInterval);
            };
          }
          *result = why.value_or(cancelled());
        } else {
          *result = launch(ticket, *spawn, *means);
        }
        spawn->launch = {};
        return [this, ticket, result] { finish(ticket, std::move(*result)); };
      },
      [this, ticket](Error error) {
        finish(ticket, Error{EAGAIN, fmt::format("cannot start a program: {}", error.what)});
      });
}

/// On a worker: what others wait for without an answer, and this would have to, too. Nothing: there is no such thing.
std::optional<Error> Spawner::obstacle(const Spawn& spawn, const Means& means, bool for_long) {
  if (spawn.launch.looked_up) {
    const Duration patience = for_long ? means.lookup_patience : means.patience;
    if (!means.looking_up->hanging(spawn.names, patience).empty() ||
        means.looking_up->long_waits(patience) >= kMostLookups)
      return Error{ETIMEDOUT, fmt::format("{} cannot be looked up: others have no answer either", spawn.names)};
  }
  const std::string mount = means.launching->hanging(spawn.program, for_long ? means.mount_patience : means.patience);
  if (mount.empty()) return std::nullopt;
  return system_error(
      EIO, fmt::format("cannot execute {} (programs on {} do not answer)", printable(spawn.program), printable(mount)));
}

/// On a worker: as whom it runs. Where the answer comes too late, the loop has given it up.
Result<void> Spawner::look_up(Ticket ticket, Spawn& spawn, const Means& means) {
  if (!spawn.launch.looked_up) return {};
  {
    const std::lock_guard lock(spawn.mutex);
    spawn.looking_up = mono_now();
  }
  auto found = [&] {
    const MountGuard::Wait wait(*means.looking_up, ticket, spawn.names);
    return means.look_up(*spawn.launch.looked_up);
  }();
  {
    const std::lock_guard lock(spawn.mutex);
    spawn.looking_up.reset();
    spawn.looked_up = true;
    if (spawn.given_up) return cancelled();
  }
  if (!found) return found.error();
  Launch& launch = spawn.launch;
  launch.uid = found->uid;
  launch.gid = found->gid;
  if (launch.sets_home && !found->home.empty()) actions::set_variable(launch.environment, "HOME", found->home);
  launch.looked_up.reset();
  return {};
}

/// On a worker.
Result<Started> Spawner::launch(Ticket ticket, Spawn& spawn, const Means& means) {
  {
    const std::lock_guard lock(spawn.mutex);
    if (spawn.given_up) return cancelled();
  }
  if (auto known = look_up(ticket, spawn, means); !known) return known.error();
  const MountGuard::Wait wait(*means.launching, ticket, spawn.program);
  {
    const std::lock_guard lock(spawn.mutex);
    if (spawn.given_up) return cancelled();
    spawn.launching = true;
  }
  ProgramUse use;
  const std::optional<std::uint32_t> uid = spawn.launch.uid;
  auto result = [&]() -> Result<Started> {
    if (spawn.prepare) {
      if (auto prepared = spawn.prepare(spawn.launch); !prepared) return prepared.error();
    }
    use = std::move(spawn.launch.use);
    if (spawn.launch.waiter) return start_waited(std::move(spawn.launch), means.defaults, spawn.progress);
    try {
      thread_local Launcher launcher(means.defaults, means.slots);
      return launcher.start(std::move(spawn.launch), spawn.progress);
    } catch (const std::exception& error) {
      return Error{ENOMEM, error.what()};
    }
  }();
  if (result) {
    result->uid = uid;
    means.programs->runs(result->pid, std::move(use));  // before anybody can see its end
  }
  const std::lock_guard lock(spawn.mutex);
  spawn.launching = false;
  return result;
}

/// Those that are not answered in time are not waited for, nor those that nobody wants any more: their threads find
/// that when the answer comes.
void Spawner::end_late_lookups() {
  const Duration now = mono_now();
  std::vector<std::pair<Ticket, Error>> ended;
  looks_ = false;
  for (const auto& [ticket, spawn] : spawns_) {
    if (spawn->names.empty()) continue;
    const std::lock_guard lock(spawn->mutex);
    if (spawn->looked_up) continue;
    const bool is_late = spawn->looking_up && now - *spawn->looking_up >= options_.lookup_patience;
    if (!is_late && !(spawn->looking_up && spawn->given_up)) {
      looks_ = true;
      continue;
    }
    const std::string why = fmt::format("{} cannot be looked up: no answer within {}", spawn->names,
                                        format_duration(options_.lookup_patience));
    ended.emplace_back(ticket, spawn->given_up ? cancelled() : Error{ETIMEDOUT, why});
    spawn->given_up = true;
  }
  if (looks_) lookups_.set_deadline(now + kLookInterval);
  for (auto& [ticket, why] : ended) finish(ticket, std::move(why));
}

void Spawner::finish(Ticket ticket, Result<Started> result) {
  const auto found = spawns_.find(ticket);
  if (found == spawns_.end()) return;
  const Done done = std::move(found->second->done);
  spawns_.erase(found);
  done(std::move(result));
}

void Spawner::give_up(Ticket ticket) {
  const auto found = spawns_.find(ticket);
  if (found == spawns_.end()) return;
  Spawn& spawn = *found->second;
  const std::lock_guard lock(spawn.mutex);
  spawn.given_up = true;
  // While `launching` the thread has not given the pidfd away, and `child_runs` says that it names our child.
  if (spawn.launching && spawn.progress.child_runs) {
    ::syscall(SYS_pidfd_send_signal, spawn.progress.pidfd.load(), SIGKILL, nullptr, 0);
  }
}

}  // namespace healer::runtime
