// SPDX-License-Identifier: MIT
#include "replay/deed.hpp"

#include <array>

#include <spdlog/fmt/fmt.h>

namespace healer::engine {
namespace {

constexpr std::string_view kByRuleText = "unmonitored by rule";
constexpr std::array<std::string_view, 5> kDeedKinds{"alert", "exec", "job", "unmonitor", "heal"};

void add_deeds(std::vector<Deed>& deeds, const effect::Exec& exec) {
  // Steps of jobs and healings are told by these.
  if (exec.job != JobId{} || exec.healing != HealingId{} || exec.foreground) return;
  deeds.push_back({.when = exec.cause->when,
                   .service = exec.cause->service,
                   .kind = Deed::Kind::Exec,
                   .text = fmt::format("{}", fmt::join(exec.command.arguments, " "))});
}

void add_deeds(std::vector<Deed>& deeds, const effect::Alert& alert) {
  const effect::Cause& cause = *alert.cause;
  if (cause.event == EventKind::Instance) return;  // of healer itself: no rule decides it
  deeds.push_back({.when = cause.when, .service = cause.service, .kind = Deed::Kind::Alert, .text = cause.event_text});
}

void add_deeds(std::vector<Deed>& deeds, const effect::Commit& commit) {
  for (const Record& record : commit.records) {
    Deed::Kind kind{};
    switch (record.kind) {
      case RecordKind::JobStarted: kind = Deed::Kind::Job; break;
      case RecordKind::Unmonitored: kind = Deed::Kind::Unmonitor; break;
      case RecordKind::HealingBegun: kind = Deed::Kind::Heal; break;
      default: continue;
    }
    deeds.push_back({.when = record.when, .service = record.service, .kind = kind, .text = record.text});
    // Why, an earlier healer did not tell.
    if (std::string& text = deeds.back().text; kind == Deed::Kind::Unmonitor && text.starts_with(kByRuleText))
      text.resize(kByRuleText.size());
  }
}

}  // namespace

std::string_view to_string(Deed::Kind kind) { return kDeedKinds[static_cast<std::size_t>(kind)]; }

std::vector<Deed> deeds_of(const Effect& effect) {
  std::vector<Deed> deeds;
  if (const auto* exec = std::get_if<effect::Exec>(&effect)) add_deeds(deeds, *exec);
  if (const auto* alert = std::get_if<effect::Alert>(&effect)) add_deeds(deeds, *alert);
  if (const auto* commit = std::get_if<effect::Commit>(&effect)) add_deeds(deeds, *commit);
  return deeds;
}

}  // namespace healer::engine
