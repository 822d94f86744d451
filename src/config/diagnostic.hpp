// SPDX-License-Identifier: MIT
// What is said about rules files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/syntax/syntax.hpp"

namespace healer::config {

class Sources;

enum class DiagnosticSeverity : std::uint8_t { Note, Warning, Error };

/// What a message is about, for programs: its word (see to_string) never changes, while messages may.
enum class Code : std::uint8_t {
  Syntax,
  UnknownWord,
  Unsupported,
  // Values that cannot be.
  OutOfRange,
  InvalidValue,
  InvalidPattern,
  InvalidSchedule,
  InvalidUrl,
  InvalidConnection,
  WrongQuantity,
  UnknownName,
  // What belongs together.
  DuplicateName,
  DuplicateStatement,
  UnknownService,
  Circle,
  WrongTest,
  WrongPlace,
  WrongOrder,
  NoTest,
  TooMany,
  Grouping,
  MissingOption,
  // Healing.
  UnknownWorkflow,
  UnknownGroup,
  UnknownVariable,
  NoSteps,
  NoGuard,
  ExposedSecret,
  LostSecret,
  OutsideValue,
  // The machine.
  UnknownUser,
  MissingProgram,
  MissingFile,
  Unreadable,
  TooOpen,
  OthersWrite,
  SecretReadable,
  Rights,
  UnreadList,
  RefusedRow,
  // The dialects.
  OnlyHealer,
  OtherMonit,
  Dormant,
  Counting,
  // What its writer may not have meant.
  Misread,
  Clamped,
  NoEffect,
  NeverRuns,
  NeverTrue,
  AwkwardName,
  HiddenSecret,
  NoMailServer,
  NoStartProgram,
  Suspicious,
  NotYet,
  // Advice, of `healerctl lint` alone.
  DuplicateRule,
  Contradiction,
  Unreachable,
  NoStopProgram,
  SameProgram,
  NoRecipient,
  SlowCheck,
  SlowToNotice,
  WrongPort,
  EndlessRestarts,
  SharedFolder,
  UnverifiedCertificate,
  Deprecated,
};
inline constexpr std::size_t kCodes = static_cast<std::size_t>(Code::Deprecated) + 1;

/// "unknown-word".
[[nodiscard]] std::string_view to_string(Code code);

/// One message: what is wrong, where, and how to mend it. Messages are whole phrases in the user's words, lower case,
/// without a full stop.
struct Diagnostic {
  DiagnosticSeverity severity = DiagnosticSeverity::Error;
  std::optional<SourceRange> range;  ///< absent where no file is concerned
  std::string path;                  ///< where `range` is absent: the file it is about, or empty
  std::string message;
  std::string remedy;  ///< "did you mean 'process'?", "write ..."; may be empty
  std::string row{};   ///< which row of `for each` it is about, where it stands in one
  Code code = Code::Syntax;
  /// Rows of lists from outside at which it lies, as SourceRange::row, where that is not the one of `range`.
  std::vector<std::uint32_t> causing_rows{};
  bool on_request = false;  ///< a note that is said with -v only, and where rules are new
};

[[nodiscard]] std::string_view to_string(DiagnosticSeverity severity);

/// `path:line:column: error: message`, the source line, a caret line under the range, and the remedy as a note.
/// `color` adds ANSI colours. Ends with a newline.
[[nodiscard]] std::string format(const Diagnostic& diagnostic, const Sources& sources, bool color);

/// Of that, what follows the message: the source line, the caret and the remedy.
[[nodiscard]] std::string excerpt(const Diagnostic& diagnostic, const Sources& sources, bool color);

[[nodiscard]] bool has_errors(const std::vector<Diagnostic>& diagnostics);
/// The first error on one line, as format() begins it; empty: there is none.
[[nodiscard]] std::string first_error(const std::vector<Diagnostic>& diagnostics, const Sources& sources);

using Diagnostics = std::vector<Diagnostic>;

void report(Diagnostics& diagnostics, DiagnosticSeverity severity, Code code, const SourceRange& range,
            std::string message, std::string remedy = {});
/// About one thing that several rows of lists make wrong together.
void report(Diagnostics& diagnostics, DiagnosticSeverity severity, Code code, const SourceRange& range,
            std::string message, std::string remedy, std::vector<std::uint32_t> causing_rows);
/// About a file as a whole.
void report(Diagnostics& diagnostics, DiagnosticSeverity severity, Code code, std::string path, std::string message,
            std::string remedy = {});

/// A short command line or name for a message: quoted, control characters visible, cut where it is long.
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace healer::config
