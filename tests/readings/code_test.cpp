// SPDX-License-Identifier: MIT
// Evidence and items as bytes: what is judged comes back to the last bit, and no bytes do harm.
#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <string>

#include <catch2/catch.hpp>

#include "engine/judging/evaluate.hpp"
#include "engine/reload/diff.hpp"
#include "engine/rules/rule_set.hpp"
#include "readings/evidence_code.hpp"
#include "readings/item_code.hpp"
#include "readings/packed_text.hpp"
#include "readings/text_code.hpp"
#include "support/engine_world.hpp"
#include "support/rounds.hpp"

using namespace healer;
using namespace healer::engine;
using namespace healer::readings;

namespace {

class Chance {
 public:
  explicit Chance(std::uint32_t seed) : random_(seed) {}
  int pick(int most) { return static_cast<int>(random_() % static_cast<std::uint32_t>(most)); }
  bool one_in(int most) { return pick(most) == 0; }
  double figure() {
    switch (pick(6)) {
      case 0: return pick(5);
      case 1: return 1e6 * pick(1000);
      case 2: return -3.25;
      case 3: return std::numeric_limits<double>::infinity();
      case 4: return 9007199254740993.0 * 4;
      default: return static_cast<double>(random_()) / 7;
    }
  }

  Evidence evidence() {
    Evidence seen{.answer = static_cast<Answer>(pick(3)), .outcome = static_cast<Outcome>(pick(5))};
    seen.status = pick(3) - 1;
    seen.matches = one_in(2) ? 0 : std::uint64_t{1} << pick(64);
    seen.output = std::make_shared<const std::string>(one_in(2) ? "" : "some words");
    if (one_in(4)) return seen;
    auto facts = std::make_shared<Facts>();
    if (!one_in(3))
      facts->process =
          ProcessFacts{.pid = pick(9), .parent = 1, .uid = ~0U, .start_ticks = random_(), .attribute = "a"};
    for (int i = 0; i < 5; ++i) facts->metrics.set(static_cast<Metric>(pick(static_cast<int>(kMetrics))), figure());
    if (!facts->process && one_in(2))
      facts->path = PathFacts{.uid = ~0U,
                              .gid = static_cast<std::uint32_t>(pick(2)),
                              .permission = 0644,
                              .has_size = one_in(2),
                              .size = std::numeric_limits<std::int64_t>::max() - pick(2),
                              .accessed = pick(3),
                              .modified = std::numeric_limits<std::int64_t>::min(),
                              .changed = -pick(2),
                              .seen = pick(1000),
                              .links = pick(3)};
    if (one_in(2)) facts->attributes.push_back({Attribute::Pid, std::int64_t{pick(3)}});
    if (one_in(2)) facts->attributes.push_back({Attribute::Md5, std::string("abc")});
    if (one_in(3)) facts->further.edit().totals.push_back({Metric::TotalUpload, hours{1}, figure()});
    if (one_in(3)) facts->further.edit().lines = {"", "a line"};
    if (one_in(3)) facts->further.edit().left = {{7, 8, "left"}};
    if (one_in(3))
      facts->further.edit().values = {{".a", std::to_string(pick(3))}, {".b", std::nullopt, "this is no JSON"}};
    if (one_in(2))
      facts->further.edit().connections.push_back(
          {.reach = static_cast<Reach>(pick(4)),
           .name = "http",
           .text = "t",
           .response = std::chrono::microseconds{pick(100'000)},
           .event = one_in(2) ? std::optional(EventKind::Instance) : std::nullopt,
           .nameless = one_in(3)});
    seen.facts = std::move(facts);
    return seen;
  }

 private:
  std::mt19937 random_;
};

bool same(const ConnectionSeen& a, const ConnectionSeen& b) {
  return a.reach == b.reach && a.name == b.name && a.response == b.response && a.expires == b.expires &&
         a.event == b.event && a.nameless == b.nameless;
}

/// What rules can ask of it.
bool judged_alike(const Evidence& a, const Evidence& b) {
  if (a.answer != b.answer || a.outcome != b.outcome || a.status != b.status || a.matches != b.matches) return false;
  if ((a.facts == nullptr) != (b.facts == nullptr)) return false;
  if (a.facts == nullptr) return true;
  return a.facts->process == b.facts->process && a.facts->path == b.facts->path &&
         a.facts->metrics == b.facts->metrics && a.facts->attributes == b.facts->attributes &&
         a.facts->further->totals == b.facts->further->totals && a.facts->further->lines == b.facts->further->lines &&
         a.facts->further->left == b.facts->further->left && a.facts->further->values == b.facts->further->values &&
         std::ranges::equal(a.facts->further->connections, b.facts->further->connections, same);
}

}  // namespace

TEST_CASE("what a run has seen comes back to the last bit, whatever was seen before") {
  Chance chance(4);
  Evidence written = nothing_seen();
  Evidence read = nothing_seen();
  for (int i = 0; i < test::rounds(10'000); ++i) {
    const Evidence now = chance.one_in(3) ? written : chance.evidence();
    std::string bytes;
    if (write_difference(written, now, bytes)) {
      ByteReader in(bytes);
      read = read_difference(read, in);
      REQUIRE(in.ok());
      REQUIRE(in.at_end());
      written = now;
    } else {
      REQUIRE(bytes.empty());
    }
    REQUIRE(judged_alike(read, now));
  }
}

TEST_CASE("figures are kept in the order of their metrics, whatever comes and goes") {
  Chance chance(5);
  std::map<Metric, double> model;
  Metrics figures;
  for (int i = 0; i < test::rounds(10'000); ++i) {
    const auto metric = static_cast<Metric>(chance.pick(static_cast<int>(kMetrics)));
    if (chance.one_in(3)) {
      figures.reset(metric);
      model.erase(metric);
    } else {
      figures.set(metric, i);
      model[metric] = i;
    }
    REQUIRE(figures.get(metric).has_value() == model.contains(metric));
    std::map<Metric, double> all;
    for (const auto& [what, value] : figures.all()) all.emplace_hint(all.end(), what, value);
    REQUIRE(all == model);
    REQUIRE(std::ranges::is_sorted(figures.all(), {}, &Metrics::Figure::metric));
    REQUIRE(figures.all().size() == model.size());
  }
}

TEST_CASE("a run that has seen nothing new takes four bytes") {
  const auto graph = make_graph(test::rule_set({test::service("a", {}), test::service("b", {})}));
  ChunkWriter writer(graph);
  const auto ran = [&](std::int64_t at, std::uint32_t service) {
    std::string bytes;
    const Evidence seen{.output = std::make_shared<const std::string>("words")};
    writer.write({Duration{at}, WallTime{Duration{at}},
                  recorded::Ran{service, Duration{at - 5}, std::make_shared<const Evidence>(seen)}},
                 bytes);
    return bytes.size();
  };
  ran(1000, 0);
  ran(1001, 1);
  CHECK(ran(1031, 0) == 4);
  CHECK(ran(1031, 1) == 4);
}

TEST_CASE("what steps have saved comes back whole, as far as it counts") {
  const auto graph = make_graph(test::rule_set({test::service("a", {})}));
  const auto back = [&](const std::string& value) {
    ChunkWriter writer(graph);
    std::string bytes;
    writer.write({Duration{1}, WallTime{Duration{1}}, recorded::Begun{}}, bytes);
    writer.write({Duration{2}, WallTime{Duration{2}},
                  event::ActionEnded{.action = ActionId{7}, .output = value, .saved = {value, std::nullopt}}},
                 bytes);
    std::vector<recorded::Service> services;
    std::vector<recorded::Item> items;
    REQUIRE(ChunkReader(services).read(bytes, items));
    return std::get<event::ActionEnded>(items.back().what).saved;
  };
  const std::string longest(std::size_t{1} << 16, 'x');
  CHECK(back(longest) == std::vector<std::optional<std::string>>{longest, std::nullopt});
  CHECK(back(longest + "yy").at(0)->size() == longest.size() + 1);  // refused as it was
}

TEST_CASE("the text of rules comes back, its parts kept once, and no bytes do harm to it") {
  recorded::RulesText text{.path = "/etc/rules.d",
                           .files = {{"/etc/rules.d/a", "set daemon 30\n"}, {"/etc/rules.d/b", ""}},
                           .lists = {{"NODE", {"/bin/list", "all"}, "", {{"n1", {{"ip", "192.0.2.1"}}}, {"n2", {}}}},
                                     {"DISK", {}, "/disks", {}}}};
  const TextBytes bytes = bytes_of(text);
  std::map<std::string, std::string> parts;
  for (const TextPart& part : bytes.parts) parts[to_string(part.hash)] = part.bytes;
  const auto find = [&](const Hash128& hash) -> std::optional<std::string> {
    const auto found = parts.find(to_string(hash));
    return found == parts.end() ? std::nullopt : std::optional(found->second);
  };
  CHECK(text_of(bytes.contents, find) == text);
  // Another row changes one part.
  recorded::RulesText other = text;
  other.lists[0].rows.push_back({"n3", {}});
  std::size_t fresh = 0;
  for (const TextPart& part : bytes_of(other).parts) fresh += parts.contains(to_string(part.hash)) ? 0 : 1;
  CHECK(fresh == 1);
  CHECK(text_of(bytes_of(other).contents, find) == std::nullopt);
  std::mt19937 random(3);
  for (int i = 0; i < test::rounds(2000); ++i) {
    std::string bad = bytes.contents;
    bad[random() % bad.size()] = static_cast<char>(random());
    if (i % 3 == 0) bad.resize(random() % bad.size());
    static_cast<void>(text_of(bad, find));
  }
  parts.begin()->second += "x";
  CHECK(text_of(bytes.contents, find) == std::nullopt);
}

TEST_CASE("a path of an earlier recording, told as lists, is judged as it was") {
  Facts facts;
  facts.metrics.set(Metric::Age, 90);
  facts.metrics.set(Metric::Size, 5);
  facts.attributes = {{Attribute::Uid, std::int64_t{33}}, {Attribute::Timestamp, std::int64_t{1'795'000'000}}};
  Evidence seen{.output = std::make_shared<const std::string>(), .facts = std::make_shared<const Facts>(facts)};
  std::string bytes;
  REQUIRE(write_difference(nothing_seen(), seen, bytes));
  ByteReader in(bytes);
  const Evidence back = read_difference(nothing_seen(), in);
  CHECK(in.ok());
  CHECK(value_of(back, Metric::Age) == 90.0);
  CHECK(value_of(back, Metric::Size) == 5.0);
  CHECK(attribute_of(back, Attribute::Uid) == Value{33});
  CHECK(attribute_of(back, Attribute::Timestamp) == Value{1'795'000'000});
}

TEST_CASE("the text of rules that is kept packed comes back, and takes less meanwhile") {
  recorded::RulesText text{.path = "/etc/rules", .files = {{"/etc/a", ""}, {"/etc/b", "x"}}, .lists = {}};
  std::string& longest = text.files.emplace_back("/etc/c", "").text;
  for (int i = 0; i < 10'000; ++i) longest += "check file f" + std::to_string(i) + " with path /srv/f\n";
  const TextBytes bytes = bytes_of(text);
  const PackedText packed(bytes);
  const TextBytes back = packed.bytes();
  CHECK(packed.contents() == bytes.contents);
  CHECK(back.contents == bytes.contents);
  REQUIRE(back.parts.size() == bytes.parts.size());
  for (std::size_t i = 0; i < back.parts.size(); ++i) {
    CHECK(back.parts[i].hash == bytes.parts[i].hash);
    CHECK(back.parts[i].bytes == bytes.parts[i].bytes);
  }
  CHECK(packed.size() < bytes.size() / 4);
}

TEST_CASE("bytes that nobody has written do no harm") {
  std::mt19937 random(9);
  const auto graph = make_graph(test::rule_set({test::service("a", {})}));
  std::string good;
  ChunkWriter writer(graph);
  Chance chance(2);
  for (int i = 0; i < 50; ++i)
    writer.write({Duration{i}, WallTime{Duration{i}},
                  recorded::Ran{0, Duration{i}, std::make_shared<const Evidence>(chance.evidence())}},
                 good);
  for (int i = 0; i < test::rounds(5000); ++i) {
    std::string bytes = good;
    for (int n = 1 + chance.pick(4); n > 0; --n) bytes[random() % bytes.size()] = static_cast<char>(random());
    if (chance.one_in(3)) bytes.resize(random() % bytes.size());
    std::vector<recorded::Service> services;
    std::vector<recorded::Item> items;
    ChunkReader reader(services);
    static_cast<void>(reader.read(bytes, items));
    for (const recorded::Item& item : items)
      if (const auto* ran = std::get_if<recorded::Ran>(&item.what)) REQUIRE(ran->service < services.size());
  }
}
