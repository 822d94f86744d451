// SPDX-License-Identifier: MIT
#include "control/readers/record_tail.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace record_tail_test {

using namespace healer;
using namespace healer::control;

namespace {

engine::Record record(engine::RecordNumber id, const std::string& text = "text") {
  return {.id = id, .sequence = 10 * id, .service = "web", .text = text};
}

void add(RecordTail& tail, engine::RecordNumber from, engine::RecordNumber to, const std::string& text = "text") {
  std::vector<engine::Record> records;
  for (; from <= to; ++from) records.push_back(record(from, text));
  tail.add(records);
}

/// The numbers of all that may be told after that one.
std::vector<engine::RecordNumber> after(RecordTail& tail, engine::RecordNumber position) {
  std::vector<engine::RecordNumber> numbers;
  while (const auto* const entry = tail.next(position)) numbers.push_back(position = entry->record.id);
  return numbers;
}

using Numbers = std::vector<engine::RecordNumber>;

}  // namespace

TEST_CASE("the tail tells what may be told, from any place", "[control][tail]") {
  RecordTail tail;
  CHECK(tail.newest() == 0);
  CHECK(tail.next(0) == nullptr);
  add(tail, 101, 105);
  CHECK(tail.newest() == 100);
  CHECK(tail.next(100) == nullptr);  // not on disk yet
  tail.release(1'030);
  CHECK(tail.newest() == 103);
  CHECK(after(tail, 100) == Numbers{101, 102, 103});
  CHECK(after(tail, 102) == Numbers{103});
  CHECK(after(tail, 103).empty());
  CHECK(after(tail, 9'000).empty());
  CHECK(tail.reaches(100));
  CHECK_FALSE(tail.reaches(99));
  CHECK(tail.next(100)->line.find("\"id\":101") != std::string::npos);
}

TEST_CASE("the tail is bounded, in records and bytes", "[control][tail]") {
  RecordTail few({.records = 3, .bytes = 1U << 20});
  add(few, 1, 10);
  few.release(1'000);
  CHECK_FALSE(few.reaches(6));
  CHECK(few.reaches(7));
  CHECK(few.before() == 7);
  CHECK(after(few, 7) == Numbers{8, 9, 10});
  RecordTail small({.records = 1'000, .bytes = 5'000});
  add(small, 1, 10, std::string(1'000, 'x'));
  small.release(1'000);
  CHECK_FALSE(small.reaches(5));
  CHECK(after(small, small.before()).back() == 10);
  add(small, 11, 11, std::string(10'000, 'x'));  // larger than the bound: nobody is told of it from here
  CHECK(small.before() == 11);
  CHECK(small.newest() == 11);
}

TEST_CASE("what may be told stays so, whatever is heard of late", "[control][tail]") {
  RecordTail tail;
  add(tail, 1, 5);
  tail.release(50);
  tail.release(30);  // on disk, after the disk was sick and all went on without
  CHECK(tail.newest() == 5);
  CHECK(after(tail, 0) == Numbers{1, 2, 3, 4, 5});
}

TEST_CASE("the lines that are made count for the bound of the tail", "[control][tail]") {
  const TailBounds bounds{.records = 1'000, .bytes = 20'000};
  RecordTail tail(bounds);
  add(tail, 1, 10, std::string(1'000, 'x'));
  tail.release(1'000);
  REQUIRE(tail.reaches(0));
  CHECK(after(tail, 0) == Numbers{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  CHECK_FALSE(tail.reaches(0));
  CHECK(tail.reaches(9));
  std::size_t bytes = 0;
  for (auto position = tail.before(); const auto* const entry = tail.next(position); position = entry->record.id)
    bytes += entry->record.text.size() + entry->line.size();
  CHECK(bytes <= bounds.bytes);
  RecordTail tiny({.records = 1'000, .bytes = 2'000});
  add(tiny, 1, 1, std::string(1'000, 'x'));
  tiny.release(1'000);
  CHECK(after(tiny, 0) == Numbers{1});  // one alone is told, though its line goes beyond the bound
}

}  // namespace record_tail_test
