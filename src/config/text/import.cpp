// SPDX-License-Identifier: MIT
#include "config/text/import.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "config/environments.hpp"
#include "config/passes/passes.hpp"
#include "config/syntax/parser.hpp"
#include "config/text/format.hpp"
#include "engine/rules/rule_set.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

constexpr std::string_view kFolder = "included";

/// A piece of a file's text, and what comes in its place.
struct Edit {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::string text;
};

/// A statement as comments, a line each.
std::string as_comment(std::string_view text) {
  std::string result = "# ";
  for (const char c : text) {
    result += c;
    if (c == '\n') result += "# ";
  }
  return result;
}

std::string edited(std::string_view text, std::vector<Edit> edits) {
  std::ranges::sort(edits, {}, &Edit::begin);
  std::string result;
  std::size_t at = 0;
  for (const Edit& edit : edits) {
    if (edit.begin < at) continue;
    result += text.substr(at, edit.begin - at);
    // What stands on the line before it stays what it is.
    if (const std::size_t line = result.find_last_of('\n') + 1;
        result.find_first_not_of(" \t", line) != std::string::npos)
      result += '\n';
    result += edit.text;
    at = edit.end;
    const std::size_t rest = text.find_first_not_of(" \t\r", at);
    if (rest != std::string_view::npos && text[rest] != '\n') result += '\n', at = rest;
  }
  return result + std::string(text.substr(at));
}

/// "03-nginx.rules".
std::string name_of(std::size_t index, std::size_t count, const std::string& path) {
  std::string name = std::filesystem::path(path).filename().string();
  for (const std::string_view end : {".rules", ".conf", ".cfg", ".monitrc"})
    if (name.size() > end.size() && name.ends_with(end)) name.resize(name.size() - end.size());
  for (char& c : name)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
          c == '-'))
      c = '-';
  name.erase(0, std::min(name.find_first_not_of('.'), name.size()));
  const std::size_t width = std::max<std::size_t>(2, std::to_string(count - 1).size());
  return fmt::format("{:0{}}-{}", index, width, name.empty() ? "rules" : name);
}

class Importer {
 public:
  Importer(const std::string& path, std::string directory, const Environment& environment, const std::string& installed)
      : environment_(environment), directory_(std::move(directory)), installed_(installed) {
    const OfflineEnvironment offline(environment_);
    Sources again;
    Diagnostics discarded;
    document_ = read_documents(path, offline, again, discarded);
    monit_ = std::max(monit_version(installed_).value_or(MonitVersion::V5_33), needed_monit(document_));
    result_.source = load(path, {.monit = monit_}, offline);
  }

  Import run() {
    if (!result_.source.ok()) {
      result_.difference = "Monit's files have errors";
      return std::move(result_);
    }
    own_files();
    for (const bool nested : {false, true}) {
      result_.files = files(nested);
      result_.difference = check();
      if (!result_.difference.empty()) continue;
      report(nested);
      return std::move(result_);
    }
    result_.files.clear();
    return std::move(result_);
  }

 private:
  [[nodiscard]] const Sources& sources() const { return result_.source.sources; }

  [[nodiscard]] std::string place(const SourceRange& range) const {
    return fmt::format("{}:{}", sources().at(range.file).path, sources().position(range.file, range.begin).line);
  }

  /// Statements that name files which are Monit's own.
  void own_files() {
    const auto leave_out = [&](const SourceRange& range, std::string_view instead) {
      const std::string_view text = sources().text(range);
      std::string comment = as_comment(text);
      if (!instead.empty()) comment += fmt::format("\n{}", instead);
      edits_[range.file].push_back({range.begin, range.end, std::move(comment)});
      left_out_.push_back(fmt::format("{}: {}", place(range), text.substr(0, text.find('\n'))));
    };
    for_each_set<SetPath>(document_, [&](const SetPath& set, const SourceRange& range) {
      if (set.kind <= SetPath::Kind::StateFile) leave_out(range, {});
    });
    for_each_set<SetLog>(document_, [&](const SetLog& set, const SourceRange& range) {
      if (!set.syslog) leave_out(range, "set log syslog");
    });
    for_each_set<SetEventQueue>(document_,
                                [&](const SetEventQueue&, const SourceRange& range) { leave_out(range, {}); });
  }

