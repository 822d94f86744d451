// SPDX-License-Identifier: MIT
// Any bytes as what a server says, to the conversation of one protocol, which the program's name tells: fuzz_PROTOCOL.
// It comes to a verdict or waits; how the bytes are cut changes nothing; what it tells is printable and short.
//
// The first two bytes choose the settings and how the rest is cut.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "support/talk.hpp"

namespace {

using namespace healer;
using namespace healer::protocols;

const Protocol* fuzzed = nullptr;

void require(bool holds, const char* what, const std::string& detail) {
  if (holds) return;
  std::fprintf(stderr, "%s: %s\n", what, detail.c_str());
  std::abort();
}

/// Settings for the protocol's options, some of them, by the bits of `choice`.
std::vector<Setting> settings_of(const Protocol& protocol, unsigned choice) {
  std::vector<Setting> settings;
  for (const Option& option : protocol.options) {
    const bool wanted = (choice & 1U) != 0;
    choice >>= 1;
    if (!wanted) continue;
    Setting setting{.word = option.word, .number = 200, .text = "a"};
    if (option.type == OptionType::Choice) setting.text = option.choices.substr(0, option.choices.find('|'));
    if (option.type == OptionType::Checksum) setting.text = "5d41402abc4b2a76b9719d911017c592";
    if (option.type == OptionType::Headers) setting.text = "a: b";
    if (option.type == OptionType::Pattern) setting.text = "a[bc]*d";
    if (option.type == OptionType::Json) setting.text = ".a[]", setting.value = "1";
    if (option.type == OptionType::Object) setting.text = "1.3.6.1.2.1.1.3.0", setting.value = "1";
    settings.push_back(setting);
  }
  return settings;
}

struct Played {
  std::string verdict;
  std::string sent;
};

Played play(const Order& order, const Protocol& protocol, std::size_t piece, const std::string& text) {
  const auto conversation = protocol.make(order);
  test::Talk server;
  server.piece = piece;
  std::string verdict = server.play(*conversation, {text});
  return {verdict, server.sent};
}

}  // namespace

/// libjq knows its stack by its end alone, which the search for leaks does not see.
extern "C" const char* __lsan_default_suppressions() { return "leak:libjq"; }

extern "C" int LLVMFuzzerInitialize(int*, char*** arguments) {
  constexpr std::string_view kPrefix = "fuzz_";
  const std::string_view path = **arguments;
  const std::size_t name = path.rfind(kPrefix);
  if (name != std::string_view::npos) fuzzed = find_protocol(path.substr(name + kPrefix.size()));
  require(fuzzed != nullptr, "the program is called fuzz_PROTOCOL", std::string(path));
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const Protocol& protocol = *fuzzed;
  const std::vector<Setting> settings = settings_of(protocol, data[0] + 256U * data[1]);
  const Order order{.host = "h",
                    .port = 1,
                    .tls = protocol.within && (data[1] & 0x80U) != 0,
                    .settings = settings,
                    .limits = {.send_expect = 16, .http_content = 64},
                    .now = [] { return WallTime{}; }};
  const std::string text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const Played whole = play(order, protocol, std::string::npos, text);
  require(whole.verdict.size() < 1000, "the verdict is short", whole.verdict);
  for (const char c : whole.verdict)
    require(static_cast<unsigned char>(c) >= ' ', "the verdict is printable", whole.verdict);
  if (protocol.only_datagrams) return 0;  // they come whole
  // Of HTTP/2 what floods counts as such only where it comes at once.
  const bool http2 = order.find("http2") != nullptr || protocol.name == "grpc";
  const bool starttls = whole.sent.find("<TLS>") != std::string::npos;
  for (const std::size_t piece : {std::size_t{1}, std::size_t{data[0]} % 13 + 2}) {
    const Played cut = play(order, protocol, piece, text);
    require(cut.verdict.size() < 1000, "the verdict is short", cut.verdict);
    // What comes with or before an answer to STARTTLS, or before it was asked for, is a fault only where it can be
    // seen.
    const bool eager = whole.verdict.find("before it is asked") != std::string::npos ||
                       whole.verdict.find("agreed to begin TLS") != std::string::npos;
    if (!http2 && !starttls && !eager && cut.sent.find("<TLS>") == std::string::npos &&
        cut.verdict.find("before it is asked") == std::string::npos)
      require(cut.verdict == whole.verdict, "cuts change nothing", whole.verdict + " / " + cut.verdict);
  }
  return 0;
}
