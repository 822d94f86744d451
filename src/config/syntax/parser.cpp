// SPDX-License-Identifier: MIT
// The loop over statements: what begins where, what is not supported, and where parsing goes on after an error.
#include "config/syntax/parser.hpp"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <optional>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "config/syntax/parse_build.hpp"
#include "config/syntax/statement_begin.hpp"
#include "config/syntax/tokens.hpp"
#include "grammar/errors.hpp"
#include "grammar/habits.hpp"
#include "grammar/lexer.hpp"
#include "grammar/own_statement.hpp"
#include "grammar/terminals.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

using grammar::Kind;
using grammar::TokenInput;
using grammar::TokenStream;
using parsing::Build;

constexpr std::size_t kMostErrors = 200;
constexpr int kMostFreshStarts = 16;
constexpr std::size_t kNothing = std::numeric_limits<std::size_t>::max();

Code code_of(const grammar::Complaint& complaint) {
  if (complaint.message.find("by this version of healer") != std::string::npos) return Code::Unsupported;
  return complaint.remedy.starts_with("did you mean") ? Code::UnknownWord : Code::Syntax;
}

/// Whether statements of a service may come.
enum class Service : std::uint8_t {
  None,      ///< no: after a `set`, or after a check that is not supported
  Possible,  ///< at the beginning of a file and after an include: the service may have begun in another file
  Open,      ///< after a check
};

/// A check, as the index of its statement, and the first token of the workflow that came while it was under way.
struct CutCheck {
  std::size_t check, workflow;
};

class Parser : Tokens {
 public:
  Parser(std::uint32_t file, std::string_view text, const SplicedText* spliced, std::vector<Diagnostic>& diagnostics)
      : Tokens(text), build_(stream_, file, spliced), diagnostics_(diagnostics) {}

  FileSyntax run() {
    while (kind() != Kind::End && errors_ < kMostErrors) {
      begin_ = at_;
      const bool in_service = !begins_statement(kind()) && !is_block_statement(at_);
      const bool ends = kind() == Kind::RightBrace && !open_blocks_.empty();
      out_.begins.push_back({.offset = block_word(at_),
                             .in_service = in_service,
                             .depth = static_cast<std::uint32_t>(open_blocks_.size() - ends)});
      statement();
    }
    for (const SourceRange& block : open_blocks_)
      report({.range = block, .message = "this block is not closed", .remedy = "close it with '}'"});
    if (errors_ >= kMostErrors || fresh_starts_ >= kMostFreshStarts || !stream_.is_whole) out_.is_whole = false;
    return std::move(out_);
  }

 private:
  void statement() {
    build_.begin_statement();
    switch (kind()) {
      case Kind::Set: return set();
      case Kind::Include: return include();
      case Kind::Workflow: return workflow();
      default: break;
    }
    if (kind() == Kind::CheckProcess && is_wrong_type()) return wrong_type();
    if (is_check(kind())) return check();
    if (is_in_broken_workflow_) return workflow_item();
    if (is_block_statement(at_)) return block_statement();
    if (service_ != Service::None) return service_statement();
    misplaced();
  }

  // ---- statements of a file

  void set() {
    begin_file_statement(Service::None);
    SetSyntax syntax;
    if (!attempt([&](TokenInput& in) { return parsing::parse_set(in, build_, syntax); })) return failed();
    if (!open_blocks_.empty()) return not_in_block("set", syntax.range);
    out_.statements.emplace_back(std::move(syntax));
  }

  void workflow() {
    const std::optional<CutCheck> cut = service_ == Service::Open ? CutCheck{check_, at_} : cut_check_;
    begin_file_statement(Service::None);
    cut_check_ = cut;
    WorkflowSyntax syntax;
    const bool is_right = attempt([&](TokenInput& in) { return parsing::parse_workflow(in, build_, syntax); });
    if (!is_right) {
      syntax = {};
      syntax.name = build_.word(at_ + 1);
      syntax.broken = true;
      syntax.range = build_.range({at_, at_ + 2});
    } else {
      std::ranges::sort(build_.items);
      const auto same = std::ranges::unique(build_.items);
      build_.items.erase(same.begin(), same.end());
      for (const std::uint32_t item : build_.items) out_.begins.push_back({.offset = item, .in_block = true});
    }
    out_.statements.emplace_back(std::move(syntax));
    is_in_broken_workflow_ = !is_right;
    if (!is_right) failed();
  }

