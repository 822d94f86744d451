// SPDX-License-Identifier: MIT
#include "config/text/format.hpp"

#include <algorithm>
#include <cerrno>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "config/compile/fingerprint.hpp"
#include "config/source.hpp"
#include "config/syntax/parser.hpp"
#include "config/text/print.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/workflow.hpp"
#include "grammar/lexer.hpp"

namespace healer::config {
namespace {

constexpr std::size_t kStep = 2;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// What stands between white space: a token, a comment, or what is no token (noise words, signs).
struct Lexeme {
  enum class Kind : std::uint8_t { Token, Comment, Noise } kind = Kind::Noise;
  std::string_view text;
  std::uint32_t offset = 0;
  std::size_t newlines = 0;  ///< before it
  std::size_t column = 0;    ///< of the first of its line: blanks before it
  bool glued = false;        ///< nothing is between it and the one before it
  std::string_view gap;      ///< what is
  bool opens = false;        ///< `{`
  bool closes = false;       ///< `}`
};

/// The text as pieces: each of its characters is in one of them, or white space.
std::vector<Lexeme> pieces_of(const grammar::TokenStream& stream) {
  const std::string_view text = stream.text;
  std::vector<Lexeme> pieces;
  std::size_t token = 0;
  std::size_t at = 0;
  std::size_t gap = 0;
  while (at < text.size()) {
    const auto is_over = [&](const grammar::Token& one) {
      return one.offset < at || (one.offset == at && one.length == 0);
    };
    while (token + 1 < stream.tokens.size() && is_over(stream.tokens[token])) ++token;
    // The text of a message may begin with a newline.
    const bool is_token = token + 1 < stream.tokens.size() && stream.tokens[token].offset == at;
    if (!is_token && is_space(text[at])) {
      ++at;
      continue;
    }
    Lexeme piece{.offset = static_cast<std::uint32_t>(at), .gap = text.substr(gap, at - gap)};
    piece.newlines = static_cast<std::size_t>(std::ranges::count(piece.gap, '\n'));
    if (piece.newlines == 0) piece.newlines = piece.gap.find('\r') == std::string_view::npos ? 0 : 1;
    piece.column = piece.gap.size() - std::min(piece.gap.find_last_of("\r\n") + 1, piece.gap.size());
    piece.glued = piece.gap.empty() && !pieces.empty();
    const std::size_t limit =
        token < stream.tokens.size() ? stream.tokens[is_token ? token + 1 : token].offset : text.size();
    std::size_t end = at;
    if (is_token) {
      piece.kind = Lexeme::Kind::Token;
      end = at + stream.tokens[token].length;
    } else if (text[at] == '#') {
      piece.kind = Lexeme::Kind::Comment;
      end = std::min(text.find_first_of("\r\n", at), text.size());
      while (end > at && is_space(text[end - 1])) --end;
    } else {
      while (end < limit && !is_space(text[end]) && (end == at || text[end] != '#')) ++end;
    }
    piece.text = text.substr(at, end - at);
    piece.opens = piece.kind == Lexeme::Kind::Token && piece.text == "{";
    piece.closes = piece.kind == Lexeme::Kind::Token && piece.text == "}";
    pieces.push_back(piece);
    gap = at = end;
  }
  return pieces;
}

class Formatter {
 public:
  Formatter(const std::vector<Lexeme>& pieces, const std::vector<StatementBegin>& begins, bool collapse)
      : pieces_(pieces), begins_(begins), collapse_(collapse) {}

  std::string run() {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const Lexeme& piece = pieces_[i];
      while (next_ < begins_.size() && begins_[next_].offset < piece.offset) ++next_;
      const bool begins = next_ < begins_.size() && begins_[next_].offset == piece.offset;
      const bool in_block = begins && begins_[next_].in_block;
      is_item_ = in_block || (is_item_ && !piece.closes);
      if (in_block)
        ++next_;
      else if (begins)
        begin(piece);
      if (out_.empty() || piece.newlines > 0 || (begins && !in_block))
        line(i, begins, in_block);
      else if (piece.kind == Lexeme::Kind::Comment)
        out_ += "  ";
      else if (!piece.glued)
        out_ += collapse_ ? " " : piece.gap;
      if (piece.closes && !open_.empty()) open_.pop_back();
      out_ += piece.text;
      if (piece.opens && !is_block_) open_.push_back(indent_);
    }
    if (!out_.empty()) out_ += '\n';
    return std::move(out_);
  }

 private:
  void begin(const Lexeme& piece) {
    const char first = static_cast<char>(piece.text.front() | 0x20);
    const bool in_service = begins_[next_].in_service;
    const bool has_service = in_service_ || is_check_;
    is_check_ = !in_service && first == 'c';
    is_block_ = !in_service && first == 'f';
    outer_ = begins_[next_].depth * kStep;
    ++next_;
    // An include among the statements of a service is one of them.
    const bool goes_on = next_ < begins_.size() && begins_[next_].in_service;
    in_service_ = in_service || (has_service && first == 'i' && goes_on);
    open_.clear();
    is_item_ = false;
  }

