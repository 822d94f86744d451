// SPDX-License-Identifier: MIT
#include "grammar/own_statement.hpp"

#include <algorithm>
#include <initializer_list>

#include "grammar/lexer.hpp"
#include "util/text.hpp"

namespace healer::grammar {
namespace {

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view one) { return iequals(one, word); });
}

bool separates(char c) { return std::string_view(" \t\r\n,;()").find(c) != std::string_view::npos; }

/// Whether a comma stands there, other than in a comment.
bool has_comma(std::string_view gap) {
  for (std::size_t at = 0; at < gap.size(); ++at) {
    if (gap[at] == ',') return true;
    if (gap[at] == '#') at = std::min(gap.find('\n', at), gap.size() - 1);
  }
  return false;
}

/// The word, text in quotes or sign that comes at `at` or after it; empty at the end of the text.
std::string_view piece_at(std::string_view text, std::size_t at) {
  for (; at < text.size() && (separates(text[at]) || text[at] == '#'); ++at)
    if (text[at] == '#') at = std::min(text.find('\n', at), text.size() - 1);
  if (at >= text.size()) return {};
  std::size_t end = at;
  if (text[at] == '"' || text[at] == '\'')
    end = std::min(text.find(text[at], at + 1), text.size() - 1) + 1;
  else
    while (end < text.size() && is_word_character(text[end])) ++end;
  return text.substr(at, std::max(end - at, std::size_t{1}));
}

std::size_t end_of(std::string_view text, std::string_view piece) {
  return static_cast<std::size_t>(piece.data() - text.data()) + piece.size();
}

/// Whether `workflow`, which ends at `end`, begins one: a name and a brace come, which is an error in Monit, but for
/// options of TLS.
bool begins_workflow(std::string_view text, std::size_t end) {
  const std::string_view name = piece_at(text, end);
  if (name.empty() || name == "{" || is_one_of(name, {"ssl", "tls"})) return false;
  return piece_at(text, end_of(text, name)) == "{";
}

/// How many pieces belong to the `heal` that ends at `end`: `with W`, `NAME with W`. Of a service named `with` the
/// workflow stands on the same line.
std::size_t pieces_of_heal(std::string_view text, std::size_t end) {
  const std::string_view first = piece_at(text, end);
  if (first.empty()) return 0;
  const std::string_view second = piece_at(text, end_of(text, first));
  const bool named = iequals(second, "with");
  if (!iequals(first, "with")) return named ? 3 : 0;
  if (!named) return 2;
  const std::size_t after = end_of(text, second);
  const std::string_view third = piece_at(text, after);
  const bool goes_on = !third.empty() &&
                       text.substr(after, end_of(text, third) - after).find('\n') == std::string_view::npos &&
                       !iequals(third, "dry");
  return goes_on ? 3 : 2;
}

/// The word that ends at `end` or in blanks before it.
std::string_view word_before(std::string_view text, std::size_t end) {
  while (end > 0 && separates(text[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && is_word_character(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

/// Whether `http`, at `begin`, stands in `for each NAME from http`.
bool begins_http_list(std::string_view text, std::size_t begin) {
  const std::string_view from = word_before(text, begin);
  if (!iequals(from, "from")) return false;
  const std::string_view name = word_before(text, static_cast<std::size_t>(from.data() - text.data()));
  const std::string_view each = word_before(text, static_cast<std::size_t>(name.data() - text.data()));
  return !name.empty() && iequals(each, "each") &&
         iequals(word_before(text, static_cast<std::size_t>(each.data() - text.data())), "for");
}

}  // namespace

Kind own_check_of(std::string_view word) {
  if (iequals(word, "composite")) return Kind::CheckComposite;
  if (iequals(word, "heartbeat")) return Kind::CheckHeartbeat;
  if (iequals(word, "event")) return Kind::CheckEvent;
  if (iequals(word, "row")) return Kind::CheckRow;
  return iequals(word, "unit") ? Kind::CheckUnit : Kind::End;
}

bool is_own_check(Kind kind) {
  return kind == Kind::CheckComposite || kind == Kind::CheckHeartbeat || kind == Kind::CheckEvent ||
         kind == Kind::CheckRow || kind == Kind::CheckUnit;
}

OwnStatement::Reading OwnStatement::read(std::string_view text, std::size_t begin, std::size_t end, Kind before,
                                         std::string_view ending_word, std::string_view gap, bool is_first) {
  if (form_ != Form::None && ends(text, begin, end, ending_word, gap, is_first)) form_ = Form::None;
  if (form_ == Form::Heal && --left_ == 0) {
    form_ = Form::None;
    return Reading::Own;
  }
  if (form_ != Form::None) return Reading::Own;
  const std::string_view word = text.substr(begin, end - begin);
  if (before == Kind::Set && is_one_of(word, {"healing", "maintenance", "contact", "operators"})) {
    form_ = Form::Set;
    return Reading::Own;
  }
  if ((before == Kind::Then || before == Kind::Else) && iequals(word, "heal")) {
    left_ = pieces_of_heal(text, end);
    if (left_ > 0) form_ = Form::Heal;
    return Reading::Own;
  }
  if (iequals(word, "http") && begins_http_list(text, begin)) {
    form_ = Form::List;
    return Reading::Own;
  }
  if (!iequals(word, "workflow") || !begins_workflow(text, end)) return Reading::Monit;
  form_ = Form::Block;
  left_ = 0;
  return Reading::Workflow;
}

/// Where a statement of a file begins, an own one that is not closed is over; a name may be such a word.
bool OwnStatement::ends(std::string_view text, std::size_t begin, std::size_t end, std::string_view ending_word,
                        std::string_view gap, bool is_first) const {
  const std::string_view word = text.substr(begin, end - begin);
  if (form_ == Form::Heal)
    return is_first && is_one_of(word, {"if", "else", "check", "set", "include", "alert", "noalert", "every", "group",
                                        "mode", "depends", "start", "stop", "restart", "workflow"});
  const bool begins_another = is_one_of(word, {"set", "include", "check", "define"}) ||
                              (iequals(word, "workflow") && begins_workflow(text, end)) ||
                              (iequals(word, "for") && iequals(piece_at(text, end), "each"));
  if (!begins_another) return false;
  if (form_ == Form::List) return is_first;
  if (form_ == Form::Block)
    return left_ > 0 && is_first && !is_one_of(ending_word, {"start", "stop", "restart", "with", "group"});
  return !is_one_of(ending_word, {"while", "group", "contact"}) && !has_comma(gap);
}

void OwnStatement::quoted() {
  if (form_ == Form::Heal && --left_ == 0) form_ = Form::None;
}

void OwnStatement::brace(bool opens) {
  if (form_ == Form::List) form_ = Form::None;
  if (form_ != Form::Block) return;
  if (opens)
    ++left_;
  else if (left_ <= 1)
    form_ = Form::None;
  else
    --left_;
}

}  // namespace healer::grammar
