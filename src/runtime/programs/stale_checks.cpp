// SPDX-License-Identifier: MIT
#include "runtime/programs/stale_checks.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>

#include <csignal>
#include <string_view>

#include "runtime/clock.hpp"
#include "runtime/descriptor.hpp"
#include "runtime/inspection/proc_stat.hpp"
#include "runtime/inspection/proc_table.hpp"
#include "runtime/process/child.hpp"

namespace healer::runtime {
namespace {

constexpr Duration kStuck{200};
constexpr Duration kPressInterval{1000};

}  // namespace

struct StaleChecks::StaleCheck {
  pid_t pid = -1;
  std::shared_ptr<Descriptor> pidfd;
  std::shared_ptr<SessionProof> proof;
  std::string service;
  Loop::Watch watch;
  Loop::Timer timer;
};

StaleChecks::StaleChecks(Loop& loop, SessionSweeper& sweeper, std::string mark, Duration patience, Callbacks callbacks)
    : loop_(loop),
      sweeper_(sweeper),
      mark_(std::move(mark)),
      callbacks_(std::move(callbacks)),
      patience_(loop.timer([this] { searched(); })),
      searcher_(loop, {"healer-stale", 1, 16, kStuck}) {
  const Duration began = mono_now();
  patience_.set_deadline(began + patience);
  searcher_.submit(
      [this, before = ticks_at(began)]() -> Loop::Callback {
        Leaders leaders;
        if (const auto snapshot = ProcSnapshot::take()) {
          for (const ProcStat& process : (*snapshot)->processes()) {
            if (process.pid != process.session || process.zombie() || process.start_ticks >= before) continue;
            leaders.emplace_back(process.pid, process.start_ticks);
          }
        }
        return [this, leaders = std::move(leaders)] { ask(leaders); };
      },
      [this](const Error&) { searched(); });
}

StaleChecks::~StaleChecks() = default;

/// Each by itself: one that hangs takes only its own thread along.
void StaleChecks::ask(const Leaders& leaders) {
  unasked_ = leaders.size();
  if (unasked_ == 0) return searched();
  for (const auto& [pid, start_ticks] : leaders) {
    searcher_.submit(
        [this, pid = pid, start_ticks = start_ticks, mark = mark_]() -> Loop::Callback {
          auto stale_check = std::make_shared<std::unique_ptr<StaleCheck>>(recognise(pid, start_ticks, mark));
          return [this, stale_check] { asked(std::move(*stale_check)); };
        },
        [this](const Error&) { asked({}); });
  }
}

void StaleChecks::asked(std::unique_ptr<StaleCheck> stale_check) {
  if (stale_check) {
    StaleCheck& added = *stale_check;
    stale_checks_.emplace(added.pid, std::move(stale_check));
    end(added);
  }
  if (--unasked_ == 0) searched();
}

void StaleChecks::searched() {
  patience_ = {};
  if (!std::exchange(searched_, true)) callbacks_.searched();
}

/// Null where that process is none. On the searcher's thread.
std::unique_ptr<StaleChecks::StaleCheck> StaleChecks::recognise(pid_t pid, std::uint64_t start_ticks,
                                                                const std::string& mark) {
  auto pidfd = find_process(pid, start_ticks);
  if (!pidfd) return nullptr;
  const auto text = read_head(AT_FDCWD, fmt::format("/proc/{}/environ", pid).c_str(), kMostOfEnvironment);
  if (!text) return nullptr;
  const std::string environment = '\0' + *text + '\0';
  if (environment.find('\0' + mark + std::to_string(pid) + '\0') == std::string::npos) return nullptr;
  const std::uint64_t known_until = ticks_at(mono_now());
  if (!lives(*pidfd)) return nullptr;  // then it was not that one's environment, perhaps
  auto stale_check = std::make_unique<StaleCheck>();
  stale_check->pid = pid;
  stale_check->pidfd = std::make_shared<Descriptor>(std::move(*pidfd));
  stale_check->proof = std::make_shared<SessionProof>(SessionProof{known_until, {}});
  constexpr std::string_view kService("\0HEALER_SERVICE=", 16);
  if (const auto at = environment.find(kService); at != std::string::npos) {
    stale_check->service = environment.c_str() + at + kService.size();
  }
  return stale_check;
}

void StaleChecks::end(StaleCheck& stale_check) {
  signal(stale_check, SIGTERM);
  // Where it cannot be watched its end is noticed when it is pressed.
  auto watch = loop_.watch(stale_check.pidfd->get(), Loop::kReadable,
                           [this, &stale_check](unsigned) { leader_gone(stale_check); });
  if (watch) stale_check.watch = std::move(*watch);
  stale_check.timer = loop_.timer([this, &stale_check] { press(stale_check); });
  stale_check.timer.set_deadline(mono_now() + Child::kGrace);
  callbacks_.found(stale_check.service, stale_check.pid);
}

void StaleChecks::signal(const StaleCheck& stale_check, int number) {
  searcher_.submit(
      [pidfd = stale_check.pidfd, pid = stale_check.pid, number]() -> Loop::Callback {
        signal_session(*pidfd, pid, number);
        return {};
      },
      [](const Error&) {});
}

/// SIGKILL, until it has an effect.
void StaleChecks::press(StaleCheck& stale_check) {
  const Duration now = mono_now();
  const std::uint64_t known_until = ticks_at(now);
  if (!lives(*stale_check.pidfd)) return leader_gone(stale_check);
  stale_check.proof->known_until = known_until;
  signal(stale_check, SIGKILL);
  stale_check.timer.set_deadline(now + kPressInterval);
}

void StaleChecks::leader_gone(StaleCheck& stale_check) {
  stale_check.watch = {};
  stale_check.timer = {};
  signal_group(*stale_check.pidfd, SIGKILL);
  sweeper_.kill(stale_check.pid, stale_check.proof, [this, pid = stale_check.pid, alive = std::weak_ptr<char>(alive_)] {
    if (alive.expired()) return;
    const std::string service = std::move(stale_checks_.at(pid)->service);
    stale_checks_.erase(pid);
    callbacks_.gone(service);
  });
}

}  // namespace healer::runtime
