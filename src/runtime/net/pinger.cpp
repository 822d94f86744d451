// SPDX-License-Identifier: MIT
#include "runtime/net/pinger.hpp"

#include <linux/filter.h>
#include <netinet/icmp6.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <optional>
#include <utility>
#include <vector>

// Of <linux/icmp.h>, which does not go together with <netinet/ip_icmp.h>.
#ifndef ICMP_FILTER
#define ICMP_FILTER 1
#endif

#include <spdlog/fmt/fmt.h>

#include "runtime/clock.hpp"
#include "runtime/random.hpp"

namespace healer::runtime {
namespace {

using Steady = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::nanoseconds;

constexpr int kBurst = 64;  // sent, and received, at a time
constexpr int kReceiveBuffer = 4 * 1024 * 1024;
constexpr std::size_t kLargestPacket = 65'536;
constexpr std::size_t kOurs = 8;          // bytes of ours in the data
constexpr std::size_t kHeader = 8;        // of an echo request
constexpr std::size_t kKeptPacket = 512;  // of what comes: more than all that is looked at
constexpr Duration kRetry{2};             // where the kernel has no room for a packet
constexpr Duration kApart{1};             // of bursts to hosts that are not near
constexpr int kMostBatches = 16;          // of answers in a turn

nanoseconds real_time() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return seconds{time.tv_sec} + nanoseconds{time.tv_nsec};
}

std::uint16_t checksum(const std::vector<std::uint8_t>& bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) sum += static_cast<std::uint32_t>(bytes[i] << 8 | bytes[i + 1]);
  if (bytes.size() % 2 != 0) sum += static_cast<std::uint32_t>(bytes.back() << 8);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

std::uint16_t get16(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint16_t>(static_cast<std::uint8_t>(bytes[at]) << 8 |
                                    static_cast<std::uint8_t>(bytes[at + 1]));
}

/// Of a raw socket: no answers to others, who ping from this machine, too. They would fill its buffer.
void take_only(int socket, bool v6, std::uint16_t id) {
  const auto statement = [](int code, std::uint32_t value) {
    return sock_filter{static_cast<std::uint16_t>(code), 0, 0, value};
  };
  const auto jump = [](std::uint32_t value, std::uint8_t yes, std::uint8_t no) {
    return sock_filter{BPF_JMP | BPF_JEQ | BPF_K, yes, no, value};
  };
  const std::uint32_t reply = v6 ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY;
  // The index register is the size of the IP header, which IPv6 sockets do not get.
  std::array<sock_filter, 7> program{
      v6 ? statement(BPF_LDX | BPF_IMM, 0) : statement(BPF_LDX | BPF_B | BPF_MSH, 0),
      statement(BPF_LD | BPF_B | BPF_IND, 0),
      jump(reply, 0, 2),
      statement(BPF_LD | BPF_H | BPF_IND, 4),
      jump(id, 0, 1),
      statement(BPF_RET | BPF_K, 0xffffffff),
      statement(BPF_RET | BPF_K, 0),
  };
  const sock_fprog whole{static_cast<unsigned short>(program.size()), program.data()};
  ::setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &whole, sizeof whole);  // without it all is looked at
}

