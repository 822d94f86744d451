// SPDX-License-Identifier: MIT
#include "daemon.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "actions/environment.hpp"
#include "actions/mail.hpp"
#include "background.hpp"
#include "control/commands.hpp"
#include "control/counter.hpp"
#include "control/server.hpp"
#include "engine/engine.hpp"
#include "identity.hpp"
#include "paths.hpp"
#include "rules_loader.hpp"
#include "runtime/action_files.hpp"
#include "runtime/action_runner.hpp"
#include "runtime/clock.hpp"
#include "runtime/host.hpp"
#include "runtime/inspector.hpp"
#include "runtime/log_sink.hpp"
#include "runtime/loop.hpp"
#include "runtime/mailer.hpp"
#include "runtime/notify.hpp"
#include "runtime/pid_file.hpp"
#include "runtime/process_runner.hpp"
#include "runtime/ready_socket.hpp"
#include "runtime/spawner.hpp"
#include "store/sqlite_store.hpp"

namespace healer {
namespace {

using namespace engine;

class Daemon : public EffectSink {
 public:
  Daemon(Options options, Paths paths, Background background)
      : options_(std::move(options)), paths_(std::move(paths)), background_(std::move(background)) {}

  /// Brings everything up, in the order in which one needs the other.
  Result<void> start(LoadedRules loaded);
  /// Until SIGTERM, SIGINT or `quit`.
  void run() {
    loop_.run();
    finish();
  }
  void failed(const std::string& error) { background_.failed(error); }

  void emit(Effect effect) override { effects_.push_back(std::move(effect)); }

 private:
  using Answer = std::function<void(bool ok, std::string text)>;

  // events and effects
  void handle(const Event& event);
  void perform(effect::StartRun& effect);
  void perform(effect::CancelRun& effect);
  void perform(effect::Exec& effect);
  void perform(effect::EndAction& effect);
  void perform(effect::Signal& effect);
  void perform(effect::Adopt& effect);
  void perform(effect::Alert& effect);
  void perform(effect::Commit& effect);
  void perform(effect::Note& effect);
  void perform(effect::Reply& effect);
  std::string hear_of_ready();
  void committed(Sequence up_to);
  void say(Severity severity, std::string_view text) { log_.write(severity, runtime::now().wall, {}, text); }
  void sick(const std::string& reason);

  // life
  Result<void> lock();
  void watch_beside_monit(pid_t monit);
  void reload_acting();
  Result<LoadedRules> open_state(LoadedRules loaded, std::string& broken);
  void open_shells(const Settings& settings);
  Result<void> open_control();
  Result<void> watch_signals();
  void use(const Settings& settings);
  void configure_log(const Settings& settings);
  [[nodiscard]] Options options() const;
  void warn_of_restart(const Settings& settings);
  void reload(Answer answer);
  void reloaded(RulesCompiler::Outcome outcome);
  void hang_up();
  void wake_all();
  void beat();
  void stop();
  void end_if_done();
  void finish();

  Options options_;
  Paths paths_;
  Background background_;
  runtime::InstanceLocks locks_;
  runtime::LogSink log_{{}};  // until the settings say where
  runtime::Loop loop_;
  runtime::Notifier notify_;
  std::unique_ptr<store::SqliteStore> store_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<runtime::Spawner> spawner_;
  std::unique_ptr<runtime::ProcessRunner> runs_;
  std::unique_ptr<runtime::Inspector> looks_;
  std::unique_ptr<runtime::ActionRunner> actions_;
  std::unique_ptr<runtime::ReadySocket> ready_;
  std::unique_ptr<runtime::Mailer> mailer_;
  control::Counter counter_;
  std::unique_ptr<control::Commands> commands_;
  std::unique_ptr<control::Server> server_;
  std::unique_ptr<RulesCompiler> compiler_;
  runtime::Loop::Timer deadline_;
  std::optional<runtime::Loop::Timer> beat_;
  runtime::Loop::Timer last_moment_;
  std::vector<runtime::Loop::SignalWatch> signals_;

