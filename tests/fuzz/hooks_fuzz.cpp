// SPDX-License-Identifier: MIT
// Any bytes as what a hook is told: the first line names the format, lines up to an empty one are headers, the rest is
// the body. It is refused with a sentence, or each event has an id, and a document that is JSON.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "hooks/read.hpp"
#include "hooks/signature.hpp"
#include "util/base64.hpp"

namespace {

using namespace healer;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

std::string_view take_line(std::string_view& rest) {
  const std::string_view line = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  return line;
}

void check(const hooks::Occurrence& one, bool takes_any) {
  constexpr std::size_t kMost = 2 * 1024 + 1;
  if (one.id.empty() || one.id.size() > kMost || one.state.size() > kMost) fail("an event has an id, of some length");
  const auto document = nlohmann::json::parse(one.document, nullptr, false);
  if (document.is_discarded() || (!takes_any && !document.is_object())) fail("an event is one document");
}

void check(const std::string& sentence) {
  if (sentence.empty() || sentence.find('\n') != std::string::npos) fail("a sentence says why");
}

/// A signature is believed only where the secret has made it.
void check_signature(const hooks::Message& message) {
  const std::vector<std::string> secrets{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                                         std::string(message.body.substr(0, 64))};
  constexpr WallTime kNow{seconds{1614265330}};
  const bool is_believed = hooks::distrust(message, secrets, kNow).empty();
  bool is_right = false;
  for (const std::string& secret : secrets) {
    const auto key = hooks::signing_key(secret);
    if (!key) continue;
    const std::string right = hooks::sign(*key, message.header("webhook-id").value_or(""),
                                          message.header("webhook-timestamp").value_or(""), message.body);
    is_right = is_right || message.header("webhook-signature").value_or("").find(right) != std::string_view::npos;
  }
  if (is_believed && !is_right) fail("nobody has signed it");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const auto format = hooks::format_of(take_line(rest)).value_or(hooks::Format::Json);
  std::vector<std::pair<std::string, std::string>> headers;
  while (!rest.empty() && rest.front() != '\n') {
    const std::string_view line = take_line(rest);
    const std::size_t colon = line.find(": ");
    if (colon != std::string_view::npos) headers.emplace_back(line.substr(0, colon), line.substr(colon + 2));
  }
  if (!rest.empty()) rest.remove_prefix(1);
  const hooks::Message message{.body = rest, .headers = headers};

  const bool takes_any = format == hooks::Format::Json || format == hooks::Format::Zaqar;
  const hooks::Reading read = hooks::read(format, message);
  if (const auto* const refusal = std::get_if<hooks::Refusal>(&read)) check(refusal->why);
  if (const auto* const notice = std::get_if<hooks::Notice>(&read)) check(notice->text);
  if (const auto* const all = std::get_if<std::vector<hooks::Occurrence>>(&read)) {
    for (const hooks::Occurrence& one : *all) check(one, takes_any);
    const hooks::Reading again = hooks::read(format, message);
    if (std::get<std::vector<hooks::Occurrence>>(again) != *all) fail("the same is read the same again");
    if (!all->empty()) {
      const auto keyed = hooks::with_key(all->front(), std::string(rest), Result<std::string>(std::string(rest)));
      if (const auto* const one = std::get_if<hooks::Occurrence>(&keyed)) check(*one, takes_any);
    }
  }
  check_signature(message);
  if (const auto bytes = base64_decoded(rest); bytes && base64_decoded(base64_encoded(*bytes)) != bytes)
    fail("base64 is read as it was written");
  return 0;
}
