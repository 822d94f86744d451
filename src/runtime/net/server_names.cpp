// SPDX-License-Identifier: MIT
#include "runtime/net/server_names.hpp"

#include <utility>

#include <spdlog/fmt/fmt.h>

namespace healer::runtime {

std::string curl_addresses(const Resolver::Addresses& addresses) {
  std::string text;
  for (const Address& address : addresses)
    text += fmt::format("{}{}", text.empty() ? "" : ",",
                        address.is_v6() ? fmt::format("[{}]", address.text()) : address.text());
  return text;
}

ServerNames::ServerNames(Loop& loop, Resolver::Options options) : loop_(loop), resolver_(loop, std::move(options)) {}

void ServerNames::look_up(std::string host, Done done) {
  loop_.post([this, alive = std::weak_ptr<char>(alive_), host = std::move(host), done = std::move(done)] {
    if (alive.expired()) return;
    const std::uint64_t number = ++last_;
    const auto answered = [this, alive, number, done](const Result<Resolver::Addresses>& found) {
      done(found ? Result<std::string>(curl_addresses(*found)) : Result<std::string>(found.error()));
      // It may answer from within, before the question is noted.
      loop_.post([this, alive, number] {
        if (!alive.expired()) questions_.erase(number);
      });
    };
    questions_[number] = resolver_.resolve(host, protocols::Family::Any, answered);
  });
}

}  // namespace healer::runtime
