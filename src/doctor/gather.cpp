// SPDX-License-Identifier: MIT
#include "doctor/gather.hpp"

#include <fcntl.h>
#include <grp.h>
#include <netdb.h>
#include <poll.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <future>
#include <map>
#include <regex>
#include <set>
#include <thread>
#include <utility>
#include <variant>

#include <spdlog/fmt/fmt.h>

#include "config/load.hpp"
#include "control/client.hpp"
#include "control/wire.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "runtime/clock.hpp"
#include "runtime/descriptor.hpp"
#include "runtime/home.hpp"
#include "runtime/host.hpp"
#include "runtime/inspection/proc_table.hpp"
#include "runtime/process/own_programs.hpp"
#include "store/sqlite_store.hpp"
#include "util/left_threads.hpp"
#include "util/text.hpp"

namespace healer::doctor {
namespace {

constexpr Duration kPatience = seconds{5};  // with whatever may not answer
constexpr long kCgroup2Magic = 0x63677270;

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string user_name() {
  const passwd* user = getpwuid(geteuid());
  return user != nullptr ? user->pw_name : std::to_string(geteuid());
}

void inspect_group(Facts& facts) {
  const group* entry = getgrnam(std::string(control::kControlGroup).c_str());
  facts.group_exists = entry != nullptr;
  if (entry == nullptr) return;
  const gid_t wanted = entry->gr_gid;
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(getgroups(0, nullptr), 0)));
  const int count = getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(static_cast<std::size_t>(std::max(count, 0)));
  facts.in_group = getegid() == wanted || std::ranges::find(groups, wanted) != groups.end();
}

std::optional<Unit> ask_systemd() {
  // timeout(1): process 1 may be the one that hangs.
  FILE* pipe = popen(
      "timeout 5 systemctl show healer.service "
      "-p LoadState,ActiveState,UnitFileState,NRestarts,MainPID,Delegate 2>/dev/null",
      "re");
  if (pipe == nullptr) return std::nullopt;
  std::map<std::string, std::string, std::less<>> values;
  std::array<char, 512> line{};
  while (fgets(line.data(), line.size(), pipe) != nullptr) {
    const std::string_view text = trim(line.data());
    if (const std::size_t at = text.find('='); at != std::string_view::npos)
      values[std::string(text.substr(0, at))] = text.substr(at + 1);
  }
  if (pclose(pipe) != 0 || values["LoadState"].empty()) return std::nullopt;
  return Unit{.loaded = values["LoadState"],
              .active = values["ActiveState"],
              .enabled = values["UnitFileState"],
              .restarts = number(values["NRestarts"]),
              .pid = number(values["MainPID"]),
              .delegates = values["Delegate"] == "yes"};
}

Daemon ask_daemon(const std::string& socket, Duration patience) {
  Daemon daemon;
  const auto failed = [&daemon](const control::Failure& failure) {
    daemon.answer = failure.code == "not-running"  ? Daemon::Answer::NotRunning
                    : failure.code == "permission" ? Daemon::Answer::Forbidden
                                                   : Daemon::Answer::Silent;
    daemon.error = failure.message;
    daemon.remedy = failure.remedy;
    return daemon;
  };
  auto connected = control::Client::connect(socket, patience);
  if (const auto* failure = std::get_if<control::Failure>(&connected)) return failed(*failure);
  auto& client = std::get<control::Client>(connected);
  client.set_limit(patience);
  const control::Reply reply = client.call({.verb = control::Verb::Report});
  if (!reply.ok()) return failed(*reply.failure);
  const auto view = reply.header.at("daemon").get<control::DaemonView>();
  daemon.answer = Daemon::Answer::Answers;
  daemon.version = view.version;
  daemon.pid = static_cast<std::uint64_t>(view.pid);
  daemon.troubles = view.troubles;
  daemon.refused_rows = view.refused_rows;
  daemon.services = reply.end.get<control::Totals>().services;
  if (view.stale) daemon.stale = view.stale->error;
  for (const control::ContactView& one : view.contacts) daemon.contacts.push_back({one.name, one.waiting, one.error});
  if (view.mail) {
    daemon.mail_error = view.mail->error;
    daemon.mails_waiting = view.mail->waiting;
  }
  return daemon;
}

