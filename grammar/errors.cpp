// SPDX-License-Identifier: MIT
#include "grammar/errors.hpp"

#include <algorithm>
#include <bitset>
#include <span>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "grammar/habits.hpp"
#include "grammar/tight.hpp"
#include "grammar/workflow_slips.hpp"
#include "util/text.hpp"

namespace healer::grammar {
namespace {

constexpr std::size_t kMostExpected = 8;
constexpr std::size_t kLongestShown = 40;
constexpr std::size_t kLongestCommand = 120;

bool is_value(Kind kind) { return kind <= Kind::HostGroups; }

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
  std::vector<std::string_view> words;
  const auto allowed = expectation.kinds | expectation.near;
  for (const WordEntry& entry : kWords) {
    if (!allowed.test(static_cast<std::size_t>(entry.kind)) || entry.spelling.size() < 2) continue;
    words.push_back(entry.spelling);
    words.push_back(first_word(entry.spelling));
  }
  // Of words that are equally near, that of Monit's is more often meant.
  words.insert(words.end(), expectation.texts.begin(), expectation.texts.end());
  words.insert(words.end(), expectation.near_texts.begin(), expectation.near_texts.end());
  return words;
}

std::vector<std::string_view> noise_words() {
  std::vector<std::string_view> words;
  for (const WordEntry& entry : kWords)
    if (entry.kind == Kind::Noise && entry.spelling.size() > 2) words.push_back(entry.spelling);
  return words;
}

/// Words that are written in other languages, or apart, and what they are here.
struct Slip {
  std::string_view written;
  Kind expected;  ///< it counts only where this would have fitted
  std::string_view meant;
};
constexpr Slip kSlips[] = {{"<>", Kind::Operator, "!="},
                           {"=>", Kind::Operator, ">="},
                           {"=<", Kind::Operator, "<="},
                           {"!==", Kind::Operator, "!="},
                           {"===", Kind::Operator, "="},
                           {"load", Kind::LoadAverage, "loadavg"},
                           {"loadaverage", Kind::LoadAverage, "loadavg"},
                           {"success", Kind::Succeeded, "succeeded"}};

std::string_view slip(std::string_view written, const std::bitset<256>& allowed) {
  const auto* found = std::ranges::find_if(kSlips, [&](const Slip& one) {
    return iequals(one.written, written) && allowed.test(static_cast<std::size_t>(one.expected));
  });
  return found == std::end(kSlips) ? std::string_view{} : found->meant;
}

/// Two words that are one: `pid file`.
std::string_view joined(const TokenStream& tokens, std::size_t first, std::span<const std::string_view> words) {
  if (first + 1 >= tokens.kinds.size() || tokens.tokens[first + 1].kind == Kind::Quoted) return {};
  const auto both = fmt::format("{}{}", tokens.text_of(first), tokens.text_of(first + 1));
  const auto found = std::ranges::find_if(words, [&](std::string_view word) { return iequals(word, both); });
  return found == words.end() ? std::string_view{} : *found;
}

/// Words of healer's own that go together, in one: `maillimit`, `dry-run`.
std::string_view apart(std::string_view written, std::span<const std::string_view> expected) {
  static constexpr std::string_view kPairs[] = {"mail limit", "dry run", "accept dormant", "control socket"};
  std::string letters(written);
  std::erase_if(letters, [](char c) { return c == '-' || c == '_'; });
  const auto* found = std::ranges::find_if(kPairs, [&](std::string_view pair) {
    const auto first = first_word(pair);
    return std::ranges::find(expected, first) != expected.end() &&
           iequals(letters, fmt::format("{}{}", first, pair.substr(first.size() + 1)));
  });
  return found == std::end(kPairs) ? std::string_view{} : *found;
}

/// What stands between a token and the one before it: blanks, noise words and signs.
std::string_view noise_before(const TokenStream& tokens, std::size_t token) {
  const auto& before = tokens.tokens[token - 1];
  const std::size_t end = before.offset + before.length;
  return tokens.text.substr(end, tokens.tokens[token].offset - end);
}

/// `check program x with program "/x"`: the header of a foreground process, but for its kind.
std::string program_in_check(const TokenStream& tokens, std::size_t token) {
  if (token < 2 || tokens.tokens[token - 2].kind != Kind::CheckProgram) return {};
  if (to_lower(noise_before(tokens, token)).find("program") == std::string::npos) return {};
  return "'check program' takes 'path \"...\"'; a foreground process is 'check process NAME with program \"...\"'";
}

/// `cpu(idle)`, `loadavg(10min)`: a part that there is not.
std::string part(const TokenStream& tokens, std::size_t token) {
  if (token == 0 || noise_before(tokens, token).find('(') == std::string_view::npos) return {};
  const auto& before = tokens.tokens[token - 1];
  if (before.kind == Kind::Cpu)
    return "the parts are user, system, wait, nice, hardirq, softirq, steal, guest and guestnice; 'cpu' alone is all "
           "but "
           "idle and wait";
  if (before.kind == Kind::LoadAverage) return "there are loadavg(1min), loadavg(5min) and loadavg(15min)";
  return {};
}

/// `loadavg(1) > 4`: the number is taken for what is compared with, and so the sign is the first that does not fit.
std::string part_before(const TokenStream& tokens, std::size_t token) {
  const bool is_number = token > 0 && tokens.tokens[token - 1].kind == Kind::Number;
  return is_number ? part(tokens, token - 1) : std::string{};
}

/// `group my group`, `group a b`.
std::string words_of_group(const TokenStream& tokens, std::size_t token) {
  const bool after_name =
      token > 1 && tokens.tokens[token - 1].kind == Kind::Name && tokens.tokens[token - 2].kind == Kind::Group;
  return after_name && !is_first_of_line(tokens, token) ? "the name of a group is one word" : "";
}

/// `set operators john mary`, `set healing only while gateway clock`.
std::string names_without_comma(const TokenStream& tokens, std::size_t token) {
  for (std::size_t i = token; i-- > 1 && !is_first_of_line(tokens, i + 1);) {
    const bool is_list = (iequals(tokens.text_of(i), "operators") && tokens.tokens[i - 1].kind == Kind::Set) ||
                         (iequals(tokens.text_of(i), "while") && iequals(tokens.text_of(i - 1), "only"));
    if (is_list && i + 1 < token)
      return fmt::format("put a comma between the names: {}, {}", tokens.text_of(token - 1), tokens.text_of(token));
  }
  return {};
}

/// `start program = /usr/bin/systemctl start x`: the whole of the command, as it is to be written.
std::string unquoted_command(const TokenStream& tokens, std::size_t token) {
  if (token < 2 || tokens.tokens[token - 1].kind != Kind::Equal || !is_program_word(tokens.tokens[token - 2].kind))
    return {};
  const auto written = tokens.text_of(token);
  if (written.empty() || written.front() == '"' || written.front() == '\'') return {};
  const std::size_t begin = tokens.tokens[token].offset;
  std::size_t end = std::min(tokens.text.find('\n', begin), tokens.text.size());
  std::size_t last = token;
  while (tokens.tokens[last + 1].kind != Kind::End && tokens.tokens[last + 1].offset < end) {
    const Kind next = tokens.tokens[last + 1].kind;
    if (next == Kind::Uid || next == Kind::Gid || next == Kind::Timeout) {
      end = tokens.tokens[last].offset + tokens.tokens[last].length;
      break;
    }
    ++last;
  }
  std::string_view command = tokens.text.substr(begin, end - begin);
  command = trim(command.substr(0, command.find(" #")));
  if (command.find('"') != std::string_view::npos || command.size() > kLongestCommand)
    return "put the command in double quotes";
  return fmt::format("put the command in double quotes: \"{}\"", command);
}

/// `check process x with program /bin/x serve with a`: without its quotes the command would lose a word.
std::string dropped_word(const TokenStream& tokens, std::size_t token) {
  if (token == 0 || is_first_of_line(tokens, token) || trim(noise_before(tokens, token)).empty()) return {};
  for (std::size_t i = token; i-- > 0;) {
    if ((tokens.tokens[i].flags & kAfterProgram) != 0 && tokens.tokens[i].kind != Kind::Command)
      return "put the command in double quotes";
    if (is_first_of_line(tokens, i)) break;
  }
  return {};
}

/// A comment as other languages have it.
std::string comment(std::string_view written) {
  return written.starts_with("//") || written.starts_with("/*") ? "a comment begins with '#'" : "";
}

/// What a token is as a whole that people write though the language has it not.
std::string habit(const TokenStream& tokens, std::size_t token, const Expectation& expectation,
                  std::span<const std::string_view> candidates) {
  const auto allowed = expectation.kinds | expectation.near;
  const auto did_you_mean = [](std::string_view word) { return fmt::format("did you mean '{}'?", spelled(word)); };
  const auto written = tokens.text_of(token);
  if (auto remedy = remedy_of_habit(tokens, token, expectation); !remedy.empty()) return remedy;
  if (const auto meant = slip(written, allowed); !meant.empty()) return did_you_mean(meant);
  if (const auto meant = apart(written, expectation.texts); !meant.empty()) return did_you_mean(meant);
  if (auto remedy = program_in_check(tokens, token); !remedy.empty()) return remedy;
  if (auto remedy = unquoted_command(tokens, token); !remedy.empty()) return remedy;
  if (auto remedy = dropped_word(tokens, token); !remedy.empty()) return remedy;
  if (auto remedy = part(tokens, token); !remedy.empty()) return remedy;
  if (auto remedy = part_before(tokens, token); !remedy.empty()) return remedy;
  if (auto remedy = words_of_group(tokens, token); !remedy.empty()) return remedy;
  if (auto remedy = comment(written); !remedy.empty()) return remedy;
  if (auto remedy = names_without_comma(tokens, token); !remedy.empty()) return remedy;
  if (const auto meant = joined(tokens, token, candidates); !meant.empty()) return did_you_mean(meant);
  // cpu<>5%: Operator can stand only after a word, so what is before the sign decides.
  if (const auto parts = tight_comparison(written); parts && !parts->operator_text.empty()) {
    const auto meant = slip(parts->operator_text, std::bitset<256>{}.set());
    if (!meant.empty() && (parts->left.empty() || kind_of_word(parts->left) != Kind::String))
      return did_you_mean(meant);
  }
  // `set mail server`: healer's own `set mail` has taken the first word.
  if (token > 0 && tokens.tokens[token - 1].kind == Kind::String) {
    const auto both = fmt::format("{}{}", tokens.text_of(token - 1), written);
    if (kind_of_word(both) != Kind::String) return did_you_mean(both);
  }
  return remedy_of_far_habit(tokens, token);
}

/// What the writer may have meant by a token that does not fit, or nothing.
std::string_view meant(const TokenStream& tokens, std::size_t token, const Expectation& expectation) {
  const Kind kind = tokens.tokens[token].kind;
  if (kind == Kind::Quoted || kind == Kind::Number) return {};
  const Kind next = tokens.tokens[token + 1].kind;
  const auto words = candidates(expectation);
  if (const auto near = nearest_word(tokens.text_of(token), words); !near.empty()) return near;
  // The sign of `from:` is a token of its own where the word is not known.
  if (next == Kind::Colon) return nearest_word(fmt::format("{}:", tokens.text_of(token)), words);
  // A slip in a noise word: what follows it would have fitted.
  if (kind != Kind::String || !(expectation.kinds | expectation.near).test(static_cast<std::size_t>(next))) return {};
  return nearest_word(tokens.text_of(token), noise_words());
}

/// `"/bin/sh -c \"echo a\""`: the text ended at the first of the quotes in it.
std::optional<EarlierCause> quote_before(const TokenStream& tokens, std::size_t token) {
  for (std::size_t i = token; i-- > 0 && !is_first_of_line(tokens, i + 1);)
    if (auto complaint = escaped_quote(tokens, i)) return EarlierCause{i, *std::move(complaint)};
  return std::nullopt;
}

/// `then alert and restart`: the second action is read as a statement of its own.
std::optional<EarlierCause> second_action(const TokenStream& tokens, std::size_t begin) {
  if (begin == 0 || begin >= tokens.tokens.size() - 1 || !is_action(tokens.tokens[begin].kind)) return std::nullopt;
  const Kind next = tokens.tokens[begin + 1].kind;
  const bool stands_alone = is_first_of_line(tokens, begin + 1) || next == Kind::End || next == Kind::Else;
  if (is_first_of_line(tokens, begin) || (!stands_alone && tokens.tokens[begin].kind != Kind::Exec))
    return std::nullopt;
  std::size_t then = begin;
  while (tokens.tokens[then].kind != Kind::Then)
    if (is_first_of_line(tokens, then) || then-- == 0) return std::nullopt;
  if ((!is_action(tokens.tokens[then + 1].kind) && !iequals(tokens.text_of(then + 1), "heal")) || then + 1 == begin)
    return std::nullopt;
  const bool alerts = tokens.tokens[begin].kind == Kind::Alert || tokens.tokens[then + 1].kind == Kind::Alert;
  return EarlierCause{
      begin,
      {fmt::format("{} is a second action: a rule has exactly one", describe(tokens, begin)),
       alerts ? "every action sends an alert as well: leave out 'alert'" : "write a rule for each of them"}};
}

/// `set mailserver a prot 25`: the word is taken for another server.
std::optional<EarlierCause> server_option_expected(const TokenStream& tokens, std::size_t token) {
  static constexpr std::string_view kOptions[] = {"port",    "username",    "password", "using",
                                                  "timeout", "certificate", "hostname"};
  if (token < 3 || tokens.tokens[token - 1].kind != Kind::String) return std::nullopt;
  std::size_t first = token - 2;  // the first server cannot be an option
  while (first > 0 && tokens.tokens[first].kind != Kind::MailServer && tokens.tokens[first].kind != Kind::Set) --first;
  if (tokens.tokens[first].kind != Kind::MailServer || first + 2 >= token) return std::nullopt;
  const auto near = nearest_word(tokens.text_of(token - 1), kOptions);
  if (near.empty()) return std::nullopt;
  return EarlierCause{token - 1,
                      {unexpected(tokens, token - 1) + ", expected an option of the server before it",
                       fmt::format("did you mean '{}'?", near)}};
}

/// `total memroy`, `check systemd nginx.service`: a keyword ends within a word.
std::optional<EarlierCause> cut_word_cause(const TokenStream& tokens, std::size_t token) {
  for (const std::size_t one : {token, token - 1}) {
    if (one == 0 || one > token) continue;
    const std::optional<Piece> word = cut_word(tokens, one);
    if (!word) continue;
    const std::string_view written = tokens.text.substr(word->offset, word->length);
    const Token& before = tokens.tokens[one - 1];
    const std::string_view first =
        trim(tokens.text.substr(before.offset, word->offset - std::min(word->offset, before.offset)));
    if (iequals(first, "check")) return EarlierCause{one, wrong_kind_of_check(written).complaint, word};
    if (one != token) return std::nullopt;
    std::vector<std::string_view> seconds;
    for (const WordEntry& entry : kWords)
      if (const auto begin = first_word(entry.spelling); begin.size() < entry.spelling.size() && iequals(begin, first))
        if (const std::size_t second = entry.spelling.find_first_not_of(" \t\v", begin.size());
            second < entry.spelling.size() && is_word_character(entry.spelling[second]))
          seconds.push_back(entry.spelling.substr(second));
    if (iequals(first, "total"))
      seconds.insert(seconds.end(), {"filedescriptors", "upload", "uploaded", "download", "downloaded"});
    const std::string_view near = nearest_word(written, seconds);
    return EarlierCause{one,
                        {fmt::format("unexpected '{}' after '{}'", printable(written.substr(0, kLongestShown)), first),
                         near.empty() ? "" : fmt::format("did you mean '{} {}'?", first, near)},
                        word};
  }
  return std::nullopt;
}

/// ", expected a number or 'cycles'"; empty where nothing is known to fit.
std::string expected_words(const Expectation& expectation) {
  std::vector<std::string> expected;
  const auto add = [&](std::string one) {
    if (std::ranges::find(expected, one) == expected.end()) expected.push_back(std::move(one));
  };
  for (const auto phrase : expectation.phrases) add(std::string(phrase));
  for (std::size_t kind = 0; kind < expectation.kinds.size(); ++kind)
    if (expectation.kinds.test(kind)) add(describe(static_cast<Kind>(kind)));
  for (const auto text : expectation.texts) add(fmt::format("'{}'", text));
  if (expected.empty()) return {};
  if (expected.size() > kMostExpected) {
    expected.resize(kMostExpected - 1);
    expected.emplace_back("something else");
  }
  return fmt::format(", expected {}", join_words(expected, "or"));
}

}  // namespace