  /// What follows an error in a workflow is looked at for more of them.
  void workflow_item() {
    if (!begins_item(at_)) {
      // What comes right after an item does not belong to it: there it breaks off.
      const bool breaks_off = kind() != Kind::RightBrace && (flags(0) & grammar::kFirstOfLine) == 0;
      breaks_off ? failed() : recover();
    } else if (!attempt([&](TokenInput& in) { return parsing::parse_workflow_item(in, build_); })) {
      failed();
    }
  }

  void include() {
    // Like Monit's, it may stand within a service, whose statements go on after it.
    const bool is_foreground = is_foreground_;
    const engine::CheckKind* const service = build_.service;
    begin_file_statement(Service::Possible);
    is_foreground_ = is_foreground;  // which Monit refuses, whatever the other file begins
    build_.service = service;
    after_include_ = true;
    const auto word = build_.range({at_, at_ + 1});
    ++at_;
    if (kind() != Kind::Pattern) {
      report({.severity = DiagnosticSeverity::Warning,
              .range = word,
              .message = "'include' names no file",
              .remedy = "write include /etc/healer/rules.d/*.rules"});
      return;
    }
    const auto written = build_.text(at_);
    IncludeSyntax syntax{.pattern = build_.raw(at_),
                         .range = {word.file, word.begin, build_.range({at_, at_ + 1}).end}};
    if (written.size() >= 2 && (written.front() == '"' || written.front() == '\'') && written.back() == written.front())
      syntax.pattern.value = std::string(written.substr(1, written.size() - 2));
    ++at_;
    if (!open_blocks_.empty()) return not_in_block("include", syntax.range);
    out_.statements.emplace_back(std::move(syntax));
  }

  // ---- define and for each

  void block_statement() {
    begin_file_statement(Service::None);
    if (kind() == Kind::RightBrace) {
      out_.statements.emplace_back(EndSyntax{build_.range({at_, at_ + 1})});
      open_blocks_.pop_back();
      ++at_;
      return;
    }
    const std::uint32_t begin = block_word(at_);
    if (iequals(build_.text(at_), "define")) {
      DefineSyntax syntax;
      if (!attempt([&](TokenInput& in) { return parsing::parse_define(in, build_, syntax); })) return failed();
      out_.statements.emplace_back(std::move(syntax));
      return;
    }
    ForEachSyntax syntax;
    if (!attempt([&](TokenInput& in) { return parsing::parse_for_each(in, build_, syntax); })) {
      // Its services are read all the same, once, so that their errors are told, too.
      broken_block(begin);
      return;
    }
    syntax.range.begin = build_.place(begin, begin).begin;
    open_blocks_.push_back(syntax.range);
    out_.statements.emplace_back(std::move(syntax));
  }

  /// Tells what is wrong with the header of a block, and goes on behind its brace.
  void broken_block(std::uint32_t begin) {
    build_.expectation.gather();
    const std::size_t token = std::max(build_.expectation.furthest, at_);
    error_at(token, grammar::unexpected(stream_, begin_, token, build_.expectation));
    out_.is_whole = false;
    std::size_t brace = at_;
    while (stream_.tokens[brace].kind != Kind::End && stream_.tokens[brace].kind != Kind::LeftBrace &&
           (brace == at_ || !begins_line(brace)))
      ++brace;
    const bool has_block = stream_.tokens[brace].kind == Kind::LeftBrace;
    at_ = std::max(has_block ? brace + 1 : brace, at_ + 1);
    if (!has_block) return recover();
    ForEachSyntax syntax{.range = build_.place(begin, stream_.tokens[brace].offset)};
    open_blocks_.push_back(syntax.range);
    out_.statements.emplace_back(std::move(syntax));
  }

  void not_in_block(std::string_view word, const SourceRange& range) {
    report({.range = range,
            .message = fmt::format("'{}' cannot be used in a 'for each'", word),
            .remedy = "write it before the block",
            .code = Code::WrongPlace});
  }

