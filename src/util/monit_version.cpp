// SPDX-License-Identifier: MIT
#include "util/monit_version.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <system_error>
#include <utility>

namespace healer {

std::string_view to_string(MonitVersion version) {
  switch (version) {
    case MonitVersion::V5_33: return "5.33";
    case MonitVersion::V5_34: return "5.34";
    case MonitVersion::V6: return "6";
    case MonitVersion::V6_1: return "6.1";
  }
  return "";
}

std::optional<MonitVersion> monit_version(std::string_view written) {
  std::array<unsigned, 3> parts{};
  for (std::size_t i = 0; i < parts.size() && (i == 0 || !written.empty()); ++i) {
    const char* const end = written.data() + written.size();
    const auto [after, error] = std::from_chars(written.data(), end, parts[i]);
    if (error != std::errc{} || (after != end && *after != '.') || after + 1 == end) return std::nullopt;
    written = after == end ? std::string_view{} : written.substr(static_cast<std::size_t>(after - written.data()) + 1);
  }
  if (!written.empty()) return std::nullopt;
  const std::pair version{parts[0], parts[1]};
  if (version.first != 5 && version.first != 6) return std::nullopt;
  if (version >= std::pair{6U, 1U}) return MonitVersion::V6_1;
  if (version >= std::pair{6U, 0U}) return MonitVersion::V6;
  return version >= std::pair{5U, 34U} ? MonitVersion::V5_34 : MonitVersion::V5_33;
}

}  // namespace healer
