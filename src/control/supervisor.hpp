// SPDX-License-Identifier: MIT
// What the commands of the control socket need of the daemon that they are asked of: one interface, which the daemon
// implements, and the world of the tests. All of it is called on the loop thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "control/wire.hpp"
#include "engine/engine.hpp"
#include "engine/events/event.hpp"
#include "store/store.hpp"

namespace healer::control {

/// How a load of the rules files went.
struct ReloadOutcome {
  bool ok = true;
  std::string text;  ///< for a person: the diagnostics, a line each, and what has changed
  std::vector<DiagnosticView> diagnostics{};
  std::optional<ChangesView> changes{};
};

/// Outlives whoever asks it.
class Supervisor {
 public:
  using ReloadDone = std::function<void(ReloadOutcome)>;
  /// The secrets to strike out of a text; any thread may ask for them.
  using Secrets = std::function<std::vector<std::string>()>;

  virtual ~Supervisor() = default;

  // ---- what is known
  [[nodiscard]] virtual const engine::Engine& engine() const = 0;
  [[nodiscard]] virtual const store::Store& store() const = 0;
  [[nodiscard]] virtual Instant now() const = 0;
  [[nodiscard]] virtual std::string version() const = 0;
  /// What the daemon has done since it started.
  [[nodiscard]] virtual CountsView counts() const = 0;
  /// The mails that wait.
  [[nodiscard]] virtual std::optional<MailView> mail() const = 0;
  /// The alerts that wait for contacts.
  [[nodiscard]] virtual std::vector<ContactView> contacts() const = 0;
  /// What the daemon lacks now, a sentence each.
  [[nodiscard]] virtual std::vector<std::string> troubles() const = 0;
  /// What of the state was damaged when it was read, a sentence each.
  [[nodiscard]] virtual std::vector<std::string> damages() const = 0;
  /// Where the rules in force are not those on disk: why.
  [[nodiscard]] virtual std::optional<StaleView> stale() const = 0;

  // ---- programs of actions
  /// Where the program of an action writes its output.
  [[nodiscard]] virtual std::string output_path(engine::ActionId action) const = 0;
  /// Whether nothing of what it writes may be shown.
  [[nodiscard]] virtual bool hides_output(engine::ActionId action) const = 0;
  /// The secrets that are to be struck out of it, else; null where there are none.
  [[nodiscard]] virtual Secrets given_secrets(engine::ActionId action) const = 0;

  // ---- lists of rows
  /// What is known of them, as text.
  [[nodiscard]] virtual std::string lists() const = 0;
  /// Rows that are refused now, a sentence each.
  [[nodiscard]] virtual std::vector<std::string> refused_rows() const = 0;
  /// A person's word that a list is right: what is wrong with that, or nothing. `by` names the person.
  virtual std::optional<std::string> accept_list(const std::string& name, const std::string& by) = 0;
  /// Takes a row out that leaves. False: there is no such row.
  virtual bool forget_row(const std::string& row, const std::string& by) = 0;

  // ---- what people ask for
  /// Hands a command to the engine; its effect::Reply comes back through Commands::reply(), also from within.
  virtual void submit(engine::event::Command command) = 0;
  /// The same of a beat.
  virtual void submit(engine::event::Arrived beat) = 0;
  /// Whether `given` is what `token` stands for, which is read anew; false where that cannot be read, or is empty.
  /// `done` is called once, on the loop thread and not from within.
  virtual void check_token(const std::string& token, std::string given, std::function<void(bool)> done) = 0;
  /// Loads the rules files again. `done` is called on the loop thread, also from within, and exactly once.
  /// `confirmed`: also where processes of healer's own end by it that a person may have forgotten.
  virtual void reload(bool confirmed, ReloadDone done) = 0;
  /// Loads the rules files and tells what a reload would change; `done` as above.
  virtual void diff(ReloadDone done) = 0;
  /// Begins the orderly end, and returns what that waits for, a sentence each. The client learns of it by the end of
  /// the connection.
  virtual std::vector<std::string> quit() = 0;
};

}  // namespace healer::control
