// SPDX-License-Identifier: MIT
// How the daemon comes up.
#include <malloc.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <unordered_set>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "config/rules_text.hpp"
#include "daemon/access.hpp"
#include "daemon/daemon_impl.hpp"
#include "engine/judging/rows.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "readings/readings_file.hpp"
#include "runtime/clock.hpp"
#include "runtime/host.hpp"
#include "runtime/programs/action_files.hpp"
#include "runtime/programs/surviving_services.hpp"
#include "util/text.hpp"

namespace healer {

using namespace engine;

namespace {

/// Room for the descriptors of many programs; they themselves get the limits that were.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 65'536);
  setrlimit(RLIMIT_NOFILE, &limit);
}

/// Clients of the control socket: most descriptors are for what is supervised.
std::size_t most_clients() {
  constexpr std::size_t kMost = 2'000, kLeast = 16;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kLeast;
  return std::clamp<std::size_t>(limit.rlim_cur / 4, kLeast, kMost);
}

/// What programs and mails are told of the machine: the name of its service, of several that of the last, as in Monit.
std::string host_of(const Graph& graph) {
  std::string host = runtime::Host{}.host_name();
  for (const ServiceId id : graph.order)
    if (graph.at(id).kind->traits.is_machine) host = graph.at(id).name;
  return host;
}

/// A program of a healing that the state does not know runs: that healing has been lost.
void add_lost_healing(SavedState& saved, const runtime::ActionFiles::Purpose& purpose) {
  const auto same = [&](const auto& other) { return other.id == purpose.healing; };
  if (std::ranges::any_of(saved.healings, same)) return;
  auto known = std::ranges::find_if(saved.damaged_healings, same);
  if (known == saved.damaged_healings.end()) {
    saved.damaged_healings.push_back({.id = purpose.healing});
    known = std::prev(saved.damaged_healings.end());
  }
  if (known->target.empty()) known->target = purpose.target;
  if (known->service.empty()) known->service = purpose.service;
}

/// The program of a job is called as the rules call it, where they still do: the kernel calls a script by its
/// interpreter.
void take_written(Command& command, const Graph& graph, const runtime::ActionFiles::Purpose& purpose) {
  const auto service = graph.find(purpose.service);
  if (!service) return;
  const ServiceBlock& block = graph.at(*service);
  for (const auto* program : block.programs->all())
    if (*program && runtime::ActionFiles::Purpose::name_of((*program)->arguments) == purpose.program)
      command.arguments = (*program)->arguments;
}

/// Programs that run still, and that the store does not name since it could not be written when they were started, or
/// was damaged, become acts of the daemon before all the same; and no number is issued again of which there are files.
void add_surviving_services(SavedState& saved, const Graph& graph, const runtime::ActionFiles& files) {
  runtime::SurvivingServices survivors = runtime::find_surviving_services(files, runtime::now());
  saved.last_id = std::max(saved.last_id, survivors.newest.number());
  std::unordered_set<std::uint64_t> named;
  for (const PendingExec& pending : saved.execs) named.insert(pending.exec.action.number());
  for (runtime::SurvivingService& survivor : survivors.processes) {
    if (named.contains(survivor.action.number())) continue;
    effect::Exec exec{.action = survivor.action};
    if (const auto& purpose = survivor.purpose) {
      exec.rule = purpose->rule;
      exec.recovery = purpose->recovery;
      exec.healing = purpose->healing;
      if (purpose->healing != HealingId{}) add_lost_healing(saved, *purpose);
    }
    exec.foreground = !survivor.purpose;
    if (exec.foreground || survivor.purpose->job)
      exec.job = JobId{survivor.action.number()};  // which nobody knows any more: its number is no other job's
    exec.command.arguments = std::move(survivor.command);
    if (survivor.purpose && survivor.purpose->job) take_written(exec.command, graph, *survivor.purpose);
    if (exec.command.arguments.empty()) exec.command.arguments.push_back(survivor.service);
    exec.cause = std::make_shared<effect::Cause>(effect::Cause{.service = std::move(survivor.service),
                                                               .action_text = exec.job != JobId{} ? "start" : "exec",
                                                               .when = survivor.since});
    saved.execs.push_back({std::move(exec), true});
  }
}

/// The actions of the daemon before, and their files. Returns the control groups in which they run.
Result<std::shared_ptr<const runtime::ControlGroups>> take_over_actions(SavedState& saved, const Graph& graph,
                                                                        const Paths& paths) {
  const runtime::ActionFiles files(paths.action_dir, paths.spare_action_dir);
  if (auto made = files.prepare_directory(); !made) return made.error();
  const auto whose = files.identity();
  if (!whose) return whose.error();
  auto groups = std::make_shared<const runtime::ControlGroups>(runtime::ControlGroups::find(*whose));
  add_surviving_services(saved, graph, files);
  std::unordered_set<std::uint64_t> known;
  for (const PendingExec& pending : saved.execs) known.insert(pending.exec.action.number());
  files.remove_records(known);
  return groups;
}

/// What falls due within so short a time begins in one turn: a turn, and the threads that it wakes, cost more than many
/// a check.
std::optional<Duration> gathered(std::optional<Duration> deadline, Duration now) {
  constexpr Duration kGathered{2};
  if (!deadline || *deadline <= now) return deadline;
  return (*deadline + kGathered - Duration{1}) / kGathered * kGathered;
}

/// The rules may be the last good ones, of which nobody else says it.
void warn_of_unknown_operators(const Settings& settings, runtime::Log& log) {
  for (const OperatorUser& user : settings.operators)
    if (!user.uid)
      log.write(Severity::Warning, runtime::now().wall, {},
                fmt::format("set operators: there is no user '{}' on this machine: nobody of that "
                            "name has a right until it is known and the rules are reloaded",
                            printable(user.name)));
}

}  // namespace

