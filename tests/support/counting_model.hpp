// SPDX-License-Identifier: MIT
// A model of Monit's counting, found by experiment on the real one: a list of outcomes in, the runs at which actions
// fire out. It is written in another way than the engine on purpose (lists, no bits).
#pragma once

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "engine/rules/graph.hpp"

namespace healer::test {

using namespace healer::engine;

struct Course {
  std::vector<bool> bad;
  Tolerance fail;
  std::optional<Tolerance> recovery;
  int repeat = 0;
  bool newer = false;  ///< as Monit 6 counts
};

inline Course random_course(std::mt19937& random, int runs) {
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  Course plan;
  const int bias = pick(1, 9);
  bool value = false;
  for (int left = 0; static_cast<int>(plan.bad.size()) < runs;) {
    if (bias == 9 && left-- <= 0) {
      value = !value;
      left = pick(1, 8);
    }
    plan.bad.push_back(bias == 9 ? value : pick(1, 9) <= bias);
  }
  const auto tolerance = [&](int most) {
    const int window = pick(1, most);
    const int count = pick(0, 1) == 0 ? window : pick(1, window);
    return Tolerance{static_cast<std::uint8_t>(count), static_cast<std::uint8_t>(window), Duration{0}};
  };
  plan.fail = tolerance(pick(0, 20) == 0 ? 64 : 7);
  if (pick(0, 3) != 0) plan.recovery = tolerance(6);
  plan.repeat = pick(0, 4);
  plan.newer = pick(0, 1) == 1;
  return plan;
}

inline std::string model(const Course& plan) {
  std::string fired;
  const Tolerance recovery = plan.recovery.value_or(Tolerance{});
  std::vector<bool> history;
  bool failed = false;
  int since = 0;
  const auto last = [&](std::size_t n) {
    return std::vector<bool>(history.end() - static_cast<std::ptrdiff_t>(std::min(n, history.size())), history.end());
  };
  for (std::size_t run = 1; run <= plan.bad.size(); ++run) {
    const bool bad = plan.bad[run - 1];
    history.push_back(bad);
    char what = 0;
    if (!failed) {
      const auto window = last(plan.fail.window);
      if (bad && std::ranges::count(window, true) >= plan.fail.count) {
        failed = true;
        since = 1;
        history = {true};
        what = 'r';
      }
    } else {
      const auto window = last(recovery.window);
      // What was before the failure counts as clear; but not to Monit 6.
      const auto before = plan.newer ? 0 : recovery.window - static_cast<int>(window.size());
      const auto clear = std::ranges::count(window, false) + before;
      if (!bad && clear >= recovery.count) {
        failed = false;
        history.clear();
        what = 'c';
      } else {
        ++since;
        if ((bad || plan.newer) && plan.repeat != 0 && since % plan.repeat == 0) what = 'r';
      }
    }
    if (what != 0) fired += what + std::to_string(run) + " ";
  }
  return fired;
}

}  // namespace healer::test
