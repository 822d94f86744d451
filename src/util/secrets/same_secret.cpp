// SPDX-License-Identifier: MIT
#include "util/secrets/same_secret.hpp"

#include <cstddef>

namespace healer {

bool is_same_secret(std::string_view secret, std::string_view given) {
  // Volatile, so that no compiler ends the loop at the first difference.
  volatile std::size_t difference = secret.size() ^ given.size();
  for (std::size_t i = 0; i < given.size(); ++i) {
    const char own = secret.empty() ? '\0' : secret[i % secret.size()];
    difference = difference | static_cast<std::size_t>(static_cast<unsigned char>(own ^ given[i]));
  }
  return difference == 0;
}

}  // namespace healer
