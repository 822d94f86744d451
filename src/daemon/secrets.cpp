// SPDX-License-Identifier: MIT
#include "daemon/secrets.hpp"

#include <spdlog/fmt/fmt.h>

#include "actions/environment.hpp"
#include "runtime/files/secret_file.hpp"

namespace healer {
Result<std::string> with_secrets(const std::vector<engine::effect::Place::Part>& parts, const std::string& directory,
                                 std::vector<std::string>& read, const WriteSecret& write) {
  std::string whole;
  for (const auto& [text, is_secret] : parts) {
    if (!is_secret) {
      whole += text;
      continue;
    }
    Result<std::string> secret = runtime::read_secret(text, directory);
    if (!secret) return secret;
    const std::optional<std::string> written = write ? write(*secret, whole.empty()) : std::optional(*secret);
    if (!written) return Error{0, fmt::format("secret {}: it contains control characters", text)};
    whole += *written;
    read.push_back(std::move(*secret));
  }
  return whole;
}

Result<runtime::LateVariables> late_variables(const engine::effect::Place& place, const std::string& directory) {
  runtime::LateVariables late{.values = {}, .hidden = place.hidden};
  for (const auto& [name, value] : place.environment) {
    if (name == actions::kMarkVariable) continue;
    Result<std::string> text = with_secrets(value, directory, late.hidden);
    if (!text) return text.error();
    late.values.emplace_back(name, std::move(*text));
  }
  return late;
}

}  // namespace healer
