// SPDX-License-Identifier: MIT
#include "web/access.hpp"

#include <openssl/evp.h>

#include <algorithm>

#include "util/secrets/same_secret.hpp"
#include "util/text.hpp"

namespace healer::web {
namespace {

bool is_scheme(std::string_view authorization, std::string_view scheme) {
  return authorization.size() > scheme.size() && authorization[scheme.size()] == ' ' &&
         iequals(authorization.substr(0, scheme.size()), scheme);
}

}  // namespace

AccessRules AccessRules::nobody() {
  AccessRules rules;
  rules.names_hosts = true;
  rules.users.push_back({});  // a password is needed, and none is right
  return rules;
}

bool AccessRules::allows_host(std::string_view address) const {
  if (!names_hosts) return true;
  return std::ranges::any_of(networks, [&](const Network& one) { return one.contains(address); });
}

bool AccessRules::trusts_proxy(std::string_view address) const {
  return std::ranges::any_of(proxies, [&](const Network& one) { return one.contains(address); });
}

std::optional<control::Asker> AccessRules::asker_of_token(std::string_view token) const {
  std::optional<control::Asker> found;
  for (const BearerToken& known : tokens)
    if (is_same_secret(known.token, token) && !found) found = control::Asker{.name = known.name, .role = known.role};
  return found;
}

std::optional<BasicLogin> basic_login(std::string_view authorization) {
  if (!is_scheme(authorization, "Basic")) return std::nullopt;
  std::string_view text = authorization.substr(6);
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  std::string decoded(text.size() / 4 * 3, '\0');
  if (EVP_DecodeBlock(reinterpret_cast<unsigned char*>(decoded.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size())) < 0)
    return std::nullopt;
  decoded.resize(decoded.size() - (text.ends_with("==") ? 2U : text.ends_with('=') ? 1U : 0U));
  const std::size_t colon = decoded.find(':');
  // What ends at a zero byte to those who check it would have another name here.
  if (colon == std::string::npos || decoded.find('\0') != std::string::npos) return std::nullopt;
  return BasicLogin{.user = decoded.substr(0, colon), .password = decoded.substr(colon + 1)};
}

std::optional<std::string_view> bearer_token(std::string_view authorization) {
  if (!is_scheme(authorization, "Bearer")) return std::nullopt;
  return authorization.substr(7);
}

}  // namespace healer::web
