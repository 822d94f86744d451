// SPDX-License-Identifier: MIT
#include "web/monit/selecting.hpp"

#include <regex.h>

#include <algorithm>
#include <utility>

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

/// Whether it means more than itself.
bool is_pattern(std::string_view text) { return text.find_first_of(".*+?[]()|^$\\") != std::string_view::npos; }

}  // namespace

class NameSearch::Pattern {
 public:
  explicit Pattern(const std::string& text)
      : good_(is_cheap(text) && is_pattern(text) &&
              ::regcomp(&compiled_, ("^(" + text + ")$").c_str(), REG_EXTENDED | REG_ICASE | REG_NOSUB) == 0) {}
  ~Pattern() {
    if (good_) ::regfree(&compiled_);
  }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool matches(const std::string& name) const {
    return ::regexec(&compiled_, name.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  regex_t compiled_{};
  bool good_;
};

NameSearch::NameSearch(std::shared_ptr<const Graph> graph, std::vector<std::string> names)
    : graph_(std::move(graph)), names_(std::move(names)) {}
NameSearch::~NameSearch() = default;
NameSearch::NameSearch(NameSearch&&) noexcept = default;

bool NameSearch::go_on(std::size_t most) {
  for (; name_ < names_.size() && !missing_; ++name_, pattern_.reset()) {
    const std::string& name = names_[name_];
    if (!pattern_) {
      if (const auto exactly = graph_->find(name)) {
        found_.push_back(*exactly);
        continue;
      }
      pattern_ = std::make_unique<Pattern>(name);
      place_ = pattern_->good() ? 0 : graph_->order.size();
      matched_ = false;
    }
    for (; place_ < graph_->order.size(); ++place_, --most) {
      if (most == 0) return false;
      const ServiceId id = graph_->order[place_];
      if (!pattern_->matches(graph_->at(id).name)) continue;
      found_.push_back(id);
      matched_ = true;
    }
    if (!matched_) missing_ = name;
  }
  return true;
}

std::vector<ServiceId> services_in(const Graph& graph, std::string_view group) {
  std::vector<ServiceId> found;
  for (const ServiceId id : graph.order)
    if (std::ranges::any_of(graph.at(id).groups, [&](const std::string& own) { return iequals(own, group); }))
      found.push_back(id);
  return found;
}

}  // namespace healer::web::monit
