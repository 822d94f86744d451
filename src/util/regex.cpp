// SPDX-License-Identifier: MIT
#include "util/regex.hpp"

#include <regex.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <spdlog/fmt/fmt.h>

namespace healer {
namespace {

constexpr std::uint64_t kMostWritten = 3000;  // the memory grows with its square: about 90 MB here
constexpr std::uint64_t kMuch = std::uint64_t{1} << 40;
constexpr std::size_t kDeepest = 100;  // each level is a call of the C library's within another

std::uint64_t capped(std::uint64_t number) { return std::min(number, kMuch); }

/// Behind a bracket expression that begins at `at`.
std::size_t after_brackets(std::string_view pattern, std::size_t at) {
  std::size_t i = at + 1;
  if (i < pattern.size() && pattern[i] == '^') ++i;
  if (i < pattern.size() && pattern[i] == ']') ++i;
  for (; i < pattern.size() && pattern[i] != ']'; ++i) {
    if (pattern[i] != '[' || i + 1 >= pattern.size()) continue;
    const char kind = pattern[i + 1];
    if (kind != ':' && kind != '.' && kind != '=') continue;
    const std::size_t end = pattern.find(std::string{kind, ']'}, i + 2);
    if (end == std::string_view::npos) return pattern.size();
    i = end + 1;
  }
  return std::min(i + 1, pattern.size());
}

/// How often {N}, {N,} or {N,M} at `at` has what is before it written; `at` becomes the place behind it. Nothing where
/// there is none.
std::optional<std::uint64_t> repetition(std::string_view pattern, std::size_t& at) {
  const std::size_t end = pattern.find('}', at);
  if (end == std::string_view::npos) return std::nullopt;
  const char* const last = pattern.data() + end;
  std::uint64_t least = 0, most = 0;
  auto [rest, error] = std::from_chars(pattern.data() + at + 1, last, least);
  if (error == std::errc::result_out_of_range) least = kMuch;
  if (error == std::errc::invalid_argument && (rest == last || *rest != ',')) return std::nullopt;
  most = least;
  if (rest != last && *rest == ',') {
    const auto [behind, no_number] = std::from_chars(rest + 1, last, most);
    if (no_number == std::errc::result_out_of_range) most = kMuch;
    if (no_number == std::errc::invalid_argument) most = least + 1;
    rest = behind;
  }
  if (rest != last) return std::nullopt;
  at = end + 1;
  return std::max(least, most);
}

}  // namespace

std::string regex_problem(std::string_view pattern) {
  struct Level {
    std::uint64_t before = 0;  // written by all but the last part
    std::uint64_t last = 0;    // which a repetition that follows is of
  };
  std::vector<Level> levels(1);
  const auto part = [&](std::uint64_t weight) {
    Level& level = levels.back();
    level.before = capped(level.before + level.last);
    level.last = weight;
  };
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < pattern.size();) {
    const char c = pattern[i];
    if (c == '[') {
      part(1);
      i = after_brackets(pattern, i);
      continue;
    }
    if (c == '{') {
      if (const auto times = repetition(pattern, i)) {
        levels.back().last = capped(levels.back().last * std::min<std::uint64_t>(*times, 1 << 20));
        most = std::max(most, levels.back().last);
        continue;
      }
    }
    ++i;
    if (c == '\\') {
      part(1);
      if (i < pattern.size()) ++i;
    } else if (c == '(') {
      if (levels.size() > kDeepest) return fmt::format("it has more than {} parentheses in one another", kDeepest);
      levels.emplace_back();
    } else if (c == ')' && levels.size() > 1) {
      const Level inner = levels.back();
      levels.pop_back();
      part(capped(inner.before + inner.last + 1));
    } else if (c == '+') {
      levels.back().last = capped(levels.back().last * 2);  // once, and then any number
      most = std::max(most, levels.back().last);
    } else if (c != '*' && c != '?' && c != '|') {
      part(1);
    }
  }
  // What is written without repetitions is no harm, however long it is.
  std::uint64_t whole = 0;
  for (const Level& level : levels) whole += level.before + level.last;
  if (most <= kMostWritten && whole <= kMostWritten + pattern.size()) return {};
  return fmt::format("written out, its repetitions have more than {} parts; use smaller numbers, or '*'", kMostWritten);
}

