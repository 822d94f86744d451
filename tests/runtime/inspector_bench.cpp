// SPDX-License-Identifier: MIT
#include "runtime/inspector_bench.hpp"

namespace healer::test {

std::shared_ptr<engine::ServiceBlock> InspectorBench::by_file(const std::string& path) {
  auto made = block(engine::kind_named("process"));
  made->process->pid_file = path;
  return made;
}

std::shared_ptr<engine::ServiceBlock> InspectorBench::by_pattern(const std::string& pattern) {
  auto made = block(engine::kind_named("process"));
  made->process->pattern = pattern;
  return made;
}

std::shared_ptr<engine::ServiceBlock> InspectorBench::foreground() {
  auto made = block(engine::kind_named("process"));
  made->process->foreground.emplace();
  return made;
}

std::shared_ptr<engine::ServiceBlock> InspectorBench::asking(std::shared_ptr<engine::ServiceBlock> block,
                                                             engine::Test test) {
  block->rules.emplace_back()->condition = engine::RuleCondition{{std::move(test)}};
  return block;
}

std::string InspectorBench::pid_file(const std::string& name, const std::string& text) const {
  write_file(path(name), text);
  return path(name);
}

std::uint64_t InspectorBench::check(std::shared_ptr<const engine::ServiceBlock> block, std::uint32_t service,
                                    runtime::ProcessIdentity own) {
  const engine::effect::Measure run{.service = engine::ServiceId(service),
                                    .run = engine::RunId(++last),
                                    .pid = own.pid,
                                    .start_ticks = own.start_ticks,
                                    .left_by = left_by,
                                    .came_by = came_by};
  const engine::Measurement part = block->kind->plan(*block).parts.front();
  if (const auto* find = std::get_if<engine::measure::FindProcess>(&part))
    inspector.search_process(run, *find, std::move(block));
  else if (const auto* path = std::get_if<engine::measure::ReadPath>(&part))
    inspector.read_path(run, *path, std::move(block));
  else if (std::holds_alternative<engine::measure::ReadFilesystem>(part))
    inspector.read_filesystem(run, std::move(block));
  else if (const auto* interface = std::get_if<engine::measure::ReadInterface>(&part))
    inspector.read_interface(run, *interface, std::move(block));
  else
    inspector.read_system(run);
  return last;
}

const engine::Evidence& InspectorBench::result(std::uint64_t run) {
  REQUIRE(run_until(loop, [&] { return seen.count(run) != 0; }));
  return *seen.at(run).evidence;
}

const engine::Evidence& InspectorBench::see(std::shared_ptr<const engine::ServiceBlock> block, std::uint32_t service) {
  return result(check(std::move(block), service));
}

}  // namespace healer::test
