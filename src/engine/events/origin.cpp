// SPDX-License-Identifier: MIT
#include "engine/events/origin.hpp"

#include <charconv>

#include <spdlog/fmt/fmt.h>

#include "util/overloaded.hpp"

namespace healer::engine {
namespace {

constexpr std::string_view kRule = "rule", kHealing = "healing ", kDaemon = "healer", kPerson = "person ";

}  // namespace

bool is_healing(const Origin& by, HealingId healing) {
  const auto* const known = std::get_if<ByHealing>(&by);
  return known != nullptr && known->id == healing;
}

std::string words_of(const Origin& by) {
  return std::visit(
      Overloaded{[](const ByDaemon&) { return std::string(kDaemon); }, [](const ByRule&) { return std::string(kRule); },
                 [](const ByHealing& one) { return fmt::format("{}{}", kHealing, one.id.number()); },
                 [](const ByPerson& one) { return one.name; }},
      by);
}

std::string_view kind_of(const Origin& by) {
  return std::visit(Overloaded{[](const ByDaemon&) { return "daemon"; }, [](const ByRule&) { return "rule"; },
                               [](const ByHealing&) { return "healing"; }, [](const ByPerson&) { return "person"; }},
                    by);
}

std::string saved_text(const Origin& by) {
  std::string words = words_of(by);
  const bool is_clear = !is_person(by) || (is_person(origin_of(words)) && !words.starts_with(kPerson));
  return is_clear ? words : fmt::format("{}{}", kPerson, words);
}

Origin origin_of(std::string_view saved) {
  if (saved == kRule) return ByRule{};
  if (saved == kDaemon) return ByDaemon{};
  if (saved.starts_with(kHealing)) {
    std::uint64_t number = 0;
    const std::string_view digits = saved.substr(kHealing.size());
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error == std::errc{} && end == digits.data() + digits.size()) return ByHealing{.id = HealingId{number}};
  }
  if (saved.starts_with(kPerson)) saved.remove_prefix(kPerson.size());
  return ByPerson{.name = std::string(saved)};
}

}  // namespace healer::engine