/// Why nothing can be sent from the address. What sendmsg() says, such as that the network is unreachable, does not
/// tell whether that is due to the source or to the host.
std::optional<Error> fault_of_source(const std::optional<Address>& source) {
  if (!source) return std::nullopt;
  const Descriptor trial(::socket(source->family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return trial ? send_from(trial.get(), *source) : std::nullopt;
}

std::string_view refusal(bool v6, std::uint8_t type, std::uint8_t code) {
  if (type == (v6 ? ICMP6_TIME_EXCEEDED : ICMP_TIME_EXCEEDED)) return "too many hops (time to live exceeded)";
  if (v6)
    return code == ICMP6_DST_UNREACH_NOROUTE ? "no route to it"
           : code == ICMP6_DST_UNREACH_ADMIN ? "it is forbidden"
                                             : "host unreachable";
  switch (code) {
    case ICMP_NET_UNREACH: return "network unreachable";
    case ICMP_NET_ANO:
    case ICMP_HOST_ANO:
    case ICMP_PKT_FILTERED: return "it is forbidden";
    default: return "host unreachable";
  }
}

}  // namespace

struct Pinger::Ping {
  std::uint64_t id = 0;
  Request request;
  Done done;
  PingAnswer answer;
  std::optional<std::uint16_t> sequence;  // of the request that is under way
  Steady::time_point sent_at;
  std::optional<Error> refused;  // by the machine
  Loop::Timer timer;
};

struct Pinger::Wire {
  Descriptor socket;
  bool v6 = false;
  bool raw = false;
  std::uint16_t echo_id = 0;
  std::uint16_t next_sequence = 0;
  std::unordered_map<std::uint16_t, std::shared_ptr<Ping>> flights;  // by sequence number
  std::deque<std::weak_ptr<Ping>> queue;
  bool sending = false;  // send_queued() comes
  Loop::Timer retry;
  Loop::Watch watch;
};

Pinger::Pinger(Loop& loop) : loop_(loop), secret_(random64()) {}
Pinger::~Pinger() = default;

// ---- sockets ------------------------------------------------------------------------------------------------------

Result<Pinger::Wire*> Pinger::wire(bool v6) {
  auto& slot = wires_[v6 ? 1 : 0];
  if (slot) return slot.get();
  auto made = std::make_unique<Wire>();
  made->v6 = v6;
  const int family = v6 ? AF_INET6 : AF_INET;
  const int protocol = v6 ? static_cast<int>(IPPROTO_ICMPV6) : static_cast<int>(IPPROTO_ICMP);
  made->socket = Descriptor(::socket(family, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol));
  made->raw = static_cast<bool>(made->socket);
  if (!made->socket && (errno == EPERM || errno == EACCES))
    made->socket = Descriptor(::socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol));
  if (!made->socket) {
    if (errno == EPERM || errno == EACCES)
      return Error{errno,
                   "this user may not ping: it needs root, the capability CAP_NET_RAW, or a group within "
                   "net.ipv4.ping_group_range"};
    return system_error(errno, "cannot make a socket to ping with");
  }
  const int fd = made->socket.get();
  const int on = 1;
  if (::setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &kReceiveBuffer, sizeof kReceiveBuffer) != 0)
    ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kReceiveBuffer, sizeof kReceiveBuffer);
  ::setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
  if (made->raw && v6) {
    icmp6_filter filter{};
    ICMP6_FILTER_SETBLOCKALL(&filter);
    for (const int type : {ICMP6_ECHO_REPLY, ICMP6_DST_UNREACH, ICMP6_TIME_EXCEEDED})
      ICMP6_FILTER_SETPASS(type, &filter);
    ::setsockopt(fd, IPPROTO_ICMPV6, ICMP6_FILTER, &filter, sizeof filter);
  } else if (made->raw) {
    const std::uint32_t blocked = ~(1U << ICMP_ECHOREPLY | 1U << ICMP_DEST_UNREACH | 1U << ICMP_TIME_EXCEEDED);
    ::setsockopt(fd, SOL_RAW, ICMP_FILTER, &blocked, sizeof blocked);
  }
  made->echo_id = static_cast<std::uint16_t>(secret_ >> 32);
  made->next_sequence = static_cast<std::uint16_t>(secret_);
  if (made->raw) take_only(fd, v6, made->echo_id);
  Wire* it = made.get();
  auto watch = loop_.watch(fd, Loop::kReadable, [this, it](unsigned) { receive(*it); });
  if (!watch) return watch.error();
  made->watch = std::move(*watch);
  made->retry = loop_.timer([this, it] { send_queued(*it); });
  slot = std::move(made);
  return it;
}

