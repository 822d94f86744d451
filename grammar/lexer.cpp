// SPDX-License-Identifier: MIT
#include "grammar/lexer.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "grammar/addresses.hpp"
#include "grammar/arguments.hpp"
#include "grammar/escapes.hpp"
#include "grammar/host_groups.hpp"
#include "grammar/own_statement.hpp"
#include "grammar/tight.hpp"
#include "grammar/token_writer.hpp"
#include "grammar/word_index.hpp"
#include "util/text.hpp"

namespace healer::grammar {
namespace {

using namespace lexing;

class Lexer : TokenWriter {
 public:
  explicit Lexer(std::string_view text) : TokenWriter(text), words_(word_index()) {}

  TokenStream run() {
    if (text().starts_with("\xEF\xBB\xBF")) {
      broken(0, 3, "the file begins with a byte order mark", "save it as UTF-8 without BOM");
      at_ = 3;
    }
    while (at_ < text().size()) next();
    Token end{.offset = static_cast<std::uint32_t>(text().size()), .flags = kFirstOfLine};
    out_.tokens.push_back(end);
    return std::move(out_);
  }

 private:
  void next() {
    const char c = text()[at_];
    switch (class_of(c)) {
      case Class::Newline: line_begun_ = false; [[fallthrough]];
      case Class::Blank: ++at_; return;
      case Class::Skipped: return skipped(c);
      case Class::Comment: at_ = std::min(text().find('\n', at_), text().size()); return;
      case Class::Quote: quoted(); return;
      case Class::Sign: sign(c); return;
      case Class::Word: word(); return;
      case Class::Unknown: unknown(c); return;
    }
  }

  /// A sign that is none to Monit.
  void skipped(char c) {
    if (c == '(' || c == ')')
      out_.parentheses.push_back(
          {static_cast<std::uint32_t>(out_.tokens.size()), static_cast<std::uint32_t>(at_), c == '('});
    ++at_;
  }

  void unknown(char c) {
    if (c == '@' && !out_.tokens.empty() && out_.tokens.back().kind == Kind::Allow) return add(Kind::At, at_, at_ + 1);
    if (c == '\0') {
      broken(at_, at_ + 1, "a zero byte", "this is not a text file; save it as UTF-8");
      at_ = skip(at_, [](char x) { return x == '\0'; });  // UTF-16 and binary files: one message a run
      return;
    }
    broken(at_, at_ + 1, fmt::format("'{}' cannot be used here", printable({&c, 1})), "put it in double quotes");
    ++at_;
  }

  void sign(char c) {
    if (c == '{' || c == '}') {
      own_.brace(c == '{');
      return add(c == '{' ? Kind::LeftBrace : Kind::RightBrace, at_, at_ + 1);
    }
    if (c == '%') return add(Kind::Percent, at_, at_ + 1);
    if (c == '!' && peek(at_ + 1) == '=') return add(Kind::Operator, at_, at_ + 2);
    if (c == ':' && peek(at_ + 1) == ':') return add(Kind::Address, at_, address_end(text(), at_));
    if (c == ':') return add(Kind::Colon, at_, at_ + 1);
    unknown(c);
  }

  /// Quoted text in the normal state: to the next quote of its kind, over lines.
  void quoted() {
    const std::size_t end = text().find(text()[at_], at_ + 1);
    if (end == std::string_view::npos) return unclosed(at_);
    own_.quoted();
    add_quoted(peek(at_ + 1) == '/' ? Kind::Path : Kind::Quoted, at_, end + 1);
  }

  /// The end of the bare word that goes on at `at`. `${NAME}` is part of it, which to Monit ends a word and is an
  /// error.
  std::size_t end_of_word(std::size_t at) const {
    for (at = skip(at, in_word);;) {
      const std::size_t reference = at > 0 ? reference_end(text(), at - 1) : 0;
      if (reference == 0) return at;
      at = skip(reference, in_word);
    }
  }

  /// Whether the word names something by `define` or `for each`: it may be a word of the language.
  [[nodiscard]] bool is_defined_name(std::size_t begin, std::size_t end) const {
    if (out_.tokens.empty() || out_.tokens.back().kind != Kind::String) return false;
    if (!is_identifier(text().substr(begin, end - begin))) return false;
    const Token& before = out_.tokens.back();
    const std::size_t word = before.offset;
    const std::string_view gap = text().substr(word + before.length, begin - word - before.length);
    if (gap.empty() || !std::ranges::all_of(gap, is_blank)) return false;
    const std::string_view previous = text().substr(word, before.length);
    if (iequals(previous, "define")) {
      const char next = peek(skip(end, is_blank));
      return (before.flags & kFirstOfLine) != 0 && (class_of(next) == Class::Quote || next == '/' || is_digit(next));
    }
    return iequals(previous, "each") && iequals(last_word(text().substr(0, word)), "for");
  }

