// SPDX-License-Identifier: MIT
#include "daemon/publisher.hpp"

#include <algorithm>
#include <exception>

#include <spdlog/fmt/fmt.h>

namespace healer {

void Publisher::publish(const Happening& what) {
  std::vector<std::string> texts;
  for (Listener& listener : observers_) {
    try {
      listener.observer->see(what);
    } catch (const std::exception& failure) {
      listener.observer = nullptr;
      texts.push_back(
          fmt::format("{} is told nothing any more, until healerd is restarted: {}", listener.name, failure.what()));
    }
  }
  if (texts.empty()) return;
  std::erase_if(observers_, [](const Listener& listener) { return listener.observer == nullptr; });
  for (const std::string& text : texts) dropped_(text);
}

}  // namespace healer
