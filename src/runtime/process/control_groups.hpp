// SPDX-License-Identifier: MIT
// The control groups (cgroup v2) of the programs that start services, including foreground processes. Such a program is
// created in a group of its own, and the processes that it leaves running stay in it, even if they start a new session,
// overwrite their environment or were executed with another one. So this daemon and the next one can find them.
//
// A group is named healer-STATE-ACTION and is a child of the group of the daemon that made it, since that may be the
// only part of the tree that the daemon may change (systemd: Delegate=). The next daemon may run in another group, for
// example if a person starts it from a session. So when it starts, it searches the whole tree once for groups of this
// state. From then on only this daemon creates such groups, and only below its own group. Nothing is stored on disk
// that could be lost or be wrong.
//
// If cgroup v2 is missing or may not be used, there are no groups, and only the mark in the environment
// (actions/environment) is used: nothing here is an error. Groups are removed when they are empty. Processes are ended
// for being in a group only if a foreground process left them (runtime/process/detached_processes), or if the rules say
// so. A group that belongs to another user than healer's, or into which others can put processes, does not count as
// healer's: anybody can create one with such a name.
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
#include "runtime/inspection/proc_stat.hpp"
#include "runtime/process/process_watch.hpp"

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
