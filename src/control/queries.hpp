// SPDX-License-Identifier: MIT
// What may be asked of a daemon, as typed values: pages of services, one of them, what is under way, healings, which
// part of the history, statistics. Whoever answers people or programs writes lines, JSON or pages of these. Nothing is
// changed, and nobody's role is looked at, here. On the thread that owns the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "control/supervisor.hpp"
#include "control/views.hpp"
#include "control/wire.hpp"
#include "engine/ids.hpp"
#include "store/store.hpp"
#include "util/time.hpp"

namespace healer::control {

/// The longest time that a person may name: a longer one might be beyond what a clock can say.
inline constexpr Duration kLongestAsked = days{36'500};

/// Which services: those to which all of it applies. What is empty applies to each.
struct ServiceFilter {
  std::vector<std::string> states;  ///< as in ServiceSummary
  std::vector<std::string> groups;  ///< in any case
  std::vector<std::string> kinds;   ///< "process", ...
  std::string text;                 ///< a part of the name, in any case
  bool down = false;                ///< only those that people must see to

  bool operator==(const ServiceFilter&) const = default;
};

enum class ServiceOrder : std::uint8_t {
  Rules,  ///< of the files
  Name,   ///< in any case
  State   ///< the worst first, then by name
};

struct ServicesAsked {
  ServiceFilter filter{};
  ServiceOrder order = ServiceOrder::Rules;
  std::string cursor{};  ///< `next` of the page before; empty: from the beginning
  std::size_t limit = 100;
};

/// A page of services. Between two pages the rules may be reloaded, and states change: who is there all the time, and
/// stays in its place, is on one of them.
struct ServicesPage {
  std::vector<engine::ServiceId> services;
  std::string next;  ///< empty: these were the last
  Totals totals;     ///< of all services that there are
};

/// Which part of the history. A name is that of a service, a target, a group, or `healer`: the daemon itself.
struct HistoryAsked {
  std::string name{};               ///< empty: all of it
  bool is_group = false;            ///< the name is that of a group, be there a service that is called so
  std::optional<Duration> since{};  ///< how far back
  engine::RecordNumber after = 0;   ///< only those with a higher number
  engine::RecordNumber before = 0;  ///< only those with a lower number; 0: whichever
  bool oldest_first = false;        ///< the oldest that many, else the newest; they come with the newest last
  std::uint32_t limit = 0;          ///< 0: as many as are usual
};

class Queries {
 public:
  /// Requires: `daemon` outlives it.
  explicit Queries(const Supervisor& daemon) : daemon_(daemon) {}

  /// The daemon, and what it has done since it started.
  [[nodiscard]] DaemonView daemon() const;
  /// The same for a stranger: nothing of what it supervises.
  [[nodiscard]] DaemonView daemon_for_strangers() const;

  [[nodiscard]] ServicesPage services(const ServicesAsked& asked) const;
  /// Whether it may be one of services(): with any other text these begin at the beginning.
  [[nodiscard]] static bool is_cursor(std::string_view text);
  /// Whether there is (still) a service in that slot.
  [[nodiscard]] bool exists(engine::ServiceId service) const;
  /// Its state, as in ServiceSummary. These require: it exists.
  [[nodiscard]] std::string_view state(engine::ServiceId service) const;
  [[nodiscard]] ServiceName name(engine::ServiceId service) const;
  [[nodiscard]] ServiceSummary summary(engine::ServiceId service) const;
  [[nodiscard]] std::vector<ServiceStatus> statuses(std::span<const engine::ServiceId> services) const;
  /// With the last firings of its rules, where `firings`, oldest first, have them.
  [[nodiscard]] ServiceExplanation explanation(engine::ServiceId service,
                                               std::span<const engine::Record> firings) const;
  /// The records that explanation() wants.
  [[nodiscard]] store::HistoryQuery firings(engine::ServiceId service) const;

  /// What is under way.
  [[nodiscard]] std::vector<JobView> jobs() const { return view_jobs(daemon_.engine(), daemon_.now()); }
  [[nodiscard]] std::optional<JobView> job(std::uint64_t id) const;
  /// At most `limit` healings that are under way or wait, in the order of their numbers, after that number.
  [[nodiscard]] std::vector<HealingView> healings(engine::HealingId after, std::size_t limit) const;
  [[nodiscard]] std::optional<HealingView> healing(engine::HealingId id) const;
  /// What holds healings back.
  [[nodiscard]] HealingHolds holds() const;
  /// What has come of each workflow.
  [[nodiscard]] std::vector<WorkflowReport> workflows() const;

  /// The query by which the store finds that part of the history.
  [[nodiscard]] store::HistoryQuery history(const HistoryAsked& asked) const;

 private:
  const Supervisor& daemon_;
};

}  // namespace healer::control
