// SPDX-License-Identifier: MIT
// Names of servers to addresses as libcurl takes them, for threads that have no loop: its own resolver would hold them
// as long as a name server does not answer.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "runtime/loop.hpp"
#include "runtime/net/resolver.hpp"
#include "util/result.hpp"

namespace healer::runtime {

/// "192.0.2.1,[2001:db8::1]": what follows the port in CURLOPT_RESOLVE.
[[nodiscard]] std::string curl_addresses(const Resolver::Addresses& addresses);

/// Owned by the loop thread.
class ServerNames {
 public:
  /// Gets the addresses, as curl_addresses() has them; or why there are none.
  using Done = std::function<void(Result<std::string>)>;

  ServerNames(Loop& loop, Resolver::Options options);
  ServerNames(const ServerNames&) = delete;
  ServerNames& operator=(const ServerNames&) = delete;

  /// Looks a name up and calls `done` once, on the loop; not any more where this has gone, or the loop has ended. From
  /// any thread, as long as this is there.
  void look_up(std::string host, Done done);

 private:
  Loop& loop_;
  Resolver resolver_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, Resolver::Question> questions_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace healer::runtime
