// SPDX-License-Identifier: MIT
#include "engine/healing/brake.hpp"

#include <array>
#include <string>
#include <vector>

#include "engine/healing/overrides.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

constexpr std::array<std::string_view, kBrakes> kBrakeWords{
    "one at a time", "pause",    "doubt",    "names", "list",  "dependency", "jobs", "breaker", "pause while",
    "limit",         "recovery", "cooldown", "again", "storm", "secrets",    "look", "workflow"};

}  // namespace

std::string_view to_string(Brake brake) { return kBrakeWords.at(static_cast<std::size_t>(brake)); }

std::string_view title_of(Brake brake) { return brake == Brake::Limit ? "limit reached" : to_string(brake); }

std::string to_string(const Overrides& overrides) {
  std::vector<std::string> words;
  if (overrides.limit) words.emplace_back("limit");
  if (overrides.cooldown) words.emplace_back("cooldown");
  if (overrides.pause) words.emplace_back("pause");
  return join_words(words, "and");
}

}  // namespace healer::engine
