// SPDX-License-Identifier: MIT
#include "web/logins.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "protocols/digest.hpp"

namespace healer::web {
namespace {

constexpr std::size_t kMost = 1'000;

/// What is looked up is a sum, so that how long that takes tells nothing of the secret.
std::string sum_of(std::string_view secret) { return protocols::hash_bytes(protocols::Hash::Sha256, secret); }

std::string hex_of(std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4U];
    text += kDigits[static_cast<unsigned char>(byte) & 15U];
  }
  return text;
}

}  // namespace

void Logins::trim(Entries& entries, Duration now) {
  std::erase_if(entries, [&](const auto& one) { return one.second.until <= now; });
  if (entries.size() < kMost) return;
  entries.erase(std::ranges::min_element(entries, {}, [](const auto& one) { return one.second.until; }));
}

std::string Logins::offer(const control::Asker& who, std::string random, Duration now) {
  trim(offers_, now);
  offers_[sum_of(random)] = {who, now + kOnce};
  return random;
}

std::optional<control::Asker> Logins::spend(std::string_view token, Duration now) {
  const auto spent = offers_.extract(sum_of(token));
  if (spent.empty() || spent.mapped().until <= now) return std::nullopt;
  return spent.mapped().who;
}

std::string Logins::begin(const control::Asker& who, std::string random, Duration now) {
  trim(sessions_, now);
  sessions_[sum_of(random)] = {who, now + kLasts};
  return random;
}

std::optional<control::Asker> Logins::find(std::string_view cookie, Duration now) const {
  const auto found = sessions_.find(sum_of(cookie));
  if (found == sessions_.end() || found->second.until <= now) return std::nullopt;
  return found->second.who;
}

void Logins::end(std::string_view cookie) { sessions_.erase(sum_of(cookie)); }

std::string Logins::form_token(std::string_view user, std::string_view cookie) const {
  std::string text = std::to_string(user.size()) + ":";
  text.append(user).append(cookie);
  return hex_of(protocols::hmac_bytes(protocols::Hash::Sha256, key_, text).substr(0, 16));
}

}  // namespace healer::web
