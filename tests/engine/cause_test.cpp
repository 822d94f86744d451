// SPDX-License-Identifier: MIT
// The expected texts were measured on Monit 5.33.
#include "engine/words/cause.hpp"

#include <catch2/catch.hpp>

#include "engine/rules/metric.hpp"
#include "engine/rules/service.hpp"
#include "support/engine_world.hpp"

namespace cause_test {

using namespace healer;
using namespace healer::engine;
using State = effect::Cause::State;

namespace {

/// A rule's word on a run of the process or system service "burner".
class Word {
 public:
  explicit Word(Test test) : Word(RuleCondition{{std::move(test)}}) {}
  explicit Word(RuleCondition condition) {
    block.name = "burner";
    block.kind = kind_named("process");
    block.process->pid_file = "/run/burner.pid";
    const auto* compared = std::get_if<Compare>(&condition.tests.front());
    if (compared != nullptr && block.kind->find(compared->what) == nullptr) block.kind = kind_named("system");
    rule->condition = std::move(condition);
  }

  Word& process(ProcessFacts process) {
    facts.process = std::move(process);
    return *this;
  }
  Word& value(Metric metric, double value) {
    facts.metrics.set(metric, value);
    return *this;
  }
  [[nodiscard]] std::string of(bool failed) const {
    const bool there = !facts.process || !facts.process->zombie;
    const Evidence run{.answer = absent || !there ? Answer::Absent : Answer::Present,
                       .output = std::make_shared<const std::string>(output),
                       .facts = std::make_shared<const Facts>(facts)};
    return describe(block, rule, Seen{run, memory}, failed);
  }
  [[nodiscard]] std::string failed() const { return of(true); }
  [[nodiscard]] std::string recovered() const { return of(false); }