/// The rules as this machine would judge them now; and what of them others need.
std::optional<engine::RuleSet> inspect_rules(Facts& facts, engine::Settings& named) {
  Rules& rules = facts.rules;
  if (access(rules.path.c_str(), R_OK) != 0 && errno == EACCES) {
    rules.unreadable = true;
    return std::nullopt;
  }
  config::LoadResult loaded = config::load(rules.path, {.secrets = true}, runtime::Host{});
  named = loaded.named;
  for (const config::Diagnostic& one : loaded.diagnostics) {
    if (one.on_request || one.severity == config::DiagnosticSeverity::Note) continue;
    const bool error = one.severity == config::DiagnosticSeverity::Error;
    // Files that only root may read are no errors of the rules.
    if (error && !facts.root && !one.range && one.message.find("Permission denied") != std::string::npos) {
      rules.unreadable = true;
      return std::nullopt;
    }
    std::string place = one.path;
    if (one.range) {
      const auto at = loaded.sources.position(one.range->file, one.range->begin);
      place = fmt::format("{}:{}:{}", loaded.sources.at(one.range->file).path, at.line, at.column);
    }
    rules.problems.push_back({.error = error, .place = std::move(place), .message = one.message, .remedy = one.remedy});
  }
  rules.broken = !loaded.rules;
  if (loaded.rules) rules.services = loaded.rules->services.size();
  return std::move(loaded.rules);
}

/// Why no connection is made; empty where one is.
std::string connection_error(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int code = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); code != 0)
    return gai_strerror(code);
  int last = ECONNREFUSED;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    const runtime::Descriptor socket(
        ::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, one->ai_protocol));
    if (!socket) continue;
    if (connect(socket.get(), one->ai_addr, one->ai_addrlen) != 0 && errno != EINPROGRESS) {
      last = errno;
      continue;
    }
    pollfd wanted{socket.get(), POLLOUT, 0};
    if (poll(&wanted, 1, static_cast<int>(kPatience.count())) <= 0) {
      last = ETIMEDOUT;
      continue;
    }
    socklen_t size = sizeof last;
    if (getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &last, &size) == 0 && last == 0) break;
  }
  freeaddrinfo(found);
  return last == 0 ? std::string() : std::strerror(last);
}

/// All servers side by side. A resolver that does not answer keeps its thread, which ends with the process.
void inspect_mail(Facts& facts, const engine::RuleSet& rules) {
  facts.alerts_mailed = std::ranges::any_of(rules.services, [](const auto& block) {
    return std::ranges::any_of(*block->recipients, [](const auto& one) { return !one.contact; });
  });
  facts.alerts_to_contacts = std::ranges::any_of(rules.services, [](const auto& block) {
    return std::ranges::any_of(*block->recipients, &engine::Recipient::contact);
  });
  for (Daemon::Contact& one : facts.daemon.contacts)
    one.is_gone =
        std::ranges::none_of(rules.settings.contacts, [&](const auto& other) { return iequals(other.name, one.name); });
  std::vector<std::future<std::string>> answers;
  std::vector<std::thread> asking;
  for (const engine::MailServer& server : rules.settings.mail.servers) {
    std::promise<std::string> promise;
    answers.push_back(promise.get_future());
    facts.mail_servers.push_back({fmt::format("{}:{}", server.host, server.port), {}});
    asking.emplace_back([promise = std::move(promise), host = server.host, port = server.port]() mutable {
      promise.set_value(connection_error(host, port));
    });
  }
  const auto until = std::chrono::steady_clock::now() + 2 * kPatience;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const bool answered = answers[i].wait_until(until) == std::future_status::ready;
    end_thread(asking[i], answered);
    facts.mail_servers[i].error = answered ? answers[i].get() : "its name could not be resolved";
  }
}

