// SPDX-License-Identifier: MIT
#include "engine/rules/attribute.hpp"

#include <algorithm>
#include <array>

#include <spdlog/fmt/fmt.h>

#include "util/hash.hpp"

namespace healer::engine {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(Attribute::Count_)> kNames{
    "status",       "pid",          "parent",     "uid",         "euid",
    "gid",          "security",     "permission", "access-time", "modification-time",
    "change-time",  "timestamp",    "fsflags",    "size",        "md5",
    "sha1",         "sha256",       "sha512",     "first-md5",   "first-sha1",
    "first-sha256", "first-sha512", "read-file",  "read-offset", "path",
    "link",         "link-errors",  "link-mode",  "link-speed",  "read-begin",
    "lines-lost",   "hardlinks",    "output",     "unit-state",  "unit-substate",
    "unit-standing"};

}  // namespace

std::string_view to_string(Attribute attribute) { return kNames[static_cast<std::size_t>(attribute)]; }

std::optional<Attribute> attribute_named(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Attribute>(found - kNames.begin());
}

std::optional<Attribute> first_of(Attribute attribute) {
  switch (attribute) {
    case Attribute::Md5: return Attribute::FirstMd5;
    case Attribute::Sha1: return Attribute::FirstSha1;
    case Attribute::Sha256: return Attribute::FirstSha256;
    case Attribute::Sha512: return Attribute::FirstSha512;
    default: return std::nullopt;
  }
}

std::optional<Attribute> present_of(Attribute attribute) {
  for (const Attribute one : {Attribute::Md5, Attribute::Sha1, Attribute::Sha256, Attribute::Sha512})
    if (first_of(one) == attribute) return one;
  return std::nullopt;
}

Value output_value(std::string_view output) {
  constexpr std::size_t kMost = 4096;
  if (output.size() <= kMost) return std::string(output);
  return fmt::format("{}\n[{} B, {}]", output.substr(0, kMost), output.size(), to_string(hash128(output)));
}

std::string format_value(const Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  return *text_in(value);
}

}  // namespace healer::engine
