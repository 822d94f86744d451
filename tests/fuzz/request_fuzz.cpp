// SPDX-License-Identifier: MIT
// Fuzzes what is read out of a request before anybody knows who asks: addresses, Basic authentication, cookies, tokens,
// forwarded addresses, paths. The input is lines: a method and a path, then headers, then `cookie NAME=VALUE` and
// `form NAME=VALUE`.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "web/site.hpp"

namespace {

using namespace healer;

class Doorman final : public web::PasswordChecker {
 public:
  void check(const web::AccessRules&, const web::BasicLogin& login,
             std::function<void(std::optional<engine::Role>)> done) override {
    done(login.password == "right" ? std::optional(engine::Role::Admin) : std::nullopt);
  }
};

web::Request request_of(std::string_view text) {
  web::Request request;
  bool first = true;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const auto split = [&](std::string_view of, char at) {
      const std::size_t place = of.find(at);
      return std::pair(std::string(of.substr(0, place)),
                       place == std::string_view::npos ? std::string() : std::string(of.substr(place + 1)));
    };
    if (std::exchange(first, false)) {
      const auto [method, path] = split(line, ' ');
      request.method = web::method_of(method);
      request.path = "/" + path;
    } else if (line.starts_with("cookie ")) {
      request.cookies.push_back(split(line.substr(7), '='));
    } else if (line.starts_with("form ")) {
      request.form.push_back(split(line.substr(5), '='));
    } else if (line.starts_with("peer ")) {
      request.peer = line.substr(5);
    } else {
      request.headers.push_back(split(line, ':'));
    }
  }
  return request;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Doorman doorman;
  web::Site site({.now = [] { return Instant{.mono = hours{1}}; },
                  .random = [] { return std::string("0123456789abcdef"); },
                  .refused = [](const std::string&) {},
                  .passwords = &doorman,
                  .later = [](Duration, const std::function<void()>& what) { what(); }});
  bool acted = false;
  site.add({{web::Method::Get, "/page/{name}", control::Least::ReadOnly,
             [](const web::Call& call) -> web::Reply { return web::Response{.body = call.captured.at(0)}; }},
            {web::Method::Post, "/act", control::Least::Admin, [&](const web::Call&) -> web::Reply {
               acted = true;
               return web::Response{};
             }}});
  web::SiteOptions options{.host = "this.example", .url = "https://healer.example/ops", .server = "healer"};
  options.access.users.push_back({"admin", "right"});
  options.access.names_hosts = true;
  if (const auto network = web::Network::parse(text.substr(0, text.find('\n')))) {
    options.access.networks.push_back(*network);
    (void)network->contains(text);
  }
  options.access.proxies.push_back(*web::Network::parse("10.0.0.0/8"));
  site.use(options);
  const web::Request request = request_of(text);
  web::Reply reply = site.handle(request, {}, [] {});
  if (auto* const deferred = std::get_if<std::unique_ptr<web::Deferred>>(&reply)) (void)(*deferred)->poll();
  // Nobody acts without the password.
  if (acted && !request.header("Authorization")) std::abort();
  return 0;
}
