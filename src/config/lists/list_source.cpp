// SPDX-License-Identifier: MIT
#include "config/lists/list_source.hpp"

#include <string_view>

#include <spdlog/fmt/fmt.h>

#include "config/compile/url.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

constexpr std::string_view kHttpKey = "http:";

/// Each part with its length before it, so that none runs into the next.
class Parts {
 public:
  void add(std::string_view part) { text_ += fmt::format("{}:{}\n", part.size(), part); }
  void add(std::uint64_t number) { add(fmt::format("{}", number)); }
  void add(const engine::HttpRequest& request) {
    add(request.method);
    add(request.url);
    add(request.headers.size());
    for (const std::string& header : request.headers) add(header);
    add(request.body);
    add(request.body_file);
    add((request.follow ? 1U : 0U) + (request.insecure ? 2U : 0U));
    add(request.limit);
  }
  [[nodiscard]] Hash128 hash() const { return hash128(text_); }

 private:
  std::string text_;
};

}  // namespace

std::string HttpList::call_key() const {
  Parts parts;
  parts.add(request);
  parts.add(static_cast<std::uint64_t>(timeout.count()));
  parts.add(next);
  parts.add(next_link ? 1U : 0U);
  if (token) {
    parts.add(token->request);
    for (const std::uint16_t code : token->expect) parts.add(code);
    parts.add(static_cast<std::uint64_t>(token->saving.from));
    parts.add(token->saving.what);
    parts.add(token->saving.name);
  }
  return to_string(parts.hash());
}

std::string HttpList::key() const {
  Parts parts;
  parts.add(call_key());
  parts.add(rows);
  parts.add(name);
  return std::string(kHttpKey) + to_string(parts.hash());
}

Hash128 key_of(const ListSource& source) {
  Parts parts;
  parts.add(source.name);
  for (const std::string& argument : source.command) parts.add(argument);
  parts.add(source.file);
  return parts.hash();
}

std::string describe(const ListSource& source) {
  if (source.http)
    return fmt::format("http {} {}", to_lower(source.http->request.method),
                       without_login(source.http->request.url).first);
  if (!source.command.empty()) return "command " + fmt::format("{}", fmt::join(source.command, " "));
  return source.file.starts_with(kHttpKey) ? "http" : "file " + source.file;
}

}  // namespace healer::config
