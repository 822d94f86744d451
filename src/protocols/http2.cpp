// SPDX-License-Identifier: MIT
// http, https with `http2`: one request, judged as in HTTP/1.
#include <spdlog/fmt/fmt.h>

#include "protocols/http2_exchange.hpp"
#include "protocols/http_talk.hpp"

namespace healer::protocols {
namespace {

class Http2 final : public HttpTalk {
 public:
  explicit Http2(const Order& order)
      : HttpTalk(order),
        exchange_(http_request(order), order.tls, {"location"}, [this](std::string_view part) { judge_.take(part); }) {}

  Want begin() override {
    if (!exchange_.begin()) return Want::unknown("HTTP/2 cannot begin on this machine");
    return Want::receive(exchange_.output());
  }

  Want receive(std::string_view bytes) override {
    if (!exchange_.receive(bytes)) return fail(exchange_.fault());
    Want want = judge();
    if (want.kind != Want::Kind::Receive || !exchange_.is_over()) return want;
    return Want::fail(exchange_.fault(), std::move(want.send) + exchange_.farewell());
  }

  Want closed() override {
    if (exchange_.has_headers() && !exchange_.is_whole())
      return fail("the server closed the connection in the middle of its content");
    return fail("the server closed the connection without an answer");
  }

  std::string_view awaited() const override { return exchange_.has_headers() ? "end of its content" : "answer"; }

 private:
  /// With the frame that says good-bye.
  Want fail(const std::string& why) { return Want::fail(why, exchange_.farewell()); }

  Want judge() override {
    if (!exchange_.fault().empty()) return fail(exchange_.fault());
    Want want = exchange_.has_headers()
                    ? judge_.judge(exchange_.status(), exchange_.is_whole(), exchange_.header("location"))
                    : Want::receive();
    if (want.kind == Want::Kind::Receive) {
      want.send = exchange_.output();
    } else if (want.kind == Want::Kind::Pass || want.kind == Want::Kind::Fail) {
      want.send = exchange_.farewell();
    }
    return want;
  }

  Http2Exchange exchange_;
};

}  // namespace

std::unique_ptr<Conversation> make_http2(const Order& order) { return std::make_unique<Http2>(order); }

}  // namespace healer::protocols
