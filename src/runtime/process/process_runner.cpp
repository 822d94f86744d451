// SPDX-License-Identifier: MIT
#include "runtime/process/process_runner.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/parts/timetable.hpp"
#include "engine/rules/service.hpp"
#include "engine/words/cause.hpp"
#include "runtime/clock.hpp"
#include "util/text.hpp"

namespace healer::runtime {
namespace {

using engine::Evidence;
using engine::Outcome;

constexpr std::size_t kBufferSize = 64 * 1024;
constexpr std::size_t kMostBytesPerTurn = 4 * kBufferSize;  // read from one pipe before others have their turn
constexpr std::size_t kMostOfTail = 2048;
constexpr std::size_t kMostOfLine = 512;
constexpr std::size_t kMostAtExit = 1024 * 1024;  // a pipe holds no more unless somebody goes on writing
constexpr Duration kReportInterval{1000};         // between the words to a whole queue, which may be long
constexpr std::size_t kDescriptorsPerRun = 5;     // two pipes and a pidfd
constexpr std::size_t kSpareDescriptors = 128;

std::size_t descriptor_places() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return ~std::size_t{0};
  const auto all = static_cast<std::size_t>(limit.rlim_cur);
  return std::max<std::size_t>(1, (all - std::min(all, kSpareDescriptors)) / kDescriptorsPerRun);
}

}  // namespace

/// One end of a pipe and what of it is kept.
struct ProcessRunner::Capture {
  Descriptor descriptor;
  Loop::Watch watch;
  std::string head;
  std::size_t limit = 0;
  std::string tail;      // the end of what came beyond the head
  bool has_gap = false;  // between the two something was dropped

  void take(std::string_view text) {
    const std::size_t kept = std::min(text.size(), limit - head.size());
    head.append(text.substr(0, kept));
    text.remove_prefix(kept);
    if (text.size() > kMostOfTail) {
      text.remove_prefix(text.size() - kMostOfTail);
      tail.clear();
      has_gap = true;
    }
    tail.append(text);
    if (tail.size() <= 2 * kMostOfTail) return;
    tail.erase(0, tail.size() - kMostOfTail);
    has_gap = true;
  }

  /// All that is kept. Where something was dropped a line ends, and the piece of a line behind it is left out.
  [[nodiscard]] std::string whole() const {
    if (!has_gap) return head + tail;
    const std::size_t end = tail.find('\n');
    return head + '\n' + (end == std::string::npos ? tail : tail.substr(end + 1));
  }

  void close() {
    watch = {};
    descriptor.reset();
  }
};

struct ProcessRunner::Run {
  enum class Phase { Waiting, Starting, Running };

  RunRequest request;
  Phase phase = Phase::Waiting;
  bool delivered = false;            // or cancelled: only its end is waited for
  std::size_t delivered_output = 0;  // of one that timed out: how much was delivered
  bool timed_out = false;
  Duration started{0};
  std::optional<Duration> wanted_by;  // mono: when the next run of its service falls due
  std::optional<Duration> refused_since;
  std::string reported_wait;  // of what it waits for; empty: of nothing
  Spawner::Ticket ticket = 0;
  Capture output;
  Capture error;
  Loop::Timer timeout;
  Loop::Timer give_up_again;
  std::unique_ptr<Child> child;

  [[nodiscard]] engine::RunId id() const { return request.run; }
  [[nodiscard]] const engine::ProgramSpec& spec() const { return *request.block->program; }
};

/// What comes of a run, until it is told.
struct ProcessRunner::Observed {
  engine::ServiceId service;
  engine::RunId run;
  engine::Evidence evidence;
};

/// What filters are to find in what a program has written.
struct ProcessRunner::Questions {
  Observed observed;
  std::shared_ptr<const engine::ServiceBlock> block;  // has the filters
  std::string document;
  std::vector<engine::ValueSeen> values;
};

