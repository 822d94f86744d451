// SPDX-License-Identifier: MIT
#include "config/syntax/vocabulary.hpp"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <initializer_list>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "engine/events/record.hpp"
#include "grammar/lexer.hpp"
#include "util/text.hpp"

namespace healer::config {

engine::OnReboot reboot_policy(std::string_view word) {
  const auto found =
      std::ranges::find_if(kRebootPolicies, [&](std::string_view known) { return iequals(known, word); });
  if (found == kRebootPolicies.end()) return engine::OnReboot::Start;
  return static_cast<engine::OnReboot>(found - kRebootPolicies.begin());
}

const Limit* find_limit(std::string_view name) {
  const auto found = std::ranges::find_if(kLimits, [&](const Limit& limit) { return iequals(limit.name, name); });
  return found == kLimits.end() ? nullptr : &*found;
}

std::span<const std::string_view> event_names() {
  static const auto names = [] {
    std::array<std::string_view, engine::kEventKinds> result;
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = engine::to_string(static_cast<engine::EventKind>(i));
    return result;
  }();
  return names;
}

std::optional<engine::EventKind> event_kind(std::string_view name) {
  const std::span<const std::string_view> names = event_names();
  const auto found = std::ranges::find_if(names, [&](std::string_view known) { return iequals(known, name); });
  if (found == names.end()) return std::nullopt;
  return static_cast<engine::EventKind>(found - names.begin());
}

namespace {

struct SignalName {
  std::string_view name;
  int number;
};
constexpr SignalName kSignals[] = {
    {"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT},     {"ILL", SIGILL},   {"TRAP", SIGTRAP},
    {"ABRT", SIGABRT}, {"BUS", SIGBUS},   {"FPE", SIGFPE},       {"KILL", SIGKILL}, {"USR1", SIGUSR1},
    {"SEGV", SIGSEGV}, {"USR2", SIGUSR2}, {"PIPE", SIGPIPE},     {"ALRM", SIGALRM}, {"TERM", SIGTERM},
    {"CHLD", SIGCHLD}, {"CONT", SIGCONT}, {"STOP", SIGSTOP},     {"TSTP", SIGTSTP}, {"TTIN", SIGTTIN},
    {"TTOU", SIGTTOU}, {"URG", SIGURG},   {"XCPU", SIGXCPU},     {"XFSZ", SIGXFSZ}, {"PROF", SIGPROF},
    {"IO", SIGIO},     {"PWR", SIGPWR},   {"VTALRM", SIGVTALRM}, {"SYS", SIGSYS},   {"WINCH", SIGWINCH}};
constexpr int kMostSignals = 64;

std::string_view without_sig(std::string_view name) {
  constexpr std::string_view kPrefix = "SIG";
  return iequals(name.substr(0, kPrefix.size()), kPrefix) ? name.substr(kPrefix.size()) : name;
}

}  // namespace

std::optional<int> signal_number(std::string_view written) {
  int number = 0;
  const auto [end, error] = std::from_chars(written.data(), written.data() + written.size(), number);
  if (error == std::errc{} && end == written.data() + written.size())
    return number >= 1 && number <= kMostSignals ? std::optional(number) : std::nullopt;
  const std::string_view name = without_sig(written);
  const auto* found = std::ranges::find_if(kSignals, [&](const SignalName& one) { return iequals(one.name, name); });
  return found == std::end(kSignals) ? std::nullopt : std::optional(found->number);
}

std::string signal_name(int number) {
  const auto* found = std::ranges::find(kSignals, number, &SignalName::number);
  return found == std::end(kSignals) ? std::to_string(number) : std::string(found->name);
}

std::string_view nearest_signal(std::string_view written) {
  std::vector<std::string_view> names;
  for (const SignalName& signal : kSignals) names.push_back(signal.name);
  return nearest_word(without_sig(written), names);
}

std::string_view to_symbol(engine::Comparison comparison) {
  switch (comparison) {
    case engine::Comparison::Equal: return "=";
    case engine::Comparison::NotEqual: return "!=";
    case engine::Comparison::Less: return "<";
    case engine::Comparison::LessEqual: return "<=";
    case engine::Comparison::Greater: return ">";
    case engine::Comparison::GreaterEqual: return ">=";
  }
  return "";
}

std::string written(Duration duration) {
  struct Unit {
    std::int64_t milliseconds;
    std::string_view name;
  };
  static constexpr std::array<Unit, 5> kUnits{
      {{86'400'000, "day"}, {3'600'000, "hour"}, {60'000, "minute"}, {1000, "second"}, {1, "millisecond"}}};
  const std::int64_t count = duration.count();
  if (count == 0) return "0 seconds";
  for (const Unit& unit : kUnits) {
    if (count % unit.milliseconds != 0) continue;
    const std::int64_t number = count / unit.milliseconds;
    return fmt::format("{} {}{}", number, unit.name, number == 1 ? "" : "s");
  }
  return "";
}

std::string written_size(std::uint64_t bytes) {
  if (bytes != 0 && bytes % (1U << 20) == 0) return fmt::format("{} MB", bytes >> 20);
  if (bytes != 0 && bytes % 1024 == 0) return fmt::format("{} kB", bytes >> 10);
  return fmt::format("{} B", bytes);
}

namespace {

/// Text as it stands between quotes, where the language reads C-like escapes; `quotes` may not stand there themselves.
std::string escaped(std::string_view text, std::string_view quotes) {
  if (is_plain(text) && text.find_first_of(quotes) == std::string_view::npos &&
      text.find('\\') == std::string_view::npos)
    return std::string(text);
  std::string result;
  bool after_backslash = false;
  while (!text.empty()) {
    const std::string_view character = text.substr(0, std::max<std::size_t>(utf8_length(text), 1));
    std::string spelling;
    if (character == "\n" || character == "\t" || character == "\r")
      spelling = printable(character);
    else if (printable(character) == character && quotes.find(character) == std::string_view::npos)
      spelling = character;
    else
      for (const char c : character) spelling += fmt::format("\\0x{:02x}", static_cast<unsigned char>(c));
    // A backslash means itself unless what follows it makes an escape.
    if (after_backslash && std::string_view("nrt0\\").find(spelling.front()) != std::string_view::npos) result += '\\';
    result += spelling;
    after_backslash = character == "\\";
    text.remove_prefix(character.size());
  }
  return result;
}

}  // namespace

std::string written_text(std::string_view text) {
  const bool single = text.find('"') != std::string_view::npos && text.find('\'') == std::string_view::npos;
  const std::string_view quote = single ? "'" : "\"";
  return fmt::format("{}{}{}", quote, escaped(text, quote), quote);
}

std::string written_word(std::string_view text) {
  const bool plain = !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' ||
           c == '.' || c == '/' || c == '@';
  });
  return plain ? std::string(text) : written_text(text);
}

std::string written_string(std::string_view text) {
  const grammar::TokenStream read = grammar::lex(text);
  const auto one_of = [&](std::initializer_list<grammar::Kind> kinds) {
    return read.tokens.size() == 2 && read.tokens.front().length == text.size() &&
           std::ranges::find(kinds, read.tokens.front().kind) != kinds.end();
  };
  const bool plain = one_of({grammar::Kind::String, grammar::Kind::Number, grammar::Kind::Address});
  return plain ? std::string(text) : written_text(text);
}

std::string written(const std::vector<std::string>& arguments) {
  std::string result;
  for (const std::string& argument : arguments) {
    if (!result.empty()) result += ' ';
    const bool plain = !argument.empty() && argument.front() != '\'' && printable(argument) == argument &&
                       argument.find_first_of(" \"") == std::string::npos;
    result += plain ? argument : "'" + escaped(argument, "'\"") + "'";
  }
  return "\"" + result + "\"";
}

std::string written(const engine::Identity& identity) {
  const auto named = [](const std::string& name, const std::optional<std::uint32_t>& number) {
    return !name.empty() ? written_string(name) : number ? std::to_string(*number) : std::string();
  };
  const std::string user = named(identity.user, identity.uid);
  const std::string group = named(identity.group, identity.gid);
  std::string text;
  if (!user.empty()) text += " as uid " + user;
  if (!group.empty()) text += (user.empty() ? " as gid " : " and gid ") + group;
  return text;
}

engine::TlsOptions tls_options(const TlsSyntax& tls) {
  engine::TlsOptions options;
  if (tls.version && tls.version->value != "ssl" && tls.version->value != "tls")
    options.emplace_back("version", tls.version->value);
  for (const auto& [name, value] : tls.options) options.emplace_back(name.value, value.value);
  return options;
}

std::string written(const engine::TlsOptions& options) {
  std::string versions, others;
  for (const auto& [name, value] : options) {
    if (name == "version") {
      const std::string version = to_lower(value);
      versions += (versions.empty() ? "version: " : " ") + (version == "sslauto" ? "auto" : version);
      continue;
    }
    const bool is_word = name == "verify" || name == "selfsigned";
    const std::string shown = is_word ? to_lower(value) : name == "ciphers" ? written_text(value) : written_word(value);
    others += fmt::format("{}{}: {}", others.empty() ? "" : " ", name, shown);
  }
  return fmt::format("{{ {} }}", versions + (versions.empty() || others.empty() ? "" : " ") + others);
}

}  // namespace healer::config
