// SPDX-License-Identifier: MIT
#include "config/syntax/vocabulary.hpp"
#include "grammar/lexer.hpp"

#include <catch2/catch.hpp>

#include "engine/events/record.hpp"

namespace vocabulary_test {

using namespace healer;
using namespace healer::config;

TEST_CASE("durations and sizes are written exactly, in the largest unit that fits", "[vocabulary]") {
  CHECK(written(Duration{0}) == "0 seconds");
  CHECK(written(milliseconds{1}) == "1 millisecond");
  CHECK(written(milliseconds{1500}) == "1500 milliseconds");
  CHECK(written(seconds{1}) == "1 second");
  CHECK(written(seconds{90}) == "90 seconds");
  CHECK(written(seconds{120}) == "2 minutes");
  CHECK(written(hours{1}) == "1 hour");
  CHECK(written(days{14}) == "14 days");
  CHECK(written_size(0) == "0 B");
  CHECK(written_size(512) == "512 B");
  CHECK(written_size(1024) == "1 kB");
  CHECK(written_size(1500) == "1500 B");
  CHECK(written_size(3U << 20) == "3 MB");
}

TEST_CASE("signals have names in any case, with or without SIG, and numbers", "[vocabulary]") {
  for (const char* name : {"TERM", "term", "SIGTERM", "sigTerm", "15"}) CHECK(signal_number(name) == 15);
  CHECK(signal_number("USR1") == 10);
  CHECK(signal_number("64") == 64);
  for (const char* name : {"", "SIG", "0", "65", "-1", "15x", "TERMINATE", "99999999999"})
    CHECK_FALSE(signal_number(name));
  CHECK(signal_name(15) == "TERM");
  CHECK(signal_name(35) == "35");
  for (int number = 1; number <= 64; ++number) CHECK(signal_number(signal_name(number)) == number);
  CHECK(nearest_signal("SIGTREM") == "TERM");
  CHECK(nearest_signal("whatever").empty());
}

TEST_CASE("texts are written so that the language reads the same back", "[vocabulary]") {
  CHECK(written_text("a b") == "\"a b\"");
  CHECK(written_text("say \"x\"") == "'say \"x\"'");
  CHECK(written_text("\\.") == "\"\\.\"");
  CHECK(written_text("\\n") == "\"\\\\n\"");
  CHECK(written_text("\\\\") == "\"\\\\\\\"");
  CHECK(written_text("\n\t\x01") == "\"\\n\\t\\0x01\"");
  CHECK(written_text("\xC3\xA4\xFF") == "\"\xC3\xA4\\0xff\"");
  CHECK(written_word("a-b.c_1") == "a-b.c_1");
  CHECK(written_word("a b") == "\"a b\"");
  CHECK(written_word("") == "\"\"");
  CHECK(written(std::vector<std::string>{"/bin/x", "a b", "", "c'd"}) == "\"/bin/x 'a b' '' c'd\"");
}

TEST_CASE("whatever a text or a command line holds, it is read back as it was", "[vocabulary]") {
  const std::vector<std::string> texts{"\"",      "'",      "\"'",        "say \"it's\"", "\\\"'",       "\\n",
                                       "\\\n",    "\\\\",   "a\\",        "\\0x41",       "\\\x01",      "'a b'",
                                       "'a'b c'", "\r\v\f", "\xC2\x85 x", "\xFF\"\xFE'",  "multi\nline", "#no comment",
                                       "",        "a'b"};
  for (const std::string& text : texts) {
    INFO(written_text(text));
    CHECK(grammar::unquote(written_text(text)) == text);
    for (const std::string& next : texts) {
      const std::vector<std::string> arguments{"/bin/x", text, next};
      INFO(written(arguments));
      CHECK(grammar::split_command(written(arguments)) == arguments);
      // It is one token, and nothing after it is swallowed.
      const std::string statement = "check program x path " + written(arguments) + " timeout 5 seconds";
      const auto tokens = grammar::lex(statement);
      CHECK(tokens.faults.empty());
      CHECK(tokens.text_of(tokens.tokens.size() - 2) != written(arguments));
    }
  }
}

TEST_CASE("every kind of event has a name that leads back to it", "[vocabulary]") {
  CHECK(event_names().size() == engine::kEventKinds);
  for (std::size_t i = 0; i < engine::kEventKinds; ++i) {
    CHECK_FALSE(event_names()[i].empty());
    CHECK(event_kind(event_names()[i]) == static_cast<engine::EventKind>(i));
  }
  CHECK(event_kind("NonExist") == engine::EventKind::NonExist);
  CHECK_FALSE(event_kind("heartbeat").has_value());
}

TEST_CASE("the table of limits names each member once", "[vocabulary]") {
  engine::Limits limits;
  for (const Limit& limit : kLimits) {
    REQUIRE((limit.size != nullptr) != (limit.time != nullptr));
    if (limit.size != nullptr) limits.*limit.size = 7;
    if (limit.time != nullptr) limits.*limit.time = Duration{7};
    CHECK(find_limit(limit.name) == &limit);
  }
  const engine::Limits all{7, 7, 7, 7, Duration{7}, Duration{7}, Duration{7}, Duration{7}, Duration{7}, Duration{7}};
  CHECK(limits == all);
  CHECK(find_limit("PROGRAMTIMEOUT") != nullptr);
  CHECK(find_limit("sleepTimeout") == nullptr);
}

}  // namespace vocabulary_test
