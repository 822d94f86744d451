// SPDX-License-Identifier: MIT
// One request in HTTP/2, by nghttp2 on memory: over TLS where the server agrees to it (ALPN), else with prior
// knowledge.
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include <spdlog/fmt/fmt.h>

#include "protocols/http_response.hpp"
#include "protocols/http_talk.hpp"
#include "protocols/quote.hpp"
#include "util/text.hpp"

namespace healer::protocols {
namespace {

constexpr std::uint32_t kWindow = 256 * 1024;

class Http2 final : public HttpTalk {
 public:
  explicit Http2(const Order& order)
      : HttpTalk(order), request_(http_request(order)), scheme_(order.tls ? "https" : "http") {}
  ~Http2() override { nghttp2_session_del(session_); }

  Want begin() override {
    if (!make_session() || !submit()) return Want::unknown("HTTP/2 cannot begin on this machine");
    return Want::receive(output());
  }

  Want receive(std::string_view bytes) override {
    // nghttp2 does not say what it is that does not speak HTTP/2.
    constexpr std::string_view kOld = "HTTP/1.";
    if (first_.size() < kOld.size()) first_ += bytes.substr(0, kOld.size() - first_.size());
    if (first_ == kOld) return fail("it speaks HTTP/1, not HTTP/2");
    if (kOld.starts_with(first_)) {
      // Not a frame's length and type either, as far as it goes: more will tell.
      held_ += bytes;
      return Want::receive();
    }
    held_ += bytes;
    const std::string all = std::exchange(held_, {});
    const ssize_t taken =
        nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(all.data()), all.size());
    if (!fault_.empty()) return fail(fault_);
    if (taken < 0) return fail(fmt::format("this is not HTTP/2: {}", nghttp2_strerror(static_cast<int>(taken))));
    Want want = judge();
    if (want.kind != Want::Kind::Receive) return want;
    // Where nothing is left to be said or heard, what was said last was that it is over.
    if (nghttp2_session_want_read(session_) == 0)
      return fail(is_greeted_ ? "it violates the HTTP/2 protocol" : "this is not HTTP/2: it said " + quote(all));
    return want;
  }

  Want closed() override {
    if (has_headers_ && !is_whole_) return fail("the server closed the connection in the middle of its content");
    return fail("the server closed the connection without an answer");
  }

  std::string_view awaited() const override { return has_headers_ ? "end of its content" : "answer"; }

 private:
  bool make_session() {
    nghttp2_session_callbacks* callbacks = nullptr;
    if (nghttp2_session_callbacks_new(&callbacks) != 0) return false;
    nghttp2_session_callbacks_set_on_header_callback(
        callbacks, [](nghttp2_session*, const nghttp2_frame*, const std::uint8_t* name, std::size_t name_size,
                      const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* self) {
          return static_cast<Http2*>(self)->header({reinterpret_cast<const char*>(name), name_size},
                                                   {reinterpret_cast<const char*>(value), value_size});
        });
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks,
                                                         [](nghttp2_session*, const nghttp2_frame* frame, void* self) {
                                                           static_cast<Http2*>(self)->frame(*frame);
                                                           return 0;
                                                         });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        callbacks,
        [](nghttp2_session*, std::uint8_t, std::int32_t, const std::uint8_t* data, std::size_t size, void* self) {
          static_cast<Http2*>(self)->judge_.take({reinterpret_cast<const char*>(data), size});
          return 0;
        });
    nghttp2_session_callbacks_set_on_stream_close_callback(
        callbacks, [](nghttp2_session*, std::int32_t, std::uint32_t code, void* self) {
          static_cast<Http2*>(self)->stream_closed(code);
          return 0;
        });
    const int made = nghttp2_session_client_new(&session_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    return made == 0;
  }

