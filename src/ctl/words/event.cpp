// SPDX-License-Identifier: MIT
#include "ctl/words/event.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <system_error>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "runtime/files/read_input.hpp"
#include "util/text.hpp"

namespace healer {
namespace {

constexpr std::string_view kAgain = "again";

}  // namespace

void add_event(CLI::App& app, control::Request& request, EventOptions& options) {
  CLI::App* event = app.add_subcommand("event", "Send an event for a `check event`: NAME FILE, or again ID");
  event->fallthrough();
  event->callback([&request] { request.verb = control::Verb::Event; });
  event->add_option("name", options.name, "A service that begins with `check event`, or again")
      ->type_name("NAME")
      ->required();
  event
      ->add_option("file", options.file,
                   "The body as its sender would post it (-: standard input), or the number "
                   "of an event")
      ->type_name("FILE")
      ->required();
  event->add_flag("--dry-run", options.dry_run, "Show what would become of it, and send nothing");
  event->footer(
      "Exit status: 0 it is on disk, or known already, 1 refused, 2 wrong usage or healerd cannot be reached.");
  CLI::App* events = app.add_subcommand("events", "List the last 1000 events that came, and what became of each");
  events->fallthrough();
  events->callback([&request] { request.verb = control::Verb::Events; });
  events->add_option("names", request.names, "Checks of events (default: all)")->type_name("NAME");
}

std::string take_event(const EventOptions& options, control::Request& request) {
  if (request.verb != control::Verb::Event) return {};
  control::EventSent& event = request.event.emplace();
  event.dry_run = options.dry_run;
  if (iequals(options.name, kAgain)) {
    const auto [rest, error] =
        std::from_chars(options.file.data(), options.file.data() + options.file.size(), event.again);
    if (error != std::errc{} || rest != options.file.data() + options.file.size() || event.again == 0)
      return fmt::format("event again {}: not a number that `healerctl events` shows", printable(options.file));
    return {};
  }
  request.names = {options.name};
  auto body = read_input(options.file);
  if (!body) return fmt::format("{}: {}", printable(options.file), body.error().what);
  if (body->size() > control::kMaxEventBody)
    return fmt::format("{}: an event has at most {} bytes, not {}", printable(options.file), control::kMaxEventBody,
                       body->size());
  event.body = std::move(*body);
  return {};
}

}  // namespace healer