bool is_first_of_line(const TokenStream& tokens, std::size_t token) {
  return (tokens.tokens[token].flags & kFirstOfLine) != 0;
}

void Expectation::gather(std::size_t token) {
  reach(token);
  for (const Terminal* terminal : missed) {
    if (!terminal->phrase.empty()) add_phrase(terminal->phrase);
    for (const Kind kind : terminal->kinds) (terminal->is_near ? near : kinds).set(static_cast<std::size_t>(kind));
    for (const std::string_view text : terminal->texts) terminal->is_near ? add_near_text(text) : add_text(text);
  }
  missed.clear();
  is_gathered = true;
}

void Expectation::reach(std::size_t token) {
  if (token <= furthest) return;
  furthest = token;
  missed.clear();
  if (!std::exchange(is_gathered, false)) return;
  kinds.reset();
  near.reset();
  for (auto* texts_of : {&phrases, &texts, &near_texts}) texts_of->clear();
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
    case Kind::Workflow: return "'workflow'";
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

std::optional<Complaint> escaped_quote(const TokenStream& tokens, std::size_t token) {
  const Token& one = tokens.tokens[token];
  if (one.kind != Kind::Command && one.kind != Kind::Quoted && one.kind != Kind::Path) return std::nullopt;
  const auto written = tokens.text_of(token);
  if (!written.ends_with("\\\"") || tokens.tokens[token + 1].kind == Kind::End || is_first_of_line(tokens, token + 1))
    return std::nullopt;
  return Complaint{"a quote cannot be escaped: the text ends here",
                   one.kind == Kind::Command ? "write '...' around what is one argument: \"/bin/sh -c 'COMMAND'\""
                                             : "write '...' around a text that has double quotes in it"};
}

std::optional<Piece> cut_word(const TokenStream& tokens, std::size_t token) {
  if (token == 0 || token >= tokens.tokens.size()) return std::nullopt;
  const Token& before = tokens.tokens[token - 1];
  const Token& end = tokens.tokens[token];
  const std::string_view spelling = tokens.text_of(token - 1);
  if (before.offset + before.length != end.offset || end.length == 0 || spelling.empty() ||
      !is_word_character(spelling.back()) || !is_word_character(tokens.text[end.offset]) ||
      std::string_view("<>=").find(tokens.text[end.offset]) != std::string_view::npos)
    return std::nullopt;
  // Only keywords of several words end within one.
  const std::size_t blank = spelling.find_last_of(" \t");
  if (blank == std::string_view::npos || is_value(before.kind)) return std::nullopt;
  const auto begin = static_cast<std::uint32_t>(before.offset + blank + 1);
  return Piece{begin, end.offset + end.length - begin};
}

WrongKind wrong_kind_of_check(std::string_view word) {
  static constexpr std::string_view kTypes[] = {"process",   "file",   "directory", "filesystem", "fifo",
                                                "host",      "system", "program",   "network",    "composite",
                                                "heartbeat", "event",  "row",       "unit",       "device"};
  // What other programs call it, and its kind here.
  static constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
      {"service", "process"},   {"daemon", "process"},
      {"app", "process"},       {"application", "process"},
      {"server", "host"},       {"url", "host"},
      {"http", "host"},         {"https", "host"},
      {"website", "host"},      {"site", "host"},
      {"port", "host"},         {"tcp", "host"},
      {"ping", "host"},         {"connection", "host"},
      {"script", "program"},    {"command", "program"},
      {"exec", "program"},      {"cmd", "program"},
      {"disk", "filesystem"},   {"mount", "filesystem"},
      {"volume", "filesystem"}, {"partition", "filesystem"},
      {"space", "filesystem"},  {"interface", "network"},
      {"net", "network"},       {"nic", "network"},
      {"dir", "directory"},     {"folder", "directory"},
      {"log", "file"},          {"logfile", "file"},
      {"path", "file"},         {"machine", "system"},
      {"memory", "system"},     {"cpu", "system"},
      {"load", "system"},       {"loadavg", "system"},
      {"cluster", "composite"}, {"group", "composite"},
      {"beat", "heartbeat"},    {"cron", "heartbeat"},
      {"events", "event"},      {"hook", "event"},
      {"webhook", "event"},     {"node", "row"},
      {"item", "row"},          {"systemd", "unit"},
      {"systemctl", "unit"}};
  WrongKind found{{fmt::format("'{}' is not a kind of check", printable(word.substr(0, kLongestShown))), {}}, {}};
  const auto* other = std::ranges::find_if(kOthers, [&](const auto& one) { return iequals(one.first, word); });
  found.meant = other != std::end(kOthers) ? other->second : nearest_word(word, kTypes);
  found.complaint.remedy =
      found.meant.empty()
          ? "the kinds are process, file, directory, filesystem, fifo, host, system, program, network, composite, "
            "heartbeat, event, row and unit"
      : found.meant == "unit" && !iequals(word.substr(0, 3), "uni")
          ? "a unit of systemd is checked by 'check unit NAME with name \"nginx.service\"'"
          : fmt::format("did you mean '{}'?", found.meant);
  return found;
}

