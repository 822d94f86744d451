// SPDX-License-Identifier: MIT
// One connection of a probe to one address: connects, begins TLS where it is wanted (also in mid-conversation), lets
// the protocol's conversation speak, and bounds the whole by the plan's timeout. Reads in small pieces and only while
// the conversation listens, so a server fills no memory.
//
// Owned and called by the loop thread. It may go at any time; nothing is called then.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "protocols/conversation.hpp"
#include "protocols/probe.hpp"
#include "runtime/descriptor.hpp"
#include "runtime/loop.hpp"
#include "runtime/net/address.hpp"
#include "runtime/net/searcher.hpp"
#include "runtime/net/tls.hpp"

namespace healer::runtime {

class Connection {
 public:
  /// What came of it: the fields of the result from `verdict` to `text`, and those from `connect` to `certificate`.
  using Done = std::function<void(protocols::ProbeResult)>;

  Connection(Loop& loop, TlsContexts& contexts, Searcher& searcher, std::shared_ptr<const protocols::ProbePlan> plan,
             Done done);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Begins, to a host or to the path of the plan; `done` is called once, on the loop, never from within. In `done` the
  /// connection may be destroyed.
  void start(const Address& host, const std::optional<Address>& source);
  void start_unix();

 private:
  using Steady = std::chrono::steady_clock;
  using Phase = protocols::ProbePhase;

  void open(int family, int type);
  void connect(const sockaddr* address, socklen_t size);
  void ready(unsigned ready);
  void connected();
  void begin_tls();
  void secure(std::shared_ptr<const TlsContext> context);
  void shake_hands();
  void begin_talk();
  void act(protocols::Want want);
  void search_for(protocols::Want::Search wanted);
  void query(protocols::Want::Query wanted);
  [[nodiscard]] protocols::TlsPlan tls_plan() const;
  void read();
  void take(std::string_view bytes);
  void pump();
  void end_of_stream();
  void send(std::string_view bytes);
  void flush();
  void listen();
  void timed_out();
  void finish(protocols::ProbeVerdict verdict, std::string text);
  /// Where the machine itself cannot, later, from the loop.
  void fail_later(protocols::ProbeVerdict verdict, std::string text);
  [[nodiscard]] std::chrono::microseconds since(Steady::time_point begin) const;

  Loop& loop_;
  TlsContexts& contexts_;
  Searcher& searcher_;
  std::shared_ptr<const protocols::ProbePlan> plan_;
  Done done_;

  Descriptor socket_;
  Loop::Watch watch_;
  Loop::Timer timer_;
  unsigned interest_ = 0;
  Phase phase_ = Phase::Connect;
  std::optional<std::pair<protocols::ProbeVerdict, std::string>> late_;  // what fail_later() tells
  bool searching_ = false;
  bool waits_for_context_ = false;
  bool upgrades_ = false;  // TLS in mid-conversation
  bool ended_ = false;     // the server sends no more
  Steady::time_point begun_;
  Steady::time_point phase_begun_;
  std::unique_ptr<protocols::Conversation> conversation_;
  std::unique_ptr<TlsSession> tls_;
  std::string unsent_;
  protocols::ProbeResult result_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace healer::runtime
