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

void Inspector::read_path(const engine::effect::Measure& run, const engine::measure::ReadPath& wanted,
                          std::shared_ptr<const engine::ServiceBlock> block) {
  read_of_path(
      run, [block] { return block->path; },
      [this, id = run.run.number(), block, type = wanted.type]() -> Loop::Callback {
        auto seen = std::make_shared<PathLook>(look_at_path(block->path, type));
        return [this, id, seen] { found_path(id, *seen); };
      });
  Look& look = *looks_.at(run.run.number());
  look.path = block->path;
  look.checksums = wanted.checksums;
  look.lines = wanted.lines;
  look.position = run.position;
  look.block = std::move(block);
}

void Inspector::read_filesystem(const engine::effect::Measure& run, std::shared_ptr<const engine::ServiceBlock> block) {
  read_of_path(
      run, [block] { return mount_point_of(block->path); },
      [this, id = run.run.number(), block]() -> Loop::Callback {
        auto seen = std::make_shared<FilesystemLook>(look_at_filesystem(block->path));
        return [this, id, seen] { found_filesystem(id, *seen); };
      });
}

/// What is read of a path may lie on a mount that hangs.
void Inspector::read_of_path(const engine::effect::Measure& run, std::function<std::string()> find,
                             std::function<Loop::Callback()> read) {
  add(run).read = [this, id = run.run.number(), find = std::move(find), read = std::move(read),
                   patience = options_.stuck, guard = guard_]() -> Loop::Callback {
    const std::string path = find();
    if (const std::string mount = guard->hanging(path, patience); !mount.empty())
      return [this, id, path, mount] {
        fail(id, fmt::format("cannot look at {} ({} does not answer)", printable(path), printable(mount)));
      };
    guard->enter(id, path);
    Loop::Callback done = read();
    guard->leave(id);
    return done;
  };
}

Inspector::Memory& Inspector::memory_of(engine::ServiceId service) {
  auto& kept = memories_[service.number()];
  if (kept == nullptr) kept = std::make_unique<Memory>();
  return *kept;
}

void Inspector::found_path(std::uint64_t run, PathLook& look) {
  const auto entry = looks_.find(run);
  if (entry != looks_.end() && look.answer == Answer::Told) {
    if (entry->second->lines) return read_on(*entry->second, look);
    if (entry->second->checksums.any()) return sum(*entry->second, look);
  }
  answer(run, std::make_shared<const engine::Facts>(std::move(look.facts)), std::move(look.output), look.answer);
}

/// Adds the new lines of a file. One reading of a service at a time: one that hangs at a pattern is not begun again.
void Inspector::read_on(Look& look, PathLook& seen) {
  Memory& memory = memory_of(look.service);
  if (std::exchange(memory.reading, true))
    return fail(look.run, fmt::format("the lines of {} are still being read", printable(look.path)));
  const auto ended = [this, service = look.service] {
    if (const auto kept = memories_.find(service.number()); kept != memories_.end()) kept->second->reading = false;
  };
  auto facts = std::make_shared<PathLook>(std::move(seen));
  lines_.submit(
      [this, run = look.run, path = look.path, position = look.position, block = look.block, facts,
       ended]() -> Loop::Callback {
        auto read = std::make_shared<Result<FileLines>>(read_lines(path, position, block->lines));
        return [this, run, read, facts, ended] {
          ended();
          const auto entry = looks_.find(run);
          if (entry == looks_.end()) return;
          if (!*read) return fail(run, read->error().what);
          facts->facts.lines = std::move((*read)->lines);
          facts->facts.attributes.emplace_back(engine::Attribute::ReadFile, (*read)->position.file);
          facts->facts.attributes.emplace_back(engine::Attribute::ReadOffset, (*read)->position.offset);
          entry->second->lines = false;
          found_path(run, *facts);
        };
      },
      [this, run = look.run, ended](const Error& error) {
        ended();
        fail(run, error.what);
      });
}

/// Adds the checksums of a file. They are made again only where it has changed.
void Inspector::sum(Look& look, PathLook& seen) {
  auto facts = std::make_shared<engine::Facts>(std::move(seen.facts));
  const auto say = [this, run = look.run, facts](const FileSums& sums) {
    facts->attributes.insert(facts->attributes.end(), sums.sums.begin(), sums.sums.end());
    answer(run, facts, {}, Answer::Told);
  };
  const FileSums& known = memory_of(look.service).sums;
  if (known.lasting && known.wanted == look.checksums && known.state == seen.state) return say(known);
  look.patience.set_deadline(std::nullopt);  // it is known to be read
  sums_.sum(look.run, look.path, look.checksums, [this, run = look.run, say](const Result<FileSums>& sums) {
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
  const bool other = !look.device || (means.former() && means.former()->device != look.device->device);
  if (other) means = {};
  if (look.device)
    if (const auto& former = means.add(*look.device); former && former->device == look.device->device)
      add_means(look.facts.metrics, *former, *look.device);
  answer(run, std::make_shared<const engine::Facts>(std::move(look.facts)), std::move(look.output), look.answer);
}

}  // namespace healer::runtime
