// SPDX-License-Identifier: MIT
// Reads the files of a run. An include is as if the text of the files stood in its place, as in Monit; a directory is
// its *.rules files in the order of their names.
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "config/passes/passes.hpp"
#include "config/syntax/parser.hpp"
#include "config/text/spliced_text.hpp"
#include "grammar/lexer.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

constexpr std::size_t kMaxFiles = 4096;
constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMostRounds = 64;  // of reading, each with more includes put in their places

/// Why a file cannot be read, without its path: the message has it already.
std::string reason(const std::string& path, const Error& error) {
  const std::string prefix = path + ": ";
  return error.what.starts_with(prefix) ? error.what.substr(prefix.size()) : error.what;
}

std::string_view without_quotes(std::string_view written) {
  const bool quoted =
      written.size() >= 2 && (written.front() == '"' || written.front() == '\'') && written.back() == written.front();
  return quoted ? written.substr(1, written.size() - 2) : written;
}

class Reader {
 public:
  Reader(const Environment& environment, Sources& sources, Diagnostics& diagnostics)
      : environment_(environment),
        sources_(sources),
        diagnostics_(diagnostics),
        read_list_([this](const auto& list, auto&) { return rows_of(list); }),
        first_diagnostic_(diagnostics.size()) {}

  /// An include may break a statement off, which is seen only when both files were read. Then all is read again, with
  /// the text of that file in its place.
  Document read_main(const std::string& path) {
    read_all(path);
    for (std::size_t round = 0; round < kMostRounds && !found_cut_.empty(); ++round) {
      cut_.merge(std::exchange(found_cut_, {}));
      sources_ = {};
      diagnostics_.resize(first_diagnostic_);
      document_ = {};
      bytes_ = 0;
      before_ = Before::Nothing;
      read_all(path);
    }
    name_lists(document_.expansion, sources_);
    return std::move(document_);
  }

 private:
  /// An include by the file that it stands in, and where its pattern is.
  using Place = std::pair<std::string, std::uint32_t>;

  void read_all(const std::string& path) {
    const Result<FileFacts> facts = environment_.stat(path);
    if (!facts) {
      report(diagnostics_, DiagnosticSeverity::Error,
             facts.error().code == ENOENT ? Code::MissingFile : Code::Unreadable, path,
             facts.error().code == ENOENT ? "there is no such file" : "cannot be read: " + reason(path, facts.error()));
    } else if (facts->is_directory) {
      read_directory(path);
    } else {
      read_file(path, nullptr);
    }
  }

  void read_directory(const std::string& path) {
    document_.directory = path;
    const std::string pattern = (std::filesystem::path(path) / "*.rules").string();
    const Result<std::vector<std::string>> found = environment_.glob(pattern);
    if (!found) return refuse_unreadable(path, found.error(), nullptr);
    std::vector<std::string> files = *found;
    std::erase_if(files, [&](const std::string& file) { return is_directory(file); });
    if (files.empty()) {
      document_.unmatched.push_back(pattern);
      report(diagnostics_, DiagnosticSeverity::Warning, Code::MissingFile, path,
             "the directory contains no rules files",
             "the files whose names end in .rules are read, in the order of their names");
    }
    for (const std::string& file : files) {
      read_file(file, nullptr);
      before_ = Before::Nothing;  // a file of the set begins afresh
    }
  }

  /// Reads a file; `from` is the pattern that named it, null for a main file. Its index; none where it cannot be read.
  std::optional<std::uint32_t> open_file(const std::string& path, const SourceRange* from) {
    const auto refuse = [&](DiagnosticSeverity severity, const std::string& message) {
      if (severity == DiagnosticSeverity::Error) document_.is_whole = false;
      if (from != nullptr)
        report(diagnostics_, severity, Code::Unreadable, *from, fmt::format("{} {}", in_quotes(path), message));
      else
        report(diagnostics_, severity, Code::Unreadable, path, message);
      return std::nullopt;
    };
    if (sources_.size() >= kMaxFiles)
      return refuse(DiagnosticSeverity::Error, fmt::format("exceeds the limit of {} files", kMaxFiles));
    Result<std::string> text = environment_.read(path);
    if (!text) return refuse(DiagnosticSeverity::Error, "cannot be read: " + reason(path, text.error()));
    bytes_ += text->size();
    if (bytes_ > kMaxBytes)
      return refuse(DiagnosticSeverity::Error,
                    fmt::format("is too much: the rules files may hold {} MiB together", kMaxBytes >> 20));
    const std::uint32_t file = sources_.add(path, std::move(*text));
    if (from != nullptr) document_.inclusions.push_back({.file = file, .by = *from});
    return file;
  }

