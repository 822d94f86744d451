// SPDX-License-Identifier: MIT
// The corpus: rules files with all that `healerd -t -v` says of them, word for word.
//
// accept/NAME.rules with NAME.expect, reject/NAME.rules with NAME.diag. A case is one or more files: a line
// `--- PATH [mode=0644] [uid=1000]` begins the next one (a PATH that ends in `/` is a directory of which only that is
// said). The first line may be `# options: ` with any of `monit` (the dialect of 5.33), `monit-5.34`, `monit-6`,
// `strict`, `offline`, `directory`, and `unsupported` where Monit accepts what this version of healer does not know
// yet.
// `@DIR@` stands for the directory of the files. HEALER_UPDATE_CORPUS=1 in the environment writes the expectations.
// monit.tsv holds Monit's verdict on each case; monit_verdicts.py asks the real Monit for it.
#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "config/check.hpp"
#include "config/text/print.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "support/fake_environment.hpp"
#include "support/paths.hpp"

namespace corpus_test {

using namespace healer;
using namespace healer::config;
namespace fs = std::filesystem;

namespace {

const fs::path kCorpus = fs::path(healer::test::source_folder()) / "tests/config/corpus";
const std::string kDirectory = "/rules";
const std::string kMain = kDirectory + "/main.rules";

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

std::string replace_all(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

struct Case {
  test::FakeEnvironment machine;
  std::string main = kMain;
  CheckOptions options;
  bool has_monit_verdict = true;
};

Case read_case(const fs::path& path) {
  Case result;
  result.machine.users["nobody"] = {.uid = 65534, .gid = 65534, .name = "nobody", .home = "/nonexistent"};
  result.machine.groups["nogroup"] = 65534;
  result.machine.programs = {"/bin/true", "/bin/false", "/bin/sh"};
  result.machine.facts["/etc/passwd"] = {.is_regular = true, .mode = 0644};
  result.machine.facts["/tmp"] = {.is_directory = true, .mode = 01777};
  result.options.verbose = true;

  std::istringstream in(replace_all(read_file(path), "@DIR@", kDirectory));
  std::string file = kMain;
  std::string line;
  result.machine.files[file];
  for (bool first = true; std::getline(in, line); first = false) {
    if (line.starts_with("--- ")) {
      std::istringstream words(line.substr(4));
      std::string word;
      words >> word;
      file = word.starts_with('/') ? word : kDirectory + "/" + word;
      const bool is_directory = file.ends_with('/');
      if (is_directory) file.pop_back();
      FileFacts facts{.is_directory = is_directory, .is_regular = !is_directory, .mode = is_directory ? 0755U : 0600U};
      while (words >> word) {
        if (word.starts_with("mode=")) facts.mode = static_cast<std::uint32_t>(std::stoul(word.substr(5), nullptr, 8));
        if (word.starts_with("uid=")) facts.uid = static_cast<std::uint32_t>(std::stoul(word.substr(4)));
      }
      result.machine.facts[file] = facts;
      if (!is_directory) result.machine.files[file];
      continue;
    }
    if (first && line.starts_with("# options: ")) {
      if (const std::size_t dialect = line.find("monit"); dialect != std::string::npos)
        result.options.load.monit_dialect = line.substr(dialect).starts_with("monit-6")      ? MonitVersion::V6
                                            : line.substr(dialect).starts_with("monit-5.34") ? MonitVersion::V5_34
                                                                                             : MonitVersion::V5_33;
      result.options.load.strict = line.find("strict") != std::string::npos;
      result.machine.online = line.find("offline") == std::string::npos;
      if (line.find("directory") != std::string::npos) result.main = kDirectory;
      for (const char* word : {"strict", "offline", "directory", "unsupported"})
        if (line.find(word) != std::string::npos) result.has_monit_verdict = false;
    }
    result.machine.files[file] += line + (in.eof() ? "" : "\n");
  }
  return result;
}

/// All cases of a kind: names without suffix.
std::vector<std::string> names(const std::string& kind) {
  std::vector<std::string> result;
  for (const auto& entry : fs::directory_iterator(kCorpus / kind))
    if (entry.path().extension() == ".rules") result.push_back(entry.path().stem().string());
  std::sort(result.begin(), result.end());
  return result;
}

/// What is said in comments (dormant, counted in polls) need not be the same the second time.
std::string without_comments(const std::string& text) {
  std::istringstream in(text);
  std::string result;
  for (std::string line; std::getline(in, line);)
    if (line.find_first_not_of(' ') == std::string::npos || line[line.find_first_not_of(' ')] != '#')
      result += line + "\n";
  return result;
}

bool is_updating() { return std::getenv("HEALER_UPDATE_CORPUS") != nullptr; }

void compare(const fs::path& path, const std::string& suffix, int status) {
  const Case test = read_case(path);
  const CheckOutcome outcome = check(test.main, test.options, test.machine);
  INFO(path.filename().string());
  CHECK(outcome.status == status);
  fs::path expected = path;
  expected.replace_extension(suffix);
  const std::string output = outcome.err + outcome.out;
  if (is_updating()) std::ofstream(expected, std::ios::binary) << output;
  REQUIRE(fs::exists(expected));
  CHECK(output == read_file(expected));
}

}  // namespace

TEST_CASE("every file of the accept corpus is accepted, and understood as expected", "[corpus]") {
  const std::vector<std::string> cases = names("accept");
  CHECK(cases.size() >= 30);
  for (const std::string& name : cases) compare(kCorpus / "accept" / (name + ".rules"), ".expect", 0);
}

TEST_CASE("every file of the reject corpus is rejected with the expected messages", "[corpus]") {
  const std::vector<std::string> cases = names("reject");
  CHECK(cases.size() >= 20);
  for (const std::string& name : cases) compare(kCorpus / "reject" / (name + ".rules"), ".diag", 1);
}

TEST_CASE("no file of the corpus lies around without its partner", "[corpus]") {
  const std::map<std::string, std::string> partners{{"accept", ".expect"}, {"reject", ".diag"}};
  for (const auto& [kind, suffix] : partners)
    for (const auto& entry : fs::directory_iterator(kCorpus / kind)) {
      INFO(entry.path().string());
      fs::path partner = entry.path();
      const std::string extension = entry.path().extension().string();
      CHECK((extension == ".rules" || extension == suffix));
      CHECK(fs::exists(partner.replace_extension(extension == ".rules" ? suffix : ".rules")));
    }
}

TEST_CASE("Printed rules are understood the same again", "[corpus]") {
  for (const std::string& name : names("accept")) {
    INFO(name);
    const Case test = read_case(kCorpus / "accept" / (name + ".rules"));
    const LoadResult first = load(test.main, test.options.load, test.machine);
    REQUIRE(first.ok());
    const std::string printed = print(*first.rules);
    if (printed.find("not shown") != std::string::npos) continue;
    test::FakeEnvironment again = test.machine;
    again.files = {{kMain, printed}};
    again.facts.erase(kMain);
    const LoadResult second = load(kMain, {}, again);
    INFO(format_all(second.diagnostics, second.sources, false));
    REQUIRE(second.ok());
    CHECK(without_comments(print(*second.rules)) == without_comments(printed));
    REQUIRE(second.rules->services.size() == first.rules->services.size());
    for (std::size_t i = 0; i < first.rules->services.size(); ++i) {
      const auto& before = first.rules->services[i]->rules;
      const auto& after = second.rules->services[i]->rules;
      REQUIRE(before.size() == after.size());
      for (std::size_t j = 0; j < before.size(); ++j) CHECK(before[j].key == after[j].key);
    }
  }
}

TEST_CASE("with --dialect monit it gives Monit's verdict, and all that Monit accepts is accepted", "[corpus]") {
  static constexpr std::array kVersions{MonitVersion::V5_33, MonitVersion::V6};
  std::istringstream in(read_file(kCorpus / "monit.tsv"));
  std::map<std::string, std::array<std::string, kVersions.size()>> verdicts;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    std::istringstream columns(line);
    std::string name;
    std::getline(columns, name, '\t');
    for (std::string& verdict : verdicts[name]) std::getline(columns, verdict, '\t');
  }
  for (const std::string kind : {"accept", "reject"})
    for (const std::string& name : names(kind)) {
      const Case test = read_case(kCorpus / kind / (name + ".rules"));
      if (!test.has_monit_verdict) continue;
      const std::string key = kind + "/" + name;
      INFO(key);
      REQUIRE(verdicts.contains(key));
      for (std::size_t i = 0; i < kVersions.size(); ++i) {
        const LoadResult result = load(test.main, {.monit_dialect = kVersions[i]}, test.machine);
        INFO(to_string(kVersions[i]) << '\n' << format_all(result.diagnostics, result.sources, false));
        CHECK((result.ok() ? "ok" : "reject") == verdicts[key][i]);
        if (verdicts[key][i] == "ok") CHECK(load(test.main, {}, test.machine).ok());
      }
      verdicts.erase(key);
    }
  for (const auto& [key, verdict] : verdicts) FAIL_CHECK("monit.tsv has a verdict on " << key << ", which is no case");
}

}  // namespace corpus_test
