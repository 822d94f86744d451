// SPDX-License-Identifier: MIT
// What happened is handed out here, to whoever listens: statistics, the recording, the log, followers of the history,
// systemd. On the loop thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "engine/events/effect.hpp"
#include "engine/events/event.hpp"
#include "engine/ids.hpp"
#include "util/time.hpp"

namespace healer {

namespace happening {

/// The engine is about to be told something. The event is as it may be recorded, without secrets.
struct Notified {
  const engine::Event& event;
  std::optional<Duration> due{};  ///< of a Wake: Engine::next_deadline()
  Instant now{};
};

/// The engine has asked for something, which is about to be done: records come so, in a commit.
struct Asked {
  const engine::Effect& effect;
  Instant now{};  ///< when it was told what has led to it
};

/// All commits up to this one are settled: on disk, or, where that is sick, going on without.
struct Settled {
  engine::Sequence up_to = 0;
};

}  // namespace happening

using Happening = std::variant<happening::Notified, happening::Asked, happening::Settled>;

/// Somebody who listens. He takes what he needs and returns at once: what takes time he does elsewhere or later, with a
/// bounded queue of his own, whose excess he drops. He neither tells the engine anything nor publishes from within.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void see(const Happening& what) = 0;
};

class Publisher {
 public:
  /// `dropped`: a sentence for the log.
  using Dropped = std::function<void(const std::string& text)>;
  explicit Publisher(Dropped dropped) : dropped_(std::move(dropped)) {}

  /// Adds one who is told after all others. Requires: he outlives the publisher, or what is published.
  void add(std::string_view name, Observer& observer) { observers_.push_back({std::string(name), &observer}); }
  /// Tells everybody, in the order in which they were added. One who throws is told nothing any more.
  void publish(const Happening& what);

 private:
  struct Listener {
    std::string name;
    Observer* observer = nullptr;
  };
  Dropped dropped_;
  std::vector<Listener> observers_;
};

}  // namespace healer
