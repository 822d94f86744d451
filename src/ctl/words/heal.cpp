// SPDX-License-Identifier: MIT
#include "ctl/words/heal.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <tuple>

#include <spdlog/fmt/fmt.h>

#include "util/text.hpp"

namespace healer {
namespace {

using control::Request;
using control::Verb;

CLI::App* add_command(CLI::App& app, Request& request, Verb verb, const std::string& name, const std::string& help) {
  CLI::App* command = app.add_subcommand(name, help);
  command->fallthrough();
  command->callback([&request, verb] { request.verb = verb; });
  return command;
}

}  // namespace

void add_healing(CLI::App& app, Request& request, std::string& overrides) {
  CLI::App* heal = add_command(app, request, Verb::Heal, "heal", "Heal targets, if guards and brakes allow it");
  heal->add_option("names", request.names, "Targets, services, or all")->type_name("NAME");
  heal->add_option("-g,--group", request.groups, "All services of the group (may be given again)")
      ->type_name("GROUP")
      ->allow_extra_args(false);
  heal->add_option("--with", request.workflow, "The workflow (default: the one that the rules name)")
      ->type_name("WORKFLOW")
      ->check([](const std::string& text) { return text.empty() ? "WORKFLOW must not be empty" : ""; });
  heal->add_option("--override", overrides, "Override brakes: limit, cooldown, pause, or some of them (limit,pause)")
      ->type_name("BRAKES");

  for (const auto& [verb, help, number] :
       {std::tuple(Verb::Approve, "Approve a healing that waits for approval", "that `healing status` shows"),
        {Verb::Reject, "Reject a healing that waits for approval", "that `healing status` shows"},
        {Verb::Cancel, "Cancel a healing or, as `jobs cancel` does, another job",
         "that `healing status` or `jobs` shows"}}) {
    CLI::App* const command = add_command(app, request, verb, std::string(to_string(verb)), help);
    command->add_option("id", request.names, fmt::format("The number {}, or the target or service", number))
        ->type_name("ID|NAME")
        ->required()
        ->expected(1);
    if (verb == Verb::Approve)
      command
          ->add_option(
              "--plan", request.plan,
              "The hash of the plan, as `healing status` shows it (default: at a terminal, show the plan and ask)")
          ->type_name("HASH")
          ->check([](const std::string& text) { return text.empty() ? "HASH must not be empty" : ""; });
  }

  CLI::App* healing = app.add_subcommand("healing", "Show what is being healed or held back, and how healings ended");
  healing->fallthrough();
  healing->require_subcommand(0, 1);
  healing->callback([&request, healing] {
    if (healing->get_subcommands().empty()) request.verb = Verb::HealingStatus;
  });
  add_command(*healing, request, Verb::HealingStatus, "status", "Show what is being healed or held back, and why");
  add_command(*healing, request, Verb::HealingReport, "report",
              "Show how often each workflow ran, and how its healings ended");
  add_command(*healing, request, Verb::HealingReset, "reset", "Close the open breaker of a workflow")
      ->add_option("workflow", request.workflow, "A workflow")
      ->type_name("WORKFLOW")
      ->required()
      ->check([](const std::string& text) { return text.empty() ? "WORKFLOW must not be empty" : ""; });
}

void take_number(Request& request) {
  const bool names_one = request.verb == Verb::Approve || request.verb == Verb::Reject || request.verb == Verb::Cancel;
  if (!names_one || request.names.size() != 1) return;
  const std::string& text = request.names.front();
  std::uint64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && rest == text.data() + text.size()) request.id = number;
}

std::string take_overrides(const std::string& text, Request& request) {
  static constexpr std::array<std::string_view, 3> kBrakes{"limit", "cooldown", "pause"};
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string word = to_lower(trim(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (std::ranges::find(kBrakes, word) == kBrakes.end()) {
      const std::string_view near = nearest_word(word, kBrakes);
      return fmt::format("--override takes limit, cooldown and pause, not \"{}\"{}", word,
                         near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near));
    }
    if (std::ranges::find(request.overrides, word) == request.overrides.end()) request.overrides.push_back(word);
  }
  return {};
}

}  // namespace healer
