// SPDX-License-Identifier: MIT
// Private to the parser: the tokens that it goes through, and the blocks of `for each` that are open.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "config/syntax/parse_build.hpp"
#include "config/syntax/statement_begin.hpp"
#include "config/syntax/syntax.hpp"
#include "grammar/kinds.hpp"
#include "grammar/lexer.hpp"
#include "util/text.hpp"

namespace healer::config {

/// Where the parser is.
class Tokens {
 protected:
  using Kind = grammar::Kind;

  explicit Tokens(std::string_view text) : stream_(grammar::lex(text)) {}

  [[nodiscard]] Kind kind(std::size_t ahead = 0) const {
    const std::size_t token = at_ + ahead;
    return token < stream_.tokens.size() ? stream_.tokens[token].kind : Kind::End;
  }

  /// The flags of the token that comes so many after the present one.
  [[nodiscard]] std::uint8_t flags(std::size_t ahead) const {
    const std::size_t token = at_ + ahead;
    return token < stream_.tokens.size() ? stream_.tokens[token].flags : std::uint8_t{0};
  }

  /// Whether `define`, `for each` or the end of its block begins at a token.
  [[nodiscard]] bool is_block_statement(std::size_t token) const {
    if (stream_.tokens[token].kind == Kind::RightBrace) return !open_blocks_.empty();
    if (stream_.tokens[token].kind != Kind::String) return false;
    return iequals(stream_.text_of(token), "define") || iequals(stream_.text_of(token), "each");
  }

  /// Where such a statement begins: `for` is no token.
  [[nodiscard]] std::uint32_t block_word(std::size_t token) const {
    const std::uint32_t offset = stream_.tokens[token].offset;
    if (stream_.tokens[token].kind != Kind::String || !iequals(stream_.text_of(token), "each")) return offset;
    const std::string_view before = trim(stream_.text.substr(0, offset));
    return before.size() >= 3 && iequals(before.substr(before.size() - 3), "for")
               ? static_cast<std::uint32_t>(before.data() + before.size() - 3 - stream_.text.data())
               : offset;
  }

  /// Whether a line begins with `define`, `for each` or the end of its block.
  [[nodiscard]] bool begins_block_line(std::size_t token) const {
    if (!is_block_statement(token)) return false;
    const std::string_view before = stream_.text.substr(0, block_word(token));
    const std::size_t blank = before.find_last_not_of(" \t");
    return blank == std::string_view::npos || before[blank] == '\n';
  }

  /// Whether an item of a workflow begins a line.
  [[nodiscard]] bool begins_item(std::size_t token) const {
    static constexpr std::string_view kItems[] = {"guard",   "step",     "parallel", "on",   "limit",
                                                  "pause",   "cooldown", "tries",    "ramp", "probation",
                                                  "breaker", "approval", "mode"};
    const auto& one = stream_.tokens[token];
    return one.kind == Kind::String && (one.flags & grammar::kFirstOfLine) != 0 &&
           std::ranges::any_of(kItems, [&](std::string_view item) { return iequals(item, stream_.text_of(token)); });
  }

  /// A statement that begins with a word of healer's own.
  [[nodiscard]] bool is_own_statement(std::size_t token) const {
    const Kind one = stream_.tokens[token].kind;
    if (one == Kind::Delay) return stream_.tokens[token + 1].kind == Kind::Number;  // behind it there is an end
    return one == Kind::String && parsing::is_own_word(stream_.text_of(token));
  }

  /// Whether a line begins with a token that begins a statement.
  [[nodiscard]] bool begins_line(std::size_t token) const {
    if (begins_block_line(token)) return true;
    if ((stream_.tokens[token].flags & grammar::kFirstOfLine) == 0) return false;
    const Kind one = stream_.tokens[token].kind;
    return begins_statement(one) || begins_service_statement(one) || is_own_statement(token);
  }

  /// Cuts the text anew from there on.
  void lex_on(std::size_t offset) {
    grammar::TokenStream rest = grammar::lex(stream_.text.substr(offset));
    for (auto& one : rest.tokens) one.offset += static_cast<std::uint32_t>(offset);
    for (auto& one : rest.parentheses) one.offset += static_cast<std::uint32_t>(offset);
    rest.text = stream_.text;
    stream_ = std::move(rest);
    at_ = 0;
  }

  /// Whether a line after the first begins as a statement does: with a word that other text hardly begins with, or with
  /// two.
  static bool holds_statement(std::string_view text) {
    static constexpr std::string_view kWords[] = {"if", "else", "check", "set", "every", "alert", "group", "include"};
    static constexpr std::pair<std::string_view, std::string_view> kPairs[] = {
        {"start", "program"}, {"stop", "program"}, {"restart", "program"}, {"start", "="},
        {"stop", "="},        {"restart", "="},    {"depends", "on"}};
    constexpr std::string_view kBlank = " \t\r\n";
    for (std::size_t at = 0; (at = text.find('\n', at)) != std::string_view::npos;) {
      const auto word_from = [&](std::size_t from) {
        const std::size_t begin = std::min(text.find_first_not_of(kBlank, from), text.size());
        return text.substr(begin, std::min(text.find_first_of(kBlank, begin), text.size()) - begin);
      };
      const std::string_view first = word_from(at);
      at = static_cast<std::size_t>(first.data() - text.data());
      const std::string_view second = word_from(at + first.size());
      for (const auto word : kWords)
        if (iequals(first, word)) return true;
      for (const auto& [one, two] : kPairs)
        if (iequals(first, one) && iequals(second.substr(0, two.size()), two)) return true;
    }
    return false;
  }

  grammar::TokenStream stream_;
  std::size_t at_ = 0;                    ///< token
  std::vector<SourceRange> open_blocks_;  ///< headers of the blocks under way, the outermost first
};

}  // namespace healer::config
