// SPDX-License-Identifier: MIT
// The living state of a service, as far as no part of the engine owns it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/events/evidence.hpp"
#include "engine/ids.hpp"
#include "engine/parts/presence.hpp"
#include "engine/parts/timetable.hpp"
#include "engine/state.hpp"
#include "util/rare.hpp"
#include "util/slim.hpp"
#include "util/sparse.hpp"
#include "util/time.hpp"

namespace healer::engine {

/// That looks at a service have no answer.
struct Unknown {
  WallTime since{};
  std::string why;  ///< of the last of them

  bool operator==(const Unknown&) const = default;
};

/// What few services have: what is wrong with one, and what people have said of it.
struct Trouble {
  Rare<Unknown> unknown;  ///< the last look had no answer
  Rare<ActionFailure> action_failure;
  Rare<TakenOut> taken_out;        ///< why it is not monitored, where that is known
  std::string start_failure;       ///< why its last start failed; or empty
  std::string waits;               ///< why a start or restart that its rules want is not done now; or empty
  std::int64_t reported_left = 0;  ///< a process that its former start has left, and that was told of
  Slim<Duration> lines_lost;       ///< mono: when it was last recorded that lines of its file may be missing

  bool operator==(const Trouble&) const = default;
};

/// The living state of a service, apart from its rules.
struct ServiceState {
  bool monitored = true;
  bool initialising = true;
  bool saved_whole = false;  ///< in this boot: what it remembers may be saved alone from then on
  Rare<Flight> flight;       ///< the run under way
  std::uint64_t runs = 0;    ///< judged since the daemon started
  Memory memory;
  std::shared_ptr<const Evidence> last;  ///< the last that was judged; null: nothing was
  Slim<WallTime> last_when;
  RunId last_run;  ///< whose evidence that is
  Sparse<StartHistory> starts;
  Sparse<Trouble> trouble;
  Rare<JobId> job;         ///< that it takes part in: no run is counted meanwhile
  Slim<Duration> checked;  ///< mono: when `last` was seen
  Presence presence;       ///< of its process
  Sparse<Child> child;     ///< of a foreground process
};

}  // namespace healer::engine
