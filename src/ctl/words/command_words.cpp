// SPDX-License-Identifier: MIT
#include "ctl/words/command_words.hpp"

#include <algorithm>
#include <string_view>

#include <spdlog/fmt/fmt.h>
#include <CLI/CLI.hpp>

#include "util/text.hpp"

namespace healer {
namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

/// Whether `word` is an option, of healerctl or of one of its commands, whose value is the next word.
bool takes_next(const CLI::App& app, const std::string& word) {
  const auto takes = [&](const CLI::App* one) {
    return std::ranges::any_of(one->get_options(), [&](const CLI::Option* option) {
      return !option->get_positional() && option->get_items_expected_max() > 0 && option->check_name(word);
    });
  };
  return word.starts_with("-") && (takes(&app) || std::ranges::any_of(commands_of(app), takes));
}

}  // namespace

std::size_t command_at(const CLI::App& app, const std::vector<std::string>& words) {
  std::size_t at = 0;
  while (at < words.size() && words[at].starts_with("-")) at += takes_next(app, words[at]) ? 2 : 1;
  return std::min(at, words.size());
}

std::string unknown_command(const CLI::App& app, const std::string& word) {
  std::vector<std::string_view> names;
  const auto commands = commands_of(app);
  for (const CLI::App* command : commands) names.emplace_back(command->get_name());
  if (std::ranges::find(names, word) != names.end()) return {};
  const std::string_view near = nearest_word(word, names);
  return fmt::format("there is no command \"{}\"{}", word,
                     near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near));
}

void help_first(const CLI::App& app, std::vector<std::string>& line) {
  const bool asked =
      std::ranges::any_of(line, [](const std::string& word) { return word == "--help" || word == "-h"; });
  const std::size_t at = command_at(app, line);
  if (asked || at >= line.size() || line[at] != "help") return;
  line.erase(line.begin() + static_cast<std::ptrdiff_t>(at));
  line.emplace_back("--help");
}

}  // namespace healer
