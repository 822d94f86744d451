// SPDX-License-Identifier: MIT
// The command among the words of healerctl's command line.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace healer {

/// Where the command stands; the number of words where there is none.
[[nodiscard]] std::size_t command_at(const CLI::App& app, const std::vector<std::string>& words);
/// A first word that is no command, and the one that was meant. Empty where it is one.
[[nodiscard]] std::string unknown_command(const CLI::App& app, const std::string& word);
/// `help COMMAND` is `COMMAND --help`.
void help_first(const CLI::App& app, std::vector<std::string>& line);

}  // namespace healer
