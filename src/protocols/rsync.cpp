// SPDX-License-Identifier: MIT
// rsync: the greeting of its daemon, and the list of its modules to the end.
#include "protocols/line_talk.hpp"
#include "protocols/protocol.hpp"

namespace healer::protocols {

const Protocol& rsync();

namespace {

constexpr std::size_t kMostModules = 10'000;  // lines of the list, greetings for people included

LineVerdict greeting(std::string_view line) {
  if (line.starts_with("@ERROR")) return LineVerdict::Refused;
  return line.starts_with("@RSYNCD: ") ? LineVerdict::Good : LineVerdict::Unexpected;
}

LineVerdict list(std::string_view line) {
  if (line.starts_with("@ERROR")) return LineVerdict::Refused;
  return line.starts_with("@RSYNCD: EXIT") ? LineVerdict::Good : LineVerdict::More;
}

std::unique_ptr<Conversation> make(const Order&) {
  return line_session({.server = "an rsync daemon",
                       .steps = {{.say = {}, .awaited = "greeting", .judge = greeting},
                                 {.say = "@RSYNCD: 31.0\n#list\n", .awaited = "list of modules", .judge = list}},
                       .passed = "it lists its modules",
                       .secrets = {},
                       .limits = {.longest = 4096, .lines = kMostModules}});
}

}  // namespace

const Protocol& rsync() {
  static constexpr Protocol it{.name = "rsync", .title = "rsync", .port = 873, .make = make};
  return it;
}

}  // namespace healer::protocols
