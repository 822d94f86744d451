// SPDX-License-Identifier: MIT
#include "web/monit/standing.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/engine.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/words/cause.hpp"

namespace healer::web::monit {
namespace {

using engine::EventKind;
using engine::Schedule;
using engine::ServiceBlock;
using engine::ServiceId;
using engine::ServiceState;
using State = engine::effect::Cause::State;

/// By EventKind, as in Monit's XML.
constexpr std::array<std::uint64_t, engine::kEventKinds> kBits{
    0x20000, 0x4000000, 0x8000000, 0x1,   0x20,      0x8000,   0x800,      0x1000,     0x40000000, 0x2000,
    0x100,   0x4000,    0x10000,   0x400, 0x800000,  0x200,    0x10000000, 0x20000000, 0x40,       0x40000,
    0x80000, 0x2,       0x2000000, 0x10,  0x1000000, 0x200000, 0x4,        0x8,        0x80,       0x400000};

struct Named {
  std::string_view word;
  Kind kind;
};
constexpr std::array kKinds{Named{"system", {5, "System", 0, 0}},       Named{"process", {3, "Process", 1, 1}},
                            Named{"file", {2, "File", 2, 4}},           Named{"fifo", {6, "Fifo", 3, 5}},
                            Named{"directory", {1, "Directory", 4, 6}}, Named{"filesystem", {0, "Filesystem", 5, 3}},
                            Named{"host", {4, "Remote Host", 6, 8}},    Named{"network", {8, "Network", 7, 7}},
                            Named{"program", {7, "Program", 8, 2}}};

static_assert(kKinds.size() < kKindPlaces);

/// The fields alone of `not every "* 0-5 * * *"`.
std::string fields_of(const std::string& written) {
  const std::size_t begin = written.find_first_of("\"'");
  if (begin == std::string::npos) return written;
  return written.substr(begin + 1, written.find(written[begin], begin + 1) - begin - 1);
}

std::optional<Every> every_of(const Scene& scene, ServiceId id, const Schedule& schedule) {
  switch (schedule.kind) {
    case Schedule::Kind::Cycles: {
      if (schedule.cycles <= 1) return std::nullopt;
      Every every{.type = 2, .number = schedule.cycles};
      const Duration cycle = scene.engine.graph()->settings->cycle_length();
      const Duration next = scene.engine.next_run(id, scene.now).value_or(cycle * schedule.cycles);
      const auto left = static_cast<std::uint32_t>((std::max(next, Duration{1}) + cycle - Duration{1}) / cycle);
      every.counter = schedule.cycles - std::min(left, schedule.cycles);
      return every;
    }
    case Schedule::Kind::Interval: return std::nullopt;
    case Schedule::Kind::Cron: return Every{.type = 3, .cron = fields_of(schedule.text)};
    case Schedule::Kind::NotCron: return Every{.type = 4, .cron = fields_of(schedule.text)};
  }
  return std::nullopt;
}

/// Whether it is not looked at in this cycle.
bool waits(const Scene& scene, const ServiceBlock& block, const std::optional<Every>& every) {
  const Schedule& schedule = *block.schedule;
  if (!every) return false;
  if (every->type != 2)
    return schedule.cron.matches(scene.daemon.civil(scene.now.wall)) != (schedule.kind == Schedule::Kind::Cron);
  return every->counter > 0 && (!block.is_run() || scene.since(MonitVersion::V6));
}

/// What stands, or has just happened.
struct Events {
  std::uint64_t failed = 0;
  std::uint64_t changed = 0;  ///< and matched
};

Events events_of(const Scene& scene, ServiceId id) {
  const ServiceBlock& block = scene.engine.graph()->at(id);
  const ServiceState& state = scene.engine.service(id);
  const auto rules = scene.engine.rules(id);
  Events events;
  bool asks_presence = false;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const engine::Rule& rule = block.rules[i];
    const std::uint64_t bit = bit_of(rules[i].past->event.value_or(rule->event));
    const engine::Tolerance& tolerance = rule->tolerance;
    for (const engine::Test& test : rule->condition->tests)
      asks_presence = asks_presence || std::holds_alternative<engine::Present>(test);
    const bool now = rules[i].window.failed(1) != 0;
    if (rule->mode != engine::Mode::Latched) {
      if (now && rules[i].window.failed(tolerance.window) >= tolerance.count) events.changed |= bit;
    } else if (rules[i].status == engine::RuleStatus::Failed ||
               (now && scene.since(MonitVersion::V6) && !rule->counts_restarts())) {
      events.failed |= bit;  // since Monit 6 also before its tolerance is met
    }
  }
  if (state.last && state.last->answer == engine::Answer::Absent && block.kind->presence && !asks_presence)
    events.failed |= bit_of(EventKind::NonExist);
  if (state.trouble->unknown) events.failed |= bit_of(EventKind::Data);
  if (!state.trouble->start_failure.empty()) events.failed |= bit_of(EventKind::Exec);
  return events;
}

std::vector<Word> words_of(const Events& events) {
  std::vector<Word> words;
  for (std::size_t i = 0; i < engine::kEventKinds; ++i) {
    const auto event = static_cast<EventKind>(i);
    const bool failed = (events.failed & bit_of(event)) != 0;
    if (!failed && (events.changed & bit_of(event)) == 0) continue;
    words.push_back({std::string(engine::event_text(event, failed ? State::Failed : State::Changed)),
                     failed ? Tone::Bad : Tone::Notice});
  }
  return words;
}

/// The job in which a service takes part; null: it is in none.
const engine::Job* job_of(const Scene& scene, const ServiceState& state) {
  if (!state.job) return nullptr;
  const auto job = scene.engine.jobs().find(state.job->number());
  return job == scene.engine.jobs().end() ? nullptr : &job->second;
}

/// What is being done to a service, by the number that Monit has for it. As there, of those that were named alone: of
/// others that are stopped or started for their sake it is not said.
std::pair<int, std::string_view> pending_of(const engine::Job* job, ServiceId id) {
  if (job == nullptr ||
      std::ranges::none_of(job->steps, [&](const engine::JobStep& step) { return step.named && step.service == id; }))
    return {0, {}};
  switch (job->kind) {
    case engine::ActionKind::Restart: return {2, "restart"};
    case engine::ActionKind::Stop: return {3, "stop"};
    case engine::ActionKind::Start: return {6, "start"};
    default: return {0, {}};
  }
}

/// Whether a restart has stopped a service, and has still to end: to Monit it begins anew then.
bool is_between(const engine::Job* job, ServiceId id) {
  if (job == nullptr || job->kind != engine::ActionKind::Restart) return false;
  for (std::size_t i = 0; i < job->position && i < job->steps.size(); ++i)
    if (job->steps[i].service == id && job->steps[i].kind == engine::Bringing::Stop) return true;
  return false;
}

bool is_initialising(const Scene& scene, ServiceId id, const ServiceState& state) {
  return state.initialising || is_between(job_of(scene, state), id);
}

}  // namespace

