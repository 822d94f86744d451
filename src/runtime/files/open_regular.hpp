// SPDX-License-Identifier: MIT
// Opens files that others may have put in place: nothing but a regular file is ever opened, for to open a device can
// start something, and to open a pipe can wait.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/descriptor.hpp"
#include "util/result.hpp"

namespace healer::runtime {

enum class Links : std::uint8_t { Followed, Refused };

/// For reading. Errors: there is none that can be read; it is no regular file, or one of the kernel's, which reading
/// may empty, that is called by another path than /proc/... or /sys/...
[[nodiscard]] Result<Descriptor> open_regular(const std::string& path, Links links = Links::Followed);

}  // namespace healer::runtime
