// SPDX-License-Identifier: MIT
// Rows of lists: when they run their list says.
#include "config/passes/passes.hpp"

namespace healer::config {

void check_rows(const Document& document, Diagnostics& diagnostics) {
  for_each_check(document, [&](const CheckSyntax& check) {
    if (!check.kind->traits.is_listed) return;
    for (const ServiceStatement& statement : check.statements)
      if (const auto* every = std::get_if<EverySyntax>(&statement))
        report(diagnostics, DiagnosticSeverity::Error, Code::WrongPlace, every->range,
               "a row is judged when its list is read: it has no schedule",
               "remove it; how often the list is read stands in its 'for each'");
  });
}

}  // namespace healer::config
