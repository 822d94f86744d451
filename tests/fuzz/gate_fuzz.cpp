// SPDX-License-Identifier: MIT
// Any bytes as what a request brings to be let in: lines of headers, of which those that begin with '?' are fields of
// the query, and '=' the certificate that rules name. A token is part of what was given; nobody is let in by nothing.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "util/secrets/same_secret.hpp"
#include "web/hooks/gate.hpp"

namespace {

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace healer;
  const std::string_view whole(reinterpret_cast<const char*>(data), size);
  web::Request request{.peer = "192.0.2.7"};
  std::string wanted;
  for (std::string_view rest = whole; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.starts_with('=')) {
      wanted = line.substr(1);
      continue;
    }
    if (line.starts_with('@')) request.peer = line.substr(1);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    auto& fields = line.starts_with('?') ? request.query : request.headers;
    fields.emplace_back(line.substr(line.starts_with('?') ? 1 : 0, colon - (line.starts_with('?') ? 1 : 0)),
                        line.substr(std::min(line.size(), colon + 2)));
  }

  const auto token = web::given_token(request);
  if (token && (token->empty() || whole.find(*token) == std::string_view::npos)) give_up("a token was given");
  if (token && is_same_secret("", *token)) give_up("an empty secret lets nobody in");
  if (token && !is_same_secret(*token, *token)) give_up("the right token is the right one");
  if (web::shows_certificate(request, wanted)) give_up("nobody has shown a certificate");
  request.certificate = std::make_shared<web::ClientCertificate>(web::ClientCertificate{"", "ab"});
  if (web::shows_certificate(request, wanted) && wanted.size() < sizeof "sha256:ab" - 1)
    give_up("a certificate is known by its name or its hash");
  if (web::is_from_here(request, "host", "") && !request.peer.empty() && !request.peer.starts_with("127.") &&
      request.peer.find(':') == std::string::npos)
    give_up("it comes from elsewhere");
  return 0;
}