  void check() {
    begin_file_statement(Service::Open);
    CheckSyntax syntax;
    const bool names_program = (flags(2) & grammar::kAfterProgram) != 0;
    const bool is_right = attempt([&](TokenInput& in) { return parsing::parse_check(in, build_, syntax); });
    if (!is_right) {
      syntax = broken_check(kind(), at_ + (grammar::is_own_check(kind()) ? 2 : 1));
      if (grammar::cut_word(stream_, at_ + 1)) syntax.name.value.clear();
      if (syntax.name.value.empty()) out_.is_whole = false;
    }
    is_foreground_ = is_right ? syntax.foreground : names_program;
    build_.service = syntax.kind;
    begin_service(std::move(syntax));
    if (!is_right) failed();
  }

  void begin_service(CheckSyntax&& syntax) {
    check_ = out_.statements.size();
    out_.statements.emplace_back(std::move(syntax));
    target_ = &std::get<CheckSyntax>(out_.statements.back()).statements;
  }

  /// A statement of a service after a workflow shows that the workflow stands in a check, which goes on.
  void into_cut_check() {
    const CutCheck cut = *std::exchange(cut_check_, std::nullopt);
    auto& check = std::get<CheckSyntax>(out_.statements[check_ = cut.check]);
    error_at(cut.workflow,
             {"a workflow stands by itself, not in a check",
              fmt::format("move it before or after 'check {} {}'", check.kind->word, printable(check.name.value))});
    service_ = Service::Open;
    is_foreground_ = check.foreground;
    build_.service = check.kind;
    check.lacks_statements = true;
    target_ = &check.statements;
    statement();
  }

  /// What can be told of a service whose header has an error, so that its statements are looked at all the same.
  [[nodiscard]] CheckSyntax broken_check(Kind check, std::size_t name) const {
    CheckSyntax syntax;
    syntax.kind = parsing::kind_of_check(check);
    syntax.broken = true;
    syntax.range = build_.range({at_, at_ + 1});
    syntax.name.range = syntax.range;
    const bool is_named = grammar::is_own_check(kind()) ? kind(2) == Kind::Name
                          : check == kind()             ? kind(1) == Kind::Name
                                                        : kind(name - at_) != Kind::End;
    if (is_named) syntax.name = build_.word(name);
    return syntax;
  }

  /// `check proces x`: Monit reads a process check of the name `proces`.
  [[nodiscard]] bool is_wrong_type() const {
    const Kind after_name = kind(2);
    return iequals(trim(build_.text(at_)), "check") && after_name != Kind::PidFile && after_name != Kind::PathWord &&
           after_name != Kind::Match && (flags(2) & grammar::kAfterProgram) == 0;
  }

  void wrong_type() {
    begin_file_statement(Service::None);
    if (kind(1) != Kind::Name) {
      build_.expectation.reach(at_ + 1);
      error_at(at_ + 1, {grammar::unexpected(stream_, at_ + 1) + ", expected a kind of check and a name",
                         "write check program NAME with path \"...\""});
      out_.is_whole = false;
      return skip_to_statement();
    }
    const auto meant = report_wrong_type();
    const Kind own = grammar::own_check_of(meant);
    const Kind type = own != Kind::End ? own : grammar::kind_of_word(fmt::format("check\t{}", meant));
    if (!meant.empty() && parsed_check(type)) {
      service_ = Service::Open;
      begin_service(broken_check(type, at_ + 2));
      return skip_to_service_statement();
    }
    unknown_check({at_ + 1, at_ + 2});
    skip_to_statement();
  }
  static bool parsed_check(Kind kind) { return parsing::kind_of_check(kind) != nullptr; }

  /// A service that is not known has one of these tokens for its name.
  void unknown_check(std::initializer_list<std::size_t> tokens) {
    UnknownCheckSyntax check;
    for (const std::size_t token : tokens)
      if (token < stream_.tokens.size()) check.names.push_back(build_.word(token).value);
    out_.statements.emplace_back(std::move(check));
  }

  /// Returns the kind that was meant, where one is near.
  std::string_view report_wrong_type() {
    grammar::WrongKind wrong = grammar::wrong_kind_of_check(build_.text(at_ + 1));
    error_at(at_ + 1, wrong.complaint);
    return wrong.meant;
  }

  // ---- statements of a service

