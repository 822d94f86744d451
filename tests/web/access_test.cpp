// SPDX-License-Identifier: MIT
#include "web/access.hpp"

#include <catch2/catch.hpp>

#include "web/logins.hpp"
#include "web/server/credentials.hpp"

using namespace healer;
using engine::Role;
using web::AccessRules;
using web::Network;

namespace {

bool holds(std::string_view network, std::string_view address) {
  const auto parsed = Network::parse(network);
  REQUIRE(parsed);
  return parsed->contains(address);
}

}  // namespace

TEST_CASE("A network is an address, with the bits or the mask that count", "[access]") {
  CHECK(holds("192.0.2.7", "192.0.2.7"));
  CHECK_FALSE(holds("192.0.2.7", "192.0.2.8"));
  CHECK(holds("192.0.2.0/24", "192.0.2.255"));
  CHECK_FALSE(holds("192.0.2.0/24", "192.0.3.0"));
  CHECK(holds("192.0.2.0/255.255.255.0", "192.0.2.9"));
  CHECK(holds("192.0.2.64/26", "192.0.2.100"));
  CHECK_FALSE(holds("192.0.2.64/26", "192.0.2.128"));
  CHECK(holds("0.0.0.0/0", "203.0.113.5"));
  CHECK_FALSE(holds("0.0.0.0/0", "2001:db8::1"));
  CHECK(holds("2001:db8::/32", "2001:db8:1::9"));
  CHECK_FALSE(holds("2001:db8::/32", "2001:db9::9"));
  CHECK(holds("fe80::/10", "fe80::1%eth0"));
  CHECK(holds("192.0.2.0/24", "::ffff:192.0.2.3"));
  for (const char* const text : {"", "localhost", "192.0.2.0/33", "192.0.2.0/255.0.255.0", "2001:db8::/129", "1.2.3",
                                 "192.0.2.0/", "192.0.2.0/x"})
    CHECK_FALSE(Network::parse(text));
}

TEST_CASE("Where hosts are named only they are answered", "[access]") {
  AccessRules rules;
  CHECK(rules.allows_host("203.0.113.5"));
  rules.names_hosts = true;
  CHECK_FALSE(rules.allows_host("203.0.113.5"));
  rules.networks.push_back(*Network::parse("203.0.113.0/24"));
  CHECK(rules.allows_host("203.0.113.5"));
  CHECK_FALSE(rules.allows_host("192.0.2.1"));
  CHECK_FALSE(rules.allows_host(""));
  CHECK_FALSE(AccessRules::nobody().allows_host("127.0.0.1"));
  CHECK(AccessRules::nobody().needs_login());
}

TEST_CASE("The header of Basic authentication gives name and password", "[access]") {
  const auto login = web::basic_login("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
  REQUIRE(login);
  CHECK(login->user == "Aladdin");
  CHECK(login->password == "open sesame");
  CHECK(web::basic_login("basic YTpiOmM=")->password == "b:c");
  CHECK(web::basic_login("Basic Og==")->user.empty());
  for (const char* const text :
       {"", "Basic", "Basic ", "Basic abc", "Basic !!!!", "Basic YWJj", "Basic YQA6Yg==", "Bearer YTpi", "BasicYTpi"})
    CHECK_FALSE(web::basic_login(text));
  CHECK(web::bearer_token("Bearer x.y") == "x.y");
  CHECK_FALSE(web::bearer_token("Basic x"));
}

TEST_CASE("A token is somebody's with a role", "[access]") {
  AccessRules rules;
  rules.tokens = {{"token 1", "first", Role::ReadOnly}, {"token ci", "second", Role::Operator}};
  CHECK(rules.asker_of_token("second")->role == Role::Operator);
  CHECK(rules.asker_of_token("second")->name == "token ci");
  CHECK_FALSE(rules.asker_of_token("third"));
  CHECK_FALSE(rules.asker_of_token(""));
}

TEST_CASE("Passwords as htpasswd and crypt make them", "[access]") {
  // Made by `openssl passwd -apr1` and `-1`.
  CHECK(web::is_md5_password("secret", "$apr1$rqXexS6Z$aHkKxtrJ39SjHzMujenay1"));
  CHECK(web::is_md5_password("a much longer password than sixteen bytes", "$apr1$ab$ZgbyBttfAvWjwKDroS41O1"));
  CHECK(web::is_md5_password("secret", "$1$rqXexS6Z$nsVljs6POHETq3BvIDsy80"));
  CHECK_FALSE(web::is_md5_password("wrong", "$apr1$rqXexS6Z$aHkKxtrJ39SjHzMujenay1"));
  CHECK_FALSE(web::is_md5_password("secret", "secret"));
  CHECK_FALSE(web::is_md5_password("", ""));
}

TEST_CASE("A token that leads to a login is spent once, and ends after five minutes", "[logins]") {
  web::Logins logins("key");
  const control::Asker john{.name = "john", .role = Role::Operator};
  const std::string once = logins.offer(john, "random", seconds{100});
  CHECK(logins.spend(once, seconds{101})->name == "john");
  CHECK_FALSE(logins.spend(once, seconds{102}));
  const std::string late = logins.offer(john, "other", seconds{100});
  CHECK_FALSE(logins.spend(late, seconds{100} + web::Logins::kOnce));
}

TEST_CASE("A login lasts twelve hours, or until it is ended", "[logins]") {
  web::Logins logins("key");
  const std::string cookie = logins.begin({.name = "john", .role = Role::Operator}, "random", seconds{0});
  CHECK(logins.find(cookie, hours{11})->role == Role::Operator);
  CHECK_FALSE(logins.find(cookie, web::Logins::kLasts));
  CHECK_FALSE(logins.find("other", seconds{1}));
  logins.end(cookie);
  CHECK_FALSE(logins.find(cookie, seconds{1}));
  for (int count = 0; count < 3'000; ++count)
    (void)logins.begin({.name = "john"}, std::to_string(count), seconds{count});
  CHECK_FALSE(logins.find("0", seconds{1}));
  CHECK(logins.find("2999", seconds{3'000}));
}

TEST_CASE("The token of a form is that of a user and his login", "[logins]") {
  const web::Logins logins("key"), others("another key");
  CHECK(logins.form_token("john", "").size() == 32);
  CHECK(logins.form_token("john", "c") == logins.form_token("john", "c"));
  CHECK(logins.form_token("john", "c") != logins.form_token("john", "d"));
  CHECK(logins.form_token("john", "c") != logins.form_token("johnc", ""));
  CHECK(logins.form_token("john", "c") != others.form_token("john", "c"));
}
