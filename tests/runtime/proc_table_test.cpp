// SPDX-License-Identifier: MIT
#include "runtime/inspection/proc_table.hpp"

#include <spdlog/fmt/fmt.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <sstream>
#include <thread>

#include "runtime/clock.hpp"
#include "runtime/inspection/system_table.hpp"
#include "support/processes.hpp"

namespace proc_table_test {

using namespace healer;
using namespace healer::engine;
using namespace healer::runtime;
using healer::test::Child;
using healer::test::eventually;

namespace {

std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = ::popen(command.c_str(), "r");
  char buffer[4096];
  while (const std::size_t size = std::fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, size);
  ::pclose(pipe);
  return text;
}

ProcStat process(pid_t pid, pid_t parent, std::uint64_t start = 1, char state = 'S') {
  ProcStat stat;
  stat.pid = pid;
  stat.parent = parent;
  stat.start_ticks = start;
  stat.state = state;
  stat.threads = 1;
  stat.name = "p" + std::to_string(pid);
  return stat;
}

std::shared_ptr<const ProcSnapshot> take() { return ProcSnapshot::take().value(); }

std::shared_ptr<const ProcSnapshot> snapshot(Duration taken, std::vector<ProcStat> processes) {
  return std::make_shared<ProcSnapshot>(taken, std::move(processes));
}

std::vector<pid_t> pids(const std::vector<const ProcStat*>& processes) {
  std::vector<pid_t> numbers;
  for (const ProcStat* one : processes) numbers.push_back(one->pid);
  std::ranges::sort(numbers);
  return numbers;
}

double cores_for(double threads) { return std::min(threads, static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN))); }

}  // namespace

TEST_CASE("a snapshot agrees with ps", "[proc-table]") {
  const Child tree({"/bin/sh", "-c", "sleep 600 & sh -c 'sleep 600 & wait' & wait"});
  REQUIRE(eventually([&] { return take()->descendants(tree.pid()).size() == 3; }));
  auto seen = take();
  std::string differences;
  const auto agrees = [&] {
    seen = take();
    std::istringstream lines(output_of("ps -eo pid=,ppid=,nlwp=,stat=,comm="));
    const auto later = take();
    differences.clear();
    std::size_t compared = 0;
    pid_t pid = 0;
    pid_t parent = 0;
    unsigned threads = 0;
    std::string state;
    std::string line;
    while (lines >> pid >> parent >> threads >> state && std::getline(lines >> std::ws, line)) {
      const ProcStat* one = seen->find(pid);
      const ProcStat* other = later->find(pid);
      if (one == nullptr || other == nullptr) continue;  // it came or went meanwhile
      if (one->parent != other->parent || one->threads != other->threads || one->name != other->name) continue;
      if (one->parent != parent || one->threads != threads || (!one->zombie() && one->name != line))
        differences += fmt::format("{}: {} {} {}\n", pid, one->parent, one->threads, one->name);
      ++compared;
    }
    return differences.empty() && compared >= 4;
  };
  // A stranger may have become another for a moment, just when ps looked.
  CHECK(eventually(agrees));
  CHECK(differences.empty());
  const ProcStat* own = seen->find(::getpid());
  REQUIRE(own != nullptr);
  const auto alone = read_proc_stat(::getpid());
  REQUIRE(alone);
  CHECK(own->start_ticks == alone->start_ticks);
  CHECK(seen->find(0) == nullptr);
}

TEST_CASE("descendants are the children of all generations", "[proc-table]") {
  const auto all = snapshot(Duration{0}, {process(9, 5), process(1, 0), process(5, 1), process(6, 1), process(7, 5),
                                          process(8, 7), process(4, 2), process(20, 30), process(30, 20)});
  CHECK(pids(all->descendants(5)) == std::vector<pid_t>{7, 8, 9});
  CHECK(pids(all->descendants(1)) == std::vector<pid_t>{5, 6, 7, 8, 9});
  CHECK(all->descendants(8).empty());
  CHECK(all->descendants(99).empty());
  // As a number that was used again in the middle of a walk may make it seem.
  CHECK(all->descendants(20).size() <= 10);
}

