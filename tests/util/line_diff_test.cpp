// SPDX-License-Identifier: MIT
#include "util/line_diff.hpp"

#include <catch2/catch.hpp>

namespace line_diff_test {

using healer::line_diff;

TEST_CASE("a diff has the lines that differ, with three around them", "[diff]") {
  CHECK(line_diff("a\nb\n", "a\nb\n", "x", "y").empty());
  CHECK(line_diff("a\nb\nc\n", "a\nB\nc\n", "x", "y") == "--- x\n+++ y\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
  CHECK(line_diff("", "a\n", "x", "y") == "--- x\n+++ y\n@@ -0,0 +1 @@\n+a\n");
  CHECK(line_diff("a\n", "", "x", "y") == "--- x\n+++ y\n@@ -1 +0,0 @@\n-a\n");
  CHECK(line_diff("a", "a\n", "x", "y") == "--- x\n+++ y\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
}

TEST_CASE("changes that are far apart are shown apart, near ones together", "[diff]") {
  std::string before, after;
  for (int i = 1; i <= 20; ++i) {
    before += std::to_string(i) + "\n";
    after += (i == 2 || i == 18 ? "x" : std::to_string(i)) + "\n";
  }
  CHECK(line_diff(before, after, "a", "b") ==
        "--- a\n+++ b\n@@ -1,5 +1,5 @@\n 1\n-2\n+x\n 3\n 4\n 5\n@@ -15,6 +15,6 @@\n 15\n 16\n 17\n-18\n+x\n 19\n 20\n");
  after.replace(after.find("7\n"), 2, "y\n");
  CHECK(line_diff(before, after, "a", "b").find("@@ -1,10 +1,10 @@") != std::string::npos);
}

}  // namespace line_diff_test
