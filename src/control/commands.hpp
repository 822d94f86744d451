// SPDX-License-Identifier: MIT
// What the commands of the control socket mean: the Handler behind the server. Reading ones look at the engine's views
// page by page as the client reads, and at the store's history on a thread of their own, since a disk may hang. Those
// that act become engine commands or calls of the daemon, and are answered when the thing has happened.
//
// Everything here is called on the loop thread, between two calls of Engine::handle. Must outlive the Server.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/server.hpp"
#include "engine/engine.hpp"
#include "engine/event.hpp"
#include "store/store.hpp"

namespace healer::control {

/// How a load of the rules files went.
struct ReloadOutcome {
  bool ok = true;
  std::string text;  ///< for a person: the diagnostics, a line each, and what has changed
  std::vector<DiagnosticView> diagnostics{};
  std::optional<ChangesView> changes{};
};

/// What the commands need of the daemon. All of it lives longer than they.
struct DaemonHooks {
  const engine::Engine& engine;
  const store::Store& store;
  std::function<Instant()> now;
  /// Hands a command to the engine; its effect::Reply comes back through Commands::reply(), also from within.
  std::function<void(engine::event::Command)> submit;
  /// Loads the rules files again and tells how it went. `done` is called on the loop thread, also from within, and
  /// exactly once. `confirmed`: also where processes of healer's own end by it that a person may have forgotten.
  std::function<void(bool confirmed, std::function<void(ReloadOutcome)> done)> reload;
  /// Begins the orderly end, and returns what that waits for, a sentence each. The client learns of it by the end of
  /// the connection.
  std::function<std::vector<std::string>()> quit;
  /// Where the program of an action writes its output.
  std::function<std::string(engine::ActionId)> output_path;
  /// Whether nothing of what it writes may be shown; may be empty.
  std::function<bool(engine::ActionId)> hides_output{};
  /// The secrets that are to be struck out of it, else, for any thread to ask; may be empty.
  std::function<std::function<std::vector<std::string>()>(engine::ActionId)> given_secrets{};
  /// What the daemon has done since it started; may be empty.
  std::function<CountsView()> counts;
  /// The mails that wait; may be empty.
  std::function<std::optional<MailView>()> mail;
  /// What the daemon lacks now, a sentence each; may be empty.
  std::function<std::vector<std::string>()> troubles{};
  std::function<std::vector<std::string>()> damages{};
  std::string version;
  /// Loads the rules files and tells what a reload would change; `done` as above. May be empty.
  std::function<void(std::function<void(ReloadOutcome)> done)> diff{};
  /// Where the rules in force are not those on disk: why. May be empty.
  std::function<std::optional<StaleView>()> stale{};
  /// What is known of the lists of rows, as text. May be empty, as the next two.
  std::function<std::string()> lists{};
  /// Rows of lists that are refused now, a sentence each.
  std::function<std::vector<std::string>()> refused_rows{};
  /// A person's word that a list is right: what is wrong with that, or nothing. `by` names the person.
  std::function<std::optional<std::string>(const std::string& name, const std::string& by)> accept_list{};
  /// Takes a row out that leaves. False: there is no such row.
  std::function<bool(const std::string& row, const std::string& by)> forget_row{};
};

class Commands : public Handler {
 public:
  explicit Commands(DaemonHooks daemon);
  ~Commands() override;

  [[nodiscard]] std::unique_ptr<Answer> handle(const Request& request, const Peer& peer, Wake wake) override;

  /// A command of this has happened. Replies to other commands are ignored.
  void reply(const engine::effect::Reply& reply);
  /// More of the history can be read from the store: whoever follows it is told. Call it when a commit is durable.
  void recorded();
  /// The daemon ends in good order, and no more will be recorded: whoever follows the history gets what is left of it
  /// and a proper end, also who begins to later. `done` is called once, also from within, when each has been given to
  /// the server; never where a disk does not answer or a client does not read.
  void end_followers(std::function<void()> done);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace healer::control
