// SPDX-License-Identifier: MIT
// Which services a request to Monit's interface means: a name, or an expression that a whole name matches, or a group;
// all of it in any case.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/ids.hpp"
#include "engine/rules/graph.hpp"

namespace healer::web::monit {

/// Finds services by several names, each that of a service or else a POSIX extended expression. Among many services an
/// expression takes its time: a part of it in a turn. One that might be costly (of more than 256 bytes, with a counted
/// repetition or a reference back) matches nothing.
class NameSearch {
 public:
  NameSearch(std::shared_ptr<const engine::Graph> graph, std::vector<std::string> names);
  ~NameSearch();
  NameSearch(NameSearch&&) noexcept;
  NameSearch& operator=(NameSearch&&) = delete;

  /// Goes on with at most so many comparisons. True: it is done.
  bool go_on(std::size_t most);

  /// When it is done: those that are meant, in the order of the names, and for each in that of the rules.
  [[nodiscard]] const std::vector<engine::ServiceId>& found() const { return found_; }
  /// The first name that means no service.
  [[nodiscard]] const std::optional<std::string>& missing() const { return missing_; }
  /// The rules that it has looked through.
  [[nodiscard]] const engine::Graph& graph() const { return *graph_; }

 private:
  class Pattern;

  std::shared_ptr<const engine::Graph> graph_;
  std::vector<std::string> names_;
  std::size_t name_ = 0;                // that is looked for
  std::size_t place_ = 0;               // in the order of the services
  std::unique_ptr<Pattern> pattern_{};  // of that name
  bool matched_ = false;
  std::vector<engine::ServiceId> found_;
  std::optional<std::string> missing_;
};

[[nodiscard]] std::vector<engine::ServiceId> services_in(const engine::Graph& graph, std::string_view group);

}  // namespace healer::web::monit
