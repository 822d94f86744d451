// SPDX-License-Identifier: MIT
// What the rules need of the machine: programs, users, groups and certificates. A missing program of a check is an
// error, of an action a warning, as in Monit; unknown users and groups and missing certificates are errors.
#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <unordered_map>

#include <spdlog/fmt/fmt.h>

#include "config/passes/passes.hpp"
#include "util/regex.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::optional<std::uint32_t> as_number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

constexpr std::uint32_t kAnyMode = 07777;
constexpr std::uint32_t kMostOfKey = 0750;  // as in Monit

class Resolver {
 public:
  Resolver(const Environment& environment, Diagnostics& diagnostics)
      : environment_(environment), diagnostics_(diagnostics) {}

  void operators(const SetOperators& set) {
    for (const Word& word : set.users) {
      std::optional<std::uint32_t> uid = as_number(word.value);
      if (environment_.looks_up()) {
        const std::optional<UserEntry> entry = environment_.user(word.value);
        if (!entry) {
          const bool is_demanded = environment_.demands_operators();
          report(diagnostics_, is_demanded ? DiagnosticSeverity::Error : DiagnosticSeverity::Warning, Code::UnknownUser,
                 word.range, fmt::format("there is no user {} on this machine", in_quotes(word.value)),
                 is_demanded ? "name users of the system, which `getent passwd` lists"
                             : "nobody of that name has a right until it is known and the rules are reloaded");
          continue;
        }
        uid = entry->uid;
      }
      if (uid) found_.operators.emplace(word.value, *uid);
      if (uid == 0U)
        report(diagnostics_, DiagnosticSeverity::Warning, Code::Suspicious, word.range,
               fmt::format("{} may do everything, whether named here or not", in_quotes(word.value)),
               "name those who may do less");
    }
  }

  void service(const CheckSyntax& check) {
    if (check.kind->target == engine::Target::Program)
      program(*check.command, DiagnosticSeverity::Error, "a check needs its program in place");
    if (check.foreground)
      program(*check.command, DiagnosticSeverity::Error, "a process that healer runs needs its program in place",
              DiagnosticSeverity::Error);
    if (check.pid_file) pid_file(check);
    identity(*check.command);
    for_each_started(check, [this](const CommandSyntax& command) {
      program(command, DiagnosticSeverity::Warning, "until it is in place the action fails");
      identity(command);
    });
    for (const ServiceStatement& statement : check.statements) {
      const auto* rule = std::get_if<IfSyntax>(&statement);
      if (rule == nullptr) continue;
      for (const TermSyntax& term : rule->condition.terms) {
        if (const auto* test = std::get_if<DiffersSyntax>(&term.test)) owner(check, *test);
        if (const auto* test = std::get_if<MatchesSyntax>(&term.test)) patterns(check, *test);
        if (const auto* test = std::get_if<ConnectionSyntax>(&term.test)) connection(*test);
      }
    }
    for (const ServiceStatement& statement : check.statements)
      if (const auto* ignore = std::get_if<IgnoreSyntax>(&statement)) patterns(check, ignore->lines);
  }

  void workflow(const WorkflowSyntax& workflow) {
    for_each_program(workflow, [this](const ProgramStepSyntax& step) {
      // One that a value names is known when it is run.
      if (!step.command.arguments.empty() && step.command.arguments.front().find("${") == std::string::npos)
        program(step.command, DiagnosticSeverity::Warning, "until it is in place the healing fails");
      names(step.command);
    });
  }

  void certificates(const SetMailServer& set) {
    for (const SetMailServer::Server& server : set.servers)
      if (server.tls) certificates(server.tls->options);
  }

