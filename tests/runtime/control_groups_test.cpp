// SPDX-License-Identifier: MIT
#include "runtime/process/control_groups.hpp"
#include "actions/environment.hpp"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/action_bench.hpp"
#include "runtime/inspector_bench.hpp"
#include "runtime/process/clone_into.hpp"
#include "runtime/process/launch.hpp"
#include "support/processes.hpp"

namespace control_groups_test {

using namespace healer;
using namespace healer::runtime;
using engine::ActionId;

namespace {

const ActionId kNewest(std::numeric_limits<std::uint64_t>::max());

/// A part of the machine's tree of control groups, which goes with its owner and with all that runs in there.
class Groups {
 public:
  Groups() {
    const auto tree = group_tree(test::read_file("/proc/self/cgroup"), test::read_file("/proc/self/mountinfo"));
    static int number = 0;
    home_ = tree.own;
    top_ = home_ + "/test-of-healer-" + std::to_string(::getpid()) + "-" + std::to_string(++number);
    works_ = !home_.empty() && ::mkdir(top_.c_str(), 0755) == 0;
    if (!works_) WARN("SKIPPED: no control groups can be made here");
  }
  ~Groups() {
    if (!works_) return;
    const bool gone = test::eventually([&] {
      for (const std::string& group : all()) {
        for (const pid_t pid : in(group)) ::kill(pid, SIGKILL);
        ::rmdir(group.c_str());
      }
      while (::waitpid(-1, nullptr, WNOHANG) > 0) {
      }
      return ::rmdir(top_.c_str()) == 0;
    });
    CHECK(gone);
  }
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;

  [[nodiscard]] bool works() const { return works_; }
  /// The group of this process.
  [[nodiscard]] const std::string& home() const { return home_; }
  /// A place for a daemon.
  [[nodiscard]] std::string place(const std::string& name) const {
    std::string path = top_ + '/' + name;
    ::mkdir(path.c_str(), 0755);
    return path;
  }
  /// Those of a daemon at that place.
  [[nodiscard]] ControlGroups of(const std::string& state, const std::string& name) const {
    return {state, GroupTree{top_, place(name)}};
  }
  [[nodiscard]] std::shared_ptr<const ControlGroups> shared(const std::string& state) const {
    return std::make_shared<const ControlGroups>(of(state, "daemon"));
  }
  /// The names below a place, in order.
  [[nodiscard]] std::vector<std::string> names(const std::string& place) const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(top_ + '/' + place)) {
      if (entry.is_directory()) found.push_back(entry.path().filename());
    }
    std::ranges::sort(found);
    return found;
  }
  [[nodiscard]] static std::vector<pid_t> in(const std::string& group) {
    std::ifstream file(group + "/cgroup.procs");
    return {std::istream_iterator<pid_t>(file), {}};
  }
  static void move(pid_t pid, const std::string& group) { std::ofstream(group + "/cgroup.procs") << pid << std::flush; }

 private:
  /// The deepest first.
  [[nodiscard]] std::vector<std::string> all() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(top_)) {
      if (entry.is_directory()) found.push_back(entry.path());
    }
    std::ranges::reverse(found);
    return found;
  }

  std::string home_;
  std::string top_;
  bool works_ = false;
};

Launch program(std::vector<std::string> arguments, Descriptor group = {}) {
  Launch launch;
  launch.arguments = std::move(arguments);
  launch.environment = {"PATH=/usr/bin:/bin"};
  launch.output = Descriptor(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  launch.group = std::move(group);
  return launch;
}

Result<Started> start(Launch launch) {
  Launcher launcher(LaunchDefaults::capture());
  LaunchProgress progress;
  return launcher.start(std::move(launch), progress);
}

/// Whether it is in the group of that name, which is a directory below any other.
bool is_in(pid_t pid, const std::string& name) {
  return test::read_file("/proc/" + std::to_string(pid) + "/cgroup").find('/' + name + '\n') != std::string::npos;
}

/// How many live in the group of an action; -1: that is not known.
int number_of(const ControlGroups& groups, std::uint64_t action) {
  const auto living = groups.living(ActionId(action));
  return living ? static_cast<int>(living->size()) : -1;
}

int status_of(pid_t pid) {
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status;
}

/// What a program writes that is started with the group.
std::string output_of(Launch launch) {
  test::TemporaryDirectory directory;
  const std::string file = directory.path() / "output";
  launch.output = Descriptor(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  ::fchmod(launch.output.get(), 0666);
  auto started = start(std::move(launch));
  REQUIRE(started);
  CHECK(status_of(started->pid) == 0);
  return test::read_file(file);
}

/// From now on this thread, and what it starts, is on a kernel without clone3. False where that cannot be had.
bool forget_clone3() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{sizeof code / sizeof code[0], code};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0;
}

}  // namespace