  void service_statement() {
    ServiceStatement syntax;
    switch (kind()) {
      case Kind::If: {
        IfSyntax rule;
        if (!attempt([&](TokenInput& in) { return parsing::parse_if(in, build_, rule); })) return failed();
        syntax = std::move(rule);
        break;
      }
      case Kind::Alert:
      case Kind::NoAlert:
        if (!attempt([&](TokenInput& in) { return parsing::parse_alert(in, build_, syntax); })) return failed();
        break;
      case Kind::Every:
      case Kind::NotEvery:
      case Kind::Group:
      case Kind::Mode:
      case Kind::OnReboot:
      case Kind::Start:
      case Kind::Stop:
      case Kind::Restart:
      case Kind::Depends:
      case Kind::Ignore:
        if (!attempt([&](TokenInput& in) { return parsing::parse_service_statement(in, build_, syntax); }))
          return failed();
        break;
      default:
        if (!is_own_statement(at_)) return misplaced();
        if (!attempt([&](TokenInput& in) { return parsing::parse_service_statement(in, build_, syntax); }))
          return failed();
    }
    add(std::move(syntax));
  }

  void add(ServiceStatement&& syntax) {
    after_include_ = false;
    if (target_ == nullptr) {
      const auto range = build_.range({begin_, at_});
      out_.statements.emplace_back(ContinuationSyntax{.statements = {}, .range = range});
      target_ = &std::get<ContinuationSyntax>(out_.statements.back()).statements;
    }
    target_->push_back(std::move(syntax));
  }

  // ---- errors

  /// A token that does not begin a statement here.
  void misplaced() {
    auto& expectation = build_.expectation;
    if (expectation.furthest > at_) return failed();  // the statement before it breaks off later
    if (after_include_ && at_ > 1) cut_by_include(at_ - 2);
    if (service_ == Service::None && (begins_service_statement(kind()) || is_own_statement(at_))) {
      if (cut_check_) return into_cut_check();
      error_at(at_, {fmt::format("{} belongs to no service", grammar::describe(stream_, at_)),
                     "it must follow a 'check', before any 'set'"});
      return recover();
    }
    const bool after_another = expectation.furthest == at_ && at_ > 0;
    expectation.gather(at_);
    const bool open = service_ == Service::Open;
    if (after_another)
      expectation.add_phrase("another statement");
    else if (open)
      expectation.add_phrase("a statement such as 'if', 'every' or 'check'");
    else
      for (const auto word : {"set", "check", "include"}) expectation.add_text(word);
    expectation.add_near_text("workflow");
    for (std::size_t k = 0; k < expectation.near.size(); ++k) {
      const auto one = static_cast<Kind>(k);
      if (begins_statement(one) || (open && begins_service_statement(one))) expectation.near.set(k);
    }
    for (const auto* word : {"ready", "leftovers", "watchdog"})
      if (open) expectation.add_near_text(word);
    failed();
  }

  /// Reports what the last attempt stumbled over, and goes on.
  void failed() {
    build_.expectation.gather();
    const std::size_t token = std::max(build_.expectation.furthest, at_);
    out_.begins_cut = out_.begins_cut || (token == 0 && fresh_starts_ == 0);
    out_.ends_cut = out_.ends_cut || stream_.tokens[token].kind == Kind::End;
    if (const auto quote = suspicious_quote(token); quote && fresh_starts_ < kMostFreshStarts)
      return fresh_start(*quote);
    if (const auto cause = grammar::earlier_cause(stream_, begin_, token)) {
      unsay(range_of(cause->token, cause->at));
      error_at(cause->token, cause->complaint, cause->at);
      at_ = std::max(at_, token);
      return recover();
    }
    if ((!in_workflow() && swallowed_word(token)) || unquoted_program()) return;
    if (stream_.tokens[token].kind == Kind::Include) cut_by_include(token);
    if (token > at_ && (begins_line(token) || cuts_workflow_item(token))) {
      const auto complaint = grammar::incomplete(stream_, begin_, token, build_.expectation);
      error_at(token - 1, complaint);
      at_ = kind(begin_ - at_) != Kind::If || complaint.remedy.empty() ? token : token + 1;  // an action without 'then'
    } else {
      error_at(token, grammar::unexpected(stream_, begin_, token, build_.expectation));
    }
    at_ = std::max(at_, token);
    recover();
  }

  [[nodiscard]] bool in_workflow() const { return kind(begin_ - at_) == Kind::Workflow || is_in_broken_workflow_; }

