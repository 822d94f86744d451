// SPDX-License-Identifier: MIT
// What stands in healer's way on a machine, by what was seen of it. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doctor/facts.hpp"

namespace healer::doctor {

enum class Verdict : std::uint8_t { Fault, Warning, Good };

/// "fault", "warning", "ok".
[[nodiscard]] std::string_view to_string(Verdict verdict);

struct Finding {
  Verdict verdict = Verdict::Good;
  std::string_view subject;  ///< "unit", "socket", "rules", ...
  std::string text;
  std::string remedy;  ///< empty of what is good

  bool operator==(const Finding&) const = default;
};

/// One finding at least of each subject, the worst first; those of one verdict in the order in which they are fixed.
[[nodiscard]] std::vector<Finding> judge(const Facts& facts);

}  // namespace healer::doctor
