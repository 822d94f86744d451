// SPDX-License-Identifier: MIT
#include "conversations.hpp"

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
  const std::string rest =
      "User-Agent: healer/" HEALER_VERSION "\r\nAccept: */*\r\nAccept-Encoding: identity\r\nConnection: close\r\n";
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
            .sent == "HEAD /a%20b?q=1&x%C3%A4 HTTP/1.1\r\nAuthorization: Basic dTpw\r\n" + rest +
                         "host: foo.bar\r\nX-A: b c\r\n\r\n");
  CHECK(talk("http", {{.word = "hostheader", .text = "a.b"}, {.word = "request", .text = "x/y"}}, {}).sent ==
        "GET /x/y HTTP/1.1\r\nHost: a.b\r\n" + rest + "\r\n");
  const Order v6{.host = "::1", .port = 8080, .limits = {}};
  Talk server;
  const auto conversation = find_protocol("http")->make(v6);
  (void)server.play(*conversation, {});
  CHECK(server.sent.starts_with("GET / HTTP/1.1\r\nHost: [::1]:8080\r\n"));
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
  CHECK(verdict({}, "hello\r\n") == "fail: this is no HTTP server: it said \"hello\"");
  CHECK(verdict({}, "HTTP/1.1 20 OK\r\n\r\n") == "fail: this is no HTTP server: it said \"HTTP/1.1 20 OK\"");
  CHECK(verdict({}, "HTTP/1.1\r\n\r\n") == "fail: this is no HTTP server: it said \"HTTP/1.1\"");
  CHECK(talk("http", {}, {"SSH-2.0-endless" + std::string(100, 'x')}, false).verdict ==
        "fail: this is no HTTP server: it said \"SSH-2.0-endless" + std::string(65, 'x') + "...\"");
  CHECK(verdict({}, "SSH-2.0-x") == "fail: this is no HTTP server: it said \"SSH-2.0-x\"");
  CHECK(verdict({}, "") == "fail: the server closed the connection without an answer");
  CHECK(verdict({}, "HTTP/1.1 200 OK\r\nX: a\r\n") ==
        "fail: the server closed the connection in the midst of its headers");
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
        "fail: the server closed the connection in the midst of its content, after 5 bytes");
  const Setting head{.word = "method", .text = "head"};
  CHECK(verdict({head}, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n") == "pass: HTTP status 200");
}

TEST_CASE("wrong lengths are faults", "[protocols][http]") {
  const auto length = [](const std::string& value) {
    return verdict({}, "HTTP/1.1 200 OK\r\nContent-Length: " + value + "\r\n\r\nhello");
  };
  for (const std::string value : {"abc", "-5", "", "5x", "99999999999999999999999", "0x5"})
    CHECK(length(value) == "fail: its Content-Length is \"" + value + "\", which is no length");
  CHECK(length("5\r\nContent-Length: 6") == "fail: it tells two different lengths of its content");
  CHECK(length("5\r\nContent-Length: 5") == "pass: HTTP status 200");
  const auto chunk = [](const std::string& text) {
    return verdict({content("x")}, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + text);
  };
  CHECK(chunk("zz\r\nhello") == "fail: \"zz\" is no size of a chunk");
  CHECK(chunk("-1\r\nhello") == "fail: \"-1\" is no size of a chunk");
  CHECK(chunk("FFFFFFFFFFFFFFFFF\r\nhello") == "fail: \"FFFFFFFFFFFFFFFFF\" is no size of a chunk");
  CHECK(chunk("2\r\nhello\r\n") == "fail: a chunk of its content is longer than it said");
  CHECK(verdict({}, "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n") ==
        "fail: it sends its content coded as \"gzip\"");
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
  const Limits limits{.http_content = 100};
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
            .verdict == "fail: it sends a line of endless length");
}

TEST_CASE("options that make no sense together are refused", "[protocols][http]") {
  const Protocol& http = *find_protocol("http");
  const auto fault = [&](const std::vector<Setting>& settings) { return http.fault(settings); };
  CHECK(fault({}).empty());
  CHECK(fault({{.word = "method", .text = "head"}, content("x")}) ==
        "'method head' asks for no content, so there is nothing for 'content' and 'checksum' to test");
  CHECK(fault({{.word = "headers", .text = "A: b\r\nGET / HTTP/1.1"}}) == "'headers' may hold no line ends");
  CHECK(fault({{.word = "password", .text = "x"}}) == "'password' needs 'username'");
}

}  // namespace http_test
