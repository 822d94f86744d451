// SPDX-License-Identifier: MIT
// `healerctl fmt`: the layout, and that nothing but it changes, for every file of the corpora.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "config/environments.hpp"
#include "config/load.hpp"
#include "config/text/format.hpp"
#include "engine/rules/service.hpp"
#include "grammar/lexer.hpp"
#include "support/fake_environment.hpp"
#include "support/paths.hpp"

namespace format_test {

using namespace healer;
using namespace healer::config;
namespace fs = std::filesystem;

namespace {

const std::string kMain = "/etc/main";

std::string formatted(const std::string& text) {
  const Result<std::string> result = format_rules(text);
  return result ? *result : "error: " + result.error().what;
}

LoadResult loaded(const std::string& text) {
  test::FakeEnvironment machine;
  machine.online = false;
  machine.files[kMain] = text;
  return load(kMain, {}, machine);
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

/// Formats, and holds that it is stable and means the same. False where the text is no rules file.
bool holds(const std::string& text) {
  const Result<std::string> once = format_rules(text);
  if (!once) return false;
  INFO(*once);
  CHECK(formatted(*once) == *once);
  const LoadResult before = loaded(text);
  const LoadResult after = loaded(*once);
  CHECK(before.ok() == after.ok());
  if (before.ok() && after.ok()) CHECK(difference(*before.rules, *after.rules).empty());
  return true;
}

std::vector<fs::path> corpus() {
  std::vector<fs::path> files;
  std::vector<fs::path> folders{fs::path(test::source_folder()) / "tests/config/corpus/accept",
                                fs::path(test::source_folder()) / "rules.d",
                                fs::path(test::source_folder()) / "rules.d/examples"};
  if (const char* shared = std::getenv("HEALER_SHARED"); shared != nullptr)
    folders.push_back(fs::path(shared) / "monit/corpus/files");
  for (const fs::path& folder : folders)
    if (fs::exists(folder))
      for (const auto& entry : fs::directory_iterator(folder))
        if (entry.is_regular_file() && entry.path().extension() != ".expect") files.push_back(entry.path());
  return files;
}

}  // namespace

TEST_CASE("rules are laid out with a statement a line, indented by what they belong to", "[format]") {
  CHECK(formatted("") == "");
  CHECK(formatted("\n\n") == "");
  CHECK(formatted("set daemon   30 set log syslog") == "set daemon 30\nset log syslog\n");
  CHECK(formatted("check program x with path \"/bin/true\"  if status != 0 then alert   every 2 cycles") ==
        "check program x with path \"/bin/true\"\n  if status != 0 then alert\n  every 2 cycles\n");
  CHECK(formatted("\tcheck process x\r\n\twith pidfile /run/x\r\n if cpu>5%\r\nfor 3 cycles then alert\r\n") ==
        "check process x\n    with pidfile /run/x\n  if cpu>5%\n    for 3 cycles then alert\n");
}

TEST_CASE("comments and the gaps between groups stay", "[format]") {
  CHECK(formatted("# a\n\n\n\n# b  \nset daemon 5 # c\n      # d\n\ncheck system x\n# e\n  if cpu > 5% then alert\n"
                  "   # f\n\n# g\ncheck program y path /bin/true\n if status > 0\n # h\nthen alert\n# end") ==
        "# a\n\n# b\nset daemon 5  # c\n# d\n\ncheck system x\n  # e\n  if cpu > 5% then alert\n"
        "  # f\n\n# g\ncheck program y path /bin/true\n  if status > 0\n    # h\n    then alert\n# end\n");
}

TEST_CASE("Text in braces is indented, and strings stay unchanged", "[format]") {
  CHECK(formatted("set mail-format {\nfrom: a@b\n      subject: x  y\nmessage: one\n   two\n   }\n") ==
        "set mail-format {\n  from: a@b\n  subject: x  y\n  message: one\n   two\n}\n");
  CHECK(formatted("check program x path \"/bin/true  'a  b'\n   c\" if content = \"a  b\n  c\" then alert") ==
        "check program x path \"/bin/true  'a  b'\n   c\"\n  if content = \"a  b\n  c\" then alert\n");
}

TEST_CASE("a text that begins on the next line stays there, and nothing is no text", "[format]") {
  const std::string text = "set mail-format {\n  subject:\n  message:\nHost: $HOST\n\n  all  well\n}\n";
  CHECK(formatted(text) == text);
  CHECK(formatted("set mail-format { message:}") == "set mail-format { message:}\n");
}

TEST_CASE("an item of a workflow begins a line of the block, what goes on from it stands deeper", "[format]") {
  CHECK(formatted(
            "workflow  w {\nguard program \"/x\"\n  timeout 3 seconds\n# c\nstep \"a\"   program \"/x  y\"\nretry 2\n"
            "on failure {\nstep alert \"x\"\n heal with v\n}\n   parallel\n{\nstep wait 1 s\n}\nlimit 1 at once\n}\n"
            "workflow v { step alert \"x\" }\nset healing\nmode dry run\n"
            "check system x if cpu > 5% then heal\nwith   v\n") ==
        "workflow w {\n  guard program \"/x\"\n      timeout 3 seconds\n  # c\n  step \"a\" program \"/x  y\"\n      "
        "retry 2\n"
        "  on failure {\n    step alert \"x\"\n    heal with v\n  }\n  parallel\n      {\n        step wait 1 s\n      "
        "}\n"
        "  limit 1 at once\n}\n"
        "workflow v { step alert \"x\" }\nset healing\n  mode dry run\n"
        "check system x\n  if cpu > 5% then heal\n    with v\n");
}

TEST_CASE("an include among the statements of a service is one of them", "[format]") {
  CHECK(formatted("check system x\ninclude /etc/a\nif cpu > 5% then alert\ninclude /etc/b\nset daemon 5\n") ==
        "check system x\n  include /etc/a\n  if cpu > 5% then alert\ninclude /etc/b\nset daemon 5\n");
}

TEST_CASE("what is no rules file is refused with the place", "[format]") {
  CHECK(formatted("set daemon 5\ncheck progam x\n").starts_with("error: 2:7: error: 'progam' is not a kind of check"));
  CHECK(formatted("check program x path \"/x\" if status 1\ninclude /etc/i\nthen alert\n") ==
        "error: 2:9: error: an 'include' in the middle of a statement cannot be formatted");
}

TEST_CASE("every file of the corpora keeps its meaning, and is not formatted twice", "[format]") {
  std::size_t formatted_files = 0;
  const std::vector<fs::path> files = corpus();
  for (const fs::path& path : files) {
    INFO(path.string());
    formatted_files += holds(read_file(path)) ? 1 : 0;
  }
  CHECK(formatted_files * 10 >= files.size() * 6);
}

TEST_CASE("files of the corpora keep their meaning whatever their white space", "[format]") {
  std::mt19937 random(7);
  for (const fs::path& path : corpus()) {
    const std::string text = read_file(path);
    const grammar::TokenStream stream = grammar::lex(text);
    for (int round = 0; round < 3; ++round) {
      std::string changed;
      std::size_t at = 0;
      for (const grammar::Token& token : stream.tokens) {
        changed += text.substr(at, token.offset - at);
        if (random() % 4 == 0) changed += std::string(1 + random() % 3, " \t\n"[random() % 3]);
        changed += text.substr(token.offset, token.length);
        at = token.offset + token.length;
      }
      INFO(path.string());
      holds(changed);
    }
  }
}

}  // namespace format_test
