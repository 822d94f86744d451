// SPDX-License-Identifier: MIT
// Makes the connections of a run: those of a host by themselves, those of a process once a look has found it. Owned and
// called by the loop thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "engine/events/event.hpp"
#include "engine/events/measure.hpp"
#include "engine/rules/plan.hpp"
#include "protocols/probe.hpp"

namespace healer::engine {
struct ServiceBlock;
}  // namespace healer::engine

namespace healer::runtime {

class Connector;
class Loop;

class Reacher {
 public:
  using Block = std::shared_ptr<const engine::ServiceBlock>;
  /// Gets event::Measured, on the loop, never from within a call.
  using Sink = std::function<void(engine::Event)>;

  /// Requires: `loop` and `connector` outlive it.
  Reacher(Loop& loop, Connector& connector, Sink sink);
  ~Reacher();
  Reacher(const Reacher&) = delete;
  Reacher& operator=(const Reacher&) = delete;

  /// Makes all connections of `block` now; answered by event::Measured once, unless it is cancelled.
  void connect(const engine::effect::Measure& run, Block block);
  /// The same after a look that is under way for this run: the answer of that goes to checked().
  void connect_after_inspection(const engine::effect::Measure& run, const engine::measure::Connect& wanted,
                                Block block);
  /// What a look has answered. True: connections follow, and the answer comes with theirs; else it is the whole.
  [[nodiscard]] bool checked(const engine::event::Measured& check);
  /// The run is not answered. Unknown ones are ignored.
  void cancel(engine::RunId run);

 private:
  struct Run;

  void begin(Run& run);
  void probe(std::uint64_t id, std::size_t index);
  void probed(std::uint64_t id, std::size_t index, const protocols::ProbeResult& result);
  void go_on(std::uint64_t id);
  void finish(std::uint64_t id);

  Loop& loop_;
  Connector& connector_;
  Sink sink_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Run>> runs_;  // by RunId
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace healer::runtime
