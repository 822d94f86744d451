// SPDX-License-Identifier: MIT
// The API as an OpenAPI 3.0 document, made of the rows of its operations and of the fields of the documents. Pure.
#pragma once

#include "control/wire.hpp"

namespace healer::web {

[[nodiscard]] const control::Json& openapi();

}  // namespace healer::web
