// SPDX-License-Identifier: MIT
#include "web/message.hpp"

#include <algorithm>
#include <array>

#include "util/network.hpp"
#include "util/percent.hpp"
#include "util/text.hpp"

namespace healer::web {
namespace {

constexpr std::array<std::pair<std::string_view, Method>, 7> kMethods{{{"GET", Method::Get},
                                                                       {"HEAD", Method::Head},
                                                                       {"POST", Method::Post},
                                                                       {"PUT", Method::Put},
                                                                       {"PATCH", Method::Patch},
                                                                       {"DELETE", Method::Delete},
                                                                       {"OPTIONS", Method::Options}}};

}  // namespace

Method method_of(std::string_view name) {
  const auto* const found = std::ranges::find(kMethods, name, &std::pair<std::string_view, Method>::first);
  return found == kMethods.end() ? Method::Other : found->second;
}

std::string_view to_string(Method method) {
  const auto* const found = std::ranges::find(kMethods, method, &std::pair<std::string_view, Method>::second);
  return found == kMethods.end() ? std::string_view("other") : found->first;
}

std::optional<std::string_view> find(const Fields& fields, std::string_view name) {
  const auto found = std::ranges::find(fields, name, &Fields::value_type::first);
  if (found == fields.end()) return std::nullopt;
  return found->second;
}

std::vector<std::string_view> find_all(const Fields& fields, std::string_view name) {
  std::vector<std::string_view> values;
  for (const auto& [key, value] : fields)
    if (key == name) values.emplace_back(value);
  return values;
}

std::optional<std::string_view> Request::header(std::string_view name) const {
  const auto found = std::ranges::find_if(headers, [&](const auto& one) { return iequals(one.first, name); });
  if (found == headers.end()) return std::nullopt;
  return found->second;
}

std::string decoded_path(std::string_view sent) {
  std::string path;
  for (std::size_t at = 0; at < sent.size(); ++at) {
    const std::optional<char> byte = sent[at] == '%' ? hex_byte(sent.substr(at + 1)) : std::nullopt;
    if (!byte || *byte == kEncodedSlash) {  // a zero byte is none of any name
      path += sent[at];
      continue;
    }
    path += *byte == '/' ? kEncodedSlash : *byte;
    at += 2;
  }
  return path;
}

std::string_view reason_of(unsigned status) {
  switch (status) {
    case 200: return "OK";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 409: return "Conflict";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 422: return "Unprocessable Content";
    case 429: return "Too Many Requests";
    case 500: return "Internal Server Error";
    case 503: return "Service Unavailable";
    default: return "Unknown";
  }
}

bool is_from_browser(const Request& request) {
  return request.header("Origin") || request.header("Referer") || request.header("Sec-Fetch-Site") ||
         request.header("Sec-Fetch-Mode");
}

std::string_view host_of(std::string_view authority) {
  if (authority.starts_with('[')) return authority.substr(1, authority.find(']') - 1);
  return authority.substr(0, authority.find(':'));
}

std::string_view authority_of(std::string_view url) {
  const std::size_t begin = url.find("://");
  if (begin == std::string_view::npos) return {};
  url.remove_prefix(begin + 3);
  return url.substr(0, url.find('/'));
}

bool names_machine(const Request& request, std::string_view host, std::string_view url) {
  const std::string_view asked = host_of(request.header("Host").value_or(""));
  return asked.empty() || iequals(asked, "localhost") || iequals(asked, host) || Network::parse(asked) ||
         (!url.empty() && iequals(asked, host_of(authority_of(url))));
}

}  // namespace healer::web
