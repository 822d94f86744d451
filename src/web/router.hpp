// SPDX-License-Identifier: MIT
// Which function answers which method and path, and what one must be to ask it: one table of routes, to which each part
// of the HTTP side adds its own. Nothing is answered that has no row, and a row cannot be written without a role.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "control/permissions.hpp"
#include "web/message.hpp"

namespace healer::web {

/// How it is known who asks.
enum class KnownBy : std::uint8_t { Nothing, Password, Token, Cookie };

/// A request that may be made, with what its route has found in the path.
struct Call {
  const Request& request;
  const control::Asker& who;
  std::string token{};                  ///< what a form of this page must send back (`securitytoken`)
  std::vector<std::string> captured{};  ///< what stands in the path for each {name} of the pattern
  Wake wake{};                          ///< has a Deferred or a Stream of the reply asked again
  KnownBy known_by = KnownBy::Nothing;
  bool read_only = false;  ///< nobody may change anything who comes this way: roles have been cut down already
};

using Handle = std::function<Reply(const Call&)>;

/// How a request is protected that acts.
enum class Protection : std::uint8_t {
  Token,  ///< from a browser it needs the token of a page of ours: see web/forgery
  None    ///< it has a secret of its own: a hook, a beat, a login
};

struct Route {
  Method method = Method::Get;  ///< Get: Head as well
  std::string pattern;          ///< "/api/v1/services/{name}": a part in braces is whatever stands between two slashes
                                ///< one that ends in dots, as in "/hooks/{path...}", all of the rest
  control::Least least = control::Least::Admin;
  Handle handle;
  Protection protection = Protection::Token;
};

class Router {
 public:
  /// Adds routes. Requires: no other has the same method and pattern. Where several match a path the one with the
  /// longer text before its first {name} is taken.
  void add(std::vector<Route> routes);

  struct Found {
    const Route* route = nullptr;
    std::vector<std::string> captured;
  };
  /// The route's path exists, but not with that method.
  struct WrongMethod {
    std::vector<Method> allowed;
  };
  struct Unknown {};
  [[nodiscard]] std::variant<Unknown, WrongMethod, Found> find(Method method, std::string_view path) const;

  /// All of them, for tests and documents.
  [[nodiscard]] const std::vector<Route>& routes() const { return routes_; }

 private:
  std::vector<Route> routes_;
};

}  // namespace healer::web