  ServiceBlock block;
  Rule rule;
  Facts facts;
  Memory memory;
  std::string output;
  bool absent = false;  ///< there is no process
};

/// The words on a quantity that matches `limit`, and on one that does not.
std::string matched(Metric metric, double value, double limit, Comparison comparison = Comparison::Greater) {
  return Word(Compare{metric, comparison, limit}).value(metric, value).failed();
}

std::string succeeded(Metric metric, double value) {
  return Word(Compare{metric, Comparison::Greater, 1e18}).value(metric, value).recovered();
}

constexpr double kKilobyte = 1024;
constexpr double kMegabyte = kKilobyte * kKilobyte;
constexpr double kGigabyte = kMegabyte * kKilobyte;

}  // namespace

TEST_CASE("Events are told in Monit's words") {
  CHECK(event_text(EventKind::Status, State::Failed) == "Status failed");
  CHECK(event_text(EventKind::Status, State::Succeeded) == "Status succeeded");
  CHECK(event_text(EventKind::Status, State::Changed) == "Status changed");
  CHECK(event_text(EventKind::Content, State::Changed) == "Content match");
  CHECK(event_text(EventKind::Content, State::Failed) == "Content match");
  CHECK(event_text(EventKind::Content, State::Succeeded) == "Content doesn't match");
  CHECK(event_text(EventKind::Instance, State::Changed) == "Monit instance changed");
  CHECK(event_text(EventKind::Action, State::Changed) == "Action done");
  CHECK(event_text(EventKind::Exec, State::Failed) == "Execution failed");
  CHECK(event_text(EventKind::Action, State::Failed) == "Action failed");
  CHECK(event_text(EventKind::Uptime, State::Failed) == "Uptime failed");
  CHECK(event_text(EventKind::Uptime, State::Succeeded) == "Uptime succeeded");
  CHECK(event_text(EventKind::NonExist, State::Failed) == "Does not exist");
  CHECK(event_text(EventKind::NonExist, State::Succeeded) == "Exists");
  CHECK(event_text(EventKind::Exist, State::Failed) == "Does exist");
  CHECK(event_text(EventKind::Exist, State::Succeeded) == "Exists not");
  CHECK(event_text(EventKind::Resource, State::Failed) == "Resource limit matched");
  CHECK(event_text(EventKind::Resource, State::Succeeded) == "Resource limit succeeded");
  CHECK(event_text(EventKind::Uid, State::Failed) == "UID failed");
  CHECK(event_text(EventKind::Uid, State::Succeeded) == "UID succeeded");
  CHECK(event_text(EventKind::Gid, State::Failed) == "GID failed");
  CHECK(event_text(EventKind::Gid, State::Succeeded) == "GID succeeded");
  CHECK(event_text(EventKind::Pid, State::Changed) == "PID changed");
  CHECK(event_text(EventKind::Ppid, State::Changed) == "PPID changed");
  CHECK(event_text(EventKind::Invalid, State::Failed) == "Invalid type");
  CHECK(event_text(EventKind::Timeout, State::Failed) == "Timeout");
}

TEST_CASE("A status is described as Monit describes it") {
  CHECK(describe_status(3, true, "err line 2\nout line1 run 2 rc 3\nlast line\n") ==
        "status failed (3) -- err line 2\nout line1 run 2 rc 3\nlast line");
  CHECK(describe_status(0, false, "ok\n") == "status succeeded (0) -- ok");
  CHECK(describe_status(4, true, "") == "status failed (4) -- no output");
  CHECK(describe_status(1, true, "\n \n") == "status failed (1) -- no output");
  CHECK(describe_status(1, true, "\n\n  a b  \n\n \t\n\n") == "status failed (1) -- a b");
  CHECK(describe_status(1, true, std::string_view("before\0after\n", 13)) == "status failed (1) -- before");
  CHECK(describe_changed(0, 1, "x\n") == "status changed (0 -> 1) -- x");
  CHECK(describe_unchanged(1, "") == "status didn't change (1) -- no output");
}

TEST_CASE("Content is described as Monit describes it") {
  CHECK(describe_content(true, "err line 2\nlast line\n") ==
        "content match on program output:\nerr line 2\nlast line\n");
  CHECK(describe_content(true, "x\n\n\n") == "content match on program output:\nx\n");
  CHECK(describe_content(true, "") == "content match on program output:\n\n");
  CHECK(describe_content(false, "x\n") == "content doesn't match on program output:\nx");
}

TEST_CASE("A description says how a run ended where Monit hides it") {
  Evidence run{.outcome = Outcome::Exited,
               .status = 1,
               .matches = 0,
               .elapsed = seconds{17},
               .output = std::make_shared<const std::string>("bad\n")};
  CHECK(describe_run(run, true, seconds{15}) == "status failed (1) -- bad");
  run.outcome = Outcome::TimedOut;
  run.status = 9;
  CHECK(describe_run(run, true, seconds{15}) == "status failed (9) -- timed out after 15 s\nbad");
  run.output = std::make_shared<const std::string>();
  CHECK(describe_run(run, true, seconds{15}) == "status failed (9) -- timed out after 15 s");
  run.outcome = Outcome::Signalled;
  run.status = 11;
  run.output = nullptr;
  CHECK(describe_run(run, true, seconds{15}) == "status failed (11) -- killed by signal 11");
}

TEST_CASE("The existence of a process is described as Monit describes it") {
  Word word(Present{false});
  word.absent = true;
  CHECK(word.failed() == "process is not running");
  word.absent = false;
  word.process({.pid = 29853});
  CHECK(word.recovered() == "process is running with pid 29853");
  word.process({.pid = 1389, .zombie = true});
  CHECK(word.failed() == "process with pid 1389 is a zombie");
  word.rule->condition = RuleCondition{{Present{true}}};
  CHECK(word.process({.pid = 29853}).failed() == "process is running with pid 29853");
  word.facts.process.reset();
  word.absent = true;
  CHECK(word.recovered() == "process is not running");
}

TEST_CASE("Quantities of a process are described as Monit describes them") {
  CHECK(matched(Metric::Cpu, 46.8, 20) == "cpu usage of 46.8% matches resource limit [cpu usage > 20.0%]");
  CHECK(succeeded(Metric::Cpu, 18.6) == "cpu usage check succeeded [current cpu usage = 18.6%]");
  CHECK(matched(Metric::TotalCpu, 46.8, 20) == "total cpu usage of 46.8% matches resource limit [cpu usage > 20.0%]");
  CHECK(succeeded(Metric::TotalCpu, 18.6) == "total cpu usage check succeeded [current cpu usage = 18.6%]");
  CHECK(matched(Metric::MemoryPercent, 7.8, 1) == "mem usage of 7.8% matches resource limit [mem usage > 1.0%]");
  CHECK(succeeded(Metric::MemoryPercent, 0) == "mem usage check succeeded [current mem usage = 0.0%]");
  CHECK(matched(Metric::MemoryBytes, 3084 * kKilobyte, 10 * kKilobyte) ==
        "mem amount of 3.0 MB matches resource limit [mem amount > 10 kB]");
  CHECK(succeeded(Metric::MemoryBytes, 1568 * kKilobyte) == "mem amount check succeeded [current mem amount = 1.5 MB]");
  CHECK(matched(Metric::TotalMemory, 0.1, 0.02) ==
        "total mem amount of 0.1% matches resource limit [total mem amount > 0.0%]");
  CHECK(succeeded(Metric::TotalMemory, 0.01) == "total mem amount check succeeded [current total mem amount = 0.0%]");
  CHECK(matched(Metric::TotalMemoryBytes, 8116 * kKilobyte, 6 * kMegabyte) ==
        "total mem amount of 7.9 MB matches resource limit [total mem amount > 6 MB]");
  CHECK(succeeded(Metric::TotalMemoryBytes, 3084 * kKilobyte) ==
        "total mem amount check succeeded [current total mem amount = 3.0 MB]");
  CHECK(matched(Metric::Children, 3, 2) == "children count 3 matches resource limit [children > 2]");
  CHECK(succeeded(Metric::Children, 0) == "children check succeeded [current children = 0]");
  CHECK(matched(Metric::Threads, 1, 1, Comparison::Equal) == "threads count 1 matches resource limit [threads = 1]");
  CHECK(succeeded(Metric::Threads, 1) == "threads check succeeded [current threads = 1]");
  CHECK(matched(Metric::FileDescriptors, 25, 5) == "filedescriptors usage of 25 matches limit [filedescriptors > 5]");
  CHECK(succeeded(Metric::FileDescriptors, 5) == "filedescriptors test succeeded [current filedescriptors usage = 5]");
  CHECK(matched(Metric::FileDescriptorsPercent, 0.01, 50, Comparison::Less) ==
        "filedescriptors usage of 0.0% matches limit [filedescriptors < 50.0%]");
  CHECK(succeeded(Metric::FileDescriptorsPercent, 0.1) ==
        "filedescriptors usage test succeeded [current filedescriptors usage = 0.1%]");
  CHECK(matched(Metric::TotalFileDescriptors, 21, 6) ==
        "total  filedescriptors usage of 21 matches limit [filedescriptors > 6]");
  CHECK(succeeded(Metric::TotalFileDescriptors, 6) ==
        "total filedescriptors usage test succeeded [current filedescriptors usage = 6]");
}

TEST_CASE("Rates are described as Monit describes them") {
  CHECK(matched(Metric::ReadRate, 4 * kMegabyte + kKilobyte, kKilobyte) ==
        "read rate 4.0 MB/s matches resource limit [read > 1 kB/s]");
  CHECK(succeeded(Metric::ReadRate, 0) == "read rate test succeeded [current read = 0 B/s]");
  CHECK(matched(Metric::WriteRate, 2 * kMegabyte, kKilobyte) ==
        "write rate 2 MB/s matches resource limit [write > 1 kB/s]");
  CHECK(matched(Metric::DiskReadRate, 0, 0, Comparison::GreaterEqual) ==
        "physical read activity 0 B/s matches resource limit [read >= 0 B/s]");
  CHECK(succeeded(Metric::DiskReadRate, 0) == "physical read activity test succeeded [current read = 0 B/s]");
  CHECK(matched(Metric::DiskWriteRate, 3.9 * kMegabyte, kMegabyte) ==
        "physical write activity 3.9 MB/s matches resource limit [write > 1 MB/s]");
  CHECK(succeeded(Metric::DiskWriteRate, 0) == "physical write activity test succeeded [current write = 0 B/s]");
  CHECK(matched(Metric::ReadOperations, 7.9, 0, Comparison::GreaterEqual) ==
        "read rate 7.9 operations/s matches resource limit [read >= 0 operations/s]");
  CHECK(succeeded(Metric::ReadOperations, 0) == "read rate test succeeded [current read = 0.0 operations/s]");
  CHECK(matched(Metric::WriteOperations, 4.2, 2) ==
        "write rate 4.2 operations/s matches resource limit [write > 2 operations/s]");
  CHECK(succeeded(Metric::WriteOperations, 0) == "write rate test succeeded [current write = 0.0 operations/s]");
}

TEST_CASE("Quantities of the system are described as Monit describes them") {
  CHECK(matched(Metric::Load1, 6.6, 0.01) == "loadavg (1min) of 6.6 matches resource limit [loadavg (1min) > 0.0]");
  CHECK(matched(Metric::Load15, 2.2, 0.01) == "loadavg (15min) of 2.2 matches resource limit [loadavg (15min) > 0.0]");
  CHECK(matched(Metric::Load1PerCore, 3.3, 0.01) ==
        "loadavg per core (1min) of 3.3 matches resource limit [loadavg per core (1min) > 0.0]");
  CHECK(matched(Metric::Load5PerCore, 1.9, 0.01) ==
        "loadavg per core (5min) of 1.9 matches resource limit [loadavg per core (5min) > 0.0]");
  CHECK(matched(Metric::SystemCpu, 18.9, 10) == "cpu usage of 18.9% matches resource limit [cpu usage > 10.0%]");
  CHECK(matched(Metric::CpuUser, 10.9, 10) ==
        "cpu user usage of 10.9% matches resource limit [cpu user usage > 10.0%]");
  CHECK(succeeded(Metric::CpuUser, 8.3) == "cpu user usage check succeeded [current cpu user usage = 8.3%]");
  CHECK(matched(Metric::CpuWait, 0, 0, Comparison::GreaterEqual) ==
        "cpu I/O wait of 0.0% matches resource limit [cpu I/O wait >= 0.0%]");
  CHECK(matched(Metric::SystemMemory, 9.9, 3, Comparison::NotEqual) ==
        "mem usage of 9.9% matches resource limit [mem usage != 3.0%]");
  CHECK(matched(Metric::SystemMemoryBytes, 1.8 * kGigabyte, kMegabyte) ==
        "mem amount of 1.8 GB matches resource limit [mem amount > 1 MB]");
  CHECK(matched(Metric::Swap, 0, 0, Comparison::GreaterEqual) ==
        "swap usage of 0.0% matches resource limit [swap usage >= 0.0%]");
  CHECK(matched(Metric::SwapBytes, 0, 0, Comparison::GreaterEqual) ==
        "swap amount of 0 B matches resource limit [swap amount >= 0 B]");
  CHECK(matched(Metric::SystemFileDescriptors, 1123, 5) ==
        "filedescriptors usage of 1123 matches limit [filedescriptors > 5]");
  CHECK(matched(Metric::SystemFileDescriptorsPercent, 0, 0, Comparison::GreaterEqual) ==
        "filedescriptors usage of 0.0% matches limit [filedescriptors >= 0.0%]");
}

TEST_CASE("Every quantity has words of its own in every sentence") {
  for (const CheckKind* kind : all_kinds()) {
    for (const Quantity& row : kind->quantities) {
      INFO(kind->word << ": " << row.words);
      CHECK_FALSE(row.words.empty());
      if (row.metric == Metric::Status) continue;  // told by what the program wrote
      CHECK(row.sentence.matched.size() >= 4);
      CHECK(row.sentence.limit.empty() == row.sentence.current.empty());  // whole sentences, or parts of one
      CHECK(row.sentence.succeeded.size() >= 4);
    }
  }
}

TEST_CASE("Bytes are told as Monit tells them") {
  const auto formatted = [](double value) { return format_metric(Unit::Bytes, value); };
  CHECK(formatted(0) == "0 B");
  CHECK(formatted(1023) == "1023 B");
  CHECK(formatted(1024) == "1 kB");
  CHECK(formatted(1025) == "1.0 kB");
  CHECK(formatted(1100) == "1.1 kB");
  CHECK(formatted(1536) == "1.5 kB");
  CHECK(formatted(1023 * kKilobyte) == "1023 kB");
  CHECK(formatted(1025 * kKilobyte) == "1.0 MB");
  CHECK(formatted(5.25 * kMegabyte) == "5.2 MB");
  CHECK(formatted(kGigabyte / 2) == "512 MB");
  CHECK(formatted(1025 * kMegabyte) == "1.0 GB");
  CHECK(formatted(1023 * kGigabyte) == "1023 GB");
  CHECK(formatted(2000 * kGigabyte) == "2.0 TB");
  CHECK(formatted(5'000'000 * kGigabyte) == "4.8 PB");
  CHECK(format_metric(Unit::BytesPerSecond, 2 * kMegabyte) == "2 MB/s");
}

TEST_CASE("An uptime is described as Monit describes it") {
  Word word(Compare{Metric::Uptime, Comparison::Less, 8});
  word.value(Metric::Uptime, 5.9);
  CHECK(word.failed() == "uptime test failed for /run/burner.pid -- current uptime is 5 seconds");
  CHECK(word.value(Metric::Uptime, 12).recovered() == "uptime test succeeded [current uptime = 12 seconds]");
  *word.block.process = {"", "burn[e]r"};
  CHECK(word.failed() == "uptime test failed for burn[e]r -- current uptime is 12 seconds");
  word.block.kind = kind_named("system");  // where Monit says "(null)"
  CHECK(word.failed() == "uptime test failed for burner -- current uptime is 12 seconds");
}

TEST_CASE("Owners are described as Monit describes them") {
  const auto word = [](Attribute what) { return Word(Differs{what, 9}).process({.uid = 1, .euid = 2, .gid = 3}); };
  CHECK(word(Attribute::Uid).failed() == "uid test failed for burner -- current uid is 1");
  CHECK(word(Attribute::Uid).recovered() == "uid test succeeded [current uid = 1]");
  CHECK(word(Attribute::Euid).failed() == "euid test failed for burner -- current euid is 2");
  CHECK(word(Attribute::Euid).recovered() == "euid test succeeded [current euid = 2]");
  CHECK(word(Attribute::Gid).failed() == "gid test failed for burner -- current gid is 3");
  CHECK(word(Attribute::Gid).recovered() == "gid test succeeded [current gid = 3]");
  Word attribute(Differs{Attribute::Security, std::string("foo")});
  CHECK(attribute.process({.attribute = ""}).failed() ==
        "Security attribute test failed for burner -- current attribute is ''");
  CHECK(attribute.process({.attribute = "foo"}).recovered() ==
        "Security attribute test succeeded [current attribute = 'foo']");
}

TEST_CASE("Changes of a process are described as Monit describes them") {
  Word word(Changed{Attribute::Pid});
  word.memory = Memory{{{Attribute::Pid, 1317}, {Attribute::Parent, 31560}}};
  word.process({.pid = 1396, .parent = 1});
  CHECK(word.failed() == "process PID changed from 1317 to 1396");
  CHECK(word.recovered() == "process PID has not changed since last cycle");
  word.rule->condition = RuleCondition{{Changed{Attribute::Parent}}};
  CHECK(word.failed() == "process PPID changed from 31560 to 1");
  CHECK(word.recovered() == "process PPID has not changed since last cycle");
}

TEST_CASE("Too many restarts are described as Monit describes them") {
  Word word(Restarts{});
  word.rule->tolerance = {.count = 3, .window = 5};
  word.rule->action.kind = ActionKind::Unmonitor;
  CHECK(word.failed() == "service restarted 3 times within 5 cycles(s) - unmonitor");
  CHECK(word.recovered() == "process is running after previous restart timeout (manually recovered?)");
}

TEST_CASE("Of several tests the one that decides has the word") {
  const Test cpu = Compare{Metric::Cpu, Comparison::Greater, 50};
  const Test memory = Compare{Metric::MemoryPercent, Comparison::Greater, 50};
  const Test threads = Compare{Metric::Threads, Comparison::Greater, 50};
  const auto word = [](RuleCondition condition, double cpu_value, double memory_value, double threads_value) {
    return Word(std::move(condition))
        .value(Metric::Cpu, cpu_value)
        .value(Metric::MemoryPercent, memory_value)
        .value(Metric::Threads, threads_value);
  };
  const auto begins = [](const std::string& text) { return text.substr(0, text.find(' ')); };
  const RuleCondition both{{cpu, memory}};
  CHECK(begins(word(both, 60, 60, 0).failed()) == "cpu");
  CHECK(begins(word(both, 60, 40, 0).recovered()) == "mem");
  CHECK(begins(word(both, 40, 40, 0).recovered()) == "cpu");
  const RuleCondition any{{cpu, memory, threads}, {Op::Leaf, Op::Leaf, Op::And, Op::Leaf, Op::Or}};
  CHECK(begins(word(any, 60, 60, 60).failed()) == "cpu");
  CHECK(begins(word(any, 60, 40, 60).failed()) == "threads");
  CHECK(begins(word(any, 60, 40, 40).recovered()) == "mem");
  // not (cpu and memory)
  const RuleCondition none{{cpu, memory}, {Op::Leaf, Op::Leaf, Op::And, Op::Not}};
  CHECK(word(none, 60, 40, 0).failed() == word(RuleCondition{{memory}}, 60, 40, 0).recovered());
  CHECK(word(none, 60, 60, 0).recovered() == word(RuleCondition{{cpu}}, 60, 60, 0).failed());
}

TEST_CASE("What a program has to say goes by the rule") {
  ServiceBlock block;
  block.program->command.timeout = seconds{15};
  Rule rule;
  Evidence run{.status = 2, .output = std::make_shared<const std::string>("bad\n")};
  const Memory memory = Memory{{{Attribute::Status, 1}}};
  const auto formatted = [&](Test test, bool failed) {
    rule->condition = RuleCondition{{std::move(test)}};
    return describe(block, rule, Seen{run, memory}, failed);
  };
  CHECK(formatted(Compare{}, true) == "status failed (2) -- bad");
  CHECK(formatted(Compare{}, false) == "status succeeded (2) -- bad");
  CHECK(formatted(Changed{Attribute::Status}, true) == "status changed (1 -> 2) -- bad");
  CHECK(formatted(Changed{Attribute::Status}, false) == "status didn't change (2) -- bad");
  CHECK(formatted(Matches{}, true) == "content match on program output:\nbad\n");
  CHECK(formatted(Matches{}, false) == "content doesn't match on program output:\nbad");
  run.outcome = Outcome::TimedOut;
  run.status = 9;
  CHECK(formatted(Compare{}, true) == "status failed (9) -- timed out after 15 s\nbad");
}

TEST_CASE("A program that does not start or stop a service is described as Monit describes it") {
  const Command command{.arguments = {"/bin/sh", "-c", "echo out; exit 3"}, .timeout = seconds{2}};
  CHECK(describe_not_done("start", command, Outcome::Exited, 3, "out\n") ==
        "failed to start (exit status 3) -- '/bin/sh -c echo out; exit 3': out");
  CHECK(describe_not_done("start", command, Outcome::Exited, 0, "") == "failed to start (exit status 0) -- no output");
  CHECK(describe_not_done("restart", command, Outcome::Signalled, 9, "killing\n") ==
        "failed to restart (exit status 9) -- '/bin/sh -c echo out; exit 3': killing");
  CHECK(describe_not_done("start", command, Outcome::TimedOut, 9, "waiting\n") ==
        "failed to start (exit status -1) -- '/bin/sh -c echo out; exit 3': Program timed out -- waiting");
  CHECK(describe_not_done("stop", command, Outcome::TimedOut, 9, "") ==
        "failed to stop (exit status -1) -- Program '/bin/sh -c echo out; exit 3' timed out after 2 s");
}

TEST_CASE("A person's commands are described as Monit describes them") {
  CHECK(describe_action("start", true) == "start action done");
  CHECK(describe_action("stop", false) == "stop action failed");
}

TEST_CASE("The most informative line of a program's output is given as the reason", "[engine]") {
  CHECK(telling_line("").empty());
  CHECK(telling_line("no route\n") == "no route");
  CHECK(
      telling_line("PLAY [localhost] ****\n\nTASK [ping]\nfatal: [db]: UNREACHABLE!\n\nPLAY RECAP ***\ndb : ok=0\n") ==
      "fatal: [db]: UNREACHABLE!");
  const std::string output = "warning: old\n  cannot connect\n\nchecking\ndone\n";
  CHECK(telling_line(output, output.find("checking")) == "cannot connect");  // the last on stderr
  CHECK(telling_line("begin\nERROR: no disk\n1 file read, 0 errors, no error\nend\n") == "ERROR: no disk");
  CHECK(telling_line("begin\nmiddle\nend\n") == "end");
}

TEST_CASE("a failed start on one line has the last words of its program", "[engine]") {
  ServiceBlock block;
  block.programs.edit().start = Command{.arguments = {"/bin/sh", "-c", "echo 'a': b"}};
  const auto formatted = [&](Outcome outcome, std::string_view output) {
    return brief_failure(describe_not_done("start", *block.programs->start, outcome, 3, output), block);
  };
  CHECK(formatted(Outcome::Exited, "starting\nport 80 is in use\n") ==
        "failed to start (exit status 3): port 80 is in use");
  CHECK(formatted(Outcome::Exited, "") == "failed to start (exit status 3) -- no output");
  CHECK(formatted(Outcome::TimedOut, "a\nb") == "failed to start (exit status -1): timed out, b");
  CHECK(brief_failure("cancelled by root", block) == "cancelled by root");
}

}  // namespace cause_test
