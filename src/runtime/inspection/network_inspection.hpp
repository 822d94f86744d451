// SPDX-License-Identifier: MIT
// What the kernel says of a network interface.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/events/evidence.hpp"
#include "util/time.hpp"

namespace healer::engine {
struct InterfaceSpec;
}  // namespace healer::engine

namespace healer::runtime {

/// What has gone over an interface up to a moment, as the kernel counts it.
struct InterfaceCounters {
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::uint64_t packets_in = 0;
  std::uint64_t packets_out = 0;
  std::uint64_t errors_in = 0;
  std::uint64_t errors_out = 0;

  bool operator==(const InterfaceCounters&) const = default;
};

/// Whether one of them is less than it was: then they have started over.
[[nodiscard]] bool began_anew(const InterfaceCounters& former, const InterfaceCounters& present);

struct InterfaceSample {
  Duration taken{0};
  std::uint64_t interface = 0;  ///< which one: that of another number is another, whatever its name
  InterfaceCounters counters;
  std::int64_t speed = 0;  ///< megabits a second; 0: not known
  bool both_ways = true;   ///< at the same time: full-duplex
};

struct NetworkInspection {
  engine::Answer answer = engine::Answer::Present;
  engine::Facts facts;                    ///< its link, and what that can carry
  std::string output;                     ///< Monit's words for why it is not known
  std::optional<InterfaceSample> sample;  ///< none: it is not there
  bool up = false;
};

/// Looks at an interface by its name or by an address of its own. `folder`: where the kernel shows all of them. May
/// wait for the lock of the kernel's network: not for the loop thread.
[[nodiscard]] NetworkInspection inspect_network(const engine::InterfaceSpec& which,
                                                const std::string& folder = "/sys/class/net");

/// Adds what has gone over it in a second since `former`, how much of what it can carry that is, and whether there were
/// errors. What it can carry is not always known: as to Monit, it is not full then.
void add_means(engine::Facts& facts, const InterfaceSample& former, const InterfaceSample& present);

}  // namespace healer::runtime
