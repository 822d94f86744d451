// SPDX-License-Identifier: MIT
// What differs between two texts, line by line, as `diff -u` shows it.
#pragma once

#include <string>
#include <string_view>

namespace healer {

/// Empty where the texts are the same. `before_name` and `after_name` are for the two lines at the top.
[[nodiscard]] std::string line_diff(std::string_view before, std::string_view after, std::string_view before_name,
                                    std::string_view after_name);

}  // namespace healer
