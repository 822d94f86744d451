// SPDX-License-Identifier: MIT
// The rules of a daemon that runs are loaded again: because somebody asks for it, because lists have other rows, or
// only to tell what it would change. Owns the thread that compiles rules, whoever waits for its outcome, what the rules
// in force were loaded from, and whether those on disk are others. It tells the engine, the lists, the recording, the
// store, the measurer and systemd what has come into force; the rest of the daemon takes it over by Calls. On the loop
// thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "control/supervisor.hpp"
#include "control/wire.hpp"
#include "daemon/lists/lists.hpp"
#include "daemon/observers.hpp"
#include "daemon/options.hpp"
#include "daemon/paths.hpp"
#include "daemon/rules_loader.hpp"
#include "daemon/vanished.hpp"
#include "engine/engine.hpp"
#include "engine/events/event.hpp"
#include "engine/events/record.hpp"
#include "replay/recorded.hpp"
#include "runtime/loop.hpp"
#include "runtime/measurer.hpp"
#include "runtime/notify.hpp"
#include "store/store.hpp"
#include "util/time.hpp"

namespace healer {

class Reload {
 public:
  using Answer = control::Supervisor::ReloadDone;

  /// Who learns of new rules. All of them outlive the reload, but for the lists: those need not be there when it goes.
  struct Parts {
    runtime::Loop& loop;
    runtime::Notifier& notify;
    StatusObserver& status;
    RecordingObserver& recording;
    store::Store& store;
    const engine::Engine& engine;
    runtime::Measurer& measurer;
    DaemonLists& lists;
    const Paths& paths;  ///< of the daemon as it runs
  };
  /// The rest of the daemon.
  struct Calls {
    /// Tells the engine.
    std::function<void(const engine::Event&)> handle;
    std::function<void(engine::Severity, std::string_view)> log;
    /// By which rules are loaded now.
    std::function<Options()> options;
    /// Takes over what the settings of these rules say.
    std::function<void(const engine::Graph&)> use;
    /// The same of the log.
    std::function<void(const engine::Settings&)> configure_log;
    /// Whether the daemon ends.
    std::function<bool()> is_stopping;
  };

  /// `in_force`: what the rules in force were loaded from; null where they have no lists.
  Reload(Parts parts, Calls calls, std::shared_ptr<const engine::recorded::RulesText> in_force)
      : parts_(parts), calls_(std::move(calls)), in_force_(std::move(in_force)) {}

  /// The daemon has started with these rules; `broken`: why they are not those on disk, empty: they are. To be called
  /// once, when the engine has started.
  void started_with(const LoadedRules& loaded, const std::string& broken);
  /// As control::Supervisor::reload(); `answer` may be null.
  void reload(bool confirmed, Answer answer);
  /// As control::Supervisor::diff().
  void diff(Answer answer);
  /// The rules in force are loaded with the rows that lists have now.
  void reload_lists();
  /// Where the rules in force are not those on disk: why.
  [[nodiscard]] const std::optional<control::StaleView>& stale() const { return stale_; }

 private:
  void compare();
  void note_stale(const std::string& error);
  std::string warn_of_restart(const engine::Settings& settings);
  void declare_lists(const LoadedRules& loaded);
  void report_no_lists(const std::string& why);
  void compile_rules();
  void reloaded(RulesCompiler::Outcome outcome);
  void compile_lists();
  void lists_reloaded(RulesCompiler::Outcome outcome);
  void next_reload();
  [[nodiscard]] bool held_back(const Vanished& loss);
  std::string take_over(RulesCompiler::Outcome& outcome, const Vanished& loss);

  Parts parts_;
  Calls calls_;
  /// Its thread posts what it has found to the loop: it ends before those go by which it does that.
  RulesCompiler compiler_;
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
};

/// What is said of rules that are new goes into the log.
void log_notes_of(const LoadedRules& loaded, const std::function<void(engine::Severity, std::string_view)>& log);

}  // namespace healer
