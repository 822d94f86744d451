// SPDX-License-Identifier: MIT
// `event` and `events`: events for a `check event` are handed to the engine, one by one, and those that came are told.
// A body is read as the hook's format says; filters of jq that the rules ask for are run elsewhere meanwhile.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "control/permissions.hpp"
#include "control/socket/server.hpp"
#include "control/supervisor.hpp"
#include "control/wire.hpp"
#include "engine/events/effect.hpp"
#include "engine/ids.hpp"

namespace healer::control {

class EventDesk {
 public:
  /// Numbers that nobody else gives to a command.
  using Numbers = std::function<engine::CommandId()>;

  /// Requires: `daemon` outlives it.
  EventDesk(Supervisor& daemon, Numbers numbers);
  ~EventDesk();
  EventDesk(const EventDesk&) = delete;
  EventDesk& operator=(const EventDesk&) = delete;

  [[nodiscard]] std::unique_ptr<Answer> send(const Request& request, const Peer& peer, Wake wake);
  [[nodiscard]] std::unique_ptr<Answer> list(const Request& request) const;
  /// The engine has answered; false: it is no event's.
  bool reply(const engine::effect::Reply& reply);

 private:
  struct Sending;
  void read_body(const std::shared_ptr<Sending>& sending, const std::string& body);
  void find_key(const std::shared_ptr<Sending>& sending, const std::string& body);
  void find_state(const std::shared_ptr<Sending>& sending, const std::string& body, const Result<std::string>& key);
  void submit(const std::shared_ptr<Sending>& sending);
  void submit_some(Sending& sending, const std::weak_ptr<Sending>& weak);
  void preview(const std::shared_ptr<Sending>& sending, std::size_t at);
  void preview_rules(const std::shared_ptr<Sending>& sending, std::size_t at,
                     std::shared_ptr<std::vector<engine::ValueSeen>> values);
  [[nodiscard]] std::string preview_text(const OccurrenceSent& one, engine::ServiceId service,
                                         const std::vector<engine::ValueSeen>& values) const;

  Supervisor& daemon_;
  Numbers numbers_;
  std::map<engine::CommandId, std::pair<std::weak_ptr<Sending>, std::size_t>> pending_;  // and which of its events
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

/// What is known of an event, for people and programs.
[[nodiscard]] EventView view_event(const engine::Occurrence& event);

}  // namespace healer::control
