// SPDX-License-Identifier: MIT
#include "protocols/tls_versions.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "protocols/probe.hpp"
#include "util/text.hpp"

namespace healer::protocols {
namespace {

constexpr unsigned kUsualVersions = kTls12 | kTls13;
constexpr std::array<std::pair<std::string_view, unsigned>, 6> kVersionWords{{{"auto", kUsualVersions},
                                                                              {"sslauto", kUsualVersions},
                                                                              {"tlsv1", kTls10},
                                                                              {"tlsv11", kTls11},
                                                                              {"tlsv12", kTls12},
                                                                              {"tlsv13", kTls13}}};

}  // namespace

std::uint8_t with_tls_version(std::uint8_t versions, std::string_view word) {
  const std::string name = to_lower(word);
  const bool away = name.starts_with('-');
  const auto* const found = std::ranges::find(kVersionWords, std::string_view(name).substr(away ? 1 : 0),
                                              &std::pair<std::string_view, unsigned>::first);
  if (found == kVersionWords.end()) return versions;
  return static_cast<std::uint8_t>(away ? (versions != 0 ? versions : kUsualVersions) & ~found->second
                                        : versions | found->second);
}

std::uint8_t tls_versions_of(std::string_view words) {
  std::uint8_t versions = 0;
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(' '));
    words.remove_prefix(std::min(words.size(), word.size() + 1));
    versions = with_tls_version(versions, word);
  }
  return versions;
}

}  // namespace healer::protocols
