// SPDX-License-Identifier: MIT
// Who may, and whether it is really he.
#include "web/site.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

using namespace healer;
using engine::Role;
using web::Fields;
using web::Method;
using web::Response;
using web::Site;

namespace {

/// "YTpi" of "a:b".
std::string base64(const std::string& text) {
  static constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += 3) {
    const auto byte = [&](std::size_t one) -> unsigned {
      return at + one < text.size() ? static_cast<unsigned char>(text[at + one]) : 0U;
    };
    const unsigned bits = byte(0) << 16U | byte(1) << 8U | byte(2);
    for (unsigned digit = 0; digit < 4; ++digit)
      out += at + digit <= text.size() ? kDigits[bits >> (18 - 6 * digit) & 63U] : '=';
  }
  return out;
}

/// Knows one user, who is an admin; answers at once, or when it is let.
class Doorman final : public web::PasswordChecker {
 public:
  void check(const web::AccessRules&, const web::BasicLogin& login,
             std::function<void(std::optional<Role>)> done) override {
    std::optional<Role> role;
    if (login.user == "admin" && login.password == "right") role = Role::Admin;
    if (login.user == "token ci" && login.password == "right") role = Role::Admin;
    if (login.user == "guest" && login.password == "right") role = Role::ReadOnly;
    if (is_slow) return waiting.push_back([done = std::move(done), role] { done(role); });
    done(role);
  }
  bool is_slow = false;
  std::vector<std::function<void()>> waiting;
};

struct SiteWorld {
  Doorman doorman;
  Instant now{.mono = hours{1}};
  int count = 0, woken = 0;
  std::vector<std::string> refused;
  std::vector<std::pair<Duration, std::function<void()>>> later;
  std::vector<std::string> acted;  ///< by whom
  Site site{
      {.now = [this] { return now; },
       .random = [this] { return "random " + std::to_string(++count); },
       .refused = [this](const std::string& text) { refused.push_back(text); },
       .passwords = &doorman,
       .later = [this](Duration after, std::function<void()> what) { later.emplace_back(after, std::move(what)); }}};

  SiteWorld() {
    web::SiteOptions options{.host = "this.example", .url = "https://healer.example/ops", .server = "healer/1"};
    options.access.users.push_back({"admin", "right"});
    options.access.tokens = {{"token ci", "sesame", Role::Operator}};
    site.use(options);
    const auto show = [](const web::Call& call) -> web::Reply {
      return Response{.body = call.who.name + " " + call.token};
    };
    const auto act = [this](const web::Call& call) -> web::Reply {
      acted.push_back(call.who.name);
      return Response{.body = "done"};
    };
    site.add({{Method::Get, "/page", control::Least::ReadOnly, show},
              {Method::Post, "/act", control::Least::Admin, act},
              {Method::Post, "/approve", control::Least::Operator, act},
              {Method::Get, "/open", control::Least::Anybody, show}});
  }
  void without_passwords() { site.use({.host = "this.example", .url = "https://healer.example/ops"}); }

  /// None: the answer is not there yet.
  std::optional<Response> ask(const web::Request& asked, const web::Way& way = {}) {
    web::Reply reply = site.handle(asked, way, [this] { ++woken; });
    if (auto* const response = std::get_if<Response>(&reply)) return std::move(*response);
    pending = std::move(std::get<std::unique_ptr<web::Deferred>>(reply));
    return pending->poll();
  }
  Response get(const std::string& path, Fields headers) {
    request = {.path = path, .headers = std::move(headers)};
    auto response = ask(request);
    REQUIRE(response);
    return std::move(*response);
  }
  unsigned post(const std::string& path, Fields headers, Fields form = {}, Fields cookies = {},
                const web::Way& way = {}) {
    request = {.method = Method::Post,
               .path = path,
               .headers = std::move(headers),
               .cookies = std::move(cookies),
               .form = std::move(form)};
    auto response = ask(request, way);
    REQUIRE(response);
    return response->status;
  }
  web::Request request;
  std::unique_ptr<web::Deferred> pending;
};

Fields basic(const std::string& login) { return {{"Authorization", "Basic " + base64(login)}}; }
Fields with(Fields fields, const Fields& more) {
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

}  // namespace

