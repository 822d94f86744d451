// SPDX-License-Identifier: MIT
#include "grammar/errors.hpp"

#include <algorithm>

#include <spdlog/fmt/fmt.h>

#include "util/text.hpp"

namespace healer::grammar {
namespace {

constexpr std::size_t kMostExpected = 8;
constexpr std::size_t kLongestShown = 40;

bool is_value(Kind kind) { return kind <= Kind::RawText; }

std::string spelled(std::string_view spelling) {
  std::string out(spelling);
  std::erase(out, '\v');
  std::ranges::replace(out, '\t', ' ');
  return out;
}

void add_once(std::vector<std::string_view>& to, std::string_view one) {
  if (std::ranges::find(to, one) == to.end()) to.push_back(one);
}

std::string_view first_word(std::string_view spelling) { return spelling.substr(0, spelling.find_first_of(" \t\v")); }

/// The words that would have fitted.
std::vector<std::string_view> candidates(const Expectation& expectation) {
  std::vector<std::string_view> words(expectation.texts);
  words.insert(words.end(), expectation.near_texts.begin(), expectation.near_texts.end());
  const auto allowed = expectation.kinds | expectation.near;
  for (const WordEntry& entry : kWords) {
    if (!allowed.test(static_cast<std::size_t>(entry.kind)) || entry.spelling.size() < 2) continue;
    words.push_back(entry.spelling);
    words.push_back(first_word(entry.spelling));
  }
  return words;
}

std::vector<std::string_view> noise_words() {
  std::vector<std::string_view> words;
  for (const WordEntry& entry : kWords)
    if (entry.kind == Kind::Noise && entry.spelling.size() > 2) words.push_back(entry.spelling);
  return words;
}

/// What the writer may have meant by a token that does not fit, or nothing.
std::string_view meant(const TokenStream& tokens, std::size_t token, const Expectation& expectation) {
  const Kind kind = tokens.tokens[token].kind;
  if (kind == Kind::Quoted || kind == Kind::Number) return {};
  if (const auto near = nearest_word(tokens.text_of(token), candidates(expectation)); !near.empty()) return near;
  // A slip in a noise word: what follows it would have fitted.
  const Kind next = tokens.tokens[token + 1].kind;
  if (kind != Kind::String || !(expectation.kinds | expectation.near).test(static_cast<std::size_t>(next))) return {};
  return nearest_word(tokens.text_of(token), noise_words());
}

}  // namespace

bool Expectation::reach(std::size_t token) {
  if (token < furthest) return false;
  if (token > furthest) *this = Expectation{.furthest = token};
  return true;
}

void Expectation::add_phrase(std::string_view phrase) { add_once(phrases, phrase); }
void Expectation::add_text(std::string_view text) { add_once(texts, text); }
void Expectation::add_near_text(std::string_view text) { add_once(near_texts, text); }

std::string describe(Kind kind) {
  switch (kind) {
    case Kind::String:
    case Kind::Quoted:
    case Kind::Address: return "a text";
    case Kind::Path: return "an absolute path";
    case Kind::Number: return "a number";
    case Kind::Real: return "a number";
    case Kind::Mail: return "a mail address with '@'";
    case Kind::Url: return "a URL";
    case Kind::Name: return "a name";
    case Kind::Schedule: return "a quoted schedule";
    case Kind::Command: return "a program";
    case Kind::Pattern: return "a file name";
    case Kind::RawLine:
    case Kind::RawText: return "a text";
    case Kind::Colon: return "':'";
    case Kind::LeftBrace: return "'{'";
    case Kind::RightBrace: return "'}'";
    case Kind::Percent: return "'%'";
    case Kind::Second: return "'seconds'";
    case Kind::Cycle: return "'cycles'";
    case Kind::Millisecond: return "'ms'";
    case Kind::Minute: return "'minutes'";
    case Kind::Hour: return "'hours'";
    case Kind::Day: return "'days'";
    case Kind::SizeUnit: return "a unit such as kB";
    case Kind::Operator: return "an operator such as '!='";
    default: break;
  }
  const auto* found = std::ranges::find(kWords, kind, &WordEntry::kind);
  return found == std::end(kWords) ? "something else" : fmt::format("'{}'", spelled(found->spelling));
}

std::string describe(const TokenStream& tokens, std::size_t token) {
  if (tokens.tokens[token].kind == Kind::End) return "the end of the file";
  std::string text = printable(tokens.text_of(token).substr(0, kLongestShown));
  if (tokens.tokens[token].length > kLongestShown) text += "...";
  return fmt::format("'{}'", text);
}

std::string unexpected(const TokenStream& tokens, std::size_t token) {
  if (tokens.tokens[token].kind == Kind::End) return "the file ends here";
  return fmt::format("unexpected {}", describe(tokens, token));
}

const Fault* fault_of(const TokenStream& tokens, std::size_t token) {
  const auto found = std::ranges::lower_bound(tokens.faults, token, {}, &Fault::token);
  return found == tokens.faults.end() || found->token != token ? nullptr : &*found;
}

Complaint unexpected(const TokenStream& tokens, std::size_t token, const Expectation& expectation) {
  if (const Fault* fault = fault_of(tokens, token)) return {fault->message, fault->remedy};

  std::vector<std::string> expected;
  const auto add = [&](std::string one) {
    if (std::ranges::find(expected, one) == expected.end()) expected.push_back(std::move(one));
  };
  for (const auto phrase : expectation.phrases) add(std::string(phrase));
  for (std::size_t kind = 0; kind < expectation.kinds.size(); ++kind)
    if (expectation.kinds.test(kind)) add(describe(static_cast<Kind>(kind)));
  for (const auto text : expectation.texts) add(fmt::format("'{}'", text));

  Complaint complaint;
  const Kind kind = tokens.tokens[token].kind;
  complaint.message = unexpected(tokens, token);
  if (!expected.empty()) {
    if (expected.size() > kMostExpected) {
      expected.resize(kMostExpected - 1);
      expected.emplace_back("something else");
    }
    complaint.message += fmt::format(", expected {}", join_words(expected, "or"));
  }

  if (kind == Kind::End) return complaint;
  if (const auto near = meant(tokens, token, expectation); !near.empty()) {
    complaint.remedy = fmt::format("did you mean '{}'?", spelled(near));
  } else if (!is_value(kind) && expectation.kinds.none() &&
             expectation.near.test(static_cast<std::size_t>(Kind::String))) {
    complaint.remedy =
        fmt::format("{} is a word of the language; put it in double quotes to mean a text", describe(tokens, token));
  }
  return complaint;
}

}  // namespace healer::grammar