std::optional<EarlierCause> earlier_cause(const TokenStream& tokens, std::size_t begin, std::size_t token) {
  if (auto found = quote_before(tokens, token)) return found;
  if (auto found = cut_word_cause(tokens, token)) return found;
  if (auto found = workflow_slip(tokens, begin, token)) return found;
  if (auto found = earlier_habit(tokens, begin, token)) return found;
  if (auto found = server_option_expected(tokens, token)) return found;
  return second_action(tokens, begin);
}

Complaint unexpected(const TokenStream& tokens, std::size_t begin, std::size_t token, const Expectation& expectation) {
  if (const Fault* fault = fault_of(tokens, token)) return {fault->message, fault->remedy};

  Complaint complaint;
  const Kind kind = tokens.tokens[token].kind;
  complaint.message = unexpected(tokens, token) + expected_words(expectation);
  if (kind == Kind::End) return complaint;
  complaint.remedy = habit(tokens, token, expectation, candidates(expectation));
  if (!complaint.remedy.empty()) return complaint;
  if (const auto near = meant(tokens, token, expectation); !near.empty()) {
    const auto word = spelled(near);
    // `group` and `depends on` at the end of their line, as in Monit.
    complaint.remedy = iequals(word, tokens.text_of(token)) ? "the rest of this statement must be on the same line"
                                                            : fmt::format("did you mean '{}'?", word);
  } else if (!is_value(kind) && expectation.kinds.none() &&
             expectation.near.test(static_cast<std::size_t>(Kind::String))) {
    complaint.remedy =
        fmt::format("{} is a keyword; put it in double quotes to use it as text", describe(tokens, token));
  } else {
    complaint.remedy = workflow_form(tokens, begin, token);
  }
  return complaint;
}

Complaint incomplete(const TokenStream& tokens, std::size_t begin, std::size_t token, const Expectation& expectation) {
  Complaint complaint{"the statement ends here" + expected_words(expectation),
                      missing_then(tokens, token, expectation)};
  if (complaint.remedy.empty()) complaint.remedy = workflow_form(tokens, begin, std::max(begin, token - 1));
  return complaint;
}

}  // namespace healer::grammar