/// The options by which rules are loaded now.
Options Daemon::options() const {
  Options now = options_;
  now.shadow = now.shadow || beside_monit_.only_watches();
  return now;
}

/// What the engine is told is recorded, for replays.
void Daemon::open_recorder(const std::shared_ptr<const Graph>& graph,
                           std::shared_ptr<const recorded::RulesText> rules_text, const SavedState& state,
                           Instant now) {
  const auto read_state = [path = paths_.state_file]() -> Result<SavedState> {
    auto reader = store::open_read_only(path);
    if (!reader) return reader.error();
    return (*reader)->load();
  };
  const auto noted = [this](std::string text) {
    loop_.post([this, text = std::move(text)] { write_log(Severity::Warning, text); });
  };
  recorder_ = std::make_unique<readings::Recorder>(readings::readings_path(paths_.state_file), read_state, noted);
  recording_ = std::make_unique<RecordingObserver>([this](recorded::Item&& item) {
    if (recorder_) recorder_->take(std::move(item));
  });
  recording_->observer().made({.made = now,
                               .cycle = options_.cycle,
                               .shadow = options().shadow,
                               .state = std::make_shared<const SavedState>(state),
                               .rules = graph,
                               .text = std::move(rules_text)});
}

/// The rules that were last good, which the state keeps, for files that have errors. They bring all of their settings:
/// only the state file stays, where the files as they are now say that it is.
Result<LoadedRules> Daemon::last_good_rules() {
  if (auto opened = journal_.open(paths_.state_file); !opened) return opened.error();
  auto sources = journal_.store().load_sources();
  if (!sources) return sources.error();
  if (sources->empty())
    return Error{0,
                 fmt::format("the rules have errors, and there are no previous ones to use in {}", paths_.state_file)};
  LoadedRules last_good = load_saved_rules(options(), *sources, lists_->rows()());
  if (!last_good.result.ok())
    last_good = load_saved_rules_without_lists(options(), std::move(*sources), last_good.summary);
  if (!last_good.result.ok())
    return Error{0, "the rules have errors, and the last good ones cannot be used either: " + last_good.summary};
  Settings settings = last_good.result.rules->settings;
  settings.state_file = paths_.state_file;
  paths_ = paths_of(settings);
  return last_good;
}

