// SPDX-License-Identifier: MIT
#include "engine/words/heartbeat.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <spdlog/fmt/fmt.h>

#include "engine/rules/service.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

constexpr std::array<std::string_view, 5> kBeatWords{"none", "good", "start", "fail", "exit"};

}  // namespace

std::string_view to_string(BeatWord word) { return kBeatWords[static_cast<std::size_t>(word)]; }

BeatWord beat_word_of(std::string_view name) {
  const auto found = std::ranges::find(kBeatWords, name);
  return found == kBeatWords.end() ? BeatWord::None : static_cast<BeatWord>(found - kBeatWords.begin());
}

std::string describe_beat(const Heartbeat& heartbeat) {
  if (heartbeat.word == BeatWord::Exit) return fmt::format("exit status {}", heartbeat.status);
  return std::string(to_string(heartbeat.word));
}

std::string describe_heartbeat(const HeartbeatSpec& spec, const BeatSeen& seen, HeartbeatIs::What asked) {
  const Heartbeat& heartbeat = seen.heartbeat;
  if (asked == HeartbeatIs::What::Missed && heartbeat.missed)
    return fmt::format(
        "no beat for {}{} (every {} within {})",
        format_duration(seen.silent < seconds{1} ? seen.silent : std::chrono::floor<seconds>(seen.silent)),
        heartbeat.word == BeatWord::None ? ", since its rule was loaded" : "", format_duration(spec.every),
        format_duration(spec.within));
  if (heartbeat.word == BeatWord::None) return "there was no beat yet";
  const std::string_view text = trim(heartbeat.text);
  return fmt::format("its last beat is {}{}{}", describe_beat(heartbeat), text.empty() ? "" : ": ", text);
}

}  // namespace healer::engine