ProcessRunner::ProcessRunner(Loop& loop, Spawner& spawner, Options options, Sink sink)
    : loop_(loop),
      spawner_(spawner),
      options_(std::move(options)),
      sink_(std::move(sink)),
      buffer_(kBufferSize),
      retry_(loop.timer([this] { pump(); })),
      matcher_(loop, options_.matcher) {
  options_.most_running = std::max<std::size_t>(1, std::min(options_.most_running, descriptor_places()));
  if (options_.mark.empty()) return;
  searching_ = true;
  StaleChecks::Callbacks callbacks;
  callbacks.found = [this](const std::string& service, pid_t pid) {
    ++former_[service].left;
    if (options_.stale_check) options_.stale_check(service, pid);
  };
  callbacks.gone = [this](const std::string& service) { former_gone(service); };
  callbacks.searched = [this] {
    searching_ = false;
    pump();
  };
  stale_checks_.emplace(loop, spawner.sweeper(), options_.mark, options_.search_patience, std::move(callbacks));
}

ProcessRunner::~ProcessRunner() = default;

void ProcessRunner::start(RunRequest request) {
  const std::uint64_t id = request.run.number();
  auto run = std::make_unique<Run>();
  run->request = std::move(request);
  Run& added = *runs_.emplace(id, std::move(run)).first->second;
  auto& line = lines_[added.request.service.number()];
  line.push_back(id);
  if (line.size() == 1) queue(added);
}

void ProcessRunner::queue(Run& run) {
  enqueue(run);
  if (!lacking_.empty()) tell(run, lacking_);
  pump();
}

/// Nobody waits for ever: who has waited for so long as its period goes before all that come then.
void ProcessRunner::enqueue(Run& run) {
  constexpr Duration kLongest = minutes{1};
  const auto period = engine::period_of(*run.request.block->schedule, cycle_);
  if (!run.wanted_by) run.wanted_by = mono_now() + std::min(period.value_or(kLongest), kLongest);
  queue_.emplace(*run.wanted_by, run.id().number());
}

void ProcessRunner::pump() {
  if (searching_ || std::exchange(pumping_, true)) return;
  while (!queue_.empty() && running_ < options_.most_running) {
    const auto found = runs_.find(queue_.begin()->second);
    queue_.erase(queue_.begin());
    if (found == runs_.end()) continue;  // cancelled meanwhile
    const auto former = former_.find(found->second->request.block->name);
    if (former != former_.end()) {
      former->second.waits.push_back(found->first);
    } else if (!begin(*found->second)) {
      break;
    }
  }
  if (queue_.empty()) lacking_.clear();
  pumping_ = false;
}

/// False where the machine has nothing to begin it with now: it is in the queue again.
bool ProcessRunner::begin(Run& run) {
  auto output = make_pipe();
  auto error = make_pipe();
  if (!output || !error) {
    return put_back(run, output ? error.error() : output.error());
  }
  const engine::Command& command = run.spec().command;
  if (command.identity->uid) {  // so that the program may reopen /dev/stdout and /dev/stderr
    [[maybe_unused]] const int given = ::fchown(output->write.get(), *command.identity->uid, static_cast<gid_t>(-1)) +
                                       ::fchown(error->write.get(), *command.identity->uid, static_cast<gid_t>(-1));
  }
  run.output.descriptor = std::move(output->read);
  run.error.descriptor = std::move(error->read);
  run.output.limit = run.error.limit = run.spec().output_limit;

  Launch launch;
  launch.arguments = command.arguments;
  launch.environment = run.request.environment;
  launch.mark = options_.mark;
  launch.use.kind = ProgramUse::Kind::Check;
  launch.run_as(*command.identity);
  launch.output = std::move(output->write);
  launch.error = std::move(error->write);

  run.phase = Run::Phase::Starting;
  ++running_;
  run.started = mono_now();
  if (command.timeout > Duration{0}) {
    run.timeout = loop_.timer([this, &run] {
      read(run.error, kMostAtExit);
      read(run.output, kMostAtExit);
      end(run);
      run.timed_out = true;
      auto written = std::make_shared<const std::string>(output_of(run));
      run.delivered_output = written->size();
      deliver(run, {.outcome = Outcome::TimedOut,
                    .status = kTimeoutStatus,
                    .elapsed = mono_now() - run.started,
                    .output = std::move(written)});
    });
    run.timeout.set_deadline(run.started + command.timeout);
  }
  run.ticket =
      spawner_.start(std::move(launch), [this, id = run.id(), alive = std::weak_ptr<char>(alive_)](auto result) {
        if (!alive.expired()) spawned(id, std::move(result));
      });
  return true;
}

