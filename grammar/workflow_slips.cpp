// SPDX-License-Identifier: MIT
#include "grammar/workflow_slips.hpp"

#include <algorithm>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "util/text.hpp"

namespace healer::grammar {
namespace {

constexpr std::string_view kTimeUnits[] = {"ms",  "milliseconds", "s",       "second", "seconds", "m",
                                           "min", "minute",       "minutes", "h",      "hour",    "hours",
                                           "day", "days",         "week",    "weeks"};
constexpr std::string_view kTimed[] = {"wait", "within", "every", "timeout", "cooldown", "probation"};
constexpr std::string_view kItems[] = {"guard", "on",        "limit",   "pause",    "cooldown", "tries",
                                       "ramp",  "probation", "breaker", "approval", "mode"};

/// A word, and how what begins with it is written.
struct Form {
  std::string_view word, example;
};
constexpr Form kForms[] = {
    {"recovered", "as in: recovered within 5 minutes"},
    {"breaker", "as in: breaker 3 failed within 1 hour"},
    {"limit", "as in: limit 1 at once, limit 4 within 1 hour, or limit 20% of group webboxes at once"},
    {"mode", "one of these may stand there: mode shadow, mode dry run, mode approval, mode automatic"},
    {"approval", "as in: approval within 10 minutes else skip"},
    {"pause", "as in: pause while more than 40% of group webboxes failed until less than 20%"},
    {"ramp", "as in: ramp 1, 2, 4"},
    {"tries", "as in: tries 2"},
    {"cooldown", "as in: cooldown 20 minutes"},
    {"probation", "as in: probation 30 minutes"},
    {"retry", "as in: retry 2 times every 30 seconds"},
    {"fail", "'fail' belongs to 'until': until get \"URL\" json '.status' = \"DONE\" fail json '.status' = \"FAILED\""},
    {"exec", "a step that runs a program is written: step \"NAME\" program \"/PATH ARGUMENT\""},
    {"wait", "as in: step \"calm\" wait 30 seconds"},
    {"save", "as in: save \"evicted ([0-9]+)\" as N, or save json '.id' as ID"},
    {"only", "as in: set healing only while gateway, clock"},
};
constexpr std::size_t kFormReach = 8;  // tokens: what broke off further on is another thing

bool is_one_of(std::string_view text, const auto& words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return iequals(word, text); });
}

/// Whether a token begins what stands beside workflows, not in them.
bool begins_other(const TokenStream& tokens, std::size_t token) {
  const Kind kind = tokens.tokens[token].kind;
  return kind == Kind::End || kind == Kind::Set || kind == Kind::Workflow ||
         (is_first_of_line(tokens, token) && iequals(tokens.text_of(token).substr(0, 5), "check"));
}

/// The word before the innermost brace that is open at a token; nothing: none is.
std::optional<std::size_t> open_block(const TokenStream& tokens, std::size_t begin, std::size_t token) {
  std::vector<std::size_t> open;
  for (std::size_t one = begin; one < token; ++one) {
    if (tokens.tokens[one].kind == Kind::LeftBrace) open.push_back(one - 1);
    if (tokens.tokens[one].kind == Kind::RightBrace && !open.empty()) open.pop_back();
  }
  return open.empty() ? std::nullopt : std::optional(open.back());
}

}  // namespace

std::optional<EarlierCause> workflow_slip(const TokenStream& tokens, std::size_t begin, std::size_t token) {
  if (token == 0 || begin >= tokens.tokens.size() || token >= tokens.tokens.size()) return std::nullopt;
  const Kind kind = tokens.tokens[token].kind;
  if (tokens.tokens[token - 1].kind == Kind::Then && iequals(tokens.text_of(token), "workflow"))
    return EarlierCause{token, {"unexpected 'workflow', expected an action", "write 'then heal with NAME'"}};
  const bool of_workflow = tokens.tokens[begin].kind == Kind::Workflow;
  if (!of_workflow && !iequals(tokens.text_of(begin), "step") && !is_one_of(tokens.text_of(begin), kItems))
    return std::nullopt;
  const bool ends = begins_other(tokens, token) || kind == Kind::RightBrace || is_first_of_line(tokens, token);
  if (token > 1 && tokens.tokens[token - 1].kind == Kind::Number && is_one_of(tokens.text_of(token - 2), kTimed) &&
      (ends || nearest_word(tokens.text_of(token), kTimeUnits).empty()))
    return EarlierCause{
        token - 1,
        {fmt::format("this time has no unit: '{} {}'", tokens.text_of(token - 2), tokens.text_of(token - 1)),
         fmt::format("as in: {0} {1} seconds, or {0} {1} minutes", tokens.text_of(token - 2),
                     tokens.text_of(token - 1))}};
  if (kind == Kind::String && iequals(tokens.text_of(token - 1), "step") && !ends)
    return EarlierCause{token,
                        {"the name of a step must be in double quotes",
                         fmt::format("write step \"{}\"", printable(tokens.text_of(token)))}};
  if (!of_workflow) return std::nullopt;
  const std::optional<std::size_t> block = open_block(tokens, begin, token);
  if (!block) return std::nullopt;
  if (begins_other(tokens, token)) return EarlierCause{*block, {"this block is not closed", "close it with '}'"}};
  const std::string_view word = tokens.text_of(*block);
  const bool ends_healing = iequals(word, "failure") || iequals(word, "cancel");
  if (!ends_healing && iequals(tokens.text_of(token), "heal") && token + 2 < tokens.tokens.size() &&
      iequals(tokens.text_of(token + 1), "with"))
    return EarlierCause{
        token,
        {"'heal with' is not a step: it names the workflow that takes over when all tries of this one have failed",
         fmt::format("write on failure heal with {}", printable(tokens.text_of(token + 2)))}};
  if (*block > begin + 1 && is_first_of_line(tokens, token) && is_one_of(tokens.text_of(token), kItems))
    return EarlierCause{
        token,
        {fmt::format("'{}' cannot be used in the block of '{}'", tokens.text_of(token), printable(word)),
         "close that block with '}' before it"}};
  return std::nullopt;
}

std::string workflow_form(const TokenStream& tokens, std::size_t begin, std::size_t token) {
  if (begin >= tokens.tokens.size() || token >= tokens.tokens.size()) return {};
  const bool of_healing = tokens.tokens[begin].kind == Kind::Set && iequals(tokens.text_of(begin + 1), "healing");
  if (tokens.tokens[begin].kind != Kind::Workflow && !of_healing) return {};
  const std::size_t last = std::max(begin, token - std::min(token, kFormReach));
  for (std::size_t one = token + 1; one-- > last;) {
    const std::string_view word = tokens.text_of(one);
    const auto* form = std::ranges::find_if(kForms, [&](const Form& each) { return iequals(each.word, word); });
    if (form != std::end(kForms)) return std::string(form->example);
  }
  return {};
}

}  // namespace healer::grammar