Scene::Scene(const control::Supervisor& supervisor)
    : daemon(supervisor),
      engine(supervisor.engine()),
      now(supervisor.now()),
      version(engine.graph()->settings->monit) {}

std::string_view version_of(MonitVersion version) {
  switch (version) {
    case MonitVersion::V5_33: return "5.33.0";
    case MonitVersion::V5_34: return "5.34.3";
    case MonitVersion::V6: return "6.0.0";
    case MonitVersion::V6_1: return "6.1.0";
  }
  return "";
}

Kind kind_of(const engine::CheckKind& kind) {
  const auto* const found = std::ranges::find(kKinds, kind.word, &Named::word);
  if (found != kKinds.end()) return found->kind;
  std::string_view title = kind.word;
  if (kind.word == "composite") title = "Composite";
  if (kind.word == "heartbeat") title = "Heartbeat";
  if (kind.word == "event") title = "Event";
  if (kind.word == "row") title = "Row";
  if (kind.word == "unit") title = "Unit";
  return {7, title, static_cast<int>(kKinds.size()), static_cast<int>(kKinds.size())};
}

std::uint64_t bit_of(EventKind event) { return kBits[static_cast<std::size_t>(event)]; }

std::string_view colour_of(Tone tone) {
  switch (tone) {
    case Tone::None: return "";
    case Tone::Plain: return "\033[0;39m";
    case Tone::Good: return "\033[0;92m";
    case Tone::Bad: return "\033[0;91m";
    case Tone::Notice: return "\033[0;93m";
    case Tone::Begun: return "\033[0;94m";
    case Tone::Waiting: return "\033[0;37m";
    case Tone::Absent: return "\033[0;90m";
  }
  return "";
}

std::string_view class_of(Tone tone) {
  switch (tone) {
    case Tone::Good: return "green-text";
    case Tone::Bad: return "red-text";
    case Tone::Notice: return "yellow-text";
    case Tone::Begun: return "blue-text";
    case Tone::Absent: return "gray-text";
    default: return "";
  }
}

std::string coloured(std::string_view text, Tone tone) {
  const std::string_view colour = colour_of(tone);
  return colour.empty() ? std::string(text) : std::string(colour) + std::string(text) + "\033[0m";
}

std::uint64_t status_of(const Scene& scene, ServiceId id) {
  if (!scene.engine.service(id).monitored) return 0;
  const Events events = events_of(scene, id);
  return events.failed | events.changed;
}

Standing standing_of(const Scene& scene, ServiceId id) {
  const ServiceBlock& block = scene.engine.graph()->at(id);
  const ServiceState& state = scene.engine.service(id);
  Standing standing;
  standing.every = every_of(scene, id, *block.schedule);
  std::tie(standing.pending, standing.action) = pending_of(job_of(scene, state), id);
  if (!state.monitored) {
    standing.monitor = 0;
    standing.words.push_back({"Not monitored", Tone::Notice});
    return standing;
  }
  const Events events = events_of(scene, id);
  standing.status = events.failed | events.changed;
  standing.hint = events.changed;
  const bool begins = is_initialising(scene, id, state);
  standing.monitor = begins ? 2 : 1;
  if (waits(scene, block, standing.every)) standing.monitor += 4;
  if (begins) {
    standing.words.push_back(monitoring_of(standing));
    return standing;
  }
  standing.told = state.last != nullptr;
  standing.words = words_of(events);
  if (standing.words.empty()) standing.words.push_back({"OK", Tone::Good});
  return standing;
}

Word monitoring_of(const Standing& standing) {
  if (standing.monitor == 0) return {"Not monitored", Tone::Notice};
  if ((standing.monitor & 4) != 0) return {"Waiting", Tone::Waiting};
  if ((standing.monitor & 2) != 0) return {"Initializing", Tone::Begun};
  return {"Monitored", Tone::None};
}

std::string status_text(const Standing& standing) {
  std::string text;
  for (const Word& word : standing.words) text += (text.empty() ? "" : " | ") + word.text;
  if (standing.pending != 0) text += " - " + std::string(standing.action) + " pending";
  return text;
}

Count count_of(const Scene& scene, ServiceId id) {
  const ServiceState& state = scene.engine.service(id);
  if (!state.monitored) return Count::Unmonitored;
  if (is_initialising(scene, id, state)) return Count::Initialising;
  const Events events = events_of(scene, id);
  return (events.failed | events.changed) == 0 ? Count::Up : Count::Down;
}

}  // namespace healer::web::monit
