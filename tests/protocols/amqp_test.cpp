// SPDX-License-Identifier: MIT
// amqp, its brokers' frames written by hand from the specification of 0-9-1.
#include "conversations.hpp"
#include "protocols/packet_talk.hpp"

namespace amqp_test {

using namespace healer::test;
using namespace std::string_literals;

namespace {

const std::vector<Setting> kLogin{{.word = "username", .text = "anna"}, {.word = "password", .text = "p4ss"}};

std::string frame(const std::string& payload, char type = 1, int channel = 0) {
  return type + big(static_cast<unsigned>(channel), 2) + big(payload.size(), 4) + payload + '\xce';
}
std::string method(unsigned number, const std::string& arguments, unsigned of_class = 10) {
  return frame(big(of_class, 2) + big(number, 2) + arguments);
}
std::string text(const std::string& value) { return big(value.size(), 4) + value; }
std::string start(const std::string& mechanisms = "AMQPLAIN PLAIN", const std::string& version = "\0\x09"s) {
  return method(10, version + text("\x07productS"s + text("RabbitMQ")) + text(mechanisms) + text("en_US"));
}
std::string close(unsigned code, const std::string& why) {
  return method(50, big(code, 2) + static_cast<char>(why.size()) + why + big(0, 4));
}
const std::string kTune = method(30, "\x07\xff\0\2\0\0\0\x3c"s);
const std::string kOpenOk = method(41, "\0"s);
const std::string kHeartbeat = frame("", 8);

std::string verdict(const std::vector<std::string>& script, const std::vector<Setting>& settings = {}) {
  return talk("amqp", settings, script).verdict;
}

}  // namespace

TEST_CASE("an AMQP broker tunes the connection of whom it accepts", "[protocols][amqp]") {
  const Conversed guest = talk("amqp", {}, {start(), kTune});
  CHECK(guest.verdict == "pass: it accepts the connection");
  CHECK(guest.sent.starts_with("AMQP\0\0\x09\x01\x01\0\0"s));
  CHECK(guest.sent.ends_with("\x05PLAIN"s + text("\0guest\0guest"s) + "\x05" + "en_US\xce"));
  const Conversed anonymous = talk("amqp", {}, {start("PLAIN ANONYMOUS"), kHeartbeat + kTune});
  CHECK(anonymous.verdict == "pass: it accepts the connection");
  CHECK(anonymous.sent.ends_with("\x09" + "ANONYMOUS"s + text("") + "\x05" + "en_US\xce"));
  CHECK(anonymous.sent.find("guest") == std::string::npos);
}

TEST_CASE("a login at an AMQP broker opens the virtual host and closes it", "[protocols][amqp]") {
  const Conversed done = talk("amqp", kLogin, {start("PLAIN ANONYMOUS"), kTune, kOpenOk});
  CHECK(done.verdict == "pass: it accepts the login");
  CHECK(done.sent.find("\x05PLAIN"s + text("\0anna\0p4ss"s)) != std::string::npos);
  CHECK(done.sent.find(method(31, "\x07\xff\0\0\x10\0\0\0"s) + method(40, "\1/\0\0"s)) != std::string::npos);
  CHECK(done.sent.ends_with(method(50, big(200, 2) + "\4done\0\0\0\0"s)));
  CHECK(talk("amqp", kLogin, {start(), method(30, "\0\0\0\0\0\0\0\0"s), kOpenOk}).sent.find("\0\0\x10\0"s) !=
        std::string::npos);
}

TEST_CASE("what an AMQP broker refuses is told with its code and text", "[protocols][amqp]") {
  CHECK(verdict({start(), close(403, "ACCESS_REFUSED - no")}) ==
        "fail: its answer to a login as guest is 403: \"ACCESS_REFUSED - no\"");
  const Conversed refused = talk("amqp", kLogin, {start(), close(403, "ACCESS_REFUSED - not p4ss")});
  CHECK(refused.verdict.starts_with("fail: its answer to the login is 403: "));
  CHECK(refused.verdict.find("p4ss") == std::string::npos);
  CHECK(refused.sent.ends_with(method(51, "")));
  CHECK(verdict({start(), kTune, close(530, "NOT_ALLOWED - access to vhost '/' refused")}, kLogin) ==
        "fail: its answer to the opening of \"/\" is 530: \"NOT_ALLOWED - access to vhost '/' refused\"");
  CHECK(verdict({close(320, "CONNECTION_FORCED - shutdown")}) ==
        "fail: its greeting is 320: \"CONNECTION_FORCED - shutdown\"");
  CHECK(verdict({start("EXTERNAL")}, kLogin) == "fail: it offers no login that healer knows (\"EXTERNAL\")");
  CHECK(verdict({start("PLAINER XPLAIN")}) == "fail: it offers no login that healer knows (\"PLAINER XPLAIN\")");
  CHECK(verdict({start(), method(20, text("what?"))}, kLogin) ==
        "fail: it asks more at a login than a name and a password");
}

TEST_CASE("a broker of another version of AMQP is told", "[protocols][amqp]") {
  CHECK(verdict({"AMQP\0\1\0\0"s}) == "fail: it speaks AMQP 1.0, not 0-9-1");
  CHECK(verdict({"AMQP\3\1\0\0"s}) == "fail: it speaks AMQP 1.0, not 0-9-1");
  CHECK(verdict({"AMQP\1\1\0\x0a"s}) == "fail: it speaks AMQP 1-0-10, not 0-9-1");
  CHECK(verdict({start("PLAIN", "\x08\0"s)}) == "fail: it speaks AMQP 8-0, not 0-9-1");
  CHECK(verdict({"AMPQ\0\0\x09\1"s}).starts_with("fail: this is not an AMQP broker: it said \"AMPQ"));
  CHECK(verdict({"AMQ"}) == "fail: the server closed the connection before its greeting");
}

TEST_CASE("hostile AMQP brokers come to an end, and fill no memory", "[protocols][amqp][hostile]") {
  const std::string unexpected = "fail: this is not an AMQP broker: it said ";
  CHECK(verdict({"HTTP/1.1 400 no\r\n"}) == unexpected + "\"H\"");
  CHECK(verdict({"\1\0\0\xff\xff\xff\xff"s}).starts_with(unexpected));              // a frame of 4 GB
  CHECK(verdict({"\1\0\7\0\0\0\4"s}).starts_with(unexpected));                      // of a channel that is not open
  CHECK(verdict({frame("\0\x0a"s)}).starts_with(unexpected));                       // half a method
  CHECK(verdict({method(30, "")}).starts_with(unexpected));                         // none that is due
  CHECK(verdict({method(10, "\0\x09\xff\xff\xff\xff"s)}).starts_with(unexpected));  // a table that is not there
  CHECK(verdict({method(50, "\1\x93\xff"s)}).starts_with(unexpected));              // a text that is not there
  CHECK(verdict({start(), method(10, "", 20)}).starts_with(unexpected));            // of another class
  CHECK(verdict({start(), method(30, "\0"s)}).starts_with(unexpected));
  std::string unended = start();
  unended.back() = '\0';
  CHECK(verdict({unended}).starts_with(unexpected));
  std::string beats;
  for (int i = 0; i < 1000; ++i) beats += kHeartbeat;
  CHECK(verdict({start(), beats}) == "fail: it does not come to an end");
  CHECK(verdict({start().substr(0, 20)}) == "fail: the server closed the connection before its greeting");
  CHECK(verdict({start()}, kLogin) == "fail: the server closed the connection before its answer to the login");
  CHECK(verdict({start(), kTune}, kLogin) ==
        "fail: the server closed the connection before its answer to the opening of \"/\"");
}

TEST_CASE("half a login at an AMQP broker, or one that cannot be sent, is a fault", "[protocols][amqp]") {
  const auto fault = [](const std::vector<Setting>& settings) { return find_protocol("amqp")->fault(settings); };
  CHECK(fault({}).empty());
  CHECK(fault(kLogin).empty());
  CHECK(fault({kLogin[0]}) == "'username' and 'password' need each other");
  CHECK(fault({{.word = "username", .text = "a\0b"s}, kLogin[1]}) ==
        "the username has a zero byte, which cannot be sent");
  CHECK(fault({kLogin[0], {.word = "password", .text = std::string(2000, 'x')}}) ==
        "the password has more than 1000 bytes");
}

}  // namespace amqp_test
