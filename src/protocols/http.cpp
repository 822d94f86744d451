// SPDX-License-Identifier: MIT
// http, https: a request, and what is asked of the answer: its status (below 400 where nothing else is asked), its
// checksum, its content.
#include <algorithm>

#include <spdlog/fmt/fmt.h>

#include "protocols/digest.hpp"
#include "protocols/http_response.hpp"
#include "protocols/pattern.hpp"
#include "protocols/protocol.hpp"
#include "protocols/quote.hpp"
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

bool names_host(const Setting& setting) {
  return setting.word == "headers" && iequals(trim(setting.text.substr(0, setting.text.find(':'))), "host");
}

std::string host_of(const Order& order) {
  if (const std::string_view given = order.text("hostheader"); !given.empty()) return std::string(given);
  const bool usual = order.port == (order.tls ? 443 : 80) || order.port == 0;
  std::string host = order.host.find(':') == std::string::npos ? order.host : '[' + order.host + ']';
  if (host.empty()) host = "localhost";
  return usual ? host : fmt::format("{}:{}", host, order.port);
}

std::string request_of(const Order& order) {
  std::string path(order.text("request"));
  if (path.empty() || (path[0] != '/' && path.find("://") == std::string::npos && path != "*")) path.insert(0, "/");
  const Setting* method = order.find("method");
  std::string text =
      fmt::format("{} {} HTTP/1.1\r\n", method != nullptr && method->text == "head" ? "HEAD" : "GET", encoded(path));
  if (std::ranges::none_of(order.settings, names_host)) text += "Host: " + host_of(order) + "\r\n";
  if (order.find("username") != nullptr)
    text += fmt::format("Authorization: Basic {}\r\n",
                        base64(fmt::format("{}:{}", order.text("username"), order.text("password"))));
  text += "User-Agent: healer/" HEALER_VERSION "\r\nAccept: */*\r\nAccept-Encoding: identity\r\nConnection: close\r\n";
  for (const Setting& setting : order.settings)
    if (setting.word == "headers") text += setting.text + "\r\n";
  return text + "\r\n";
}

class Http final : public Conversation {
 public:
  explicit Http(const Order& order)
      : request_(request_of(order)),
        limit_(order.limits.http_content),
        response_(order.text("method") == "head", [this](std::string_view part) { take(part); }) {
    if (const Setting* status = order.find("status")) status_ = *status;
    if (const Setting* content = order.find("content")) content_ = *content;
    if (const std::string_view sum = order.text("checksum"); !sum.empty()) {
      checksum_ = to_lower(sum);
      digest_.emplace(checksum_.size());
    }
  }

  Want begin() override { return Want::receive(std::move(request_)); }

  Want receive(std::string_view bytes) override {
    response_.add(bytes);
    return judge();
  }

  Want closed() override {
    response_.close();
    return judge();
  }

  Want found(std::optional<std::size_t> end) override {
    if (content_->op == Operator::NotEqual && end)
      return Want::fail(fmt::format("its content matches {}", quote(content_->text)));
    if (content_->op != Operator::NotEqual && !end)
      return Want::fail(
          fmt::format("its content{} does not match {}",
                      body_.size() >= limit_ ? fmt::format(", of which {} bytes were looked at,", limit_) : "",
                      quote(content_->text)));
    content_judged_ = true;
    return judge();
  }

  std::string_view awaited() const override { return response_.has_headers() ? "end of its content" : "answer"; }

 private:
  void take(std::string_view part) {
    if (digest_) digest_->add(part);
    if (content_) body_ += part.substr(0, limit_ - std::min(limit_, body_.size()));
  }

  Want judge() {
    if (response_.state() == HttpResponse::State::Wrong) return Want::fail(response_.fault());
    if (!response_.has_headers()) return Want::receive();
    const int status = response_.status();
    if (status_ ? !holds(status_->op, status, status_->number) : status >= 400)
      return Want::fail(
          status_ ? fmt::format("its status is {}, not {} {}", status, to_string(status_->op), status_->number)
                  : fmt::format("its status is {}", status));
    const bool whole = response_.state() == HttpResponse::State::Whole;
    // What is beyond the limit is not looked at, so nobody waits for it.
    if (content_ && !content_judged_) {
      if (!whole && body_.size() < limit_) return Want::receive();
      if (body_.empty()) return Want::fail("it sent no content");  // whatever is asked of it, as in Monit
      if (const auto literal = literal_of(content_->text)) {
        const std::size_t at = body_.find(*literal);
        return found(at == std::string::npos ? std::nullopt : std::optional(at + literal->size()));
      }
      return Want::look_for(content_->text, body_);
    }
    if (digest_) {
      if (!whole) return Want::receive();
      const std::string sum = digest_->finish();
      if (sum != checksum_)
        return Want::fail(
            fmt::format("the {} checksum of its content is {}", find_checksum(checksum_.size())->name, sum));
    }
    return Want::pass(fmt::format("HTTP status {}", status));
  }

  std::string request_;
  std::size_t limit_;
  HttpResponse response_;
  std::optional<Setting> status_;
  std::optional<Setting> content_;
  bool content_judged_ = false;
  std::string checksum_;
  std::optional<Digest> digest_;
  std::string body_;  // what is looked at of it; kept only where content is asked for
};

constexpr Option kOptions[] = {
    {.word = "username"},
    {.word = "password", .type = OptionType::Secret},
    {.word = "request"},
    {.word = "method", .type = OptionType::Choice, .choices = "get|head"},
    {.word = "status", .type = OptionType::Compared},
    {.word = "checksum", .type = OptionType::Checksum},
    {.word = "headers", .type = OptionType::Headers, .repeats = true},
    {.word = "hostheader"},
    {.word = "content", .type = OptionType::Matched},
};

/// Line ends would be headers of their own, or another request.
bool has_line_end(const Setting& setting) {
  return setting.word != "content" && setting.text.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos;
}

std::string fault(std::span<const Setting> settings) {
  const auto given = [&](std::string_view word) {
    return std::ranges::find(settings, word, &Setting::word) != settings.end();
  };
  for (const Setting& setting : settings)
    if (has_line_end(setting) && setting.word != "request")
      return fmt::format("'{}' may hold no line ends", setting.word);
  const auto method = std::ranges::find(settings, std::string_view("method"), &Setting::word);
  if (method != settings.end() && method->text == "head" && (given("content") || given("checksum")))
    return "'method head' asks for no content, so there is nothing for 'content' and 'checksum' to test";
  if (given("password") && !given("username")) return "'password' needs 'username'";
  return {};
}

std::unique_ptr<Conversation> make(const Order& order) { return std::make_unique<Http>(order); }

}  // namespace

const Protocol& http() {
  static constexpr Protocol it{
      .name = "http", .title = "HTTP", .port = 80, .options = kOptions, .fault = fault, .make = make};
  return it;
}

const Protocol& https() {
  static constexpr Protocol it{.name = "https",
                               .title = "HTTPS",
                               .port = 443,
                               .tls = TlsStart::Always,
                               .options = kOptions,
                               .fault = fault,
                               .make = make};
  return it;
}

}  // namespace healer::protocols
