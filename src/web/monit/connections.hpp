// SPDX-License-Identifier: MIT
// The connections and pings that a service's rules ask for, with what came of them, as Monit tells of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/ids.hpp"
#include "util/time.hpp"
#include "web/monit/standing.hpp"

namespace healer::web::monit {

struct Connection {
  enum class Form : std::uint8_t { Ping, Port, Unix } form = Form::Port;
  std::string host;  ///< of Unix: the path
  std::uint16_t port = 0;
  std::string request;
  std::string protocol;  ///< "HTTP", "DEFAULT"
  std::string type;      ///< "TCP", "UDP"
  std::string family;    ///< "v4", "v6" or empty
  bool tls = false;
  bool tried = false;
  bool failed = false;
  std::optional<std::chrono::microseconds> response;  ///< where it did not fail
  std::optional<std::int64_t> certificate_days;       ///< how long its certificate is valid

  /// "Ping", "Ping4": its type in the XML.
  [[nodiscard]] std::string ping_type() const;
  /// Between a time, or FAILED, and its end: "127.0.0.1:80 type TCP/IP protocol HTTP".
  [[nodiscard]] std::string place() const;
};

/// Pings first, then ports, then sockets; of each form those that were written last come first, as in Monit.
[[nodiscard]] std::vector<Connection> connections_of(const Scene& scene, engine::ServiceId id);

}  // namespace healer::web::monit
