// SPDX-License-Identifier: MIT
// The daemon: owner of the loop, the engine and all shells. It hands events to the engine and performs its effects.
// Private to the files of this folder.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actions/environment.hpp"
#include "control/commands.hpp"
#include "control/socket/server.hpp"
#include "daemon/background.hpp"
#include "daemon/http.hpp"
#include "daemon/lists/lists.hpp"
#include "daemon/observers.hpp"
#include "daemon/paths.hpp"
#include "daemon/places/own_places.hpp"
#include "daemon/publisher.hpp"
#include "daemon/rules_loader.hpp"
#include "daemon/vanished.hpp"
#include "delivery/outbox.hpp"
#include "engine/engine.hpp"
#include "readings/recorder.hpp"
#include "runtime/clock.hpp"
#include "runtime/document_reader.hpp"
#include "runtime/inspection/inspector.hpp"
#include "runtime/log/log.hpp"
#include "runtime/loop.hpp"
#include "runtime/measurer.hpp"
#include "runtime/net/connector.hpp"
#include "runtime/net/handed_sockets.hpp"
#include "runtime/net/http_caller.hpp"
#include "runtime/net/reacher.hpp"
#include "runtime/notify.hpp"
#include "runtime/process/exit_status.hpp"
#include "runtime/process/process_runner.hpp"
#include "runtime/process/ready_socket.hpp"
#include "runtime/process/reaper.hpp"
#include "runtime/process/spawner.hpp"
#include "runtime/programs/action_runner.hpp"
#include "runtime/units/units.hpp"
#include "store/sqlite_store.hpp"

namespace healer {

class Daemon : public engine::EffectSink {
 public:
  Daemon(Options options, Paths paths, Background background)
      : options_(std::move(options)), paths_(std::move(paths)), background_(std::move(background)) {}

  /// Brings everything up, in the order in which one needs the other.
  Result<void> start(LoadedRules loaded);
  /// Until SIGTERM, SIGINT or `quit`.
  void run();
  void failed(const std::string& error) { background_.failed(error); }

  void emit(engine::Effect effect) override { effects_.push_back(std::move(effect)); }

 private:
  using Answer = control::Supervisor::ReloadDone;
  class Access;  // for the commands of the control socket

  // events and effects
  void handle(const engine::Event& event);
  void set_deadline();
  void perform(engine::effect::Measure& effect);
  void perform(engine::effect::CancelRun& effect);
  void perform(engine::effect::Exec& effect);
  void perform(engine::effect::EndAction& effect);
  void perform(engine::effect::Watch& effect);
  void perform(engine::effect::Signal& effect);
  void perform(engine::effect::Adopt& effect);
  void perform(engine::effect::Alert& effect);
  void open_delivery();
  [[nodiscard]] std::vector<control::ContactView> contact_views() const;
  void deliver_last();
  void perform(engine::effect::Request& effect);
  void inspect_secrets(const engine::effect::Request& request);
  void perform(engine::effect::EndRequest& effect);
  void perform(engine::effect::Commit& effect);
  void perform(engine::effect::Note&) {}  ///< it is published, and that is all
  void perform(engine::effect::Reply& effect);
  runtime::HttpCaller& caller();
  void action_ended(const engine::event::ActionEnded& ended);
  std::string receive_notices();
  void warn_if_never_ready(const engine::effect::Exec& effect);
  void committed(engine::Sequence up_to);
  void write_log(engine::Severity severity, std::string_view text) {
    log_.write(severity, runtime::now().wall, {}, text);
  }
  void sick(const std::string& reason);
  void log_notes();
  void report_damages();
  void declare_lists(const LoadedRules& loaded);
  void report_no_lists(const std::string& why);
  void log_notes_of(const LoadedRules& loaded);

  // life
  void watch_beside_monit(pid_t monit);
  void reload_acting();
  Result<void> open_store();
  void hold_state();
  void open_recorder(const std::shared_ptr<const engine::Graph>& graph,
                     std::shared_ptr<const engine::recorded::RulesText> rules_text, const engine::SavedState& state,
                     Instant now);
  Result<LoadedRules> last_good_rules();
  void observe();
  void open_shells();
  Result<void> open_control();
  std::unique_ptr<control::Supervisor> make_access();
  void open_http();
  enum class When : bool { AtStart, Running };
  Result<void> watch_signals(When when);
  [[nodiscard]] std::vector<std::string> troubles() const;
  void use(const engine::Graph& graph);
  [[nodiscard]] control::SocketAccess socket_access(const engine::Graph& graph) const;
  [[nodiscard]] runtime::LogOptions log_options(const engine::Settings& settings) const;
  void configure_log(const engine::Settings& settings);
  [[nodiscard]] Options options() const;
  std::string warn_of_restart(const engine::Settings& settings);
  void reload(bool confirmed, Answer answer);
  void diff(Answer answer);
  void compare();
  void note_stale(const std::string& error);
  [[nodiscard]] std::string unit_status() const;
  void compile_rules();
  void reloaded(RulesCompiler::Outcome outcome);
  void begin_lists();
  void reload_lists();
  void compile_lists();
  void lists_reloaded(RulesCompiler::Outcome outcome);
  void next_reload();
  [[nodiscard]] bool held_back(const Vanished& loss);
  std::string take_over(RulesCompiler::Outcome& outcome, const Vanished& loss);
  void hang_up();
  void wake_all();
  void beat();
  void stop();
  [[nodiscard]] std::vector<std::string> awaited() const;
  void end_waiting(const std::string& why);
  void end_if_done();
  void finish();

