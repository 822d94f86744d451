// SPDX-License-Identifier: MIT
#include "runtime/net/connector.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "protocols/redirect.hpp"
#include "runtime/clock.hpp"
#include "runtime/descriptor.hpp"
#include "runtime/files/body_file.hpp"
#include "runtime/net/connection.hpp"

namespace healer::runtime {
namespace {

using protocols::Family;
using protocols::ProbePhase;
using protocols::ProbeResult;
using protocols::ProbeVerdict;
using protocols::Transport;
using Steady = std::chrono::steady_clock;
using std::chrono::microseconds;

std::size_t usual_max_open() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const auto all = static_cast<std::size_t>(std::min<rlim_t>(limit.rlim_cur, 100'000));
  return std::max<std::size_t>(all, Connector::kReserve + 64) - Connector::kReserve;
}

/// While the kernel's table of descriptors grows, a process of several threads waits for tens of milliseconds: it is
/// made large before anybody waits.
void widen_table(std::size_t descriptors) {
  const Descriptor any(::eventfd(0, EFD_CLOEXEC));
  if (any) (void)Descriptor(::fcntl(any.get(), F_DUPFD_CLOEXEC, static_cast<int>(descriptors)));
}

constexpr std::size_t kMostOfBody = std::size_t{1} << 20;

bool is_file(const protocols::Setting& setting) { return setting.word == "body" && setting.value == "file"; }

}  // namespace

struct Connector::Probe {
  std::uint64_t id = 0;
  Plan plan;
  Plan asked;  // what `plan` was before a server sent it elsewhere
  Done done;
  bool begun = false;     // counts as open
  bool starting = false;  // within probe() or the queue's turn: nothing is told yet
  Steady::time_point asked_at;
  Loop::Timer timer;  // for the name
  Resolver::Question question;
  std::optional<Address> source;
  Resolver::Addresses addresses;
  std::size_t next = 0;  // of the addresses
  unsigned attempt = 1;
  unsigned pings_sent = 0;
  unsigned pings_lost = 0;
  unsigned redirects = 0;
  Steady::time_point first_hop;  // where there are any: when it was connected to first
  std::unique_ptr<Connection> connection;
  std::uint64_t ping = 0;
  std::optional<std::chrono::microseconds> resolve;
  ProbeResult result;
};

Connector::Connector(Loop& loop, const Options& options)
    : loop_(loop),
      max_open_(options.max_open != 0 ? options.max_open : usual_max_open()),
      resolver_(loop, options.resolver),
      contexts_(loop),
      searcher_(loop, options.jq_helper),
      pinger_(loop) {
  widen_table(std::min(max_open_, usual_max_open()));
}

Connector::~Connector() = default;

std::uint64_t Connector::probe(Plan plan, Done done) {
  auto made = std::make_unique<Probe>();
  Probe& probe = *made;
  probe.id = next_id_++;
  probe.plan = probe.asked = std::move(plan);
  probe.done = std::move(done);
  probes_.emplace(probe.id, std::move(made));
  queue_.push_back(probe.id);
  begin_later();
  return queue_.back();
}

void Connector::begin_later() {
  if (beginning_ || queue_.empty() || open_ >= max_open_) return;
  beginning_ = true;
  loop_.post([this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    beginning_ = false;
    begin_some();
  });
}

void Connector::begin_some() {
  const auto until = Steady::now() + kTurnBudget;
  while (open_ < max_open_ && !queue_.empty()) {
    const auto next = probes_.find(queue_.front());
    queue_.pop_front();
    if (next == probes_.end()) continue;
    begin(*next->second);
    if (Steady::now() >= until) break;
  }
  begin_later();
}

void Connector::cancel(std::uint64_t id) {
  const auto found = probes_.find(id);
  if (found == probes_.end()) return;
  if (found->second->ping != 0) pinger_.cancel(found->second->ping);
  release(id);
}

void Connector::begin(Probe& probe) {
  probe.begun = true;
  ++open_;
  probe.starting = true;
  const auto file = std::ranges::find_if(probe.plan->settings, is_file);
  if (std::string wrong = protocols::fault(*probe.plan); !wrong.empty()) {
    probe.result.verdict = ProbeVerdict::Failed;  // as in Monit; and it will never be otherwise
    probe.result.text = std::move(wrong);
    finish(probe);
  } else if (!probe.plan->source.empty() && !(probe.source = Address::parse(probe.plan->source))) {
    probe.result.text = fmt::format("{} is not an address to send from", probe.plan->source);
    finish(probe);
  } else if (file != probe.plan->settings.end()) {
    read_body(probe, file->text);
  } else {
    set_out(probe);
  }
  probe.starting = false;
}

void Connector::read_body(Probe& probe, const std::string& path) {
  if (!files_)
    files_ = std::make_unique<WorkerPool>(
        loop_, WorkerPool::Options{.name = "healer-body", .workers = 1, .max_lost = 4, .patience = Duration{5'000}});
  probe.timer = loop_.timer([this, &probe, path] {
    probe.result.text = fmt::format("{} was not read within {}", path, format_duration(probe.plan->timeout));
    finish(probe);
  });
  probe.timer.set_deadline(mono_now() + probe.plan->timeout);
  const auto done = [this, id = probe.id](const Result<std::string>& body) {
    const auto found = probes_.find(id);
    if (found == probes_.end()) return;
    Probe& its = *found->second;
    its.timer.set_deadline(std::nullopt);
    if (!body) {
      its.result.text = body.error().what;
      return finish(its);
    }
    auto plan = std::make_shared<protocols::ProbePlan>(*its.plan);
    for (protocols::Setting& setting : plan->settings)
      if (is_file(setting)) setting.text = *body, setting.value.clear();
    its.plan = its.asked = std::move(plan);
    set_out(its);
  };
  files_->submit(
      [path, done]() -> Loop::Callback { return [done, body = read_body_file(path, kMostOfBody)] { done(body); }; },
      [done](Error error) { done(std::move(error)); });
}

void Connector::set_out(Probe& probe) {
  probe.plan->transport == Transport::Unix ? try_address(probe) : resolve(probe);
}

void Connector::resolve(Probe& probe) {
  probe.resolve.reset();
  probe.asked_at = Steady::now();
  // It may answer from within, and must not take the probe away then.
  const bool was_starting = std::exchange(probe.starting, true);
  probe.question = resolver_.resolve(probe.plan->host, probe.plan->family,
                                     [this, &probe](const auto& addresses) { resolved(probe, addresses); });
  probe.starting = was_starting;
  if (!probe.resolve) {  // no address was known at once
    probe.timer = loop_.timer([this, &probe] {
      probe.question = {};
      resolved(probe, Error{Resolver::kNoAnswer, fmt::format("cannot resolve {}: no answer within {}", probe.plan->host,
                                                             format_duration(probe.plan->timeout))});
    });
    probe.timer.set_deadline(mono_now() + probe.plan->timeout);
  }
}

/// The server's answer is at another place.
void Connector::follow(Probe& probe) {
  auto next = protocols::redirected(*probe.plan, *std::exchange(probe.result.elsewhere, std::nullopt));
  if (!next) {
    probe.result.text = next.error().what;
    return finish(probe);
  }
  const bool is_same = next->host == probe.plan->host && next->transport == probe.plan->transport;
  probe.plan = std::make_shared<const protocols::ProbePlan>(*std::move(next));
  if (++probe.redirects == 1) probe.first_hop = Steady::now() - probe.result.response.value_or(microseconds{0});
  if (is_same) return try_address(probe);
  probe.next = 0;
  probe.addresses.clear();
  resolve(probe);
}

void Connector::resolved(Probe& probe, const Result<Resolver::Addresses>& addresses) {
  probe.timer.set_deadline(std::nullopt);
  probe.resolve = std::chrono::duration_cast<std::chrono::microseconds>(Steady::now() - probe.asked_at);
  if (!addresses) {
    probe.result.verdict = lacks_resources(addresses.error()) ? ProbeVerdict::Unknown : ProbeVerdict::Failed;
    probe.result.text = addresses.error().what;
    probe.result.nameless = addresses.error().code == Resolver::kNoAnswer;
    return finish(probe);
  }
  probe.addresses = *addresses;
  if (probe.source) {
    std::erase_if(probe.addresses, [&](const Address& one) { return one.family() != probe.source->family(); });
    if (probe.addresses.empty()) {
      probe.result.verdict = ProbeVerdict::Failed;
      probe.result.text =
          fmt::format("{} has no address that {} could send to", probe.plan->host, probe.source->text());
      return finish(probe);
    }
  }
  try_address(probe);
}

void Connector::try_address(Probe& probe) {
  if (probe.plan->transport == Transport::Ping) return ping(probe);
  connect(probe);
}

void Connector::connect(Probe& probe) {
  // The old one is done, and may be what calls: the loop keeps its watch to the end of the call.
  probe.connection = std::make_unique<Connection>(
      loop_, contexts_, searcher_, probe.plan, [this, &probe](ProbeResult result) { tried(probe, std::move(result)); });
  if (probe.plan->transport == Transport::Unix) return probe.connection->start_unix();
  Address address = probe.addresses[probe.next];
  address.set_port(probe.plan->port);
  probe.connection->start(address, probe.source);
}

void Connector::ping(Probe& probe) {
  const Pinger::Request request{.host = probe.addresses[probe.next],
                                .source = probe.source,
                                .count = probe.plan->pings,
                                .size = probe.plan->ping_size,
                                .timeout = probe.plan->timeout};
  probe.ping = pinger_.ping(request, [this, &probe](const auto& answer) { pinged(probe, answer); });
}

void Connector::pinged(Probe& probe, const Result<PingAnswer>& answer) {
  probe.ping = 0;
  ProbeResult result{.phase = ProbePhase::Connect, .address = probe.addresses[probe.next].text()};
  if (!answer) {
    result.text = answer.error().what;
    result.address.clear();
    return tried(probe, std::move(result));
  }
  probe.pings_sent += answer->sent;
  probe.pings_lost += answer->sent - (answer->answered ? 1 : 0);
  if (answer->answered) {
    result.verdict = ProbeVerdict::Passed;
    result.phase = ProbePhase::Done;
    result.response = answer->round_trip;
  } else {
    result.verdict = ProbeVerdict::Failed;
    result.text = fmt::format("does not answer ({} ping{}, {} each)", answer->sent, answer->sent == 1 ? "" : "s",
                              format_duration(probe.plan->timeout));
    if (!answer->unreachable.empty()) result.text = fmt::format("cannot be reached: {}", answer->unreachable);
  }
  tried(probe, std::move(result));
}

void Connector::tried(Probe& probe, ProbeResult result) {
  probe.result = std::move(result);
  ProbeResult& last = probe.result;
  last.attempt = probe.attempt;
  last.addresses = static_cast<unsigned>(probe.addresses.size());
  if (probe.plan->transport != Transport::Unix) last.resolve = probe.resolve;
  last.pings_sent = probe.pings_sent;
  last.pings_lost = probe.pings_lost;
  last.redirects = probe.redirects;
  if (probe.redirects > 0 && last.response)  // from the first of them on
    last.response = std::chrono::duration_cast<microseconds>(Steady::now() - probe.first_hop);
  if (last.elsewhere) return follow(probe);
  const auto& wanted = probe.plan->response_time;
  if (last.verdict == ProbeVerdict::Passed && wanted && last.response &&
      !protocols::holds(wanted->op, last.response->count(), wanted->limit.count())) {
    last.verdict = ProbeVerdict::Failed;
    last.text = fmt::format("the response time is {}, not {} {}", protocols::format_latency(*last.response),
                            to_string(wanted->op), protocols::format_latency(wanted->limit));
  }
  if (last.verdict != ProbeVerdict::Failed) return finish(probe);
  if (++probe.next >= probe.addresses.size()) {
    if (probe.attempt >= probe.plan->attempts) return finish(probe);
    ++probe.attempt;
    probe.next = 0;
    if (std::exchange(probe.redirects, 0U) > 0) {
      probe.plan = probe.asked;
      probe.addresses.clear();
      return set_out(probe);
    }
  }
  try_address(probe);
}

void Connector::finish(Probe& probe) {
  if (probe.starting) {  // nothing is told from within probe()
    return loop_.post([this, alive = std::weak_ptr<bool>(alive_), id = probe.id] {
      if (alive.expired()) return;
      if (const auto found = probes_.find(id); found != probes_.end()) finish(*found->second);
    });
  }
  const Done done = std::move(probe.done);
  if (!probe.result.resolve && probe.plan->transport != Transport::Unix) probe.result.resolve = probe.resolve;
  const ProbeResult result = std::move(probe.result);
  release(probe.id);
  if (done) done(result);
}

void Connector::release(std::uint64_t id) {
  const auto found = probes_.find(id);
  if (found == probes_.end()) return;
  if (found->second->begun) --open_;
  probes_.erase(found);
  begin_later();
}

}  // namespace healer::runtime
