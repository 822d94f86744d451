// SPDX-License-Identifier: MIT
// All by which a daemon acts: programs, requests of healings, and the socket where foreground processes say that they
// are ready; jobs of systemd it hands to Measuring's units. Owns these, and reads the rules in force and what runs from
// the engine; what comes of acts is told to the engine by Handle. On the loop thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actions/environment.hpp"
#include "control/supervisor.hpp"
#include "daemon/paths.hpp"
#include "daemon/shells/measuring.hpp"
#include "engine/engine.hpp"
#include "engine/events/effect.hpp"
#include "engine/events/event.hpp"
#include "engine/ids.hpp"
#include "runtime/log/log.hpp"
#include "runtime/loop.hpp"
#include "runtime/net/http_caller.hpp"
#include "runtime/process/ready_socket.hpp"
#include "runtime/programs/action_runner.hpp"

namespace healer {

class Acting {
 public:
  /// With what it acts. All of them outlive it, but for `base`: that need not be there when it goes.
  struct Parts {
    runtime::Loop& loop;
    runtime::Log& log;
    const Paths& paths;
    const engine::Engine& engine;
    Measuring& measuring;
    const actions::BaseEnvironment& base;  ///< of programs, by the rules in force
  };
  /// Tells the engine.
  using Handle = std::function<void(const engine::Event&)>;

  Acting(Parts parts, Handle handle);

  // ---- what the engine asks for
  void start(const engine::effect::Exec& effect);
  void end(engine::effect::EndAction& effect);
  void watch(const engine::effect::Watch& effect);
  void adopt(const engine::effect::Adopt& effect);
  void request(engine::effect::Request effect);
  void end(const engine::effect::EndRequest& effect);

  // ---- what is on disk of programs
  /// Whether there is something of an action that stays until its end is in the journal.
  [[nodiscard]] bool keeps(engine::ActionId action) const {
    return actions_->has_record(action) || actions_->keeps_secrets(action);
  }
  /// The ends of these are in the journal.
  void settle(const std::vector<engine::ActionId>& actions) { actions_->settle(actions); }
  /// Whether nothing of the output of a program may be shown.
  [[nodiscard]] bool hides_output(engine::ActionId action) const {
    return parts_.engine.healings().askers().saves_secret(action) || actions_->hides_output(action);
  }
  /// As control::Supervisor::given_secrets().
  [[nodiscard]] control::Supervisor::Secrets given_secrets(engine::ActionId action) const {
    return actions_->given_secrets(action);
  }

  /// Who makes requests, for others, too.
  [[nodiscard]] runtime::HttpCaller& caller();

 private:
  void action_ended(const engine::event::ActionEnded& ended);
  std::string receive_notices();
  void warn_if_never_ready(const engine::effect::Exec& effect);
  void inspect_secrets(const engine::effect::Request& request);

  Parts parts_;
  Handle handle_;
  std::unique_ptr<runtime::ActionRunner> actions_;
  std::unique_ptr<runtime::HttpCaller> caller_;  ///< made when it is first asked
  std::unique_ptr<runtime::ReadySocket> ready_;
};

}  // namespace healer
