// SPDX-License-Identifier: MIT
// HTTP over sockets that are connected already: libmicrohttpd, whose epoll descriptor is one more descriptor of the
// loop. It reads requests, asks for the reply, and sends that as its client reads.
//
// Costs are bounded: so many connections in all and of one address, so many bytes of headers and body, so much time
// until a request has come whole. When all connections are taken, a new one displaces the one that has waited longest
// without a request, and then the one whose request has waited longest for its reply; where each is being answered the
// new one is closed. A client that does not read is dropped. Connections from this machine have no bound of their own:
// a proxy is one address to all who come through it. Of IPv6 a whole /64 is one address: so much anybody has.
//
// On the loop thread; replies may be woken from any thread, also when the server has gone.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "runtime/descriptor.hpp"
#include "runtime/loop.hpp"
#include "util/time.hpp"
#include "web/message.hpp"

namespace healer::web {

struct HttpLimits {
  std::size_t connections = 500;  ///< a descriptor each
  std::size_t of_an_address = 50;
  std::size_t header_bytes = 32 * 1024;  ///< twice as much is kept of a connection at all
  std::size_t body_bytes = 1024 * 1024;
  Duration request = seconds{20};  ///< until it has come whole, and until the next one begins
  Duration stalled = seconds{30};  ///< that a client does not read

  /// Connections take at most an eighth of the descriptors that this process may have: most are for what is supervised.
  [[nodiscard]] static HttpLimits of_this_process();
};

/// So many connections may come of so many descriptors: an eighth, where each takes `each`; at most 500.
[[nodiscard]] std::size_t most_connections(std::size_t each);
/// By what the connections of an address are counted: of IPv6 its /64, of an IPv4 address within IPv6 that one.
[[nodiscard]] std::string network_of(const std::string& address);

class HttpServer {
 public:
  struct Impl;

  /// Where a connection comes from.
  struct From {
    std::string peer;                                        ///< its address; empty: a unix socket
    bool secure = false;                                     ///< what comes here has come by TLS
    bool local = false;                                      ///< from this machine
    bool read_only = false;                                  ///< nobody may change anything who comes this way
    std::string door{};                                      ///< Endpoint::text() of where it has come in
    std::shared_ptr<const ClientCertificate> certificate{};  ///< that its client has shown; null: none
  };
  /// Answers a request. `wake` has a Deferred or a Stream asked again, from any thread.
  using Dispatch = std::function<Reply(const Request& request, const From& from, Wake wake)>;

  /// Throws std::runtime_error where libmicrohttpd gives no server: no descriptors.
  HttpServer(runtime::Loop& loop, Dispatch dispatch, HttpLimits limits = HttpLimits::of_this_process());
  /// Closes all connections.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Serves a connected, non-blocking socket from now on. One too many is closed.
  void serve(runtime::Descriptor socket, From from);
  /// Ends the connections that come from there, also those at work. May be called while a request is answered.
  void close_if(const std::function<bool(const From&)>& matches);

  /// Whether no response is on its way but streams that do not end.
  [[nodiscard]] bool is_quiet() const;
  /// How many connections there are.
  [[nodiscard]] std::size_t connections() const;
  /// How many were closed since the start because there were too many, or they were too slow.
  [[nodiscard]] std::uint64_t dropped() const;

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace healer::web
