// SPDX-License-Identifier: MIT
// http, https: a request, and what is asked of the answer: its status (below 400 where nothing else is asked), its
// checksum, its content, its JSON. In HTTP/1, or in HTTP/2 where that is asked for (http2.cpp).
#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "protocols/digest.hpp"
#include "protocols/http_response.hpp"
#include "protocols/http_talk.hpp"
#include "protocols/protocol.hpp"
#include "util/text.hpp"

namespace healer::protocols {

const Protocol& http();
const Protocol& https();

namespace {

/// What may not stand in a request line, percent-encoded; a path as people write it.
std::string encoded(std::string_view path) {
  std::string text;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= ' ' || byte >= 0x7f || c == '"' || c == '<' || c == '>') {
      text += fmt::format("%{:02X}", byte);
    } else {
      text += c;
    }
  }
  return text;
}

std::string host_of(const Order& order) {
  if (const std::string_view given = order.text("hostheader"); !given.empty()) return std::string(given);
  const bool usual = order.port == (order.tls ? 443 : 80) || order.port == 0;
  std::string host = order.host.find(':') == std::string::npos ? order.host : '[' + order.host + ']';
  if (host.empty()) host = "localhost";
  return usual ? host : fmt::format("{}:{}", host, order.port);
}

std::string method_of(const Order& order) {
  if (const std::string_view method = order.text("method"); !method.empty()) {
    std::string name(method);
    std::ranges::transform(name, name.begin(),
                           [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    return name;
  }
  return order.find("body") != nullptr ? "POST" : "GET";
}

std::string text_of(const HttpRequest& request) {
  std::string text = fmt::format("{} {} HTTP/1.1\r\n", request.method, request.path);
  if (!request.host.empty()) text += "Host: " + request.host + "\r\n";
  for (const auto& [name, value] : request.headers) text += fmt::format("{}: {}\r\n", name, value);
  return text + "Connection: close\r\n\r\n" + request.body;
}

class Http final : public HttpTalk {
 public:
  explicit Http(const Order& order)
      : HttpTalk(order),
        request_(text_of(http_request(order))),
        response_(order.text("method") == "head", [this](std::string_view part) { judge_.take(part); }) {}

  Want begin() override { return Want::receive(std::move(request_)); }

  Want receive(std::string_view bytes) override {
    if (rest_.empty()) return take(bytes);
    rest_ += bytes;
    return judge();
  }

  Want closed() override {
    response_.close();
    return judge();
  }

  std::string_view awaited() const override { return response_.has_headers() ? "end of its content" : "answer"; }

 private:
  Want judge() override { return take(std::exchange(rest_, {})); }

  /// Goes on to a verdict, or to what must be known before the rest counts.
  Want take(std::string_view bytes) {
    while (true) {
      response_.add(bytes);
      Want want = verdict();
      if (want.kind == Want::Kind::Receive && !bytes.empty()) continue;
      rest_ = bytes;
      return want;
    }
  }

  Want verdict() {
    if (response_.state() == HttpResponse::State::Wrong) return Want::fail(response_.fault());
    if (!response_.has_headers()) return Want::receive();
    return judge_.judge(response_.status(), response_.state() == HttpResponse::State::Whole, response_.location());
  }

  std::string rest_;  // that is looked at when what was asked is answered
  std::string request_;
  HttpResponse response_;
};

constexpr Option kOptions[] = {
    {.word = "username"},
    {.word = "password", .type = OptionType::Secret},
    {.word = "request"},
    {.word = "method", .type = OptionType::Choice, .choices = "get|head|post|put|patch|delete"},
    {.word = "status", .type = OptionType::Compared},
    {.word = "checksum", .type = OptionType::Checksum},
    {.word = "headers", .type = OptionType::Headers, .repeats = true},
    {.word = "hostheader"},
    {.word = "content", .type = OptionType::Matched},
    {.word = "json", .type = OptionType::Json, .repeats = true},
    {.word = "body", .type = OptionType::Body},
    {.word = "redirects", .type = OptionType::Number},
    {.word = "http2", .type = OptionType::Flag},
};

/// Line ends would be headers of their own, or another request.
bool has_line_end(const Setting& setting) {
  return setting.word != "content" && setting.word != "json" && setting.word != "body" &&
         setting.text.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos;
}

std::string fault(std::span<const Setting> settings) {
  const auto given = [&](std::string_view word) {
    return std::ranges::find(settings, word, &Setting::word) != settings.end();
  };
  for (const Setting& setting : settings)
    if (has_line_end(setting) && setting.word != "request")
      return fmt::format("'{}' may hold no line ends", setting.word);
  const auto method = std::ranges::find(settings, std::string_view("method"), &Setting::word);
  if (method != settings.end() && method->text == "head" && (given("content") || given("checksum") || given("json")))
    return "'method head' asks for no content, so there is nothing for 'content', 'checksum' and 'json' to test";
  if (method != settings.end() && (method->text == "head" || method->text == "get") && given("body"))
    return fmt::format("'method {}' sends no body", method->text);
  if (given("password") && !given("username")) return "'password' needs 'username'";
  return {};
}

bool is_http2(std::span<const Setting> settings) {
  return std::ranges::find(settings, std::string_view("http2"), &Setting::word) != settings.end();
}

std::string_view within_tls(std::span<const Setting> settings) { return is_http2(settings) ? "h2" : ""; }

std::unique_ptr<Conversation> make(const Order& order) {
  if (is_http2(order.settings)) return make_http2(order);
  return std::make_unique<Http>(order);
}

}  // namespace

HttpRequest http_request(const Order& order) {
  HttpRequest request{.method = method_of(order), .path = std::string(order.text("request")), .host = host_of(order)};
  std::string& path = request.path;
  if (path.empty() || (path[0] != '/' && path.find("://") == std::string::npos && path != "*")) path.insert(0, "/");
  path = encoded(path);
  if (order.find("username") != nullptr)
    request.headers.emplace_back(
        "Authorization", "Basic " + base64(fmt::format("{}:{}", order.text("username"), order.text("password"))));
  request.headers.emplace_back("User-Agent", "healer/" HEALER_VERSION);
  request.headers.emplace_back("Accept", "*/*");
  request.headers.emplace_back("Accept-Encoding", "identity");
  bool has_type = false;
  for (const Setting& setting : order.settings) {
    if (setting.word != "headers") continue;
    const std::size_t colon = std::min(setting.text.find(':'), setting.text.size());
    const std::string name(trim(std::string_view(setting.text).substr(0, colon)));
    const std::string value(trim(std::string_view(setting.text).substr(std::min(colon + 1, setting.text.size()))));
    has_type = has_type || iequals(name, "content-type");
    if (iequals(name, "host")) {
      request.host = value;
    } else {
      request.headers.emplace_back(name, value);
    }
  }
  if (order.find("body") == nullptr) return request;
  request.body = order.text("body");
  if (!has_type) request.headers.emplace_back("Content-Type", "application/json");
  request.headers.emplace_back("Content-Length", std::to_string(request.body.size()));
  return request;
}

const Protocol& http() {
  static constexpr Protocol it{.name = "http",
                               .title = "HTTP",
                               .port = 80,
                               .options = kOptions,
                               .fault = fault,
                               .within_tls = within_tls,
                               .make = make};
  return it;
}

const Protocol& https() {
  static constexpr Protocol it{.name = "https",
                               .title = "HTTPS",
                               .port = 443,
                               .tls = TlsStart::Always,
                               .options = kOptions,
                               .fault = fault,
                               .within_tls = within_tls,
                               .make = make};
  return it;
}

}  // namespace healer::protocols