  static std::string_view last_word(std::string_view before) {
    while (!before.empty() && is_blank(before.back())) before.remove_suffix(1);
    std::size_t begin = before.size();
    while (begin > 0 && in_word(before[begin - 1])) --begin;
    return before.substr(begin);
  }

  void word() {
    const std::size_t begin = at_;
    std::size_t end = end_of_word(begin);
    if (is_defined_name(begin, end)) return add(Kind::String, begin, end);
    if (text()[begin] == '[' && follows_host_groups()) return host_groups(begin);
    const std::size_t sign = skip(begin, [](char c) { return c == '=' || c == '<' || c == '>'; });
    if (sign > begin && peek(sign) == '[' && follows_host_groups()) return add(Kind::Operator, begin, sign);
    if (is_assigned_tight(begin, end)) --end;
    if (text()[begin] == '\\' && end == begin + 1) {
      at_ = end;  // noise: a line that is continued
      return;
    }
    std::size_t length = 0;
    const WordEntry* entry = longest_entry(begin, end, length);
    if (own_word(begin, end, entry)) return;
    if (entry == nullptr || begin + length <= end) {
      if (const std::size_t other = special_end(begin, end); other != 0) return;
    }
    if (entry == nullptr) return bare(begin, end);
    after_word(*entry, begin, begin + length);
  }

  /// Whether this is `start="..."`: of these words alone, and before a quote on the line, the sign is not a part.
  bool is_assigned_tight(std::size_t begin, std::size_t end) const {
    if (text()[end - 1] != '=' || peek(skip(end, is_blank)) != '"') return false;
    std::size_t length = 0;
    const WordEntry* entry = longest_entry(begin, end - 1, length);
    return entry != nullptr && entry->follows == LexState::Assigned && begin + length == end - 1;
  }

  /// Whether this is a word of a statement of healer's own, of which only the signs are Monit's.
  bool own_word(std::size_t begin, std::size_t end, const WordEntry* entry) {
    const Token before = out_.tokens.empty() ? Token{} : out_.tokens.back();
    const std::size_t gap = std::min<std::size_t>(before.offset + before.length, begin);
    const auto reading = own_.read(text(), begin, end, before.kind, text().substr(before.offset, before.length),
                                   text().substr(gap, begin - gap), !line_begun_);
    if (reading == OwnStatement::Reading::Monit) return false;
    if (reading == OwnStatement::Reading::Workflow) {
      add(Kind::Workflow, begin, end);
      return true;
    }
    if (special_end(begin, end) != 0) return true;
    if (text()[end - 1] == '$' && peek(end) == '{') {
      const std::size_t close = std::min(text().find_first_of("}\n", end), text().size() - 1);
      broken(begin, close + 1,
             fmt::format("'{}' is outside of quotes", printable(text().substr(begin, close + 1 - begin))),
             "put it in double quotes");
      at_ = close + 1;
      return true;
    }
    const bool is_sign = entry != nullptr && (entry->kind == Kind::Equal || entry->kind == Kind::Operator) &&
                         std::string_view("=!<>").find(text()[begin]) != std::string_view::npos;
    is_sign ? add(entry->kind, begin, end) : bare(begin, end);
    if (iequals(text().substr(begin, end - begin), "program")) command(skip(at_, is_blank), true, true);
    return true;
  }

  /// The longest spelling that stands at `begin`, where the word there ends at `end`.
  const WordEntry* longest_entry(std::size_t begin, std::size_t end, std::size_t& length) const {
    const auto entries = words_.find(text().substr(begin, end - begin));
    const WordEntry* best = nullptr;
    for (const WordEntry& entry : entries) {
      const std::size_t fits = fit(entry, begin);
      if (fits > length) {
        best = &entry;
        length = fits;
      }
    }
    return best;
  }

