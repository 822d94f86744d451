// SPDX-License-Identifier: MIT
#include "runtime/units/units.hpp"

#include <utility>

#include <spdlog/fmt/fmt.h>

namespace healer::runtime {

Units::Units(Loop& loop, SystemBus::Options options, const Sink& sink, Report report)
    : report_(std::move(report)),
      bus_(loop, std::move(options), *this),
      reader_(loop, bus_, sink),
      jobs_(loop, bus_, sink) {}

void Units::forget(engine::ServiceId service) {
  reader_.forget(service);
  if (!reader_.is_idle() || !jobs_.is_idle()) return;
  bus_.close();
  was_lost_ = false;
}

bool Units::end(engine::ActionId action) {
  if (!jobs_.has(action)) return false;
  jobs_.end(action);
  return true;
}

void Units::connected() {
  if (std::exchange(was_lost_, false)) report_(true, "systemd answers again");
  jobs_.connected();
}

void Units::lost(const std::string& why) {
  was_lost_ = true;
  report_(false, fmt::format("units cannot be checked until systemd answers: {}", why));
  jobs_.lost(why);
}

}  // namespace healer::runtime
