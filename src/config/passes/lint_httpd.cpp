// SPDX-License-Identifier: MIT
#include "config/passes/lint_httpd.hpp"

#include <string>
#include <utility>

#include "config/text/secret.hpp"

namespace healer::config {

void lint_httpd(const Document& document, Diagnostics& diagnostics) {
  const SourceRange* last = nullptr;
  bool port = false, address = false, socket = false, tls = false, allow = false;
  for_each_set<SetHttpd>(document, [&](const SetHttpd& set, const SourceRange& range) {
    last = &range;
    port |= set.port.has_value();
    address |= !set.addresses.empty();
    socket |= set.unix_socket.has_value();
    tls |= set.tls.value_or(false);
    allow |= !set.allow.empty();
    for (const SetHttpd::Allow& one : set.allow)
      if (one.password && one.password->value == kHidden)
        report(diagnostics, DiagnosticSeverity::Warning, Code::HiddenSecret, one.password->range,
               std::string(kHiddenSecret), "write the secret");
  });
  if (last == nullptr) {
    const SourceRange* mmonit = nullptr;
    for_each_set<SetMmonit>(document, [&](const SetMmonit&, const SourceRange& range) { mmonit = &range; });
    if (mmonit != nullptr)
      report(diagnostics, DiagnosticSeverity::Warning, Code::Suspicious, *mmonit,
             "M/Monit enabled but no httpd allowed", "add a 'set httpd' statement: M/Monit acts through it");
    return;
  }
  const auto warn = [&](std::string message, std::string remedy) {
    report(diagnostics, DiagnosticSeverity::Warning, Code::Suspicious, *last, std::move(message), std::move(remedy));
  };
  if (!port && !socket)
    return warn(
        "there is neither a port nor a socket: nothing is served over HTTP but on sockets that systemd hands over",
        "add 'port 2812', or 'unixsocket PATH'");
  if (!allow)
    return warn("nothing is served over HTTP, since nobody is allowed to connect",
                "add 'allow localhost', or 'allow USER:PASSWORD'");
  if (port && !address && !tls)
    warn(
        "without TLS and without an address only this machine itself is listened to; Monit would listen on every "
        "address",
        "add 'with ssl { pemfile: PATH }', or the address: 'use address 192.0.2.1'");
}

}  // namespace healer::config
