// SPDX-License-Identifier: MIT
#include "control/queries.hpp"

#include <catch2/catch.hpp>
#include <functional>
#include <set>
#include <string>

#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "store/memory_store.hpp"
#include "support/engine_world.hpp"

namespace queries_test {

using namespace healer;
using namespace healer::control;
using namespace healer::test;

namespace {

/// What may be asked of a daemon that is but an engine.
class Asked final : public Supervisor {
 public:
  explicit Asked(World& world) : world_(world) {}
  [[nodiscard]] const engine::Engine& engine() const override { return *world_.engine; }
  [[nodiscard]] const store::Store& store() const override { return store_; }
  [[nodiscard]] Instant now() const override { return world_.now; }
  [[nodiscard]] std::string version() const override { return "1.2.3"; }
  [[nodiscard]] CountsView counts() const override { return {.runs = 7}; }
  [[nodiscard]] const Statistics& statistics() const override { return statistics_; }
  [[nodiscard]] Vitals vitals() const override { return {}; }
  [[nodiscard]] std::optional<MailView> mail() const override { return std::nullopt; }
  [[nodiscard]] std::vector<ContactView> contacts() const override { return {}; }
  [[nodiscard]] std::vector<std::string> troubles() const override { return {"the disk is full"}; }
  [[nodiscard]] std::vector<std::string> damages() const override { return {}; }
  [[nodiscard]] std::optional<StaleView> stale() const override { return std::nullopt; }
  [[nodiscard]] std::string output_path(engine::ActionId) const override { return {}; }
  [[nodiscard]] bool hides_output(engine::ActionId) const override { return false; }
  [[nodiscard]] Secrets given_secrets(engine::ActionId) const override { return {}; }
  [[nodiscard]] std::string lists() const override { return {}; }
  [[nodiscard]] std::vector<std::string> unread_lists() const override { return {}; }
  [[nodiscard]] std::vector<std::string> refused_rows() const override { return {}; }
  std::optional<std::string> accept_list(const std::string&, const std::string&) override { return std::nullopt; }
  bool forget_row(const std::string&, const std::string&) override { return false; }
  [[nodiscard]] Surroundings surroundings() const override { return {}; }
  [[nodiscard]] CivilTime civil(WallTime when) const override { return utc_civil(when); }
  void read_log(std::size_t, LogRead) override {}
  [[nodiscard]] std::variant<std::string, Failure> open_login(const Asker&) override { return {}; }
  void submit(engine::event::Command) override {}
  void submit(engine::event::Arrived) override {}
  void check_token(const std::string&, std::string, std::function<void(bool)>) override {}
  void reveal(std::vector<std::string>, std::function<void(std::vector<std::string>)>) override {}
  void query(std::string, std::string, std::string, std::function<void(Result<std::string>)>) override {}
  void reload(bool, ReloadDone) override {}
  void diff(ReloadDone) override {}
  std::vector<std::string> quit() override { return {}; }

 private:
  World& world_;
  store::MemoryStore store_;
  Statistics statistics_;
};

RuleSet some_services() {
  std::vector<std::shared_ptr<ServiceBlock>> services;
  for (const char* name : {"delta", "Alpha", "echo", "bravo", "charlie"})
    services.push_back(service(name, {status_rule(Comparison::NotEqual, 0)}));
  services[0]->groups = services[2]->groups = {"Webs"};
  return rule_set(std::move(services));
}

struct Fixture {
  World world{some_services()};
  Asked asked{world};
  Queries queries{asked};

