// SPDX-License-Identifier: MIT
// Who else could write what healer, as root, runs by. The main file must be its owner's alone, as in Monit; of included
// files and those of a directory, of programs and of the directories that hold them one is told, and of passwords that
// others can read; and of pid files, where healer signals what they name.
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "config/passes/passes.hpp"
#include "config/passes/workflow_variables.hpp"
#include "util/secret_name.hpp"

namespace healer::config {
namespace {

constexpr std::uint32_t kOthers = 077;
constexpr std::uint32_t kGroupRead = 040;
constexpr std::uint32_t kOthersRead = 004;
constexpr std::uint32_t kSticky = 01000;
constexpr std::uint32_t kGroupWrite = 020;
constexpr std::uint32_t kOthersWrite = 002;

class TrustCheck {
 public:
  TrustCheck(const Environment& environment, Diagnostics& diagnostics)
      : environment_(environment), diagnostics_(diagnostics) {}

  void main_file(const std::string& path) {
    const Result<FileFacts> facts = environment_.stat(path);
    if (!facts) return;
    if ((facts->mode & kOthers) != 0)
      report(diagnostics_, DiagnosticSeverity::Error, Code::TooOpen, path,
             fmt::format("the permission {:04o} is too wide: the control file may be open to its owner alone (0700)",
                         facts->mode & 07777),
             fmt::format("chmod 600 {}", path));
    if (facts->uid != environment_.effective_uid())
      report(diagnostics_, DiagnosticSeverity::Error, Code::TooOpen, path,
             fmt::format("the control file belongs to uid {}, not to uid {} that healer runs as", facts->uid,
                         environment_.effective_uid()),
             fmt::format("chown {} {}", environment_.effective_uid(), path));
  }

  /// A directory of rules files: who can write it can add one.
  void rules_directory(const std::string& path) { holders(std::filesystem::path(path) / "any.rules", nullptr); }

  /// A file of rules, and whether it holds a password of a mail server: then nobody else should read it either.
  void rules_file(const std::string& path, const SourceRange* range, bool has_password) {
    const Result<FileFacts> facts = environment_.stat(path);
    if (has_password && facts && (facts->mode & (kOthersRead | (facts->gid != 0 ? kGroupRead : 0U))) != 0)
      warn(Code::SecretReadable, path, range,
           fmt::format("{} can read the password of a mail server in {}",
                       (facts->mode & kOthersRead) != 0 ? "everybody" : fmt::format("group {}", facts->gid),
                       in_quotes(path)),
           fmt::format("chmod 600 {}", path));
    file(path, range);
  }

  /// A file and all directories above it (behind a link those of both); the message stands at `range`, else at the
  /// file.
  void file(const std::string& path, const SourceRange* range) {
    if (!one(path, range)) return;
    holders(path, range);
    if (const std::string real = environment_.canonical(path); real != path) holders(real, range);
  }

  /// A pid file that says whom healer signals: where no stop program does it.
  void pid_file(const CheckSyntax& service) {
    if (!service.pid_file || !is_signalled(service)) return;
    const std::string& path = service.pid_file->value;
    for (const std::string& one : {path, holder_of(path)}) {
      const Result<FileFacts> facts = environment_.stat(one);
      const std::string reason = facts ? writer_of(*facts) : std::string{};
      if (reason.empty()) continue;
      report(diagnostics_, DiagnosticSeverity::Warning, Code::OthersWrite, service.pid_file->range,
             fmt::format("{} can write {}{}, and so decide which process healer signals to stop {}", reason,
                         facts->is_directory ? "the directory " : "", in_quotes(one), in_quotes(service.name.value)),
             "no process is signalled but one of the file's own user; for any other write a stop program");
      return;
    }
  }

 private:
  /// Who can write any of them can put another in the place of the next. The nearest that is wrong is told.
  void holders(const std::string& path, const SourceRange* range) {
    for (std::string below = path, holder = holder_of(path); holder != below; holder = holder_of(below)) {
      if (!one(holder, range)) return;
      below = holder;
    }
  }

  static bool is_signalled(const CheckSyntax& service) {
    bool starts = false;
    for (const ServiceStatement& statement : service.statements) {
      if (const auto* program = std::get_if<ServiceProgramSyntax>(&statement)) {
        if (program->kind == ServiceProgramSyntax::Kind::Stop) return false;
        starts = true;
      }
      const auto* rule = std::get_if<IfSyntax>(&statement);
      starts = starts || (rule != nullptr && rule->action.kind == ActionSyntax::Kind::Stop);
    }
    return starts;
  }

  static std::string holder_of(const std::filesystem::path& path) {
    const std::string directory = path.parent_path().string();
    return directory.empty() ? "." : directory == path ? path.string() : directory;
  }

  /// False where it was looked at before.
  bool one(const std::string& path, const SourceRange* range) {
    if (!seen_.insert(path).second) return false;
    if (const Result<FileFacts> facts = environment_.stat(path)) judge(path, *facts, range);
    return true;
  }

  /// Who can write it, but root and healer; empty: nobody.
  [[nodiscard]] std::string writer_of(const FileFacts& facts) const {
    std::string reason;
    const bool by_group = (facts.mode & kGroupWrite) != 0 && facts.gid != 0;
    if ((facts.mode & kOthersWrite) != 0)
      reason = "everybody";
    else if (by_group)
      reason = fmt::format("group {}", facts.gid);
    // In a sticky directory nobody can replace what belongs to another.
    if (facts.is_directory && (facts.mode & kSticky) != 0) reason.clear();
    if (reason.empty() && facts.uid != 0 && facts.uid != environment_.effective_uid())
      reason = fmt::format("uid {}", facts.uid);
    return reason;
  }