/// In each request's data: nobody else can know it.
std::uint64_t Pinger::mark_of(const Ping& ping) const { return secret_ ^ (ping.id * 0x9e3779b97f4a7c15ULL); }

// ---- requests -----------------------------------------------------------------------------------------------------

std::uint64_t Pinger::ping(const Request& request, Done done) {
  const auto ping = std::make_shared<Ping>();
  ping->id = next_id_++;
  ping->request = request;
  ping->request.size = std::clamp(request.size, kOurs, kLargestPacket - 64);
  ping->request.count = std::max(request.count, 1U);
  ping->done = std::move(done);
  ping->timer = loop_.timer([this, weak = std::weak_ptr(ping)] {
    if (const auto one = weak.lock()) timed_out(one);
  });
  pings_.emplace(ping->id, ping);
  submit(ping);
  return ping->id;
}

void Pinger::cancel(std::uint64_t id) {
  const auto found = pings_.find(id);
  if (found == pings_.end()) return;
  if (Wire* wire = wires_[found->second->request.host.is_v6() ? 1 : 0].get();
      wire != nullptr && found->second->sequence)
    wire->flights.erase(*found->second->sequence);
  pings_.erase(found);
}

void Pinger::submit(const std::shared_ptr<Ping>& ping) {
  const auto got = wire(ping->request.host.is_v6());
  if (!got) {
    ping->refused = got.error();  // never told from within ping()
    return ping->timer.set_deadline(Duration{0});
  }
  Wire& wire = **got;
  wire.queue.push_back(ping);
  if (std::exchange(wire.sending, true)) return;
  wire.retry.set_deadline(Duration{0});
}

void Pinger::send_queued(Wire& wire) {
  wire.sending = false;
  const auto again = [&](Duration at) {
    wire.sending = true;
    wire.retry.set_deadline(at);
  };
  const auto end = Steady::now() + Loop::kTurnBudget;
  while (!wire.queue.empty()) {
    int sent = 0;
    for (; sent < kBurst && !wire.queue.empty(); ++sent) {
      const auto ping = wire.queue.front().lock();
      if (ping && pings_.contains(ping->id) && !send(wire, ping)) return again(mono_now() + kRetry);
      wire.queue.pop_front();
    }
    // Hosts that are near have answered already. Where most have not, no queue on the way is to run over.
    const int answers = receive(wire);
    if (wire.queue.empty()) return;
    if (answers < sent / 2) return again(mono_now() + kApart);
    if (Steady::now() >= end) return again(mono_now());
  }
}

