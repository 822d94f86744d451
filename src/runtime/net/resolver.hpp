// SPDX-License-Identifier: MIT
// Names to addresses, by c-ares on the loop, with the machine's own files and options (resolv.conf, nsswitch.conf,
// hosts), which are read again when they have changed. An answer is kept for its TTL and no longer, a failure not at
// all; who asks for the same name meanwhile shares the question. A dead name server delays only those who wait for it,
// and those for a second where there is another and resolv.conf does not say how long.
//
// Owned and called by the loop thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "protocols/probe.hpp"
#include "runtime/loop.hpp"
#include "runtime/net/address.hpp"
#include "util/result.hpp"

namespace healer::runtime {

class Resolver {
 public:
  struct Options {
    std::string servers;  ///< "127.0.0.1:5353,[::1]:53" instead of those of resolv.conf
    std::string file = "/etc/resolv.conf";
  };
  using Addresses = std::vector<Address>;  ///< in the order in which they are to be tried (RFC 6724); never empty
  using Done = std::function<void(Result<Addresses>)>;

  /// A question that ends with its owner: `done` is not called any more then.
  class Question {
   public:
    Question() = default;

   private:
    friend class Resolver;
    explicit Question(std::shared_ptr<Done> done) : done_(std::move(done)) {}
    std::shared_ptr<Done> done_;
  };

  explicit Resolver(Loop& loop) : Resolver(loop, Options{}) {}
  Resolver(Loop& loop, Options options);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  /// Of an Error: no name server has answered (refused, timed out, failed), which says nothing of the name.
  static constexpr int kNoAnswer = -1;

  /// Calls `done` on the loop with the addresses of `host`; at once, from within, where it is an address or known.
  /// Errors in words: "cannot resolve web.example: no such name". It may take as long as resolv.conf says; who cannot
  /// wait drops the question.
  [[nodiscard]] Question resolve(const std::string& host, protocols::Family family, Done done);

  /// Questions that are under way, and names that are known.
  [[nodiscard]] std::size_t asked() const { return asked_.size(); }
  [[nodiscard]] std::size_t known() const { return known_.size(); }

 private:
  struct Channel;
  struct Asked;
  struct Known {
    Addresses addresses;
    Duration until{0};
  };
  using Key = std::pair<std::string, protocols::Family>;

  Result<Channel*> channel();
  void answered(const Key& key, Result<Addresses> result, Duration ttl);

  Loop& loop_;
  Options options_;
  std::unique_ptr<Channel> channel_;
  std::vector<std::unique_ptr<Channel>> retired_;  // whose questions are not all answered yet
  std::map<Key, std::unique_ptr<Asked>> asked_;
  std::map<Key, Known> known_;
};

}  // namespace healer::runtime
