// SPDX-License-Identifier: MIT
// Effects as text, with everything that is in them: two runs of an engine are the same where these texts are.
#pragma once

#include <string>
#include <variant>

#include <spdlog/fmt/fmt.h>

#include "engine/effect.hpp"

namespace healer::test {

using namespace healer::engine;

struct EffectText {
  std::string operator()(const effect::Measure& run) const;
  std::string operator()(const effect::CancelRun& run) const;
  std::string operator()(const effect::Cause& cause) const;
  std::string operator()(const effect::Exec& exec) const;
  std::string operator()(const effect::EndAction& end) const { return fmt::format("end {}", end.action.number()); }
  std::string operator()(const effect::Watch& watch) const {
    return fmt::format("watch {} every {}", watch.action.number(), format_duration(watch.every));
  }
  std::string operator()(const effect::Request& request) const {
    return fmt::format("request {} {} {}", request.request.number(), request.method, request.shown);
  }
  std::string operator()(const effect::EndRequest& end) const {
    return fmt::format("end request {}", end.request.number());
  }
  std::string operator()(const effect::Signal& signal) const;
  std::string operator()(const effect::SavedJob& job) const;
  std::string operator()(const effect::Adopt& adopt) const;
  std::string operator()(const effect::Alert& alert) const;
  std::string operator()(const effect::Note& note) const { return fmt::format("note {} {}", note.service, note.text); }
  std::string operator()(const effect::Reply& reply) const;
  std::string operator()(const RuleState& state) const;
  std::string operator()(const effect::Commit& commit) const;
};

inline std::string to_text(const Effect& effect) { return std::visit(EffectText{}, effect); }

}  // namespace healer::test
