// SPDX-License-Identifier: MIT
// The program healerctl itself, against a daemon without a machine: what it prints, and how it exits.
#include <pty.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <mutex>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "control/daemon_world.hpp"
#include "ctl/render/render_text.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "store/sqlite_store.hpp"
#include "support/job_view.hpp"
#include "support/paths.hpp"

namespace healerctl_test {

using namespace healer;
using namespace healer::test;
using healer::control::Json;

namespace {

struct Ran {
  int status = -1;
  std::string out;
  std::string err;

  /// "STATUS|out|err".
  [[nodiscard]] std::string all() const { return std::to_string(status) + "|" + out + "|" + err; }
};

const std::string kHealerctl = build_folder() + "/healerctl";

std::string read_whole(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Runs healerctl with `arguments` (words for a shell), piped, with `variables` ("NAME=value ...") set.
Ran healerctl(const std::string& arguments, const std::string& variables = {}) {
  const TemporaryFolder folder;
  const std::string command = "{ TZ=UTC " + variables + " " + kHealerctl + " " + arguments + "; } >" + folder.path() +
                              "/out 2>" + folder.path() + "/err";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_whole(folder.path() + "/out"),
          read_whole(folder.path() + "/err")};
}

Ran healerctl(DaemonWorld& world, const std::string& arguments) {
  return healerctl("--socket " + world.path() + " " + arguments);
}

/// What it prints on a terminal of `columns`, with `variable` ("NAME=value", or empty) in its environment.
std::string on_terminal(DaemonWorld& world, const std::vector<std::string>& arguments, unsigned short columns,
                        const std::string& variable = {}) {
  std::vector<std::string> words{kHealerctl, "--socket", world.path()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::vector<std::string> variables{"TERM=xterm", "LC_ALL=C.UTF-8", "TZ=UTC", variable};
  std::vector<char*> environment;
  for (std::string& one : variables)
    if (!one.empty()) environment.push_back(one.data());
  environment.push_back(nullptr);
  winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    execve(kHealerctl.c_str(), argv.data(), environment.data());
    _exit(127);
  }
  std::string text;
  char bytes[4096];
  for (ssize_t count = 0; (count = read(terminal, bytes, sizeof bytes)) > 0;)
    text.append(bytes, static_cast<std::size_t>(count));
  close(terminal);
  waitpid(child, nullptr, 0);
  std::erase(text, '\r');
  return text;
}

/// A `history --follow --json` under way that prints to the file `out`.
pid_t follow(DaemonWorld& world, const std::string& out) {
  const pid_t child = fork();
  if (child == 0) {
    const int file = ::open(out.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    execl(kHealerctl.c_str(), kHealerctl.c_str(), "--socket", world.path().c_str(), "--json", "history", "-f", nullptr);
    _exit(127);
  }
  return child;
}

bool wait_for_lines(const std::string& path, std::ptrdiff_t count) {
  const auto lines = [&] {
    const std::string text = read_whole(path);
    return std::count(text.begin(), text.end(), '\n');
  };
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (lines() < count && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(milliseconds{5});
  return lines() == count;
}

/// The names of all fields of a document, as paths: "services[].last.status".
void collect(const Json& json, const std::string& path, std::set<std::string>& names) {
  if (json.is_object()) {
    for (const auto& [name, value] : json.items()) {
      const std::string here = path.empty() ? name : path + "." + name;
      names.insert(here);
      collect(value, here, names);
    }
  } else if (json.is_array()) {
    for (const Json& element : json) collect(element, path + "[]", names);
  }
}

/// The fields that the man page documents; those of `probe`, which asks no daemon, come last and are left out.
std::set<std::string> documented() {
  const std::string page = read_whole(healer::test::source_folder() + "/man/healer-json.5");
  std::set<std::string> names;
  const std::regex field(R"(^\.B\s+([a-z_]+(?:\[\])?(?:\.[a-z_]+(?:\[\])?)*)$)", std::regex::multiline);
  const std::size_t begin = page.find(".SH DOCUMENTS");
  const std::string section = page.substr(begin, page.find("\n.SS probe", begin + 1) - begin);
  for (std::sregex_iterator match(section.begin(), section.end(), field), end; match != end; ++match) {
    std::string name = (*match)[1];
    if (name.ends_with("[]")) name.resize(name.size() - 2);
    names.insert(name);
  }
  return names;
}

}  // namespace

TEST_CASE("healerctl without a daemon says what to do", "[control][healerctl]") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/healer.sock";
  CHECK(healerctl("--socket " + path + " status").all() ==
        "2||healerctl: healerd is not running (no socket at " + path +
            ")\n  start it (systemctl start healer), or name its socket with --socket\n");
  CHECK(healerctl("--socket " + path + " --json status").all() ==
        "2|{\"version\":1,\"error\":{\"code\":\"not-running\",\"message\":\"healerd is not running (no socket at " +
            path + ")\",\"remedy\":\"start it (systemctl start healer), or name its socket with --socket\"}}\n|");
  CHECK(healerctl("ping", "HEALER_SOCKET=" + path).err.find("(no socket at " + path + ")") != std::string::npos);
}

TEST_CASE("healerctl explains wrong usage, with status 2", "[control][healerctl]") {
  const auto complaint = [](const std::string& arguments) {
    const Ran ran = healerctl(arguments);
    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    CHECK(ran.err.ends_with("\n  `healerctl --help` shows how it is used\n"));
    return ran.err.substr(0, ran.err.find('\n'));
  };
  CHECK(complaint("") == "healerctl: a command is missing");
  CHECK(complaint("sumary") == "healerctl: there is no command \"sumary\"; did you mean \"summary\"?");
  CHECK(complaint("--socket /x staus") == "healerctl: there is no command \"staus\"; did you mean \"status\"?");
  CHECK(complaint("'\x1b[2J'") == "healerctl: there is no command \"\\x1b[2J\"");
  CHECK(complaint("status --bogus") == "healerctl: status has no option --bogus");
  CHECK(complaint("explain") == "healerctl: explain which service?");
  CHECK(complaint("monitor") == "healerctl: monitor which services? Name them or a group (-g), or say \"all\"");
  CHECK(complaint("history --since tomorrow") ==
        "healerctl: --since tomorrow: not a time (such as \"2 hours\", \"last tuesday\", 08:00 or 2026-11-20)");
  CHECK(complaint("history -n 0") == "healerctl: --lines 0: not a number between 1 and 10000");
  CHECK(complaint("history web db") == "healerctl: history takes one NAME");
  CHECK(complaint("status --fialed") == "healerctl: status has no option --fialed; did you mean --failed?");
  CHECK(complaint("quit now") == "healerctl: quit takes no \"now\"");
  CHECK(complaint("history --since") == "healerctl: --since needs a value: --since WHEN");
  CHECK(complaint("--json=maybe status") == "healerctl: --json takes no value");
  CHECK(complaint("top --interval 1") == "healerctl: --interval 1: not a duration between 100 ms and 1 h (such as 2s)");
  CHECK(complaint("output") == "healerctl: output needs NAME|ID");
  CHECK(complaint("simulate rules") == "healerctl: simulate needs --script SCRIPT");
  CHECK(complaint("procmatch ''") == "healerctl: REGEX must not be empty");
  CHECK(complaint("probe") == "healerctl: probe needs HOST");
  CHECK(complaint("probe ''") == "healerctl: HOST must not be empty");
  CHECK(complaint("restart") == "healerctl: restart which services? Name them or a group (-g), or say \"all\"");
  CHECK(complaint("pause web for ever") == "healerctl: for ever: not a duration (such as \"2 hours\" or 90m)");
  CHECK(complaint("pause for") == "healerctl: for : not a duration (such as \"2 hours\" or 90m)");
  CHECK(complaint("report dwon") ==
        "healerctl: report shows up, down, unknown, initialising, unmonitored and total, not \"dwon\"; did you "
        "mean \"down\"?");
  CHECK(complaint("jobs follow") == "healerctl: jobs follow needs ID");
  CHECK(complaint("jobs cancel seventy") == "healerctl: jobs cancel seventy: not a number");
  CHECK(complaint("--color --no-color status") == "healerctl: --color and --no-color exclude each other");
  CHECK(complaint("-g web staus") == "healerctl: there is no command \"staus\"; did you mean \"status\"?");
  CHECK(complaint("-g") == "healerctl: which command?");
}

TEST_CASE("healerctl explains wrong usage in JSON where JSON is wanted", "[control][healerctl]") {
  const auto complaint = [](const std::string& arguments) {
    const Ran ran = healerctl(arguments);
    CHECK(ran.status == 2);
    CHECK(ran.err.empty());
    const Json error = Json::parse(ran.out).at("error");
    CHECK(error.at("code") == "usage");
    CHECK(error.at("remedy") == "`healerctl --help` shows how it is used");
    return error.at("message").get<std::string>();
  };
  CHECK(complaint("staus --json") == "there is no command \"staus\"; did you mean \"status\"?");
  CHECK(complaint("--json") == "which command?");
  CHECK(complaint("--json explain") == "explain which service?");
  CHECK(complaint("status --json --bogus") == "status has no option --bogus");
  CHECK(complaint("top --json") == "top has no JSON output: `summary --json` has what is in it");
  CHECK(complaint("graph --json") == "graph has no JSON output: `status --json` has all that is in it");
}

TEST_CASE("healerctl takes the options of a command before it, too", "[control][healerctl]") {
  DaemonWorld world(two_services());
  world.cycle(0);
  CHECK(healerctl(world, "-g databases unmonitor").all() == "0|db unmonitored\n|");
  CHECK(healerctl(world, "--group databases monitor").all() == healerctl(world, "monitor --group databases").all());
  CHECK(healerctl(world, "--lines 1 history").out == healerctl(world, "history --lines 1").out);
  CHECK(healerctl(world, "--json -g databases names").out == healerctl(world, "names --json -g databases").out);
}

TEST_CASE("healerctl says so where its output has no place to go", "[control][healerctl]") {
  DaemonWorld world(two_services());
  for (const std::string closed : {">&-", "<&- >&-"})
    CHECK(healerctl(world, "summary " + closed).all() ==
          "1||healerctl: cannot write the output: Bad file descriptor\n");
}

TEST_CASE("healerctl of a user who is not root asks his own daemon first", "[control][healerctl]") {
  const TemporaryFolder folder;
  const std::string own = folder.path() + "/.healer.sock";
  const std::string home = "HOME=" + folder.path();
  const std::string user = home + (geteuid() == 0 ? " setpriv --reuid 65534 --clear-groups" : "");
  const auto asked = [&](const std::string& as) { return healerctl("ping", as).err.find(own) != std::string::npos; };
  CHECK_FALSE(asked(user));
  std::ofstream(own) << "";
  if (geteuid() == 0) CHECK_FALSE(asked(home));
  CHECK(asked(user));
}

TEST_CASE("healerctl helps", "[control][healerctl]") {
  CHECK(healerctl("--version").all() == "0|healerctl " HEALER_VERSION "\n|");
  CHECK(healerctl("version").all() == "0|healerctl " HEALER_VERSION "\n|");
  CHECK(healerctl("help").all() == healerctl("--help").all());
  CHECK(healerctl("help status").all() == healerctl("status --help").all());
  CHECK(healerctl("help jobs cancel").all() == healerctl("jobs cancel --help").all());
  CHECK(healerctl("help statu").all() ==
        "2||healerctl: there is no command \"statu\"; did you mean \"status\"?\n  `healerctl --help` shows how it is "
        "used\n");
  const Ran help = healerctl("--help");
  CHECK(help.status == 0);
  for (const char* command :
       {"summary", "status", "explain", "history", "monitor", "unmonitor", "validate", "accept", "reload",
        "quit",    "ping",   "start",   "stop",    "restart", "pause",     "resume",   "jobs",   "report",
        "names",   "graph",  "top",     "output",  "heal",    "approve",   "reject",   "cancel", "healing"}) {
    CHECK(help.out.find(std::string("\n  ") + command + " ") != std::string::npos);
    const Ran own = healerctl(std::string(command) + " --help");
    CHECK(own.status == 0);
    CHECK(own.out.find(std::string("healerctl ") + command) != std::string::npos);
  }
}

TEST_CASE("healerctl shows services, plain where it is piped", "[control][healerctl]") {
  DaemonWorld world(two_services());
  world.cycle(1, "no route\n");
  std::string out = std::regex_replace(healerctl(world, "summary").out, std::regex(" {2,}"), "~");
  // For how long is told by the clock on the wall, which the daemon without a machine does not follow.
  out = std::regex_replace(out, std::regex("db~failed~[^~]*~"), "db~failed~~");
  CHECK(out == R"(healer 1.2.3, up 0 s, cycle 1 s

SERVICE~STATE~FOR~NEXT~WHAT
web~failing~1 s~status != 0: exit status 1 in 5 ms: no route (1 of the last 3 runs failed, 3 in a row are needed)
db~failed~~1 s~status != 0: exit status 1 in 5 ms: no route

2 services: 1 failed, 1 failing
)");
  const Ran status = healerctl(world, "status -g databases");
  CHECK(status.status == 0);
  CHECK(status.out.find("\n\ndb\n  state      failed for ") != std::string::npos);
  CHECK(status.out.ends_with("\n\n1 service: 1 failed\n"));
  CHECK(healerctl(world, "explain web").out == R"(web is failing (test.rules:10)
  The next run is in 1 s.
  The last run: exit status 1 in 5 ms: no route.

  1. if status != 0 for 3 cycles then exec "/bin/heal" (test.rules:11)
     now          the last run failed; 1 of the last 3 runs failed, 3 in a row are needed
     if it holds  does nothing yet: 2 of the last 3 runs failed, 3 in a row are needed
     if not       does nothing
)");
  CHECK(healerctl(world, "status nosuch").all() ==
        "1||healerctl: there is no service \"nosuch\"\n  `healerctl summary` lists them\n");
}

TEST_CASE("healerctl exits with what was asked for", "[control][healerctl]") {
  DaemonWorld world(two_services());
  world.cycle(0);
  CHECK(healerctl(world, "summary --exit-code").status == 0);
  CHECK(healerctl(world, "status --exit-code").status == 0);
  world.cycle(1);
  CHECK(healerctl(world, "summary").status == 0);
  CHECK(healerctl(world, "summary --exit-code").status == 1);
  CHECK(healerctl(world, "status --exit-code db").status == 1);
  CHECK(healerctl(world, "status --exit-code web").status == 0);
  CHECK(healerctl(world, "summary >/dev/full").all() ==
        "1||healerctl: cannot write the output: No space left on device\n");
}

TEST_CASE("healerctl commands and says what happened", "[control][healerctl]") {
  DaemonWorld world(two_services());
  world.cycle(0);
  CHECK(healerctl(world, "unmonitor WEB").all() == "0|web unmonitored\n|");
  CHECK(healerctl(world, "monitor all").all() == "0|web, db monitored\n|");
  CHECK(healerctl(world, "accept -g databases").all() == "0|nothing to accept: no rule of 1 service is dormant\n|");
  CHECK(healerctl(world, "monitor wbe").all() ==
        "1||healerctl: there is no service \"wbe\"\n  did you mean \"web\"?\n");
  CHECK(healerctl(world, "ping").all() == "0|healerd 1.2.3 answers, pid " + std::to_string(getpid()) + ", up 0 s\n|");
  CHECK(healerctl(world, "reload").all() == "0|rules reloaded\n|");
  world.server().thread().run([&] {
    world.on_reload = [](const DaemonWorld::ReloadDone& done) {
      done({.ok = false, .text = "a.conf:1:2: error: no\n  x\n  ^\n"});
    };
  });
  CHECK(healerctl(world, "reload").all() ==
        "1||healerctl: a.conf:1:2: error: no\n  x\n  ^\n  still using the previous rules\n");
  world.act([](World& engine) { engine.answer = [&engine](ServiceId id) { return id == engine.id("db") ? 1 : 0; }; });
  CHECK(healerctl(world, "validate").all() == "1|1 of 2 services failed: db\n|");
  CHECK(healerctl(world, "validate web").all() == "0|web is in order\n|");
}

TEST_CASE("healerctl starts, stops, restarts and pauses", "[control][healerctl]") {
  DaemonWorld world(two_services());
  std::mutex mutex;
  std::vector<event::Command> taken;
  const auto last = [&] {
    const std::lock_guard lock(mutex);
    return taken.back();
  };
  world.server().thread().run([&] {
    world.on_submit = [&](const event::Command& command) {
      {
        const std::lock_guard lock(mutex);
        taken.push_back(command);
      }
      const bool fails = command.kind == event::Command::Kind::Restart;
      world.reply({command.id, !fails, fails ? "db: the start program exited with status 1" : "done"});
      return true;
    };
  });
  CHECK(healerctl(world, "start web db").all() == "0|done\n|");
  CHECK(healerctl(world, "stop -g databases").all() == "0|done\n|");
  CHECK(healerctl(world, "restart all").all() == "1|db: the start program exited with status 1\n|");
  CHECK(last().services.size() == 2);
  CHECK(healerctl(world, "pause web for 2 hours --reason 'new disks'").all() == "0|done\n|");
  CHECK(last().services.size() == 1);
  CHECK(last().until == World::kStart.wall + hours{2});
  CHECK(last().reason == "new disks");
  CHECK(healerctl(world, "pause for 90m").all() == "0|done\n|");
  CHECK(last().services.size() == 2);
  CHECK(last().until == World::kStart.wall + minutes{90});
  CHECK(healerctl(world, "pause -g databases").all() == "0|done\n|");
  CHECK_FALSE(last().until);
  CHECK(healerctl(world, "resume").all() == "0|done\n|");
  CHECK(last().services.size() == 2);
  world.act([](World& engine) { add_restart(engine); });
  CHECK(healerctl(world, "jobs cancel 70").all() == "0|done\n|");
  CHECK(last().job == JobId{70});
  CHECK(healerctl(world, "jobs cancel 7").all() ==
        "1||healerctl: nothing with the number 7 is under way\n  `healerctl jobs` lists them\n");
}

TEST_CASE("healerctl shows what is under way, counts and names", "[control][healerctl]") {
  DaemonWorld world(two_services());
  CHECK(healerctl(world, "jobs").all() == "0|nothing is under way\n|");
  world.act([](World& engine) { add_restart(engine); });
  CHECK(healerctl(world, "jobs").out ==
        "ID  KIND     SERVICE  STEP  FOR  BY    PID  DOING\n"
        "70  restart  web      2/3   3 s  root       start db, waits for its program to end (at most 30 s more)\n");
  CHECK(healerctl(world, "report").out ==
        "up:             0 (0.0%)\n"
        "down:           0 (0.0%)\n"
        "initialising:   2 (100.0%)\n"
        "unmonitored:    0 (0.0%)\n"
        "total:          2 services\n");
  CHECK(healerctl(world, "report initializing").all() == "0|2\n|");
  CHECK(healerctl(world, "names").all() == "0|web\ndb\n|");
  CHECK(healerctl(world, "names --groups").all() == "0|databases\n|");
  const Ran graph = healerctl(world, "graph db");
  CHECK(graph.status == 0);
  CHECK(graph.out.starts_with("digraph healer {\n"));
  CHECK(graph.out.find("[label=\"db\\nprogram, initialising\\nrestart: start db\"") != std::string::npos);
  CHECK(healerctl(world, "graph --dot db").out == graph.out);
}

TEST_CASE("healerctl follows the output of programs", "[control][healerctl]") {
  DaemonWorld world(two_services());
  std::ofstream(world.output_path(ActionId{71})) << "db comes\tup\n\x1b[2J\n";
  world.act([](World& engine) { add_restart(engine); });
  const TemporaryFolder folder;
  const auto follow = [&](const std::string& options) {
    const std::string out = folder.path() + (options.empty() ? "/text" : "/json");
    Ran ran;
    std::thread client([&] { ran = healerctl(world, "jobs follow 70 " + options + " | tee " + out); });
    const auto wait_for = [&](const std::string& text) {
      const auto until = std::chrono::steady_clock::now() + kPatience;
      while (read_whole(out).find(text) == std::string::npos && std::chrono::steady_clock::now() < until)
        std::this_thread::sleep_for(milliseconds{5});
    };
    wait_for("comes");
    std::ofstream(world.output_path(ActionId{72})) << "web comes up\n";
    world.act([](World& engine) {
      Job& job = add_restart(engine);
      job.position = 2;
      let_run(job, ActionId{72});
    });
    wait_for("web comes");
    world.act([](World& engine) { const_cast<std::map<std::uint64_t, Job>&>(engine.engine->jobs()).clear(); });
    client.join();
    return ran.out;
  };
  CHECK(follow("") ==
        "==> start db, waits for its program to end (at most 30 s more) <==\ndb comes\tup\n\\x1b[2J\n"
        "==> start web, waits for its program to end (at most 30 s more) <==\nweb comes up\n");
  world.act([](World& engine) { add_restart(engine); });
  const std::string stage = R"("text":"","waits_for":"its program to end","left_ms":30000})";
  CHECK(follow("--json") == R"({"action":71,"service":"web","doing":"start db",)" + stage + "\n" +
                                R"({"action":71,"service":"web","doing":"start db","text":"db comes\tup\n\u001b[2J\n"})"
                                "\n"
                                R"({"action":72,"service":"web","doing":"start web",)" +
                                stage + "\n" +
                                R"({"action":72,"service":"web","doing":"start web","text":"web comes up\n"})"
                                "\n");
}

TEST_CASE("healerctl shows the history, of a daemon and of a state file", "[control][healerctl]") {
  DaemonWorld world(two_services());
  world.cycle(1);
  CHECK(healerctl(world, "history").out ==
        "2026-11-21 04:24:00.000  healer: healer test started\n"
        "2026-11-21 04:24:00.000  db: status failed (1) -- no output\n");
  CHECK(healerctl(world, "history -n 1 DB").out == "2026-11-21 04:24:00.000  db: status failed (1) -- no output\n");
  CHECK(healerctl(world, "history --ids -n 1").out ==
        "      2  2026-11-21 04:24:00.000  db: status failed (1) -- no output\n");
  CHECK(healerctl(world, "history --after 1").out ==
        "      2  2026-11-21 04:24:00.000  db: status failed (1) -- no output\n");
  CHECK(healerctl(world, "history --after 2").all() == "0||");
  CHECK(healerctl(world, "history --after 9 -n 1").all() ==
        "0|      1  2026-11-21 04:24:00.000  healer: healer test started\n|"
        "healerctl: the numbers of records have begun anew since: this is all of the history\n");
  CHECK(healerctl(world, "history nosuch").status == 1);
  CHECK(healerctl(world, "history healer").out == "2026-11-21 04:24:00.000  healer: healer test started\n");

  const TemporaryFolder folder;
  const std::string path = folder.path() + "/state";
  {
    auto opened = store::SqliteStore::open(path, {});
    REQUIRE(opened);
    engine::effect::Commit commit;
    commit.sequence = 1;
    commit.records.push_back({.sequence = 1,
                              .when = World::kStart.wall + milliseconds{42},
                              .kind = RecordKind::RunOverrun,
                              .service = "web",
                              .text = "late"});
    commit.records.push_back(
        {.sequence = 1, .when = World::kStart.wall, .kind = RecordKind::DaemonStarted, .text = "started"});
    (*opened)->submit(commit);
    (*opened)->flush();
  }
  CHECK(healerctl("history --state " + path + " web").all() == "0|2026-11-21 04:24:00.042  web: late\n|");
  CHECK(healerctl("history --state " + path + " Healer").all() == "0|2026-11-21 04:24:00.000  healer: started\n|");
  CHECK(healerctl("history --state " + path + " db").all() == "0||");
  CHECK(healerctl("history --after 1 --state " + path).all() ==
        "0|      2  2026-11-21 04:24:00.000  healer: started\n|");
  CHECK(Json::parse(healerctl("history --json --state " + path + " web").out)["records"][0]["kind"] == "run-overrun");
  const Ran none = healerctl("history --state " + folder.path() + "/none");
  CHECK(none.status == 1);
  CHECK(none.err.find(folder.path() + "/none") != std::string::npos);
}

TEST_CASE("healerctl uses the terminal that there is", "[control][healerctl]") {
  DaemonWorld world(two_services());
  world.cycle(1, "no route");
  const std::string wide = on_terminal(world, {"summary"}, 100);
  CHECK(wide.find("\x1b[1;31mfailed\x1b[0m") != std::string::npos);
  for (std::size_t at = 0; at < wide.size(); at = wide.find('\n', at) + 1)
    CHECK(display_width(
              std::regex_replace(wide.substr(at, wide.find('\n', at) - at), std::regex("\x1b\\[[0-9;]*m"), "")) <= 100);
  const std::string narrow = on_terminal(world, {"summary"}, 40);
  CHECK(narrow.find("SERVICE  STATE    WHAT\n") != std::string::npos);
  CHECK(on_terminal(world, {"summary"}, 120, "NO_COLOR=1").find('\x1b') == std::string::npos);
  CHECK(on_terminal(world, {"summary"}, 120, "NO_COLOR=").find('\x1b') != std::string::npos);
  CHECK(on_terminal(world, {"summary", "--no-color"}, 120).find('\x1b') == std::string::npos);
  CHECK(on_terminal(world, {"summary", "--color"}, 120, "NO_COLOR=1").find('\x1b') != std::string::npos);
  world.act([](World& engine) { add_restart(engine); });
  const std::string jobs = on_terminal(world, {"jobs"}, 60);
  CHECK(jobs.find("\n70             restart  web      2/3   3 s   root") == std::string::npos);
  CHECK(jobs.find("\n70             restart  web      2/3") != std::string::npos);
  CHECK(jobs.find("…\n") == std::string::npos);  // what is under way is told whole, on lines of their own
  CHECK(jobs.find("\n    start db") != std::string::npos);
  CHECK(on_terminal(world, {"jobs"}, 40).find("FOR") == std::string::npos);
  CHECK(on_terminal(world, {"status"}, 80).find("\x1b[") != std::string::npos);
  CHECK(on_terminal(world, {"status"}, 80, "NO_COLOR=1").find('\x1b') == std::string::npos);
  CHECK(healerctl(world, "summary").out.find('\x1b') == std::string::npos);
  CHECK(healerctl(world, "summary --color").out.find('\x1b') != std::string::npos);
}

TEST_CASE("what a program printed cannot command the terminal", "[control][healerctl]") {
  DaemonWorld world(two_services());
  world.cycle(1,
              "\x1b]0;owned\x07\x1b[2J\xc2\x9b"
              "31m\r");
  for (const char* command : {"summary", "status", "explain db", "history"}) {
    const std::string out = healerctl(world, command).out;
    CHECK(out.find("owned") != std::string::npos);
    for (const char* sequence : {"\x1b", "\x07", "\r", "\xc2\x9b"}) CHECK(out.find(sequence) == std::string::npos);
  }
}

TEST_CASE("the --json documents are what the man page says, no more and no less", "[control][healerctl]") {
  RuleSet rules = two_services();
  const auto machine = service("machine", {});
  machine->kind = kind_named("system");
  rules.services.push_back(machine);
  DaemonWorld world(std::move(rules));
  world.set_mail(MailView{});
  world.set_contacts({ContactView{.name = "team", .waiting = 1}});
  world.set_stale(StaleView{World::kStart.wall, "a.rules:1:2: error: no"});
  world.server().thread().run([&] {
    const std::vector<DiagnosticView> found{{"error", "a.rules:1:2", "no", "yes", "syntax", 3}};
    world.on_reload = [found](const DaemonWorld::ReloadDone& done) {
      done({.ok = false, .text = "no", .diagnostics = found});
    };
    world.on_diff = [found](const DaemonWorld::ReloadDone& done) {
      done({.text = "web",
            .diagnostics = found,
            .changes = ChangesView{{{"web", "changed", "a:1", {"kept"}, {"begun"}, {"gone"}}}, 1, true}});
    };
  });
  world.cycle(1, "no route");
  world.act([](World& engine) {
    engine.handle(event::ActionStarted{engine.execs.back().action, 4242});
    engine.advance(seconds{1});
  });
  std::set<std::string> seen;
  std::ofstream(world.output_path(ActionId{71})) << "db comes up\n";
  world.act([](World& engine) {
    add_restart(engine);
    ServiceState& db = state_of(engine, "db");
    pause(engine, "db", engine.now.wall + hours{2}, "new disks");
    db.starts.edit().last = engine.now.wall;
    Facts facts;
    facts.process = ProcessFacts{.pid = 4242};
    Evidence evidence = *db.last;
    evidence.facts = std::make_shared<const Facts>(facts);
    db.last = std::make_shared<const Evidence>(evidence);
    db.presence.on(engine::PresenceEvent::Found);
    facts.metrics.set(Metric::Load1, 1.5);
    facts.further.edit().connections = {{.reach = Reach::Passed, .name = "http localhost:80"}};
    state_of(engine, "machine").last =
        std::make_shared<const Evidence>(Evidence{.facts = std::make_shared<const Facts>(facts)});
  });
  for (const char* command :
       {"summary", "status", "explain web db", "history", "history --after 5000", "monitor all", "ping", "reload",
        "diff", "status nosuch", "jobs", "report", "names", "healing", "healing report"}) {
    const Ran ran = healerctl(world, std::string(command) + " --json");
    INFO(command << ": " << ran.out);
    CHECK(ran.err.empty());
    const Json document = Json::parse(ran.out);
    CHECK(document.at("version") == 1);
    collect(document, "", seen);
  }
  collect(Json(OutputView{.waits_for = "x", .left = seconds{1}}), "", seen);  // of `jobs follow`, a line each
  HealingView healing;
  healing.abandoned = healing.plan_hash = "x";
  healing.plan_lines = {"x"};
  collect(Json(healing), "healings[]", seen);
  collect(Json(HealingView{.hint = "x"}), "healings[]", seen);
  ChangesView changes;
  changes.services = {{.service = "x", .change = "changed", .place = "x", .note = "x"}};
  changes.settings = true;
  changes.changed_settings = changes.meaning = changes.healings = {"x"};
  Done reloaded;
  reloaded.changes = changes;
  collect(Json(reloaded), "", seen);
  collect(Json(WorkflowReport{}), "workflows[]", seen);
  collect(Json(HealingHolds{.doubt = {}, .pauses = {{}}, .closed = {{}}, .open = {{}}, .cooldowns = {{}}}), "", seen);
  ServiceStatus healed;
  healed.healing = healing;
  healed.rests = CooldownView{};
  healed.acknowledged = AcknowledgementView{};
  healed.taken_out = TakenOutView{};
  healed.members = {{}};
  healed.unit = UnitView{};
  healed.booted = WallTime{};
  healed.heartbeat = HeartbeatView{.last = WallTime{},
                                   .due = WallTime{},
                                   .missed_at = WallTime{},
                                   .missed = WallTime{},
                                   .started = WallTime{},
                                   .ran = seconds{1}};
  healed.events = EventCheckView{};
  collect(Json(healed), "services[]", seen);
  collect(Json(EventView{}), "events[]", seen);
  seen.insert("events");
  RuleExplanation rule;
  rule.heals = HealExplanation{.healing = healing, .brakes = {{.left = seconds{1}}}};
  ServiceExplanation explained;
  explained.rules = {rule};
  collect(Json(explained), "services[]", seen);
  const Json action{{"when", 0}, {"service", ""}, {"kind", ""}, {"text", ""}, {"who", ""}, {"may_differ", false}};
  collect(Json{{"actions", Json::array({action})},
               {"notes", Json::array()},
               {"without_readings", Json::array()},
               {"not_monitored", Json::array()},
               {"edited", Json::array()},
               {"not_in_rules", Json::array()},
               {"runs", 0}},
          "", seen);  // of `replay`
  // What the fixed order of a document gives to a reader.
  CHECK(healerctl(world, "summary --json web").out.starts_with("{\"version\":1,\"command\":\"summary\",\"daemon\":{"));
  CHECK(seen == documented());
}

TEST_CASE("a followed history is a document a line", "[control][healerctl]") {
  DaemonWorld world(two_services());
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/out";
  const pid_t child = follow(world, out);
  CHECK(wait_for_lines(out, 1));
  world.cycle(1);
  CHECK(wait_for_lines(out, 2));
  kill(child, SIGTERM);
  waitpid(child, nullptr, 0);
  CHECK(world.server().wait_for_clients(0));
  std::ifstream file(out);
  std::string line;
  std::getline(file, line);
  CHECK(Json::parse(line).at("kind") == "daemon-started");
  std::getline(file, line);
  CHECK(Json::parse(line).at("kind") == "rule-failed");
}

TEST_CASE("a followed history ends well when the daemon does, and only then", "[control][healerctl]") {
  DaemonWorld world(two_services());
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/out";
  const pid_t child = follow(world, out);
  REQUIRE(wait_for_lines(out, 1));
  int status = -1;
  SECTION("in good order") {
    bool ended = false;
    world.act([&](World& engine) { engine.handle(event::Stopping{}); });
    world.server().thread().run([&] { world.commands().end_followers([&ended] { ended = true; }); });
    waitpid(child, &status, 0);
    CHECK(status == 0);
    world.server().thread().run([&] { CHECK(ended); });
    const std::string text = read_whole(out);
    CHECK(std::count(text.begin(), text.end(), '\n') == 2);
    CHECK(text.find("daemon-stopped") != std::string::npos);
    // Who comes after that is told the same.
    const std::string seen = on_terminal(world, {"history", "-f", "-n", "1", "--no-color"}, 120);
    CHECK(seen == "2026-11-21 04:24:00.000  healer: healer stopped\nhealerd has ended\n");
    CHECK(healerctl(world, "history -f -n 1").all() == "0|2026-11-21 04:24:00.000  healer: healer stopped\n|");
  }
  SECTION("by a crash") {
    world.server().stop();
    waitpid(child, &status, 0);
    CHECK(WEXITSTATUS(status) == 2);
    CHECK(read_whole(out).find("\"closed\"") != std::string::npos);
  }
}

}  // namespace healerctl_test
