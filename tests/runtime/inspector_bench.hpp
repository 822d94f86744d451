// SPDX-License-Identifier: MIT
// A loop with an inspector, and what came of it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "engine/rules/service.hpp"
#include "runtime/inspection/inspector.hpp"
#include "support/processes.hpp"

namespace healer::test {

struct InspectorBench {
  explicit InspectorBench(runtime::Inspector::Options options = {})
      : inspector(loop, std::move(options), [this](engine::Event event) {
          if (const auto* observed = std::get_if<engine::event::Measured>(&event)) {
            ++answers[observed->run.number()];
            seen[observed->run.number()] = *observed;
          } else if (const auto* death = std::get_if<engine::event::ProcessDied>(&event)) {
            deaths.push_back(*death);
          } else if (const auto* failed = std::get_if<engine::event::NotSignalled>(&event)) {
            not_signalled.push_back(std::to_string(failed->pid) + " " + std::to_string(failed->number) + ": " +
                                    failed->why);
          }
        }) {}

  static std::shared_ptr<engine::ServiceBlock> block(const engine::CheckKind* kind) {
    auto made = std::make_shared<engine::ServiceBlock>();
    made->kind = kind;
    return made;
  }
  static std::shared_ptr<engine::ServiceBlock> by_file(const std::string& path);
  static std::shared_ptr<engine::ServiceBlock> by_pattern(const std::string& pattern);
  static std::shared_ptr<engine::ServiceBlock> foreground();
  static std::shared_ptr<engine::ServiceBlock> asking(std::shared_ptr<engine::ServiceBlock> block, engine::Test test);

  std::string path(const std::string& name) const { return (directory.path() / name).string(); }
  /// A pid file that holds that text.
  std::string pid_file(const std::string& name, const std::string& text) const;

  /// Begins a look and returns its number.
  std::uint64_t check(std::shared_ptr<const engine::ServiceBlock> block, std::uint32_t service = 1,
                      runtime::ProcessIdentity own = {});
  const engine::Evidence& result(std::uint64_t run);
  /// Looks and waits for what is found.
  const engine::Evidence& see(std::shared_ptr<const engine::ServiceBlock> block, std::uint32_t service = 1);

  TemporaryDirectory directory;
  runtime::Loop loop;
  std::map<std::uint64_t, int> answers;
  std::map<std::uint64_t, engine::event::Measured> seen;
  std::vector<engine::event::ProcessDied> deaths;
  std::vector<std::string> not_signalled;  ///< "PID NUMBER: WHY"
  std::uint64_t last = 0;
  engine::ActionId left_by{};  ///< of the looks that are begun
  engine::ActionId came_by{};  ///< the same
  runtime::Inspector inspector;
};

}  // namespace healer::test
