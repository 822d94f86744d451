// SPDX-License-Identifier: MIT
// Answers of hooks and heartbeats to what is not taken: for programs, as those of the API.
#pragma once

#include <array>
#include <initializer_list>
#include <string>

#include "web/message.hpp"

namespace healer::web {

/// A route for each of them answers a wrong method by itself: who asks is nobody whom the site knows.
inline constexpr std::array<Method, 7> kAllMethods{Method::Get,    Method::Post,    Method::Put,  Method::Patch,
                                                   Method::Delete, Method::Options, Method::Other};

/// How long who is told to try again later waits, in seconds.
inline constexpr int kRetryAfter = 5;

/// One of these: 400, 401, 403, 404, 413, 422, 429, 503; those that ask for another try say when.
[[nodiscard]] Response refusal(unsigned status, std::string why);
[[nodiscard]] Response wrong_method(std::initializer_list<Method> allowed);

}  // namespace healer::web
