// SPDX-License-Identifier: MIT
#include "web/api/query.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/rules/kind.hpp"
#include "engine/words/explain.hpp"
#include "util/text.hpp"

namespace healer::web {
namespace {

using control::Failure;
using Shape = Parameter::Shape;

constexpr std::uint64_t kAnyNumber = std::numeric_limits<std::uint64_t>::max();

std::vector<std::string> conditions() {
  std::vector<std::string> words;
  for (auto one = std::size_t{0}; one <= static_cast<std::size_t>(engine::Condition::GivenUp); ++one)
    words.emplace_back(to_string(static_cast<engine::Condition>(one)));
  return words;
}

std::vector<std::string> kinds() {
  std::vector<std::string> words;
  for (const engine::CheckKind* const kind : engine::all_kinds()) words.emplace_back(kind->word);
  return words;
}

std::vector<Parameter> make_parameters() {
  const auto most_age = static_cast<std::uint64_t>(control::kLongestAsked.count());
  return {
      {"name", Shape::Texts, "These services, and with them those of the groups; all of them on one page"},
      {"state", Shape::Words, "Only services in one of these states", conditions()},
      {"group", Shape::Texts, "Only services of one of these groups"},
      {"kind", Shape::Words, "Only services of these kinds", kinds()},
      {"q", Shape::Text, "Only services with this in their name, in any case"},
      {"sort", Shape::Word, "The order: of the rules, by name, or the worst first", {"rules", "name", "state"}},
      {"fields", Shape::Words, "Only these fields of each"},
      {"limit", Shape::Number, "At most so many", {}, 1, kLargestPage},
      {"cursor", Shape::Text, "The page that begins there: `next` of the page before"},
      {"service", Shape::Texts, "Only records of these services, or of healer itself"},
      {"since_ms", Shape::Number, "Only records of the last so many milliseconds", {}, 0, most_age},
      {"after", Shape::Number, "Only records with a higher number, the oldest first", {}, 0, kAnyNumber},
  };
}

std::string listed_words(std::span<const std::string> words) { return join_words(words, "or"); }

Failure refused(std::string message, std::string remedy) {
  return {.code = "bad-request", .message = std::move(message), .remedy = std::move(remedy)};
}

std::string nearest(std::string_view word, std::span<const std::string> words) {
  const std::vector<std::string_view> candidates(words.begin(), words.end());
  return std::string(nearest_word(word, candidates));
}

/// Why that word may not stand there.
std::optional<Failure> unknown_word(std::string_view name, std::string_view word, std::span<const std::string> words) {
  if (std::ranges::find(words, word) != words.end()) return std::nullopt;
  const std::string near = nearest(word, words);
  const std::string_view one = name == "fields" ? "field" : name == "sort" ? "order" : name;
  return refused(
      fmt::format("there is no {} \"{}\"", one, printable(word)),
      near.empty() ? fmt::format("{} takes {}", name, listed_words(words)) : fmt::format("did you mean \"{}\"?", near));
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || rest != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Why the parameter may not have that value.
std::optional<Failure> wrong_value(const Parameter& one, const std::string& value, std::span<const std::string> words) {
  switch (one.shape) {
    case Shape::Words:
    case Shape::Word: return unknown_word(one.name, value, words);
    case Shape::Number: {
      const auto number = number_of(value);
      if (number && *number >= one.least && *number <= one.most) return std::nullopt;
      return refused(fmt::format("{} \"{}\" is not a number", one.name, printable(value)),
                     fmt::format("{} takes a number from {} to {}", one.name, one.least, one.most));
    }
    default:
      if (!value.empty()) return std::nullopt;
      return refused(fmt::format("{} is empty", one.name), "give it a value, or leave it out");
  }
}

std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = std::min(text.find(','), text.size());
    parts.emplace_back(trim(text.substr(0, end)));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

bool is_many(Shape shape) { return shape == Shape::Texts || shape == Shape::Words; }

}  // namespace

const Parameter& parameter(std::string_view name) {
  static const std::vector<Parameter> kParameters = make_parameters();
  return *std::ranges::find(kParameters, name, &Parameter::name);
}

std::variant<Query, Failure> Query::read(const Fields& query, std::span<const std::string_view> taken,
                                         std::span<const std::string> fields) {
  Query read;
  for (const auto& [name, value] : query) {
    if (std::ranges::find(taken, name) == taken.end()) {
      const std::string_view near = nearest_word(name, taken);
      const std::vector<std::string> words(taken.begin(), taken.end());
      return refused(fmt::format("there is no parameter \"{}\" here", printable(name)),
                     !near.empty()   ? fmt::format("did you mean \"{}\"?", near)
                     : taken.empty() ? "leave it out"
                                     : fmt::format("there are {}", join_words(words, "and")));
    }
    const Parameter& one = parameter(name);
    auto& values = read.values_[name];
    if (!values.empty() && !is_many(one.shape)) return refused(fmt::format("{} is given twice", name), "give it once");
    const std::span<const std::string> words = name == "fields" ? fields : std::span<const std::string>(one.words);
    for (std::string& part : one.shape == Shape::Words ? parts_of(value) : std::vector{value}) {
      if (auto wrong = wrong_value(one, part, words)) return std::move(*wrong);
      values.push_back(std::move(part));
    }
  }
  return read;
}

std::vector<std::string> Query::all(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::vector<std::string>{} : found->second;
}

std::string Query::text(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::string{} : found->second.front();
}

std::optional<std::uint64_t> Query::number(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::nullopt : number_of(found->second.front());
}

}  // namespace healer::web
