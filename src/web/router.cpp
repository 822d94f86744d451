// SPDX-License-Identifier: MIT
#include "web/router.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

namespace healer::web {
namespace {

/// What stands for each {name}; none: the path is not of this pattern.
std::optional<std::vector<std::string>> match(std::string_view pattern, std::string_view path) {
  std::vector<std::string> captured;
  while (true) {
    const std::size_t open = pattern.find('{');
    if (open == std::string_view::npos) return pattern == path ? std::optional(std::move(captured)) : std::nullopt;
    if (!path.starts_with(pattern.substr(0, open))) return std::nullopt;
    path.remove_prefix(open);
    const bool takes_rest = pattern.substr(0, pattern.find('}')).ends_with("...");
    pattern.remove_prefix(pattern.find('}') + 1);
    const std::string_view value =
        takes_rest ? path : path.substr(0, path.find(pattern.empty() ? '/' : pattern.front()));
    if (value.empty()) return std::nullopt;
    std::ranges::replace(captured.emplace_back(value), kEncodedSlash, '/');
    path.remove_prefix(value.size());
  }
}

std::size_t fixed_part(const Route& route) { return std::min(route.pattern.find('{'), route.pattern.size() + 1); }

}  // namespace

void Router::add(std::vector<Route> routes) {
  std::ranges::move(routes, std::back_inserter(routes_));
  std::ranges::stable_sort(routes_, std::greater{}, fixed_part);
}

std::variant<Router::Unknown, Router::WrongMethod, Router::Found> Router::find(Method method,
                                                                               std::string_view path) const {
  const Method wanted = method == Method::Head ? Method::Get : method;
  WrongMethod wrong;
  for (const Route& route : routes_) {
    auto captured = match(route.pattern, path);
    if (!captured) continue;
    if (route.method == wanted) return Found{&route, std::move(*captured)};
    if (std::ranges::find(wrong.allowed, route.method) == wrong.allowed.end()) wrong.allowed.push_back(route.method);
  }
  if (wrong.allowed.empty()) return Unknown{};
  return wrong;
}

}  // namespace healer::web
