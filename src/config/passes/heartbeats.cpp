// SPDX-License-Identifier: MIT
// How often heartbeats are to be heard, and who may beat.
#include <algorithm>
#include <cctype>

#include <spdlog/fmt/fmt.h>

#include "config/passes/passes.hpp"
#include "config/passes/workflow_variables.hpp"
#include "config/text/secret.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

constexpr std::size_t kFewCharacters = 16;  // of a token that is written out: it can be guessed

class HeartbeatCheck {
 public:
  HeartbeatCheck(const Document& document, Diagnostics& diagnostics) : document_(document), diagnostics_(diagnostics) {}

  void run(const CheckSyntax& check) {
    const HeartbeatSyntax& heartbeat = *check.heartbeat;
    length(heartbeat.every, "'every'");
    length(heartbeat.within, "'within'");
    if (heartbeat.token) check_token(*heartbeat.token, "token", diagnostics_);
    if (heartbeat.certificate) check_certificate(*heartbeat.certificate, document_, diagnostics_);
    for (const ServiceStatement& statement : check.statements)
      if (const auto* every = std::get_if<EverySyntax>(&statement))
        say(DiagnosticSeverity::Error, Code::WrongPlace, every->range,
            "a heartbeat is judged when it is heard, or is missed: it has no schedule",
            "remove it; how often it is to be heard stands behind its name");
  }

 private:
  void say(DiagnosticSeverity severity, Code code, const SourceRange& range, std::string message, std::string remedy) {
    report(diagnostics_, severity, code, range, std::move(message), std::move(remedy));
  }

  void length(const Located<Duration>& duration, std::string_view what) {
    if (duration.value <= Duration{0})
      say(DiagnosticSeverity::Error, Code::OutOfRange, duration.range,
          fmt::format("the duration of {} must be longer than 0", what), "");
  }

  const Document& document_;
  Diagnostics& diagnostics_;
};

}  // namespace

void check_token(const Word& token, std::string_view what, Diagnostics& diagnostics) {
  const auto say = [&](DiagnosticSeverity severity, Code code, std::string message, std::string remedy) {
    report(diagnostics, severity, code, token.range, std::move(message), std::move(remedy));
  };
  for (const VariableUse& use : variables_in(token.value)) {
    if (use.closed && use.is_secret()) continue;
    return say(
        DiagnosticSeverity::Error, use.closed ? Code::UnknownVariable : Code::InvalidValue,
        use.closed ? fmt::format("a {} can only hold secrets, as in \"${{secret:NAME}}\"", what) : "'${' has no '}'",
        "write $${ for a literal ${");
  }
  const bool is_plain = std::ranges::all_of(token.value, [](char c) { return c > ' ' && c < '\x7f'; });
  if (token.value.empty())
    say(DiagnosticSeverity::Error, Code::InvalidValue, fmt::format("an empty {} keeps nobody out", what),
        fmt::format("write one, or leave '{}' out", what));
  else if (!is_plain)
    say(DiagnosticSeverity::Error, Code::InvalidValue,
        fmt::format("a {} has only visible ASCII characters and no blanks", what), "");
  else if (token.value == kHidden)
    say(DiagnosticSeverity::Warning, Code::HiddenSecret,
        "this is the placeholder for a secret that was hidden when the rules were printed", "write the secret");
  else if (!holds_secret(token.value) && token.value.size() < kFewCharacters)
    say(DiagnosticSeverity::Warning, Code::ExposedSecret,
        fmt::format("a {} of less than {} characters can be guessed", what, kFewCharacters),
        "a long one is written by: openssl rand -hex 16");
}

void check_certificate(const Word& certificate, const Document& document, Diagnostics& diagnostics) {
  constexpr std::string_view kHash = "sha256:";
  constexpr std::size_t kDigits = 64;
  bool is_asked_for = false;
  for_each_set<SetHttpd>(document, [&](const SetHttpd& set, const SourceRange&) {
    for (const auto& [name, value] : set.tls_options) is_asked_for |= iequals(name.value, "clientpemfile");
  });
  if (!is_asked_for && document.is_whole)
    report(diagnostics, DiagnosticSeverity::Error, Code::WrongPlace, certificate.range,
           "'set httpd' asks nobody for a certificate", "add clientpemfile to the options of its ssl");
  const std::string_view text = certificate.value;
  std::string digits;
  if (text.size() >= kHash.size() && iequals(text.substr(0, kHash.size()), kHash))
    for (const char c : text.substr(kHash.size()))
      if (c != ':') digits += lower(c);
  const bool is_hash = digits.size() == kDigits && digits.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!digits.empty() ? !is_hash : text.empty() || iequals(text, kHash))
    report(diagnostics, DiagnosticSeverity::Error, Code::InvalidValue, certificate.range,
           fmt::format("\"{}\" names no certificate", printable(text)),
           "write its common name, or sha256: and the 64 digits of: openssl x509 -noout -fingerprint -sha256");
}

void check_heartbeats(const Document& document, Diagnostics& diagnostics) {
  for_each_check(document, [&](const CheckSyntax& check) {
    if (check.heartbeat) HeartbeatCheck(document, diagnostics).run(check);
  });
}

}  // namespace healer::config
