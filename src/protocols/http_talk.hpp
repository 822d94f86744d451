// SPDX-License-Identifier: MIT
// What the conversations of HTTP/1 and HTTP/2 have in common: for their own files only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "protocols/http_judge.hpp"
#include "protocols/protocol.hpp"

namespace healer::protocols {

/// A request, the same to both.
struct HttpRequest {
  std::string method;
  std::string path;
  std::string host;
  std::vector<std::pair<std::string, std::string>> headers;  ///< without Host and those of the connection
  std::string body;
};

[[nodiscard]] HttpRequest http_request(const Order& order);

/// Lets the judge speak; how an answer comes is said by who derives from it.
class HttpTalk : public Conversation {
 public:
  Want found(std::optional<std::size_t> end) final {
    if (auto want = judge_.found(end)) return std::move(*want);
    return judge();
  }
  Want answered(const Result<std::string>& value) final {
    if (auto want = judge_.answered(value)) return std::move(*want);
    return judge();
  }

 protected:
  explicit HttpTalk(const Order& order) : judge_(order) {}
  /// What there is to do with what has come so far.
  virtual Want judge() = 0;

  HttpJudge judge_;
};

[[nodiscard]] std::unique_ptr<Conversation> make_http2(const Order& order);

}  // namespace healer::protocols
