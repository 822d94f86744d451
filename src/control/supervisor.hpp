// SPDX-License-Identifier: MIT
// What the commands of the control socket need of the daemon that they are asked of: one interface, which the daemon
// implements, and the world of the tests. All of it is called on the loop thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "control/permissions.hpp"
#include "control/statistics.hpp"
#include "control/wire.hpp"
#include "engine/engine.hpp"
#include "engine/events/event.hpp"
#include "store/store.hpp"
#include "util/result.hpp"
#include "util/time.hpp"

namespace healer::control {

/// How a load of the rules files went.
struct ReloadOutcome {
  bool ok = true;
  std::string text;  ///< for a person: the diagnostics, a line each, and what has changed
  std::vector<DiagnosticView> diagnostics{};
  std::optional<ChangesView> changes{};
};

/// How the daemon's own process is.
struct Vitals {
  std::chrono::microseconds lag{0};          ///< of its loop: the longest turn of the last 10 to 20 seconds
  std::chrono::microseconds longest_lag{0};  ///< since the start
  bool journals = true;                      ///< its state can be written
  std::chrono::microseconds processor{0};    ///< time that it has used of it
  std::uint64_t resident = 0;                ///< bytes of memory; 0 in these: not known
  std::uint64_t reserved = 0;                ///< bytes of address space
  std::uint64_t descriptors = 0;             ///< that are open
  std::uint64_t most_descriptors = 0;        ///< that may be
};

/// The machine, and where the daemon keeps its things.
struct Surroundings {
  std::string id;  ///< of this healer; empty: not to be had
  std::int64_t pid = 0;
  std::string user;  ///< as whom it runs
  std::string pid_file, state_file;
  std::string system, release, build, machine;  ///< as uname has them: "Linux", "6.1.0", "#1 SMP", "x86_64"
  unsigned cores = 0;
  std::uint64_t memory = 0;  ///< in kB
  std::uint64_t swap = 0;    ///< likewise
};

/// Outlives whoever asks it.
class Supervisor {
 public:
  using LogRead = std::function<void(Result<std::string>)>;
  using ReloadDone = std::function<void(ReloadOutcome)>;
  /// The secrets to strike out of a text; any thread may ask for them.
  using Secrets = std::function<std::vector<std::string>()>;

  virtual ~Supervisor() = default;

  // ---- what is known
  [[nodiscard]] virtual const engine::Engine& engine() const = 0;
  [[nodiscard]] virtual const store::Store& store() const = 0;
  [[nodiscard]] virtual Instant now() const = 0;
  [[nodiscard]] virtual std::string version() const = 0;
  [[nodiscard]] virtual Surroundings surroundings() const = 0;
  /// The time of this machine's zone.
  [[nodiscard]] virtual CivilTime civil(WallTime when) const = 0;
  /// Reads the end of the log file, `most` bytes of whole lines. `done` is called on the loop thread, also from within,
  /// and may never be: where what is read from hangs.
  virtual void read_log(std::size_t most, LogRead done) = 0;
  /// What the daemon has done since it started.
  [[nodiscard]] virtual CountsView counts() const = 0;
  /// The same by kinds of records, and how long services stood failed.
  [[nodiscard]] virtual const Statistics& statistics() const = 0;
  [[nodiscard]] virtual Vitals vitals() const = 0;
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
  /// Lists that cannot be read now, a sentence each; they are among the troubles.
  [[nodiscard]] virtual std::vector<std::string> unread_lists() const = 0;
  /// Rows that are refused now, a sentence each.
  [[nodiscard]] virtual std::vector<std::string> refused_rows() const = 0;
  /// A person's word that a list is right: what is wrong with that, or nothing. `by` names the person.
  virtual std::optional<std::string> accept_list(const std::string& name, const std::string& by) = 0;
  /// Takes a row out that leaves. False: there is no such row.
  virtual bool forget_row(const std::string& row, const std::string& by) = 0;

  // ---- what people ask for
  /// An address that logs a browser in once, in the name of `who`; why there is none.
  [[nodiscard]] virtual std::variant<std::string, Failure> open_login(const Asker& who) = 0;
  /// Hands a command to the engine; its effect::Reply comes back through Commands::reply(), also from within.
  virtual void submit(engine::event::Command command) = 0;
  /// The same of a beat, or of an event.
  virtual void submit(engine::event::Arrived arrived) = 0;
  /// Whether `given` is what `token` stands for, which is read anew; false where that cannot be read, or is empty.
  /// `done` is called once, on the loop thread and not from within.
  virtual void check_token(const std::string& token, std::string given, std::function<void(bool)> done) = 0;
  /// What texts with `${secret:NAME}` stand for, read anew: in their order, and empty what cannot be read. `done` is
  /// called once, on the loop thread and not from within.
  virtual void reveal(std::vector<std::string> texts, std::function<void(std::vector<std::string>)> done) = 0;
  /// The first value that a filter of jq makes of a text, by the helper that has no privileges. Errors: there is none,
  /// and why. `done` is called once, on the loop thread and not from within. `whose` text it is, a service's: whose
  /// filters are slow delays nobody else's.
  virtual void query(std::string whose, std::string filter, std::string text,
                     std::function<void(Result<std::string>)> done) = 0;
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
