// SPDX-License-Identifier: MIT
// Looks at paths: files with their checksums and lines, folders, pipes and filesystems.
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/service.hpp"
#include "runtime/file_lines.hpp"
#include "runtime/inspector_impl.hpp"
#include "util/text.hpp"

namespace healer::runtime {

using engine::Answer;

namespace {

/// Adds the new lines of a file to what is known of it. Only the reading is up to its mount: a pattern that takes long
/// is no fault of that.
Result<void> add_lines(engine::Facts& facts, const engine::LinesSpec& spec,
                       const std::optional<engine::ReadPosition>& position, const MountGuard::Attempt& attempt,
                       MountGuard& guard) {
  const auto read = guard.guarded(attempt, [&] { return read_lines(attempt.path, position); });
  if (!read) return read.error();
  auto lines = sift(read->text, spec);
  if (!lines) return lines.error();
  facts.lines = std::move(*lines);
  facts.attributes.emplace_back(engine::Attribute::ReadFile, read->position.file);
  facts.attributes.emplace_back(engine::Attribute::ReadOffset, read->position.offset);
  return {};
}

}  // namespace

void Inspector::read_path(const engine::effect::Measure& run, const engine::measure::ReadPath& wanted,
                          std::shared_ptr<const engine::ServiceBlock> block) {
  Look& look = add(run);
  look.read = [this, id = look.run, block, type = wanted.type, patience = options_.stuck, guard = guard_] {
    return told(id,
                guard->guarded({id, block->path, patience, "look at"}, [&] { return look_at_path(block->path, type); }),
                &Inspector::found_path);
  };
  look.wanted = wanted;
  look.position = run.position;
  look.block = std::move(block);
}

void Inspector::read_filesystem(const engine::effect::Measure& run, std::shared_ptr<const engine::ServiceBlock> block) {
  Look& look = add(run);
  look.read = [this, id = look.run, block = std::move(block), patience = options_.stuck, guard = guard_] {
    const auto see = [&]() -> Result<FilesystemLook> {
      const auto mount = find_mount(block->path);
      if (!mount) return mount.error();
      if (!*mount) return FilesystemLook{.answer = Answer::Absent};
      return guard->guarded({id, (*mount)->point, patience, "look at"}, [&] { return look_at_filesystem(**mount); });
    };
    return told(id, see(), &Inspector::found_filesystem);
  };
}

/// On a worker: what the loop does with what was seen.
template <typename Seen>
Loop::Callback Inspector::told(std::uint64_t run, Result<Seen> seen, void (Inspector::*then)(std::uint64_t, Seen&)) {
  return [this, run, then, kept = std::make_shared<Result<Seen>>(std::move(seen))] {
    if (!*kept) return fail(run, kept->error().what);
    (this->*then)(run, **kept);
  };
}

void Inspector::found_path(std::uint64_t run, PathLook& look) {
  const auto entry = looks_.find(run);
  if (entry != looks_.end() && look.answer == Answer::Told) {
    if (entry->second->wanted.lines) return read_on(*entry->second, look);
    if (entry->second->wanted.checksums.any()) return sum(*entry->second, look);
  }
  static const auto kNothing = std::make_shared<const engine::Facts>();  // of all that are not there
  answer(run, look.answer == Answer::Absent ? kNothing : std::make_shared<const engine::Facts>(std::move(look.facts)),
         std::move(look.output), look.answer);
}

/// Adds the new lines of a file. One reading of a service at a time: one that hangs at a pattern is not begun again.
void Inspector::read_on(Look& look, PathLook& seen) {
  Memory& memory = memory_of(look.service);
  if (std::exchange(memory.reading, true))
    return fail(look.run, fmt::format("the lines of {} are still being read", printable(look.block->path)));
  const auto ended = [this, service = look.service] {
    if (const auto kept = memories_.find(service.number()); kept != memories_.end()) kept->second->reading = false;
  };
  submit_lines({[this, run = look.run, position = look.position, block = look.block, ended, patience = options_.stuck,
                 guard = guard_, kept = std::make_shared<PathLook>(std::move(seen))]() -> Loop::Callback {
                  const Result<void> read =
                      add_lines(kept->facts, *block->lines, position, {run, block->path, patience, "read"}, *guard);
                  return [this, run, read, kept, ended] {
                    ended();
                    const auto entry = looks_.find(run);
                    if (entry == looks_.end()) return;
                    if (!read) return fail(run, read.error().what);
                    entry->second->wanted.lines = false;
                    found_path(run, *kept);
                  };
                },
                [this, run = look.run, ended](const Error& error) {
                  ended();
                  fail(run, error.what);
                }});
}

/// With the others of this turn of the loop.
void Inspector::submit_lines(WorkerPool::Task task) {
  readings_.push_back(std::move(task));
  if (readings_.size() > 1) return;
  loop_.at_end_of_turn([this, alive = std::weak_ptr<char>(alive_)] {
    if (!alive.expired()) lines_.submit(std::exchange(readings_, {}));
  });
}

/// Adds the checksums of a file. They are made again only where it has changed.
void Inspector::sum(Look& look, PathLook& seen) {
  auto facts = std::make_shared<engine::Facts>(std::move(seen.facts));
  const auto say = [this, run = look.run, facts](const FileSums& sums) {
    facts->attributes.insert(facts->attributes.end(), sums.sums.begin(), sums.sums.end());
    answer(run, facts, {}, Answer::Told);
  };
  const engine::measure::Checksums& wanted = look.wanted.checksums;
  const FileSums& known = memory_of(look.service).sums;
  if (known.lasting && known.wanted == wanted && known.state == seen.state) return say(known);
  look.is_patient = true;  // it is known to be read
  sums_.sum(look.run, look.block->path, wanted, [this, run = look.run, say](const Result<FileSums>& sums) {
    const auto entry = looks_.find(run);
    if (entry == looks_.end()) return;
    if (!sums) return fail(run, sums.error().what);
    memory_of(entry->second->service).sums = *sums;
    say(*sums);
  });
}

void Inspector::found_filesystem(std::uint64_t run, FilesystemLook& look) {
  const auto entry = looks_.find(run);
  if (entry == looks_.end()) return;
  Means<DeviceSample>& means = memory_of(entry->second->service).device;
  if (!look.device) {
    means = {};
  } else if (const auto& former = means.add(*look.device); former && former->device == look.device->device) {
    add_means(look.facts.metrics, *former, *look.device);
  }
  answer(run, std::make_shared<const engine::Facts>(std::move(look.facts)), std::move(look.output), look.answer);
}

}  // namespace healer::runtime