  /// How much of the text at `begin` the spelling takes, 0 where it does not stand there.
  std::size_t fit(const WordEntry& entry, std::size_t begin) const {
    std::size_t at = begin;
    for (std::size_t i = 0; i < entry.spelling.size(); ++i) {
      const char c = entry.spelling[i];
      if (c == '\t') {
        if (!is_blank(peek(at))) return 0;
        at = skip(at, is_blank);
      } else if (c == '\v') {
        at = skip(at, is_plain_space);
      } else if (c == ' ' && entry.spelling[i + 1] == ' ') {
        if (peek(at) != ' ') return 0;
        at = skip(at, is_plain_space);
        ++i;
      } else if (at < text().size() && lower(text()[at]) == c) {
        ++at;
      } else {
        return 0;
      }
    }
    return at - begin;
  }

  /// Mail addresses, URLs and IPv6 addresses are longer than the word they begin with. Returns 0 where there is none.
  std::size_t special_end(std::size_t begin, std::size_t end) {
    if (peek(end) == '@' && in_word(peek(end + 1))) {
      std::size_t mail = skip(end + 1, in_word);
      Kind kind = Kind::Mail;
      if (const std::size_t path = skip(end, in_path); text()[begin] == '/' && path > mail)
        kind = Kind::Path, mail = path;
      add(kind, begin, mail);
      return mail;
    }
    if (text()[begin] == '/' && peek(end) == '@') {
      const std::size_t path = skip(end, in_path);
      add(Kind::Path, begin, path);
      return path;
    }
    if (peek(end) == ':' && peek(end + 1) == '/' && peek(end + 2) == '/') {
      const std::size_t url = url_end(end + 3);
      add(Kind::Url, begin, url);
      return url;
    }
    if (const std::size_t address = peek(end) == ':' ? ipv6_end(text(), begin) : 0; address != 0) {
      add(Kind::Address, begin, address);
      return address;
    }
    return 0;
  }

  /// The end of the URL that goes on at `begin`, behind the scheme. In its credentials and its path there may be any
  /// sign, in the name of the host not.
  std::size_t url_end(std::size_t begin) const {
    const std::size_t blank = skip(begin, [](char c) { return !is_space(c); });
    const std::string_view rest = text().substr(begin, blank - begin);
    std::size_t host = 0;
    if (const std::size_t colon = rest.find_first_of(":@["); colon < rest.size() && rest[colon] == ':') {
      const std::size_t at = rest.find('@', colon);
      if (at != std::string_view::npos) host = at + 1;
    }
    std::size_t end = rest.find_first_of("/?#,;{}\"'", host);
    while (end != std::string_view::npos && end > 0 && reference_end(rest, end - 1) != 0)
      end = rest.find_first_of("/?#,;{}\"'", reference_end(rest, end - 1));
    if (end == std::string_view::npos || std::string_view("/?#").find(rest[end]) != std::string_view::npos)
      return blank;
    return begin + end;
  }

  void bare(std::size_t begin, std::size_t end) {
    if (text()[begin] == '/') return add(Kind::Path, begin, end);
    if (is_digit(text()[begin])) {
      std::size_t digits = skip(begin, is_digit);
      if (digits == end) return add(Kind::Number, begin, end);
      if (text()[digits] == '.' && digits + 1 < end && skip(digits + 1, is_digit) == end)
        return add(Kind::Real, begin, end);
    }
    add(Kind::String, begin, end);
    if (begins_members()) members();
  }

  void after_word(const WordEntry& entry, std::size_t begin, std::size_t end) {
    if (entry.kind == Kind::Noise) {
      line_begun_ = true;
      or_before_ = or_before_ || iequals(entry.spelling, "or");
      at_ = end;
      if (is_process_named() && iequals(text().substr(begin, end - begin), "program")) foreground_program();
      return;
    }
    switch (entry.follows) {
      case LexState::GroupName:
      case LexState::Names:
        // Behind `depends on` a name may stand at once: `depends onion` names `ion` to Monit.
        if (const bool may_touch = entry.spelling.find('\t') != std::string_view::npos;
            !is_blank(peek(end)) && (!may_touch || end == text().size() || is_space(peek(end))))
          return bare(begin, end);
        break;
      default: break;
    }
    if (entry.kind >= Kind::CheckProcess && entry.kind <= Kind::CheckNetwork)
      in_program_ = entry.kind == Kind::CheckProgram;
    if (entry.kind >= Kind::Set && entry.kind <= Kind::CheckNetwork) in_mmonit_ = false;
    if (entry.kind == Kind::Mmonit) in_mmonit_ = true;
    add(entry.kind, begin, end);
    switch (entry.follows) {
      case LexState::Normal: return;
      case LexState::Name:
        if (name(true) && entry.spelling == "check\t") own_check();
        return;
      case LexState::GroupName: name(false); return;
      case LexState::Names: return names();
      case LexState::Schedule: return schedule();
      case LexState::Pattern: return pattern();
      case LexState::Line: return raw(Kind::RawLine, "}\n");
      case LexState::Text: return raw(Kind::RawText, "}");
      case LexState::Command: return command(skip(at_, is_blank), true);
      case LexState::ProgramPath:
        if (in_program_) command(skip(at_, is_blank), true);
        return;
      case LexState::Assigned: return assigned();
      case LexState::Headers: return headers();
    }
  }

