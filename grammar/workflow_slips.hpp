// SPDX-License-Identifier: MIT
// Common mistakes in workflows that cause an error only further on.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "grammar/errors.hpp"

namespace healer::grammar {

/// A block without its end, a step's name without quotes, a time without unit, a workflow where an action may stand.
/// `begin` is where the statement begins that has the error, `token` the one that does not fit.
[[nodiscard]] std::optional<EarlierCause> workflow_slip(const TokenStream& tokens, std::size_t begin,
                                                        std::size_t token);

/// How that is written which breaks off at `token`, as an example: "as in: recovered within 5 minutes". Empty: nothing
/// of a workflow, or of `set healing`, breaks off there.
[[nodiscard]] std::string workflow_form(const TokenStream& tokens, std::size_t begin, std::size_t token);

}  // namespace healer::grammar