  /// Of those that Monit looks up, too, wherever TLS is.
  void certificates(const std::vector<std::pair<Word, Word>>& options, std::uint32_t most = kAnyMode) {
    if (!environment_.demands_files()) return;
    for (const auto& [name, value] : options) {
      const std::string option = to_lower(name.value);
      if (option.find("pem") == std::string::npos && !option.starts_with("cacertificate")) continue;
      const std::string_view kind = option == "cacertificatepath" ? "directory" : "file";
      const Result<FileFacts> facts = environment_.stat(value.value);
      if (!facts)
        report(diagnostics_, DiagnosticSeverity::Error, Code::MissingFile, value.range,
               fmt::format("there is no {} {}", kind, in_quotes(value.value)));
      else if (kind == "directory" ? !facts->is_directory : !facts->is_regular)
        report(diagnostics_, DiagnosticSeverity::Error, Code::MissingFile, value.range,
               fmt::format("{} is not a {}", in_quotes(value.value), kind));
      else if ((option == "pemfile" || option == "pemkey") && (facts->mode & ~most) != 0)
        report(diagnostics_, DiagnosticSeverity::Error, Code::TooOpen, value.range,
               fmt::format("{} has the server's key and the mode {:04o}: at most {:04o} is possible",
                           in_quotes(value.value), facts->mode, most),
               fmt::format("chmod {:04o} {}", most & facts->mode, printable(value.value)));
    }
  }

  void httpd(const SetHttpd& set) {
    certificates(set.tls_options, kMostOfKey);
    if (environment_.looks_up())
      for (const SetHttpd::Allow& allow : set.allow)
        if (allow.kind == SetHttpd::Allow::Kind::Group && !environment_.group(allow.who.value))
          report(
              diagnostics_, DiagnosticSeverity::Warning, Code::UnknownUser, allow.who.range,
              fmt::format("there is no group {} on this machine: nobody is let in by it", in_quotes(allow.who.value)),
              "name a group of the system, which `getent group` lists");
    if (!environment_.demands_files()) return;
    engine::Identity owner;
    if (set.uid) user(*set.uid, owner);
    if (set.gid) (void)group(*set.gid);
    for (const SetHttpd::Allow& allow : set.allow) {
      if (allow.kind != SetHttpd::Allow::Kind::File) continue;
      const Result<FileFacts> facts = environment_.stat(allow.who.value);
      if (!facts)
        report(diagnostics_, DiagnosticSeverity::Error, Code::MissingFile, allow.who.range,
               fmt::format("there is no file {} of passwords", in_quotes(allow.who.value)));
      else if (facts->is_directory)
        report(diagnostics_, DiagnosticSeverity::Error, Code::MissingFile, allow.who.range,
               fmt::format("{} is a directory, not a file of passwords", in_quotes(allow.who.value)));
    }
  }

  void connection(const ConnectionSyntax& test) {
    if (test.tls) certificates(test.tls->options);
  }

  Lookups take() { return std::move(found_); }

 private:
  /// Monit takes a directory for a program; so that no file of Monit's is refused, it is an error only where the
  /// program is one that Monit has not.
  void program(const CommandSyntax& command, DiagnosticSeverity severity, std::string_view consequence,
               DiagnosticSeverity of_directory = DiagnosticSeverity::Warning) {
    if (!environment_.looks_up() || command.arguments.empty()) return;
    const std::string& path = command.arguments.front();
    if (executable(path)) return;
    const Result<FileFacts> facts = environment_.stat(path);
    std::string remedy(consequence);
    if (!facts) {
      if (iequals(path, "signal"))
        remedy = "'stop signal' is for a process that healer runs itself: here, as in Monit, this names a program";
      else if (iequals(path, "workflow"))
        remedy = fmt::format("a workflow is run by 'then heal with {}'; 'exec' takes the path of a program",
                             command.arguments.size() > 1 ? printable(command.arguments[1]) : "NAME");
      else if (!path.starts_with('/'))
        remedy = "write the whole path: programs are not searched for";
      report(diagnostics_, severity, Code::MissingProgram, command.range,
             fmt::format("there is no program {}", in_quotes(path)), remedy);
    } else if (facts->is_directory) {
      report(diagnostics_, of_directory, Code::MissingProgram, command.range,
             fmt::format("{} is a directory, not a program: it cannot be run", in_quotes(path)));
    } else {
      report(diagnostics_, severity, Code::MissingProgram, command.range,
             fmt::format("{} is not executable", in_quotes(path)), fmt::format("chmod +x {}", path));
    }
  }

