// SPDX-License-Identifier: MIT
// What commands and the HTTP side get from the daemon. Owns the reading of secrets and of the log's end for them; all
// else it asks of the parts of the daemon, or hands on to them.
#pragma once

#include <functional>
#include <memory>

#include "control/supervisor.hpp"
#include "daemon/ending.hpp"
#include "daemon/http.hpp"
#include "daemon/lists/lists.hpp"
#include "daemon/observers.hpp"
#include "daemon/paths.hpp"
#include "daemon/places/journal.hpp"
#include "daemon/places/own_places.hpp"
#include "daemon/reload/reload.hpp"
#include "daemon/shells/acting.hpp"
#include "daemon/shells/measuring.hpp"
#include "delivery/outbox.hpp"
#include "engine/engine.hpp"
#include "runtime/log/log.hpp"
#include "runtime/loop.hpp"

namespace healer {

/// Who is asked. All of them are there whenever somebody asks.
struct AccessParts {
  runtime::Loop& loop;
  runtime::Log& log;
  const Paths& paths;
  const OwnPlaces& places;
  Journal& journal;
  const CountingObserver& statistics;
  const engine::Engine& engine;
  Measuring& measuring;
  Acting& acting;
  const delivery::Outbox& outbox;
  DaemonLists& lists;
  Ending& ending;
};

struct AccessCalls {
  /// Tells the engine.
  std::function<void(const engine::Event&)> handle;
  /// Where the log is written now.
  std::function<runtime::LogOptions()> log_options;
  /// Nobody asks before there is one.
  std::function<Reload&()> reload;
  /// Null: it is not up yet, or has ended.
  std::function<Http*()> http;
};

/// Requires: `loop` and `log` outlive it.
[[nodiscard]] std::unique_ptr<control::Supervisor> make_access(AccessParts parts, AccessCalls calls);

}  // namespace healer
