// SPDX-License-Identifier: MIT
#include "delivery/proof.hpp"

#include <spdlog/fmt/fmt.h>

#include "util/hash.hpp"

namespace healer::delivery {
namespace {

std::string proof_of(std::string_view payload) {
  return fmt::format("{} {}", to_string(hash128(payload)), payload.size());
}

}  // namespace

std::string with_proof(std::string_view magic, std::string_view payload) {
  return fmt::format("{}{}\n{}", magic, proof_of(payload), payload);
}

std::optional<std::string_view> proven_payload(std::string_view magic, std::string_view file) {
  if (!file.starts_with(magic)) return std::nullopt;
  file.remove_prefix(magic.size());
  const auto proof = take_until(file, '\n');
  return proof && *proof == proof_of(file) ? std::optional(file) : std::nullopt;
}

std::optional<std::string_view> take_until(std::string_view& text, char end) {
  const std::size_t length = text.find(end);
  if (length == std::string_view::npos) return std::nullopt;
  const std::string_view taken = text.substr(0, length);
  text.remove_prefix(length + 1);
  return taken;
}

}  // namespace healer::delivery
