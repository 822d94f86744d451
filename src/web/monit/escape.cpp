// SPDX-License-Identifier: MIT
#include "web/monit/escape.hpp"

#include <spdlog/fmt/fmt.h>

#include "util/text.hpp"

namespace healer::web::monit {
namespace {

/// Control characters that no document of XML 1.0 may have.
bool is_forbidden(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f;
}

std::string escape(std::string_view text, bool quotes) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"' && quotes)
      out += "&quot;";
    else if (c == '\'' && quotes)
      out += "&#39;";
    else
      out += is_forbidden(c) ? '?' : c;
  }
  return out;
}

}  // namespace

std::string escaped(std::string_view text) { return escape(text, true); }
std::string escaped_between(std::string_view text) { return escape(text, false); }

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
