// SPDX-License-Identifier: MIT
// The faults of the store in memory.
#include "store/memory_store.hpp"

#include <catch2/catch.hpp>

#include "tests/store/samples.hpp"
#include "tests/store/store_listener.hpp"

namespace memory_store_test {

using namespace healer;
using namespace healer::store;
using namespace healer::store::test;

TEST_CASE("held commits are durable when they are released, the oldest first", "[store]") {
  Listener reported;
  MemoryStore store(reported.callbacks());
  store.hold();
  for (engine::Sequence sequence = 1; sequence <= 5; ++sequence) store.submit(commit(sequence));
  CHECK(reported.all().empty());
  CHECK(store.held() == 5);
  CHECK(store.history({}).value().empty());
  CHECK(store.release(2) == 2);
  CHECK(reported.all() == std::vector<std::string>{"committed 2"});
  CHECK(store.load().value().last_sequence == 2);
  store.submit(commit(6));
  CHECK(store.held() == 4);
  CHECK(store.release() == 4);
  store.submit(commit(7));
  CHECK(reported.all() == std::vector<std::string>{"committed 2", "committed 6", "committed 7"});
}

TEST_CASE("a sick store in memory keeps commits until it is well", "[store]") {
  Listener reported;
  MemoryStore store(reported.callbacks());
  store.fall_sick("disk full");
  store.fall_sick("again");
  CHECK(reported.reason() == "disk full");
  store.submit(commit(1));
  store.flush();
  CHECK(store.load().value().last_sequence == 0);
  store.get_well();
  store.get_well();
  CHECK(reported.all() == std::vector<std::string>{"sick", "committed 1", "well"});
}

TEST_CASE("a kill loses what was not durable, and nothing else", "[store]") {
  Listener first, second;
  MemoryStore store(first.callbacks());
  store.submit(commit(1));
  store.hold();
  store.submit(commit(2));
  store.restart(second.callbacks());
  CHECK(store.load().value().last_sequence == 1);
  store.submit(commit(3));
  CHECK(first.all() == std::vector<std::string>{"committed 1"});
  CHECK(second.all() == std::vector<std::string>{"committed 3"});
}

TEST_CASE("the history in memory is bounded", "[store]") {
  MemoryStore store({}, 10);
  for (engine::Sequence sequence = 1; sequence <= 50; ++sequence) store.submit(commit(sequence));
  const auto records = store.history({}).value();
  REQUIRE(records.size() == 10);
  CHECK(records.front().sequence == 41);
}

}  // namespace memory_store_test
