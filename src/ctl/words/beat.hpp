// SPDX-License-Identifier: MIT
// healerctl beat: tells a daemon that what a heartbeat stands for lives, or was done.
#pragma once

#include <string>
#include <vector>

#include "control/wire.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace healer {

/// What its command line says.
struct BeatOptions {
  bool wanted = false;
  std::string name;
  std::vector<std::string> words;  ///< behind it
  std::string text;
};

void add_beat(CLI::App& app, control::Request& request, BeatOptions& options);

/// Puts the words, the text and HEALER_TOKEN into the request. What is wrong with them; empty where all is well.
[[nodiscard]] std::string take_beat(const BeatOptions& options, control::Request& request);

}  // namespace healer