  /// Whether the item of a workflow before a token, which begins a line with another one, is not complete.
  [[nodiscard]] bool cuts_workflow_item(std::size_t token) const {
    if (!in_workflow()) return false;
    const bool ends = begins_item(token) || (stream_.tokens[token].kind == Kind::RightBrace &&
                                             (stream_.tokens[token].flags & grammar::kFirstOfLine) != 0);
    return ends && std::ranges::count(build_.expectation.texts, "step") == 0;
  }

  /// A slip in the first word of a statement makes it one more argument of the program before it.
  bool swallowed_word(std::size_t token) {
    const auto complaint = grammar::swallowed_word(stream_, token);
    if (!complaint) return false;
    error_at(token - 1, *complaint);
    at_ = token;
    recover();
    return true;
  }

  /// `start program = /x start`: the argument of a program without quotes begins a statement of its own, which fails.
  bool unquoted_program() {
    if (begin_ == kNothing || begin_ == 0 || begin_ >= stream_.tokens.size()) return false;
    const auto starts_line = [this](std::size_t token) {
      return (stream_.tokens[token].flags & grammar::kFirstOfLine) != 0;
    };
    if (starts_line(begin_) || !grammar::is_program_word(stream_.tokens[begin_].kind)) return false;
    std::size_t first = begin_;
    while (first > 0 && !starts_line(first)) --first;
    if (!grammar::is_program_word(stream_.tokens[first].kind)) return false;
    const std::size_t program = first + (stream_.tokens[first + 1].kind == Kind::Equal ? 2 : 1);
    if (program + 1 != begin_ || stream_.tokens[program].kind != Kind::Path) return false;
    const auto written = stream_.text_of(program);
    if (written.starts_with('"') || written.starts_with('\'')) return false;
    error_at(begin_, {grammar::unexpected(stream_, begin_) + ", expected another statement",
                      fmt::format("put the command in double quotes: \"{} {}\"", written, build_.text(begin_))});
    at_ = begin_ + 1;
    recover();
    return true;
  }

  /// Text in quotes that holds the beginning of another statement, shortly before an error: its closing quote is
  /// missing. From there on inside and outside change places, so the first of a chain of such texts is the one.
  std::optional<std::size_t> suspicious_quote(std::size_t token) const {
    constexpr std::size_t kNear = 4;
    std::optional<std::size_t> found;
    for (std::size_t i = token + 1, last = token; i-- > 0 && last - i <= kNear;) {
      if ((stream_.tokens[i].flags & grammar::kManyLines) == 0 || !holds_statement(stream_.text_of(i))) continue;
      found = last = i;
    }
    return found;
  }

  /// Reports a quote that is not closed, and reads on at the next line as if it were.
  void fresh_start(std::size_t quoted) {
    ++fresh_starts_;
    const auto& token = stream_.tokens[quoted];
    const auto text = stream_.text;
    report({.range = build_.place(token.offset, token.offset + 1),
            .message = "unbalanced quotes: the text that begins here continues on the next line",
            .remedy = fmt::format("close it with {}", text[token.offset])});
    const std::size_t line = std::min(text.find('\n', token.offset), text.size());
    lex_on(line);
    build_.expectation = {};
    begin_ = kNothing;
    recover();
  }

  /// Monit puts the text of the file in the place of an include, wherever that is. So it is done where the file is
  /// read; what is told here is of a text alone.
  void cut_by_include(std::size_t include) {
    const std::size_t pattern = include + 1;
    if (stream_.tokens[pattern].kind == Kind::Pattern) out_.cut_includes.push_back(stream_.tokens[pattern].offset);
  }

  [[nodiscard]] SourceRange range_of(std::size_t token, const std::optional<grammar::Piece>& part) const {
    return part ? build_.place(part->offset, part->offset + part->length) : build_.range({token, token + 1});
  }

  void error_at(std::size_t token, const grammar::Complaint& complaint, std::optional<grammar::Piece> part = {}) {
    auto range = range_of(token, part);
    // The end of a file is shown behind its last word, not on the empty line after it.
    if (stream_.tokens[token].kind == Kind::End && token > 0)
      range.begin = range.end = build_.range({token - 1, token}).end;
    report({.range = range, .message = complaint.message, .remedy = complaint.remedy, .code = code_of(complaint)});
  }

