// SPDX-License-Identifier: MIT
#include "runtime/process/spawner.hpp"

#include <spdlog/fmt/fmt.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <exception>
#include <mutex>
#include <utility>

#include "runtime/clock.hpp"
#include "runtime/programs/waiter.hpp"
#include "util/text.hpp"

namespace healer::runtime {

namespace {

constexpr Duration kParkInterval{250};

}  // namespace

struct Spawner::Spawn {
  Done done;
  Prepare prepare;
  std::string program;
  Launch launch;  // the worker's, while it works
  LaunchProgress progress;
  std::mutex mutex;  // guards what follows
  bool given_up = false;
  bool launching = false;
};

struct Spawner::Means {
  LaunchDefaults defaults;
  std::shared_ptr<LaunchSlots> slots;
  std::shared_ptr<OwnPrograms> programs;
};

Spawner::Spawner(Loop& loop, Options options)
    : options_(std::move(options)),
      means_(std::make_shared<const Means>(
          Means{options_.defaults, LaunchSlots::reserve(options_.threads + options_.max_lost), options_.programs})),
      launching_(std::make_shared<MountGuard>()),
      unpark_(loop.timer([this] {
        for (const Ticket ticket : std::exchange(parked_, {})) submit(ticket);
      })),
      pool_(loop, {"healer-spawn", options_.threads, options_.max_lost, options_.patience}),
      sweeper_(loop) {}

Spawner::Ticket Spawner::start(Launch launch, Done done, Prepare prepare) {
  const Ticket ticket = next_ticket_++;
  auto spawn = std::make_shared<Spawn>();
  spawn->done = std::move(done);
  spawn->prepare = std::move(prepare);
  spawn->program = launch.arguments.empty() ? std::string() : launch.arguments.front();
  spawn->launch = std::move(launch);
  spawns_.emplace(ticket, std::move(spawn));
  submit(ticket);
  return ticket;
}

void Spawner::submit(Ticket ticket) {
  pool_.submit(
      [this, ticket, spawn = spawns_.at(ticket), launching = launching_, patience = options_.patience,
       mount_patience = options_.mount_patience, means = means_]() -> Loop::Callback {
        auto result = std::make_shared<Result<Started>>(Error{});
        if (!launching->hanging(spawn->program, patience).empty()) {
          const std::string dead = launching->hanging(spawn->program, mount_patience);
          const std::lock_guard lock(spawn->mutex);
          if (dead.empty() && !spawn->given_up) {
            return [this, ticket] {
              parked_.push_back(ticket);
              unpark_.set_deadline(mono_now() + kParkInterval);
            };
          }
          *result = system_error(EIO, fmt::format("cannot execute {} (programs on {} do not answer)",
                                                  printable(spawn->program), printable(dead)));
        } else {
          const MountGuard::Wait wait(*launching, ticket, spawn->program);
          *result = launch(*spawn, *means);
        }
        spawn->launch = {};
        return [this, ticket, result] { finish(ticket, std::move(*result)); };
      },
      [this, ticket](Error error) {
        finish(ticket, Error{EAGAIN, fmt::format("cannot start a program: {}", error.what)});
      });
}

/// On a worker.
Result<Started> Spawner::launch(Spawn& spawn, const Means& means) {
  {
    const std::lock_guard lock(spawn.mutex);
    if (spawn.given_up) return system_error(ECANCELED, "not started");
    spawn.launching = true;
  }
  ProgramUse use;
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
  if (result) means.programs->runs(result->pid, std::move(use));  // before anybody can see its end
  const std::lock_guard lock(spawn.mutex);
  spawn.launching = false;
  return result;
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
