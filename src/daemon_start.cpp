// SPDX-License-Identifier: MIT
// How the daemon comes up.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "daemon_house.hpp"
#include "identity.hpp"
#include "runtime/action_files.hpp"
#include "runtime/host.hpp"
#include "runtime/orphans.hpp"

namespace healer {

using namespace engine;

namespace {

/// Makes the last folder of `path` where it is missing; whoever uses the file says what is wrong.
void make_folder(const std::string& path, mode_t mode) {
  const std::string folder = std::filesystem::path(path).parent_path();
  if (!folder.empty() && mkdir(folder.c_str(), mode) == 0) chmod(folder.c_str(), mode);
}

/// Room for the descriptors of many programs; they themselves get the limits that were.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 65'536);
  setrlimit(RLIMIT_NOFILE, &limit);
}

/// What programs and mails are told of the machine: the name of its service, of several that of the last, as in Monit.
std::string host_of(const Graph& graph) {
  std::string host = runtime::Host{}.host_name();
  for (const ServiceId id : graph.order)
    if (graph.at(id).kind == ServiceKind::System) host = graph.at(id).name;
  return host;
}

/// Foreground processes that run still, and that the store does not name since it could not be written when they were
/// started, become acts of the daemon before all the same; and no number is issued again of which there are files.
void add_orphans(SavedState& saved, const runtime::ActionFiles& files) {
  runtime::Orphans orphans = runtime::find_orphans(files, runtime::now());
  saved.last_id = std::max(saved.last_id, orphans.newest.number());
  for (runtime::Orphan& orphan : orphans.processes) {
    const auto named = [&](const PendingExec& pending) { return pending.exec.action == orphan.action; };
    if (std::ranges::any_of(saved.execs, named)) continue;
    effect::Exec exec{
        .action = orphan.action,
        .job = JobId{orphan.action.number()},  // which nobody knows any more: its number is no other job's
        .foreground = true};
    exec.command.arguments = std::move(orphan.command);
    if (exec.command.arguments.empty()) exec.command.arguments.push_back(orphan.service);
    exec.cause = std::make_shared<effect::Cause>(
        effect::Cause{.service = std::move(orphan.service), .action_text = "start", .when = orphan.since});
    saved.execs.push_back({std::move(exec), true});
  }
}

}  // namespace

/// Of these only one daemon may be the owner. A control socket that nobody chose may be another daemon's: then this one
/// goes without.
Result<void> Daemon::lock() {
  make_folder(paths_.state_file, 0700);
  make_folder(paths_.pid_file, 0755);
  if (const auto monit = runtime::running_by_pid_file(paths_.pid_file, "monit")) watch_beside_monit(*monit);
  auto locks =
      runtime::InstanceLocks::take(paths_.pid_file, paths_.socket_chosen ? paths_.socket : "", paths_.state_file);
  if (!locks) return locks.error();
  locks_ = std::move(*locks);
  if (paths_.socket_chosen) return {};
  auto socket = runtime::InstanceLocks::take("", paths_.socket, "");
  if (!socket) {
    say(Severity::Warning, fmt::format("healerctl cannot reach this daemon: {}; choose a socket of its own "
                                       "with `set control socket`",
                                       socket.error().what));
    paths_.socket.clear();
    return {};
  }
  locks_.control_socket = std::move(socket->control_socket);
  return {};
}

/// While a monit with the same pid file runs, healer only watches, and takes over when that has gone.
void Daemon::watch_beside_monit(pid_t monit) {
  beside_monit_ = paths_.pid_file;
  paths_.pid_file += ".healer";
  say(Severity::Warning,
      fmt::format("monit runs with process number {} and the same pid file: healer only watches until it has ended",
                  monit));
  monit_watch_ = loop_.timer([this] {
    if (runtime::running_by_pid_file(beside_monit_, "monit")) {
      monit_watch_.set_deadline(runtime::now().mono + seconds{2});
      return;
    }
    reload_acting();
  });
  monit_watch_.set_deadline(runtime::now().mono + seconds{2});
}

/// Monit has ended: the rules are loaded again, to be acted on. Where that fails healer goes on watching, and tries
/// again.
void Daemon::reload_acting() {
  const std::string pid_file = std::exchange(beside_monit_, {});
  reload([this, pid_file](const control::ReloadOutcome& outcome) {
    if (outcome.ok) {
      say(Severity::Info, "monit has ended: healer acts from now on");
      return;
    }
    say(Severity::Error, "monit has ended, but the rules have errors: healer only watches until they are mended");
    beside_monit_ = pid_file;
    monit_watch_.set_deadline(runtime::now().mono + seconds{30});
  });
}