  void read_file(const std::string& path, const SourceRange* from) {
    const std::optional<std::uint32_t> file = open_file(path, from);
    if (!file) return;
    open_.push_back(environment_.canonical(path));
    FileSyntax syntax;
    if (has_cuts(*file)) {
      SplicedText text;
      splice(*file, text);
      syntax = parse(text, *file, diagnostics_);
      note_cuts(syntax, from, [&](std::uint32_t at) { return text.place(at, at); });
    } else {
      syntax = parse(*file, sources_.at(*file).text, diagnostics_);
      note_cuts(syntax, from, [&](std::uint32_t at) { return SourceRange{*file, at, at}; });
    }
    std::ranges::move(syntax.extensions, std::back_inserter(document_.extensions));
    std::ranges::move(syntax.deprecations, std::back_inserter(document_.deprecations));
    document_.is_whole = document_.is_whole && syntax.is_whole;
    expand(syntax, sources_, read_list_, document_.expansion, diagnostics_);
    document_.is_whole = document_.is_whole && document_.expansion.is_whole;
    for (; !syntax.statements.empty(); syntax.statements.pop_front())
      std::visit([this](auto& node) { add(std::move(node)); }, syntax.statements.front());
    open_.pop_back();
  }

  // ---- includes in the middle of statements

  [[nodiscard]] Place place_of(const SourceRange& pattern) const {
    return {environment_.canonical(sources_.at(pattern.file).path), pattern.begin};
  }

  template <typename PlaceOf>
  void note_cuts(const FileSyntax& syntax, const SourceRange* from, PlaceOf place) {
    const auto note = [this](const SourceRange& pattern) {
      if (Place one = place_of(pattern); !cut_.contains(one)) found_cut_.insert(std::move(one));
    };
    for (const std::uint32_t at : syntax.cut_includes) note(place(at));
    if (from != nullptr && (syntax.begins_cut || syntax.ends_cut)) note(*from);
  }

  [[nodiscard]] bool has_cuts(std::uint32_t file) const {
    if (cut_.empty()) return false;
    const auto first = cut_.lower_bound({environment_.canonical(sources_.at(file).path), 0});
    return first != cut_.end() && first->first == environment_.canonical(sources_.at(file).path);
  }

  /// Adds the text of a file, with those of its includes in their places that break statements off. False: a text in
  /// quotes has no end, and what comes behind is not to be taken for it.
  bool splice(std::uint32_t file, SplicedText& text) {
    const std::string whole = sources_.at(file).text;
    const grammar::TokenStream stream = grammar::lex(whole);
    std::uint32_t done = 0;
    const auto add_up_to = [&](std::uint32_t end) {
      text.add(file, done, std::string_view(whole).substr(done, end - done));
    };
    for (std::size_t i = 0; i + 1 < stream.tokens.size(); ++i) {
      if (stream.tokens[i].kind != grammar::Kind::Include || stream.tokens[i + 1].kind != grammar::Kind::Pattern)
        continue;
      const grammar::Token& pattern = stream.tokens[i + 1];
      const std::uint32_t end = pattern.offset + pattern.length;
      if (!cut_.contains(place_of({file, pattern.offset, end}))) continue;
      add_up_to(stream.tokens[i].offset);
      done = end;
      const IncludeSyntax include = include_of(file, pattern, stream.text_of(i + 1));
      for (const std::string& path : files_of(include)) {
        const std::optional<std::uint32_t> inner = open_file(path, &include.pattern.range);
        if (!inner) continue;
        open_.push_back(environment_.canonical(path));
        const bool is_closed = splice(*inner, text);
        open_.pop_back();
        if (!is_closed) return false;
      }
    }
    add_up_to(static_cast<std::uint32_t>(whole.size()));
    document_.is_whole = document_.is_whole && stream.faults.empty();
    return stream.faults.empty();
  }

