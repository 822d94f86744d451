// SPDX-License-Identifier: MIT
#include "grammar/habits.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include <spdlog/fmt/fmt.h>

#include "grammar/tight.hpp"
#include "util/text.hpp"

namespace healer::grammar {
namespace {

/// Where a habit counts.
enum class Where : std::uint8_t {
  Anywhere,
  Test,       ///< where a test may stand
  Operator,   ///< where something is compared
  Then,       ///< where `then` may stand
  Statement,  ///< where a statement may begin
};

/// What is written, as words that stand for a token each, and what to write. `*` at the end of a word stands for any
/// rest of it.
struct Habit {
  std::string_view written;
  Where where;
  std::string_view remedy;
};

constexpr std::string_view kAnd = "write 'and'";
constexpr std::string_view kOr = "write 'or'";
constexpr std::string_view kNotEqual = "write '!='";
constexpr std::string_view kStatus = "the exit status of a program is 'status', as in: if status != 0 then alert";
constexpr std::string_view kContent = "what a program writes is 'content', as in: if content = \"REGEX\" then alert";
constexpr std::string_view kRegex =
    "write '=' or '!=' and a regular expression, as in: content = \"REGEX\"; of JSON: json '.a | test(\"REGEX\")' = "
    "true";
constexpr std::string_view kOther =
    "'else' is for the recovery, as in 'else if succeeded then alert'; another condition is a rule of its own: if ... "
    "then ...";
constexpr std::string_view kDepends = "write 'depends on NAME'";
constexpr std::string_view kNoBraces = "rules have no braces: if CONDITION then ACTION";
constexpr std::string_view kUnit = "this is a unit file of systemd; a service begins with 'check process NAME'";
constexpr std::string_view kRestart =
    "a process that has gone is started again unless a rule says otherwise; a limit is 'if 5 restarts within 10 cycles "
    "then unmonitor'";
constexpr std::string_view kStart =
    "write start program = \"/path/of/program\", or let healer run it: check process NAME with program \"...\"";

constexpr std::string_view kRunning =
    "a test that a process runs is 'exist': if does not exist then alert; of a unit: if not active then alert; of a "
    "heartbeat: if missed then alert";

constexpr Habit kHabits[] = {
    {"&&", Where::Anywhere, kAnd},
    {"&", Where::Then, kAnd},
    {"||", Where::Anywhere, kOr},
    {"|", Where::Then, kOr},
    {"not", Where::Operator, kNotEqual},
    {"isnt", Where::Operator, kNotEqual},
    {"contains", Where::Operator, kRegex},
    {"contain", Where::Operator, kRegex},
    {"includes", Where::Operator, kRegex},
    {"like", Where::Operator, kRegex},
    {"matches", Where::Operator, kRegex},
    {"match", Where::Operator, kRegex},
    {"=~", Where::Operator, kRegex},
    {"~", Where::Operator, kRegex},
    {"~=", Where::Operator, kRegex},
    {"exit code", Where::Test, kStatus},
    {"exit status", Where::Test, kStatus},
    {"exit", Where::Test, kStatus},
    {"exitcode", Where::Test, kStatus},
    {"exit_code", Where::Test, kStatus},
    {"exitstatus", Where::Test, kStatus},
    {"return code", Where::Test, kStatus},
    {"returncode", Where::Test, kStatus},
    {"rc", Where::Test, kStatus},
    {"output", Where::Test, kContent},
    {"stdout", Where::Test, kContent},
    {"stderr", Where::Test, kContent},
    {"running", Where::Test, kRunning},
    {"active", Where::Test, kRunning},
    {"alive", Where::Test, kRunning},
    {"started", Where::Test, kRunning},
    {"responding", Where::Test, "a test that a server answers is: if failed port 80 protocol http then alert"},
    {"stopped", Where::Test, kRunning},
    {"dead", Where::Test, kRunning},
    {"inactive", Where::Test, kRunning},
    {"missing", Where::Test, kRunning},
    {"gone", Where::Test, kRunning},
    {"elif", Where::Statement, kOther},
    {"elsif", Where::Statement, kOther},
    {"elseif", Where::Statement, kOther},
    {"{", Where::Then, kNoBraces},
    {"}", Where::Statement, kNoBraces},
    {":", Where::Then, "write 'then' in place of ':'"},
    {"requires", Where::Statement, kDepends},
    {"require", Where::Statement, kDepends},
    {"needs", Where::Statement, kDepends},
    {"[unit]", Where::Anywhere, kUnit},
    {"[service]", Where::Anywhere, kUnit},
    {"[install]", Where::Anywhere, kUnit},
    {"restart=*", Where::Anywhere, kRestart},
    {"restartsec=*", Where::Anywhere, "healer waits 1 s, 2 s, 4 s, ... by itself"},
    {"execstart=*", Where::Anywhere, kStart},
    {"execstop=*", Where::Anywhere, "write stop program = \"/path/of/program\""},
    {"pidfile=*", Where::Anywhere, "write check process NAME with pidfile /path"},
    {"user=*", Where::Anywhere, "write 'as uid USER and gid GROUP' after the program"},
    {"group=*", Where::Anywhere, "write 'as uid USER and gid GROUP' after the program"},
    {"environment=*", Where::Anywhere, "write set environment NAME \"VALUE\""},
    {"timeoutstartsec=*", Where::Anywhere, "write 'with timeout 30 seconds' after the start program"},
    {"timeoutstopsec=*", Where::Anywhere, "write 'with timeout 30 seconds' after the stop program"},
    {"type=notify", Where::Anywhere, "write 'ready on notify'"},
    {"requires=*", Where::Anywhere, kDepends},
    {"wants=*", Where::Anywhere, kDepends},
    {"after=*", Where::Anywhere, kDepends},
    {"description=*", Where::Anywhere, kUnit},
    {"wantedby=*", Where::Anywhere, kUnit},
    {"type=*", Where::Anywhere, kUnit},
};

bool is_expected(Where where, const Expectation& expectation) {
  const auto allows = [&](Kind kind) {
    return (expectation.kinds | expectation.near).test(static_cast<std::size_t>(kind));
  };
  switch (where) {
    case Where::Anywhere: return true;
    case Where::Test: return allows(Kind::Status);
    case Where::Operator: return allows(Kind::Operator);
    case Where::Then: return allows(Kind::Then);
    case Where::Statement: return allows(Kind::If) || allows(Kind::Set);
  }
  return false;
}

bool fits(std::string_view word, std::string_view text) {
  if (!word.ends_with('*')) return iequals(word, text);
  word.remove_suffix(1);
  return iequals(word, text.substr(0, word.size()));
}

bool fits(const Habit& habit, const TokenStream& tokens, std::size_t token) {
  std::string_view rest = habit.written;
  for (; !rest.empty(); ++token) {
    if (tokens.tokens[token].kind == Kind::End || tokens.tokens[token].kind == Kind::Quoted) return false;
    const std::size_t end = std::min(rest.find(' '), rest.size());
    if (!fits(rest.substr(0, end), tokens.text_of(token))) return false;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return true;
}

/// Units as other programs call them.
struct Unit {
  std::string_view written;
  std::string_view meant;
};
constexpr Unit kUnits[] = {
    {"k", "kB"},     {"ki", "kB"},     {"kib", "kB"},      {"g", "GB"},         {"gi", "GB"},       {"gib", "GB"},
    {"mi", "MB"},    {"mib", "MB"},    {"sec", "seconds"}, {"secs", "seconds"}, {"min", "minutes"}, {"mins", "minutes"},
    {"hr", "hours"}, {"hrs", "hours"}, {"d", "days"},      {"w", "weeks"},      {"msec", "ms"}};

std::string_view unit_meant(std::string_view written) {
  const auto* found = std::ranges::find_if(kUnits, [&](const Unit& unit) { return iequals(unit.written, written); });
  return found == std::end(kUnits) ? std::string_view{} : found->meant;
}

/// `2G`, `5min`, in one word or two. `2M` may be a size or minutes.
std::string unit(const TokenStream& tokens, std::size_t token) {
  const auto written = tokens.text_of(token);
  if (const auto parts = decimal_number(written)) {
    if (const auto meant = unit_meant(parts->rest); !meant.empty())
      return fmt::format("write '{} {}'", parts->digits, meant);
    if (iequals(parts->rest, "m")) return fmt::format("write '{} MB', or '{} minutes'", parts->digits, parts->digits);
    return {};
  }
  if (token == 0 || (tokens.tokens[token - 1].kind != Kind::Number && tokens.tokens[token - 1].kind != Kind::Real))
    return {};
  const auto meant = unit_meant(written);
  return meant.empty() ? std::string{} : fmt::format("write '{} {}'", tokens.text_of(token - 1), meant);
}

/// `key: value`, `- name: x`.
std::string yaml(const TokenStream& tokens, std::size_t token, const Expectation& expectation) {
  const auto is_colon = [&](std::size_t one) { return tokens.tokens[one].kind == Kind::Colon; };
  if ((expectation.kinds | expectation.near).test(static_cast<std::size_t>(Kind::Colon))) return {};
  if (is_colon(token) && token > 0 && is_program_word(tokens.tokens[token - 1].kind))
    return fmt::format("write {} program = \"/path/of/program\"", to_lower(tokens.text_of(token - 1)));
  const bool begins = (tokens.tokens[token].flags & kFirstOfLine) != 0 && is_expected(Where::Statement, expectation);
  const bool is_entry = begins && tokens.text_of(token) == "-";
  const bool is_key = begins && tokens.tokens[token].kind != Kind::End && is_colon(token + 1);
  if (!is_colon(token) && !is_key && !is_entry) return {};
  return "this reads like YAML; here words follow each other without ':', as in: check process NAME with pidfile /path";
}

/// The rest of the text at an offset, to the next blank.
std::string_view text_from(const TokenStream& tokens, std::size_t offset) {
  const std::size_t end = std::min(tokens.text.find_first_of(" \t\r\n", offset), tokens.text.size());
  return tokens.text.substr(offset, end - offset);
}

/// `127.0.0.1:8081`, `smtp.example.org:587`: a port that hangs on its host.
std::string port_behind_host(const TokenStream& tokens, std::size_t token) {
  if (token < 2 || tokens.tokens[token].kind != Kind::Colon) return {};
  const Token& host = tokens.tokens[token - 1];
  const Token& port = tokens.tokens[token + 1];
  const std::uint32_t colon = tokens.tokens[token].offset;
  if (host.offset + host.length != colon || port.offset != colon + 1 || port.kind != Kind::Number) return {};
  if (host.kind != Kind::String && host.kind != Kind::Number && host.kind != Kind::Real) return {};
  const std::string_view name = tokens.text_of(token - 1), number = tokens.text_of(token + 1);
  std::size_t check = token - 2;
  if (tokens.tokens[check].kind != Kind::AddressWord || check < 2 || tokens.tokens[check - 2].kind != Kind::CheckHost)
    return fmt::format("write {} port {}", name, number);
  return fmt::format("write address {}, and the port in a test: if failed port {} then alert", name, number);
}

/// `then restart shop`, `then alert admin@x`: what follows an action that takes nothing.
std::string after_action(const TokenStream& tokens, std::size_t token) {
  if (token < 2 || is_first_of_line(tokens, token)) return {};
  // What may follow an action on its line.
  static constexpr std::string_view kAfterAction[] = {"else", "elif", "elsif", "elseif", "every"};
  const Kind action = tokens.tokens[token - 1].kind;
  const Kind before = tokens.tokens[token - 2].kind;
  if ((before != Kind::Then && before != Kind::Else) || !is_action(action) || action == Kind::Exec) return {};
  const std::string_view written = tokens.text_of(token);
  switch (tokens.tokens[token].kind) {
    case Kind::Repeat:
      if (action != Kind::Alert) return {};
      return fmt::format(
          "'repeat' is for 'exec'; alerts are repeated by a reminder: alert ADDRESS with reminder on {} cycles",
          token + 2 < tokens.tokens.size() && tokens.tokens[token + 2].kind == Kind::Number ? tokens.text_of(token + 2)
                                                                                            : "10");
    case Kind::Mail: break;
    case Kind::Quoted:
      if (action == Kind::Alert) return "'alert' takes no text; the text of mails is that of 'set mail-format'";
      [[fallthrough]];
    case Kind::String:
    case Kind::Name:
      if (action == Kind::Alert || !nearest_word(written, kAfterAction).empty()) return {};
      return fmt::format("an action is for the service itself: use 'depends on', or exec \"/usr/bin/healerctl {} {}\"",
                         to_lower(tokens.text_of(token - 1)), printable(unquote(written)));
    default: return {};
  }
  return fmt::format("'alert {0}' is a statement of its own: write it on a line after the rule", printable(written));
}

/// `failed url 127.0.0.1:8081/health`.
std::string url_without_scheme(const TokenStream& tokens, std::size_t token) {
  if (token == 0 || tokens.tokens[token - 1].kind != Kind::UrlWord) return {};
  const std::string_view written = text_from(tokens, tokens.tokens[token].offset);
  if (written.empty() || written.find_first_of("\"'{}") != std::string_view::npos) return {};
  return fmt::format("'http://' is missing: write url http://{}", printable(written));
}

/// `else if status = 3 then ...`.
bool other_condition(const TokenStream& tokens, std::size_t token) {
  static constexpr std::string_view kSucceeded[] = {"succeeded", "recovered", "passed"};
  return token > 1 && tokens.tokens[token - 1].kind == Kind::If && tokens.tokens[token - 2].kind == Kind::Else &&
         nearest_word(tokens.text_of(token), kSucceeded).empty();
}

/// `content = foo(bar)`, `matching a{2}`: the sign ends a text without quotes.
std::optional<EarlierCause> unquoted_regex(const TokenStream& tokens, std::size_t token) {
  if (token < 3) return std::nullopt;
  const Token& pattern = tokens.tokens[token - 1];
  const Kind before = tokens.tokens[token - 2].kind;
  const bool is_content =
      (before == Kind::Equal || before == Kind::Operator) && tokens.tokens[token - 3].kind == Kind::Content;
  if ((pattern.kind != Kind::String && pattern.kind != Kind::Path) || (!is_content && before != Kind::Match))
    return std::nullopt;
  const std::size_t end = pattern.offset + pattern.length;
  if (end >= tokens.text.size() || std::string_view("(),;{}:%!").find(tokens.text[end]) == std::string_view::npos)
    return std::nullopt;
  // To the blank behind which no parenthesis is open, on that line.
  std::size_t stop = end;
  std::string_view whole;
  do {
    stop = std::min(tokens.text.find_first_of(" \t\r\n", stop + 1), tokens.text.size());
    whole = tokens.text.substr(pattern.offset, stop - pattern.offset);
  } while (std::ranges::count(whole, '(') > std::ranges::count(whole, ')') && stop < tokens.text.size() &&
           (tokens.text[stop] == ' ' || tokens.text[stop] == '\t'));
  const bool shown = whole.size() < 80 && whole.find_first_of("\"'") == std::string_view::npos;
  return EarlierCause{
      token - 1,
      {fmt::format("the text ends before the '{}': without quotes it cannot contain such characters", tokens.text[end]),
       shown ? fmt::format("put the regular expression in double quotes: \"{}\"", whole)
             : "put the regular expression in double quotes"}};
}

/// A space that is none to the language, in a token without quotes.
std::optional<EarlierCause> odd_space(const TokenStream& tokens, std::size_t token) {
  struct Space {
    std::string_view bytes, name, code;
  };
  static constexpr Space kSpaces[] = {
      {"\u00a0", "a no-break space", "U+00A0"},     {"\u202f", "a narrow no-break space", "U+202F"},
      {"\u2007", "a figure space", "U+2007"},       {"\u2009", "a thin space", "U+2009"},
      {"\u2002", "an en space", "U+2002"},          {"\u2003", "an em space", "U+2003"},
      {"\u3000", "an ideographic space", "U+3000"}, {"\u200b", "a zero-width space", "U+200B"},
      {"\u2060", "a word joiner", "U+2060"},        {"\ufeff", "a zero-width no-break space", "U+FEFF"}};
  const std::string_view text = tokens.text_of(token);
  const Space* first = nullptr;
  std::size_t where = std::string_view::npos;
  for (const Space& space : kSpaces)
    if (const std::size_t at = text.find(space.bytes); at < where) first = &space, where = at;
  if (first == nullptr) return std::nullopt;
  const Piece at{static_cast<std::uint32_t>(tokens.tokens[token].offset + where),
                 static_cast<std::uint32_t>(first->bytes.size())};
  // What has no width is shown by the word that it is in.
  const bool is_seen =
      first->name.find("zero") == std::string_view::npos && first->name.find("joiner") == std::string_view::npos;
  return EarlierCause{token,
                      {fmt::format("{} ({}) stands here", first->name, first->code),
                       is_seen ? "write a plain one" : "remove it, or write a plain space"},
                      is_seen ? std::optional(at) : std::nullopt};
}

/// Whether a text begins or ends with a quote as word processors make them.
bool has_curly_quotes(std::string_view text) {
  static constexpr std::array<std::string_view, 6> kQuotes{"\u201c", "\u201d", "\u201e", "\u2018", "\u2019", "\u00ab"};
  return std::ranges::any_of(kQuotes, [&](std::string_view quote) {
    return text.starts_with(quote) || (text.ends_with(quote) && quote != "\u2019");
  });
}

EarlierCause curly_quotes(std::size_t token) {
  return {token, {"typographic quotes do not quote: they are part of the text", "write straight quotes: \"...\""}};
}

}  // namespace

bool is_program_word(Kind kind) { return kind == Kind::Start || kind == Kind::Stop || kind == Kind::Restart; }

bool is_action(Kind kind) {
  return is_program_word(kind) || kind == Kind::Alert || kind == Kind::Exec || kind == Kind::Unmonitor;
}

std::string remedy_of_habit(const TokenStream& tokens, std::size_t token, const Expectation& expectation) {
  if (token > 0 && tokens.tokens[token - 1].kind == Kind::Not && tokens.tokens[token].kind == Kind::Then)
    return "write behind 'not' what is not to hold, as in: not status = 0";
  if (const Kind kind = tokens.tokens[token].kind;
      token > 0 && tokens.tokens[token - 1].kind == Kind::Status && (kind == Kind::Then || is_action(kind)))
    return "say which status, as in: if status != 0 then alert";
  for (const auto& remedy :
       {after_action(tokens, token), port_behind_host(tokens, token), url_without_scheme(tokens, token)})
    if (!remedy.empty()) return remedy;
  for (const Habit& habit : kHabits)
    if (is_expected(habit.where, expectation) && fits(habit, tokens, token)) return std::string(habit.remedy);
  if (auto remedy = missing_then(tokens, token, expectation); !remedy.empty()) return remedy;
  return yaml(tokens, token, expectation);
}

std::string remedy_of_far_habit(const TokenStream& tokens, std::size_t token) {
  if (other_condition(tokens, token)) return std::string(kOther);
  return unit(tokens, token);
}

std::string missing_then(const TokenStream& tokens, std::size_t token, const Expectation& expectation) {
  if (!is_action(tokens.tokens[token].kind) || !is_expected(Where::Then, expectation)) return {};
  return fmt::format("write 'then' before '{}'", tokens.text_of(token));
}

std::optional<EarlierCause> earlier_habit(const TokenStream& tokens, std::size_t begin, std::size_t token) {
  // A word that such a space is part of may have become an argument of the statement before.
  std::size_t first = std::min(begin, token);
  while (first > 0 && first < tokens.tokens.size() && (tokens.tokens[first].flags & kFirstOfLine) == 0) --first;
  for (std::size_t one = first; one < begin && one <= token; ++one)
    if (tokens.tokens[one].kind == Kind::String || tokens.tokens[one].kind == Kind::Name)
      if (auto found = odd_space(tokens, one)) return found;
  for (std::size_t one = begin; one <= token && one < tokens.tokens.size(); ++one) {
    const Kind kind = tokens.tokens[one].kind;
    const std::string_view written = tokens.text_of(one);
    if (kind == Kind::End || kind == Kind::Broken || written.empty() || written.front() == '"' ||
        written.front() == '\'')
      continue;
    if (auto found = odd_space(tokens, one)) return found;
    if (has_curly_quotes(written)) return curly_quotes(one);
  }
  if (auto found = unquoted_regex(tokens, token)) return found;
  if (token > 1 && tokens.tokens[token - 2].kind == Kind::Depends && iequals(tokens.text_of(token - 1), "upon"))
    return EarlierCause{token - 1, {"unexpected 'upon', expected a name of a service", "write 'depends on NAME'"}};
  // `exec "/x" elif`: taken for an argument.
  if (token > 0 && tokens.tokens[token - 1].kind == Kind::String)
    for (const Habit& habit : kHabits)
      if (habit.remedy == kOther && iequals(habit.written, tokens.text_of(token - 1)))
        return EarlierCause{token - 1,
                            {unexpected(tokens, token - 1) + ", expected another statement", std::string(kOther)}};
  return std::nullopt;
}

std::optional<Complaint> swallowed_word(const TokenStream& tokens, std::size_t token) {
  static constexpr std::string_view kStatements[] = {"if",    "every", "not",     "alert",  "noalert",
                                                     "group", "mode",  "check",   "set",    "onreboot",
                                                     "start", "stop",  "depends", "include"};
  if (token == 0 || token >= tokens.tokens.size()) return std::nullopt;
  const Token& before = tokens.tokens[token - 1];
  if (before.kind != Kind::String || (before.length < 4 && (before.flags & kFirstOfLine) == 0)) return std::nullopt;
  const std::string_view near = nearest_word(tokens.text_of(token - 1), kStatements);
  // The very word stands there in a statement of healer's own.
  if (near.empty() || iequals(near, tokens.text_of(token - 1))) return std::nullopt;
  return Complaint{unexpected(tokens, token - 1) + ", expected another statement",
                   fmt::format("did you mean '{}'?", near)};
}

std::vector<EarlierCause> misread_letters(const TokenStream& tokens, std::size_t token) {
  const Kind kind = tokens.tokens[token].kind;
  const std::string_view written = tokens.text_of(token);
  if ((kind != Kind::String && kind != Kind::Name && kind != Kind::Path) || written.empty() || written.front() == '"' ||
      written.front() == '\'')
    return {};
  std::vector<EarlierCause> found;
  if (has_curly_quotes(written)) found.push_back(curly_quotes(token));
  if (auto space = odd_space(tokens, token)) found.push_back(*std::move(space));
  if (const auto cut = cut_word(tokens, token); cut && found.empty()) {
    const std::string_view word = tokens.text.substr(cut->offset, cut->length);
    found.push_back({token,
                     {fmt::format("as in Monit, '{}' is read as '{} {}'", printable(word),
                                  word.substr(0, word.size() - written.size()), printable(written)),
                      "write a space between them, or correct the word"},
                     cut});
  }
  return found;
}

}  // namespace healer::grammar
