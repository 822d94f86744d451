// SPDX-License-Identifier: MIT
#include "runtime/inspection/proc_table.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <tuple>

#include "runtime/clock.hpp"
#include "runtime/pattern.hpp"
#include "util/text.hpp"

namespace healer::runtime {
namespace {

using engine::Metric;
using engine::Metrics;

constexpr std::size_t kMostOfStatus = 16 * 1024;
constexpr std::size_t kMostOfAttribute = 4096;

std::optional<pid_t> as_pid(std::string_view name) {
  pid_t pid = 0;
  const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  if (error != std::errc{} || rest != name.data() + name.size() || pid <= 0) return std::nullopt;
  return pid;
}

/// The numbers of the line that begins with `head`.
std::vector<std::uint64_t> numbers_of(std::string_view text, std::string_view head) {
  std::vector<std::uint64_t> numbers;
  std::size_t begin = 0;
  while (begin < text.size() && !text.substr(begin).starts_with(head)) {
    begin = std::min(text.find('\n', begin), text.size() - 1) + 1;
  }
  std::string_view rest = text.substr(std::min(begin + head.size(), text.size()));
  rest = rest.substr(0, rest.find('\n'));
  while (true) {
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error != std::errc{}) return numbers;
    numbers.push_back(number);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  }
}

std::optional<std::uint64_t> number_of(std::string_view text, std::string_view head) {
  const auto numbers = numbers_of(text, head);
  return numbers.empty() ? std::nullopt : std::optional(numbers.front());
}

/// That of a process in /proc.
Descriptor open_folder(pid_t pid) {
  return Descriptor(::open(fmt::format("/proc/{}", pid).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

std::optional<std::uint64_t> count_descriptors(pid_t pid) {
  const std::string path = fmt::format("/proc/{}/fd", pid);
  // From Linux 6.2 on their number is the size of the directory.
  struct ::stat facts {};
  if (::stat(path.c_str(), &facts) == 0 && facts.st_size > 0) return static_cast<std::uint64_t>(facts.st_size);
  const Directory directory(::opendir(path.c_str()));
  if (!directory) return std::nullopt;
  std::uint64_t count = 0;
  while (const dirent* entry = ::readdir(directory.get())) count += entry->d_name[0] != '.' ? 1 : 0;
  return count;
}

double page_size() {
  static const auto kSize = static_cast<double>(::sysconf(_SC_PAGESIZE));
  return kSize;
}

double all_memory() {
  struct ::sysinfo info {};
  ::sysinfo(&info);
  return std::max(1.0, static_cast<double>(info.totalram) * info.mem_unit);
}

/// Time on one core as a percentage of the cores that so many threads can use, as Monit.
double cpu_percent(std::uint64_t ticks, Duration time, std::uint64_t threads) {
  static const auto kCores = static_cast<std::uint64_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  const double used = static_cast<double>(ticks) / static_cast<double>(ticks_per_second());
  const auto cores = static_cast<double>(std::clamp<std::uint64_t>(threads, 1, kCores));
  return std::min(100.0, 100 * used * 1000 / static_cast<double>(time.count()) / cores);
}

std::optional<ProcessSample::Io> io_of(const Result<std::string>& text) {
  if (!text) return std::nullopt;
  const auto number = [&](std::string_view head) { return number_of(*text, head).value_or(0); };
  return ProcessSample::Io{number("rchar:"),       number("wchar:"), number("read_bytes:"),
                           number("write_bytes:"), number("syscr:"), number("syscw:")};
}

/// Bytes, by the text of smaps_rollup.
std::optional<double> share_in(const Result<std::string>& text) {
  const auto kilobytes = text ? number_of(*text, "Pss:") : std::nullopt;
  return kilobytes ? std::optional(1024 * static_cast<double>(*kilobytes)) : std::nullopt;
}

std::string attribute_of(const Result<std::string>& text) {
  return text ? std::string(trim(text->substr(0, text->find('\0')))) : std::string();
}

}  // namespace

// ---- all processes

Result<std::shared_ptr<const ProcSnapshot>> ProcSnapshot::take() {
  const Duration taken = mono_now();
  if (auto ours = proc_is_ours(); !ours) return ours.error();
  const Directory directory(::opendir("/proc"));
  if (!directory) return system_error(errno, "cannot read /proc");
  const int base = ::dirfd(directory.get());
  std::vector<ProcStat> processes;
  while (const dirent* entry = ::readdir(directory.get())) {
    if (!as_pid(entry->d_name)) continue;
    const auto text = read_head(base, (std::string(entry->d_name) + "/stat").c_str(), kMostOfStat);
    if (!text && lacks_resources(text.error())) return system_error(text.error().code, "cannot read /proc");
    if (auto stat = text ? parse_proc_stat(*text) : std::nullopt) processes.push_back(std::move(*stat));
  }
  // There is always a first process.
  const bool hides = std::ranges::find(processes, 1, &ProcStat::pid) == processes.end();
  return std::shared_ptr<const ProcSnapshot>(std::make_shared<ProcSnapshot>(taken, std::move(processes), hides));
}

ProcSnapshot::ProcSnapshot(Duration taken, std::vector<ProcStat> processes, bool hides)
    : taken_(taken), hides_(hides), processes_(std::move(processes)) {
  std::ranges::sort(processes_, {}, &ProcStat::pid);
  for (std::uint32_t i = 0; i < processes_.size(); ++i) by_parent_.emplace_back(processes_[i].parent, i);
  std::ranges::sort(by_parent_);
}

const ProcStat* ProcSnapshot::find(pid_t pid) const {
  const auto found = std::ranges::lower_bound(processes_, pid, {}, &ProcStat::pid);
  return found != processes_.end() && found->pid == pid ? &*found : nullptr;
}

std::vector<const ProcStat*> ProcSnapshot::descendants(pid_t pid) const {
  std::vector<const ProcStat*> found;
  const auto add_children = [&](pid_t parent) {
    const auto children =
        std::ranges::equal_range(by_parent_, parent, {}, [](const auto& entry) { return entry.first; });
    for (const auto& [ignored, index] : children) found.push_back(&processes_[index]);
  };
  add_children(pid);
  // A walk is not one moment: where numbers were used again meanwhile, parents may seem to go round in a circle.
  for (std::size_t i = 0; i < found.size() && found.size() <= processes_.size(); ++i) add_children(found[i]->pid);
  return found;
}

void ProcTable::add(std::shared_ptr<const ProcSnapshot> next) {
  const auto& before = means_.add({next->taken(), next});
  former = before ? before->snapshot : nullptr;
  taken = next->taken();
  snapshot = std::move(next);
}

// ---- by pattern

Result<std::shared_ptr<const ProcCommands>> read_commands(std::shared_ptr<const ProcSnapshot> snapshot,
                                                          const std::vector<pid_t>& skipped, std::atomic<pid_t>& at) {
  auto commands = std::make_shared<ProcCommands>();
  for (const ProcStat& process : snapshot->processes()) {
    std::string line;
    if (!process.zombie() && std::ranges::find(skipped, process.pid) == skipped.end()) {
      at = process.pid;
      auto text = read_head(AT_FDCWD, fmt::format("/proc/{}/cmdline", process.pid).c_str(), kMostOfCommand);
      if (!text && lacks_resources(text.error())) return system_error(text.error().code, "cannot read command lines");
      if (text) line = std::move(*text);
    }
    std::ranges::replace(line, '\0', ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    commands->lines.push_back(line.empty() ? process.name : std::move(line));
  }
  at = 0;
  commands->snapshot = std::move(snapshot);
  return std::shared_ptr<const ProcCommands>(std::move(commands));
}

namespace {

/// Whether a process is healerctl, or what a person has started it with: "sudo healerctl restart shopd".
bool is_healerctl(const ProcStat& process, std::string_view line) {
  constexpr std::string_view kName = "healerctl";
  constexpr std::array<std::string_view, 7> kStarters{"sudo", "doas", "su", "watch", "ssh", "timeout", "env"};
  if (process.name == kName) return true;
  if (std::ranges::find(kStarters, std::string_view(process.name)) == kStarters.end()) return false;
  for (std::size_t at = line.find(kName); at != std::string_view::npos; at = line.find(kName, at + 1)) {
    const std::size_t end = at + kName.size();
    if (at > 0 && (line[at - 1] == ' ' || line[at - 1] == '/') && (end == line.size() || line[end] == ' ')) return true;
  }
  return false;
}

}  // namespace

Result<PatternMatch> find_match(const ProcCommands& commands, const std::string& pattern,
                                const std::function<bool(const ProcStat&)>& is_not) {
  const Pattern compiled(pattern);
  if (compiled.error() != 0) return Error{EINVAL, fmt::format("the pattern \"{}\" is invalid", printable(pattern))};
  const auto& processes = commands.snapshot->processes();
  std::vector<const ProcStat*> matching;
  PatternMatch found;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    if (!compiled.matches(commands.lines[i])) continue;
    if (is_healerctl(processes[i], commands.lines[i])) continue;  // who speaks of a service is not that service
    if (is_not && is_not(processes[i]))
      found.passed_over = processes[i].pid;
    else
      matching.push_back(&processes[i]);
  }
  const auto matches = [&](pid_t pid) {
    return std::ranges::binary_search(matching, pid, {}, [](const ProcStat* other) { return other->pid; });
  };
  const ProcStat* best = nullptr;
  for (const ProcStat* process : matching) {
    // Its parent is older, except within one clock tick: then it is the parent that counts.
    const auto rank = [&](const ProcStat* one) {
      return std::tuple(one->zombie(), one->start_ticks, matches(one->parent), one->pid);
    };
    if (best == nullptr || rank(process) < rank(best)) best = process;
  }
  if (best != nullptr) found.pid = best->pid;
  return found;
}

std::string command_line(pid_t pid) {
  auto text = read_head(AT_FDCWD, fmt::format("/proc/{}/cmdline", pid).c_str(), kMostOfCommand);
  std::string line = text ? std::move(*text) : std::string();
  std::ranges::replace(line, '\0', ' ');
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::optional<std::vector<MarkedProcess>> marked_processes(const std::string& beginning,
                                                           const std::vector<uid_t>& owners,
                                                           std::atomic<std::uint64_t>* inspected) {
  const Directory directory(::opendir("/proc"));
  if (!directory) return std::nullopt;
  std::vector<MarkedProcess> found;
  bool lacking = false;  // descriptors: then nobody knows
  const std::string wanted = '\0' + beginning;
  // The real one, which a set-user-ID program does not change; the owner of its files in /proc may be another.
  const auto owner_of = [&](pid_t pid) -> std::optional<uid_t> {
    const auto status = read_head(::dirfd(directory.get()), fmt::format("{}/status", pid).c_str(), kMostOfStatus);
    const auto uid = status ? number_of(*status, "Uid:") : std::nullopt;
    if (!uid || std::ranges::find(owners, static_cast<uid_t>(*uid)) == owners.end()) return std::nullopt;
    return static_cast<uid_t>(*uid);
  };
  const auto value_of = [&](pid_t pid) -> std::optional<std::string> {
    const auto text = read_head(::dirfd(directory.get()), fmt::format("{}/environ", pid).c_str(), kMostOfEnvironment);
    if (!text) {
      lacking = lacking || text.error().code == EMFILE || text.error().code == ENFILE || text.error().code == ENOMEM;
      return std::nullopt;
    }
    const std::string environment = '\0' + *text + '\0';
    const std::size_t at = environment.find(wanted);
    if (at == std::string::npos) return std::nullopt;
    return std::string(environment.c_str() + at + wanted.size());
  };
  while (const dirent* entry = ::readdir(directory.get())) {
    if (inspected != nullptr) ++*inspected;
    const auto pid = as_pid(entry->d_name);
    if (!pid || *pid == ::getpid() || !owner_of(*pid) || !value_of(*pid)) continue;
    // Its number proves nothing; what it is between two looks that find the same process does.
    const auto before = read_proc_stat(*pid);
    const auto owner = owner_of(*pid);
    auto value = value_of(*pid);
    const auto after = read_proc_stat(*pid);
    if (!before || !owner || !value || !after || before->start_ticks != after->start_ticks || after->zombie()) continue;
    found.push_back({*pid, after->start_ticks, *owner, std::move(*value)});
  }
  if (lacking) return std::nullopt;
  return found;
}

// ---- one process

Result<ProcessInspection> inspect_process(pid_t pid, const ProcessQuery& query) {
  const auto gone = [pid] { return Error{ESRCH, fmt::format("there is no process {}", pid)}; };
  const bool only_stat = query.known.pid == pid && !query.attribute && !query.owner && !query.transfers &&
                         !query.descriptors && !(query.shares && query.memory);
  Descriptor folder = only_stat ? Descriptor() : open_folder(pid);
  const auto read = [&](const char* name, std::size_t most) {
    if (folder) return read_head(folder.get(), name, most);
    return read_head(AT_FDCWD, fmt::format("/proc/{}/{}", pid, name).c_str(), most);
  };
  auto line = read("stat", kMostOfStat);
  if (!line && has_number(pid)) {  // it may have begun just now
    folder = {};
    line = read("stat", kMostOfStat);
  }
  const auto failed = [&](const Error& error) {
    const bool hidden = error.code == EACCES || error.code == EPERM || (is_gone(error) && has_number(pid));
    if (hidden) return Error{EACCES, fmt::format("process {} cannot be seen: /proc hides it (hidepid)", pid)};
    return is_gone(error) ? gone() : error;
  };
  if (!line) return failed(line.error());
  const auto stat = parse_proc_stat(*line);
  if (!stat) return gone();
  const bool known = query.known == ProcessIdentity{pid, stat->start_ticks};
  if (!known && !folder) folder = open_folder(pid);
  ProcessInspection inspection;
  inspection.facts.pid = pid;
  inspection.facts.parent = stat->parent;
  inspection.facts.start_ticks = stat->start_ticks;
  inspection.facts.zombie = stat->zombie();
  inspection.has_owner = query.owner || !known;
  inspection.has_transfers = query.transfers || !known;
  inspection.has_descriptors = query.descriptors || !known;
  inspection.has_memory = !query.shares || query.memory || !known;
  if (inspection.has_owner) {
    const auto status = read("status", kMostOfStatus);
    if (!status) return is_gone(status.error()) ? gone() : failed(status.error());
    if (number_of(*status, "Tgid:") != static_cast<std::uint64_t>(pid)) return gone();
    if (const auto uids = numbers_of(*status, "Uid:"); uids.size() >= 2) {
      inspection.facts.uid = static_cast<std::uint32_t>(uids[0]);
      inspection.facts.euid = static_cast<std::uint32_t>(uids[1]);
    }
    inspection.facts.gid = static_cast<std::uint32_t>(number_of(*status, "Gid:").value_or(0));
  }
  inspection.sample = {mono_now(), pid, stat->start_ticks, stat->cpu_ticks, std::nullopt};
  if (stat->zombie()) return inspection;

  if (query.attribute) inspection.facts.attribute = attribute_of(read("attr/current", kMostOfAttribute));
  if (inspection.has_transfers) inspection.sample.io = io_of(read("io", kMostOfStatus));
  const double resident = static_cast<double>(stat->resident_pages) * page_size();
  if (inspection.has_memory) {
    const double bytes = query.shares ? share_in(read("smaps_rollup", kMostOfStatus)).value_or(resident) : resident;
    inspection.metrics.set(Metric::MemoryBytes, bytes);
    inspection.metrics.set(Metric::MemoryPercent, 100 * bytes / all_memory());
  }
  inspection.metrics.set(Metric::Threads, stat->threads);
  const Duration uptime = inspection.sample.taken - start_time(stat->start_ticks);
  inspection.metrics.set(Metric::Uptime, static_cast<double>(std::max<std::int64_t>(0, uptime.count() / 1000)));
  if (!inspection.has_descriptors) return inspection;
  const auto limits = read("limits", kMostOfStatus);
  folder = {};  // it is no descriptor of healer's, where that is looked at
  if (const auto count = count_descriptors(pid)) {
    inspection.metrics.set(Metric::FileDescriptors, static_cast<double>(*count));
    const auto limit = limits ? number_of(*limits, "Max open files") : std::nullopt;
    if (limit && *limit > 0) {
      const double percent = 100 * static_cast<double>(*count) / static_cast<double>(*limit);
      inspection.metrics.set(Metric::FileDescriptorsPercent, percent);
    }
  }
  return inspection;
}

void add_means(Metrics& metrics, const ProcessSample& former, const ProcessSample& present) {
  const Duration time = present.taken - former.taken;
  if (former.pid != present.pid || former.start_ticks != present.start_ticks || time <= Duration{0}) return;
  const std::uint64_t ticks = present.cpu_ticks - std::min(former.cpu_ticks, present.cpu_ticks);
  metrics.set(Metric::Cpu,
              cpu_percent(ticks, time, static_cast<std::uint64_t>(metrics.get(Metric::Threads).value_or(1))));
}

void add_transfers(Metrics& metrics, const ProcessSample& former, const ProcessSample& present) {
  const Duration time = present.taken - former.taken;
  if (former.pid != present.pid || former.start_ticks != present.start_ticks || time <= Duration{0}) return;
  if (!former.io || !present.io) return;
  const auto set_rate = [&](Metric metric, std::uint64_t ProcessSample::Io::*count) {
    const std::uint64_t more = (*present.io).*count - std::min((*former.io).*count, (*present.io).*count);
    metrics.set(metric, static_cast<double>(more) * 1000 / static_cast<double>(time.count()));
  };
  set_rate(Metric::ReadRate, &ProcessSample::Io::read_bytes);
  set_rate(Metric::WriteRate, &ProcessSample::Io::written_bytes);
  set_rate(Metric::DiskReadRate, &ProcessSample::Io::disk_read_bytes);
  set_rate(Metric::DiskWriteRate, &ProcessSample::Io::disk_written_bytes);
  set_rate(Metric::ReadOperations, &ProcessSample::Io::reads);
  set_rate(Metric::WriteOperations, &ProcessSample::Io::writes);
}

double shares_of_descendants(const ProcSnapshot& snapshot, pid_t pid) {
  double bytes = 0;
  for (const ProcStat* one : snapshot.descendants(pid)) {
    const double resident = static_cast<double>(one->resident_pages) * page_size();
    const auto text = read_head(AT_FDCWD, fmt::format("/proc/{}/smaps_rollup", one->pid).c_str(), kMostOfStatus);
    bytes += share_in(text).value_or(resident);
  }
  return bytes;
}

void add_totals(Metrics& metrics, const ProcTable& table, const ProcessSample& process, const ProcessQuery& query,
                std::optional<double> shares) {
  const auto descendants = table.snapshot->descendants(process.pid);
  double of_children = 0;
  std::uint64_t ticks = 0;
  std::uint64_t threads = 0;
  for (const ProcStat* one : descendants) {
    of_children += static_cast<double>(one->resident_pages) * page_size();
    threads += one->threads;
    if (table.former == nullptr) continue;
    // Who was not there before has used all of its time since then.
    const ProcStat* before = table.former->find(one->pid);
    const bool same = before != nullptr && before->start_ticks == one->start_ticks;
    ticks += one->cpu_ticks - (same ? std::min(before->cpu_ticks, one->cpu_ticks) : 0);
  }
  if (query.shares) of_children = shares.value_or(0);
  const double resident = metrics.get(Metric::MemoryBytes).value_or(0) + of_children;
  metrics.set(Metric::Children, static_cast<double>(descendants.size()));
  if (!query.shares || shares) {
    metrics.set(Metric::TotalMemoryBytes, resident);
    metrics.set(Metric::TotalMemory, 100 * resident / all_memory());
    if (query.of_children) {
      metrics.set(Metric::ChildrenMemoryBytes, of_children);
      metrics.set(Metric::ChildrenMemory, 100 * of_children / all_memory());
    }
  }
  if (table.former != nullptr) {
    const Duration time = table.taken - table.former->taken();
    const double cpu = descendants.empty() ? 0 : cpu_percent(ticks, time, threads);
    if (const auto own = metrics.get(Metric::Cpu)) metrics.set(Metric::TotalCpu, *own + cpu);
    if (query.of_children) metrics.set(Metric::ChildrenCpu, cpu);
  }
  if (const auto own = metrics.get(Metric::FileDescriptors); own && query.total_descriptors) {
    double descriptors = *own;
    for (const ProcStat* one : descendants) {
      descriptors += static_cast<double>(count_descriptors(one->pid).value_or(0));
    }
    metrics.set(Metric::TotalFileDescriptors, descriptors);
  }
}

}  // namespace healer::runtime
