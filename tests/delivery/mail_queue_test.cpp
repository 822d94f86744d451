// SPDX-License-Identifier: MIT
#include "delivery/outbox/mail_queue.hpp"

#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <random>
#include <set>

#include <catch2/catch.hpp>

#include "support/child.hpp"

namespace mail_queue_test {

using namespace healer;
using namespace healer::delivery;

namespace {

Mail message(std::uint64_t alert, std::uint32_t number = 0, std::int64_t when = 1'000) {
  return {engine::AlertId{alert},
          number,
          WallTime{milliseconds{when}},
          "monit@vm",
          "root@localhost",
          "subject",
          "Subject: " + std::to_string(alert) + "\r\n\r\n" + std::string(alert % 7 * 100, 'x') + "\r\n"};
}

/// A folder that is in memory, where the machine has such a place.
struct Elsewhere {
  Elsewhere() {
    if (::mkdtemp(path.data()) == nullptr) path.clear();
  }
  Elsewhere(const Elsewhere&) = delete;
  Elsewhere& operator=(const Elsewhere&) = delete;
  ~Elsewhere() {
    std::error_code ignored;
    if (!path.empty()) std::filesystem::remove_all(path, ignored);
  }
  [[nodiscard]] bool is_another_file_system_than(const std::string& other) const {
    struct stat here {};
    struct stat there {};
    return !path.empty() && ::stat(path.c_str(), &here) == 0 && ::stat(other.c_str(), &there) == 0 &&
           here.st_dev != there.st_dev;
  }
  std::string path = "/dev/shm/healer-test-XXXXXX";
};

struct World {
  test::TemporaryDirectory directory;
  std::string path = (directory.path() / "mail").string();
  std::vector<std::string> warnings;

