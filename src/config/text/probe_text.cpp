// SPDX-License-Identifier: MIT
#include "config/text/probe_text.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "config/compile/connection.hpp"
#include "config/syntax/parse_connection.hpp"
#include "engine/rules/settings.hpp"
#include "grammar/errors.hpp"
#include "grammar/lexer.hpp"

namespace healer::config {
namespace {

using grammar::Kind;
using parsing::Build;
using parsing::ConnectionScratch;

constexpr Kind kTargets[] = {Kind::Port, Kind::Unix, Kind::Ping, Kind::Icmp, Kind::UrlWord};

bool is_target(Kind kind) { return std::ranges::find(kTargets, kind) != std::end(kTargets); }

/// Whether a text has its own path or URL.
bool names_place(std::string_view text) {
  return std::ranges::any_of(grammar::lex(text).tokens, [](const grammar::Token& token) {
    return token.kind == Kind::Unix || token.kind == Kind::UrlWord;
  });
}

/// What the text says, or nothing and why.
std::optional<ConnectionSyntax> parse_probe(std::string_view text, Diagnostics& diagnostics) {
  const grammar::TokenStream stream = grammar::lex(text);
  Build build(stream, 0, nullptr);
  grammar::TokenInput in(stream, 0);
  ConnectionScratch scratch;
  const bool has_target = std::ranges::any_of(stream.tokens, is_target, &grammar::Token::kind);
  const bool matched = has_target ? parsing::match<grammar::lone_connection>(in, build, scratch)
                                  : parsing::match<grammar::lone_options>(in, build, scratch);
  if (matched && (in.kind() == Kind::End || in.kind() == Kind::Then)) {
    for (Diagnostic& complaint : build.complaints) diagnostics.push_back(std::move(complaint));
    return has_errors(diagnostics) ? std::nullopt : std::optional(std::move(scratch.connection));
  }
  std::size_t token = std::max(build.expectation.furthest, matched ? in.index() : 0);
  build.expectation.gather(token);
  if (!has_target)
    for (const Kind target : kTargets) build.expectation.near.set(static_cast<std::size_t>(target));
  grammar::Complaint complaint = stream.tokens[token].kind == Kind::End
                                     ? grammar::incomplete(stream, 0, token, build.expectation)
                                     : grammar::unexpected(stream, 0, token, build.expectation);
  if (auto cause = grammar::earlier_cause(stream, 0, token)) {
    token = cause->token;
    complaint = std::move(cause->complaint);
  }
  report(diagnostics, DiagnosticSeverity::Error, Code::Syntax, build.range({token, token + 1}),
         std::move(complaint.message), std::move(complaint.remedy));
  return std::nullopt;
}

/// The usual port of the protocol, where none is written.
std::optional<Number> usual_port(const ConnectionSyntax& test, const SourceRange& range) {
  const protocols::Protocol* protocol = protocols::find_protocol(test.protocol ? test.protocol->value : "default");
  if (protocol == nullptr || protocol->port == 0) return std::nullopt;
  return Number{protocol->port, range};
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// `probe localhost 8081`, `probe 127.0.0.1:8081`: what to write in its place. Empty: it is none of them.
std::string port_remedy(std::string_view host, std::string_view text) {
  text = trim(text);
  const std::string_view first = text.substr(0, text.find(' '));
  if (is_digits(first)) return fmt::format("write healerctl probe {} port {}", host, text);
  const std::size_t colon = host.rfind(':');
  if (host.starts_with('/') || colon == std::string_view::npos || !is_digits(host.substr(colon + 1))) return {};
  const bool in_brackets = host.starts_with('[') && colon > 1 && host[colon - 1] == ']';
  if (!in_brackets && host.find(':') != colon) return {};  // an IPv6 address
  const std::string_view name = in_brackets ? host.substr(1, colon - 2) : host.substr(0, colon);
  return fmt::format("write healerctl probe {} port {}{}{}", name, host.substr(colon + 1), text.empty() ? "" : " ",
                     text);
}

}  // namespace

ProbeReading read_probe(std::string_view host, std::string_view text) {
  ProbeReading reading;
  const bool is_url = host.find("://") != std::string_view::npos;
  std::string whole(text);
  if (const std::string remedy = is_url ? std::string{} : port_remedy(host, text); !remedy.empty()) {
    const bool in_host = host.find(':') != std::string_view::npos;
    const std::string shown_text(in_host ? host : trim(text));
    const std::uint32_t shown = reading.sources.add("", shown_text);
    const auto end = static_cast<std::uint32_t>(std::min(shown_text.find(' '), shown_text.size()));
    report(reading.diagnostics, DiagnosticSeverity::Error, Code::Syntax, SourceRange{shown, 0, end},
           "a port is written after 'port'", remedy);
    return reading;
  }
  if (is_url) {
    whole = fmt::format("url {} {}", host, text);
  } else if (host.starts_with('/') && !names_place(text)) {
    whole = fmt::format("unixsocket \"{}\" {}", host, text);
  } else if (trim(text).empty()) {
    whole = "ping";
  }
  const std::uint32_t file = reading.sources.add("", whole);
  const SourceRange range{file, 0, static_cast<std::uint32_t>(whole.size())};
  const SourceRange end{file, range.end, range.end};
  auto test = parse_probe(reading.sources.at(file).text, reading.diagnostics);
  if (!test) return reading;
  if (test->target == ConnectionSyntax::Target::Port && !test->port && !(test->port = usual_port(*test, end))) {
    report(reading.diagnostics, DiagnosticSeverity::Error, Code::MissingOption, end, "no port is given",
           "write 'port NUMBER'");
    return reading;
  }
  ConnectionReading read = read_connection(*test, range, std::string(host), engine::Limits{});
  const bool is_right = read.errors.empty();
  for (ConnectionFault& fault : read.errors)
    report(reading.diagnostics, DiagnosticSeverity::Error, Code::InvalidConnection, fault.place,
           std::move(fault.message), std::move(fault.remedy));
  const std::string wrong = is_right ? protocols::fault(read.plan) : std::string{};
  // What rules are only warned of may be what makes this probe impossible.
  for (ConnectionFault& fault : read.warnings)
    report(reading.diagnostics, wrong.empty() ? DiagnosticSeverity::Warning : DiagnosticSeverity::Error,
           Code::InvalidConnection, fault.place, std::move(fault.message), std::move(fault.remedy));
  if (!wrong.empty() && read.warnings.empty())
    report(reading.diagnostics, DiagnosticSeverity::Error, Code::InvalidConnection, end, wrong);
  if (is_right && wrong.empty()) reading.plan = std::move(read.plan);
  return reading;
}

}  // namespace healer::config
