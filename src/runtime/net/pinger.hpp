// SPDX-License-Identifier: MIT
// Pings: one socket for all IPv4 hosts and one for all IPv6 hosts, raw where that is allowed, else ICMP's datagram
// sockets (net.ipv4.ping_group_range). An answer counts where id, sequence number, address and a number of our own in
// its data are those of a request that is under way. Thousands may be; they are sent as fast as the kernel takes them.
//
// Owned and called by the loop thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "runtime/descriptor.hpp"
#include "runtime/loop.hpp"
#include "runtime/net/address.hpp"
#include "util/result.hpp"

namespace healer::runtime {

struct PingAnswer {
  bool answered = false;
  std::chrono::microseconds round_trip{0};  ///< of the request that was answered
  unsigned sent = 0;
  std::string unreachable;  ///< what a router said instead: "host unreachable (10.0.0.1)"; empty: nothing
};

class Pinger {
 public:
  struct Request {
    Address host;
    std::optional<Address> source;
    unsigned count = 3;       ///< requests at most, one after another; the first answer ends it
    std::size_t size = 64;    ///< bytes of data, at least 8
    Duration timeout{5'000};  ///< for the answer to each
  };
  /// Errors: the machine may not ping, has no socket, or does not hold the source address.
  using Done = std::function<void(Result<PingAnswer>)>;

  explicit Pinger(Loop& loop);
  ~Pinger();
  Pinger(const Pinger&) = delete;
  Pinger& operator=(const Pinger&) = delete;

  /// `done` is called on the loop, once, never from within ping(). Returns a number for cancel().
  std::uint64_t ping(const Request& request, Done done);
  /// `done` will not be called.
  void cancel(std::uint64_t id);

  [[nodiscard]] std::size_t in_flight() const { return pings_.size(); }

 private:
  struct Ping;
  struct Wire;

  Result<Wire*> wire(bool v6);
  void submit(const std::shared_ptr<Ping>& ping);
  void send_queued(Wire& wire);
  /// Whether the kernel took it; false: it has no room now.
  bool send(Wire& wire, const std::shared_ptr<Ping>& ping);
  int receive(Wire& wire);  ///< how many packets came
  int receive_batch(Wire& wire);
  void take(Wire& wire, const Address& from, std::string_view packet, std::chrono::steady_clock::time_point at);
  void take_refusal(Wire& wire, const Address& from, std::string_view packet);
  void timed_out(const std::shared_ptr<Ping>& ping);
  void finish(const std::shared_ptr<Ping>& ping, Result<PingAnswer> result);
  [[nodiscard]] std::uint64_t mark_of(const Ping& ping) const;

  Loop& loop_;
  std::unordered_map<std::uint64_t, std::shared_ptr<Ping>> pings_;  // by id
  std::unique_ptr<Wire> wires_[2];                                  // IPv4, IPv6
  std::uint64_t next_id_ = 1;
  std::uint64_t secret_;
};

}  // namespace healer::runtime