  MailQueue open(Limits limits = {}) {
    Result<MailQueue> queue =
        MailQueue::open(path, limits, [this](std::string text) { warnings.push_back(std::move(text)); });
    if (!queue) FAIL(queue.error().what);
    return std::move(*queue);
  }
  [[nodiscard]] std::vector<std::string> files(const std::string& suffix) const {
    std::vector<std::string> result;
    for (const auto& entry : std::filesystem::directory_iterator(path))
      if (entry.path().extension() == suffix) result.push_back(entry.path().string());
    std::ranges::sort(result);
    return result;
  }
};

std::vector<std::uint64_t> order(const MailQueue& queue) {
  std::vector<std::uint64_t> result;
  for (const auto& [key, size] : queue.waiting()) result.push_back(key.alert);
  return result;
}

mode_t mode_of(const std::string& path) {
  struct stat facts {};
  REQUIRE(stat(path.c_str(), &facts) == 0);
  return facts.st_mode & 07777;
}

}  // namespace

TEST_CASE("A mail comes out of the queue as it went in, also after a restart, and in order") {
  World world;
  {
    MailQueue queue = world.open();
    for (const std::uint64_t alert : {11U, 2U, 100U, 1U}) {
      const auto taken = queue.put(message(alert));
      REQUIRE(taken);
      CHECK(*taken == MailQueue::Taken::Queued);
    }
    CHECK(queue.sync());
  }
  MailQueue queue = world.open();
  CHECK(order(queue) == std::vector<std::uint64_t>{1, 2, 11, 100});
  const auto read = queue.read(key_of(message(11)));
  REQUIRE(read);
  CHECK(*read == message(11));
  CHECK(world.warnings.empty());
}

TEST_CASE("Nobody else can read the mail queue") {
  World world;
  MailQueue queue = world.open();
  REQUIRE(queue.put(message(1)));
  CHECK(mode_of(world.path) == 0700);
  CHECK(mode_of(world.files(".mail").front()) == 0600);
  chmod(world.path.c_str(), 0755);
  (void)world.open();
  CHECK(mode_of(world.path) == 0700);
}

TEST_CASE("The same mail is one mail, while it waits and after it was sent") {
  World world;
  {
    MailQueue queue = world.open();
    CHECK(*queue.put(message(1)) == MailQueue::Taken::Queued);
    CHECK(*queue.put(message(1)) == MailQueue::Taken::Known);
    CHECK(*queue.put(message(1, 1)) == MailQueue::Taken::Queued);  // another recipient
    REQUIRE(queue.finish(key_of(message(1))));
    CHECK(*queue.put(message(1)) == MailQueue::Taken::Known);
  }
  MailQueue queue = world.open();
  CHECK(*queue.put(message(1)) == MailQueue::Taken::Known);
  CHECK(queue.waiting().size() == 1);
  CHECK(std::filesystem::file_size(world.files(".sent").front()) == 0);
  // After a lost state ids begin again; the time tells such mails apart.
  CHECK(*queue.put(message(1, 0, 2'000)) == MailQueue::Taken::Queued);
}

TEST_CASE("The queue is bounded in number and bytes, and room comes back") {
  World world;
  MailQueue queue = world.open({.letters = 3, .bytes = 10'000, .sent = 2, .damaged = 1});
  for (const std::uint64_t alert : {1U, 2U, 3U}) CHECK(*queue.put(message(alert)) == MailQueue::Taken::Queued);
  CHECK(*queue.put(message(4)) == MailQueue::Taken::Full);
  REQUIRE(queue.finish(key_of(message(2))));
  CHECK(*queue.put(message(4)) == MailQueue::Taken::Queued);
  REQUIRE(queue.finish(key_of(message(4))));
  Mail big = message(5);
  big.text = std::string(20'000, 'x');
  CHECK(*queue.put(big) == MailQueue::Taken::Full);
  std::uint64_t bytes = 0;
  for (const std::string& file : world.files(".mail")) bytes += std::filesystem::file_size(file);
  CHECK(queue.bytes() == bytes);
}

TEST_CASE("Only the newest tombstones are kept") {
  World world;
  {
    MailQueue queue = world.open({.letters = 10, .bytes = 100'000, .sent = 2, .damaged = 1});
    // Sent in this order; the ids run the other way, as after a lost state.
    for (const std::uint64_t alert : {9U, 5U, 1U}) {
      REQUIRE(queue.put(message(alert)));
      REQUIRE(queue.finish(key_of(message(alert))));
      usleep(20'000);  // the file system's clock is coarse
    }
    CHECK(world.files(".sent").size() == 2);
    CHECK(*queue.put(message(1)) == MailQueue::Taken::Known);
  }
  MailQueue queue = world.open({.letters = 10, .bytes = 100'000, .sent = 1, .damaged = 1});
  CHECK(world.files(".sent").size() == 1);
  CHECK(*queue.put(message(1)) == MailQueue::Taken::Known);
  CHECK(*queue.put(message(9)) == MailQueue::Taken::Queued);
}

TEST_CASE("A damaged mail is set aside with a warning and the others go on") {
  World world;
  {
    MailQueue queue = world.open();
    for (const std::uint64_t alert : {1U, 2U, 3U, 4U, 5U}) REQUIRE(queue.put(message(alert)));
  }
  const std::vector<std::string> files = world.files(".mail");
  std::string text = test::read_file(files[1]);
  text[text.size() / 2] ^= 1;
  test::write_file(files[1], text);
  test::write_file(files[2], test::read_file(files[2]).substr(0, 40));
  std::filesystem::remove(files[3]);
  std::filesystem::create_symlink("/etc/passwd", files[3]);
  test::write_file(world.path + "/nonsense.mail", "x");
  test::write_file(world.path + "/00000000000000000009-000000-0000000000000001.new", "half");

  MailQueue queue = world.open({.letters = 10, .bytes = 100'000, .sent = 2, .damaged = 3});
  CHECK(world.files(".new").empty());
  for (const std::uint64_t alert : {2U, 3U, 4U}) {
    const auto read = queue.read(key_of(message(alert)));
    REQUIRE_FALSE(read);
    CHECK(read.error().code == 0);
  }
  CHECK(order(queue) == std::vector<std::uint64_t>{1, 5});
  CHECK(queue.read(key_of(message(5))));
  CHECK(world.warnings.size() == 4);
  CHECK(world.files(".bad").size() == 3);  // bounded
  std::uint64_t bytes = 0;
  for (const std::string& file : world.files(".mail")) bytes += std::filesystem::file_size(file);
  CHECK(queue.bytes() == bytes);
}

TEST_CASE("A mail file that has vanished does not stay in the queue") {
  World world;
  MailQueue queue = world.open();
  REQUIRE(queue.put(message(1)));
  std::filesystem::remove(world.files(".mail").front());
  const auto read = queue.read(key_of(message(1)));
  REQUIRE_FALSE(read);
  CHECK(read.error().code == 0);
  CHECK(queue.waiting().empty());
  CHECK(queue.bytes() == 0);
}

TEST_CASE("A queue that is a link or another's is refused") {
  World world;
  std::filesystem::create_directory(world.directory.path() / "elsewhere");
  std::filesystem::create_symlink(world.directory.path() / "elsewhere", world.path);
  CHECK_FALSE(MailQueue::open(world.path, {}, [](std::string) {}));
  CHECK_FALSE(MailQueue::open((world.directory.path() / "no" / "mail").string(), {}, [](std::string) {}));
  if (geteuid() != 0) return;
  const std::string foreign = (world.directory.path() / "foreign").string();
  std::filesystem::create_directory(foreign);
  REQUIRE(chown(foreign.c_str(), 65534, 65534) == 0);
  CHECK_FALSE(MailQueue::open(foreign, {}, [](std::string) {}));
}

TEST_CASE("Killed at any point, the queue has every mail that was acknowledged and none that was finished") {
  World world;
  std::mt19937 random(20261121);  // NOLINT: the same kills every time
  std::set<std::uint64_t> put, finished;
  std::uint64_t first = 1;
  for (int round = 0; round < 40; ++round) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t writer = fork();
    if (writer == 0) {
      // Says what it has done in words of 8 bytes, which pipes write whole.
      close(ends[0]);
      Result<MailQueue> queue = MailQueue::open(world.path, {.letters = 100'000}, [](std::string) {});
      if (!queue) _exit(1);
      for (std::uint64_t alert = first;; ++alert) {
        if (!queue->put(message(alert)) || !queue->sync()) _exit(2);
        std::uint64_t word = alert;
        if (write(ends[1], &word, sizeof word) != sizeof word) _exit(3);
        if (alert % 3 != 0) continue;
        const MailKey oldest = queue->waiting().begin()->first;
        if (!queue->finish(oldest) || !queue->sync()) _exit(4);
        word = oldest.alert | std::uint64_t{1} << 63;
        if (write(ends[1], &word, sizeof word) != sizeof word) _exit(5);
      }
    }
    close(ends[1]);
    // A kill after a random number of acknowledgements, and a bit: it hits anywhere between two of them.
    const int acknowledgements = static_cast<int>(random() % 12);
    std::uint64_t word = 0;
    const auto note = [&] {
      if (word >> 63 != 0) {
        finished.insert(word & ~(std::uint64_t{1} << 63));
      } else {
        put.insert(word);
      }
    };
    for (int i = 0; i < acknowledgements && read(ends[0], &word, sizeof word) == sizeof word; ++i) note();
    usleep(static_cast<useconds_t>(random() % 3'000));
    kill(writer, SIGKILL);
    while (read(ends[0], &word, sizeof word) == sizeof word) note();
    close(ends[0]);
    int status = 0;
    waitpid(writer, &status, 0);
    REQUIRE(WIFSIGNALED(status));

    MailQueue queue = world.open({.letters = 100'000});
    const std::vector<std::uint64_t> waiting = order(queue);
    const std::set<std::uint64_t> now(waiting.begin(), waiting.end());
    // One mail may have been finished without that being acknowledged.
    int unacknowledged = 0;
    for (const std::uint64_t alert : put) {
      if (finished.contains(alert)) {
        CHECK_FALSE(now.contains(alert));
        CHECK(*queue.put(message(alert)) == MailQueue::Taken::Known);
      } else if (!now.contains(alert)) {
        ++unacknowledged;
        CHECK(queue.known(key_of(message(alert))));
        finished.insert(alert);
      }
    }
    CHECK(unacknowledged <= 1);
    for (const std::uint64_t alert : waiting) {
      const auto read = queue.read(key_of(message(alert)));
      REQUIRE(read);
      CHECK(*read == message(alert));
    }
    put.insert(now.begin(), now.end());
    first = put.empty() ? 1 : std::max(*put.rbegin(), first) + 1;
  }
  CHECK(put.size() > 40);
  CHECK(finished.size() > 10);
  CHECK(world.warnings.empty());
}

TEST_CASE("Waiting mails and tombstones of a former queue are taken over") {
  test::TemporaryDirectory base;
  const std::string former = (base.path() / "former").string(), path = (base.path() / "now").string();
  CHECK(MailQueue::take_over(former, path));  // there is none
  CHECK_FALSE(std::filesystem::exists(path));
  {
    auto old = MailQueue::open(former, {}, [](const std::string&) {});
    REQUIRE(old);
    REQUIRE(old->put(message(1)));
    REQUIRE(old->put(message(2)));
    REQUIRE(old->finish(key_of(message(1))));
  }
  test::write_file(former + "/ledger", "sent 1 a@x\n");
  SECTION("all of it") {
    REQUIRE(MailQueue::take_over(former, path));
    CHECK_FALSE(std::filesystem::exists(former));
  }
  SECTION("but for what is not ours") {
    test::write_file(former + "/x.bad", "");
    test::write_file(former + "/y.mail", "");
    REQUIRE(MailQueue::take_over(former, path));
    CHECK(std::filesystem::exists(former + "/x.bad"));
    CHECK(std::filesystem::exists(former + "/y.mail"));
  }
  SECTION("by a link nothing is") {
    std::filesystem::rename(former, former + ".away");
    std::filesystem::create_symlink(former + ".away", former);
    REQUIRE(MailQueue::take_over(former, path));
    CHECK_FALSE(std::filesystem::exists(path));
    return;
  }
  auto queue = MailQueue::open(path, {}, [](const std::string&) {});
  REQUIRE(queue);
  CHECK(queue->waiting().size() == 1);
  CHECK(queue->put(message(1)).value() == MailQueue::Taken::Known);
  CHECK(queue->read(key_of(message(2))).value() == message(2));
}

TEST_CASE("A former queue on another file system is taken over too") {
  const test::TemporaryDirectory base;
  const Elsewhere elsewhere;
  if (!elsewhere.is_another_file_system_than(base.path())) {
    WARN("SKIPPED: no folder on another file system");
    return;
  }
  const std::string former = elsewhere.path + "/former", path = (base.path() / "now").string();
  const auto open = [](const std::string& of) {
    auto queue = MailQueue::open(of, {}, [](const std::string&) {});
    REQUIRE(queue);
    return std::move(*queue);
  };
  {
    auto old = open(former);
    for (std::uint64_t alert = 1; alert <= 4; ++alert) REQUIRE(old.put(message(alert)));
    REQUIRE(old.finish(key_of(message(1))));
  }
  SECTION("whole") { REQUIRE(MailQueue::take_over(former, path)); }
  SECTION("in two steps, where one was copied before, and sent") {
    {
      auto now = open(path);
      REQUIRE(now.put(message(2)));
      REQUIRE(now.finish(key_of(message(2))));
    }
    REQUIRE(MailQueue::take_over(former, path));
    auto queue = open(path);
    CHECK(queue.put(message(2)).value() == MailQueue::Taken::Known);
    CHECK(queue.waiting().size() == 2);
    CHECK_FALSE(std::filesystem::exists(former));
    return;
  }
  SECTION("but for what cannot be copied") {
    const auto name = [](std::uint64_t alert) { return fmt::format("{:020}-000000-{:016x}.mail", alert, 0); };
    std::filesystem::create_symlink("/etc/passwd", former + "/" + name(9));
    const auto moved = MailQueue::take_over(former, path);
    REQUIRE_FALSE(moved);
    CHECK(moved.error().what == former + ": cannot copy mail " + name(9) + ": Too many levels of symbolic links");
    // Nothing is there twice.
    for (const auto& entry : std::filesystem::directory_iterator(path))
      CHECK_FALSE(std::filesystem::exists(former + "/" + entry.path().filename().string()));
    std::filesystem::remove(former + "/" + name(9));
    REQUIRE(MailQueue::take_over(former, path));
  }
  CHECK_FALSE(std::filesystem::exists(former));
  auto queue = open(path);
  CHECK(queue.waiting().size() == 3);
  CHECK(queue.put(message(1)).value() == MailQueue::Taken::Known);
  for (std::uint64_t alert = 2; alert <= 4; ++alert)
    CHECK(queue.read(key_of(message(alert))).value() == message(alert));
}

TEST_CASE("Every field of a mail survives a restart") {
  test::TemporaryDirectory base;
  const std::string path = (base.path() / "mail").string();
  Mail mail = message(7);
  mail.items = {{WallTime{milliseconds{-5}}, "failed", "a service \xc3\xbc", "Does not exist"},
                {WallTime{}, "told", "", ""}};
  mail.unlisted = 4'000'000'000;
  mail.digest = true;
  mail.hold_until = WallTime{milliseconds{1'795'234'764'123}};
  mail.covers = {{1, 2, -3}, {~0ULL, 999'999, 9}};
  {
    auto queue = MailQueue::open(path, {}, [](const std::string&) {});
    REQUIRE(queue);
    REQUIRE(queue->put(mail));
  }
  auto queue = MailQueue::open(path, {.letters = 1}, [](const std::string&) {});
  REQUIRE(queue);
  CHECK(queue->read(key_of(mail)).value() == mail);
  CHECK(queue->put(message(8)).value() == MailQueue::Taken::Full);
  mail = message(9);
  mail.covers = {{7, 0, 0}};
  CHECK(queue->put(mail).value() == MailQueue::Taken::Queued);  // it makes room for itself
}

}  // namespace mail_queue_test
