// SPDX-License-Identifier: MIT
// Where Monit accepts a rule and silently does less than it says. Such a rule comes alive in healer, so it is dormant
// at first.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/syntax/syntax.hpp"

namespace healer::config {

/// What counts of a service, since it is the last of its kind. Null where there is none.
struct ServicePrograms {
  const ServiceProgramSyntax* start = nullptr;
  const ServiceProgramSyntax* stop = nullptr;
  const ServiceProgramSyntax* restart = nullptr;
  std::map<std::string_view, const IfSyntax*> tests{};  ///< of what Monit has one test of in a service
};
[[nodiscard]] ServicePrograms programs_of(const CheckSyntax& check);

/// Why a rule does nothing, or less, in Monit.
struct Silence {
  SourceRange range;
  std::string message;
  std::string remedy;         ///< what else there is to say; may be empty
  bool is_by_quotes = false;  ///< other quotes would wake it
};
/// `programs` are those of `check`.
[[nodiscard]] std::vector<Silence> silences(const CheckSyntax& check, const ServicePrograms& programs,
                                            const IfSyntax& rule);

/// Whether Monit takes the tests of a condition side by side: tests of resources, of which the last counts there.
[[nodiscard]] bool stands_in_row(const engine::CheckKind& kind, const IfSyntax& rule);

/// Whether a rule of the service says what to do when its process is there, or is not.
[[nodiscard]] bool tests_existence(const CheckSyntax& check);

}  // namespace healer::config
