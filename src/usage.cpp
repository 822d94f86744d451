// SPDX-License-Identifier: MIT
#include "usage.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include <spdlog/fmt/fmt.h>

#include "util/text.hpp"

namespace healer {
namespace {

/// Monit's commands, which are healerctl's.
constexpr std::array<std::string_view, 12> kOfMonit{"start",     "stop",   "restart",  "monitor",
                                                    "unmonitor", "reload", "status",   "summary",
                                                    "report",    "quit",   "validate", "procmatch"};

/// The command that was understood last: "jobs follow".
const CLI::App& innermost(const CLI::App& app, std::string& path) {
  const auto chosen = app.get_subcommands();
  if (chosen.empty()) return app;
  path += (path.empty() ? "" : " ") + chosen.front()->get_name();
  return innermost(*chosen.front(), path);
}

/// The long options of a command and of those around it.
std::vector<std::string> options_of(const CLI::App* app) {
  std::vector<std::string> names;
  for (; app != nullptr; app = app->get_parent())
    for (const CLI::Option* option : app->get_options())
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::string near_option(const CLI::App& app, const std::string& word) {
  const std::vector<std::string> names = options_of(&app);
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string_view near = nearest_word(word.substr(0, word.find('=')), views);
  return near.empty() ? "" : fmt::format("; did you mean {}?", near);
}

/// What comes before the first of these words in CLI11's sentence: mostly the name of an option.
std::string before(std::string_view sentence, std::initializer_list<std::string_view> words) {
  std::size_t end = sentence.size();
  for (const std::string_view word : words) end = std::min(end, sentence.find(word));
  return std::string(sentence.substr(0, end));
}

/// The option or argument of that name; null: there is none.
const CLI::Option* option_of(const CLI::App& app, const std::string& name) {
  for (const CLI::App* one = &app; one != nullptr; one = one->get_parent())
    for (const CLI::Option* option : one->get_options())
      if (option->check_name(name) || option->get_name() == name) return option;
  return nullptr;
}

/// What an option or argument takes, as the help calls it: "--since DURATION", "NAME".
std::string what_it_takes(const CLI::App& app, const std::string& name) {
  const CLI::Option* option = option_of(app, name);
  if (option == nullptr) return name;
  return option->get_positional() ? option->get_type_name() : fmt::format("{} {}", name, option->get_type_name());
}

}  // namespace

std::string usage_complaint(const CLI::App& app, const CLI::ParseError& error) {
  std::string path;
  const CLI::App& command = innermost(app, path);
  const std::string_view sentence = error.what();
  const std::string of = path.empty() ? app.get_name() : path;
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    const std::vector<std::string> extras = app.remaining(true);
    if (extras.empty()) return fmt::format("{}: there is an argument too many", of);
    const std::string& word = extras.front();
    if (word.starts_with("-")) return fmt::format("{} has no option {}{}", of, word, near_option(command, word));
    return fmt::format(
        "{} takes no {}\"{}\"", of,
        command.get_options([](const CLI::Option* one) { return one->get_positional(); }).empty() ? "" : "further ",
        word);
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    const std::string name = before(sentence, {" is required"});
    if (name == "A subcommand") return "which command?";
    return fmt::format("{} needs {}", of, what_it_takes(command, name));
  }
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr) {
    const std::size_t word = sentence.find(" excludes ");
    if (word != std::string_view::npos)
      return fmt::format("{} and {} exclude each other", sentence.substr(0, word), sentence.substr(word + 10));
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const std::size_t to = sentence.find("arguments to ");  // "Expected exactly 1 arguments to -d, got 2"
    if (to != std::string_view::npos)
      return fmt::format("{} is given once at most", before(sentence.substr(to + 13), {","}));
    const std::string name = before(sentence, {": ", " was given"});
    const CLI::Option* option = option_of(command, name);
    if (sentence.find("missing") == std::string_view::npos)
      return option != nullptr && option->get_positional() ? fmt::format("{} takes one {}", of, option->get_type_name())
                                                           : fmt::format("{} is given once at most", name);
    return fmt::format("{} needs a value: {}", name, what_it_takes(command, name));
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
    const std::size_t colon = sentence.find(": ");  // "Could not convert: -d = abc"
    const std::size_t equals = sentence.find(" = ");
    if (equals == std::string_view::npos && colon != std::string_view::npos)
      return fmt::format("{} takes no value", sentence.substr(0, colon));  // a flag
    if (colon != std::string_view::npos && equals != std::string_view::npos && colon < equals) {
      const std::string name(sentence.substr(colon + 2, equals - colon - 2));
      const CLI::Option* option = option_of(command, name);
      if (option != nullptr && option->get_items_expected_max() == 0) return fmt::format("{} takes no value", name);
      return fmt::format("{} {}: not a number", sentence.substr(colon + 2, equals - colon - 2),
                         sentence.substr(equals + 3));
    }
  }
  // Of our own checks, which name what they are about.
  const std::size_t name = sentence.find(": ");
  return std::string(name == std::string_view::npos ? sentence : sentence.substr(name + 2));
}

std::string command_complaint(const std::vector<std::string>& words) {
  if (words.empty()) return {};
  if (std::ranges::find(kOfMonit, words.front()) == kOfMonit.end()) return {};
  std::string line;
  for (const std::string& word : words) line += " " + word;
  return fmt::format("commands are given by healerctl: healerctl{}", line);
}

}  // namespace healer
