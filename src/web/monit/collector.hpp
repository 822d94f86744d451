// SPDX-License-Identifier: MIT
// What a collector of M/Monit is told: documents that say how all services are, with or without something that has just
// happened. As the real Monit tells it, which tests hold it to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "control/supervisor.hpp"
#include "engine/events/effect.hpp"
#include "engine/events/event.hpp"
#include "engine/ids.hpp"
#include "engine/rules/event_kind.hpp"
#include "engine/rules/settings.hpp"
#include "util/hash.hpp"
#include "util/time.hpp"
#include "web/monit/standing.hpp"

namespace healer::web::monit {

/// Where a collector is. Between `//`, a ':' and the next '@' all is taken as it is written, as by Monit.
struct CollectorUrl {
  std::string bare;  ///< without user and password: what people are shown
  std::optional<std::string> user{};
  std::string password{};  ///< secrets in it are not filled in

  /// The whole of it, for libcurl. `secret`: the password, with its secrets.
  [[nodiscard]] std::string whole(const std::string& secret) const;
};
[[nodiscard]] CollectorUrl collector_url(std::string_view url);

/// The user with whom a collector may ask back, and who may act: the first login that is an administrator's; null:
/// there is none, or it is not to be told.
[[nodiscard]] const engine::HttpdSettings::Allow* told_login(const engine::Settings& settings);

/// The headers of what is sent, but for those of HTTP itself.
[[nodiscard]] std::vector<std::string> collector_headers(MonitVersion version);

/// Something that has happened.
struct CollectorEvent {
  enum class State : std::uint8_t { Succeeded = 0, Failed = 1, Changed = 2 };
  WallTime when{};
  std::string service;
  int type = 5;  ///< of the service, a number of the XML
  engine::EventKind event = engine::EventKind::Instance;
  State state = State::Changed;
  int action = 1;  ///< what is done about it, a number of the XML
  std::string message;
};
[[nodiscard]] std::string xml_of(const CollectorEvent& event, MonitVersion version);

/// Finds what Monit would tell of what goes into the engine and comes out of it: rules that fail, recover or match;
/// what people have asked for, when it is done; starts and stops that fail; the daemon itself.
class CollectorEvents {
 public:
  /// What goes in: the commands of people.
  void note(const engine::Event& event, const Scene& scene);
  [[nodiscard]] std::vector<CollectorEvent> of(const engine::Effect& effect, const Scene& scene);

 private:
  struct Asked {
    std::string_view verb;
    std::vector<std::string> services;
  };
  [[nodiscard]] std::optional<CollectorEvent> of(const engine::Record& record, const Scene& scene);
  [[nodiscard]] std::optional<CollectorEvent> of_rule(const engine::Record& record, const Scene& scene);
  [[nodiscard]] std::optional<CollectorEvent> of_job(const engine::Record& record, const Scene& scene);

  std::map<engine::CommandId, Asked> asked_;  ///< and not answered
  std::map<std::pair<std::string, Hash128>, engine::EventKind>
      unusual_;                         ///< firings that are not of the rule's own kind
  std::set<std::string> start_failed_;  ///< services; none has succeeded since
};

/// How all services are, for a collector; made bit by bit, since there may be very many.
class CollectorDocument {
 public:
  /// Requires: `daemon` outlives it.
  CollectorDocument(const control::Supervisor& daemon, const std::vector<std::string>& host_groups);

  /// Goes on by so many services; false: it is complete.
  bool grow(std::size_t services);
  /// The document, with a login where one is given, and with what has happened. Requires: it is complete.
  [[nodiscard]] std::string text(const CollectorEvent* event,
                                 const std::optional<std::pair<std::string, std::string>>& login) const;

 private:
  const control::Supervisor& daemon_;
  MonitVersion version_;
  std::string text_;  ///< without its last tag
  std::vector<engine::ServiceId> services_;
  std::size_t next_ = 0;
  bool complete_ = false;
};

}  // namespace healer::web::monit
