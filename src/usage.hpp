// SPDX-License-Identifier: MIT
// What is wrong with a command line, in our words: CLI11's messages are meant for programmers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace healer {

/// One sentence without a full stop about `error`, which `app` has thrown; with what was probably meant.
[[nodiscard]] std::string usage_complaint(const CLI::App& app, const CLI::ParseError& error);

/// What healerd says to words that are no options: Monit takes its commands on the daemon's own command line, healer
/// has healerctl for them. Empty where there is no such word.
[[nodiscard]] std::string command_complaint(const std::vector<std::string>& words);

}  // namespace healer
