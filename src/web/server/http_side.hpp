// SPDX-License-Identifier: MIT
// The HTTP side as a whole: what `set httpd` says becomes sockets, TLS, passwords, and the site that answers.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "control/permissions.hpp"
#include "engine/rules/settings.hpp"
#include "runtime/loop.hpp"
#include "runtime/net/handed_sockets.hpp"
#include "web/server/listeners.hpp"
#include "web/site.hpp"

namespace healer::web {

/// Where is listened: as these settings say, with the sockets that were handed over in place of what they are.
[[nodiscard]] std::vector<Endpoint> endpoints_of(const engine::HttpdSettings& settings,
                                                 const std::vector<runtime::HandedSocket>& handed);

class HttpSide {
 public:
  struct Machine {
    std::string host;                                                  ///< of this machine
    std::string version;                                               ///< of healer
    std::function<void(bool failed, const std::string& text)> report;  ///< a sentence for the log
    /// What systemd has opened for it: those named `http`, and those whose port or path `set httpd` names, take the
    /// place of its own. Not null.
    std::shared_ptr<const std::vector<runtime::HandedSocket>> handed =
        std::make_shared<const std::vector<runtime::HandedSocket>>();
  };

  HttpSide(runtime::Loop& loop, Machine machine);
  /// Closes everything.
  ~HttpSide();
  HttpSide(const HttpSide&) = delete;
  HttpSide& operator=(const HttpSide&) = delete;

  void add(std::vector<Route> routes);
  /// Listens and lets in as these settings say, from now on; in shadow mode nobody is listened to.
  void use(const engine::Settings& settings);
  /// An address that logs a browser in once, in the name of `who`; why there is none.
  [[nodiscard]] std::variant<std::string, control::Failure> open_login(const control::Asker& who);
  /// What keeps people out now who should be let in, a sentence each.
  [[nodiscard]] std::vector<std::string> troubles() const;
  /// Whether all that has been answered has been given to the clients, or to the machine to be sent.
  [[nodiscard]] bool is_quiet() const;
  [[nodiscard]] Site& site();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace healer::web