  /// Takes back what was only warned of in the same place.
  void unsay(const SourceRange& range) {
    std::erase_if(diagnostics_, [&](const Diagnostic& one) {
      return one.severity == DiagnosticSeverity::Warning && one.range && one.range->file == range.file &&
             one.range->begin >= range.begin && one.range->end <= range.end;
    });
  }

  void report(Diagnostic diagnostic) {
    if (diagnostic.severity == DiagnosticSeverity::Error) {
      ++errors_;
      if (service_ == Service::Open && !out_.statements.empty())
        if (auto* check = std::get_if<CheckSyntax>(&out_.statements.back())) check->lacks_statements = true;
    } else {
      diagnostic.code = Code::Misread;
    }
    diagnostics_.push_back(std::move(diagnostic));
    if (errors_ == kMostErrors)
      diagnostics_.push_back(
          {.range = diagnostics_.back().range,
           .message = fmt::format("more than {} errors; the rest of the file is not read", kMostErrors - 1),
           .remedy = {}});
  }

  void recover() { service_ != Service::None ? skip_to_service_statement() : skip_to_statement(); }

  void skip_to_statement() {
    if (at_ == begin_) ++at_;
    while (kind() != Kind::End && !begins_statement(kind()) && !begins_block_line(at_) &&
           !(is_in_broken_workflow_ && begins_item(at_)))
      ++at_;
  }

  /// A service statement counts only at the beginning of a line, and not after `else` or `then`.
  void skip_to_service_statement() {
    if (at_ == begin_) ++at_;
    for (; kind() != Kind::End && !begins_statement(kind()); ++at_) {
      if (!begins_line(at_)) continue;
      const Kind before = at_ > 0 ? stream_.tokens[at_ - 1].kind : Kind::End;
      if (before != Kind::Else && before != Kind::Then && before != Kind::Repeat) return;
    }
  }

  // ---- machinery

  /// Runs a statement group at the current token; takes over what it has noted where it matches.
  template <typename Group>
  bool attempt(Group group) {
    TokenInput in(stream_, at_, is_foreground_, !open_blocks_.empty());
    if (!group(in)) return false;
    at_ = in.index();
    for (auto token = begin_; token < at_; ++token) {
      for (const grammar::EarlierCause& one : grammar::misread_letters(stream_, token))
        build_.complaints.push_back({.severity = DiagnosticSeverity::Warning,
                                     .range = range_of(token, one.at),
                                     .message = one.complaint.message,
                                     .remedy = one.complaint.remedy});
    }
    if (begin_ < at_) build_.note_tokens({begin_, at_});
    for (auto& extension : build_.extensions) out_.extensions.push_back(std::move(extension));
    for (const Deprecation& deprecation : build_.deprecations) out_.deprecations.push_back(deprecation);
    for (auto& complaint : build_.complaints) report(std::move(complaint));
    return true;
  }

  void begin_file_statement(Service service) {
    after_include_ = false;
    is_in_broken_workflow_ = false;
    cut_check_.reset();
    service_ = service;
    is_foreground_ = false;
    build_.service = nullptr;
    target_ = nullptr;
  }

  Build build_;
  std::vector<Diagnostic>& diagnostics_;
  FileSyntax out_;
  std::size_t begin_ = 0;  ///< token: where the statement under way begins
  Service service_ = Service::Possible;
  std::size_t check_ = 0;              ///< statement: the check that is open
  std::optional<CutCheck> cut_check_;  ///< what may turn out to go on
  bool after_include_ = false;
  bool is_in_broken_workflow_ = false;               ///< one with an error was begun, and nothing else since
  bool is_foreground_ = false;                       ///< the service is a foreground process
  std::vector<ServiceStatement>* target_ = nullptr;  ///< where they go; a new continuation where null
  std::size_t errors_ = 0;
  int fresh_starts_ = 0;
};

}  // namespace

FileSyntax parse(std::uint32_t file, std::string_view text, std::vector<Diagnostic>& diagnostics) {
  return Parser(file, text, nullptr, diagnostics).run();
}

FileSyntax parse(const SplicedText& spliced, std::uint32_t file, std::vector<Diagnostic>& diagnostics) {
  return Parser(file, spliced.text(), &spliced, diagnostics).run();
}

}  // namespace healer::config