  static IncludeSyntax include_of(std::uint32_t file, const grammar::Token& token, std::string_view written) {
    const SourceRange range{file, token.offset, token.offset + token.length};
    return {.pattern = {std::string(without_quotes(written)), range}, .range = range};
  }

  void add(SetSyntax set) {
    document_.statements.emplace_back(std::move(set));
    before_ = Before::Nothing;
  }

  void add(CheckSyntax check) {
    check.statements.shrink_to_fit();
    if (check.kind->traits.is_machine) expand_host(check.name.value);
    document_.statements.emplace_back(std::move(check));
    before_ = Before::Service;
  }

  void add(WorkflowSyntax workflow) {
    document_.statements.emplace_back(std::move(workflow));
    before_ = Before::Nothing;
  }

  void add(UnknownCheckSyntax check) {
    std::ranges::move(check.names, std::back_inserter(document_.unknown));
    before_ = Before::UnknownService;
  }

  /// As in Monit, $HOST stands for the machine's name in names of systems, and in no other names.
  void expand_host(std::string& name) const {
    constexpr std::string_view kHost = "$HOST";
    std::size_t at = name.find(kHost);
    if (at == std::string::npos) return;
    const std::string host = environment_.host_name();
    for (; at != std::string::npos; at = name.find(kHost, at + host.size())) name.replace(at, kHost.size(), host);
  }

  void add(ContinuationSyntax more) {
    if (before_ != Before::Service) {
      // The parser has said already what is wrong with the service.
      if (before_ == Before::Nothing)
        report(diagnostics_, DiagnosticSeverity::Error, Code::WrongPlace, more.range,
               "this belongs to a service, but none was begun before it",
               is_of_foreground(more.statements.front())
                   ? "begin one with 'check process NAME with program \"/path/of/program\"'"
                   : "begin one with 'check program NAME with path \"/path/of/program\"'");
      return;
    }
    auto& check = std::get<CheckSyntax>(document_.statements.back());
    std::ranges::move(more.statements, std::back_inserter(check.statements));
  }

  /// Whether a statement is of foreground processes only, or reads like one: `stop signal TERM` is a stop program.
  static bool is_of_foreground(const ServiceStatement& statement) {
    if (const auto* program = std::get_if<ServiceProgramSyntax>(&statement))
      return !program->command.arguments.empty() && iequals(program->command.arguments.front(), "signal");
    return std::holds_alternative<StopSignalSyntax>(statement) || std::holds_alternative<ReadySyntax>(statement) ||
           std::holds_alternative<WatchdogSyntax>(statement);
  }

  // What config/passes/expand has put others in the place of.
  void add(const DefineSyntax&) { before_ = Before::Nothing; }
  void add(const ForEachSyntax&) { before_ = Before::Nothing; }
  void add(const EndSyntax&) { before_ = Before::Nothing; }

  void add(const IncludeSyntax& include) {
    for (const std::string& file : files_of(include)) read_file(file, &include.pattern.range);
  }

