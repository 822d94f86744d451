// SPDX-License-Identifier: MIT
#include "hooks/signature.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "util/base64.hpp"
#include "util/secrets/same_secret.hpp"
#include "util/text.hpp"

namespace healer::hooks {
namespace {

constexpr std::string_view kSecretPrefix = "whsec_";
constexpr std::string_view kVersion = "v1,";
constexpr std::size_t kShortestKey = 16;
constexpr std::size_t kLongestKey = 1024;
/// More are not looked at: each costs as much as the body is long.
constexpr std::size_t kMostSignatures = 16;

std::optional<std::int64_t> seconds_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  constexpr std::int64_t kLatest = 100'000'000'000;
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > kLatest) return std::nullopt;
  return value;
}

std::vector<std::string_view> signatures_of(std::string_view list) {
  std::vector<std::string_view> all;
  while (!list.empty() && all.size() < kMostSignatures) {
    const std::string_view one = list.substr(0, list.find(' '));
    list.remove_prefix(std::min(list.size(), one.size() + 1));
    if (one.starts_with(kVersion)) all.push_back(one);
  }
  return all;
}

}  // namespace

Result<std::string> signing_key(std::string_view secret) {
  secret = trim(secret);
  if (secret.starts_with(kSecretPrefix)) secret.remove_prefix(kSecretPrefix.size());
  auto key = base64_decoded(secret);
  if (!key) return Error{0, "it is not \"whsec_\" and base64"};
  if (key->size() < kShortestKey || key->size() > kLongestKey)
    return Error{
        0, fmt::format("it must have {} to {} bytes before they are written as base64", kShortestKey, kLongestKey)};
  return std::move(*key);
}

std::string sign(std::string_view key, std::string_view id, std::string_view timestamp, std::string_view body) {
  std::string content;
  content.reserve(id.size() + timestamp.size() + body.size() + 2);
  content.append(id).append(".").append(timestamp).append(".").append(body);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(content.data()),
       content.size(), digest.data(), &size);
  return std::string(kVersion) + base64_encoded({reinterpret_cast<const char*>(digest.data()), size});
}

std::string distrust(const Message& message, std::span<const std::string> secrets, WallTime now) {
  for (const std::string_view name : {"webhook-id", "webhook-timestamp", "webhook-signature"})
    if (message.header(name).value_or("").empty()) return fmt::format("the header {} is missing", name);
  const std::string_view id = *message.header("webhook-id"), timestamp = *message.header("webhook-timestamp");
  const auto sent = seconds_of(timestamp);
  if (!sent) return "its webhook-timestamp is not a time in seconds";
  const Duration off = now - WallTime(seconds{*sent});
  if (off > kTolerance || off < -kTolerance)
    return fmt::format("its webhook-timestamp is {} {} the time here, more than {}",
                       format_duration(off < Duration{0} ? -off : off), off < Duration{0} ? "ahead of" : "behind",
                       format_duration(kTolerance));
  const auto given = signatures_of(*message.header("webhook-signature"));
  bool is_signed = false;
  std::string trouble;
  for (const std::string& secret : secrets) {
    const Result<std::string> key = signing_key(secret);
    if (!key) {
      trouble = fmt::format("; a secret of the hook is none: {}", key.error().what);
      continue;
    }
    const std::string right = sign(*key, id, timestamp, message.body);
    for (const std::string_view one : given)
      if (is_same_secret(right, one)) is_signed = true;
  }
  if (is_signed) return {};
  if (given.empty()) return "its webhook-signature has none that begins with \"v1,\"" + trouble;
  return "its webhook-signature is not by a secret of the hook" + trouble;
}

}  // namespace healer::hooks
