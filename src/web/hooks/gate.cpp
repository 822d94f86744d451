// SPDX-License-Identifier: MIT
#include "web/hooks/gate.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "util/text.hpp"
#include "web/access.hpp"

namespace healer::web {
namespace {

constexpr std::string_view kHash = "sha256:";

/// A hash as people write it: "AB:CD ..." is "abcd...".
std::string plain_hash(std::string_view written) {
  std::string digits;
  for (const char c : written)
    if (c != ':' && c != ' ') digits += lower(c);
  return digits;
}

bool has_any(const Request& request, const auto& names) {
  return std::ranges::any_of(names, [&](std::string_view name) { return request.header(name).has_value(); });
}

}  // namespace

std::optional<std::string_view> given_token(const Request& request) {
  std::optional<std::string_view> token;
  if (const auto authorization = request.header("Authorization")) token = bearer_token(*authorization);
  if (!token) token = find(request.query, "token");
  return token && !token->empty() ? token : std::nullopt;
}

bool shows_certificate(const Request& request, std::string_view wanted) {
  if (wanted.empty() || !request.certificate) return false;
  if (wanted.size() >= kHash.size() && iequals(wanted.substr(0, kHash.size()), kHash)) {
    const std::string hash = plain_hash(wanted.substr(kHash.size()));
    return !hash.empty() && hash == request.certificate->sha256;
  }
  return wanted == request.certificate->name;
}

bool is_from_here(const Request& request, std::string_view host, std::string_view url) {
  constexpr std::array<std::string_view, 4> kOfProxies{"Forwarded", "X-Forwarded-For", "X-Real-IP", "Via"};
  static const auto v4 = Network::parse("127.0.0.0/8"), v6 = Network::parse("::1");
  // No page of a browser comes by a unix socket, whatever it names.
  const bool is_local = request.peer.empty() || ((v4->contains(request.peer) || v6->contains(request.peer)) &&
                                                 names_machine(request, host, url));
  return is_local && !has_any(request, kOfProxies) && !is_from_browser(request);
}

}  // namespace healer::web
