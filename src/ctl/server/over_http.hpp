// SPDX-License-Identifier: MIT
// The control protocol over HTTP: what a request means as requests of /api/v1, and what their documents mean as lines
// of the protocol. Pure: who asks over a network is behind HttpWay.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <nlohmann/json.hpp>

#include "control/wire.hpp"

namespace healer {

/// A request of the API.
struct HttpAsked {
  std::string path;                   ///< below /api/v1, with its query, encoded
  std::optional<std::string> body{};  ///< JSON, of a POST; none: a GET

  bool operator==(const HttpAsked&) const = default;
};

class HttpWay {
 public:
  using Event = std::function<void(std::string_view kind, std::string_view data)>;

  virtual ~HttpWay() = default;
  /// The document that is answered. `sent`, if any, is called once the server has the request and its answer may take
  /// long.
  [[nodiscard]] virtual std::variant<control::Json, control::Failure> fetch(const HttpAsked& asked,
                                                                            const std::function<void()>& sent) = 0;
  /// Server-sent events until the server ends them; a failure: they broke off.
  [[nodiscard]] virtual std::optional<control::Failure> listen(const std::string& path, const Event& event) = 0;
  /// Waits until nobody answers any more.
  virtual void wait_for_end() = 0;
};

/// Asks by `way` what `request` asks for, and tells its reply by `tell`, line by line with their ends.
void ask_over_http(const control::Request& request, HttpWay& way, const std::function<void(const std::string&)>& tell);

}  // namespace healer