  /// Rules name the same program very often: each is looked at once.
  bool executable(const std::string& path) {
    const auto [known, is_new] = executable_.try_emplace(path, false);
    if (is_new) known->second = environment_.executable(path);
    return known->second;
  }

  /// `check process x with path "/x"` has a pid file, whatever is there.
  void pid_file(const CheckSyntax& check) {
    const Word& path = *check.pid_file;
    if (!environment_.looks_up() || !environment_.executable(path.value)) return;
    report(
        diagnostics_, DiagnosticSeverity::Warning, Code::Misread, path.range,
        fmt::format("{} is a program: here, as in Monit, it is read as a pid file and not run", in_quotes(path.value)),
        fmt::format("write 'check process {} with program \"...\"' to have it run", printable(check.name.value)));
  }

  /// What a line of a file is held against may stand in a file, a pattern a line: `match /etc/patterns`.
  void patterns(const CheckSyntax& check, const MatchesSyntax& test) {
    const std::string& path = test.pattern.value;
    if (!check.kind->traits.has_lines || !path.starts_with('/')) return;
    const auto refuse = [&](Code code, const std::string& why, std::string_view remedy = {}) {
      const bool is_demanded = environment_.demands_files();
      report(diagnostics_, is_demanded ? DiagnosticSeverity::Error : DiagnosticSeverity::Warning, code,
             test.pattern.range, why, std::string(remedy));
      // What its lines mean is not known then: none is judged, and nobody acts on one.
      if (!is_demanded) found_.patterns.emplace(&test, fmt::format("(the patterns of {} are not known", path));
    };
    const Result<std::string> text = environment_.read_named(path);
    if (!text)
      return refuse(Code::Unreadable, fmt::format("the file of patterns cannot be read: {}", text.error().what),
                    "a text that begins with '/' names a file with a pattern in each line");
    std::string all;
    for (std::size_t begin = 0; begin < text->size();) {
      const std::size_t end = std::min(text->find('\n', begin), text->size());
      const std::string line = text->substr(begin, end - begin);
      begin = end + 1;
      if (line.empty()) continue;
      if (const std::string problem = pattern_problem(line); !problem.empty())
        return refuse(Code::InvalidPattern, fmt::format("{} in {} is not a valid regular expression: {}",
                                                        in_quotes(line), printable(path), problem));
      all += fmt::format("{}({})", all.empty() ? "" : "|", line);
    }
    if (all.empty()) return refuse(Code::InvalidPattern, fmt::format("there is no pattern in {}", in_quotes(path)));
    if (const std::string problem = pattern_problem(all); !problem.empty())
      return refuse(Code::InvalidPattern,
                    fmt::format("the patterns in {} are too large together: {}", in_quotes(path), problem));
    found_.patterns.emplace(&test, std::move(all));
  }

  void identity(const CommandSyntax& command) {
    if (command.uid || command.gid) found_.identities.emplace(&command, looked_up(command));
  }

  /// Those of a workflow's program must be known as well, and stay as they are written: they are looked up again when
  /// it begins.
  void names(const CommandSyntax& command) {
    if (!command.uid && !command.gid) return;
    const engine::Identity found = looked_up(command);
    engine::Identity written;
    // There are users whose name is a number: it is a name first, as everywhere.
    if (command.uid && found.user != command.uid->value) written.uid = as_number(command.uid->value);
    if (command.uid && !written.uid) written.user = command.uid->value;
    if (command.gid && !(written.gid = as_number(command.gid->value))) written.group = command.gid->value;
    found_.identities.emplace(&command, std::move(written));
  }

