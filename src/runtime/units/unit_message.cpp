// SPDX-License-Identifier: MIT
#include "runtime/units/unit_message.hpp"

#include <systemd/sd-bus.h>

#include <cerrno>
#include <cstdlib>
#include <limits>
#include <string_view>

namespace healer::runtime {
namespace {

constexpr std::uint64_t kNotCounted = std::numeric_limits<std::uint64_t>::max();

/// Walks the a{sv} that comes next: `take` reads the value of a name, which has that type, and returns false where it
/// has not read it.
template <typename Take>
int walk_properties(sd_bus_message* message, const Take& take) {
  int done = ::sd_bus_message_enter_container(message, 'a', "{sv}");
  while (done >= 0 && (done = ::sd_bus_message_enter_container(message, 'e', "sv")) > 0) {
    const char* name = nullptr;
    const char* type = nullptr;
    done = ::sd_bus_message_read_basic(message, 's', &name);
    if (done >= 0) done = ::sd_bus_message_peek_type(message, nullptr, &type);
    if (done < 0) return done;
    done = take(std::string_view(name), std::string_view(type != nullptr ? type : ""))
               ? 0
               : ::sd_bus_message_skip(message, "v");
    if (done >= 0) done = ::sd_bus_message_exit_container(message);
  }
  return done < 0 ? done : ::sd_bus_message_exit_container(message);
}

class Values {
 public:
  explicit Values(sd_bus_message* message) : message_(message) {}

  bool text(std::string_view type, std::string& into) const {
    const char* value = nullptr;
    if (type != "s" || ::sd_bus_message_read(message_, "v", "s", &value) < 0) return false;
    into = value;
    return true;
  }

  bool count(std::string_view type, std::optional<std::uint64_t>& into) const {
    if (type == "u") {
      std::uint32_t value = 0;
      if (::sd_bus_message_read(message_, "v", "u", &value) < 0) return false;
      into = value;
      return true;
    }
    std::uint64_t value = 0;
    if (type != "t" || ::sd_bus_message_read(message_, "v", "t", &value) < 0) return false;
    if (value != kNotCounted) into = value;
    return true;
  }

  bool job(std::string_view type, std::string& into) const {
    std::uint32_t id = 0;
    const char* path = nullptr;
    if (type != "(uo)" || ::sd_bus_message_read(message_, "v", "(uo)", &id, &path) < 0) return false;
    if (id != 0) into = path;
    return true;
  }

 private:
  sd_bus_message* message_;
};

}  // namespace

Result<UnitReading> read_properties(sd_bus_message* message) {
  UnitReading unit;
  const Values values(message);
  const int done = walk_properties(message, [&](std::string_view name, std::string_view type) {
    if (name == "LoadState") return values.text(type, unit.facts.load);
    if (name == "ActiveState") return values.text(type, unit.facts.active);
    if (name == "SubState") return values.text(type, unit.facts.sub);
    if (name == "Result") return values.text(type, unit.facts.result);
    if (name == "Id") return values.text(type, unit.id);
    if (name == "Job") return values.job(type, unit.job);
    if (name == "NRestarts") return values.count(type, unit.restarts);
    if (name == "MemoryCurrent") return values.count(type, unit.memory);
    if (name == "TasksCurrent") return values.count(type, unit.tasks);
    if (name == "CPUUsageNSec") return values.count(type, unit.nanoseconds);
    return false;
  });
  if (done < 0) return system_error(-done, "systemd's answer cannot be read");
  if (unit.facts.active.empty()) return Error{EBADMSG, "systemd's answer tells no state"};
  return unit;
}

StateChange read_change(sd_bus_message* message) {
  StateChange change;
  const char* interface = nullptr;
  if (::sd_bus_message_read_basic(message, 's', &interface) < 0) return change;
  const Values values(message);
  (void)walk_properties(message, [&](std::string_view name, std::string_view type) {
    if (name == "ActiveState") return values.text(type, change.active);
    return name == "SubState" && values.text(type, change.sub);
  });
  return change;
}

std::string path_of_unit(const std::string& unit) {
  char* path = nullptr;
  if (::sd_bus_path_encode("/org/freedesktop/systemd1/unit", unit.c_str(), &path) < 0) return {};
  std::string text(path);
  std::free(path);  // NOLINT: it is malloc's
  return text;
}

}  // namespace healer::runtime