TEST_CASE("a mean is taken over half a second at least", "[proc-table]") {
  Means<ProcessSample> means;
  const auto former_of = [&](int at) {
    const auto& former = means.add({.taken = Duration{at}});
    return former ? static_cast<int>(former->taken.count()) : -1;
  };
  CHECK(former_of(0) == -1);
  CHECK(former_of(5) == -1);
  CHECK(former_of(499) == -1);
  CHECK(former_of(500) == 0);
  CHECK(former_of(505) == 0);
  CHECK(former_of(999) == 0);
  CHECK(former_of(1000) == 500);
  CHECK(former_of(31'000) == 1000);
}

TEST_CASE("one process is seen with all its figures", "[proc-table]") {
  const auto elapsed = [] { return std::stod(output_of("ps -o etimes= -p " + std::to_string(::getpid()))); };
  const double before = elapsed();
  const auto inspection = inspect_process(::getpid(), {});
  REQUIRE(inspection);
  CHECK(inspection->facts.pid == ::getpid());
  CHECK(inspection->facts.parent == ::getppid());
  CHECK(inspection->facts.uid == ::getuid());
  CHECK(inspection->facts.euid == ::geteuid());
  CHECK(inspection->facts.gid == ::getgid());
  CHECK_FALSE(inspection->facts.zombie);
  CHECK(inspection->facts.attribute.empty());  // not asked for
  const auto value = [&](Metric metric) { return inspection->metrics.get(metric).value_or(-1); };
  CHECK(value(Metric::FileDescriptors) == static_cast<double>(test::open_descriptors()) - 1);  // which had one itself
  const double limit = std::stod(output_of("ulimit -n"));
  CHECK(value(Metric::FileDescriptorsPercent) == Approx(100 * value(Metric::FileDescriptors) / limit));
  const double resident = 1024 * std::stod(output_of("ps -o rss= -p " + std::to_string(::getpid())));
  CHECK(value(Metric::MemoryBytes) == Approx(resident).margin(4e6));
  const double all = 1024 * std::stod(output_of("awk '/MemTotal/{print $2}' /proc/meminfo"));
  CHECK(value(Metric::MemoryPercent) == Approx(100 * value(Metric::MemoryBytes) / all).epsilon(0.001));
  CHECK(value(Metric::Threads) >= 1);
  CHECK(value(Metric::Uptime) >= 0);
  CHECK(value(Metric::Uptime) >= before - 1);
  CHECK(value(Metric::Uptime) <= elapsed() + 1);
  CHECK_FALSE(inspection->metrics.get(Metric::Cpu));
  CHECK_FALSE(inspection->metrics.get(Metric::ReadRate));
  CHECK_FALSE(inspection->metrics.get(Metric::Children));

  CHECK_FALSE(inspect_process(1 << 22, {}));
  pid_t thread_id = 0;
  bool done = false;
  std::atomic<bool> begun{false};
  std::thread thread([&] {
    thread_id = static_cast<pid_t>(::syscall(SYS_gettid));
    begun = true;
    while (begun) std::this_thread::sleep_for(std::chrono::milliseconds{1});
    done = true;
  });
  CHECK(eventually([&] { return begun.load(); }));
  CHECK_FALSE(inspect_process(thread_id, {}));
  // A sanitizer may have a thread of its own.
  const auto tasks = std::filesystem::directory_iterator("/proc/self/task");
  CHECK(inspect_process(::getpid(), {})->metrics.get(Metric::Threads) == std::distance(begin(tasks), end(tasks)));
  begun = false;
  thread.join();
  CHECK(done);
}

TEST_CASE("Of a known process only requested values are inspected, of a new one all", "[proc-table]") {
  const std::uint64_t began = read_proc_stat(::getpid())->start_ticks;
  const auto seen = [](const ProcessQuery& query) {
    const auto inspection = inspect_process(::getpid(), query);
    REQUIRE(inspection);
    CHECK(inspection->facts.pid == ::getpid());
    CHECK(inspection->metrics.get(Metric::MemoryBytes) > 0.0);
    CHECK(inspection->sample.io.has_value() == inspection->has_transfers);
    CHECK(inspection->metrics.get(Metric::FileDescriptors).has_value() == inspection->has_descriptors);
    CHECK((inspection->facts.gid == ::getgid()) == (inspection->has_owner || ::getgid() == 0));
    return std::array{inspection->has_owner, inspection->has_transfers, inspection->has_descriptors};
  };
  ProcessQuery query{.known = {::getpid(), began}, .owner = false, .transfers = false, .descriptors = false};
  CHECK(seen(query) == std::array{false, false, false});
  query.owner = true;
  CHECK(seen(query) == std::array{true, false, false});
  query = {.known = {::getpid(), began}, .owner = false, .transfers = true, .descriptors = false};
  CHECK(seen(query) == std::array{false, true, false});
  query = {.known = {::getpid(), began}, .owner = false, .transfers = false, .descriptors = true};
  CHECK(seen(query) == std::array{false, false, true});
  query = {.known = {::getpid(), began + 1}, .owner = false, .transfers = false, .descriptors = false};
  CHECK(seen(query) == std::array{true, true, true});
  query.known = {};
  CHECK(seen(query) == std::array{true, true, true});
}

TEST_CASE("a zombie is seen as one, without figures", "[proc-table]") {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(0);
  REQUIRE(eventually([&] { return read_proc_stat(pid)->zombie(); }));
  const auto inspection = inspect_process(pid, {true, true});
  REQUIRE(inspection);
  CHECK(inspection->facts.zombie);
  CHECK(inspection->facts.parent == ::getpid());
  CHECK(inspection->metrics == Metrics{});
  ::waitpid(pid, nullptr, 0);
  CHECK_FALSE(inspect_process(pid, {}));
}

TEST_CASE("cpu is a percentage of the cores that the threads of a process can use, as Monit's", "[proc-table]") {
  const auto percent = [](double threads, std::uint64_t ticks, Duration time) {
    Metrics metrics;
    metrics.set(Metric::Threads, threads);
    add_means(metrics, ProcessSample{Duration{1000}, 7, 1, 100, {}}, {Duration{1000} + time, 7, 1, 100 + ticks, {}});
    return metrics.get(Metric::Cpu).value_or(-1);
  };
  const std::uint64_t second = ticks_per_second();
  CHECK(percent(1, second / 2, Duration{1000}) == Approx(50));
  CHECK(percent(1, second / 2, Duration{10'000}) == Approx(5));
  CHECK(percent(2, second / 2, Duration{1000}) == Approx(50 / cores_for(2)));
  CHECK(percent(1000, second / 2, Duration{1000}) == Approx(50 / cores_for(1000)));
  CHECK(percent(1, 2 * second, Duration{1000}) == 100);
  CHECK(percent(1, 0, Duration{0}) == -1);

  // Another process of the same number, and one whose time seems to run backwards.
  Metrics metrics;
  add_means(metrics, ProcessSample{Duration{0}, 7, 1, 100, {}}, {Duration{1000}, 7, 2, 150, {}});
  CHECK_FALSE(metrics.get(Metric::Cpu));
  add_means(metrics, ProcessSample{Duration{0}, 7, 2, 200, {}}, {Duration{1000}, 7, 2, 150, {}});
  CHECK(metrics.get(Metric::Cpu) == 0.0);
}

TEST_CASE("reads and writes are told per second", "[proc-table]") {
  Metrics metrics;
  add_transfers(metrics, ProcessSample{Duration{0}, 7, 1, 0, ProcessSample::Io{100, 200, 300, 400, 500, 600}},
                {Duration{2000}, 7, 1, 0, ProcessSample::Io{110, 220, 330, 440, 550, 660}});
  CHECK(metrics.get(Metric::ReadRate) == 5.0);
  CHECK(metrics.get(Metric::WriteRate) == 10.0);
  CHECK(metrics.get(Metric::DiskReadRate) == 15.0);
  CHECK(metrics.get(Metric::DiskWriteRate) == 20.0);
  CHECK(metrics.get(Metric::ReadOperations) == 25.0);
  CHECK(metrics.get(Metric::WriteOperations) == 30.0);

  // The real ones: a child that writes 100 times 1000 bytes to what is no disk, and reads them.
  test::TemporaryDirectory directory;
  const std::string gate = (directory.path() / "gate").string();
  const Child child({"/usr/bin/python3", "-c",
                     "import os,sys\nopen('" + gate +
                         "','w').close()\n"
                         "while not os.path.exists('" +
                         gate +
                         "2'): pass\n"
                         "a,b=os.pipe()\n"
                         "for i in range(100): os.write(b,bytes(1000)); os.read(a,1000)\n"
                         "open('" +
                         gate + "3','w').close()\nsys.stdin.read()"});
  REQUIRE(eventually([&] { return std::filesystem::exists(gate); }));
  const auto before = inspect_process(child.pid(), {});
  test::write_file(gate + "2", "");
  REQUIRE(eventually([&] { return std::filesystem::exists(gate + "3"); }));
  const auto after = inspect_process(child.pid(), {});
  REQUIRE((before && before->sample.io && after && after->sample.io));
  CHECK(after->sample.io->read_bytes - before->sample.io->read_bytes >= 100'000);
  CHECK(after->sample.io->written_bytes - before->sample.io->written_bytes >= 100'000);
  CHECK(after->sample.io->written_bytes - before->sample.io->written_bytes < 110'000);
  CHECK(after->sample.io->reads - before->sample.io->reads >= 100);
  CHECK(after->sample.io->writes - before->sample.io->writes >= 100);
}

TEST_CASE("totals are of a process and all its descendants", "[proc-table]") {
  const std::uint64_t second = ticks_per_second();
  const auto with = [](ProcStat stat, std::uint64_t cpu, std::uint64_t pages) {
    stat.cpu_ticks = cpu;
    stat.resident_pages = pages;
    return stat;
  };
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  Metrics own;
  own.set(Metric::MemoryBytes, 10 * page);
  own.set(Metric::Cpu, 7);
  own.set(Metric::Threads, 1);
  const ProcessSample sample{Duration{2000}, 5, 1, 0, {}};

  ProcTable table;
  table.add(snapshot(Duration{1000}, {process(5, 1), with(process(6, 5), second, 3), process(9, 1)}));
  Metrics first = own;
  add_totals(first, table, sample, {});
  CHECK(first.get(Metric::Children) == 1.0);
  CHECK(first.get(Metric::TotalMemoryBytes) == 13 * page);
  CHECK_FALSE(first.get(Metric::TotalCpu));
  CHECK_FALSE(first.get(Metric::TotalFileDescriptors));

  // 6 has used half a second; 7 began meanwhile and has used a quarter; 9 is none of them.
  table.add(snapshot(Duration{2000}, {process(5, 1), with(process(6, 5), second + second / 2, 4),
                                      with(process(7, 6, 2), second / 4, 2), with(process(9, 1), 5 * second, 9)}));
  Metrics next = own;
  add_totals(next, table, sample, {});
  CHECK(next.get(Metric::Children) == 2.0);
  CHECK(next.get(Metric::TotalMemoryBytes) == 16 * page);
  CHECK(next.get(Metric::TotalMemory).value() > 0);
  CHECK(next.get(Metric::TotalCpu).value() == Approx(7 + 75 / cores_for(2)).epsilon(0.02));

  Metrics alone = own;
  add_totals(alone, table, {Duration{2000}, 9, 1, 0, {}}, {});
  CHECK(alone.get(Metric::Children) == 0.0);
  CHECK(alone.get(Metric::TotalCpu) == 7.0);
}

TEST_CASE("descriptors of descendants are counted where they are asked for", "[proc-table]") {
  const Child parent({"/usr/bin/python3", "-c",
                      "import os,sys\nfs=[open('/dev/null') for i in range(5)]\n"
                      "p=os.fork()\nif p==0: more=[open('/dev/null') for i in range(7)]\n"
                      "sys.stdin.read()"});
  const auto listed = [](pid_t pid) {
    const std::filesystem::directory_iterator all("/proc/" + std::to_string(pid) + "/fd");
    return static_cast<double>(std::distance(begin(all), end(all)));
  };
  pid_t child = 0;
  REQUIRE(eventually([&] {
    const auto all = take();
    const auto descendants = all->descendants(parent.pid());
    child = descendants.empty() ? 0 : descendants.front()->pid;
    return child != 0 && listed(child) == listed(parent.pid()) + 7;
  }));
  ProcTable table;
  table.add(take());
  auto inspection = inspect_process(parent.pid(), {});
  REQUIRE(inspection);
  add_totals(inspection->metrics, table, inspection->sample, {false, true});
  CHECK(inspection->metrics.get(Metric::FileDescriptors) == listed(parent.pid()));
  CHECK(inspection->metrics.get(Metric::TotalFileDescriptors) == 2 * listed(parent.pid()) + 7);
}

TEST_CASE("Shared memory is divided among the processes that share it", "[proc-table]") {
  const Child parent(
      {"/usr/bin/python3", "-c", "import os,sys\nroom=bytearray(os.urandom(1<<20)*32)\nos.fork()\nsys.stdin.read()"});
  constexpr double kRoom = 32.0 * (1 << 20);
  pid_t child = 0;
  std::shared_ptr<const ProcSnapshot> all;
  REQUIRE(eventually([&] {
    all = take();
    const auto descendants = all->descendants(parent.pid());
    child = descendants.empty() ? 0 : descendants.front()->pid;
    return child != 0;
  }));
  const auto memory = [&](const ProcessQuery& query) {
    const auto inspection = inspect_process(parent.pid(), query);
    REQUIRE(inspection);
    return inspection->metrics.get(Metric::MemoryBytes);
  };
  const double resident = memory({}).value();
  const double share = memory({.shares = true}).value();
  CHECK(resident > kRoom);
  CHECK(share < resident - kRoom / 4);
  const double of_child = shares_of_descendants(*all, parent.pid());
  CHECK(of_child > kRoom / 4);
  CHECK(of_child < kRoom);
  // Where it is not wanted it is not read, nor taken for something else.
  const std::uint64_t began = read_proc_stat(parent.pid())->start_ticks;
  ProcessQuery less{.known = {parent.pid(), began}, .owner = false, .transfers = false, .descriptors = false};
  less.shares = true;
  less.memory = false;
  CHECK_FALSE(memory(less));
  ProcTable table;
  table.add(all);
  auto inspection = inspect_process(parent.pid(), {.shares = true});
  REQUIRE(inspection);
  add_totals(inspection->metrics, table, inspection->sample, {.shares = true});
  CHECK_FALSE(inspection->metrics.get(Metric::TotalMemoryBytes));  // nobody has asked for the others
  add_totals(inspection->metrics, table, inspection->sample, {.shares = true}, of_child);
  CHECK(inspection->metrics.get(Metric::TotalMemoryBytes).value() ==
        Approx(inspection->metrics.get(Metric::MemoryBytes).value() + of_child));
}

TEST_CASE("command lines are the arguments joined by blanks, or the name, as Monit sees them", "[proc-table]") {
  const Child child({"/bin/sh", "-c", "read line; true", "", "a  b", "", ""});
  const pid_t zombie = ::fork();
  if (zombie == 0) ::_exit(0);
  std::atomic<pid_t> at{0};
  const auto line_of = [&](pid_t pid, const std::vector<pid_t>& skipped) -> std::string {
    const auto commands = read_commands(take(), skipped, at).value();
    const auto& processes = commands->snapshot->processes();
    for (std::size_t i = 0; i < processes.size(); ++i)
      if (processes[i].pid == pid) return commands->lines[i];
    return "";
  };
  CHECK(eventually([&] { return line_of(child.pid(), {}) == "/bin/sh -c read line; true  a  b"; }));
  CHECK(line_of(child.pid(), {child.pid()}) == read_proc_stat(child.pid())->name);
  CHECK(eventually([&] { return read_proc_stat(zombie)->zombie(); }));
  CHECK(line_of(zombie, {}) == read_proc_stat(::getpid())->name);
  if (const auto kernel = read_proc_stat(2); kernel && kernel->name == "kthreadd") CHECK(line_of(2, {}) == "kthreadd");
  CHECK(at == 0);
  ::waitpid(zombie, nullptr, 0);
}

TEST_CASE("The topmost parent with the longest uptime is chosen among several matches", "[proc-table]") {
  const auto best = [](std::vector<std::pair<ProcStat, std::string>> all, const std::string& pattern = "web") {
    ProcCommands commands;
    std::vector<ProcStat> processes;
    std::ranges::sort(all, {}, [](const auto& one) { return one.first.pid; });
    for (const auto& [stat, line] : all) {
      processes.push_back(stat);
      commands.lines.push_back(line);
    }
    commands.snapshot = snapshot(Duration{0}, std::move(processes));
    return find_match(commands, pattern).value().pid;
  };
  CHECK(best({{process(1, 0), "init"}, {process(5, 1, 9), "webd"}}) == 5);
  CHECK(best({{process(1, 0), "init"}}) == 0);
  CHECK(best({{process(5, 1, 9), "webd"}, {process(7, 1, 3), "webd"}}) == 7);       // the older
  CHECK(best({{process(5, 9, 3), "webd"}, {process(9, 1, 3), "webd -m"}}) == 9);    // of one tick: the parent
  CHECK(best({{process(5, 1, 3, 'Z'), "webd"}, {process(9, 1, 4), "webd"}}) == 9);  // the living
  CHECK(best({{process(5, 1, 3, 'Z'), "webd"}}) == 5);
  CHECK(best({{process(5, 1), "x webd 1"}, {process(6, 1), "webd 12"}}, "^webd [0-9]{2}$") == 6);
  // Who speaks of a service is not that service.
  const auto named = [](ProcStat stat, std::string name) {
    stat.name = std::move(name);
    return stat;
  };
  CHECK(best({{named(process(5, 1), "healerctl"), "healerctl restart webd"},
              {named(process(6, 1), "sudo"), "sudo /usr/bin/healerctl history webd -f"}}) == 0);
  CHECK(best({{named(process(5, 1), "webd"), "webd --hook /usr/bin/healerctl"}}) == 5);
  CHECK(best({{named(process(5, 1), "sudo"), "sudo webd"}}) == 5);
  const auto bad = find_match(ProcCommands{snapshot(Duration{0}, {}), {}}, "a(");
  REQUIRE_FALSE(bad);
  CHECK(bad.error().what == "the pattern \"a(\" is invalid");
}

TEST_CASE("the machine is seen with all its figures", "[system-table]") {
  SystemInspection inspection = inspect_system();
  const auto value = [&](Metric metric) { return inspection.metrics.get(metric).value_or(-1); };
  // The machine may do much between two looks at it.
  CHECK(eventually([&] {
    inspection = inspect_system();
    double load[3];
    REQUIRE(::getloadavg(load, 3) == 3);
    return value(Metric::Load1) == Approx(load[0]).margin(0.5) && value(Metric::Load15) == Approx(load[2]).margin(0.2);
  }));
  const auto cores = static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN));
  CHECK(value(Metric::Load5PerCore) == Approx(value(Metric::Load5) / cores));
  // As `free` has it: total without available.
  double total = 0;
  double available = 0;
  double swap = 0;
  double swapped = 0;
  CHECK(eventually([&] {
    inspection = inspect_system();
    std::istringstream memory(output_of("free -b | awk '/Mem:/{print $2, $7} /Swap:/{print $2, $3}'"));
    memory >> total >> available >> swap >> swapped;
    return value(Metric::SystemMemoryBytes) == Approx(total - available).margin(0.05 * total) &&
           value(Metric::SwapBytes) == Approx(swapped).margin(0.05 * swap);
  }));
  CHECK(value(Metric::SystemMemory) == Approx(100 * value(Metric::SystemMemoryBytes) / total));
  CHECK(value(Metric::Swap) == Approx(swap > 0 ? 100 * value(Metric::SwapBytes) / swap : 0));
  CHECK(value(Metric::Uptime) == Approx(std::stod(output_of("cat /proc/uptime"))).margin(2));
  CHECK(value(Metric::SystemFileDescriptors) > 10);
  CHECK(value(Metric::SystemFileDescriptorsPercent) >= 0);
  CHECK_FALSE(inspection.metrics.get(Metric::SystemCpu));
  const SystemInspection later = inspect_system();
  for (std::size_t i = 0; i < SystemSample::Guest; ++i) {
    if (i != SystemSample::Wait && i != SystemSample::Idle) CHECK(later.sample.ticks[i] >= inspection.sample.ticks[i]);
  }
  CHECK(inspection.sample.ticks[SystemSample::User] > 0);
}

TEST_CASE("what the cores did is told in percent of all their time", "[system-table]") {
  SystemSample before;
  before.ticks = {1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000};
  SystemSample after = before;
  const std::array<std::uint64_t, SystemSample::kFields> used{200, 50, 100, 400, 100, 25, 25, 100, 70, 30};
  for (std::size_t i = 0; i < used.size(); ++i) after.ticks[i] += used[i];
  Metrics metrics;
  add_means(metrics, before, after);
  CHECK(metrics.get(Metric::CpuUser) == 20.0);
  CHECK(metrics.get(Metric::CpuNice) == 5.0);
  CHECK(metrics.get(Metric::CpuSystem) == 10.0);
  CHECK(metrics.get(Metric::CpuWait) == 10.0);
  CHECK(metrics.get(Metric::CpuHardIrq) == 2.5);
  CHECK(metrics.get(Metric::CpuSoftIrq) == 2.5);
  CHECK(metrics.get(Metric::CpuSteal) == 10.0);
  CHECK(metrics.get(Metric::CpuGuest) == 7.0);
  CHECK(metrics.get(Metric::CpuGuestNice) == 3.0);
  CHECK(metrics.get(Metric::SystemCpu) == 50.0);

  after.ticks[SystemSample::Wait] = 900;  // the kernel counts it back now and then
  add_means(metrics, before, after);
  CHECK(metrics.get(Metric::CpuWait) == 0.0);
  Metrics none;
  add_means(none, before, before);
  CHECK(none == Metrics{});
}

TEST_CASE("pages that came from swap and went there are told per second", "[system-table]") {
  SystemSample before;
  before.taken = seconds{10};
  before.paged_in = 100;
  before.paged_out = 50;
  SystemSample after = before;
  after.taken = seconds{14};
  after.paged_in = 120;
  after.paged_out = 250;
  Metrics metrics;
  add_means(metrics, before, after);
  CHECK(metrics.get(Metric::PageIns) == 5.0);
  CHECK(metrics.get(Metric::PageOuts) == 50.0);
  after.paged_in.reset();  // a kernel without it
  Metrics fewer;
  add_means(fewer, before, after);
  CHECK_FALSE(fewer.get(Metric::PageIns));
  CHECK(fewer.get(Metric::PageOuts) == 50.0);
  CHECK(inspect_system().sample.paged_in);
}

}  // namespace proc_table_test