void ProcessRunner::spawned(engine::RunId id, Result<Started> result) {
  Run& run = *runs_.at(id.number());
  run.give_up_again = {};
  if (!result) {
    if (run.delivered) return remove(run);
    if (lacks_resources(result.error())) {
      --running_;
      if (!put_back(run, result.error())) return;
      return pump();
    }
    deliver(run, {.outcome = Outcome::NotStarted,
                  .status = kNotStartedStatus,
                  .output = std::make_shared<const std::string>(result.error().what)});
    return remove(run);
  }
  lacking_.clear();
  run.phase = Run::Phase::Running;
  tell(run, {});
  run.child = std::make_unique<Child>(loop_, spawner_.sweeper(), std::move(*result),
                                      [this, id](Child::Exit exit) { exited(id, exit); });
  for (Capture* capture : {&run.error, &run.output}) {
    // Where it cannot be watched the output is taken at the exit; more than the pipe holds then blocks the writer.
    auto watch = loop_.watch(capture->descriptor.get(), Loop::kReadable,
                             [this, capture](unsigned) { read(*capture, kMostBytesPerTurn); });
    if (watch) capture->watch = std::move(*watch);
  }
  if (run.delivered) run.child->end();
}

/// What a run waits for, or that it waits no more.
void ProcessRunner::tell(Run& run, const std::string& why) {
  if (run.delivered || std::exchange(run.reported_wait, why) == why) return;
  loop_.post(
      [this, waits = engine::event::RunWaits{run.request.service, run.id(), why}, alive = std::weak_ptr<char>(alive_)] {
        if (!alive.expired()) sink_(waits);
      });
}

/// Back into the queue, to be tried again soon; true where it was given up instead. What it lacks, those
/// behind it lack, too.
bool ProcessRunner::put_back(Run& run, const Error& why) {
  const Duration now = mono_now();
  run.phase = Run::Phase::Waiting;
  run.timeout = {};
  run.output.close();
  run.error.close();
  if (!run.refused_since) run.refused_since = now;
  if (now - *run.refused_since >= options_.resource_patience) {
    deliver(run, {.outcome = Outcome::NotStarted,
                  .status = kNotStartedStatus,
                  .output = std::make_shared<const std::string>("not started: " + why.what)});
    remove(run);
    return true;
  }
  enqueue(run);
  tell(run, why.what);
  if (std::exchange(lacking_, why.what) != why.what && now - notified_all_ >= kReportInterval) {
    notified_all_ = now;
    for (const auto& [by, id] : queue_)
      if (const auto waiting = runs_.find(id); waiting != runs_.end()) tell(*waiting->second, why.what);
  }
  retry_.set_deadline(now + kRetryInterval);
  return false;
}

void ProcessRunner::read(Capture& capture, std::size_t most) {
  std::size_t taken = 0;
  while (capture.descriptor && taken < most) {
    const ssize_t size = ::read(capture.descriptor.get(), buffer_.data(), buffer_.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) return capture.close();
    const auto count = static_cast<std::size_t>(size);
    capture.take({buffer_.data(), count});
    taken += count;
    if (count < buffer_.size()) return;  // level-triggered: if there is more, we are called again
  }
}

std::string ProcessRunner::output_of(const Run& run) {
  std::string output = run.error.head + run.output.head;
  if (output.size() > run.spec().output_limit) output.resize(run.spec().output_limit);
  return output;
}

void ProcessRunner::exited(engine::RunId id, Child::Exit exit) {
  Run& run = *runs_.at(id.number());
  spawner_.programs().ended(run.child->pid());
  if (!run.delivered) {
    const Duration elapsed = mono_now() - run.started;
    read(run.error, kMostAtExit);
    read(run.output, kMostAtExit);
    deliver(run, {.outcome = exit.outcome,
                  .status = exit.status,
                  .elapsed = elapsed,
                  .output = std::make_shared<const std::string>(output_of(run))});
  } else if (run.timed_out) {
    read(run.error, kMostAtExit);
    read(run.output, kMostAtExit);
    report_rest(run);
  }
  remove(run);
}

