// SPDX-License-Identifier: MIT
#include "config/passes/expand.hpp"

#include <algorithm>
#include <charconv>
#include <deque>
#include <map>
#include <tuple>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "config/passes/http_list.hpp"
#include "config/passes/row_fields.hpp"
#include "config/passes/workflow_variables.hpp"
#include "config/syntax/values.hpp"
#include "config/syntax/walk.hpp"
#include "grammar/lexer.hpp"
#include "util/jq.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

constexpr std::size_t kLongestText = 65'535;

struct Binding {
  std::string name;
  Pieces value;
  SourceRange at;
  bool is_define = false;
};

class Expander {
 public:
  Expander(const Sources& sources, const ReadList& read, Expansion& expansion, Diagnostics& diagnostics)
      : sources_(sources), read_(read), expansion_(expansion), diagnostics_(diagnostics), walk_(*this) {}

  std::deque<Statement> run(std::deque<Statement>&& statements) {
    if (!expansion_.is_full && std::ranges::none_of(statements, is_of_block)) {  // then they stay where they are
      for (Statement& statement : statements) prepare(statement);
      return std::move(statements);
    }
    match_blocks(statements);
    this->statements(statements, 0, statements.size());
    return std::move(out_);
  }

  // ---- what Walk asks for

  void place(SourceRange& range) const { range.row = row_; }
  void text(Word& word) {
    replace(word, Into::Text);
    if (!was_wrong_ || &word != name_) return;
    // Nobody knows what the service is called.
    word.value.clear();
    expansion_.is_whole = false;
  }
  void url(Word& word) { replace(word, Into::Url); }
  void json(Word& word) { replace(word, Into::Json); }

  void path(Word& word) {
    const bool was_named = word.value.starts_with("${");
    replace(word, Into::Text);
    if (!was_named || word.value.starts_with('/')) return;
    if (std::exchange(has_stand_in_, false))
      word.value = "/" + word.value;
    else if (!was_wrong_)
      refuse(word.range, fmt::format("{} is not a path: it does not begin with '/'", in_quotes(word.value)), {});
  }

  void filter(Word& word) {
    for (std::size_t at = 0; (at = word.value.find("${", at)) != std::string::npos; ++at)
      if (grammar::reference_end(word.value, at) != 0 && (at == 0 || word.value[at - 1] != '$')) {
        error(Code::InvalidValue, word.range, "a jq filter takes no '${...}'",
              "compare with the value: json '.name' = \"${NAME}\"");
        word.value = ".";
        return;
      }
    replace(word, Into::Text);
    // $NAME is what `define` or `for each` has called so; what is called so last comes first.
    std::string bound;
    for (const std::string& name : jq_variables(word.value)) {
      const auto found = std::ranges::find(scope_.rbegin(), scope_.rend(), name, &Binding::name);
      if (found == scope_.rend()) continue;
      if (judges_row_ && std::ranges::any_of(found->value, &Piece::of_row)) {
        error(Code::WrongPlace, word.range, fmt::format("${} has another value in each row", name),
              "one filter is evaluated for all rows: compare with the value, json '.name' = \"${NAME}\", or read it "
              "from the row");
        word.value = ".";
        return;
      }
      bound += fmt::format("{} as ${} | ", json_string(joined(found->value, Into::Text)), name);
    }
    word.value.insert(0, bound);
  }

  void port(ConnectionSyntax& test) {
    Word name = std::move(*test.port_name);
    test.port_name.reset();
    place(name.range);
    replace(name, Into::Text);
    std::uint64_t number = 0;
    const char* end = name.value.data() + name.value.size();
    const auto [rest, wrong] = std::from_chars(name.value.data(), end, number);
    if (std::exchange(has_stand_in_, false)) {
      number = 1;
    } else if (wrong != std::errc{} || rest != end || number == 0 || number > 65'535) {
      number = 1;
      if (!was_wrong_)
        refuse(name.range, fmt::format("{} is not a port", in_quotes(name.value)),
               "a port is a number from 1 to 65535");
    }
    test.port = Number{.value = number, .range = name.range};
  }