  void skip_space() {
    for (; at_ < text().size() && is_space(text()[at_]); ++at_)
      if (text()[at_] == '\n') line_begun_ = false;
  }

  /// A raw name. What cannot be one is left to the normal state.
  bool name(bool any_text_in_quotes) {
    const std::size_t word_end = at_;
    skip_space();
    if (at_ >= text().size()) return false;
    // After `group` and a newline Monit skips no blanks.
    const auto skipped = text().substr(word_end, at_ - word_end);
    const auto newline = skipped.rfind('\n');
    bool generous = !any_text_in_quotes && newline != std::string_view::npos && newline + 1 < skipped.size();
    std::size_t end = end_of_word(at_);
    if (const char quote = text()[at_]; class_of(quote) == Class::Quote) {
      end = text().find_first_of(std::string{quote, '\n'}, at_ + 1);
      if (end == std::string_view::npos || text()[end] == '\n') {
        unclosed(at_);
        return false;
      }
      const auto inside = text().substr(at_ + 1, end++ - at_ - 1);
      if (inside.empty()) return broken_name(end, "an empty name", "write a name between the quotes");
      if (!any_text_in_quotes && end_of_word(at_ + 1) != end - 1)
        return broken_name(end, "unbalanced quotes: a name without quotes cannot contain spaces or special characters",
                           "write it as one word");
      // Monit takes a name in single quotes up to the last one of the line.
      if (any_text_in_quotes && quote == '\'') {
        const std::size_t other = text().find_first_of("'\"\n", end);
        generous =
            inside.find('"') != std::string_view::npos || (other != std::string_view::npos && text()[other] == '\'');
      }
    } else if (end == at_) {
      return false;
    }
    const std::size_t token = out_.tokens.size();
    add(Kind::Name, at_, end);
    if (generous) out_.tokens[token].flags |= kGenerous;
    return true;
  }

  bool broken_name(std::size_t end, const char* message, const char* remedy) {
    broken(at_, std::min(end, at_ + kLongestToken), message, remedy);
    at_ = end;
    return false;
  }

  /// Names with ',' between them; ';' and parentheses are the same to Monit.
  void names() {
    const std::size_t begin = at_;
    const std::size_t first = out_.tokens.size();
    do {
      skip_separators();
      if (!name(true)) return;
      // Monit wants the first one on the line of its word.
      if (text().substr(begin, out_.tokens[first].offset - begin).find('\n') != std::string_view::npos)
        out_.tokens[first].flags |= kGenerous;
    } while (class_of(peek(skip(at_, is_space))) == Class::Skipped);
  }

  void skip_separators() {
    for (; at_ < text().size() && (is_space(text()[at_]) || class_of(text()[at_]) == Class::Skipped); ++at_)
      if (text()[at_] == '\n') line_begun_ = false;
  }

  void schedule() {
    skip_space();
    const char c = peek(at_);
    if (is_digit(c)) return add(Kind::Number, at_, skip(at_, is_digit));
    if (class_of(c) != Class::Quote) {
      if (at_ >= text().size()) return;
      const std::size_t end = std::max(skip(at_, in_word), at_ + 1);
      // After `repeat every` newer versions of Monit take `cycles` without a number.
      const bool is_repeat = out_.tokens.size() > 1 && out_.tokens[out_.tokens.size() - 2].kind == Kind::Repeat;
      if (is_repeat && kind_of_word(text().substr(at_, end - at_)) == Kind::Cycle) return;
      broken(at_, end, "a schedule is needed here",
             R"(write "every 2 cycles" or a quoted schedule: every "0 8 * * 1-5")");
      at_ = end;
      return;
    }
    const std::size_t begin = at_;
    const auto field = [](char x) { return is_digit(x) || x == '*' || x == '-' || x == ','; };
    std::size_t at = skip(begin + 1, is_blank);
    std::size_t fields = 0;
    for (std::size_t end = 0; (end = skip(at, field)) != at; at = skip(end, is_blank)) ++fields;
    if (fields == 5 && class_of(peek(at)) == Class::Quote) return add(Kind::Schedule, begin, at + 1);
    // Not a schedule: the validator says why, where the text has an end on this line.
    const std::size_t end = text().find_first_of(std::string{c, '\n'}, begin + 1);
    if (end == std::string_view::npos || text()[end] == '\n') return unclosed(begin);
    add(Kind::Schedule, begin, end + 1);
  }