  Options options_;
  Paths paths_;
  Background background_;
  runtime::HandedSockets handed_ = runtime::take_handed_sockets();  ///< by systemd, before there are threads
  runtime::Log log_{{}};                                            // until the settings say where
  runtime::Loop loop_;
  OwnPlaces places_{paths_, loop_, [this](auto severity, std::string_view text) { write_log(severity, text); }};
  runtime::Notifier notify_;
  std::unique_ptr<store::SqliteStore> store_;
  std::unique_ptr<readings::Recorder> recorder_;
  Publisher publisher_{[this](const std::string& text) { write_log(engine::Severity::Error, text); }};
  CountingObserver statistics_{engine_};
  LoggingObserver logging_{log_};
  std::unique_ptr<RecordingObserver> recording_;
  std::unique_ptr<FollowersObserver> following_;
  std::unique_ptr<StatusObserver> status_;
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<runtime::Spawner> spawner_;
  std::unique_ptr<runtime::Reaper> reaper_;  ///< where orphans are left to this process
  std::shared_ptr<const runtime::ControlGroups> groups_;
  std::unique_ptr<runtime::ProcessRunner> runs_;
  std::unique_ptr<runtime::ExitStatusReader> exits_;
  std::unique_ptr<runtime::Connector> connector_;
  std::unique_ptr<runtime::Reacher> connections_;
  std::unique_ptr<runtime::Inspector> inspector_;
  std::unique_ptr<runtime::Units> units_;
  std::unique_ptr<runtime::Measurer> measurer_;
  std::unique_ptr<runtime::DocumentReader> documents_;
  std::unique_ptr<runtime::ActionRunner> actions_;
  std::unique_ptr<runtime::HttpCaller> caller_;  ///< made when it is first asked
  std::unique_ptr<runtime::ReadySocket> ready_;
  std::unique_ptr<delivery::Outbox> outbox_;
  std::unique_ptr<control::Supervisor> access_;
  std::unique_ptr<control::Commands> commands_;
  std::unique_ptr<control::Server> server_;
  std::unique_ptr<Http> http_;
  std::optional<gid_t> control_group_;
  std::unique_ptr<RulesCompiler> compiler_;
  std::unique_ptr<DaemonLists> lists_;
  runtime::Loop::Timer deadline_;
  bool deadline_moves_ = false;  // in this turn
  std::optional<runtime::Loop::Timer> beat_;
  runtime::Loop::Timer settled_;  ///< the first looks are over
  runtime::Loop::Timer last_moment_;
  std::vector<runtime::Loop::SignalWatch> signals_;

  actions::BaseEnvironment base_;
  std::vector<engine::Effect> effects_;
  std::vector<engine::Effect> spare_;        // empty: room for the next
  std::deque<Answer> reloads_;               ///< who waits for the reload under way
  std::deque<Answer> next_reloads_;          ///< who asked meanwhile: another reload follows
  std::optional<control::StaleView> stale_;  ///< the rules in force are not those on disk
  bool reloading_ = false;
  bool reload_again_ = false;
  bool lists_read_ = false;     ///< new lists were read for the reload under way
  bool lists_changed_ = false;  ///< since the load under way began
  /// What the rules in force were loaded from. Null where they have no lists: it is then never read again.
  std::shared_ptr<const engine::recorded::RulesText> in_force_;
  std::vector<Answer> diffs_;  ///< who asked for a comparison that has not begun
  bool comparing_ = false;
  bool confirmed_ = false;       ///< of the reload under way
  bool next_confirmed_ = false;  ///< of the one that follows
  /// A reload that was held back, and when: the same once more is meant.
  std::optional<std::pair<Vanished, Duration>> held_back_;
  std::optional<std::string> sick_;   ///< why the store cannot write now
  std::size_t logged_notes_ = 0;      ///< of the store
  std::size_t reported_damages_ = 0;  ///< likewise
  bool is_up_ = false;                ///< the engine was told that it starts
  std::string beside_monit_;          ///< the pid file of a monit that runs
  runtime::Loop::Timer monit_watch_;
  runtime::LaunchDefaults launch_defaults_ = runtime::LaunchDefaults::capture();
  /// How far commits have come.
  struct {
    engine::Sequence submitted = 0;
    engine::Sequence acknowledged = 0;  ///< the engine was told of: written, or given up as the disk is sick
    engine::Sequence durable = 0;       ///< written
    /// Actions whose ends the journal has not on the disk yet, and in what commit they go there: their records stay.
    std::deque<std::pair<engine::Sequence, engine::ActionId>> unsettled;
  } journal_;
  bool stopping_ = false;
  bool waits_for_answers_ = false;
  bool runs_ended_ = false;
  bool ending_ = false;
};

}  // namespace healer
