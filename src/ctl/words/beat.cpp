// SPDX-License-Identifier: MIT
#include "ctl/words/beat.hpp"

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include <spdlog/fmt/fmt.h>

#include "util/text.hpp"

namespace healer {
namespace {

constexpr std::int64_t kMostStatus = 255;
constexpr std::array<std::string_view, 3> kWords{"start", "fail", "exit"};

}  // namespace

void add_beat(CLI::App& app, control::Request& request, BeatOptions& options) {
  CLI::App* beat = app.add_subcommand("beat", "Send a beat to a heartbeat: NAME [start | fail | exit STATUS]");
  beat->fallthrough();
  beat->callback([&request, &options] {
    request.verb = control::Verb::Beat;
    options.wanted = true;
  });
  beat->add_option("name", options.name, "A service that begins with `check heartbeat`")->type_name("NAME")->required();
  beat->add_option("word", options.words, "start: a run begins; fail, or exit and its status: it has ended so")
      ->type_name("WORD")
      ->expected(0, 2);
  beat->add_option("--text", options.text, "What to show with it, at most 4 kB")->type_name("TEXT");
  beat->footer(
      "Exit status: 0 the beat is on disk, 1 refused, 2 wrong usage or healerd cannot be reached.\n"
      "Who is no operator gives the token of the heartbeat in HEALER_TOKEN.");
}

std::string take_beat(const BeatOptions& options, control::Request& request) {
  if (!options.wanted) return {};
  request.names = {options.name};
  control::BeatSent& beat = request.beat.emplace();
  beat.text = options.text;
  if (const char* const token = std::getenv("HEALER_TOKEN"); token != nullptr) beat.token = token;
  if (beat.text.size() > control::kMaxBeatText)
    return fmt::format("--text: a text has at most {} bytes, not {}", control::kMaxBeatText, beat.text.size());
  if (options.words.empty()) return {};
  beat.word = to_lower(options.words.front());
  const bool is_exit = beat.word == "exit";
  if (!is_exit && beat.word != "start" && beat.word != "fail") {
    const std::string_view near = nearest_word(beat.word, kWords);
    return fmt::format("beat takes start, fail, or exit and a status, not \"{}\"{}", options.words.front(),
                       near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near));
  }
  if (options.words.size() != (is_exit ? 2U : 1U))
    return is_exit ? "exit: which status?" : fmt::format("beat {} takes no \"{}\"", beat.word, options.words.back());
  if (!is_exit) return {};
  const std::string& text = options.words.back();
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), beat.status);
  if (error != std::errc{} || rest != text.data() + text.size() || beat.status < 0 || beat.status > kMostStatus)
    return fmt::format("exit {}: not a status between 0 and {}", text, kMostStatus);
  return {};
}

}  // namespace healer