  void pattern() {
    skip_space();
    if (at_ >= text().size()) return;
    std::size_t end = skip(at_, [](char c) { return !is_space(c); });
    if (class_of(text()[at_]) == Class::Quote) {
      const std::size_t quote = text().find(text()[at_], at_ + 1);
      if (quote != std::string_view::npos && quote + 1 > end &&
          text().substr(at_, quote - at_).find('\n') == std::string_view::npos)
        end = quote + 1;
    }
    add(Kind::Pattern, at_, end);
  }

  /// Whether the '}' at `close` is that of a `${NAME}` in the text that begins at `begin`. To Monit it ends the text,
  /// so another one must come, to close what the text stands in.
  [[nodiscard]] bool is_reference_closed(std::size_t begin, std::size_t close) const {
    const std::size_t open = text().substr(0, close).rfind("${");
    if (open == std::string_view::npos || open < begin || reference_end(text(), open) != close + 1) return false;
    std::size_t next = text().find_first_of("{}", close + 1);
    while (next != std::string_view::npos && text()[next] == '{' && reference_end(text(), next - 1) != 0)
      next = text().find_first_of("{}", reference_end(text(), next - 1));
    return next != std::string_view::npos && text()[next] == '}';
  }

  /// Text up to one of `stops` (or the end), without the blanks around it.
  void raw(Kind kind, std::string_view stops) {
    std::size_t begin = skip(at_, is_blank);
    std::size_t stop = text().find_first_of(stops, begin);
    while (stop != std::string_view::npos && stop > 0 && text()[stop] == '}' && is_reference_closed(begin, stop))
      stop = text().find_first_of(stops, stop + 1);
    stop = std::min(stop, text().size());
    std::size_t end = stop;
    while (end > begin && is_space(text()[end - 1])) --end;
    add(kind, begin, end);
    at_ = std::max(at_, stop);
  }

  /// "program and arguments" at `begin`, where there is such a thing. To Monit it is its arguments: an empty one is
  /// nothing, as in `set daemon 5 start "" delay 3`. Where a program must come it is kept, to be told of. To Monit the
  /// last text of a file needs no closing quote; the parser warns of it.
  void command(std::size_t begin, bool keep_empty, bool needs_end = false) {
    if (peek(begin) != '"') return;
    bool empty = true;
    for (std::size_t at = begin + 1; at < text().size();) {
      if (is_argument_space(text()[at])) {
        ++at;
      } else if (text()[at] == '"') {
        if (!empty || keep_empty) return add_quoted(Kind::Command, begin, at + 1);
        at_ = at + 1;
        return;
      } else {
        at = argument_end(text(), at);
        empty = false;
      }
    }
    if (empty || needs_end || text().size() - begin > kLongestToken) return unclosed(begin);
    add_quoted(Kind::Command, begin, begin + trim(text().substr(begin)).size());
    at_ = text().size();
  }

  /// Whether a process was named and nothing came after its name: Monit takes no program there.
  [[nodiscard]] bool is_process_named() const {
    const auto count = out_.tokens.size();
    return count >= 2 && out_.tokens[count - 1].kind == Kind::Name && out_.tokens[count - 2].kind == Kind::CheckProcess;
  }

  /// check process NAME with program "..."
  void foreground_program() {
    after_program_ = true;
    command(skip(at_, is_blank), true, true);
  }

  /// Whether what comes now after the name of Monit's short form of a process check is an error to Monit.
  [[nodiscard]] bool is_no_process() const {
    for (std::size_t at = at_, length = 0; at < text().size(); at += std::max<std::size_t>(length, 1), length = 0) {
      const Class kind = class_of(text()[at]);
      if (kind == Class::Comment) length = std::min(text().find('\n', at), text().size()) - at;
      if (kind == Class::Comment || kind == Class::Blank || kind == Class::Newline || kind == Class::Skipped) continue;
      const WordEntry* entry = kind == Class::Word ? longest_entry(at, skip(at, in_word), length) : nullptr;
      if (entry == nullptr) return true;
      if (entry->kind == Kind::Noise) continue;
      return entry->kind != Kind::PidFile && entry->kind != Kind::Match && entry->kind != Kind::PathWord;
    }
    return true;
  }

