// SPDX-License-Identifier: MIT
// Which rows of a list are in force, reading by reading.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "config/environment.hpp"
#include "config/lists/list_memory.hpp"
#include "engine/events/event.hpp"

namespace list_memory_test {

using namespace healer;
using namespace healer::config;

namespace {

ListReading reading(const std::vector<std::string>& names) {
  ListReading result;
  for (const std::string& name : names) result.rows.push_back({name, {}});
  return result;
}

std::vector<std::string> numbered(int first, int last) {
  std::vector<std::string> names;
  for (int i = first; i <= last; ++i) names.push_back("n" + std::to_string(i));
  return names;
}

std::string names_of(const ListMemory& memory) {
  std::string all;
  for (const ListRow& row : memory.rows()) all += (all.empty() ? "" : " ") + row.name;
  return all;
}

std::string text(const std::vector<ListRecord>& records) {
  std::string all;
  for (const ListRecord& record : records) all += (record.alerts ? "! " : "- ") + record.text + "\n";
  return all;
}

}  // namespace

TEST_CASE("a first reading is in force at once, and proven by three equal ones", "[lists]") {
  ListMemory memory;
  CHECK_FALSE(memory.known());
  CHECK(text(memory.read(reading({"b", "a"}), {}, {})).empty());
  CHECK(memory.known());
  CHECK(names_of(memory) == "b a");
  CHECK_FALSE(memory.proven());
  CHECK(text(memory.read(reading({"a", "b"}), {}, {})).empty());
  CHECK_FALSE(memory.proven());
  CHECK(text(memory.read(reading({"a", "b"}), {}, {})) == "- three equal readings: it is accepted\n");
  CHECK(memory.proven());
}

TEST_CASE("readings that differ prove nothing, a failure between them takes nothing away", "[lists]") {
  ListMemory memory;
  (void)memory.read(reading({"a", "b", "c"}), {}, {});
  (void)memory.read(reading({"a", "b", "c", "d"}), {}, {});
  (void)memory.read(reading({"a", "b", "c"}), {}, {});
  CHECK_FALSE(memory.proven());
  CHECK(text(memory.fail("timeout")) == "! could not be read: timeout\n");
  CHECK(text(memory.fail("timeout")).empty());
  (void)memory.read(reading({"a", "b", "c"}), {}, {});
  CHECK(text(memory.read(reading({"a", "b", "c"}), {}, {})) ==
        "- three equal readings: it is accepted\n- the row 'd' leaves\n");
  CHECK(memory.proven());
}

TEST_CASE("a person's word proves a list that is known", "[lists]") {
  ListMemory memory;
  memory.accept();
  CHECK_FALSE(memory.proven());
  (void)memory.read(reading({"a"}), {}, {});
  memory.accept();
  CHECK(memory.proven());
}

TEST_CASE("a reading of which more than half is new or gone is unproven", "[lists]") {
  ListMemory memory;
  (void)memory.read(reading({"a", "b", "c", "d"}), {}, {});
  memory.accept();
  (void)memory.read(reading({"a", "b"}), {}, {});  // half is gone
  CHECK(memory.proven());
  CHECK(text(memory.read(reading({"a", "b", "x", "y", "z"}), {}, {}))
            .starts_with("! more than half of it is new or gone"));
  CHECK_FALSE(memory.proven());
  memory.accept();
  (void)memory.read(reading({"a"}), {}, {});  // four of five are gone
  CHECK_FALSE(memory.proven());
}

TEST_CASE("a tenth leaves at a reading, at least one", "[lists]") {
  ListMemory memory;
  (void)memory.read(reading(numbered(1, 100)), {}, {});
  memory.accept();
  (void)memory.read(reading(numbered(1, 70)), {}, {});
  CHECK(memory.rows().size() == 90);
  (void)memory.read(reading(numbered(1, 70)), {}, {});
  CHECK(memory.rows().size() == 81);
  for (int i = 0; i < 20; ++i) (void)memory.read(reading(numbered(1, 70)), {}, {});
  CHECK(memory.rows().size() == 70);
  CHECK(memory.saved().missing.empty());

  ListMemory few;
  (void)few.read(reading({"a", "b", "c", "d"}), {}, {});
  few.accept();
  CHECK(text(few.read(reading({"a", "d"}), {}, {})).ends_with("- the row 'b' leaves\n"));
  CHECK(names_of(few) == "a d c");
  CHECK(few.is_missing("C"));
  (void)few.read(reading({"a", "d"}), {}, {});
  CHECK(names_of(few) == "a d");
}

TEST_CASE("nothing leaves by a reading that is not believed", "[lists]") {
  ListMemory memory;
  (void)memory.read(reading({"a", "b", "c"}), {}, {});
  memory.accept();
  for (int i = 0; i < 2; ++i) {
    (void)memory.read(reading({"a"}), {}, {});
    CHECK(names_of(memory) == "a b c");
    CHECK(memory.is_missing("b"));
  }
  (void)memory.read(reading({"a"}), {}, {});  // the third that is equal
  CHECK(names_of(memory) == "a c");
}

TEST_CASE("a row that is being healed does not leave", "[lists]") {
  ListMemory memory;
  (void)memory.read(reading({"a", "b"}), {}, {});
  memory.accept();
  for (int i = 0; i < 5; ++i) (void)memory.read(reading({"a"}), {"b"}, {"b"});
  CHECK(names_of(memory) == "a b");
  (void)memory.read(reading({"a"}), {}, {});  // it is over
  CHECK(names_of(memory) == "a");
}

TEST_CASE("a row that comes back was never gone", "[lists]") {
  ListMemory memory;
  (void)memory.read(reading({"a", "b", "c"}), {}, {});
  (void)memory.read(reading({"a"}), {"b", "c"}, {});
  CHECK(names_of(memory) == "a b c");
  (void)memory.read(reading({"a", "b", "c"}), {}, {});
  CHECK_FALSE(memory.is_missing("b"));
  CHECK(names_of(memory) == "a b c");
}

TEST_CASE("a failed row leaves after three good readings without it, with an alert", "[lists]") {
  ListMemory memory;
  (void)memory.read(reading({"a", "b"}), {}, {});
  memory.accept();
  (void)memory.read(reading({"a"}), {"b"}, {});
  (void)memory.read(reading({"a"}), {"b"}, {});
  (void)memory.fail("no");
  CHECK(names_of(memory) == "a b");
  CHECK(text(memory.read(reading({"a"}), {"b"}, {})) ==
        "! it is read again\n"
        "! the row 'b' is being removed although it has failed: it was missing from 3 readings\n");
  CHECK(names_of(memory) == "a");
}

TEST_CASE("an empty reading is never believed", "[lists]") {
  ListMemory memory;
  (void)memory.read(reading({"a", "b"}), {}, {});
  memory.accept();
  for (int i = 0; i < 10; ++i) (void)memory.read(reading({}), {}, {});
  CHECK(names_of(memory) == "a b");
  CHECK(memory.proven());
  CHECK(memory.saved().failure == "it was empty, which is not accepted");
  ListMemory fresh;
  CHECK(text(fresh.read(reading({}), {}, {})) == "! could not be read: it was empty, which is not accepted\n");
  CHECK_FALSE(fresh.known());
}

TEST_CASE("equal names and refused rows are told of; fields follow the reading", "[lists]") {
  ListMemory memory;
  ListReading some = reading({"a", "A"});
  some.refused.push_back({3, "line 3: '-' is not a valid row name"});
  CHECK(text(memory.read(some, {}, {})) ==
        "! a row is refused: line 3: '-' is not a valid row name\n! the row 'A' is refused: it is there already\n");
  CHECK(text(memory.read(some, {}, {})).empty());  // told once
  some.refused.front().why = "line 4: '-' is not a valid row name";
  CHECK(text(memory.read(some, {}, {})).starts_with("! a row is refused: line 4: '-' is not a valid row name\n"));
  ListReading other = reading({"a"});
  other.rows[0].fields = {{"ip", "10.0.0.1"}};
  (void)memory.read(other, {}, {});
  CHECK(memory.rows().at(0).fields == other.rows[0].fields);
  CHECK(memory.saved().equal == 4);
  some.refused.clear();
  CHECK(text(memory.read(some, {}, {})) == "! the row 'A' is refused: it is there already\n");  // once more
}

TEST_CASE("a row that leaves can be forgotten at once, another not", "[lists]") {
  ListMemory memory;
  (void)memory.read(reading({"a", "B", "c"}), {}, {});
  (void)memory.read(reading({"a"}), {"b", "c"}, {});
  CHECK_FALSE(memory.forget("a"));
  CHECK(memory.forget("b"));
  CHECK_FALSE(memory.forget("b"));
  CHECK(names_of(memory) == "a c");
  // What is saved is all of it.
  CHECK(ListMemory(memory.saved()).saved() == memory.saved());
}

TEST_CASE("it is remembered which rows were well when they were missing for the first time", "[lists]") {
  ListMemory memory;
  (void)memory.read(reading({"a", "b", "c", "d"}), {}, {});
  (void)memory.read(reading({"a", "d"}), {"b"}, {"d"});
  CHECK(memory.missing_well() == std::set<std::string>{"c"});
  (void)memory.read(reading({"a"}), {"b", "c"}, {"d"});
  CHECK(memory.missing_well() == std::set<std::string>{"c"});  // it failed later, and d is being healed
  (void)memory.read(reading({"a", "c"}), {"b", "c"}, {"d"});
  CHECK(memory.missing_well().empty());
}

TEST_CASE("a row that is well while it is missing has begun to fail, if it does, after that", "[lists]") {
  ListMemory memory;
  (void)memory.read(reading({"a", "b", "c", "d", "e"}), {}, {});
  (void)memory.read(reading({"a", "d", "e"}), {"b", "c"}, {});
  CHECK(memory.missing_well().empty());
  CHECK(memory.has_missing_ill());
  CHECK_FALSE(memory.see({"b", "c"}, {}));
  CHECK_FALSE(memory.see({"c"}, {"b"}));  // it is being healed
  CHECK(memory.see({"c"}, {}));           // it was healed
  CHECK(memory.missing_well() == std::set<std::string>{"b"});
  CHECK_FALSE(memory.see({"b", "c"}, {}));  // and fails again
  (void)memory.read(reading({"a", "d", "e"}), {"b"}, {});
  CHECK(memory.missing_well() == std::set<std::string>{"b", "c"});  // c is well at a reading
  CHECK_FALSE(memory.has_missing_ill());
  engine::event::ListsDoubted doubted;
  memory.doubt("NODE", doubted);
  CHECK(doubted.names == std::vector<std::string>{"node"});
  CHECK(doubted.missing == std::vector<engine::event::ListsDoubted::Row>{{"node", "b"}, {"node", "c"}});
}

}  // namespace list_memory_test
