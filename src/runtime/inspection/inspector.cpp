// SPDX-License-Identifier: MIT
#include "runtime/inspection/inspector.hpp"

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/events/event.hpp"
#include "engine/rules/service.hpp"
#include "runtime/clock.hpp"
#include "runtime/files/named_pid.hpp"
#include "runtime/inspection/inspector_impl.hpp"
#include "runtime/inspection/system_table.hpp"
#include "runtime/programs/leftovers.hpp"
#include "util/text.hpp"

namespace healer::runtime {
namespace {

using engine::Answer;

constexpr Duration kFreshForTotals{500};
constexpr Duration kFreshForPatterns{100};
constexpr Duration kGoodEnough{1000};
constexpr Duration kFreshForPeople{10'000};
constexpr Duration kClockStep{1'000};  // between two looks; what is less is taken for a correction
constexpr std::size_t kMostReaders = 4;

}  // namespace

/// A reading of all command lines.
struct Inspector::Reader {
  std::atomic<pid_t> at{0};
  bool hangs = false;
};

Inspector::Inspector(Loop& loop, Options options, Sink sink)
    : loop_(loop),
      options_(std::move(options)),
      sink_(std::move(sink)),
      watch_(
          loop, options_.most_watched != 0 ? options_.most_watched : half_of_descriptors(),
          [this](engine::event::ProcessDied died) {
            if (const auto kept = memories_.find(died.service.number()); kept != memories_.end())
              kept->second->died = true;
            sink_(died);
          },
          options_.exits),
      patience_(loop.timer([this] { expire(); })),
      reader_patience_(loop.timer([this] {
        if (!readers_.empty()) readers_.back()->hangs = true;
        if (!for_commands_.empty()) read_commands();
      })),
      pool_(loop, {"healer-inspect", options_.workers, options_.max_lost, options_.stuck}),
      searcher_(loop, {"healer-search", 1, 2, options_.stuck}),
      lines_(loop, {"healer-lines", 2, options_.max_lost, options_.stuck}),
      sums_(loop, {.stuck = options_.stuck, .patience = options_.patience}, guard_) {}

Inspector::~Inspector() = default;

// ---- what is asked

void Inspector::search_process(const engine::effect::Measure& run, const engine::measure::FindProcess& wanted,
                               std::shared_ptr<const engine::ServiceBlock> block) {
  if (block->foreground()) watch_.forget(run.service);  // of what it was before a reload
  Inspection& inspection = add(run);
  inspection.own = {static_cast<pid_t>(run.pid), run.start_ticks};
  inspection.left_by = run.left_by;
  inspection.came_by = run.came_by;
  Memory& memory = memory_of(run.service);
  const Duration pace = memory.last_inspection ? inspection.begun - *memory.last_inspection : kFreshForTotals;
  memory.last_inspection = inspection.begun;
  inspection.query = {.attribute = wanted.attribute,
                      .total_descriptors = wanted.total_descriptors,
                      .of_children = wanted.of_children,
                      .load = wanted.load,
                      .shares = block->shares_memory};
  if (memory.whole_at) {
    const Duration age = inspection.begun - *memory.whole_at;
    const bool due = age >= (memory.transfers.has_former() ? kFreshForPeople : kShortestMean);
    inspection.query.known = memory.identity;
    inspection.query.owner = wanted.owner || due;
    inspection.query.transfers = wanted.transfers || due;
    inspection.query.descriptors = wanted.descriptors || due;
    inspection.query.memory = wanted.memory || due;
    inspection.query.total_memory = (wanted.memory && wanted.descendants) || due;
  }
  if (!memory.died && pace >= kFreshForTotals) inspection.walk_age = std::min(pace, kFreshForPeople);
  if (wanted.descendants) inspection.walk_age = kFreshForTotals;
  if (!block->process->pattern.empty()) inspection.walk_age = kFreshForPatterns;
  inspection.block = std::move(block);
}

void Inspector::read_system(const engine::effect::Measure& run) {
  add(run).read = [this, id = run.run.number()]() -> Loop::Callback {
    return [this, id, seen = inspect_system()]() mutable { found_system(id, seen); };
  };
}

/// A look that is begun in this turn of the loop.
Inspector::Inspection& Inspector::add(const engine::effect::Measure& run) {
  auto made = std::make_unique<Inspection>();
  made->service = run.service;
  made->run = run.run.number();
  made->begun = mono_now();
  fresh_.push_back(made->run);
  flush_at_end_of_turn();
  return keep(std::move(made));
}

/// Until it is answered, at the latest when that has lasted too long.
Inspector::Inspection& Inspector::keep(std::unique_ptr<Inspection> made) {
  Inspection& inspection = *made;
  while (!expiries_.empty() && !inspections_.contains(expiries_.front().run)) expiries_.pop_front();
  if (expiries_.empty() && path_inspections_.empty()) patience_.set_deadline(inspection.begun + options_.patience);
  expiries_.push_back({inspection.begun + options_.patience, inspection.run});
  inspections_.insert_or_assign(inspection.run, std::move(made));
  return inspection;
}

void Inspector::flush_at_end_of_turn() {
  if (std::exchange(flushing_, true)) return;
  loop_.at_end_of_turn([this, alive = std::weak_ptr<char>(alive_)] {
    if (!alive.expired()) flush();
  });
}

/// Some looks may have had no answer for too long.
void Inspector::expire() {
  const Duration now = mono_now();
  while (!expiries_.empty()) {
    const Expiry first = expiries_.front();
    const auto entry = inspections_.find(first.run);
    const bool waits = entry != inspections_.end() && !entry->second->is_patient;
    if (waits && first.at > now) break;
    expiries_.pop_front();
    if (!waits || entry->second->begun + options_.patience > now) continue;
    if (Inspection& late = *entry->second; late.meanwhile)
      answer(first.run, late.meanwhile, std::move(late.meanwhile_output), Answer::Absent);
    else
      fail(first.run, too_late());
  }
  expire_paths(now);
  std::optional<Duration> next;
  if (!expiries_.empty()) next = expiries_.front().at;
  if (!path_inspections_.empty()) {
    const Duration of_paths = path_inspections_.front()->begun + options_.patience;
    next = std::min(next.value_or(of_paths), of_paths);
  }
  if (next) patience_.set_deadline(next);
}

Inspector::Memory& Inspector::memory_of(engine::ServiceId service) {
  auto& kept = memories_[service.number()];
  if (kept == nullptr) kept = std::make_unique<Memory>();
  return *kept;
}

std::string Inspector::too_late() const {
  return fmt::format("there was no answer within {}", format_duration(options_.patience));
}

void Inspector::cancel(engine::RunId run) {
  cancel_path(run);
  inspections_.erase(run.number());
  sums_.cancel(run.number());
}

void Inspector::forget(engine::ServiceId service) {
  watch_.forget(service);
  memories_.erase(service.number());
}

void Inspector::signal(const engine::effect::Signal& signal) {
  const auto failed = [this, signal](const std::string& why) {
    sink_(engine::event::NotSignalled{signal.pid, signal.start_ticks, signal.number, why});
  };
  pool_.submit(
      [signal, failed]() -> Loop::Callback {
        // Whoever stops all services would end the supervisor, or the machine.
        if (signal.pid == ::getpid()) return [failed] { failed("it is healer itself"); };
        if (signal.pid == kFirstProcess) return [failed] { failed("it is the first process of the machine"); };
        const auto sent = signal_process(static_cast<pid_t>(signal.pid), signal.start_ticks, signal.number);
        if (sent || sent.error().code == ESRCH) return {};  // where it is gone there is nobody to signal
        return [failed, why = sent.error().what] { failed(why); };
      },
      [failed](const Error& error) { failed(error.what); });
}

// ---- all of /proc, where it is needed

void Inspector::flush() {
  flushing_ = false;
  const Duration now = mono_now();
  bool old = false;
  Tasks tasks;
  for (const std::uint64_t run : std::exchange(fresh_, {})) {
    const auto entry = inspections_.find(run);
    if (entry == inspections_.end()) continue;
    Inspection& inspection = *entry->second;
    const bool walk_will_do = table_.snapshot != nullptr && now - table_.taken <= inspection.walk_age;
    if (inspection.walk_age > Duration{0} && !walk_will_do) {
      for_walk_.push_back(run);
      old = true;
    } else if (inspection.by_pattern()) {
      for_commands_.push_back(run);
    } else {
      submit(inspection, tasks);
    }
  }
  pool_.submit(std::move(tasks));
  submit_paths();
  if (old && !walking_) walk();
  if (!for_commands_.empty()) read_commands();
}

void Inspector::walk() {
  walking_ = true;
  ++walks_;
  pool_.submit(
      [this, take = options_.walk]() -> Loop::Callback { return [this, snapshot = take()] { walked(snapshot); }; },
      [this](const Error& error) {
        walking_ = false;
        fail_all(for_walk_, error.what);
      });
}

void Inspector::walked(const Result<std::shared_ptr<const ProcSnapshot>>& snapshot) {
  walking_ = false;
  if (!snapshot) return fail_all(for_walk_, snapshot.error().what);
  table_.add(*snapshot);
  Tasks tasks;
  for (const std::uint64_t run : std::exchange(for_walk_, {})) {
    const auto entry = inspections_.find(run);
    if (entry == inspections_.end()) continue;
    Inspection& inspection = *entry->second;
    if (inspection.begun - table_.taken > inspection.walk_age) {
      for_walk_.push_back(run);  // it came so late in a long walk that it needs one of its own
    } else if (inspection.by_pattern()) {
      for_commands_.push_back(run);
    } else {
      submit(inspection, tasks);
    }
  }
  pool_.submit(std::move(tasks));
  if (!for_walk_.empty()) walk();
  if (!for_commands_.empty()) read_commands();
}

/// For the looks that wait for them; at once where they are at hand.
void Inspector::read_commands() {
  Tasks tasks;
  for (const std::uint64_t run : std::exchange(for_commands_, {})) {
    const auto entry = inspections_.find(run);
    if (entry == inspections_.end()) continue;
    Inspection& inspection = *entry->second;
    if (commands_ == nullptr || commands_->snapshot->taken() + kFreshForPatterns < inspection.begun) {
      for_commands_.push_back(run);
      continue;
    }
    inspection.commands = commands_;
    submit(inspection, tasks);
  }
  pool_.submit(std::move(tasks));
  if (for_commands_.empty()) return;
  // One reading at a time; but one that hangs is left behind, and the next passes by what it hangs at.
  std::vector<pid_t> hanging;
  for (const auto& reader : readers_) {
    if (!reader->hangs) return;
    hanging.push_back(reader->at);
  }
  if (readers_.size() >= kMostReaders) return fail_all(for_commands_, "command lines of processes cannot be read");
  auto reader = std::make_shared<Reader>();
  readers_.push_back(reader);
  reader_patience_.set_deadline(mono_now() + options_.stuck);
  pool_.submit(
      [this, snapshot = table_.snapshot, hanging = std::move(hanging), reader]() -> Loop::Callback {
        return [this, commands = runtime::read_commands(snapshot, hanging, reader->at), reader] {
          commands_read(reader, commands);
        };
      },
      [this, reader](const Error& error) { commands_read(reader, error); });
}

void Inspector::commands_read(const std::shared_ptr<Reader>& reader,
                              const Result<std::shared_ptr<const ProcCommands>>& commands) {
  if (!reader->hangs) reader_patience_.set_deadline(std::nullopt);
  std::erase(readers_, reader);
  if (!commands) {
    if (!reader->hangs) fail_all(for_commands_, commands.error().what);
  } else if (commands_ == nullptr || commands_->snapshot->taken() < (*commands)->snapshot->taken()) {
    commands_ = *commands;
  }
  read_commands();
}

// ---- one process, one machine

/// Notices where the wall clock was stepped since the last look.
void Inspector::note_clock() {
  const Instant moment = now();
  const WallTime booted = moment.wall - moment.mono;
  if (booted_ && std::chrono::abs(booted - *booted_) > kClockStep) stepped_ = moment.wall;
  booted_ = booted;
}

void Inspector::submit(Inspection& inspection, Tasks& tasks) {
  const auto refused = [this, run = inspection.run](const Error& error) { fail(run, error.what); };
  if (inspection.read) {
    tasks.push_back({std::move(inspection.read), refused});
    return;
  }
  const ProcessIdentity watched = watch_.watched(inspection.service);
  const bool may_watch = !watch_.full() || watched != ProcessIdentity{};
  note_clock();
  Request request{inspection.run, inspection.block, inspection.own,    inspection.query, inspection.commands, watched,
                  may_watch,      options_.stuck,   options_.programs, options_.groups,  inspection.came_by,  stepped_};
  if (inspection.query.shares && inspection.query.total_memory) request.walk = table_.snapshot;
  tasks.push_back({[this, request = std::move(request), guard = guard_]() -> Loop::Callback {
                     auto seen = std::make_shared<Found>(find(request, *guard));
                     if (request.query.load && seen->inspection) add_load(seen->inspection->metrics);
                     if (request.walk != nullptr && seen->inspection && !seen->inspection->facts.zombie)
                       seen->shares = shares_of_descendants(*request.walk, seen->inspection->sample.pid);
                     return [this, run = request.run, seen] { found(run, *seen); };
                   },
                   refused});
}

/// At all of the process, for what was known of it is no more.
void Inspector::check_again(Inspection& inspection) {
  inspection.query.known = {};
  Tasks tasks;
  submit(inspection, tasks);
  pool_.submit(std::move(tasks));
}

/// Whether the walk at hand tells of the descendants of that process.
bool Inspector::shows_totals(const Inspection& inspection, const ProcessIdentity& identity) const {
  if (table_.snapshot == nullptr) return false;
  // Whoever has waited for a walk is given it, however long his own look took after that.
  if (inspection.walk_age > Duration{0} && inspection.walk_age <= kFreshForTotals) return true;
  if (inspection.walk_age == Duration{0} && mono_now() - table_.taken > kGoodEnough) return false;
  const ProcStat* seen = table_.snapshot->find(identity.pid);  // it may be younger than the walk
  return seen != nullptr && seen->start_ticks == identity.start_ticks;
}

/// Takes a look up into what is known of the process, and adds to it what it has left out. False: it is another
/// process by now, of which nobody knows that.
bool Inspector::Memory::add(const ProcessInspection& inspection, Duration when, engine::Facts& facts) {
  const ProcessIdentity seen{inspection.sample.pid, inspection.sample.start_ticks};
  const bool is_same = identity == seen && whole_at;
  if (!is_same && !inspection.is_whole()) return false;
  if (!inspection.has_owner) {
    facts.process->uid = owner.uid;
    facts.process->euid = owner.euid;
    facts.process->gid = owner.gid;
  }
  if (facts.process->zombie) return true;
  if (identity != seen) {
    process = {};
    transfers = {};
    shares.reset();
  }
  identity = seen;
  died = false;
  if (const auto& former = process.add(inspection.sample)) add_means(facts.metrics, *former, inspection.sample);
  if (inspection.sample.io)
    if (const auto& former = transfers.add(inspection.sample)) add_transfers(facts.metrics, *former, inspection.sample);
  if (inspection.is_whole()) {
    whole_at = when;
    owner = *facts.process;
    rest = {};
    for (const auto& [metric, value] : facts.metrics.all())
      if (engine::is_of_descriptors(metric) || engine::is_of_transfers(metric) || engine::is_of_memory(metric))
        rest.set(metric, value);
  } else {
    for (const auto& [metric, value] : rest.all())
      if (engine::is_of_transfers(metric) ? !inspection.has_transfers
          : engine::is_of_memory(metric)  ? !inspection.has_memory
                                          : !inspection.has_descriptors)
        facts.metrics.set(metric, value);
  }
  return true;
}

void Inspector::found(std::uint64_t run, Found& found) {
  const auto entry = inspections_.find(run);
  if (entry == inspections_.end()) return;  // cancelled, or it came too late
  if (found.unknown) return fail(run, found.output);
  Inspection& inspection = *entry->second;
  auto facts = std::make_shared<engine::Facts>();
  if (found.inspection) {
    facts->process = std::move(found.inspection->facts);
    facts->metrics = found.inspection->metrics;
    const ProcessIdentity identity{found.inspection->sample.pid, found.inspection->sample.start_ticks};
    const auto kept = memories_.find(inspection.service.number());
    const bool is_known = kept != memories_.end() && kept->second->add(*found.inspection, inspection.begun, *facts);
    if (!is_known && !found.inspection->is_whole()) return check_again(inspection);
    if (is_known && !facts->process->zombie) {
      if (found.shares) kept->second->shares = found.shares;
      if (shows_totals(inspection, identity))
        add_totals(facts->metrics, table_, found.inspection->sample, inspection.query, kept->second->shares);
      if (!inspection.block->foreground()) watch_.watch(inspection.service, identity, std::move(found.pidfd));
    }
  }
  const bool running = facts->process && !facts->process->zombie;
  if (!running && (inspection.left_by != engine::ActionId{} || inspection.came_by != engine::ActionId{}))
    return search(inspection, std::move(facts), std::move(found.output));
  answer(run, std::move(facts), std::move(found.output), running ? Answer::Present : Answer::Absent);
}

/// For what an earlier start program has left. Reading the environment of a process may wait for that process.
void Inspector::search(Inspection& inspection, std::shared_ptr<engine::Facts> facts, std::string output) {
  inspection.meanwhile = facts;
  inspection.meanwhile_output = output;
  const auto say = [this, run = inspection.run, facts, output](Leftovers left) {
    auto all = std::make_shared<engine::Facts>(*facts);
    all->further.set(&engine::FurtherFacts::left, std::move(left.processes));
    all->further.set(&engine::FurtherFacts::left_by, left.by);
    answer(run, std::move(all), output, Answer::Absent);
  };
  searcher_.submit(
      [say, groups = options_.groups, left_by = inspection.left_by, came_by = inspection.came_by,
       owners = owners_of(*inspection.block)]() -> Loop::Callback {
        Leftovers left = find_leftovers(*groups, left_by, came_by, owners);
        return [say, left = std::move(left)] { say(left); };
      },
      [say](const Error&) { say({}); });
}

void Inspector::found_system(std::uint64_t run, SystemInspection& inspection) {
  const auto entry = inspections_.find(run);
  if (entry == inspections_.end()) return;
  auto facts = std::make_shared<engine::Facts>();
  facts->metrics = inspection.metrics;
  if (const auto& former = memory_of(entry->second->service).system.add(inspection.sample))
    add_means(facts->metrics, *former, inspection.sample);
  answer(run, std::move(facts), {}, Answer::Present);
}

// ---- answers

void Inspector::fail(std::uint64_t run, const std::string& why) {
  answer(run, std::make_shared<engine::Facts>(), why, Answer::Unknown);
}

void Inspector::fail_all(InspectionIds& inspections, const std::string& why) {
  for (const std::uint64_t run : std::exchange(inspections, {})) fail(run, why);
}

void Inspector::answer(std::uint64_t run, std::shared_ptr<const engine::Facts> facts, std::string output,
                       engine::Answer answer) {
  const auto entry = inspections_.find(run);
  if (entry == inspections_.end()) return;
  const std::unique_ptr<Inspection> inspection = std::move(entry->second);
  inspections_.erase(entry);
  tell(inspection->service, engine::RunId(run), inspection->begun, std::move(facts), std::move(output), answer);
}

void Inspector::tell(engine::ServiceId service, engine::RunId run, Duration begun,
                     std::shared_ptr<const engine::Facts> facts, std::string output, engine::Answer answer) {
  engine::Evidence seen;
  seen.answer = answer;
  seen.elapsed = mono_now() - begun;
  static const auto kNothing = std::make_shared<const std::string>();
  seen.output = output.empty() ? kNothing : std::make_shared<const std::string>(std::move(output));
  for (std::size_t i = 0; i < facts->further->lines.size(); ++i)
    if (!facts->further->lines[i].empty()) seen.matches |= std::uint64_t{1} << i;
  seen.facts = std::move(facts);
  sink_(engine::event::measured(service, run, std::move(seen)));
}

}  // namespace healer::runtime