  /// The files that an include brought, by the place of its pattern.
  [[nodiscard]] std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> brought() const {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> result;
    for (const Inclusion& one : document_.inclusions) result[{one.by.file, one.by.begin}].push_back(one.file);
    return result;
  }

  std::vector<ImportedFile> files(bool nested) {
    const auto includes = brought();
    const std::size_t count = sources().size();
    std::vector<ImportedFile> files;
    for (std::uint32_t i = 0; i < count; ++i) {
      const Source& source = sources().at(i);
      std::vector<Edit> edits = edits_[i];
      Diagnostics discarded;
      const FileSyntax syntax = parse(i, source.text, discarded);
      for (const Statement& statement : syntax.statements) {
        const auto* include = std::get_if<IncludeSyntax>(&statement);
        if (include == nullptr) continue;
        std::string text = as_comment(sources().text(include->range));
        if (const auto found = includes.find({i, include->pattern.range.begin}); nested && found != includes.end())
          for (const std::uint32_t file : found->second)
            text += fmt::format("\ninclude \"{}/{}/{}\"", directory_, kFolder,
                                name_of(file, count, sources().at(file).path));
        edits.push_back({include->range.begin, include->range.end, std::move(text)});
      }
      const std::string name = name_of(i, count, source.path);
      const bool is_top = !nested || i == 0;
      files.push_back({.from = source.path,
                       .path = is_top ? name + ".rules" : fmt::format("{}/{}", kFolder, name),
                       .text = fmt::format("# From {}\n{}", source.path,
                                           i == 0 ? fmt::format("set monit {}\n", to_string(monit_)) : "") +
                               edited(source.text, std::move(edits))});
      if (!files.back().text.ends_with('\n')) files.back().text += '\n';
    }
    return files;
  }

  /// Loads the files as they will be, and compares.
  [[nodiscard]] std::string check() const {
    std::vector<Source> written;
    for (const ImportedFile& file : result_.files) written.push_back({directory_ + "/" + file.path, file.text});
    const SavedEnvironment saved(std::move(written), environment_);
    const OfflineEnvironment offline(saved);
    const LoadResult result = load(directory_, {}, offline);
    for (const Diagnostic& one : result.diagnostics)
      if (one.severity == DiagnosticSeverity::Error) {
        const std::string text = format(one, result.sources, false);
        return text.substr(0, text.find('\n'));
      }
    engine::RuleSet before = *result_.source.rules;
    engine::RuleSet after = *result.rules;
    for (engine::RuleSet* rules : {&before, &after}) {
      engine::Settings& settings = rules->settings;
      settings.pid_file.clear();
      settings.id_file.clear();
      settings.state_file.clear();
      settings.log = {};
      settings.mail.queue_directory.clear();
      settings.mail.queue_slots = {};
    }
    return config::difference(before, after);
  }

  // ---- the report

  void remark(std::string topic, std::string text, std::vector<std::string> places) {
    result_.report.push_back({std::move(topic), std::move(text), std::move(places)});
  }

  /// The places of what is said of the source with one of these codes.
  [[nodiscard]] std::vector<std::string> places_of(std::initializer_list<Code> codes) const {
    std::vector<std::string> places;
    for (const Diagnostic& one : result_.source.diagnostics)
      if (std::ranges::find(codes, one.code) != codes.end())
        places.push_back(fmt::format("{}: {}", one.range ? place(*one.range) : one.path, one.message));
    return places;
  }

  /// Which Monit the files were for, and where healer does otherwise than that one.
  void monit() {
    const std::string_view version = to_string(monit_);
    std::string text =
        installed_.empty() ? "Monit was not found on this machine" : fmt::format("Monit {} was found", installed_);
    if (needed_monit(document_) == monit_ && monit_version(installed_).value_or(MonitVersion::V5_33) < monit_)
      text += fmt::format(", but its files need {}", version);
    remark("monit", fmt::format("{}: 'set monit {}' keeps the meaning.", text, version),
           differences(document_, monit_));
  }

