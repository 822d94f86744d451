// SPDX-License-Identifier: MIT
// Asks filters of jq of documents that came from outside, in helpers without privileges: those of events, for the rules
// of their checks, and whatever else a hook asks of a body.
//
// Owned and called by the loop thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "engine/events/event.hpp"
#include "engine/events/measure.hpp"
#include "engine/ids.hpp"
#include "runtime/filter_pool.hpp"
#include "runtime/loop.hpp"
#include "util/result.hpp"

namespace healer::engine {
struct ServiceBlock;
}  // namespace healer::engine

namespace healer::runtime {

class DocumentReader {
 public:
  /// Gets event::Measured, on the loop, never from within a call.
  using Sink = std::function<void(const engine::event::Measured&)>;

  /// `jq_helper`: see JqHelper.
  DocumentReader(Loop& loop, std::string jq_helper, Sink sink)
      : filters_(loop, std::move(jq_helper)), sink_(std::move(sink)) {}

  /// What the filters of a `check event` find in the document of the run; answered by event::Measured once, unless it
  /// is cancelled.
  void measure(const engine::effect::Measure& effect, std::shared_ptr<const engine::ServiceBlock> block);
  /// The run is not answered. Unknown ones are ignored.
  void cancel(engine::RunId run);
  /// FilterPool::query.
  void query(std::string filter, std::string text, std::string whose, FilterPool::Answered done) {
    filters_.query({std::move(filter), std::move(text)}, std::move(whose), std::move(done));
  }

 private:
  struct Asked {
    engine::ServiceId service;
    std::shared_ptr<const engine::ServiceBlock> block;  // has the filters
    std::shared_ptr<const std::string> document;
    std::vector<engine::ValueSeen> values{};
  };
  void ask(std::uint64_t run);
  void report(std::uint64_t run, engine::Evidence seen);

  FilterPool filters_;
  Sink sink_;
  std::unordered_map<std::uint64_t, Asked> asked_;  // by RunId
};

}  // namespace healer::runtime
