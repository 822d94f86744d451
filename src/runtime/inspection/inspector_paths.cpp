// SPDX-License-Identifier: MIT
// Looks at paths: files with their checksums and lines, folders, pipes and filesystems.
#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "engine/rules/service.hpp"
#include "runtime/clock.hpp"
#include "runtime/files/file_lines.hpp"
#include "runtime/inspection/inspector_impl.hpp"
#include "util/text.hpp"

namespace healer::runtime {

using engine::Answer;

void Inspector::read_path(const engine::effect::Measure& run, const engine::measure::ReadPath& wanted,
                          std::shared_ptr<const engine::ServiceBlock> block) {
  PathRun made{.service = run.service, .run = run.run, .block = std::move(block), .wanted = wanted};
  made.begun = mono_now();
  if (wanted.lines) {
    made.position = run.position;
    // One reading of a service at a time: one that hangs at a pattern is not begun again.
    made.reads = !std::exchange(memory_of(run.service).reading, true);
    if (!made.reads) made.unread = fmt::format("the lines of {} are still being read", printable(made.block->path));
  }
  inspect(std::move(made));
}

/// With the others of this turn of the loop; a pattern may make it last for ever, and only those wait for that who read
/// lines, too.
void Inspector::inspect(PathRun run) {
  auto& inspections = run.reads ? fresh_lines_ : fresh_paths_;
  if (inspections == nullptr) inspections = std::make_shared<PathInspections>(*this, mono_now());
  inspections->runs.push_back(std::move(run));
  flush_at_end_of_turn();
}

void Inspector::submit_paths() {
  while (!path_inspections_.empty() && path_inspections_.front()->is_answered()) path_inspections_.pop_front();
  const auto submit = [this](std::shared_ptr<PathInspections> inspections, WorkerPool& pool) {
    if (inspections == nullptr) return;
    if (expiries_.empty() && path_inspections_.empty()) patience_.set_deadline(inspections->begun + options_.patience);
    path_inspections_.push_back(inspections);
    pool.submit(std::move(inspections));
  };
  submit(std::exchange(fresh_paths_, nullptr), pool_);
  submit(std::exchange(fresh_lines_, nullptr), lines_);
}

void Inspector::expire_paths(Duration now) {
  while (!path_inspections_.empty()) {
    const std::shared_ptr<PathInspections> inspections = path_inspections_.front();
    if (!inspections->is_answered() && inspections->begun + options_.patience > now) break;
    path_inspections_.pop_front();
    for (PathRun& run : inspections->runs)
      if (!run.answered) fail_path(run, too_late());
  }
}

void Inspector::cancel_path(engine::RunId id) {
  const auto cancel = [id](PathInspections* inspections) {
    if (inspections == nullptr || inspections->is_answered()) return;
    const auto run = std::ranges::find(inspections->runs, id, &PathRun::run);
    if (run != inspections->runs.end()) run->answered = true;
  };
  for (const auto& inspections : path_inspections_) cancel(inspections.get());
  cancel(fresh_paths_.get());
  cancel(fresh_lines_.get());
}

void Inspector::PathInspections::work(std::size_t one) {
  PathRun& run = runs[one];
  const std::string& path = run.block->path;
  const std::uint64_t key = run.run.number();
  const std::string_view purpose = run.reads ? "read" : "look at";
  run.seen = guard_->guarded({key, path, patience_, purpose}, [&] { return inspect_path(path, run.wanted.type); });
  if (!run.reads || !run.seen || run.seen->answer != Answer::Present) return;
  // Only the reading is up to its mount: a pattern that takes long is no fault of that.
  const auto read = guard_->guarded({key, path, patience_, "read"}, [&] { return read_lines(path, run.position); });
  auto lines = read ? sift(read->text, *run.block->lines) : read.error();
  if (!lines) {
    run.seen = lines.error();
    return;
  }
  engine::Facts& facts = *run.seen->facts;
  if (!std::ranges::all_of(*lines, &std::string::empty))
    facts.further.set(&engine::FurtherFacts::lines, std::move(*lines));
  facts.attributes = {{engine::Attribute::ReadFile, read->position.file},
                      {engine::Attribute::ReadOffset, read->position.offset},
                      {engine::Attribute::ReadBegin, read->position.begin}};
  if (!read->missing.empty()) facts.attributes.push_back({engine::Attribute::LinesLost, read->missing});
}

void Inspector::PathInspections::tell(std::size_t one) {
  PathRun& run = runs[one];
  end(run);
  if (!run.answered) inspector_.found_path(run);
}

/// Whether there is a file is looked at none the less, where its lines cannot be read.
void Inspector::PathInspections::refuse(std::size_t one, const Error& why) {
  PathRun& run = runs[one];
  end(run);
  if (run.answered) return;
  if (!run.reads) return inspector_.fail_path(run, why.what);
  run.answered = true;
  PathRun again = run;
  again.answered = again.reads = false;
  again.unread = why.what;
  inspector_.inspect(std::move(again));
}

/// No thread is at it any more.
void Inspector::PathInspections::end(PathRun& run) {
  ++answered_;
  if (!run.reads) return;
  const auto kept = inspector_.memories_.find(run.service.number());
  if (kept != inspector_.memories_.end()) kept->second->reading = false;
}

void Inspector::found_path(PathRun& run) {
  if (!run.seen) return fail_path(run, run.seen.error().what);
  PathInspection& inspection = *run.seen;
  if (inspection.answer == Answer::Present) {
    if (run.wanted.lines && !run.reads) return fail_path(run, run.unread);
    if (run.wanted.checksums.any()) return sum(run);
  }
  static const auto kNothing = std::make_shared<const engine::Facts>();  // of all that are not there
  if (inspection.answer == Answer::Absent)
    answer_path(run, kNothing, std::move(inspection.output), inspection.answer);
  else
    answer_path(run, std::move(inspection.facts), std::move(inspection.output), inspection.answer);
}

void Inspector::answer_path(PathRun& run, std::shared_ptr<const engine::Facts> facts, std::string output,
                            Answer answer) {
  run.answered = true;
  tell(run.service, run.run, run.begun, std::move(facts), std::move(output), answer);
}

void Inspector::fail_path(PathRun& run, std::string why) {
  answer_path(run, std::make_shared<const engine::Facts>(), std::move(why), Answer::Unknown);
}

void Inspector::read_filesystem(const engine::effect::Measure& run, std::shared_ptr<const engine::ServiceBlock> block) {
  Inspection& inspection = add(run);
  inspection.read = [this, id = inspection.run, block = std::move(block), patience = options_.stuck, guard = guard_] {
    const auto see = [&]() -> Result<FilesystemInspection> {
      const auto mount = find_mount(block->path);
      if (!mount) return mount.error();
      if (!*mount) return FilesystemInspection{.answer = Answer::Absent};
      return guard->guarded({id, (*mount)->point, patience, "look at"}, [&] { return inspect_filesystem(**mount); });
    };
    return deliver(id, see(), &Inspector::found_filesystem);
  };
}

/// On a worker: what the loop does with what was seen.
template <typename Seen>
Loop::Callback Inspector::deliver(std::uint64_t run, Result<Seen> seen, void (Inspector::*then)(std::uint64_t, Seen&)) {
  return [this, run, then, kept = std::make_shared<Result<Seen>>(std::move(seen))] {
    if (!*kept) return fail(run, kept->error().what);
    (this->*then)(run, **kept);
  };
}

/// Adds the checksums of a file. They are made again only where it has changed.
void Inspector::sum(PathRun& run) {
  const std::shared_ptr<engine::Facts> facts = run.seen->facts;
  const auto add = [facts](const FileSums& sums) {
    std::vector<std::pair<engine::Attribute, engine::Value>>& all = facts->attributes.edit();
    all.insert(all.end(), sums.sums.begin(), sums.sums.end());
  };
  const engine::measure::Checksums& wanted = run.wanted.checksums;
  const FileSums& known = memory_of(run.service).sums;
  if (known.lasting && known.wanted == wanted && known.state == run.seen->state) {
    add(known);
    return answer_path(run, facts, {}, Answer::Present);
  }
  run.answered = true;
  auto inspection = std::make_unique<Inspection>();
  inspection->service = run.service;
  inspection->run = run.run.number();
  inspection->begun = run.begun;
  inspection->is_patient = true;  // it is known to be read
  const std::uint64_t id = keep(std::move(inspection)).run;
  sums_.sum(id, run.block->path, wanted, [this, id, add, facts](const Result<FileSums>& sums) {
    const auto entry = inspections_.find(id);
    if (entry == inspections_.end()) return;
    if (!sums) return fail(id, sums.error().what);
    memory_of(entry->second->service).sums = *sums;
    add(*sums);
    answer(id, facts, {}, Answer::Present);
  });
}

void Inspector::found_filesystem(std::uint64_t run, FilesystemInspection& inspection) {
  const auto entry = inspections_.find(run);
  if (entry == inspections_.end()) return;
  Means<DeviceSample>& means = memory_of(entry->second->service).device;
  if (!inspection.device) {
    means = {};
  } else if (const auto& former = means.add(*inspection.device);
             former && former->device == inspection.device->device) {
    add_means(inspection.facts.metrics, *former, *inspection.device);
  }
  answer(run, std::make_shared<const engine::Facts>(std::move(inspection.facts)), std::move(inspection.output),
         inspection.answer);
}

}  // namespace healer::runtime
