// SPDX-License-Identifier: MIT
// The completions for shells: that of bash is asked as bash asks it, that of zsh in a zsh at a terminal, both with a
// healerctl in their PATH that answers for a daemon.
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

#include "control/server_world.hpp"
#include "support/paths.hpp"

namespace completion_test {

using namespace healer;
using namespace healer::test;

namespace {

const std::string kHealerctl = build_folder() + "/healerctl";
const std::string kFolder = source_folder() + "/packaging/completion";

std::string read_whole(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Ran {
  int status = -1;
  std::string out;
};

Ran run(const std::string& command) {
  const TemporaryFolder folder;
  const int status = std::system(("{ " + command + "\n} >" + folder.path() + "/out 2>&1").c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_whole(folder.path() + "/out")};
}

/// Puts a healerctl into the folder, which writes down there what it is asked.
void add_healerctl(const TemporaryFolder& folder) {
  const std::string program = folder.path() + "/healerctl";
  std::ofstream(program) << "#!/bin/sh\n"
                            "echo \"$*\" >>" +
                                folder.path() +
                                "/asked\n"
                                "case \"$*\" in\n"
                                "*'names --groups') printf 'web boxes\\ndatabases\\n' ;;\n"
                                "*names) printf 'web\\nweb2\\ndb\\n' ;;\n"
                                "*'healing status') printf 'ID  TARGET  STAGE\\n80  n0      held back: limit\\n81  a "
                                "node  under way\\n82  n0      held back\\n' ;;\n"
                                "*'healing report') printf 'WORKFLOW  RAN\\nrebuild   1\\n' ;;\n"
                                "*jobs) printf 'ID  KIND\\n70  restart\\n71  exec\\n' ;;\n"
                                "esac\n";
  chmod(program.c_str(), 0755);
}

/// What bash offers for these words, the last of them being completed: one a line.
std::string offered(const std::vector<std::string>& words) {
  const TemporaryFolder folder;
  add_healerctl(folder);
  std::string script = "PATH=" + folder.path() + ":$PATH\n. " + kFolder + "/healerctl.bash\nCOMP_WORDS=(";
  for (const std::string& word : words) script += "'" + std::regex_replace(word, std::regex("'"), R"('\'')") + "' ";
  script += ")\nCOMP_CWORD=" + std::to_string(words.size() - 1) +
            "\n_healerctl\nprintf '%s\\n' \"${COMPREPLY[@]}\"\ncat " + folder.path() + "/asked 2>/dev/null\n";
  std::ofstream(folder.path() + "/script") << script;
  return run("bash --norc " + folder.path() + "/script").out;
}

/// What a zsh offers that was typed this line and a tab, and what the daemon was asked: one a line.
std::string offered_by_zsh(const std::string& line) {
  const TemporaryFolder folder;
  add_healerctl(folder);
  // Those that compadd is given to add are what is offered; with -O, -A or -D it only says which of them match.
  std::ofstream(folder.path() + "/.zshrc") << "PATH=" + folder.path() + ":$PATH\nfpath=(" + kFolder +
                                                  " $fpath)\n"
                                                  "autoload -U compinit\n"
                                                  "compinit -D -u\n"
                                                  "compadd() {\n"
                                                  "  local -a hits\n"
                                                  "  if [[ \" $* \" != *\" -\"[OAD]\" \"* ]]; then\n"
                                                  "    builtin compadd -A hits \"$@\"\n"
                                                  "    (( $#hits )) && print -rl -- $hits >>$ZDOTDIR/offered\n"
                                                  "  fi\n"
                                                  "  builtin compadd \"$@\"\n"
                                                  "}\n"
                                                  "zle-line-init() {\n"
                                                  "  BUFFER=$TYPED CURSOR=$#TYPED\n"
                                                  "  zle complete-word\n"
                                                  "  exit\n"
                                                  "}\n"
                                                  "zle -N zle-line-init\n";
  return run("ZDOTDIR=" + folder.path() + " TYPED='" + line +
             "' timeout 60 zsh -fc 'zmodload zsh/zpty; zpty shell zsh -d -i; while zpty -r shell text; do :; done'\n"
             "cat " +
             folder.path() + "/offered " + folder.path() + "/asked 2>/dev/null")
      .out;
}

std::set<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

/// The commands of `healerctl --help`.
std::set<std::string> commands() {
  const std::string help = run(kHealerctl + " --help").out;
  std::set<std::string> names;
  const std::regex line(R"(^  ([a-z]+)  )", std::regex::multiline);
  const std::string list = help.substr(help.find("Subcommands:"));
  for (std::sregex_iterator match(list.begin(), list.end(), line), end; match != end; ++match)
    names.insert((*match)[1]);
  return names;
}

}  // namespace

TEST_CASE("bash completes commands and options", "[control][completion]") {
  CHECK(words_of(offered({"healerctl", ""})) == commands());
  CHECK(commands().size() > 15);
  CHECK(offered({"healerctl", "st"}) == "status\nstart\nstop\n");
  CHECK(offered({"healerctl", "--json", "su"}) == "summary\n");
  CHECK(offered({"healerctl", "summary", "--f"}) == "--failed\n");
  CHECK(offered({"healerctl", "--no"}) == "--no-color\n");
  CHECK(offered({"healerctl", "report", "u"}) == "up\nunknown\nunmonitored\n");
  CHECK(offered({"healerctl", "quit", ""}) == "\n");
  CHECK(offered({"healerctl", "history", "--since", ""}) == "\n");
}

TEST_CASE("bash completes what the daemon knows", "[control][completion]") {
  CHECK(offered({"healerctl", "status", "we"}) == "web\nweb2\nnames\n");
  CHECK(offered({"healerctl", "restart", ""}) == "web\nweb2\ndb\nall\nnames\n");
  CHECK(offered({"healerctl", "pause", "web", "f"}) == "for\nnames\n");
  CHECK(offered({"healerctl", "--socket", "/x y", "stop", "d"}) == "db\n--socket /x y names\n");
  CHECK(offered({"healerctl", "--socket", "=", "/x", "stop", "d"}) == "db\n--socket /x names\n");
  CHECK(offered({"healerctl", "--server", "http", ":", "//h", ":", "1", "--user", "jo", "stop", "d"}) ==
        "db\n--server http://h:1 --user jo names\n");
  CHECK(offered({"healerctl", "start", "-g", ""}) == "web\\ boxes\ndatabases\nnames --groups\n");
  CHECK(offered({"healerctl", "jobs", ""}) == "follow\ncancel\n");
  CHECK(offered({"healerctl", "jobs", "cancel", "7"}) == "70\n71\njobs\n");
  CHECK(offered({"healerctl", "history", "web", ""}) == "\n");
  CHECK(offered({"healerctl", "output", "7"}) == "70\n71\nnames\njobs\n");
  CHECK(offered({"healerctl", "output", "web", ""}) == "\n");
  CHECK(offered({"healerctl", "top", "--b"}) == "--batch\n");
  CHECK(offered({"healerctl", "heal", "we"}) == "web\nweb2\nnames\n");
  CHECK(offered({"healerctl", "heal", "web", "--with", ""}) == "rebuild\nhealing report\n");
  CHECK(offered({"healerctl", "heal", "web", "--override", "p"}) == "pause\n");
  CHECK(offered({"healerctl", "approve", ""}) == "80\nn0\n81\na\\ node\n82\nhealing status\n");
  CHECK(offered({"healerctl", "reject", "n"}) == "n0\nhealing status\n");
  CHECK(offered({"healerctl", "cancel", ""}) == "70\n71\n80\n81\n82\na\\ node\nn0\nhealing status\njobs\n");
  CHECK(offered({"healerctl", "healing", ""}) == "status\nreport\nreset\n");
  CHECK(offered({"healerctl", "healing", "reset", "r"}) == "rebuild\nhealing report\n");
}

TEST_CASE("bash completes a name with a blank that is half typed, quoted as it was begun", "[control][completion]") {
  const std::string asked = "names --groups\n";
  CHECK(offered({"healerctl", "start", "-g", "we"}) == "web\\ boxes\n" + asked);
  CHECK(offered({"healerctl", "start", "-g", "web\\ b"}) == "web\\ boxes\n" + asked);
  CHECK(offered({"healerctl", "start", "-g", "'web b"}) == "web boxes\n" + asked);
  CHECK(offered({"healerctl", "start", "-g", "\"web b"}) == "web boxes\n" + asked);
  CHECK(offered({"healerctl", "start", "-g", "'boxes"}) == "\n" + asked);
}

TEST_CASE("the options that are completed are those that there are", "[control][completion]") {
  const std::regex option(R"(--[a-z]+(-[a-z]+)*)");
  const std::string general = run(kHealerctl + " --help").out;
  for (const std::string& command : commands()) {
    const std::string help = run(kHealerctl + " " + command + " --help").out;
    const std::string known = offered({"healerctl", command, "--"});
    for (const std::string& one : words_of(known)) {
      INFO(command << " " << one);
      CHECK((help + general).find(one) != std::string::npos);
    }
    std::set<std::string> own;
    for (std::sregex_iterator match(help.begin(), help.end(), option), end; match != end; ++match)
      own.insert(match->str());
    for (const std::string& one : own) {
      INFO(command << " " << one << " of: " << known);
      CHECK(known.find(one) != std::string::npos);
    }
  }
}

TEST_CASE("the options of healerd are completed", "[control][completion]") {
  const std::string help = run(build_folder() + "/healerd --help").out;
  std::set<std::string> options;
  const std::regex option(R"((^ +|, ?)(--?[A-Za-z][a-z]*))", std::regex::multiline);
  for (std::sregex_iterator match(help.begin(), help.end(), option), end; match != end; ++match)
    options.insert((*match)[2]);
  CHECK(options.size() > 15);
  const auto offer = [](const std::string& words) {
    return run("bash --norc -c '. " + kFolder + "/healerd.bash; COMP_WORDS=(" + words +
               "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _healerd; printf \"%s\\n\" \"${COMPREPLY[@]}\"'")
        .out;
  };
  CHECK(words_of(offer("healerd -")) == options);
  CHECK(offer("healerd --of") == "--offline\n");
  CHECK(offer("healerd --dialect m") == "monit\nmonit-5.33\nmonit-5.34\n");
  CHECK(offer("healerd -l sy") == "syslog\n");
  const std::string zsh = read_whole(kFolder + "/_healerd");
  for (const std::string& one : options) {
    INFO(one);
    CHECK(zsh.find(one) != std::string::npos);
  }
  if (run("command -v zsh").status != 0) {
    WARN("SKIPPED: there is no zsh to read its completion with");
    return;
  }
  CHECK(run("zsh -n " + kFolder + "/_healerd").status == 0);
}

TEST_CASE("zsh knows the same commands", "[control][completion]") {
  const std::string script = read_whole(kFolder + "/_healerctl");
  std::set<std::string> names;
  const std::regex line(R"(^    '([a-z]+):)", std::regex::multiline);
  for (std::sregex_iterator match(script.begin(), script.end(), line), end; match != end; ++match)
    names.insert((*match)[1]);
  CHECK(names == commands());
  if (run("command -v zsh").status != 0) {
    WARN("SKIPPED: there is no zsh to read its completion with");
    return;
  }
  const Ran read = run("zsh -n " + kFolder + "/_healerctl");
  INFO(read.out);
  CHECK(read.status == 0);
}

TEST_CASE("zsh completes the same before and after general options", "[control][completion]") {
  if (run("command -v zsh").status != 0) {
    WARN("SKIPPED: there is no zsh to complete with");
    return;
  }
  CHECK(words_of(offered_by_zsh("healerctl --color ")) == commands());
  for (const std::string option : {"--json ", "--color ", "--no-color "}) {
    INFO(option);
    CHECK(offered_by_zsh("healerctl " + option + "status we") == "web\nweb2\nnames\n");
    CHECK(offered_by_zsh("healerctl status " + option + "we") == "web\nweb2\nnames\n");
  }
  const std::string asked = "web\nweb2\n--socket /x y:1 names\n";
  CHECK(offered_by_zsh("healerctl --socket /x\\ y:1 start w") == asked);
  CHECK(offered_by_zsh("healerctl start --socket /x\\ y:1 w") == asked);
  CHECK(offered_by_zsh("healerctl start --socket=/x\\ y:1 w") == asked);
  CHECK(offered_by_zsh("healerctl --socket /z start --socket /x\\ y:1 w") == asked);
  CHECK(offered_by_zsh("healerctl jobs --json cancel --color 7") == "70\n71\njobs\n");
  const std::set<std::string> options = words_of(offered_by_zsh("healerctl summary --json --"));
  for (const std::string one : {"--failed", "--exit-code", "--group", "--socket", "--color", "--help"}) {
    INFO(one);
    CHECK(options.contains(one));
  }
  CHECK_FALSE(options.contains("--version"));
}

}  // namespace completion_test
