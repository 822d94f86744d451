// SPDX-License-Identifier: MIT
// What becomes of services, their programs and their tests in the rules that the engine reads.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "config/check.hpp"
#include "config/load.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "support/fake_environment.hpp"

namespace services_test {

using namespace healer;
using namespace healer::config;
using engine::EventKind;
using engine::Metric;
using engine::Mode;

namespace {

const std::string kMain = "/etc/main";
const std::string kProcess =
    "check process x with pidfile /tmp/x start program \"/bin/true\" stop program \"/bin/true\"\n";
const std::string kSystem = "check system x start program \"/bin/true\"\n";
const std::string kProgram = "check program x with path \"/bin/true\" start program \"/bin/true\"\n";

LoadResult load_text(const std::string& text, bool online = true) {
  test::FakeEnvironment machine;
  machine.online = online;
  machine.files[kMain] = text;
  return load(kMain, {}, machine);
}

std::vector<std::shared_ptr<const engine::ServiceBlock>> services(const std::string& text) {
  LoadResult result = load_text(text);
  INFO(format_all(result.diagnostics, result.sources, false));
  REQUIRE(result.ok());
  return std::move(result.rules->services);
}

/// The first rule of a text with one service.
engine::Rule rule(const std::string& header, const std::string& text) {
  INFO(text);
  const auto all = services(header + text);
  REQUIRE_FALSE(all.at(0)->rules.empty());
  return all.at(0)->rules.front();
}

}  // namespace

TEST_CASE("a rule is known by its condition, however the rest of it is written", "[services]") {
  const auto of = [](const std::string& text) { return rule(kProcess, "if " + text).identity(); };
  const auto plain = of("cpu > 50% then alert");
  for (const std::string edit :
       {"cpu > 50% for 3 cycles then alert", "cpu > 50% then exec \"/bin/true\"",
        "cpu is greater than 50% then restart",
        "cpu > 50% for 2 minutes then alert else if succeeded for 2 cycles then exec \"/bin/true\""}) {
    INFO(edit);
    CHECK(of(edit).condition == plain.condition);
    CHECK(of(edit).text != plain.text);
  }
  CHECK(of("cpu > 50% for 3 cycles then alert").actions == plain.actions);
  CHECK(of("cpu > 50% then exec \"/bin/true\"").actions != plain.actions);
  CHECK(of("cpu > 50% then alert else if succeeded then exec \"/bin/true\"").actions != plain.actions);
  CHECK(of("cpu > 51% then alert").condition != plain.condition);
  CHECK(of("cpu > 50% or memory > 5% then alert").condition != plain.condition);
  CHECK(of("2 restarts within 3 cycles then alert").condition ==
        of("5 restarts within 9 cycles then unmonitor").condition);
}

TEST_CASE("a terabyte is 1024 gigabytes, to healer alone", "[services]") {
  const auto value = [](const std::string& text) {
    const engine::Rule one = rule(kSystem, "if " + text + " then alert");
    CHECK(one->text == "if memory > 2 TB then alert");
    return std::get<engine::Compare>(one->condition->tests.at(0)).value;
  };
  for (const char* text : {"memory > 2 TB", "memory > 2TB", "memory>2TB", "memory > 2 tb", "memory > 2 terabytes"})
    CHECK(value(text) == 2.0 * 1024 * 1024 * 1024 * 1024);
  CHECK(rule("check network x with interface lo\n", "if total upload > 1 TB in last day then alert")->text ==
        "if total upload > 1 TB in last 24 hours then alert");
}

TEST_CASE("each quantity is measured in the metric's own unit", "[services]") {
  struct Row {
    std::string header;
    std::string text;
    Metric metric;
    double value;
  };
  constexpr double kMega = 1024 * 1024;
  const std::vector<Row> rows{
      {kProcess, "cpu > 50.5%", Metric::Cpu, 50.5},
      {kProcess, "total cpu > 50 percent", Metric::TotalCpu, 50},
      {kProcess, "memory > 10%", Metric::MemoryPercent, 10},
      {kProcess, "memory > 10.5 MB", Metric::MemoryBytes, 10.5 * kMega},
      {kProcess, "memory > 10", Metric::MemoryBytes, 10},
      {kProcess, "memory > 2 kilobytes", Metric::MemoryBytes, 2048},
      {kProcess, "total memory > 10%", Metric::TotalMemory, 10},
      {kProcess, "total memory > 2 GB", Metric::TotalMemoryBytes, 2048 * kMega},
      {kProcess, "children > 3", Metric::Children, 3},
      {kProcess, "threads > 4", Metric::Threads, 4},
      {kProcess, "filedescriptors > 5", Metric::FileDescriptors, 5},
      {kProcess, "filedescriptors > 5%", Metric::FileDescriptorsPercent, 5},
      {kProcess, "total filedescriptors > 6", Metric::TotalFileDescriptors, 6},
      {kProcess, "read > 1 MB/s", Metric::ReadRate, kMega},
      {kProcess, "write > 1 kB", Metric::WriteRate, 1024},
      {kProcess, "disk read > 1 kB/s", Metric::DiskReadRate, 1024},
      {kProcess, "disk write > 1 kB", Metric::DiskWriteRate, 1024},
      {kProcess, "disk read > 7 operations/s", Metric::ReadOperations, 7},
      {kProcess, "disk write > 8 operations", Metric::WriteOperations, 8},
      {kProcess, "uptime > 9", Metric::Uptime, 9},
      {kProcess, "uptime > 2 minutes", Metric::Uptime, 120},
      {kProcess, "uptime > 2 h", Metric::Uptime, 7200},
      {kProcess, "uptime > 2 days", Metric::Uptime, 2 * 86400},
      {kProcess, "uptime > 2 weeks", Metric::Uptime, 14 * 86400},
      {kProcess, "uptime > 1 month", Metric::Uptime, 31 * 86400},
      {kProcess, "loadavg > 1.5", Metric::Load1, 1.5},
      {kSystem, "loadavg > 1.5", Metric::Load1, 1.5},
      {kSystem, "loadavg(5min) > 1", Metric::Load5, 1},
      {kSystem, "loadavg(15min) > 1", Metric::Load15, 1},
      {kSystem, "loadavg per core > 1", Metric::Load1PerCore, 1},
      {kSystem, "loadavg(5min) per core > 1", Metric::Load5PerCore, 1},
      {kSystem, "loadavg(15min) per core > 1", Metric::Load15PerCore, 1},
      {kSystem, "cpu > 1%", Metric::SystemCpu, 1},
      {kSystem, "cpu(user) > 1%", Metric::CpuUser, 1},
      {kSystem, "cpu(system) > 1%", Metric::CpuSystem, 1},
      {kSystem, "cpu(nice) > 1%", Metric::CpuNice, 1},
      {kSystem, "cpu(wait) > 1%", Metric::CpuWait, 1},
      {kSystem, "cpu(hardirq) > 1%", Metric::CpuHardIrq, 1},
      {kSystem, "cpu(softirq) > 1%", Metric::CpuSoftIrq, 1},
      {kSystem, "cpu(steal) > 1%", Metric::CpuSteal, 1},
      {kSystem, "cpu(guest) > 1%", Metric::CpuGuest, 1},
      {kSystem, "cpu(guestnice) > 1%", Metric::CpuGuestNice, 1},
      {kSystem, "memory > 1%", Metric::SystemMemory, 1},
      {kSystem, "memory > 1 MB", Metric::SystemMemoryBytes, kMega},
      {kSystem, "swap > 1%", Metric::Swap, 1},
      {kSystem, "swap > 1 MB", Metric::SwapBytes, kMega},
      {kSystem, "uptime > 1 day", Metric::Uptime, 86400},
      {kSystem, "filedescriptors > 1", Metric::SystemFileDescriptors, 1},
      {kSystem, "filedescriptors > 1%", Metric::SystemFileDescriptorsPercent, 1},
  };
  for (const Row& row : rows) {
    const auto test =
        std::get<engine::Compare>(rule(row.header, "if " + row.text + " then alert")->condition->tests.at(0));
    CAPTURE(row.text);
    CHECK(test.what == row.metric);
    CHECK(test.value == Approx(row.value));
    CHECK(test.comparison == engine::Comparison::Greater);
  }
}

TEST_CASE("each test raises Monit's event and acts as Monit's", "[services]") {
  struct Row {
    std::string header;
    std::string text;
    EventKind event;
    Mode mode;
  };
  const std::vector<Row> rows{
      {kProcess, "not exist", EventKind::NonExist, Mode::Latched},
      {kProcess, "exist", EventKind::Exist, Mode::Latched},
      {kProcess, "cpu > 5%", EventKind::Resource, Mode::Latched},
      {kProcess, "total filedescriptors > 5", EventKind::Resource, Mode::Latched},
      {kProcess, "failed uid root", EventKind::Uid, Mode::Latched},
      {kProcess, "failed euid root", EventKind::Uid, Mode::Latched},
      {kProcess, "failed gid root", EventKind::Gid, Mode::Latched},
      {kProcess, "changed pid", EventKind::Pid, Mode::EachChange},
      {kProcess, "changed ppid", EventKind::Ppid, Mode::EachChange},
      {kProcess, "uptime > 5", EventKind::Uptime, Mode::Latched},
      {kProcess, "failed security attribute \"x\"", EventKind::Invalid, Mode::Latched},
      {kProcess, "3 restarts within 5 cycles", EventKind::Timeout, Mode::Latched},
      {kSystem, "loadavg > 5", EventKind::Resource, Mode::Latched},
      {kSystem, "uptime > 5", EventKind::Uptime, Mode::Latched},
      {kProgram, "status != 0 and content = \"x\"", EventKind::Status, Mode::Latched},
      {kProgram, "content = \"x\" and status != 0", EventKind::Status, Mode::Latched},
      {kProgram, "content = \"x\"", EventKind::Content, Mode::EachMatch},
  };
  for (const Row& row : rows) {
    const engine::Rule one = rule(row.header, "if " + row.text + " then alert");
    CAPTURE(row.text);
    CHECK(one->event == row.event);
    CHECK(one->mode == row.mode);
  }
}

TEST_CASE("tests of processes keep what they ask for", "[services]") {
  CHECK_FALSE(std::get<engine::Present>(rule(kProcess, "if not exist then alert")->condition->tests[0]).wanted);
  CHECK(std::get<engine::Present>(rule(kProcess, "if does exist then alert")->condition->tests[0]).wanted);
  const auto changed = [](const std::string& what) {
    return std::get<engine::Changed>(rule(kProcess, "if changed " + what + " then alert")->condition->tests[0]).what;
  };
  CHECK(changed("ppid") == engine::Attribute::Parent);
  CHECK(changed("pid") == engine::Attribute::Pid);
  CHECK(
      std::get<engine::Differs>(rule(kProcess, "if failed security attribute \"a b\" then alert")->condition->tests[0])
          .wanted == engine::Value(std::string("a b")));
  const auto owner = [](const std::string& text) {
    return std::get<engine::Differs>(rule(kProcess, "if failed " + text + " then alert")->condition->tests[0]);
  };
  CHECK(owner("uid www").what == engine::Attribute::Uid);
  CHECK(owner("uid www").wanted == engine::Value(std::int64_t{33}));
  CHECK(owner("euid 33").what == engine::Attribute::Euid);
  CHECK(owner("euid 33").wanted == engine::Value(std::int64_t{33}));
  CHECK(owner("gid www").what == engine::Attribute::Gid);
  CHECK(owner("gid www").wanted == engine::Value(std::int64_t{33}));
  CHECK(rule(kProcess, "if 3 restarts within 5 cycles then alert")->tolerance ==
        engine::Tolerance{.count = 3, .window = 5});
  CHECK(rule(kProcess, "if 99 restarts within 1000 cycles then alert")->tolerance ==
        engine::Tolerance{.count = 64, .window = 64});
  CHECK(rule(kProcess, "if 3 restarts within 5 cycles then timeout")->action.kind == engine::ActionKind::Unmonitor);
}

TEST_CASE("a fifo has tests of its permission, its owner, its times and its existence", "[services]") {
  const std::string header = "check fifo x with path /run/x start program \"/bin/true\"\n";
  using engine::Attribute;
  const auto test = [&](const std::string& text) { return rule(header, "if " + text + " then alert"); };
  const auto differs = [&](const std::string& text) {
    return std::get<engine::Differs>(test(text)->condition->tests[0]);
  };
  const auto compare = [&](const std::string& text) {
    return std::get<engine::Compare>(test(text)->condition->tests[0]);
  };
  CHECK(differs("failed permission 0640").what == Attribute::Permission);
  CHECK(differs("failed permission 0640").wanted == engine::Value(std::int64_t{0640}));
  CHECK(differs("failed perm 4755").wanted == engine::Value(std::int64_t{04755}));
  CHECK(differs("failed uid www").wanted == engine::Value(std::int64_t{33}));
  CHECK(differs("failed gid www").what == Attribute::Gid);
  CHECK(compare("timestamp is older than 2 hours").what == Metric::Age);
  CHECK(compare("timestamp is older than 2 hours").value == Approx(7200));
  CHECK(compare("timestamp is older than 2 hours").comparison == engine::Comparison::Greater);
  CHECK(compare("atime < 5 minutes").what == Metric::AccessAge);
  CHECK(compare("mtime > 1 day").what == Metric::ModificationAge);
  CHECK(compare("ctime > 1 day").what == Metric::ChangeAge);
  CHECK(std::get<engine::Changed>(test("changed mtime")->condition->tests[0]).what == Attribute::ModificationTime);
  CHECK(test("changed permission")->mode == Mode::EachChange);
  CHECK(test("changed permission")->event == EventKind::Permission);
  CHECK(test("failed uid www")->event == EventKind::Uid);
  CHECK(test("timestamp > 1 hour")->event == EventKind::Timestamp);
  CHECK(test("timestamp > 1 hour")->text == "if timestamp > 1 hour then alert");
  CHECK(test("failed perm 0640")->text == "if failed permission 0640 then alert");
  const auto block = services(header).front();
  CHECK(block->path == "/run/x");
  REQUIRE(block->rules.size() == 1);
  CHECK(block->rules[0]->text == "if does not exist then restart");
  CHECK(block->plan->parts.front() == engine::Measurement(engine::measure::ReadPath{engine::measure::PathType::Fifo}));
  for (const std::string wrong : {"failed permission 888", "failed permission 77777", "cpu > 1%", "status != 0",
                                  "changed pid", "content = \"x\"", "failed euid 0"}) {
    INFO(wrong);
    CHECK_FALSE(load_text(header + "if " + wrong + " then alert").ok());
  }
}

TEST_CASE("a filesystem has tests of its space, its inodes, its flags and its device", "[services]") {
  const std::string header = "check filesystem x with path /data start program \"/bin/true\"\n";
  const auto test = [&](const std::string& text) { return rule(header, "if " + text + " then alert"); };
  const auto compare = [&](const std::string& text) {
    return std::get<engine::Compare>(test(text)->condition->tests[0]);
  };
  struct Case {
    std::string text;
    Metric metric;
    double value;
    std::string canonical;
  };
  const std::vector<Case> cases{
      {"space usage > 80%", Metric::SpaceUsage, 80, "space usage > 80%"},
      {"space > 80 percent", Metric::SpaceUsage, 80, "space usage > 80%"},
      {"space > 10", Metric::SpaceUsageBytes, 10, "space usage > 10 B"},
      {"space free < 1.5 GB", Metric::SpaceFreeBytes, 1.5 * 1024 * 1024 * 1024, "space free < 1.5 GB"},
      {"space free usage < 5%", Metric::SpaceFree, 5, "space free < 5%"},
      {"inodes usage > 1.5%", Metric::InodeUsage, 1.5, "inode usage > 1.5%"},
      {"inode > 1000", Metric::InodeUsageNumber, 1000, "inode usage > 1000"},
      {"inodes free < 1000", Metric::InodeFreeNumber, 1000, "inode free < 1000"},
      {"read rate > 10 MB/s", Metric::ReadRate, 10 * 1024 * 1024, "read > 10 MB/s"},
      {"write > 500 operations/s", Metric::WriteOperations, 500, "write > 500 operations/s"},
      {"service time > 20 ms", Metric::ServiceTime, 20, "service time > 20 ms"},
      {"servicetime > 2 seconds", Metric::ServiceTime, 2000, "service time > 2 seconds"},
  };
  for (const Case& one : cases) {
    INFO(one.text);
    CHECK(compare(one.text).what == one.metric);
    CHECK(compare(one.text).value == Approx(one.value));
    CHECK(test(one.text)->text == "if " + one.canonical + " then alert");
    CHECK(test(one.text)->event == EventKind::Resource);
    CHECK(test("" + one.canonical)->text == "if " + one.canonical + " then alert");
  }
  CHECK(test("changed fsflags")->event == EventKind::FsFlags);
  for (const std::string wrong :
       {"service time > 20", "service time > 1.5 ms", "service time > 5 minutes", "inode > 1.5", "inode free > 10 MB",
        "disk read > 1 MB/s", "mtime > 1 day", "size > 1", "cpu > 1%", "free space > 1%", "uptime > 1 ms"}) {
    INFO(wrong);
    CHECK_FALSE(load_text(header + "if " + wrong + " then alert").ok());
  }
  // A change of the flags alerts though no rule asks for it, as in Monit.
  const auto block = services(header).front();
  REQUIRE(block->rules.size() == 2);
  CHECK(block->rules[1]->text == "if changed fsflags then alert");
  CHECK(services(header + "if changed fsflags then exec \"/bin/true\"").front()->rules.size() == 2);
  CHECK(services("check device x with path UUID=abc\n").front()->path == "UUID=abc");
}

TEST_CASE("a network has tests of its link, what it carries, and how much of what it can", "[services]") {
  const std::string header = "check network x with interface eth0 start program \"/bin/true\"\n";
  const auto test = [&](const std::string& text) { return rule(header, "if " + text + " then alert"); };
  constexpr double kKilo = 1024;
  struct Case {
    std::string text;
    Metric metric;
    double value;
    std::string canonical;
    EventKind event;
  };
  const std::vector<Case> rates{
      {"upload > 500 kB/s", Metric::UploadRate, 500 * kKilo, "upload > 500 kB/s", EventKind::ByteOut},
      {"uploaded rate > 3 MB per second", Metric::UploadRate, 3 * kKilo * kKilo, "upload > 3 MB/s", EventKind::ByteOut},
      {"upload > 3", Metric::UploadRate, 3, "upload > 3 B/s", EventKind::ByteOut},
      {"upload > 3 s", Metric::UploadRate, 3, "upload > 3 B/s", EventKind::ByteOut},
      {"download 3 B", Metric::DownloadRate, 3, "download = 3 B/s", EventKind::ByteIn},
      {"download changed 3 B/s second", Metric::DownloadRate, 3, "download != 3 B/s", EventKind::ByteIn},
      {"download < 10 packets/s", Metric::DownloadPackets, 10, "download < 10 packets/s", EventKind::PacketIn},
      {"upload > 10 packets per second", Metric::UploadPackets, 10, "upload > 10 packets/s", EventKind::PacketOut},
      {"upload>1.5MB/s", Metric::UploadRate, 1.5 * kKilo * kKilo, "upload > 1.5 MB/s", EventKind::ByteOut},
      {"saturation > 90%", Metric::Saturation, 90, "saturation > 90%", EventKind::Saturation},
      {"saturation>90.5%", Metric::Saturation, 90.5, "saturation > 90.5%", EventKind::Saturation}};
  for (const Case& one : rates) {
    INFO(one.text);
    const auto compare = std::get<engine::Compare>(test(one.text)->condition->tests.at(0));
    CHECK(compare.what == one.metric);
    CHECK(compare.value == Approx(one.value));
    CHECK(test(one.text)->text == "if " + one.canonical + " then alert");
    CHECK(test(one.canonical)->text == "if " + one.canonical + " then alert");
    CHECK(test(one.text)->event == one.event);
  }
  // Of the two ways, and of both together, any one will do.
  CHECK(std::get<engine::Compare>(test("saturation > 90%")->condition->tests[0]).also ==
        std::vector{Metric::UploadSaturation, Metric::DownloadSaturation});
  CHECK(std::get<engine::Compare>(test("upload > 3 B/s")->condition->tests[0]).also->empty());

  struct Span {
    std::string text;
    Metric metric;
    Duration span;
    std::string canonical;
  };
  const std::vector<Span> totals{
      {"total uploaded > 1 GB in last hour", Metric::TotalUpload, hours{1}, "total upload > 1 GB in last hour"},
      {"total upload 1 GB/s 2 hours", Metric::TotalUpload, hours{2}, "total upload = 1 GB in last 2 hours"},
      {"total downloaded > 7 in last m", Metric::TotalDownload, minutes{1}, "total download > 7 B in last minute"},
      {"total download > 3 5 minutes", Metric::TotalDownload, minutes{5}, "total download > 3 B in last 5 minutes"},
      {"total download rate > 9 packets in last 1 day", Metric::TotalDownloadPackets, hours{24},
       "total download > 9 packets in last 24 hours"},
      {"total upload > 9 packets/s in last 0 minutes", Metric::TotalUploadPackets, minutes{0},
       "total upload > 9 packets in last 0 minutes"},
      {"total upload>2MB in last 90 minutes", Metric::TotalUpload, minutes{90},
       "total upload > 2 MB in last 90 minutes"},
      {"total upload > 2MB hour", Metric::TotalUpload, hours{1}, "total upload > 2 MB in last hour"}};
  for (const Span& one : totals) {
    INFO(one.text);
    const auto total = std::get<engine::Total>(test(one.text)->condition->tests.at(0));
    CHECK(total.what == one.metric);
    CHECK(total.span == one.span);
    CHECK(test(one.text)->text == "if " + one.canonical + " then alert");
    CHECK(test(one.canonical)->text == "if " + one.canonical + " then alert");
  }
  const auto counted = test("total uploaded 3 packets 2 hours 3 cycles");
  CHECK(counted->text == "if total upload = 3 packets in last 2 hours for 3 cycles then alert");
  CHECK(counted->tolerance.count == 3);
  CHECK(counted->event == EventKind::PacketOut);

  for (const std::string down : {"link down", "failed link", "failed link capacity", "link is down"}) {
    INFO(down);
    CHECK_FALSE(std::get<engine::Linked>(test(down)->condition->tests[0]).up);
    CHECK(test(down)->text == "if link down then alert");
    CHECK(test(down)->event == EventKind::Link);
    CHECK(test(down)->mode == Mode::Latched);
  }
  CHECK(std::get<engine::Linked>(test("link up")->condition->tests[0]).up);
  const auto changed = test("changed link capacity");
  CHECK(changed->text == "if changed link then alert");
  CHECK(changed->event == EventKind::Speed);
  CHECK(changed->mode == Mode::EachChange);
  CHECK(std::get<engine::Changed>(changed->condition->tests[0]).what == engine::Attribute::LinkMode);
  CHECK(std::get<engine::Changed>(changed->condition->tests[0]).also == engine::Attribute::LinkSpeed);
  // Alone of all changes it has an `else`: in the run after it.
  const auto over = rule(header, "if changed link then alert else if succeeded then exec \"/bin/true\"");
  CHECK(over->mode == Mode::Latched);
  CHECK(over->recovery->action.kind == engine::ActionKind::Exec);

  // What a link that is to be down recovers to has another name.
  const std::string up = "if link up then alert else if failed for 2 cycles then start";
  CHECK(rule(header, up)->text == up);
  CHECK(rule(header, up)->recovery->tolerance.count == 2);
  CHECK(rule(header, "if link up then alert else if succeeded then start")->text ==
        "if link up then alert else if failed then start");
  CHECK_FALSE(load_text(header + "if link down then alert else if failed then start").ok());

  for (const std::string wrong : {"saturation > 90",
                                  "saturation > 9 MB",
                                  "upload > 3 %",
                                  "upload > 3 minutes",
                                  "upload > 1.5 packets/s",
                                  "upload > 3 MB in last hour",
                                  "total upload > 3 MB",
                                  "total upload > 3 MB in last 25 hours",
                                  "total upload > 3 MB in last 2 days",
                                  "total upload > 3 MB in last week",
                                  "total > 3 MB in last hour",
                                  "total upload>3MB",
                                  "total upload > 3 operations in last hour",
                                  "link",
                                  "succeeded link",
                                  "changed upload",
                                  "link saturation > 1%",
                                  "exist",
                                  "does not exist",
                                  "failed uid 0",
                                  "cpu > 1%",
                                  "changed pid",
                                  "status != 0",
                                  "total filedescriptors > 3"}) {
    INFO(wrong);
    CHECK_FALSE(load_text(header + "if " + wrong + " then alert").ok());
  }
  for (const std::string elsewhere :
       {"link up", "changed link", "upload > 3 B/s", "saturation > 3%", "total upload > 3 B in last hour"}) {
    INFO(elsewhere);
    CHECK_FALSE(load_text(kProcess + "if " + elsewhere + " then alert").ok());
  }
}

TEST_CASE("a network is an interface, or the one with an address, and its going down alerts", "[services]") {
  const auto block = services("check network x with interface eth0.100\n").front();
  CHECK(block->other->interface == engine::InterfaceSpec{.name = "eth0.100", .address = {}});
  REQUIRE(block->rules.size() == 1);
  CHECK(block->rules[0]->text == "if link down then alert");
  CHECK(services("check network x address ::1\n").front()->other->interface ==
        engine::InterfaceSpec{.name = {}, .address = "::1"});
  CHECK(services("check network x address 10.0.0.1 if link up then alert").front()->rules.size() == 1);
  CHECK(services("check network x address 10.0.0.1 if failed link then alert").front()->rules.size() == 1);
  CHECK(services("check network x address 10.0.0.1 if changed link then alert").front()->rules.size() == 2);
  for (const std::string wrong : {"", "with path /x", "interface", "interface /lo", "interface eth0 address 10.0.0.1"})
    CHECK_FALSE(load_text("check network x " + wrong + "\n").ok());
  // Only what rules ask for is kept.
  const auto totals = services(
                          "check network x interface lo\n"
                          "if total upload > 3 B in last hour then alert\n"
                          "if total download > 3 packets in last 60 minutes then alert\n"
                          "if total download > 3 B in last day then alert\n")
                          .front();
  CHECK(totals->plan->parts.front() ==
        engine::Measurement(engine::measure::ReadInterface{.spans = {hours{1}, hours{24}}}));

  // What only healer has.
  LoadOptions monit;
  monit.monit_dialect = MonitVersion::V5_33;
  const auto accepts = [&](const std::string& text) {
    test::FakeEnvironment machine;
    machine.files[kMain] = "check network x interface eth0\n" + text + "\n";
    return load(kMain, monit, machine).ok();
  };
  CHECK(accepts("if link up then alert if link up for 2 cycles then alert"));
  CHECK(accepts("if link up then alert else if failed then alert"));
  CHECK(accepts("if total upload > 3 MB in last 60 minutes then alert"));
  CHECK_FALSE(accepts("if link up then alert if failed link then alert"));
  CHECK_FALSE(accepts("if link up then alert else if succeeded then alert"));
  CHECK_FALSE(accepts("if total upload > 3 MB in last 61 minutes then alert"));
  CHECK_FALSE(accepts("if upload > 1.5 MB/s then alert"));
  CHECK_FALSE(accepts("if saturation > 1.5% then alert"));
  CHECK_FALSE(accepts("if upload > 3MB/s then alert"));
  CHECK_FALSE(accepts("if upload > 3 B/s and download > 3 B/s then alert"));
}

TEST_CASE("a file has tests of its size and its checksums", "[services]") {
  const std::string header = "check file x with path /x start program \"/bin/true\"\n";
  const std::string md5 = "d41d8cd98f00b204e9800998ecf8427e";
  const std::string sha1 = "da39a3ee5e6b4b0d3255bfef95601890afd80709";
  const auto test = [&](const std::string& text) { return rule(header, "if " + text + " then alert"); };
  const auto differs = [&](const std::string& text) {
    return std::get<engine::Differs>(test(text)->condition->tests[0]);
  };
  using engine::Attribute;
  const auto size = std::get<engine::Compare>(test("size > 10 MB")->condition->tests[0]);
  CHECK(size.what == Metric::Size);
  CHECK(size.value == 10.0 * 1024 * 1024);
  CHECK(test("size > 10")->text == "if size > 10 B then alert");
  CHECK(test("size > 10 MB")->event == EventKind::Size);
  CHECK(test("changed size")->mode == Mode::EachChange);
  struct Case {
    std::string text;
    Attribute what;
    std::string wanted;  // empty: as it was at first
    std::string canonical;
  };
  const std::vector<Case> cases{
      {"failed checksum", Attribute::Md5, "", "failed md5 checksum"},
      {"failed md5 checksum", Attribute::Md5, "", "failed md5 checksum"},
      {"failed sha1 checksum", Attribute::Sha1, "", "failed sha1 checksum"},
      {"failed sha512 checksum", Attribute::Sha512, "", "failed sha512 checksum"},
      {"failed checksum expect " + md5, Attribute::Md5, md5, "failed md5 checksum expect " + md5},
      {"failed checksum and expect the sum \"" + sha1 + "\"", Attribute::Sha1, sha1,
       "failed sha1 checksum expect " + sha1},
      {"failed checksum expect D41D8CD98F00B204E9800998ECF8427E", Attribute::Md5, md5,
       "failed md5 checksum expect " + md5},
      {"failed sha256 checksum expect " + std::string(64, 'a'), Attribute::Sha256, std::string(64, 'a'),
       "failed sha256 checksum expect " + std::string(64, 'a')},
  };
  for (const Case& one : cases) {
    INFO(one.text);
    CHECK(differs(one.text).what == one.what);
    CHECK(differs(one.text).wanted == (one.wanted.empty() ? Rare<engine::Value>() : engine::Value(one.wanted)));
    CHECK(test(one.text)->text == "if " + one.canonical + " then alert");
    CHECK(test(one.canonical)->text == "if " + one.canonical + " then alert");
    CHECK(test(one.text)->event == EventKind::Checksum);
  }
  CHECK(std::get<engine::Changed>(test("changed checksum")->condition->tests[0]).what == Attribute::Md5);
  CHECK(std::get<engine::Changed>(test("changed sha1 checksum")->condition->tests[0]).what == Attribute::Sha1);
  // Only what a rule asks for is read.
  const auto block = services(header + "if changed sha1 checksum then alert if failed checksum then alert").front();
  CHECK(block->plan->parts.front() ==
        engine::Measurement(engine::measure::ReadPath{.type = engine::measure::PathType::File,
                                                      .checksums = {.md5 = true, .sha1 = true}}));
  for (const std::string& wrong :
       {"failed sha1 checksum expect " + md5, std::string("failed checksum expect 123"),
        std::string("failed md4 checksum"), std::string("failed size > 1"), std::string("space > 1%"),
        std::string("changed fsflags"), "failed checksum expect " + std::string(32, 'g')}) {
    INFO(wrong);
    CHECK_FALSE(load_text(header + "if " + wrong + " then alert").ok());
  }
}

TEST_CASE("a file has tests of its lines", "[services]") {
  const std::string header = "check file x with path /x start program \"/bin/true\"\n";
  const auto block = services(header +
                              "ignore content = \"noise\" ignore not match \"^\\[\"\n"
                              "ignore content eq \"a\" ignore content NotEqual \"b\"\n"
                              "if content = \"error\" then alert\n"
                              "if content != \"error\" then alert\n"
                              "if match \"warn\" then alert\n"
                              "if does not match \"error\" for 2 cycles then alert\n")
                         .front();
  using engine::LinePattern;
  CHECK(block->lines->patterns == std::vector<LinePattern>{{"error", false}, {"error", true}, {"warn", false}});
  CHECK(block->lines->ignored == std::vector<LinePattern>{{"noise", false}, {"^\\[", true}, {"a", false}, {"b", true}});
  CHECK(block->lines->limit == 512);
  REQUIRE(block->rules.size() == 5);
  CHECK(std::get<engine::Matches>(block->rules[3]->condition->tests[0]).pattern == 1);
  CHECK_FALSE(std::get<engine::Matches>(block->rules[3]->condition->tests[0]).negated);
  CHECK(block->rules[3]->text == "if content != \"error\" for 2 cycles then alert");
  CHECK(block->rules[0]->mode == Mode::EachMatch);
  CHECK(block->rules[0]->event == EventKind::Content);
  CHECK(block->plan->parts.front() == engine::Measurement(engine::measure::ReadPath{
                                          .type = engine::measure::PathType::File, .checksums = {}, .lines = true}));
  CHECK(services("set limits { fileContentBuffer: 1 kB }\n" + header).front()->lines->limit == 1024);
  for (const std::string wrong :
       {"if match \"(\" then alert", "ignore match \"(\"", "ignore match = \"x\"", "ignore content gt \"x\"",
        "if match = \"x\" then alert", "if content > \"x\" then alert", "ignore \"x\"",
        "if match \"x\" then alert else alert"}) {
    INFO(wrong);
    CHECK_FALSE(load_text(header + wrong).ok());
  }
  CHECK_FALSE(load_text(kProgram + "if match \"x\" then alert").ok());
  CHECK_FALSE(load_text(kProgram + "ignore match \"x\"\nif status != 0 then alert").ok());
}

TEST_CASE("The last of several tests is active where Monit keeps one", "[services]") {
  const std::string header = "check file x with path /x start program \"/bin/true\"\n";
  const auto asleep = [&](const std::string& text) {
    std::string out;
    const auto block = services(header + text).front();
    for (const engine::Rule& rule : block->rules) out += rule->dormant ? 'z' : '-';
    return out;
  };
  CHECK(asleep("if failed permission 0600 then alert if failed permission 0644 then alert") == "z--");
  CHECK(asleep("if failed checksum then alert if changed sha1 checksum then alert") == "z--");
  CHECK(asleep("if failed uid www then alert if failed gid www then alert if changed size then alert") == "----");
  // What Monit refuses is healer's own, and acts.
  CHECK(asleep("if size > 5 or size < 3 then alert") == "--");
  CHECK_FALSE(
      services("check filesystem x with path /\nif space > 90% or inode > 90% then alert").front()->rules[0]->dormant);
  CHECK_FALSE(services("check filesystem x with path /\nif read > 1 MB/s or write > 1 MB/s then alert")
                  .front()
                  ->rules[0]
                  ->dormant);
}

TEST_CASE("a file of patterns holds one in each line", "[services]") {
  test::FakeEnvironment machine;
  machine.files[kMain] = "check file x with path /x\n ignore match /noise\n if content = /patterns then alert\n";
  machine.files["/patterns"] = "alpha\n\nbe(ta|th)\n";
  machine.files["/noise"] = "^#\n";
  const LoadResult result = load(kMain, {}, machine);
  INFO(format_all(result.diagnostics, result.sources, false));
  REQUIRE(result.ok());
  const auto& lines = *result.rules->services.front()->lines;
  CHECK(lines.patterns == std::vector<engine::LinePattern>{{"(alpha)|(be(ta|th))", false}});
  CHECK(lines.ignored == std::vector<engine::LinePattern>{{"(^#)", false}});
  CHECK(result.rules->services.front()->rules[0]->text == "if content = \"/patterns\" then alert");
  machine.files["/patterns"] = "fine\n(\n";
  CHECK_FALSE(load(kMain, {}, machine).ok());
  machine.files["/patterns"] = "\n";
  CHECK_FALSE(load(kMain, {}, machine).ok());
  machine.files.erase("/patterns");
  CHECK_FALSE(load(kMain, {}, machine).ok());
}

TEST_CASE("without looking up an owner is taken as it is written", "[services]") {
  const LoadResult result =
      load_text(kProcess + "if failed uid 1234 then alert if failed gid nobody then alert", false);
  REQUIRE(result.ok());
  CHECK(std::get<engine::Differs>(result.rules->services[0]->rules[0]->condition->tests[0]).wanted ==
        engine::Value(std::int64_t{1234}));
}

TEST_CASE("services, their programs and dependencies are compiled whole", "[services]") {
  const auto all = services(
      "set limits { startTimeout: 7 s }\n"
      "check process web with pidfile \"/run/web pid\"\n"
      "  start program \"/bin/true\" start program = \"/bin/x 'a b'\" as uid www and gid root\n"
      "  stop program \"/bin/x\" with timeout 9 seconds\n"
      "  depends on DB, db depends on $host\n"
      "  if cpu > 5% then restart else start\n"
      "  if cpu > 6% then stop\n"
      "check process db matching \"x y\"\n"
      "  restart program \"/bin/x\"\n"
      "check system $host\n"
      "check system a$HOST.b$HOST\n");
  REQUIRE(all.size() == 4);
  const engine::ServiceBlock& web = *all[0];
  CHECK(web.kind == engine::kind_named("process"));
  CHECK(web.process == engine::ProcessSpec{.pid_file = "/run/web pid", .pattern = ""});
  REQUIRE(web.programs->start);
  CHECK(web.programs->start->arguments == std::vector<std::string>{"/bin/x", "a b"});
  CHECK(web.programs->start->identity == engine::Identity{.uid = 33, .gid = 0, .user = "www", .home = "/var/www"});
  CHECK(web.programs->start->timeout == seconds{7});
  CHECK(web.programs->stop.value().timeout == seconds{9});
  CHECK_FALSE(web.programs->restart);
  CHECK(web.depends == std::vector<std::string>{"db", "$host"});
  CHECK(web.rules.at(0)->action.kind == engine::ActionKind::Restart);
  CHECK(web.rules.at(0)->recovery->action.kind == engine::ActionKind::Start);
  CHECK_FALSE(web.rules.at(0)->recovery->action.implied);
  CHECK(web.rules.at(1)->action.kind == engine::ActionKind::Stop);
  CHECK(all[1]->process == engine::ProcessSpec{.pid_file = "", .pattern = "x y"});
  CHECK(all[1]->programs->restart.value().timeout == seconds{30});
  CHECK(all[2]->kind == engine::kind_named("system"));
  CHECK(all[2]->name == "$host");
  CHECK(all[3]->name == "atesthost.btesthost");
}

TEST_CASE("a process that nothing is said about is started again", "[services]") {
  const auto implied = [](const std::string& text) {
    const auto all = services(kProcess + text);
    for (const engine::Rule& one : all.at(0)->rules)
      if (one->text == "if does not exist then restart") return true;
    return false;
  };
  CHECK(implied(""));
  CHECK(implied("if cpu > 5% then alert"));
  CHECK_FALSE(implied("if not exist then alert"));
  CHECK_FALSE(implied("if exist then alert"));
  CHECK(services(kSystem).at(0)->rules.empty());
  const engine::Rule one = rule(kProcess, "");
  CHECK(one->action.kind == engine::ActionKind::Restart);
  CHECK(one->recovery->action.implied);
  CHECK_FALSE(one->dormant);
  CHECK(one.key == rule(kProcess, "if does not exist then restart").key);
}

TEST_CASE("a foreground process has all that its start and its end need", "[services]") {
  const auto all = services(
      "set limits { stoptimeout: 7 s, starttimeout: 8 s }\n"
      "check process a with program \"/bin/true 'x y'\"\n"
      "check process b with program \"/bin/true\" ready on notify stop signal int stop signal 9 within 1 minute\n"
      "check process c with program \"/bin/true\" ready after 5 seconds mode passive depends on b\n"
      "check process d with program \"/bin/true\" ready on notify within 9 seconds\n"
      "check process e with pidfile /tmp/e start program \"/bin/true\"\n");
  const auto& a = *all.at(0);
  CHECK(a.kind == engine::kind_named("process"));
  REQUIRE(a.foreground());
  CHECK(a.can_start());
  CHECK_FALSE(a.programs->start);
  CHECK((a.process->pid_file.empty() && a.process->pattern.empty()));
  CHECK(a.process->foreground->command.arguments == std::vector<std::string>{"/bin/true", "x y"});
  CHECK(a.process->foreground->command.timeout == Duration{0});
  CHECK(a.process->foreground->stop == std::vector<engine::StopSignal>{{15, seconds{7}}});
  CHECK(a.process->foreground->ready_after == seconds{1});
  CHECK_FALSE(a.process->foreground->by_notice);
  REQUIRE(a.rules.size() == 1);
  CHECK(a.rules[0]->text == "if does not exist then restart");

  const auto& b = *all.at(1)->process->foreground;
  CHECK(b.stop == std::vector<engine::StopSignal>{{2, seconds{7}}, {9, minutes{1}}});
  CHECK(b.by_notice);
  CHECK(b.ready_after == seconds{8});
  CHECK(all.at(2)->process->foreground->ready_after == seconds{5});
  CHECK(all.at(2)->activity == engine::ServiceBlock::Activity::Passive);
  CHECK(all.at(2)->depends == std::vector<std::string>{"b"});
  CHECK(all.at(3)->process->foreground->ready_after == seconds{9});
  CHECK_FALSE(all.at(4)->foreground());

  const LoadResult owned = load_text("check process a with program \"/bin/true\" as uid 7 and gid 8\n", false);
  REQUIRE(owned.ok());
  const engine::Identity& identity = *owned.rules->services.at(0)->process->foreground->command.identity;
  CHECK(identity.uid == 7U);
  CHECK(identity.gid == 8U);
}

TEST_CASE("of a foreground process no rule is dormant: Monit does not know it", "[services]") {
  const std::string rules =
      "if cpu > 5% and memory > 5% then alert\n"
      "if loadavg(5min) > 5 then alert\n"
      "if memory > 1 GB then restart\n"
      "if memory > 2 GB then exec '/bin/true a'\n";
  const std::string program = "check process x with program \"/bin/true\"\n";
  CHECK(format_all(load_text(program + rules).diagnostics, {}, false).empty());
  const auto own = services(program + rules);
  for (const engine::Rule& one : own[0]->rules) CHECK_FALSE(one->dormant);
  const auto other = services(kProcess + rules);
  std::vector<bool> dormant;
  for (const engine::Rule& one : other[0]->rules) dormant.push_back(one->dormant);
  CHECK(dormant == std::vector<bool>{true, false, false, true, false});  // Monit 6 judges the load of a process
}

TEST_CASE("the event queue, the limit of mails and digests are settings of mail", "[services]") {
  const LoadResult result = load_text(
      "set mailserver localhost\nset eventqueue basedir /var/monit slots 50\nset mail limit 20 mails within 1 hour\n"
      "set alert a@b digest\nset alert c@d\n" +
      kProgram + "if status != 0 then alert\nalert e@f digest\n");
  REQUIRE(result.ok());
  const engine::MailSettings& mail = result.rules->settings.mail;
  CHECK(mail.queue_directory == "/var/monit");
  CHECK(mail.queue_slots == 50);
  CHECK(mail.limit == engine::MailLimit{.mails = 20, .within = hours{1}});
  const auto& people = *result.rules->services[0]->recipients;
  REQUIRE(people.size() == 3);
  for (const engine::Recipient& one : people) CHECK(one.digest == (one.address != "c@d"));

  const LoadResult last = load_text("set eventqueue basedir /x slots 5\nset eventqueue slots 7\n");
  REQUIRE(last.ok());
  CHECK(last.rules->settings.mail.queue_directory.empty());
  CHECK(last.rules->settings.mail.queue_slots == 7);
  CHECK_FALSE(last.rules->settings.mail.limit);
}

TEST_CASE("the port says whether a mail server is talked to before TLS begins, as in Monit", "[services]") {
  using Security = engine::MailServer::Security;
  const auto security = [](const std::string& text) {
    const LoadResult result = load_text("set mailserver localhost " + text + "\n");
    REQUIRE(result.ok());
    return result.rules->settings.mail.servers[0].security;
  };
  for (const std::string word : {"ssl", "tls", "tlsv12", "auto", "ssl with options {verify: disable}"}) {
    INFO(word);
    for (const std::string port : {"", "port 25 ", "port 587 "})
      CHECK(security(port + "using " + word) == Security::StartTls);
    for (const std::string port : {"port 465 ", "port 2465 ", "port 2587 "})
      CHECK(security(port + "using " + word) == Security::Tls);
  }
  CHECK(security("") == Security::None);
  CHECK(security("port 465") == Security::None);
}

TEST_CASE("rules that do less in Monit are dormant", "[services]") {
  const std::string bare = "check process x with pidfile /tmp/x start program \"/bin/true\"\n";
  const auto dormant = [](const std::string& header, const std::string& text) { return rule(header, text)->dormant; };
  CHECK(dormant(kProcess, "if cpu > 5% and memory > 5% then alert"));
  CHECK(dormant(kProcess, "if cpu > 5% memory > 5% then alert"));
  CHECK_FALSE(dormant(kProcess, "if cpu > 5% then alert"));
  CHECK_FALSE(dormant(kProcess, "if cpu > 5% and uptime > 5 then alert"));  // Monit refuses it
  CHECK_FALSE(dormant(kProcess, "if loadavg > 5 then alert"));
  CHECK_FALSE(dormant(kSystem, "if loadavg > 5 then alert"));
  CHECK(dormant(bare, "if cpu > 5% then restart"));
  CHECK(dormant(bare, "if cpu > 5% then stop"));
  CHECK(dormant(bare, "if cpu > 5% then alert else restart"));
  CHECK_FALSE(dormant(bare, "if cpu > 5% then start"));
  CHECK_FALSE(dormant(bare, "if not exist then restart"));
  CHECK_FALSE(dormant(bare, "if 3 restarts within 5 cycles then stop"));
  CHECK_FALSE(dormant(kProcess, "if cpu > 5% then restart"));
  CHECK_FALSE(dormant(bare + "restart program \"/bin/true\"", "if cpu > 5% then restart"));
  CHECK_FALSE(dormant(kSystem, "if cpu > 5% then restart"));
  CHECK(dormant("check process x pidfile /x start program '/bin/true a'\n", "if not exist then restart"));
  CHECK(dormant("check process x pidfile /x start program '/bin/true a'\n", ""));
  CHECK_FALSE(dormant("check process x pidfile /x start program = '/bin/true a'\n", ""));  // Monit refuses it
}

TEST_CASE("Only a recipient who lists an event asks for it by name", "[services]") {
  const auto all =
      services("set mailserver localhost\nset alert all@x set alert some@x { exec } set alert but@x not on { exec }\n" +
               kProcess + "alert own@x on { exec, timeout }");
  std::vector<std::string> listed;
  for (const engine::Recipient& recipient : *all.at(0)->recipients)
    if (recipient.listed) listed.push_back(recipient.address);
  CHECK(listed == std::vector<std::string>{"own@x", "some@x"});
}

TEST_CASE("a very long chain of dependencies is walked, and a circle in it is found", "[services]") {
  std::string text;
  constexpr int kServices = 20000;
  for (int i = 0; i < kServices; ++i)
    text += "check system s" + std::to_string(i) + (i + 1 < kServices ? " depends on s" + std::to_string(i + 1) : "") +
            "\n";
  CHECK(load_text(text).ok());
  const LoadResult circle = load_text(text + "depends on s0\n");
  REQUIRE(circle.diagnostics.size() == 1);
  CHECK(circle.diagnostics[0].message.starts_with("circular dependency: 's0' on 's1' on "));
  CHECK(circle.diagnostics[0].message.ends_with("'s11' on 19988 more, on 's0'"));
}

TEST_CASE("Members and tests of a composite are compiled", "[services]") {
  const std::string programs =
      "check program a with path \"/bin/true\" group g if status != 0 then alert\n"
      "check program b with path \"/bin/true\" group G if status != 0 then alert\n";
  const auto composite = [&](const std::string& header, const std::string& test) {
    return services("check composite x with members " + header + "\n if " + test + " then alert\n" + programs).at(0);
  };
  const auto block = composite("B, of group g, a, of group G", "any member failed");
  CHECK(block->has_members());
  CHECK(block->plan->parts.empty());
  CHECK(block->other->composite.members == std::vector<std::string>{"b", "a"});
  CHECK(block->other->composite.groups == std::vector<std::string>{"g"});
  CHECK(composite("a", "any member failed")->key != composite("b", "any member failed")->key);
  CHECK(composite("a", "any member failed")->key != composite("of group g", "any member failed")->key);

  using Kind = engine::Quota::Kind;
  struct Row {
    std::string test;
    engine::Quota quota;
    std::string text;
  };
  const std::vector<Row> rows{
      {"any member failed", {Kind::Any}, "any member failed"},
      {"any of the members has failed", {Kind::Any}, "any member failed"},
      {"ALL members are failed", {Kind::All}, "all members failed"},
      {"1 members failed", {Kind::AtLeast, 1}, "1 member failed"},
      {"2 members failed", {Kind::AtLeast, 2}, "2 members failed"},
      {"more than 40% members failed", {Kind::MoreThan, 40}, "more than 40% members failed"},
      {"more than 33.5 % of members failed", {Kind::MoreThan, 33.5}, "more than 33.5% members failed"},
  };
  for (const Row& row : rows) {
    INFO(row.test);
    const engine::Rule rule = composite("a, b", row.test)->rules.at(0);
    CHECK(std::get<engine::Members>(rule->condition->tests.at(0)).quota == row.quota);
    CHECK(rule->mode == Mode::Latched);
    CHECK(rule->event == EventKind::Status);
    CHECK(rule->text == "if " + row.text + " then alert");
  }
}

}  // namespace services_test
