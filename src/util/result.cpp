// SPDX-License-Identifier: MIT
#include "util/result.hpp"

#include <system_error>

namespace healer {

Error system_error(int code, std::string what) {
  return Error{code, std::move(what) + ": " + std::generic_category().message(code)};
}

}  // namespace healer
