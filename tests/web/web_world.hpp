// SPDX-License-Identifier: MIT
// Routes without a server: requests go to a router in the name of somebody, on the thread that owns a DaemonWorld's
// engine.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/daemon_world.hpp"
#include "web/backend.hpp"
#include "web/router.hpp"

namespace healer::test {

/// Everything that a stream or a text says.
[[nodiscard]] std::string body_of(web::Response& response);

class WebWorld {
 public:
  /// `routes`: what is tried, of the world's backend.
  template <typename Routes>
  WebWorld(RuleSet rules, Routes routes) : daemon_(std::move(rules)) {
    daemon_.act([&](World&) { router_.add(routes(web::Backend{daemon_.supervisor(), daemon_.commands()})); });
  }

  [[nodiscard]] DaemonWorld& daemon() { return daemon_; }
  /// What `who` is answered, whose role has been judged by the route. Requires: the answer does not wait for something
  /// yet to happen. The body is read to its end.
  web::Response get(const std::string& target, const control::Asker& who = admin());
  web::Response post(const std::string& path, web::Fields form, const control::Asker& who = admin());
  web::Response send(const web::Request& request, const control::Asker& who = admin());
  /// The answer with its stream, if it has one. `wake`: has that pulled again. On the engine's thread.
  web::Reply ask(const web::Request& request, web::Wake wake, const control::Asker& who = admin());
  [[nodiscard]] const web::Router& router() const { return router_; }

  [[nodiscard]] static control::Asker admin() { return {.name = "admin", .role = Role::Admin}; }
  [[nodiscard]] static control::Asker reader() { return {.name = "reader", .role = Role::ReadOnly}; }

 private:
  DaemonWorld daemon_;
  web::Router router_;
};

}  // namespace healer::test
