// SPDX-License-Identifier: MIT
#include "protocols/redirect.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include <spdlog/fmt/fmt.h>

#include "protocols/quote.hpp"
#include "util/text.hpp"

namespace healer::protocols {
namespace {

struct Place {
  bool secure = false;
  std::string host;
  std::uint16_t port = 0;
};

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
         c == '_' || c == ':' || c == '%';
}

/// `user@host:port`, `[::1]`; false where it is none.
bool read_authority(std::string_view text, Place& place) {
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) text.remove_prefix(at + 1);
  const bool v6 = text.starts_with('[');
  const std::size_t close = v6 ? text.find(']') : 0;
  if (close == std::string_view::npos) return false;
  const std::size_t colon = text.find(':', close);
  place.host = v6 ? text.substr(1, close - 1) : text.substr(0, colon);
  if (colon != std::string_view::npos && colon + 1 < text.size()) {
    const char* const end = text.data() + text.size();
    const auto [rest, wrong] = std::from_chars(text.data() + colon + 1, end, place.port);
    if (wrong != std::errc{} || rest != end || place.port == 0) return false;
  }
  return !place.host.empty() && std::ranges::all_of(place.host, is_host_character);
}

bool is_body(std::string_view word) { return word == "body"; }
bool is_personal(std::string_view word) {
  return word == "username" || word == "password" || word == "headers" || word == "hostheader";
}

/// The path of `old` with `url`, which is one or what follows its last '/'.
std::string path_from(std::string_view old, std::string_view url) {
  if (url.starts_with('/')) return std::string(url);
  old = old.substr(0, old.find('?'));
  if (url.starts_with('?')) return std::string(old) + std::string(url);
  const std::size_t slash = old.rfind('/');
  return std::string(slash == std::string_view::npos ? "/" : old.substr(0, slash + 1)) + std::string(url);
}

}  // namespace

Result<ProbePlan> redirected(const ProbePlan& plan, const Want::Elsewhere& place) {
  const auto setting = [&](std::string_view word) { return std::ranges::find(plan.settings, word, &Setting::word); };
  const auto no_place = [&] {
    return Error{0, fmt::format("it redirects to {}, which is not a URL", quote(place.url))};
  };
  std::string_view url = trim(place.url);
  url = url.substr(0, url.find('#'));
  Place to{.secure = plan.tls.has_value(), .host = plan.host, .port = plan.port};
  const std::size_t scheme = url.find("://");
  const bool has_scheme = scheme != std::string_view::npos && scheme < url.find_first_of("/?");
  bool is_same = true;
  if (has_scheme || url.starts_with("//")) {
    if (has_scheme) {
      to.secure = iequals(url.substr(0, scheme), "https");
      if (!to.secure && !iequals(url.substr(0, scheme), "http")) return no_place();
      url.remove_prefix(scheme + 1);
    }
    url.remove_prefix(2);
    const std::size_t end = std::min(url.find_first_of("/?"), url.size());
    to.port = 0;
    if (!read_authority(url.substr(0, end), to)) return no_place();
    if (to.port == 0) to.port = to.secure ? 443 : 80;
    url.remove_prefix(end);
    is_same = plan.transport != Transport::Unix && iequals(to.host, plan.host) && to.port == plan.port &&
              to.secure == plan.tls.has_value();
  }
  const auto old = setting("request");
  const std::string old_path = old != plan.settings.end() && !old->text.empty() ? old->text : "/";
  const bool has_authority = has_scheme || trim(place.url).starts_with("//");
  std::string path =
      has_authority ? std::string(url.starts_with('/') ? "" : "/") + std::string(url) : path_from(old_path, url);
  if (plan.tls && !to.secure) return Error{0, fmt::format("it redirects out of TLS, to {}", quote(place.url))};
  const bool has_body = place.keeps_method && setting("body") != plan.settings.end();
  if (!is_same && has_body)
    return Error{0, fmt::format("it redirects what is sent to another place: {}", quote(place.url))};

  ProbePlan next = plan;
  if (has_authority && plan.transport == Transport::Unix) next.transport = Transport::Tcp;
  next.host = to.host;
  next.port = to.port;
  next.protocol = find_protocol(to.secure ? "https" : "http");
  if (to.secure && !next.tls) next.tls.emplace();
  if (!is_same && next.tls) next.tls->checksum.clear(), next.tls->client_certificate.clear();
  std::erase_if(next.settings, [&](const Setting& one) {
    if (one.word == "request" || (!is_same && is_personal(one.word))) return true;
    return !place.keeps_method && (is_body(one.word) || (one.word == "method" && one.text != "head"));
  });
  for (Setting& one : next.settings)
    if (one.word == "redirects") --one.number;
  next.settings.push_back({.word = next.protocol->find("request")->word, .text = std::move(path)});
  return next;
}

}  // namespace healer::protocols
