// SPDX-License-Identifier: MIT
#include "protocols/http2_exchange.hpp"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "protocols/http_response.hpp"
#include "protocols/quote.hpp"
#include "util/text.hpp"

namespace healer::protocols {
namespace {

constexpr std::uint32_t kWindow = 256 * 1024;

std::string_view text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

Http2Exchange& exchange_of(void* self) { return *static_cast<Http2Exchange*>(self); }

}  // namespace

/// What nghttp2 calls.
struct Http2Exchange::Callbacks {
  static int header(nghttp2_session*, const nghttp2_frame*, const std::uint8_t* name_data, std::size_t name_size,
                    const std::uint8_t* value_data, std::size_t value_size, std::uint8_t, void* self) {
    Http2Exchange& it = exchange_of(self);
    const std::string_view name = text(name_data, name_size);
    const std::string_view value = text(value_data, value_size);
    it.header_bytes_ += name.size() + value.size();
    if (it.header_bytes_ > HttpResponse::kMostHeaders) {
      it.fault_ = fmt::format("its headers are longer than {} MB", HttpResponse::kMostHeaders / 1024 / 1024);
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    if (!it.has_headers_ && name == ":status") {
      const std::string_view digits = value;
      std::from_chars(digits.data(), digits.data() + digits.size(), it.status_);
    }
    if (std::ranges::find(it.kept_, name) != it.kept_.end())
      (it.has_headers_ ? it.trailers_ : it.headers_)
          .insert_or_assign(std::string(name), std::string(value.substr(0, HttpResponse::kLongestLine)));
    return 0;
  }

  static int frame(nghttp2_session*, const nghttp2_frame* frame, void* self) {
    Http2Exchange& it = exchange_of(self);
    const bool is_ours = frame->hd.stream_id != 0;
    it.is_greeted_ = it.is_greeted_ || frame->hd.type == NGHTTP2_SETTINGS;
    it.is_refused_ = it.is_refused_ || frame->hd.type == NGHTTP2_RST_STREAM || frame->hd.type == NGHTTP2_GOAWAY;
    // Others follow an answer with a status of 1xx.
    if (is_ours && frame->hd.type == NGHTTP2_HEADERS && it.status_ >= 200) it.has_headers_ = true;
    if (is_ours && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 &&
        (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA))
      it.is_whole_ = it.has_headers_;
    if (frame->hd.type == NGHTTP2_GOAWAY && !it.has_headers_ && frame->goaway.error_code != NGHTTP2_NO_ERROR)
      it.fault_ = fmt::format("the server refused: {}", nghttp2_http2_strerror(frame->goaway.error_code));
    return 0;
  }

  static int content(nghttp2_session*, std::uint8_t, std::int32_t, const std::uint8_t* data, std::size_t size,
                     void* self) {
    exchange_of(self).content_(text(data, size));
    return 0;
  }

  static int stream_closed(nghttp2_session*, std::int32_t, std::uint32_t code, void* self) {
    Http2Exchange& it = exchange_of(self);
    if (it.is_whole_ || !it.fault_.empty()) return 0;
    if (code == NGHTTP2_NO_ERROR)
      it.fault_ = "the server ended its answer before its end";
    else if (it.is_refused_)
      it.fault_ = fmt::format("the server refused: {}", nghttp2_http2_strerror(code));
    else  // nghttp2 ended it
      it.fault_ = "it violates the HTTP/2 protocol";
    return 0;
  }

  static ssize_t body(nghttp2_session*, std::int32_t, std::uint8_t* to, std::size_t size, std::uint32_t* flags,
                      nghttp2_data_source*, void* self) {
    Http2Exchange& it = exchange_of(self);
    const std::string_view rest = std::string_view(it.request_.body).substr(it.body_sent_, size);
    std::memcpy(to, rest.data(), rest.size());
    it.body_sent_ += rest.size();
    if (it.body_sent_ == it.request_.body.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(rest.size());
  }
};

Http2Exchange::Http2Exchange(HttpRequest request, bool tls, std::vector<std::string_view> kept, Content content)
    : request_(std::move(request)),
      scheme_(tls ? "https" : "http"),
      kept_(std::move(kept)),
      content_(std::move(content)) {}

Http2Exchange::~Http2Exchange() { nghttp2_session_del(session_); }

bool Http2Exchange::begin() { return make_session() && submit(); }

bool Http2Exchange::receive(std::string_view bytes) {
  // nghttp2 does not say what it is that does not speak HTTP/2.
  constexpr std::string_view kOld = "HTTP/1.";
  if (first_.size() < kOld.size()) first_ += bytes.substr(0, kOld.size() - first_.size());
  if (first_ == kOld) {
    fault_ = "it speaks HTTP/1, not HTTP/2";
    return false;
  }
  held_ += bytes;
  if (kOld.starts_with(first_)) return true;  // not a frame's length and type either, as far as it goes: more will tell
  const std::string all = std::exchange(held_, {});
  last_ = all.substr(0, kQuoted + 1);
  const ssize_t taken =
      nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(all.data()), all.size());
  if (fault_.empty() && taken < 0)
    fault_ = fmt::format("this is not HTTP/2: {}", nghttp2_strerror(static_cast<int>(taken)));
  return fault_.empty();
}

bool Http2Exchange::is_over() {
  if (!fault_.empty()) return true;
  if (!held_.empty() || nghttp2_session_want_read(session_) != 0) return false;
  fault_ = is_greeted_ ? "it violates the HTTP/2 protocol" : "this is not HTTP/2: it said " + quote(last_);
  return true;
}

bool Http2Exchange::make_session() {
  nghttp2_session_callbacks* callbacks = nullptr;
  if (nghttp2_session_callbacks_new(&callbacks) != 0) return false;
  nghttp2_session_callbacks_set_on_header_callback(callbacks, Callbacks::header);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Callbacks::frame);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Callbacks::content);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Callbacks::stream_closed);
  const int made = nghttp2_session_client_new(&session_, callbacks, this);
  nghttp2_session_callbacks_del(callbacks);
  return made == 0;
}

bool Http2Exchange::submit() {
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
  body.read_callback = Callbacks::body;
  return nghttp2_submit_request(session_, nullptr, fields.data(), fields.size(),
                                request_.body.empty() ? nullptr : &body, nullptr) >= 0;
}

std::string Http2Exchange::output() {
  std::string bytes;
  const std::uint8_t* data = nullptr;
  for (ssize_t size = 0; (size = nghttp2_session_mem_send(session_, &data)) > 0;)
    bytes += text(data, static_cast<std::size_t>(size));
  return bytes;
}

std::string Http2Exchange::farewell() {
  nghttp2_session_terminate_session(session_, NGHTTP2_NO_ERROR);
  return output();
}

}  // namespace healer::protocols