TEST_CASE("the control groups of this machine are found by its mounts", "[groups]") {
  const std::string other = "25 30 0:23 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n";
  const std::string debian = other + "35 25 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
  const std::string service = "0::/system.slice/healer.service\n";
  const auto found = [](const std::string& top, const std::string& own) { return GroupTree{top, own}; };
  CHECK(group_tree(service, debian) == found("/sys/fs/cgroup", "/sys/fs/cgroup/system.slice/healer.service"));
  CHECK(group_tree("0::/\n", debian) == found("/sys/fs/cgroup", "/sys/fs/cgroup"));
  // Beside version 1.
  const std::string both = "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n" + other +
                           "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
  CHECK(group_tree("9:name=systemd:/user.slice\n1:cpu:/x\n" + service, both) ==
        found("/sys/fs/cgroup/unified", "/sys/fs/cgroup/unified/system.slice/healer.service"));
  // A part of the tree, at a place with a blank in its name, after a part that does not hold the group.
  const std::string parts = "41 31 0:38 /system /mnt/other rw - cgroup2 none rw\n" +
                            std::string("42 31 0:38 /system.slice /mnt/a\\040b rw - cgroup2 none rw\n");
  CHECK(group_tree(service, parts) == found("/mnt/a b", "/mnt/a b/healer.service"));
  CHECK(group_tree("0::/system.slice\n", parts) == found("/mnt/a b", "/mnt/a b"));
  CHECK(group_tree("0::/user.slice\n", parts) == found("/mnt/other", ""));
  // Outside of the name space; only version 1; nothing at all.
  CHECK(group_tree("0::/../healer.service\n", debian) == found("/sys/fs/cgroup", ""));
  CHECK(group_tree("1:cpu:/x\n", debian) == found("/sys/fs/cgroup", ""));
  CHECK(group_tree(service, other) == GroupTree{});
  CHECK(group_tree("", "") == GroupTree{});
}

TEST_CASE("without control groups none are made, and nobody is found", "[groups]") {
  test::TemporaryDirectory directory;
  const std::string nowhere = directory.path() / "none";
  for (const ControlGroups& groups :
       {ControlGroups(), ControlGroups("a", {}), ControlGroups("a", {nowhere, nowhere})}) {
    CHECK_FALSE(groups.make(ActionId(1)));
    CHECK(groups.leader(ActionId(1)) == ProcessIdentity{});
    CHECK_FALSE(groups.has(ActionId(1)));
    groups.remove_empty({}, kNewest);
  }
}

TEST_CASE("a program is born in a group, and what it leaves is found there whatever it made of itself", "[groups]") {
  const Groups machine;
  if (!machine.works()) return;
  const ControlGroups groups = machine.of("state", "daemon");
  // A session of its own, nothing of its environment, an orphan.
  const auto started =
      start(program({"/bin/sh", "-c", "setsid env -i /bin/sleep 600 & exit 3"}, groups.make(ActionId(7))));
  REQUIRE(started);
  CHECK(WEXITSTATUS(status_of(started->pid)) == 3);
  const ProcessIdentity left = groups.leader(ActionId(7));
  REQUIRE(left.pid > 0);
  CHECK(left.pid != started->pid);
  CHECK(read_proc_stat(left.pid)->start_ticks == left.start_ticks);
  CHECK(is_in(left.pid, "healer-state-7"));
  CHECK(groups.leader(ActionId(8)) == ProcessIdentity{});
  CHECK(machine.of("other", "daemon").leader(ActionId(7)) == ProcessIdentity{});
  REQUIRE(signal_process(left.pid, left.start_ticks, SIGKILL));
  CHECK(test::eventually([&] { return groups.leader(ActionId(7)) == ProcessIdentity{}; }));
}

