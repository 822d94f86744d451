// SPDX-License-Identifier: MIT
// Where a browser finds the HTTP side.
#include "web/browser_address.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <variant>
#include <vector>

using namespace healer;
using engine::HttpdSettings;

namespace {

HttpdSettings listening(std::vector<std::string> addresses = {}, bool tls = false) {
  return {.port = 2812,
          .addresses = std::move(addresses),
          .tls = tls,
          .allow = {{.kind = HttpdSettings::Allow::Kind::Login, .who = "admin", .password = "right"}}};
}

std::string found(const HttpdSettings& httpd, const std::string& url = {}) {
  const auto address = web::browser_address(httpd, url);
  if (const auto* const failure = std::get_if<control::Failure>(&address))
    return failure->code + ": " + failure->message + " | " + failure->remedy;
  return std::get<std::string>(address);
}

}  // namespace

TEST_CASE("A browser finds the address that is listened on, or that `set url` tells", "[web][open]") {
  CHECK(found(listening()) == "http://127.0.0.1:2812");
  CHECK(found(listening({}, true)) == "https://localhost:2812");
  CHECK(found(listening({"192.0.2.7", "192.0.2.8"})) == "http://192.0.2.7:2812");
  CHECK(found(listening({"2001:db8::1"}, true)) == "https://[2001:db8::1]:2812");
  CHECK(found(listening({"0.0.0.0"})) == "http://127.0.0.1:2812");
  CHECK(found(listening({"::"})) == "http://[::1]:2812");
  CHECK(found(listening(), "https://ops.example/healer/") == "https://ops.example/healer");
  HttpdSettings behind = listening();
  behind.port.reset();
  behind.unix_socket = "/run/http.sock";
  CHECK(found(behind, "https://ops.example/healer") == "https://ops.example/healer");
}

TEST_CASE("Where there is no address for a browser it is said why, and what helps", "[web][open]") {
  CHECK_THAT(found({}, "https://ops.example"), Catch::Contains("'set httpd' allows nobody | say whom"));
  const auto none = web::browser_address(std::nullopt, "https://ops.example");
  REQUIRE(std::holds_alternative<control::Failure>(none));
  CHECK(std::get<control::Failure>(none).message == "nothing is answered over HTTP: the rules have no 'set httpd'");
  HttpdSettings deaf = listening();
  deaf.port.reset();
  for (const std::string url : {"", "https://ops.example"})
    CHECK_THAT(found(deaf, url), Catch::StartsWith("no-http: nothing is answered over HTTP") &&
                                     Catch::Contains("neither a port nor a unix socket | give it a port"));
  HttpdSettings socket = listening();
  socket.port.reset();
  socket.unix_socket = "/run/http.sock";
  CHECK_THAT(found(socket),
             Catch::Contains("does not reach the unix socket /run/http.sock") && Catch::Contains("give it a port"));
}
