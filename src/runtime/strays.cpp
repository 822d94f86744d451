// SPDX-License-Identifier: MIT
#include "runtime/strays.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>

#include <csignal>
#include <string_view>

#include "runtime/child.hpp"
#include "runtime/clock.hpp"
#include "runtime/descriptor.hpp"
#include "runtime/proc_stat.hpp"
#include "runtime/proc_table.hpp"

namespace healer::runtime {
namespace {

constexpr Duration kStuck{200};
constexpr Duration kPressInterval{1000};

}  // namespace

struct Strays::Stray {
  pid_t pid = -1;
  std::shared_ptr<Descriptor> pidfd;
  std::shared_ptr<SessionProof> proof;
  std::string service;
  Loop::Watch watch;
  Loop::Timer timer;
};

Strays::Strays(Loop& loop, SessionSweeper& sweeper, std::string mark, Callbacks callbacks)
    : loop_(loop),
      sweeper_(sweeper),
      mark_(std::move(mark)),
      callbacks_(std::move(callbacks)),
      patience_(loop.timer([this] { searched(); })),
      searcher_(loop, {"healer-strays", 1, 16, kStuck}) {
  const Duration began = mono_now();
  patience_.set_deadline(began + kPatience);
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

Strays::~Strays() = default;

/// Each by itself: one that hangs takes only its own thread along.
void Strays::ask(const Leaders& leaders) {
  unasked_ = leaders.size();
  if (unasked_ == 0) return searched();
  for (const auto& [pid, start_ticks] : leaders) {
    searcher_.submit(
        [this, pid = pid, start_ticks = start_ticks, mark = mark_]() -> Loop::Callback {
          auto stray = std::make_shared<std::unique_ptr<Stray>>(recognise(pid, start_ticks, mark));
          return [this, stray] { asked(std::move(*stray)); };
        },
        [this](const Error&) { asked({}); });
  }
}

void Strays::asked(std::unique_ptr<Stray> stray) {
  if (stray) {
    Stray& added = *stray;
    strays_.emplace(added.pid, std::move(stray));
    end(added);
  }
  if (--unasked_ == 0) searched();
}

void Strays::searched() {
  patience_ = {};
  if (!std::exchange(searched_, true)) callbacks_.searched();
}

/// Null where that process is none. On the searcher's thread.
std::unique_ptr<Strays::Stray> Strays::recognise(pid_t pid, std::uint64_t start_ticks, const std::string& mark) {
  auto pidfd = find_process(pid, start_ticks);
  if (!pidfd) return nullptr;
  const auto text = read_head(AT_FDCWD, fmt::format("/proc/{}/environ", pid).c_str(), kMostOfEnvironment);
  if (!text) return nullptr;
  const std::string environment = '\0' + *text + '\0';
  if (environment.find('\0' + mark + std::to_string(pid) + '\0') == std::string::npos) return nullptr;
  const std::uint64_t known_until = ticks_at(mono_now());
  if (!lives(*pidfd)) return nullptr;  // then it was not that one's environment, perhaps
  auto stray = std::make_unique<Stray>();
  stray->pid = pid;
  stray->pidfd = std::make_shared<Descriptor>(std::move(*pidfd));
  stray->proof = std::make_shared<SessionProof>(SessionProof{known_until, {}});
  constexpr std::string_view kService("\0HEALER_SERVICE=", 16);
  if (const auto at = environment.find(kService); at != std::string::npos) {
    stray->service = environment.c_str() + at + kService.size();
  }
  return stray;
}

void Strays::end(Stray& stray) {
  signal(stray, SIGTERM);
  // Where it cannot be watched its end is noticed when it is pressed.
  auto watch = loop_.watch(stray.pidfd->get(), Loop::kReadable, [this, &stray](unsigned) { leader_gone(stray); });
  if (watch) stray.watch = std::move(*watch);
  stray.timer = loop_.timer([this, &stray] { press(stray); });
  stray.timer.set_deadline(mono_now() + Child::kGrace);
  callbacks_.found(stray.service, stray.pid);
}

void Strays::signal(const Stray& stray, int number) {
  searcher_.submit(
      [pidfd = stray.pidfd, pid = stray.pid, number]() -> Loop::Callback {
        signal_session(*pidfd, pid, number);
        return {};
      },
      [](const Error&) {});
}

/// SIGKILL, until it has an effect.
void Strays::press(Stray& stray) {
  const Duration now = mono_now();
  const std::uint64_t known_until = ticks_at(now);
  if (!lives(*stray.pidfd)) return leader_gone(stray);
  stray.proof->known_until = known_until;
  signal(stray, SIGKILL);
  stray.timer.set_deadline(now + kPressInterval);
}

void Strays::leader_gone(Stray& stray) {
  stray.watch = {};
  stray.timer = {};
  signal_group(*stray.pidfd, SIGKILL);
  sweeper_.kill(stray.pid, stray.proof, [this, pid = stray.pid, alive = std::weak_ptr<char>(alive_)] {
    if (alive.expired()) return;
    const std::string service = std::move(strays_.at(pid)->service);
    strays_.erase(pid);
    callbacks_.gone(service);
  });
}

}  // namespace healer::runtime