  /// The files that an include names, and says where there are none. Those that are being read are left out.
  std::vector<std::string> files_of(const IncludeSyntax& include) {
    const std::string& pattern = include.pattern.value;
    const SourceRange& range = include.pattern.range;
    if (open_.size() >= kMaxDepth) {
      document_.is_whole = false;
      report(diagnostics_, DiagnosticSeverity::Error, Code::TooMany, range,
             fmt::format("includes are nested more than {} deep", kMaxDepth));
      return {};
    }
    const std::filesystem::path beside = std::filesystem::path(sources_.at(range.file).path).parent_path();
    const std::string absolute = pattern.starts_with('/') ? pattern : (beside / pattern).string();
    if (!pattern.starts_with('/'))
      report(diagnostics_, DiagnosticSeverity::Warning, Code::Misread, range,
             fmt::format("{} is looked for beside this file; Monit would look in the directory it was started in",
                         in_quotes(pattern)),
             "write the whole path");

    const bool is_glob = pattern.find_first_of("*?[") != std::string::npos;
    const Result<std::vector<std::string>> found = environment_.glob(absolute);
    if (!found) {
      refuse_unreadable(absolute, found.error(), &range);
      return {};
    }
    const std::vector<std::string>& files = *found;
    if (const Result<FileFacts> facts = environment_.stat(absolute); !facts && facts.error().code == EACCES) {
      refuse_unreadable(absolute, facts.error(), &range);
      return {};
    }
    if (files.empty()) {
      document_.unmatched.push_back(absolute);
      report(diagnostics_, DiagnosticSeverity::Warning, Code::MissingFile, range,
             is_glob ? fmt::format("no file matches {}: nothing is included", in_quotes(absolute))
                     : fmt::format("there is no file {}: nothing is included", in_quotes(absolute)),
             near_miss(absolute, is_glob));
      return {};
    }
    std::vector<std::string> named;
    for (const std::string& file : files) {
      if (is_directory(file)) {
        if (!is_glob)
          report(diagnostics_, DiagnosticSeverity::Warning, Code::MissingFile, range,
                 fmt::format("{} is a directory: nothing is included", in_quotes(file)),
                 fmt::format("write '{}' for the files in it", (std::filesystem::path(file) / "*").string()));
        continue;
      }
      if (std::ranges::find(open_, environment_.canonical(file)) != open_.end()) {
        report(diagnostics_, DiagnosticSeverity::Warning, Code::Circle, range,
               fmt::format("{} includes itself: it is not read a second time", in_quotes(file)));
        continue;
      }
      named.push_back(file);
    }
    return named;
  }

  /// Nobody knows what is there: what it holds must not go away silently.
  void refuse_unreadable(const std::string& path, const Error& error, const SourceRange* from) {
    document_.is_whole = false;
    const std::string message = "cannot be read: " + reason(path, error);
    if (from != nullptr)
      report(diagnostics_, DiagnosticSeverity::Error, Code::Unreadable, *from,
             fmt::format("{} {}", in_quotes(path), message));
    else
      report(diagnostics_, DiagnosticSeverity::Error, Code::Unreadable, path, message);
  }

  /// A file beside the wanted one whose name is nearly the same.
  [[nodiscard]] std::string near_miss(const std::string& path, bool is_glob) const {
    if (is_glob) return {};
    const std::filesystem::path wanted(path);
    std::vector<std::string> names;
    const Result<std::vector<std::string>> beside = environment_.glob((wanted.parent_path() / "*").string());
    for (const std::string& file : beside ? *beside : std::vector<std::string>{})
      names.push_back(std::filesystem::path(file).filename().string());
    const std::vector<std::string_view> candidates(names.begin(), names.end());
    const std::string_view nearest = nearest_word(wanted.filename().string(), candidates);
    if (nearest.empty()) return {};
    return fmt::format("did you mean {}?", in_quotes((wanted.parent_path() / nearest).string()));
  }

  /// The rows of a list, as they are known.
  ListRows rows_of(const ListDeclaration& list) {
    ListRows rows = environment_.list(list.source);
    if (!rows)
      report(diagnostics_, DiagnosticSeverity::Note, Code::UnreadList, list.range,
             fmt::format("the list {} is not read here: its block is checked with one row that stands for any",
                         list.source.name));
    return rows;
  }

  [[nodiscard]] bool is_directory(const std::string& path) const {
    const Result<FileFacts> facts = environment_.stat(path);
    return facts && facts->is_directory;
  }

  const Environment& environment_;
  Sources& sources_;
  Diagnostics& diagnostics_;
  ReadList read_list_;
  Document document_;
  std::vector<std::string> open_;  ///< canonical paths of the files being read, the outermost first
  std::size_t bytes_ = 0;
  std::size_t first_diagnostic_;  ///< of diagnostics_, what belongs to these files
  std::set<Place> cut_;           ///< includes whose files are put into the text
  std::set<Place> found_cut_;     ///< more of them
  enum class Before : std::uint8_t { Nothing, Service, UnknownService } before_ = Before::Nothing;  ///< what may go on
};

}  // namespace

Document read_documents(const std::string& path, const Environment& environment, Sources& sources,
                        Diagnostics& diagnostics, MonitVersion monit) {
  Document document = Reader(environment, sources, diagnostics).read_main(path);
  document.monit = monit;
  choose_checksums(document);
  return document;
}

}  // namespace healer::config