TEST_CASE("Whoever gives no password, or a wrong one, is asked for it, whatever he asks", "[site]") {
  SiteWorld world;
  for (const char* const path : {"/page", "/act", "/nothing"}) {
    const Response response = world.get(path, {});
    CHECK(response.status == 401);
    CHECK(web::find(response.headers, "WWW-Authenticate"));
  }
  CHECK(world.get("/page", basic("admin:wrong")).status == 401);
  CHECK(world.get("/page", basic("nobody:right")).status == 401);
  CHECK(world.get("/page", {{"Authorization", "Basic nonsense"}}).status == 401);
  CHECK(world.get("/page", {{"Authorization", "Bearer wrong"}}).status == 401);
  CHECK(world.get("/page", basic("admin:right")).body.starts_with("admin "));
  CHECK(world.get("/nothing", basic("admin:right")).status == 404);
  CHECK(world.get("/act", basic("admin:right")).status == 405);
  CHECK(world.get("/open", {}).status == 200);
}

TEST_CASE("A role, and a way for reading alone, bound what may be done", "[site]") {
  SiteWorld world;
  CHECK(world.post("/act", basic("admin:right")) == 200);
  CHECK(world.post("/act", basic("guest:right")) == 403);
  CHECK(world.post("/approve", basic("guest:right")) == 403);
  CHECK(world.post("/approve", {{"Authorization", "Bearer sesame"}}) == 200);
  CHECK(world.post("/act", {{"Authorization", "Bearer sesame"}}) == 403);
  CHECK(world.post("/act", basic("admin:right"), {}, {}, {.read_only = true}) == 403);
  CHECK(world.acted == std::vector<std::string>{"admin", "token ci"});
}

TEST_CASE("What a browser sends needs the token of our own page, and an origin of our own", "[site]") {
  SiteWorld world;
  const Fields login = basic("admin:right");
  const std::string token = world.get("/page", login).body.substr(6);
  const Fields form{{"securitytoken", token}};
  const Fields own{{"Host", "this.example:2812"}, {"Origin", "http://this.example:2812"}};
  CHECK(world.post("/act", with(login, {{"Origin", "http://evil.example"}, {"Host", "this.example:2812"}}), form) ==
        403);
  CHECK(world.post("/act", with(login, {{"Origin", "null"}}), form) == 403);
  CHECK(world.post("/act", with(login, own)) == 403);
  CHECK(world.post("/act", with(login, own), {{"securitytoken", "abc"}}, {{"securitytoken", "abc"}}) == 403);
  CHECK(world.post("/act", with(login, {{"Referer", "http://this.example/"}})) == 403);
  CHECK(world.post("/act", with(login, {{"Sec-Fetch-Site", "cross-site"}})) == 403);
  CHECK(world.acted.empty());
  CHECK(world.post("/act", with(login, own), form) == 200);
  CHECK(world.post("/act", with(login, with(own, {{"X-Healer-Token", token}}))) == 200);
  CHECK(world.post("/act", with(login, {{"Origin", "https://healer.example"}, {"Host", "127.0.0.1:2812"}}), form) ==
        200);
  // The monit client makes up its own token, as cookie and field, and comes from no browser.
  CHECK(world.post("/act", login, {{"securitytoken", "abc"}}, {{"securitytoken", "abc"}}) == 200);
  // The token of another user is none.
  const std::string guest = world.get("/page", basic("guest:right")).body.substr(6);
  CHECK(world.post("/act", with(login, own), {{"securitytoken", guest}}) == 403);
}

TEST_CASE("A login by a single-use token is a cookie, whose forms have a token of their own", "[site]") {
  SiteWorld world;
  const std::string once =
      world.site.logins().offer({.name = "john", .role = Role::Operator}, "unguessable", world.now.mono);
  CHECK(world.get("/login", {}).status == 200);
  world.request = {.path = "/login", .query = {{"once", once + "\"><script>"}}};
  CHECK(world.ask(world.request)->body.find("<script>") == std::string::npos);
  world.request = {.method = Method::Post, .path = "/login", .form = {{"once", once}}, .secure = true};
  const auto entered = world.ask(world.request);
  REQUIRE(entered->status == 303);
  const std::string set{*web::find(entered->headers, "Set-Cookie")};
  for (const char* const flag : {"HttpOnly", "SameSite=Strict", "Secure", "Max-Age=43200"})
    CHECK(set.find(flag) != std::string::npos);
  CHECK(world.post("/login", {}, {{"once", once}}) == 403);
  const Fields cookie{{"healer_login", set.substr(13, set.find(';') - 13)}};
  world.request = {.path = "/page", .cookies = cookie};
  const std::string page = world.ask(world.request)->body;
  CHECK(page.starts_with("john "));
  const Fields form{{"securitytoken", page.substr(5)}};
  CHECK(world.post("/approve", {}, {}, cookie) == 403);  // a cookie alone is sent by any page
  CHECK(world.post("/approve", {}, form, cookie) == 200);
  CHECK(world.post("/act", {}, form, cookie) == 403);
  CHECK(world.post("/logout", {}, form, cookie) == 303);
  CHECK(world.post("/approve", {}, form, cookie) == 401);
}

