// SPDX-License-Identifier: MIT
#include "engine/events/evidence.hpp"

#include <array>

#include <spdlog/fmt/fmt.h>

namespace healer::engine {
namespace {

constexpr std::array<std::string_view, 4> kReaches{"untried", "unknown", "failed", "passed"};

/// ": a, b and 3 more".
std::string named(const std::vector<std::string>& names, std::size_t count) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? ": " : ", ") + name;
  return count > names.size() ? text + fmt::format(" and {} more", count - names.size()) : text;
}

}  // namespace

std::string_view to_string(Reach reach) { return kReaches[static_cast<std::size_t>(reach)]; }

std::string describe(const MembersSeen& members) {
  const auto& [failed, whole, left_out, failed_names, left_out_names] = members;
  const std::string left = left_out == 0 ? "" : "left out" + named(left_out_names, left_out);
  if (whole == 0) return "no member has been checked" + (left.empty() ? left : "; " + left);
  const std::string_view plural = whole == 1 ? "" : "s";
  const std::string text =
      failed == 0 ? fmt::format("no member of {} failed", whole)
                  : fmt::format("{} of {} member{} failed{}", failed, whole, plural, named(failed_names, failed));
  return left.empty() ? text : text + "; " + left;
}

}  // namespace healer::engine
