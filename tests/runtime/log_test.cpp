// SPDX-License-Identifier: MIT
#include "runtime/log/log.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <iostream>

#include <catch2/catch.hpp>

#include "runtime/log/log_sinks.hpp"
#include "support/child.hpp"

namespace log_test {

using namespace healer;
using namespace healer::runtime;
using engine::Severity;
using Target = LogOptions::Target;

namespace {

class Lines final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  std::string text;

 protected:
  void sink_it_(const spdlog::details::log_msg& entry) override {
    spdlog::memory_buf_t line;
    formatter_->format(entry, line);
    text.append(line.data(), line.size());
  }
  void flush_() override {}
};

const WallTime kWhen{seconds{1'795'235'064}};  // 2026-11-21 04:24:24 UTC

LogOptions to_file(const std::string& path) {
  LogOptions options;
  options.target = Target::File;
  options.path = path;
  options.civil = utc_civil;
  return options;
}

std::size_t lines(const std::string& text) { return static_cast<std::size_t>(std::ranges::count(text, '\n')); }

/// An entry as it stands in a file.
std::string format_log_entry(Severity severity, const CivilTime& civil, const std::string& service,
                             const std::string& text) {
  const auto lines = std::make_shared<Lines>();
  lines->set_formatter(monit_formatter([civil](WallTime) { return civil; }));
  ServiceLogger logger("", lines);
  logger.set_level(spdlog::level::debug);
  logger.write(severity, kWhen, service, text);
  return lines->text;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("Log entries have Monit's form") {
  const CivilTime civil = utc_civil(kWhen);
  CHECK(format_log_entry(Severity::Error, civil, "web", "status failed (1) -- no output") ==
        "[2026-11-21T04:24:24+0000] error    : 'web' status failed (1) -- no output\n");
  CHECK(format_log_entry(Severity::Info, civil, "", "started") == "[2026-11-21T04:24:24+0000] info     : started\n");
  CHECK(format_log_entry(Severity::Warning, civil, "", "x") == "[2026-11-21T04:24:24+0000] warning  : x\n");
  CHECK(format_log_entry(Severity::Debug, civil, "", "x") == "[2026-11-21T04:24:24+0000] debug    : x\n");
  CivilTime west = civil;
  west.offset = -minutes{210};
  CHECK(format_log_entry(Severity::Info, west, "", "x").starts_with("[2026-11-21T04:24:24-0330]"));
}

TEST_CASE("Nobody writes a log entry by printing one") {
  const std::string entry =
      format_log_entry(Severity::Error, utc_civil(kWhen), "a\nb",
                       "first\r\n[2026-01-01T00:00:00+0000] error    : 'x' forged\x1b[2J\xff\n\n");
  CHECK(entry ==
        "[2026-11-21T04:24:24+0000] error    : 'a\\nb' first\n"
        "    [2026-01-01T00:00:00+0000] error    : 'x' forged\\x1b[2J\\xff\n");
}

TEST_CASE("A log file is private, appended to, and opened again when it was moved") {
  test::TemporaryDirectory directory;
  const std::string path = directory.path() / "log";
  {
    Log log(to_file(path));
    log.write(Severity::Info, kWhen, "", "one");
    log.write(Severity::Debug, kWhen, "", "too quiet");
  }
  struct stat facts {};
  REQUIRE(stat(path.c_str(), &facts) == 0);
  CHECK((facts.st_mode & 07777) == 0600);
  Log log(to_file(path));
  log.write(Severity::Info, kWhen, "", "two");
  REQUIRE(test::eventually([&] { return lines(test::read_file(path)) == 2; }));
  std::filesystem::rename(path, path + ".1");
  log.reopen();
  log.write(Severity::Info, kWhen, "", "three");
  CHECK(test::eventually([&] { return contains(test::read_file(path), "three\n"); }));
  CHECK(lines(test::read_file(path + ".1")) == 2);
  log.configure(to_file(path + ".2"));
  log.write(Severity::Info, kWhen, "", "four");
  CHECK(test::eventually([&] { return contains(test::read_file(path + ".2"), "four\n"); }));
  CHECK(log.lost() == 0);
}

TEST_CASE("A log that cannot be opened anew goes on in its file, and says so") {
  test::TemporaryDirectory directory;
  const std::string path = (directory.path() / "log").string();
  Log log(to_file(path));
  log.write(Severity::Info, kWhen, "", "one");
  REQUIRE(test::eventually([&] { return lines(test::read_file(path)) == 1; }));
  std::filesystem::rename(path, path + ".1");
  std::filesystem::create_directory(path);
  log.reopen();
  log.write(Severity::Info, kWhen, "", "two");
  CHECK(test::eventually([&] { return contains(test::read_file(path + ".1"), "two\n"); }));
  CHECK(contains(test::read_file(path + ".1"), "cannot be reopened and continues in the open file: the log " + path +
                                                   " cannot be written: Is a directory\n"));
  CHECK(log.lost() == 0);
}

TEST_CASE("Whether a log can be written shows beforehand, also of a pipe that nobody reads") {
  test::TemporaryDirectory directory;
  const std::string pipe = (directory.path() / "pipe").string();
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(Log::check(to_file(pipe)));
  CHECK(Log::check(to_file((directory.path() / "new").string())));
  CHECK(Log::check({.target = LogOptions::Target::Syslog}));
  const std::string nowhere = (directory.path() / "no/log").string();
  const auto checked = Log::check(to_file(nowhere));
  REQUIRE_FALSE(checked);
  CHECK(checked.error().what == "the log " + nowhere + " cannot be written: No such file or directory");
}

TEST_CASE("What is queued is written before the log ends, in order") {
  test::TemporaryDirectory directory;
  const std::string path = directory.path() / "log";
  {
    Log log(to_file(path));
    for (int i = 0; i < 2'000; ++i) log.write(Severity::Info, kWhen, "", std::to_string(i));
    log.stop(minutes{1});
    CHECK(log.lost() == 0);
  }
  const std::string text = test::read_file(path);
  CHECK(lines(text) == 2'000);
  CHECK(text.find(": 1998\n") < text.find(": 1999\n"));
}

TEST_CASE("A log that cannot be written costs entries, which are counted and told, and never time") {
  test::TemporaryDirectory directory;
  const std::string path = directory.path() / "log";
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);  // opening it waits for a reader
  LogOptions options = to_file(path);
  options.queue_bytes = 20'000;
  Log log(options);
  // The log's thread hangs in open(); this one would, too, if write() ever waited for it.
  for (int i = 0; i < 10'000; ++i) log.write(Severity::Info, kWhen, "", "entry " + std::to_string(i));
  CHECK(log.lost() > 9'000);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  REQUIRE(reader >= 0);
  std::string text;
  CHECK(test::eventually([&] {
    char buffer[4096];
    for (ssize_t got = 0; (got = read(reader, buffer, sizeof buffer)) > 0;)
      text.append(buffer, static_cast<std::size_t>(got));
    return contains(text, "entry 1\n");
  }));
  CHECK(contains(text, " log entries were lost: they came faster than they could be written"));
  close(reader);
}

TEST_CASE("A log that hangs does not keep the daemon from ending") {
  test::TemporaryDirectory directory;
  const std::string path = directory.path() / "log";
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  {
    LogOptions options = to_file(path);
    options.queue_bytes = 150;  // room for one entry: the second goes in when the thread is at the first
    Log log(options);
    log.write(Severity::Info, kWhen, "", "x");
    REQUIRE(test::eventually([&] {
      const std::uint64_t before = log.lost();
      log.write(Severity::Info, kWhen, "", "y");
      return log.lost() == before;
    }));
    log.stop(Duration{10});
  }
  // Let the thread go on, and end.
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  std::string text;
  CHECK(test::eventually([&] {
    char buffer[100];
    const ssize_t got = read(reader, buffer, sizeof buffer);
    if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
    return contains(text, ": x\n") && got == 0;
  }));
  close(reader);
}

TEST_CASE("A full disk is told once there is room again") {
  if (access("/dev/full", W_OK) != 0) {
    std::cout << "SKIPPED: no /dev/full\n";
    return;
  }
  test::TemporaryDirectory directory;
  const std::string path = directory.path() / "log";
  Log log(to_file("/dev/full"));
  log.write(Severity::Info, kWhen, "", "one");
  log.write(Severity::Info, kWhen, "", "two");
  REQUIRE(test::eventually([&] { return log.lost() == 2; }));
  log.configure(to_file(path));
  log.write(Severity::Info, kWhen, "", "three");
  CHECK(test::eventually([&] { return contains(test::read_file(path), "three\n"); }));
  CHECK(contains(test::read_file(path), "2 log entries were lost: /dev/full: No space left on device\n"));
}

TEST_CASE("Facilities are Monit's words") {
  CHECK(syslog_facility("log_daemon") == LOG_DAEMON);
  CHECK(syslog_facility("LOG_LOCAL7") == LOG_LOCAL7);
  CHECK(syslog_facility("") == LOG_USER);
  CHECK(syslog_facility("nonsense") == LOG_USER);
}

TEST_CASE("Where the log goes follows the rules, the journal and the foreground") {
  unsetenv("JOURNAL_STREAM");
  engine::LogSettings settings;
  CHECK(LogOptions::of(settings, false, utc_civil).target == Target::Syslog);
  CHECK(LogOptions::of(settings, true, utc_civil).target == Target::StandardError);
  settings.target = engine::LogSettings::Target::File;
  settings.path = "/var/log/healer";
  CHECK(LogOptions::of(settings, false, utc_civil).target == Target::File);
  CHECK_FALSE(LogOptions::of(settings, false, utc_civil).echo);
  CHECK(LogOptions::of(settings, true, utc_civil).echo);
  settings.target = engine::LogSettings::Target::Syslog;
  CHECK(LogOptions::of(settings, false, utc_civil).target == Target::Syslog);

  struct stat facts {};
  REQUIRE(fstat(STDERR_FILENO, &facts) == 0);
  const std::string stream = std::to_string(facts.st_dev) + ":" + std::to_string(facts.st_ino);
  setenv("JOURNAL_STREAM", stream.c_str(), 1);
  CHECK(LogOptions::of({}, false, utc_civil).target == Target::Journal);
  setenv("JOURNAL_STREAM", "1:1", 1);
  CHECK(LogOptions::of({}, false, utc_civil).target == Target::Syslog);
  unsetenv("JOURNAL_STREAM");
}

namespace {

int datagram_server(const char* path) {
  const int server = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  if (bind(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return -1;
  const timeval limit{60, 0};
  setsockopt(server, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  return server;
}

std::string receive(int server) {
  char buffer[8192];
  const ssize_t got = recv(server, buffer, sizeof buffer, 0);
  return got > 0 ? std::string(buffer, static_cast<std::size_t>(got)) : "";
}

/// In a mount namespace of its own, with other directories in place of /dev and /run: 0 where all is well, 77 where
/// the machine does not allow that.
int in_a_private_world() {
  if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("none", "/run", "tmpfs", 0, nullptr) != 0 || mount("none", "/dev", "tmpfs", 0, nullptr) != 0) {
    return 77;
  }
  std::filesystem::create_directories("/run/systemd/journal");
  const int syslog_server = datagram_server("/dev/log");
  const int journal_server = datagram_server("/run/systemd/journal/socket");
  if (syslog_server < 0 || journal_server < 0) return 77;
  LogOptions options;
  options.target = Target::Syslog;
  options.facility = "log_local0";
  options.civil = utc_civil;
  {
    Log log(options);
    log.write(Severity::Error, kWhen, "web", "one\ntwo %s");
    const std::string text = receive(syslog_server);
    if (!text.starts_with("<131>") || !contains(text, "healerd[") || !text.ends_with("'web' one\\ntwo %s")) return 1;
  }
  options.target = Target::Journal;
  Log log(options);
  log.write(Severity::Warning, kWhen, "web", "one %s");
  const std::string text = receive(journal_server);
  if (!contains(text, "MESSAGE='web' one %s\n") || !contains(text, "PRIORITY=4\n")) return 2;
  return contains(text, "SYSLOG_IDENTIFIER=healerd\n") && contains(text, "HEALER_SERVICE=web\n") ? 0 : 3;
}

}  // namespace

TEST_CASE("Syslog and the journal get entries with their priority") {
  const pid_t child = fork();
  if (child == 0) _exit(in_a_private_world());
  int status = 0;
  waitpid(child, &status, 0);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) {
    std::cout << "SKIPPED: no mount namespaces here\n";
    return;
  }
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("A log in a place where others could put another file is not written") {
  const test::TemporaryDirectory directory;
  const std::filesystem::path folder = directory.path() / "open";
  std::filesystem::create_directory(folder);
  std::filesystem::permissions(folder, std::filesystem::perms{0777});
  Log log(to_file((folder / "log").string()));
  log.write(Severity::Info, kWhen, "", "here");
  log.stop();
  CHECK(log.lost() == 1);
  CHECK_FALSE(std::filesystem::exists(folder / "log"));
}

}  // namespace log_test
