// SPDX-License-Identifier: MIT
// What the rules files say, before it is a generation of the graph.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/rules/left_out.hpp"
#include "engine/rules/settings.hpp"

namespace healer::engine {

struct ServiceBlock;
struct Workflow;

/// What the compiler hands over: services in the order of the files.
struct RuleSet {
  Settings settings;
  std::vector<std::string> files;
  std::vector<std::shared_ptr<const ServiceBlock>> services;
  std::vector<std::shared_ptr<const Workflow>> workflows;
  LeftOut left_out{};
  std::vector<std::string> lists{};  ///< the variables of lists from commands and files
};

}  // namespace healer::engine
