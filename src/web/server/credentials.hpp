// SPDX-License-Identifier: MIT
// What `allow` means on this machine: files of passwords, names of hosts, tokens from files of secrets, PAM and
// crypt(). All of that is asked on threads of its own, bounded, since it may hang.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/rules/settings.hpp"
#include "runtime/loop.hpp"
#include "runtime/worker_pool.hpp"
#include "util/result.hpp"
#include "web/site.hpp"

namespace healer::web {

class Credentials final : public PasswordChecker {
 public:
  /// `key`: random bytes, by which passwords are remembered that were right.
  Credentials(runtime::Loop& loop, std::string key);

  /// Reads and looks up what these settings name; `done` gets the rules, and what was wrong, a sentence each.
  void read(const engine::HttpdSettings& settings, const std::string& secrets_directory,
            std::function<void(AccessRules rules, std::vector<std::string> troubles)> done);

  void check(const AccessRules& rules, const BasicLogin& login,
             std::function<void(std::optional<engine::Role>)> done) override;

 private:
  struct Known {
    engine::Role role = engine::Role::ReadOnly;
    Duration until{0};
  };
  [[nodiscard]] std::string sum_of(const std::string& made, const BasicLogin& login) const;

  std::string key_;
  std::map<std::string, Known> known_;  ///< by a sum of user and password; bounded, forgotten soon
  std::uint64_t round_ = 0;             ///< grows with each reading of the rules
  std::size_t waiting_ = 0;             ///< passwords that are being checked
  runtime::WorkerPool files_;
  runtime::WorkerPool pool_;
};

/// Whether `password` is the one that `hashed` was made of: crypt's and Apache's MD5.
[[nodiscard]] bool is_md5_password(std::string_view password, const std::string& hashed);

}  // namespace healer::web