  /// What comes after a comment and those that follow it: the statement that begins there, if one does; nothing at all
  /// is the end of the file; null: a statement goes on there.
  struct After {
    bool is_boundary = false;
    bool in_service = false;
    bool apart = false;     ///< a blank line is between
    std::size_t outer = 0;  ///< the indentation of the block it stands in
  };
  [[nodiscard]] After after(std::size_t i) const {
    After result;
    for (++i; i < pieces_.size() && pieces_[i].kind == Lexeme::Kind::Comment; ++i)
      result.apart = result.apart || pieces_[i].newlines > 1;
    if (i == pieces_.size()) return {.is_boundary = true, .apart = true};
    result.apart = result.apart || pieces_[i].newlines > 1;
    if (next_ == begins_.size() || begins_[next_].offset != pieces_[i].offset) return {};
    result.is_boundary = true;
    result.in_service = begins_[next_].in_service;
    result.outer = begins_[next_].depth * kStep;
    // A comment at the end of a block stands in it.
    if (pieces_[i].closes) result.outer += kStep;
    return result;
  }

  void line(std::size_t i, bool begins, bool begins_item) {
    const Lexeme& piece = pieces_[i];
    if (!out_.empty()) out_ += piece.newlines > 1 ? "\n\n" : "\n";
    const std::size_t base = outer_ + (in_service_ ? kStep : 0);
    const After next = piece.kind == Lexeme::Kind::Comment && open_.empty() ? after(i) : After{};
    if (begins && !begins_item)
      indent_ = base;
    else if (next.is_boundary)
      // A comment is the next statement's; one that stands apart, or is indented, that of the service above.
      indent_ =
          next.outer +
          ((next.in_service && !next.apart) || (piece.column > next.outer && (in_service_ || is_check_)) ? kStep : 0);
    else if (!open_.empty())
      indent_ = open_.back() + (piece.closes ? 0 : goes_on(piece, begins_item) ? 3 * kStep : kStep);
    else
      indent_ = base + kStep + (is_check_ || is_block_ ? kStep : 0);
    out_.append(indent_, ' ');
  }

  /// Whether a line goes on with an item of a block.
  [[nodiscard]] bool goes_on(const Lexeme& piece, bool begins_item) const {
    return is_item_ && !begins_item && piece.kind != Lexeme::Kind::Comment;
  }

  const std::vector<Lexeme>& pieces_;
  const std::vector<StatementBegin>& begins_;
  bool collapse_;
  bool is_item_ = false;           ///< an item of a block is under way
  std::size_t next_ = 0;           ///< of begins_
  bool in_service_ = false;        ///< the statement under way is one of a service
  bool is_check_ = false;          ///< it is the header of one: what goes on from it stands deeper than what follows
  bool is_block_ = false;          ///< it is the header of a `for each`
  std::vector<std::size_t> open_;  ///< braces: the indentation of the line that each was opened on
  std::size_t outer_ = 0;          ///< the indentation of the block that the statement under way stands in
  std::size_t indent_ = 0;         ///< of the line under way
  std::string out_;
};

/// Whether the second text has the tokens and comments of the first.
bool same_words(const std::vector<Lexeme>& one, const grammar::TokenStream& first, std::string_view text) {
  const grammar::TokenStream second = grammar::lex(text);
  if (first.kinds != second.kinds) return false;
  for (std::size_t i = 0; i + 1 < first.tokens.size(); ++i)
    if (first.text_of(i) != second.text_of(i)) return false;
  const std::vector<Lexeme> other = pieces_of(second);
  return std::ranges::equal(one, other, {}, &Lexeme::text, &Lexeme::text);
}

}  // namespace

Result<std::string> format_rules(std::string_view text) {
  Sources sources;
  const std::uint32_t file = sources.add("", std::string(text));
  Diagnostics diagnostics;
  const FileSyntax syntax = parse(file, text, diagnostics);
  if (!syntax.cut_includes.empty()) {
    const Position at = sources.position(file, syntax.cut_includes.front());
    return Error{EINVAL, fmt::format("{}:{}: error: an 'include' in the middle of a statement cannot be formatted",
                                     at.line, at.column)};
  }
  if (has_errors(diagnostics)) {
    const std::string error = first_error(diagnostics, sources);
    return Error{EINVAL, error.starts_with(':') ? error.substr(1) : error};
  }
  const grammar::TokenStream stream = grammar::lex(text);
  const std::vector<Lexeme> pieces = pieces_of(stream);
  for (const bool collapse : {true, false}) {
    std::string formatted = Formatter(pieces, syntax.begins, collapse).run();
    if (same_words(pieces, stream, formatted)) return formatted;
  }
  return Error{EINVAL, "no way was found to format it that keeps its meaning"};
}

std::string difference(const engine::RuleSet& before, const engine::RuleSet& after) {
  if (before.services.size() != after.services.size())
    return fmt::format("there would be {} services, not {}", after.services.size(), before.services.size());
  for (std::size_t i = 0; i < before.services.size(); ++i) {
    const engine::ServiceBlock& one = *before.services[i];
    if (fingerprint(one) != fingerprint(*after.services[i])) return fmt::format("{} would change", in_quotes(one.name));
  }
  const auto same = [](const auto& one, const auto& other) { return *one == *other; };
  if (!std::ranges::equal(before.workflows, after.workflows, same)) return "a workflow would change";
  return print(before) == print(after) ? "" : "the settings would change";
}

}  // namespace healer::config
