// SPDX-License-Identifier: MIT
// Everything that is answered over HTTP: who asks, whether he may, whether it is really he, and then his route.
//
// A request that changes something and comes from a browser, or by a login's cookie, needs the token of one of our own
// pages; programs go by their password or token alone. Who is refused too often waits; it is recorded, and tells nobody
// which users there are.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "util/time.hpp"
#include "web/access.hpp"
#include "web/logins.hpp"
#include "web/message.hpp"
#include "web/router.hpp"

namespace healer::web {

/// Checks passwords that take time: made by crypt(), or known to PAM.
class PasswordChecker {
 public:
  virtual ~PasswordChecker() = default;
  /// Calls `done` with the role, or nothing, once, on the loop; maybe from within.
  virtual void check(const AccessRules& rules, const BasicLogin& login,
                     std::function<void(std::optional<engine::Role>)> done) = 0;
};

/// By which way a request has come.
struct Way {
  bool read_only = false;  ///< nobody may change anything who comes this way
};

struct SiteOptions {
  AccessRules access;
  std::string host;    ///< of this machine
  std::string url;     ///< `set url`; or empty
  std::string server;  ///< the header `Server`; empty: none

  bool operator==(const SiteOptions&) const = default;
};

class Site {
 public:
  struct Machine {
    std::function<Instant()> now;
    std::function<std::string()> random;  ///< 32 hexadecimal digits that nobody can guess
    /// A sentence for the log: who was refused.
    std::function<void(const std::string&)> refused;
    PasswordChecker* passwords = nullptr;
    /// Calls `what` after so long.
    std::function<void(Duration after, std::function<void()> what)> later;
  };

  explicit Site(Machine machine);

  /// Who may ask from now on. Whether that has changed: then all logins have ended.
  bool use(SiteOptions options);
  void add(std::vector<Route> routes) { router_.add(std::move(routes)); }

  [[nodiscard]] Reply handle(const Request& request, const Way& way, Wake wake);

  [[nodiscard]] const Router& router() const { return router_; }
  [[nodiscard]] Logins& logins() { return *logins_; }
  /// The address for a person who logs in with this token; empty: nothing is said where the site is.
  [[nodiscard]] const SiteOptions& options() const { return options_; }

 private:
  class Judging;
  friend class Judging;

  /// The name of the cookie of a login.
  static constexpr std::string_view kCookie = "healer_login";

  struct Visitor {
    control::Asker who;
    std::string cookie{};  ///< by which he is logged in; empty: by something else, or nothing
    KnownBy known_by = KnownBy::Nothing;
  };
  struct Refusals {
    unsigned count = 0;
    Duration last{0};
  };

  using Judged = std::function<Reply(std::optional<engine::Role>)>;
  /// Tells `response` when whoever has sent a wrong token has waited for it.
  [[nodiscard]] Reply later(const std::string& client, Wake wake, Response response);
  [[nodiscard]] Reply judge(const std::string& client, const BasicLogin& login, Wake wake, Judged then);
  [[nodiscard]] std::string client_of(const Request& request) const;
  [[nodiscard]] std::optional<Response> forged(const Request& request, const Visitor& visitor) const;
  [[nodiscard]] Reply serve(const Request& request, const Way& way, const Route& route,
                            std::vector<std::string> captured, Visitor visitor, Wake wake);
  [[nodiscard]] Response finish(const Request& request, Response response) const;
  [[nodiscard]] Response refuse(const std::string& client, const std::string& tried);
  void report_refusal(const std::string& client, const std::string& tried);
  /// How long somebody at that address waits for the answer to a wrong password.
  Duration penalty(const std::string& client);
  [[nodiscard]] std::vector<Route> login_routes();

  Machine machine_;
  SiteOptions options_;
  Router router_;
  std::unique_ptr<Logins> logins_;
  std::uint64_t round_ = 0;                   ///< grows whenever it changes who may ask
  std::map<std::string, Refusals> refusals_;  ///< by address; bounded
  Duration reported_{-60'000};                ///< when the log was last told of a refusal
  std::size_t unreported_ = 0;                ///< refusals since then
  std::string last_refused_;                  ///< who was refused last
};

}  // namespace healer::web