  void judge(const std::string& path, const FileFacts& facts, const SourceRange* range) {
    const std::string reason = writer_of(facts);
    if (reason.empty()) return;
    warn(Code::OthersWrite, path, range,
         fmt::format("{} can write {}{}, which healer relies on", reason, facts.is_directory ? "the directory " : "",
                     in_quotes(path)),
         reason.starts_with("uid") ? "" : fmt::format("chmod go-w {}", path));
  }

  void warn(Code code, const std::string& path, const SourceRange* range, std::string message, std::string remedy) {
    if (range != nullptr)
      report(diagnostics_, DiagnosticSeverity::Warning, code, *range, std::move(message), std::move(remedy));
    else
      report(diagnostics_, DiagnosticSeverity::Warning, code, path, std::move(message), std::move(remedy));
  }

  const Environment& environment_;
  Diagnostics& diagnostics_;
  std::set<std::string> seen_;
};

}  // namespace

void check_trust(const Document& document, const std::string& path, const Environment& environment,
                 const Sources& sources, Diagnostics& diagnostics) {
  if (!environment.looks_up() || (sources.size() == 0 && document.directory.empty())) return;
  TrustCheck check(environment, diagnostics);
  std::set<std::uint32_t> included;
  std::set<std::uint32_t> secret;  // files that hold a password
  for_each_set<SetMailServer>(document, [&](const SetMailServer& set, const SourceRange&) {
    for (const SetMailServer::Server& server : set.servers)
      if (server.password) secret.insert(server.password->range.file);
  });
  for (const Inclusion& inclusion : document.inclusions) included.insert(inclusion.file);
  if (!document.directory.empty()) {
    check.rules_directory(document.directory);
    for (std::uint32_t file = 0; file < sources.size(); ++file)
      if (!included.contains(file)) check.rules_file(sources.at(file).path, nullptr, secret.contains(file));
  } else {
    check.main_file(path);
  }
  for (const Inclusion& inclusion : document.inclusions)
    check.rules_file(sources.at(inclusion.file).path, &inclusion.by, secret.contains(inclusion.file));

  const auto command = [&](const CommandSyntax& syntax) {
    if (!syntax.arguments.empty() && syntax.arguments.front().starts_with('/'))
      check.file(syntax.arguments.front(), &syntax.range);
  };
  for_each_check(document, [&](const CheckSyntax& service) {
    command(*service.command);
    for_each_started(service, command);
    check.pid_file(service);
  });
  for_each_workflow(document, [&](const WorkflowSyntax& workflow) {
    for_each_program(workflow, [&](const ProgramStepSyntax& program) {
      if (!program.command.arguments.empty() && !holds_variable(program.command.arguments.front()))
        command(program.command);
    });
  });
}

void check_secrets(const Document& document, const Environment& environment, Diagnostics& diagnostics) {
  std::string folder;
  for_each_set<SetPath>(document, [&](const SetPath& set, const SourceRange&) {
    if (set.kind == SetPath::Kind::Secrets) folder = set.path.value;
  });
  std::set<std::string, std::less<>> seen;
  const auto look = [&](const std::string& written, const SourceRange& range) {
    for (const VariableUse& use : variables_in(written)) {
      if (!use.is_secret() || !use.closed || !seen.emplace(use.name).second) continue;
      const std::string_view name = use.name.substr(use.name.find(':') + 1);
      if (!secret_name(name)) {
        report(diagnostics, DiagnosticSeverity::Error, Code::InvalidValue, range,
               fmt::format("{} names no part of a secret", in_quotes(name)),
               "${secret:NAME[2]} is the second of the parts that commas separate in the secret NAME");
        continue;
      }
      const auto fault = environment.secret_fault(std::string(name), folder);
      // Where the file cannot be read, none of its parts can.
      if (!fault || !seen.emplace(fault->why).second) continue;
      const bool is_error = environment.looks_up() && fault->is_certain;
      report(diagnostics, is_error ? DiagnosticSeverity::Error : DiagnosticSeverity::Warning, Code::Unreadable, range,
             fault->why, fmt::format("write it into {}, readable by its owner alone (chmod 600)", fault->path));
    }
  };
  // A secret can be read or not wherever it goes.
  const auto text = [&](const std::string& written, const SourceRange& range, TextPlace) { look(written, range); };
  for_each_set<SetContact>(document, [&](const SetContact& set, const SourceRange&) {
    if (set.place) look(set.place->value, set.place->range);
    for (const Word& header : set.headers) look(header.value, header.range);
    if (set.body) look(set.body->value, set.body->range);
    for (const auto& [name, value] : set.settings) look(value.value, value.range);
  });
  for_each_check(document, [&](const CheckSyntax& check) {
    if (check.heartbeat && check.heartbeat->token) look(check.heartbeat->token->value, check.heartbeat->token->range);
    if (!check.hook) return;
    for (const Word& secret : check.hook->secrets) look(secret.value, secret.range);
    if (check.hook->token) look(check.hook->token->value, check.hook->token->range);
  });
  for_each_workflow(document, [&](const WorkflowSyntax& workflow) {
    if (workflow.guard) for_each_program_text(workflow.guard->program, text);
    for_each_step_of(workflow, [&](const StepSyntax& step) { for_each_text(step, text); });
  });
  for (const ListDeclaration& list : document.expansion.lists) {
    const auto request = [&](const engine::HttpRequest& of) {
      look(of.url, list.range);
      for (const std::string& header : of.headers) look(header, list.range);
      look(of.body, list.range);
    };
    if (!list.source.http) continue;
    request(list.source.http->request);
    if (list.source.http->token) request(list.source.http->token->request);
  }
}

}  // namespace healer::config
