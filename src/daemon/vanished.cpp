// SPDX-License-Identifier: MIT
#include "daemon/vanished.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <set>

#include <spdlog/fmt/fmt.h>

#include "engine/rules/service.hpp"
#include "util/text.hpp"

namespace healer {
namespace {

constexpr std::size_t kMostNamed = 10;

std::string quoted_list(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (const std::string& name : names) {
    if (shown.size() == kMostNamed) break;
    shown.push_back(fmt::format("\"{}\"", printable(name)));
  }
  if (names.size() > shown.size()) shown.push_back(fmt::format("{} more", names.size() - shown.size()));
  return join_words(shown, "and");
}

bool runs_as_child(const engine::Engine& engine, const engine::ServiceBlock& block) {
  return block.foreground() && std::ranges::any_of(engine.programs().all(), [&](const auto& action) {
           const engine::effect::Exec& exec = action.second.exec;
           return exec.foreground && iequals(exec.cause->service, block.name);
         });
}

}  // namespace

std::string Vanished::text() const {
  std::string message = fmt::format("no file matches {} any longer: this would remove {}", quoted_list(patterns),
                                    services.empty() ? "no service" : quoted_list(services));
  if (!ended.empty())
    message += fmt::format("; {} {} as healer's own {} and would be ended", quoted_list(ended),
                           ended.size() == 1 ? "runs" : "run", ended.size() == 1 ? "process" : "processes");
  return message;
}

Vanished vanished(const engine::Engine& engine, const config::LoadResult& loaded, const engine::SwapPlan& plan) {
  Vanished result;
  const engine::Graph& before = *engine.graph();
  for (const std::string& pattern : loaded.unmatched) {
    const auto matched = [&](const std::string& file) {
      return fnmatch(pattern.c_str(), file.c_str(), FNM_PATHNAME | FNM_PERIOD) == 0;
    };
    if (std::ranges::any_of(before.files, matched)) result.patterns.push_back(pattern);
  }
  if (result.patterns.empty()) return result;

  // A file that has gone may have included others: these have gone with it.
  std::set<std::string> still;
  for (std::uint32_t file = 0; file < loaded.sources.size(); ++file) still.insert(loaded.sources.at(file).path);
  for (const engine::SlotChange& change : plan.changes) {
    if (change.kind != engine::SlotChange::Kind::Removed) continue;
    const engine::ServiceBlock& block = before.at(change.service);
    if (block.place.file >= before.files.size() || still.contains(before.files[block.place.file])) continue;
    result.services.push_back(block.name);
    if (runs_as_child(engine, block)) result.ended.push_back(block.name);
  }
  return result;
}

}  // namespace healer