TEST_CASE("a program that is born in a group is started as any other", "[groups]") {
  const Groups machine;
  if (!machine.works()) return;
  const ControlGroups groups = machine.of("state", "daemon");
  const auto group = [&] { return groups.make(ActionId(1)); };
  CHECK(output_of(program({"/bin/sh", "-c", "ls /proc/self/fd | sort -n | tr '\\n' ' '"}, group())) == "0 1 2 3 ");
  const auto failed = start(program({"/no/such/program"}, group()));
  REQUIRE_FALSE(failed);
  CHECK(failed.error().what == "cannot execute /no/such/program: No such file or directory");
  CHECK_FALSE(test::has_children());

  auto started = start(program({"/bin/sleep", "600"}, group()));
  REQUIRE(started);
  REQUIRE(started->pidfd);
  CHECK(is_in(started->pid, "healer-state-1"));
  CHECK(::syscall(SYS_pidfd_send_signal, started->pidfd.get(), SIGKILL, nullptr, 0) == 0);
  CHECK(WTERMSIG(status_of(started->pid)) == SIGKILL);

  if (::geteuid() == 0) {
    Launch launch = program({"/bin/sh", "-c", "id -u; id -g; cat /proc/self/cgroup"}, group());
    launch.uid = 65534;
    launch.gid = 12345;
    const std::string printed = output_of(std::move(launch));
    CHECK(printed.starts_with("65534\n12345\n"));
    CHECK(printed.ends_with("/healer-state-1\n"));
  }
}

TEST_CASE("without a descriptor for its handle a program is born in its group all the same", "[groups]") {
  const Groups machine;
  if (!machine.works()) return;
  Launch launch = program({"/bin/sleep", "600"}, machine.of("state", "daemon").make(ActionId(1)));
  Launcher launcher(LaunchDefaults::capture());
  LaunchProgress progress;
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit small = before;
  small.rlim_cur = 3;
  ::setrlimit(RLIMIT_NOFILE, &small);
  const auto started = launcher.start(std::move(launch), progress);
  ::setrlimit(RLIMIT_NOFILE, &before);
  REQUIRE(started);
  CHECK_FALSE(started->pidfd);
  CHECK(is_in(started->pid, "healer-state-1"));
  ::kill(started->pid, SIGKILL);
  status_of(started->pid);
}

TEST_CASE("a program is started where its group is none, or is gone", "[groups]") {
  const Groups machine;
  if (!machine.works()) return;
  const ControlGroups groups = machine.of("state", "daemon");
  const auto starts = [](Descriptor group) {
    auto started = start(program({"/bin/sh", "-c", "exit 5"}, std::move(group)));
    return started && WEXITSTATUS(status_of(started->pid)) == 5;
  };
  CHECK(starts(Descriptor(::open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC))));
  CHECK(starts(Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC))));
  Descriptor gone = groups.make(ActionId(1));
  groups.remove_empty({}, kNewest);
  REQUIRE(machine.names("daemon").empty());
  CHECK(starts(std::move(gone)));
  // One that lets nobody in.
  Descriptor threaded = groups.make(ActionId(2));
  std::ofstream(machine.place("daemon") + "/healer-state-2/cgroup.type") << "threaded";
  CHECK(starts(std::move(threaded)));
}

TEST_CASE("where the kernel cannot let it be born in a group the program enters it by itself", "[groups]") {
  const Groups machine;
  if (!machine.works()) return;
  const ControlGroups groups = machine.of("state", "daemon");
  bool forgotten = false;
  int refused = 0;
  pid_t pid = -1;
  std::thread([&] {
    forgotten = forget_clone3();
    if (!forgotten) return;
    const Descriptor group = groups.make(ActionId(1));
    if (clone_into(group.get(), {}, nullptr) < 0) refused = errno;
    const auto started = start(program({"/bin/sleep", "600"}, groups.make(ActionId(1))));
    if (started) pid = started->pid;
  }).join();
  if (!forgotten) {
    WARN("SKIPPED: no filters of system calls here");
    return;
  }
  CHECK(refused == ENOSYS);
  REQUIRE(pid > 0);
  CHECK(is_in(pid, "healer-state-1"));
  CHECK(groups.leader(ActionId(1)).pid == pid);
}

