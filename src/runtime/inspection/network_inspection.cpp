// SPDX-License-Identifier: MIT
#include "runtime/inspection/network_inspection.hpp"

#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <spdlog/fmt/fmt.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <string_view>

#include "engine/rules/service.hpp"
#include "runtime/clock.hpp"
#include "runtime/descriptor.hpp"
#include "runtime/net/address.hpp"
#include "util/result.hpp"
#include "util/text.hpp"

namespace healer::runtime {
namespace {

using engine::Answer;
using engine::Attribute;
using engine::Metric;

/// Its words are Monit's.
Error cannot_read(const std::string& path, int code) {
  return {.code = code, .what = fmt::format("Cannot read {} -- {}", path, std::strerror(code))};
}

Result<std::string> read_line(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return cannot_read(path, errno);
  std::array<char, 128> text{};
  const ssize_t length = ::read(file.get(), text.data(), text.size());
  if (length < 0) return cannot_read(path, errno);
  return std::string(trim(std::string_view(text.data(), static_cast<std::size_t>(length))));
}

template <typename Number>
std::optional<Number> number_of(const Result<std::string>& text) {
  if (!text) return std::nullopt;
  Number number{};
  const auto [end, failure] = std::from_chars(text->data(), text->data() + text->size(), number);
  return failure == std::errc{} && end == text->data() + text->size() ? std::optional(number) : std::nullopt;
}

/// Whether an interface's address is this one, on this link where that is said ("fe80::1%eth0").
bool is_same(const Address& wanted, const sockaddr& kept) {
  if (kept.sa_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, &kept, sizeof four);
    return wanted.same_host(Address(four.sin_addr));
  }
  if (kept.sa_family != AF_INET6 || !wanted.is_v6()) return false;
  sockaddr_in6 six{};
  std::memcpy(&six, &kept, sizeof six);
  const std::uint32_t scope = wanted.v6().sin6_scope_id;
  return wanted.same_host(Address(six.sin6_addr)) && (scope == 0 || scope == six.sin6_scope_id);
}

/// The interface that has an address; empty: none has it.
Result<std::string> interface_with(const std::string& text) {
  const std::optional<Address> wanted = Address::parse(text);
  if (!wanted) return std::string();
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return system_error(errno, "cannot list the addresses of this machine");
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> all(list, &::freeifaddrs);
  for (const ifaddrs* one = all.get(); one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || !is_same(*wanted, *one->ifa_addr)) continue;
    const std::string_view name = one->ifa_name;
    return std::string(name.substr(0, name.find(':')));  // an address may have a label of its own, as in eth0:1
  }
  return std::string();
}

/// Whether it may be the name of an interface, and so of a folder.
bool is_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos;
}

/// What is on a link that is not up has nowhere to go either ("lowerlayerdown"), nor has one whose device has been
/// taken out. What a driver does not tell ("unknown"), as that of a loopback, is up.
bool is_down(std::string_view state) { return state == "down" || state == "lowerlayerdown" || state == "notpresent"; }

NetworkInspection not_there(const std::string& why) {
  return {.answer = Answer::Absent, .output = "link data collection failed -- " + why};
}

}  // namespace

bool began_anew(const InterfaceCounters& former, const InterfaceCounters& present) {
  return present.bytes_in < former.bytes_in || present.bytes_out < former.bytes_out ||
         present.packets_in < former.packets_in || present.packets_out < former.packets_out;
}

