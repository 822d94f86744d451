// SPDX-License-Identifier: MIT
#include "web/monit/selecting.hpp"

#include <regex.h>

#include <algorithm>

#include "engine/rules/service.hpp"
#include "util/text.hpp"

namespace healer::web::monit {
namespace {

using engine::Graph;
using engine::ServiceId;

constexpr std::size_t kLongestPattern = 256;

bool is_cheap(std::string_view pattern) {
  if (pattern.size() > kLongestPattern || pattern.find('{') != std::string_view::npos) return false;
  for (std::size_t i = 0; i + 1 < pattern.size(); ++i)
    if (pattern[i] == '\\' && is_digit(pattern[i + 1])) return false;
  return pattern.find('\0') == std::string_view::npos;
}

class Pattern {
 public:
  explicit Pattern(const std::string& text)
      : good_(is_cheap(text) &&
              ::regcomp(&compiled_, ("^(" + text + ")$").c_str(), REG_EXTENDED | REG_ICASE | REG_NOSUB) == 0) {}
  ~Pattern() {
    if (good_) ::regfree(&compiled_);
  }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  [[nodiscard]] bool matches(const std::string& name) const {
    return good_ && ::regexec(&compiled_, name.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  regex_t compiled_{};
  bool good_;
};

}  // namespace

std::vector<ServiceId> services_named(const Graph& graph, const std::string& name) {
  if (const auto exactly = graph.find(name)) return {*exactly};
  std::vector<ServiceId> found;
  if (std::ranges::none_of(name,
                           [](char c) { return std::string_view(".*+?[]()|^$\\").find(c) != std::string_view::npos; }))
    return found;
  const Pattern pattern(name);
  for (const ServiceId id : graph.order)
    if (pattern.matches(graph.at(id).name)) found.push_back(id);
  return found;
}

std::vector<ServiceId> services_in(const Graph& graph, std::string_view group) {
  std::vector<ServiceId> found;
  for (const ServiceId id : graph.order)
    if (std::ranges::any_of(graph.at(id).groups, [&](const std::string& own) { return iequals(own, group); }))
      found.push_back(id);
  return found;
}

}  // namespace healer::web::monit