void inspect_process(Facts& facts) {
  std::uint64_t pid = facts.daemon.pid;
  if (pid == 0 && facts.unit) pid = facts.unit->pid;
  if (pid == 0) return;
  const auto text = runtime::read_head(AT_FDCWD, fmt::format("/proc/{}/limits", pid).c_str(), 16'384);
  if (!text) return;
  std::smatch match;
  const std::regex line("Max open files\\s+(\\d+)");
  if (!std::regex_search(*text, match, line)) return;
  std::error_code failed;
  Limits limits{.descriptors = number(match.str(1))};
  for (std::filesystem::directory_iterator one(fmt::format("/proc/{}/fd", pid), failed), end; !failed && one != end;
       one.increment(failed))
    ++limits.open;
  if (!failed) facts.limits = limits;
}

bool is_cgroup2(const char* path) {
  struct statfs info {};
  return statfs(path, &info) == 0 && static_cast<long>(info.f_type) == kCgroup2Magic;
}

std::optional<bool> clock_synchronised() {
  timex state{};
  const int code = adjtimex(&state);
  if (code < 0) return std::nullopt;
  return code != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
}

void inspect_state(Facts& facts, const engine::Settings& named) {
  StateFile& state = facts.state;
  // Whose the daemon is its socket says.
  const bool of_root = facts.root || facts.socket.starts_with("/run/healer/");
  state.path = !named.state_file.empty() ? named.state_file : usual_state(of_root);
  if (access(state.path.c_str(), R_OK) != 0 && errno == EACCES) state.unreadable = true;
  std::filesystem::path folder = std::filesystem::path(state.path).parent_path();
  std::error_code failed;
  while (!folder.empty() && folder != "/" && !std::filesystem::exists(folder, failed)) folder = folder.parent_path();
  struct statvfs room {};
  if (statvfs(folder.c_str(), &room) == 0) {
    state.free_bytes = static_cast<std::uint64_t>(room.f_bavail) * room.f_frsize;
    state.read_only = (room.f_flag & ST_RDONLY) != 0;
  }
  state.exists = std::filesystem::exists(state.path, failed);
  state.set_aside = store::damaged_files(state.path);
  if (state.unreadable || !state.exists) return;
  auto reader = store::open_read_only(state.path);
  if (!reader) {
    state.error = reader.error().what;
    return;
  }
  // All of it is read, but for the history, of which the newest page must do.
  if (const auto saved = (*reader)->load(); !saved) state.error = saved.error().what;
  const auto newest = (*reader)->history({.limit = 1});
  if (!newest)
    state.error = newest.error().what;
  else if (!newest->empty())
    state.newest = newest->back().when;
}

/// What a control file of Monit names: services, and the pid files of its processes. By its words alone: much of it
/// healer cannot read.
class MonitServices {
 public:
  /// Reads `path` and what it includes; false where it cannot be read.
  bool read(const std::string& path, int depth = 0) {
    const auto text = host_.read(path);
    if (!text || depth > 8 || !seen_.insert(path).second) return static_cast<bool>(text);
    static const std::regex check(R"re((?:^|\n)\s*check\s+\w+\s+("[^"\n]*"|[^\s"]+)([^\n]*))re", std::regex::icase);
    static const std::regex pid_file(R"re(\bpidfile\s+"?([^\s"]+))re", std::regex::icase);
    static const std::regex include(R"re((?:^|\n)\s*include\s+"?([^\s"]+))re", std::regex::icase);
    const std::sregex_iterator end;
    for (std::sregex_iterator one(text->begin(), text->end(), check); one != end; ++one) {
      std::string name = (*one)[1];
      std::erase(name, '"');
      names_.insert(to_lower(name));
      const std::string rest = (*one)[2];
      std::smatch file;
      if (std::regex_search(rest, file, pid_file)) pid_files_.insert(host_.canonical(file[1]));
    }
    for (std::sregex_iterator one(text->begin(), text->end(), include); one != end; ++one)
      if (const auto files = host_.glob((*one)[1]))
        for (const std::string& file : *files) read(file, depth + 1);
    return true;
  }

  [[nodiscard]] bool has(const engine::ServiceBlock& block) const {
    const bool same_file =
        !block.process->pid_file.empty() && pid_files_.contains(host_.canonical(block.process->pid_file));
    return same_file || names_.contains(to_lower(block.name));
  }

 private:
  runtime::Host host_;
  std::set<std::string> seen_;
  std::set<std::string, std::less<>> names_;  // lower case
  std::set<std::string> pid_files_;
};

/// The control file of a monit, by its command line.
std::string control_file(std::string_view command) {
  static const std::regex option(R"re(\s-c\s*(\S+))re");
  std::cmatch match;
  if (std::regex_search(command.data(), command.data() + command.size(), match, option)) return match[1];
  for (const char* usual : {"/etc/monit/monitrc", "/etc/monitrc"})
    if (access(usual, F_OK) == 0) return usual;
  return "/etc/monit/monitrc";
}

void find_monit(Facts& facts, const std::optional<engine::RuleSet>& rules) {
  const auto snapshot = runtime::ProcSnapshot::take();
  if (!snapshot) return;
  for (const runtime::ProcStat& process : (*snapshot)->processes()) {
    if (process.name != "monit" || process.zombie()) continue;
    Monit monit{.pid = static_cast<std::uint64_t>(process.pid),
                .file = control_file(runtime::command_line(process.pid))};
    MonitServices services;
    monit.read = services.read(monit.file);
    if (rules)
      for (const auto& block : rules->services)
        // The system has the host's name by default, in both.
        if (!block->kind->traits.is_machine && services.has(*block)) monit.shared.push_back(block->name);
    facts.monits.push_back(std::move(monit));
  }
}

/// Patterns that find what healer runs itself at this moment.
void inspect_patterns(Facts& facts, const engine::RuleSet& rules) {
  const auto by_pattern = [](const auto& block) { return block->has_process() && !block->process->pattern.empty(); };
  if (std::ranges::none_of(rules.services, by_pattern)) return;
  const auto snapshot = runtime::ProcSnapshot::take();
  if (!snapshot) return;
  std::atomic<pid_t> at{0};
  const auto commands = runtime::read_commands(*snapshot, {getpid()}, at);
  if (!commands) return;
  for (const auto& block : rules.services) {
    if (!by_pattern(block)) continue;
    const auto match = runtime::find_match(**commands, block->process->pattern, [&](const runtime::ProcStat& process) {
      return runtime::is_run_by_healer(**snapshot, process);
    });
    if (match && match->passed_over != 0)
      facts.loose_patterns.push_back({.service = block->name,
                                      .pattern = block->process->pattern,
                                      .own = static_cast<std::uint64_t>(match->passed_over),
                                      .command = runtime::command_line(match->passed_over)});
  }
}

}  // namespace

Facts gather(const Places& places) {
  Facts facts;
  facts.root = geteuid() == 0;
  facts.user = user_name();
  facts.own_version = HEALER_VERSION;
  facts.socket = places.socket;
  facts.rules.path = places.rules;
  facts.systemd = access("/run/systemd/system", F_OK) == 0;
  if (facts.systemd) facts.unit = ask_systemd();
  inspect_group(facts);
  facts.daemon = ask_daemon(places.socket, places.patience);
  engine::Settings named;
  const std::optional<engine::RuleSet> rules = inspect_rules(facts, named);
  if (rules) inspect_mail(facts, *rules);
  inspect_state(facts, named);
  find_monit(facts, rules);
  if (rules) inspect_patterns(facts, *rules);
  inspect_process(facts);
  facts.cgroup2 = is_cgroup2("/sys/fs/cgroup") || is_cgroup2("/sys/fs/cgroup/unified");
  facts.now = runtime::now().wall;
  facts.clock_synchronised = clock_synchronised();
  return facts;
}

}  // namespace healer::doctor
