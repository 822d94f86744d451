// SPDX-License-Identifier: MIT
#include "runtime/process/control_groups.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <memory>
#include <sstream>
#include <tuple>
#include <utility>

#include "util/text.hpp"

namespace healer::runtime {
namespace {

constexpr int kDeepest = 16;  // groups in groups
constexpr int kAttempts = 10;

/// A file of the kernel's to its end, which a short read is not yet; as much of it as can be read.
std::string read_whole(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> part{};
  while (file) {
    const ssize_t size = ::read(file.get(), part.data(), part.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(size));
  }
  return text;
}

/// The names of the groups directly below one.
std::vector<std::string> groups_in(const std::string& place) {
  std::vector<std::string> names;
  const Directory directory(::opendir(place.c_str()));
  if (!directory) return names;
  while (const dirent* entry = ::readdir(directory.get())) {
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  return names;
}

/// The action of a group by its name; none where it is not one of `prefix`.
std::optional<engine::ActionId> action_of(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  std::uint64_t number = 0;
  const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc{} || rest != name.data() + name.size()) return std::nullopt;
  return engine::ActionId(number);
}

/// Whether a group was made by healer, as which nobody else runs, and only that can put processes into it.
bool is_own_group(const std::string& group) {
  const auto belongs = [](const std::string& path) {
    struct ::stat facts {};
    return ::lstat(path.c_str(), &facts) == 0 && facts.st_uid == ::geteuid() &&
           (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  };
  return belongs(group) && belongs(group + "/cgroup.procs");
}

/// Adds the places with groups of that prefix to `found`.
void find_places(const std::string& place, std::string_view prefix, int depth, std::vector<std::string>& found) {
  bool holds = false;
  for (const std::string& name : groups_in(place)) {
    if (action_of(name, prefix)) {
      holds = holds || is_own_group(place + '/' + name);
    } else if (depth < kDeepest) {
      find_places(place + '/' + name, prefix, depth + 1, found);
    }
  }
  if (holds && std::ranges::find(found, place) == found.end()) found.push_back(place);
}

/// Removes a group with the empty ones in it, where there is no process in any of them.
void remove_group(const std::string& group, int depth) {
  if (::rmdir(group.c_str()) == 0 || errno != EBUSY || depth == kDeepest) return;
  if (read_whole(group + "/cgroup.events").find("populated 0") == std::string::npos) return;
  for (const std::string& name : groups_in(group)) remove_group(group + '/' + name, depth + 1);
  ::rmdir(group.c_str());
}

struct Mount {
  std::string root;   // the group that is seen there
  std::string point;  // without a / at its end
};

std::vector<Mount> group_mounts(std::string_view mountinfo) {
  std::vector<Mount> mounts;
  std::istringstream lines{std::string(mountinfo)};
  for (std::string line; std::getline(lines, line);) {
    // "41 31 0:38 ROOT POINT OPTIONS [MORE...] - TYPE SOURCE OPTIONS"
    const std::size_t end = line.find(" - ");
    if (end == std::string::npos || !std::string_view(line).substr(end + 3).starts_with("cgroup2 ")) continue;
    std::istringstream fields(line);
    std::string skipped;
    Mount mount;
    if (!(fields >> skipped >> skipped >> skipped >> mount.root >> mount.point)) continue;
    mount.root = from_octal(mount.root);
    mount.point = from_octal(mount.point);
    if (mount.root == "/") mount.root.clear();
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

}  // namespace

GroupTree group_tree(std::string_view cgroup, std::string_view mountinfo) {
  const std::vector<Mount> mounts = group_mounts(mountinfo);
  if (mounts.empty()) return {};
  std::istringstream lines{std::string(cgroup)};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("0::/")) continue;
    const std::string group = line == "0::/" ? std::string() : line.substr(3);
    if (group.starts_with("/..")) break;  // outside of what this name space can see
    for (const auto& [root, point] : mounts) {
      if (!group.starts_with(root)) continue;
      const std::string below = group.substr(root.size());
      if (below.empty() || below.starts_with('/')) return {point, point + below};
    }
  }
  return {mounts.front().point, {}};
}

ControlGroups::ControlGroups(std::string state, const GroupTree& tree) : state_(std::move(state)), own_(tree.own) {
  if (!own_.empty()) places_.push_back(own_);
  if (!tree.top.empty()) find_places(tree.top, prefix(), 0, places_);
}

ControlGroups ControlGroups::find(std::string state) {
  return {std::move(state), group_tree(read_whole("/proc/self/cgroup"), read_whole("/proc/self/mountinfo"))};
}

std::string ControlGroups::prefix() const { return fmt::format("healer-{}-", state_); }

std::string ControlGroups::name_of(engine::ActionId action) const { return prefix() + std::to_string(action.number()); }

Descriptor ControlGroups::make(engine::ActionId action) const {
  if (own_.empty()) return {};
  const std::string group = own_ + '/' + name_of(action);
  if (::mkdir(group.c_str(), 0755) != 0 && errno != EEXIST) return {};
  return Descriptor(::open(group.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/// The group of an action, wherever it is.
std::vector<std::string> ControlGroups::groups_of(engine::ActionId action) const {
  std::vector<std::string> groups;
  for (const std::string& place : places_) {
    std::string group = place + '/' + name_of(action);
    if (is_own_group(group)) groups.push_back(std::move(group));
  }
  return groups;
}

std::vector<pid_t> ControlGroups::members(engine::ActionId action) const {
  std::vector<pid_t> all;
  for (const std::string& group : groups_of(action)) add_members(group, 0, all);
  std::erase(all, ::getpid());
  std::ranges::sort(all);
  return all;
}

/// Groups of other actions may lie below it, where one of its processes was a daemon: they are theirs.
void ControlGroups::add_members(const std::string& group, int depth, std::vector<pid_t>& all) const {
  std::istringstream lines(read_whole(group + "/cgroup.procs"));
  for (pid_t pid = 0; lines >> pid;) {
    if (pid > 0) all.push_back(pid);  // 0: it cannot be seen from here
  }
  if (depth == kDeepest) return;
  for (const std::string& name : groups_in(group)) {
    if (!action_of(name, prefix())) add_members(group + '/' + name, depth + 1, all);
  }
}

bool ControlGroups::has(engine::ActionId action) const {
  const std::vector<std::string> groups = groups_of(action);
  return !groups.empty() && std::ranges::none_of(groups, [this](const std::string& group) {
    return own_ == group || own_.starts_with(group + '/');
  });
}

std::optional<std::vector<ProcessIdentity>> ControlGroups::living(engine::ActionId action) const {
  for (const std::string& group : groups_of(action)) {
    const std::string file = group + "/cgroup.procs";
    if (!Descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC)) && errno != ENOENT) return std::nullopt;
  }
  std::vector<ProcessIdentity> seen;
  std::vector<pid_t> dead;
  for (const pid_t pid : members(action)) {
    const auto stat = read_proc_stat(pid);
    if (stat && stat->zombie()) dead.push_back(pid);
    if (stat && !stat->zombie()) seen.push_back({pid, stat->start_ticks});
  }
  // As of a leader: who is in there still was looked at. Where all have gone, others may have come.
  std::vector<pid_t> there = members(action);
  std::erase_if(seen, [&](const ProcessIdentity& one) { return !std::ranges::binary_search(there, one.pid); });
  std::erase_if(there, [&](pid_t pid) { return std::ranges::find(dead, pid) != dead.end(); });
  if (seen.empty() && !there.empty()) return std::nullopt;
  return seen;
}

ProcessIdentity ControlGroups::leader(engine::ActionId action) const {
  const std::vector<ProcStat> all = eldest_first(action);
  return all.empty() ? ProcessIdentity{} : ProcessIdentity{all.front().pid, all.front().start_ticks};
}

std::vector<ProcStat> ControlGroups::eldest_first(engine::ActionId action) const {
  std::vector<pid_t> there = members(action);
  for (int attempt = 0; !there.empty() && attempt < kAttempts; ++attempt) {
    std::vector<ProcStat> seen;
    for (const pid_t pid : there) {
      if (auto stat = read_proc_stat(pid); stat && !stat->zombie()) seen.push_back(std::move(*stat));
    }
    // Who is in there still was looked at, not a stranger that got its number meanwhile. Where all have gone, others
    // may have come.
    there = members(action);
    const auto is_there = [&](pid_t pid) { return std::ranges::binary_search(there, pid); };
    std::erase_if(seen, [&](const ProcStat& stat) { return !is_there(stat.pid); });
    if (seen.empty()) continue;
    // Within one clock tick it is the parent that counts.
    const auto rank = [&](const ProcStat& stat) {
      return std::tuple(stat.start_ticks, is_there(stat.parent), stat.pid);
    };
    std::ranges::sort(seen, {}, rank);
    return seen;
  }
  return {};
}

void ControlGroups::remove_empty(const std::unordered_set<std::uint64_t>& keep, engine::ActionId newest) const {
  for (const std::string& place : places_) {
    for (const std::string& group : groups_in(place)) {
      const auto action = action_of(group, prefix());
      if (action && *action <= newest && keep.count(action->number()) == 0) remove_group(place + '/' + group, 0);
    }
  }
}

}  // namespace healer::runtime
