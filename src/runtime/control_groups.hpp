// SPDX-License-Identifier: MIT
// The control groups (cgroup v2) of the programs that start services, foreground processes among them. Such a program
// is born in a group of its own, and what it leaves stays in there: also what leads a session of its own, has written
// over its environment, or was executed with another. So it is found again, by this daemon and by the next.
//
// A group is called healer-STATE-ACTION and lies below the group of the daemon that made it, since that may be all of
// the tree that the daemon may touch (systemd: Delegate=). The next daemon may live elsewhere, where a person starts
// one from a session. So it looks once, when it starts, through the whole tree for places where there are groups of
// this state; it alone makes new ones from then on, and only below its own. Nothing is written down that could be lost,
// or be wrong.
//
// Where there is no cgroup v2, or it may not be used, there are no groups, and the mark in the environment
// (actions/environment) serves alone: nothing here is an error. Groups are removed when they are empty. What is in them
// is ended for being there only where a foreground process has left it (runtime/detached_processes), or the rules say
// that it is to be. A group that belongs to another user than healer runs as, or that others can put processes into, is
// none of its own: anybody can call one so.
//
// May be used by several threads. All calls may block: not for the loop thread once the loop runs.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "engine/ids.hpp"
#include "runtime/descriptor.hpp"
#include "runtime/proc_stat.hpp"
#include "runtime/process_watch.hpp"

namespace healer::runtime {

/// Where control groups are directories; empty: nowhere.
struct GroupTree {
  std::string top;  ///< of the tree, as far as it can be seen
  std::string own;  ///< of the group of this process

  bool operator==(const GroupTree&) const = default;
};
/// By the texts of /proc/self/cgroup and /proc/self/mountinfo.
[[nodiscard]] GroupTree group_tree(std::string_view cgroup, std::string_view mountinfo);

class ControlGroups {
 public:
  /// None are made or found.
  ControlGroups() = default;
  /// Those of `state`, a word that no other state on this machine has: below the daemon's own group, and wherever in
  /// the tree there are some already.
  ControlGroups(std::string state, const GroupTree& tree);
  /// The same, by what this machine has.
  [[nodiscard]] static ControlGroups find(std::string state);

  [[nodiscard]] const std::string& state() const { return state_; }

  /// Makes the group of an action, where it is missing, and opens its directory; none where that cannot be.
  [[nodiscard]] Descriptor make(engine::ActionId action) const;
  /// The living processes in the group of an action, and in groups below it, but never this process: the one that began
  /// first before the others, a parent before its children.
  [[nodiscard]] std::vector<ProcStat> eldest_first(engine::ActionId action) const;
  /// The first of them; 0: there is none.
  [[nodiscard]] ProcessIdentity leader(engine::ActionId action) const;
  /// Whether that action has a group of its own, and this process is not in it.
  [[nodiscard]] bool has(engine::ActionId action) const;
  /// The living processes in the group of an action, and in groups below it, but never this process. Nothing where it
  /// is not known who they are: they come and go too quickly, or there are no descriptors to look.
  [[nodiscard]] std::optional<std::vector<ProcessIdentity>> living(engine::ActionId action) const;
  /// Removes the empty groups of this state, but not those of the actions in `keep` and those newer than `newest`.
  void remove_empty(const std::unordered_set<std::uint64_t>& keep, engine::ActionId newest) const;

 private:
  [[nodiscard]] std::string prefix() const;
  [[nodiscard]] std::string name_of(engine::ActionId action) const;
  [[nodiscard]] std::vector<std::string> groups_of(engine::ActionId action) const;
  [[nodiscard]] std::vector<pid_t> members(engine::ActionId action) const;
  void add_members(const std::string& group, int depth, std::vector<pid_t>& all) const;

  std::string state_;
  std::string own_;
  std::vector<std::string> places_;  ///< directories with groups of this state: own_, and those of former daemons
};

}  // namespace healer::runtime
