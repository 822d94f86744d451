// SPDX-License-Identifier: MIT
#include "delivery/outbox/request.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <spdlog/fmt/fmt.h>

namespace healer::delivery {

using runtime::HttpCall;

namespace {

/// What is sent, with its secrets, which `hidden` gets.
Result<std::string> with_secrets_of(const Text& parts, Format format, const ReadSecret& read_secret,
                                    std::vector<std::string>& hidden) {
  std::string whole;
  for (const auto& [text, is_secret] : parts) {
    if (!is_secret) {
      whole += text;
      continue;
    }
    Result<std::string> secret = read_secret(text);
    if (!secret) return secret;
    const std::optional<std::string> written = written_secret(format, *secret, whole.empty());
    if (!written) return Error{0, fmt::format("secret {}: it contains control characters", text)};
    whole += *written;
    hidden.push_back(std::move(*secret));
  }
  return whole;
}

}  // namespace

bool has_secret(const Parcel& parcel) {
  const auto is_any = [](const Text& text) { return std::ranges::any_of(text, &Place::Part::secret); };
  return is_any(parcel.url) || is_any(parcel.body) || std::ranges::any_of(parcel.headers, is_any);
}

Result<HttpCall> call_of(const Parcel& parcel, Duration timeout, const engine::TlsOptions& tls,
                         const ReadSecret& read_secret) {
  HttpCall call{.method = parcel.method, .timeout = timeout, .tls = tls};
  call.discards_body = true;
  call.saves.push_back({.from = engine::Saving::From::Header, .what = "Retry-After", .name = "after"});
  Result<std::string> url = with_secrets_of(parcel.url, Format::Url, read_secret, call.hidden);
  if (!url) return url.error();
  call.url = std::move(*url);
  for (const Text& header : parcel.headers) {
    Result<std::string> text = with_secrets_of(header, Format::Header, read_secret, call.hidden);
    if (!text) return text.error();
    call.headers.push_back(std::move(*text));
  }
  Result<std::string> body = with_secrets_of(parcel.body, parcel.body_format, read_secret, call.hidden);
  if (!body) return body.error();
  call.body = std::move(*body);
  return call;
}

}  // namespace healer::delivery
