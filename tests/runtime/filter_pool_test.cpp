// SPDX-License-Identifier: MIT
// Filters that take their time, beside others.
#include <cerrno>
#include <functional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "runtime/filter_pool.hpp"
#include "runtime/loop.hpp"
#include "support/child.hpp"
#include "support/paths.hpp"
#include "support/processes.hpp"

using namespace healer;
using namespace healer::runtime;

namespace {

constexpr const char* kSlowFilter = "last(range(1e18))";

/// The helpers of questions that nobody waits for any more end in threads of their own.
struct NoChildLeft {
  ~NoChildLeft() {
    healer::test::eventually([] { return !healer::test::has_children(); });
  }
};

class Filters {
 public:
  explicit Filters(Duration slow = 3 * JqHelper::kPatience / 4)
      : pool_(loop_, healer::test::build_folder() + "/healerd", slow) {}
  void ask(const std::string& filter, const std::string& whose, std::function<void(const Result<std::string>&)> then) {
    ++asked_;
    pool_.query({filter, "{\"a\": 7}"}, whose, [this, then = std::move(then)](const Result<std::string>& value) {
      then(value);
      if (--asked_ == 0) loop_.stop();
    });
  }
  void run() { loop_.run(); }
  void stop() { loop_.stop(); }

 private:
  NoChildLeft last_;
  Loop loop_;
  FilterPool pool_;
  unsigned asked_ = 0;
};

/// Asks about a document that takes no time, so often, one after the other; how often it was answered by then. Where
/// the machine is so slow that its helper was given up, it asks again.
unsigned ask_quickly(Filters& filters, unsigned times) {
  unsigned quick = 0;
  std::function<void()> ask = [&] {
    filters.ask(".a", "quick", [&](const auto& value) {
      if (value) {
        CHECK(*value == "7");
        ++quick;
      } else {
        CHECK(value.error().code == EAGAIN);
      }
      if (quick < times)
        ask();
      else
        filters.stop();
    });
  };
  ask();
  filters.run();
  return quick;
}

}  // namespace

TEST_CASE("documents that take their time hold up no other's", "[probe]") {
  Filters filters;
  unsigned slow = 0;
  const auto ask_slow = [&](unsigned questions) {
    for (unsigned i = 0; i < 6 * questions; ++i)
      filters.ask(kSlowFilter, "slow" + std::to_string(i % 6), [&](const auto& value) {
        CHECK_FALSE(value);
        ++slow;
      });
  };
  ask_slow(1);
  filters.run();
  CHECK(slow == 6);

  // From now on they are known: two are under way, and the others' turn comes after all that is quick.
  constexpr unsigned kEach = 30;  // two minutes of questions
  ask_slow(kEach);
  CHECK(ask_quickly(filters, 20) == 20);
  CHECK(slow < 6 + 6 * kEach);
}

TEST_CASE("where all are slow, the one that uses the least time does not wait for each of the others", "[probe]") {
  Filters filters{Duration{0}};
  unsigned slow = 0;
  for (unsigned i = 0; i < 180; ++i)
    filters.ask(kSlowFilter, "slow" + std::to_string(i % 6), [&](const auto&) { ++slow; });
  CHECK(ask_quickly(filters, 20) == 20);
  // It waits for a helper, of two: after some three of the others. Were all served in turn, after six.
  CHECK(slow < 6 * 20 * 3 / 4);
}

TEST_CASE("the questions about one document are asked in their order", "[probe]") {
  Filters filters;
  std::vector<std::string> answers;
  for (const char* const filter : {"1", "2", "empty", "3"})
    filters.ask(filter, "one", [&](const auto& value) { answers.push_back(value ? *value : value.error().what); });
  CHECK(answers.empty());
  filters.run();
  CHECK(answers == std::vector<std::string>{"1", "2", "the filter finds no value", "3"});
}
