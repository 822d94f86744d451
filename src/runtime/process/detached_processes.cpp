// SPDX-License-Identifier: MIT
#include "runtime/process/detached_processes.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <unordered_map>
#include <utility>

#include "actions/environment.hpp"
#include "runtime/clock.hpp"
#include "runtime/inspection/proc_stat.hpp"
#include "runtime/inspection/proc_table.hpp"
#include "util/text.hpp"

namespace healer::runtime {
namespace {

constexpr Duration kLongestPause{200};
constexpr std::size_t kMostListed = 80;  // of a command line
constexpr Duration kLongWait{2000};      // between looks at what cannot be ended

}  // namespace

DetachedProcesses::DetachedProcesses(Loop& loop, std::shared_ptr<const ControlGroups> groups)
    : loop_(loop),
      groups_(std::move(groups)),
      again_(loop.timer([this] { walk(); })),
      patience_(loop.timer([this] { stuck(); })),
      helper_(loop, {"healer-detached", 1, 2, kPatience}) {}

void DetachedProcesses::end(engine::ActionId action, std::optional<uid_t> owner, Done done, bool until_gone) {
  orders_.emplace(action.number(), Order{.done = [done = std::move(done)](pid_t ended, const auto&) { done(ended); },
                                         .owner = owner,
                                         .until_gone = until_gone});
  again_.set_deadline(Duration{0});  // with all others of this turn
}

void DetachedProcesses::check(engine::ActionId action, std::optional<uid_t> owner, Checked done) {
  orders_.emplace(action.number(), Order{.done = std::move(done), .owner = owner, .only_checks = true});
  again_.set_deadline(Duration{0});
}

void DetachedProcesses::walk() {
  if (orders_.empty() || std::exchange(walking_, true)) return;
  const Duration now = mono_now();
  std::vector<Task> tasks;
  for (auto& [action, order] : orders_) {
    order.asked = true;
    const int later = order.found && now - *order.found >= kGrace ? SIGKILL : 0;
    const int number = order.only_checks ? 0 : order.found ? later : SIGTERM;
    tasks.push_back({engine::ActionId(action), number, order.by_mark, order.owner, order.only_checks});
  }
  patience_.set_deadline(now + kPatience);
  walk_began_ = now;
  inspected_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  inspected_before_ = 0;
  const std::uint64_t walk = ++walk_;
  helper_.submit(
      [this, walk, groups = groups_, inspected = inspected_, signalled = signalled_,
       tasks = std::move(tasks)]() -> Loop::Callback {
        return [this, walk, left = carry_out(*groups, tasks, *inspected, *signalled)] { walked(walk, left); };
      },
      [this, walk](const Error&) { refused(walk); });
}

void DetachedProcesses::walked(std::uint64_t walk, const std::vector<Left>& left) {
  if (walk != walk_) return;  // it was given up
  walking_ = false;
  patience_.set_deadline(std::nullopt);
  const Duration now = mono_now();
  Duration pause = kLongWait;
  struct Finished {
    std::uint64_t action;
    Order order;
    std::string command;
  };
  std::vector<Finished> done;
  for (const Left& one : left) {
    const auto entry = orders_.find(one.action);
    Order& order = entry->second;
    const bool in_time = !order.found || now - *order.found < kGrace + kPatience;
    if (one.any && !order.only_checks && (in_time || order.until_gone)) {
      if (!order.found) order.found = now;
      const Duration most = in_time ? kLongestPause : kLongWait;
      pause = std::min(pause, std::exchange(order.pause, std::min(2 * order.pause, most)));
    } else {
      done.push_back({one.action, std::move(order), one.command});
      orders_.erase(entry);
    }
  }
  const bool more = std::ranges::any_of(orders_, [](const auto& entry) { return !entry.second.asked; });
  if (!orders_.empty()) again_.set_deadline(more ? Duration{0} : now + pause);
  // What a look that was given up signals from now on concerns nobody.
  const auto signalled = orders_.empty() ? std::exchange(signalled_, std::make_shared<Signalled>()) : signalled_;
  for (const auto& [action, order, command] : done) order.done(signalled->take(action), command);
}

/// No thread can be had: whether anything is left nobody can tell.
void DetachedProcesses::refused(std::uint64_t walk) {
  std::vector<Left> left;
  for (const auto& [action, order] : orders_) {
    if (order.asked) left.push_back({.action = action});
  }
  walked(walk, left);
}

/// Somebody hangs whose environment was to be read; or the machine is slow, and has many processes.
void DetachedProcesses::stuck() {
  const std::uint64_t inspected = inspected_->load();
  const Duration now = mono_now();
  const bool stands =
      inspected != 0 && inspected == std::exchange(inspected_before_, inspected);  // 0: it has not begun
  if (!stands && now - walk_began_ < kMostPatience) return patience_.set_deadline(now + kPatience);
  ++walk_;
  walking_ = false;
  for (auto& [action, order] : orders_) {
    if (order.asked) order.by_mark = false;
  }
  walk();
}

void DetachedProcesses::Signalled::note(std::uint64_t action, pid_t pid) {
  const std::scoped_lock lock(mutex_);
  first_.emplace(action, pid);
}

pid_t DetachedProcesses::Signalled::take(std::uint64_t action) {
  const std::scoped_lock lock(mutex_);
  const auto known = first_.find(action);
  if (known == first_.end()) return 0;
  const pid_t pid = known->second;
  first_.erase(known);
  return pid;
}

/// On the helper's thread.
std::vector<DetachedProcesses::Left> DetachedProcesses::carry_out(const ControlGroups& groups,
                                                                  const std::vector<Task>& tasks,
                                                                  std::atomic<std::uint64_t>& inspected,
                                                                  Signalled& signalled) {
  ++inspected;
  std::vector<Left> all;
  std::unordered_map<std::string, std::vector<ProcessIdentity>> marked;
  bool seen = false;
  const auto without_group = [&](const Task& task) { return task.by_mark && !groups.has(task.action); };
  if (std::ranges::any_of(tasks, without_group)) {
    std::vector<uid_t> owners{::geteuid()};
    for (const Task& task : tasks) {
      if (task.owner) owners.push_back(*task.owner);
    }
    auto processes = marked_processes(actions::action_mark(groups.state()), owners, &inspected);
    seen = processes.has_value();
    for (MarkedProcess& one : processes ? *processes : std::vector<MarkedProcess>{}) {
      const auto task =
          std::ranges::find(tasks, one.value, [](const Task& each) { return std::to_string(each.action.number()); });
      if (task == tasks.end() || (one.owner != ::geteuid() && one.owner != task->owner)) continue;
      marked[std::move(one.value)].push_back({one.pid, one.start_ticks});
    }
  }
  for (const Task& task : tasks) {
    Left& left = all.emplace_back(Left{.action = task.action.number()});
    std::optional<std::vector<ProcessIdentity>> living;
    if (groups.has(task.action)) {
      living = groups.living(task.action);
    } else if (seen || !task.by_mark) {
      living = marked[std::to_string(task.action.number())];
    }
    left.any = !living || !living->empty();  // what is not known may live
    for (const auto& [pid, start_ticks] : living.value_or(std::vector<ProcessIdentity>{})) {
      if (!signal_process(pid, start_ticks, task.number)) continue;
      signalled.note(left.action, pid);
      if (task.only_checks && left.command.empty()) left.command = printable(command_line(pid).substr(0, kMostListed));
    }
  }
  return all;
}

}  // namespace healer::runtime
