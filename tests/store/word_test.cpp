// SPDX-License-Identifier: MIT
// The word of a state file: made with it, and kept in it.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "store/state_image.hpp"
#include "tests/store/any_store.hpp"
#include "tests/store/raw.hpp"
#include "tests/store/store_listener.hpp"
#include "tests/support/paths.hpp"

namespace word_test {

using namespace healer;
using namespace healer::store;
using namespace healer::store::test;

namespace {

Hash128 word_of(const std::string& path) {
  auto store = SqliteStore::open(path, {});
  REQUIRE(store);
  return (*store)->load().value().word;
}

/// As healerctl reads it.
Hash128 word_read(const std::string& path) {
  auto reader = open_read_only(path);
  REQUIRE(reader);
  return (*reader)->load().value().word;
}

}  // namespace

TEST_CASE("a store keeps its word", "[store]") {
  Bench bench(GENERATE(false, true));
  const Hash128 word = bench.loaded().word;
  CHECK(word != Hash128{});
  bench.submit(commit(1));
  CHECK(bench.loaded().word == word);
}

TEST_CASE("each state file has a word of its own, which whoever reads it finds", "[store]") {
  healer::test::TemporaryDirectory directory;
  const Hash128 first = word_of(in(directory, "first"));
  const Hash128 second = word_of(in(directory, "second"));
  CHECK(first != second);
  CHECK(first.high != second.high);
  CHECK(first.low != second.low);
  CHECK(word_read(in(directory, "first")) == first);
  CHECK(word_of(in(directory, "first")) == first);
}

TEST_CASE("a state file without a word gets one when a daemon opens it, and can be read before", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  const Hash128 former = word_of(path);
  Raw{path}("DELETE FROM meta WHERE name LIKE 'word%'");  // as an older healer of the same schema has left it
  CHECK(word_read(path) == Hash128{});
  const Hash128 word = word_of(path);
  CHECK(word != Hash128{});
  CHECK(word != former);
  CHECK(word_of(path) == word);
  CHECK(word_read(path) == word);
}

TEST_CASE("a state file of an older schema gets a word", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  {
    std::ostringstream text;
    text << std::ifstream(healer::test::source_folder() + "/tests/store/kept_state.sql").rdbuf();
    Raw raw(path);
    raw("PRAGMA journal_mode = WAL");
    raw(text.str());
  }
  const Hash128 word = word_of(path);
  CHECK(word != Hash128{});
  CHECK(word_of(path) == word);
  CHECK(word_read(path) == word);
}

TEST_CASE("a state that is salvaged keeps its word where that can be read, and else gets another", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  const Hash128 word = word_of(path);
  const bool known = GENERATE(true, false);
  if (known) {
    Raw{path}("UPDATE meta SET value = -1 WHERE name = 'last_id'");
    Raw{path}("INSERT OR IGNORE INTO meta VALUES('last_id', -1)");
  } else {
    move_log(path);
    const std::size_t page = std::stoul(Raw{path}("SELECT rootpage FROM sqlite_master WHERE name = 'meta'"));
    auto bytes = healer::test::read_file(path);
    bytes.replace((page - 1) * 4096, 4096, std::string(4096, '\x55'));
    healer::test::write_file(path, bytes);
  }
  const Hash128 now = word_of(path);
  CHECK(damaged_files(path).size() == 1);
  CHECK(now != Hash128{});
  CHECK((now == word) == known);
  CHECK(word_of(path) == now);
}

TEST_CASE("the word that a store without a file has told is that of its file, as soon as there is one", "[store]") {
  healer::test::TemporaryDirectory directory;
  healer::test::write_file(in(directory, "in"), "a file where a directory should be");
  std::string path;
  Hash128 word;
  {
    Listener reported;
    auto store = SqliteStore::open(in(directory, "in") + "/state", reported.callbacks());
    REQUIRE(store);
    path = (*store)->path();
    REQUIRE(reported.wait_sick());
    word = (*store)->load().value().word;
    CHECK(word != Hash128{});
    CHECK((*store)->load().value().word == word);
    (*store)->submit(commit(1));
    std::filesystem::remove(in(directory, "in"));
    REQUIRE(reported.wait_well());
  }
  CHECK(word_of(path) == word);
}

TEST_CASE("a state file that is removed is written again with its word", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  Hash128 word;
  {
    auto store = SqliteStore::open(path, {});
    REQUIRE(store);
    word = (*store)->load().value().word;
    (*store)->submit(commit(1));
    (*store)->flush();
    std::filesystem::remove(path);
    (*store)->submit(commit(2));
    (*store)->flush();
  }
  CHECK(word_of(path) == word);
}

TEST_CASE("the image of a state has its word, and none where that has none", "[store]") {
  engine::SavedState state;
  state.word = GENERATE(Hash128{}, Hash128{.high = ~std::uint64_t{0}, .low = 5});
  const auto image = image_of(state);
  REQUIRE(image);
  const auto back = store::state_of(*image);
  REQUIRE(back);
  CHECK(back->word == state.word);
}

}  // namespace word_test
