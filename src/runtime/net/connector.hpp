// SPDX-License-Identifier: MIT
// Does what a ProbePlan says: learns the addresses, tries them in their order until one passes (an address fails also
// where its protocol does, as in Monit), all of that again as often as the plan allows, or pings them. All probes run
// side by side on the loop; they are begun in turns of the loop, a few milliseconds at a time, and when there are more
// than descriptors the rest waits in a queue.
//
// Owned and called by the loop thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>

#include "protocols/probe.hpp"
#include "runtime/loop.hpp"
#include "runtime/net/pinger.hpp"
#include "runtime/net/resolver.hpp"
#include "runtime/net/searcher.hpp"
#include "runtime/net/tls.hpp"
#include "runtime/worker_pool.hpp"

namespace healer::runtime {

class Connector {
 public:
  struct Options {
    std::size_t max_open = 0;  ///< connections at a time; 0: what the limit of descriptors leaves after kReserve
    Resolver::Options resolver;
    std::string jq_helper = "/proc/self/exe";  ///< see JqHelper: a program that knows what to do then
  };
  static constexpr std::chrono::milliseconds kTurnBudget{2};  ///< for beginning probes
  static constexpr std::size_t kReserve = 512;                ///< descriptors for everything else
  using Plan = std::shared_ptr<const protocols::ProbePlan>;
  using Done = std::function<void(const protocols::ProbeResult&)>;

  explicit Connector(Loop& loop) : Connector(loop, Options{}) {}
  Connector(Loop& loop, const Options& options);
  ~Connector();
  Connector(const Connector&) = delete;
  Connector& operator=(const Connector&) = delete;

  /// `done` is called on the loop, once, never from within probe(). Returns a number for cancel().
  std::uint64_t probe(Plan plan, Done done);
  /// Ends a probe whose result nobody wants any more; `done` will not be called.
  void cancel(std::uint64_t id);

  /// Probes that are under way, those included that wait.
  [[nodiscard]] std::size_t in_flight() const { return probes_.size(); }
  [[nodiscard]] std::size_t waiting() const { return queue_.size(); }

 private:
  struct Probe;

  void begin_later();
  void begin_some();
  void begin(Probe& probe);
  void read_body(Probe& probe, const std::string& path);
  void set_out(Probe& probe);
  void resolve(Probe& probe);
  void follow(Probe& probe);
  void resolved(Probe& probe, const Result<Resolver::Addresses>& addresses);
  void try_address(Probe& probe);
  void connect(Probe& probe);
  void ping(Probe& probe);
  void pinged(Probe& probe, const Result<PingAnswer>& answer);
  void tried(Probe& probe, protocols::ProbeResult result);
  void finish(Probe& probe);
  void release(std::uint64_t id);

  Loop& loop_;
  std::size_t max_open_;
  Resolver resolver_;
  TlsContexts contexts_;
  Searcher searcher_;
  Pinger pinger_;
  std::unique_ptr<WorkerPool> files_;  // reads what is to be sent; made when it is first asked
  std::unordered_map<std::uint64_t, std::unique_ptr<Probe>> probes_;
  std::deque<std::uint64_t> queue_;
  std::size_t open_ = 0;
  bool beginning_ = false;  // begin_some() has its turn soon
  std::uint64_t next_id_ = 1;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace healer::runtime