  void arguments(CommandSyntax& command) {
    const std::size_t script = script_of(command.arguments);
    for (std::size_t i = 0; i < command.arguments.size(); ++i) {
      std::string& argument = command.arguments[i];
      if (argument.find("${") == std::string::npos) continue;
      has_stand_in_ = false;
      const Pieces pieces = resolve(argument, command.range);
      if (i == 0 && has_stand_in_)
        expansion_.unknown_programs.emplace(command.range.file, command.range.begin, command.range.row);
      if (const auto outside = std::ranges::find(pieces, true, &Piece::outside); i == script && outside != pieces.end())
        error(Code::InvalidValue, command.range,
              "a value from a list cannot be put into a shell script, because the shell would interpret it as code",
              fmt::format("use the environment variable: \"{}\"", variable_of(outside_name_)));
      argument = joined(pieces, Into::Text);
    }
  }

 private:
  struct Rows {
    std::vector<ListRow> rows;
    bool outside = false;
    bool is_stand_in = false;
    std::size_t list = RowOrigin::kWritten;
  };

  void error(Code code, const SourceRange& range, std::string message, std::string remedy = {}) {
    report(diagnostics_, DiagnosticSeverity::Error, code, range, std::move(message), std::move(remedy));
  }

  [[nodiscard]] SourceRange here(SourceRange range) const {
    range.row = row_;
    return range;
  }

  [[nodiscard]] std::string place_text(const SourceRange& range) const {
    const Position position = sources_.position(range.file, range.begin);
    return fmt::format("{}:{}:{}", printable(sources_.at(range.file).path), position.line, position.column);
  }

  // ---- statements

