// SPDX-License-Identifier: MIT
#include "web/monit/escape.hpp"

#include <algorithm>

#include <spdlog/fmt/fmt.h>

#include "util/text.hpp"
#include "web/html.hpp"

namespace healer::web::monit {
namespace {

/// Control characters that no document of XML 1.0 may have.
bool is_forbidden(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out = html_escaped(text);
  std::ranges::replace_if(out, is_forbidden, '?');
  return out;
}

std::string escaped_between(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'' || c == '"')
      out += c;
    else
      out += escaped(std::string_view(&c, 1));
  }
  return out;
}

std::string cdata(std::string_view text) {
  std::string out = "<![CDATA[";
  for (const char c : text) {
    if (c == '>' && out.ends_with("]]"))
      out += "&gt;";  // as Monit
    else
      out += is_forbidden(c) ? '?' : c;
  }
  return out + "]]>";
}

std::string encoded_request(std::string_view request) {
  constexpr std::string_view kUnsafe = " <>\"{}|\\^[]`";
  std::string out;
  for (const char c : request) {
    const auto byte = static_cast<unsigned char>(c);
    const bool safe = byte > 0x20 && byte < 0x7f && kUnsafe.find(c) == std::string_view::npos;
    out += safe ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return out;
}

std::string link_to(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '-' || c == '_' ||
                       c == '~' || (c == '.' && name != "." && name != "..");
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace healer::web::monit
