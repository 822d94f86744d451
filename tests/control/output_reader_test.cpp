// SPDX-License-Identifier: MIT
#include "control/readers/output_reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <fstream>

#include "control/server_world.hpp"
#include "runtime/programs/action_files.hpp"

namespace output_reader_test {

using namespace healer;
using namespace healer::control;
using namespace healer::test;
using healer::engine::ActionId;
using healer::runtime::ActionFiles;

namespace {

/// The output of one action, and somebody who reads it.
struct Output {
  TemporaryFolder folder;
  ActionFiles files{folder.path()};
  OutputReader::Place place{.path = files.output_path(ActionId{7})};

  Output() { REQUIRE(files.create(ActionId{7}, {.boot = 1}, std::nullopt)); }
  void write(const std::string& text) const { std::ofstream(place.path, std::ios::app) << text; }
  /// Everything that has come by now.
  std::string read(bool last = false) {
    std::string all;
    for (std::string page; !(page = OutputReader::read(place, last)).empty();) {
      CHECK(page.size() <= OutputReader::kPage + 64);
      all += page;
    }
    return all;
  }
};

/// Numbered lines of 10 bytes, as many as make `size`.
std::string lines(std::size_t size, int& number) {
  std::string text;
  while (text.size() < size) {
    std::string line = std::to_string(number++);
    text += std::string(9 - line.size(), '0') + line + "\n";
  }
  return text;
}

constexpr std::string_view kGap = "\n[... output left out ...]\n";

}  // namespace

TEST_CASE("output is read on when secrets were struck out of what was read", "[control][output]") {
  Output output;
  const std::vector<std::string> secrets{"hunter2-hunter2"};
  output.place.ask_secrets = [&] { return secrets; };
  int number = 0;
  output.write(GENERATE_REF(std::string(), lines(1000, number)) + "it is hunter2-hunter2\n");
  CHECK(output.read().ends_with("it is *****\n"));
  output.write("the end\n");
  output.files.strike_output(ActionId{7}, secrets);
  CHECK(output.files.kept(ActionId{7}).ends_with("it is *****\nthe end\n"));
  CHECK(output.read(true) == "the end\n");
}

TEST_CASE("a secret is not told in two pieces", "[control][output]") {
  Output output;
  output.place.ask_secrets = [] { return std::vector<std::string>{"hunter2-hunter2"}; };
  output.write("a\nit is hunter2-");
  CHECK(output.read() == "a\n");
  output.write("hunter2, and ");
  CHECK(output.read().empty());
  output.write(std::string(3 * OutputReader::kPage, '.'));
  CHECK(OutputReader::read(output.place, true) == "it is *****, and " + std::string(3 * OutputReader::kPage, '.'));
}

TEST_CASE("output is read as it comes, and only once", "[control][output]") {
  Output output;
  CHECK(output.read().empty());
  output.write("one\n");
  CHECK(output.read() == "one\n");
  CHECK(output.read().empty());
  output.write("two");
  CHECK(output.read() == "two");
  int number = 0;
  const std::string many = lines(60'000, number);
  output.write(many);
  CHECK(output.read() == many);
  CHECK(output.read(true).empty());
}

TEST_CASE("a character is not torn between two pages", "[control][output]") {
  Output output;
  output.write("caf\xc3");
  CHECK(output.read() == "caf");
  output.write("\xa9 \xf0\x9f");
  CHECK(output.read() == "é ");
  output.write("\x99\x82\xe6");
  CHECK(output.read() == "🙂");
  CHECK(output.read(true) == "\xe6");  // nothing more comes
  CHECK(output.read(true).empty());
}

TEST_CASE("what the daemon takes out of a long output is a line in its place", "[control][output]") {
  int number = 0;
  SECTION("while the program runs, before it was told") {
    Output output;
    const std::string all = lines(400'000, number);
    output.write(all);
    if (!output.files.thin(ActionId{7}).thinned) return;  // no holes here
    const std::string shown = output.read();
    const std::size_t gap = shown.find(kGap);
    REQUIRE(gap != std::string::npos);
    CHECK(shown.find(kGap, gap + 1) == std::string::npos);
    CHECK(shown.substr(0, gap) == all.substr(0, ActionFiles::kHead));
    CHECK(all.ends_with(shown.substr(gap + kGap.size())));
    CHECK(shown.size() - gap - kGap.size() >= ActionFiles::kTail);
    CHECK(shown.find('\0') == std::string::npos);
  }
  SECTION("at its end, after it was told") {
    Output output;
    const std::string all = lines(100'000, number);
    output.write(all);
    CHECK(output.read() == all);
    const std::string more = lines(100, number);
    output.write(more);
    output.files.cut(ActionId{7});
    CHECK(output.read(true) == more);
  }
  SECTION("at its end, while the head was being told") {
    Output output;
    const std::string all = lines(100'000, number);
    output.write(all);
    const std::string page = OutputReader::read(output.place, false);
    output.files.cut(ActionId{7});
    CHECK(page + output.read(true) ==
          all.substr(0, ActionFiles::kHead) + std::string(kGap) + all.substr(all.size() - ActionFiles::kTail));
  }
  SECTION("at its end, with what was to be told") {
    Output output;
    const std::string all = lines(60'000, number);
    output.write(all);
    CHECK(output.read() == all);
    const std::string more = lines(200'000, number);
    output.write(more);
    OutputReader::Place& place = output.place;
    place.size = all.size() + more.size();  // it was seen to have grown
    output.files.cut(ActionId{7});
    CHECK(output.read(true) == std::string(kGap) + more.substr(more.size() - ActionFiles::kTail));
  }
}

TEST_CASE("nothing but a regular file is read", "[control][output]") {
  const TemporaryFolder folder;
  OutputReader::Place place{.path = folder.path() + "/none"};
  CHECK(OutputReader::read(place, true).empty());
  REQUIRE(mkfifo((folder.path() + "/fifo").c_str(), 0600) == 0);
  place.path = folder.path() + "/fifo";
  CHECK(OutputReader::read(place, true).empty());
  std::ofstream(folder.path() + "/secret") << "secret";
  REQUIRE(symlink((folder.path() + "/secret").c_str(), (folder.path() + "/link").c_str()) == 0);
  place.path = folder.path() + "/link";
  CHECK(OutputReader::read(place, true).empty());
}

TEST_CASE("a page comes when there is something, or after a while", "[control][output]") {
  Output output;
  OutputReader reader;
  std::atomic<int> woken{0};
  const auto page_of = [&](bool last) {
    const int before = woken;
    const auto page = reader.ask(output.place, last, [&] { ++woken; });
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (woken == before && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(milliseconds{1});
    auto text = page->take();
    REQUIRE(text);
    output.place = page->place();
    CHECK_FALSE(page->take());
    return *text;
  };
  const auto begun = std::chrono::steady_clock::now();
  CHECK(page_of(false).empty());
  CHECK(std::chrono::steady_clock::now() - begun >= OutputReader::kPatience);
  output.write("late");
  CHECK(page_of(false) == "late");
  CHECK(page_of(true).empty());
  // Nobody waits for these: they are not read, and the reader ends.
  for (int i = 0; i < 3; ++i) static_cast<void>(reader.ask(output.place, false, [&] { ++woken; }));
}

TEST_CASE("what a program makes of its output file costs the reader no memory and no end of pages",
          "[control][output]") {
  Output output;
  output.write("begin\n");
  CHECK(output.read() == "begin\n");
  if (::truncate(output.place.path.c_str(), off_t{8} << 40) != 0) return;  // such a file is not possible here
  CHECK(output.read() == kGap);
  REQUIRE(::truncate(output.place.path.c_str(), off_t{7} << 40) == 0);
  CHECK(output.read() == kGap);  // not sought for in all of that
  output.write("end\n");
  CHECK(output.read() == "end\n");
}

}  // namespace output_reader_test
