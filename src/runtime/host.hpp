// SPDX-License-Identifier: MIT
// The real machine as the language sees it. Looks up files, users and programs; blocks, so it belongs to the thread
// that compiles rules. Thread-safe.
#pragma once

#include "config/environment.hpp"

namespace healer::runtime {

class Host final : public config::Environment {
 public:
  [[nodiscard]] Result<std::string> read(const std::string& path) const override;
  [[nodiscard]] Result<config::FileFacts> stat(const std::string& path) const override;
  [[nodiscard]] Result<std::vector<std::string>> glob(const std::string& pattern) const override;
  [[nodiscard]] std::string canonical(const std::string& path) const override;
  [[nodiscard]] bool looks_up() const override { return true; }
  [[nodiscard]] std::optional<config::UserEntry> user(const std::string& name_or_uid) const override;
  [[nodiscard]] std::optional<std::uint32_t> group(const std::string& name_or_gid) const override;
  [[nodiscard]] bool executable(const std::string& path) const override;
  [[nodiscard]] std::string host_name() const override;
  [[nodiscard]] std::uint32_t effective_uid() const override;
  [[nodiscard]] std::optional<config::SecretFault> secret_fault(const std::string& name,
                                                                const std::string& folder) const override;
};

}  // namespace healer::runtime
