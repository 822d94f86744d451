// SPDX-License-Identifier: MIT
// grpc: the call Check of grpc.health.v1.Health, over HTTP/2; of a service where one is named, else of the server.
#include <algorithm>
#include <charconv>
#include <iterator>

#include <spdlog/fmt/fmt.h>

#include "protocols/http2_exchange.hpp"
#include "protocols/http_talk.hpp"
#include "protocols/options.hpp"
#include "protocols/packet_talk.hpp"
#include "protocols/protocol.hpp"
#include "protocols/quote.hpp"
#include "util/percent.hpp"

namespace healer::protocols {

const Protocol& grpc();

namespace {

constexpr std::size_t kMostBytes = 1024;  // of an answer that holds one number
constexpr std::size_t kPrefix = 5;        // of a message: whether it is compressed, and its length
constexpr std::uint64_t kServing = 1;
constexpr std::string_view kStatuses[] = {"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"};
constexpr std::string_view kCodes[] = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value > 0x7f; value >>= 7U) bytes += static_cast<char>((value & 0x7fU) | 0x80U);
  return bytes + static_cast<char>(value);
}

std::uint64_t varint(ByteReader& in) {
  constexpr unsigned kMostBits = 64;
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < kMostBits; shift += 7) {
    const std::uint64_t byte = in.byte();
    value |= (byte & 0x7fU) << shift;
    if (byte < 0x80) return value;
  }
  in.take(in.rest().size() + 1);  // no end
  return 0;
}

/// The field status of a HealthCheckResponse; nothing: that is none.
std::optional<std::uint64_t> status_of(std::string_view message) {
  enum WireType : std::uint8_t { kVarint = 0, kEightBytes = 1, kBytes = 2, kFourBytes = 5 };
  constexpr std::uint64_t kStatusField = 1;
  ByteReader in(message);
  std::uint64_t status = 0;  // of a message that does not tell
  while (in.good() && !in.rest().empty()) {
    const std::uint64_t tag = varint(in);
    switch (tag & 7U) {
      case kVarint: {
        const std::uint64_t value = varint(in);
        if (tag >> 3U == kStatusField) status = value;
        break;
      }
      case kEightBytes: in.take(8); break;
      case kFourBytes: in.take(4); break;
      case kBytes: in.take(varint(in)); break;
      default: return std::nullopt;
    }
  }
  return in.good() ? std::optional(status) : std::nullopt;
}

template <std::size_t size>
std::string name_of(const std::string_view (&names)[size], std::uint64_t number) {
  return number < size ? std::string(names[number]) : std::to_string(number);
}

HttpRequest call(const Order& order, std::string_view service) {
  Order of_server = order;
  of_server.settings = {};
  HttpRequest request{.method = "POST", .path = "/grpc.health.v1.Health/Check", .host = http_request(of_server).host};
  request.headers = {
      {"te", "trailers"}, {"content-type", "application/grpc"}, {"user-agent", "healer/" HEALER_VERSION}};
  const std::string message = service.empty() ? std::string{} : '\x0a' + varint(service.size()) + std::string(service);
  request.body = big(0, 1) + big(message.size(), 4) + message;
  return request;
}

class Grpc final : public Conversation {
 public:
  explicit Grpc(const Order& order)
      : service_(order.text("service")),
        exchange_(call(order, service_), order.tls, {"content-type", "grpc-status", "grpc-message"},
                  [this](std::string_view part) { take(part); }) {}

  Want begin() override {
    if (!exchange_.begin()) return Want::unknown("HTTP/2 cannot begin on this machine");
    return Want::receive(exchange_.output());
  }

  Want receive(std::string_view bytes) override {
    if (!exchange_.receive(bytes)) return fail(exchange_.fault());
    if (exchange_.has_headers() && !is_grpc()) return judge();
    if (content_.size() > kMostBytes) return fail("its answer is longer than a status");
    if (exchange_.has_headers() && exchange_.is_whole()) return judge();
    std::string send = exchange_.output();
    if (exchange_.is_over()) return fail(exchange_.fault(), std::move(send));
    return Want::receive(std::move(send));
  }

  Want closed() override {
    return fail(exchange_.has_headers() ? "the server closed the connection in the middle of its answer"
                                        : "the server closed the connection without an answer");
  }

  std::string_view awaited() const override {
    return exchange_.has_headers() ? "end of its answer" : "answer to Check";
  }

 private:
  /// After what there was to send.
  Want fail(const std::string& why, std::string send = {}) {
    return Want::fail(why, std::move(send) + exchange_.farewell());
  }

  void take(std::string_view part) { content_ += part.substr(0, kMostBytes + 1 - content_.size()); }

  [[nodiscard]] bool is_grpc() const { return exchange_.header("content-type").starts_with("application/grpc"); }

  Want judge() {
    const bool has_trailers = !exchange_.trailer("grpc-status").empty();
    const std::string_view code_text =
        has_trailers ? exchange_.trailer("grpc-status") : exchange_.header("grpc-status");
    if (code_text.empty()) {
      if (exchange_.status() != 200) return fail(fmt::format("its HTTP status is {}", exchange_.status()));
      if (!is_grpc()) return fail("this is not a gRPC server: it answers with HTTP alone");
      return fail("its answer tells no result of the call");
    }
    std::uint64_t code = 0;
    const char* const end = code_text.data() + code_text.size();
    if (const auto read = std::from_chars(code_text.data(), end, code); read.ec != std::errc{} || read.ptr != end)
      return fail("this is not a gRPC server: its result of the call is " + quote(code_text));
    if (code != 0) {
      const std::string_view why = has_trailers ? exchange_.trailer("grpc-message") : exchange_.header("grpc-message");
      return fail(fmt::format("its answer to Check is {} ({}){}", code, name_of(kCodes, code),
                              why.empty() ? std::string{} : ": " + quote(percent_decoded(why))));
    }
    return judge_content();
  }

  Want judge_content() {
    ByteReader in(content_);
    const bool is_compressed = in.byte() != 0;
    const bool is_one = in.big(4) == in.rest().size() && in.good();
    if (is_compressed && is_one) return fail("its answer is compressed, which it was not asked for");
    const auto status = is_one ? status_of(in.rest()) : std::nullopt;
    if (!status) return fail("this is not a gRPC server's answer to Check: it said " + quote(content_));
    const std::string text = fmt::format(
        "{} is {}", service_.empty() ? "its status" : "the status of " + quote(service_), name_of(kStatuses, *status));
    return *status == kServing ? Want::pass(text, exchange_.farewell()) : fail(text);
  }

  std::string service_;
  Http2Exchange exchange_;
  std::string content_;
};

constexpr Option kOptions[] = {{.word = "service"}};

}  // namespace

const Protocol& grpc() {
  static constexpr Protocol it{
      .name = "grpc",
      .title = "gRPC",
      .port = 50051,
      .options = kOptions,
      .within_tls = [](std::span<const Setting>) -> std::string_view { return "h2"; },
      .make = [](const Order& order) -> std::unique_ptr<Conversation> { return std::make_unique<Grpc>(order); }};
  return it;
}

}  // namespace healer::protocols