/// The options by which rules are loaded now.
Options Daemon::options() const {
  Options now = options_;
  now.shadow = now.shadow || !beside_monit_.empty();
  return now;
}

/// Opens the store, and where the rules files have errors takes the last good ones that it keeps.
Result<LoadedRules> Daemon::open_state(LoadedRules loaded, std::string& broken) {
  store::Callbacks callbacks;
  callbacks.committed = [this](Sequence up_to) { loop_.post([this, up_to] { committed(up_to); }); };
  callbacks.sick = [this](std::string why) { loop_.post([this, why = std::move(why)] { sick(why); }); };
  callbacks.well = [this] {
    loop_.post([this] {
      sick_.reset();
      handle(event::Committed{.up_to = acknowledged_});  // what was written while it counted as sick
    });
  };
  callbacks.noted = [this] { loop_.post([this] { say_notes(); }); };
  auto store = store::SqliteStore::open(paths_.state_file, std::move(callbacks));
  if (!store) return store.error();
  store_ = std::move(*store);

  if (loaded.result.ok()) {
    store_->save_sources(sources_of(loaded.result));
    return loaded;
  }
  auto sources = store_->load_sources();
  if (!sources) return sources.error();
  if (sources->empty()) return Error{0, "the rules have errors, and there are no earlier ones to go on with"};
  broken = loaded.summary;
  LoadedRules last_good = load_saved_rules(options(), std::move(*sources));
  if (!last_good.result.ok())
    return Error{0, "the rules have errors, and so have the last good ones: " + last_good.summary};
  return last_good;
}

Result<void> Daemon::start(LoadedRules loaded) {
  std::signal(SIGPIPE, SIG_IGN);
  umask(077);
  if (chdir("/") != 0) return system_error(errno, "cannot change to /");
  raise_descriptor_limit();
  configure_log(loaded.result.ok() ? loaded.result.rules->settings : loaded.result.named);
  if (auto locked = lock(); !locked) return locked.error();
  std::string broken;
  auto rules = open_state(std::move(loaded), broken);
  if (!rules) return rules.error();
  if (!beside_monit_.empty()) rules->result.rules->settings.shadow = true;
  const auto graph = make_graph(std::move(*rules->result.rules));
  auto saved = store_->load();
  if (!saved) return saved.error();
  const runtime::ActionFiles files(paths_.action_dir);
  if (auto made = files.prepare_directory(); !made) return made.error();
  const auto whose = files.identity();
  if (!whose) return whose.error();
  groups_ = std::make_shared<const runtime::ControlGroups>(runtime::ControlGroups::find(*whose));
  add_orphans(*saved, files);

  engine_ = std::make_unique<Engine>(graph, runtime::local_civil, std::move(*saved), runtime::now());
  deadline_ = loop_.timer([this] { handle(event::Wake{}); });
  loop_.on_clock_step([this] { handle(event::Wake{}); });
  open_shells(*graph);
  use(*graph);
  if (auto control = open_control(); !control) return control.error();
  if (auto signals = watch_signals(); !signals) return signals.error();
  compiler_ = std::make_unique<RulesCompiler>();

  say_notes();
  handle(event::Started{HEALER_VERSION});
  if (!broken.empty()) {
    note_stale(broken);
    handle(event::ReloadFailed{broken});
    std::cerr << "healerd: started with the rules that were last good; mend the files, then: healerctl reload\n";
  }
  background_.up();
  beat();
  notify_.ready(unit_status());
  return {};
}

