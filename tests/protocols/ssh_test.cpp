// SPDX-License-Identifier: MIT
#include "conversations.hpp"

namespace ssh_test {

using healer::test::talk;

TEST_CASE("an SSH server says so in its first line", "[protocols][ssh]") {
  CHECK(talk("ssh", {}, {"SSH-2.0-OpenSSH_9.2p1\r\n"}).verdict == "pass: it is \"SSH-2.0-OpenSSH_9.2p1\"");
  CHECK(talk("ssh", {}, {"ssh-1.99-x\n"}).verdict == "pass: it is \"ssh-1.99-x\"");
  CHECK(talk("ssh", {}, {"SSH-2.0-x"}).verdict == "pass: it is \"SSH-2.0-x\"");  // and closes
  CHECK(talk("ssh", {}, {"hello\r\nSSH-2.0-x\r\n"}).verdict == "fail: this is not an SSH server: it said \"hello\"");
  CHECK(talk("ssh", {}, {"SSH2\r\n"}).verdict == "fail: this is not an SSH server: it said \"SSH2\"");
  CHECK(talk("ssh", {}, {}).verdict == "fail: the server closed the connection without sending anything");
  CHECK(talk("ssh", {}, {}, false).verdict == "waits for its greeting");
}

TEST_CASE("an SSH server with an endless line is judged by its beginning", "[protocols][ssh]") {
  CHECK(talk("ssh", {}, {"SSH-2.0-" + std::string(100'000, 'x')}).verdict.starts_with("pass: it is \"SSH-2.0-xxx"));
  CHECK(talk("ssh", {}, {std::string(100'000, '\0')})
            .verdict.starts_with("fail: this is not an SSH server: it said \"\\x00"));
}

}  // namespace ssh_test