/// What a run that timed out has written since, after what was delivered of it.
void ProcessRunner::report_rest(const Run& run) {
  auto output = std::make_shared<const std::string>(output_of(run));
  if (output->size() == run.delivered_output) return;
  engine::event::RunWrote wrote{run.request.service, run.id(), std::move(output)};
  if (matching_.contains(run.id().number())) {
    late_.insert_or_assign(run.id().number(), std::move(wrote));
  } else {
    sink_(std::move(wrote));
  }
}

/// Its process is to go, in good order; remove() follows when it has gone.
void ProcessRunner::end(Run& run) {
  run.timeout = {};
  if (run.phase == Run::Phase::Starting) {
    spawner_.give_up(run.ticket);
    // Between the moments at which a spawn can be dropped and can be killed lies a short one at which it cannot.
    run.give_up_again = loop_.timer([this, &run] { spawner_.give_up(run.ticket); });
    run.give_up_again.set_deadline(mono_now() + Child::kGrace);
  } else if (run.child) {
    run.child->end();
  }
}

void ProcessRunner::deliver(Run& run, Evidence evidence) {
  run.delivered = true;
  run.timeout = {};
  if (evidence.outcome != Outcome::NotStarted) {
    evidence.errors = static_cast<std::uint32_t>(std::min(run.error.head.size(), evidence.output->size()));
    if (run.error.head.size() + run.error.tail.size() + run.output.head.size() + run.output.tail.size() >
        evidence.output->size()) {
      std::string errors = run.error.whole();
      if (!errors.empty() && errors.back() != '\n') errors += '\n';
      const std::string all = errors + run.output.whole();
      evidence.telling = std::string(engine::telling_line(all, errors.size()).substr(0, kMostOfLine));
    }
  }
  Observed observed{run.request.service, run.id(), std::move(evidence)};
  const auto& patterns = run.spec().patterns;
  matching_.insert(run.id().number());
  const bool compares = std::ranges::any_of(run.request.block->plan->parts, [](const engine::Measurement& part) {
    const auto* wanted = std::get_if<engine::measure::Run>(&part);
    return wanted != nullptr && wanted->output;
  });
  // What was cut off by a timeout is not what it would have written.
  if (compares && (observed.evidence.outcome == Outcome::Exited || observed.evidence.outcome == Outcome::Signalled)) {
    auto facts = std::make_shared<engine::Facts>();
    facts->attributes.push_back({engine::Attribute::Output, engine::output_value(*observed.evidence.output)});
    observed.evidence.facts = std::move(facts);
  }
  if (!run.spec().filters.empty()) put_questions(run, observed.evidence);
  if (patterns.empty() || observed.evidence.outcome == Outcome::NotStarted) {
    loop_.post([this, observed = std::move(observed), alive = std::weak_ptr<char>(alive_)] {
      if (!alive.expired()) matched(observed, std::uint64_t{0});
    });
    return;
  }
  auto text = observed.evidence.output;
  matcher_.match(
      {run.request.block, &patterns}, std::move(text),
      [this, observed = std::move(observed)](Result<std::uint64_t> bits) { matched(observed, std::move(bits)); });
}

void ProcessRunner::matched(Observed observed, Result<std::uint64_t> bits) {
  if (!matching_.contains(observed.run.number())) return;  // cancelled meanwhile
  if (bits) {
    observed.evidence.matches = *bits;
  } else {
    // Neither "matched" nor "did not match" would be true: the check as a whole has failed to come to an end.
    if (observed.evidence.outcome != Outcome::TimedOut) observed.evidence.outcome = Outcome::Unmatched;
    observed.evidence.status = kTimeoutStatus;
    observed.evidence.output =
        std::make_shared<const std::string>(bits.error().what + "\n" + *observed.evidence.output);
  }
  const std::uint64_t id = observed.run.number();
  const auto asking = asking_.find(id);
  if (asking == asking_.end()) return report(std::move(observed));
  asking->second->observed = std::move(observed);
  ask(id);
}

