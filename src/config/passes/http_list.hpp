// SPDX-License-Identifier: MIT
// `for each NODE from http ...`: whether the list can be asked for, and what is asked.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "config/diagnostic.hpp"
#include "config/lists/list_source.hpp"
#include "config/syntax/syntax.hpp"
#include "config/syntax/values.hpp"

namespace healer::config {

/// The text with what its names stand for.
using FillText = std::function<std::string(const std::string& text, const SourceRange& at, Into into)>;

/// Puts in what names stand for, in texts and, by `filter`, in filters; tells what is wrong with it, and says what is
/// asked. `row`: SourceRange::row of all of it.
[[nodiscard]] std::shared_ptr<const HttpList> read_http_list(HttpListSyntax& list, std::uint32_t row,
                                                             const FillText& fill,
                                                             const std::function<void(Word&)>& filter,
                                                             Diagnostics& diagnostics);

}  // namespace healer::config
