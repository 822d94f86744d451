// SPDX-License-Identifier: MIT
#include "config/syntax/parse_alert.hpp"

#include <spdlog/fmt/fmt.h>

namespace healer::config::parsing {

void AlertScratch::option(Build& build, TokenRange at, int rank, const char* name) {
  if (rank == last_option) {
    build.complain(at, fmt::format("{} is given twice", name), "keep one of them");
  } else if (rank < last_option) {
    build.extend("options in another order", at);
  }
  last_option = rank;
}

namespace {

/// Whether a name of a sender stands in <>, which needs no '@': without a blank in it, and up to the '>' or the line's
/// end.
bool stands_in_brackets(std::string_view sender, bool at_end) {
  for (std::size_t open = sender.find('<'); open != std::string_view::npos; open = sender.find('<', open + 1)) {
    const std::size_t end = sender.find_first_of("> \t", open + 1);
    if (end == std::string_view::npos ? at_end && open + 1 < sender.size() : sender[end] == '>' && end > open + 1)
      return true;
  }
  return false;
}

}  // namespace

void check_sender(Build& build, TokenRange at, const Word& sender) {
  const auto next = build.tokens.text.substr(sender.range.end, 1);
  const bool at_end = next == "\n" || next == "}";
  // A name without '@' is one to Monit where nothing stands beside it, not even a blank.
  const bool alone = !sender.value.empty() && sender.value.find_first_of(" \t") == std::string::npos && at_end;
  if (sender.value.find('@') == std::string::npos && !alone && !stands_in_brackets(sender.value, at_end))
    build.complain(at, "this names no mail address", "write NAME <user@host> or user@host on the same line");
  if (sender.value.find('{') != std::string::npos)
    build.complain(at, "a mail address has no '{' in it", "write NAME <user@host> or user@host");
  const auto after = build.tokens.text.substr(sender.range.end);
  if (after.substr(0, after.find('\n')).find('\r') != std::string_view::npos)
    build.extend("a carriage return after a mail address", at);
}

template <>
struct action<grammar::alert> {
  static void apply(const auto& in, Build& build, AlertScratch& scratch) {
    scratch.alert.range = build.range(matched(in, build));
  }
};

bool parse_alert(grammar::TokenInput& in, Build& build, ServiceStatement& out) {
  AlertScratch scratch;
  if (in.kind() == grammar::Kind::NoAlert) {
    if (!match<grammar::no_alert>(in, build, scratch)) return false;
    out = NoAlertSyntax{std::move(scratch.alert.address)};
    return true;
  }
  if (!match<grammar::alert>(in, build, scratch)) return false;
  out = std::move(scratch.alert);
  return true;
}

}  // namespace healer::config::parsing
