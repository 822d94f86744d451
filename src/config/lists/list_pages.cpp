// SPDX-License-Identifier: MIT
#include "config/lists/list_pages.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <spdlog/fmt/fmt.h>

#include "config/compile/url.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

/// "https://host:8443" of a URL; empty: it has none.
std::string_view origin_of(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return {};
  return url.substr(0, url.find_first_of("/?#", scheme + 3));
}

/// "https://host:443" of an origin, without a login.
std::string server_of(std::string_view origin) {
  std::string server = to_lower(without_login(origin).first);
  const std::size_t host = server.find("://") + 3;
  const std::size_t colon = server.rfind(':');
  const bool has_port = colon != std::string::npos && colon >= host && server.find(']', colon) == std::string::npos;
  if (!has_port) server += server.starts_with("https:") ? ":443" : ":80";
  return server;
}

}  // namespace

Result<std::string> next_page(const std::string& here, const std::string& place) {
  const bool has_controls =
      std::ranges::any_of(place, [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7F; });
  if (has_controls) return Error{0, "the place of its next page is no URL"};
  const std::string_view origin = origin_of(here);
  std::string_view path = std::string_view(here).substr(origin.size());
  path = path.substr(0, path.find('#'));
  if (const std::string_view other = origin_of(place);
      !other.empty() && place.find("://") < place.find_first_of("/?#")) {
    if (server_of(other) != server_of(origin))
      return Error{0, fmt::format("its next page is at another server, {}", printable(without_login(other).first))};
    return std::string(origin) + place.substr(other.size());  // with the login of this one
  }
  if (place.starts_with("//")) return Error{0, "its next page is at another server"};
  const std::string_view plain = path.substr(0, path.find('?'));
  if (place.starts_with('/')) return std::string(origin) + place;
  if (place.starts_with('?')) return fmt::format("{}{}{}", origin, plain.empty() ? "/" : plain, place);
  const std::size_t folder = plain.rfind('/');
  return fmt::format("{}{}/{}", origin, folder == std::string_view::npos ? "" : plain.substr(0, folder), place);
}

std::string next_link(const std::vector<std::string>& head) {
  for (const std::string& line : head) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || !iequals(trim(std::string_view(line).substr(0, colon)), "link")) continue;
    std::string_view rest = std::string_view(line).substr(colon + 1);
    for (std::size_t open = rest.find('<'); open != std::string_view::npos; open = rest.find('<')) {
      const std::size_t close = rest.find('>', open);
      if (close == std::string_view::npos) break;
      const std::string_view place = rest.substr(open + 1, close - open - 1);
      rest.remove_prefix(close + 1);
      const std::string words = to_lower(rest.substr(0, rest.find('<')));  // up to the next link
      const std::size_t rel = words.find("rel=");
      if (rel == std::string::npos) continue;
      std::string_view relation = std::string_view(words).substr(rel + 4);
      relation = relation.starts_with('"') ? relation.substr(1, relation.find('"', 1) - 1)
                                           : relation.substr(0, relation.find_first_of(";, "));
      if (relation == "next") return std::string(place);
    }
  }
  return {};
}

}  // namespace healer::config