void Daemon::open_shells(const Graph& graph) {
  spawner_ = std::make_unique<runtime::Spawner>(loop_, runtime::Spawner::Options{.defaults = launch_defaults_});
  const auto stray = [this](const std::string& service, pid_t pid) {
    log_.write(Severity::Info, runtime::now().wall, service,
               fmt::format("a check program that the healer before has left is ended (pid {})", pid));
  };
  runs_ = std::make_unique<runtime::ProcessRunner>(
      loop_, *spawner_,
      runtime::ProcessRunner::Options{.mark = actions::check_mark(locks_.state_file.identity()), .stray = stray},
      [this](const Event& event) { handle(event); });
  const auto unheard = [this](const std::string& why) {
    say(Severity::Debug, fmt::format("how a process ended that is not healer's child may stay unknown: {}", why));
  };
  news_ = std::make_unique<runtime::ExitNews>(loop_, runtime::ExitNews::Options{.unheard = unheard});
  const auto not_signalled = [this](const effect::Signal& signal, const std::string& why) {
    const char* const name = ::sigabbrev_np(signal.number);
    say(Severity::Warning,
        fmt::format("{} was not sent to process {}: {}",
                    name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal.number), signal.pid,
                    why));
  };
  looks_ = std::make_unique<runtime::Inspector>(
      loop_, runtime::Inspector::Options{.groups = groups_, .news = news_.get(), .not_signalled = not_signalled},
      [this](const Event& event) { handle(event); });
  actions_ = std::make_unique<runtime::ActionRunner>(
      loop_, *spawner_,
      runtime::ActionRunner::Options{.directory = paths_.action_dir, .groups = groups_, .news = news_.get()},
      [this](const Event& event) { handle(event); });
  const auto report = [this](Event event) { loop_.post([this, event = std::move(event)] { handle(event); }); };
  const auto log = [this](Severity severity, const std::string& text) { say(severity, text); };
  mailer_ = std::make_unique<runtime::Mailer>(runtime::MailerOptions{.directory = paths_.mail_dir,
                                                                     .former = paths_.state_file + ".mail",
                                                                     .host = host_of(graph),
                                                                     .version = HEALER_VERSION,
                                                                     .civil = runtime::local_civil},
                                              graph.settings.mail, graph.settings.cycle_length(),
                                              runtime::MailerCallbacks{report, log});
}

/// Takes over what settings say of the shells: at the start and after a reload.
void Daemon::use(const Graph& graph) {
  const Settings& settings = graph.settings;
  const std::string host = host_of(graph);
  base_ = {.host = host, .state = groups_->state(), .written = settings.environment};
  if (const char* home = std::getenv("HOME")) base_.home = home;
  mailer_->configure(settings.mail, settings.cycle_length(), host);
  configure_log(settings);
}

void Daemon::configure_log(const Settings& settings) {
  runtime::LogOptions log = runtime::LogOptions::of(settings.log, settings.foreground, runtime::local_civil);
  log.lowest = options_.verbose > 0 ? Severity::Debug : Severity::Info;
  log_.configure(std::move(log));
}

Result<void> Daemon::open_control() {
  commands_ = std::make_unique<control::Commands>(control::DaemonHooks{
      .engine = *engine_,
      .store = *store_,
      .now = runtime::now,
      .submit = [this](event::Command command) { handle(std::move(command)); },
      .reload = [this](Answer answer) { reload(std::move(answer)); },
      .quit = [this] { stop(); },
      .output_path =
          [files = runtime::ActionFiles(paths_.action_dir)](ActionId action) { return files.output_path(action); },
      .counts =
          [this] {
            control::CountsView counts = counter_.counts();
            counts.mails_waiting = mailer_->waiting();
            return counts;
          },
      .mail =
          [this] {
            const runtime::MailFigures figures = mailer_->figures();
            return control::MailView{.waiting = figures.waiting,
                                     .since = figures.since,
                                     .error = figures.error,
                                     .error_since = figures.error_since,
                                     .held = figures.held,
                                     .held_until = figures.held_until,
                                     .limit = figures.limit,
                                     .gathered = figures.gathered,
                                     .digest_until = figures.digest_until};
          },
      .version = HEALER_VERSION,
      .diff = [this](Answer answer) { diff(std::move(answer)); },
      .stale = [this] { return stale_; }});
  if (paths_.socket.empty()) return {};
  auto server = control::Server::open(
      loop_.uv(), *commands_, {.path = paths_.socket, .group = control::group_id(std::string(control::kControlGroup))});
  if (!server) return server.error();
  server_ = std::move(*server);
  return {};
}

Result<void> Daemon::watch_signals() {
  const std::pair<int, runtime::Loop::Callback> wanted[] = {{SIGTERM, [this] { stop(); }},
                                                            {SIGINT, [this] { stop(); }},
                                                            {SIGHUP, [this] { hang_up(); }},
                                                            {SIGUSR1, [this] { wake_all(); }}};
  for (const auto& [number, callback] : wanted) {
    auto watch = loop_.on_signal(number, callback);
    if (!watch) return watch.error();
    signals_.push_back(std::move(*watch));
  }
  return {};
}

}  // namespace healer