  /// check composite NAME and the like, which is to be on the same line. The word was taken for a name.
  void own_check() {
    const auto count = out_.tokens.size();
    const Kind own = own_check_of(out_.text_of(count - 1));
    if (own == Kind::End || !is_no_process()) return;
    for (const auto& [at, kind] : {std::pair(count - 2, own), std::pair(count - 1, Kind::String)})
      out_.tokens[at].kind = kind, out_.kinds[at] = static_cast<char>(kind);
    const Class next = class_of(peek(skip(at_, is_blank)));
    if (next == Class::Word || next == Class::Quote) name(true);
  }

  /// Whether the word just taken is `members`, right after the name of a composite.
  [[nodiscard]] bool begins_members() const {
    const auto count = out_.tokens.size();
    return count >= 4 && out_.tokens[count - 2].kind == Kind::Name && iequals(out_.text_of(count - 1), "members") &&
           out_.tokens[count - 4].kind == Kind::CheckComposite;
  }

  /// Names of services, and `group NAME`, with ',' between them.
  void members() {
    bool is_first = true;
    do {
      const std::size_t begin = at_;
      skip_separators();
      const bool wraps = text().substr(begin, at_ - begin).find('\n') != std::string_view::npos;
      if ((is_first && wraps) || !member_group()) {
        // A word of the language that begins a line is a statement's.
        std::size_t length = 0;
        if ((wraps && longest_entry(at_, skip(at_, in_word), length) != nullptr) || !name(true)) return;
      }
      out_.tokens.back().flags |= kMember;
      is_first = false;
    } while (class_of(peek(skip(at_, is_space))) == Class::Skipped);
  }

  /// [of] group NAME; false: there is none.
  bool member_group() {
    std::size_t word = at_;
    for (const std::string_view one : {"of", "group"}) {
      const std::size_t end = word + one.size();
      const bool is_there = iequals(text().substr(word, one.size()), one) && is_blank(peek(end));
      if (!is_there && one == "group") return false;
      if (is_there) word = one == "of" ? skip(end, is_blank) : word;
    }
    add(Kind::Group, word, word + std::string_view("group").size());
    out_.tokens.back().flags |= kMember;
    return name(false);
  }

  void headers() {
    const std::size_t begin = skip(at_, is_blank);
    if (peek(begin) != '[') return;
    const std::size_t end = text().find(']', begin);
    if (end != std::string_view::npos) return add(Kind::Headers, begin, end + 1);
    broken(begin, begin + 1, "the list of headers that begins here is not closed", "close it with ]");
    at_ = begin + 1;
  }

  /// Whether `hostgroups` of a `set mmonit` comes before, with a blank behind it, or a sign behind both.
  [[nodiscard]] bool follows_host_groups() const {
    std::size_t word = out_.tokens.size();
    if (word > 0 && (out_.tokens[word - 1].kind == Kind::Equal || out_.tokens[word - 1].kind == Kind::Operator)) --word;
    if (!in_mmonit_ || word == 0 || out_.tokens[--word].kind != Kind::String) return false;
    const std::size_t end = out_.tokens[word].offset + out_.tokens[word].length;
    return iequals(out_.text_of(word), "hostgroups") && is_blank(peek(end));
  }

  void host_groups(std::size_t begin) {
    const std::size_t end = each_host_group(text(), begin, [](std::string_view) {});
    if (end != std::string_view::npos) return add(Kind::HostGroups, begin, end);
    broken(begin, begin + 1, "the list of host groups that begins here is not closed", "close it with ]");
    at_ = begin + 1;
  }

  void assigned() {
    std::size_t at = skip(at_, is_blank);
    constexpr std::string_view kProgram = "program";
    if (at != at_ && iequals(text().substr(at, kProgram.size()), kProgram)) at = skip(at + kProgram.size(), is_blank);
    if (peek(at) == '=') {
      const std::size_t quote = skip(at + 1, is_blank);
      if (peek(quote) != '"') return;
      push(Kind::Equal, at, at + 1);
      return command(quote, false);
    }
    command(at, false);
  }

 private:
  const WordIndex& words_;
  OwnStatement own_;
  bool in_program_ = false;
  bool in_mmonit_ = false;  ///< in a `set mmonit`
};

}  // namespace

TokenStream lex(std::string_view text) { return Lexer(text).run(); }

bool is_word_character(char c) { return in_word(c); }

}  // namespace healer::grammar
