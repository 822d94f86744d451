// SPDX-License-Identifier: MIT
#include "runtime/files/file_lines.hpp"

#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "support/child.hpp"

namespace file_lines_test {

using namespace healer;
using namespace healer::engine;
using namespace healer::runtime;
using healer::test::TemporaryDirectory;

namespace {

/// A log that grows, and what a service finds in it.
struct Log {
  explicit Log(LinesSpec what) : spec(std::move(what)) {}

  void write(std::string_view text) { std::ofstream(path, std::ios::app) << text; }
  /// What the first pattern finds in the next reading.
  std::string next() { return read().empty() ? "" : last.front(); }
  const std::vector<std::string>& read() {
    const auto lines = read_lines(path, position);
    REQUIRE(lines);
    position = lines->position;
    missing = lines->missing;
    auto found = sift(lines->text, spec);
    REQUIRE(found);
    return last = std::move(*found);
  }

  TemporaryDirectory directory;
  std::string path = directory.path() / "log";
  LinesSpec spec;
  std::optional<ReadPosition> position;
  std::vector<std::string> last;
  std::string missing;
};

LinesSpec errors() { return {.patterns = {{"error", false}}, .ignored = {}}; }

}  // namespace

TEST_CASE("only lines that come after the first reading are told, once", "[runtime]") {
  Log log(errors());
  log.write("old error\n");
  CHECK(log.next().empty());
  CHECK(log.next().empty());
  log.write("new error\nfine\nerror 2\r\n");
  CHECK(log.next() == "new error\nerror 2\n");
  CHECK(log.next().empty());
}

TEST_CASE("a line counts when it is whole", "[runtime]") {
  Log log(errors());
  log.write("");
  CHECK(log.next().empty());
  log.write("half an err");
  CHECK(log.next().empty());
  log.write("or\nan error ");
  CHECK(log.next() == "half an error\n");
  log.write("more\n");
  CHECK(log.next() == "an error more\n");
}

TEST_CASE("a file that comes to be is read from its beginning", "[runtime]") {
  Log log(errors());
  log.write("error\n");
  log.position = ReadPosition{};
  CHECK(log.next() == "error\n");
}

TEST_CASE("No line of a rotated file is lost", "[runtime]") {
  Log log(errors());
  log.write("");
  CHECK(log.next().empty());
  log.write("error 1\nerror 2 without a newline");
  std::filesystem::rename(log.path, log.path + ".1");
  log.write("error 3\n");
  CHECK(log.next() == "error 1\nerror 2 without a newline\nerror 3\n");
  CHECK(log.next().empty());
  std::filesystem::remove(log.path);  // it is gone for good
  log.write("error 4\n");
  CHECK(log.next() == "error 4\n");
  CHECK(log.missing.find("lines written to it last may be missing") != std::string::npos);
  CHECK(log.next().empty());
  CHECK(log.missing.empty());
}

TEST_CASE("a file that is rotated is found whatever its name is, also in a folder beside it", "[runtime]") {
  Log log(errors());
  log.write("fine\n");
  CHECK(log.next().empty());
  log.write("error 1\n");
  const std::filesystem::path folder = log.directory.path();
  std::filesystem::create_directory(folder / "old");
  SECTION("another name") { std::filesystem::rename(log.path, folder / "before.txt"); }
  SECTION("another folder") { std::filesystem::rename(log.path, folder / "old" / "x"); }
  log.write("error 2\n");
  CHECK(log.next() == "error 1\nerror 2\n");
  CHECK(log.missing.empty());
}

TEST_CASE("as long as the new file is empty the one before it is read on", "[runtime]") {
  Log log(errors());
  log.write("fine\n");
  CHECK(log.next().empty());
  std::filesystem::rename(log.path, log.path + ".1");
  log.write("");  // as logrotate creates it, before the program has opened it
  const auto write_old = [&](std::string_view text) { std::ofstream(log.path + ".1", std::ios::app) << text; };
  write_old("error 1\nhalf an ");
  CHECK(log.next() == "error 1\n");
  write_old("error\nerror 3\n");
  log.write("error 4\n");
  CHECK(log.next() == "half an error\nerror 3\nerror 4\n");
  CHECK(log.next().empty());
}

TEST_CASE("a file that was truncated and has grown past its old length is known by its beginning", "[runtime]") {
  Log log(errors());
  const bool is_long = GENERATE(false, true);
  const std::string filling = is_long ? std::string(5000, 'x') + "\n" : "";
  log.write("first day\n" + filling);
  CHECK(log.next().empty());
  log.write("error 1\n");
  CHECK(log.next() == "error 1\n");
  std::filesystem::resize_file(log.path, 0);
  log.write("second day\nerror 2\n" + filling + "error 3\n");
  CHECK(log.next() == "error 2\nerror 3\n");
  CHECK(log.missing.find("was truncated") != std::string::npos);
  log.write("error 4\n");
  CHECK(log.next() == "error 4\n");
  CHECK(log.missing.empty());
}

TEST_CASE("a place that says no beginning is read on as ever", "[runtime]") {
  Log log(errors());
  log.write("fine\n");
  CHECK(log.next().empty());
  log.position->begin = 0;
  log.write("error\n");
  CHECK(log.next() == "error\n");
}

TEST_CASE("a file that is truncated is read from its beginning", "[runtime]") {
  Log log(errors());
  log.write("one line that is long enough\n");
  CHECK(log.next().empty());
  std::filesystem::resize_file(log.path, 0);
  log.write("error\n");
  CHECK(log.next() == "error\n");
}

TEST_CASE("lines are ignored, negated and cut as the rules say", "[runtime]") {
  Log log(
      {.patterns = {{"error", false}, {"error", true}, {"tail", false}}, .ignored = {{"noise", false}}, .limit = 16});
  log.write("");
  log.read();
  log.write("error noise\nplain noise\nan error\nplain\nerror " + std::string(100, 'z') + " tail\n");
  CHECK(log.read() == std::vector<std::string>{"an error\nerror zzzzzzzzzz...\n", "plain\n", ""});
}

TEST_CASE("Text from many lines is bounded, and a big file is read in parts", "[runtime]") {
  Log log(errors());
  log.write("");
  log.read();
  const std::string line = "error " + std::string(994, 'x') + "\n";
  std::string many;
  while (many.size() < kMostBytes + 1'000'000) many += line;
  log.write(many);
  const std::string first = log.next();
  CHECK(first.size() < kMostListed + 200);
  CHECK(first.ends_with("\n...\n"));
  CHECK(log.position->offset > 0);
  CHECK(log.position->offset <= static_cast<std::int64_t>(kMostBytes));
  CHECK_FALSE(log.next().empty());
  CHECK(log.position->offset == static_cast<std::int64_t>(many.size()));
  CHECK(log.next().empty());
}

TEST_CASE("a big file that is rotated is read in whole lines", "[runtime]") {
  Log log({.patterns = {{"^error x*$", true}}, .ignored = {}});
  log.write("");
  log.read();
  const std::string line = "error " + std::string(994, 'x') + "\n";
  std::string many;
  while (many.size() < kMostBytes + 1'000'000) many += line;
  log.write(many);
  std::filesystem::rename(log.path, log.path + ".1");
  log.write("new\n");
  CHECK(log.next().empty());
  CHECK(log.next() == "new\n");
}

TEST_CASE("one line without end is passed in parts, and so are zero bytes", "[runtime]") {
  Log log(errors());
  log.write("");
  log.read();
  log.write("error" + std::string(kMostBytes + 100, '\0'));
  CHECK(log.next().starts_with("error"));
  CHECK(log.position->offset == static_cast<std::int64_t>(kMostBytes));
  log.write("\nerror\n");
  CHECK(log.next() == "error\n");
}

TEST_CASE("many patterns find their lines, with and without a text that they need", "[runtime]") {
  const engine::LinesSpec spec{
      .patterns = {{"error [0-9]+", false}, {"^(a|b)$", false}, {"ok", true}, {"never", false}},
      .ignored = {{"error 7", false}, {"^b", false}}};
  const auto found = sift("ok error 1\nerror 7 ok\na\nb\nok\r\nerror x ok\nerror 22", spec);
  REQUIRE(found);
  CHECK(*found == std::vector<std::string>{"ok error 1\nerror 22\n", "a\n", "a\nerror 22\n", ""});
}

TEST_CASE("a file of the kernel is read to its end, though it gives little at a time", "[runtime]") {
  const std::string path = "/proc/self/smaps";
  const auto first = read_lines(path, {});
  REQUIRE(first);
  const auto second = read_lines(path, first->position);
  REQUIRE(second);
  CHECK(second->text.size() > 8192);
  CHECK(second->text.find("[vsyscall]") != std::string::npos);
}

TEST_CASE("what cannot be read is an error, and so is an invalid pattern", "[runtime]") {
  Log log(errors());
  CHECK_FALSE(read_lines(log.path, {}));
  CHECK_FALSE(read_lines(log.directory.path(), {}));
  CHECK_FALSE(sift("x\n", {.patterns = {{"(", false}}, .ignored = {}}));
}

}  // namespace file_lines_test