  engine::Identity looked_up(const CommandSyntax& command) {
    engine::Identity identity;
    if (command.uid) user(*command.uid, identity);
    if (command.gid) identity.gid = group(*command.gid);
    if (command.uid && !command.gid) group_kept(*command.uid, identity);
    return identity;
  }

  /// The number of a user or group that a test names.
  void owner(const CheckSyntax& check, const DiffersSyntax& test) {
    const engine::AttributeRow* row = check.kind->find_attribute(test.what);
    std::optional<std::uint32_t> id;
    if (row != nullptr && row->form == engine::Form::Group) {
      id = group(test.value);
    } else if (row != nullptr && row->form == engine::Form::User) {
      engine::Identity identity;
      user(test.value, identity);
      id = identity.uid;
    }
    if (id) found_.owners.emplace(&test, *id);
  }

  std::optional<std::uint32_t> group(const Word& word) {
    if (!environment_.looks_up()) return as_number(word.value);
    const std::optional<std::uint32_t> id = environment_.group(word.value);
    if (!id)
      report(diagnostics_, DiagnosticSeverity::Error, Code::UnknownUser, word.range,
             fmt::format("there is no group {} on this machine", in_quotes(word.value)));
    return id;
  }

  void user(const Word& word, engine::Identity& identity) {
    const std::string& name = word.value;
    if (!environment_.looks_up()) {
      identity.uid = as_number(name);
      if (!is_number(name)) identity.user = name;
      return;
    }
    const std::optional<UserEntry> entry = environment_.user(name);
    if (!entry) {
      report(diagnostics_, DiagnosticSeverity::Error, Code::UnknownUser, word.range,
             fmt::format("there is no user {} on this machine", in_quotes(name)));
      return;
    }
    identity.uid = entry->uid;
    identity.user = entry->name;
    identity.home = entry->home;
  }

  /// A program that gave up root's rights but for the group's.
  void group_kept(const Word& user, const engine::Identity& identity) {
    const bool found = identity.uid || !environment_.looks_up();
    if (!found || identity.uid == 0U || user.value == "root") return;
    report(diagnostics_, DiagnosticSeverity::Warning, Code::Rights, user.range,
           fmt::format("as in Monit, a program that runs as {} keeps healer's group, usually root's",
                       in_quotes(user.value)),
           fmt::format("write 'as uid {} and gid {}'", printable(user.value), own_group(user.value)));
  }

  /// The user's own group, by its name where that is the user's too.
  [[nodiscard]] std::string own_group(const std::string& user) const {
    const std::optional<UserEntry> entry = environment_.looks_up() ? environment_.user(user) : std::nullopt;
    if (!entry) return "GROUP";
    return environment_.group(entry->name) == entry->gid ? printable(entry->name) : std::to_string(entry->gid);
  }

  const Environment& environment_;
  Diagnostics& diagnostics_;
  Lookups found_;
  std::unordered_map<std::string, bool> executable_;  // by path
};

}  // namespace

Lookups resolve(const Document& document, const Environment& environment, Diagnostics& diagnostics) {
  Resolver resolver(environment, diagnostics);
  for_each_set<SetMailServer>(document,
                              [&](const SetMailServer& set, const SourceRange&) { resolver.certificates(set); });
  for_each_set<SetSsl>(document,
                       [&](const SetSsl& set, const SourceRange&) { resolver.certificates(set.tls.options); });
  for_each_set<SetHttpd>(document, [&](const SetHttpd& set, const SourceRange&) { resolver.httpd(set); });
  for_each_set<SetMmonit>(document, [&](const SetMmonit& set, const SourceRange&) {
    if (set.tls) resolver.certificates(set.tls->options);
  });
  for_each_set<SetOperators>(document, [&](const SetOperators& set, const SourceRange&) { resolver.operators(set); });
  for_each_check(document, [&](const CheckSyntax& check) { resolver.service(check); });
  for_each_workflow(document, [&](const WorkflowSyntax& workflow) { resolver.workflow(workflow); });
  return resolver.take();
}

}  // namespace healer::config