/// The rules to start with in place of files that have errors, for which `broken` is the reason. Where it is the rows
/// of lists that do not compile, those are the rules on disk without them, and `broken` is nothing.
Result<LoadedRules> Daemon::rules_instead(std::string& broken) {
  auto last_good = last_good_rules();
  if (!last_good || !last_good->result.lists_left_out.empty()) {
    LoadedRules without = load_rules_without_lists(options(), broken);
    if (!without.result.lists.empty() && without.result.ok()) {
      broken.clear();
      return without;
    }
  }
  return last_good;
}

Result<void> Daemon::start(LoadedRules loaded) {
  std::signal(SIGPIPE, SIG_IGN);
  umask(077);
  if (chdir("/") != 0) return system_error(errno, "cannot change to /");
  raise_descriptor_limit();
  // Whoever finds the pid file may send them at once.
  if (auto signals = watch_signals(When::AtStart); !signals) return signals.error();
  if (auto locked = places_.lock_state(); !locked) return locked.error();
  lists_ = std::make_unique<DaemonLists>(paths_.lists_file);
  if (!loaded.result.lists.empty() && !lists_->rows()().empty()) loaded = load_rules(options(), lists_->rows()());
  std::string broken;
  if (!loaded.result.ok()) {
    broken = loaded.summary;
    auto instead = rules_instead(broken);
    if (!instead) return instead.error();
    loaded = std::move(*instead);
  }
  Settings& settings = loaded.result.rules->settings;
  // A disk that is full or read-only keeps nobody from supervising; the log tries it again.
  const auto writable = runtime::Log::check(log_options(settings));
  if (!writable && !runtime::is_sick_disk(writable.error())) return writable.error();
  configure_log(settings);
  if (auto safe = places_.check(); !safe) return safe.error();
  if (const auto monit = runtime::running_by_pid_file(paths_.pid_file, "monit"))
    beside_monit_.begin(*monit, paths_.pid_file);
  if (auto locked = places_.lock(); !locked) return locked.error();
  if (!journal_.is_open())
    if (auto opened = journal_.open(paths_.state_file); !opened) return opened.error();
  const auto text = text_of(options().config, loaded.result, lists_->rows()());
  if (broken.empty()) {
    std::vector<store::SavedSource> sources = sources_of(*text);
    if (const auto before = journal_.store().load_sources(); !before || *before != sources)
      log_notes_of(loaded, logs());
    journal_.store().save_sources(std::move(sources));
  }
  if (beside_monit_.only_watches()) settings.shadow = true;
  const auto graph = make_graph(std::move(*loaded.result.rules));
  auto saved = journal_.store().load();
  if (!saved) return saved.error();
  const auto groups = take_over_actions(*saved, *graph, paths_);
  if (!groups) return groups.error();

  const Hash128 word = saved->word;
  const Instant now = runtime::now();
  open_recorder(graph, text, *saved, now);
  engine_ = std::make_unique<Engine>(graph, runtime::local_civil, std::move(*saved), now);
  observe();
  deadline_ = loop_.timer([this] { handle(event::Wake{}); });
  loop_.on_clock_step([this] { handle(event::Wake{}); });
  open_shells(*groups);
  use(*graph);
  if (auto control = open_control(); !control) {
    if (!runtime::is_sick_disk(control.error())) return control.error();
    write_log(Severity::Error, fmt::format("healerctl cannot reach this daemon: {}", control.error().what));
  }
  if (auto signals = watch_signals(When::Running); !signals) return signals.error();
  open_reload(loaded.result.lists.empty() ? nullptr : text);
  begin_lists();

  journal_.log_notes();
  warn_of_unknown_operators(*graph->settings, log_);
  handle(event::Started{.version = HEALER_VERSION, .host = base_.host, .state_word = word});
  journal_.begin_reports();
  reload_->started_with(loaded, broken);
  background_.up();
  beat();
  status_->ready();
  return {};
}

