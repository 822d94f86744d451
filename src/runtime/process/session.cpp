// SPDX-License-Identifier: MIT
#include "runtime/process/session.hpp"

#include <spdlog/fmt/fmt.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <csignal>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/clock.hpp"
#include "runtime/inspection/proc_stat.hpp"
#include "runtime/inspection/proc_table.hpp"

namespace healer::runtime {
namespace {

constexpr Duration kFirstPause{2};
constexpr Duration kLongestSessionPause{100};

/// A process that is in the session, and the handle that holds it.
struct Member {
  pid_t pid = -1;
  std::uint64_t start_ticks = 0;
  Descriptor handle;
  bool proved = false;
};

/// Where a descriptor of a process leads; never asks the file system that the file is on.
std::string target_of(pid_t pid, int descriptor) {
  std::array<char, PATH_MAX> text;
  const ssize_t size = ::readlink(fmt::format("/proc/{}/fd/{}", pid, descriptor).c_str(), text.data(), text.size());
  return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : std::string();
}

bool still_in(const Member& member, pid_t session) {
  const auto stat = read_proc_stat(member.pid);
  return stat && stat->start_ticks == member.start_ticks && stat->session == session && !stat->zombie();
}

void prove(std::vector<Member>& members, pid_t session, const SessionProof& proof) {
  for (Member& member : members) {
    member.proved = member.start_ticks < proof.known_until ||
                    (!proof.output.empty() &&
                     (target_of(member.pid, 1) == proof.output || target_of(member.pid, 2) == proof.output));
  }
  // All were seen in the session before; whoever is proved and in it still has held its number all the time.
  const auto holds_it = [&](const Member& member) { return member.proved && still_in(member, session); };
  if (std::ranges::any_of(members, holds_it)) {
    for (Member& member : members) member.proved = true;
  }
}

}  // namespace

struct SessionSweeper::Order {
  pid_t leader = -1;
  int number = SIGKILL;
  bool until_gone = false;
  std::shared_ptr<const SessionProof> proof;  // none: our child, not reaped
  Loop::Callback done;
  Duration begun{0};
  Duration pause = kFirstPause;
  bool left = false;  // by the last look: somebody was there
  /// Whom a look has proved and signalled: they stay proved while they die, though who proved them may be gone.
  std::vector<std::pair<pid_t, std::uint64_t>> signalled;
};

SessionSweeper::SessionSweeper(Loop& loop)
    : loop_(loop), again_(loop.timer([this] { walk(); })), helper_(loop, {"healer-helper", 1, 2, Duration{5000}}) {}

void SessionSweeper::signal(pid_t leader, int number, Loop::Callback done) {
  add(std::make_shared<Order>(Order{.leader = leader, .number = number, .proof = {}, .done = std::move(done)}));
}

void SessionSweeper::kill(pid_t leader, std::shared_ptr<const SessionProof> proof, Loop::Callback done) {
  add(std::make_shared<Order>(
      Order{.leader = leader, .until_gone = true, .proof = std::move(proof), .done = std::move(done)}));
}

void SessionSweeper::add(std::shared_ptr<Order> order) {
  order->begun = mono_now();
  waiting_.push_back(std::move(order));
  again_.set_deadline(Duration{0});  // with all others of this turn
}

void SessionSweeper::walk() {
  if (waiting_.empty() || std::exchange(walking_, true)) return;
  auto orders = std::make_shared<const Orders>(std::exchange(waiting_, {}));
  helper_.submit(
      [this, orders]() -> Loop::Callback {
        const bool seen = carry_out(*orders);
        return [this, orders, seen] {
          if (!seen) {
            for (const auto& order : *orders) order->left = true;  // nobody knows
          }
          walked(*orders);
        };
      },
      [this, orders](const Error&) { walked(*orders); });
}

void SessionSweeper::walked(const Orders& orders) {
  walking_ = false;
  const Duration now = mono_now();
  Duration pause = kLongestSessionPause;
  std::vector<Loop::Callback> done;
  for (const auto& order : orders) {
    if (order->left && order->until_gone && now - order->begun < kPatience) {
      pause = std::min(pause, std::exchange(order->pause, std::min(2 * order->pause, kLongestSessionPause)));
      waiting_.push_back(order);
    } else {
      done.push_back(std::move(order->done));
    }
  }
  if (!waiting_.empty()) again_.set_deadline(now + pause);
  for (const Loop::Callback& callback : done) callback();
}

/// One look at all processes for all orders; false where that was not possible. On a helper's thread.
bool SessionSweeper::carry_out(const Orders& orders) {
  std::unordered_map<pid_t, std::pair<Order*, std::vector<Member>>> sessions;
  for (const auto& order : orders) {
    order->left = false;
    Order*& known = sessions[order->leader].first;
    // Where our child has the number of a leader that is gone, nothing is left of that one's session.
    if (known == nullptr || order->proof == nullptr) known = order.get();
  }
  const auto snapshot = ProcSnapshot::take();
  if (!snapshot) return false;
  for (const ProcStat& glance : (*snapshot)->processes()) {
    const auto found = sessions.find(glance.session);
    if (found == sessions.end() || glance.pid == glance.session || glance.zombie()) continue;
    auto& [order, members] = found->second;
    if (!order->until_gone && glance.group == order->leader) continue;
    // First the handle, then the look that counts.
    Member member{glance.pid, glance.start_ticks, open_pidfd(glance.pid)};
    if (!member.handle) {
      order->left = true;
      continue;
    }
    if (still_in(member, order->leader)) members.push_back(std::move(member));
  }
  for (auto& [leader, session] : sessions) {
    auto& [order, members] = session;
    if (order->proof) prove(members, leader, *order->proof);
    for (const Member& member : members) {
      const std::pair who(member.pid, member.start_ticks);
      const bool known = std::ranges::find(order->signalled, who) != order->signalled.end();
      if (order->proof && !member.proved && !known) continue;
      order->left = true;
      if (order->until_gone && !known) order->signalled.push_back(who);
      ::syscall(SYS_pidfd_send_signal, member.handle.get(), order->number, nullptr, 0);
    }
  }
  return true;
}

}  // namespace healer::runtime
