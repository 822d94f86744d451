// SPDX-License-Identifier: MIT
// What the commands of the control socket mean: the Handler behind the server. Reading ones look at the engine's views
// page by page as the client reads, and at the store's history on a thread of their own, since a disk may hang. Those
// that act become engine commands or calls of the daemon, and are answered when the thing has happened.
//
// Everything here is called on the loop thread, between two calls of Engine::handle. Must outlive the Server.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "control/readers/record_tail.hpp"
#include "control/socket/server.hpp"
#include "control/supervisor.hpp"
#include "engine/events/effect.hpp"

namespace healer::control {

class Commands : public Handler {
 public:
  /// `tail`: how many records are at hand for those who follow the history.
  explicit Commands(Supervisor& daemon, TailBounds tail = {});
  ~Commands() override;

  [[nodiscard]] std::unique_ptr<Answer> handle(const Request& request, const Peer& peer, Wake wake) override;

  /// A command of this has happened. Replies to other commands are ignored.
  void reply(const engine::effect::Reply& reply);
  /// Records that have come, in the order of their numbers: told when they may be.
  void add(std::span<const engine::Record> records);
  /// What has come up to this commit is on disk, or goes on without it: whoever follows the history is told.
  void recorded(engine::Sequence up_to);
  /// The daemon ends in good order, and no more will be recorded: whoever follows the history gets what is left of it
  /// and a proper end, also who begins to later. `done` is called once, also from within, when each has been given to
  /// the server; never where a disk does not answer or a client does not read.
  void end_followers(std::function<void()> done);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace healer::control
