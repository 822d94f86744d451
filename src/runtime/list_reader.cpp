// SPDX-License-Identifier: MIT
#include "runtime/list_reader.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "runtime/clock.hpp"
#include "runtime/host.hpp"
#include "runtime/process/child.hpp"
#include "util/text.hpp"

namespace healer::runtime {
namespace {

constexpr std::size_t kMostComplaint = 1024;  ///< of what a program says on stderr

Result<std::string> read_list(const std::string& path) {
  const Host host;
  const Result<config::FileFacts> facts = host.stat(path);
  if (!facts) return facts.error();
  constexpr std::uint32_t kOthersWrite = 0002;
  if ((facts->mode & kOthersWrite) != 0)
    return Error{EPERM, fmt::format("{}: others can write it (mode {:04o})", path, facts->mode)};
  if (facts->uid != 0 && facts->uid != host.effective_uid())
    return Error{EPERM, fmt::format("{}: it belongs to another user (uid {})", path, facts->uid)};
  return host.read(path);
}

std::string first_line(std::string_view text) {
  text = trim(text);
  return std::string(trim(text.substr(0, text.find('\n'))));
}

}  // namespace

struct ListReader::Run {
  /// The reading end of a pipe, and what has come through it.
  struct Stream {
    Descriptor descriptor;
    Loop::Watch watch;
    std::string text;
    std::size_t most = 0;
    bool has_more = false;  ///< than was kept

    /// Takes what is there; at its end the watch goes.
    void drain() {
      std::array<char, 64 * 1024> buffer;
      while (descriptor) {
        const ssize_t size = ::read(descriptor.get(), buffer.data(), buffer.size());
        if (size < 0 && errno == EINTR) continue;
        if (size < 0 && errno == EAGAIN) return;
        if (size <= 0) return close();
        const std::size_t kept = std::min(static_cast<std::size_t>(size), most - text.size());
        text.append(buffer.data(), kept);
        has_more = has_more || kept < static_cast<std::size_t>(size);
      }
    }
    void close() {
      watch = {};
      descriptor.reset();
    }
  };

  Done done;
  Spawner::Ticket ticket = 0;
  Stream output;
  Stream error;
  Loop::Timer timeout;
  bool timed_out = false;
  std::unique_ptr<Child> child;
};

ListReader::ListReader(Loop& loop, Spawner& spawner, Duration patience)
    : loop_(loop),
      spawner_(spawner),
      patience_(patience),
      pool_(loop,
            WorkerPool::Options{.name = "healer lists", .workers = 1, .max_lost = 4, .patience = Duration{5000}}) {}

ListReader::~ListReader() = default;

void ListReader::read_file(const std::string& path, Done done) {
  const auto callback = std::make_shared<Done>(std::move(done));
  pool_.submit(
      [path, callback]() -> Loop::Callback {
        auto result = std::make_shared<Result<std::string>>(read_list(path));
        return [callback, result] { (*callback)(std::move(*result)); };
      },
      [callback](Error why) { (*callback)(std::move(why)); });
}

void ListReader::run(std::vector<std::string> arguments, std::vector<std::string> environment, Done done) {
  const std::uint64_t id = next_++;
  Run& run = *runs_.emplace(id, std::make_unique<Run>()).first->second;
  run.done = std::move(done);
  Launch launch;
  launch.arguments = std::move(arguments);
  launch.environment = std::move(environment);
  run.output.most = kLargest;
  run.error.most = kMostComplaint;
  for (auto [stream, end] : {std::pair(&run.output, &launch.output), {&run.error, &launch.error}}) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
      const Error why = system_error(errno, "no pipe for its output");
      loop_.post([this, id, why, alive = std::weak_ptr(alive_)] {
        if (!alive.expired()) finish(id, why);
      });
      return;
    }
    stream->descriptor = Descriptor(ends[0]);
    *end = Descriptor(ends[1]);
    // Programs expect that writing waits.
    ::fcntl(end->get(), F_SETFL, ::fcntl(end->get(), F_GETFL) & ~O_NONBLOCK);
    auto watch = loop_.watch(ends[0], Loop::kReadable, [stream = stream](unsigned) { stream->drain(); });
    if (watch) stream->watch = std::move(*watch);
  }
  run.timeout = loop_.timer([this, id] {
    const auto found = runs_.find(id);
    if (found == runs_.end()) return;
    found->second->timed_out = true;
    if (found->second->child)
      found->second->child->end();
    else
      spawner_.give_up(found->second->ticket);
  });
  run.timeout.set_deadline(now().mono + patience_);
  run.ticket = spawner_.start(std::move(launch), [this, id, alive = std::weak_ptr(alive_)](Result<Started> result) {
    if (!alive.expired()) spawned(id, std::move(result));
  });
}

void ListReader::spawned(std::uint64_t id, Result<Started> result) {
  const auto found = runs_.find(id);
  if (found == runs_.end()) return;
  Run& run = *found->second;
  if (!result) return finish(id, result.error());
  run.child = std::make_unique<Child>(loop_, spawner_.sweeper(), std::move(*result), [this, id](Child::Exit exit) {
    Run& over = *runs_.at(id);
    over.output.drain();
    over.error.drain();
    const std::string complaint = first_line(over.error.text);
    const std::string because = complaint.empty() ? "" : ": " + printable(complaint);
    if (over.timed_out)
      return finish(id, Error{ETIMEDOUT,
                              fmt::format("its program has not ended within {} s{}", patience_ / seconds{1}, because)});
    if (over.output.has_more)
      return finish(id, Error{EFBIG, fmt::format("its program has written more than {} MiB", kLargest >> 20)});
    if (exit.outcome != engine::Outcome::Exited)
      return finish(id, Error{0, fmt::format("its program was ended by signal {}{}", exit.status, because)});
    if (exit.status != 0)
      return finish(id, Error{0, fmt::format("its program has ended with status {}{}", exit.status, because)});
    finish(id, std::move(over.output.text));
  });
  if (run.timed_out) run.child->end();
}

void ListReader::finish(std::uint64_t id, Result<std::string> result) {
  auto run = runs_.extract(id);
  if (run.empty()) return;
  run.mapped()->done(std::move(result));
}

}  // namespace healer::runtime