  Fixture() {
    world.start();
    world.advance(Duration{0});
    for (const ServiceId id : world.engine->graph()->order)
      world.observe(id, world.engine->graph()->at(id).name == "echo" ? 1 : 0);
  }
  [[nodiscard]] std::string names(const ServicesPage& page) const {
    std::string text;
    for (const ServiceId id : page.services) text += (text.empty() ? "" : " ") + queries.name(id).name;
    return text;
  }
  /// All pages, with " | " between them.
  [[nodiscard]] std::string pages(ServicesAsked what) const {
    std::string text;
    for (int i = 0; i < 10; ++i) {
      const ServicesPage page = queries.services(what);
      text += (i == 0 ? "" : " | ") + names(page);
      what.cursor = page.next;
      if (what.cursor.empty()) break;
    }
    return text;
  }
};

}  // namespace

TEST_CASE("services come in pages, in each order", "[control][queries]") {
  const Fixture fixture;
  CHECK(fixture.pages({.limit = 2}) == "delta Alpha | echo bravo | charlie");
  CHECK(fixture.pages({.order = ServiceOrder::Name, .limit = 2}) == "Alpha bravo | charlie delta | echo");
  CHECK(fixture.pages({.order = ServiceOrder::State, .limit = 2}) == "echo Alpha | bravo charlie | delta");
  CHECK(fixture.pages({.limit = 5}) == "delta Alpha echo bravo charlie");
  CHECK(fixture.pages({.cursor = "no cursor", .limit = 5}) == "delta Alpha echo bravo charlie");
}

TEST_CASE("services are filtered, and counted all the same", "[control][queries]") {
  const Fixture fixture;
  CHECK(fixture.pages({.filter = {.states = {"failed"}}}) == "echo");
  CHECK(fixture.pages({.filter = {.down = true}}) == "echo");
  CHECK(fixture.pages({.filter = {.groups = {"webs"}}}) == "delta echo");
  CHECK(fixture.pages({.filter = {.states = {"running"}, .groups = {"WEBS"}}}) == "delta");
  CHECK(fixture.pages({.filter = {.text = "L"}}) == "delta Alpha charlie");
  CHECK(fixture.pages({.filter = {.kinds = {"process"}}}).empty());
  const ServicesPage page = fixture.queries.services({.filter = {.text = "nobody"}});
  CHECK(page.services.empty());
  CHECK(page.totals.services == 5);
  CHECK(page.totals.failed == 1);
}

TEST_CASE("a page goes on where a service stood that a reload has taken away", "[control][queries]") {
  const Fixture fixture;
  const ServicesPage first = fixture.queries.services({.order = ServiceOrder::Name, .limit = 2});
  std::string cursor = first.next;
  cursor.replace(cursor.find("bravo"), 5, "bruno");  // as if it had been of one that is gone
  CHECK(fixture.names(fixture.queries.services({.order = ServiceOrder::Name, .cursor = cursor})) ==
        "charlie delta echo");
}

TEST_CASE("strangers learn nothing of what is supervised", "[control][queries]") {
  const Fixture fixture;
  CHECK(fixture.queries.daemon().troubles.size() == 1);
  CHECK(fixture.queries.daemon().counts.runs == 7);
  const DaemonView view = fixture.queries.daemon_for_strangers();
  CHECK(view.version == "1.2.3");
  CHECK(view.troubles.empty());
  CHECK(view.files.empty());
  CHECK(view.counts.runs == 0);
}

TEST_CASE("a part of the history is asked for in the words of people", "[control][queries]") {
  const Fixture fixture;
  CHECK(fixture.queries.history({.name = "echo"}).service == "echo");
  CHECK(fixture.queries.history({.name = "Healer"}).own);
  CHECK(fixture.queries.history({.name = "Healer"}).service.empty());
  const auto of_group = fixture.queries.history({.name = "webs"});
  CHECK(of_group.service == "echo");
  CHECK(of_group.others == std::vector<std::string>{"delta"});
  CHECK(fixture.queries.history({.name = "webs", .is_group = true}).others == of_group.others);
  CHECK(fixture.queries.history({.name = "echo", .is_group = true}).others.empty());
  CHECK(fixture.queries.history({}).limit == 100);
  CHECK(fixture.queries.history({.since = hours{1}}).limit == kMaxRecords);
  CHECK(fixture.queries.history({.limit = 1'000'000}).limit == kMaxRecords);
  const auto query = fixture.queries.history({.after = 5, .before = 9, .oldest_first = true, .limit = 2});
  CHECK((query.after == 5 && query.before == 9 && query.oldest && query.limit == 2));
}

}  // namespace queries_test
