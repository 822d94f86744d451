// SPDX-License-Identifier: MIT
// What the documents of control/wire look like, as JSON Schema in the form of OpenAPI 3.0: made of the same lists of
// fields that write them. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "control/wire.hpp"

namespace healer::control {

/// The schema of each type that a document is made of, by its name: "ServiceSummary". They refer to each other as
/// #/components/schemas/NAME.
[[nodiscard]] const Json& wire_schemas();

/// The names of the fields of one of them, in their order. Requires: there is such a type.
[[nodiscard]] std::vector<std::string> wire_fields_of(std::string_view type);

}  // namespace healer::control