bool Pinger::send(Wire& wire, const std::shared_ptr<Ping>& ping) {
  if (wire.flights.size() >= 0xfff0) return false;  // more sequence numbers there are not
  while (wire.flights.contains(wire.next_sequence)) ++wire.next_sequence;
  const std::uint16_t sequence = wire.next_sequence++;
  std::vector<std::uint8_t> packet(kHeader + ping->request.size, 0x5a);
  packet[0] = wire.v6 ? static_cast<std::uint8_t>(ICMP6_ECHO_REQUEST) : static_cast<std::uint8_t>(ICMP_ECHO);
  packet[1] = packet[2] = packet[3] = 0;
  packet[4] = static_cast<std::uint8_t>(wire.echo_id >> 8);
  packet[5] = static_cast<std::uint8_t>(wire.echo_id);
  packet[6] = static_cast<std::uint8_t>(sequence >> 8);
  packet[7] = static_cast<std::uint8_t>(sequence);
  const std::uint64_t mark = mark_of(*ping);
  std::memcpy(&packet[kHeader], &mark, sizeof mark);
  if (!wire.v6) {  // the kernel's, for IPv6
    const std::uint16_t sum = checksum(packet);
    packet[2] = static_cast<std::uint8_t>(sum >> 8);
    packet[3] = static_cast<std::uint8_t>(sum);
  }
  iovec data{packet.data(), packet.size()};
  msghdr message{};
  message.msg_name = const_cast<sockaddr*>(ping->request.host.get());
  message.msg_namelen = ping->request.host.size();
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(in6_pktinfo))> control{};
  if (const auto& source = ping->request.source) {
    message.msg_control = control.data();
    message.msg_controllen = wire.v6 ? CMSG_SPACE(sizeof(in6_pktinfo)) : CMSG_SPACE(sizeof(in_pktinfo));
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = wire.v6 ? IPPROTO_IPV6 : IPPROTO_IP;
    head->cmsg_type = wire.v6 ? IPV6_PKTINFO : IP_PKTINFO;
    head->cmsg_len = wire.v6 ? CMSG_LEN(sizeof(in6_pktinfo)) : CMSG_LEN(sizeof(in_pktinfo));
    if (wire.v6) {
      in6_pktinfo info{};
      info.ipi6_addr = source->v6().sin6_addr;
      std::memcpy(CMSG_DATA(head), &info, sizeof info);
    } else {
      in_pktinfo info{};
      info.ipi_spec_dst = source->v4().sin_addr;
      std::memcpy(CMSG_DATA(head), &info, sizeof info);
    }
  }
  ping->sent_at = Steady::now();
  if (::sendmsg(wire.socket.get(), &message, 0) < 0) {
    const int code = errno;
    if (code == EAGAIN || code == ENOBUFS || code == EINTR) return false;
    if (auto ours = fault_of_source(ping->request.source)) {
      finish(ping, *std::move(ours));
      return true;
    }
    ++ping->answer.sent;
    ping->answer.unreachable = system_error(code, "").what.substr(2);
    finish(ping, ping->answer);
    return true;
  }
  ++ping->answer.sent;
  ping->sequence = sequence;
  wire.flights.emplace(sequence, ping);
  ping->timer.set_deadline(mono_now() + ping->request.timeout);
  return true;
}

void Pinger::timed_out(const std::shared_ptr<Ping>& ping) {
  if (ping->refused) return finish(ping, *ping->refused);
  Wire& wire = *wires_[ping->request.host.is_v6() ? 1 : 0];
  if (ping->sequence) wire.flights.erase(*ping->sequence);
  ping->sequence.reset();
  if (ping->answer.sent >= ping->request.count) return finish(ping, ping->answer);
  submit(ping);
}

void Pinger::finish(const std::shared_ptr<Ping>& ping, Result<PingAnswer> result) {
  const std::shared_ptr<Ping> kept = ping;
  const Done done = std::move(kept->done);
  cancel(kept->id);
  if (done) done(std::move(result));
}

// ---- answers ------------------------------------------------------------------------------------------------------

int Pinger::receive(Wire& wire) {
  int all = 0;
  for (int batch = 0; batch < kMostBatches; ++batch) {
    const int got = receive_batch(wire);
    all += std::max(got, 0);
    if (got < kBurst) break;
  }
  return all;
}

