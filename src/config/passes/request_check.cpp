// SPDX-License-Identifier: MIT
// Requests over HTTP, of steps and of lists: whether they can be made.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "config/compile/url.hpp"
#include "config/passes/passes.hpp"
#include "config/passes/workflow_variables.hpp"
#include "config/text/secret.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

/// `username U password P`, where there is no other login.
void check_login(const HttpRequestSyntax& request, Diagnostics& diagnostics) {
  const auto error = [&](Code code, const SourceRange& range, std::string message, std::string remedy) {
    report(diagnostics, DiagnosticSeverity::Error, code, range, std::move(message), std::move(remedy));
  };
  if (request.url.value.starts_with("${"))
    error(Code::InvalidUrl, request.url.range, "a login needs an address that begins with http:// or https://",
          "write its beginning, as in \"https://${HOST}/\", or a header \"Authorization: ...\"");
  else if (without_login(request.url.value).second)
    error(Code::InvalidUrl, request.url.range, "there is a login in this address already",
          "remove it there, or 'username' and 'password'");
  for (const Word& header : request.headers)
    if (iequals(trim(std::string_view(header.value).substr(0, header.value.find(':'))), "authorization"))
      error(Code::InvalidValue, header.range, "there is a login already: 'username' and 'password'",
            "keep one of them");
  if (request.password->value == kHidden)
    report(diagnostics, DiagnosticSeverity::Warning, Code::HiddenSecret, request.password->range,
           std::string(kHiddenSecret), "write the secret");
}

}  // namespace

void check_request(const HttpRequestSyntax& request, Diagnostics& diagnostics) {
  constexpr std::uint64_t kMostOfAnswer = std::uint64_t{64} << 20;
  const auto error = [&](Code code, const SourceRange& range, std::string message, std::string remedy = {}) {
    report(diagnostics, DiagnosticSeverity::Error, code, range, std::move(message), std::move(remedy));
  };
  const std::string& url = request.url.value;
  const bool begins_with_value = url.starts_with("${");
  // A URL that is a secret is known to its server.
  if (holds_secret(url.substr(url.starts_with("${secret:") ? url.find('}') : 0)))
    report(diagnostics, DiagnosticSeverity::Warning, Code::ExposedSecret, request.url.range,
           "a secret in a URL appears in the logs of the server",
           "put it into a header or the body, if the server accepts it there");
  if (!url.starts_with("http://") && !url.starts_with("https://") && !begins_with_value)
    error(Code::InvalidUrl, request.url.range, fmt::format("{} is not an HTTP URL", in_quotes(url)),
          "a URL is written http://HOST/PATH or https://HOST/PATH");
  else if (const std::string wrong = port_problem(url); !wrong.empty())
    error(Code::InvalidUrl, request.url.range, wrong, std::string(kPortRemedy));
  if (request.user) check_login(request, diagnostics);
  for (const Word& header : request.headers)
    if (const std::size_t colon = header.value.find(':'); colon == 0 || colon == std::string::npos)
      error(Code::InvalidValue, header.range, "this is not a header", "as in: header \"Accept: application/json\"");
  if (request.limit && (request.limit->value < 1 || request.limit->value > kMostOfAnswer))
    error(Code::OutOfRange, request.limit->range, "the limit of an answer is between 1 byte and 64 MB");
  if (request.body_file && !request.body_file->value.starts_with('/') && !holds_variable(request.body_file->value))
    error(Code::InvalidValue, request.body_file->range,
          fmt::format("{} is not an absolute path", in_quotes(request.body_file->value)), "it begins with '/'");
}

}  // namespace healer::config