TEST_CASE("who began first leads a group, however many there are and wherever below it, but never the seeker",
          "[groups]") {
  const Groups machine;
  if (!machine.works()) return;
  const ControlGroups groups = machine.of("state", "daemon");
  const test::Child oldest({"sleep", "600"});
  ::usleep(20'000);  // a tick
  // More than the kernel lists at once.
  const auto started =
      start(program({"/bin/sh", "-c", "for i in $(seq 1500); do sleep 600 & done; wait"}, groups.make(ActionId(1))));
  REQUIRE(started);
  const std::string group = machine.place("daemon") + "/healer-state-1";
  REQUIRE(test::eventually([&] { return Groups::in(group).size() == 1501; }));
  CHECK(groups.leader(ActionId(1)).pid == started->pid);
  ::mkdir((group + "/nested").c_str(), 0755);
  ::mkdir((group + "/nested/more").c_str(), 0755);
  Groups::move(oldest.pid(), group + "/nested/more");
  CHECK(groups.leader(ActionId(1)).pid == oldest.pid());
  Groups::move(oldest.pid(), group);  // the last of the list
  REQUIRE(Groups::in(group).back() == oldest.pid());
  CHECK(groups.leader(ActionId(1)).pid == oldest.pid());

  Groups::move(::getpid(), group);  // older than all of them
  const ProcessIdentity leader = groups.leader(ActionId(1));
  Groups::move(::getpid(), machine.home());
  CHECK(leader.pid == oldest.pid());
}

TEST_CASE("of those that began within one tick the parent leads", "[groups]") {
  const Groups machine;
  if (!machine.works()) return;
  const ControlGroups groups = machine.of("state", "daemon");
  int same = 0;
  for (std::uint64_t action = 1; same < 5 && action <= 200; ++action) {
    const auto started = start(program({"/bin/sh", "-c", "sleep 600 & wait"}, groups.make(ActionId(action))));
    REQUIRE(started);
    const std::string group = machine.place("daemon") + "/healer-state-" + std::to_string(action);
    REQUIRE(test::eventually([&] { return Groups::in(group).size() == 2; }));
    const std::vector<pid_t> both = Groups::in(group);
    same += read_proc_stat(both[0])->start_ticks == read_proc_stat(both[1])->start_ticks ? 1 : 0;
    CHECK(groups.leader(ActionId(action)).pid == started->pid);
  }
  CHECK(same == 5);
}

TEST_CASE("empty groups of a state are removed, others are left alone", "[groups]") {
  const Groups machine;
  if (!machine.works()) return;
  const ControlGroups groups = machine.of("state", "daemon");
  const ControlGroups other = machine.of("other", "daemon");
  std::vector<Descriptor> made;
  for (const std::uint64_t action : {1, 2, 3, 4, 5, 6}) made.push_back(groups.make(ActionId(action)));
  CHECK(std::ranges::all_of(made, [](const Descriptor& group) { return static_cast<bool>(group); }));
  CHECK(groups.make(ActionId(1)));  // once more
  CHECK(other.make(ActionId(1)));
  for (const std::string name : {"healer-state-", "healer-state-x", "healer-state-1-1", "healer-more-state-1"}) {
    std::filesystem::create_directory(machine.place("daemon") + '/' + name);
  }
  const auto started = start(program({"/bin/sleep", "600"}, groups.make(ActionId(2))));
  REQUIRE(started);
  std::filesystem::create_directories(machine.place("daemon") + "/healer-state-2/a/b");
  std::filesystem::create_directories(machine.place("daemon") + "/healer-state-3/a/b");
  std::filesystem::create_directories(machine.place("daemon") + "/healer-state-3/c");
  groups.remove_empty({4}, ActionId(5));
  const auto left = [&](std::vector<std::string> names) {
    names.insert(names.end(),
                 {"healer-more-state-1", "healer-other-1", "healer-state-", "healer-state-1-1", "healer-state-x"});
    std::ranges::sort(names);
    return names;
  };
  CHECK(machine.names("daemon") == left({"healer-state-2", "healer-state-4", "healer-state-6"}));
  ::kill(started->pid, SIGKILL);
  status_of(started->pid);
  REQUIRE(test::eventually([&] {
    groups.remove_empty({}, kNewest);
    return machine.names("daemon") == left({});
  }));
}

TEST_CASE("the next daemon finds what is in groups elsewhere, and makes its own where it lives", "[groups]") {
  const Groups machine;
  if (!machine.works()) return;
  std::filesystem::create_directories(machine.place("users") + "/somebody/session");
  const ControlGroups former = machine.of("state", "users/somebody/session");
  const auto started = start(program({"/bin/sleep", "600"}, former.make(ActionId(1))));
  REQUIRE(started);
  REQUIRE(former.make(ActionId(2)));
  const ControlGroups next = machine.of("state", "system");
  CHECK(next.leader(ActionId(1)).pid == started->pid);
  CHECK(machine.of("other", "system").leader(ActionId(1)).pid == 0);
  REQUIRE(next.make(ActionId(3)));
  CHECK(machine.names("system") == std::vector<std::string>{"healer-state-3"});
  next.remove_empty({}, kNewest);
  CHECK(machine.names("system").empty());
  CHECK(machine.names("users/somebody/session") == std::vector<std::string>{"healer-state-1"});
}

TEST_CASE("a group of another user, or one that others can enter, is not healer's whatever it is called", "[groups]") {
  const Groups machine;
  if (!machine.works() || ::geteuid() != 0) return;
  const std::string group = machine.place("user") + "/healer-state-1";
  REQUIRE(::mkdir(group.c_str(), 0755) == 0);
  const auto started = start(program({"/bin/sleep", "600"}, Descriptor(::open(group.c_str(), O_PATH | O_CLOEXEC))));
  REQUIRE(started);
  const auto found = [&] {
    const ControlGroups groups = machine.of("state", "daemon");
    CHECK(groups.has(ActionId(1)) == (groups.leader(ActionId(1)).pid != 0));
    CHECK(groups.living(ActionId(1))->size() == groups.eldest_first(ActionId(1)).size());
    return groups.leader(ActionId(1)).pid;
  };
  CHECK(found() == started->pid);
  REQUIRE(::chown(group.c_str(), 1000, 1000) == 0);
  CHECK(found() == 0);
  REQUIRE(::chown(group.c_str(), 0, 0) == 0);
  const std::string door = group + "/cgroup.procs";
  REQUIRE(::chown(door.c_str(), 1000, 1000) == 0);
  CHECK(found() == 0);
  REQUIRE(::chown(door.c_str(), 0, 0) == 0);
  REQUIRE(::chmod(door.c_str(), 0666) == 0);
  CHECK(found() == 0);
}

TEST_CASE("a program under a waiter is in its group, and the waiter is not", "[groups]") {
  const Groups machine;
  if (!machine.works()) return;
  test::ActionBench actions;
  actions.options.groups = machine.shared("state");
  actions.grouped = true;
  actions.waited = true;
  actions.start(5, {"/bin/sleep", "600"});
  REQUIRE(test::run_until(actions.loop, [&] { return actions.started.contains(5); }));
  const auto living = actions.options.groups->living(ActionId(5));
  REQUIRE(living);
  REQUIRE(living->size() == 1);
  CHECK(living->front().pid == actions.started[5]);
  actions.runner->end(ActionId(5));
  CHECK(actions.end(5).outcome == engine::Outcome::Signalled);
}

TEST_CASE("what a start program leaves is found although it has written over its environment", "[groups]") {
  const Groups machine;
  if (!machine.works()) return;
  test::ActionBench actions;
  // Another test that ends its action 5 looks for the mark on the whole machine.
  const std::string state = "state-" + std::to_string(::getpid());
  const std::string mark = actions::action_mark(state, ActionId(5));
  actions.options.groups = machine.shared(state);
  actions.grouped = true;
  actions.environment.push_back(mark);
  actions.start(5, {"/bin/sh", "-c", "setsid perl -e '$0 = \"x\" x 9000; sleep 600' & sleep 0.2; exit 0"});
  REQUIRE(actions.end(5).status == 0);
  const pid_t left = actions.options.groups->leader(ActionId(5)).pid;
  REQUIRE(left > 0);
  REQUIRE(test::eventually([&] { return test::processes_with(mark).empty(); }));

  Inspector::Options options;
  options.groups = actions.options.groups;
  test::InspectorBench bench(options);
  const auto missing = test::InspectorBench::by_file(bench.path("none"));
  bench.left_by = ActionId(5);
  const auto facts = bench.see(missing).facts;
  REQUIRE(facts->further->left.size() == 1);
  CHECK(facts->further->left_by == ActionId(5));
  CHECK(facts->further->left.front().pid == left);
  CHECK(facts->further->left.front().start_ticks == read_proc_stat(left)->start_ticks);
  CHECK(facts->further->left.front().command == std::string(80, 'x'));
  bench.left_by = ActionId(6);
  CHECK(bench.see(missing).facts->further->left.empty());
  // Of one whose process had come up, too, by its group alone.
  bench.came_by = ActionId(5);
  const auto over = bench.see(missing).facts;
  REQUIRE(over->further->left.size() == 1);
  CHECK(over->further->left_by == ActionId(5));
  CHECK(over->further->left.front().pid == left);

  // Its group goes when it has gone, once an action has ended, or with the end or the start of a daemon.
  CHECK(machine.names("daemon") == std::vector<std::string>{"healer-" + state + "-5"});
  actions.start(6, {"/bin/true"});
  actions.end(6);
  ::kill(left, SIGKILL);
  CHECK(test::run_until(actions.loop, [&] { return machine.names("daemon").empty(); }));
  REQUIRE(actions.options.groups->make(ActionId(7)));
  actions.new_daemon();
  CHECK(machine.names("daemon").empty());
}

TEST_CASE("what a foreground process leaves is ended by its group, whatever it made of itself", "[groups]") {
  const Groups machine;
  if (!machine.works()) return;
  test::ActionBench actions;
  actions.options.groups = machine.shared("state");
  actions.grouped = actions.foreground = true;
  const auto& groups = *actions.options.groups;
  // Born before the next: it stays.
  actions.shell(4, "sleep 600");
  REQUIRE(test::run_until(actions.loop, [&] { return actions.started.count(4) != 0; }));
  // A child is only beyond its session once it has made one of its own, which it says by a file.
  const std::string folder = actions.directory.path() / "children";
  REQUIRE(std::filesystem::create_directory(folder));
  std::filesystem::permissions(folder, std::filesystem::perms::all);
  const std::string leave_children =
      "cd " + folder + "; for i in 1 2 3; do setsid -f env -i /bin/sh -c ': > $0; exec /bin/sleep 600' $i; done; " +
      "until [ -e 1 -a -e 2 -a -e 3 ]; do sleep 0.02; done; : > all";
  const auto has_left_all = [&] { return std::filesystem::exists(folder + "/all"); };
  SECTION("at its death") { actions.shell(5, leave_children); }
  SECTION("at its stop") {
    actions.shell(5, leave_children + "; sleep 600");
    REQUIRE(test::run_until(actions.loop, has_left_all));
    actions.runner->end(ActionId(5), {{SIGTERM, Duration{5000}}});
  }
  SECTION("by the next daemon") {
    actions.shell(5, leave_children + "; sleep 600");
    REQUIRE(test::run_until(actions.loop, has_left_all));
    const auto pid = static_cast<pid_t>(actions.started.at(5));
    actions.new_daemon();
    ::kill(pid, SIGKILL);
    CHECK(status_of(pid) == SIGKILL);
    actions.runner->adopt(ActionId(4), true);
    actions.runner->adopt(ActionId(5), true);
  }
  CHECK(actions.end(5).left > 0);
  CHECK(number_of(groups, 5) == 0);
  CHECK(number_of(groups, 4) >= 1);
  actions.runner->end(ActionId(4), {{SIGTERM, Duration{5000}}});
  CHECK(actions.end(4).left == 0);
}

TEST_CASE("A process in a group of another action belongs to that one, and a daemon does not end its own group",
          "[groups]") {
  const Groups machine;
  if (!machine.works()) return;
  const ControlGroups groups = machine.of("state", "daemon");
  REQUIRE(groups.make(ActionId(5)));
  CHECK(groups.has(ActionId(5)));
  CHECK_FALSE(groups.has(ActionId(6)));
  const ControlGroups within = machine.of("state", "daemon/healer-state-5");
  const auto started = start(program({"/bin/sleep", "600"}, within.make(ActionId(6))));
  REQUIRE(started);
  CHECK(number_of(within, 6) == 1);
  CHECK(number_of(groups, 5) == 0);
  CHECK_FALSE(within.has(ActionId(5)));
  ::kill(started->pid, SIGKILL);
  CHECK(status_of(started->pid) == SIGKILL);
}

TEST_CASE("an action without a group of its own stays in the daemon's", "[groups]") {
  const Groups machine;
  if (!machine.works()) return;
  test::ActionBench actions;
  actions.options.groups = machine.shared("state");
  actions.start(1, {"/bin/cat", "/proc/self/cgroup"});
  CHECK(actions.end(1).output == test::read_file("/proc/self/cgroup"));
  actions.grouped = true;
  actions.start(2, {"/bin/cat", "/proc/self/cgroup"});
  CHECK(actions.end(2).output.ends_with("/healer-state-2\n"));
  actions.runner.reset();
  CHECK(machine.names("daemon").empty());
}

}  // namespace control_groups_test
