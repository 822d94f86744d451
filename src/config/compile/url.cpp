// SPDX-License-Identifier: MIT
#include "config/compile/url.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <system_error>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include <spdlog/fmt/fmt.h>

#include "config/text/secret.hpp"
#include "util/percent.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

/// Behind `scheme://`; the end where there is none.
std::size_t after_scheme(std::string_view url) {
  const std::size_t scheme = url.find("://");
  return scheme == std::string_view::npos ? url.size() : scheme + 3;
}

/// The end of the `${NAME}` that begins a text; 0: none does.
std::size_t reference_at(std::string_view text) {
  if (!text.starts_with("${")) return 0;
  const std::size_t end = text.find('}');
  return end == std::string_view::npos ? 0 : end + 1;
}

/// Where one of these characters first is in a text, but for names of values.
std::size_t find_outside(std::string_view text, std::string_view characters) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (const std::size_t name = reference_at(text.substr(at)); name != 0)
      at += name - 1;
    else if (characters.find(text[at]) != std::string_view::npos)
      return at;
  }
  return std::string_view::npos;
}

/// A text with `change` made of what stands between the names of values.
template <typename Change>
std::string between_names(std::string_view text, Change change) {
  std::string result, plain;
  while (!text.empty()) {
    const bool is_literal = text.starts_with("$${");
    const std::size_t name = is_literal ? 0 : reference_at(text);
    if (name != 0) {
      result += change(std::exchange(plain, {}));
      result += text.substr(0, name);
    } else {
      plain += is_literal ? text.substr(1, 2) : text.substr(0, 1);
    }
    text.remove_prefix(name != 0 ? name : is_literal ? 3 : 1);
  }
  return result + change(plain);
}

std::string as_written(const std::string& plain) {
  std::string text = percent_decoded(plain);
  for (std::size_t at = 0; (at = text.find("${", at)) != std::string::npos; at += 3) text.insert(at, "$");
  return text;
}

}  // namespace

std::pair<std::size_t, std::size_t> password_in_url(std::string_view url) {
  const std::size_t begin = after_scheme(url);
  const std::size_t colon = url.find_first_of(":@[", begin);
  if (colon == std::string_view::npos || url[colon] != ':') return {0, 0};
  const std::size_t at = url.find('@', colon);
  return at == std::string_view::npos ? std::pair<std::size_t, std::size_t>{0, 0} : std::pair{colon + 1, at};
}

bool is_monit_host(std::string_view host) {
  if (host.find(':') != std::string_view::npos) return true;  // an address in brackets
  const auto is_letter = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  };
  const auto is_part = [&](std::string_view part) { return !part.empty() && std::ranges::all_of(part, is_letter); };
  for (std::size_t dot; (dot = host.find('.')) != std::string_view::npos; host.remove_prefix(dot + 1))
    if (!is_part(host.substr(0, dot))) return false;
  return is_part(host);
}

bool is_port(std::string_view port) {
  std::uint16_t number = 0;
  const auto [rest, wrong] = std::from_chars(port.data(), port.data() + port.size(), number);
  return port.empty() || (wrong == std::errc{} && rest == port.data() + port.size() && number != 0);
}

std::string port_problem(std::string_view url) {
  const UrlParts parts = split_url(url);
  const bool is_number = std::ranges::all_of(parts.port, is_digit);
  return is_number && !is_port(parts.port) ? fmt::format("there is no port {}", parts.port) : std::string();
}

std::string shown_url(std::string_view url) {
  const auto [begin, end] = password_in_url(url);
  if (begin == end) return std::string(url);
  return std::string(url.substr(0, begin)) + std::string(kHidden) + std::string(url.substr(end));
}

std::string url_with_login(std::string_view url, const Login& login) {
  const auto encoded = [](std::string_view text) { return between_names(text, percent_encoded); };
  const std::size_t host = after_scheme(url);
  return fmt::format("{}{}:{}@{}", url.substr(0, host), encoded(login.user), encoded(login.password), url.substr(host));
}

std::pair<std::string, std::optional<Login>> without_login(std::string_view url) {
  const std::size_t begin = after_scheme(url);
  const std::string_view rest = url.substr(begin);
  const std::size_t at = find_outside(rest, "@/?#");
  const std::size_t colon = find_outside(rest, ":@/?#");
  if (at == std::string_view::npos || rest[at] != '@' || rest[colon] != ':') return {std::string(url), std::nullopt};
  return {std::string(url.substr(0, begin)) + std::string(rest.substr(at + 1)),
          Login{.user = between_names(rest.substr(0, colon), as_written),
                .password = between_names(rest.substr(colon + 1, at - colon - 1), as_written)}};
}

UrlParts split_url(std::string_view url) {
  UrlParts parts;
  const std::size_t begin = after_scheme(url);
  const std::string scheme = to_lower(url.substr(0, std::min(url.find(':'), url.size())));
  parts.secure = scheme == "https";
  if (begin == url.size() || (scheme != "http" && scheme != "https")) {
    parts.wrong = "this is not an HTTP URL";
    return parts;
  }
  std::string_view rest = url.substr(begin);
  if (const auto [from, to] = password_in_url(url); to != 0) {
    parts.user = url.substr(begin, from - 1 - begin);
    parts.password = url.substr(from, to - from);
    rest = url.substr(to + 1);
  }
  const std::size_t slash = std::min(rest.find_first_of("/?#"), rest.size());
  std::string_view place = rest.substr(0, slash);
  parts.path = rest.substr(slash);
  parts.path.erase(std::min(parts.path.find('#'), parts.path.size()));
  if (!parts.path.starts_with('/')) parts.path.insert(0, "/");
  if (const std::size_t at = place.find('@'); at != std::string_view::npos && !parts.user) {
    parts.user = place.substr(0, at);
    place.remove_prefix(at + 1);
  }
  const bool in_brackets = place.starts_with('[');
  const std::size_t close = in_brackets ? place.find(']') : 0;
  if (close == std::string_view::npos) {
    parts.wrong = "the ']' of its address is missing";
    return parts;
  }
  const std::size_t port = std::min(place.find(':', close), place.size());
  parts.host = in_brackets ? place.substr(1, close - 1) : place.substr(0, port);
  parts.port = place.substr(std::min(port + 1, place.size()));
  if (parts.host.empty()) parts.wrong = "this URL names no host";
  return parts;
}

}  // namespace healer::config
