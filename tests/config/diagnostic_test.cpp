// SPDX-License-Identifier: MIT
#include "config/diagnostic.hpp"

#include <catch2/catch.hpp>

#include "config/source.hpp"

namespace diagnostic_test {

using namespace healer::config;

namespace {

std::string shown(const std::string& text, std::uint32_t begin, std::uint32_t end, const std::string& remedy = "") {
  Sources sources;
  const auto file = sources.add("x.rules", text);
  return format({.severity = DiagnosticSeverity::Error,
                 .range = SourceRange{file, begin, end},
                 .path = "",
                 .message = "no",
                 .remedy = remedy},
                sources, false);
}

}  // namespace

TEST_CASE("a message shows its place, the line, a caret and what to do", "[diagnostic]") {
  CHECK(shown("set daemon 5\ncheck proces x\n", 19, 25, "did you mean 'process'?") ==
        "x.rules:2:7: error: no\n"
        "  check proces x\n"
        "        ^~~~~~\n"
        "  note: did you mean 'process'?\n");
}

TEST_CASE("no message shows a secret of the line", "[diagnostic]") {
  const auto line = [](const std::string& text, std::uint32_t at = 0) {
    const std::string all = shown(text, at, at + 1);
    const std::size_t begin = all.find('\n') + 3;
    return all.substr(begin, all.find('\n', begin) - begin);
  };
  CHECK(line("set mailserver x username \"u\" PASSWORD \"s3 cret\" using tls") ==
        "set mailserver x username \"u\" PASSWORD \"*******\" using tls");
  CHECK(line("set mailserver x password hunter2, y") == "set mailserver x password *******, y");
  CHECK(line("set mailserver x password 'it is \"open") == "set mailserver x password '***********");
  CHECK(line("set mailserver x password\n  'hidden' port 25", 30) == "  '******' port 25");
  CHECK(line("set environment TOKEN \"t0p\"") == "set environment TOKEN \"***\"");
  CHECK(line("set httpd port 2812 allow admin:monit readonly") == "set httpd port 2812 allow admin:***** readonly");
  CHECK(line("set httpd allow \"admin\":\"hunter\" read-only") == "set httpd allow \"admin\":\"******\" read-only");
  CHECK(line("allow 'a':joe allow \"ad:min\" : \"x y\"").find_first_of("jxy") == std::string::npos);
  CHECK(line("set httpd allow a:\"b\"hunter").find("hunter") == std::string::npos);
  CHECK(line("set httpd allow\n  \"admin\":\"hunter\"", 20) == "  \"admin\":\"******\"");
  CHECK(line("if failed port 1 type udp protocol radius secret hush then") ==
        "if failed port 1 type udp protocol radius secret **** then");
  CHECK(line("protocol http http headers [Host: a, X-Auth-Token : b c, Authorization: Basic d,e]") ==
        "protocol http http headers [Host: a, X-Auth-Token :****, Authorization:********,*]");
  CHECK(line("if failed url http://u:p/q?r,s@c/") == "if failed url http://u:*******@c/");
  CHECK(line("workflow w {\nstep http get x header \"X-Auth-Token: abc\" header \"Accept: a\" save header \"Y\" as T "
             "secret follow",
             14) ==
        "step http get x header \"X-Auth-Token:****\" header \"Accept: a\" save header \"Y\" as T secret follow");
  CHECK(line("step program \"/x\" environment TOKEN \"t0p\"") == "step program \"/x\" environment TOKEN \"***\"");
  CHECK(line("set httpd allow admin:") == "set httpd allow admin:");
  CHECK(line("set mailserver x password") == "set mailserver x password");
  CHECK(line("set mmonit http://joe:pw:x@host:8080/collector") == "set mmonit http://joe:****@host:8080/collector");
  CHECK(line("check program x with path \"/bin/passwd a:b\"") == "check program x with path \"/bin/passwd a:b\"");
}

TEST_CASE("a place without length has one caret, also at the end of a line and of the file", "[diagnostic]") {
  CHECK(shown("ab\ncd", 1, 1) == "x.rules:1:2: error: no\n  ab\n   ^\n");
  CHECK(shown("ab\ncd", 2, 2) == "x.rules:1:3: error: no\n  ab\n    ^\n");
  CHECK(shown("ab\ncd", 5, 5) == "x.rules:2:3: error: no\n  cd\n    ^\n");
  CHECK(shown("", 0, 0) == "x.rules:1:1: error: no\n\n  ^\n");
}

TEST_CASE("a range over several lines is underlined on its first", "[diagnostic]") {
  CHECK(shown("ab cd\nef", 3, 8) == "x.rules:1:4: error: no\n  ab cd\n     ^~\n");
}

TEST_CASE("tabs, umlauts, wide and combining characters keep the caret in its place", "[diagnostic]") {
  CHECK(shown("\tif x", 4, 5) == "x.rules:1:5: error: no\n          if x\n             ^\n");
  CHECK(shown("\xC3\xA4 x", 3, 4) == "x.rules:1:3: error: no\n  \xC3\xA4 x\n    ^\n");
  CHECK(shown("\xE6\xBC\xA2 x", 0, 3) == "x.rules:1:1: error: no\n  \xE6\xBC\xA2 x\n  ^~\n");
  CHECK(shown("\xE6\xBC\xA2 x", 4, 5) == "x.rules:1:3: error: no\n  \xE6\xBC\xA2 x\n     ^\n");
  CHECK(shown("a\xCC\x88 x", 4, 5) == "x.rules:1:4: error: no\n  a\xCC\x88 x\n    ^\n");
}

TEST_CASE("control characters and bytes that are no UTF-8 are made visible", "[diagnostic]") {
  CHECK(shown("a\x1b[31m b", 7, 8) == "x.rules:1:8: error: no\n  a\\x1b[31m b\n            ^\n");
  CHECK(shown("a\xff b", 3, 4) == "x.rules:1:4: error: no\n  a\\xff b\n        ^\n");
  Sources sources;
  CHECK(format({.severity = DiagnosticSeverity::Warning,
                .range = std::nullopt,
                .path = "/tmp/\x1b[2Jx",
                .message = "a\nb\x1b",
                .remedy = "c\r"},
               sources, false) == "/tmp/\\x1b[2Jx: warning: a\\nb\\x1b\n  note: c\\r\n");
}

TEST_CASE("a long line is cut around the caret", "[diagnostic]") {
  const std::string text = std::string(200, 'a') + "HERE" + std::string(200, 'b');
  CHECK(shown(text, 200, 204) == "x.rules:1:201: error: no\n  ..." + std::string(60, 'a') + "HERE" +
                                     std::string(36, 'b') + "...\n  " + std::string(63, ' ') + "^~~~\n");
  CHECK(shown("HERE" + std::string(200, 'b'), 0, 4) ==
        "x.rules:1:1: error: no\n  HERE" + std::string(96, 'b') + "...\n  ^~~~\n");
  const std::string end = std::string(200, 'a') + "HERE";
  CHECK(shown(end, 200, 204) ==
        "x.rules:1:201: error: no\n  ..." + std::string(60, 'a') + "HERE\n  " + std::string(63, ' ') + "^~~~\n");
}

TEST_CASE("a line of many megabytes costs no more than what is shown of it", "[diagnostic]") {
  const std::string text(8U << 20, 'a');
  const std::string message = shown(text, 4U << 20, (4U << 20) + 2);
  CHECK(message.size() < 500);
  CHECK(message.find("x.rules:1:4194305: error") == 0);
}

TEST_CASE("colour is only added where it is wanted", "[diagnostic]") {
  Sources sources;
  const auto file = sources.add("f", "ab");
  const Diagnostic diagnostic{.severity = DiagnosticSeverity::Error,
                              .range = SourceRange{file, 0, 2},
                              .path = "",
                              .message = "no",
                              .remedy = "yes"};
  CHECK(format(diagnostic, sources, true) ==
        "\033[1mf:1:1: \033[0m\033[1;31merror:\033[0m no\n  ab\n  \033[1;32m^~\033[0m\n  \033[1;36mnote:\033[0m yes\n");
  CHECK(format(diagnostic, sources, false).find('\033') == std::string::npos);
}

}  // namespace diagnostic_test