  bool submit() {
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kWindow},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<std::uint32_t>(HttpResponse::kMostHeaders)}};
    if (nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings)) != 0) return false;
    std::vector<std::pair<std::string, std::string>> headers{
        {":method", request_.method}, {":scheme", scheme_}, {":authority", request_.host}, {":path", request_.path}};
    for (auto& [name, value] : request_.headers) headers.emplace_back(to_lower(name), std::move(value));
    std::vector<nghttp2_nv> fields;
    for (auto& [name, value] : headers)
      fields.push_back({reinterpret_cast<std::uint8_t*>(name.data()), reinterpret_cast<std::uint8_t*>(value.data()),
                        name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
    nghttp2_data_provider body{};
    body.read_callback = [](nghttp2_session*, std::int32_t, std::uint8_t* to, std::size_t size, std::uint32_t* flags,
                            nghttp2_data_source*, void* its) -> ssize_t {
      auto* self = static_cast<Http2*>(its);
      const std::string_view rest = std::string_view(self->request_.body).substr(self->body_sent_, size);
      std::memcpy(to, rest.data(), rest.size());
      self->body_sent_ += rest.size();
      if (self->body_sent_ == self->request_.body.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
      return static_cast<ssize_t>(rest.size());
    };
    return nghttp2_submit_request(session_, nullptr, fields.data(), fields.size(),
                                  request_.body.empty() ? nullptr : &body, nullptr) >= 0;
  }

  std::string output() {
    std::string bytes;
    const std::uint8_t* data = nullptr;
    for (ssize_t size = 0; (size = nghttp2_session_mem_send(session_, &data)) > 0;)
      bytes.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
    return bytes;
  }

  /// With the frame that says good-bye.
  Want fail(const std::string& why) { return Want::fail(why, farewell()); }
  std::string farewell() {
    nghttp2_session_terminate_session(session_, NGHTTP2_NO_ERROR);
    return output();
  }

  int header(std::string_view name, std::string_view value) {
    header_bytes_ += name.size() + value.size();
    if (header_bytes_ > HttpResponse::kMostHeaders) {
      fault_ = fmt::format("its headers are longer than {} MB", HttpResponse::kMostHeaders / 1024 / 1024);
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    if (has_headers_) return 0;  // those behind the content
    if (name == ":status") std::from_chars(value.data(), value.data() + value.size(), status_);
    if (name == "location") location_ = value.substr(0, HttpResponse::kLongestLine);
    return 0;
  }

  void frame(const nghttp2_frame& frame) {
    const bool is_ours = frame.hd.stream_id != 0;
    is_greeted_ = is_greeted_ || frame.hd.type == NGHTTP2_SETTINGS;
    // Others follow an answer with a status of 1xx.
    if (is_ours && frame.hd.type == NGHTTP2_HEADERS && status_ >= 200) has_headers_ = true;
    if (is_ours && (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 &&
        (frame.hd.type == NGHTTP2_HEADERS || frame.hd.type == NGHTTP2_DATA))
      is_whole_ = has_headers_;
    if (frame.hd.type == NGHTTP2_GOAWAY && !has_headers_ && frame.goaway.error_code != NGHTTP2_NO_ERROR)
      fault_ = fmt::format("the server refused: {}", nghttp2_http2_strerror(frame.goaway.error_code));
  }

  void stream_closed(std::uint32_t code) {
    if (is_whole_ || !fault_.empty()) return;
    fault_ = code == NGHTTP2_NO_ERROR ? "the server ended its answer before its end"
                                      : fmt::format("the server refused: {}", nghttp2_http2_strerror(code));
  }

  Want judge() override {
    if (!fault_.empty()) return fail(fault_);
    Want want = has_headers_ ? judge_.judge(status_, is_whole_, location_) : Want::receive();
    if (want.kind == Want::Kind::Receive) {
      want.send = output();
    } else if (want.kind == Want::Kind::Pass || want.kind == Want::Kind::Fail) {
      want.send = farewell();
    }
    return want;
  }

  HttpRequest request_;
  std::string scheme_;
  nghttp2_session* session_ = nullptr;
  std::string first_;  // bytes, as far as they tell what the server speaks
  std::string held_;
  std::string fault_;
  std::string location_;
  int status_ = 0;
  std::size_t header_bytes_ = 0;
  std::size_t body_sent_ = 0;
  bool is_greeted_ = false;
  bool has_headers_ = false;
  bool is_whole_ = false;
};

}  // namespace

std::unique_ptr<Conversation> make_http2(const Order& order) { return std::make_unique<Http2>(order); }

}  // namespace healer::protocols
