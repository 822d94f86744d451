// SPDX-License-Identifier: MIT
// By what items are told apart in a chunk: for item_code, which writes them, and item_reading.
#pragma once

#include <cstdint>

namespace healer::readings {

/// The first byte of an item. What is published never changes; new ones are added at the end.
enum class Tag : std::uint8_t {
  Named,  ///< a service, which has the next number from here on
  Clock,  ///< another wall clock
  RanSame,
  RanOther,
  Cancelled,
  Woke,
  WokeAtWill,  ///< without a deadline
  Died,
  Launched,
  Started,
  Ready,
  Ended,
  NotSignalled,
  Ordered,
  Doubted,
  Sick,
  Begun,
  Reloaded,
  Stopping,
  Gap,
  ActionRecord,
  Answered,
  Services,  ///< of the Begun before it: which there are
  Changes,   ///< of the Reloaded before it: which have come and gone
  Text,      ///< of the Begun or Reloaded before it: the rules' text, by its number in the chunk
  Heard,
  Told,
  Count_
};

}  // namespace healer::readings