  actions::BaseEnvironment base_;
  std::vector<Effect> effects_;
  std::deque<Answer> reloads_;       ///< who waits for the reload under way
  std::deque<Answer> next_reloads_;  ///< who asked meanwhile: another reload follows
  bool reloading_ = false;
  bool reload_again_ = false;
  Sequence submitted_ = 0;
  std::optional<std::string> sick_;  ///< why the store cannot write now
  std::string beside_monit_;         ///< the pid file of a monit that runs
  runtime::Loop::Timer monit_watch_;
  runtime::LaunchDefaults launch_defaults_ = runtime::LaunchDefaults::capture();
  Sequence acknowledged_ = 0;
  bool stopping_ = false;
  bool runs_ended_ = false;
  bool ending_ = false;
};

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

// ---- events and effects -------------------------------------------------------------------------------------------

void Daemon::handle(const Event& event) {
  counter_.note(event);
  engine_->handle(event, runtime::now(), *this);
  // Effects never call back into the engine: what they lead to comes as an event of its own, in a later turn.
  std::vector<Effect> effects = std::exchange(effects_, {});
  for (Effect& effect : effects) {
    counter_.note(effect);
    std::visit([this](auto& known) { perform(known); }, effect);
  }
  deadline_.set_deadline(engine_->next_deadline());
}

void Daemon::perform(effect::StartRun& effect) {
  const auto& block = engine_->graph()->slots[effect.service.index()];
  if (block->kind != ServiceKind::Program) return looks_->look(effect, block);
  runs_->start({.service = effect.service,
                .run = effect.run,
                .block = block,
                .environment = actions::check_environment(base_, block->program.command.identity, block->name)});
}

void Daemon::perform(effect::CancelRun& effect) {  // of one of the two: the other does not know it
  runs_->cancel(effect.run);
  looks_->cancel(effect.run);
}

void Daemon::perform(effect::Exec& effect) {
  const Identity& identity = effect.command.identity;
  const bool of_job = effect.job != JobId{};
  actions_->start(
      {.action = effect.action,
       .command = effect.command,
       .environment = effect.foreground
                          ? actions::foreground_environment(base_, identity, effect.cause->service, hear_of_ready())
                          : actions::action_environment(base_, identity, *effect.cause, runtime::local_civil, of_job,
                                                        effect.action),
       .foreground = effect.foreground,
       .repeatable = of_job});
}

void Daemon::perform(effect::EndAction& effect) { actions_->end(effect.action, std::move(effect.signals)); }

void Daemon::perform(effect::Signal& effect) { looks_->signal(effect); }

void Daemon::perform(effect::Adopt& effect) {
  if (effect.foreground) hear_of_ready();
  actions_->adopt(effect.action, effect.foreground);
}

/// Listens to foreground processes that are ready, from the first on; where they say it, if that is possible.
std::string Daemon::hear_of_ready() {
  if (ready_) return paths_.notify;
  auto made = runtime::ReadySocket::open(loop_, paths_.notify, [this](pid_t pid) { actions_->told_ready(pid); });
  if (!made) {
    say(Severity::Warning, fmt::format("programs cannot say that they are ready: {}", made.error().what));
    return {};
  }
  ready_ = std::move(*made);
  return paths_.notify;
}

void Daemon::perform(effect::Alert& effect) { mailer_->submit(std::move(effect)); }

void Daemon::perform(effect::Commit& effect) {
  for (const Record& record : effect.records) log_.write(record.severity, record.when, record.service, record.text);
  submitted_ = effect.sequence;
  store_->submit(std::move(effect));
  if (sick_) {
    loop_.post([this] {
      if (sick_) sick(std::string(*sick_));  // it may be well by now
    });
  }
}

void Daemon::perform(effect::Note& effect) {
  log_.write(effect.severity, runtime::now().wall, effect.service, effect.text);
}

void Daemon::perform(effect::Reply& effect) { commands_->reply(effect); }

void Daemon::committed(Sequence up_to) {
  if (!sick_) handle(event::Committed{.up_to = up_to});
  acknowledged_ = up_to;
  commands_->recorded();
  end_if_done();
}

void Daemon::sick(const std::string& reason) {
  sick_ = reason;
  handle(event::Committed{.up_to = submitted_, .unjournalled = true, .reason = reason});
  acknowledged_ = submitted_;
  commands_->recorded();
  end_if_done();
}

// ---- coming up ----------------------------------------------------------------------------------------------------

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
  reload([this, pid_file](bool ok, const std::string&) {
    if (ok) {
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

  engine_ = std::make_unique<Engine>(graph, runtime::local_civil, std::move(*saved), runtime::now());
  deadline_ = loop_.timer([this] { handle(event::Wake{}); });
  loop_.on_clock_step([this] { handle(event::Wake{}); });
  open_shells(graph->settings);
  use(graph->settings);
  if (auto control = open_control(); !control) return control.error();
  if (auto signals = watch_signals(); !signals) return signals.error();
  compiler_ = std::make_unique<RulesCompiler>();

  for (const std::string& note : store_->notes()) say(Severity::Warning, note);
  handle(event::Started{HEALER_VERSION});
  if (!broken.empty()) {
    handle(event::ReloadFailed{broken});
    std::cerr << "healerd: started with the rules that were last good; mend the files, then: healerctl reload\n";
  }
  background_.up();
  beat();
  notify_.ready(fmt::format("{} services", engine_->graph()->order.size()));
  return {};
}

void Daemon::open_shells(const Settings& settings) {
  spawner_ = std::make_unique<runtime::Spawner>(loop_, runtime::Spawner::Options{.defaults = launch_defaults_});
  runs_ = std::make_unique<runtime::ProcessRunner>(loop_, *spawner_, runtime::ProcessRunner::Options{},
                                                   [this](event::Observed seen) { handle(std::move(seen)); });
  looks_ = std::make_unique<runtime::Inspector>(loop_, runtime::Inspector::Options{},
                                                [this](const Event& event) { handle(event); });
  actions_ = std::make_unique<runtime::ActionRunner>(loop_, *spawner_,
                                                     runtime::ActionRunner::Options{.directory = paths_.action_dir},
                                                     [this](const Event& event) { handle(event); });
  const auto report = [this](Event event) { loop_.post([this, event = std::move(event)] { handle(event); }); };
  const auto log = [this](Severity severity, const std::string& text) { say(severity, text); };
  mailer_ =
      std::make_unique<runtime::Mailer>(runtime::MailerOptions{.directory = paths_.mail_dir,
                                                               .former = paths_.state_file + ".mail",
                                                               .host = runtime::Host{}.host_name(),
                                                               .version = HEALER_VERSION,
                                                               .civil = runtime::local_civil},
                                        settings.mail, settings.cycle_length(), runtime::MailerCallbacks{report, log});
}

/// Takes over what settings say of the shells: at the start and after a reload.
void Daemon::use(const Settings& settings) {
  base_ = {.host = runtime::Host{}.host_name(), .written = settings.environment};
  if (const char* home = std::getenv("HOME")) base_.home = home;
  mailer_->configure(settings.mail, settings.cycle_length());
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
            return control::MailView{figures.waiting, figures.since, figures.error, figures.error_since};
          },
      .version = HEALER_VERSION});
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

// ---- reload -------------------------------------------------------------------------------------------------------

/// SIGHUP: as `reload`, and the log file is opened anew (it may have been rotated).
void Daemon::hang_up() {
  log_.reopen();
  reload({});
}

/// SIGUSR1, as Monit: everything is checked now. It does not count as a cycle.
void Daemon::wake_all() {
  handle(event::Command{.id = CommandId{0},
                        .kind = event::Command::Kind::Validate,
                        .services = engine_->graph()->order,
                        .by = "SIGUSR1"});
}

void Daemon::reload(Answer answer) {
  if (answer) (reloading_ ? next_reloads_ : reloads_).push_back(std::move(answer));
  if (std::exchange(reloading_, true)) {
    reload_again_ = true;
    return;
  }
  notify_.reloading();
  compiler_->compile(options(), engine_->graph(), [this](RulesCompiler::Outcome outcome) {
    auto shared = std::make_shared<RulesCompiler::Outcome>(std::move(outcome));
    loop_.post([this, shared] { reloaded(std::move(*shared)); });
  });
}

/// Files that a running daemon keeps.
void Daemon::warn_of_restart(const Settings& settings) {
  const Paths now = paths_of(settings);
  const auto compare = [&](std::string_view what, const std::string& old, const std::string& wanted) {
    if (old != wanted && old != wanted + ".healer" && !(old.empty() && what == "control socket"))
      say(Severity::Warning, fmt::format("the {} is {} until healerd is restarted, then {}", what, old, wanted));
  };
  compare("pid file", paths_.pid_file, now.pid_file);
  compare("state file", paths_.state_file, now.state_file);
  compare("control socket", paths_.socket, now.socket);
  compare("mail queue", paths_.mail_dir, now.mail_dir);
}

void Daemon::reloaded(RulesCompiler::Outcome outcome) {
  const bool good = outcome.plan != nullptr;
  // Without the lines of the files: whoever may give commands need not be allowed to read passwords.
  std::string text = outcome.loaded.messages();
  if (good) {
    std::shared_ptr<const Graph> before = engine_->graph();
    handle(event::Swap{outcome.plan});
    for (const SlotChange& change : outcome.plan->changes) {
      const auto& block = engine_->graph()->slots[change.service.index()];
      if (!block || block->kind == ServiceKind::Program) looks_->forget(change.service);
    }
    use(engine_->graph()->settings);
    warn_of_restart(engine_->graph()->settings);
    store_->save_sources(sources_of(outcome.loaded.result));
    compiler_->release(std::move(before));
    text += outcome.plan->empty() ? "rules reloaded: nothing has changed" : "rules reloaded";
    if (outcome.plan->empty()) say(Severity::Info, "rules reloaded: nothing has changed");
  } else {
    handle(event::ReloadFailed{outcome.loaded.summary});
  }
  notify_.ready(fmt::format("{} services", engine_->graph()->order.size()));
  reloading_ = false;
  for (Answer& answer : std::exchange(reloads_, std::exchange(next_reloads_, {}))) answer(good, text);
  if (std::exchange(reload_again_, false)) reload({});
}

// ---- the end ------------------------------------------------------------------------------------------------------

/// Tells systemd that the loop lives, as often as its watchdog wants.
void Daemon::beat() {
  const auto interval = notify_.watchdog_interval();
  if (!interval) return;
  const Instant now = runtime::now();
  notify_.beat(now);
  if (!beat_) beat_.emplace(loop_.timer([this] { beat(); }));
  beat_->set_deadline(now.mono + *interval / 4);
}

/// Checks are ended in good order, actions run on without us, what was decided is on disk. A second signal, or a disk
/// that does not answer, ends it at once: the state is that of a crash, which loses nothing that was committed.
void Daemon::stop() {
  if (std::exchange(stopping_, true)) {
    loop_.stop();
    return;
  }
  notify_.stopping();
  last_moment_ = loop_.timer([this] { loop_.stop(); });
  last_moment_.set_deadline(runtime::now().mono + seconds{10});
  handle(event::Stopping{});
  runs_->stop([this] {
    runs_ended_ = true;
    end_if_done();
  });
}

void Daemon::end_if_done() {
  if (!stopping_ || !runs_ended_ || acknowledged_ < submitted_ || std::exchange(ending_, true)) return;
  // Whoever follows the history sees its end; one that does not read is not waited for.
  last_moment_.set_deadline(runtime::now().mono + seconds{1});
  commands_->end_followers([this] { loop_.post([this] { loop_.stop(); }); });
}

void Daemon::finish() {
  mailer_->stop();
  store_->flush();
  log_.stop();
  server_.reset();  // the clients of `quit` see the end now
  // What waits for a dead disk or mount must not keep the process, nor its locks: everything is safe by now.
  std::thread([] {
    std::this_thread::sleep_for(seconds{10});
    std::_Exit(0);
  }).detach();
}

}  // namespace

int run_daemon(const Options& options) {
  LoadedRules loaded = load_rules(options);
  std::cerr << loaded.text(isatty(STDERR_FILENO) != 0 && !options.batch && std::getenv("NO_COLOR") == nullptr);
  Settings settings = loaded.result.ok() ? loaded.result.rules->settings : loaded.result.named;
  apply(options, settings);

  Result<Background> background = settings.foreground ? Background::foreground() : Background::enter();
  if (!background) {
    std::cerr << "healerd: " << background.error().what << '\n';
    return 1;
  }
  Daemon daemon(options, paths_of(settings), std::move(*background));
  if (auto started = daemon.start(std::move(loaded)); !started) {
    daemon.failed(started.error().what);
    return 1;
  }
  daemon.run();
  return 0;
}

}  // namespace healer
