// SPDX-License-Identifier: MIT
// The daemon: owner of the loop, the engine and all shells. It hands events to the engine and performs its effects.
// Private to the files of this folder.
#pragma once

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
#include "daemon/ending.hpp"
#include "daemon/http.hpp"
#include "daemon/lists/lists.hpp"
#include "daemon/observers.hpp"
#include "daemon/paths.hpp"
#include "daemon/places/beside_monit.hpp"
#include "daemon/places/journal.hpp"
#include "daemon/places/own_places.hpp"
#include "daemon/publisher.hpp"
#include "daemon/reload/reload.hpp"
#include "daemon/rules_loader.hpp"
#include "daemon/shells/acting.hpp"
#include "daemon/shells/measuring.hpp"
#include "delivery/outbox.hpp"
#include "engine/engine.hpp"
#include "readings/recorder.hpp"
#include "runtime/clock.hpp"
#include "runtime/log/log.hpp"
#include "runtime/loop.hpp"
#include "runtime/net/handed_sockets.hpp"
#include "runtime/notify.hpp"
#include "runtime/process/launch.hpp"

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
  void deliver_last();
  void perform(engine::effect::Request& effect);
  void perform(engine::effect::EndRequest& effect);
  void perform(engine::effect::Commit& effect);
  void perform(engine::effect::Note&) {}  ///< it is published, and that is all
  void perform(engine::effect::Reply& effect);
  void write_log(engine::Severity severity, std::string_view text) {
    log_.write(severity, runtime::now().wall, {}, text);
  }
  /// The same, for others.
  [[nodiscard]] std::function<void(engine::Severity, std::string_view)> logs() {
    return [this](engine::Severity severity, std::string_view text) { write_log(severity, text); };
  }
  Journal::Calls journal_calls();
  Ending::Calls ending_calls();

  // life
  void open_recorder(const std::shared_ptr<const engine::Graph>& graph,
                     std::shared_ptr<const engine::recorded::RulesText> rules_text, const engine::SavedState& state,
                     Instant now);
  Result<LoadedRules> last_good_rules();
  Result<LoadedRules> rules_instead(std::string& broken);
  void observe();
  void open_shells(const std::shared_ptr<const runtime::ControlGroups>& groups);
  void open_reload(std::shared_ptr<const engine::recorded::RulesText> in_force);
  Result<void> open_control();
  void open_http();
  enum class When : bool { AtStart, Running };
  Result<void> watch_signals(When when);
  void use(const engine::Graph& graph);
  [[nodiscard]] control::SocketAccess socket_access(const engine::Graph& graph) const;
  [[nodiscard]] runtime::LogOptions log_options(const engine::Settings& settings) const;
  void configure_log(const engine::Settings& settings);
  [[nodiscard]] Options options() const;
  [[nodiscard]] std::string unit_status() const;
  void begin_lists();
  void hang_up();
  void wake_all();
  void beat();
  void finish();

  Options options_;
  Paths paths_;
  Background background_;
  runtime::HandedSockets handed_ = runtime::take_handed_sockets();  ///< by systemd, before there are threads
  runtime::Log log_{{}};                                            // until the settings say where
  runtime::Loop loop_;
  OwnPlaces places_{paths_, loop_, logs()};
  runtime::Notifier notify_;
  Journal journal_{loop_, places_, journal_calls()};
  std::unique_ptr<readings::Recorder> recorder_;
  Publisher publisher_{[this](const std::string& text) { write_log(engine::Severity::Error, text); }};
  CountingObserver statistics_{engine_};
  LoggingObserver logging_{log_};
  std::unique_ptr<RecordingObserver> recording_;
  std::unique_ptr<FollowersObserver> following_;
  std::unique_ptr<StatusObserver> status_;
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<Measuring> measuring_;
  std::unique_ptr<Acting> acting_;
  std::unique_ptr<delivery::Outbox> outbox_;
  std::unique_ptr<control::Supervisor> access_;
  std::unique_ptr<control::Commands> commands_;
  std::unique_ptr<control::Server> server_;
  std::unique_ptr<Http> http_;
  std::optional<gid_t> control_group_;
  std::unique_ptr<Reload> reload_;
  std::unique_ptr<DaemonLists> lists_;
  runtime::Loop::Timer deadline_;
  bool deadline_moves_ = false;  // in this turn
  std::optional<runtime::Loop::Timer> beat_;
  runtime::Loop::Timer settled_;  ///< the first looks are over
  Ending ending_{loop_, notify_, options_.grace, ending_calls()};
  std::vector<runtime::Loop::SignalWatch> signals_;

  actions::BaseEnvironment base_;
  std::vector<engine::Effect> effects_;
  std::vector<engine::Effect> spare_;  // empty: room for the next
  BesideMonit beside_monit_{
      loop_, {.log = logs(), .reload = [this](auto answer) { reload_->reload(true, std::move(answer)); }}};
  runtime::LaunchDefaults launch_defaults_ = runtime::LaunchDefaults::capture();
};

}  // namespace healer