  /// Where the block of each `for each` ends.
  void match_blocks(const std::deque<Statement>& statements) {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < statements.size(); ++i) {
      if (std::holds_alternative<ForEachSyntax>(statements[i])) open.push_back(i);
      if (!std::holds_alternative<EndSyntax>(statements[i]) || open.empty()) continue;
      ends_[open.back()] = i;
      open.pop_back();
    }
    for (const std::size_t begin : open) ends_[begin] = statements.size();
  }

  void statements(std::deque<Statement>& statements, std::size_t begin, std::size_t end) {
    const std::size_t known = scope_.size();
    for (std::size_t i = begin; i < end && !expansion_.is_full && !refused_; ++i) {
      if (auto* define = std::get_if<DefineSyntax>(&statements[i])) {
        this->define(*define);
      } else if (auto* for_each = std::get_if<ForEachSyntax>(&statements[i])) {
        const std::size_t last = ends_.at(i);
        this->for_each(statements, *for_each, i + 1, last);
        i = last;
      } else if (depth_ == 0) {
        add(std::move(statements[i]));
      } else {
        add(Statement(statements[i]));
      }
    }
    scope_.resize(known);
  }

  void add(Statement&& statement) {
    const auto* const check = std::get_if<CheckSyntax>(&statement);
    if (check != nullptr && depth_ > 0 && expansion_.services >= kMostRows) {
      if (is_outside()) return refuse(check->range, too_many(), {});
      ++expansion_.services;
      return full(check->range);
    }
    prepare(statement);
    out_.push_back(std::move(statement));
  }

  /// Puts in what names stand for.
  void prepare(Statement& statement) {
    if (auto* check = std::get_if<CheckSyntax>(&statement)) {
      ++expansion_.services;
      const std::size_t written = check->name.value.size();
      if (depth_ > 0) check->row = expansion_.rows[row_ - 1];
      check->stands_in = std::ranges::any_of(open_, &Open::is_stand_in);
      name_ = &check->name;
      judges_row_ = check->kind->traits.is_listed;
      walk_(*check);
      if (std::exchange(judges_row_, false)) find_row(*check);
      name_ = nullptr;
      if (check->name.value.size() != written && check->name.value.starts_with('/'))
        error(Code::AwkwardName, check->name.range, "the name of a service must not begin with '/'");
    } else if (auto* set = std::get_if<SetSyntax>(&statement)) {
      walk_(*set);
    } else if (auto* include = std::get_if<IncludeSyntax>(&statement)) {
      text(include->pattern);
    } else if (auto* more = std::get_if<ContinuationSyntax>(&statement)) {
      for (ServiceStatement& one : more->statements) walk_(one);
    } else if (auto* workflow = std::get_if<WorkflowSyntax>(&statement)) {
      workflow_texts(*workflow);
    } else if (auto* unknown = std::get_if<UnknownCheckSyntax>(&statement)) {
      for (std::string& name : unknown->names) name = joined(resolve(name, {}, false), Into::Text);
    }
  }

  /// Of which list `check row` judges a row.
  void find_row(CheckSyntax& check) {
    const auto list = std::ranges::find(open_.rbegin(), open_.rend(), true, &Open::outside);
    if (check.broken || (list != open_.rend() && list->list == RowOrigin::kWritten)) return;  // it was told
    if (list == open_.rend())
      return error(Code::WrongPlace, check.range, "'check row' is only possible in a list that is read",
                   "write it in a block, as in: for each NODE from http \"URL\" rows '.items[]' name '.name' { ... }");
    check.listed = engine::ListedSpec{.list = key_of(expansion_.lists[list->list].source), .row = list->row};
  }

  /// What is defined is put in; all other names are known when a step begins.
  void workflow_texts(WorkflowSyntax& workflow) {
    const auto depth = std::exchange(depth_, 0);
    const auto visit = [this](std::string& text, const SourceRange& at, TextPlace place) {
      if (text.find("${") != std::string::npos)
        text = joined(resolve(text, at, false), place == TextPlace::Url ? Into::Url : Into::Text);
    };
    if (workflow.guard) for_each_program_text(workflow.guard->program, visit);
    for_each_step_of(workflow, [&](auto& step) { for_each_text(step, visit); });
    depth_ = depth;
  }

  void full(const SourceRange& range) {
    expansion_.is_full = true, expansion_.is_whole = false;
    error(Code::TooMany, range, too_many(), "make the lists shorter, or nest fewer of them");
  }
  static std::string too_many() { return fmt::format("these lists make more than {} services", kMostRows); }

  [[nodiscard]] bool is_outside() const { return std::ranges::any_of(open_, &Open::outside); }

  /// A value that cannot be: an error, but of a row from outside, which is left out.
  void refuse(const SourceRange& range, std::string message, std::string remedy) {
    for (std::size_t i = open_.size(); i-- > 0;) {
      if (!open_[i].outside) continue;
      refused_ = static_cast<std::ptrdiff_t>(i);
      why_refused_ = std::move(message);
      return;
    }
    error(Code::InvalidValue, range, std::move(message), std::move(remedy));
  }

  // ---- names

  [[nodiscard]] const Binding* find(std::string_view name) const {
    for (std::size_t i = scope_.size(); i-- > 0;)
      if (scope_[i].name == name) return &scope_[i];
    return nullptr;
  }

  /// Whether a name may be given here: it must not mean two things at one place.
  bool is_new(const Word& name) {
    const Binding* known = find(name.value);
    if (known == nullptr) return true;
    error(Code::DuplicateName, here(name.range), fmt::format("{} is defined already", in_quotes(name.value)),
          fmt::format("the first one is at {}", place_text(known->at)));
    return false;
  }

  void define(const DefineSyntax& define) {
    if (!is_new(define.name)) return;
    Pieces value = resolve(define.value.value, here(define.value.range));
    scope_.push_back(
        {.name = define.name.value, .value = std::move(value), .at = define.name.range, .is_define = true});
  }

  /// A text as pieces, with the values of its names in their place.
  Pieces resolve(std::string_view text, const SourceRange& at, bool tells = true) {
    Pieces pieces;
    was_wrong_ = false;
    std::size_t size = text.size();
    const auto add = [&](std::string_view piece) {
      if (pieces.empty() || pieces.back().of_row) pieces.emplace_back();
      pieces.back().text += piece;
    };
    for (std::size_t from = 0; from < text.size();) {
      const std::size_t sign = text.find("${", from);
      if (sign == std::string_view::npos) {
        add(text.substr(from));
        break;
      }
      const std::size_t end = grammar::reference_end(text, sign);
      const std::string_view name = end == 0 ? std::string_view() : text.substr(sign + 2, end - sign - 3);
      const Binding* binding = end == 0 ? nullptr : find(name);
      const bool is_literal = sign > from && text[sign - 1] == '$' && (depth_ > 0 || binding != nullptr);
      add(text.substr(from, sign - from - (is_literal ? 1 : 0)));
      from = end == 0 ? sign + 2 : end;
      if (is_literal) {
        add(text.substr(sign, from - sign));
      } else if (binding != nullptr) {
        for (const Piece& piece : binding->value) {
          if (piece.outside) outside_name_ = name;
          pieces.push_back(piece);
          size += piece.text.size();
        }
      } else if (depth_ == 0 || !unknown(name, text.substr(sign, from - sign), at, tells, pieces)) {
        add(text.substr(sign, from - sign));
      }
      if (size > kLongestText) {
        if (tells) error(Code::TooMany, at, fmt::format("this becomes longer than {} bytes", kLongestText));
        was_wrong_ = true;
        break;
      }
    }
    return pieces;
  }

  /// A name in a block that nothing defines. Whether something stands for it all the same.
  bool unknown(std::string_view name, std::string_view written, const SourceRange& at, bool tells, Pieces& pieces) {
    const std::string_view row = name.substr(0, name.find('.'));
    const auto open = std::ranges::find(open_, row, &Open::name);
    if (open != open_.end() && row.size() < name.size()) {
      if (open->is_stand_in) {
        has_stand_in_ = true;
        pieces.push_back({.text = "any", .of_row = true, .outside = true});
        outside_name_ = name;
        return true;
      }
      if (open->outside) {
        refused_ = open - open_.begin();
        was_wrong_ = true;
        why_refused_ = fmt::format("it has no field {}", in_quotes(name.substr(row.size() + 1)));
        return false;
      }
    }
    was_wrong_ = true;
    if (!tells) return false;
    if (name.empty()) {
      error(Code::UnknownName, at, fmt::format("{} names nothing", in_quotes(written)), "write $${ for a literal ${");
      return false;
    }
    std::vector<std::string_view> names;
    for (const Binding& binding : scope_) names.push_back(binding.name);
    const std::string_view nearest = nearest_word(name, names);
    error(Code::UnknownName, at, fmt::format("{} is not defined", in_quotes(name)),
          nearest.empty()
              ? fmt::format("define it before this block, or write $${{{}}} for a literal ${{{}}}", name, name)
              : fmt::format("did you mean '{}'?", nearest));
    return false;
  }

  void replace(Word& word, Into into) {
    was_wrong_ = false;
    has_stand_in_ = false;
    if (word.value.find("${") == std::string::npos) return;
    word.value = joined(resolve(word.value, word.range), into);
    if (has_stand_in_) expansion_.unknown_words.emplace(word.range.file, word.range.begin, word.range.row);
  }

  // ---- lists

  void for_each(std::deque<Statement>& statements, ForEachSyntax& syntax, std::size_t begin, std::size_t end) {
    if (!is_new(syntax.name)) return;
    if (is_own_name(syntax.name.value))
      error(Code::DuplicateName, here(syntax.name.range),
            fmt::format("{} is a name that healer gives to programs itself", in_quotes(syntax.name.value)),
            "choose another one, such as NODE");
    const Rows rows = rows_of(syntax);
    if (rows.list != RowOrigin::kWritten)
      note_needs(statements, begin, end, syntax.name.value, expansion_.lists[rows.list]);
    const std::uint32_t outer = row_;
    if (rows.rows.empty() && rows.outside) expansion_.is_whole = false;  // no list is empty: all its rows are left out
    for (std::size_t i = begin; rows.outside && i < end; ++i)
      expansion_.groups_vary = expansion_.groups_vary || names_group(statements[i]);
    open_.push_back(
        {.name = syntax.name.value, .list = rows.list, .outside = rows.outside, .is_stand_in = rows.is_stand_in});
    ++depth_;
    for (const ListRow& row : rows.rows) {
      if (expansion_.is_full || refused_) break;
      if (expansion_.rows.size() >= kMostRows) {
        if (!is_outside()) {
          full(syntax.range);
          break;
        }
        refuse(syntax.range, too_many(), {});
        if (!end_refused(row, syntax.name.range)) break;
        continue;
      }
      const std::size_t known = scope_.size();
      const std::size_t made = out_.size();
      const std::size_t services = expansion_.services;
      open_.back().row = row.name;
      bind(syntax.name, row, rows, outer);
      this->statements(statements, begin, end);
      scope_.resize(known);
      if (end_refused(row, syntax.name.range)) {
        out_.resize(made);
        expansion_.services = services;
      }
      row_ = outer;
    }
    --depth_;
    open_.pop_back();
  }

  /// Whether it was this row of the innermost list that was refused: the next one may be gone on with.
  bool end_refused(const ListRow& row, const SourceRange& at) {
    if (refused_ != static_cast<std::ptrdiff_t>(open_.size() - 1)) return false;
    refused_.reset();
    const Open& list = open_.back();
    if (list.is_stand_in)
      report(diagnostics_, DiagnosticSeverity::Warning, Code::RefusedRow, here(at),
             fmt::format("each row of the list {} would be left out: {}", list.name, why_refused_));
    else
      expansion_.left_out.push_back(
          {.source = expansion_.lists[list.list].source, .row = row.name, .why = why_refused_});
    expansion_.is_whole = false;  // its services may be the ones that others name
    return true;
  }

  /// Makes a row the one whose values are known.
  void bind(const Word& name, const ListRow& row, const Rows& rows, std::uint32_t outer) {
    const bool outside = rows.outside;
    auto made =
        outer == 0 ? std::make_shared<engine::Row>() : std::make_shared<engine::Row>(*expansion_.rows[outer - 1]);
    const auto add = [&](std::string variable_name, const std::string& value) {
      made->variables.emplace_back(variable_name, value);
      scope_.push_back({.name = std::move(variable_name),
                        .value = {{.text = value, .of_row = true, .outside = outside}},
                        .at = name.range});
    };
    made->target = row.name;
    made->lists.push_back(name.value);
    add(name.value, row.name);
    for (const auto& [field, value] : row.fields) add(name.value + "." + field, value);
    expansion_.rows.push_back(std::move(made));
    if (outside)
      expansion_.origins.push_back({.list = rows.list, .row = row.name, .stands_in = rows.is_stand_in});
    else
      expansion_.origins.push_back(outer == 0 ? RowOrigin{} : expansion_.origins[outer - 1]);
    row_ = static_cast<std::uint32_t>(expansion_.rows.size());
  }

  Rows rows_of(ForEachSyntax& syntax) {
    if (!syntax.items.empty()) return {.rows = written_rows(syntax), .outside = false, .is_stand_in = false};
    const ListRow any{.name = "any-" + syntax.name.value, .fields = {}};
    if (!syntax.command && !syntax.file && !syntax.http) return {.rows = {any}, .outside = true, .is_stand_in = true};
    ListDeclaration list{.source = {.name = syntax.name.value, .command = {}, .file = {}},
                         .name = syntax.name.value,
                         .every = {},
                         .range = here(syntax.range)};
    bool of_row = false;
    const auto filled = [&](const std::string& text, const SourceRange& at, Into into = Into::Text) {
      const Pieces pieces = resolve(text, here(at));
      of_row = of_row || std::ranges::any_of(pieces, &Piece::of_row);
      return joined(pieces, into);
    };
    if (syntax.http) {
      list.source.http = http_list(*syntax.http, filled);
      list.source.file = list.source.http->key();
    } else if (syntax.file) {
      list.source.file = filled(syntax.file->value, syntax.file->range);
      if (!list.source.file.starts_with('/'))
        error(Code::InvalidValue, here(syntax.file->range),
              fmt::format("{} is not a path", in_quotes(list.source.file)), "write the whole path of the file");
    } else {
      for (const std::string& argument : syntax.command->arguments)
        list.source.command.push_back(filled(argument, syntax.command->range));
      if (!list.source.command.front().starts_with('/'))
        error(Code::InvalidValue, here(syntax.command->range),
              fmt::format("{} is not the path of a program", in_quotes(list.source.command.front())),
              "write its whole path");
    }
    constexpr Duration kFileInterval = minutes(1);
    constexpr Duration kCommandInterval = minutes(5);
    list.every = syntax.every ? syntax.every->value : syntax.command ? kCommandInterval : kFileInterval;
    if (list.every < seconds(1))
      error(Code::OutOfRange, here(syntax.every->range), "a list is read at most once a second",
            "as in 'every 5 minutes'");
    if (of_row) {
      error(Code::InvalidValue, here(syntax.range), "a list cannot be named by a row of another one",
            "write one list of all rows, with fields: ${NODE.ip}");
      return {.rows = {any}, .outside = true, .is_stand_in = true};
    }
    const auto same = std::ranges::find(expansion_.lists, list.source, &ListDeclaration::source);
    const auto at = static_cast<std::size_t>(same - expansion_.lists.begin());
    if (same == expansion_.lists.end())
      expansion_.lists.push_back(list);
    else
      same->every = std::min(same->every, list.every);
    ListRows read = read_(list, diagnostics_);
    expansion_.lists[at].is_read = read.has_value();
    if (!read) return {.rows = {any}, .outside = true, .is_stand_in = true, .list = at};
    return {.rows = std::move(*read), .outside = true, .is_stand_in = false, .list = at};
  }

  std::shared_ptr<const HttpList> http_list(HttpListSyntax& list, const FillText& fill) {
    const std::size_t known = scope_.size();
    if (list.token) {  // its name stands for itself until it was taken
      const Word& name = list.token->saves.front().name;
      if (is_new(name))
        scope_.push_back(
            {.name = name.value, .value = {{.text = fmt::format("${{{}}}", name.value)}}, .at = name.range});
    }
    auto made = read_http_list(
        list, row_, fill, [this](Word& word) { filter(word); }, diagnostics_);
    scope_.resize(known);
    return made;
  }

  /// The rows that a list has in the rules file.
  std::vector<ListRow> written_rows(const ForEachSyntax& syntax) {
    std::vector<ListRow> rows;
    std::map<std::string, SourceRange> known;
    const auto add = [&](std::string name, const SourceRange& at) {
      const auto [first, is_first] = known.emplace(to_lower(name), at);
      if (is_first) {
        rows.push_back({.name = std::move(name), .fields = {}});
        return;
      }
      error(Code::DuplicateName, here(at), fmt::format("{} is in this list already", in_quotes(name)),
            fmt::format("the first one is at {}; case makes no difference", place_text(first->second)));
    };
    for (const ForEachSyntax::Item& item : syntax.items) {
      const std::string first = joined(resolve(item.first.value, here(item.first.range)), Into::Text);
      SourceRange at = item.first.range;
      std::vector<std::string> names{first};
      if (item.last) {
        at.end = item.last->range.end;
        const std::string last = joined(resolve(item.last->value, here(item.last->range)), Into::Text);
        const Result<std::vector<std::string>> range = rows_of_range(first, last);
        if (!range) {
          error(Code::InvalidValue, here(at), "this is not a range: " + range.error().what,
                R"(as in "db1" .. "db9", or "web08" .. "web12")");
          continue;
        }
        names = *range;
      }
      for (std::string& name : names) {
        if (is_plain_name(name))
          add(std::move(name), at);
        else
          error(Code::InvalidValue, here(at), fmt::format("{} is not a valid row name", in_quotes(name)),
                std::string(kRowNameRemedy));
      }
    }
    return rows;
  }

  /// A list whose rows are gone over.
  struct Open {
    std::string name;
    std::string row{};  ///< that is gone over
    std::size_t list = RowOrigin::kWritten;
    bool outside = false;
    bool is_stand_in = false;
  };

  const Sources& sources_;
  const ReadList& read_;
  Expansion& expansion_;
  Diagnostics& diagnostics_;
  Walk<Expander> walk_;
  std::deque<Statement> out_;
  std::map<std::size_t, std::size_t> ends_;  ///< of blocks, by their beginnings
  std::vector<Binding> scope_;
  std::vector<Open> open_;  ///< the outermost first
  std::size_t depth_ = 0;
  std::uint32_t row_ = 0;                  ///< SourceRange::row of what is written now
  std::optional<std::ptrdiff_t> refused_;  ///< the list in `open_` whose row lacks something
  std::string why_refused_;
  const Word* name_ = nullptr;  ///< of the service that is written now
  bool judges_row_ = false;     ///< it is a `check row`
  std::string outside_name_;    ///< the name of the value from outside that came last
  bool was_wrong_ = false;      ///< there was an error in the text that came last
  bool has_stand_in_ = false;   ///< a value stands for one that is not known
};

}  // namespace

void expand(FileSyntax& syntax, const Sources& sources, const ReadList& read, Expansion& expansion,
            Diagnostics& diagnostics) {
  syntax.statements = Expander(sources, read, expansion, diagnostics).run(std::move(syntax.statements));
}

}  // namespace healer::config