/// What filters are to be asked when its patterns were matched. Where there is no whole document nothing is known.
void ProcessRunner::put_questions(const Run& run, const Evidence& evidence) {
  auto questions = std::make_shared<Questions>();
  questions->block = run.request.block;
  std::string why;
  const std::size_t written = run.output.head.size() + run.output.tail.size();
  if (evidence.outcome == Outcome::TimedOut || evidence.outcome == Outcome::NotStarted) {
    why = "the program has not ended";
  } else if (run.output.has_gap || evidence.errors + written > evidence.output->size()) {
    why = fmt::format("the output is longer than the {} B that are kept (set limits {{ programOutput: ... }})",
                      run.spec().output_limit);
  }
  if (why.empty())
    questions->document = run.output.head;
  else
    for (const std::string& filter : run.spec().filters)
      questions->values.push_back({.filter = filter, .value = std::nullopt, .why = why});
  asking_.insert_or_assign(run.id().number(), std::move(questions));
}

/// Asks the next filter; after the last all is reported.
void ProcessRunner::ask(std::uint64_t id) {
  Questions& questions = *asking_.at(id);
  const auto& filters = questions.block->program->filters;
  if (questions.values.size() == filters.size()) {
    Observed observed = std::move(questions.observed);
    auto facts = observed.evidence.facts ? std::make_shared<engine::Facts>(*observed.evidence.facts)
                                         : std::make_shared<engine::Facts>();
    facts->further.edit().values = std::move(questions.values);
    observed.evidence.facts = std::move(facts);
    asking_.erase(id);
    return report(std::move(observed));
  }
  if (!searcher_) searcher_.emplace(loop_, options_.jq_helper);
  const std::string& filter = filters[questions.values.size()];
  searcher_->query({filter, questions.document}, questions.block->name,
                   [this, id, filter](const Result<std::string>& value) {
                     const auto found = asking_.find(id);
                     if (found == asking_.end()) return;  // cancelled meanwhile
                     engine::ValueSeen seen{.filter = filter, .value = std::nullopt};
                     if (value)
                       seen.value = *value;
                     else
                       seen.why = printable(value.error().what);
                     found->second->values.push_back(std::move(seen));
                     ask(id);
                   });
}

void ProcessRunner::report(Observed observed) {
  const std::uint64_t id = observed.run.number();
  matching_.erase(id);
  sink_(engine::event::measured(observed.service, observed.run, std::move(observed.evidence)));
  if (auto late = late_.extract(id)) sink_(std::move(late.mapped()));
}

void ProcessRunner::cancel(engine::RunId id) {
  matching_.erase(id.number());
  asking_.erase(id.number());
  late_.erase(id.number());
  const auto found = runs_.find(id.number());
  if (found == runs_.end() || found->second->delivered) return;
  Run& run = *found->second;
  run.delivered = true;
  if (run.phase == Run::Phase::Waiting) return remove(run);
  end(run);
}

void ProcessRunner::remove(Run& run) {
  const std::uint64_t id = run.id().number();
  const std::uint32_t service = run.request.service.number();
  if (run.phase != Run::Phase::Waiting) --running_;
  runs_.erase(id);
  const auto found = lines_.find(service);
  auto& line = found->second;
  const bool first = line.front() == id;
  line.erase(std::find(line.begin(), line.end(), id));
  if (line.empty()) {
    lines_.erase(found);
  } else if (first) {
    enqueue(*runs_.at(line.front()));
  }
  end_if_stopped();
  pump();
}

/// With the last program of a service that the former daemon has left: who has waited for that is next.
void ProcessRunner::former_gone(const std::string& service) {
  const auto former = former_.find(service);
  if (--former->second.left > 0) return;
  const std::vector<std::uint64_t> waits = std::move(former->second.waits);
  former_.erase(former);
  for (const std::uint64_t id : waits)
    if (const auto run = runs_.find(id); run != runs_.end()) enqueue(*run->second);
  end_if_stopped();
  pump();
}

void ProcessRunner::stop(std::function<void()> done) {
  std::vector<std::uint64_t> ids;
  for (const auto& [id, run] : runs_) ids.push_back(id);
  for (const std::uint64_t id : ids) cancel(engine::RunId(id));
  matching_.clear();
  asking_.clear();
  late_.clear();
  stopped_ = std::move(done);
  end_if_stopped();
}

void ProcessRunner::end_if_stopped() {
  if (stopped_ && runs_.empty() && former_.empty()) loop_.post(std::exchange(stopped_, nullptr));
}

}  // namespace healer::runtime
