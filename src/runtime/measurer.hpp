// SPDX-License-Identifier: MIT
// Has measured what a plan names: the one place that tells the kinds of measurement apart. Owned and called by the loop
// thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/events/measure.hpp"
#include "engine/ids.hpp"

namespace healer::engine {
struct ServiceBlock;
}  // namespace healer::engine

namespace healer::runtime {

class Inspector;
class ProcessRunner;
class Reacher;
class Units;

class Measurer {
 public:
  /// The complete environment of the program of a service (NAME=value).
  using Environment = std::function<std::vector<std::string>(const engine::ServiceBlock&)>;

  /// Requires: the others outlive it. They tell what comes of it, as event::Measured; what `inspector` answers is shown
  /// to Reacher::checked() first.
  Measurer(ProcessRunner& runs, Inspector& inspector, Reacher& connections, Units& units, Environment environment)
      : runs_(runs),
        inspector_(inspector),
        connections_(connections),
        units_(units),
        environment_(std::move(environment)) {}

  /// Measures what the plan of `block` says.
  void measure(const engine::effect::Measure& effect, const std::shared_ptr<const engine::ServiceBlock>& block);
  /// The run is not answered. Unknown ones are ignored.
  void cancel(engine::RunId run);
  /// The service is gone, or is another one now (`now`; null: gone): what is remembered of its looks goes too.
  void forget(engine::ServiceId service, const engine::ServiceBlock* now);

 private:
  ProcessRunner& runs_;
  Inspector& inspector_;
  Reacher& connections_;
  Units& units_;
  Environment environment_;
};

}  // namespace healer::runtime