TEST_CASE("Wrong passwords of an address are answered later and later", "[site]") {
  SiteWorld world;
  for (int tries = 0; tries < 3; ++tries) CHECK(world.get("/page", basic("admin:wrong")).status == 401);
  world.request = {.path = "/page", .headers = basic("admin:wrong"), .peer = "192.0.2.7"};
  for (int tries = 0; tries < 3; ++tries) CHECK(world.ask(world.request)->status == 401);
  CHECK_FALSE(world.ask(world.request));
  CHECK(world.later.back().first == seconds{1});
  const int before = world.woken;
  world.later.back().second();
  CHECK(world.woken == before + 1);
  CHECK(world.pending->poll()->status == 401);
  CHECK_FALSE(world.ask(world.request));
  CHECK(world.later.back().first == seconds{2});
  // Others go on as before, and so does he who knows it.
  web::Request other = world.request;
  other.peer = "192.0.2.8";
  CHECK(world.ask(other)->status == 401);
  world.request.headers = basic("admin:right");
  CHECK(world.ask(world.request)->status == 200);
  world.request.headers = basic("admin:wrong");
  CHECK(world.ask(world.request)->status == 401);
}

TEST_CASE("The log names who was refused, made safe, and counts no more than once a minute", "[site]") {
  SiteWorld world;
  const auto fail = [&](const std::string& login, const std::string& peer) {
    world.request = {.path = "/page", .headers = basic(login), .peer = peer};
    CHECK(world.ask(world.request)->status == 401);
  };
  fail("ad\nmin:wrong", "192.0.2.7");
  REQUIRE(world.refused.size() == 1);
  CHECK(world.refused.front() == "a wrong password, or an unknown user, over HTTP from 192.0.2.7, as \"ad\\nmin\"");
  fail("bob:wrong", "192.0.2.8");
  fail(std::string(1'000, 'x') + ":wrong", "192.0.2.9");
  world.request = {.path = "/page", .headers = {{"Authorization", "Bearer wrong"}}, .peer = "192.0.2.10"};
  CHECK(world.ask(world.request)->status == 401);
  CHECK(world.refused.size() == 1);
  REQUIRE(world.later.size() == 1);  // as nobody waits for a penalty
  CHECK(world.later.back().first == minutes{1});
  world.now.mono += minutes{1};
  world.later.back().second();
  REQUIRE(world.refused.size() == 2);
  CHECK(
      world.refused.back() ==
      "3 more wrong passwords, or unknown users, over HTTP in the last minute; the last from 192.0.2.10, with a token");
  fail("bob:wrong", "192.0.2.11");
  CHECK(world.refused.size() == 2);
  world.now.mono += minutes{1};
  world.later.back().second();
  CHECK(world.refused.back().starts_with("1 more wrong password, or unknown users, over HTTP in the last minute; "));
}

TEST_CASE("A user who is named like a token is not mistaken for it", "[site]") {
  SiteWorld world;
  world.request = {.path = "/page", .headers = basic("token ci:right")};
  const std::string of_user = world.ask(world.request)->body;
  world.request = {.path = "/page", .headers = {{"Authorization", "Bearer sesame"}}};
  const std::string of_token = world.ask(world.request)->body;
  CHECK(of_token.starts_with("token ci "));
  CHECK(of_user.starts_with("user \"token ci\" "));
  CHECK(of_user.substr(of_user.rfind(' ')) != of_token.substr(of_token.rfind(' ')));
}

TEST_CASE("What the server cannot take is refused as the API refuses", "[site]") {
  SiteWorld world;
  for (const auto& [path, type] :
       {std::pair("/api/v1/services", "application/problem+json"), {"/page", "text/plain"}}) {
    world.request = {.path = path, .unfit = web::Unfit{413, "The body is too large"}};
    const Response response = *world.ask(world.request);
    CHECK(response.status == 413);
    CHECK(response.type.starts_with(type));
    CHECK(response.body.find("The body is too large") != std::string::npos);
    CHECK(web::find(response.headers, "X-Content-Type-Options") == "nosniff");
  }
}

TEST_CASE("Behind a trusted proxy it is the client that waits, not the proxy", "[site]") {
  SiteWorld world;
  web::SiteOptions options;
  options.access.users.push_back({"admin", "right"});
  options.access.proxies.push_back(*web::Network::parse("127.0.0.1"));
  options.access.names_hosts = true;
  options.access.networks.push_back(*web::Network::parse("203.0.113.0/24"));
  world.site.use(options);
  const auto from = [&](const std::string& forwarded, const std::string& peer = "127.0.0.1") {
    world.request = {
        .path = "/page", .headers = with(basic("admin:wrong"), {{"X-Forwarded-For", forwarded}}), .peer = peer};
    return world.ask(world.request);
  };
  for (int tries = 0; tries < 3; ++tries) CHECK(from("203.0.113.7")->status == 401);
  CHECK_FALSE(from("203.0.113.7"));
  CHECK(from("203.0.113.8")->status == 401);
  CHECK_FALSE(from("198.51.100.1, 203.0.113.7"));  // what stands before is what the client itself says
  CHECK(from("198.51.100.1")->status == 403);
  // What is no address is nobody's, and of several lines the last counts.
  for (const char* const text : {"", "203.0.113.9,", "203.0.113.9, ,", "203.0.113.9, nonsense", "203.0.113.0/24"})
    CHECK(from(text)->status == 403);
  world.request = {
      .path = "/page",
      .headers = with(basic("admin:wrong"), {{"X-Forwarded-For", "203.0.113.9"}, {"x-forwarded-for", "198.51.100.1"}}),
      .peer = "127.0.0.1"};
  CHECK(world.ask(world.request)->status == 403);
  CHECK(from("203.0.113.9", "198.51.100.1")->status == 403);  // no proxy of ours
}

TEST_CASE("Who is let in no more gets nothing from a password that is being checked, nor by a login", "[site]") {
  SiteWorld world;
  const std::string once =
      world.site.logins().offer({.name = "john", .role = Role::Operator}, "unguessable", world.now.mono);
  world.doorman.is_slow = true;
  world.request = {.method = Method::Post, .path = "/login", .form = {{"user", "admin"}, {"password", "right"}}};
  CHECK_FALSE(world.ask(world.request));
  world.site.use({.access = web::AccessRules::nobody()});
  world.doorman.waiting.front()();
  CHECK(world.pending->poll()->status == 403);
  world.request = {.method = Method::Post, .path = "/login", .form = {{"once", once}}};
  CHECK(world.ask(world.request)->status == 403);
  for (const char* const peer : {"", "127.0.0.1"}) {
    const web::Request page{.path = "/page", .peer = peer};
    CHECK(world.ask(page)->status == (page.peer.empty() ? 401 : 403));
  }
}

TEST_CASE("A password that takes time is waited for", "[site]") {
  SiteWorld world;
  world.doorman.is_slow = true;
  world.request = {.path = "/page", .headers = basic("admin:right")};
  CHECK_FALSE(world.ask(world.request));
  CHECK_FALSE(world.pending->poll());
  world.doorman.waiting.front()();
  CHECK(world.woken == 1);
  CHECK(world.pending->poll()->body.starts_with("admin "));
}

TEST_CASE("Without passwords only our own names are answered, lest another's name lead here", "[site]") {
  SiteWorld world;
  world.without_passwords();
  for (const char* const host :
       {"", "localhost:2812", "127.0.0.1:2812", "[::1]:2812", "this.example", "healer.example"})
    CHECK(world.get("/page", {{"Host", host}}).status == 200);
  CHECK(world.get("/page", {{"Host", "evil.example"}}).status == 421);
}

TEST_CASE("Each response forbids what no page of ours needs", "[site]") {
  SiteWorld world;
  const Response response = world.get("/page", basic("admin:right"));
  CHECK(web::find(response.headers, "Server") == "healer/1");
  CHECK(web::find(response.headers, "X-Content-Type-Options") == "nosniff");
  CHECK(web::find(response.headers, "X-Frame-Options") == "SAMEORIGIN");
  CHECK(web::find(response.headers, "Content-Security-Policy")->find("frame-ancestors 'self'") != std::string::npos);
  CHECK(web::find(response.headers, "Cache-Control") == "no-store");
  world.without_passwords();
  CHECK_FALSE(web::find(world.get("/page", {}).headers, "Server"));
}
