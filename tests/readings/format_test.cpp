// SPDX-License-Identifier: MIT
// What is written today is byte for byte what was written before: recordings of earlier versions are read for ever.
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <catch2/catch.hpp>

#include "engine/reload/diff.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/rule_set.hpp"
#include "readings/evidence_code.hpp"
#include "readings/item_code.hpp"
#include "readings/text_code.hpp"
#include "support/engine_world.hpp"
#include "support/rounds.hpp"
#include "util/hash.hpp"

using namespace healer;
using namespace healer::engine;
using namespace healer::readings;

namespace {

/// Items of every kind, with every field of theirs, the same for a seed on every machine.
class Drawn {
 public:
  explicit Drawn(std::uint32_t seed) : random_(seed) {}

  std::uint32_t below(std::uint32_t most) { return static_cast<std::uint32_t>(random_() % most); }
  bool one_in(std::uint32_t most) { return below(most) == 0; }

  recorded::Item item() {
    mono_ += Duration{below(100) == 0 ? -5'000 : static_cast<int>(below(3'000))};
    const Duration slewed{static_cast<int>(below(60)) - 30};
    return {mono_, WallTime{Duration{1'795'235'040'000} + mono_ + slewed}, what()};
  }
  std::shared_ptr<const Graph> graph() {
    std::vector<std::shared_ptr<ServiceBlock>> blocks;
    for (const char* const name : {"a", "b", "c", "d"}) {
      if (one_in(5)) continue;
      blocks.push_back(test::service(name, {}));
      if (one_in(2)) blocks.back()->program->patterns = {text(), "x"};
      if (one_in(2)) blocks.back()->program->filters = {".a"};
    }
    return make_graph(test::rule_set(std::move(blocks)));
  }
  recorded::RulesText rules_text() {
    recorded::RulesText rules{.path = text(), .files = {}, .lists = {}};
    for (auto n = below(3); n > 0; --n) rules.files.push_back({text(), text()});
    for (auto n = below(3); n > 0; --n) {
      rules.lists.push_back({text(), texts(), text(), {}});
      for (auto rows = below(3); rows > 0; --rows) rules.lists.back().rows.push_back({text(), pairs()});
    }
    return rules;
  }

 private:
  std::string text() {
    switch (below(12)) {
      case 0: return std::string(250 + below(10), 'm');
      case 1: return one_in(20) ? std::string((std::size_t{1} << 16) - 1 + below(4), 'l') : "\n";
      case 2: return {};
      default: return "text " + std::to_string(below(50));
    }
  }
  std::vector<std::string> texts() {
    std::vector<std::string> all;
    for (auto n = below(4); n > 0; --n) all.push_back(text());
    return all;
  }
  std::vector<std::pair<std::string, std::string>> pairs() {
    std::vector<std::pair<std::string, std::string>> all;
    for (auto n = below(4); n > 0; --n) all.emplace_back("EVENT." + std::to_string(n), text());
    return all;
  }
  std::vector<std::optional<std::string>> values() {
    std::vector<std::optional<std::string>> all;
    for (auto n = below(4); n > 0; --n) all.push_back(one_in(3) ? std::nullopt : std::optional(text()));
    return all;
  }
  std::uint64_t number() { return one_in(9) ? ~std::uint64_t{0} - below(3) : below(300); }
  std::int64_t whole() {
    if (one_in(9)) return one_in(2) ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<int>::max();
    return static_cast<std::int64_t>(below(400)) - 100;
  }
  Duration span() { return Duration{static_cast<int>(below(100'000)) - 100}; }
  WallTime wall() { return WallTime{Duration{1'795'000'000'000} + span()}; }
  double figure() {
    switch (below(7)) {
      case 0: return -3.25;
      case 1: return std::numeric_limits<double>::infinity();
      case 2: return 9007199254740993.0 * 4;
      case 3: return -0.0;
      case 4: return below(1000) / 8.0;
      default: return below(100'000);
    }
  }
  Outcome outcome() { return static_cast<Outcome>(below(5)); }
  recorded::Number service() { return below(5); }

  ConnectionSeen connection() {
    ConnectionSeen seen{.reach = static_cast<Reach>(below(4)), .name = "ping " + std::to_string(below(2))};
    seen.text = text();
    seen.sentence = text();
    if (one_in(3)) seen.in_time = text();
    seen.address = text();
    if (one_in(2)) seen.response = std::chrono::microseconds{below(100'000)};
    if (one_in(2)) seen.expires = wall();
    if (one_in(4)) seen.event = static_cast<EventKind>(below(4));
    seen.nameless = one_in(5);
    return seen;
  }
  FurtherFacts further() {
    FurtherFacts facts;
    for (auto n = below(3); n > 0; --n) facts.totals.push_back({static_cast<Metric>(below(40)), span(), figure()});
    if (one_in(2)) facts.lines = texts();
    if (facts_ && one_in(2)) facts.connections = facts_->further->connections;
    for (ConnectionSeen& one : facts.connections) {
      one.sentence = text();
      if (one_in(2)) one.response = std::chrono::microseconds{below(100'000)};
    }
    for (auto n = below(3); n > 0; --n) facts.connections.push_back(connection());
    for (auto n = below(3); n > 0; --n) facts.left.push_back({whole(), number(), text()});
    facts.left_by = ActionId{number()};
    for (auto n = below(3); n > 0; --n) {
      const bool is_known = one_in(2);
      facts.values.push_back({".f" + text(), is_known ? std::optional(text()) : std::nullopt, is_known ? "" : text()});
    }
    if (one_in(3)) facts.row = RowSeen{wall()};
    return facts;
  }
  std::shared_ptr<const Facts> facts() {
    auto facts = std::make_shared<Facts>(facts_ ? *facts_ : Facts{});
    if (one_in(2)) {
      facts->process.reset();
      facts->path.reset();
      if (one_in(2))
        facts->process = ProcessFacts{.pid = whole(),
                                      .parent = whole(),
                                      .uid = below(3) - 1,
                                      .euid = below(2000),
                                      .gid = below(2000),
                                      .start_ticks = number(),
                                      .zombie = one_in(2),
                                      .attribute = text(),
                                      .file = whole(),
                                      .younger = one_in(2),
                                      .named_by = whole(),
                                      .spared = one_in(2)};
      else
        facts->path = PathFacts{.uid = below(3) - 1,
                                .gid = below(3),
                                .permission = below(01000),
                                .has_size = one_in(2),
                                .size = whole(),
                                .accessed = whole(),
                                .modified = whole(),
                                .changed = whole(),
                                .seen = whole(),
                                .links = whole()};
    }
    for (auto n = below(5); n > 0; --n) {
      const auto metric = static_cast<Metric>(below(40));  // before the figure, with every compiler
      facts->metrics.set(metric, figure());
    }
    if (one_in(2)) facts->metrics.reset(static_cast<Metric>(below(40)));
    if (one_in(3)) {
      facts->attributes.clear();
      if (one_in(2)) facts->attributes.push_back({Attribute::Pid, whole()});
      if (one_in(2)) facts->attributes.push_back({Attribute::Md5, text()});
    }
    if (one_in(2)) facts->further = one_in(4) ? FurtherFacts{} : further();
    return facts;
  }
  std::shared_ptr<const Evidence> evidence() {
    if (!one_in(4)) {
      last_.answer = static_cast<Answer>(below(3));
      last_.outcome = outcome();
      last_.status = whole();
      last_.matches = number();
    }
    last_.output = std::make_shared<const std::string>(text());
    if (one_in(3)) facts_ = one_in(4) ? nullptr : facts();
    last_.facts = facts_;
    return std::make_shared<const Evidence>(last_);
  }

  event::Command command() {
    event::Command command{.kind = static_cast<event::Command::Kind>(below(15)), .services = {}, .by = {}};
    switch (below(4)) {
      case 0: command.by = ByRule{}; break;
      case 1: command.by = ByHealing{HealingId{number()}}; break;
      case 2: command.by = ByPerson{one_in(2) ? "rule" : "root"}; break;
      default: break;
    }
    if (one_in(2)) command.until = wall();
    command.reason = text();
    command.job = JobId{number()};
    command.workflow = text();
    if (one_in(2)) command.plan = text();
    command.overrides = {.limit = one_in(2), .cooldown = one_in(2), .pause = one_in(2)};
    command.everything = one_in(2);
    if (one_in(2)) command.groups = texts();
    return command;
  }
  recorded::Begun begun() {
    recorded::Begun begun{.version = text(), .host = text(), .goes_on = one_in(2)};
    begun.made = {number(), span(), wall()};
    begun.first = span();
    if (one_in(2)) begun.cycle = Duration{1 + below(1000)};
    begun.shadow = one_in(2);
    begun.rules = graph();
    if (one_in(2)) begun.number = below(1000);
    return begun;
  }
  recorded::What told() {
    recorded::Told told{.service = service(), .key = text(), .state = text(), .document = text()};
    told.fields = pairs();
    told.again = number();
    return told;
  }
  recorded::What of_action() {
    const ActionId action{number()};
    switch (below(5)) {
      case 0: return recorded::Launched{action, hash128(text())};
      case 1: return event::ActionStarted{action, whole(), number()};
      case 2: return event::ActionReady{action};
      case 3: {
        event::ActionEnded ended{.action = action, .outcome = outcome(), .status = whole(), .unseen = one_in(2)};
        ended.elapsed = span();
        ended.output = text();
        ended.saved = values();
        ended.left = whole();
        ended.left_command = text();
        return ended;
      }
      default: {
        event::Answered answered{.request = action, .kind = static_cast<event::Answered::Kind>(below(3))};
        answered.status = static_cast<std::uint16_t>(below(70'000));
        answered.why = text();
        answered.elapsed = span();
        answered.values = values();
        answered.shown = values();
        answered.saved = values();
        return answered;
      }
    }
  }
  recorded::What what() {
    switch (below(20)) {
      case 0: return recorded::Woke{one_in(2) ? std::optional(mono_ - span()) : std::nullopt};
      case 1:
        return recorded::Died{service(), whole(), number(),
                              one_in(2) ? std::optional(ProcessEnd{outcome(), whole()}) : std::nullopt};
      case 2: return event::NotSignalled{whole(), number(), static_cast<int>(below(70)) - 5, text()};
      case 3: {
        recorded::Ordered ordered{command(), {}};
        for (auto n = below(4); n > 0; --n) ordered.services.push_back(service());
        return ordered;
      }
      case 4: {
        event::ListsDoubted doubted{texts()};
        for (auto n = below(3); n > 0; --n) doubted.missing.push_back({text(), text()});
        return doubted;
      }
      case 5: return recorded::Sick{text()};
      case 6: return one_in(4) ? recorded::What{begun()} : recorded::Gap{text()};
      case 7: {
        recorded::Reloaded reloaded{.rules = one_in(4) ? nullptr : graph(), .edited = one_in(2)};
        if (one_in(2)) reloaded.number = below(1000);
        return reloaded;
      }
      case 8: return event::Stopping{one_in(2)};
      case 9: return ActionRecord{wall(), text(), static_cast<ActionRecord::Kind>(below(5)), text()};
      case 10: return recorded::Heard{service(), text(), whole(), text()};
      case 11: return told();
      case 12:
      case 13:
      case 14: return of_action();
      default: return recorded::Ran{service(), mono_ - span(), one_in(8) ? nullptr : evidence()};
    }
  }

  std::mt19937 random_;
  Duration mono_{3'600'000};
  Evidence last_ = nothing_seen();
  std::shared_ptr<const Facts> facts_;
};

/// All that is written of as many items.
std::string written(std::uint32_t seed, int items) {
  Drawn drawn(seed);
  ChunkWriter writer(drawn.graph());
  std::string bytes;
  for (int i = 0; i < items; ++i) writer.write(drawn.item(), bytes);
  return bytes;
}

}  // namespace

// Where these fail, what earlier versions have recorded is read as something else. What is new is not drawn, and
// leaves the numbers here as they are.

TEST_CASE("what is written of a day is byte for byte as it ever was") {
  const std::string bytes = written(2, 4000);
  CHECK(bytes.size() == 1'493'632);
  CHECK(to_string(hash128(bytes)) == "e7e427b227100f87643b0648ddf4f94d");
  std::vector<recorded::Service> services;
  std::vector<recorded::Item> items;
  CHECK(ChunkReader(services).read(bytes, items));
  CHECK(items.size() == 3485);  // some are nobody's
}

TEST_CASE("what is written of the text of rules is byte for byte as it ever was") {
  Drawn drawn(2);
  std::string bytes;
  for (int i = 0; i < 200; ++i) {
    const TextBytes text = bytes_of(drawn.rules_text());
    bytes += text.contents;
    for (const TextPart& part : text.parts) bytes += part.bytes;
  }
  CHECK(bytes.size() == 387'118);
  CHECK(to_string(hash128(bytes)) == "2f8c8947583b2a5ebcc5636660a97b5a");
}

TEST_CASE("bytes of items of any kind that nobody has written do no harm") {
  std::mt19937 random(9);
  for (int i = 0; i < test::rounds(3000); ++i) {
    std::string bytes = written(100 + static_cast<std::uint32_t>(i % 30), 40);
    for (auto n = random() % 4; n <= 4; ++n) bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 3 == 0) bytes.resize(random() % bytes.size());
    std::vector<recorded::Service> services;
    std::vector<recorded::Item> items;
    static_cast<void>(ChunkReader(services).read(bytes, items));
    for (const recorded::Item& item : items) {
      if (const auto* ran = std::get_if<recorded::Ran>(&item.what)) REQUIRE(ran->service < services.size());
      if (const auto* ordered = std::get_if<recorded::Ordered>(&item.what))
        for (const recorded::Number one : ordered->services) REQUIRE(one < services.size());
    }
  }
}