int Pinger::receive_batch(Wire& wire) {
  struct Slot {
    std::array<char, kKeptPacket> data;
    alignas(cmsghdr) std::array<char, 64> control;
    sockaddr_in6 from;
    iovec vector;
  };
  static thread_local std::array<Slot, kBurst> slots;
  std::array<mmsghdr, kBurst> messages{};
  for (std::size_t i = 0; i < slots.size(); ++i) {
    slots[i].vector = {slots[i].data.data(), slots[i].data.size()};
    msghdr& head = messages[i].msg_hdr;
    head.msg_name = &slots[i].from;
    head.msg_namelen = sizeof slots[i].from;
    head.msg_iov = &slots[i].vector;
    head.msg_iovlen = 1;
    head.msg_control = slots[i].control.data();
    head.msg_controllen = slots[i].control.size();
  }
  const int got = ::recvmmsg(wire.socket.get(), messages.data(), kBurst, MSG_DONTWAIT, nullptr);
  const nanoseconds real = real_time();
  const auto steady = Steady::now();
  for (int i = 0; i < got; ++i) {
    const Slot& slot = slots[static_cast<std::size_t>(i)];
    msghdr& head = messages[static_cast<std::size_t>(i)].msg_hdr;
    nanoseconds waited{0};  // in the socket's buffer
    for (cmsghdr* one = CMSG_FIRSTHDR(&head); one != nullptr; one = CMSG_NXTHDR(&head, one)) {
      if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_TIMESTAMPNS) continue;
      timespec time{};
      std::memcpy(&time, CMSG_DATA(one), sizeof time);
      waited = std::clamp(real - (seconds{time.tv_sec} + nanoseconds{time.tv_nsec}), nanoseconds{0},
                          nanoseconds{seconds{10}});
    }
    std::string_view packet(slot.data.data(),
                            std::min<std::size_t>(messages[static_cast<std::size_t>(i)].msg_len, kKeptPacket));
    Address from;
    if (wire.v6) {
      from = Address(slot.from.sin6_addr);
    } else {
      from = Address(reinterpret_cast<const sockaddr_in&>(slot.from).sin_addr);
      if (wire.raw) {  // the IP header comes with it
        const std::size_t size = packet.empty() ? 0 : static_cast<std::size_t>(packet[0] & 0x0f) * 4;
        packet.remove_prefix(std::min(size, packet.size()));
      }
    }
    take(wire, from, packet, steady - std::chrono::duration_cast<Steady::duration>(waited));
  }
  return got;
}

void Pinger::take(Wire& wire, const Address& from, std::string_view packet, Steady::time_point at) {
  if (packet.size() < kHeader) return;
  const auto type = static_cast<std::uint8_t>(packet[0]);
  if (type != (wire.v6 ? static_cast<std::uint8_t>(ICMP6_ECHO_REPLY) : static_cast<std::uint8_t>(ICMP_ECHOREPLY)))
    return take_refusal(wire, from, packet);
  if (packet.size() < kHeader + kOurs) return;
  if (wire.raw && get16(packet, 4) != wire.echo_id) return;  // a datagram socket has its kernel's
  const auto found = wire.flights.find(get16(packet, 6));
  if (found == wire.flights.end()) return;
  const std::shared_ptr<Ping> ping = found->second;
  if (!ping->request.host.same_host(from)) return;
  const std::uint64_t mark = mark_of(*ping);
  if (std::memcmp(packet.data() + kHeader, &mark, sizeof mark) != 0) return;
  ping->answer.answered = true;
  ping->answer.round_trip = std::max(std::chrono::duration_cast<microseconds>(at - ping->sent_at), microseconds{1});
  finish(ping, ping->answer);
}

void Pinger::take_refusal(Wire& wire, const Address& from, std::string_view packet) {
  const auto type = static_cast<std::uint8_t>(packet[0]);
  const auto code = static_cast<std::uint8_t>(packet[1]);
  // What was refused follows: our IP header and the beginning of our request.
  std::string_view inner = packet.substr(kHeader);
  const std::size_t header = wire.v6 ? 40 : inner.empty() ? 0 : static_cast<std::size_t>(inner[0] & 0x0f) * 4;
  if (inner.size() < header + kHeader) return;
  in_addr v4{};
  in6_addr v6{};
  if (wire.v6) {
    std::memcpy(&v6, inner.data() + 24, sizeof v6);
  } else if (header >= 20) {
    std::memcpy(&v4, inner.data() + 16, sizeof v4);
  }
  inner.remove_prefix(header);
  if (get16(inner, 4) != wire.echo_id) return;
  const auto found = wire.flights.find(get16(inner, 6));
  if (found == wire.flights.end() || !found->second->request.host.same_host(wire.v6 ? Address(v6) : Address(v4)))
    return;
  // Told if no answer comes; anybody could have sent it, so it ends nothing.
  found->second->answer.unreachable = fmt::format("{} ({})", refusal(wire.v6, type, code), from.text());
}

}  // namespace healer::runtime