  void report(bool nested) {
    monit();
    if (!left_out_.empty())
      remark("left-out", "These name files that are Monit's own: they are comments now, and healer has its own.",
             left_out_);
    if (nested)
      remark(
          "includes",
          fmt::format("The includes are kept, with their files in {}/{}, because the order of the files matters here.",
                      directory_, kFolder),
          {});
    if (!result_.source.unmatched.empty())
      remark("includes", "These includes match no file, and are comments now: a file that comes later is not read.",
             result_.source.unmatched);
    if (auto places = places_of({Code::Dormant}); !places.empty())
      remark("dormant",
             "Monit accepts these but ignores them or a part of them. healer understands them; they are dormant until "
             "'healerctl accept NAME' or 'set accept dormant'.",
             std::move(places));
    if (auto places = places_of({Code::NotYet}); !places.empty())
      remark("not-yet", "This version of healer keeps these, but does not run them yet: leave them to Monit.",
             std::move(places));
    if (auto places = places_of({Code::Counting}); !places.empty())
      remark("counting", "'for N cycles' together with 'every': N runs of the service, as with Monit.",
             std::move(places));
    restarts();
    bool has_process = false;
    for_each_check(document_,
                   [&](const CheckSyntax& check) { has_process = has_process || check.kind->traits.has_process; });
    if (has_process)
      remark("settle",
             fmt::format(
                 "A process that dies is noticed at once, not at the next poll, and acted on after {} (set settle).",
                 format_duration(result_.source.rules->settings.settle)),
             {});
    rights();
    std::vector<std::string> others;
    for (const Diagnostic& one : result_.source.diagnostics)
      if (one.severity == DiagnosticSeverity::Warning && one.code != Code::Dormant && one.code != Code::NotYet &&
          one.code != Code::MissingFile)
        others.push_back(fmt::format("{}: {}", one.range ? place(*one.range) : one.path, one.message));
    if (!others.empty()) remark("doubtful", "These are accepted, but may not be what you mean.", std::move(others));
  }

  void restarts() {
    std::vector<std::string> places;
    for_each_check(document_, [&](const CheckSyntax& check) {
      for (const ServiceStatement& statement : check.statements)
        if (const auto* rule = std::get_if<IfSyntax>(&statement);
            rule != nullptr && rule->action.kind == ActionSyntax::Kind::Restart)
          places.push_back(fmt::format("{}: {}", place(rule->range), printable(check.name.value)));
    });
    if (!places.empty())
      remark("restarts",
             "After a completed restart failures are counted from zero; Monit restarts at every failing run.",
             std::move(places));
  }

  /// Who could read or write Monit's files; healer's are their owner's alone.
  void rights() {
    std::vector<std::string> places;
    for (std::uint32_t i = 0; i < sources().size(); ++i) {
      const Result<FileFacts> facts = environment_.stat(sources().at(i).path);
      if (!facts || ((facts->mode & 077) == 0 && facts->uid == environment_.effective_uid())) continue;
      places.push_back(fmt::format("{}: {:04o}, uid {}", sources().at(i).path, facts->mode, facts->uid));
    }
    if (!places.empty())
      remark("rights",
             "healer's files can only be read by their owner (0600), because they may contain secrets; Monit's could "
             "be read by others.",
             std::move(places));
  }

  const Environment& environment_;
  std::string directory_;
  std::string installed_;
  MonitVersion monit_ = MonitVersion::V5_33;
  Import result_;
  Document document_;
  std::map<std::uint32_t, std::vector<Edit>> edits_;  ///< of each file, but for includes
  std::vector<std::string> left_out_;
};

}  // namespace

Import import_rules(const std::string& path, const std::string& directory, const Environment& environment,
                    const std::string& installed) {
  return Importer(path, directory, environment, installed).run();
}

}  // namespace healer::config