NetworkInspection inspect_network(const engine::InterfaceSpec& which, const std::string& folder) {
  const auto unknown = [](const Error& error) {
    return NetworkInspection{.answer = Answer::Unknown, .output = error.what};
  };
  std::string name = which.name;
  if (name.empty()) {
    auto found = interface_with(which.address);
    if (!found) return unknown(found.error());
    if (found->empty()) return not_there(fmt::format("Address {} not found", printable(which.address)));
    name = std::move(*found);
  }
  if (!is_name(name)) return not_there(fmt::format("'{}' is not the name of an interface", printable(name)));
  const std::string base = fmt::format("{}/{}/", folder, name);
  const auto state = read_line(base + "operstate");
  if (!state) {
    // Where the kernel shows no interface at all, it is not known that this one is gone.
    const bool is_gone = state.error().code == ENOENT || state.error().code == ENODEV || state.error().code == ENOTDIR;
    if (!is_gone || ::access(folder.c_str(), X_OK) != 0) return unknown(state.error());
    return not_there(printable(state.error().what));
  }
  NetworkInspection inspection;
  InterfaceSample sample{.taken = mono_now()};
  // A number that cannot be read is not known to be 0: then nothing is said of what went over the interface.
  bool is_whole = true;
  const auto read = [&](const std::string& file) {
    const auto number = number_of<std::uint64_t>(read_line(base + file));
    is_whole = is_whole && number.has_value();
    return number.value_or(0);
  };
  const auto count = [&](std::string_view counter) { return read(fmt::format("statistics/{}", counter)); };
  sample.interface = read("ifindex");
  sample.counters = {.bytes_in = count("rx_bytes"),
                     .bytes_out = count("tx_bytes"),
                     .packets_in = count("rx_packets"),
                     .packets_out = count("tx_packets"),
                     .errors_in = count("rx_errors"),
                     .errors_out = count("tx_errors")};
  inspection.up = !is_down(*state);
  auto& attributes = inspection.facts.attributes.edit();
  attributes.emplace_back(Attribute::Link, std::string(inspection.up ? "up" : "down"));
  // Drivers that know no speed say so by an error, or by a number below 0.
  const auto speed = number_of<std::int64_t>(read_line(base + "speed"));
  const auto mode = read_line(base + "duplex");
  if (speed && *speed > 0 && inspection.up) {
    sample.speed = *speed;
    sample.both_ways = !mode || *mode != "half";
    attributes.emplace_back(Attribute::LinkSpeed, *speed);
    attributes.emplace_back(Attribute::LinkMode, std::string(sample.both_ways ? "full" : "half"));
  }
  if (is_whole) inspection.sample = sample;
  return inspection;
}

void add_means(engine::Facts& facts, const InterfaceSample& former, const InterfaceSample& present) {
  const double elapsed = static_cast<double>((present.taken - former.taken).count()) / 1000;
  if (elapsed <= 0 || began_anew(former.counters, present.counters)) return;
  const auto mean = [&](std::uint64_t InterfaceCounters::*counter) {
    const std::uint64_t before = former.counters.*counter;
    return static_cast<double>(present.counters.*counter - std::min(before, present.counters.*counter)) / elapsed;
  };
  const double in = mean(&InterfaceCounters::bytes_in);
  const double out = mean(&InterfaceCounters::bytes_out);
  facts.metrics.set(Metric::DownloadRate, in);
  facts.metrics.set(Metric::UploadRate, out);
  facts.metrics.set(Metric::DownloadPackets, mean(&InterfaceCounters::packets_in));
  facts.metrics.set(Metric::UploadPackets, mean(&InterfaceCounters::packets_out));
  const auto share = [&](double bytes) {
    constexpr double kBits = 8;
    constexpr double kMega = 1e6;
    return present.speed > 0 ? 100 * bytes * kBits / (kMega * static_cast<double>(present.speed)) : 0;
  };
  if (present.both_ways) {
    facts.metrics.set(Metric::UploadSaturation, share(out));
    facts.metrics.set(Metric::DownloadSaturation, share(in));
  } else {
    facts.metrics.set(Metric::Saturation, share(in + out));
  }
  // As in Monit less than one in a second is none: some come over any wire.
  const double errors_out = mean(&InterfaceCounters::errors_out);
  const double errors_in = mean(&InterfaceCounters::errors_in);
  if (errors_out >= 1)
    facts.attributes.edit().emplace_back(Attribute::LinkErrors,
                                         fmt::format("{:.0f} upload errors detected", errors_out));
  else if (errors_in >= 1)
    facts.attributes.edit().emplace_back(Attribute::LinkErrors,
                                         fmt::format("{:.0f} download errors detected", errors_in));
}

}  // namespace healer::runtime