/// Whoever listens to what happens, but for followers of the history.
void Daemon::observe() {
  status_ = std::make_unique<StatusObserver>(
      loop_, notify_,
      StatusObserver::Source{.text = [this] { return unit_status(); },
                             .services = [this] { return engine_->graph()->order.size(); }});
  publisher_.add("the statistics", statistics_);
  publisher_.add("the recording", *recording_);
  publisher_.add("the log", logging_);
  publisher_.add("systemd", *status_);
}

/// When the engine is woken next: once a turn, whatever has moved that in it.
void Daemon::set_deadline() {
  deadline_moves_ = false;
  deadline_.set_deadline(gathered(engine_->next_deadline(), runtime::mono_now()));
}

void Daemon::open_shells(const std::shared_ptr<const runtime::ControlGroups>& groups) {
  measuring_ = std::make_unique<Measuring>(
      loop_, log_,
      Measuring::Machine{
          .check_mark = actions::check_mark(places_.state_identity()), .defaults = launch_defaults_, .groups = groups},
      Measuring::Calls{.handle = [this](const Event& event) { handle(event); },
                       .environment =
                           [this](const ServiceBlock& block) {
                             std::vector<std::string> environment =
                                 actions::check_environment(base_, *block.program->command.identity, block.name);
                             if (block.row) actions::add_row(environment, *block.row);
                             return environment;
                           }});
  acting_ = std::make_unique<Acting>(
      Acting::Parts{
          .loop = loop_, .log = log_, .paths = paths_, .engine = *engine_, .measuring = *measuring_, .base = base_},
      [this](const Event& event) { handle(event); });
  open_delivery();
}

/// Reloads are possible from now on. `in_force`: as Reload has it.
void Daemon::open_reload(std::shared_ptr<const recorded::RulesText> in_force) {
  reload_ = std::make_unique<Reload>(
      Reload::Parts{.loop = loop_,
                    .notify = notify_,
                    .status = *status_,
                    .recording = *recording_,
                    .store = journal_.store(),
                    .engine = *engine_,
                    .measurer = measuring_->measurer(),
                    .lists = *lists_,
                    .paths = paths_},
      Reload::Calls{.handle = [this](const Event& event) { handle(event); },
                    .log = logs(),
                    .options = [this] { return options(); },
                    .use = [this](const Graph& graph) { use(graph); },
                    .configure_log = [this](const Settings& settings) { configure_log(settings); },
                    .is_stopping = [this] { return ending_.has_begun(); }},
      std::move(in_force));
}

/// Lists are read from now on.
void Daemon::begin_lists() {
  lists_->begin(loop_, measuring_->spawner(),
                {.failed = [this](const std::string& list) { return failed_rows(*engine_, list); },
                 .in_repair = [this](const std::string& list) { return rows_in_repair(*engine_, list); },
                 .environment = [this] { return actions::check_environment(base_, {}, "healer"); },
                 .tell =
                     [this](const std::string& text, bool alerts) {
                       handle(engine::event::ListReported{text, alerts});
                     },
                 .read = [this] { handle(lists_->doubted()); },
                 .changed = [this] { reload_->reload_lists(); },
                 .caller = [this]() -> runtime::HttpCaller& { return acting_->caller(); },
                 .settings = [this]() -> const engine::Settings& { return *engine_->graph()->settings; },
                 .found = [this](const engine::Event& event) { handle(event); }});
}

/// Takes over what settings say of the shells: at the start and after a reload.
void Daemon::use(const Graph& graph) {
  const Settings& settings = *graph.settings;
  const std::string host = host_of(graph);
  base_ = {.host = host, .state = measuring_->groups()->state(), .written = settings.environment};
  if (const char* home = std::getenv("HOME")) base_.home = home;
  outbox_->configure(settings, host);
  if (server_)
    if (const auto done = server_->set_access(socket_access(graph)); !done)
      write_log(Severity::Error, done.error().what);
  if (http_) http_->use(settings);
  measuring_->set_cycle(settings.cycle_length());
}