std::string pattern_problem(const std::string& pattern) {
  if (std::string problem = regex_problem(pattern); !problem.empty()) return problem;
  regex_t compiled;
  const int code = ::regcomp(&compiled, pattern.c_str(), REG_EXTENDED | REG_NOSUB);
  if (code == 0) {
    ::regfree(&compiled);
    return {};
  }
  std::array<char, 200> reason{};
  ::regerror(code, &compiled, reason.data(), reason.size());
  return reason.data();
}

PatternSlip pattern_slip(std::string_view pattern) {
  struct Escape {
    char letter;
    std::string_view meant, in_brackets;
  };
  static constexpr std::array<Escape, 9> kEscapes{{{'d', "[0-9]", "0-9"},
                                                   {'D', "[^0-9]", ""},
                                                   {'h', "[[:blank:]]", "[:blank:]"},
                                                   {'A', "^", ""},
                                                   {'z', "$", ""},
                                                   {'Z', "$", ""},
                                                   {'w', "", "[:alnum:]_"},
                                                   {'s', "", "[:space:]"},
                                                   {'S', "", ""}}};
  std::size_t brackets = 0;  // where what is in them begins; 0: outside
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (brackets == 0 && c == '[') {
      brackets = i + 1 + (i + 1 < pattern.size() && pattern[i + 1] == '^');
      i = brackets - 1;
    } else if (brackets != 0 && c == '[' && i + 1 < pattern.size() && pattern[i + 1] == ':') {
      const std::size_t end = pattern.find(":]", i + 2);
      if (end == std::string_view::npos) return {};
      i = end + 1;
    } else if (brackets != 0 && c == ']' && i > brackets) {
      brackets = 0;
    } else if (c == '\\' && i + 1 < pattern.size()) {
      const char letter = pattern[i + 1];
      const auto* found = std::ranges::find(kEscapes, letter, &Escape::letter);
      const std::string_view meant = found == kEscapes.end() ? "" : brackets != 0 ? found->in_brackets : found->meant;
      if (!meant.empty())
        return {fmt::format("\\{}", letter),
                brackets != 0 ? fmt::format("a '\\' or a '{}' within brackets", letter)
                              : fmt::format("the letter '{}'", letter),
                std::string(meant)};
      i += brackets == 0;
    }
  }
  return {};
}

std::optional<bool> matches_pattern(const std::string& pattern, const std::string& text) {
  regex_t compiled;
  if (!regex_problem(pattern).empty() || ::regcomp(&compiled, pattern.c_str(), REG_EXTENDED | REG_NOSUB) != 0)
    return std::nullopt;
  const bool matches = ::regexec(&compiled, text.c_str(), 0, nullptr, 0) == 0;
  ::regfree(&compiled);
  return matches;
}

std::string required_literal(std::string_view pattern) {
  constexpr std::string_view kOperators = ".[]{}()*+?|^$\\";
  constexpr std::string_view kOptional = "*?{";
  std::string best;
  std::string run;
  const auto ends = [&] {
    if (run.size() > best.size()) best = run;
    run.clear();
  };
  std::size_t depth = 0;  // of parentheses: what is in them may be one of several, or repeated
  for (std::size_t i = 0; i < pattern.size();) {
    const char c = pattern[i];
    const bool is_escaped =
        c == '\\' && i + 1 < pattern.size() && kOperators.find(pattern[i + 1]) != std::string_view::npos;
    const bool is_ascii = static_cast<unsigned char>(c) < 0x80;  // of others several bytes may be one character
    if (is_escaped || (is_ascii && kOperators.find(c) == std::string_view::npos)) {
      if (depth == 0) run += is_escaped ? pattern[i + 1] : c;
      i += is_escaped ? 2 : 1;
      continue;
    }
    if (c == '+') {  // what is before it is there, unless another operator says that it need not be
      i = std::min(pattern.find_first_not_of('+', i), pattern.size());
      if (i < pattern.size() && kOptional.find(pattern[i]) != std::string_view::npos) continue;
      ends();
      continue;
    }
    if (kOptional.find(c) != std::string_view::npos) {
      if (!run.empty()) run.pop_back();
      ends();
      if (c == '{' && !repetition(pattern, i)) return {};  // who knows what that is
      if (c != '{') ++i;
      continue;
    }
    ends();
    if (c == '|' && depth == 0) return {};
    if (c == '(') ++depth;
    if (c == ')' && depth > 0) --depth;
    if (c == '[')
      i = after_brackets(pattern, i);
    else
      i += c == '\\' ? 2 : 1;
  }
  ends();
  return best;
}

}  // namespace healer
