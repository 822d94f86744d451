// SPDX-License-Identifier: MIT
// What the commands of the control socket mean: the Handler behind the server. Reading ones look at the engine's views
// page by page as the client reads, and at the store's history on a thread of their own, since a disk may hang. Those
// that act become engine commands or calls of the daemon, and are answered when the thing has happened.
//
// Everything here is called on the loop thread, between two calls of Engine::handle. Must outlive the Server.
#pragma once

#include <functional>
#include <memory>

#include "control/server.hpp"
#include "control/supervisor.hpp"
#include "engine/events/effect.hpp"

namespace healer::control {

class Commands : public Handler {
 public:
  explicit Commands(Supervisor& daemon);
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
