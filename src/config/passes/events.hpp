// SPDX-License-Identifier: MIT
// `${EVENT.a}` in the rules of a `check event`, and in the workflows that these start.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/passes/passes.hpp"

namespace healer::config {

/// "EVENT.a" and the like, whose values an event must have.
[[nodiscard]] bool is_event_field(std::string_view name);

class EventFieldNames {
 public:
  explicit EventFieldNames(const Document& document);

  /// What its rules, its alerts and their workflows name, each once.
  [[nodiscard]] std::vector<std::string> of(const CheckSyntax& check) const;
  /// The same of a workflow and those that it goes on with, in any case.
  [[nodiscard]] std::set<std::string> of_workflow(std::string_view name) const;

 private:
  struct Workflow {
    std::set<std::string> fields;
    std::string next;  // what it goes on with, in lower case; or empty
  };
  std::map<std::string, Workflow> workflows_;  // by their names in lower case
};

}  // namespace healer::config
