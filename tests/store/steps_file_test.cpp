// SPDX-License-Identifier: MIT
// The healings under way beside the state file: what counts where that is older.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "store/sqlite_store.hpp"
#include "support/paths.hpp"
#include "tests/store/healings.hpp"
#include "tests/store/samples.hpp"
#include "tests/store/store_listener.hpp"

namespace steps_file_test {

using namespace healer;
using namespace healer::engine;
using namespace healer::store;
using namespace healer::store::test;

namespace {

/// One of that number that is under way.
Healing under_way(std::uint64_t id) {
  for (std::uint64_t seed = id * 1000;; ++seed) {
    Healing healing = AnyHealing(seed).healing(id);
    if (healing.has_place() && !healing.rehearses()) return healing;
  }
}

struct Place {
  healer::test::TemporaryDirectory directory;
  std::string path = (directory.path() / "state").string();
  std::vector<std::string> notes{};

  /// What a daemon finds; it commits this, then, and ends.
  SavedState daemon(effect::Commit commit = {}) {
    auto store = SqliteStore::open(path, {});
    REQUIRE(store);
    auto state = (*store)->load();
    REQUIRE(state);
    notes = (*store)->notes();
    if (commit.sequence > 0) (*store)->submit(std::move(commit));
    (*store)->flush();
    return std::move(*state);
  }
  void copy(const std::string& from, const std::string& to) const {
    std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing);
  }
};

effect::Commit of(Sequence sequence, std::vector<Healing> healings, std::vector<HealingId> ended = {}) {
  auto made = commit(sequence);
  made.healings = std::move(healings);
  made.ended_healings = std::move(ended);
  return made;
}

}  // namespace

TEST_CASE("a state that is older than the healings beside it goes by these", "[store]") {
  Place place;
  (void)place.daemon(of(5, {under_way(1), under_way(3)}));
  place.copy(place.path, place.path + ".older");
  (void)place.daemon(of(9, {under_way(2)}, {HealingId(1)}));
  SECTION("it is not older") {
    const SavedState state = place.daemon();
    CHECK(place.notes.empty());
    CHECK(state.healings.size() == 2);
    CHECK(state.damaged_healings.empty());
  }
  SECTION("it is") {
    place.copy(place.path + ".older", place.path);
    const SavedState state = place.daemon();
    REQUIRE(state.healings.size() == 2);
    CHECK(same(state.healings[0], under_way(2)));
    CHECK(same(state.healings[1], under_way(3)));
    REQUIRE(state.damaged_healings.size() == 1);
    CHECK(state.damaged_healings.front().id == HealingId(1));
    CHECK(state.last_sequence == 9);
    REQUIRE(place.notes.size() == 1);
    CHECK(place.notes.front().starts_with("the state file is older than " + place.path + ".steps"));
  }
  SECTION("it is gone") {
    std::filesystem::remove(place.path);
    const SavedState state = place.daemon();
    CHECK(state.healings.size() == 2);
    CHECK(state.damaged_healings.empty());
  }
}

TEST_CASE("healings beside the state are read as an older healer wrote them, which takes no newer ones", "[store]") {
  Place place;
  (void)place.daemon(of(5, {under_way(1)}));
  const std::string steps = place.path + ".steps";
  std::string text = healer::test::read_file(steps);
  REQUIRE(text.starts_with("healer steps 2 "));
  std::ofstream(steps) << text.replace(0, 15, "healer steps 1 ");
  std::filesystem::remove(place.path);
  CHECK(place.daemon().healings.size() == 1);
}

TEST_CASE("healings beside the state that are not whole, or a stranger's, say nothing", "[store]") {
  Place place;
  (void)place.daemon(of(5, {under_way(1)}));
  place.copy(place.path, place.path + ".older");
  (void)place.daemon(of(9, {under_way(2)}));
  place.copy(place.path + ".older", place.path);
  const std::string steps = place.path + ".steps";
  SECTION("cut") { std::filesystem::resize_file(steps, std::filesystem::file_size(steps) - 4); }
  SECTION("empty") { std::filesystem::resize_file(steps, 0); }
  SECTION("another kind") { std::ofstream(steps) << "healer steps 3 12\nend\n"; }
  SECTION("a symbolic link") {
    std::filesystem::rename(steps, steps + ".away");
    std::filesystem::create_symlink(steps + ".away", steps);
  }
  SECTION("none") { std::filesystem::remove(steps); }
  const SavedState state = place.daemon();
  REQUIRE(state.healings.size() == 1);
  CHECK(same(state.healings.front(), under_way(1)));
  CHECK(place.notes.empty());
}

}  // namespace steps_file_test
