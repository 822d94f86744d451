// SPDX-License-Identifier: MIT
// A daemon that is killed at any moment loses no commit that it was told is durable, and leaves no half of one.
#include <signal.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <random>
#include <thread>

#include "store/memory_store.hpp"
#include "store/sqlite_store.hpp"
#include "support/paths.hpp"
#include "support/rounds.hpp"
#include "tests/support/child.hpp"
#include "tests/torture/numbered.hpp"

namespace store_torture {

using namespace healer;
using namespace healer::store;
using namespace healer::store::test;

namespace {

/// The number in the last whole line.
Sequence last_line(const std::string& text) {
  const auto end = text.rfind('\n');
  if (end == std::string::npos) return 0;
  const auto begin = end == 0 ? std::string::npos : text.rfind('\n', end - 1);
  return std::stoull(text.substr(begin == std::string::npos ? 0 : begin + 1));
}

}  // namespace

TEST_CASE("a store killed a hundred times has every commit that it acknowledged, whole", "[torture]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  const auto output = in(directory, "acknowledged");
  std::mt19937 random(20261121);
  MemoryStore reference({}, 500);
  Sequence written = 0;
  const int kills = healer::test::rounds(100);
  int between = 0;  // kills between an acknowledgement and the next
  for (int round = 0; round < kills; ++round) {
    const auto acknowledged_before = last_line(healer::test::read_file(output));
    {
      healer::test::Child child({healer::test::build_folder() + "/store_torture_child", path}, output);
      if (round % 4 != 0) {
        REQUIRE(
            healer::test::eventually([&] { return last_line(healer::test::read_file(output)) > acknowledged_before; }));
      }
      std::this_thread::sleep_for(std::chrono::microseconds{random() % 20'000});
      child.send(SIGKILL);
      const int status = child.wait();
      REQUIRE(WIFSIGNALED(status));
      REQUIRE(WTERMSIG(status) == SIGKILL);
    }
    const auto acknowledged = last_line(healer::test::read_file(output));
    auto reader = open_read_only(path);
    if (!reader && acknowledged == 0) continue;  // killed before there was a file
    REQUIRE(reader);
    const auto state = (*reader)->load();
    REQUIRE(state);
    INFO("round " << round << ", acknowledged " << acknowledged << ", found " << state->last_sequence);
    REQUIRE(state->last_sequence >= acknowledged);
    if (state->last_sequence > acknowledged) ++between;
    while (written < state->last_sequence) reference.submit(numbered_commit(++written));
    REQUIRE(written == state->last_sequence);
    REQUIRE((describe(*state) == describe(*reference.load())));
    REQUIRE(state->last_id == reference.load()->last_id);
    HistoryQuery query;
    query.limit = 200;
    REQUIRE(((*reader)->history(query).value() == reference.history(query).value()));
  }
  WARN(written << " commits over " << kills << " kills; " << between
               << " kills came between a commit and its acknowledgement");
  CHECK(written >= static_cast<Sequence>(kills) * 3 / 4);  // one before most kills, and more on a machine that is quick
}

}  // namespace store_torture
