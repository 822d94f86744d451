// SPDX-License-Identifier: MIT
#include "config/passes/lint_httpd.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "config/text/secret.hpp"
#include "util/network.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

using Allow = SetHttpd::Allow;

class HttpdLinter {
 public:
  HttpdLinter(const Document& document, const Sources& sources, Diagnostics& diagnostics)
      : document_(document), sources_(sources), diagnostics_(diagnostics) {}

  void run() {
    for (std::size_t i = 0; i < document_.statements.size(); ++i) {
      const auto* const set = std::get_if<SetSyntax>(&document_.statements[i]);
      const auto* const httpd = set == nullptr ? nullptr : std::get_if<SetHttpd>(&set->statement);
      if (httpd == nullptr) continue;
      is_broken_ = is_broken_ || has_error(set->range, i + 1);
      look_at(*httpd, set->range);
    }
    judge();
  }

 private:
  void warn(Code code, const SourceRange& range, std::string message, std::string remedy) {
    report(diagnostics_, DiagnosticSeverity::Warning, code, range, std::move(message), std::move(remedy));
  }

  /// Whether there is an error between the beginning of a statement and the next one.
  [[nodiscard]] bool has_error(const SourceRange& range, std::size_t next) const {
    const SourceRange* const end =
        next < document_.statements.size()
            ? std::visit([](const auto& node) { return &node.range; }, document_.statements[next])
            : nullptr;
    for (const Diagnostic& one : diagnostics_) {
      if (one.severity != DiagnosticSeverity::Error || !one.range) continue;
      if (one.range->file != range.file || one.range->begin < range.begin) continue;
      if (end == nullptr || end->file != range.file || one.range->begin < end->begin) return true;
    }
    return false;
  }

  /// Whether a line that is not understood begins one.
  [[nodiscard]] bool is_begun() const {
    return std::ranges::any_of(diagnostics_, [&](const Diagnostic& one) {
      if (one.severity != DiagnosticSeverity::Error || !one.range) return false;
      const std::string_view before = std::string_view(sources_.at(one.range->file).text).substr(0, one.range->begin);
      return to_lower(trim(before.substr(before.rfind('\n') + 1))).starts_with("set httpd");
    });
  }

  [[nodiscard]] std::string place_of(const SourceRange& range) const {
    return fmt::format("{}:{}", printable(sources_.at(range.file).path),
                       sources_.position(range.file, range.begin).line);
  }

  void look_at(const SetHttpd& set, const SourceRange& range) {
    if (first_ != nullptr)
      warn(Code::DuplicateStatement, set.range, "there is a 'set httpd' already: both count as one",
           fmt::format("the first one is at {}; of two ports, or two lists of addresses, the last one counts",
                       place_of(*first_)));
    if (first_ == nullptr) first_ = &range;
    port_ |= set.port.has_value();
    address_ |= !set.addresses.empty();
    socket_ |= set.unix_socket.has_value();
    tls_ |= set.tls.value_or(false);
    allow_ |= !set.allow.empty();
    for (const Allow& one : set.allow) look_at(one);
  }

  void look_at(const Allow& one) {
    if (one.password && one.password->value == kHidden)
      warn(Code::HiddenSecret, one.password->range, std::string(kHiddenSecret), "write the secret");
    if (one.kind == Allow::Kind::Host && is_impossible_address(one.who.value))
      warn(Code::NoEffect, one.who.range,
           fmt::format("{} is neither an address nor a network: nobody is let in by it", in_quotes(one.who.value)),
           "write an address, a network as in 192.0.2.0/24 or 2001:db8::/32, or the name of a host");
    if (one.kind == Allow::Kind::Login) once(users_, one.who, "the user");
    if (one.kind == Allow::Kind::Group) once(groups_, one.who, "the group");
  }

  /// As in Monit, the first one counts.
  void once(std::map<std::string_view, const SourceRange*>& known, const Word& who, std::string_view what) {
    const auto [first, is_new] = known.emplace(who.value, &who.range);
    if (is_new) return;
    warn(Code::NoEffect, who.range,
         fmt::format("{} {} is allowed already: this is ignored", what, in_quotes(who.value)),
         fmt::format("the first one, at {}, counts", place_of(*first->second)));
  }

  /// What all of them say together. Where one has not been understood, nobody knows what is missing.
  void judge() {
    if (is_broken_) return;
    if (first_ == nullptr) {
      if (is_begun()) return;
      const SourceRange* mmonit = nullptr;
      for_each_set<SetMmonit>(document_, [&](const SetMmonit&, const SourceRange& range) { mmonit = &range; });
      if (mmonit != nullptr)
        warn(Code::Suspicious, *mmonit, "M/Monit enabled but no httpd allowed",
             "add a 'set httpd' statement: M/Monit acts through it");
      return;
    }
    if (!port_ && !socket_)
      return warn(
          Code::Suspicious, *first_,
          "there is neither a port nor a socket: nothing is served over HTTP but on sockets that systemd hands over",
          "add 'port 2812', or 'unixsocket PATH'");
    if (!allow_)
      return warn(Code::Suspicious, *first_, "nothing is served over HTTP, since nobody is allowed to connect",
                  "add 'allow localhost', or 'allow USER:PASSWORD'");
    if (port_ && !address_ && !tls_)
      warn(Code::Suspicious, *first_,
           "without TLS and without an address only this machine itself is listened to; Monit would listen on every "
           "address",
           "add 'with ssl { pemfile: PATH }', or the address: 'use address 192.0.2.1'");
  }

  const Document& document_;
  const Sources& sources_;
  Diagnostics& diagnostics_;
  const SourceRange* first_ = nullptr;
  bool port_ = false, address_ = false, socket_ = false, tls_ = false, allow_ = false;
  bool is_broken_ = false;
  std::map<std::string_view, const SourceRange*> users_, groups_;
};

}  // namespace

void lint_httpd(const Document& document, const Sources& sources, Diagnostics& diagnostics) {
  HttpdLinter(document, sources, diagnostics).run();
}

}  // namespace healer::config
