// SPDX-License-Identifier: MIT
// Why a transfer of libcurl has failed, and whether something of it was sent.
#pragma once

#include <string>

namespace healer::runtime {

/// Whether something of the request that an easy handle makes, or has made last, may have left.
[[nodiscard]] bool may_have_left(void* easy);

/// "could not connect to heat.example:443: connection refused". `code`: a CURLcode; `place`: host and port; `words`:
/// what libcurl itself says of it, or nothing.
[[nodiscard]] std::string describe_failure(int code, void* easy, const std::string& place, const char* words);

}  // namespace healer::runtime
