// SPDX-License-Identifier: MIT
#include "conversations.hpp"
#include "protocols/redirect.hpp"

namespace http_test {

using namespace healer::test;

namespace {

std::string response(const std::string& status, const std::string& body = "hello world\n",
                     const std::string& headers = "") {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + headers + "\r\n" + body;
}

std::string verdict(const std::vector<Setting>& settings, const std::string& answer) {
  return talk("http", settings, {answer}).verdict;
}

Setting status(Operator op, int number) { return {.word = "status", .op = op, .number = number}; }
Setting content(std::string pattern, Operator op = Operator::Equal) {
  return {.word = "content", .op = op, .text = std::move(pattern)};
}
Setting checksum(std::string sum) { return {.word = "checksum", .text = std::move(sum)}; }

}  // namespace

TEST_CASE("the request is what is asked for", "[protocols][http]") {
  const std::string about_us = "User-Agent: healer/" HEALER_VERSION "\r\nAccept: */*\r\nAccept-Encoding: identity\r\n";
  const std::string rest = about_us + "Connection: close\r\n";
  CHECK(talk("http", {}, {}).sent == "GET / HTTP/1.1\r\nHost: shop.example\r\n" + rest + "\r\n");
  const Setting x{.word = "headers", .text = "X-A: b c"};
  const Setting host{.word = "headers", .text = "host: foo.bar"};
  CHECK(talk("http",
             {{.word = "username", .text = "u"},
              {.word = "password", .text = "p"},
              {.word = "request", .text = "/a b?q=1&x\xc3\xa4"},
              {.word = "method", .text = "head"},
              host,
              x},
             {})
            .sent == "HEAD /a%20b?q=1&x%C3%A4 HTTP/1.1\r\nHost: foo.bar\r\nAuthorization: Basic dTpw\r\n" + about_us +
                         "X-A: b c\r\nConnection: close\r\n\r\n");
  CHECK(talk("http", {{.word = "hostheader", .text = "a.b"}, {.word = "request", .text = "x/y"}}, {}).sent ==
        "GET /x/y HTTP/1.1\r\nHost: a.b\r\n" + rest + "\r\n");
  const Order v6{.host = "::1", .port = 8080, .limits = {}};
  Talk server;
  const auto conversation = find_protocol("http")->make(v6);
  (void)server.play(*conversation, {});
  CHECK(server.sent.starts_with("GET / HTTP/1.1\r\nHost: [::1]:8080\r\n"));
}

TEST_CASE("what is sent is JSON, by POST, unless something else is said", "[protocols][http]") {
  const Setting body{.word = "body", .text = "{\"a\":1}"};
  const std::string plain = talk("http", {body}, {}).sent;
  CHECK(plain.starts_with("POST / HTTP/1.1\r\n"));
  CHECK(plain.find("Content-Type: application/json\r\nContent-Length: 7\r\n") != std::string::npos);
  CHECK(plain.ends_with("\r\n\r\n{\"a\":1}"));
  const std::string put =
      talk("http", {{.word = "method", .text = "put"}, {.word = "headers", .text = "content-type: text/x"}, body}, {})
          .sent;
  CHECK(put.starts_with("PUT / HTTP/1.1\r\n"));
  CHECK(put.find("application/json") == std::string::npos);
  const Protocol& http = *find_protocol("http");
  CHECK(http.fault(std::vector<Setting>{{.word = "method", .text = "get"}, body}) == "'method get' sends no body");
}

TEST_CASE("tests of JSON", "[protocols][http]") {
  const auto json = [](std::string filter, Operator op, std::string value) {
    return Setting{.word = "json", .op = op, .text = std::move(filter), .value = std::move(value)};
  };
  const std::string answer = response("200 OK", R"({"state":"up","n":5,"list":[1,2]})");
  CHECK(verdict({json(".state", Operator::Equal, "\"up\"")}, answer) == "pass: HTTP status 200");
  CHECK(verdict({json(".state", Operator::NotEqual, "\"up\"")}, answer) ==
        "fail: json \".state\" is \"up\", not != \"up\"");
  CHECK(verdict({json(".n", Operator::Greater, "4"), json(".list[]", Operator::Equal, "1")}, answer) ==
        "pass: HTTP status 200");
  CHECK(verdict({json(".n", Operator::Greater, "4"), json(".n", Operator::Less, "5")}, answer) ==
        "fail: json \".n\" is 5, not < 5");
  CHECK(verdict({json(".n", Operator::Equal, "\"5\"")}, answer) == "pass: HTTP status 200");
  CHECK(verdict({json(".state", Operator::Less, "5")}, answer) ==
        "unknown: json \".state\" is \"up\", which cannot be compared with 5");
  CHECK(
      verdict({json(".list.x", Operator::Equal, "1")}, answer).starts_with("unknown: json \".list.x\" is not known: "));
  CHECK(verdict({json("empty", Operator::Equal, "1")}, answer) ==
        "unknown: json \"empty\" is not known: the filter finds no value");
  CHECK(verdict({json(".", Operator::Equal, "1")}, response("200 OK", "<html>")) ==
        "unknown: json \".\" is not known: this is not JSON");
  CHECK(verdict({json(".", Operator::Equal, "1")}, response("500 Oops", "1")) == "fail: its status is 500");
  const Conversed large = talk("http", {json(".", Operator::Equal, "1")}, {response("200 OK", std::string(100, '1'))},
                               true, {.http_content = 64});
  CHECK(large.verdict == "unknown: its content has more than 64 bytes: its JSON is not read");
}

TEST_CASE("redirects are followed where that is asked for", "[protocols][http]") {
  const std::string there = response("302 Found", "", "Location: /there\r\n");
  CHECK(verdict({}, there) == "pass: HTTP status 302");
  CHECK(verdict({{.word = "redirects", .number = 1}}, there) == "elsewhere: /there");
  CHECK(verdict({{.word = "redirects", .number = 0}}, there) == "fail: its status is 302: it redirects once more");
  CHECK(verdict({{.word = "redirects", .number = 1}}, response("301 X", "")) ==
        "fail: its status is 301, but it does not say where to");
  CHECK(verdict({{.word = "redirects", .number = 1}}, response("304 X", "")) == "pass: HTTP status 304");
}

TEST_CASE("where a redirect leads to", "[protocols][http]") {
  ProbePlan plan{.host = "shop", .port = 8080, .protocol = find_protocol("http")};
  plan.settings = {{.word = "request", .text = "/a/b?c"},
                   {.word = "username", .text = "u"},
                   {.word = "password", .text = "p"},
                   {.word = "redirects", .number = 3},
                   {.word = "headers", .text = "Cookie: secret"},
                   {.word = "content", .text = "x"}};
  const auto lead = [&](const std::string& url, bool keeps_method = true) -> std::string {
    const auto next = redirected(plan, {url, keeps_method});
    if (!next) return next.error().what;
    std::string text = std::string(next->protocol->name) + " " + next->host + " " + std::to_string(next->port);
    for (const Setting& one : next->settings)
      text += " " + std::string(one.word) + "=" + (one.text.empty() ? std::to_string(one.number) : one.text);
    return text;
  };
  const std::string ours = " username=u password=p redirects=2 headers=Cookie: secret content=x request=";
  const std::string others = " redirects=2 content=x request=";
  CHECK(lead("/x") == "http shop 8080" + ours + "/x");
  CHECK(lead("x?y#z") == "http shop 8080" + ours + "/a/x?y");
  CHECK(lead("?y") == "http shop 8080" + ours + "/a/b?y");
  CHECK(lead("http://SHOP:8080") == "http SHOP 8080" + ours + "/");
  CHECK(lead("http://shop/x") == "http shop 80" + others + "/x");
  CHECK(lead("https://shop:8080/x") == "https shop 8080" + others + "/x");
  CHECK(lead("//other/x") == "http other 80" + others + "/x");
  CHECK(lead("HTTPS://a:b@[::1]:444/x") == "https ::1 444" + others + "/x");
  for (const auto* bad :
       {"ftp://x/", "http://", "http://a b/", "http://x:0/", "http://x:99999/", "http://[::1/", "//\n/"})
    CHECK(lead(bad).ends_with("which is not a URL"));
  plan.tls.emplace();
  CHECK(lead("http://shop:8080/") == "it redirects out of TLS, to \"http://shop:8080/\"");
  plan.settings = {
      {.word = "body", .text = "b"}, {.word = "method", .text = "put"}, {.word = "redirects", .number = 1}};
  CHECK(lead("/x") == "https shop 8080 body=b method=put redirects=0 request=/x");
  CHECK(lead("/x", false) == "https shop 8080 redirects=0 request=/x");
  CHECK(lead("https://other/x") == "it redirects what is sent to another place: \"https://other/x\"");
}

TEST_CASE("a status below 400 will do unless another is asked for", "[protocols][http]") {
  CHECK(verdict({}, response("200 OK")) == "pass: HTTP status 200");
  CHECK(verdict({}, response("301 Moved")) == "pass: HTTP status 301");
  CHECK(verdict({}, response("399 X")) == "pass: HTTP status 399");
  CHECK(verdict({}, response("404 Not Found")) == "fail: its status is 404");
  CHECK(verdict({status(Operator::Equal, 404)}, response("404 Not Found")) == "pass: HTTP status 404");
  CHECK(verdict({status(Operator::Less, 300)}, response("301 X")) == "fail: its status is 301, not < 300");
  CHECK(verdict({status(Operator::NotEqual, 500)}, response("404 X")) == "pass: HTTP status 404");
  CHECK(verdict({content("hello")}, response("404 X")) == "fail: its status is 404");
  CHECK(verdict({content("hello"), status(Operator::Equal, 404)}, response("404 X")) == "pass: HTTP status 404");
  CHECK(verdict({}, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + response("500 X")) ==
        "fail: its status is 500");
}

TEST_CASE("answers that are not quite by the book are understood", "[protocols][http]") {
  CHECK(verdict({}, "HTTP/1.0 200 OK\r\n\r\nbody") == "pass: HTTP status 200");
  CHECK(verdict({}, "HTTP/1.1 200 OK\nContent-Length: 2\n\nok") == "pass: HTTP status 200");
  CHECK(verdict({}, "HTTP/1.1 200\r\n\r\n") == "pass: HTTP status 200");
  CHECK(verdict({}, "http/1.1 200 OK\r\n\r\n") == "pass: HTTP status 200");
  CHECK(verdict({}, "HTTP/1.1 200 OK\r\nX: " + std::string(20'000, 'a') + "\r\n\r\n") == "pass: HTTP status 200");
}

TEST_CASE("nonsense is no HTTP", "[protocols][http]") {
  CHECK(verdict({}, "hello\r\n") == "fail: this is not an HTTP server: it said \"hello\"");
  CHECK(verdict({}, "HTTP/1.1 20 OK\r\n\r\n") == "fail: this is not an HTTP server: it said \"HTTP/1.1 20 OK\"");
  CHECK(verdict({}, "HTTP/1.1\r\n\r\n") == "fail: this is not an HTTP server: it said \"HTTP/1.1\"");
  CHECK(talk("http", {}, {"SSH-2.0-endless" + std::string(100, 'x')}, false).verdict ==
        "fail: this is not an HTTP server: it said \"SSH-2.0-endless" + std::string(65, 'x') + "...\"");
  CHECK(verdict({}, "SSH-2.0-x") == "fail: this is not an HTTP server: it said \"SSH-2.0-x\"");
  CHECK(verdict({}, "") == "fail: the server closed the connection without an answer");
  CHECK(verdict({}, "HTTP/1.1 200 OK\r\nX: a\r\n") ==
        "fail: the server closed the connection in the middle of its headers");
  CHECK(talk("http", {}, {"HTTP/1.1 200 OK\r\nX: a\r\n"}, false).verdict == "waits for its answer");
}

TEST_CASE("content is looked at as one text", "[protocols][http]") {
  CHECK(verdict({content("a.bcd")}, response("200 OK", "a\nbcd\ne\n")) == "pass: HTTP status 200");
  CHECK(verdict({content("^b.d$")}, response("200 OK", "a\nbcd\ne\n")) == "fail: its content does not match \"^b.d$\"");
  CHECK(verdict({content("HELLO")}, response("200 OK")) == "fail: its content does not match \"HELLO\"");
  CHECK(verdict({content("zzz", Operator::NotEqual)}, response("200 OK")) == "pass: HTTP status 200");
  CHECK(verdict({content("hello", Operator::NotEqual)}, response("200 OK")) == "fail: its content matches \"hello\"");
  CHECK(verdict({content("^$")}, response("200 OK", "")) == "fail: it sent no content");  // as in Monit
  CHECK(verdict({content("hello", Operator::NotEqual)}, response("200 OK", "")) == "fail: it sent no content");
  CHECK(verdict({content("x")}, "HTTP/1.1 204 No Content\r\n\r\n") == "fail: it sent no content");
}

TEST_CASE("content comes by length, in chunks, or up to the close", "[protocols][http]") {
  CHECK(verdict({content("hello world")},
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nhello \r\n5;x=y\r\n"
                "world\r\n0\r\nTrailer: x\r\n\r\n") == "pass: HTTP status 200");
  CHECK(verdict({content("hello")}, "HTTP/1.1 200 OK\r\n\r\nhello") == "pass: HTTP status 200");
  CHECK(verdict({content("hello")}, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello") ==
        "fail: the server closed the connection after 5 of 100 bytes of its content");
  CHECK(verdict({}, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello") == "pass: HTTP status 200");  // nobody asks
  CHECK(verdict({content("hello")}, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nhello") ==
        "fail: the server closed the connection in the middle of its content, after 5 bytes");
  const Setting head{.word = "method", .text = "head"};
  CHECK(verdict({head}, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n") == "pass: HTTP status 200");
}

TEST_CASE("wrong lengths are faults", "[protocols][http]") {
  const auto length = [](const std::string& value) {
    return verdict({}, "HTTP/1.1 200 OK\r\nContent-Length: " + value + "\r\n\r\nhello");
  };
  for (const std::string value : {"abc", "-5", "", "5x", "99999999999999999999999", "0x5"})
    CHECK(length(value) == "fail: its Content-Length is \"" + value + "\", which is not a length");
  CHECK(length("5\r\nContent-Length: 6") == "fail: it states two different content lengths");
  CHECK(length("5\r\nContent-Length: 5") == "pass: HTTP status 200");
  const auto chunk = [](const std::string& text) {
    return verdict({content("x")}, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + text);
  };
  CHECK(chunk("zz\r\nhello") == "fail: \"zz\" is not a chunk size");
  CHECK(chunk("-1\r\nhello") == "fail: \"-1\" is not a chunk size");
  CHECK(chunk("FFFFFFFFFFFFFFFFF\r\nhello") == "fail: \"FFFFFFFFFFFFFFFFF\" is not a chunk size");
  CHECK(chunk("2\r\nhello\r\n") == "fail: a chunk of its content is longer than it said");
  CHECK(verdict({}, "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n") ==
        "fail: it sends its content coded as \"gzip\"");
}

TEST_CASE("a verdict does not hang on how much comes at once", "[protocols][http]") {
  const std::string broken = "Transfer-Encoding: chunked\r\n\r\n2\r\nhel\r\n";
  CHECK(verdict({}, "HTTP/1.1 400 No\r\n" + broken) == "fail: its status is 400");
  CHECK(verdict({}, "HTTP/1.1 200 OK\r\n" + broken) == "pass: HTTP status 200");
  CHECK(verdict({content("he")}, "HTTP/1.1 200 OK\r\n" + broken) ==
        "fail: a chunk of its content is longer than it said");
  for (const std::size_t size : {79U, 80U, 81U, 82U, 83U})
    for (const auto* end : {"", "\r", "\r.", "\n", "\r\n"})
      CHECK(verdict({}, std::string(size, 'x') + end).starts_with("fail: this is not an HTTP server"));
  // What comes behind the part that is searched counts for the checksum.
  const Conversed both = talk("http", {content("h.l+"), checksum("5d41402abc4b2a76b9719d911017c592")},
                              {response("200 OK", "hello")}, true, {.http_content = 4});
  CHECK(both.verdict == "pass: HTTP status 200");
}

TEST_CASE("checksums are of the whole content", "[protocols][http]") {
  CHECK(verdict({checksum("5D41402ABC4B2A76B9719D911017C592")}, response("200 OK", "hello")) ==
        "pass: HTTP status 200");
  CHECK(verdict({checksum("aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d")}, response("200 OK", "hello")) ==
        "pass: HTTP status 200");
  CHECK(verdict({checksum("aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434e")}, response("200 OK", "hello")) ==
        "fail: the SHA1 checksum of its content is aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d");
  CHECK(verdict({checksum("5d41402abc4b2a76b9719d911017c592")}, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello") ==
        "fail: the server closed the connection after 5 of 6 bytes of its content");
  CHECK(verdict({checksum("5d41402abc4b2a76b9719d911017c592"), content("l+o")}, response("200 OK", "hello")) ==
        "pass: HTTP status 200");
}

TEST_CASE("endless answers are judged by what the limits let in", "[protocols][http]") {
  const healer::protocols::Limits limits{.http_content = 100};
  const std::string far = "HTTP/1.1 200 OK\r\n\r\n" + std::string(1000, 'a') + "zend";
  CHECK(talk("http", {content("zend")}, {far}, false, limits).verdict.starts_with("fail: its content"));
  CHECK(talk("http", {content("aaa")}, {far}, false, limits).verdict == "pass: HTTP status 200");
  CHECK(talk("http", {}, {"HTTP/1.1 200 OK\r\nX: " + std::string(1'100'000, 'a')}, false).verdict ==
        "fail: its headers are longer than 1 MB");
  std::string many = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 200'000; ++i) many += "X: a\r\n";
  CHECK(talk("http", {}, {many}, false).verdict == "fail: its headers are longer than 1 MB");
  std::string hints;
  for (int i = 0; i < 50'000; ++i) hints += "HTTP/1.1 103 Early Hints\r\n\r\n";
  CHECK(talk("http", {}, {hints}, false).verdict == "fail: its headers are longer than 1 MB");
  CHECK(talk("http", {content("x")}, {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(9000, '0')},
             false)
            .verdict == "fail: it sends an endless line");
}

TEST_CASE("options that make no sense together are refused", "[protocols][http]") {
  const Protocol& http = *find_protocol("http");
  const auto fault = [&](const std::vector<Setting>& settings) { return http.fault(settings); };
  CHECK(fault({}).empty());
  CHECK(fault({{.word = "method", .text = "head"}, content("x")}) ==
        "'method head' asks for no content, so there is nothing for 'content', 'checksum' and 'json' to test");
  CHECK(fault({{.word = "headers", .text = "A: b\r\nGET / HTTP/1.1"}}) == "'headers' may hold no line ends");
  CHECK(fault({{.word = "password", .text = "x"}}) == "'password' needs 'username'");
}

}  // namespace http_test
