// SPDX-License-Identifier: MIT
// The sockets on which the HTTP side is asked: TCP addresses, IPv6 too, unix sockets, and those that systemd hands
// over. Names are looked up and sockets made on a thread of its own. One that cannot be had (the port is taken, the
// address is not there yet) is tried again, and told once.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/descriptor.hpp"
#include "runtime/loop.hpp"
#include "util/time.hpp"
#include "web/server/http_server.hpp"

namespace healer::web {

/// Where it is listened on.
struct Endpoint {
  std::string address;     ///< of TCP: a name or an address; empty with `any`: all of the machine
  std::uint16_t port = 0;  ///< 0: a unix socket
  bool any = false;
  bool tls = false;
  bool read_only = false;        ///< nobody may change anything who comes this way
  std::string path;              ///< of a unix socket
  std::string owner{}, group{};  ///< names or numbers; empty: as healerd runs
  mode_t mode = 0600;
  int handed = -1;  ///< a descriptor that listens there already, and stays open; -1: none

  bool operator==(const Endpoint&) const = default;
  /// "192.0.2.1:2812", "[::1]:2812", "*:2812", a path.
  [[nodiscard]] std::string text() const;
};

class Listeners {
 public:
  /// A connection has come, by that endpoint.
  using Accepted = std::function<void(runtime::Descriptor socket, HttpServer::From from, const Endpoint& by)>;
  /// A sentence for the log: why it cannot listen there, and that it does after all.
  using Report = std::function<void(bool failed, const std::string& text)>;

  Listeners(runtime::Loop& loop, Accepted accepted, Report report);
  ~Listeners();
  Listeners(const Listeners&) = delete;
  Listeners& operator=(const Listeners&) = delete;

  /// Listens there and nowhere else from now on. What is listened on already stays.
  void listen(const std::vector<Endpoint>& endpoints);
  /// Where it cannot listen now, a sentence each.
  [[nodiscard]] std::vector<std::string> troubles() const;
  /// Why it cannot listen on that one; empty: it does, or that is being tried.
  [[nodiscard]] std::string trouble_on(const Endpoint& endpoint) const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

/// Whether an address is one of this machine's loopback: 127.0.0.0/8, ::1.
[[nodiscard]] bool is_loopback(const std::string& address);

}  // namespace healer::web