/// Who may use the control socket.
control::SocketAccess Daemon::socket_access(const Graph& graph) const {
  control::SocketAccess access{.group = control_group_, .operators = {}};
  for (const OperatorUser& user : graph.settings->operators)
    if (user.uid) access.operators.push_back({.uid = *user.uid, .name = user.name});
  access.has_tokens =
      std::ranges::any_of(graph.order, [&](ServiceId id) { return !graph.at(id).other->heartbeat.token.empty(); });
  return access;
}

runtime::LogOptions Daemon::log_options(const Settings& settings) const {
  runtime::LogOptions log = runtime::LogOptions::of(settings.log, settings.foreground, runtime::local_civil);
  log.lowest = options_.verbose > 0 ? Severity::Debug : Severity::Info;
  return log;
}

void Daemon::configure_log(const Settings& settings) { log_.configure(log_options(settings)); }

Result<void> Daemon::open_control() {
  access_ = make_access(AccessParts{.loop = loop_,
                                    .log = log_,
                                    .paths = paths_,
                                    .places = places_,
                                    .journal = journal_,
                                    .statistics = statistics_,
                                    .engine = *engine_,
                                    .measuring = *measuring_,
                                    .acting = *acting_,
                                    .outbox = *outbox_,
                                    .lists = *lists_,
                                    .ending = ending_},
                        AccessCalls{.handle = [this](const Event& event) { handle(event); },
                                    .log_options = [this] { return log_options(*engine_->graph()->settings); },
                                    .reload = [this]() -> Reload& { return *reload_; },
                                    .http = [this] { return http_.get(); }});
  commands_ = std::make_unique<control::Commands>(*access_);
  following_ = std::make_unique<FollowersObserver>(*commands_);
  publisher_.add("whoever follows the history", *following_);
  open_http();
  if (paths_.socket.empty()) return {};
  control_group_ = control::group_id(std::string(control::kControlGroup));
  const std::size_t most = most_clients();
  auto server = control::Server::open(loop_.uv(), *commands_,
                                      {.path = paths_.socket,
                                       .access = socket_access(*engine_->graph()),
                                       .max_clients = most,
                                       .max_of_user = std::max<std::size_t>(most / 2, 1)});
  if (!server) return server.error();
  server_ = std::move(*server);
  return {};
}

void Daemon::open_http() {
  http_ = std::make_unique<Http>(
      loop_, web::Backend{.daemon = *access_, .commands = *commands_},
      web::HttpSide::Machine{
          .host = base_.host,
          .version = HEALER_VERSION,
          .report = [this](bool failed,
                           const std::string& text) { write_log(failed ? Severity::Error : Severity::Info, text); },
          .handed = std::make_shared<const std::vector<runtime::HandedSocket>>(std::move(handed_.sockets))},
      paths_.state_file + ".answers");
  for (const std::string& refused : handed_.refused) write_log(Severity::Warning, refused);
  publisher_.add("the HTTP side", *http_);
  http_->use(*engine_->graph()->settings);
}

/// At the start those that would end it, and should not; what they ask for is done when it is up. Those that end it in
/// good order end it at once until then.
Result<void> Daemon::watch_signals(When when) {
  using Wanted = std::vector<std::pair<int, runtime::Loop::Callback>>;
  const Wanted wanted = when == When::AtStart
                            ? Wanted{{SIGHUP, [this] { hang_up(); }}, {SIGUSR1, [this] { wake_all(); }}}
                            : Wanted{{SIGTERM, [this] { ending_.stop(); }}, {SIGINT, [this] { ending_.stop(); }}};
  for (const auto& [number, callback] : wanted) {
    auto watch = loop_.on_signal(number, callback);
    if (!watch) return watch.error();
    signals_.push_back(std::move(*watch));
  }
  return {};
}

void Daemon::run() {
  // What the first looks and their journal have taken for a moment, and is free again, goes back to the system: a tenth
  // of all, where services are many. It may take 30 ms then; so it is done once.
  constexpr Duration kSettled{20'000};
  settled_ = loop_.timer([] { malloc_trim(0); });
  settled_.set_deadline(runtime::now().mono + kSettled);
  loop_.run();
  finish();
}

}  // namespace healer
